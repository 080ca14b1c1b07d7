"""Folding: the pieces of a streamed object are merged to the whole object, by a table with one rule for each field."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias, TypeVar

from formatbridge.formats.shared.unmodelled_fields import Pieces
from formatbridge.jsontext.depth import spell
from formatbridge.jsontext.types import JsonObject

Name = Literal["ignore", "empty", "first", "last", "filled", "equal", "text", "list", "distinct", "unknown"]
"""A rule. Which value stays: ``ignore`` none, ``first``, ``last``; ``filled`` the last that is not null, empty or 0, if there is one.

What two values make: ``text`` one text, ``list`` one list, ``distinct`` a list without what earlier pieces had, ``unknown`` what their
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
    """An object in pieces. ``values``: of its fields; ``parts``: of those to which later pieces add; ``unknown``: of those without a rule.

    The first piece, ``start``, stays as it is.
    """

    __slots__ = ("parts", "table", "unknown", "values")

    def __init__(self, table: Table, start: JsonObject | None = None) -> None:
        self.table = table
        self.values = dict(start or {})
        self.parts: dict[str, Text | Values | Folds | Fold] = {}
        self.unknown = Pieces()

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
                self.part_of(key, Text).append(value)
            case "list" if is_list:
                self.values.setdefault(key)
                self.part_of(key, Values).extend(value)
            case "distinct" if is_list and isinstance(known, list):
                self.part_of(key, Distinct).add(value)
            case "unknown":
                self.values.setdefault(key)
                self.unknown.take({key: value})
            case "equal" if known not in (None, value):
                raise ConflictError(key)
            case "empty" if value:
                raise ConflictError(key)
            case "text" if known or key in self.parts:
                raise ConflictError(key)
            case "filled" | "distinct" if known and not value and value is not False:
                pass
            case _:
                self.values[key] = value

    def part_of(self, key: str, kind: type[P]) -> P:
        """Return the value under a key as one to which pieces add; raise ``ConflictError`` where it is of another kind."""
        part = self.parts.get(key)
        if part is None:
            part = self.parts[key] = kind(self.values.get(key) or ())
        if not isinstance(part, kind):
            raise ConflictError(key)
        return part

    def object_of(self, key: str, table: Table) -> Fold:
        """Return the object under a key as one in pieces."""
        part = self.parts.get(key)
        if part is None:
            part = self.parts[key] = Fold(table, self.values.get(key))
        assert isinstance(part, Fold)
        return part

    def whole(self) -> JsonObject:
        """Return the object as far as it has come."""
        return self.values | {key: part.whole() for key, part in self.parts.items()} | self.unknown.whole()


class Text(list[str]):
    """A text in pieces."""

    def __init__(self, start: Any) -> None:
        if start and not isinstance(start, str):
            raise ConflictError
        super().__init__([start or ""])

    def whole(self) -> str:
        """Return the text."""
        return "".join(self)


class Values(list[Any]):
    """A list whose items come one after another."""

    def whole(self) -> list[Any]:
        """Return the list."""
        return self


class Distinct(Values):
    """A list of which each piece may repeat items: those of earlier pieces are left out."""

    def __init__(self, start: Any) -> None:
        super().__init__(start)
        self._seen = set(map(spell, start))

    def add(self, items: list[Any]) -> None:
        """Append the items that no earlier piece had."""
        texts = list(map(spell, items))
        self += [item for text, item in zip(texts, items, strict=True) if text not in self._seen]
        self._seen.update(texts)


class Folds(list[Fold]):
    """A list of objects in pieces."""

    def whole(self) -> list[JsonObject]:
        """Return the objects."""
        return [each.whole() for each in self]


P = TypeVar("P", Text, Values, Distinct, Folds)
