"""What a decoder does with keys it does not model: keep them, by pointer, for the report and for the way home."""

from __future__ import annotations

from typing import Any

from formatbridge.losses import escape

JsonObject = dict[str, Any]


def rest(raw: JsonObject, known: frozenset[str] | set[str], at: str = "") -> JsonObject | None:
    """Return the members of an object that are not known, by pointer relative to the node; None where there are none.

    ``at`` is the pointer of the object relative to its node, with a closing slash: ``image_url/``.
    """
    if known.issuperset(raw):
        return None
    return {
        at + (escape(key) if "/" in key or "~" in key else key): value
        for key, value in raw.items()
        if key not in known and value is not None
    } or None


def joined(*extras: JsonObject | None) -> JsonObject | None:
    """Put the leftovers of a node's own objects together."""
    if not any(extras):
        return None
    return {pointer: value for extra in extras if extra for pointer, value in extra.items()}
