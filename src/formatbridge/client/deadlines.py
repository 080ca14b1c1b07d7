"""Deadlines for sockets. They also hold for a server that sends single bytes to avoid the timeout of each read."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

from formatbridge.client.event_loops import running_loop

T = TypeVar("T")


def deadline_after(seconds: float | None) -> float | None:
    """Return the time so many seconds from now; None: no deadline."""
    return None if seconds is None else time.monotonic() + seconds


class DeadlineError(Exception):
    """A deadline passed between two reads of a socket. It passes through the HTTP library, which closes the connection."""


class HandshakeTimeoutError(DeadlineError):
    """The connect timeout passed in the handshake with a SOCKS5 proxy, where httpcore (``socks_proxy.py``) has no limit."""


class ThreadDeadlines(threading.local):
    """The deadlines of this thread for reading from a socket and writing to it. A call stays in one thread.

    They are no arguments, because the HTTP library reads from the socket, and its interface passes only a timeout for each read.
    """

    exchange: float | None = None
    """The deadline of the current step of the HTTP exchange."""
    handshake: float | None = None
    """The deadline of the current handshake with a SOCKS5 proxy."""


DEADLINES = ThreadDeadlines()
_WRITE_SIZE = 16 * 1024
"""Bytes of one write. The timeout of the library starts again with each write that makes progress."""


_CONNECTED_EVENTS = (".connect_tcp.complete", ".connect_unix_socket.complete", ".start_tls.complete")
_HANDSHAKE_EVENT = ".setup_socks5_connection."
_TOLERANCE = 0.01
"""Seconds before a deadline in which the timeout of a socket counts as the deadline."""


def deadline_trace(connect: float | None) -> Callable[[str, dict[str, Any]], None]:
    """Return a ``trace`` extension for httpx and httpx2 that applies the deadlines to a connection. ``connect``: seconds to connect.

    The timeouts of the libraries hold for each read and are fixed when a request is sent, so a slow server could exceed them in all. The
    libraries have no timeout for the handshake with a SOCKS5 proxy.
    """

    def trace(name: str, info: dict[str, Any]) -> None:
        if name.endswith(_CONNECTED_EVENTS):
            apply_deadlines(info.get("return_value"))
        elif _HANDSHAKE_EVENT in name:
            DEADLINES.handshake = deadline_after(connect) if name.endswith(".started") else None

    return trace


def deadline_trace_async(connect: float | None) -> Callable[[str, dict[str, Any]], Awaitable[None]]:
    """Return the same for async clients, which need it only for the handshake with a SOCKS5 proxy."""

    async def trace(name: str, info: dict[str, Any]) -> None:
        if connect is not None and _HANDSHAKE_EVENT in name:
            if name.endswith(".started"):
                _limit_handshake(info["stream"], time.monotonic() + connect)
            elif "return_value" in info:
                del info["return_value"].read, info["return_value"].write

    return trace


def _limit_handshake(stream: Any, deadline: float) -> None:
    """Apply a deadline to a network stream, until its original methods are restored."""
    original_read, original_write = stream.read, stream.write

    async def within(method: Callable[..., Awaitable[T]], argument: object, timeout: float | None) -> T:
        remaining = max(deadline - time.monotonic(), 0.001)
        try:
            return await method(argument, timeout=remaining if timeout is None else min(timeout, remaining))
        except Exception:
            if time.monotonic() < deadline - _TOLERANCE:
                raise
        raise HandshakeTimeoutError

    async def read(max_bytes: int, timeout: float | None = None) -> bytes:
        return await within(original_read, max_bytes, timeout)

    async def write(buffer: bytes, timeout: float | None = None) -> None:
        await within(original_write, buffer, timeout)

    stream.read, stream.write = read, write


def apply_deadlines(stream: Any) -> None:
    """Apply the deadlines of the current thread to a network stream."""
    original_read, original_write = getattr(stream, "read", None), getattr(stream, "write", None)
    if original_read is None or original_write is None or hasattr(original_read, "has_deadlines"):
        return

    def read(max_bytes: int, timeout: float | None = None) -> bytes:
        try:
            data: bytes = original_read(max_bytes, timeout=_remaining(timeout))
        except Exception:
            if DEADLINES.handshake is None or time.monotonic() < DEADLINES.handshake - _TOLERANCE:
                raise
        else:
            return data
        raise HandshakeTimeoutError

    def write(buffer: bytes, timeout: float | None = None) -> None:
        for start in range(0, len(buffer), _WRITE_SIZE):
            original_write(buffer[start : start + _WRITE_SIZE], timeout=_remaining(timeout))

    read.has_deadlines = True  # type: ignore[attr-defined]  # read above, so that the deadlines are applied once
    stream.read, stream.write = read, write


def _remaining(timeout: float | None) -> float | None:
    """Return how long a socket may wait now; raise ``DeadlineError`` if the deadline has passed."""
    deadlines = [deadline for deadline in (DEADLINES.exchange, DEADLINES.handshake) if deadline is not None]
    if not deadlines:
        return timeout
    remaining = min(deadlines) - time.monotonic()
    if remaining <= 0:
        raise DeadlineError if min(deadlines) == DEADLINES.exchange else HandshakeTimeoutError
    return remaining if timeout is None else min(timeout, remaining)


class AsyncDeadline:
    """Limits the waiting time of one call, which waits for one thing at a time.

    It has one timer, which is set again when it expires. Usually the deadline has moved by then. A new timer for each read would cost more
    than the read.
    """

    __slots__ = ("_deadline", "_scope", "_timer")

    def __init__(self) -> None:
        self._timer: asyncio.TimerHandle | None = None
        self._deadline = 0.0
        self._scope: Any = None

    async def within(self, seconds: float | None, awaitable: Awaitable[T]) -> T:
        """Await something; raise ``DeadlineError`` after so many seconds."""
        if seconds is None:
            return await awaitable
        import anyio

        loop = running_loop()
        with anyio.CancelScope() if loop else anyio.move_on_after(seconds) as scope:
            try:
                if loop is not None:
                    self._set_timer(loop, loop.time() + seconds, scope)
                return await awaitable
            finally:
                self._scope = None
        if scope.cancelled_caught:
            raise DeadlineError
        raise AssertionError("a cancel scope ends with a result or by its deadline")

    def start(self, seconds: float | None, scope: Any) -> None:
        """Cancel a cancel scope of anyio after so many seconds, unless ``pause`` is called. This costs less than a new scope.

        It has no effect in event loops other than those of asyncio.
        """
        loop = running_loop() if seconds is not None else None
        if loop is not None and seconds is not None:
            self._set_timer(loop, loop.time() + seconds, scope)

    def pause(self) -> None:
        """End the limit of ``start``; the timer is used again."""
        self._scope = None

    def stop(self) -> None:
        """Cancel the timer."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _set_timer(self, loop: asyncio.AbstractEventLoop, deadline: float, scope: Any) -> None:
        self._deadline, self._scope = deadline, scope
        if self._timer is not None and self._timer.when() > deadline:
            self.stop()
        if self._timer is None:
            self._timer = loop.call_at(deadline, self._on_timer, loop)

    def _on_timer(self, loop: asyncio.AbstractEventLoop) -> None:
        expired, self._timer = self._timer, None
        if self._scope is None or expired is None:
            return
        if expired.when() >= self._deadline:
            self._scope.cancel()
        else:
            self._timer = loop.call_at(self._deadline, self._on_timer, loop)
