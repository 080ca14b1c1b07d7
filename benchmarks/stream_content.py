"""What a stream says, read without the library: so that a converter that is fast because it leaves things out is found out."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

JsonObject = dict[str, Any]

_BLANK_LINE = re.compile(rb"\r?\n\r?\n")


@dataclass(slots=True)
class Heard:
    """The visible text and, by where it stands, the JSON of each call's arguments."""

    text: list[str] = field(default_factory=list)
    calls: dict[object, list[str]] = field(default_factory=dict)

    def append(self, place: object, piece: str) -> None:
        """Take a piece of a call's arguments."""
        self.calls.setdefault(place, []).append(piece)

    def summary(self) -> tuple[str, list[Any]]:
        """Return the text, and the arguments as values; raise ``ValueError`` where they are no JSON."""
        return "".join(self.text), [json.loads("".join(call)) for call in self.calls.values()]


def content(format: str, stream: bytes) -> tuple[str, list[Any]]:
    """Return the text of a stream, and the arguments of its calls in order."""
    heard = Heard()
    for event in _events(stream):
        _LISTENERS[format](event, heard)
    return heard.summary()


def _events(stream: bytes) -> Iterator[JsonObject]:
    for event in _BLANK_LINE.split(stream):
        _, found, data = event.rpartition(b"data: ")
        if found and data.strip() != b"[DONE]":
            yield json.loads(data)


def _hear_chat_completions(event: JsonObject, heard: Heard) -> None:
    for choice in event["choices"]:
        delta = choice.get("delta") or {}
        heard.text.append(delta.get("content") or "")
        for call in delta.get("tool_calls") or ():
            heard.append(call["index"], call["function"].get("arguments") or "")


def _hear_messages(event: JsonObject, heard: Heard) -> None:
    block, delta = event.get("content_block") or {}, event.get("delta") or {}
    if block.get("type") == "tool_use":
        heard.append(event["index"], json.dumps(block["input"]) if block["input"] else "")
    if delta.get("type") == "input_json_delta":
        heard.append(event["index"], delta["partial_json"])
    elif block.get("type") == "text" or delta.get("type") == "text_delta":
        heard.text.append((block or delta)["text"])


def _hear_responses(event: JsonObject, heard: Heard) -> None:
    kind = event["type"]
    if kind == "response.output_text.delta":
        heard.text.append(event["delta"])
    elif kind == "response.function_call_arguments.delta":
        heard.append(event["output_index"], event["delta"])
    elif kind == "response.function_call_arguments.done" and event["output_index"] not in heard.calls:
        heard.append(event["output_index"], event["arguments"])


def _hear_generate_content(event: JsonObject, heard: Heard) -> None:
    for candidate in event.get("candidates") or ():
        for part in (candidate.get("content") or {}).get("parts") or ():
            if "functionCall" in part:
                heard.append(len(heard.calls), json.dumps(part["functionCall"]["args"]))
            elif not part.get("thought"):
                heard.text.append(part.get("text") or "")


_LISTENERS: dict[str, Callable[[JsonObject, Heard], None]] = {
    "chat_completions": _hear_chat_completions,
    "messages": _hear_messages,
    "responses": _hear_responses,
    "generate_content": _hear_generate_content,
}
"""Format to what listens to one of its events."""
