"""A virtual clock: time passes only in ``sleep``, so that tests of retries and stalls do not wait."""

from __future__ import annotations

from formatbridge.client.settings import Clock


class VirtualClock(Clock):
    """A clock whose time passes only in ``sleep``. Pass the same clock to the client, the relay and the faults.

    ``start``: seconds since the epoch at which it begins, the first of January 2026. ``jitter``: the value of ``jitter()``, from 0 to 1.
    """

    def __init__(self, start: float = 1_767_225_600.0, *, jitter: float = 1.0) -> None:
        self._start = start
        self._jitter = jitter
        self.sleeps: list[float] = []
        """All waiting times, in seconds, in order."""

    def now(self) -> float:
        """Return the sum of all waiting times."""
        return sum(self.sleeps)

    def time(self) -> float:
        """Return seconds since the epoch."""
        return self._start + self.now()

    def jitter(self) -> float:
        """Return the value that was set."""
        return self._jitter

    def sleep(self, seconds: float) -> None:
        """Advance the clock."""
        self.sleeps.append(seconds)

    async def sleep_async(self, seconds: float) -> None:
        """Advance the clock, and let other tasks run."""
        import anyio

        self.sleeps.append(seconds)
        await anyio.sleep(0)
