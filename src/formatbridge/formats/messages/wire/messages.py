"""The messages of a conversation, and the union of all content blocks."""

from typing import Annotated, Literal

from pydantic import Field

from formatbridge.formats.messages.wire.cache import CacheControl
from formatbridge.formats.messages.wire.content import (
    DocumentBlock,
    ImageBlock,
    RedactedThinkingBlock,
    SearchResultBlock,
    TextBlock,
    ThinkingBlock,
    ToolResultBlock,
    ToolUseBlock,
)
from formatbridge.formats.messages.wire.hosted_content import (
    AdvisorResultBlock,
    CodeExecutionResultBlock,
    ContainerUploadBlock,
    McpToolListingBlock,
    McpToolResultBlock,
    McpToolUseBlock,
    ServerToolUseBlock,
    TextEditorResultBlock,
    ToolSearchResultBlock,
    WebFetchResultBlock,
    WebSearchResultBlock,
)
from formatbridge.formats.messages.wire.hosted_tools import ToolReference
from formatbridge.formats.messages.wire.tools import Tool
from formatbridge.validation.wire_base import Open, Unknown, Wire


class McpToolReference(Wire):
    """A tool of an MCP server, by its name.

    Source: official SDK types (beta), 2026-11.
    """

    name: str
    server_name: str
    type: Literal["mcp_tool_reference"]


class McpToolsetReference(Wire):
    """All tools of an MCP server, by the name of the server.

    Source: official SDK types (beta), 2026-11.
    """

    server_name: str
    type: Literal["mcp_toolset_reference"]


class ToolDefinition(Wire):
    """The definition of a tool that ``tools`` does not contain.

    Source: official SDK types (beta), 2026-11.
    """

    definition: Tool
    type: Literal["tool_definition"]


class ToolAdditionBlock(Wire):
    """Adds a tool from this point of the conversation on.

    Source: official SDK types (beta), 2026-11. Seen: recorded traffic.
    """

    tool: Annotated[ToolReference | McpToolReference | McpToolsetReference | ToolDefinition | Unknown, Open("type")]
    type: Literal["tool_addition"]
    cache_control: CacheControl | None = None


class ToolRemovalBlock(Wire):
    """Removes a tool from this point of the conversation on.

    Source: official SDK types (beta), 2026-11.
    """

    tool: Annotated[ToolReference | McpToolReference | McpToolsetReference | Unknown, Open("type")]
    type: Literal["tool_removal"]
    cache_control: CacheControl | None = None


class CompactionBlock(Wire):
    """A summary that replaces the conversation before it.

    Source: official SDK types (beta), 2026-11. Seen: recorded traffic.
    """

    type: Literal["compaction"]
    cache_control: CacheControl | None = None
    content: str | None = None
    """The summary; null if it failed."""
    encrypted_content: str | None = None
    """Opaque; to be sent back unchanged."""
    signature: str | None = None
    """Opaque; to be sent back unchanged."""
    tool_changes: list[Annotated[ToolAdditionBlock | ToolRemovalBlock | Unknown, Open("type")]] | None = None
    """The tool additions and removals in the summarized conversation."""


class FallbackModel(Wire):
    """A model on one side of a fallback.

    Source: official SDK types (beta), 2026-11. Seen: recorded traffic.
    """

    model: str


class RefusalTrigger(Wire):
    """A refusal, as the cause of a fallback.

    Source: official SDK types (beta), 2026-11. Seen: recorded traffic.
    """

    category: str | None = None
    """``cyber``, ``bio``, ``frontier_llm``, ``reasoning_extraction``, ``general_harms``."""
    type: Literal["refusal"]


class FallbackBlock(Wire):
    """Marks the start of the output of another model.

    Source: official SDK types (beta), 2026-11. Seen: recorded traffic.
    """

    from_: FallbackModel = Field(validation_alias="from", serialization_alias="from")
    to: FallbackModel
    type: Literal["fallback"]
    trigger: Annotated[RefusalTrigger | Unknown, Open("type")] | None = None
    """Always set in responses."""


Block = Annotated[
    TextBlock
    | ImageBlock
    | DocumentBlock
    | SearchResultBlock
    | ThinkingBlock
    | RedactedThinkingBlock
    | ToolUseBlock
    | ToolResultBlock
    | ServerToolUseBlock
    | WebSearchResultBlock
    | WebFetchResultBlock
    | AdvisorResultBlock
    | CodeExecutionResultBlock
    | TextEditorResultBlock
    | ToolSearchResultBlock
    | McpToolUseBlock
    | McpToolResultBlock
    | McpToolListingBlock
    | ContainerUploadBlock
    | CompactionBlock
    | FallbackBlock
    | ToolAdditionBlock
    | ToolRemovalBlock
    | Unknown,
    Open("type"),
]
"""A content block of a user or assistant message, in a request or a response."""

SystemBlock = Annotated[TextBlock | ToolAdditionBlock | ToolRemovalBlock | Unknown, Open("type")]
"""A content block of the system prompt (text only) or of a system message."""


class UserMessage(Wire):
    """A user message; tool results come first in its content.

    Source: specification, POST /v1/messages ``messages``; official SDK types, 2026-11.
    """

    content: str | list[Block]
    role: Literal["user"]


class AssistantMessage(Wire):
    """An assistant message; as the last message it is a prefill of the response.

    Source: specification, POST /v1/messages ``messages``; official SDK types, 2026-11.
    """

    content: str | list[Block]
    role: Literal["assistant"]


class SystemOutputConfig(Wire):
    """Output options that a system message changes.

    Source: official SDK types (beta), 2026-11.
    """

    effort: str | None = None
    """``low``, ``medium``, ``high``, ``xhigh``, ``max``."""


class SystemMessage(Wire):
    """Instructions inside the conversation; never its first message, and rejected by older models.

    Source: official SDK types, 2026-11. Seen: recorded traffic.
    """

    content: str | list[SystemBlock] | None = None
    """May be absent in the beta."""
    role: Literal["system"]
    clear_at: str | None = None
    """``next_user_message`` or ``never``."""
    output_config: SystemOutputConfig | None = None


Message = Annotated[UserMessage | AssistantMessage | SystemMessage, Open("role")]
"""A message of the conversation. The set of roles is closed."""
