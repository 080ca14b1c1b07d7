"""Parse and validate one event of a stream, and collect its malformed fields."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from importlib import import_module
from itertools import groupby, islice
from typing import Any

from pydantic import ValidationError

from formatbridge import ir
from formatbridge.convert.input import check_error, repair_answer
from formatbridge.errors import StreamDecodeError
from formatbridge.formats.format import FormatSpec
from formatbridge.jsontext import codec
from formatbridge.jsontext.pointers import Path, pointer_of, value_at
from formatbridge.jsontext.types import JsonObject, JsonValue
from formatbridge.report.ledger import Ledger
from formatbridge.streaming.sse import PINGS, ServerSentEvent
from formatbridge.validation.error_messages import problems_of
from formatbridge.validation.malformed_fields import faults, repair
from formatbridge.validation.validators import dict_validator

_SHOWN = 3
_NOTHING: Mapping[Path, JsonValue] = {}
PARTS: frozenset[Path] = frozenset({("content_block",), ("item",), ("part",), ("delta", "citation")})
"""Members of events that contain a part of the answer, which later events extend."""
_ANYWHERE = PINGS | {"error"}
"""Types of events that more than one format has."""


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
        return event_reader(format)(raw), _NOTHING
    except ValidationError:
        if raw.get("error"):  # such as ``{"error": "overloaded"}``, or an object of another vendor
            return check_error({"error": raw["error"]}, format)[0], _NOTHING
    # The rest of an event is worth more than its malformed field: without the event the answer would lack a piece.
    repaired = repair(event_type(format), raw, parts=PARTS)
    if repaired is not None:
        return repaired.checked, repaired.removed
    if not format.recognizes_event(raw):
        raise refusal(event, format.name, problems_of(event_type(format), raw))
    return None, {**faults(event_type(format), raw), (): raw}


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


def refusal(event: ServerSentEvent, format: ir.FormatName, problems: list[tuple[str, str]]) -> StreamDecodeError:
    """Return the error for an event that is not valid in its format; its message lists pointers and problems."""
    description = "; ".join(f"{pointer} {message}".strip() for pointer, message in problems[:_SHOWN])
    return StreamDecodeError(f"is not of {format}: {description}", offset=event.offset, snippet=event.data)
