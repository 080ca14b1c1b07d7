"""Read and write streams without the library, to check that a conversion loses nothing."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

from benchmarks.streams import DONE

JsonObject = dict[str, Any]

_BLANK_LINE = re.compile(rb"\r?\n\r?\n")


StreamConversion = Callable[[Iterable[bytes]], bytes]
"""Converts the reads of a stream to another stream. A read is taken after the earlier ones are converted."""


def events_of(reads: Iterable[bytes]) -> Iterator[JsonObject]:
    """Yield the JSON of each event, as it is read."""
    for read in reads:
        if read != DONE:
            yield json.loads(read[read.index(b"data: ") + 6 :])


def framed(target: str, events: Iterable[JsonObject]) -> bytes:
    """Write events, one by one."""
    if target in ("messages", "responses"):
        return b"".join([f"event: {event['type']}\ndata: {json.dumps(event)}\n\n".encode() for event in events])
    if target == "generate_content":
        return b"".join([f"data: {json.dumps(event)}\r\n\r\n".encode() for event in events])
    return b"".join([*(f"data: {json.dumps(event)}\n\n".encode() for event in events), DONE])


@dataclass(slots=True)
class StreamedContent:
    """The visible text, and the JSON of the arguments of each call by its index."""

    text: list[str] = field(default_factory=list)
    calls: dict[object, list[str]] = field(default_factory=dict)

    def append(self, place: object, piece: str) -> None:
        """Append a piece of the arguments of a call."""
        self.calls.setdefault(place, []).append(piece)

    def summary(self) -> tuple[str, list[Any]]:
        """Return the text, and the arguments as values; raise ``ValueError`` if they are no JSON."""
        return "".join(self.text), [json.loads("".join(call)) for call in self.calls.values()]


def content(format: str, stream: bytes) -> tuple[str, list[Any]]:
    """Return the text of a stream, and the arguments of its calls in order."""
    streamed = StreamedContent()
    for event in _events(stream):
        _READERS[format](event, streamed)
    return streamed.summary()


def _events(stream: bytes) -> Iterator[JsonObject]:
    for event in _BLANK_LINE.split(stream):
        _, marker, data = event.rpartition(b"data: ")
        if marker and data.strip() != b"[DONE]":
            yield json.loads(data)


def _read_chat_completions(event: JsonObject, streamed: StreamedContent) -> None:
    for choice in event["choices"]:
        delta = choice.get("delta") or {}
        streamed.text.append(delta.get("content") or "")
        for call in delta.get("tool_calls") or ():
            streamed.append(call["index"], call["function"].get("arguments") or "")


def _read_messages(event: JsonObject, streamed: StreamedContent) -> None:
    block, delta = event.get("content_block") or {}, event.get("delta") or {}
    if block.get("type") == "tool_use":
        streamed.append(event["index"], json.dumps(block["input"]) if block["input"] else "")
    if delta.get("type") == "input_json_delta":
        streamed.append(event["index"], delta["partial_json"])
    elif block.get("type") == "text" or delta.get("type") == "text_delta":
        streamed.text.append((block or delta)["text"])


def _read_responses(event: JsonObject, streamed: StreamedContent) -> None:
    kind = event["type"]
    if kind == "response.output_text.delta":
        streamed.text.append(event["delta"])
    elif kind == "response.function_call_arguments.delta":
        streamed.append(event["output_index"], event["delta"])
    elif kind == "response.function_call_arguments.done" and event["output_index"] not in streamed.calls:
        streamed.append(event["output_index"], event["arguments"])


def _read_generate_content(event: JsonObject, streamed: StreamedContent) -> None:
    for candidate in event.get("candidates") or ():
        for part in (candidate.get("content") or {}).get("parts") or ():
            if "functionCall" in part:
                streamed.append(len(streamed.calls), json.dumps(part["functionCall"]["args"]))
            elif not part.get("thought"):
                streamed.text.append(part.get("text") or "")


_READERS: dict[str, Callable[[JsonObject, StreamedContent], None]] = {
    "chat_completions": _read_chat_completions,
    "messages": _read_messages,
    "responses": _read_responses,
    "generate_content": _read_generate_content,
}
"""Format to the function that reads an event."""
