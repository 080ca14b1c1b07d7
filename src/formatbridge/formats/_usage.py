"""Counts of tokens that a target does not have."""

from __future__ import annotations

from collections.abc import Iterable

from formatbridge import ir
from formatbridge.losses import Ledger


def drop_counts(usage: ir.Usage, names: Iterable[str], losses: Ledger) -> None:
    """Note each count that is lost, one by one within a group; zero counts nothing. A tool's prompt is still in the input."""
    for name in names:
        value = getattr(usage, name)
        if name == "tool_prompt" and value:
            losses.changed(usage, name, usage.input, "accounting", severity="info")
        elif isinstance(value, dict):
            for word, count in value.items():
                if count:
                    losses.dropped(usage, f"{name}.{word}", "accounting", severity="info")
        elif value:
            losses.dropped(usage, name, "accounting", severity="info")
