"""A transport for the official SDKs: each speaks its own format, the wire another. For httpx and httpx2, sync and async; no server."""

from __future__ import annotations

import threading
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from itertools import chain
from typing import Any

from formatbridge import formats, ir
from formatbridge.arguments import a
from formatbridge.client.calls import Call, Head
from formatbridge.client.http_clients import Places, made_here
from formatbridge.client.http_libraries import ancestor_of, answer_of, async_stream_of, library_of, size_of, stream_of
from formatbridge.client.profile import RelayProfile, profile_of
from formatbridge.client.sdk_calls import Asked, Body, Crossing, Home
from formatbridge.client.sdk_response_stream import Homecoming
from formatbridge.client.secrets import Headers, checked_headers
from formatbridge.client.settings import base_url_of, checked_callable, key_of, options_for
from formatbridge.convert.bodies import Converted
from formatbridge.convert.masking import hidden
from formatbridge.errors import ConfigurationError
from formatbridge.formats.format import FormatOrName
from formatbridge.options import Options

_ENTRIES = ("handle_request", "handle_async_request")
"""What a transport is asked by: a sync client, an async one."""


def transport(
    base_url: str | None = None,
    api_key: str | Callable[[], str] | None = None,
    *,
    via: FormatOrName,
    profile: RelayProfile | str | None = None,
    headers: Mapping[str, str] | None = None,
    options: Options | None = None,
    on_convert: Callable[[Converted], object] | None = None,
    inner: Any = None,
) -> Any:
    """Return an HTTP transport through which an official SDK speaks to an endpoint of the format ``via``.

    Hand it to the SDK's own HTTP client: ``anthropic.Anthropic(http_client=httpx2.Client(transport=fb.transport(url,
    via="responses")))``. The SDK's format is told by the path of each request, so one transport serves them all. Every
    request of the SDK's HTTP client goes to ``base_url`` (None: ``FORMATBRIDGE_BASE_URL``, else the profile's), whatever host the SDK is
    set to. An SDK's websockets are no such requests: they go to the SDK's own base URL with the SDK's own key, so set both for the relay.

    ``api_key``: a string (empty: no key), or a callable that is asked for each request; None: ``FORMATBRIDGE_API_KEY``, else the
    key that the SDK was given. ``headers``: added to every request. ``options``: None raises on what is impossible; such a request
    gets an error answer from this side, with status 400. ``on_convert`` gets every conversion with its losses: of the request, then of the
    answer, once a stream is over. ``inner``: the transport to go through; None: the HTTP library's own. Raises ``ConfigurationError`` on
    what is none, and at the first request on one of another kind or library than the SDK's client.
    """
    has_key, key = api_key is not None, hidden(api_key)
    del api_key
    chosen = profile_of(profile)
    key = key_of(key)
    crossing = Crossing(
        base_url=base_url_of(base_url, chosen),
        via=formats.load(via),
        profile=chosen,
        key=key,
        takes_sdk_key=not has_key and key is None,
        headers=checked_headers(headers),
        options=options_for(options, chosen),
        report=checked_callable("on_convert", on_convert),
    )
    chosen.path(crossing.via, model="m")  # a profile without this endpoint is a mistake of now, not of the first request
    return RelayTransport(crossing, _checked_inner(inner))


def _checked_inner(inner: Any) -> Any:
    if inner is None or (not isinstance(inner, type) and any(callable(getattr(inner, name, None)) for name in _ENTRIES)):
        return inner
    raise ConfigurationError(f"inner is {a(inner)}, expected a transport of httpx or httpx2")


def _checked_kind(inner: Any, library: Any, *, is_async: bool) -> Any:
    """Return a transport that a client's requests can go through: with the client's own kind of calls and, on a real wire, its objects."""
    if not hasattr(inner, _ENTRIES[is_async]):
        raise ConfigurationError(f"inner is {a(inner)}, expected a transport for {'an async' if is_async else 'a sync'} client")
    wired = ancestor_of(inner, "HTTPTransport", "AsyncHTTPTransport")
    if wired is not None and wired.__module__.partition(".")[0] != library.__name__:
        raise ConfigurationError(f"inner is {a(inner)} of the other library, expected one of {library.__name__}")
    return inner


class RelayTransport:
    """A transport of httpx and of httpx2 at once, sync and async; see ``formatbridge.transport``."""

    __slots__ = ("_crossing", "_given", "_lock", "_own")

    def __init__(self, crossing: Crossing, inner: Any) -> None:
        self._crossing = crossing
        self._given = inner
        self._own: dict[bool, Places[dict[str, Any]]] = {is_async: Places(is_async=is_async) for is_async in (False, True)}
        self._lock = threading.Lock()

    def __repr__(self) -> str:
        return f"RelayTransport({self._crossing.base_url!r}, via={self._crossing.via.name!r})"

    def __enter__(self) -> RelayTransport:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    async def __aenter__(self) -> RelayTransport:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()

    def close(self) -> None:
        """Close the inner transport, and with it its connections."""
        for inner in self._inners(is_async=False):
            inner.close()

    async def aclose(self) -> None:
        """Close the inner transport of this event loop."""
        for inner in self._inners(is_async=True):
            await inner.aclose()

    def handle_request(self, request: Any) -> Any:
        """Carry a request of a sync client over, and its answer back."""
        library = library_of(request)
        inner = self._inner(library, is_async=False)
        errand = self._crossing.carry(_asked(request, request.read()))
        response: Any = None
        chunks: Any = None
        given: Any = None
        try:
            while True:
                try:
                    step = errand.send(given)
                except StopIteration as end:
                    return self._home(library, end.value, response, chunks)
                if isinstance(step, Body):
                    given = _read(chunks, step.most)
                    continue
                if response is not None:
                    response.close()
                response = inner.handle_request(_request(library, step, request))
                given, chunks = _head(response), response.iter_bytes()
        except BaseException:
            if response is not None:
                response.close()
            raise

    async def handle_async_request(self, request: Any) -> Any:
        """Carry a request of an async client over, and its answer back."""
        library = library_of(request)
        inner = self._inner(library, is_async=True)
        errand = self._crossing.carry(_asked(request, await request.aread()))
        response: Any = None
        chunks: Any = None
        given: Any = None
        try:
            while True:
                try:
                    step = errand.send(given)
                except StopIteration as end:
                    return await self._home_async(library, end.value, response, chunks)
                if isinstance(step, Body):
                    given = await _read_async(chunks, step.most)
                    continue
                if response is not None:
                    await response.aclose()
                response = await inner.handle_async_request(_request(library, step, request))
                given, chunks = _head(response), response.aiter_bytes()
        except BaseException:
            if response is not None:
                await response.aclose()
            raise

    def _home(self, library: Any, home: Home, response: Any, chunks: Any) -> Any:
        """Return the SDK's answer; a stream is converted as it comes."""
        if home.converter is None:
            if response is not None:
                response.close()
            return answer_of(library, home.status, _sized(home), stream_of(library, (home.content,)))
        stream = Homecoming(library, home.converter, self._error_event(home), home.mask, self._crossing.report)

        def close() -> None:
            response.close()
            stream.tell()

        converted = stream.convert(chain((home.content,), chunks))
        return answer_of(library, home.status, home.headers, stream_of(library, converted, close))

    async def _home_async(self, library: Any, home: Home, response: Any, chunks: Any) -> Any:
        if home.converter is None:
            if response is not None:
                await response.aclose()
            return answer_of(library, home.status, _sized(home), async_stream_of(library, _after(home.content)))
        stream = Homecoming(library, home.converter, self._error_event(home), home.mask, self._crossing.report)

        async def close() -> None:
            await response.aclose()
            stream.tell()

        converted = stream.convert_async(_after(home.content, chunks))
        return answer_of(library, home.status, home.headers, async_stream_of(library, converted, close))

    def _error_event(self, home: Home) -> Callable[[ir.Error], bytes] | None:
        """Return what encodes an event that makes the SDK raise, for a stream that passes unchanged to an SDK that needs one."""
        sdk = home.format.endpoint.sdk if home.format is self._crossing.via else None
        return sdk.encode_error_event if sdk is not None else None

    def _inner(self, library: Any, *, is_async: bool) -> Any:
        """Return the transport to go through: the given one, or the library's own, made once for all threads or for each event loop."""
        if self._given is not None:
            return _checked_kind(self._given, library, is_async=is_async)
        with self._lock:
            own = self._own[is_async].here(dict)
            name = library.__name__
            if name not in own:
                own[name] = made_here(library.AsyncHTTPTransport if is_async else library.HTTPTransport, library)
            return own[name]

    def _inners(self, *, is_async: bool) -> list[Any]:
        """Return what is to be closed here and now, and forget it."""
        if self._given is not None:
            return [self._given] if hasattr(self._given, "aclose" if is_async else "close") else []
        with self._lock:
            return list((self._own[is_async].leave() or {}).values())


def _sized(home: Home) -> dict[str, str]:
    """Return the headers of a whole body. It is a stream nevertheless, for the HTTP libraries read that raw as well."""
    return {**home.headers, "content-length": str(len(home.content))}


async def _after(begun: bytes, chunks: AsyncIterator[bytes] | None = None) -> AsyncIterator[bytes]:
    yield begun
    if chunks is not None:
        async for chunk in chunks:
            yield chunk


def _read(chunks: Iterator[bytes], most: int) -> bytes:
    pieces, left = [], most
    for piece in chunks:
        pieces.append(piece)
        left -= len(piece)
        if left < 0:
            break
    return b"".join(pieces)


async def _read_async(chunks: AsyncIterator[bytes], most: int) -> bytes:
    pieces, left = [], most
    async for piece in chunks:
        pieces.append(piece)
        left -= len(piece)
        if left < 0:
            break
    return b"".join(pieces)


def _asked(request: Any, content: bytes) -> Asked:
    return Asked(request.method, str(request.url), Headers(request.headers), content)


def _head(response: Any) -> Head:
    return Head(response.status_code, dict(response.headers), size_of(response.headers))


def _request(library: Any, call: Call, given: Any) -> Any:
    """Return the request to the wire, the first to hold the key in plain; of the SDK's, only the timeouts stay."""
    kept = {name: given.extensions[name] for name in ("timeout", "trace") if name in given.extensions}
    made = library.Request(call.method, call.url, headers=dict(call.headers), content=call.body, extensions=kept)
    for name, secret in call.secrets.items():
        made.headers[name] = secret.reveal()
    return made
