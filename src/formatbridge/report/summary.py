"""Losses in groups: one line for each field, however many items of a list have lost it."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass

from formatbridge.arguments import type_name
from formatbridge.base_errors import ConfigurationError
from formatbridge.jsontext.types import JsonObject
from formatbridge.report.losses import SEVERITY_RANKS, Change, Loss, Severity

_INDEX = re.compile(r"/(?:0|[1-9][0-9]*)(?=/|$)")
_MAX_GROUPS, _MAX_PATTERN = 3, 60
"""Groups, and characters of their patterns, in ``repr``."""


@dataclass(frozen=True, slots=True)
class LossGroup:
    """Losses that differ only in the indexes of their pointers and in their values."""

    pattern: str
    """The pointer with ``*`` for each index, such as ``/input/*/id``."""
    count: int
    """The number of losses."""
    severity: Severity
    """How severe each of them is."""
    kind: Change
    """Whether the values were dropped or changed."""
    code: str
    """The reason in one word, which stays the same between versions."""
    why: str
    """The reason."""
    example: Loss
    """The first of them."""

    def __str__(self) -> str:
        """Describe the group in one line."""
        return f"{_times(self)} {self.severity} {self.kind}: {self.why}"

    def to_dict(self) -> JsonObject:
        """Return the attributes as a dict, ready for JSON."""
        return asdict(self)

    def _repr_html_(self) -> str:
        """Return a table for a notebook."""
        return groups_html([self])


class LossTotals:
    """Counts the losses of many conversions. The memory depends on the number of groups only.

    >>> totals = LossTotals()
    >>> totals.add(converted.losses)
    >>> totals.groups
    """

    __slots__ = ("_counts", "_first")

    def __init__(self) -> None:
        self._first: dict[tuple[str, Severity, Change, str, str], Loss] = {}
        self._counts: Counter[tuple[str, Severity, Change, str, str]] = Counter()

    def add(self, losses: Iterable[Loss]) -> None:
        """Add the losses of one conversion. Raises ``ConfigurationError`` where a value is no ``Loss``."""
        if not isinstance(losses, Iterable):
            raise ConfigurationError(f"losses is {type_name(losses)}, expected an iterable of Loss, such as converted.losses")
        for loss in losses:
            if not isinstance(loss, Loss):
                raise ConfigurationError(f"losses contains {type_name(loss)}, expected Loss, such as in converted.losses")
            key = (pattern_of(loss.path), loss.severity, loss.kind, loss.code, loss.why)
            self._first.setdefault(key, loss)
            self._counts[key] += 1

    @property
    def groups(self) -> tuple[LossGroup, ...]:
        """The groups: the most severe first, then the largest."""
        groups = [LossGroup(key[0], self._counts[key], *key[1:], loss) for key, loss in self._first.items()]
        return tuple(sorted(groups, key=lambda group: (-SEVERITY_RANKS[group.severity], -group.count)))


def summarize(losses: Iterable[Loss]) -> tuple[LossGroup, ...]:
    """Group losses by the pattern of their pointers, their kind, severity and reason.

    The most severe groups come first, then the largest. A key of digits counts as an index. Raises ``ConfigurationError`` where a value is
    no ``Loss``.
    """
    totals = LossTotals()
    totals.add(losses)
    return totals.groups


def pattern_of(pointer: str) -> str:
    """Return a JSON pointer with ``*`` for each index."""
    return _INDEX.sub("/*", pointer)


class Losses(tuple[Loss, ...]):
    """The losses of one report: a tuple that a notebook shows as its summary."""

    __slots__ = ()

    def _repr_html_(self) -> str:
        """Return a table for a notebook."""
        return groups_html(summarize(self))


def short_summary(losses: Sequence[Loss]) -> str:
    """Return the number of losses and the first groups, for ``repr``: ``41 losses (/seed lossy, /input/*/id x40 info)``."""
    if not losses:
        return "0 losses"
    groups = summarize(losses)
    parts = [f"{_times(group, _MAX_PATTERN)} {group.severity}" for group in groups[:_MAX_GROUPS]]
    if len(groups) > _MAX_GROUPS:
        parts.append(f"{len(groups) - _MAX_GROUPS} more patterns")
    return f"{len(losses)} {'loss' if len(losses) == 1 else 'losses'} ({', '.join(parts)})"


def groups_html(groups: Iterable[LossGroup]) -> str:
    """Return the groups as a table in HTML."""
    from formatbridge.report import html

    rows = groups_rows(groups)
    return html.view(html.table(("severity", "pointer", "number", "kind", "reason"), rows) if rows else "No losses.")


def groups_rows(groups: Iterable[LossGroup]) -> list[tuple[str, ...]]:
    """Return the cells of such a table."""
    from formatbridge.report import html

    return [
        (
            html.badge(group.severity),
            f"<code>{html.escape_text(html.shorten(group.pattern or 'body'))}</code>",
            str(group.count),
            group.kind,
            html.escape_text(group.why),
        )
        for group in groups
    ]


def _times(group: LossGroup, limit: int | None = None) -> str:
    pattern = group.pattern or "body"
    if limit is not None and len(pattern) > limit:
        pattern = f"{pattern[: limit - 1]}…"
    return pattern if group.count == 1 else f"{pattern} x{group.count}"
