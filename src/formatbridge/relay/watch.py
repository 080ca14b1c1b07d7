"""Deadlines of an async call: what it waits for is given up when its time has passed."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable
from typing import Any, TypeVar

from formatbridge.relay.due import DueError
from formatbridge.relay.http import running_loop

T = TypeVar("T")


class Watch:
    """Watches one call, which waits for one thing at a time.

    It has one timer, which is set anew when it rings: nearly always the deadline has moved on by then, and a timer for each read of each
    stream would cost more than reading.
    """

    __slots__ = ("_deadline", "_scope", "_timer")

    def __init__(self) -> None:
        self._timer: asyncio.TimerHandle | None = None
        self._deadline = 0.0
        self._scope: Any = None

    async def within(self, seconds: float | None, wanted: Awaitable[T]) -> T:
        """Await something for so long; raise ``DueError`` then."""
        if seconds is None:
            return await wanted
        import anyio

        loop = running_loop()
        with anyio.CancelScope() if loop else anyio.move_on_after(seconds) as scope:
            try:
                if loop is not None:
                    self._watch(loop, loop.time() + seconds, scope)
                return await wanted
            finally:
                self._scope = None
        if scope.cancelled_caught:
            raise DueError
        raise AssertionError("a scope ends by its value or by its deadline")

    def stop(self) -> None:
        """Let go of the timer."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _watch(self, loop: asyncio.AbstractEventLoop, deadline: float, scope: Any) -> None:
        self._deadline, self._scope = deadline, scope
        if self._timer is not None and self._timer.when() > deadline:
            self.stop()
        if self._timer is None:
            self._timer = loop.call_at(deadline, self._ring, loop)

    def _ring(self, loop: asyncio.AbstractEventLoop) -> None:
        rung, self._timer = self._timer, None
        if self._scope is None or rung is None:
            return
        if rung.when() >= self._deadline:
            self._scope.cancel()
        else:
            self._timer = loop.call_at(self._deadline, self._ring, loop)
