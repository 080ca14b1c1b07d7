"""The only file that loads an HTTP library, on first use, and knows whose connections a call goes by."""

from __future__ import annotations

import asyncio
import os
import sys
import threading
from collections.abc import Callable
from types import ModuleType
from typing import Any
from weakref import WeakKeyDictionary

from formatbridge.errors import ConfigurationError

_LIBRARIES = ("httpx", "httpx2")
_CALLS_PER_SHARD = 32


def family(client: object) -> tuple[ModuleType, bool]:
    """Return the library of a client and whether the client is async, by its ancestors, so that subclasses pass."""
    for ancestor in type(client).__mro__:
        root = ancestor.__module__.partition(".")[0]
        if root in _LIBRARIES and ancestor.__name__ in ("Client", "AsyncClient"):
            return sys.modules[root], ancestor.__name__ == "AsyncClient"
    raise ConfigurationError(f"http_client is a {type(client).__name__}, expected a client of httpx or httpx2")


def checked_client(client: object, *, is_async: bool) -> None:
    """Raise ``ConfigurationError`` where a client is none, or of the wrong kind."""
    if client is None:
        return
    _, found = family(client)
    if found != is_async:
        kinds = ("a sync", "an async")
        raise ConfigurationError(f"http_client is {kinds[found]} client, expected {kinds[is_async]} one")


class Shard:
    """One client of an HTTP library, and how many calls are using it."""

    __slots__ = ("calls", "client", "module")

    def __init__(self, client: Any, module: ModuleType) -> None:
        self.client = client
        self.module = module
        self.calls = 0


class Shards:
    """Several clients of a library that count as one, each with few calls at a time.

    What a library's pool of connections does for each call grows with the calls that are open: a thousand in one pool take three times as
    long as in thirty. The first shard that has room is used, so that a quiet client keeps using the same connections.
    """

    def __init__(self, make: Callable[[], Any], module: ModuleType) -> None:
        self._make = make
        self._module = module
        self._lock = threading.Lock()
        self.all: list[Shard] = []

    def take(self) -> Shard:
        """Return a shard with room, counting one call more in it."""
        with self._lock:
            shard = next((shard for shard in self.all if shard.calls < _CALLS_PER_SHARD), None)
            if shard is None:
                shard = Shard(self._make(), self._module)
                self.all.append(shard)
            shard.calls += 1
            return shard

    def give(self, shard: Shard) -> None:
        """Take one call less."""
        with self._lock:
            shard.calls -= 1


class Pool:
    """The connections of a client: an injected one's, or own ones, apart for each process and each event loop.

    A fork shares its parent's sockets and a second event loop cannot wake those of the first, so neither may use them.
    """

    def __init__(self, injected: Any, *, is_async: bool) -> None:
        self._is_async = is_async
        self._is_closed = False
        self._injected = None if injected is None else Shards(lambda: injected, family(injected)[0])
        self._process = os.getpid()
        self._own: WeakKeyDictionary[Any, Shards] = WeakKeyDictionary()
        self._inherited: list[Any] = []  # kept, for to drop them would close the parent's sockets with a warning
        self._trust: Any = None

    def shards(self) -> Shards:
        """Return the connections to use here and now."""
        if self._is_closed:
            raise ConfigurationError("the client is closed, expected an open one")
        if self._injected is not None:
            return self._injected
        if self._process != os.getpid():
            self._inherited.append(self._own)
            self._process, self._own = os.getpid(), WeakKeyDictionary()
        place = _running_loop() if self._is_async else _NO_LOOP
        found = self._own.get(place)
        return found if found is not None else self._own.setdefault(place, self._made())

    def _made(self) -> Shards:
        import httpx

        kind = httpx.AsyncClient if self._is_async else httpx.Client
        self._trust = self._trust if self._trust is not None else httpx.create_ssl_context()
        limits = httpx.Limits(max_connections=None, max_keepalive_connections=_CALLS_PER_SHARD)
        return Shards(lambda: kind(verify=self._trust, timeout=None, limits=limits), httpx)

    def close(self) -> None:
        """Close the own connections; those of an injected client stay its owner's."""
        for shard in self._ending(_NO_LOOP):
            shard.client.close()

    async def close_async(self) -> None:
        """Close the own connections of this event loop; those of others go with their loops."""
        for shard in self._ending(_running_loop()):
            await shard.client.aclose()

    def _ending(self, place: object) -> list[Shard]:
        self._is_closed = True
        own = self._own.pop(place, None) if self._process == os.getpid() else None
        return own.all if own is not None else []


class _NoLoop:
    """Stands for the one place of a sync client, and for the one event loop of a library other than asyncio."""


_NO_LOOP = _NoLoop()


def _running_loop() -> object:
    try:
        return asyncio.get_running_loop()
    except RuntimeError:
        return _NO_LOOP
