"""Streams of responses, read: what is said of a part or an item that was done before, told where it has a place, else reported."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Any

from formatbridge import ir
from formatbridge.formats.responses.conversation import decode_item
from formatbridge.formats.responses.response import take_message
from formatbridge.formats.responses.stream_parts import Item, Slot
from formatbridge.jsontext.pointers import escape
from formatbridge.jsontext.types import JsonObject

_LISTS = ("summary", "content")
_TEXTS = ("arguments", "input", "code")
_ANY = {"id": ..., "status": ...}
"""What may differ, for nobody is told of it."""


def shape(raw: JsonObject, slots: Iterable[Slot]) -> JsonObject:
    """Return how much a whole item says, without saying it; of what its deltas said at greater length nothing more is asked."""
    made: JsonObject = _shape(raw)
    lists = [raw[name] for name in _LISTS if isinstance(raw.get(name), list)]
    parts = [part for given in lists for part in given if isinstance(part, dict)]
    words = [*(part.get("text") or part.get("refusal") for part in parts), *(raw.get(name) for name in _TEXTS)]
    length = sum(len(text) for text in words if isinstance(text, str))
    notes = sum(len(part["annotations"]) for part in parts if isinstance(part.get("annotations"), list))
    told, cited = 0, 0
    for slot in slots:
        told, cited = told + slot.length, cited + slot.notes
    return made | _ANY | (dict.fromkeys((*_LISTS, *_TEXTS), ...) if told > length or cited > notes else {})


def _shape(value: Any, depth: int = 8) -> Any:
    """Return how much a value says; deeper than any item that is known, all of it counts as said."""
    match value:
        case dict() | list() if not depth:
            return ...
        case dict():
            return {key: _shape(item, depth - 1) for key, item in value.items()}
        case list():
            return [_shape(item, depth - 1) for item in value]
        case str():
            return len(value), hash(value)
    return value is not None


def as_told(item: Item, raw: JsonObject) -> tuple[JsonObject, JsonObject | None]:
    """Return a whole item without the thoughts that came behind their digest, when that had left as the thought; they are reported."""
    slot = item.slots.get(0)
    opened = slot.part if slot is not None and slot.length else None
    if item.kind != "reasoning" or not isinstance(opened, ir.Reasoning) or not opened.summary or not raw.get("content"):
        return raw, None
    return {key: value for key, value in raw.items() if key != "content"}, {f"/output/{item.at}/content": raw["content"]}


def told_behind(item: Item, parts: list[ir.Part]) -> JsonObject:
    """Return the fields that a whole item has of parts that had closed without them, by pointer from the root."""
    closed = [(item.slots[at], part) for at, part in enumerate(parts) if at in item.slots and item.slots[at].is_closed]
    return {
        f"{part.src}/{name}": value
        for slot, part in closed
        for name, value in (getattr(part, "extra", None) or {}).items()
        if name not in (slot.extra or {})
    }


def late(item: Item, raw: JsonObject) -> tuple[list[tuple[int, ir.Part]], JsonObject]:
    """Return parts that tell what an item says now and did not say when it was done, with their places, and what no part can tell."""
    missing = dict(_absent(raw, item.said, src := f"/output/{item.at}"))
    if not missing:
        return [], missing
    parts: list[ir.Part] = []
    decode_item(raw, item.kind, src, parts)
    if item.kind == "message":
        take_message(parts, raw["content"], [], item.start)
    told = [(at, more) for at, part in enumerate(parts) if (more := _late_part(part, missing))]
    return told, missing


def _late_part(part: ir.Part, missing: JsonObject) -> ir.Part | None:
    """Return what can still be told of a part that is over, and take it from what is missing."""
    if isinstance(part, ir.Text):
        text, has_none = missing.pop(f"{part.src}/text", ""), missing.pop(f"{part.src}/annotations", None)
        new = [citation for citation in part.citations or () if has_none or missing.pop(citation.src, None)]
        return replace(part, text=text, citations=new or None, signature=None, extra=None) if text or new else None
    if isinstance(part, ir.Reasoning) and missing.pop(f"{part.src}/encrypted_content", None):
        return replace(part, text="", extra=None)
    return None


def _absent(value: Any, known: Any, at: str) -> Iterator[tuple[str, Any]]:
    """Yield what a value says beyond what is known of it, by its pointer; of a text that goes on, the rest. What differs says no more."""
    match value, known:
        case _ if known is ... or value in (None, "", [], {}):
            return
        case dict(), dict() if known:
            for key, item in value.items():
                yield from _absent(item, known.get(key), f"{at}/{escape(key)}")
        case list(), list() if known:
            for index, item in enumerate(value):
                yield from _absent(item, known[index] if index < len(known) else None, f"{at}/{index}")
        case str(), (int(length), told):
            if len(value) > length and hash(value[:length]) == told:
                yield at, value[length:]
        case _ if not known:
            yield at, value
