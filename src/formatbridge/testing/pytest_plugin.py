"""A fixture for pytest; enable it with ``pytest_plugins = ["formatbridge.testing.pytest_plugin"]`` in the topmost ``conftest.py``."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from formatbridge.testing.fake_relay import FakeRelay


@pytest.fixture
def fake_relay() -> Iterator[FakeRelay]:
    """Return a new relay for each test; ``fake_relay.play(...)`` sets its script."""
    with FakeRelay() as relay:
        yield relay
