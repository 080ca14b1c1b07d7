"""A request of an official SDK as a flow: its format, the call to the endpoint, and the response. Nothing here does I/O."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar
from urllib.parse import unquote, urlsplit

from formatbridge import formats, ir
from formatbridge.base_errors import MissingModelError
from formatbridge.client import calls, errors
from formatbridge.client.calls import KEY_HEADERS, BodyStart, Call, Head, Native, follow_redirects
from formatbridge.client.flow import Close, Flow, Read, Send
from formatbridge.client.profile import RelayProfile
from formatbridge.client.secrets import Headers, checked_key
from formatbridge.client.settings import Clock, Limits, current_key, options_for_answer
from formatbridge.client.token_counts import TokenCounter, can_count, estimated, missing_endpoint
from formatbridge.convert.bodies import Converted, ConvertedRequest, convert_error, convert_models
from formatbridge.convert.bridge import Bridge, CountExchange, Exchange
from formatbridge.convert.masking import Mask, Secret
from formatbridge.convert.replay import replay_response
from formatbridge.convert.streams import StreamConverter
from formatbridge.errors import (
    APIConnectionError,
    APIStatusError,
    APITimeoutError,
    FormatBridgeError,
    InvalidPayloadError,
    UnexpectedResponseError,
)
from formatbridge.formats.format import FormatSpec, SdkFacts
from formatbridge.formats.target import FormatOrName, Target
from formatbridge.jsontext import codec
from formatbridge.jsontext.types import JsonObject
from formatbridge.options import Options
from formatbridge.telemetry.spans import CallSpan, Recorder, recorded

ExchangeT = TypeVar("ExchangeT", Exchange, CountExchange)
_LIST = re.compile(r".*/models|.*?/models/(?P<model>.+)")
_ESCAPED_COLON = re.compile("%3A", re.IGNORECASE)
_JSON, _EVENTS = "application/json", "text/event-stream"
_UNKNOWN_URL = "unknown_url"
"""OpenAI's code for a path that its server does not have: "Unknown request URL: POST /v1", status 404 (InternLM/MindSearch#150)."""


@dataclass(frozen=True, slots=True)
class SDKRequest:
    """The HTTP request of an SDK. ``replaced``: fields that its body had before the gateway replaced them."""

    method: str
    url: str
    headers: Headers
    content: bytes = field(repr=False)
    replaced: JsonObject = field(default_factory=dict, repr=False)

    @property
    def path(self) -> str:
        """The path, without a slash at its end. A path may have an escaped colon, as ``urllib.parse.quote`` writes it."""
        return _ESCAPED_COLON.sub(":", urlsplit(self.url).path).removesuffix("/")

    @property
    def endpoint(self) -> tuple[FormatSpec, re.Match[str]] | None:
        """The format of the endpoint at this path, and the match of the path; None if there is no such endpoint."""
        matches = ((spec, sdk.path.fullmatch(self.path)) for spec, sdk in sdk_facts())
        return next(((spec, match) for spec, match in matches if match is not None), None)

    @property
    def count_endpoint(self) -> tuple[FormatSpec, re.Match[str]] | None:
        """The format of the endpoint for token counts at this path, and the match of the path; None if there is no such endpoint."""
        matches = ((spec, spec.count.sdk_path.fullmatch(self.path)) for spec, _ in sdk_facts() if spec.count is not None)
        return next(((spec, match) for spec, match in matches if match is not None), None)

    @property
    def allowed_method(self) -> str | None:
        """The method of the endpoint or list at this path; None if there is nothing. A colon begins another method of a model."""
        if self.endpoint is not None or self.count_endpoint is not None:
            return "POST"
        match = _LIST.fullmatch(self.path)
        is_list = match is not None and (self.method != "POST" or ":" not in (match["model"] or ""))
        return "GET" if is_list else None

    @property
    def format(self) -> FormatSpec:
        """The format of the SDK, from the path or else from its headers."""
        endpoint = self.endpoint or self.count_endpoint
        if endpoint is not None:
            return endpoint[0]
        known = sdk_facts()
        return next((spec for spec, sdk in reversed(known) if self._is_of(spec, sdk)), known[0][0])

    def _is_of(self, spec: FormatSpec, sdk: SdkFacts) -> bool:
        """Return whether a header, or the beginning of the path of another endpoint, is of a format."""
        parts = [sdk.path_part, f"{spec.endpoint.path}/"]
        return sdk.header in self.headers or any(part is not None and part in self.path for part in parts)


def sdk_facts() -> list[tuple[FormatSpec, SdkFacts]]:
    """Return the formats that have an official SDK, each with how the SDK calls its endpoint."""
    specs = map(formats.load, formats.FORMATS)
    return [(spec, spec.endpoint.sdk) for spec in specs if spec.endpoint.sdk is not None]


@dataclass(frozen=True, slots=True)
class SDKResponse:
    """The response for the SDK: a whole body, or a converter for the endpoint's stream and a mask for its errors.

    ``content``: the body, or the bytes of the endpoint's stream that were already read.
    ``encode_error_event``: encodes an event for which the SDK raises an exception. It follows an error of the stream. None: the SDK does
    not need one.
    ``answer_mask``: hides the key in answers, for a server that passes them on to other people.
    """

    status: int
    headers: Mapping[str, str]
    content: bytes = b""
    converter: StreamConverter | None = None
    encode_error_event: Callable[[ir.Error], bytes] | None = None
    span: CallSpan | None = None
    mask: Mask = field(default_factory=lambda: Mask(()))
    answer_mask: Mask = field(default_factory=lambda: Mask(()))


@dataclass(frozen=True, slots=True)
class _PendingCall:
    """A call to the endpoint that is ready to be sent. ``streams``: whether the SDK expects a stream."""

    exchange: Exchange | CountExchange
    call: Call
    streams: bool
    answer_mask: Mask
    span: CallSpan | None


class RejectedRequestError(Exception):
    """The request has no answer. The SDK gets an error answer in its format; this exception stays in the package.

    ``code``, ``param``: fields of the error body. ``headers``: of the error answer.
    """

    def __init__(
        self,
        status: int,
        message: str,
        *,
        code: str | None = None,
        param: str | None = None,
        headers: Mapping[str, str] = calls.NO_HEADERS,
    ) -> None:
        super().__init__(message)
        self.status = status
        self.code = code
        self.param = param
        self.headers = headers


class OperatorCodeError(Exception):
    """A function of the operator, such as ``api_key=``, failed. The request of the caller is not the cause."""


@contextmanager
def operator_code(name: str) -> Iterator[None]:
    """Run a function of the operator. Its errors of this library are not errors of the caller's request, or of the call to the relay."""
    try:
        yield
    except FormatBridgeError as error:
        raise OperatorCodeError(f"{name} failed: {error}") from error


def rejection(error: RejectedRequestError, target: FormatSpec) -> SDKResponse:
    """Return the error answer to a request without an answer; the SDK does not repeat the request."""
    source: FormatSpec = target
    body: Any = str(error)
    if error.code is not None:
        source = formats.load(formats.FORMATS[0])
        body = {"error": {"message": str(error), "type": "invalid_request_error", "code": error.code, "param": error.param}}
    converted = convert_error(body, source=source, target=target, status=error.status)
    detail = converted.body["error"]
    if isinstance(detail, dict) and detail.get("code") == converted.status:  # ``google.rpc.Code`` has none for 413
        detail["code"] = error.status
    return SDKResponse(error.status, {"content-type": _JSON, "x-should-retry": "false", **error.headers}, converted.json())


def failure_response(error: FormatBridgeError, source: FormatSpec, via: FormatSpec) -> SDKResponse:
    """Return the error answer for an error of this library. The SDK repeats the request only after a failure of the connection."""
    status = 504 if isinstance(error, APITimeoutError) else 502 if isinstance(error, APIConnectionError) else 400
    converted = Bridge(source, via=via).reject(error, status)
    can_retry = isinstance(error, APIConnectionError) and error.can_retry
    headers = {"content-type": _JSON} if can_retry else {"content-type": _JSON, "x-should-retry": "false"}
    return SDKResponse(converted.status, headers, converted.json())


@dataclass(frozen=True, slots=True)
class SDKRequestHandler:
    """Handles the requests of one transport.

    ``takes_sdk_key``: use the SDK's key if there is no other; ``report`` is called with every conversion. ``token_counter``: the caller's
    function for an endpoint that cannot count tokens.
    """

    base_url: str
    via: FormatSpec
    profile: RelayProfile
    key: Secret | Callable[[], str] | None
    takes_sdk_key: bool
    headers: Headers
    options: Options
    report: Callable[[Converted], object] | None
    token_counter: TokenCounter | None = None
    limits: Limits = field(default_factory=Limits)
    clock: Clock = field(default_factory=Clock)
    target: Target | None = None
    """The format ``via`` with a dialect, which has precedence over the dialect of the profile."""
    recorder: Recorder | None = None
    """Records a span for each call to the endpoint; None: nothing does."""

    def handle(self, request: SDKRequest) -> Flow[SDKResponse]:
        """Handle one request: convert it, send it, convert its answer. An error of this library becomes an error answer.

        The exchange that runs the steps has the time limits and returns decompressed chunks. A stream stays open: the caller reads
        and closes it. An exception of the operator's functions is raised.
        """
        try:
            is_list = request.method == request.allowed_method == "GET"
            response = yield from self._list_models(request) if is_list else self._exchange(request)
        except RejectedRequestError as error:
            response = rejection(error, request.format)
        except FormatBridgeError as error:
            response = failure_response(error, request.format, self.via)
        if response.converter is None:
            yield Close()
        return response

    def _key(self, request: SDKRequest) -> Secret | None:
        if self.takes_sdk_key:
            return sdk_key(request.headers)
        with operator_code("api_key"):
            return current_key(self.key)

    def _exchange(self, request: SDKRequest) -> Flow[SDKResponse]:
        exchange, streams = self._open(request)
        exchange.request.note_replaced(request.replaced)
        self.report_conversion(exchange.request)
        if isinstance(exchange, CountExchange) and not can_count(self.profile, self.via):
            return self._estimated(exchange)
        forwarded = forwarded_headers(request.headers, request.format, self.via)
        call = calls.build_call(exchange, self.base_url, self.profile, self._key(request), self.headers, forwarded)
        span = self._start_span(exchange.request, call) if isinstance(exchange, Exchange) else None
        pending = _PendingCall(exchange, call, streams, _answer_mask(call, forwarded), span)
        flow = self._call(request, pending)
        return (yield from (flow if span is None else recorded(flow, span)))

    def _start_span(self, request: ConvertedRequest, call: Call) -> CallSpan | None:
        """Start the span of a call; None without a tracer."""
        return None if self.recorder is None else self.recorder.start(request, call.url, self._endpoint)

    @property
    def _endpoint(self) -> FormatOrName:
        """The format of the endpoint, with its dialect."""
        return self.target or self.profile.target(self.via)

    def _call(self, request: SDKRequest, pending: _PendingCall) -> Flow[SDKResponse]:
        """Send a call and convert its answer."""
        exchange, call, span, answer_mask = pending.exchange, pending.call, pending.span, pending.answer_mask
        head = yield from self._send(call)
        try:
            start, is_stream = (yield from self._read_start(head)) if head.status < 300 and call.stream else (b"", False)
            if is_stream:
                assert isinstance(exchange, Exchange)  # a token count is not streamed
                headers = response_headers(head, request.format, _EVENTS)
                error_event = _error_event(request.format, self.via)
                return SDKResponse(head.status, headers, start, exchange.stream(), error_event, span, call.mask, answer_mask)
            native = yield from self._read(head, call, start)
            answer = calls.read_answer(head, native, exchange, call)
        except APIStatusError as error:
            if span is not None:
                span.fail(error)
            return self._error_response(error, head, request.format)
        if span is not None:
            span.succeed(native.value)
        self.report_conversion(answer)
        headers = response_headers(head, request.format, _JSON)
        if not pending.streams:
            return SDKResponse(head.status, headers, answer.json(), answer_mask=answer_mask)
        events = b"".join(replay_response(answer.body, source=request.format))
        return SDKResponse(head.status, headers | {"content-type": _EVENTS}, events, answer_mask=answer_mask)

    def _read_start(self, head: Head) -> Flow[tuple[bytes, bool]]:
        """Return the first bytes of the body, and whether it is a stream, by its media type or else by its first bytes."""
        kind = head.headers.get("content-type", "").lower()
        start = BodyStart()
        if kind.startswith(_EVENTS):
            return b"", True
        while start.is_undecided and (chunk := (yield Read())) is not None:
            start.feed(chunk)
        return start.read, "text/html" not in kind and start.content[:1] not in (b"", b"{", b"<")

    def _estimated(self, exchange: CountExchange) -> SDKResponse:
        """Return the count of the caller's function."""
        assert self.token_counter is not None  # else ``_open`` rejected the request
        with operator_code("count_tokens"):
            answer = estimated(exchange, self.token_counter)
        self.report_conversion(answer)
        return SDKResponse(200, {"content-type": _JSON}, answer.json())

    def _open(self, request: SDKRequest) -> tuple[Exchange | CountExchange, bool]:
        """Convert the request, and return whether the SDK expects a stream; reject a path without a counterpart."""
        format, match = _endpoint_of(request)
        groups = match.groupdict()
        model = unquote(groups["model"]).removeprefix("models/") if "model" in groups else None
        stream = groups["stream"] is not None if "stream" in groups else None
        header = format.endpoint.version_header
        version = request.headers.get(header) if header is not None and format is self.via else None
        options = replace(self.options, messages_version=version) if version else self.options
        bridge = Bridge(format, via=self._endpoint, options=options)
        answer_options = options_for_answer(options, self.clock.time())
        if request.endpoint is None:
            if self.token_counter is None and not can_count(self.profile, self.via):
                raise RejectedRequestError(404, missing_endpoint(self.via), code=_UNKNOWN_URL)
            return _exchange_with_model(
                lambda: bridge.open_count(request.content, model=model, answer_options=answer_options), format
            ), False
        exchange = _exchange_with_model(
            lambda: bridge.open(request.content, stream=stream, model=model, answer_options=answer_options), format
        )
        streams = exchange.request.stream
        if streams and self.via.name in self.profile.plain_only:
            exchange = bridge.open(request.content, stream=False, model=model, answer_options=answer_options)
            calls.report_replay(exchange.request)
        return exchange, streams

    def _list_models(self, request: SDKRequest) -> Flow[SDKResponse]:
        """Request the list of models in the profile's format, and convert it, or the one model in the path, to the SDK's format."""
        call, head = yield from self._request_list(request)
        try:
            listed = yield from self._read(head, call)
            converted = self._convert_list(listed, head, call, request.format)
        except APIStatusError as error:
            return self._error_response(error, head, request.format)
        self.report_conversion(converted)
        headers = response_headers(head, request.format, _JSON)
        forwarded = forwarded_headers(request.headers, request.format, call.target_format)
        body = codec.dumps(_chosen(converted.body, request.path))
        return SDKResponse(head.status, headers, body, answer_mask=_answer_mask(call, forwarded))

    def _request_list(self, request: SDKRequest) -> Flow[tuple[Call, Head]]:
        """Request the list of models at each of its possible paths, until the answer is not a 404."""
        key = self._key(request)
        for location in self.profile.model_lists(self.via):
            forwarded = forwarded_headers(request.headers, request.format, location[1])
            call = calls.build_models_call(self.base_url, self.profile, key, self.headers, location, sdk_headers=forwarded)
            head = yield from self._send(call)
            if head.status != 404:
                break
        return call, head

    def _convert_list(self, listed: Native, head: Head, call: Call, target: FormatSpec) -> Converted:
        try:
            return convert_models(listed.text, source=calls.list_format(listed.value, call), target=target)
        except InvalidPayloadError as error:
            raise calls.invalid_models(error, head, listed.value, call) from None

    def _send(self, call: Call) -> Flow[Head]:
        """Send a call and follow redirects within its origin; no other origin gets a request."""
        return follow_redirects(call, self.limits, self.profile.request_id_headers, Send)

    def _read(self, head: Head, call: Call, start: bytes = b"") -> Flow[Native]:
        """Read the body of a success; raise ``APIStatusError`` for any other answer, of which only a limited part is read."""
        if head.status >= 300:
            body = yield from _read_body(errors.MAX_READ_BYTES)
            raise errors.status_error(head.status, body, head.headers, id=head.request_id, mask=call.mask, now=0)
        max_bytes = self.limits.max_response_bytes
        body = yield from _read_body(max_bytes, start)
        if len(body) > max_bytes:
            raise errors.unexpected_body(
                f"is longer than {max_bytes} bytes, the limit max_response_bytes",
                status=head.status,
                body=b"",
                id=head.request_id,
                mask=call.mask,
            )
        return calls.read_json(head, body, call)

    def _error_response(self, error: APIStatusError, head: Head, target: FormatSpec) -> SDKResponse:
        """Convert an error. An error in a success has a header that prevents retries."""
        converted = errors.convert_status_error(error, target, default_message=str(error))
        self.report_conversion(converted)
        headers = response_headers(head, target, _JSON)
        if isinstance(error, UnexpectedResponseError) and not errors.is_transient(error):
            headers |= {"x-should-retry": "false"}
        return SDKResponse(converted.status, headers, converted.json())

    def report_conversion(self, converted: Converted) -> None:
        """Call ``report``, if there is one."""
        if self.report is not None:
            self.report(converted)


def _endpoint_of(request: SDKRequest) -> tuple[FormatSpec, re.Match[str]]:
    """Return the format of the endpoint of a request, and the match of its path; reject another method, and an unknown path."""
    allowed = request.allowed_method
    if allowed not in (None, request.method):
        message = f"{request.method} is not allowed for {request.path}, expected {allowed}"
        raise RejectedRequestError(405, message, headers={"allow": str(allowed)})
    endpoint = request.endpoint or request.count_endpoint
    if endpoint is not None:
        return endpoint
    known = sdk_facts()
    paths = [sdk.description for _, sdk in known] + [spec.count.description for spec, _ in known if spec.count is not None]
    expected = f"expected {', '.join(paths)} or a list of models"
    message = f"formatbridge does not convert {request.method} {request.path or '/'}, {expected}"
    raise RejectedRequestError(404, message, code=_UNKNOWN_URL)


def _exchange_with_model(open_exchange: Callable[[], ExchangeT], source: FormatSpec) -> ExchangeT:
    """Return the exchange of a request; raise ``InvalidPayloadError`` if neither its body nor its path has a model."""
    with suppress(MissingModelError):
        exchange = open_exchange()
        if exchange.request.model:
            return exchange
    raise InvalidPayloadError(source.name, "request", [("/model", "is missing or empty, expected the name of a model")])


def _read_body(max_bytes: int, start: bytes = b"") -> Flow[bytes]:
    """Return the body that begins with ``start``, read to its end or until it has more than ``max_bytes`` bytes."""
    body = bytearray(start)
    while len(body) <= max_bytes and (chunk := (yield Read())) is not None:
        body += chunk
    return bytes(body)


def _answer_mask(call: Call, forwarded: Mapping[str, str]) -> Mask:
    """Return a mask for the key and the secret headers of a call, without headers that the SDK added."""
    return replace(call, secrets={name: secret for name, secret in call.secrets.items() if name not in forwarded}).mask


def _error_event(source: FormatSpec, via: FormatSpec) -> Callable[[ir.Error], bytes] | None:
    """Return what encodes an event that makes the SDK raise, for a stream that passes unchanged to an SDK that needs one."""
    sdk = via.endpoint.sdk
    return sdk.encode_error_event if sdk is not None and source is via else None


def _chosen(listed: Mapping[str, Any], path: str) -> Any:
    """Return the whole list, or the one model in the path; reject a model that is not in the list."""
    match = _LIST.fullmatch(path)
    model = unquote(match["model"] or "") if match else ""
    if not model:
        return listed
    entries: list[dict[str, Any]] = listed.get("models") or listed.get("data") or []
    for entry in entries:
        if model in (entry.get("id"), str(entry.get("name", "")).removeprefix("models/")):
            return entry
    raise RejectedRequestError(404, f"the endpoint lists no model {model!r}: GET the list to see the names")


_HOP_HEADERS = frozenset(KEY_HEADERS) | {
    "accept", "accept-encoding", "connection", "content-encoding", "content-length", "content-type", "cookie", "host", "keep-alive",
    "proxy-authorization", "set-cookie", "te", "trailer", "transfer-encoding", "upgrade",
}  # fmt: skip
"""Headers that hold for one connection, or contain a secret. They are not forwarded."""

_SDK_PREFIX = "x-stainless-"
_VENDOR_PREFIXES = ("anthropic-", "openai-", "x-goog-")
"""Prefixes of headers that only the servers of the SDK's format can read."""


def sdk_key(headers: Mapping[str, str]) -> Secret | None:
    """Return the key of an SDK, from any header for keys; None if there is none."""
    name = next((name for name in KEY_HEADERS if name in headers), None)
    if name is None:
        return None
    if name != "authorization":
        return checked_key(headers[name])
    is_bearer = headers[name].partition(" ")[0].lower() == "bearer"
    return checked_key(headers[name].partition(" ")[2] if is_bearer else "")


def forwarded_headers(headers: Mapping[str, str], source: FormatSpec, target: FormatSpec) -> Headers:
    """Return the headers of an SDK's request that are sent to the endpoint."""
    is_same = source is target
    return Headers({name: value for name, value in headers.items() if _is_forwarded(name, is_same=is_same)})


def _is_forwarded(name: str, *, is_same: bool) -> bool:
    if name in _HOP_HEADERS or name.startswith(_SDK_PREFIX):
        return False
    return is_same or not name.startswith(_VENDOR_PREFIXES)


def response_headers(head: Head, target: FormatSpec, kind: str) -> dict[str, str]:
    """Return the headers for the SDK, with the request id in the header that it reads. ``kind``: the media type."""
    forwarded_headers = {name: value for name, value in head.headers.items() if name not in _HOP_HEADERS}
    sdk = target.endpoint.sdk
    if head.request_id is not None and sdk is not None and sdk.request_id_header is not None:
        forwarded_headers[sdk.request_id_header] = head.request_id
    return forwarded_headers | {"content-type": kind}
