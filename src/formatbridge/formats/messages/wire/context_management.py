"""Context management: the edits that a request asks for, and the edits that the server applied."""

from typing import Annotated, Literal

from formatbridge.validation.wire_base import Count, Open, Unknown, Wire


class Amount(Wire):
    """A count: the threshold for an edit, or the amount that an edit keeps.

    Source: official SDK types (beta), 2026-11; one type per unit there. Seen: recorded traffic.
    """

    type: str
    """The unit: ``input_tokens``, ``tool_uses``, ``thinking_turns``; or ``all``, without a value."""
    value: Count | None = None


class ClearToolUses(Wire):
    """An edit that clears old tool results.

    Source: official SDK types (beta), 2026-11. Seen: recorded traffic.
    """

    type: Literal["clear_tool_uses_20250919"]
    clear_at_least: Amount | None = None
    """Minimum number of input tokens that the edit must clear."""
    clear_tool_inputs: bool | list[str] | None = None
    """Whether, or for which tools, the edit also clears the arguments of calls."""
    exclude_tools: list[str] | None = None
    keep: Amount | None = None
    """Number of tool uses to keep."""
    trigger: Amount | None = None
    """The threshold, in input tokens or tool uses."""


class ClearThinking(Wire):
    """An edit that clears old reasoning.

    Source: official SDK types (beta), 2026-11.
    """

    type: Literal["clear_thinking_20251015"]
    keep: str | Amount | None = None
    """The reasoning to keep: ``all``, or a number of thinking turns."""


class Compact(Wire):
    """An edit that replaces the conversation by a summary.

    Source: official SDK types (beta), 2026-11. Seen: recorded traffic.
    """

    type: Literal["compact_20260112"]
    instructions: str | None = None
    pause_after_compaction: bool | None = None
    """True: stop after the summary, with the stop reason ``compaction``."""
    trigger: Amount | None = None
    """The threshold, in input tokens."""


class ContextManagementOptions(Wire):
    """The edits that the server may apply before the model reads the conversation.

    Source: specification, POST /v1/messages ``context_management``; official SDK types (beta), 2026-11.
    """

    edits: list[Annotated[ClearToolUses | ClearThinking | Compact | Unknown, Open("type")]] | None = None


class ClearedToolUses(Wire):
    """The number of tool results that were cleared.

    Source: official SDK types (beta), 2026-11. Seen: recorded traffic.
    """

    cleared_input_tokens: Count | None = None
    cleared_tool_uses: Count | None = None
    type: Literal["clear_tool_uses_20250919"]


class ClearedThinking(Wire):
    """The number of turns whose reasoning was cleared.

    Source: official SDK types (beta), 2026-11.
    """

    cleared_input_tokens: Count | None = None
    cleared_thinking_turns: Count | None = None
    type: Literal["clear_thinking_20251015"]


class ContextManagement(Wire):
    """The edits that the server applied.

    Source: official SDK types (beta), 2026-11. Seen: recorded traffic.
    """

    applied_edits: list[Annotated[ClearedToolUses | ClearedThinking | Unknown, Open("type")]] | None = None
