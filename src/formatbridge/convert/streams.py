"""Convert streams between formats, without I/O: ``StreamConverter`` and ``convert_stream``.

The losses of a stream are those of its whole answer. The events are accumulated, and the report is built from the answer on request.
"""

from __future__ import annotations

from collections.abc import AsyncIterable, AsyncIterator, Iterable, Iterator
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Generic, Required, TypedDict, Unpack, cast, overload

from pydantic import BaseModel

from formatbridge import formats, ir
from formatbridge.arguments import bytes_of, checked_cause, checked_chunks
from formatbridge.convert.bodies import (
    Converted,
    ConvertedRequest,
    ModelT_co,
    checked_request,
    encode_response_for,
    with_caller_tools,
)
from formatbridge.convert.event_parser import read_chunks, read_chunks_async
from formatbridge.convert.passthrough import Passthrough, put, without_format_fields
from formatbridge.convert.replay import without_error
from formatbridge.convert.stream_reader import StreamSource
from formatbridge.errors import (
    APITimeoutError,
    ConfigurationError,
    FormatBridgeError,
    LossyConversionError,
    StreamError,
    TruncatedStreamError,
)
from formatbridge.formats.format import FormatSpec
from formatbridge.formats.shared.reasoning_tokens import check_event_tokens
from formatbridge.formats.shared.tools import ToolNameRestorer, changes_tools
from formatbridge.formats.target import FormatOrName, ToChatCompletions, ToGenerateContent, ToMessages, ToResponses
from formatbridge.ir import events
from formatbridge.options import Options, options_of, without_raise_on
from formatbridge.report.ledger import LazyBody, Ledger
from formatbridge.report.losses import Addition, Loss, Severity
from formatbridge.streaming.sse import ServerSentEvent, escape_separators

if TYPE_CHECKING:
    from formatbridge.formats import typed_models as wires

_TRUNCATED = ir.Error(
    kind="server", message="the stream ended before its answer was complete", code="stream_truncated", family="detail"
)
_TIMED_OUT = ir.Error(
    kind="timeout", message="a time limit passed before the answer of the stream was complete", code="timeout", family="detail"
)
_UNREADABLE = ir.Error(
    kind="server", message="the stream has an event that cannot be read", code="stream_unreadable", family="detail"
)
_TOO_LOSSY = ir.Error(kind="server", message="the answer loses too much in this format", code="stream_too_lossy", family="detail")


class StreamArguments(TypedDict, total=False):
    """The arguments of ``StreamConverter`` besides the target."""

    source: Required[FormatOrName]
    request: ConvertedRequest | None
    options: Options | None


class StreamConverter(Generic[ModelT_co]):
    """Converts the stream of one format to that of another, without I/O.

    ``feed`` takes any piece of the source's bytes and returns server-sent events of the target. ``finish`` takes the end of the bytes. It
    raises ``TruncatedStreamError`` if the source had no end. With ``Options(on_truncated="close")`` it closes the answer with finish reason
    ``length`` instead, unless the target is the format of the source. ``abort`` replaces ``finish`` after a broken connection: then even an
    answer that looks complete may lack something.

    An error event of the source becomes one of the target, ends the stream and stays in ``error``. An event that is not of the source
    format raises ``StreamDecodeError``. The bytes of the events before it are returned first, and the next call raises. With
    ``Options(raise_on=...)`` an answer with too many losses raises ``LossyConversionError`` instead of its end. Each of these errors has an
    error event of the target in ``tail``, and the partial answer in ``partial``.
    """

    @overload
    def __init__(
        self: StreamConverter[wires.chat_completions.Response], *, target: ToChatCompletions, **arguments: Unpack[StreamArguments]
    ) -> None: ...

    @overload
    def __init__(
        self: StreamConverter[wires.messages.Response], *, target: ToMessages, **arguments: Unpack[StreamArguments]
    ) -> None: ...

    @overload
    def __init__(
        self: StreamConverter[wires.responses.Response], *, target: ToResponses, **arguments: Unpack[StreamArguments]
    ) -> None: ...

    @overload
    def __init__(
        self: StreamConverter[wires.generate_content.Response], *, target: ToGenerateContent, **arguments: Unpack[StreamArguments]
    ) -> None: ...

    @overload
    def __init__(self: StreamConverter[BaseModel], *, target: FormatOrName, **arguments: Unpack[StreamArguments]) -> None: ...

    def __init__(
        self, *, source: FormatOrName, target: FormatOrName, request: ConvertedRequest | None = None, options: Options | None = None
    ) -> None:
        self._source_format, self._target_format = formats.load(source), formats.load(target)
        self._request = checked_request(request, self._source_format, self._target_format)
        self._options = options_of(options)
        self._source = StreamSource(self._source_format)
        context = request.context if request else None
        is_same = self._source_format is self._target_format and not changes_tools(context)
        self._passthrough = Passthrough(self._source, self._options) if is_same else None
        self._may_match = False  # whether chunks may be matched with the delta template
        if self._passthrough is None:
            self._tool_names = ToolNameRestorer(context)
            self._encoder = self._target_format.stream_encoder(self._options, context)
            self._is_unchanged = (
                not self._tool_names.is_needed and self._options.raise_on is None and self._options.token_key is None
            )
            # Some tools are restored from the whole arguments, so every delta of a call has to be read. No delta has a token.
            self._may_match = not self._tool_names.is_needed and self._options.raise_on is None
        self._is_finished = False
        self._fault: FormatBridgeError | None = None
        self._has_raised = False  # whether the fault was raised to the caller

    @property
    def error(self) -> ir.Error | None:
        """The error in the source's stream; None if there was none."""
        return self._source.error

    @property
    def event_count(self) -> int:
        """The number of events that were read, without comments, pings and empty events."""
        return self._source.event_count

    @property
    def has_ended(self) -> bool:
        """Whether the event that ends the stream was read, so that later bytes do not matter. generate_content has no such event."""
        return self._source.has_ended

    @property
    def is_over(self) -> bool:
        """Whether the answer has its end or an error, so that nothing follows."""
        return self._source.is_over

    def new_text(self) -> list[str]:
        """Return the visible text of the source's first choice since the last call, one piece per event."""
        return self._source.new_text()

    def feed(self, chunk: bytes) -> bytes:
        """Read bytes of the source and return the bytes of the target for them, which may be empty."""
        # Most chunks are one event with a piece of text. These skip the parser, the validator and the decoder.
        if self._may_match and type(chunk) is bytes:
            delta = self._source.read_matching(chunk)
            if delta is not None:
                out = self._encoder.feed(delta)
                return out if out.isascii() else escape_separators(out)
        return self._write(chunk if type(chunk) is bytes else bytes_of(chunk))

    def finish(self) -> bytes:
        """Read the end of the bytes and return the last bytes of the target. Later calls raise ``ConfigurationError``."""
        out = self._end()
        if self._source.is_complete:
            return out
        raise self._source.truncated(self.response(), out)

    def abort(self, cause: BaseException | None = None) -> TruncatedStreamError:
        """End the stream at a broken connection, and return, not raise, its error.

        An answer that looks complete may lack something, unless ``is_over`` was true before: then the error states that nothing is missing.
        ``partial`` of the error has the partial answer, ``tail`` an error event of the target. The tail is empty if the client already has
        an end or an error. With ``Options(on_truncated="close")`` the tail ends the answer as ``finish`` does. The text of ``cause`` is
        added to the message. For an ``APITimeoutError`` or ``TimeoutError`` the error event is that of a timeout.
        """
        checked_cause(cause)
        if self._is_finished:
            raise _finished()
        tail = self._bytes_after_break(_TIMED_OUT if isinstance(cause, APITimeoutError | TimeoutError) else _TRUNCATED)
        self._is_finished, self._may_match = True, False
        return self._source.truncated(self.response(), tail, self._fault or cause)

    @property
    def losses(self) -> tuple[Loss, ...]:
        """Values of the partial answer that the target cannot represent, or only with changes."""
        return self.response().losses

    @property
    def additions(self) -> tuple[Addition, ...]:
        """Values that the target requires and the partial answer lacks."""
        return self.response().additions

    def response(self) -> Converted[ModelT_co]:
        """Return the partial or whole answer, in the target format."""
        return cast("Converted[ModelT_co]", self._whole(without_raise_on(self._options)))

    def source_response(self) -> Converted:
        """Return the partial or whole answer in the format of the source, not converted."""
        return convert_accumulated(self._source, self._source_format, None, replace(self._options, raise_on=None))

    def __repr__(self) -> str:
        """Show the direction and the number of events, not their content."""
        if not hasattr(self, "_source"):  # in a traceback of an ``__init__`` that raised
            return "<StreamConverter, not initialized>"
        state = ", over" if self.is_over else ", finished" if self._is_finished else ""
        return f"<StreamConverter {self._source_format.name} -> {self._target_format.name}, {self.event_count} events{state}>"

    def _whole(self, options: Options) -> Converted:
        tokens = () if self._passthrough else self._encoder.undelivered_tokens()
        out = convert_accumulated(self._source, self._target_format, self._request, options, is_sent=True, tokens=tokens)
        return self._passthrough.reported(out) if self._passthrough else out

    def _write(self, chunk: bytes | None) -> bytes:
        """Return the target's bytes for a chunk; None is the end. If a fault follows bytes, the next call raises it."""
        if self._is_finished:
            raise _finished()
        if self._fault:
            self._has_raised = True
            raise self._fault
        out: list[bytes] = []
        step = self._passthrough.write if self._passthrough else self._convert  # an attribute would create a reference cycle
        try:
            read = self._source.read(chunk) if chunk is not None else self._source.read_rest()
            if len(read) == 1:  # nearly always
                return step(read[0])
            for event in read:
                out.append(step(event))
        except FormatBridgeError as fault:
            self._note(fault)
            if not any(out):
                self._has_raised = True
                raise
            # An exception here would discard the events before the fault, so the next call raises it.
        return b"".join(out)

    def _end(self, *, is_break: bool = False, error: ir.Error = _TRUNCATED) -> bytes:
        """Read the end of the bytes, and return the end of the answer or the error event of a truncated stream.

        ``is_break``: the connection broke, so an event without its blank line is not read. ``error``: the error of that event.
        """
        out = b"" if is_break else self._write(None)
        if self._fault:
            raise self._fault
        self._may_match = False
        new_events = self._source.end(closes=self._closes, is_break=is_break)
        if self._passthrough is None:
            try:
                out += self._encode(new_events)
            except LossyConversionError as fault:
                self._note(fault, out)
                self._has_raised = True
                raise
        self._is_finished = True
        return out if self._source.is_complete else out + self._error_event(error)

    @property
    def _closes(self) -> bool:
        """Whether a truncated answer is ended. In passthrough it is not."""
        return self._passthrough is None and self._options.on_truncated == "close"

    def _bytes_after_break(self, error: ir.Error) -> bytes:
        """Return the last bytes for the target's client after the connection broke. ``error``: the error in its error event."""
        if self._fault is None:
            try:
                return self._end(is_break=not self._closes, error=error)
            except FormatBridgeError as fault:
                self._fault = fault
        elif self._has_raised:
            return b""
        return self._fault.tail if isinstance(self._fault, StreamError | LossyConversionError) else self._error_event(error)

    def _note(self, fault: FormatBridgeError, out: bytes = b"") -> None:
        """Keep the fault that ends the stream, with the partial answer and an error event of the target after ``out``."""
        self._fault, self._may_match = fault, False
        if isinstance(fault, StreamError | LossyConversionError):
            event_error = _UNREADABLE if isinstance(fault, StreamError) else _TOO_LOSSY
            fault.partial, fault.tail = self.response(), out + self._error_event(event_error)

    def _error_event(self, error: ir.Error) -> bytes:
        """Return an error event of the target."""
        if self._passthrough:
            return self._passthrough.fail(error, events_before=self._source.event_count)
        # Decoders emit the usage with the end, because later counts replace earlier ones. Here it is sent without an end.
        return self._encode(self._source.usage()) + escape_separators(self._encoder.fail(error))

    def _convert(self, event: ServerSentEvent) -> bytes:
        new_events = self._source.decode(event)
        if not self._is_unchanged:
            return self._encode(new_events)
        if len(new_events) == 1:  # nearly always
            return escape_separators(self._encoder.feed(new_events[0]))
        return escape_separators(b"".join(map(self._encoder.feed, new_events)))

    def _encode(self, new_events: list[events.Event]) -> bytes:
        if self._options.raise_on and any(isinstance(event, events.End) for event in new_events):
            self._whole(self._options)  # raises before the end is sent; with it a client would treat the answer as complete
        if self._options.token_key is not None and self._source_format is not self._target_format:
            new_events = check_event_tokens(new_events, self._options.token_key)
        return escape_separators(b"".join([self._encoder.feed(event) for event in self._tool_names.feed(new_events)]))


def _finished() -> ConfigurationError:
    return ConfigurationError("the stream is finished: use a new converter for each stream")


def convert_accumulated(
    source: StreamSource,
    target: FormatSpec,
    request: ConvertedRequest | None,
    options: Options,
    *,
    is_sent: bool = False,
    tokens: Iterable[ir.TokenLogprob | ir.Signature] = (),
) -> Converted:
    """Convert an accumulated answer as ``convert_response`` does. The pointers of the report refer to the body of the whole answer.

    An answer without an end is marked as unfinished. ``is_sent``: its stream was sent in the target format. Then the report has the fields
    that arrived after the start was sent, and ``tokens``, which arrived after their texts and reasoning were sent.
    """
    source_format, answer = source.source_format, source.answer()
    context = request.context if request else None
    is_unchanged = source_format is target and not source.is_closed  # no event contains the end of a closed answer
    # A whole stream in its format folds to the body with all fields. A partial stream and contradictory events do not:
    # these are encoded from what was accumulated. So is a stream whose tools were restored.
    is_restored = is_sent and changes_tools(context)
    if is_unchanged and not is_restored and (body := source.body()) is not None:
        losses = Ledger(body, source_format.field_paths)
        losses.malformed(source.malformed.put_into(body), "changed")
        body = with_caller_tools(body, source.answer, target, losses, options, context)
        return Converted(body, losses, source_format, target, "response")
    losses = _ledger_of_stream(source)
    if is_sent and (source_format is not target or is_restored):
        _note_undelivered(answer, target, losses)
        for token in tokens:
            losses.dropped(token, code="too_late")
    delivered = without_error(answer, target, losses)
    is_unfinished = not source.is_over or delivered is not answer
    is_kept = source_format is target and not is_restored
    common, format_fields = without_format_fields(delivered, source_format) if is_kept else (delivered, {})
    out = encode_response_for(common, source_format, target, losses, options, context)
    for pointer, value in format_fields.items():
        put(out.body, pointer, value)
    if is_unfinished:
        # The encoder adds the finish reason that a whole answer needs. Here it would state an end that did not arrive.
        out.body = target.mark_unfinished(out.body)
        losses.withdraw(out.body)
    return out


def _ledger_of_stream(source: StreamSource) -> Ledger:
    """Return a ledger for an accumulated answer."""
    # The body of the source is folded only when the report is read, with the malformed fields that were known at this time.
    format = source.source_format
    report = partial(source.malformed.copy().report, format=format) if source.malformed.pointers else None
    body = source.body if source.is_complete else source.part_of_body()
    return Ledger(LazyBody(body, report, source.known_values), format.field_paths)


def _note_undelivered(answer: ir.Response, target: FormatSpec, losses: Ledger) -> None:
    """Note fields of the head, of texts and of calls that arrived after these were sent without them or with other values."""
    for citation in _undelivered_citations(answer) if answer.citations_after_text and not target.citations_at_end else ():
        losses.dropped(citation, code="too_late")
    for name in answer.fields_after_start:
        losses.dropped(answer, name, "too_late", severity="info")
    for part, name, sent in answer.revised_parts:
        if isinstance(part, target.streamed_parts):
            severity: Severity = "impossible" if isinstance(part, ir.ToolCall) else "lossy"
            losses.changed(part, name, sent, "too_late", severity=severity)


def _undelivered_citations(answer: ir.Response) -> Iterator[ir.Citation]:
    """Yield the citations that arrived after their texts were sent. If the source of one was sent before, yield only its reference."""
    undelivered = set(map(id, answer.citations_after_text))
    texts = [part for choice in answer.choices for part in choice.parts if isinstance(part, ir.Text)]
    sent = {citation.src for text in texts for citation in text.citations or () if id(citation) not in undelivered}
    for citation in answer.citations_after_text:
        is_sent_before = citation.src in sent and citation.second_src
        yield replace(citation, src=citation.index_src or citation.second_src, second_src="") if is_sent_before else citation


@overload
def convert_stream(
    chunks: Iterable[bytes],
    *,
    source: FormatOrName,
    target: FormatOrName,
    request: ConvertedRequest | None = None,
    options: Options | None = None,
) -> Iterator[bytes]: ...


@overload
def convert_stream(
    chunks: AsyncIterable[bytes],
    *,
    source: FormatOrName,
    target: FormatOrName,
    request: ConvertedRequest | None = None,
    options: Options | None = None,
) -> AsyncIterator[bytes]: ...


def convert_stream(
    chunks: Iterable[bytes] | AsyncIterable[bytes],
    *,
    source: FormatOrName,
    target: FormatOrName,
    request: ConvertedRequest | None = None,
    options: Options | None = None,
) -> Iterator[bytes] | AsyncIterator[bytes]:
    """Convert a stream of bytes: an iterator for an iterable, an async iterator for an async iterable.

    A fault raises an error with ``partial`` and ``tail``, as of ``StreamConverter``. An exception of the iterable is the cause of a
    ``TruncatedStreamError``, as ``abort`` returns it; with ``on_truncated="close"`` its ``tail`` ends the answer.
    """
    converter = StreamConverter(source=source, target=target, request=request, options=options)
    chunks = checked_chunks(chunks)
    if isinstance(chunks, AsyncIterable):
        return _through_async(converter, chunks)
    return convert_chunks(converter, chunks)


def convert_chunks(converter: StreamConverter, chunks: Iterable[bytes]) -> Iterator[bytes]:
    """Yield the converted chunks of a stream to its end. An exception of the iterable is a broken connection."""
    for chunk in read_chunks(chunks, converter.abort):
        if out := converter.feed(chunk):
            yield out
    if out := converter.finish():
        yield out


async def _through_async(converter: StreamConverter, chunks: AsyncIterable[bytes]) -> AsyncIterator[bytes]:
    async for chunk in read_chunks_async(chunks, converter.abort):
        if out := converter.feed(chunk):
            yield out
    if out := converter.finish():
        yield out
