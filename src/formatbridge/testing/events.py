"""The events of a scripted stream: read from bytes, split into smaller deltas, written and cut."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from copy import deepcopy
from typing import Any, NamedTuple

import formatbridge as fb
from formatbridge.jsontext.types import JsonObject


class Event(NamedTuple):
    """One event. ``data``: JSON, or text that stands as it is, such as ``[DONE]``; of a comment the whole line."""

    name: str | None
    data: JsonObject | str


DONE = Event(None, "[DONE]")

_GROWING: Mapping[str, Sequence[tuple[str | int, ...]]] = {
    "chat_completions": (
        ("choices", 0, "delta", "content"),
        ("choices", 0, "delta", "reasoning_content"),
        ("choices", 0, "delta", "tool_calls", 0, "function", "arguments"),
    ),
    "messages": (("delta", "text"), ("delta", "thinking"), ("delta", "partial_json")),
    "responses": (("delta",),),
    "generate_content": (("candidates", 0, "content", "parts", 0, "text"),),
}
"""Where a delta's text stands in the events of each format."""

_ONCE = ("role", "thoughtSignature", "usageMetadata", "finishReason", "logprobs", "annotations")
"""What an event says once: one that has it is not split."""


def read_events(pieces: Iterable[bytes]) -> list[Event]:
    """Read the events that the library wrote: each has one line of data, and a name or none."""
    text = b"".join(pieces).replace(b"\r\n", b"\n").decode()
    return [_read(frame) for frame in text.split("\n\n") if frame]


def _read(frame: str) -> Event:
    name, data = None, ""
    for line in frame.split("\n"):
        field, _, value = line.partition(": ")
        name, data = (value, data) if field == "event" else (name, value)
    return Event(name, data if data == DONE.data else json.loads(data))


def split_deltas(events: Iterable[Event], format: fb.Format, longest: int) -> list[Event]:
    """Split deltas so that none has more than ``longest`` characters, and number the events anew where the format does."""
    made = [piece for event in events for piece in _split(event, format, longest)]
    if format == "responses":
        for number, event in enumerate(made):
            if isinstance(event.data, dict):
                event.data["sequence_number"] = number
    return made


def _split(event: Event, format: fb.Format, longest: int) -> Iterator[Event]:
    for path in _GROWING[format]:
        text = _at(event.data, path)
        if isinstance(text, str) and len(text) > longest and not _says_once(event.data):
            for start in range(0, len(text), longest):
                data = deepcopy(event.data)
                holder: Any = _at(data, path[:-1])
                holder[path[-1]] = text[start : start + longest]
                yield Event(event.name, data)
            return
    yield event


def _says_once(value: Any) -> bool:
    """Whether an event says something beside its delta that must not be said twice; null and empty lists say nothing."""
    if isinstance(value, dict):
        return any((key in _ONCE and bool(inner) and inner != "model") or _says_once(inner) for key, inner in value.items())
    return isinstance(value, list) and (len(value) > 1 or any(_says_once(item) for item in value))


def _at(value: Any, path: Sequence[str | int]) -> Any:
    """Return the value at a path; None where there is nothing."""
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
    """Write a stream as generate_content does where nobody asked for server-sent events: one JSON array, an element at a time."""
    texts = [compact(event.data) if isinstance(event.data, dict) else "{}" for event in events]
    return [f"{',' if index else '['}{text}\r\n".encode() for index, text in enumerate(texts)] + [b"]" if texts else b"[]"]


def compact(value: Any) -> str:
    """Write JSON without spaces."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def cut(pieces: Iterable[bytes], sizes: int | Sequence[int] | None) -> Iterator[bytes]:
    """Cut bytes anew: every so many, or in the given sizes and the rest in one; None leaves them as they are."""
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
