"""How much to think, across formats that count it in words and formats that count it in tokens."""

from __future__ import annotations

from typing import get_args

from formatbridge import ir
from formatbridge.losses import Ledger

EFFORTS: frozenset[str] = frozenset(get_args(ir.Effort))
"""Every word of effort; one of some server's own stays with it."""

ANCHORS: tuple[tuple[int, ir.Effort], ...] = (
    (512, "minimal"), (1024, "low"), (8192, "medium"), (24576, "high"), (32768, "xhigh"), (65536, "max"),
)  # fmt: skip
"""Budget in tokens up to which an effort reaches; the last one has no upper end."""


def _effort_of(budget: int) -> ir.Effort:
    """Name the effort that a budget in tokens stands for."""
    return next((effort for limit, effort in ANCHORS if budget <= limit), "max")


def encode_effort(config: ir.ReasoningConfig, losses: Ledger) -> ir.Effort | None:
    """Write the configuration as one word of effort, for formats that have no budget; None: nothing was asked."""
    if config.mode == "off":  # whatever else is asked
        for name in ("effort", "budget"):
            if getattr(config, name) not in (None, "none"):
                losses.dropped(config, name, "excluded")
        return "none"
    if config.mode == "between_tools":
        losses.changed(config, "mode", "none")
        if config.effort not in (None, "none"):
            losses.dropped(config, "effort", "excluded")
        return "none"
    if config.effort is not None:
        if config.budget is not None:
            losses.dropped(config, "budget", "excluded")
        return config.effort
    made: ir.Effort | None = None
    if config.budget is not None:
        made = _effort_of(config.budget)
        losses.changed(config, "budget", made)
    elif config.mode in ("adaptive", "on"):  # as much as the model finds fit, or as nobody said
        made = "high"
        losses.changed(config, "mode", made)
    return made
