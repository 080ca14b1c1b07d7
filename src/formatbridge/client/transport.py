"""An HTTP transport with which an official SDK uses an endpoint of another format. For httpx and httpx2, sync and async."""

from __future__ import annotations

import threading
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import contextmanager
from itertools import chain
from typing import TYPE_CHECKING, Any

from formatbridge import formats
from formatbridge.arguments import type_name
from formatbridge.client.calls import Call, Head
from formatbridge.client.connection_pool import create
from formatbridge.client.event_loops import PerLoop
from formatbridge.client.flow import Read, Send, drive, drive_async
from formatbridge.client.http_exchange import is_from_connection_code
from formatbridge.client.http_libraries import (
    AsyncTransport,
    SyncTransport,
    build_async_stream,
    build_response,
    build_stream,
    header_size,
    library_class_of,
    library_of,
)
from formatbridge.client.profile import RelayProfile, profile_of
from formatbridge.client.response_stream import ResponseStream
from formatbridge.client.sdk_requests import SDKRequest, SDKRequestHandler, SDKResponse
from formatbridge.client.secrets import Headers, checked_headers
from formatbridge.client.settings import Clock, base_url_of, checked_callable, key_of, options_for, recorder_of
from formatbridge.client.token_counts import TokenCounter
from formatbridge.convert.bodies import Converted
from formatbridge.convert.masking import as_secret
from formatbridge.errors import ConfigurationError, StreamError
from formatbridge.formats.registry import target_with_dialect
from formatbridge.formats.target import FormatOrName
from formatbridge.options import Options
from formatbridge.telemetry.spans import Tracer

_METHODS = ("handle_request", "handle_async_request")
"""The method of a transport that a sync client calls, and that of an async client."""


def transport(
    base_url: str | None = None,
    api_key: str | Callable[[], str] | None = None,
    *,
    via: FormatOrName,
    profile: RelayProfile | str | None = None,
    headers: Mapping[str, str] | None = None,
    options: Options | None = None,
    on_convert: Callable[[Converted], object] | None = None,
    count_tokens: TokenCounter | None = None,
    inner: SyncTransport | AsyncTransport | None = None,
    tracer: Tracer | None = None,
    trace_content: bool = False,
) -> RelayTransport:
    """Return an HTTP transport with which an official SDK can use an endpoint of the format ``via``.

    Pass it to the SDK's HTTP client: ``anthropic.Anthropic(http_client=httpx2.Client(transport=fb.transport(url, via="responses")))``.
    The path of each request determines the SDK's format, so one transport serves all SDKs. Every request of the SDK's HTTP client goes to
    ``base_url``, whatever host the SDK is configured with. Websockets of an SDK do not use the transport. They go to the base URL of the
    SDK with its key, so configure both for the relay.

    ``base_url``: None: ``FORMATBRIDGE_BASE_URL``, else the profile's.
    ``api_key``: a string (empty: no key), or a callable that returns the key for each request; None: ``FORMATBRIDGE_API_KEY``, else the
    SDK's key.
    ``headers``: added to every request.
    ``options``: None: raise on ``impossible`` losses. The SDK then gets an error answer with status 400.
    ``on_convert``: is called with every conversion: of the request, then of the answer, for a stream at its end.
    ``count_tokens``: returns the number of input tokens of a request body in the format ``via``, for an endpoint that cannot count.
    ``inner``: the transport to send with; None: that of the HTTP library.
    ``tracer``: a tracer of OpenTelemetry, which records a span for each call; None: no spans.
    ``trace_content``: whether spans have messages, instructions and tool definitions, which may be confidential.

    Raises ``ConfigurationError``. An inner transport of another kind or library than the SDK's client raises it at the first request.
    """
    has_key, key = api_key is not None, as_secret(api_key)
    del api_key
    chosen = profile_of(profile)
    key = key_of(key)
    handler = SDKRequestHandler(
        base_url=base_url_of(base_url, chosen),
        via=formats.load(via),
        target=target_with_dialect(via),
        profile=chosen,
        key=key,
        takes_sdk_key=not has_key and key is None,
        headers=checked_headers(headers),
        options=options_for(options, chosen),
        report=checked_callable("on_convert", on_convert),
        token_counter=checked_callable("count_tokens", count_tokens),
        recorder=recorder_of(tracer, Clock(), content=trace_content),
    )
    chosen.path(handler.via, model="m")  # a profile without this endpoint raises here and not at the first request
    return RelayTransport(handler, _checked_inner(inner))


def _checked_inner(inner: Any) -> Any:
    if inner is None or (not isinstance(inner, type) and any(callable(getattr(inner, name, None)) for name in _METHODS)):
        return inner
    raise ConfigurationError(f"inner is {type_name(inner)}, expected a transport of httpx or httpx2")


def _checked_kind(inner: Any, library: Any, *, is_async: bool) -> Any:
    """Return a transport of the right kind (sync or async) and, if it belongs to a library, of the client's library."""
    if not hasattr(inner, _METHODS[is_async]):
        raise ConfigurationError(
            f"inner is {type_name(inner)}, expected a transport for {'an async' if is_async else 'a sync'} client"
        )
    cls = library_class_of(inner, "HTTPTransport", "AsyncHTTPTransport")
    if cls is not None and cls.__module__.partition(".")[0] != library.__name__:
        raise ConfigurationError(f"inner is {type_name(inner)} of the other library, expected one of {library.__name__}")
    return inner


if TYPE_CHECKING:
    _TransportOfAnyLibrary = Any
    """Type checkers accept an instance as a transport of httpx and of httpx2, of which this module may load neither."""
else:
    _TransportOfAnyLibrary = object


class RelayTransport(_TransportOfAnyLibrary):  # type: ignore[misc]  # see above
    """A transport for httpx and httpx2, sync and async; see ``formatbridge.transport``."""

    __slots__ = ("_handler", "_inner_transport", "_lock", "_transports")

    def __init__(self, handler: SDKRequestHandler, inner: SyncTransport | AsyncTransport | None) -> None:
        self._handler = handler
        self._inner_transport = inner
        self._transports: dict[bool, PerLoop[dict[str, Any]]] = {is_async: PerLoop(is_async=is_async) for is_async in (False, True)}
        self._lock = threading.Lock()

    def __repr__(self) -> str:
        return f"RelayTransport({self._handler.base_url!r}, via={self._handler.via.name!r})"

    def __enter__(self) -> RelayTransport:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    async def __aenter__(self) -> RelayTransport:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()

    def close(self) -> None:
        """Close the inner transport and its connections."""
        for inner in self._inners(is_async=False):
            inner.close()

    async def aclose(self) -> None:
        """Close the inner transport of this event loop."""
        for inner in self._inners(is_async=True):
            await inner.aclose()

    def handle_request(self, request: Any) -> Any:
        """Handle a request of a sync client."""
        library = library_of(request)
        exchange = TransportExchange(library, self._inner(library, is_async=False), request)
        flow = self._handler.handle(_sdk_request(request, request.read()))
        answer = drive(flow, exchange, self._handler.clock)
        if answer.converter is None:
            body = build_stream(library, (answer.content,))
            return build_response(library, answer.status, _headers_of_body(answer), body)
        stream = TransportStream(library, answer, self._handler.report)

        def close() -> None:
            exchange.close()
            stream.report()

        converted = stream.convert(chain((answer.content,), exchange.chunks))
        return build_response(library, answer.status, answer.headers, build_stream(library, converted, close))

    async def handle_async_request(self, request: Any) -> Any:
        """Handle a request of an async client."""
        library = library_of(request)
        exchange = AsyncTransportExchange(library, self._inner(library, is_async=True), request)
        flow = self._handler.handle(_sdk_request(request, await request.aread()))
        answer = await drive_async(flow, exchange, self._handler.clock)
        if answer.converter is None:
            body = build_async_stream(library, _chained(answer.content))
            return build_response(library, answer.status, _headers_of_body(answer), body)
        stream = TransportStream(library, answer, self._handler.report)

        async def close() -> None:
            await exchange.close()
            stream.report()

        converted = stream.convert_async(_chained(answer.content, exchange.chunks))
        return build_response(library, answer.status, answer.headers, build_async_stream(library, converted, close))

    def _inner(self, library: Any, *, is_async: bool) -> Any:
        """Return the transport to send with: the inner one, or the library's, created once for all threads or for each event loop."""
        if self._inner_transport is not None:
            return _checked_kind(self._inner_transport, library, is_async=is_async)
        with self._lock:
            transports = self._transports[is_async].get(dict)
            name = library.__name__
            if name not in transports:
                transports[name] = create(library.AsyncHTTPTransport if is_async else library.HTTPTransport, library)
            return transports[name]

    def _inners(self, *, is_async: bool) -> list[Any]:
        """Remove and return the transports to close."""
        if self._inner_transport is not None:
            return [self._inner_transport] if hasattr(self._inner_transport, "aclose" if is_async else "close") else []
        with self._lock:
            return list((self._transports[is_async].pop() or {}).values())


def _headers_of_body(answer: SDKResponse) -> dict[str, str]:
    """Return the headers of a whole body. The body is a stream object too, because the libraries read that raw as well."""
    return {**answer.headers, "content-length": str(len(answer.content))}


async def _chained(start: bytes, chunks: AsyncIterator[bytes] | None = None) -> AsyncIterator[bytes]:
    yield start
    if chunks is not None:
        async for chunk in chunks:
            yield chunk


def _sdk_request(request: Any, content: bytes) -> SDKRequest:
    return SDKRequest(request.method, str(request.url), Headers(request.headers), content)


def _head(response: Any) -> Head:
    return Head(response.status_code, dict(response.headers), header_size(response.headers))


def _request(library: Any, call: Call, sdk_request: Any) -> Any:
    """Return the request to the endpoint, the first object with the key in plain text. Timeouts and tracing are copied from the SDK's."""
    kept = {name: sdk_request.extensions[name] for name in ("timeout", "trace") if name in sdk_request.extensions}
    forwarded = library.Request(call.method, call.url, headers=dict(call.headers), content=call.body, extensions=kept)
    for name, secret in call.secrets.items():
        forwarded.headers[name] = secret.reveal()
    return forwarded


class TransportExchange:
    """The call of one request through a transport of an HTTP library. ``chunks``: the decompressed body of the last answer."""

    __slots__ = ("_inner", "_library", "_request", "_response", "chunks")

    def __init__(self, library: Any, inner: Any, request: Any) -> None:
        self._library, self._inner, self._request = library, inner, request
        self._response: Any = None
        self.chunks: Iterator[bytes] = iter(())

    def send(self, step: Send) -> Head:
        """Send a call and return the head of its answer."""
        self.close()
        self._response = response = self._inner.handle_request(_request(self._library, step.call, self._request))
        self.chunks = response.iter_bytes()
        return _head(response)

    def read(self, _step: Read) -> bytes | None:
        """Return the next chunk of the body; None at its end."""
        return next(self.chunks, None)

    def close(self) -> None:
        """Close the answer."""
        if self._response is not None:
            self._response.close()


class AsyncTransportExchange:
    """The same for an async client."""

    __slots__ = ("_inner", "_library", "_request", "_response", "chunks")

    def __init__(self, library: Any, inner: Any, request: Any) -> None:
        self._library, self._inner, self._request = library, inner, request
        self._response: Any = None
        self.chunks: AsyncIterator[bytes] = _chained(b"")

    async def send(self, step: Send) -> Head:
        """Send a call and return the head of its answer."""
        await self.close()
        self._response = response = await self._inner.handle_async_request(_request(self._library, step.call, self._request))
        self.chunks = response.aiter_bytes()
        return _head(response)

    async def read(self, _step: Read) -> bytes | None:
        """Return the next chunk of the body; None at its end."""
        return await anext(self.chunks, None)

    async def close(self) -> None:
        """Close the answer."""
        if self._response is not None:
            await self._response.aclose()


class TransportStream(ResponseStream):
    """The response stream of a transport. Invalid data raises an error of the HTTP library, which SDKs know."""

    def __init__(self, library: Any, answer: SDKResponse, report: Callable[[Converted], object] | None) -> None:
        super().__init__(answer, report)
        self._library = library
        self._network_errors: tuple[type[Exception], ...] = (library.NetworkError, library.RemoteProtocolError)
        self._read_error: Exception | None = None
        self._is_connection_broken = False

    def convert(self, chunks: Iterator[bytes]) -> Iterator[bytes]:
        """Yield the converted bytes as soon as possible."""
        with self._reading():
            for chunk in chunks:
                if converted := self.feed(chunk):
                    yield converted
        chunk = b""  # tracebacks show this frame, and must not show data from the relay
        yield self._rest()

    async def convert_async(self, chunks: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
        """Do the same for an async client."""
        with self._reading():
            async for chunk in chunks:
                if converted := self.feed(chunk):
                    yield converted
        chunk = b""  # tracebacks show this frame, and must not show data from the relay
        yield self._rest()

    @contextmanager
    def _reading(self) -> Iterator[None]:
        """Note the error that ends the reading of chunks: it is raised later, because its context would contain the key."""
        try:
            yield
        except Exception as error:
            self._read_error = self._error_to_raise(error)
            self._is_connection_broken = self._read_error is None

    def _rest(self) -> bytes:
        """Return the end of the stream; raise the error that has ended the reading."""
        failure = self._read_error
        try:
            if failure is None:
                return self.finish(is_broken=self._is_connection_broken)
        except StreamError as error:
            failure = self._protocol_error(error)
        assert failure is not None
        raise failure

    def _error_to_raise(self, error: Exception) -> Exception | None:
        """Return the exception for an error while reading; None for a broken connection. Raise any other exception."""
        if isinstance(error, StreamError):
            return self._protocol_error(error)
        if isinstance(error, self._network_errors) or is_from_connection_code(error):
            return None
        raise error

    def _protocol_error(self, error: StreamError) -> Exception:
        """Return an exception that SDKs know. It is raised outside of ``except``, because its context would contain the key."""
        converted: Exception = self._library.RemoteProtocolError(self._mask.text(str(error)))
        return converted
