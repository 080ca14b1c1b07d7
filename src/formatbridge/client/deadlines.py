"""Deadlines for sockets: the time by which something must have come, whatever drips until then."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

from formatbridge.client.connection_pool import running_loop

T = TypeVar("T")


def deadline_in(seconds: float | None) -> float | None:
    """Return the moment so many seconds from now; None: never."""
    return None if seconds is None else time.monotonic() + seconds


class DeadlineError(Exception):
    """A deadline passed between two reads of a socket. It passes through the HTTP library, which closes the connection on its way."""


class HandshakeTimeoutError(DeadlineError):
    """The time to connect passed in the handshake with a SOCKS5 proxy, for which the HTTP libraries wait without a limit."""


class ThreadDeadlines(threading.local):
    """Until when what this thread reads from a socket must have come, and what it writes must be gone.

    A call stays in its thread from its first byte to its last.
    """

    at: float | None = None
    handshake: float | None = None  # while one with a SOCKS5 proxy lasts


DEADLINES = ThreadDeadlines()
_PIECE = 16 * 1024
"""Bytes written at a time: a library's timeout begins anew whenever the other side has taken some."""


_CONNECTED = (".connect_tcp.complete", ".connect_unix_socket.complete", ".start_tls.complete")
_HANDSHAKE = ".setup_socks5_connection."
_TOLERANCE = 0.01
"""Seconds before a deadline in which a timeout of a socket is taken for it."""


def timed(connect: float | None) -> Callable[[str, dict[str, Any]], None]:
    """Return the ``trace`` extension of both libraries that holds a connection to the deadlines. ``connect``: seconds to connect.

    The libraries' own timeouts count from byte to byte and are fixed when a request is sent: a server that drips would never be late. For a
    SOCKS5 proxy they have none.
    """

    def trace(name: str, info: dict[str, Any]) -> None:
        if name.endswith(_CONNECTED):
            hold(info.get("return_value"))
        elif _HANDSHAKE in name:
            DEADLINES.handshake = deadline_in(connect) if name.endswith(".started") else None

    return trace


def timed_async(connect: float | None) -> Callable[[str, dict[str, Any]], Awaitable[None]]:
    """Return the same for async clients, which need it for the handshake with a SOCKS5 proxy alone."""

    async def trace(name: str, info: dict[str, Any]) -> None:
        if connect is not None and _HANDSHAKE in name:
            if name.endswith(".started"):
                _hold_handshake(info["stream"], time.monotonic() + connect)
            elif "return_value" in info:
                del info["return_value"].read, info["return_value"].write

    return trace


def _hold_handshake(stream: Any, ends: float) -> None:
    """Let a network stream wait no longer than to a moment, until its own methods are back."""
    plain, plain_write = stream.read, stream.write

    async def within(method: Callable[..., Awaitable[T]], argument: object, timeout: float | None) -> T:
        left = max(ends - time.monotonic(), 0.001)
        try:
            return await method(argument, timeout=left if timeout is None else min(timeout, left))
        except Exception:
            if time.monotonic() < ends - _TOLERANCE:
                raise
        raise HandshakeTimeoutError

    async def read(max_bytes: int, timeout: float | None = None) -> bytes:
        return await within(plain, max_bytes, timeout)

    async def write(buffer: bytes, timeout: float | None = None) -> None:
        await within(plain_write, buffer, timeout)

    stream.read, stream.write = read, write


def hold(stream: Any) -> None:
    """Let a network stream wait no longer than the thread that uses it may."""
    plain, plain_write = getattr(stream, "read", None), getattr(stream, "write", None)
    if plain is None or plain_write is None or hasattr(plain, "is_held"):
        return

    def read(max_bytes: int, timeout: float | None = None) -> bytes:
        try:
            made: bytes = plain(max_bytes, timeout=_left(timeout))
        except Exception:
            if DEADLINES.handshake is None or time.monotonic() < DEADLINES.handshake - _TOLERANCE:
                raise
        else:
            return made
        raise HandshakeTimeoutError

    def write(buffer: bytes, timeout: float | None = None) -> None:
        for start in range(0, len(buffer), _PIECE):
            plain_write(buffer[start : start + _PIECE], timeout=_left(timeout))

    read.is_held = True  # type: ignore[attr-defined]  # seen above, so that nothing is held twice
    stream.read, stream.write = read, write


def _left(timeout: float | None) -> float | None:
    """Return how long a socket may wait now; raise ``DueError`` where there is no time left."""
    ends = [at for at in (DEADLINES.at, DEADLINES.handshake) if at is not None]
    if not ends:
        return timeout
    left = min(ends) - time.monotonic()
    if left <= 0:
        raise DeadlineError if min(ends) == DEADLINES.at else HandshakeTimeoutError
    return left if timeout is None else min(timeout, left)


class AsyncDeadline:
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
            raise DeadlineError
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
