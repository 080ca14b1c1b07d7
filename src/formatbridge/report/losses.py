"""The entries of a report: losses in the source body, and additions to the target body."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field
from typing import Literal

from formatbridge.jsontext.types import JsonObject, JsonValue
from formatbridge.report.reasons import REASONS

Change = Literal["dropped", "changed"]
"""The kind of a loss: the target has no value (``dropped``), or another one (``changed``)."""
Severity = Literal["info", "lossy", "impossible"]
"""The severity of a loss."""
SEVERITIES: tuple[Severity, ...] = ("info", "lossy", "impossible")
"""All severities, in ascending order."""
SEVERITY_RANKS: Mapping[Severity, int] = {severity: rank for rank, severity in enumerate(SEVERITIES)}
"""Severity to its position in that order, to compare two of them."""


@dataclass(frozen=True, slots=True)
class Loss:
    """One value that the target cannot represent, or only with changes."""

    path: str
    """JSON pointer (RFC 6901) into the source body, at the most specific node that lost meaning."""
    kind: Change
    """``changed``: the target has the nearest value or a form with less meaning; ``dropped``: it has none."""
    severity: Severity
    """``info``: the model does not read the value, or only cost and labels change.
    ``lossy``: the output may differ. ``impossible``: the meaning of the payload changes."""
    code: str
    """A stable identifier of the reason, such as ``no_counterpart``."""
    why: str
    """The reason, for a user."""
    before: JsonValue = field(default=None, hash=False)  # a value may be an object, which has no hash
    """The value in the source."""
    after: JsonValue = field(default=None, hash=False)
    """The value in the target; None where there is none."""

    @classmethod
    def of(
        cls, pointer: str, kind: Change, severity: Severity, code: str, before: JsonValue = None, after: JsonValue = None
    ) -> Loss:
        """Return a loss with the reason that belongs to its code."""
        return cls(pointer, kind, severity, code, REASONS[code], before, after)

    def __str__(self) -> str:
        """Describe the loss in one line, without the value, which may be secret."""
        return f"{self.path or 'body'} {self.kind} ({self.severity}): {self.why}"

    def to_dict(self) -> JsonObject:
        """Return the attributes as a dict, ready for JSON."""
        return asdict(self)

    def _repr_html_(self) -> str:
        """Return a table for a notebook."""
        from formatbridge.report import html

        rows = [
            ("severity", html.badge(self.severity)),
            ("pointer", f"<code>{html.escape_text(html.shorten(self.path or 'body'))}</code>"),
            ("kind", self.kind),
            ("reason", f"{html.escape_text(self.why)} (<code>{html.escape_text(self.code)}</code>)"),
            ("before", f"<code>{html.escape_text(html.json_text(self.before))}</code>"),
        ]
        if self.kind == "changed":
            rows.append(("after", f"<code>{html.escape_text(html.json_text(self.after))}</code>"))
        return html.view(html.table((), rows))


@dataclass(frozen=True, slots=True)
class Addition:
    """A value that the target requires and the source does not have."""

    path: str
    """JSON pointer into the target body."""
    value: JsonValue = field(hash=False)
    """The value that was added."""
    why: str
    """The reason, for a user."""

    def __str__(self) -> str:
        """Describe the addition in one line."""
        return f"{self.path} added: {self.why}"

    def to_dict(self) -> JsonObject:
        """Return the attributes as a dict, ready for JSON."""
        return asdict(self)


def severe_losses(losses: Iterable[Loss], lowest: Severity) -> list[Loss]:
    """Return the losses of a severity or a higher one, which ``Options(raise_on=...)`` does not accept."""
    rank = SEVERITY_RANKS[lowest]
    return [loss for loss in losses if SEVERITY_RANKS[loss.severity] >= rank]
