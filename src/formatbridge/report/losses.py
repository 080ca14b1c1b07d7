"""What the report consists of: losses in the source body, and additions to the target body."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from formatbridge.jsontext.types import JsonValue

Change = Literal["dropped", "changed"]
"""What became of a value: nothing stands in the target, or something else does."""
Severity = Literal["info", "lossy", "impossible"]
"""How severe a loss is."""
SEVERITIES: tuple[Severity, ...] = ("info", "lossy", "impossible")
"""From harmless to fatal."""


@dataclass(frozen=True, slots=True)
class Loss:
    """One value that the target could not hold as it was.

    ``path`` is a JSON pointer (RFC 6901) into the source body, at the most specific node that lost meaning. ``changed``: the nearest
    value or a weaker carrier stands in the target; ``dropped``: nothing does. ``info``: the model never sees it, or only cost and labels
    change; ``lossy``: the output may differ; ``impossible``: the payload no longer means the same.
    """

    path: str
    kind: Change
    severity: Severity
    code: str
    why: str
    before: JsonValue = field(default=None, hash=False)  # which may be an object: a set of losses asks for the rest
    after: JsonValue = field(default=None, hash=False)

    def __str__(self) -> str:
        """Say in a line what became of the value; the value itself may be anybody's secret."""
        return f"{self.path or 'body'} {self.kind} ({self.severity}): {self.why}"


@dataclass(frozen=True, slots=True)
class Addition:
    """A value that the target demands and the source lacks. ``path`` is a JSON pointer into the target body."""

    path: str
    value: JsonValue = field(hash=False)
    why: str

    def __str__(self) -> str:
        """Say in a line what was added."""
        return f"{self.path} added: {self.why}"
