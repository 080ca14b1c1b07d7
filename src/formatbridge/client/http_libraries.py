"""httpx and httpx2 seen from a transport: which of the two a request is of, and streams of bytes in it.

The two are alike to the letter, and neither takes the other's objects. Whoever asks, its library is loaded already.
"""

from __future__ import annotations

import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Iterator, Mapping
from functools import cache
from typing import Any

from formatbridge.arguments import type_name
from formatbridge.errors import ConfigurationError

LIBRARIES = ("httpx", "httpx2")


def library_of(value: object) -> Any:
    """Return the module, ``httpx`` or ``httpx2``, of a request, an answer or a client, also of a subclass."""
    cls = library_class_of(value)
    if cls is None:
        raise ConfigurationError(f"found {type_name(value)}, expected an object of httpx or httpx2")
    return sys.modules[cls.__module__.partition(".")[0]]


def library_class_of(value: object, *names: str) -> type | None:
    """Return the first class of httpx or httpx2, by some name where names are given, that something is of; None: of none."""
    classes = (cls for cls in type(value).__mro__ if cls.__module__.partition(".")[0] in LIBRARIES)
    return next((cls for cls in classes if not names or cls.__name__ in names), None)


def header_size(headers: Any) -> int:
    """Return how many bytes the names and values of an answer's headers have."""
    return sum(len(name) + len(value) for name, value in headers.raw)


class _SyncBody:
    """The body of an answer, to be read once; ``close`` lets go of what it comes from."""

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
    """Return the stream class of ours that is also one of the library's, which its clients insist on."""
    return type(base.__name__.strip("_"), (base, getattr(sys.modules[library], parent)), {})


def build_stream(library: Any, chunks: Iterable[bytes], close: Callable[[], None] | None = None) -> Any:
    """Return the body of an answer to a sync client."""
    return _stream_class(_SyncBody, library.__name__, "SyncByteStream")(chunks, close)


def build_async_stream(library: Any, chunks: AsyncIterator[bytes], close: Callable[[], Awaitable[None]] | None = None) -> Any:
    """Return the body of an answer to an async client."""
    return _stream_class(_AsyncBody, library.__name__, "AsyncByteStream")(chunks, close)


def build_response(library: Any, status: int, headers: Mapping[str, str], stream: Any, extensions: Any = None) -> Any:
    """Return an answer of the library."""
    return library.Response(status, headers=headers, stream=stream, extensions=extensions)
