"""Counts of tokens: those that stand under two names, and those that a target does not have."""

from __future__ import annotations

from collections.abc import Iterable

from formatbridge import ir
from formatbridge.jsontext.pointers import escape
from formatbridge.jsontext.types import JsonObject
from formatbridge.report.ledger import Ledger


def either(raw: JsonObject, names: Iterable[str], unread: JsonObject, value: int | None = None) -> int | None:
    """Read a count that has several names: the first that is not zero. Another that says something else is left over.

    Relays send all names with zeros where they know nothing. ``value``: what the name before these says.
    """
    for name in names:
        count = raw.get(name)
        if not value and count is not None:
            value = count
        elif count and count != value:
            unread[name] = count
    return value


def details(raw: JsonObject, name: str, alias: str, main: str, unread: JsonObject) -> tuple[str, JsonObject]:
    """Read details that stand under two names: those that have more than zeros, and their ``main`` count as ``either`` does.

    The first value is where they stand.
    """
    found_details, other = raw.get(name) or {}, raw.get(alias) or {}
    if not any(found_details.values()) and any(other.values()):
        return alias, other
    for key, count in other.items():
        if count and key == main and not found_details.get(key):
            found_details = found_details | {key: count}
        elif count and count != found_details.get(key):
            unread[f"{alias}/{escape(key)}"] = count
    return name, found_details


def count_reasoning_in(usage: ir.Usage) -> None:
    """Count the reasoning in where the total says that the server counted it beside the output, as some compatible servers do."""
    reasoning = usage.reasoning or 0
    if usage.total == usage.input + usage.output + reasoning:
        usage.output += reasoning


def join_ttls(usage: ir.Usage, total: int | None, losses: Ledger) -> None:
    """Note that what was written to the cache is in ``total`` only, whatever time it stays: it may have been told by these times alone.

    None: the target does not count it apart from the prompt.
    """
    if usage.cache_write_ttl and any(usage.cache_write_ttl.values()):
        losses.changed(usage, "cache_write_ttl", total, "accounting", severity="info")
