"""The messages of a conversation, the content blocks of server tools (calls, results and errors), and the union of all blocks.

Source, unless a model names another: official SDK types, 2026-11.
"""

from typing import Annotated, Any, Literal

from pydantic import Field

from formatbridge.formats.messages.wire.content import (
    CacheControl,
    Caller,
    DocumentBlock,
    ImageBlock,
    RedactedThinkingBlock,
    SearchResultBlock,
    TextBlock,
    ThinkingBlock,
    ToolReferenceBlock,
    ToolResultBlock,
    ToolUseBlock,
)
from formatbridge.formats.messages.wire.tools import McpTool, Tool, ToolReference
from formatbridge.validation.wire_base import Int, Open, Unknown, Wire


class ServerToolUseBlock(Wire):
    """A call of a tool that the server runs.

    Source: official SDK types, 2026-11. Seen: recorded traffic.
    """

    id: str
    input: dict[str, Any]
    name: str
    """``web_search``, ``web_fetch``, ``code_execution``, ``bash_code_execution``, ``text_editor_code_execution``,
    ``tool_search_tool_regex``, ``tool_search_tool_bm25``, ``advisor`` (beta)."""
    type: Literal["server_tool_use"]
    cache_control: CacheControl | None = None
    caller: Caller | None = None


class HostedError(Wire):
    """The error of a server tool, in place of its result.

    Source: official SDK types, 2026-11; one type per tool there. Seen: recorded traffic.
    """

    error_code: str
    """All tools: ``unavailable``, ``too_many_requests``. Others by tool, such as ``max_uses_exceeded``,
    ``query_too_long``, ``url_not_allowed``, ``execution_time_exceeded``, ``file_not_found``, ``prompt_too_long``."""
    type: Literal[
        "web_search_tool_result_error",
        "web_fetch_tool_result_error",
        "code_execution_tool_result_error",
        "bash_code_execution_tool_result_error",
        "text_editor_code_execution_tool_result_error",
        "tool_search_tool_result_error",
        "advisor_tool_result_error",
    ]
    error_message: str | None = None


class HostedResultBlock(Wire):
    """The fields that the results of all server tools have in common."""

    tool_use_id: str
    """Id of the ``server_tool_use`` block."""
    cache_control: CacheControl | None = None


class WebSearchResult(Wire):
    """A web page from a web search.

    Source: official SDK types, 2026-11. Seen: recorded traffic.
    """

    encrypted_content: str | None = None
    """Opaque; to be sent back unchanged in later requests."""
    title: str | None = None
    type: Literal["web_search_result"]
    url: str
    page_age: str | None = None
    """Free text, such as ``April 30, 2025``."""


class WebSearchResultBlock(HostedResultBlock):
    """The result of a web search: a list of pages, or an error object.

    Source: official SDK types, 2026-11. Seen: recorded traffic.
    """

    content: list[Annotated[WebSearchResult | Unknown, Open("type")]] | Annotated[HostedError | Unknown, Open("type")]
    type: Literal["web_search_tool_result"]
    caller: Caller | None = None


class WebFetchResult(Wire):
    """A fetched web page.

    Source: official SDK types, 2026-11. Seen: recorded traffic.
    """

    content: DocumentBlock
    type: Literal["web_fetch_result"]
    url: str
    retrieved_at: str | None = None
    """A time in RFC 3339."""


class WebFetchResultBlock(HostedResultBlock):
    """The result of a web fetch: always an object, never a list.

    Source: official SDK types, 2026-11. Seen: recorded traffic.
    """

    content: Annotated[WebFetchResult | HostedError | Unknown, Open("type")]
    type: Literal["web_fetch_tool_result"]
    caller: Caller | None = None


class CodeOutput(Wire):
    """A file that code execution created.

    Source: official SDK types, 2026-11. Seen: recorded traffic.
    """

    file_id: str
    type: Literal["code_execution_output", "bash_code_execution_output"]


class CodeResult(Wire):
    """The output of code execution or a shell command.

    Source: official SDK types, 2026-11. Seen: recorded traffic.
    """

    content: list[Annotated[CodeOutput | Unknown, Open("type")]] | None = None
    return_code: Int | None = None
    """The exit code of the process."""
    stderr: str | None = None
    stdout: str | None = None
    type: Literal["code_execution_result", "bash_code_execution_result"]
    abort_reason: str | None = None
    """In recorded traffic only, always null."""


class EncryptedCodeResult(Wire):
    """The output of code execution, encrypted for the server."""

    content: list[Annotated[CodeOutput | Unknown, Open("type")]] | None = None
    encrypted_stdout: str
    """Opaque; to be sent back unchanged in later requests."""
    return_code: Int | None = None
    """The exit code of the process."""
    stderr: str | None = None
    type: Literal["encrypted_code_execution_result"]


class FileView(Wire):
    """A file or a part of it, from the view command of the hosted text editor.

    Source: official SDK types, 2026-11. Seen: recorded traffic.
    """

    content: str
    file_type: str | None = None
    """``text``, ``image``, ``pdf``."""
    type: Literal["text_editor_code_execution_view_result"]
    num_lines: Int | None = None
    start_line: Int | None = None
    total_lines: Int | None = None


class FileCreation(Wire):
    """The result of the create command of the hosted text editor.

    Source: official SDK types, 2026-11. Seen: recorded traffic.
    """

    is_file_update: bool | None = None
    """True if the file existed before."""
    type: Literal["text_editor_code_execution_create_result"]


class FileReplacement(Wire):
    """The result of a replacement in the hosted text editor, as one hunk of a diff.

    Source: official SDK types, 2026-11. Seen: recorded traffic.
    """

    type: Literal["text_editor_code_execution_str_replace_result"]
    lines: list[str] | None = None
    new_lines: Int | None = None
    new_start: Int | None = None
    old_lines: Int | None = None
    old_start: Int | None = None


class CodeExecutionResultBlock(HostedResultBlock):
    """The result of code execution or a shell command.

    Source: official SDK types, 2026-11; one type per tool there. Seen: recorded traffic.
    """

    content: Annotated[CodeResult | EncryptedCodeResult | HostedError | Unknown, Open("type")]
    type: Literal["code_execution_tool_result", "bash_code_execution_tool_result"]


class TextEditorResultBlock(HostedResultBlock):
    """The result of a command of the hosted text editor.

    Source: official SDK types, 2026-11. Seen: recorded traffic.
    """

    content: Annotated[FileView | FileCreation | FileReplacement | HostedError | Unknown, Open("type")]
    type: Literal["text_editor_code_execution_tool_result"]


class ToolSearchResult(Wire):
    """The tools that a tool search returned.

    Source: official SDK types, 2026-11. Seen: recorded traffic.
    """

    tool_references: list[Annotated[ToolReferenceBlock | Unknown, Open("type")]]
    type: Literal["tool_search_tool_search_result"]


class ToolSearchResultBlock(HostedResultBlock):
    """The result of a search among tools with deferred loading.

    Source: official SDK types, 2026-11. Seen: recorded traffic.
    """

    content: Annotated[ToolSearchResult | HostedError | Unknown, Open("type")]
    type: Literal["tool_search_tool_result"]


class Advice(Wire):
    """The text of the advisor model.

    Source: official SDK types (beta), 2026-11. Seen: recorded traffic.
    """

    text: str
    type: Literal["advisor_result"]
    stop_reason: str | None = None


class RedactedAdvice(Wire):
    """The text of the advisor model, encrypted for the server.

    Source: official SDK types (beta), 2026-11. Seen: recorded traffic.
    """

    encrypted_content: str
    """Opaque; to be sent back unchanged in later requests."""
    type: Literal["advisor_redacted_result"]
    stop_reason: str | None = None


class AdvisorResultBlock(HostedResultBlock):
    """The result of a call of the advisor model.

    Source: official SDK types (beta), 2026-11. Seen: recorded traffic.
    """

    content: Annotated[Advice | RedactedAdvice | HostedError | Unknown, Open("type")]
    type: Literal["advisor_tool_result"]


class McpToolUseBlock(Wire):
    """A call of an MCP tool by the server.

    Source: official SDK types (beta), 2026-11. Seen: recorded traffic.
    """

    id: str
    input: dict[str, Any]
    name: str
    server_name: str
    type: Literal["mcp_tool_use"]
    cache_control: CacheControl | None = None


class McpToolResultBlock(HostedResultBlock):
    """The result of a call of an MCP tool.

    Source: official SDK types (beta), 2026-11. Seen: recorded traffic.
    """

    type: Literal["mcp_tool_result"]
    content: str | list[Annotated[TextBlock | Unknown, Open("type")]] | None = None
    is_error: bool | None = None


class McpToolListingBlock(Wire):
    """The list of tools of an MCP server.

    Source: official SDK types (beta), 2026-11.
    """

    mcp_server_name: str
    tools: list[McpTool]
    type: Literal["mcp_tool_listing"]


class ContainerUploadBlock(Wire):
    """A file to upload to the code execution container, or a file from it.

    Source: official SDK types, 2026-11. Seen: recorded traffic.
    """

    file_id: str
    type: Literal["container_upload"]
    cache_control: CacheControl | None = None


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
