"""A conversion as HTML: source and target side by side, with the losses marked in the source and the additions in the target."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any, Protocol

from formatbridge.report import html
from formatbridge.report.losses import SEVERITIES, SEVERITY_RANKS, Addition, Loss
from formatbridge.report.summary import LossGroup, groups_rows, pattern_of, summarize

_MAX_MARKS, _MARKS_IN_GROUP = 50, 3
"""Losses that are all marked; of more, those that are marked in each group."""
_MAX_OPEN = 12
"""Groups of a summary that is unfolded."""


class Conversion(Protocol):
    """What the comparison reads of a conversion."""

    @property
    def source(self) -> str: ...
    @property
    def target(self) -> str: ...
    @property
    def source_body(self) -> Any: ...
    @property
    def body(self) -> Any: ...
    @property
    def losses(self) -> Sequence[Loss]: ...
    @property
    def additions(self) -> Sequence[Addition]: ...


def of_conversion(heading: str, conversion: Conversion, source_body: Any = None) -> str:
    """Return a heading, the numbers, the summary of the losses, and both bodies with their marks.

    ``source_body``: the source of a conversion that does not keep it.
    """
    losses, additions = conversion.losses, conversion.additions
    if source_body is None:
        source_body = conversion.source_body
    groups = summarize(losses)
    lost: dict[str, list[html.Mark]] = {}
    marked = _marked(losses, groups)
    for loss in sorted(marked, key=lambda loss: -SEVERITY_RANKS[loss.severity]):
        lost.setdefault(loss.path, []).append(html.Mark(loss.severity, _note(loss)))
    added = {addition.path: [html.Mark("added", addition.why)] for addition in additions}
    name, others = f"source: {conversion.source}", len(losses) - len(marked)
    hint = f"{others:,} more losses of the same patterns are not marked." if others else ""
    left = html.unavailable_side(name, lost) if source_body is None else html.side(name, source_body, lost, hint)
    right = html.side(f"target: {conversion.target}", conversion.body, added)
    head = f'<div class="fb-title"><b>{html.escape_text(heading)}</b> {counts(losses, additions)}</div>' if heading else ""
    return f'{head}{_summary_details(groups)}<div class="fb-sides">{left}{right}</div>'


def _marked(losses: Sequence[Loss], groups: Sequence[LossGroup]) -> Sequence[Loss]:
    """Return the losses to mark: all, or the first ones of each group if there are many."""
    if len(losses) <= _MAX_MARKS or len(losses) == len(groups):
        return losses
    numbers: Counter[tuple[str, ...]] = Counter()
    marked = []
    for loss in losses:
        key = (pattern_of(loss.path), loss.severity, loss.kind, loss.code, loss.why)
        numbers[key] += 1
        if numbers[key] <= _MARKS_IN_GROUP:
            marked.append(loss)
    return marked


def counts(losses: Iterable[Loss], additions: Sequence[Addition]) -> str:
    """Return a badge for each severity and for the additions, with their numbers."""
    severities = [loss.severity for loss in losses]
    numbers = [(name, severities.count(name)) for name in reversed(SEVERITIES)] + [("added", len(additions))]
    badges = [html.badge(name, f"{number:,} {name}") for name, number in numbers if number]
    return " ".join(badges) or html.badge("none", "no losses, no additions")


def _summary_details(groups: Sequence[LossGroup]) -> str:
    """Return the summary of the losses, which the reader can fold; nothing if there are none."""
    table = html.table(("severity", "pointer", "number", "kind", "reason"), groups_rows(groups))
    return html.details("Summary of the losses", table, is_open=len(groups) <= _MAX_OPEN) if groups else ""


def _note(loss: Loss) -> str:
    if loss.kind == "dropped" or loss.after is None:
        return f"{loss.kind}: {loss.why}"
    return f"changed to {html.json_text(loss.after, 60)}: {loss.why}"
