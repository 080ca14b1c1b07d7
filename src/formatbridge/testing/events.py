"""The events of a scripted stream: parsed from bytes, split into smaller deltas, and written; and deviations of real relays (quirks).

A quirk makes the fake relay answer as such a relay does. Some quirks change answers, some change failures and have no effect
without one, some change the list of models.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from copy import deepcopy
from typing import Any, Literal, NamedTuple

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


Quirk = Literal[
    "done_in_messages",
    "empty_output_in_completed",
    "eof_without_terminal",
    "error_in_200",
    "float_created_at",
    "html_502",
    "nil_error_type",
    "no_message_delta",
    "no_models_prefix",
    "openai_errors_on_gemini",
    "ping_comments",
    "success_false_200",
    "trailing_slash_307",
    "usage_both_families",
]

QUIRKS: Mapping[Quirk, str] = {
    "done_in_messages": "a messages stream ends in [DONE] as well",
    "empty_output_in_completed": "the last event of a responses stream has no output",
    "eof_without_terminal": "a stream ends cleanly without its terminal event, as after a timeout of the relay",
    "error_in_200": "a failure has status 200 and its error body",
    "float_created_at": "a responses body counts fractions of seconds in created_at",
    "html_502": "a failure is an HTML page with status 502",
    "nil_error_type": "the type of a messages error is `<nil>`",
    "no_message_delta": "a messages stream has no message_delta, hence no stop reason and no final usage",
    "no_models_prefix": "names in the list of models lack their prefix, and all other fields are null",
    "openai_errors_on_gemini": "a failure of generate_content has the body of chat_completions",
    "ping_comments": "comments are sent between the events, except in generate_content",
    "success_false_200": 'a failure is {"success": false} with status 200',
    "trailing_slash_307": "a path without a slash at its end is redirected to the same with one",
    "usage_both_families": "usage of chat_completions and responses has the fields of both; those of chat_completions have the numbers",
}
"""Each quirk and its effect."""

Quirks = Collection[Quirk]

_TERMINAL = ("message_delta", "message_stop", "response.completed", "response.incomplete", "response.failed")
_PAGE = "<html><head><title>502 Bad Gateway</title></head><body><h1>502 Bad Gateway</h1></body></html>"


def apply_answer_quirks(body: JsonObject, format: fb.Format, quirks: Quirks) -> JsonObject:
    """Return a whole answer with the quirks."""
    if "usage_both_families" in quirks and isinstance(body.get("usage"), dict):
        body = body | {"usage": _both_families(body["usage"], format)}
    if "float_created_at" in quirks and "created_at" in body:
        body = body | {"created_at": body["created_at"] + 0.25}
    return body


def apply_stream_quirks(events: Sequence[Event], format: fb.Format, quirks: Quirks) -> list[Event]:
    """Return the events of a stream with the quirks."""
    result = [each for event in events for each in _event_with_quirks(event, format, quirks)]
    if "done_in_messages" in quirks and format == "messages":
        result.append(DONE)
    if "eof_without_terminal" in quirks:
        result = [kept for event in result for kept in _without_terminal(event)]
    if "ping_comments" in quirks and format != "generate_content":
        result = [each for event in result for each in (Event(None, ": PING"), event)]
    return result


def _event_with_quirks(event: Event, format: fb.Format, quirks: Quirks) -> list[Event]:
    if "no_message_delta" in quirks and event.name == "message_delta":
        return []
    if not isinstance(event.data, dict):
        return [event]
    data = event.data
    if isinstance(data.get("response"), dict):
        answer = apply_answer_quirks(data["response"], format, quirks)
        if "empty_output_in_completed" in quirks and event.name == "response.completed":
            answer = answer | {"output": []}
        data = data | {"response": answer}
    elif format == "chat_completions":
        data = apply_answer_quirks(data, format, quirks)
    return [Event(event.name, data)]


def _without_terminal(event: Event) -> list[Event]:
    """Return an event without the end of the stream; no event if it has no other content."""
    if event == DONE or event.name in _TERMINAL:
        return []
    if not isinstance(event.data, dict) or event.name:
        return [event]
    choices = event.data.get("choices")
    if choices is not None and (not choices or choices[0].get("finish_reason")):
        return []
    candidates = event.data.get("candidates") or [{}]
    if not candidates[0].get("finishReason"):
        return [event]
    kept = {key: value for key, value in candidates[0].items() if key != "finishReason"}
    return [Event(None, {**event.data, "candidates": [kept]})] if kept.get("content", {}).get("parts") else []


def _both_families(usage: JsonObject, format: fb.Format) -> JsonObject:
    """Return usage with the fields of chat_completions and responses, with the numbers in those of chat_completions."""
    names = ("prompt_tokens", "completion_tokens") if format == "chat_completions" else ("input_tokens", "output_tokens")
    input_tokens, output_tokens = (usage.get(name, 0) for name in names)
    input_details = usage.get(f"{names[0]}_details") or {"cached_tokens": 0}
    output_details = usage.get(f"{names[1]}_details") or {"reasoning_tokens": 0}
    return {
        "prompt_tokens": input_tokens,
        "completion_tokens": output_tokens,
        "total_tokens": input_tokens + output_tokens,
        "prompt_tokens_details": input_details,
        "completion_tokens_details": output_details,
        "input_tokens": 0,
        "output_tokens": 0,
        "input_tokens_details": {"cached_tokens": 0},
        "output_tokens_details": {"reasoning_tokens": 0},
    }


def apply_error_quirks(status: int, body: Any, message: str, format: fb.Format | None, quirks: Quirks) -> tuple[int, Any]:
    """Return status and body of a failure with the quirks; a string is HTML."""
    if "html_502" in quirks:
        return 502, _PAGE
    if "success_false_200" in quirks:
        return 200, {"success": False, "message": message}
    if "openai_errors_on_gemini" in quirks and format == "generate_content":
        body = fb.convert_error(body, source="generate_content", target="chat_completions", status=status).body
    if "nil_error_type" in quirks and format == "messages" and isinstance(body, dict) and isinstance(body.get("error"), dict):
        body = body | {"error": body["error"] | {"type": "<nil>"}}
    return (200 if "error_in_200" in quirks else status), body


def apply_models_quirks(body: JsonObject, format: fb.Format, quirks: Quirks) -> JsonObject:
    """Return a list of models with the quirks."""
    if "no_models_prefix" not in quirks or format != "generate_content":
        return body
    models = [dict.fromkeys(model) | {"name": model["name"].removeprefix("models/")} for model in body["models"]]
    return {"models": models, "nextPageToken": None}
