"""Whose connections a call goes by. A client that was given none makes its own with httpx, which is loaded then."""

from __future__ import annotations

import asyncio
import math
import os
import sys
import threading
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from types import ModuleType
from typing import Any, Generic, TypeVar
from weakref import WeakKeyDictionary

from formatbridge.arguments import type_name
from formatbridge.client.http_libraries import library_class_of
from formatbridge.errors import ConfigurationError

T = TypeVar("T")
_CALLS_PER_SHARD = 32


def family(client: object) -> tuple[ModuleType, bool]:
    """Return the library of a client and whether the client is async, by its ancestors, so that subclasses pass."""
    found = library_class_of(client, "Client", "AsyncClient")
    if found is None:
        raise ConfigurationError(f"http_client is {type_name(client)}, expected a client of httpx or httpx2")
    return sys.modules[found.__module__.partition(".")[0]], found.__name__ == "AsyncClient"


def checked_client(client: object, *, is_async: bool) -> None:
    """Raise ``ConfigurationError`` where a client is none, or of the wrong kind."""
    if client is None:
        return
    _, found = family(client)
    if found != is_async:
        kinds = ("a sync", "an async")
        raise ConfigurationError(f"http_client is {kinds[found]} client, expected {kinds[is_async]} one")


def create(make: Callable[[], T], library: Any) -> T:
    """Make what calls go by; raise ``ConfigurationError`` where the environment's words for proxies and certificates are none."""
    try:
        return make()
    except (ImportError, OSError) as error:
        reason = f"{type(error).__name__}: {error}"
    except (ValueError, library.InvalidURL):  # whose texts may have the password
        reason = "a proxy's URL is none that can be used"
    proxies = "ALL_PROXY, HTTPS_PROXY, HTTP_PROXY, NO_PROXY"
    raise ConfigurationError(f"the environment's proxies ({proxies}) or certificates (SSL_CERT_FILE) are of no use, {reason}")


class PooledClient:
    """One client of an HTTP library, and the calls that are using it.

    It keeps them: the collector would close an answer that is half read, and it may come while the library holds its lock.
    """

    __slots__ = ("calls", "client", "module")

    def __init__(self, client: Any, module: ModuleType) -> None:
        self.client = client
        self.module = module
        self.calls: set[object] = set()


class ClientPool:
    """Several clients of a library that count as one, each with few calls at a time.

    What a library's pool of connections does for each call grows with the calls that are open: a thousand in one pool take three times as
    long as in thirty. The first shard that has room is used, so that a quiet client keeps using the same connections; the others end with
    the last of their calls, for a library lets go of idle connections at the next call only. ``room``: calls in each shard.
    """

    def __init__(self, make: Callable[[], Any], module: ModuleType, room: float = _CALLS_PER_SHARD) -> None:
        self._make = make
        self._module = module
        self._room = room
        self._lock = threading.RLock()  # to be had twice: the collector ends coroutines, and it may come while a client is made
        self._dropped: deque[Callable[[], None]] = deque()
        self.all: list[PooledClient] = []

    def take(self, call: object) -> PooledClient:
        """Return a shard with room, for a call to use."""
        with self._lock:
            shard = next((shard for shard in self.all if len(shard.calls) < self._room), None)
            if shard is None:
                shard = PooledClient(create(self._make, self._module), self._module)
                self.all.append(shard)
            shard.calls.add(call)
            return shard

    def give(self, shard: PooledClient, call: object) -> PooledClient | None:
        """Take a call from its shard; return the shard where it has ended and is to be closed."""
        with self._lock:
            shard.calls.discard(call)
            if shard.calls or shard not in self.all[1:]:
                return None
            self.all.remove(shard)
            return shard

    def drop(self, close: Callable[[], None]) -> None:
        """Leave a call that has no owner any more to be closed later; the collector comes when it likes and must wait for no lock."""
        self._dropped.append(close)

    def close_dropped(self) -> None:
        """Close the calls that have no owner any more."""
        while self._dropped:
            with suppress(IndexError):  # another thread was quicker
                self._dropped.popleft()()


class PerLoop(Generic[T]):
    """One thing, such as connections, for each place where it may be used: apart for each process and, if async, each event loop.

    A fork shares its parent's sockets and a second event loop cannot wake those of the first, so neither may use them. Connections hold
    their loop, so what belongs to a loop that is closed is let go of when another comes.
    """

    def __init__(self, *, is_async: bool) -> None:
        self._is_async = is_async
        self._process = os.getpid()
        self._own: WeakKeyDictionary[Any, T] = WeakKeyDictionary()
        self._inherited: list[Any] = []  # kept, for to drop them would close the parent's sockets with a warning

    def here(self, make: Callable[[], T]) -> T:
        """Return the one of this place, made on first use."""
        if self._process != os.getpid():
            self._inherited.append(self._own)
            self._process, self._own = os.getpid(), WeakKeyDictionary()
        place = self._place()
        found = self._own.get(place)
        if found is not None:
            return found
        self._forget_closed()
        return self._own.setdefault(place, make())

    def leave(self) -> T | None:
        """Forget the one of this place, and return it where there is one that is not another process's."""
        return self._own.pop(self._place(), None) if self._process == os.getpid() else None

    def _forget_closed(self) -> None:
        for place in [reference() for reference in self._own.keyrefs()]:
            if isinstance(place, asyncio.AbstractEventLoop) and place.is_closed():
                self._own.pop(place, None)

    def _place(self) -> object:
        return (running_loop() or _NO_LOOP) if self._is_async else _NO_LOOP


class Pool:
    """The connections of a client: an injected one's, or own ones of each place."""

    def __init__(self, injected: Any, *, is_async: bool) -> None:
        self._is_async = is_async
        self._is_closed = False
        self._injected = None if injected is None else ClientPool(lambda: injected, family(injected)[0], room=math.inf)
        self._own: PerLoop[ClientPool] = PerLoop(is_async=is_async)
        self._trust: Any = None

    def shards(self) -> ClientPool:
        """Return the connections to use here and now."""
        if self._is_closed:
            raise ConfigurationError("the client is closed, expected an open one")
        if self._injected is not None:
            return self._injected
        return self._own.here(self._made)

    def _made(self) -> ClientPool:
        import httpx

        kind = httpx.AsyncClient if self._is_async else httpx.Client
        self._trust = self._trust if self._trust is not None else create(httpx.create_ssl_context, httpx)
        limits = httpx.Limits(max_connections=None, max_keepalive_connections=_CALLS_PER_SHARD)
        return ClientPool(lambda: kind(verify=self._trust, timeout=None, limits=limits), httpx)

    def close(self) -> None:
        """Close the own connections; those of an injected client stay its owner's."""
        for shard in self._ending():
            shard.client.close()

    async def close_async(self) -> None:
        """Close the own connections of this event loop; those of others go with their loops."""
        for shard in self._ending():
            await shard.client.aclose()

    def _ending(self) -> list[PooledClient]:
        self._is_closed = True
        own = self._own.leave()
        for shards in (own, self._injected):
            if shards is not None:
                shards.close_dropped()
        return own.all if own is not None else []


class _NoLoop:
    """Stands for the one place of a sync client, and for the one event loop of a library other than asyncio."""


_NO_LOOP = _NoLoop()


def running_loop() -> asyncio.AbstractEventLoop | None:
    """Return the running event loop; None outside of one, and in that of a library other than asyncio."""
    try:
        return asyncio.get_running_loop()
    except RuntimeError:
        return None
