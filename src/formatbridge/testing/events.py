"""The events of a scripted stream: parsed from bytes, split into smaller deltas, and written."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from copy import deepcopy
from typing import Any, NamedTuple

import formatbridge as fb
from formatbridge.jsontext.types import JsonObject


class Event(NamedTuple):
    """One event. ``data``: JSON, or text that is sent unchanged, such as ``[DONE]``; for a comment the whole line."""

    name: str | None
    data: JsonObject | str


DONE = Event(None, "[DONE]")

_DELTA_PATHS: Mapping[str, Sequence[tuple[str | int, ...]]] = {
    "chat_completions": (
        ("choices", 0, "delta", "content"),
        ("choices", 0, "delta", "reasoning_content"),
        ("choices", 0, "delta", "tool_calls", 0, "function", "arguments"),
    ),
    "messages": (("delta", "text"), ("delta", "thinking"), ("delta", "partial_json")),
    "responses": (("delta",),),
    "generate_content": (("candidates", 0, "content", "parts", 0, "text"),),
}
"""Paths of the text of a delta in the events of each format."""

_UNREPEATABLE = ("role", "thoughtSignature", "usageMetadata", "finishReason", "logprobs", "annotations")
"""Fields that must occur in one event only: an event with one of them is not split."""


def read_events(pieces: Iterable[bytes]) -> list[Event]:
    """Parse the events that this library writes: each has one line of data, and an optional name."""
    text = b"".join(pieces).replace(b"\r\n", b"\n").decode()
    return [_parse_frame(frame) for frame in text.split("\n\n") if frame]


def _parse_frame(frame: str) -> Event:
    name, data = None, ""
    for line in frame.split("\n"):
        field, _, value = line.partition(": ")
        name, data = (value, data) if field == "event" else (name, value)
    return Event(name, data if data == DONE.data else json.loads(data))


def split_deltas(events: Iterable[Event], format: fb.Format, longest: int) -> list[Event]:
    """Split deltas so that none has more than ``longest`` characters, and renumber the events of formats with numbers."""
    pieces = [piece for event in events for piece in _split(event, format, longest)]
    if format == "responses":
        for number, event in enumerate(pieces):
            if isinstance(event.data, dict):
                event.data["sequence_number"] = number
    return pieces


def _split(event: Event, format: fb.Format, longest: int) -> Iterator[Event]:
    for path in _DELTA_PATHS[format]:
        text = _value_at(event.data, path)
        if isinstance(text, str) and len(text) > longest and not _has_unrepeatable(event.data):
            for start in range(0, len(text), longest):
                data = deepcopy(event.data)
                holder: Any = _value_at(data, path[:-1])
                holder[path[-1]] = text[start : start + longest]
                yield Event(event.name, data)
            return
    yield event


def _has_unrepeatable(value: Any) -> bool:
    """Return whether an event has content that must not be repeated; null and empty lists do not count."""
    if isinstance(value, dict):
        return any(
            (key in _UNREPEATABLE and bool(inner) and inner != "model") or _has_unrepeatable(inner) for key, inner in value.items()
        )
    return isinstance(value, list) and (len(value) > 1 or any(_has_unrepeatable(item) for item in value))


def _value_at(value: Any, path: Sequence[str | int]) -> Any:
    """Return the value at a path; None if there is none."""
    for step in path:
        try:
            value = value[step]
        except (KeyError, IndexError, TypeError):
            return None
    return value


def write_event(event: Event, format: fb.Format) -> bytes:
    """Write an event as servers of the format do."""
    if isinstance(event.data, str) and event.data.startswith(":"):
        return f"{event.data}\n\n".encode()
    data = event.data if isinstance(event.data, str) else compact(event.data)
    if format == "generate_content":
        return f"data: {data}\r\n\r\n".encode()
    return (f"event: {event.name}\n" if event.name else "").encode() + f"data: {data}\n\n".encode()


def write_array(events: Sequence[Event]) -> list[bytes]:
    """Write a stream as generate_content does without ``alt=sse``: one JSON array, one chunk for each element."""
    texts = [compact(event.data) if isinstance(event.data, dict) else "{}" for event in events]
    return [f"{',' if index else '['}{text}\r\n".encode() for index, text in enumerate(texts)] + [b"]" if texts else b"[]"]


def compact(value: Any) -> str:
    """Write JSON without spaces."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def rechunk(pieces: Iterable[bytes], sizes: int | Sequence[int] | None) -> Iterator[bytes]:
    """Split bytes into chunks of one size, or of several sizes with the rest in one chunk; None leaves the chunks unchanged."""
    if sizes is None:
        yield from pieces
        return
    whole, start = b"".join(pieces), 0
    if isinstance(sizes, int):
        sizes = [sizes] * (len(whole) // sizes + 1)
    for size in sizes:
        if start < len(whole):
            yield whole[start : start + size]
        start += size
    if start < len(whole):
        yield whole[start:]
