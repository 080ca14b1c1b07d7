"""Spans of an answer's text that are cited, and how often the text may be said again for them."""

from __future__ import annotations

from collections.abc import Iterable

from formatbridge._json import JsonObject, JsonValue
from formatbridge.losses import Ledger

_TIMES, _SHORT = 8, 10_000


def may_repeat(lengths: Iterable[int], length: int) -> bool:
    """Say whether the words of all spans may stand beside them, as some formats have it: a few times a text of this length, no more.

    Where thousands of citations cite all of a long text, its copies would be a thousand times what the source has.
    """
    return sum(max(0, each) for each in lengths) <= _TIMES * max(length, _SHORT)


def put_in(made: JsonObject, key: str, value: JsonValue, otherwise: JsonValue, losses: Ledger) -> None:
    """Put into a citation what the target demands of it; where the source lacks it, what is made up is noted."""
    if value is None:
        losses.added_in(made, key, otherwise)
    else:
        made[key] = value
