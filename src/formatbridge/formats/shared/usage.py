"""Decode token counts that have several names, and note counts that a target does not have."""

from __future__ import annotations

from collections.abc import Iterable

from formatbridge import ir
from formatbridge.jsontext.pointers import escape
from formatbridge.jsontext.types import JsonObject
from formatbridge.report.ledger import Ledger


def read_count(raw: JsonObject, names: Iterable[str], unread: JsonObject, value: int | None = None) -> int | None:
    """Return a count that has several names: the first that is not zero. Other values become unmodelled fields.

    Relays send all names, with zeros for unknown counts (fixture usage_both_families). ``value``: the count of an earlier name.
    """
    for name in names:
        count = raw.get(name)
        if not value and count is not None:
            value = count
        elif count and count != value:
            unread[name] = count
    return value


def read_details(raw: JsonObject, name: str, alias: str, main: str, unread: JsonObject) -> tuple[str, JsonObject]:
    """Return details that have two names, after the name that is used: the first name, or ``alias`` if only that has counts above zero.

    ``main``: the count that is also read from the other name, as ``read_count`` does.
    """
    # {"prompt_tokens_details": {"cached_tokens": 0}, "input_tokens_details": {"cached_tokens": 12}}
    chosen, other = raw.get(name) or {}, raw.get(alias) or {}
    if not any(chosen.values()) and any(other.values()):
        return alias, other
    for key, count in other.items():
        if count and key == main and not chosen.get(key):
            chosen = chosen | {key: count}
        elif count and count != chosen.get(key):
            unread[f"{alias}/{escape(key)}"] = count
    return name, chosen


def count_reasoning_in(usage: ir.Usage) -> None:
    """Add the reasoning to the output if the total shows that the server counted them separately (fixture
    usage_reasoning_next_to_output).
    """
    reasoning = usage.reasoning or 0
    if usage.total == usage.input + usage.output + reasoning:
        usage.output += reasoning


def join_ttls(usage: ir.Usage, total: int | None, losses: Ledger) -> None:
    """Note that the target has cache writes as a ``total`` only, without their lifetimes.

    ``total``: None if the target does not count cache writes separately from the prompt.
    """
    if usage.cache_write_ttl and any(usage.cache_write_ttl.values()):
        losses.changed(usage, "cache_write_ttl", total, "accounting")
