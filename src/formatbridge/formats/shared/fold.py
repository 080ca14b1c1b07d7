"""Fold the pieces of a streamed object to the whole object, by a table with one rule for each field."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from formatbridge.formats.shared.unmodelled_fields import Pieces
from formatbridge.jsontext.depth import dump_sorted
from formatbridge.jsontext.types import JsonObject

Name = Literal[
    "ignore", "null", "empty_list", "first", "last", "last_object", "filled", "filled_list", "text", "list", "unique", "unknown",
    "equal", "repeated", "empty",
]  # fmt: skip
"""The rule of a field.

- ``ignore``: no value stays. ``null``, ``empty_list``: only such a value stays, and a subclass adds the items of the others.
- ``first``, ``last``: the first or the last value stays. ``last_object``: the last one too, but an empty object replaces nothing.
- ``filled``: the last value stays that is not null, empty or 0, if there is one. ``filled_list``: the same, but lists are concatenated.
- ``text``, ``list``: texts and lists are concatenated. ``unique``: lists too, without items that earlier pieces have.
- ``unknown``: values are merged by their types.
- ``equal``: a different value is a conflict. ``repeated``: so is one that the first piece does not have.
- ``empty``: a value that is not empty is a conflict.
"""
Rule: TypeAlias = "Name | Table"
"""The name of a rule, or the table of an object."""


class ConflictError(Exception):
    """Two pieces are contradictory, so the whole object is unknown."""


@dataclass(frozen=True, slots=True)
class Table:
    """The rules of one kind of object. ``other``: the rule of fields without a row. ``null``: the rule for null in any field."""

    fields: Mapping[str, Rule]
    other: Rule
    null: Rule


class Fold:
    """The state while one object is folded. Its first piece, ``start``, is not changed.

    ``values``: values of its fields; ``texts``: pieces of texts; ``objects``, ``items``: objects, and lists of objects, that arrive in
    pieces; ``unknown``: fields without a rule.
    """

    __slots__ = ("_seen", "items", "objects", "table", "texts", "unknown", "values")

    def __init__(self, table: Table, start: JsonObject | None = None) -> None:
        self.table = table
        self.values = dict(start or {})
        self.texts: dict[str, list[str]] = {}
        self.objects: dict[str, Fold] = {}
        self.items: dict[str, list[Fold]] = {}
        self.unknown = Pieces()
        self._seen: dict[str, set[str]] = {}  # keys of lists that were copied; with the ``unique`` rule, their items as JSON text

    def add(self, piece: JsonObject) -> None:
        """Merge a piece; raise ``ConflictError`` if it contradicts an earlier one."""
        # {"id": 1, "text": "Hel"}, {"id": 1, "text": "lo"} become {"id": 1, "text": "Hello"} by the rules ``last`` and ``text``.
        fields, other, null = self.table.fields, self.table.other, self.table.null
        for key, value in piece.items():
            rule = fields.get(key, other)
            if value is None and rule != "ignore":
                rule = null
            if rule == "ignore":
                continue
            if isinstance(rule, str):
                self._merge(rule, key, value)
            elif self.values.get(key):
                self.object_of(key, rule).add(value)
            else:
                self.values[key] = value

    def _merge(self, rule: Name, key: str, value: Any) -> None:
        known = self.values.get(key)
        is_list = isinstance(value, list)
        match rule:  # the most frequent rules are first
            case "text" if isinstance(value, str):
                self._text_of(key).append(value)
                return
            case "filled" | "filled_list" | "unique" if known and not value and value is not False:
                return
            case "last" | "filled":
                pass
            case "last_object" | "null" | "empty_list" if self._is_ignored(rule, key, value):
                return
            case "filled_list" | "unknown" if is_list or rule == "unknown":
                self.values.setdefault(key)
                self.unknown.take({key: value})
                return
            case "list" if is_list:
                self.list_of(key).extend(value)
                return
            case "unique" if is_list and isinstance(known, list):
                self._add_unique(key, value)
                return
            case "first":
                self.values.setdefault(key, value)
                return
            case "equal" | "repeated" | "empty" | "text" if self._is_conflict(rule, key, value):
                raise ConflictError(key)
        self.values[key] = value
        self._seen.pop(key, None)

    def _is_ignored(self, rule: Name, key: str, value: Any) -> bool:
        if rule == "last_object":
            return value == {} and key in self.values
        return rule == "null" or value != []

    def _is_conflict(self, rule: Name, key: str, value: Any) -> bool:
        known = self.values.get(key)
        match rule:
            case "equal":
                return known not in (None, value)
            case "repeated":
                return bool(known != value)
            case "text":
                return bool(known) or key in self.texts
        return bool(value)

    def _text_of(self, key: str) -> list[str]:
        # Pieces are joined once, in ``to_object``. Joining each would take quadratic time.
        if key not in self.texts:
            start = self.values.get(key) or ""
            if not isinstance(start, str):
                raise ConflictError(key)
            self.texts[key] = [start]
        return self.texts[key]

    def list_of(self, key: str) -> list[Any]:
        """Return the list of a key, to append to it. The list of the first piece is copied."""
        if key not in self._seen:
            self.values[key] = list(self.values.get(key) or ())
            self._seen[key] = set()
        items: list[Any] = self.values[key]
        return items

    def _add_unique(self, key: str, value: list[Any]) -> None:
        if key not in self._seen:
            self.list_of(key)
            self._seen[key].update(map(dump_sorted, self.values[key]))
        seen, texts = self._seen[key], list(map(dump_sorted, value))
        self.values[key] += [item for text, item in zip(texts, value, strict=True) if text not in seen]
        seen.update(texts)

    def object_of(self, key: str, table: Table) -> Fold:
        """Return the fold of the object of a key, to add pieces to it."""
        if key not in self.objects:
            self.objects[key] = Fold(table, self.values.get(key))
        return self.objects[key]

    def to_object(self) -> JsonObject:
        """Return the object with all pieces that were added."""
        texts = {key: "".join(pieces) for key, pieces in self.texts.items()}
        objects = {key: each.to_object() for key, each in self.objects.items()}
        lists = {key: [each.to_object() for each in items] for key, items in self.items.items() if items}
        return self.values | self.unknown.to_object() | texts | objects | lists
