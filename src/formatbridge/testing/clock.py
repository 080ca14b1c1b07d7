"""A clock that is moved by those who wait: retries and stalls of minutes pass at once, and by the second."""

from __future__ import annotations

from formatbridge.client.settings import Clock


class VirtualClock(Clock):
    """Time that passes only where somebody sleeps. Give one clock to the client, the relay and the faults.

    ``start``: seconds since the epoch at which it begins, the first of January 2026. ``jitter``: what chance draws, from 0 to 1.
    """

    def __init__(self, start: float = 1_767_225_600.0, *, jitter: float = 1.0) -> None:
        self._start = start
        self._jitter = jitter
        self.naps: list[float] = []
        """Every wait so far, in seconds, in order."""

    def now(self) -> float:
        """Return the seconds that were slept."""
        return sum(self.naps)

    def time(self) -> float:
        """Return seconds since the epoch."""
        return self._start + self.now()

    def jitter(self) -> float:
        """Return what chance was told to draw."""
        return self._jitter

    def sleep(self, seconds: float) -> None:
        """Let time pass."""
        self.naps.append(seconds)

    async def sleep_async(self, seconds: float) -> None:
        """Let time pass, and others run."""
        import anyio

        self.naps.append(seconds)
        await anyio.sleep(0)
