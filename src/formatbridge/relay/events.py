"""The typed events of a stream as they come, and the visible text in them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from importlib import import_module
from typing import Any

from pydantic import BaseModel, TypeAdapter, ValidationError

from formatbridge import _codec, ir
from formatbridge.errors import StreamDecodeError
from formatbridge.streaming.sse import DONE, ServerSentEvent, StreamReader


class EventReader:
    """Reads the bytes of a stream in its own format, in any pieces, as typed events; ``[DONE]`` is none."""

    def __init__(self, format: ir.Format) -> None:
        self._adapter = _events_of(format)
        self._reader = StreamReader()

    def feed(self, chunk: bytes) -> list[BaseModel]:
        """Take bytes and return the events that they complete."""
        return [self._read(event) for event in self._reader.feed(chunk) if is_content(event)]

    def finish(self) -> list[BaseModel]:
        """Take the end of the bytes."""
        return [self._read(event) for event in self._reader.finish() if is_content(event)]

    def _read(self, event: ServerSentEvent) -> BaseModel:
        try:
            return self._adapter.validate_python(_codec.loads(event.data))
        except _codec.NotJsonError as error:
            raise StreamDecodeError(error.message, offset=event.offset, snippet=event.data) from None
        except ValidationError as error:
            message = f"is no event of the format: {error.errors()[0]['msg']}"
            raise StreamDecodeError(message, offset=event.offset, snippet=event.data) from None


@cache
def _events_of(format: ir.Format) -> TypeAdapter[BaseModel]:
    wire = import_module(f"formatbridge.formats.{format}.wire")
    return TypeAdapter(wire.StreamEvent)


def is_content(event: ServerSentEvent) -> bool:
    """Say whether an event carries JSON."""
    return event.data != DONE and bool(event.data.strip())


def is_json(data: bytes) -> bool:
    """Say whether an event's data is whole."""
    try:
        _codec.loads(data)
    except _codec.NotJsonError:
        return False
    return True


_PINGS = (b'"type":"ping"', b'"type": "ping"', b'"type":"keepalive"', b'"type": "keepalive"')


def is_ping(event: ServerSentEvent) -> bool:
    """Say whether an event only keeps the connection open."""
    return event.event in ("ping", "keepalive") or not is_content(event) or (len(event.data) < 200 and _holds(event.data, _PINGS))


_ENDS: Mapping[ir.Format, tuple[str, ...]] = {
    "chat_completions": (),
    "messages": ("message_stop",),
    "responses": ("response.completed", "response.failed", "response.incomplete"),
    "generate_content": (),
}
"""Types of the event that ends a stream."""


def is_last(event: ServerSentEvent, format: ir.Format) -> bool:
    """Say whether an event ends its stream, so that no byte after it matters; generate_content has none that does."""
    if event.data == DONE:
        return format == "chat_completions"
    ends = _ENDS[format]
    if event.event:
        return event.event in ends
    return _holds(event.data[:200], tuple(f'"{end}"'.encode() for end in ends))


def _holds(data: bytes, needles: tuple[bytes, ...]) -> bool:
    return any(needle in data for needle in needles)


def _chat_text(event: Any) -> str:
    choices = [choice for choice in getattr(event, "choices", None) or () if not choice.index]
    return "".join(choice.delta.content for choice in choices if choice.delta and isinstance(choice.delta.content, str))


def _messages_text(event: Any) -> str:
    kind = getattr(event, "type", None)
    if kind == "content_block_start" and getattr(event.content_block, "type", None) == "text":
        return event.content_block.text or ""
    is_text = kind == "content_block_delta" and getattr(event.delta, "type", None) == "text_delta"
    return event.delta.text or "" if is_text else ""


def _responses_text(event: Any) -> str:
    return event.delta or "" if getattr(event, "type", None) == "response.output_text.delta" else ""


def _generate_text(event: Any) -> str:
    candidates = [candidate for candidate in getattr(event, "candidates", None) or () if not candidate.index]
    parts = [part for candidate in candidates if candidate.content for part in candidate.content.parts or ()]
    return "".join(part.text for part in parts if part.text and not part.thought)


_TEXTS: Mapping[ir.Format, Callable[[Any], str]] = {
    "chat_completions": _chat_text,
    "messages": _messages_text,
    "responses": _responses_text,
    "generate_content": _generate_text,
}


def text_of(event: BaseModel, format: ir.Format) -> str:
    """Return the visible text that an event brings to the first answer; reasoning is none."""
    return _TEXTS[format](event)
