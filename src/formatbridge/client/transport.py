"""An HTTP transport with which an official SDK uses an endpoint of another format. For httpx and httpx2, sync and async."""

from __future__ import annotations

import threading
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from itertools import chain
from typing import Any

from formatbridge import formats, ir
from formatbridge.arguments import type_name
from formatbridge.client.calls import Call, Head
from formatbridge.client.connection_pool import PerLoop, create
from formatbridge.client.http_exchange import is_from_connection_code
from formatbridge.client.http_libraries import (
    build_async_stream,
    build_response,
    build_stream,
    header_size,
    library_class_of,
    library_of,
)
from formatbridge.client.profile import RelayProfile, profile_of
from formatbridge.client.sdk_requests import ReadBody, SDKRequest, SDKRequestHandler, SDKResponse
from formatbridge.client.secrets import Headers, checked_headers
from formatbridge.client.settings import base_url_of, checked_callable, key_of, options_for
from formatbridge.convert.bodies import Converted
from formatbridge.convert.masking import Mask, as_secret
from formatbridge.convert.streams import StreamConverter
from formatbridge.errors import ConfigurationError, StreamError, TruncatedStreamError
from formatbridge.formats.format import FormatOrName
from formatbridge.options import Options

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
    inner: Any = None,
) -> Any:
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
    ``inner``: the transport to send with; None: that of the HTTP library.

    Raises ``ConfigurationError``. An inner transport of another kind or library than the SDK's client raises it at the first request.
    """
    has_key, key = api_key is not None, as_secret(api_key)
    del api_key
    chosen = profile_of(profile)
    key = key_of(key)
    handler = SDKRequestHandler(
        base_url=base_url_of(base_url, chosen),
        via=formats.load(via),
        profile=chosen,
        key=key,
        takes_sdk_key=not has_key and key is None,
        headers=checked_headers(headers),
        options=options_for(options, chosen),
        report=checked_callable("on_convert", on_convert),
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


class RelayTransport:
    """A transport for httpx and httpx2, sync and async; see ``formatbridge.transport``."""

    __slots__ = ("_handler", "_inner_transport", "_lock", "_transports")

    def __init__(self, handler: SDKRequestHandler, inner: Any) -> None:
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
        inner = self._inner(library, is_async=False)
        flow = self._handler.handle(_sdk_request(request, request.read()))
        response: Any = None
        chunks: Any = None
        sent: Any = None
        try:
            while True:
                try:
                    step = flow.send(sent)
                except StopIteration as end:
                    return self._sdk_response(library, end.value, response, chunks)
                if isinstance(step, ReadBody):
                    sent = _read_body(chunks, step.max_bytes)
                    continue
                if response is not None:
                    response.close()
                response = inner.handle_request(_request(library, step, request))
                sent, chunks = _head(response), response.iter_bytes()
        except BaseException:
            if response is not None:
                response.close()
            raise

    async def handle_async_request(self, request: Any) -> Any:
        """Handle a request of an async client."""
        library = library_of(request)
        inner = self._inner(library, is_async=True)
        flow = self._handler.handle(_sdk_request(request, await request.aread()))
        response: Any = None
        chunks: Any = None
        sent: Any = None
        try:
            while True:
                try:
                    step = flow.send(sent)
                except StopIteration as end:
                    return await self._sdk_response_async(library, end.value, response, chunks)
                if isinstance(step, ReadBody):
                    sent = await _read_body_async(chunks, step.max_bytes)
                    continue
                if response is not None:
                    await response.aclose()
                response = await inner.handle_async_request(_request(library, step, request))
                sent, chunks = _head(response), response.aiter_bytes()
        except BaseException:
            if response is not None:
                await response.aclose()
            raise

    def _sdk_response(self, library: Any, answer: SDKResponse, response: Any, chunks: Any) -> Any:
        """Return the SDK's response; a stream is converted as it arrives."""
        if answer.converter is None:
            if response is not None:
                response.close()
            return build_response(library, answer.status, _headers_of_body(answer), build_stream(library, (answer.content,)))
        stream = ResponseStream(library, answer.converter, self._error_event(answer), answer.mask, self._handler.report)

        def close() -> None:
            response.close()
            stream.report()

        converted = stream.convert(chain((answer.content,), chunks))
        return build_response(library, answer.status, answer.headers, build_stream(library, converted, close))

    async def _sdk_response_async(self, library: Any, answer: SDKResponse, response: Any, chunks: Any) -> Any:
        if answer.converter is None:
            if response is not None:
                await response.aclose()
            return build_response(
                library, answer.status, _headers_of_body(answer), build_async_stream(library, _chained(answer.content))
            )
        stream = ResponseStream(library, answer.converter, self._error_event(answer), answer.mask, self._handler.report)

        async def close() -> None:
            await response.aclose()
            stream.report()

        converted = stream.convert_async(_chained(answer.content, chunks))
        return build_response(library, answer.status, answer.headers, build_async_stream(library, converted, close))

    def _error_event(self, answer: SDKResponse) -> Callable[[ir.Error], bytes] | None:
        """Return what encodes an event that makes the SDK raise, for a stream that passes unchanged to an SDK that needs one."""
        sdk = self._handler.via.endpoint.sdk
        return sdk.encode_error_event if sdk is not None and answer.format is self._handler.via else None

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


def _read_body(chunks: Iterator[bytes], max_bytes: int) -> bytes:
    pieces, remaining = [], max_bytes
    for piece in chunks:
        pieces.append(piece)
        remaining -= len(piece)
        if remaining < 0:
            break
    return b"".join(pieces)


async def _read_body_async(chunks: AsyncIterator[bytes], max_bytes: int) -> bytes:
    pieces, remaining = [], max_bytes
    async for piece in chunks:
        pieces.append(piece)
        remaining -= len(piece)
        if remaining < 0:
            break
    return b"".join(pieces)


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


class ResponseStream:
    """The response stream to an SDK. A truncated stream ends in an error event; invalid data raises an error of the HTTP library.

    ``encode_error_event``: encodes an event for which the SDK raises an exception. It follows an error of the stream. None: the SDK does
    not need one.
    """

    def __init__(
        self,
        library: Any,
        converter: StreamConverter,
        encode_error_event: Callable[[ir.Error], bytes] | None,
        mask: Mask,
        report: Callable[[Converted], object] | None,
    ) -> None:
        self._library = library
        self._converter = converter
        self._mask = mask
        self._encode_error_event = encode_error_event
        self._report = report
        self._network_errors: tuple[type[Exception], ...] = (library.NetworkError, library.RemoteProtocolError)

    def convert(self, chunks: Iterator[bytes]) -> Iterator[bytes]:
        """Yield the converted bytes as soon as possible."""
        failure: Exception | None = None
        is_broken = False
        try:
            for chunk in chunks:
                if converted := self._feed(chunk):
                    yield converted
        except Exception as error:
            failure = self._error_to_raise(error)
            is_broken = failure is None
        chunk = b""  # tracebacks show this frame, and must not show data from the relay
        if failure is not None:
            raise failure
        yield self._finish(is_broken=is_broken)

    async def convert_async(self, chunks: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
        """Do the same for an async client."""
        failure: Exception | None = None
        is_broken = False
        try:
            async for chunk in chunks:
                if converted := self._feed(chunk):
                    yield converted
        except Exception as error:
            failure = self._error_to_raise(error)
            is_broken = failure is None
        chunk = b""  # tracebacks show this frame, and must not show data from the relay
        if failure is not None:
            raise failure
        yield self._finish(is_broken=is_broken)

    def _feed(self, chunk: bytes) -> bytes:
        """Convert a chunk; hide the key from the first error on."""
        converted = self._converter.feed(chunk)
        return self._mask.body(converted) if self._converter.error is not None else converted

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

    def _end(self, *, is_broken: bool) -> bytes:
        """Return the last bytes of the converter; raise an error if the connection broke before the end of the stream."""
        if not is_broken:
            return self._converter.finish()
        self._converter.feed(b"")  # raises a decoding error of earlier bytes, which the break did not cause
        truncated = self._converter.abort()
        if self._converter.is_over:
            return truncated.tail
        raise truncated

    def _finish(self, *, is_broken: bool) -> bytes:
        """Handle the end of the bytes; a truncated stream ends in an error event, for which the SDK raises an exception."""
        failure: Exception | None = None
        try:
            converted = self._end(is_broken=is_broken)
        except TruncatedStreamError as error:
            converted = error.tail
        except StreamError as error:
            converted, failure = b"", self._protocol_error(error)
        if failure is not None:
            raise failure
        self.report()
        if self._encode_error_event is not None and self._converter.error is not None:
            converted += self._encode_error_event(self._converter.error)
        return self._mask.body(converted)

    def report(self) -> None:
        """Report the partial answer, once. Some SDKs stop reading before the last byte."""
        report, self._report = self._report, None
        if report is not None:
            report(self._converter.response())
