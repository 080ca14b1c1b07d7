"""A transport for the official SDKs: each speaks its own format, the wire another. For httpx and httpx2, sync and async; no server."""

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
from formatbridge.formats.responses.errors import encode_error_event
from formatbridge.jsontext import codec
from formatbridge.options import Options
from formatbridge.streaming.sse import encode_event

_METHODS = ("handle_request", "handle_async_request")
"""What a transport is asked by: a sync client, an async one."""


def transport(
    base_url: str | None = None,
    api_key: str | Callable[[], str] | None = None,
    *,
    via: ir.Format | str,
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
    has_key, key = api_key is not None, as_secret(api_key)
    del api_key
    chosen = profile_of(profile)
    key = key_of(key)
    handler = SDKRequestHandler(
        base_url=base_url_of(base_url, chosen),
        via=formats.load(via).NAME,
        profile=chosen,
        key=key,
        takes_sdk_key=not has_key and key is None,
        headers=checked_headers(headers),
        options=options_for(options, chosen),
        report=checked_callable("on_convert", on_convert),
    )
    chosen.path(handler.via, model="m")  # a profile without this endpoint is a mistake of now, not of the first request
    return RelayTransport(handler, _checked_inner(inner))


def _checked_inner(inner: Any) -> Any:
    if inner is None or (not isinstance(inner, type) and any(callable(getattr(inner, name, None)) for name in _METHODS)):
        return inner
    raise ConfigurationError(f"inner is {type_name(inner)}, expected a transport of httpx or httpx2")


def _checked_kind(inner: Any, library: Any, *, is_async: bool) -> Any:
    """Return a transport that a client's requests can go through: with the client's own kind of calls and, on a real wire, its objects."""
    if not hasattr(inner, _METHODS[is_async]):
        raise ConfigurationError(
            f"inner is {type_name(inner)}, expected a transport for {'an async' if is_async else 'a sync'} client"
        )
    cls = library_class_of(inner, "HTTPTransport", "AsyncHTTPTransport")
    if cls is not None and cls.__module__.partition(".")[0] != library.__name__:
        raise ConfigurationError(f"inner is {type_name(inner)} of the other library, expected one of {library.__name__}")
    return inner


class RelayTransport:
    """A transport of httpx and of httpx2 at once, sync and async; see ``formatbridge.transport``."""

    __slots__ = ("_handler", "_inner_transport", "_lock", "_own_transports")

    def __init__(self, handler: SDKRequestHandler, inner: Any) -> None:
        self._handler = handler
        self._inner_transport = inner
        self._own_transports: dict[bool, PerLoop[dict[str, Any]]] = {
            is_async: PerLoop(is_async=is_async) for is_async in (False, True)
        }
        self._lock = threading.Lock()

    def __repr__(self) -> str:
        return f"RelayTransport({self._handler.base_url!r}, via={self._handler.via!r})"

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
        """Carry a request of an async client over, and its answer back."""
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
        """Return the SDK's answer; a stream is converted as it comes."""
        if answer.converter is None:
            if response is not None:
                response.close()
            return build_response(library, answer.status, _headers_of_body(answer), build_stream(library, (answer.content,)))
        stream = ResponseStream(library, answer.converter, self._repeats_errors(answer), answer.mask, self._handler.report)

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
        stream = ResponseStream(library, answer.converter, self._repeats_errors(answer), answer.mask, self._handler.report)

        async def close() -> None:
            await response.aclose()
            stream.report()

        converted = stream.convert_async(_chained(answer.content, chunks))
        return build_response(library, answer.status, answer.headers, build_async_stream(library, converted, close))

    def _repeats_errors(self, answer: SDKResponse) -> bool:
        """Say whether a stream passes unchanged to the SDK for responses, which raises on one kind of error event only."""
        return answer.format == self._handler.via == "responses"

    def _inner(self, library: Any, *, is_async: bool) -> Any:
        """Return the transport to go through: the given one, or the library's own, made once for all threads or for each event loop."""
        if self._inner_transport is not None:
            return _checked_kind(self._inner_transport, library, is_async=is_async)
        with self._lock:
            transports = self._own_transports[is_async].get(dict)
            name = library.__name__
            if name not in transports:
                transports[name] = create(library.AsyncHTTPTransport if is_async else library.HTTPTransport, library)
            return transports[name]

    def _inners(self, *, is_async: bool) -> list[Any]:
        """Return what is to be closed here and now, and forget it."""
        if self._inner_transport is not None:
            return [self._inner_transport] if hasattr(self._inner_transport, "aclose" if is_async else "close") else []
        with self._lock:
            return list((self._own_transports[is_async].pop() or {}).values())


def _headers_of_body(answer: SDKResponse) -> dict[str, str]:
    """Return the headers of a whole body. It is a stream nevertheless, for the HTTP libraries read that raw as well."""
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
    """Return the request to the wire, the first to hold the key in plain; of the SDK's, only the timeouts stay."""
    kept = {name: sdk_request.extensions[name] for name in ("timeout", "trace") if name in sdk_request.extensions}
    forwarded = library.Request(call.method, call.url, headers=dict(call.headers), content=call.body, extensions=kept)
    for name, secret in call.secrets.items():
        forwarded.headers[name] = secret.reveal()
    return forwarded


class ResponseStream:
    """A stream on its way home. One that breaks ends in an error event; nonsense is an error of the HTTP library, which the SDKs know.

    ``repeats_errors``: the stream passes unchanged to the SDK for responses, which raises on an event with a nested ``error`` object only;
    any other error in it is followed by such an event.
    """

    def __init__(
        self,
        library: Any,
        converter: StreamConverter,
        repeats_errors: bool,
        mask: Mask,
        report: Callable[[Converted], object] | None,
    ) -> None:
        self._library = library
        self._converter = converter
        self._mask = mask
        self._repeats_errors = repeats_errors
        self._report = report
        self._network_errors: tuple[type[Exception], ...] = (library.NetworkError, library.RemoteProtocolError)

    def convert(self, chunks: Iterator[bytes]) -> Iterator[bytes]:
        """Yield the SDK's bytes as soon as the wire's make them possible."""
        failure: Exception | None = None
        is_broken = False
        try:
            for chunk in chunks:
                if converted := self._feed(chunk):
                    yield converted
        except Exception as error:
            failure = self._error_to_raise(error)
            is_broken = failure is None
        chunk = b""  # this frame shows in tracebacks, where what the relay sent has no place
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
        chunk = b""  # this frame shows in tracebacks, where what the relay sent has no place
        if failure is not None:
            raise failure
        yield self._finish(is_broken=is_broken)

    def _feed(self, chunk: bytes) -> bytes:
        """Convert a chunk; what the wire says of an error is told without the key."""
        converted = self._converter.feed(chunk)
        return self._mask.body(converted) if self._converter.error is not None else converted

    def _error_to_raise(self, error: Exception) -> Exception | None:
        """Return what to raise for an exception of a stream; None where the connection broke. Raise what is of neither."""
        if isinstance(error, StreamError):
            return self._protocol_error(error)
        if isinstance(error, self._network_errors) or is_from_connection_code(error):
            return None
        raise error

    def _protocol_error(self, error: StreamError) -> Exception:
        """Return the error that an SDK knows, to be raised behind the ``except``: what it would have for a context holds the key."""
        converted: Exception = self._library.RemoteProtocolError(self._mask.text(str(error)))
        return converted

    def _end(self, *, is_broken: bool) -> bytes:
        """Return what the converter writes at the end of the bytes; raise what it says of a break, unless nothing was missing."""
        if not is_broken:
            return self._converter.finish()
        self._converter.feed(b"")  # raises what could not be read before the break, which is not its cause
        truncated = self._converter.abort()
        if self._converter.is_over:
            return truncated.tail
        raise truncated

    def _finish(self, *, is_broken: bool) -> bytes:
        """Take the end of the bytes; a truncated stream ends in an error event, upon which the SDK raises."""
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
        if self._repeats_errors and self._converter.error is not None:
            converted += encode_event(codec.dumps({"type": "error", **encode_error_event(self._converter.error)}), "error")
        return self._mask.body(converted)

    def report(self) -> None:
        """Report the answer as far as it came, once: some SDKs stop reading before the last byte."""
        report, self._report = self._report, None
        if report is not None:
            report(self._converter.response())
