"""The only file that knows the HTTP libraries. It loads one on first use and speaks either, for both are spelled alike.

No exception of theirs leaves this file: each becomes one of ours, without the request that holds the key behind it.
"""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import AsyncIterator, Callable, Iterator
from types import ModuleType
from typing import Any
from weakref import WeakKeyDictionary

from formatbridge.errors import ConfigurationError
from formatbridge.relay.broken import explained
from formatbridge.relay.calls import Call, Head
from formatbridge.relay.due import DUE, DueError, deadline_in, hold, timed
from formatbridge.relay.steps import Read, Send

_LIBRARIES = ("httpx", "httpx2")
_CONNECTIONS = {"max_connections": 1000, "max_keepalive_connections": 100}


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


class Pool:
    """The connections of a client: an injected one's, or own ones, apart for each process and each event loop.

    A fork shares its parent's sockets and a second event loop cannot wake those of the first, so neither may use them.
    """

    def __init__(self, injected: Any, *, is_async: bool) -> None:
        self._injected = injected
        self._is_async = is_async
        self._is_closed = False
        self._process = os.getpid()
        self._own: Any = None
        self._by_loop: WeakKeyDictionary[Any, Any] = WeakKeyDictionary()
        self._inherited: list[Any] = []  # kept, for to drop them would close the parent's sockets with a warning

    def client(self) -> tuple[Any, ModuleType]:
        """Return the client to use here and now, and its library."""
        if self._is_closed:
            raise ConfigurationError("the client is closed, expected an open one")
        if self._injected is not None:
            return self._injected, family(self._injected)[0]
        import httpx

        if self._process != os.getpid():
            self._inherited += [self._own, self._by_loop]
            self._process, self._own, self._by_loop = os.getpid(), None, WeakKeyDictionary()
        if not self._is_async:
            if self._own is None:
                self._own = httpx.Client(timeout=None, limits=httpx.Limits(**_CONNECTIONS))
            return self._own, httpx
        loop = _running_loop()
        if loop not in self._by_loop:
            self._by_loop[loop] = httpx.AsyncClient(timeout=None, limits=httpx.Limits(**_CONNECTIONS))
        return self._by_loop[loop], httpx

    def close(self) -> None:
        """Close the own connections; those of an injected client stay its owner's."""
        self._is_closed = True
        if self._own is not None and self._process == os.getpid():
            self._own.close()

    async def close_async(self) -> None:
        """Close the own connections of this event loop; those of others go with their loops."""
        self._is_closed = True
        own = self._by_loop.pop(_running_loop(), None) if self._process == os.getpid() else None
        if own is not None:
            await own.aclose()


class _NoLoop:
    """Stands for the one event loop of a library other than asyncio."""


_OTHER = _NoLoop()


def _running_loop() -> object:
    try:
        return asyncio.get_running_loop()
    except RuntimeError:
        return _OTHER


def _arguments(client: Any, step: Send, extensions: dict[str, Any]) -> tuple[Any, dict[str, Any]]:
    """Build the library's request, and say how to send it. The secrets are set last, by the way of authentication, so that no frame
    holds them in plain, and so that an injected client's own authentication does not replace them."""
    call = step.call
    request = client.build_request(
        call.method, call.url, headers=list(call.headers.items()), content=call.body, timeout=step.phases, extensions=extensions
    )
    options: dict[str, Any] = {"stream": True, "follow_redirects": False}
    return request, options | ({"auth": _stamp(call)} if call.secrets else {})


def _stamp(call: Call) -> Callable[[Any], Any]:
    def stamp(request: Any) -> Any:
        for name, secret in call.secrets.items():
            request.headers[name] = secret.reveal()
        return request

    return stamp


def _head(response: Any) -> Head:
    raw = response.headers.raw
    headers = {name.lower(): value for name, value in response.headers.items()}
    if response.is_stream_consumed:  # by a transport in memory, which has opened the body as well
        headers.pop("content-encoding", None)
    return Head(response.status_code, headers, sum(len(name) + len(value) for name, value in raw))


class Line:
    """One call at a time through a sync client: sends it, reads what comes, closes it."""

    def __init__(self, pool: Pool) -> None:
        self._pool = pool
        self._response: Any = None
        self._module: Any = None
        self._chunks: Iterator[bytes] = iter(())

    @property
    def is_open(self) -> bool:
        """Whether an answer holds a connection."""
        return self._response is not None

    def send(self, step: Send) -> Head:
        """Send a call and return the head of the answer."""
        self.close()
        client, self._module = self._pool.client()
        deadline = DUE.at = deadline_in(step.seconds)
        try:
            request, options = _arguments(client, step, {"trace": timed})
            self._response = response = client.send(request, **options)
            hold(response.extensions.get("network_stream"))
            head = _head(response)
            self._chunks = iter((response.content,)) if response.is_stream_consumed else response.iter_raw()
            return head
        except Exception as error:
            failure = explained(error, self._module, step, deadline, "headers")
        finally:
            DUE.at = None
        raise failure

    def read(self, step: Read) -> bytes | None:
        """Return the next bytes of the body as they come; None at its end."""
        deadline = DUE.at = deadline_in(step.seconds)
        try:
            return next(self._chunks, None)
        except Exception as error:
            failure = explained(error, self._module, step, deadline, "body")
        finally:
            DUE.at = None
        raise failure

    def close(self) -> None:
        """Let the answer go; the connection stays where the body was read to its end."""
        response, self._response = self._response, None
        self._chunks = iter(())
        if response is not None:
            try:
                response.close()
            except (OSError, self._module.TransportError, self._module.StreamError):
                return  # a connection that breaks while it is closed is closed

    def drop(self) -> None:
        """Close without an owner."""
        self.close()


class AsyncLine:
    """One call at a time through an async client."""

    def __init__(self, pool: Pool) -> None:
        self._pool = pool
        self._response: Any = None
        self._module: Any = None
        self._chunks: AsyncIterator[bytes] = _nothing()
        self._loop: object = None

    @property
    def is_open(self) -> bool:
        """Whether an answer holds a connection."""
        return self._response is not None

    async def send(self, step: Send) -> Head:
        """Send a call and return the head of the answer."""
        await self.close()
        self._loop = _running_loop()
        client, self._module = self._pool.client()
        deadline = deadline_in(step.seconds)
        try:
            request, options = _arguments(client, step, {})
            self._response = response = await _within(step.seconds, client.send(request, **options))
            head = _head(response)
            self._chunks = _once(response.content) if response.is_stream_consumed else response.aiter_raw()
            return head
        except Exception as error:
            failure = explained(error, self._module, step, deadline, "headers")
        raise failure

    async def read(self, step: Read) -> bytes | None:
        """Return the next bytes of the body as they come; None at its end."""
        deadline = deadline_in(step.seconds)
        try:
            chunk: bytes | None = await _within(step.seconds, anext(self._chunks, None))
            return chunk
        except Exception as error:
            failure = explained(error, self._module, step, deadline, "body")
        raise failure

    async def close(self) -> None:
        """Let the answer go, whatever cancels the caller meanwhile."""
        response, self._response = self._response, None
        self._chunks = _nothing()
        if response is not None:
            try:
                await _shielded(response.aclose)
            except (OSError, self._module.TransportError, self._module.StreamError):
                return  # a connection that breaks while it is closed is closed

    def drop(self) -> None:
        """Close without an owner, from any thread, as soon as the event loop has time for it."""
        if isinstance(self._loop, asyncio.AbstractEventLoop) and not self._loop.is_closed():
            self._loop.call_soon_threadsafe(lambda: asyncio.ensure_future(self.close()))


async def _nothing() -> AsyncIterator[bytes]:
    return
    yield b""


async def _once(body: bytes) -> AsyncIterator[bytes]:
    yield body


async def _within(seconds: float | None, wanted: Any) -> Any:
    """Await something for so long; raise ``DueError`` then."""
    if seconds is None:
        return await wanted
    import anyio

    with anyio.move_on_after(seconds) as scope:
        return await wanted
    if scope.cancelled_caught:
        raise DueError
    raise AssertionError("a scope ends by its value or by its deadline")


async def _shielded(close: Callable[[], Any]) -> None:
    """Run a coroutine function to its end. A scope shields from other scopes, a task of its own from being cancelled itself."""
    import anyio

    with anyio.CancelScope(shield=True):
        if _running_loop() is _OTHER:
            await close()
            return
        task = asyncio.ensure_future(close())
        cancelled: asyncio.CancelledError | None = None
        while not task.done():
            try:
                await asyncio.shield(task)
            except asyncio.CancelledError as error:
                if task.done():
                    raise
                cancelled = error
        task.result()
    if cancelled is not None:
        raise cancelled
