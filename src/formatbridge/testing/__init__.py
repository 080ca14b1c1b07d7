"""Test doubles: a relay in the process, and connection faults. For clients of httpx and httpx2, sync and async, without sockets.

``import formatbridge`` does not load this package; use ``from formatbridge.testing import FakeRelay``.
"""

from __future__ import annotations

from formatbridge.testing.clock import VirtualClock
from formatbridge.testing.events import QUIRKS, Quirk
from formatbridge.testing.fake_relay import FakeRelay
from formatbridge.testing.faults import Cut, Fail, FaultTransport, Stall
from formatbridge.testing.script import Answer, Body, Failure, Recorded, ScriptError, Step, ToolCall, Usage

__all__ = [
    "QUIRKS", "Answer", "Body", "Cut", "Fail", "Failure", "FakeRelay", "FaultTransport", "Quirk", "Recorded", "ScriptError",
    "Stall", "Step", "ToolCall", "Usage", "VirtualClock",
]  # fmt: skip
