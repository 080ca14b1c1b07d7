"""Unmodelled fields: decoders keep them by pointer, for the report and for their format."""

from __future__ import annotations

from typing import Any

from formatbridge.jsontext.pointers import escape
from formatbridge.jsontext.types import JsonObject


def read_extra(raw: JsonObject, known: frozenset[str] | set[str], prefix: str = "") -> JsonObject | None:
    """Return the unknown members of an object, by pointer relative to the node; None if there are none.

    ``prefix`` is the pointer of the object relative to its node, with a closing slash: ``image_url/``.
    """
    if known.issuperset(raw):
        return None
    result: JsonObject = {}
    for key, value in raw.items():  # a loop, because it is faster than a comprehension
        if value is not None and key not in known:
            result[prefix + (escape(key) if "/" in key or "~" in key else key)] = value
    return result or None


def unknown_event(raw: JsonObject) -> JsonObject | None:
    """Return an unknown event as an unmodelled field of the answer. The key is the event's type, or ``event`` if it has none."""
    kind = raw.get("type")
    if isinstance(kind, str):
        return {kind: raw}
    return {"event": raw} if raw else None


def has_values(raw: JsonObject) -> bool:
    """Return whether an object has a member that is not null, empty or zero. Some servers send objects without values (members_unset)."""
    return any(raw.values())


def merge_extra(*extras: JsonObject | None) -> JsonObject | None:
    """Return the unmodelled fields of all objects of a node as one dict; None if there are none."""
    if not any(extras):
        return None
    return {pointer: value for extra in extras if extra for pointer, value in extra.items()}


def extend_extra(held: JsonObject | None, more: JsonObject | None) -> JsonObject | None:
    """Add unmodelled fields to ``held`` in place and return it. A new dict for each event would take quadratic time."""
    if not more:
        return held
    if held is None:
        return dict(more)
    held.update(more)
    return held


class Pieces:
    """Accumulates unknown fields that arrive in pieces: texts and lists are concatenated, objects are merged.

    Equal values of another type in a row count as one. Of other values the last one counts; an empty value replaces nothing.
    """

    __slots__ = ("_values",)

    def __init__(self) -> None:
        self._values: dict[str, list[tuple[Any, int]]] = {}  # each value, and how many times it came in a row

    def take(self, fields: JsonObject | None, count: int = 1) -> None:
        """Add the next piece of some fields, which came ``count`` times in a row."""
        # {"padding": "a"} and {"padding": "b"} become {"padding": "ab"}: of an unknown field only the type shows how it continues.
        for name, value in (fields or {}).items():
            values = self._values.setdefault(name, [])
            last, times = values[-1] if values else (None, 0)
            if times and _is_same(last, value):
                values[-1] = (value, times + count)
            else:
                values.append((value, count))

    def to_object(self) -> JsonObject:
        """Return the accumulated fields. The loop has no recursion, because objects may be nested as deep as in any body."""
        result: JsonObject = {}
        pending = [(result, self)]
        while pending:
            holder, pieces = pending.pop()
            for name, values in pieces._values.items():
                value = _joined_pieces(values)
                if isinstance(value, Pieces):
                    inner: JsonObject = {}
                    holder[name] = inner
                    pending.append((inner, value))
                else:
                    holder[name] = value
        return result


def _is_same(one: Any, other: Any) -> bool:
    """Return whether two values are equal, at any depth."""
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


def _joined_pieces(values: list[tuple[Any, int]]) -> Any:
    """Join the pieces of a field; of objects, return the pieces of their members."""
    values_set = [(value, times) for value, times in values if value] or values[-1:]
    first = values_set[0][0]
    if len(values_set) > 1 and all(type(value) is type(first) for value, _ in values_set):
        match first:
            case str():
                return "".join(value * times for value, times in values_set)
            case list():
                return [item for value, times in values_set for item in value * times]
            case dict():
                inner = Pieces()
                for value, _ in values_set:
                    inner.take(value)
                return inner
    return values_set[-1][0]
