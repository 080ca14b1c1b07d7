"""Each format holds each canonical field, or a loss rule gives the severity of its loss."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import fields, is_dataclass
from importlib import import_module
from typing import Any, get_args, get_type_hints

import pytest

from formatbridge import FORMATS, ir
from formatbridge.formats.shared.held_fields import POINTERS, unheld_fields, unheld_names
from formatbridge.report.loss_rules import LOSS_RULES, NO_LOSS

ALWAYS_HELD = frozenset({ir.Signature})
"""Tokens, which are written or dropped as a whole."""
MARKS = frozenset({ir.CacheMark})
"""Nodes of requests that a part of an answer can have, and no answer does."""
ROOTS = {"REQUEST_HOLDS": (ir.Request,), "RESPONSE_HOLDS": (ir.Response, ir.Error, ir.ModelList, ir.TokenCount)}
TABLES = [(format, table) for format in FORMATS for table in ROOTS]


def _types_in(annotation: Any) -> Iterator[type]:
    if is_dataclass(annotation) and isinstance(annotation, type):
        yield annotation
    for inner in get_args(annotation):
        yield from _types_in(inner)


def _nodes_below(roots: tuple[type, ...]) -> set[type]:
    """Return the types of all nodes that a request or an answer may have."""
    result: set[type] = set()
    pending = list(roots)
    while pending:
        node = pending.pop()
        if node not in result:
            result.add(node)
            pending += [kind for hint in get_type_hints(node).values() for kind in _types_in(hint)]
    return result - ALWAYS_HELD


def _rows(format: str, table: str) -> Mapping[type, frozenset[str]]:
    return getattr(import_module(f"formatbridge.formats.{format}.holds"), table)  # type: ignore[no-any-return]


@pytest.mark.parametrize(("format", "table"), TABLES)
def test_each_type_of_node_has_a_row(format: str, table: str) -> None:
    """A node without a row would be written without a report of its losses."""
    elsewhere = MARKS | {ir.Citation} if table == "REQUEST_HOLDS" else MARKS

    assert _nodes_below(ROOTS[table]) - elsewhere == set(_rows(format, table)) - elsewhere


@pytest.mark.parametrize(("format", "table"), TABLES)
def test_each_field_is_held_or_has_a_rule(format: str, table: str) -> None:
    """A developer who adds a field to the canonical model must state for each format whether it holds it."""
    for kind, held in _rows(format, table).items():
        names = {each.name for each in fields(kind)}
        assert held <= names - POINTERS - {"extra"}
        if held:
            without_loss = {name for name in names if f"{kind.__name__}.{name}" in NO_LOSS}
            assert names == held | (POINTERS | {"extra"}) & names | without_loss | set(unheld_names(kind, held))


@pytest.mark.parametrize("row", [*LOSS_RULES, *sorted(NO_LOSS)])
def test_each_row_names_a_field(row: str) -> None:
    """A row for a field that does not exist has no effect."""
    kind, _, name = row.partition(".")

    assert name in {each.name for each in fields(getattr(ir, kind))}


def test_a_field_in_neither_table_is_an_error() -> None:
    """The error is raised when the package is imported, not when a body has the field."""
    with pytest.raises(ValueError, match=r"no rule for the loss of Text\.text"):
        unheld_fields("messages", {ir.Text: frozenset({"cache"})})
