"""Folding: the pieces of a streamed object are merged to the whole object, by a table with one rule for each field."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from formatbridge.formats.shared.unmodelled_fields import Pieces
from formatbridge.jsontext.depth import spell
from formatbridge.jsontext.types import JsonObject

Name = Literal["ignore", "empty", "first", "last", "filled", "equal", "text", "list", "unique", "unknown"]
"""A rule. Which value stays: ``ignore`` none, ``first``, ``last``; ``filled`` the last that is not null, empty or 0, if there is one.

What two values make: ``text`` one text, ``list`` one list, ``unique`` a list without what earlier pieces had, ``unknown`` what their
types suggest. What is a conflict: with ``equal`` another value, with ``empty`` any value that is not empty.
"""
Rule: TypeAlias = "Name | Table | Callable[[Fold, str, Any], None]"
"""A name, the table of an object, or a function of the fold, the key and the value, for what depends on values."""


class ConflictError(Exception):
    """Two pieces contradict each other, so the whole is unknown."""


@dataclass(frozen=True, slots=True)
class Table:
    """How the pieces of one kind of object merge. ``null``: the rule for null in any field."""

    fields: Mapping[str, Rule]
    other: Rule
    null: Rule


class Fold:
    """An object in pieces. The first one, ``start``, stays as it is.

    ``values``: final values of its fields; ``texts``: pieces of texts; ``objects``, ``items``: objects, and lists of objects, that come in
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
        self._seen: dict[str, set[str]] = {}  # of the lists that were copied from a piece; what is in those that are unique

    def add(self, piece: JsonObject) -> None:
        """Merge a piece; raise ``ConflictError`` where it contradicts an earlier one."""
        fields, other, null = self.table.fields, self.table.other, self.table.null
        for key, value in piece.items():
            rule = fields.get(key, other)
            if value is None and rule != "ignore":
                rule = null
            if rule == "ignore":
                continue
            if isinstance(rule, str):
                self._merge(rule, key, value)
            elif not isinstance(rule, Table):
                rule(self, key, value)
            elif self.values.get(key):
                self.object_of(key, rule).add(value)
            else:
                self.values[key] = value

    def _merge(self, rule: Name, key: str, value: Any) -> None:
        known = self.values.get(key)
        is_list = isinstance(value, list)
        match rule:
            case "first":
                self.values.setdefault(key, value)
            case "text" if isinstance(value, str):
                self._text_of(key).append(value)
            case "list" if is_list:
                self.list_of(key).extend(value)
            case "unique" if is_list and isinstance(known, list):
                self._add_unique(key, value)
            case "unknown":
                self.values.setdefault(key)
                self.unknown.take({key: value})
            case "equal" if known not in (None, value):
                raise ConflictError(key)
            case "empty" if value:
                raise ConflictError(key)
            case "text" if known or key in self.texts:
                raise ConflictError(key)
            case "filled" | "unique" if known and not value and value is not False:
                pass
            case _:
                self.values[key] = value
                self._seen.pop(key, None)

    def _text_of(self, key: str) -> list[str]:
        if key not in self.texts:
            start = self.values.get(key) or ""
            if not isinstance(start, str):
                raise ConflictError(key)
            self.texts[key] = [start]
        return self.texts[key]

    def list_of(self, key: str) -> list[Any]:
        """Return the list under a key, to append to it; that of the first piece is copied."""
        if key not in self._seen:
            self.values[key] = list(self.values.get(key) or ())
            self._seen[key] = set()
        items: list[Any] = self.values[key]
        return items

    def _add_unique(self, key: str, value: list[Any]) -> None:
        if key not in self._seen:
            self.list_of(key)
            self._seen[key].update(map(spell, self.values[key]))
        seen, texts = self._seen[key], list(map(spell, value))
        self.values[key] += [item for text, item in zip(texts, value, strict=True) if text not in seen]
        seen.update(texts)

    def object_of(self, key: str, table: Table) -> Fold:
        """Return the object under a key, to add pieces to it."""
        if key not in self.objects:
            self.objects[key] = Fold(table, self.values.get(key))
        return self.objects[key]

    def whole(self) -> JsonObject:
        """Return the object as far as it has come."""
        texts = {key: "".join(pieces) for key, pieces in self.texts.items()}
        objects = {key: each.whole() for key, each in self.objects.items()}
        lists = {key: [each.whole() for each in items] for key, items in self.items.items() if items}
        return self.values | self.unknown.whole() | texts | objects | lists
