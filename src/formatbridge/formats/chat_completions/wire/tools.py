"""Tools: definitions, the choice among them, and calls."""

from typing import Annotated, Any, Literal

from formatbridge.formats.chat_completions.wire.content import CacheControl
from formatbridge.formats.chat_completions.wire.reasoning import ExtraContent
from formatbridge.validation.wire_base import Int, Open, Unknown, Wire

_BY_TYPE = Open("type", having={"function": "function"})
"""Seen: recorded traffic, requests and streams that leave ``type`` out."""


class Function(Wire):
    """A function that the model may ask the caller to call.

    Source: specification, Tool; ``strict``: official SDK types, 2026-11.
    """

    name: str
    """1 to 64 letters, digits, underscores and dashes; servers of other vendors take more."""
    description: str | None = None
    parameters: dict[str, Any] | None = None
    """JSON Schema of the arguments. None: it takes none."""
    strict: bool | None = None
    """True: the arguments follow the schema to the letter. None: false."""


class FunctionTool(Wire):
    """The definition of a function.

    Source: specification, Tool.
    """

    function: Function
    type: Literal["function"] | None = None
    cache_control: CacheControl | None = None


class TextInput(Wire):
    """Free text as a custom tool's input; the default.

    Source: official SDK types, 2026-11.
    """

    type: Literal["text"]


class Grammar(Wire):
    """A grammar, in the notation of its syntax.

    Source: official SDK types, 2026-11.
    """

    definition: str
    syntax: str
    """Known: lark, regex."""


class GrammarInput(Wire):
    """Text under a grammar as a custom tool's input.

    Source: official SDK types, 2026-11.
    """

    grammar: Grammar
    type: Literal["grammar"]


class Custom(Wire):
    """A tool whose input is text, not JSON.

    Source: official SDK types, 2026-11.
    """

    name: str
    description: str | None = None
    format: Annotated[TextInput | GrammarInput | Unknown, Open("type")] | None = None


class CustomTool(Wire):
    """The definition of a tool whose input is text.

    Source: official SDK types, 2026-11.
    """

    custom: Custom
    type: Literal["custom"]
    cache_control: CacheControl | None = None


Tool = Annotated[FunctionTool | CustomTool | Unknown, _BY_TYPE]
"""The definition of a tool; servers have kinds of their own."""


class ToolName(Wire):
    """A tool, by its name.

    Source: specification, chat completions request.
    """

    name: str


class FunctionChoice(Wire):
    """The model must call this function.

    Source: specification, chat completions request.
    """

    function: ToolName
    type: Literal["function"] | None = None


class CustomChoice(Wire):
    """The model must call this custom tool.

    Source: official SDK types, 2026-11.
    """

    custom: ToolName
    type: Literal["custom"]


class AllowedTools(Wire):
    """Some of the tools, and whether one of them must be called.

    Source: official SDK types, 2026-11.
    """

    mode: str
    """Known: auto, required."""
    tools: list[dict[str, Any]]
    """Each as in a choice of one: ``{"type": "function", "function": {"name": ...}}``."""


class AllowedToolsChoice(Wire):
    """The model may call, or must call one of, these tools only.

    Source: official SDK types, 2026-11.
    """

    allowed_tools: AllowedTools
    type: Literal["allowed_tools"]


ToolChoice = str | Annotated[FunctionChoice | CustomChoice | AllowedToolsChoice | Unknown, _BY_TYPE]
"""Which tool to call. Known words: none, auto, required; recorded traffic also has any."""


class FunctionCall(Wire):
    """A function's name and the arguments to call it with.

    Source: specification, Tool call.
    """

    arguments: str | dict[str, Any] | None = None
    """JSON text as the model wrote it, not always valid. Some servers leave it out or send the object itself."""
    name: str


class FunctionToolCall(Wire):
    """The model's wish that a function be called.

    Source: specification, Tool call; ``index`` in whole answers, empty and absent ids: recorded traffic.
    """

    id: str | None = None
    function: FunctionCall
    type: Literal["function"] | None = None
    index: Int | None = None
    extra_content: ExtraContent | None = None
    cache_control: CacheControl | None = None


class CustomCall(Wire):
    """A custom tool's name and the text to call it with.

    Source: official SDK types, 2026-11.
    """

    input: str
    name: str


class CustomToolCall(Wire):
    """The model's wish that a custom tool be called.

    Source: official SDK types, 2026-11.
    """

    id: str | None = None
    custom: CustomCall
    type: Literal["custom"]
    index: Int | None = None
    extra_content: ExtraContent | None = None
    cache_control: CacheControl | None = None


ToolCall = Annotated[FunctionToolCall | CustomToolCall | Unknown, _BY_TYPE]
"""The model's wish that a tool be called."""
