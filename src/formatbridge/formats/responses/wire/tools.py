"""Tools that the caller defines, the union of all tools, and the choice among them."""

from typing import Annotated, Any, Literal

from pydantic import Field

from formatbridge.formats.responses.wire.hosted_tools import (
    ApplyPatchTool,
    CodeInterpreterTool,
    ComputerPreviewTool,
    ComputerTool,
    FileSearchTool,
    ImageGenerationTool,
    LocalShellTool,
    McpTool,
    ProgrammaticTool,
    ShellTool,
    WebSearchPreviewTool,
    WebSearchTool,
)
from formatbridge.formats.responses.wire.settings import TextFormat
from formatbridge.validation.wire_base import Open, Unknown, Wire


class FunctionTool(Wire):
    """A function that the caller runs.

    The vendor requires ``parameters`` and ``strict`` and takes null for both; recorded requests leave them out.
    Source: official SDK types, 2026-11; specification, "POST /v1/responses", leaves tools open.
    """

    async_: bool | None = Field(default=None, validation_alias="async", serialization_alias="async")
    """Spelled ``async`` on the wire, which is no Python name. True: the model goes on without the result."""
    name: str
    parameters: dict[str, Any] | None = None
    strict: bool | None = None
    """Absent counts as true at the vendor, unlike in chat completions."""
    type: Literal["function"]
    allowed_callers: list[str] | None = None
    """``direct`` and ``programmatic``."""
    defer_loading: bool | None = None
    """True: found by tool search, not shown at once."""
    description: str | None = None
    output_schema: dict[str, Any] | None = None


class Grammar(Wire):
    """A grammar that a custom tool's input follows.

    Source: official SDK types, 2026-11.
    """

    definition: str
    syntax: str
    """``lark`` or ``regex``."""
    type: Literal["grammar"]


CustomFormat = Annotated[TextFormat | Grammar | Unknown, Open("type")]
"""What a custom tool's input looks like."""


class CustomTool(Wire):
    """A tool of the caller that takes free text, not JSON.

    Source: official SDK types, 2026-11.
    """

    async_: bool | None = Field(default=None, validation_alias="async", serialization_alias="async")
    """Spelled ``async`` on the wire, which is no Python name."""
    name: str
    type: Literal["custom"]
    allowed_callers: list[str] | None = None
    """``direct`` and ``programmatic``."""
    defer_loading: bool | None = None
    description: str | None = None
    format: CustomFormat | None = None


NamespaceMember = Annotated[FunctionTool | CustomTool | Unknown, Open("type")]
"""A tool inside a namespace."""


class NamespaceTool(Wire):
    """Tools of the caller under a common name.

    Source: official SDK types, 2026-11.
    """

    description: str | None = None
    name: str
    tools: list[NamespaceMember]
    type: Literal["namespace"]


class ToolSearchTool(Wire):
    """A search through the tools whose loading is deferred.

    Source: official SDK types, 2026-11.
    """

    type: Literal["tool_search"]
    description: str | None = None
    execution: str | None = None
    """``server`` or ``client``."""
    parameters: dict[str, Any] | None = None
    """The search's own arguments, when the client runs it."""


Tool = Annotated[
    FunctionTool
    | CustomTool
    | NamespaceTool
    | ToolSearchTool
    | WebSearchTool
    | WebSearchPreviewTool
    | FileSearchTool
    | CodeInterpreterTool
    | ImageGenerationTool
    | McpTool
    | ComputerTool
    | ComputerPreviewTool
    | ShellTool
    | LocalShellTool
    | ApplyPatchTool
    | ProgrammaticTool
    | Unknown,
    Open("type"),
]
"""Any tool: the caller's own or one that the server runs."""


class FunctionChoice(Wire):
    """The model must call this function; the name stands flat, unlike in chat completions.

    Source: official SDK types, 2026-11.
    """

    name: str
    type: Literal["function"]


class CustomChoice(Wire):
    """The model must call this custom tool.

    Source: official SDK types, 2026-11.
    """

    name: str
    type: Literal["custom"]


class McpChoice(Wire):
    """The model must use this MCP server.

    Source: official SDK types, 2026-11.
    """

    server_label: str
    type: Literal["mcp"]
    name: str | None = None
    """None: any tool of the server."""


class AllowedTools(Wire):
    """The model may choose among these tools alone.

    Source: official SDK types, 2026-11.
    """

    mode: str
    """``auto`` or ``required``."""
    tools: list[dict[str, Any]]
    """Each names a tool: ``type`` with ``name`` or ``server_label``."""
    type: Literal["allowed_tools"]


class HostedChoice(Wire):
    """The model must use this tool of the server; the type says all.

    Source: official SDK types, 2026-11.
    """

    type: Literal[
        "file_search",
        "web_search",
        "web_search_preview",
        "web_search_preview_2025_03_11",
        "computer",
        "computer_use",
        "computer_use_preview",
        "image_generation",
        "code_interpreter",
        "programmatic_tool_calling",
        "apply_patch",
        "shell",
    ]


ToolChoice = Annotated[FunctionChoice | CustomChoice | McpChoice | AllowedTools | HostedChoice | Unknown, Open("type")]
"""A choice with more to say than ``none``, ``auto`` or ``required``."""
