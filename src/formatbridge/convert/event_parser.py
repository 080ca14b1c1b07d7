"""Parse a stream: its bytes to events, and each event to a validated JSON object of its format, without its malformed fields."""

from __future__ import annotations

from collections.abc import AsyncIterable, AsyncIterator, Callable, Iterable, Iterator, Mapping
from functools import cache
from importlib import import_module
from itertools import groupby, islice
from typing import Any

from pydantic import ValidationError

from formatbridge import formats, ir
from formatbridge.convert.input import check, check_error, repair_answer
from formatbridge.errors import FormatBridgeError, InvalidPayloadError, StreamDecodeError
from formatbridge.formats.format import FormatSpec
from formatbridge.jsontext import codec
from formatbridge.jsontext.pointers import Path, pointer_of, value_at
from formatbridge.jsontext.types import JsonObject, JsonValue
from formatbridge.report.ledger import Ledger
from formatbridge.streaming.sse import PINGS, ServerSentEvent, StreamReader, frame_of, is_json_event
from formatbridge.streaming.surrogates import SurrogateJoiner
from formatbridge.validation.error_messages import problems_of
from formatbridge.validation.malformed_fields import faults, repair
from formatbridge.validation.validators import dict_validator

_MAX_PROBLEMS = 3
"""The number of problems that an error lists."""
_SNIPPET = 200
"""Bytes of the beginning of a stream that an error shows."""
_SHORT = 8192
"""Bytes of a chunk that is kept to look for the frame of its event."""
_NONE_MALFORMED: Mapping[Path, JsonValue] = {}
PARTS: frozenset[Path] = frozenset({("content_block",), ("item",), ("part",), ("delta", "citation")})
"""Members of events that contain a part of the answer, which later events extend."""
_ANYWHERE = PINGS | {"error"}
"""Types of events that more than one format has."""


ErrorFor = Callable[[Exception], Exception]
"""A function that returns the error of a truncated stream for an exception of the iterable."""


def event_type(format: FormatSpec) -> Any:
    """Return the union of wire models of a format's stream events."""
    return import_module(format.wire_module).StreamEvent


@cache
def event_reader(format: FormatSpec) -> Callable[[Any], Any]:
    """Return the function that validates a format's events by their wire models; it is compiled at first use."""
    return dict_validator(event_type(format))


def object_of(event: ServerSentEvent, format: ir.FormatName) -> JsonObject:
    """Return the JSON object of an event; raise ``StreamDecodeError`` if its data is none."""
    try:
        value = codec.loads(event.data)
    except codec.NotJsonError as error:
        raise refusal(event, format, [(error.pointer, error.message)]) from None
    if not isinstance(value, dict):
        raise refusal(event, format, [("", f"is {codec.describe(value)}, expected an object")])
    return value


def read_event(event: ServerSentEvent, format: FormatSpec) -> tuple[ServerSentEvent, JsonObject]:
    """Return an event and its JSON object. If the object has no ``type``, it is the event's name, if the format has such a type."""
    # Without a type: ``event: content_block_stop`` with ``data: {"index": 0}``.
    raw, name = object_of(event, format.name), event.event
    if name and format.names_events and raw.get("type") is None and (name in _ANYWHERE or format.recognizes_event({"type": name})):
        raw = {**raw, "type": name}
        event = ServerSentEvent(name, codec.dumps(raw), event.offset)
    return event, raw


def check_event(raw: JsonObject, event: ServerSentEvent, format: FormatSpec) -> tuple[JsonObject | None, Mapping[Path, JsonValue]]:
    """Validate an event by its wire model; an error is accepted in any shape.

    Malformed fields are left out of the event; the second value has them by path. The first value is None for an event of the format that
    cannot be read without them. Raises ``StreamDecodeError`` for an event that is not of the format.
    """
    try:
        return event_reader(format)(raw), _NONE_MALFORMED
    except ValidationError:
        if raw.get("error"):  # such as ``{"error": "overloaded"}``, or an object of another vendor
            return check_error({"error": raw["error"]}, format)[0], _NONE_MALFORMED
    # The rest of an event is worth more than its malformed field: without the event the answer would lack a piece.
    repaired = repair(event_type(format), raw, parts=PARTS)
    if repaired is not None:
        return repaired.checked, repaired.removed
    if not format.recognizes_event(raw):
        raise refusal(event, format.name, problems_of(event_type(format), raw))
    return None, {**faults(event_type(format), raw), (): raw}


def refusal(event: ServerSentEvent, format: ir.FormatName, problems: list[tuple[str, str]]) -> StreamDecodeError:
    """Return the error for an event that is not valid in its format; its message lists pointers and problems."""
    description = "; ".join(f"{pointer} {message}".strip() for pointer, message in problems[:_MAX_PROBLEMS])
    return StreamDecodeError(f"is not of {format}: {description}", offset=event.offset, snippet=event.data)


class MalformedFields:
    """The malformed fields of a stream, by their places in the whole answer."""

    def __init__(self) -> None:
        self._values: dict[Path, JsonValue] = {}
        self._parts: dict[Path, JsonObject] = {}
        self._lost: dict[Path, JsonObject] = {}
        self._lengths: dict[Path, int] = {}

    def take(self, raw: JsonObject, removed: Mapping[Path, JsonValue], format: FormatSpec) -> None:
        """Add the values that were left out of an event, by their paths in it; the empty path means the whole event."""
        places = {format.response_path(raw, path, self._lengths): value for path, value in removed.items() if path}
        for path in removed:
            # A part without a readable ``type`` is no known part, so it is reported as a whole and not only its type.
            if not path:
                self._lost[format.response_path(raw, path, self._lengths)] = raw
            elif path[:-1] in PARTS and path[-1] == "type":
                self._parts[format.response_path(raw, path[:-1], self._lengths)] = value_at(raw, path[:-1])
        self.put(places)

    def copy(self) -> MalformedFields:
        """Return a copy that later events do not change."""
        copied = MalformedFields()
        copied._values, copied._parts, copied._lost = dict(self._values), dict(self._parts), dict(self._lost)
        return copied

    def put(self, places: Mapping[Path, JsonValue]) -> None:
        """Add malformed fields by their places in the whole answer."""
        self._values.update(places)
        for place in places:
            for depth, step in enumerate(place):
                if isinstance(step, int):
                    self._lengths[place[:depth]] = max(self._lengths.get(place[:depth], 0), step + 1)

    @property
    def pointers(self) -> dict[str, JsonValue]:
        """The malformed values by their pointers into the whole answer; for a malformed part, the whole part."""
        values = {place: value for place, value in self._values.items() if place[:-1] not in self._parts}
        return {pointer_of(place): value for place, value in (values | self._parts | self._lost).items()}

    def report(self, losses: Ledger, body: JsonObject | None, format: FormatSpec) -> None:
        """Insert the malformed fields into the whole answer, and report them by their places there.

        ``body``: the accumulated answer; None if it could not be accumulated. If its place has another value, a field is reported as
        changed.
        """
        not_inserted = {} if body is None else self.put_into(body)
        repaired = None if body is None else repair_answer(body, format, "response")
        if repaired is not None and not format.names_events:  # in other formats an event contains the place of its content
            losses.repaired(repaired.body, repaired.original)
        losses.malformed(self.pointers if repaired is None else repaired.pointers)
        losses.malformed(not_inserted, "changed")

    def put_into(self, body: JsonObject) -> dict[str, JsonValue]:
        """Insert the malformed fields into a whole answer without them; return those that cannot be inserted, by pointer."""
        # An index counts the items of the source, malformed ones included, so the items of one list are inserted together in order.
        not_inserted: dict[str, JsonValue] = {pointer_of(place): raw for place, raw in self._lost.items()}
        for above, group in groupby(sorted(self._values.items(), key=_sort_key), key=lambda item: item[0][:-1]):
            values = list(group)
            holder = value_at(body, above)
            if isinstance(holder, list) and isinstance(values[0][0][-1], int):
                _insert(holder, values)
                continue
            for place, value in values:
                if place and isinstance(holder, dict) and isinstance(place[-1], str) and holder.get(place[-1]) is None:
                    holder[place[-1]] = value
                else:
                    not_inserted[pointer_of(place)] = value
        return not_inserted


def _sort_key(item: tuple[Path, JsonValue]) -> list[tuple[bool, Any]]:
    return [(isinstance(step, int), step) for step in item[0]]  # the flag keeps numbers and names apart, which cannot be compared


def _insert(items: list[JsonValue], values: list[tuple[Path, JsonValue]]) -> None:
    """Insert values into a list at their indexes, which are in ascending order."""
    merged: list[JsonValue] = []
    others = iter(items)
    for place, value in values:
        index = place[-1]
        assert isinstance(index, int)
        merged += islice(others, max(0, index - len(merged)))
        merged.append(value)
    items[:] = [*merged, *others]


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
