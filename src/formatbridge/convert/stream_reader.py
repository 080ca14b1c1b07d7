"""The reading half of streams: bytes to checked events of a format, to canonical events, which are collected as they pass."""

from __future__ import annotations

from collections.abc import AsyncIterable, AsyncIterator, Callable, Iterable, Iterator
from typing import Any

from formatbridge import formats, ir
from formatbridge.convert.bodies import Converted
from formatbridge.convert.event_validation import MalformedDetails, check_event, object_of, read_event, refusal
from formatbridge.convert.input import check, repair_answer
from formatbridge.errors import FormatBridgeError, InvalidPayloadError, StreamDecodeError, TruncatedStreamError, placed, tell_more
from formatbridge.formats.format import Format
from formatbridge.formats.shared.tool_call_ids import CallsApart
from formatbridge.ir import events
from formatbridge.jsontext import codec
from formatbridge.jsontext.types import JsonObject
from formatbridge.streaming.accumulate import Collector, VisibleTextReader
from formatbridge.streaming.delta_template import Refrain
from formatbridge.streaming.event_log import Record
from formatbridge.streaming.framing import LIMIT
from formatbridge.streaming.sse import DONE, PINGS, ServerSentEvent, StreamReader, carries_json, frame_of
from formatbridge.streaming.surrogates import Halves

_SNIPPET = 200
_SHORT = 8192


Breaks = Callable[[Exception], Exception]
"""Makes the error for a stream that broke off out of what others raised in the place of its next bytes."""


def unbroken(chunks: Iterable[bytes], breaks: Breaks) -> Iterator[bytes]:
    """Yield the pieces of a stream; what their iterable raises, and nothing that is raised elsewhere, is a break of it."""
    try:
        for chunk in chunks:  # noqa: UP028  # to delegate would close what is the caller's
            yield chunk
    except FormatBridgeError:
        raise
    except Exception as cause:
        raise breaks(cause) from cause


async def unbroken_async(chunks: AsyncIterable[bytes], breaks: Breaks) -> AsyncIterator[bytes]:
    """Do the same for an async iterable."""
    try:
        async for chunk in chunks:
            yield chunk
    except FormatBridgeError:
        raise
    except Exception as cause:
        raise breaks(cause) from cause


class StreamSource:
    """The reading half: bytes to canonical events, which are collected as they pass."""

    def __init__(self, near: Format) -> None:
        self.near = near
        self._reader = StreamReader()
        self._decoder = near.StreamDecoder()
        self._collector = Collector(near.NAME)
        self._text_reader = VisibleTextReader(self._collector)
        self._calls = CallsApart()
        self._head = b""
        self._has_begun = False
        self._is_at_home = False
        self._chunk = b""  # the last, if it is short
        self._record = Record()
        self._refrain = Refrain()
        self._pieces: list[str] = []  # where the text of what is known by heart is collected
        self._unread: ServerSentEvent | None = None  # the last event known by heart, whose counts nobody has read
        self._halves = Halves()
        # The last event with halves of characters, as it came and as it is read.
        self._joined: tuple[ServerSentEvent, ServerSentEvent] | None = None
        self._is_torn = False
        #: What was malformed in the events.
        self.malformed = MalformedDetails()
        self.is_closed = False
        self.is_over = False
        self.has_ended = False
        self.heard = 0
        #: What kind of event the last one was, where its JSON says so.
        self.kind = ""
        self.error: ir.Error | None = None

    def read(self, chunk: bytes) -> list[ServerSentEvent]:
        """Return the events that a chunk completes."""
        self._chunk = chunk if len(chunk) <= _SHORT else b""
        if self._has_begun:
            return self._reader.feed(chunk)
        self._head = (self._head + chunk)[:_SNIPPET]
        read = self._reader.feed(chunk)
        return [told for event in read for told in self._unfolded(event)] if self._reader.reads_json else read

    def _unfolded(self, event: ServerSentEvent) -> list[ServerSentEvent]:
        """Return the events of a whole answer that came in the place of a stream.

        Anything else, also an answer that is an event, stays as it is.
        """
        try:
            raw = object_of(event, self.near.NAME)
        except StreamDecodeError:
            return [event]
        if self.near.is_own_event(raw):
            return [event]
        try:
            check(raw, self.near.NAME, "response")
        except InvalidPayloadError:
            repaired = repair_answer(raw, self.near, "response")
            if repaired is None:
                return [event]
            raw = repaired.body
            self.malformed.put(repaired.removed)
        return [ServerSentEvent("", codec.dumps(told), event.offset) for told in self.near.unfold_stream(raw)]

    def hear(self, chunk: bytes) -> events.Delta | None:
        """Return what a chunk brings that is one event, frame and all, of those that are known by heart; None where it must be read."""
        if self._refrain.framed is None or not self._reader.is_between or len(chunk) > LIMIT:
            return None
        delta = self._refrain.delta_of(chunk, is_framed=True)
        if delta is None:
            return None
        offset = self._reader.pass_over(chunk)
        if self._refrain.counts_usage:
            self._unread = self._refrain.event_in(chunk, offset)
        self._grow(delta.text)
        return delta

    def _grow(self, text: str) -> None:
        self._decoder.grow(text)
        self._pieces.append(text)
        self.heard += 1

    def read_rest(self) -> list[ServerSentEvent]:
        """Take the end of the bytes and return the event that lacked only its end. One that they cut in two is none, but a cut."""
        if self._reader.is_between:  # nearly always
            return []
        has_opened = self._reader.has_opened
        read = self._reader.finish()
        whole = [event for event in read if not carries_json(event) or _is_json(event.data)]
        is_told = any(event.data.strip() for event in whole)
        self._is_torn = not self.has_ended and (len(whole) < len(read) or (has_opened and not is_told))
        return whole

    def as_read(self, event: ServerSentEvent) -> ServerSentEvent:
        """Return the event that was decoded last as it was read: with the characters whose halves came in two events in the later one."""
        return self._joined[1] if self._joined and self._joined[0] is event else event

    def decode(self, event: ServerSentEvent) -> list[events.Event]:
        """Return what happened by an event."""
        data = event.data
        delta = self._refrain.delta_of(data) if self._refrain.known is not None else None
        if delta is not None:
            self._grow(delta.text)
            if self._refrain.counts_usage:
                self._unread = event
            return [delta]
        said = data.strip()
        if self.is_over or not said:
            return []
        if said == DONE:
            self._refrain.forget()
            happened = self._decoder.done()
            self.has_ended = self.has_ended or self._decoder.is_complete or bool(self.near.END_OF_STREAM)
            return self.collect(happened)
        self._catch_up()
        return self._decode(event)

    def end(self, *, closes: bool = False, is_break: bool = False) -> list[events.Event]:
        """Return what happens by the end of the bytes: an end, if the answer came to one, and else its start, if nobody told it yet.

        Behind an event that they cut in two there is no end, whatever was said before, and none where the connection broke (``is_break``).
        ``closes``: what was cut ends all the same: for the reason that it gave, else as an answer that ran out of tokens.
        """
        closes = closes and self._has_begun and not self._halves.waiting
        # Behind an end, or an error, nothing is missing.
        self._is_torn = self._is_torn or bool((is_break or self._halves.waiting) and not self.is_over)
        self._catch_up()
        told = self._decoder.finish()
        if self._is_torn and not closes:
            told = [event for event in told if isinstance(event, events.UsageTold | events.Meta)]
        happened = self.collect(told)
        if self._has_begun and not self.is_over and self._decoder.start is not None:
            happened += self.collect([self._decoder.start])
            self._decoder.start = None
        if closes and not self.is_over:
            self.is_closed = True
            happened += self.collect([*self.beside(), *self._decoder.untold()])
            happened += self.collect([*self._collector.unfinished(), events.End()])
        self._is_torn = self._is_torn and not closes
        return happened

    @property
    def is_complete(self) -> bool:
        """Whether the answer came to its end, or to an error, and the bytes broke off in no event."""
        return (self._decoder.is_complete or self.is_over) and not self._is_torn

    def answer(self) -> ir.Response:
        """Return the answer so far, with what waits to be told. All of that will be told once more, or something else in its place."""
        untold = self._decoder.untold() if self.error or not self.is_over else []
        return self._collected([*self._begun(), *self.beside(), *untold]).response()

    def beside(self) -> list[events.Event]:
        """Return what is known of the answer beside its parts where it has come to no end, which tells it by itself."""
        self._catch_up()
        return [] if self.is_over else self._decoder.beside()

    def _begun(self) -> list[events.Event]:
        """Return the start of the answer as far as it is known, where nobody told it yet."""
        return [] if self._decoder.start is None else [self._decoder.start]

    def _collected(self, told: list[events.Event]) -> Collector:
        """Return what is collected and some events that may be told otherwise later."""
        return self._collector.and_then(told) if told else self._collector

    def new_text(self) -> list[str]:
        """Return the visible text of the first choice that has come since the last time; reasoning and refusals are none."""
        return self._text_reader.read_new(is_over=self.is_over)

    def so_far(self) -> list[events.Event]:
        """Return the events that fold to the answer so far; what is open stays open."""
        return self._collected([*self._begun(), *self.beside()]).so_far()

    def body(self) -> JsonObject | None:
        """Return the whole answer in its own format, as the vendor's client would add it up; None where nobody can say."""
        if self.error or not self.is_complete:
            return None
        self._catch_up()
        return self._fold(self._record)

    def part_of_body(self) -> Callable[[], JsonObject | None]:
        """Return what puts together, when somebody asks, as much of the answer as has come by now."""
        self._catch_up()
        told = self._record.copy()
        return lambda: self._fold(told)

    def _fold(self, told: Record) -> JsonObject | None:
        try:
            return self.near.fold_stream(self._reread(told))
        except StreamDecodeError:
            return None  # pieces came that nobody can put together

    def _reread(self, told: Iterable[bytes]) -> Iterator[JsonObject]:
        """Yield the checked events of a record; their malformed details are known."""
        for data in told:
            checked, _ = check_event(codec.loads(data), ServerSentEvent("", data, 0), self.near)
            if checked is not None:
                yield checked

    def truncated(self, partial: Converted, tail: bytes = b"", cause: BaseException | None = None) -> TruncatedStreamError:
        """Return the error for a stream that was cut, which says by what, where anybody knows."""
        has_come = self.is_complete and not self.is_closed
        expected = None if has_come else self._decoder.END
        if expected is not None and not self._has_begun:
            began = f"; it begins with {self._head.decode(errors='replace')!r}" if self._head else ""
            expected += f"; not one event of {self.near.NAME} came{began}"
        cut = TruncatedStreamError(expected, partial=partial, tail=tail)
        if cause is not None:
            tell_more(cut, f" ({str(cause) or type(cause).__name__})")
        return cut

    def _catch_up(self) -> None:
        """Read the counts of the events that were known by heart; the last of them replace those before."""
        if self._unread is not None:
            self._record.keep_last(self._unread.data)
            event, self._unread = self._unread, None
            raw = self._check(object_of(event, self.near.NAME), event)
            if raw is not None:
                self._decoder.recount(raw)

    def collect(self, happened: list[events.Event]) -> list[events.Event]:
        """Keep what happened and hand it on."""
        self._collector.take(happened)
        for at, event in enumerate(happened):
            note = _NOTED.get(type(event))
            if note is not None:
                happened[at] = note(self, event)
        return happened

    def _tell_apart(self, event: events.PartStart | events.PartEnd) -> events.Event:
        """Return what is told of a call with an id of its own; the collected ones keep their ids, for the report."""
        return event if event.part is None else self._calls.feed(event)

    def _fail(self, event: events.Failed) -> events.Event:
        self.error = event.error
        self.is_over = self.has_ended = True
        return event

    def _finish(self, event: events.End) -> events.Event:
        self._refuse_half()
        self.is_over = self.has_ended = True
        return event

    def _decode(self, event: ServerSentEvent) -> list[events.Event]:
        event, given = self._understood(event)
        raw = self._check(given, event)
        if not self._is_at_home:
            self._is_at_home = self._is_own(given, event)
            self._has_begun, self._head = True, b""
        self._record.add(event.data)
        kind = given.get("type")
        self.kind = kind if isinstance(kind, str) else ""
        self.heard += self.kind not in PINGS
        if raw is None:
            return []
        try:
            happened = self._decoder.feed(raw)
        except StreamDecodeError as error:
            raise placed(error, event.offset) from None
        self.collect(happened)
        template = self._refrain.learn(event.data, happened)
        if self._halves.waiting:
            self._refrain.forget()
        elif template is not None:
            frame = frame_of(event, self._chunk)
            if frame is not None:
                self._refrain.expect(*frame)
            self._pieces = self._collector.latest
            self._record.run(template, self._pieces, each_counts=self._decoder.tells_more)
        return happened

    def _check(self, raw: JsonObject, event: ServerSentEvent) -> JsonObject | None:
        """Validate an event, and keep its malformed details for the report; None where nothing else of it is left."""
        checked, malformed = check_event(raw, event, self.near)
        if malformed:
            self.malformed.take(raw, malformed, self.near)
        return checked

    def _understood(self, event: ServerSentEvent) -> tuple[ServerSentEvent, JsonObject]:
        """Return an event and its JSON, with characters put together whose halves came in two events."""
        if self._halves.waiting:
            return read_event(self._join(event), self.near)
        try:
            return read_event(event, self.near)
        except StreamDecodeError:
            joined = self._join(event)  # raises what is wrong, where that is something else
            return read_event(joined, self.near)

    def _join(self, event: ServerSentEvent) -> ServerSentEvent:
        try:
            value = codec.loads_loosely(event.data)
            self._halves.join(value)
            made = ServerSentEvent(event.event, codec.dumps(codec.checked(value)), event.offset)
        except codec.NotJsonError as error:
            raise refusal(event, self.near.NAME, [(error.pointer, error.message)]) from None
        self._joined = event, made
        return made

    def _refuse_half(self) -> None:
        """Raise where an answer ends whose text ends in half a character."""
        if self._halves.waiting and self._joined:
            raise refusal(self._joined[0], self.near.NAME, [("", "ends in half a character, and the other half never came")])

    def _is_own(self, raw: JsonObject, event: ServerSentEvent) -> bool:
        """Say whether an event is of the format beyond doubt; refuse one that is so of another, whose shape may fit all the same."""
        if self.near.is_own_event(raw):
            return True
        for name in formats.FORMATS:
            if formats.load(name).is_own_event(raw):
                raise refusal(event, self.near.NAME, [("", f"is an event of {name}")])
        return False


_NOTED: dict[type[events.Event], Callable[[StreamSource, Any], events.Event]] = {
    events.PartStart: StreamSource._tell_apart,
    events.PartEnd: StreamSource._tell_apart,
    events.Failed: StreamSource._fail,
    events.End: StreamSource._finish,
}
"""Kind of event to what comes of it for the source itself."""


def _is_json(data: bytes) -> bool:
    try:
        codec.loads(data, [])
    except codec.NotJsonError:
        return False
    return True
