"""Reports the canonical fields that a target does not hold, by the HOLDS tables of its package."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import MISSING, fields
from operator import attrgetter
from typing import Any

from formatbridge import ir
from formatbridge.report.ledger import Ledger, LossRule
from formatbridge.report.loss_rules import LOSS_RULES, NO_LOSS

Holds = Mapping[type, frozenset[str]]
"""Type of canonical node to the fields that a format holds, wholly or in part. If in part, its encoder reports the rest."""

NONE: frozenset[str] = frozenset()
"""Nodes of this type are written as something else, or dropped as a whole."""

DropUnheld = Callable[[ir.Node, Ledger], None]
"""Reports the fields of a node that a format does not hold."""

_NODES = frozenset({"cache", "audio", "image"})
"""Fields with another node, which is dropped as a whole."""

POINTERS = frozenset({"src", "aside", "share", "shares"})
"""Fields with pointers of a node in the source."""


def unheld_names(kind: type, held: frozenset[str]) -> tuple[str, ...]:
    """Return the fields of a type of node that are not held, in the order of the report: unmodelled fields, then those of the rules.

    Raises ``ValueError`` for a field without a rule.
    """
    lost = {each.name for each in fields(kind)} - held - POINTERS - {"extra"}
    lost -= {name for name in lost if f"{kind.__name__}.{name}" in NO_LOSS}
    prefix = f"{kind.__name__}."
    ruled = [row.removeprefix(prefix) for row in LOSS_RULES if row.startswith(prefix)]
    if not lost.issubset(ruled):
        raise ValueError(f"no rule for the loss of {prefix}{min(lost.difference(ruled))}")
    return ("extra", *(name for name in ruled if name in lost))


def unheld_fields(format: ir.Format, holds: Holds) -> DropUnheld:
    """Return a function that reports what a node has and the format does not hold."""
    checks = {kind: _check_of(kind, held) for kind, held in holds.items() if held}

    def drop_unheld(node: ir.Node, losses: Ledger) -> None:
        read, nothing, names = checks[type(node)]
        values = read(node)
        if values != nothing:
            for name, value in zip(names, values if len(names) > 1 else (values,), strict=True):
                if value is not None:
                    _drop_value(node, name, value, losses, format)

    return drop_unheld


def _check_of(kind: type, held: frozenset[str]) -> tuple[Callable[[Any], Any], Any, tuple[str, ...]]:
    """Return a function that reads all fields that are not held, its result for a node without them, and their names."""
    names = unheld_names(kind, held)
    defaults = {each.name: None if each.default is MISSING else each.default for each in fields(kind)}
    return attrgetter(*names), tuple(defaults[name] for name in names) if len(names) > 1 else defaults[names[0]], names


def drop_field(node: ir.Node, name: str, losses: Ledger, format: ir.Format | None = None) -> None:
    """Report one field by its rule, if it has a value that is not neutral. ``format``: the target, for the reason why a token is lost."""
    value = getattr(node, name)
    if value is not None:
        _drop_value(node, name, value, losses, format)


def _drop_value(node: ir.Node, name: str, value: Any, losses: Ledger, format: ir.Format | None) -> None:
    if name == "extra":
        if value:
            losses.extras(node)
        return
    rule = LOSS_RULES[f"{type(node).__name__}.{name}"]
    if type(node) is ir.Usage:
        _drop_counts(node, name, value, rule, losses)
    elif name == "signature":
        is_native = format in (value.home, value.found)
        losses.dropped(value, code="no_counterpart" if is_native else "foreign_signature", severity=rule.severity)
    elif name in _NODES:
        losses.dropped(value, code=rule.code, severity=rule.severity)
    elif not rule.is_neutral(value):
        losses.dropped(node, name, rule.code, severity=rule.severity)


def _drop_counts(usage: ir.Usage, name: str, value: int | dict[str, int], rule: LossRule, losses: Ledger) -> None:
    """Report a count, or each count of a group. Zeros count nothing."""
    counts = {word: count for word, count in value.items() if count} if isinstance(value, dict) else {"": value} if value else {}
    if rule.counted_in and counts:
        losses.changed(usage, name, getattr(usage, rule.counted_in), rule.code, severity=rule.severity)
        return
    for word in counts:
        losses.dropped(usage, f"{name}.{word}" if word else name, rule.code, severity=rule.severity)
