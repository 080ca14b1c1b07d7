"""Calls of tools that the server ran itself: searches, code, images, MCP."""

from typing import Annotated, Any, Literal

from formatbridge.validation.wire_base import Count, Int, Number, Open, Unknown, Wire


class UrlSource(Wire):
    """A page that a search found.

    Source: official SDK types, 2026-11.
    """

    type: Literal["url"]
    url: str


SearchSource = Annotated[UrlSource | Unknown, Open("type")]
"""What a search found."""


class SearchAction(Wire):
    """A web search.

    Source: official SDK types, 2026-11.
    """

    type: Literal["search"]
    queries: list[str] | None = None
    query: str | None = None
    """The older, single form of ``queries``; servers send both."""
    sources: list[SearchSource] | None = None
    """Present when the request includes ``web_search_call.action.sources``."""


class OpenPageAction(Wire):
    """The opening of a page.

    Source: official SDK types, 2026-11.
    """

    type: Literal["open_page"]
    url: str | None = None


class FindAction(Wire):
    """A search inside a page.

    Source: official SDK types, 2026-11.
    """

    pattern: str
    type: Literal["find_in_page"]
    url: str | None = None


SearchStep = Annotated[SearchAction | OpenPageAction | FindAction | Unknown, Open("type")]
"""What a web search did."""


class WebSearchCall(Wire):
    """One step of a web search; what it found shows up as annotations of the text.

    Source: official SDK types, 2026-11. Seen: an answer without ``action``.
    """

    id: str | None = None
    action: SearchStep | None = None
    status: str | None = None
    """``in_progress``, ``searching``, ``completed``, ``incomplete`` or ``failed``."""
    type: Literal["web_search_call"]


class FileSearchResult(Wire):
    """A piece of a file that a search found.

    Source: official SDK types, 2026-11. Seen: ``vector_store_id``, in recorded answers.
    """

    attributes: dict[str, Any] | None = None
    file_id: str | None = None
    filename: str | None = None
    score: Number | None = None
    """0 to 1."""
    text: str | None = None
    vector_store_id: str | None = None


class FileSearchCall(Wire):
    """A search through uploaded files.

    Source: official SDK types, 2026-11.
    """

    id: str | None = None
    queries: list[str]
    status: str | None = None
    """``in_progress``, ``searching``, ``completed``, ``incomplete`` or ``failed``."""
    type: Literal["file_search_call"]
    results: list[FileSearchResult] | None = None
    """Present when the request includes ``file_search_call.results``."""


class CodeLogs(Wire):
    """What a run of code printed.

    Source: official SDK types, 2026-11.
    """

    logs: str
    type: Literal["logs"]


class CodeImage(Wire):
    """An image that a run of code made.

    Source: official SDK types, 2026-11.
    """

    type: Literal["image"]
    url: str


CodeOutput = Annotated[CodeLogs | CodeImage | Unknown, Open("type")]
"""What a run of code gave back."""


class CodeInterpreterCall(Wire):
    """A run of code in a container.

    Source: official SDK types, 2026-11.
    """

    id: str | None = None
    code: str | None = None
    container_id: str | None = None
    outputs: list[CodeOutput] | None = None
    """Present when the request includes ``code_interpreter_call.outputs``."""
    status: str | None = None
    """``in_progress``, ``completed``, ``incomplete``, ``interpreting`` or ``failed``."""
    type: Literal["code_interpreter_call"]


class ModerationDetails(Wire):
    """Why moderation stopped an image.

    Source: official SDK types, 2026-11.
    """

    categories: list[str] | None = None
    moderation_stage: str | None = None
    """``input``, ``output`` or ``unknown``."""


class ImageError(Wire):
    """Why no image was made.

    Source: official SDK types, 2026-11.
    """

    code: str | None = None
    message: str | None = None
    param: str | None = None
    type: str | None = None
    moderation_details: ModerationDetails | None = None


class SvgUsage(Wire):
    """Tokens of the model that wrote an SVG.

    Source: official SDK types, 2026-11.
    """

    input_tokens: Count | None = None
    model: str | None = None
    output_tokens: Count | None = None
    reasoning_tokens: Count | None = None
    total_tokens: Count | None = None


class ImageGenerationCall(Wire):
    """A generated image.

    Source: official SDK types, 2026-11. Seen: ``prompt``, in recorded answers.
    """

    id: str | None = None
    result: str | None = None
    """The image, in base64."""
    status: str | None = None
    """``in_progress``, ``completed``, ``generating`` or ``failed``."""
    type: Literal["image_generation_call"]
    action: str | None = None
    """``generate``, ``edit`` or ``auto``."""
    background: str | None = None
    """``transparent``, ``opaque`` or ``auto``."""
    error: ImageError | None = None
    output_format: str | None = None
    """``png``, ``webp``, ``jpeg``, ``gif`` or ``svg``."""
    quality: str | None = None
    """``low``, ``medium``, ``high``, ``xhigh``, ``max`` or ``auto``."""
    revised_prompt: str | None = None
    size: str | None = None
    """Width, ``x``, height, in pixels."""
    svg_usage: SvgUsage | None = None
    prompt: str | None = None


class McpToolInfo(Wire):
    """A tool that an MCP server offers.

    Source: official SDK types, 2026-11.
    """

    input_schema: Any = None
    name: str
    annotations: Any = None
    description: str | None = None


class McpListTools(Wire):
    """The tools that an MCP server offers.

    Source: official SDK types, 2026-11.
    """

    id: str | None = None
    server_label: str
    tools: list[McpToolInfo]
    type: Literal["mcp_list_tools"]
    error: str | dict[str, Any] | None = None


class McpApprovalRequest(Wire):
    """A call that waits for the caller's approval.

    Source: official SDK types, 2026-11.
    """

    id: str
    arguments: str
    """JSON as text."""
    name: str
    server_label: str
    type: Literal["mcp_approval_request"]


class McpApprovalResponse(Wire):
    """The caller's approval or refusal.

    Source: official SDK types, 2026-11.
    """

    approval_request_id: str
    approve: bool
    type: Literal["mcp_approval_response"]
    id: str | None = None
    reason: str | None = None


class McpProtocolError(Wire):
    """The MCP server answered with a protocol error.

    Source: official SDK types, 2026-11.
    """

    code: Int
    message: str
    type: Literal["mcp_protocol_error"]


class McpExecutionError(Wire):
    """The tool ran and failed.

    Source: official SDK types, 2026-11.
    """

    content: Any
    type: Literal["mcp_tool_execution_error"]


class McpHttpError(Wire):
    """The MCP server could not be reached.

    Source: official SDK types, 2026-11.
    """

    code: Int
    """An HTTP status."""
    message: str
    type: Literal["http_error"]


McpError = Annotated[McpProtocolError | McpExecutionError | McpHttpError | Unknown, Open("type")]
"""Why a call of an MCP tool failed."""


class McpCall(Wire):
    """A call of an MCP tool, with its result.

    Source: official SDK types, 2026-11.
    """

    id: str | None = None
    arguments: str
    """JSON as text."""
    name: str
    server_label: str
    type: Literal["mcp_call"]
    approval_request_id: str | None = None
    error: str | McpError | None = None
    """Text in the vendor's older answers."""
    output: str | None = None
    status: str | None = None
    """``in_progress``, ``completed``, ``incomplete``, ``calling`` or ``failed``."""
