"""Tools that the caller defines, the union of all tools, and the tool choice.

Source, unless a model names another: official SDK types, 2026-11.
"""

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

    The vendor requires ``parameters`` and ``strict`` but accepts null; recorded requests leave them out.
    Source: official SDK types, 2026-11; specification, "POST /v1/responses", does not define the tools.
    """

    async_: bool | None = Field(default=None, validation_alias="async", serialization_alias="async")
    """``async`` in JSON, which is a Python keyword. True: the model continues without the result."""
    name: str
    parameters: dict[str, Any] | None = None
    strict: bool | None = None
    """None: the server "attempts to use strict validation" (official SDK, ``NamespaceTool``), unlike in chat completions."""
    type: Literal["function"]
    allowed_callers: list[str] | None = None
    """``direct`` and ``programmatic``."""
    defer_loading: bool | None = None
    """True: the model finds it by tool search only."""
    description: str | None = None
    output_schema: dict[str, Any] | None = None


class Grammar(Wire):
    """A grammar that a custom tool's input follows."""

    definition: str
    syntax: str
    """``lark`` or ``regex``."""
    type: Literal["grammar"]


CustomFormat = Annotated[TextFormat | Grammar | Unknown, Open("type")]
"""The format of a custom tool's input."""


class CustomTool(Wire):
    """A tool of the caller with free text input instead of JSON."""

    async_: bool | None = Field(default=None, validation_alias="async", serialization_alias="async")
    """``async`` in JSON, which is a Python keyword."""
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
    """A group of tools of the caller under a common name."""

    description: str | None = None
    name: str
    tools: list[NamespaceMember]
    type: Literal["namespace"]


class ToolSearchTool(Wire):
    """A search among the tools with deferred loading."""

    type: Literal["tool_search"]
    description: str | None = None
    execution: str | None = None
    """``server`` or ``client``."""
    parameters: dict[str, Any] | None = None
    """JSON Schema of the search's arguments, if the client runs it."""


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
"""Any tool, run by the caller or by the server."""


class FunctionChoice(Wire):
    """A choice that makes the model call one function; ``name`` is at the top level, unlike in chat completions."""

    name: str
    type: Literal["function"]


class CustomChoice(Wire):
    """A choice that makes the model call one custom tool."""

    name: str
    type: Literal["custom"]


class McpChoice(Wire):
    """A choice that makes the model use one MCP server."""

    server_label: str
    type: Literal["mcp"]
    name: str | None = None
    """None: any tool of the server."""


class AllowedTools(Wire):
    """A choice that restricts the model to some tools."""

    mode: str
    """``auto`` or ``required``."""
    tools: list[dict[str, Any]]
    """Each entry names a tool: ``type`` with ``name`` or ``server_label``."""
    type: Literal["allowed_tools"]


class HostedChoice(Wire):
    """A choice that makes the model use one hosted tool, which ``type`` names."""

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
"""A tool choice other than the strings ``none``, ``auto`` and ``required``."""
