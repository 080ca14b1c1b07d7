"""Common code of both clients and of both kinds of streams: settings, and the flow of each kind of call. It does no I/O."""

from __future__ import annotations

import logging
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import EllipsisType
from typing import Any, ClassVar, NoReturn, Self, TypeVar

from pydantic import BaseModel

from formatbridge import formats, ir
from formatbridge.arguments import caller, checked_stream
from formatbridge.client import calls, errors
from formatbridge.client.connection_pool import ConnectionPool, checked_client
from formatbridge.client.flow import Attempt, CallDeadline, CallSettings, Close, Flow, Outcome, attempts, read_body
from formatbridge.client.incoming_stream import IncomingStream
from formatbridge.client.profile import RelayProfile, profile_of
from formatbridge.client.reply import CountReply, Reply
from formatbridge.client.secrets import checked_headers
from formatbridge.client.settings import (
    Clock,
    Key,
    Limits,
    Retry,
    Timeout,
    base_url_of,
    checked,
    checked_callable,
    current_key,
    key_of,
    options_for,
    options_for_answer,
    recorder_of,
    retry_of,
    timeout_of,
)
from formatbridge.client.token_counts import TokenCounter, can_count, estimated, missing_endpoint
from formatbridge.convert.bodies import Converted, ConvertedRequest
from formatbridge.convert.bridge import BaseExchange, Bridge, CountExchange, Exchange
from formatbridge.convert.input import Body, model_of
from formatbridge.convert.masking import HIDDEN, as_secret
from formatbridge.errors import ConfigurationError, NotFoundError
from formatbridge.formats.format import FormatSpec
from formatbridge.formats.target import FormatOrName
from formatbridge.jsontext.types import JsonObject
from formatbridge.options import Options
from formatbridge.report.losses import Addition, Loss
from formatbridge.telemetry.spans import CallSpan, Tracer, recorded

T = TypeVar("T")

_LOG = logging.getLogger("formatbridge")
_MAX_PAGES = 100


@dataclass(frozen=True, slots=True)
class PlannedCall:
    """A call that is ready to be sent."""

    exchange: Exchange
    call: calls.Call
    via: FormatOrName


class BaseClient:
    """The settings of a client, and the code of both clients that does no I/O."""

    _IS_ASYNC: ClassVar[bool]

    def __init__(
        self,
        base_url: str | None = None,
        api_key: Key | None = None,
        *,
        profile: RelayProfile | str | None = None,
        timeout: Timeout | float | EllipsisType | None = ...,
        retry: Retry | int = 2,
        http_client: object | None = None,
        headers: Mapping[str, str] | None = None,
        options: Options | None = None,
        limits: Limits | None = None,
        on_attempt: Callable[[Attempt], None] | None = None,
        count_tokens: TokenCounter | None = None,
        clock: Clock | None = None,
        tracer: Tracer | None = None,
        trace_content: bool = False,
    ) -> None:
        """Set the options of the client; nothing is sent and no connection is opened.

        ``base_url``: may have a path; None: ``FORMATBRIDGE_BASE_URL``, else the profile's.
        ``api_key``: a string, or a callable that returns the key before every call; None: ``FORMATBRIDGE_API_KEY``, else no key is sent.
        ``profile``: the properties of the relay, or a name in ``PROFILES``.
        ``timeout``: a ``Timeout``, the total seconds, or None for no limit; the default is ``Timeout()``, without a total limit for
        streams.
        ``retry``: the number of retries, or a ``Retry``.
        ``http_client``: a client of httpx or httpx2 to use; the caller closes it.
        ``headers``: headers of every call.
        ``options``: the default is ``raise_on="impossible"``. ``raise_on`` applies to requests only, because an answer has been paid for.
        ``limits``: maximum sizes of answers.
        ``on_attempt``: is called after every attempt.
        ``count_tokens``: returns the number of input tokens of a request body in the endpoint's format, for an endpoint that cannot count.
        ``clock``: clock and random numbers, for tests.
        ``tracer``: a tracer of OpenTelemetry, which records a span for each call; None: no spans.
        ``trace_content``: whether spans have messages, instructions and tool definitions, which may be confidential.

        Raises ``ConfigurationError``.
        """
        key = as_secret(api_key)
        del api_key
        self._profile = profile_of(profile)
        self._base_url = base_url_of(base_url, self._profile)
        self._key = key_of(key)
        self._timeout = None if isinstance(timeout, EllipsisType) else timeout_of(timeout)
        self._retry = retry_of(retry)
        checked_client(http_client, is_async=self._IS_ASYNC)
        self._pool = ConnectionPool(http_client, is_async=self._IS_ASYNC)
        self._closes_pool = True
        self._headers = checked_headers(headers)
        self._options = options_for(options, self._profile)
        self._limits = checked("limits", limits, Limits) or Limits()
        self._on_attempt = checked_callable("on_attempt", on_attempt)
        self._token_counter = checked_callable("count_tokens", count_tokens)
        self._clock = checked("clock", clock, Clock) or Clock()
        self._recorder = recorder_of(tracer, self._clock, content=trace_content)
        self._cached_settings: dict[bool, CallSettings] = {}

    def __reduce__(self) -> NoReturn:
        raise TypeError(f"{type(self).__name__} has a key and connections and cannot be pickled: create one in each process")

    def __repr__(self) -> str:
        if not hasattr(self, "_key"):  # in a traceback of an ``__init__`` that raised
            return f"<{type(self).__name__}, not initialized>"
        key = "set" if self._key is not None else "none"
        return f"{type(self).__name__}(base_url={self._base_url!r}, profile={self._profile.name!r}, key={key})"

    def with_options(
        self,
        *,
        timeout: Timeout | float | EllipsisType | None = ...,
        retry: Retry | int | None = None,
        headers: Mapping[str, str] | None = None,
        options: Options | None = None,
        on_attempt: Callable[[Attempt], None] | None = None,
    ) -> Self:
        """Return a client with other settings that shares the connections; closing it has no effect. ``headers`` are added."""
        client = type(self).__new__(type(self))
        client.__dict__.update(self.__dict__)
        client._closes_pool, client._cached_settings = False, {}
        if not isinstance(timeout, EllipsisType):
            client._timeout = timeout_of(timeout)
        if retry is not None:
            client._retry = retry_of(retry)
        client._headers = checked_headers({**self._headers, **checked_headers(headers)})
        if options is not None:
            client._options = options_for(options, self._profile)
        if on_attempt is not None:
            client._on_attempt = checked_callable("on_attempt", on_attempt)
        return client

    def prepare(
        self,
        request: Body,
        format: FormatOrName | None = None,
        via: FormatOrName | None = None,
        stream: bool = False,
        *,
        model: str | None = None,
    ) -> calls.Prepared:
        """Return what ``send`` or ``stream`` would send, without sending it. The key is hidden."""
        planned = self._plan_call(request, format, via, model, stream=stream)
        return calls.prepared(planned.call, planned.exchange)

    def _plan_call(
        self, request: Body, format: FormatOrName | None, via: FormatOrName | None, model: str | None, *, stream: bool
    ) -> PlannedCall:
        """Convert a request and build its HTTP call."""
        source_format = _format_of(request, format)
        bridge = self._bridge(source_format, via)
        cannot_stream = bridge.via in self._profile.plain_only
        streams = checked_stream(stream) and not cannot_stream
        answer_options = options_for_answer(self._options, self._clock.time())
        exchange = bridge.open(request, stream=streams, model=model, answer_options=answer_options)
        if stream and cannot_stream:
            calls.report_replay(exchange.request)
        if not exchange.request.model:
            raise ConfigurationError("the request has no model: pass model=")
        call = calls.build_call(exchange, self._base_url, self._profile, current_key(self._key), self._headers)
        return PlannedCall(exchange, call, self._endpoint(source_format, via))

    def _bridge(self, source_format: FormatSpec, via: FormatOrName | None) -> Bridge:
        """Return the bridge to an endpoint, with the dialect of the profile; ``via`` None: the caller's format."""
        return Bridge(source_format, via=self._endpoint(source_format, via), options=self._options)

    def _endpoint(self, source_format: FormatSpec, via: FormatOrName | None) -> FormatOrName:
        """Return the format of the endpoint, with its dialect."""
        return self._profile.target(via if via is not None else source_format)

    def _call_settings(self, *, is_stream: bool) -> CallSettings:
        settings = self._cached_settings.get(is_stream)
        if settings is None:
            default = Timeout(total=None) if is_stream else Timeout()
            timeout = self._timeout if self._timeout is not None else default
            settings = CallSettings(
                timeout, self._retry, self._limits, self._clock, self._profile.request_id_headers, self._report_attempt
            )
            self._cached_settings[is_stream] = settings
        return settings

    def _send_flow(self, planned: PlannedCall) -> Flow[Reply]:
        """Send a request and return the whole answer."""
        span = self._start_span(planned)
        flow = self._answer_flow(planned.exchange, planned.call)
        outcome = yield from (flow if span is None else recorded(flow, span))
        native, answer = outcome.received
        if span is not None:
            span.succeed(native)
        return Reply(planned.exchange.request, answer, native, outcome)

    def _open_count(self, request: Body, format: FormatOrName | None, via: FormatOrName | None, model: str | None) -> CountExchange:
        """Convert a request to count tokens."""
        source_format = _format_of(request, format)
        bridge = self._bridge(source_format, via)
        if self._token_counter is None and not can_count(self._profile, bridge.target_format):
            raise ConfigurationError(missing_endpoint(bridge.target_format))
        exchange = bridge.open_count(request, model=model, answer_options=options_for_answer(self._options, self._clock.time()))
        if not exchange.request.model:
            raise ConfigurationError("the request has no model: pass model=")
        return exchange

    def _count_flow(self, exchange: CountExchange) -> Flow[CountReply]:
        """Send a request to count tokens, or estimate the count if the endpoint has none."""
        request = exchange.request
        if self._token_counter is not None and not can_count(self._profile, request.target_format):
            answer = estimated(exchange, self._token_counter)
            return CountReply(request, answer, {}, Outcome(answer, calls.Head(200, {}), 0))
        call = calls.build_call(exchange, self._base_url, self._profile, current_key(self._key), self._headers)
        outcome = yield from self._answer_flow(exchange, call)
        native, answer = outcome.received
        return CountReply(request, answer, native, outcome)

    def _answer_flow(self, exchange: BaseExchange, call: calls.Call) -> Flow[Outcome[tuple[JsonObject, Converted]]]:
        """Send a call and return the whole answer, as the endpoint sent it and converted."""

        def read(head: calls.Head, native: calls.Native) -> tuple[JsonObject, Converted]:
            answer = calls.read_answer(head, native, exchange, call)
            calls.raise_if_failed(head, native.value, call)  # some formats can represent a failed answer
            return native.value, answer

        settings = self._call_settings(is_stream=False)
        return (yield from self._fetch_flow(call, read, settings, CallDeadline(settings, is_stream=False)))

    def _models_flow(self) -> Flow[list[ir.Model]]:
        """Return the list of models, from all its pages."""
        models: list[ir.Model] = []
        query, seen = "", {""}
        locations = self._profile.model_lists()
        settings = self._call_settings(is_stream=False)
        deadline = CallDeadline(settings, is_stream=False)
        while True:
            call = calls.build_models_call(
                self._base_url, self._profile, current_key(self._key), self._headers, locations[0], query
            )

            def read(head: calls.Head, native: calls.Native, call: calls.Call = call) -> ir.ModelList:
                return calls.read_models(head, native.value, call)

            try:
                outcome = yield from self._fetch_flow(call, read, settings, deadline)
            except NotFoundError:
                if query or len(locations) == 1:
                    raise
                del locations[0]
                continue
            models += outcome.received.models
            query = _page_after(outcome.received)
            if not query:
                return models
            if query in seen or len(seen) >= _MAX_PAGES:
                problem = "refers to a page that was already read" if query in seen else f"has more than {_MAX_PAGES} pages"
                raise errors.unexpected_body(
                    f"{problem}, an endless list", status=outcome.head.status, body=b"", id=outcome.head.request_id, mask=call.mask
                )
            seen.add(query)

    def _fetch_flow(
        self, call: calls.Call, read: Callable[[calls.Head, calls.Native], T], settings: CallSettings, deadline: CallDeadline
    ) -> Flow[Outcome[T]]:
        """Send a call and return what ``read`` returns for its body."""
        _log_call(call)

        def receive(head: calls.Head) -> Flow[T]:
            body = yield from read_body(head, settings, deadline, call)
            return read(head, calls.read_json(head, body, call))

        outcome = yield from attempts(call, settings, deadline, receive)
        yield Close()
        return outcome

    def _stream_flow(self, planned: PlannedCall) -> Flow[Outcome[IncomingStream]]:
        """Open a stream, up to its first event."""
        _log_call(planned.call)
        settings = self._call_settings(is_stream=True)
        deadline = CallDeadline(settings, is_stream=True)

        def receive(head: calls.Head) -> Flow[IncomingStream]:
            return IncomingStream(planned.exchange, planned.call.mask, settings, deadline).open(head, planned.call)

        span = self._start_span(planned)
        flow = attempts(planned.call, settings, deadline, receive)
        outcome = yield from (flow if span is None else recorded(flow, span))
        if span is not None:
            outcome.received.record(span)
        return outcome

    def _start_span(self, planned: PlannedCall) -> CallSpan | None:
        """Start the span of a call; None without a tracer."""
        if self._recorder is None:
            return None
        return self._recorder.start(planned.exchange.request, planned.call.url, planned.via)

    def _report_attempt(self, attempt: Attempt) -> None:
        """Log an attempt, without bodies and secrets, and call ``on_attempt``."""
        result = attempt.status if attempt.status is not None else type(attempt.error).__name__
        fields = (attempt.format, attempt.via, attempt.model[:200], result, attempt.seconds * 1000, attempt.request_id)
        if attempt.pause is None:
            _LOG.info("%s via %s, model %r: %s in %.0f ms, request %s", *fields)
        else:
            _LOG.info("%s via %s, model %r: %s in %.0f ms, request %s, again in %.1f s", *fields, attempt.pause)
        if self._on_attempt is not None:
            self._on_attempt(attempt)


def _log_call(call: calls.Call) -> None:
    """Log a call before it is sent, without body and secrets."""
    if _LOG.isEnabledFor(logging.DEBUG):
        secrets = dict.fromkeys(call.secrets, HIDDEN)
        _LOG.debug("%s %s with %d bytes, headers %s", call.method, call.url, len(call.body), {**call.headers, **secrets})


def _format_of(request: Body, format: FormatOrName | None) -> FormatSpec:
    """Return the caller's format: that of a typed model, or the named one. It is never detected."""
    format_and_kind = model_of(request)
    if format is None:
        if format_and_kind is None:
            raise ConfigurationError("format is missing: pass format=, which is optional only for a typed model")
        return formats.load(format_and_kind[0])
    return formats.load(format)


def _page_after(page: ir.ModelList) -> str:
    """Return the query for the next page; empty after the last."""
    from urllib.parse import urlencode

    if page.next_page:
        return "?" + urlencode({"pageToken": page.next_page})
    return "?" + urlencode({"after_id": page.last_id}) if page.has_more and page.last_id else ""


class BaseStream:
    """Common code of both kinds of streams. A stream keeps the connections of its client open."""

    _http: Any = None

    def __init__(self, planned: PlannedCall, flow: Flow[Outcome[IncomingStream]], pool: ConnectionPool, clock: Clock) -> None:
        self.request: ConvertedRequest = planned.exchange.request
        """The request as sent. Its losses point into the caller's body, its additions into the sent body."""
        self._flow: Flow[Outcome[IncomingStream]] | None = flow
        self._pool, self._clock = pool, clock
        self._opened_stream: IncomingStream | None = None
        self._call_facts: tuple[str | None, int, int] | None = None  # request id, status, attempts
        self._has_started = self._is_read = False
        frame, _ = caller()
        self._created_at = frame.f_code.co_filename, frame.f_lineno

    @property
    def request_id(self) -> str | None:
        """The id of the call in the logs of the relay; None if the answer has none."""
        return self._facts[0]

    @property
    def status(self) -> int:
        """The HTTP status."""
        return self._facts[1]

    @property
    def attempts(self) -> int:
        """The number of attempts."""
        return self._facts[2]

    @property
    def answer(self) -> Converted:
        """The partial answer in the caller's format; this reads nothing. Its losses point into the accumulated answer of the endpoint."""
        return self._incoming.response()

    @property
    def losses(self) -> tuple[Loss, ...]:
        """Losses of the request and of the partial answer: ``request.losses``, then ``answer.losses``."""
        losses = self.request.losses
        return losses + self.answer.losses if self._opened_stream else losses

    @property
    def additions(self) -> tuple[Addition, ...]:
        """Additions to the request and to the partial answer: ``request.additions``, then ``answer.additions``."""
        additions = self.request.additions
        return additions + self.answer.additions if self._opened_stream else additions

    @property
    def _facts(self) -> tuple[str | None, int, int]:
        if self._call_facts is None:
            raise ConfigurationError('the stream is not open, use it inside a "with" block')
        return self._call_facts

    @property
    def _incoming(self) -> IncomingStream:
        if self._opened_stream is None:
            raise ConfigurationError('the stream is not open, use it inside a "with" block')
        return self._opened_stream

    def _open_flow(self) -> Flow[Outcome[IncomingStream]]:
        flow, self._flow = self._flow, None
        if flow is None:
            raise ConfigurationError("the stream was already opened: call client.stream() again")
        return flow

    def _set_opened(self, outcome: Outcome[IncomingStream]) -> None:
        self._opened_stream = outcome.received
        self._call_facts = outcome.head.request_id, outcome.head.status, outcome.attempts

    def _open_http(self) -> Any:
        """Return the HTTP exchange to read from; raise an error if the stream was closed before its end."""
        if not self._incoming.is_over and not self._http.is_open:
            raise ConfigurationError("the stream was closed before its end: call client.stream() again")
        return self._http

    def _begin_reading(self) -> None:
        if self._is_read:
            raise ConfigurationError("the stream was read before: read it once, or use stream.response()")
        self._is_read = self._incoming is not None

    def _begin_text(self) -> None:
        """Start to read text. This is an error after events were read, because their text is lost."""
        self._is_read = self._is_read or self._has_started
        self._begin_reading()

    def _next_event_flow(self) -> Flow[BaseModel | None]:
        """Return the next event; None at the end."""
        self._has_started = True
        return (yield from self._take_flow(self._incoming.next_event))

    def _next_text_flow(self) -> Flow[str | None]:
        """Return the next visible text; None at the end."""
        return (yield from self._take_flow(self._incoming.next_text))

    def _take_flow(self, take_item: Callable[[], T | None]) -> Flow[T | None]:
        """Read until ``take_item`` returns an item; None at the end."""
        while True:
            item = take_item()
            if item is not None:
                return item
            if self._incoming.is_over:
                yield from self._close_flow()
                return None
            yield from self._incoming.step()

    def _read_rest_flow(self) -> Flow[None]:
        """Read to the end and raise the error that ended the stream, if any."""
        self._is_read = True
        while (yield from self._next_event_flow()) is not None:
            continue

    def _close_flow(self) -> Flow[None]:
        if self._opened_stream is not None:
            yield from self._incoming.finish()
        yield Close()

    def __repr__(self) -> str:
        """Show the two formats and the state; this reads nothing."""
        if not hasattr(self, "_created_at"):  # in a traceback of an ``__init__`` that raised
            return f"<{type(self).__name__}, not initialized>"
        state = (
            "not open"
            if self._opened_stream is None
            else "over"
            if self._opened_stream.is_over
            else "open"
            if self._http.is_open
            else "closed"
        )
        return f"<{type(self).__name__} {self.request.source} via {self.request.target}, {state}>"

    def __del__(self) -> None:
        if self._http is not None and self._http.is_open:
            self._http.close_later()
            location = ":".join(map(str, self._created_at))
            message = f'a stream created at {location} was not closed, use it inside a "with" block'
            warnings.warn(message, ResourceWarning, stacklevel=2, source=self)
