"""Tool definitions, tool choice, and tool calls.

Source, unless a model names another: official SDK types, 2026-11.
"""

from typing import Annotated, Any, Literal

from formatbridge.formats.chat_completions.wire.content import CacheControl, ExtraContent
from formatbridge.validation.wire_base import Int, Open, Unknown, Wire

_BY_TYPE = Open("type", having={"function": "function"})
"""The type of a function tool. Seen: recorded traffic, requests and streams without ``type``."""


class Function(Wire):
    """A function that the model may call and the caller runs.

    Source: specification, Tool; ``strict``: official SDK types, 2026-11.
    """

    name: str
    """1 to 64 letters, digits, underscores and dashes at OpenAI; other names are accepted, too."""
    description: str | None = None
    parameters: dict[str, Any] | None = None
    """JSON Schema of the arguments. None: no arguments."""
    strict: bool | None = None
    """True: the arguments follow the schema exactly. None: false."""


class FunctionTool(Wire):
    """The definition of a function.

    Source: specification, Tool.
    """

    function: Function
    type: Literal["function"] | None = None
    cache_control: CacheControl | None = None


class TextInput(Wire):
    """Free text as the input of a custom tool; the default."""

    type: Literal["text"]


class Grammar(Wire):
    """A grammar and its syntax."""

    definition: str
    syntax: str
    """Known: lark, regex."""


class GrammarInput(Wire):
    """Text that follows a grammar as the input of a custom tool."""

    grammar: Grammar
    type: Literal["grammar"]


class Custom(Wire):
    """A tool with text input instead of JSON."""

    name: str
    description: str | None = None
    format: Annotated[TextInput | GrammarInput | Unknown, Open("type")] | None = None


class CustomTool(Wire):
    """The definition of a tool with text input."""

    custom: Custom
    type: Literal["custom"]
    cache_control: CacheControl | None = None


class SearchLocation(Wire):
    """The approximate location of the end user, for OpenRouter's web search.

    Source: openrouter.ai/docs/guides/features/server-tools/web-search; recorded requests.
    """

    type: Literal["approximate"] | None = None
    city: str | None = None
    country: str | None = None
    region: str | None = None
    timezone: str | None = None
    """IANA name."""


class SearchParameters(Wire):
    """Options of OpenRouter's web search.

    Source: OpenRouter's TypeScript SDK, ``models/websearchservertoolconfig.ts``; recorded requests.
    """

    allowed_domains: list[str] | None = None
    excluded_domains: list[str] | None = None
    max_uses: Int | None = None
    search_context_size: str | None = None
    """Known: low, medium, high."""
    user_location: SearchLocation | None = None


class SearchTool(Wire):
    """OpenRouter's web search, which its server runs.

    Source: openrouter.ai/docs/guides/features/server-tools/web-search; recorded requests.
    """

    type: Literal["openrouter:web_search"]
    parameters: SearchParameters | None = None


Tool = Annotated[FunctionTool | CustomTool | SearchTool | Unknown, _BY_TYPE]
"""The definition of a tool; some servers have other types (recorded requests)."""


class ToolName(Wire):
    """A tool name.

    Source: specification, chat completions request.
    """

    name: str


class FunctionChoice(Wire):
    """A choice that makes the model call one function.

    Source: specification, chat completions request.
    """

    function: ToolName
    type: Literal["function"] | None = None


class CustomChoice(Wire):
    """A choice that makes the model call one custom tool."""

    custom: ToolName
    type: Literal["custom"]


class AllowedTools(Wire):
    """The allowed tools, and whether the model must call one of them."""

    mode: str
    """Known: auto, required."""
    tools: list[dict[str, Any]]
    """Each entry has the form of a named choice: ``{"type": "function", "function": {"name": ...}}``."""


class AllowedToolsChoice(Wire):
    """A choice that restricts the model to some tools."""

    allowed_tools: AllowedTools
    type: Literal["allowed_tools"]


ToolChoice = str | Annotated[FunctionChoice | CustomChoice | AllowedToolsChoice | Unknown, _BY_TYPE]
"""Which tools the model may or must call. Known strings: none, auto, required; recorded traffic also has any."""


class FunctionCall(Wire):
    """A function name and its arguments.

    Source: specification, Tool call.
    """

    arguments: str | dict[str, Any] | None = None
    """JSON text from the model, not always valid. Some servers leave it out (recorded traffic); an object is accepted, too."""
    name: str


class FunctionToolCall(Wire):
    """A call of a function by the model.

    Source: specification, Tool call; ``index`` in whole answers, empty and absent ids: recorded traffic.
    """

    id: str | None = None
    function: FunctionCall
    type: Literal["function"] | None = None
    index: Int | None = None
    extra_content: ExtraContent | None = None
    cache_control: CacheControl | None = None


class CustomCall(Wire):
    """A custom tool name and its text input."""

    input: str
    name: str


class CustomToolCall(Wire):
    """A call of a custom tool by the model."""

    id: str | None = None
    custom: CustomCall
    type: Literal["custom"]
    index: Int | None = None
    extra_content: ExtraContent | None = None
    cache_control: CacheControl | None = None


ToolCall = Annotated[FunctionToolCall | CustomToolCall | Unknown, _BY_TYPE]
"""A call of a tool by the model."""
