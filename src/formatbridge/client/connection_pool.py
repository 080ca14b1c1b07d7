"""The connections of a client: those of an injected HTTP client, or of httpx clients that the pool creates."""

from __future__ import annotations

import math
import threading
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from types import ModuleType
from typing import Any, TypeVar

from formatbridge.client.event_loops import PerLoop
from formatbridge.client.http_libraries import library_and_kind
from formatbridge.errors import ConfigurationError

T = TypeVar("T")
_CALLS_PER_CLIENT = 32


def checked_client(client: T, *, is_async: bool) -> T:
    """Return an HTTP client of the right kind, or None; raise ``ConfigurationError`` for anything else."""
    if client is None:
        return client
    _, is_async_client = library_and_kind(client)
    if is_async_client != is_async:
        kinds = ("a sync", "an async")
        raise ConfigurationError(f"http_client is {kinds[is_async_client]} client, expected {kinds[is_async]} one")
    return client


def create(make: Callable[[], T], library: Any) -> T:
    """Create a client or an SSL context; raise ``ConfigurationError`` if the environment's proxies or certificates are invalid."""
    try:
        return make()
    except (ImportError, OSError) as error:
        reason = f"{type(error).__name__}: {error}"
    except (ValueError, library.InvalidURL):  # its message may contain the password
        reason = "the URL of a proxy is invalid"
    proxies = "ALL_PROXY, HTTPS_PROXY, HTTP_PROXY, NO_PROXY"
    raise ConfigurationError(
        f"the environment's proxies ({proxies}) or certificates (SSL_CERT_FILE) cannot be used: {reason}; correct or unset them"
    )


class PooledClient:
    """One client of an HTTP library, and the calls that are using it.

    The reference to the calls keeps them alive. Without it the garbage collector could close a response while the library holds its lock.
    """

    __slots__ = ("calls", "client", "module")

    def __init__(self, client: Any, module: ModuleType) -> None:
        self.client = client
        self.module = module
        self.calls: set[object] = set()


class ClientPool:
    """Several clients of a library that act as one, each with few calls at a time. ``capacity``: calls of each client.

    In a connection pool of the libraries, the cost of each call grows with the number of open calls: with a thousand it is three times
    that with thirty. The first client with capacity is used, so that a quiet application uses the same connections again. Other clients
    are closed after their last call, because the libraries close idle connections only at the next call.
    """

    def __init__(self, make: Callable[[], Any], module: ModuleType, capacity: float = _CALLS_PER_CLIENT) -> None:
        self._make = make
        self._module = module
        self._capacity = capacity
        self._lock = threading.RLock()  # reentrant: the garbage collector may close coroutines while a client is created
        self._pending_closes: deque[Callable[[], None]] = deque()
        self.all: list[PooledClient] = []

    def acquire(self, call: object) -> PooledClient:
        """Return a client with capacity for a call."""
        with self._lock:
            pooled = next((pooled for pooled in self.all if len(pooled.calls) < self._capacity), None)
            if pooled is None:
                pooled = PooledClient(create(self._make, self._module), self._module)
                self.all.append(pooled)
            pooled.calls.add(call)
            return pooled

    def release(self, pooled: PooledClient, call: object) -> PooledClient | None:
        """Remove a call from its client; return the client if it is now unused and has to be closed."""
        with self._lock:
            pooled.calls.discard(call)
            if pooled.calls or pooled in self.all[:1]:
                return None
            if pooled in self.all:
                self.all.remove(pooled)
            return pooled

    def retire(self, pooled: PooledClient) -> None:
        """Use a client for no further call, because an interrupt may have left a lock of one of its connections held.

        It is closed after its last call. An injected client stays, because the caller may still use it.
        """
        with self._lock:
            if math.isfinite(self._capacity) and pooled in self.all:
                self.all.remove(pooled)

    def close_later(self, close: Callable[[], None]) -> None:
        """Register a call without an owner for closing. The garbage collector calls this at any time, so it must not wait for a lock."""
        self._pending_closes.append(close)

    def close_pending(self) -> None:
        """Close the calls that have no owner."""
        while self._pending_closes:
            with suppress(IndexError):  # another thread removed the last one
                self._pending_closes.popleft()()


class ConnectionPool:
    """The connections of a client: those of an injected HTTP client, or of httpx clients that the pool creates."""

    def __init__(self, injected: Any, *, is_async: bool) -> None:
        self._is_async = is_async
        self._is_closed = False
        self._injected = (
            None if injected is None else ClientPool(lambda: injected, library_and_kind(injected)[0], capacity=math.inf)
        )
        self._clients: PerLoop[ClientPool] = PerLoop(is_async=is_async)
        self._ssl_context: Any = None

    def clients(self) -> ClientPool:
        """Return the clients for the current process and event loop."""
        if self._is_closed:
            raise ConfigurationError("the client is closed: create a new one")
        if self._injected is not None:
            return self._injected
        return self._clients.get(self._create_clients)

    def _create_clients(self) -> ClientPool:
        import httpx

        kind = httpx.AsyncClient if self._is_async else httpx.Client
        self._ssl_context = self._ssl_context if self._ssl_context is not None else create(httpx.create_ssl_context, httpx)
        limits = httpx.Limits(max_connections=None, max_keepalive_connections=_CALLS_PER_CLIENT)
        return ClientPool(lambda: kind(verify=self._ssl_context, timeout=None, limits=limits), httpx)

    def close(self) -> None:
        """Close the connections that the pool has created. An injected client stays open."""
        for pooled in self._close_pool():
            pooled.client.close()

    async def close_async(self) -> None:
        """Close the created connections of this event loop. Those of other loops are closed with their loops."""
        for pooled in self._close_pool():
            await pooled.client.aclose()

    def _close_pool(self) -> list[PooledClient]:
        self._is_closed = True
        clients = self._clients.pop()
        for each in (clients, self._injected):
            if each is not None:
                each.close_pending()
        return clients.all if clients is not None else []
