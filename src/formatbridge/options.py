"""What a caller may choose about a conversion."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from formatbridge.errors import ConfigurationError

Severity = Literal["info", "lossy", "impossible"]

SEVERITIES: tuple[Severity, ...] = ("info", "lossy", "impossible")
"""From harmless to fatal."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """Choices that hold for one conversion; the defaults lose least.

    ``raise_on``: raise ``LossyConversionError`` from this severity up; None: never, the report tells.
    ``carry_reasoning``: keep another format's reasoning tokens in a response, tagged, for the next request.
    ``default_max_tokens``: the limit for a target that demands one where the source names none, in tokens.
    ``on_truncated``: whether a stream that ends too early raises, or is closed with finish reason ``length``.
    ``created``: the time of an answer whose source has none, in seconds since the epoch; None: 0.
    ``mid_system``: instructions in mid-conversation stay there where the target allows (``native``), or join the system prompt.
    ``messages_version``: the dialect of the messages format; from ``2026-10-21`` on it has no sampling parameters.
    """

    raise_on: Severity | None = None
    carry_reasoning: bool = True
    default_max_tokens: int = 4096
    on_truncated: Literal["error", "close"] = "error"
    created: int | None = None
    mid_system: Literal["native", "hoist"] = "native"
    messages_version: str = "2023-06-01"

    def __post_init__(self) -> None:
        if self.raise_on is not None and self.raise_on not in SEVERITIES:
            raise ConfigurationError(f"raise_on is {self.raise_on!r}, expected None or one of {', '.join(SEVERITIES)}")
        if self.default_max_tokens < 1:
            raise ConfigurationError(f"default_max_tokens is {self.default_max_tokens!r}, expected 1 or more")
        if self.on_truncated not in ("error", "close"):
            raise ConfigurationError(f"on_truncated is {self.on_truncated!r}, expected 'error' or 'close'")
        if self.mid_system not in ("native", "hoist"):
            raise ConfigurationError(f"mid_system is {self.mid_system!r}, expected 'native' or 'hoist'")


DEFAULT_OPTIONS = Options()
