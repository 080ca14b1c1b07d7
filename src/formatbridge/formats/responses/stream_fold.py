"""Folding of Responses streams: from events to the response body, and back.

The last event repeats the whole response, so nothing is merged and there is no table of rules.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from formatbridge.formats.responses.conversation import item_type
from formatbridge.formats.responses.stream_decoder import is_error_event, unknown_fields
from formatbridge.formats.shared.unmodelled_fields import Pieces
from formatbridge.jsontext.pointers import Path, index_in
from formatbridge.jsontext.types import JsonObject

_ENDS = frozenset({"response.completed", "response.incomplete"})
_TEXTS = {
    "function_call": ("arguments", "response.function_call_arguments"),
    "custom_tool_call": ("input", "response.custom_tool_call_input"),
    "mcp_call": ("arguments", "response.mcp_call_arguments"),
    "code_interpreter_call": ("code", "response.code_interpreter_call_code"),
}
"""Type of item to its field that deltas send, and the stem of their event types."""
_PARTS = {
    "output_text": ("message/content", "text", "response.content_part", "response.output_text"),
    "refusal": ("message/content", "refusal", "response.content_part", "response.refusal"),
    "reasoning_text": ("reasoning/content", "text", "response.content_part", "response.reasoning_text"),
    "summary_text": ("reasoning/summary", "text", "response.reasoning_summary_part", "response.reasoning_summary_text"),
}
"""Type of part to its list, its field that deltas send, and the stems of its event types: of the part, and of deltas."""
_LISTS = (("summary", "summary_index"), ("content", "content_index"))
"""The lists of parts of an item, and their index fields in events."""


def fold_stream(events: Iterable[JsonObject]) -> JsonObject | None:
    """Return the response of the last event, with the unknown fields of all events.

    Without an output in the last event (fixture text_empty_output), it consists of the items that are done. Returns None if other items
    started, or if an event is an error.
    """
    body: JsonObject | None = None
    done: dict[Any, JsonObject] = {}
    started: set[Any] = set()
    fields = Pieces()
    for event in events:
        kind = event.get("type")
        if not isinstance(kind, str) and is_error_event(event):
            return None
        fields.take(unknown_fields(event))
        # A failed response has an error in place of an answer, so ``response.failed`` is not among the ends.
        if kind in _ENDS:
            body = event.get("response")
        elif kind == "response.output_item.done":
            done[event.get("output_index")] = event["item"]
        if "item" in event or "item_id" in event:
            index = event.get("output_index")
            started.add(index if isinstance(index, int) else None)
    if body is None or (not body.get("output") and (None in started or started - done.keys())):
        return None
    return body | fields.to_object() | ({} if body.get("output") else {"output": [item for _, item in sorted(done.items())]})


def response_path(event: JsonObject, path: Path, lengths: Mapping[Path, int]) -> Path:
    """Return the path in the whole response for a path in an event."""
    del lengths  # each event has all indexes
    key, index = ("summary", "summary_index") if "summary_index" in event else ("content", "content_index")
    item: Path = ("output", index_in(event, "output_index"))
    part: Path = (*item, key, index_in(event, index))
    match path:
        case ("response", *below):
            return tuple(below)
        case ("item", *below):
            return (*item, *below)
        case ("part", *below):
            return (*part, *below)
        case ("annotation", *below):
            return (*part, "annotations", index_in(event, "annotation_index"), *below)
        case () if "output_index" in event:
            return part if index in event else item
    return path


def unfold_stream(body: JsonObject) -> list[JsonObject]:
    """Return the events that fold to a body: each item is added, gets its text in one delta, and is done. The last event has the body."""
    # The SDK's accumulator starts with this body, so it has every required field but no output, usage and error yet.
    status = body.get("status") or "completed"
    start = body | {"status": "in_progress", "output": []} | {key: None for key in ("usage", "error") if key in body}
    events: list[JsonObject] = [{"type": f"response.{stage}", "response": start} for stage in ("created", "in_progress")]
    for index, item in enumerate(body.get("output") or ()):
        events += _unfold_item(item, index)
    end = status if status in ("incomplete", "failed") else "completed"
    events.append({"type": f"response.{end}", "response": body})
    return [event | {"sequence_number": number} for number, event in enumerate(events)]


def _unfold_item(item: JsonObject, index: int) -> list[JsonObject]:
    """Return the events of an item. Fields without deltas are in its ``added`` and ``done`` events."""
    place = {"item_id": item.get("id") or "", "output_index": index}
    bare, kind = dict(item), item_type(item)
    events: list[JsonObject] = []
    if "status" in item:
        bare["status"] = "in_progress"
    for key, part_index in _LISTS if kind in ("message", "reasoning") else ():  # in other types these fields may have any value
        parts, name = item.get(key), f"{kind}/{key}"
        if isinstance(parts, list) and all(_PARTS.get(part.get("type"), (name,))[0] == name for part in parts):
            bare[key] = []
            events += [event for number, part in enumerate(parts) for event in _unfold_part(part, place | {part_index: number})]
    field, stem = _TEXTS.get(kind, ("", ""))
    if text := item.get(field):
        bare[field] = ""
        named = {"name": item["name"]} if kind == "function_call" and "name" in item else {}
        events.append({"type": f"{stem}.delta", **place, "delta": text})
        events.append({"type": f"{stem}.done", **place, field: text, **named})
    added: JsonObject = {"type": "response.output_item.added", "output_index": index, "item": bare}
    return [added, *events, {"type": "response.output_item.done", "output_index": index, "item": item}]


def _unfold_part(part: JsonObject, place: JsonObject) -> list[JsonObject]:
    """Return the events of a part; one of an unknown type has no deltas."""
    _, field, stem, text_stem = _PARTS.get(part.get("type", ""), ("", "", "response.content_part", ""))
    # Events of a refusal and of reasoning have neither log probabilities nor annotations (official SDK).
    is_text = part.get("type") == "output_text"
    logprobs = {"logprobs": part.get("logprobs") or []} if is_text else {}
    bare = part | ({field: ""} if field else {}) | {key: [] for key in ("annotations", "logprobs") if field and part.get(key)}
    events: list[JsonObject] = [{"type": f"{stem}.added", **place, "part": bare}]
    if text := part.get(field):
        events.append({"type": f"{text_stem}.delta", **place, "delta": text, **logprobs})
    for index, annotation in enumerate((part.get("annotations") or []) if is_text else []):
        added = {"annotation_index": index, "annotation": annotation}
        events.append({"type": "response.output_text.annotation.added", **place, **added})
    if text:
        events.append({"type": f"{text_stem}.done", **place, field: text, **logprobs})
    return [*events, {"type": f"{stem}.done", **place, "part": part}]
