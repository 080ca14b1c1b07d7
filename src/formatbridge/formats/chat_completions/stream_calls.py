"""Pieces of tool calls: which call one belongs to, and what nobody knows of it."""

from __future__ import annotations

from typing import Any

from formatbridge.formats._extra import rest

JsonObject = dict[str, Any]

_CALL = frozenset({"index", "id", "type", "function", "custom", "extra_content"})
_FUNCTION = frozenset({"name", "arguments", "input"})


def slot_of(raw: JsonObject, position: int, known: dict[int, str], latest: dict[int, int]) -> int:
    """Find the slot of a call. Some servers leave the index out, and some use one again for a call with another id.

    ``known``: the ids by slot; ``latest``: the slot that an index named last. Both are kept up to date.
    """
    index, call_id = raw.get("index"), raw.get("id")
    slot = latest.get(index, index) if index is not None else None
    if slot is None:
        last = max(known, default=-1)
        slot = next((at for at, held in known.items() if held == call_id), last + 1) if call_id else max(last, position, 0)
    elif call_id and known.get(slot) not in (None, "", call_id):
        slot = next((at for at, held in known.items() if held == call_id), max(known) + 1)
    known.setdefault(slot, "")
    if index is not None:
        latest[index] = slot
    if call_id:
        known[slot] = call_id
    return int(slot)


def unread_of(raw: JsonObject) -> JsonObject | None:
    """Return what nobody knows of a piece, by pointer relative to the call."""
    kind = "custom" if raw.get("custom") else "function"
    body = raw.get(kind) or {}
    if _CALL.issuperset(raw) and _FUNCTION.issuperset(body):
        return None
    return {**(rest(raw, _CALL) or {}), **(rest(body, _FUNCTION, f"{kind}/") or {})}


def call_of(held: JsonObject, made_id: str) -> JsonObject:
    """Put a held call into the shape that a whole answer has."""
    body = {"name": held["name"] or "", "input" if held["kind"] == "custom" else "arguments": ""}
    call = {"id": held["id"] or made_id, "type": held["kind"], held["kind"]: body}
    return call | ({"extra_content": held["extra"]} if held.get("extra") else {})
