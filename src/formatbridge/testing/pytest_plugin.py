"""A fixture for pytest; switch it on with ``pytest_plugins = ["formatbridge.testing.pytest_plugin"]`` in the topmost ``conftest.py``."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from formatbridge.testing.fake_relay import FakeRelay


@pytest.fixture
def fake_relay() -> Iterator[FakeRelay]:
    """Return a relay of the test's own; tell it what to say with ``fake_relay.play(...)``."""
    with FakeRelay() as relay:
        yield relay
