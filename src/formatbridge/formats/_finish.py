"""Why an answer ended: what all targets have in common in writing it."""

from __future__ import annotations

from formatbridge import ir
from formatbridge.losses import Ledger

OVERRULED = frozenset({"stop", "stop_sequence", "other", "error"})
"""Reasons that an answer with calls never ends for: it ends for the calls."""


def note_finish(finish: ir.Finish, word: str, is_exact: bool, losses: Ledger) -> None:
    """Note what a word of the target does not say of an end: a finer reason, the stop sequence, the category."""
    if finish.finer or not is_exact:
        losses.changed(finish, "reason", word, "finish_reason", severity="info" if is_exact else "lossy")
    if finish.stop_sequence is not None:
        losses.dropped(finish, "stop_sequence", severity="info")
    if finish.category is not None:
        losses.dropped(finish, "category", severity="info")
    if finish.extra:
        losses.extras(finish)


def refusal_of(finish: ir.Finish | None, parts: list[ir.Part], losses: Ledger) -> str | None:
    """Return the explanation of a blocked answer, which stands for a refusal where there is none; anywhere else it has no place."""
    if finish is None or finish.message is None:
        return None
    if finish.reason in ("content_filter", "refusal") and not any(isinstance(part, ir.Refusal) for part in parts):
        return finish.message
    losses.dropped(finish, "message", "diagnostic", severity="info")
    return None
