"""Content blocks of the tools that the server runs itself: calls, results, errors."""

from typing import Annotated, Any, Literal

from formatbridge.formats.messages.wire.cache import CacheControl
from formatbridge.formats.messages.wire.content import Caller, DocumentBlock, TextBlock, ToolReferenceBlock
from formatbridge.formats.messages.wire.hosted_tools import McpTool
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
    """A failed call of a tool that the server runs, in place of its result.

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
    """What the results of all hosted tools have in common.

    Source: official SDK types, 2026-11.
    """

    tool_use_id: str
    """Id of the ``server_tool_use`` block."""
    cache_control: CacheControl | None = None


class WebSearchResult(Wire):
    """One page that a web search found.

    Source: official SDK types, 2026-11. Seen: recorded traffic.
    """

    encrypted_content: str | None = None
    """Opaque; must come back unchanged in later requests."""
    title: str | None = None
    type: Literal["web_search_result"]
    url: str
    page_age: str | None = None
    """Free text, such as ``April 30, 2025``."""


class WebSearchResultBlock(HostedResultBlock):
    """The pages that a web search found, or its error as one object.

    Source: official SDK types, 2026-11. Seen: recorded traffic.
    """

    content: list[Annotated[WebSearchResult | Unknown, Open("type")]] | Annotated[HostedError | Unknown, Open("type")]
    type: Literal["web_search_tool_result"]
    caller: Caller | None = None


class WebFetchResult(Wire):
    """One page that was fetched.

    Source: official SDK types, 2026-11. Seen: recorded traffic.
    """

    content: DocumentBlock
    type: Literal["web_fetch_result"]
    url: str
    retrieved_at: str | None = None
    """A time in RFC 3339."""


class WebFetchResultBlock(HostedResultBlock):
    """The result of a web fetch: an object, never a list.

    Source: official SDK types, 2026-11. Seen: recorded traffic.
    """

    content: Annotated[WebFetchResult | HostedError | Unknown, Open("type")]
    type: Literal["web_fetch_tool_result"]
    caller: Caller | None = None


class CodeOutput(Wire):
    """A file that code wrote.

    Source: official SDK types, 2026-11. Seen: recorded traffic.
    """

    file_id: str
    type: Literal["code_execution_output", "bash_code_execution_output"]


class CodeResult(Wire):
    """What a run of code or of a shell command left behind.

    Source: official SDK types, 2026-11. Seen: recorded traffic.
    """

    content: list[Annotated[CodeOutput | Unknown, Open("type")]] | None = None
    return_code: Int | None = None
    """The exit status of the process."""
    stderr: str | None = None
    stdout: str | None = None
    type: Literal["code_execution_result", "bash_code_execution_result"]
    abort_reason: str | None = None
    """Seen in recorded traffic only, null."""


class EncryptedCodeResult(Wire):
    """What a run of code left behind, its output readable by the server only.

    Source: official SDK types, 2026-11.
    """

    content: list[Annotated[CodeOutput | Unknown, Open("type")]] | None = None
    encrypted_stdout: str
    """Opaque; must come back unchanged in later requests."""
    return_code: Int | None = None
    """The exit status of the process."""
    stderr: str | None = None
    type: Literal["encrypted_code_execution_result"]


class FileView(Wire):
    """A file, or a part of one, that the hosted text editor showed.

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
    """Tells that the hosted text editor wrote a file.

    Source: official SDK types, 2026-11. Seen: recorded traffic.
    """

    is_file_update: bool | None = None
    """True when the file was there before."""
    type: Literal["text_editor_code_execution_create_result"]


class FileReplacement(Wire):
    """A replacement that the hosted text editor made, as one hunk of a diff.

    Source: official SDK types, 2026-11. Seen: recorded traffic.
    """

    type: Literal["text_editor_code_execution_str_replace_result"]
    lines: list[str] | None = None
    new_lines: Int | None = None
    new_start: Int | None = None
    old_lines: Int | None = None
    old_start: Int | None = None


class CodeExecutionResultBlock(HostedResultBlock):
    """The result of running code or a shell command.

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
    """The tools that a tool search found.

    Source: official SDK types, 2026-11. Seen: recorded traffic.
    """

    tool_references: list[Annotated[ToolReferenceBlock | Unknown, Open("type")]]
    type: Literal["tool_search_tool_search_result"]


class ToolSearchResultBlock(HostedResultBlock):
    """The result of a search among tools whose loading was deferred.

    Source: official SDK types, 2026-11. Seen: recorded traffic.
    """

    content: Annotated[ToolSearchResult | HostedError | Unknown, Open("type")]
    type: Literal["tool_search_tool_result"]


class Advice(Wire):
    """What the advisor model said.

    Source: official SDK types (beta), 2026-11. Seen: recorded traffic.
    """

    text: str
    type: Literal["advisor_result"]
    stop_reason: str | None = None


class RedactedAdvice(Wire):
    """What the advisor model said, readable by the server only.

    Source: official SDK types (beta), 2026-11. Seen: recorded traffic.
    """

    encrypted_content: str
    """Opaque; must come back unchanged in later requests."""
    type: Literal["advisor_redacted_result"]
    stop_reason: str | None = None


class AdvisorResultBlock(HostedResultBlock):
    """The result of asking the advisor model.

    Source: official SDK types (beta), 2026-11. Seen: recorded traffic.
    """

    content: Annotated[Advice | RedactedAdvice | HostedError | Unknown, Open("type")]
    type: Literal["advisor_tool_result"]


class McpToolUseBlock(Wire):
    """A call of a tool on an MCP server, made by the server.

    Source: official SDK types (beta), 2026-11. Seen: recorded traffic.
    """

    id: str
    input: dict[str, Any]
    name: str
    server_name: str
    type: Literal["mcp_tool_use"]
    cache_control: CacheControl | None = None


class McpToolResultBlock(HostedResultBlock):
    """The result of a tool call on an MCP server.

    Source: official SDK types (beta), 2026-11. Seen: recorded traffic.
    """

    type: Literal["mcp_tool_result"]
    content: str | list[Annotated[TextBlock | Unknown, Open("type")]] | None = None
    is_error: bool | None = None


class McpToolListingBlock(Wire):
    """The tools that an MCP server offered when it was asked.

    Source: official SDK types (beta), 2026-11.
    """

    mcp_server_name: str
    tools: list[McpTool]
    type: Literal["mcp_tool_listing"]


class ContainerUploadBlock(Wire):
    """A file to put into, or taken from, the container where code runs.

    Source: official SDK types, 2026-11. Seen: recorded traffic.
    """

    file_id: str
    type: Literal["container_upload"]
    cache_control: CacheControl | None = None
