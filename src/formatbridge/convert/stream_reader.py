"""Read a stream: decode its validated events to canonical events, and accumulate the answer."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from formatbridge import ir
from formatbridge.convert.bodies import Converted
from formatbridge.convert.event_parser import EventParser, MalformedFields, check_event
from formatbridge.errors import StreamDecodeError, TruncatedStreamError, append_to_message, with_offset
from formatbridge.formats.format import FormatSpec
from formatbridge.formats.shared.tool_call_ids import UniqueCallIds
from formatbridge.ir import events
from formatbridge.jsontext import codec
from formatbridge.jsontext.types import JsonObject
from formatbridge.streaming.accumulate import Collector, VisibleTextReader
from formatbridge.streaming.delta_template import DeltaTemplate, EventLog
from formatbridge.streaming.framing import LIMIT
from formatbridge.streaming.sse import DONE, PINGS, ServerSentEvent


class StreamSource:
    """Reads one stream: decodes its bytes to canonical events and accumulates the answer."""

    def __init__(self, source_format: FormatSpec) -> None:
        self.source_format = source_format
        self._parser = EventParser(source_format)
        self._reader = self._parser.reader
        self._decoder = source_format.stream_decoder()
        self._template = DeltaTemplate(self._decoder.NEVER_REPEATED)
        self._collector = Collector(source_format.name, source_format.choice_pointer)
        self._text_reader = VisibleTextReader(self._collector)
        self._calls = UniqueCallIds()
        self._ends_inside_event = False
        self.is_closed = False
        self.is_over = False
        self.has_ended = False
        self.event_count = 0
        self.kind = ""
        """The ``type`` of the last event, if it has one."""
        self.error: ir.Error | None = None

    @property
    def malformed(self) -> MalformedFields:
        """The malformed fields of the events."""
        return self._parser.malformed

    def read(self, chunk: bytes) -> list[ServerSentEvent]:
        """Return the events that a chunk completes."""
        return self._parser.read(chunk)

    def read_rest(self) -> list[ServerSentEvent]:
        """Read the end of the bytes and return the last event if only its blank line is missing. An incomplete event is left out."""
        read = self._parser.read_rest()
        self._ends_inside_event = self._parser.ends_inside_event and not self.has_ended
        return read

    def as_read(self, event: ServerSentEvent) -> ServerSentEvent:
        """Return the last decoded event as it was decoded, with joined surrogate pairs."""
        return self._parser.as_read(event)

    def read_matching(self, chunk: bytes) -> events.Delta | None:
        """Return the delta of a chunk that is exactly one event and matches the delta template; None for any other chunk."""
        # The reader has to see the chunk inside an event, and one that exceeds the limit, which it rejects.
        if self._template.framed is None or not self._reader.is_between or len(chunk) > LIMIT:
            return None
        delta = self._template.match_frame(chunk)
        if delta is None:
            return None
        self._template.keep_counts(chunk, self._reader.pass_over(chunk))
        self.event_count += 1
        return delta

    def decode(self, event: ServerSentEvent) -> list[events.Event]:
        """Return the canonical events of an event."""
        if self._template.pattern is not None and (delta := self._template.match(event)) is not None:
            self.event_count += 1
            return [delta]
        data = event.data.strip()
        if self.is_over or not data:
            return []
        self._feed_repeated()
        if data == DONE:
            self._template.forget()
            new_events = self._decoder.finish("done")
            # Relays also append it to streams of formats without it (BerriAI/litellm#29426). There it ends only a complete answer.
            self.has_ended = self.has_ended or self._decoder.is_complete or bool(self.source_format.end_of_stream)
            return self.collect(new_events)
        return self._decode(event)

    def end(self, *, closes: bool = False, is_break: bool = False) -> list[events.Event]:
        """Return the events for the end of the bytes: the end of a complete answer, or the pending start of a truncated one.

        A stream that ends inside an event, or whose connection broke (``is_break``), has no end. ``closes``: end a truncated answer too,
        with its finish reason or else ``length``.
        """
        closes = closes and self._parser.has_begun and not self._parser.has_half_pair  # an unpaired surrogate is not valid text
        # A stream that has its end or an error is complete, even if the connection breaks after it.
        self._ends_inside_event = self._ends_inside_event or ((is_break or self._parser.has_half_pair) and not self.is_over)
        new_events: list[events.Event] = []
        if self._ends_inside_event and not closes:
            new_events += [
                event for event in self._pending() if isinstance(event, events.Start | events.UsageUpdate | events.FieldsUpdate)
            ]
        elif self._parser.has_begun:
            self._feed_repeated()
            new_events += self._decoder.finish("end_of_bytes")
        new_events = self.collect(new_events)
        if closes and not self.is_over:
            self.is_closed = True
            new_events += self.collect(self._pending())
            new_events += self.collect([*self._collector.unfinished(), events.End()])
        self._ends_inside_event = self._ends_inside_event and not closes
        return new_events

    @property
    def is_complete(self) -> bool:
        """Whether the answer has its end, or an error, and no event is incomplete."""
        return (self._decoder.is_complete or self.is_over) and not self._ends_inside_event

    def answer(self) -> ir.Response:
        """Return the partial answer with the pending events. The collector does not keep these, because they may change."""
        pending = self._pending() if self.error or not self.is_over else []
        return self._collected(pending).response()

    def usage(self) -> list[events.Event]:
        """Return the pending usage of an answer without an end; the decoder emits it before the end."""
        return [] if self.is_over else [event for event in self._pending() if isinstance(event, events.UsageUpdate)]

    def _pending(self) -> list[events.Event]:
        """Return the events that the decoder would emit if the stream was truncated here."""
        if not self._parser.has_begun:
            return []
        self._feed_repeated()
        return self._decoder.finish("truncated")

    def _collected(self, more: Sequence[events.Event]) -> Collector:
        """Return a collector with more events; the collector of this stream does not keep them."""
        return self._collector.and_then(more) if more else self._collector

    def new_text(self) -> list[str]:
        """Return the visible text of the first choice since the last call; reasoning and refusals are not included."""
        return self._text_reader.read_new(is_over=self.is_over)

    def partial_events(self) -> list[events.Event]:
        """Return the events that fold to the partial answer; open parts stay open."""
        pending = [] if self.is_over else self._pending()
        return self._collected(
            [event for event in pending if isinstance(event, events.Start | events.UsageUpdate)]
        ).partial_events()

    def body(self) -> JsonObject | None:
        """Return the whole answer in its format, as the official client accumulates it; None if the events are contradictory."""
        if self.error or not self.is_complete:
            return None
        self._feed_repeated()
        return self._fold(self._template.log)

    def part_of_body(self) -> Callable[[], JsonObject | None]:
        """Return a function that folds the partial answer to a body when it is called."""
        self._feed_repeated()
        log = self._template.log.copy()
        return lambda: self._fold(log)

    def known_values(self) -> JsonObject:
        """Return the part of an answer that an error ended: what the events before the error fold to, and the error.

        There is no whole body with both, because a response has no error.
        """
        read = list(self._reread(self._template.log)) if self.error else []
        if not read:
            return {}
        failure = read.pop()
        try:
            answer = self.source_format.fold_stream(read) or {}
        except StreamDecodeError:
            answer = {}
        return answer | ({"error": failure["error"]} if "error" in failure else {})

    def _fold(self, log: EventLog) -> JsonObject | None:
        try:
            return self.source_format.fold_stream(self._reread(log))
        except StreamDecodeError:
            return None  # the events are contradictory

    def _reread(self, log: EventLog) -> Iterator[JsonObject]:
        """Yield the validated events of the log; their malformed fields are in ``malformed``."""
        for data in log:
            checked, _ = check_event(codec.loads(data), ServerSentEvent("", data, 0), self.source_format)
            if checked is not None:
                yield checked

    def truncated(self, partial: Converted, tail: bytes = b"", cause: BaseException | None = None) -> TruncatedStreamError:
        """Return the error of a truncated stream. ``cause``: the exception whose text is added to the message."""
        is_answer_complete = self.is_complete and not self.is_closed
        expected = None if is_answer_complete else self._decoder.END
        if expected is not None and not self._parser.has_begun:
            head = f"; it begins with {self._parser.beginning!r}" if self._parser.beginning else ""
            expected += f"; no event of {self.source_format.name} arrived{head}"
        error = TruncatedStreamError(expected, partial=partial, tail=tail)
        if cause is not None:
            append_to_message(error, f" ({str(cause) or type(cause).__name__})")
        return error

    def _feed_repeated(self) -> None:
        """Feed the events that the delta template matched to the decoder as one event; their deltas have been emitted."""
        repeated = self._template.take_event(self._parser.validate)
        if repeated is not None:
            self._decoder.feed(*repeated)

    def collect(self, new_events: list[events.Event]) -> list[events.Event]:
        """Accumulate events and return them."""
        # The collector gets the events before their ids change, because the report compares its calls with the body of the source.
        self._collector.take(new_events)
        for at, event in enumerate(new_events):
            method = _METHODS.get(type(event))
            if method is not None:
                new_events[at] = method(self, event)
        return new_events

    def _with_unique_id(self, event: events.PartStart | events.PartEnd) -> events.Event:
        """Return the event of a call with a unique id; the accumulated calls keep their ids, for the report."""
        return event if event.part is None else self._calls.feed(event)

    def _fail(self, event: events.Failed) -> events.Event:
        self.error = event.error
        self.is_over = self.has_ended = True
        return event

    def _finish(self, event: events.End) -> events.Event:
        self._parser.refuse_half_pair()
        self.is_over = self.has_ended = True
        return event

    def _decode(self, event: ServerSentEvent) -> list[events.Event]:
        event, parsed, raw = self._parser.parse(event)
        self._template.log.add(event.data)
        kind = parsed.get("type")
        self.kind = kind if isinstance(kind, str) else ""
        self.event_count += self.kind not in PINGS
        if raw is None:
            return []
        try:
            new_events = self._decoder.feed(raw)
        except StreamDecodeError as error:
            raise with_offset(error, event.offset) from None
        self.collect(new_events)
        if self._parser.has_half_pair:
            self._template.forget()  # the next event is joined with this one, so it must be parsed
        elif self._template.learn(event.data, raw, new_events):
            frame, pieces = self._parser.frame_of(event), self._collector.latest
            self._template.begin_run(frame, pieces, is_counted=self._decoder.has_unknown_fields)
        return new_events


_METHODS: dict[type[events.Event], Callable[[StreamSource, Any], events.Event]] = {
    events.PartStart: StreamSource._with_unique_id,
    events.PartEnd: StreamSource._with_unique_id,
    events.Failed: StreamSource._fail,
    events.End: StreamSource._finish,
}
"""Type of canonical event to the method that takes it."""
