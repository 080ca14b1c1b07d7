"""httpx and httpx2, as a transport uses them: the library of a request or a client, and responses with their bodies.

Both have the same names, and neither accepts objects of the other. The library of a request is always loaded already.
"""

from __future__ import annotations

import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Iterator, Mapping
from functools import cache
from types import ModuleType
from typing import Any, Protocol

from formatbridge.arguments import type_name
from formatbridge.errors import ConfigurationError

LIBRARIES = ("httpx", "httpx2")


class SyncTransport(Protocol):
    """A transport for sync clients. Requests and responses are of either library, whose classes have no common base."""

    def handle_request(self, request: Any, /) -> Any: ...

    def close(self) -> None: ...


class AsyncTransport(Protocol):
    """The same for async clients."""

    async def handle_async_request(self, request: Any, /) -> Any: ...

    async def aclose(self) -> None: ...


def library_of(request: object) -> Any:
    """Return the module, ``httpx`` or ``httpx2``, of a request, also of a subclass."""
    cls = library_class_of(request)
    if cls is None:
        raise ConfigurationError(f"request is {type_name(request)}, expected a request of httpx or httpx2")
    return _module_of(cls)


def library_and_kind(client: object) -> tuple[ModuleType, bool]:
    """Return the library of an HTTP client and whether the client is async. Subclasses are recognised by their base classes."""
    cls = library_class_of(client, "Client", "AsyncClient")
    if cls is None:
        raise ConfigurationError(f"http_client is {type_name(client)}, expected a client of httpx or httpx2")
    return _module_of(cls), cls.__name__ == "AsyncClient"


def library_class_of(value: object, *names: str) -> type | None:
    """Return the first class of httpx or httpx2 among the base classes of a value, with one of ``names`` if any; None: no such class."""
    classes = (cls for cls in type(value).__mro__ if cls.__module__.partition(".")[0] in LIBRARIES)
    return next((cls for cls in classes if not names or cls.__name__ in names), None)


def _module_of(cls: type) -> ModuleType:
    return sys.modules[cls.__module__.partition(".")[0]]


def header_size(headers: Any) -> int:
    """Return the number of bytes of all header names and values."""
    return sum(len(name) + len(value) for name, value in headers.raw)


class _SyncBody:
    """The body of a response, read once. ``close`` closes its source."""

    def __init__(self, chunks: Iterable[bytes], close: Callable[[], None] | None) -> None:
        self._chunks = chunks
        self._close = close

    def __iter__(self) -> Iterator[bytes]:
        yield from self._chunks

    def close(self) -> None:
        if self._close is not None:
            self._close()


class _AsyncBody:
    """The same for an async client."""

    def __init__(self, chunks: AsyncIterator[bytes], close: Callable[[], Awaitable[None]] | None) -> None:
        self._chunks = chunks
        self._close = close

    async def __aiter__(self) -> AsyncIterator[bytes]:
        async for chunk in self._chunks:
            yield chunk

    async def aclose(self) -> None:
        if self._close is not None:
            await self._close()


@cache
def _stream_class(base: type, library: str, parent: str) -> Any:
    """Return a subclass of a body that is also a stream class of the library, which its clients require."""
    return type(base.__name__.strip("_"), (base, getattr(sys.modules[library], parent)), {})


def build_stream(library: Any, chunks: Iterable[bytes], close: Callable[[], None] | None = None) -> Any:
    """Return the body of a response to a sync client."""
    return _stream_class(_SyncBody, library.__name__, "SyncByteStream")(chunks, close)


def build_async_stream(library: Any, chunks: AsyncIterator[bytes], close: Callable[[], Awaitable[None]] | None = None) -> Any:
    """Return the body of a response to an async client."""
    return _stream_class(_AsyncBody, library.__name__, "AsyncByteStream")(chunks, close)


def build_response(library: Any, status: int, headers: Mapping[str, str], stream: Any, extensions: Any = None) -> Any:
    """Return a response of the library."""
    return library.Response(status, headers=headers, stream=stream, extensions=extensions)
