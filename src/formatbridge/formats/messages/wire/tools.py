"""The caller's own tools, the choice among tools, and the union of every kind of tool.

Tools that the vendor defines stand in ``hosted_tools.py``.
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
    """May be absent or null, which says the same."""


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
"""A tool offered to the model; one without a type is a ``FunctionTool``."""


class AutoChoice(Wire):
    """Lets the model decide whether to call tools.

    Source: official SDK types, 2026-11. Seen: recorded traffic.
    """

    type: Literal["auto"]
    disable_parallel_tool_use: bool | None = None
    """True: one call at most."""


class AnyChoice(Wire):
    """Makes the model call some tool.

    Source: official SDK types, 2026-11.
    """

    type: Literal["any"]
    disable_parallel_tool_use: bool | None = None
    """True: exactly one call."""


class NamedChoice(Wire):
    """Makes the model call one tool.

    Source: specification, POST /v1/messages ``tool_choice``; official SDK types, 2026-11.
    """

    name: str
    type: Literal["tool"] | None = None
    """The specification shows a choice with a name alone, the vendor wants the type."""
    disable_parallel_tool_use: bool | None = None
    """True: exactly one call."""


class NoChoice(Wire):
    """Keeps the model from calling tools.

    Source: official SDK types, 2026-11.
    """

    type: Literal["none"]


ToolChoice = Annotated[AutoChoice | AnyChoice | NamedChoice | NoChoice | Unknown, Open("type", absent="tool")]
"""Which tools the model may or must call."""
