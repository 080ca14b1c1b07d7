"""Items, the entries of ``input`` and ``output``: those of every conversation, calls of tools that the server ran, and the union of all.

Source, unless a model names another: official SDK types, 2026-11.
"""

from typing import Annotated, Any, Literal

from pydantic import Field

from formatbridge.formats.responses.wire.content import InputPart, Part, ReasoningPart, SummaryPart
from formatbridge.formats.responses.wire.local_items import (
    ApplyPatchCall,
    ApplyPatchCallOutput,
    Caller,
    ComputerCall,
    ComputerCallOutput,
    LocalShellCall,
    LocalShellCallOutput,
    ShellCall,
    ShellCallOutput,
)
from formatbridge.formats.responses.wire.settings import Reasoning, TextConfig
from formatbridge.formats.responses.wire.tools import Tool
from formatbridge.validation.wire_base import Count, Int, Number, Open, Unknown, Wire


class UrlSource(Wire):
    """A web page that a search returned."""

    type: Literal["url"]
    url: str


SearchSource = Annotated[UrlSource | Unknown, Open("type")]
"""The source of a search result."""


class SearchAction(Wire):
    """A search action."""

    type: Literal["search"]
    queries: list[str] | None = None
    query: str | None = None
    """The older form of ``queries``, with one query; OpenAI sends both (recorded traffic)."""
    sources: list[SearchSource] | None = None
    """Present when the request includes ``web_search_call.action.sources``."""


class OpenPageAction(Wire):
    """An action that opens a page."""

    type: Literal["open_page"]
    url: str | None = None


class FindAction(Wire):
    """An action that searches in a page."""

    pattern: str
    type: Literal["find_in_page"]
    url: str | None = None


SearchStep = Annotated[SearchAction | OpenPageAction | FindAction | Unknown, Open("type")]
"""An action of a web search."""


class WebSearchCall(Wire):
    """A web search call; its results are annotations of the text.

    Source: official SDK types, 2026-11. Seen: an answer without ``action``.
    """

    id: str | None = None
    action: SearchStep | None = None
    status: str | None = None
    """``in_progress``, ``searching``, ``completed``, ``incomplete`` or ``failed``."""
    type: Literal["web_search_call"]


class FileSearchResult(Wire):
    """A result of a file search: a chunk of a file.

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
    """A file search call."""

    id: str | None = None
    queries: list[str]
    status: str | None = None
    """``in_progress``, ``searching``, ``completed``, ``incomplete`` or ``failed``."""
    type: Literal["file_search_call"]
    results: list[FileSearchResult] | None = None
    """Present when the request includes ``file_search_call.results``."""


class CodeLogs(Wire):
    """The log output of a code run."""

    logs: str
    type: Literal["logs"]


class CodeImage(Wire):
    """An image that code created."""

    type: Literal["image"]
    url: str


CodeOutput = Annotated[CodeLogs | CodeImage | Unknown, Open("type")]
"""An output of a code run."""


class CodeInterpreterCall(Wire):
    """A call of the code interpreter."""

    id: str | None = None
    code: str | None = None
    container_id: str | None = None
    outputs: list[CodeOutput] | None = None
    """Present when the request includes ``code_interpreter_call.outputs``."""
    status: str | None = None
    """``in_progress``, ``completed``, ``incomplete``, ``interpreting`` or ``failed``."""
    type: Literal["code_interpreter_call"]


class ModerationDetails(Wire):
    """Why moderation blocked an image."""

    categories: list[str] | None = None
    moderation_stage: str | None = None
    """``input``, ``output`` or ``unknown``."""


class ImageError(Wire):
    """Why no image was generated."""

    code: str | None = None
    message: str | None = None
    param: str | None = None
    type: str | None = None
    moderation_details: ModerationDetails | None = None


class SvgUsage(Wire):
    """Token counts of the model that wrote an SVG."""

    input_tokens: Count | None = None
    model: str | None = None
    output_tokens: Count | None = None
    reasoning_tokens: Count | None = None
    total_tokens: Count | None = None


class ImageGenerationCall(Wire):
    """A call of the image generation tool.

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
    """A tool of an MCP server."""

    input_schema: Any = None
    name: str
    annotations: Any = None
    description: str | None = None


class McpListTools(Wire):
    """The list of tools of an MCP server."""

    id: str | None = None
    server_label: str
    tools: list[McpToolInfo]
    type: Literal["mcp_list_tools"]
    error: str | dict[str, Any] | None = None


class McpApprovalRequest(Wire):
    """An MCP tool call that waits for the caller's approval."""

    id: str
    arguments: str
    """JSON text."""
    name: str
    server_label: str
    type: Literal["mcp_approval_request"]


class McpApprovalResponse(Wire):
    """The caller's approval or rejection of an MCP tool call."""

    approval_request_id: str
    approve: bool
    type: Literal["mcp_approval_response"]
    id: str | None = None
    reason: str | None = None


class McpProtocolError(Wire):
    """A protocol error of the MCP server."""

    code: Int
    message: str
    type: Literal["mcp_protocol_error"]


class McpExecutionError(Wire):
    """An error of the MCP tool itself."""

    content: Any
    type: Literal["mcp_tool_execution_error"]


class McpHttpError(Wire):
    """An HTTP error in the connection to the MCP server."""

    code: Int
    """The HTTP status."""
    message: str
    type: Literal["http_error"]


McpError = Annotated[McpProtocolError | McpExecutionError | McpHttpError | Unknown, Open("type")]
"""Why a call of an MCP tool failed."""


class McpCall(Wire):
    """A call of an MCP tool, with its output."""

    id: str | None = None
    arguments: str
    """JSON text."""
    name: str
    server_label: str
    type: Literal["mcp_call"]
    approval_request_id: str | None = None
    error: str | McpError | None = None
    """An object (official SDK types); a string is accepted, too."""
    output: str | None = None
    status: str | None = None
    """``in_progress``, ``completed``, ``incomplete``, ``calling`` or ``failed``."""


class Message(Wire):
    """A message; an item without ``type`` is a message, unless it is an item reference.

    One class models three classes of the vendor: easy input messages, input messages with a status, output messages with an id.
    Source: official SDK types, 2026-11; specification, "Responses-format response", has all fields except ``phase``.
    """

    id: str | None = None
    content: str | list[Part]
    role: Literal["user", "assistant", "system", "developer"]
    status: str | None = None
    """``in_progress``, ``completed`` or ``incomplete``."""
    type: Literal["message"] | None = None
    phase: str | None = None
    """``commentary`` or ``final_answer``; in assistant messages only."""


class ReasoningItem(Wire):
    """A reasoning item: a summary, the reasoning text, or encrypted reasoning.

    The vendor requires ``id`` and ``summary``; recorded requests leave the id out.
    """

    id: str | None = None
    summary: list[SummaryPart] | None = None
    type: Literal["reasoning"]
    content: list[ReasoningPart] | None = None
    encrypted_content: str | None = None
    """Opaque; only the server that created it can read it."""
    status: str | None = None
    """``in_progress``, ``completed`` or ``incomplete``."""


class FunctionCall(Wire):
    """A call of a function by the model."""

    async_: bool | None = Field(default=None, validation_alias="async", serialization_alias="async")
    """``async`` in JSON, which is a Python keyword."""
    arguments: str
    """JSON text; it may be invalid or empty."""
    call_id: str
    """The id that the output refers to; it is not the item's ``id``."""
    name: str
    type: Literal["function_call"]
    id: str | None = None
    caller: Caller | None = None
    namespace: str | None = None
    status: str | None = None
    """``in_progress``, ``completed`` or ``incomplete``."""


class FunctionCallOutput(Wire):
    """The output of a function call."""

    output: str | list[InputPart]
    type: Literal["function_call_output"]
    id: str | None = None
    call_id: str | None = None
    caller: Caller | None = None
    created_by: str | None = None
    """Responses only."""
    name: str | None = None
    namespace: str | None = None
    status: str | None = None
    """``in_progress``, ``completed`` or ``incomplete``."""


class CustomToolCall(Wire):
    """A call of a custom tool by the model.

    Source: official SDK types, 2026-11. Seen: ``status``, in recorded requests and answers.
    """

    async_: bool | None = Field(default=None, validation_alias="async", serialization_alias="async")
    """``async`` in JSON, which is a Python keyword."""
    call_id: str
    input: str
    """Free text, in the format that the tool defines."""
    name: str
    type: Literal["custom_tool_call"]
    id: str | None = None
    caller: Caller | None = None
    namespace: str | None = None
    status: str | None = None


class CustomToolCallOutput(Wire):
    """The output of a custom tool call."""

    call_id: str
    output: str | list[InputPart]
    type: Literal["custom_tool_call_output"]
    id: str | None = None
    caller: Caller | None = None
    status: str | None = None
    """``in_progress``, ``completed`` or ``incomplete``; responses only."""
    created_by: str | None = None
    """Responses only."""


class ToolSearchCall(Wire):
    """A call of the search for tools with deferred loading."""

    arguments: Any = None
    """JSON, not text; always an object in recorded traffic."""
    type: Literal["tool_search_call"]
    id: str | None = None
    call_id: str | None = None
    """None if the server ran the search."""
    execution: str | None = None
    """``server`` or ``client``."""
    status: str | None = None
    """``in_progress``, ``completed`` or ``incomplete``."""
    created_by: str | None = None
    """Responses only."""


class ToolSearchOutput(Wire):
    """The tools that a tool search returned."""

    tools: list[Tool]
    type: Literal["tool_search_output"]
    id: str | None = None
    call_id: str | None = None
    execution: str | None = None
    """``server`` or ``client``."""
    status: str | None = None
    """``in_progress``, ``completed`` or ``incomplete``."""
    created_by: str | None = None
    """Responses only."""


class AdditionalTools(Wire):
    """Tools that are added in the middle of a conversation."""

    role: str | None = None
    """``developer`` in a request; in a response also ``unknown``, ``user``, ``tool`` and others."""
    tools: list[Tool]
    type: Literal["additional_tools"]
    id: str | None = None


class ConfigurationUpdate(Wire):
    """Settings that change in the middle of a conversation."""

    type: Literal["configuration_update"]
    id: str | None = None
    reasoning: Reasoning | None = None
    """Currently only its ``effort``."""
    text: TextConfig | None = None
    """Currently only its ``format``, text or JSON schema."""


class Compaction(Wire):
    """An encrypted summary that replaces the conversation before it."""

    encrypted_content: str
    type: Literal["compaction"]
    id: str | None = None
    created_by: str | None = None
    """Responses only."""


class CompactionTrigger(Wire):
    """An item that triggers a compaction at its position."""

    type: Literal["compaction_trigger"]
    id: str | None = None


class ItemReference(Wire):
    """A reference to an item that the server stores.

    ``type`` may be absent: an object with an id and without role and content is a reference.
    """

    id: str
    type: Literal["item_reference"] | None = None


class Program(Wire):
    """A program of the model that calls tools."""

    id: str
    call_id: str
    code: str
    fingerprint: str
    """Opaque; to be sent back unchanged."""
    type: Literal["program"]


class ProgramOutput(Wire):
    """The output of a program of the model."""

    id: str
    call_id: str
    result: str
    status: str | None = None
    """``completed`` or ``incomplete``."""
    type: Literal["program_output"]


_Member = (
    Message
    | ReasoningItem
    | FunctionCall
    | FunctionCallOutput
    | CustomToolCall
    | CustomToolCallOutput
    | WebSearchCall
    | FileSearchCall
    | CodeInterpreterCall
    | ImageGenerationCall
    | McpListTools
    | McpApprovalRequest
    | McpApprovalResponse
    | McpCall
    | ComputerCall
    | ComputerCallOutput
    | LocalShellCall
    | LocalShellCallOutput
    | ShellCall
    | ShellCallOutput
    | ApplyPatchCall
    | ApplyPatchCallOutput
    | ToolSearchCall
    | ToolSearchOutput
    | AdditionalTools
    | ConfigurationUpdate
    | Compaction
    | CompactionTrigger
    | ItemReference
    | Program
    | ProgramOutput
    | Unknown
)
_TYPE_BY_KEY = {"role": "message", "content": "message", "id": "item_reference"}

Item = Annotated[_Member, Open("type", absent="message", having=_TYPE_BY_KEY)]
"""An entry of ``input``; ``output`` allows fewer types of items and has the same shapes."""

OutputItem = Annotated[_Member, Open("type", absent="message", having=_TYPE_BY_KEY)]
"""An entry of ``output``, where almost all items have a type."""
