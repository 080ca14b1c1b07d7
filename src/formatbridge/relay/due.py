"""Deadlines for sockets: the time by which something must have come, whatever drips until then."""

from __future__ import annotations

import threading
import time
from typing import Any


def deadline_in(seconds: float | None) -> float | None:
    """Return the moment so many seconds from now; None: never."""
    return None if seconds is None else time.monotonic() + seconds


class DueError(Exception):
    """A deadline passed between two reads of a socket. It passes through the HTTP library, which closes the connection on its way."""


class Due(threading.local):
    """Until when what this thread reads from a socket must have come, and what it writes must be gone.

    A call stays in its thread from its first byte to its last.
    """

    at: float | None = None


DUE = Due()
_PIECE = 16 * 1024
"""Bytes written at a time: a library's timeout begins anew whenever the other side has taken some."""


def timed(name: str, info: dict[str, Any]) -> None:
    """Learn of a connection when it is made (the ``trace`` extension of both libraries), to hold it to the deadline.

    Their timeouts count from byte to byte and are fixed when a request is sent: a server that drips would never be late.
    """
    if name.endswith((".connect_tcp.complete", ".connect_unix_socket.complete", ".start_tls.complete")):
        hold(info.get("return_value"))


def hold(stream: Any) -> None:
    """Let a network stream wait no longer than the thread that uses it may."""
    plain, plain_write = getattr(stream, "read", None), getattr(stream, "write", None)
    if plain is None or plain_write is None or hasattr(plain, "is_held"):
        return

    def read(max_bytes: int, timeout: float | None = None) -> bytes:
        made: bytes = plain(max_bytes, timeout=_left(timeout))
        return made

    def write(buffer: bytes, timeout: float | None = None) -> None:
        for start in range(0, len(buffer), _PIECE):
            plain_write(buffer[start : start + _PIECE], timeout=_left(timeout))

    read.is_held = True  # type: ignore[attr-defined]  # seen above, so that nothing is held twice
    stream.read, stream.write = read, write


def _left(timeout: float | None) -> float | None:
    """Return how long a socket may wait now; raise ``DueError`` where there is no time left."""
    if DUE.at is None:
        return timeout
    left = DUE.at - time.monotonic()
    if left <= 0:
        raise DueError
    return left if timeout is None else min(timeout, left)
