"""Finish reasons that a target replaces, and the explanation of a blocked answer."""

from __future__ import annotations

from formatbridge import ir
from formatbridge.report.ledger import Ledger

OVERRULED = frozenset({"stop", "stop_sequence", "other", "error"})
"""Finish reasons that an answer with tool calls never has: its finish reason is ``tool_calls``."""


def note_finish(finish: ir.Finish, value: str, is_exact: bool, losses: Ledger) -> None:
    """Note that a finish reason of the target replaces another one, or a more specific one."""
    if finish.is_specific or not is_exact:
        losses.weakened(finish, "reason", value, "finish_reason", severity="info" if is_exact else "lossy")


def explanation_of(finish: ir.Finish | None, parts: list[ir.Part], losses: Ledger) -> str | None:
    """Return the explanation of a blocked answer, for use as its refusal.

    It is noted as dropped if the answer has a refusal, or is not blocked.
    """
    if finish is None or finish.message is None:
        return None
    if finish.reason in ("content_filter", "refusal") and not any(isinstance(part, ir.Refusal) for part in parts):
        return finish.message
    losses.dropped(finish, "message", "diagnostic")
    return None
