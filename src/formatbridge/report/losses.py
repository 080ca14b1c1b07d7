"""The entries of a report: losses in the source body, and additions to the target body."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from formatbridge.jsontext.types import JsonValue

Change = Literal["dropped", "changed"]
"""What happened to a value: the target has none, or another one."""
Severity = Literal["info", "lossy", "impossible"]
"""How severe a loss is."""
SEVERITIES: tuple[Severity, ...] = ("info", "lossy", "impossible")
"""From harmless to fatal."""


@dataclass(frozen=True, slots=True)
class Loss:
    """One value that the target could not hold unchanged.

    ``path`` is a JSON pointer (RFC 6901) into the source body, at the most specific node that lost meaning. ``changed``: the nearest
    value or a weaker carrier is in the target; ``dropped``: nothing is. ``info``: the model never sees it, or only cost and labels
    change; ``lossy``: the output may differ; ``impossible``: the meaning of the payload changes.
    """

    path: str
    """JSON pointer (RFC 6901) into the source body, at the most specific node that lost meaning."""
    kind: Change
    """``changed``: the nearest value is in the target; ``dropped``: nothing is."""
    severity: Severity
    """``info``: the model never sees it; ``lossy``: the output may differ; ``impossible``: the meaning of the payload changes."""
    code: str
    """A stable identifier of the reason, such as ``no_counterpart``."""
    why: str
    """The reason, for a user."""
    before: JsonValue = field(default=None, hash=False)  # a value may be an object, which has no hash
    """The value in the source."""
    after: JsonValue = field(default=None, hash=False)
    """The value in the target; None where there is none."""

    def __str__(self) -> str:
        """Describe the loss in one line, without the value, which may be secret."""
        return f"{self.path or 'body'} {self.kind} ({self.severity}): {self.why}"


@dataclass(frozen=True, slots=True)
class Addition:
    """A value that the target requires and the source does not have. ``path`` is a JSON pointer into the target body."""

    path: str
    """JSON pointer into the target body."""
    value: JsonValue = field(hash=False)
    """The value that was added."""
    why: str
    """The reason, for a user."""

    def __str__(self) -> str:
        """Describe the addition in one line."""
        return f"{self.path} added: {self.why}"
