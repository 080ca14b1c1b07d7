"""Events of a stream in its own format as typed models."""

from __future__ import annotations

from functools import cache

from pydantic import BaseModel, TypeAdapter, ValidationError

from formatbridge import formats, ir
from formatbridge.bodies import check_error
from formatbridge.formats._malformed import repair
from formatbridge.formats._problems import problems_of
from formatbridge.formats._wire import Unknown
from formatbridge.stream_events import PARTS, event_type, read_event, refusal
from formatbridge.streaming.sse import ServerSentEvent, StreamReader, carries_json


class EventReader:
    """Reads the bytes of a stream in its own format, in any pieces, as typed events; ``[DONE]`` is none.

    It does not know where a stream ends: it is for streams that somebody else has checked.
    """

    def __init__(self, format: str) -> None:
        self._format: ir.Format = formats.load(format).NAME
        self._reader = StreamReader()

    def feed(self, chunk: bytes) -> list[BaseModel]:
        """Take bytes and return the events that they complete."""
        return [typed_event(event, self._format) for event in self._reader.feed(chunk) if carries_json(event)]

    def finish(self) -> list[BaseModel]:
        """Take the end of the bytes."""
        return [typed_event(event, self._format) for event in self._reader.finish() if carries_json(event)]


def typed_event(event: ServerSentEvent, format: ir.Format) -> BaseModel:
    """Return an event as its format's model, an error of any other shape in words; raise ``StreamDecodeError`` where it is none.

    The model has no malformed details. An event of which nothing else is left is an ``Unknown``, with all its fields.
    """
    near = formats.load(format)
    _, raw = read_event(event, near)
    validate = _events_of(format).validate_python
    try:
        return validate(raw)
    except ValidationError:
        if raw.get("error"):
            return validate(check_error({"error": raw["error"]}, format)[0])
        repaired = repair(event_type(format), raw, parts=PARTS)
        if repaired is None and not near.is_own_event(raw):
            raise refusal(event, format, problems_of(event_type(format), raw)) from None
    try:
        return validate(raw if repaired is None else repaired.body)
    except ValidationError:
        return Unknown.model_validate(raw)


@cache
def _events_of(format: ir.Format) -> TypeAdapter[BaseModel]:
    return TypeAdapter(event_type(format))
