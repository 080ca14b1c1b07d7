"""Spans of calls to a server, with the attributes of the request and of its answer. Nothing here does I/O."""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping
from contextlib import AbstractContextManager
from typing import Any, Protocol, TypeVar
from urllib.parse import urlsplit

from formatbridge import ir
from formatbridge.arguments import type_name
from formatbridge.convert.bodies import Converted, ConvertedRequest
from formatbridge.errors import APIStatusError, APITimeoutError, ConfigurationError, StreamFailedError
from formatbridge.formats.target import FormatOrName
from formatbridge.jsontext import codec
from formatbridge.jsontext.types import JsonObject, JsonValue
from formatbridge.telemetry.attributes import error_type, genai_attributes

T = TypeVar("T")
StepT = TypeVar("StepT")

CANCELLED = "cancelled"
"""``error.type`` of a call that its caller ended early."""
_REASONS = "gen_ai.response.finish_reasons"
_PORTS = {"http": 80, "https": 443}


class Tracer(Protocol):
    """A tracer of OpenTelemetry: what ``opentelemetry.trace.get_tracer(name)`` returns. ``Any``: its classes may not be installed."""

    def start_span(self, name: str, *, kind: Any, attributes: Mapping[str, Any]) -> Any:
        """Start a span, whose parent is the current span."""


class Recorder:
    """Records a span for each call. ``content``: whether spans have messages; ``now``: returns seconds of a monotonic clock."""

    def __init__(self, tracer: Tracer, now: Callable[[], float], *, content: bool) -> None:
        if not callable(getattr(tracer, "start_span", None)):
            raise ConfigurationError(f"tracer is {type_name(tracer)}, expected a Tracer of OpenTelemetry")
        try:
            from opentelemetry import trace
        except ImportError:
            raise ConfigurationError("tracer needs OpenTelemetry's API: pip install opentelemetry-api") from None
        self._tracer, self._now, self._content = tracer, now, content
        self._trace = trace

    def start(self, request: ConvertedRequest, url: str, via: FormatOrName | None = None) -> CallSpan:
        """Start the span of a call. ``via``: the endpoint; a ``Target`` with a dialect names the provider."""
        attributes = genai_attributes(request, source=via, content=self._content)
        address = urlsplit(url)
        attributes |= {"server.address": address.hostname, "server.port": address.port or _PORTS.get(address.scheme)}
        model = attributes.get("gen_ai.request.model")
        name = f"{attributes['gen_ai.operation.name']} {model}" if model else str(attributes["gen_ai.operation.name"])
        span = self._tracer.start_span(name, kind=self._trace.SpanKind.CLIENT, attributes=span_attributes(attributes))
        return CallSpan(span, self, via if via is not None else request.target_format)

    def error_status(self, description: str | None) -> Any:
        """Return the status of a span of a call that failed."""
        return self._trace.Status(self._trace.StatusCode.ERROR, description if self._content else None)

    def answer_attributes(self, answer: JsonObject | Converted, source: FormatOrName) -> dict[str, JsonValue]:
        """Return the attributes of an answer for a span."""
        return span_attributes(genai_attributes(answer, source=source, kind="response", content=self._content))

    def as_current(self, span: Any) -> AbstractContextManager[Any]:
        """Return a context in which a span is the current span. It does not end the span, and does not record exceptions."""
        use: AbstractContextManager[Any] = self._trace.use_span(span, record_exception=False, set_status_on_exception=False)
        return use

    def seconds(self) -> float:
        """Return the seconds of the clock."""
        return self._now()


class CallSpan:
    """The span of one call. Its end is recorded once: later calls have no effect."""

    def __init__(self, span: Any, recorder: Recorder, source: FormatOrName) -> None:
        self._span, self._recorder, self._source = span, recorder, source
        self._started = recorder.seconds()
        self._has_first_chunk = self._is_over = False

    def as_current(self) -> AbstractContextManager[Any]:
        """Return a context in which the span is the current span, so that spans of an HTTP library become its children."""
        return self._recorder.as_current(self._span)

    def first_chunk(self) -> None:
        """Record the arrival of the first chunk of a stream."""
        if not self._has_first_chunk:
            self._has_first_chunk = True
            self._span.set_attribute("gen_ai.response.time_to_first_chunk", self._recorder.seconds() - self._started)

    def succeed(self, answer: JsonObject | Converted) -> None:
        """End the span with the endpoint's whole answer, in the format of the endpoint."""
        if not self._is_over:
            self._is_over = True
            self._span.set_attributes(self._recorder.answer_attributes(answer, self._source))
            self._span.end()

    def fail(self, error: BaseException | ir.Error | None, answer: Converted | None = None) -> None:
        """End the span with an error, and with the partial answer of a stream; None: the caller ended the call early.

        The finish reasons are ``error``, as the conventions require where a stream ends before its final event.
        """
        if self._is_over:
            return
        self._is_over = True
        if answer is not None:
            attributes = self._recorder.answer_attributes(answer, self._source)
            reasons: Any = attributes.get(_REASONS, [])
            self._span.set_attributes(attributes | ({_REASONS: ["error"] * len(reasons)} if reasons else {}))
        self._span.set_attribute("error.type", _type_of(error))
        self._span.set_status(self._recorder.error_status(_description_of(error)))
        self._span.end()


def recorded(flow: Generator[StepT, Any, T], span: CallSpan) -> Generator[StepT, Any, T]:
    """Run a flow whose failure ends a span. The span is the current one while a driver runs a step.

    A driver closes the flow while it handles an exception of a step, which is then the context of ``GeneratorExit``.
    """
    result: Any = None
    failure: Exception | None = None
    try:
        while True:
            step = flow.send(result) if failure is None else flow.throw(failure)
            result = failure = None
            try:
                with span.as_current():
                    result = yield step
            except Exception as error:
                failure = error
    except StopIteration as end:
        returned: T = end.value
        return returned
    except GeneratorExit as closed:
        flow.close()
        span.fail(closed.__context__)
        raise
    except BaseException as error:
        span.fail(error)
        raise


def span_attributes(attributes: Mapping[str, JsonValue]) -> dict[str, JsonValue]:
    """Return attributes for a span: structured values as JSON text, because most versions of OpenTelemetry's SDK drop them.

    ``opentelemetry-util-genai`` writes JSON text, too.
    """
    return {name: _attribute(value) for name, value in attributes.items() if value is not None}


def _attribute(value: JsonValue) -> JsonValue:
    is_structured = isinstance(value, list) and any(isinstance(member, dict) for member in value)
    return codec.dumps(value).decode() if is_structured else value


def _type_of(error: BaseException | ir.Error | None) -> str:
    """Return ``error.type``: the server's error code or type, else the HTTP status, else the name of the exception."""
    if error is None:
        return CANCELLED
    if isinstance(error, ir.Error):
        return error_type(error)
    if isinstance(error, APITimeoutError):
        return "timeout"
    if isinstance(error, StreamFailedError):
        return error_type(error.error)
    if isinstance(error, APIStatusError):
        code = error.code if isinstance(error.code, str) else None
        return code or error.type or str(error.status)
    return CANCELLED if type(error).__name__ == "CancelledError" else type(error).__qualname__


def _description_of(error: BaseException | ir.Error | None) -> str | None:
    """Return the message of an error. Servers repeat parts of the request in it, so it counts as content."""
    return error.message if isinstance(error, ir.Error) else None if error is None else str(error)
