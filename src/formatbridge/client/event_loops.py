"""Event loops of asyncio: the running one, and a value for each of them."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable
from typing import Any, Generic, TypeVar
from weakref import WeakKeyDictionary

T = TypeVar("T")


class PerLoop(Generic[T]):
    """One value, such as connections, for each process and, if async, for each event loop.

    A forked process shares the sockets of its parent, and a second event loop cannot wake waiters of the first; neither may use the
    connections of the other. Connections refer to their loop, so the value of a closed loop is removed when another loop is used.
    """

    def __init__(self, *, is_async: bool) -> None:
        self._is_async = is_async
        self._process = os.getpid()
        self._values: WeakKeyDictionary[Any, T] = WeakKeyDictionary()
        self._inherited: list[Any] = []  # kept, because the garbage collector would close the parent's sockets with a warning

    def get(self, make: Callable[[], T]) -> T:
        """Return the value for the current process and loop; it is created on first use."""
        if self._process != os.getpid():
            self._inherited.append(self._values)
            self._process, self._values = os.getpid(), WeakKeyDictionary()
        key = self._current_key()
        value = self._values.get(key)
        if value is not None:
            return value
        self._remove_closed_loops()
        return self._values.setdefault(key, make())

    def pop(self) -> T | None:
        """Remove and return the value for the current loop; None if there is none, or in a forked process."""
        return self._values.pop(self._current_key(), None) if self._process == os.getpid() else None

    def _remove_closed_loops(self) -> None:
        for key in [reference() for reference in self._values.keyrefs()]:
            if isinstance(key, asyncio.AbstractEventLoop) and key.is_closed():
                self._values.pop(key, None)

    def _current_key(self) -> object:
        return (running_loop() or _NO_LOOP) if self._is_async else _NO_LOOP


class _NoLoop:
    """The key for a sync client, and for the event loop of a library other than asyncio."""


_NO_LOOP = _NoLoop()


def running_loop() -> asyncio.AbstractEventLoop | None:
    """Return the running event loop of asyncio, or None."""
    try:
        return asyncio.get_running_loop()
    except RuntimeError:
        return None
