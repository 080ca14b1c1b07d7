"""Function tools, the tool choice, and the union of all tools.

Tools that the vendor defines are in ``hosted_tools.py``.

Source, unless a model names another: official SDK types, 2026-11.
"""

from typing import Annotated, Any, Literal

from formatbridge.formats.messages.wire.hosted_tools import (
    AdvisorTool,
    BashTool,
    BrowserToolset,
    CodeExecutionTool,
    ComputerTool,
    ComputerToolset,
    McpToolset,
    MemoryTool,
    NamedTool,
    TextEditorTool,
    ToolSearchTool,
    WebFetchTool,
    WebSearchTool,
)
from formatbridge.validation.wire_base import Open, Unknown, Wire


class FunctionTool(NamedTool):
    """A tool that the caller defines and runs.

    Source: specification, POST /v1/messages ``tools``; official SDK types, 2026-11.
    """

    input_schema: dict[str, Any]
    """A JSON Schema of an object."""
    description: str | None = None
    eager_input_streaming: bool | None = None
    input_examples: list[dict[str, Any]] | None = None
    type: Literal["custom"] | None = None
    """``custom``, absent or null, which are equivalent."""


Tool = Annotated[
    FunctionTool
    | BashTool
    | CodeExecutionTool
    | BrowserToolset
    | MemoryTool
    | ComputerTool
    | ComputerToolset
    | TextEditorTool
    | WebSearchTool
    | WebFetchTool
    | AdvisorTool
    | ToolSearchTool
    | McpToolset
    | Unknown,
    Open("type", absent="custom"),
]
"""A tool definition; one without a type is a ``FunctionTool``."""


class AutoChoice(Wire):
    """A choice that lets the model decide whether to call tools.

    Source: official SDK types, 2026-11. Seen: recorded traffic.
    """

    type: Literal["auto"]
    disable_parallel_tool_use: bool | None = None
    """True: at most one call."""


class AnyChoice(Wire):
    """A choice that makes the model call at least one tool."""

    type: Literal["any"]
    disable_parallel_tool_use: bool | None = None
    """True: exactly one call."""


class NamedChoice(Wire):
    """A choice that makes the model call one specific tool.

    Source: specification, POST /v1/messages ``tool_choice``; official SDK types, 2026-11.
    """

    name: str
    type: Literal["tool"] | None = None
    """The specification shows the name alone; the vendor requires the type."""
    disable_parallel_tool_use: bool | None = None
    """True: exactly one call."""


class NoChoice(Wire):
    """A choice that forbids tool calls."""

    type: Literal["none"]


ToolChoice = Annotated[AutoChoice | AnyChoice | NamedChoice | NoChoice | Unknown, Open("type", absent="tool")]
"""Which tools the model may or must call."""
