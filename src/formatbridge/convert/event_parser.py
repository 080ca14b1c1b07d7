"""Parse a stream: its bytes to events, and each event to a validated JSON object of its format."""

from __future__ import annotations

from collections.abc import AsyncIterable, AsyncIterator, Callable, Iterable, Iterator

from formatbridge import formats
from formatbridge.convert.event_validation import MalformedFields, check_event, object_of, read_event, refusal
from formatbridge.convert.input import check, repair_answer
from formatbridge.errors import FormatBridgeError, InvalidPayloadError, StreamDecodeError
from formatbridge.formats.format import FormatSpec
from formatbridge.jsontext import codec
from formatbridge.jsontext.types import JsonObject
from formatbridge.streaming.sse import ServerSentEvent, StreamReader, frame_of, is_json_event
from formatbridge.streaming.surrogates import SurrogateJoiner

_SNIPPET = 200
"""Bytes of the beginning of a stream that an error shows."""
_SHORT = 8192
"""Bytes of a chunk that is kept to look for the frame of its event."""

ErrorFor = Callable[[Exception], Exception]
"""A function that returns the error of a truncated stream for an exception of the iterable."""


def read_chunks(chunks: Iterable[bytes], error_for: ErrorFor) -> Iterator[bytes]:
    """Yield the chunks of a stream. For an exception of the iterable, raise ``error_for(exception)``; other exceptions pass."""
    try:
        for chunk in chunks:  # noqa: UP028  # ``yield from`` would close the iterable of the caller
            yield chunk
    except FormatBridgeError:
        raise
    except Exception as cause:
        raise error_for(cause) from cause


async def read_chunks_async(chunks: AsyncIterable[bytes], error_for: ErrorFor) -> AsyncIterator[bytes]:
    """Work as ``read_chunks`` for an async iterable."""
    try:
        async for chunk in chunks:
            yield chunk
    except FormatBridgeError:
        raise
    except Exception as cause:
        raise error_for(cause) from cause


class EventParser:
    """Parses one stream: its bytes to events, and each event to a validated JSON object."""

    def __init__(self, format: FormatSpec) -> None:
        self._format = format
        self.reader = StreamReader()
        """Splits the bytes into events."""
        self._head = b""
        self._is_certain = False
        self._chunk = b""  # the last one, if it is short
        self._surrogates = SurrogateJoiner()
        # The last event with half a surrogate pair, as it came and as it is parsed.
        self._joined: tuple[ServerSentEvent, ServerSentEvent] | None = None
        self.malformed = MalformedFields()
        """The malformed fields of the events."""
        self.has_begun = False
        """Whether an event of the format was parsed."""
        self.ends_inside_event = False
        """Whether the bytes ended inside an event."""

    @property
    def has_half_pair(self) -> bool:
        """Whether a text ends with half a surrogate pair, which the next event must complete."""
        return bool(self._surrogates.pending)

    @property
    def beginning(self) -> str:
        """The first bytes of a stream without an event of the format, for an error message."""
        return self._head.decode(errors="replace")

    def read(self, chunk: bytes) -> list[ServerSentEvent]:
        """Return the events that a chunk completes."""
        self._chunk = chunk if len(chunk) <= _SHORT else b""
        if self.has_begun:
            return self.reader.feed(chunk)
        # A server may send JSON instead: Gemini sends an array of events for a stream without ``alt=sse`` (nyo16/nous#26),
        # and a server that ignores ``stream`` sends one whole answer (diegosouzapw/OmniRoute#3108).
        self._head = (self._head + chunk)[:_SNIPPET]
        read = self.reader.feed(chunk)
        return [each for event in read for each in self._unfolded(event)] if self.reader.reads_json else read

    def _unfolded(self, event: ServerSentEvent) -> list[ServerSentEvent]:
        """Return the events of a whole answer that a server sent instead of a stream. Anything else stays unchanged."""
        try:
            raw = object_of(event, self._format.name)
        except StreamDecodeError:
            return [event]
        if self._format.recognizes_event(raw):  # first, because an event of Gemini is valid as a whole answer too
            return [event]
        try:
            check(raw, self._format, "response")
        except InvalidPayloadError:
            repaired = repair_answer(raw, self._format, "response")
            if repaired is None:
                return [event]
            raw = repaired.body
            self.malformed.put(repaired.removed)
        return [ServerSentEvent("", codec.dumps(each), event.offset) for each in self._format.unfold_stream(raw)]

    def read_rest(self) -> list[ServerSentEvent]:
        """Read the end of the bytes and return the last event if only its blank line is missing. An incomplete event is left out."""
        if self.reader.is_between:  # as after every complete stream
            return []
        # WHATWG HTML discards an event without its blank line. Some servers omit it after the last event, which has the finish
        # reason (openai/openai-node#2725), so the event is read if its JSON is complete.
        has_opened = self.reader.has_opened
        read = self.reader.finish()
        whole = [event for event in read if not is_json_event(event) or _is_json(event.data)]
        has_data = any(event.data.strip() for event in whole)
        self.ends_inside_event = len(whole) < len(read) or (has_opened and not has_data)
        return whole

    def as_read(self, event: ServerSentEvent) -> ServerSentEvent:
        """Return the last decoded event as it was decoded, with joined surrogate pairs."""
        return self._joined[1] if self._joined and self._joined[0] is event else event

    def frame_of(self, event: ServerSentEvent) -> tuple[bytes, bytes] | None:
        """Return the bytes before and after the data of an event, if it is the last chunk; otherwise None."""
        return frame_of(event, self._chunk)

    def parse(self, event: ServerSentEvent) -> tuple[ServerSentEvent, JsonObject, JsonObject | None]:
        """Return an event with joined surrogate pairs, its JSON object, and the validated object.

        The last value is None for an event that cannot be read without its malformed fields. Raises ``StreamDecodeError`` for an event of
        another format.
        """
        event, parsed = self._parse(event)
        checked = self._validate(parsed, event)
        if not self._is_certain:
            self._is_certain = self._is_of_format(parsed, event)
            self.has_begun, self._head = True, b""
        return event, parsed, checked

    def validate(self, event: ServerSentEvent) -> JsonObject | None:
        """Parse and validate another event like the last one."""
        return self._validate(object_of(event, self._format.name), event)

    def _validate(self, raw: JsonObject, event: ServerSentEvent) -> JsonObject | None:
        """Validate an event and keep its malformed fields for the report; None for an event that cannot be read without them."""
        checked, malformed = check_event(raw, event, self._format)
        if malformed:
            self.malformed.take(raw, malformed, self._format)
        return checked

    def _parse(self, event: ServerSentEvent) -> tuple[ServerSentEvent, JsonObject]:
        """Return an event and its JSON object, with joined surrogate pairs."""
        # A server that splits text by UTF-16 units sends ``"\ud83d"`` in one event and ``"\ude00"`` in the next
        # (openclaw/openclaw#115536).
        if self._surrogates.pending:
            return read_event(self._join(event), self._format)
        try:
            return read_event(event, self._format)
        except StreamDecodeError:
            joined = self._join(event)  # raises again unless a surrogate was the problem
            return read_event(joined, self._format)

    def _join(self, event: ServerSentEvent) -> ServerSentEvent:
        try:
            value = codec.loads_loosely(event.data)
            self._surrogates.join(value)
            out = ServerSentEvent(event.event, codec.dumps(codec.checked(value)), event.offset)
        except codec.NotJsonError as error:
            raise refusal(event, self._format.name, [(error.pointer, error.message)]) from None
        self._joined = event, out
        return out

    def refuse_half_pair(self) -> None:
        """Raise if the answer ends with half a surrogate pair."""
        if self._surrogates.pending and self._joined:
            message = "ends with a high surrogate, expected a low surrogate after it"
            raise refusal(self._joined[0], self._format.name, [("", message)])

    def _is_of_format(self, raw: JsonObject, event: ServerSentEvent) -> bool:
        """Return whether an event is certainly of the format; reject an event of another format, which may also be valid here."""
        # An event such as ``{"usage": {...}}`` may be of several formats: it is accepted, and the next event is checked again.
        if self._format.recognizes_event(raw):
            return True
        for name in formats.FORMATS:
            if formats.load(name).recognizes_event(raw):
                raise refusal(event, self._format.name, [("", f'is an event of {name}: pass source="{name}"')])
        return False


def _is_json(data: bytes) -> bool:
    try:
        codec.loads(data, [])
    except codec.NotJsonError:
        return False
    return True
