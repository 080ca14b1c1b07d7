"""Report the canonical fields that a target cannot express, according to the HOLDS table of its package.

``put_in`` sets a member that the target requires, and reports it if the source lacks it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import MISSING, fields
from functools import cache
from operator import attrgetter
from typing import Any

from formatbridge import ir
from formatbridge.jsontext.types import JsonObject, JsonValue
from formatbridge.report.ledger import Ledger
from formatbridge.report.loss_rules import LOSS_RULES, NO_LOSS

Holds = Mapping[type, frozenset[str]]
"""Type of canonical node to the fields that a format can express, wholly or in part. If in part, its encoder reports the rest."""

NONE: frozenset[str] = frozenset()
"""The row of a type of node that is encoded as another type, or dropped as a whole."""

DropUnheld = Callable[[ir.Node, Ledger], None]
"""Reports the fields of a node that a format does not hold."""

POINTERS = frozenset({"src", "second_src", "index_src", "index_count"})
"""Fields with pointers of a node in the source."""

_CONTAINERS = frozenset({list, dict})
_Report = Callable[[Any, Any, Ledger], None]
"""Reports one field of a node, whose value is not None."""


def unheld_names(kind: type, held: frozenset[str]) -> tuple[str, ...]:
    """Return the fields of a type of node that are not in ``held``, in the order of the loss rules.

    Unmodelled fields are not included. Raises ``ValueError`` for a field without a loss rule.
    """
    prefix = f"{kind.__name__}."
    lost = {each.name for each in fields(kind)} - held - POINTERS - {"extra"}
    lost -= {name for name in lost if prefix + name in NO_LOSS}
    ruled = [row.removeprefix(prefix) for row in LOSS_RULES if row.startswith(prefix)]
    if not lost.issubset(ruled):
        raise ValueError(
            f"no rule for the loss of {prefix}{min(lost.difference(ruled))}: add a row to LOSS_RULES, or the field to HOLDS"
        )
    return tuple(name for name in ruled if name in lost)


def unheld_fields(format: ir.FormatName, holds: Holds) -> DropUnheld:
    """Return a function that reports the fields of a node that the format cannot express.

    It reads all these fields in one call and compares them with their defaults, because most nodes have none of them.
    """
    # The table is compiled when the module is loaded: one ``attrgetter`` reads all fields that the format lacks.
    checks = {kind: _loss_check_of(kind, unheld_names(kind, held), format) for kind, held in holds.items() if held}

    def drop_unheld(node: ir.Node, losses: Ledger) -> None:
        if node.extra:
            losses.extras(node)
        check = checks[type(node)]
        if check is not None:
            read, defaults, reports = check
            values = read(node)
            if values != defaults:
                if len(reports) == 1:  # ``attrgetter`` with one name returns the value itself
                    values = (values,)
                for index, (field, report) in enumerate(reports):
                    if values[index] is not None and field not in losses.also_holds:
                        report(node, values[index], losses)

    return drop_unheld


def _loss_check_of(
    kind: type, names: tuple[str, ...], format: ir.FormatName
) -> tuple[Callable[[Any], Any], Any, list[tuple[str, _Report]]] | None:
    """Return a function that reads some fields of a node, its result for their defaults, and for each its name and a function for it."""
    if not names:
        return None
    default_of = {each.name: None if each.default is MISSING else each.default for each in fields(kind)}
    defaults = tuple(default_of[name] for name in names) if len(names) > 1 else default_of[names[0]]
    return attrgetter(*names), defaults, [(f"{kind.__name__}.{name}", _report_of(kind, name, format)) for name in names]


def drop_field(node: ir.Node, name: str, losses: Ledger, format: ir.FormatName | None = None) -> None:
    """Report one field by its loss rule, unless its value is neutral. ``format``: the target, which decides why a token is lost."""
    value = getattr(node, name)
    if value is not None:
        kind: type = type(node)
        _report_of(kind, name, format)(node, value, losses)


@cache
def _report_of(kind: type, name: str, format: ir.FormatName | None) -> _Report:
    """Return the function that reports a field of a type of node by its loss rule."""
    rule = LOSS_RULES[f"{kind.__name__}.{name}"]
    code, severity, has_neutral_values = rule.code, rule.severity, bool(rule.neutral)

    def drop_value(node: ir.Node, value: Any, losses: Ledger) -> None:
        if (has_neutral_values or type(value) in _CONTAINERS) and rule.is_neutral(value):
            return
        losses.dropped(node, name, code, severity=severity)

    def drop_node(_node: ir.Node, value: ir.Node, losses: Ledger) -> None:
        losses.dropped(value, code=code, severity=severity)

    def drop_token(_node: ir.Node, value: ir.Signature, losses: Ledger) -> None:
        is_native = format in (value.issuer, value.received_in)
        losses.dropped(value, code=code if is_native else "foreign_signature", severity=severity)

    def drop_counts(usage: ir.Usage, value: int | dict[str, int], losses: Ledger) -> None:
        counts = {key: count for key, count in value.items() if count} if isinstance(value, dict) else {"": value} if value else {}
        if rule.counted_in and counts:
            losses.weakened(usage, name, getattr(usage, rule.counted_in), code, severity=severity)
            return
        for key in counts:
            losses.dropped(usage, f"{name}.{key}" if key else name, code, severity=severity)

    # A count may be a dictionary by modality or by lifetime, and a count of zero is no loss.
    if kind is ir.Usage:
        return drop_counts
    return {"signature": drop_token, "cache": drop_node, "audio": drop_node, "image": drop_node}.get(name, drop_value)


def put_in(body: JsonObject, key: str, value: JsonValue, otherwise: JsonValue, losses: Ledger) -> None:
    """Set a member that the target requires. If the source lacks it, set ``otherwise`` and note the addition."""
    if value is None:
        losses.added_in(body, key, otherwise)
    else:
        body[key] = value
