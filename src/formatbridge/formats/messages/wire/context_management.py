"""What the server takes out of a long conversation: the edits asked for, and the edits made."""

from typing import Annotated, Literal

from formatbridge.validation.wire_base import Count, Open, Unknown, Wire


class Amount(Wire):
    """A number of something: a limit that starts an edit, or what an edit keeps.

    Source: official SDK types (beta), 2026-11; one type per unit there. Seen: recorded traffic.
    """

    type: str
    """The unit: ``input_tokens``, ``tool_uses``, ``thinking_turns``; or ``all``, without a value."""
    value: Count | None = None


class ClearToolUses(Wire):
    """Asks to clear old tool results.

    Source: official SDK types (beta), 2026-11. Seen: recorded traffic.
    """

    type: Literal["clear_tool_uses_20250919"]
    clear_at_least: Amount | None = None
    """Input tokens; less is not worth an edit."""
    clear_tool_inputs: bool | list[str] | None = None
    """True, or the names of the tools: clear the arguments of the calls too."""
    exclude_tools: list[str] | None = None
    keep: Amount | None = None
    """Tool uses that stay."""
    trigger: Amount | None = None
    """Input tokens or tool uses."""


class ClearThinking(Wire):
    """Asks to clear old reasoning.

    Source: official SDK types (beta), 2026-11.
    """

    type: Literal["clear_thinking_20251015"]
    keep: str | Amount | None = None
    """``all``, or thinking turns."""


class Compact(Wire):
    """Asks to replace the conversation by a summary.

    Source: official SDK types (beta), 2026-11. Seen: recorded traffic.
    """

    type: Literal["compact_20260112"]
    instructions: str | None = None
    pause_after_compaction: bool | None = None
    """True: stop after the summary, with the stop reason ``compaction``."""
    trigger: Amount | None = None
    """Input tokens."""


class ContextManagementOptions(Wire):
    """The edits that the server may make before the model reads the conversation.

    Source: specification, POST /v1/messages ``context_management``; official SDK types (beta), 2026-11.
    """

    edits: list[Annotated[ClearToolUses | ClearThinking | Compact | Unknown, Open("type")]] | None = None


class ClearedToolUses(Wire):
    """Tells how many tool results were cleared.

    Source: official SDK types (beta), 2026-11. Seen: recorded traffic.
    """

    cleared_input_tokens: Count | None = None
    cleared_tool_uses: Count | None = None
    type: Literal["clear_tool_uses_20250919"]


class ClearedThinking(Wire):
    """Tells how many turns lost their reasoning.

    Source: official SDK types (beta), 2026-11.
    """

    cleared_input_tokens: Count | None = None
    cleared_thinking_turns: Count | None = None
    type: Literal["clear_thinking_20251015"]


class ContextManagement(Wire):
    """The edits that the server made.

    Source: official SDK types (beta), 2026-11. Seen: recorded traffic.
    """

    applied_edits: list[Annotated[ClearedToolUses | ClearedThinking | Unknown, Open("type")]] | None = None
