"""What a decoder does with keys it does not model: keep them, by pointer, for the report and for the way home."""

from __future__ import annotations

from typing import Any

from formatbridge.jsontext.pointers import escape
from formatbridge.jsontext.types import JsonObject


def rest(raw: JsonObject, known: frozenset[str] | set[str], at: str = "") -> JsonObject | None:
    """Return the members of an object that are not known, by pointer relative to the node; None where there are none.

    ``at`` is the pointer of the object relative to its node, with a closing slash: ``image_url/``.
    """
    if known.issuperset(raw):
        return None
    made: JsonObject = {}
    for key, value in raw.items():  # a comprehension takes half as long again
        if value is not None and key not in known:
            made[at + (escape(key) if "/" in key or "~" in key else key)] = value
    return made or None


def unknown_event(raw: JsonObject) -> JsonObject | None:
    """Return an event that nobody knows as a field of the answer: under its type, or as ``event`` where it has none."""
    kind = raw.get("type")
    if isinstance(kind, str):
        return {kind: raw}
    return {"event": raw} if raw else None


def says_something(raw: JsonObject) -> bool:
    """Say whether an object has any member but null, empty ones and zeros: some servers send objects that they have not filled in."""
    return any(raw.values())


def joined(*extras: JsonObject | None) -> JsonObject | None:
    """Put the leftovers of a node's own objects together."""
    if not any(extras):
        return None
    return {pointer: value for extra in extras if extra for pointer, value in extra.items()}


def gathered(held: JsonObject | None, more: JsonObject | None) -> JsonObject | None:
    """Add leftovers to those that a loop or a stream has gathered, which are its own: to join them each time would copy them each time."""
    if not more:
        return held
    if held is None:
        return dict(more)
    held.update(more)
    return held


class Pieces:
    """Fields that nobody knows and that come in pieces: texts and lists go on, objects go on member by member.

    What only comes again as it was is said again, not more of it. Of all else the last counts; what says nothing replaces nothing.
    """

    __slots__ = ("_told",)

    def __init__(self) -> None:
        self._told: dict[str, list[tuple[Any, int]]] = {}  # each value, and how many times it came in a row

    def take(self, fields: JsonObject | None, count: int = 1) -> None:
        """Take the next piece of some fields, which came ``count`` times in a row."""
        for name, value in (fields or {}).items():
            told = self._told.setdefault(name, [])
            last, times = told[-1] if told else (None, 0)
            if times and _is_same(last, value):
                told[-1] = (value, times + count)
            else:
                told.append((value, count))

    def whole(self) -> JsonObject:
        """Return the fields as they have come so far; objects lie as deep in each other as a body may be."""
        made: JsonObject = {}
        pending = [(made, self)]
        while pending:
            holder, pieces = pending.pop()
            for name, told in pieces._told.items():
                value = _joined(told)
                if isinstance(value, Pieces):
                    inner: JsonObject = {}
                    holder[name] = inner
                    pending.append((inner, value))
                else:
                    holder[name] = value
        return made


def _is_same(one: Any, other: Any) -> bool:
    """Say whether two values are equal, however deep they are."""
    try:
        return bool(one == other)
    except RecursionError:
        return _is_same_below(one, other)


def _is_same_below(one: Any, other: Any) -> bool:
    pending = [(one, other)]
    while pending:
        a, b = pending.pop()
        if isinstance(a, dict) and isinstance(b, dict) and a.keys() == b.keys():
            pending += [(value, b[key]) for key, value in a.items()]
        elif isinstance(a, list) and isinstance(b, list) and len(a) == len(b):
            pending += zip(a, b, strict=True)
        elif isinstance(a, dict | list) or a != b:
            return False
    return True


def _joined(told: list[tuple[Any, int]]) -> Any:
    """Return what the pieces of a field make: of objects, the pieces of their members."""
    said = [(value, times) for value, times in told if value] or told[-1:]
    first = said[0][0]
    if len(said) > 1 and all(type(value) is type(first) for value, _ in said):
        match first:
            case str():
                return "".join(value * times for value, times in said)
            case list():
                return [item for value, times in said for item in value * times]
            case dict():
                inner = Pieces()
                for value, _ in said:
                    inner.take(value)
                return inner
    return said[-1][0]
