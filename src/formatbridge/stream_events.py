"""One event of a stream: its bytes to a dict that the wire model of its format has accepted."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from importlib import import_module
from typing import Any

from pydantic import ValidationError

from formatbridge import _codec, ir
from formatbridge._json import JsonObject
from formatbridge.bodies import check_error
from formatbridge.errors import StreamDecodeError
from formatbridge.formats._checkers import reader
from formatbridge.formats._problems import problems_of
from formatbridge.formats._protocol import Format
from formatbridge.streaming.sse import PINGS, ServerSentEvent

_SHOWN = 3
_ANYWHERE = PINGS | {"error"}
"""Types of events that more than one format has."""


def event_type(format: ir.Format) -> Any:
    """Return the type of a format's events."""
    return import_module(f"formatbridge.formats.{format}.wire").StreamEvent


@cache
def event_reader(format: ir.Format) -> Callable[[Any], Any]:
    """Return what validates a format's events by their wire model."""
    return reader(event_type(format)).read


def object_of(event: ServerSentEvent, format: ir.Format) -> JsonObject:
    """Return the JSON of an event; raise ``StreamDecodeError`` where that is no object."""
    try:
        value = _codec.loads(event.data)
    except _codec.NotJsonError as error:
        raise refusal(event, format, [(error.pointer, error.message)]) from None
    if not isinstance(value, dict):
        raise refusal(event, format, [("", f"is {_codec.describe(value)}, expected an object")])
    return value


def read_event(event: ServerSentEvent, near: Format) -> tuple[ServerSentEvent, JsonObject]:
    """Return an event and its JSON. Where that has no ``type``, the name of the event stands for it, if the format has such a type."""
    raw, name = object_of(event, near.NAME), event.event
    if name and near.NAMES_EVENTS and raw.get("type") is None and (name in _ANYWHERE or near.is_own_event({"type": name})):
        raw = {**raw, "type": name}
        event = ServerSentEvent(name, _codec.dumps(raw), event.offset)
    return event, raw


def check_event(raw: JsonObject, event: ServerSentEvent, format: ir.Format) -> JsonObject:
    """Validate an event by its wire model; an error is understood whatever its shape."""
    try:
        checked: JsonObject = event_reader(format)(raw)
    except ValidationError:
        if raw.get("error"):
            return check_error({"error": raw["error"]}, format)[0]
        raise refusal(event, format, problems_of(event_type(format), raw)) from None
    return checked


def refusal(event: ServerSentEvent, format: ir.Format, problems: list[tuple[str, str]]) -> StreamDecodeError:
    """Return the error for an event that is not of its format: what is wrong, after the pointer to it."""
    told = "; ".join(f"{pointer} {message}".strip() for pointer, message in problems[:_SHOWN])
    return StreamDecodeError(f"is not of {format}: {told}", offset=event.offset, snippet=event.data)
