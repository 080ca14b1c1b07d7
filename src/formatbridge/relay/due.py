"""Deadlines for sockets: the time by which something must have come, whatever drips until then."""

from __future__ import annotations

import threading
import time
from typing import Any


def deadline_in(seconds: float | None) -> float | None:
    """Return the moment so many seconds from now; None: never."""
    return None if seconds is None else time.monotonic() + seconds


def is_due(deadline: float | None) -> bool:
    """Say whether a deadline has passed; a library's own timeout may end a moment before."""
    return deadline is not None and time.monotonic() >= deadline - 0.01


class DueError(Exception):
    """A deadline passed between two reads of a socket. It passes through the HTTP library, which closes the connection on its way."""


class Due(threading.local):
    """Until when what this thread reads from a socket must have come. A call stays in its thread from its first byte to its last."""

    at: float | None = None


DUE = Due()


def timed(name: str, info: dict[str, Any]) -> None:
    """Learn of a connection when it is made (the ``trace`` extension of both libraries), to hold its reads to the deadline.

    Their timeouts count from byte to byte and are fixed when a request is sent: a server that drips would never be late.
    """
    if name.endswith((".connect_tcp.complete", ".connect_unix_socket.complete", ".start_tls.complete")):
        hold(info.get("return_value"))


def hold(stream: Any) -> None:
    """Let a network stream wait no longer than the thread that reads from it may."""
    plain = getattr(stream, "read", None)
    if plain is None or hasattr(plain, "is_held"):
        return

    def read(max_bytes: int, timeout: float | None = None) -> bytes:
        if DUE.at is not None:
            left = DUE.at - time.monotonic()
            if left <= 0:
                raise DueError
            timeout = left if timeout is None else min(timeout, left)
        made: bytes = plain(max_bytes, timeout=timeout)
        return made

    read.is_held = True  # type: ignore[attr-defined]  # seen above, so that nothing is held twice
    stream.read = read
