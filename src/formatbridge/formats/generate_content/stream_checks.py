"""Whether an event of a stream is of this format at all, and errors in its place."""

from __future__ import annotations

from functools import cache
from typing import Any

from pydantic import ValidationError
from pydantic_core import SchemaValidator

from formatbridge import ir
from formatbridge.errors import StreamDecodeError
from formatbridge.formats._codec import dumps
from formatbridge.formats._problems import problems_of
from formatbridge.formats.generate_content.errors import decode_error

JsonObject = dict[str, Any]


@cache
def _checker() -> SchemaValidator:
    from formatbridge.formats._wire import checker
    from formatbridge.formats.generate_content.wire import StreamEvent

    return checker(StreamEvent)


def checked_event(raw: JsonObject) -> JsonObject:
    """Return an event with its keys in the vendor's spelling; raise ``StreamDecodeError`` where it is none of this format."""
    try:
        event: JsonObject = _checker().validate_python(raw)
    except ValidationError as error:
        told = "; ".join(f"{pointer or 'event'} {message}" for pointer, message in problems_of(error, raw)[:3])
        raise StreamDecodeError(f"is not of generate_content: {told}", offset=0, snippet=dumps(raw)) from None
    return event


def decode_event_error(raw: JsonObject) -> ir.Error:
    """Read an error; one of no known shape is put in words."""
    try:
        return decode_error(checked_event(raw), status=None)
    except StreamDecodeError:
        return decode_error({"message": dumps(raw).decode()}, status=None)
