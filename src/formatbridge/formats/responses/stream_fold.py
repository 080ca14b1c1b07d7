"""Streams of responses, folded: events to the whole body that they add up to, in the vendor's own terms, and back."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from formatbridge.formats.responses.conversation import kind_of
from formatbridge.formats.responses.stream_decoder import is_untyped_error, unknown
from formatbridge.formats.shared.unmodelled_fields import Pieces
from formatbridge.jsontext.pointers import Path, index_in
from formatbridge.jsontext.types import JsonObject

_ENDS = frozenset({"response.completed", "response.incomplete"})
_GROWING = {
    "function_call": ("arguments", "response.function_call_arguments"),
    "custom_tool_call": ("input", "response.custom_tool_call_input"),
    "mcp_call": ("arguments", "response.mcp_call_arguments"),
    "code_interpreter_call": ("code", "response.code_interpreter_call_code"),
}
"""Kind of item to the field that its deltas bring and the stem of their events."""
_PARTS = {
    "output_text": ("message/content", "text", "response.content_part", "response.output_text"),
    "refusal": ("message/content", "refusal", "response.content_part", "response.refusal"),
    "reasoning_text": ("reasoning/content", "text", "response.content_part", "response.reasoning_text"),
    "summary_text": ("reasoning/summary", "text", "response.reasoning_summary_part", "response.reasoning_summary_text"),
}
"""Kind of part to where it stands, the field that its deltas bring and the stems of the events of the part and of its deltas."""
_LISTS = (("summary", "summary_index"), ("content", "content_index"))
"""Where an item has its parts, and how their events number them."""


def fold_stream(told: Iterable[JsonObject]) -> JsonObject | None:
    """Fold events: the last one repeats the answer, and what nobody knows of the others counts as fields of it.

    Some servers leave the output out of the last one. Then it is the items that were done; None where others were begun, or where
    an event is an error.
    """
    body: JsonObject | None = None
    done: dict[Any, JsonObject] = {}
    begun: set[Any] = set()
    fields = Pieces()
    for raw in told:
        kind = raw.get("type")
        if not isinstance(kind, str) and is_untyped_error(raw):
            return None
        fields.take(unknown(raw))
        if kind in _ENDS:
            body = raw.get("response")
        elif kind == "response.output_item.done":
            done[raw.get("output_index")] = raw["item"]
        if "item" in raw or "item_id" in raw:
            place = raw.get("output_index")
            begun.add(place if isinstance(place, int) else None)
    if body is None or body.get("output"):
        return None if body is None else body | fields.whole()
    if None in begun or begun - done.keys():
        return None
    return body | fields.whole() | {"output": [item for _, item in sorted(done.items())]}


def place_of(event: JsonObject, path: Path, lengths: Mapping[Path, int]) -> Path:
    """Return where the whole answer has what stands at a path in an event."""
    del lengths  # each event names its place
    item, part = ("output", index_in(event, "output_index")), ("content", index_in(event, "content_index"))
    if "summary_index" in event:
        part = ("summary", index_in(event, "summary_index"))
    match path:
        case ("response", *rest):
            return tuple(rest)
        case ("item", *rest):
            return (*item, *rest)
        case ("part", *rest):
            return (*item, *part, *rest)
        case ("annotation", *rest):
            return (*item, *part, "annotations", index_in(event, "annotation_index"), *rest)
        case () if "output_index" in event:
            return (*item, *part) if "content_index" in event or "summary_index" in event else item
    return path


def unfold_stream(body: JsonObject) -> list[JsonObject]:
    """Return the events that fold to a body: each item opens, grows in one piece and is done; the last event repeats all."""
    status = body.get("status") or "completed"
    start = body | {"status": "in_progress", "output": []} | {key: None for key in ("usage", "error") if key in body}
    made: list[JsonObject] = [{"type": f"response.{word}", "response": start} for word in ("created", "in_progress")]
    for at, item in enumerate(body.get("output") or ()):
        made += _unfold_item(item, at)
    end = status if status in ("incomplete", "failed") else "completed"
    made.append({"type": f"response.{end}", "response": body})
    return [event | {"sequence_number": number} for number, event in enumerate(made)]


def _unfold_item(item: JsonObject, at: int) -> list[JsonObject]:
    """Tell one item; of what no event grows, it is told whole when it is done."""
    place = {"item_id": item.get("id") or "", "output_index": at}
    bare, made, kind = dict(item), list[JsonObject](), kind_of(item)
    if "status" in item:
        bare["status"] = "in_progress"
    for name, key in _LISTS if kind in ("message", "reasoning") else ():  # who knows what other kinds have there
        parts, home = item.get(name), f"{kind}/{name}"
        if isinstance(parts, list) and all(_PARTS.get(part.get("type"), (home,))[0] == home for part in parts):
            bare[name] = []
            made += [event for number, part in enumerate(parts) for event in _unfold_part(part, place | {key: number})]
    field, stem = _GROWING.get(kind, ("", ""))
    if text := item.get(field):
        bare[field] = ""
        named = {"name": item["name"]} if stem == "response.function_call_arguments" and "name" in item else {}
        made += [
            {"type": f"{stem}.delta", **place, "delta": text},
            {"type": f"{stem}.done", **place, field: text, **named},
        ]
    added: JsonObject = {"type": "response.output_item.added", "output_index": at, "item": bare}
    return [added, *made, {"type": "response.output_item.done", "output_index": at, "item": item}]


def _unfold_part(part: JsonObject, place: JsonObject) -> list[JsonObject]:
    """Tell one part; of a kind that is not known nothing is known to grow."""
    _, field, stem, grown = _PARTS.get(part.get("type", ""), ("", "", "response.content_part", ""))
    notes = (part.get("annotations") or []) if grown == "response.output_text" else []
    tokens = {"logprobs": part.get("logprobs") or []} if grown == "response.output_text" else {}
    bare = part | ({field: ""} if field else {}) | {key: [] for key in ("annotations", "logprobs") if grown and part.get(key)}
    made: list[JsonObject] = [{"type": f"{stem}.added", **place, "part": bare}]
    if text := part.get(field):
        made.append({"type": f"{grown}.delta", **place, "delta": text, **tokens})
    for number, annotation in enumerate(notes):
        told = {"annotation_index": number, "annotation": annotation}
        made.append({"type": "response.output_text.annotation.added", **place, **told})
    if text:
        made.append({"type": f"{grown}.done", **place, field: text, **tokens})
    return [*made, {"type": f"{stem}.done", **place, "part": part}]
