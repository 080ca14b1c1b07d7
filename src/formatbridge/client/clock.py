"""Time and chance, in one place, for tests to replace."""

from __future__ import annotations

import random
import time


class Clock:
    """The machine's own time and chance. A subclass may tell others; deadlines of a real socket always go by the machine's."""

    def now(self) -> float:
        """Return seconds that only ever grow."""
        return time.monotonic()

    def time(self) -> float:
        """Return seconds since the epoch."""
        return time.time()

    def jitter(self) -> float:
        """Return a number from 0 to 1, evenly drawn."""
        return random.random()

    def sleep(self, seconds: float) -> None:
        """Wait."""
        time.sleep(seconds)

    async def sleep_async(self, seconds: float) -> None:
        """Wait, while others run."""
        import anyio

        await anyio.sleep(seconds)
