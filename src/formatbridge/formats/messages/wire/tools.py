"""Tools and the tool choice. Of the tools that the vendor defines, some run on the server, others on the caller's side.

One class models all dated versions of a tool; it has the fields of all versions.
Source, unless a model names another: official SDK types, 2026-11.
"""

from typing import Annotated, Any, Literal

from formatbridge.formats.messages.wire.content import CacheControl, CitationOptions
from formatbridge.validation.wire_base import Count, Int, Open, Unknown, Wire


class NamedTool(Wire):
    """The fields that all tools with a name have in common."""

    name: str
    """Chosen by the caller in a function tool; fixed by the type, such as ``bash``, in all others."""
    allowed_callers: list[str] | None = None
    """``direct`` (the model), ``code_execution_20250825``, ``code_execution_20260120``, ``code_execution_20260521``."""
    cache_control: CacheControl | None = None
    defer_loading: bool | None = None
    """True: the model can find the tool only through a tool search."""
    strict: bool | None = None
    """True: the arguments follow the schema exactly."""


class ToolSwitch(Wire):
    """The configuration of one tool of a toolset.

    Source: official SDK types, 2026-11; one type per member there.
    """

    defer_loading: bool | None = None
    enabled: bool | None = None


class BashTool(NamedTool):
    """A shell tool that the caller runs.

    Source: official SDK types, 2026-11. Seen: recorded traffic.
    """

    type: Literal["bash_20241022", "bash_20250124"]
    input_examples: list[dict[str, Any]] | None = None


class TextEditorTool(NamedTool):
    """A text editor tool that the caller runs."""

    type: Literal["text_editor_20241022", "text_editor_20250124", "text_editor_20250429", "text_editor_20250728"]
    input_examples: list[dict[str, Any]] | None = None
    max_characters: Count | None = None
    """Maximum number of characters of a viewed file; since 20250728."""


class MemoryTool(NamedTool):
    """A memory tool: a directory of files that the caller stores for the model."""

    type: Literal["memory_20250818"]
    input_examples: list[dict[str, Any]] | None = None


class ComputerTool(NamedTool):
    """A computer tool that the caller runs: screen, mouse and keyboard, as one tool.

    Source: official SDK types (beta), 2026-11.
    """

    display_height_px: Count
    display_width_px: Count
    type: Literal["computer_20241022", "computer_20250124", "computer_20251124"]
    display_number: Int | None = None
    """The X11 display number."""
    enable_zoom: bool | None = None
    """Since 20251124."""
    input_examples: list[dict[str, Any]] | None = None


class ComputerActions(Wire):
    """The configuration of the tools in a computer toolset."""

    cursor_position: ToolSwitch | None = None
    double_click: ToolSwitch | None = None
    hold_key: ToolSwitch | None = None
    key: ToolSwitch | None = None
    left_click: ToolSwitch | None = None
    left_click_drag: ToolSwitch | None = None
    left_mouse_down: ToolSwitch | None = None
    left_mouse_up: ToolSwitch | None = None
    middle_click: ToolSwitch | None = None
    mouse_move: ToolSwitch | None = None
    right_click: ToolSwitch | None = None
    screenshot: ToolSwitch | None = None
    scroll: ToolSwitch | None = None
    triple_click: ToolSwitch | None = None
    type: ToolSwitch | None = None
    wait: ToolSwitch | None = None
    zoom: ToolSwitch | None = None


class ComputerToolset(Wire):
    """A computer toolset that the caller runs, with one tool per action; it has no name."""

    type: Literal["computer_toolset_20260801"]
    cache_control: CacheControl | None = None
    configs: ComputerActions | None = None


class BrowserActions(Wire):
    """The configuration of the tools in a browser toolset."""

    close_tab: ToolSwitch | None = None
    double_click: ToolSwitch | None = None
    file_upload: ToolSwitch | None = None
    find: ToolSwitch | None = None
    form_input: ToolSwitch | None = None
    get_page_text: ToolSwitch | None = None
    hold_key: ToolSwitch | None = None
    hover: ToolSwitch | None = None
    javascript_exec: ToolSwitch | None = None
    key: ToolSwitch | None = None
    left_click: ToolSwitch | None = None
    left_click_drag: ToolSwitch | None = None
    left_mouse_down: ToolSwitch | None = None
    left_mouse_up: ToolSwitch | None = None
    list_tabs: ToolSwitch | None = None
    middle_click: ToolSwitch | None = None
    mouse_move: ToolSwitch | None = None
    navigate: ToolSwitch | None = None
    new_tab: ToolSwitch | None = None
    read_console: ToolSwitch | None = None
    read_network: ToolSwitch | None = None
    read_page: ToolSwitch | None = None
    right_click: ToolSwitch | None = None
    screenshot: ToolSwitch | None = None
    scroll: ToolSwitch | None = None
    scroll_to: ToolSwitch | None = None
    switch_tab: ToolSwitch | None = None
    triple_click: ToolSwitch | None = None
    type: ToolSwitch | None = None
    wait: ToolSwitch | None = None
    zoom: ToolSwitch | None = None


class BrowserToolset(Wire):
    """A browser toolset that the caller runs, with one tool per action; it has no name."""

    type: Literal["browser_toolset_20260801"]
    cache_control: CacheControl | None = None
    configs: BrowserActions | None = None


class CodeExecutionTool(NamedTool):
    """A sandbox in which the server executes code of the model.

    Source: official SDK types, 2026-11. Seen: recorded traffic.
    """

    type: Literal["code_execution_20250522", "code_execution_20250825", "code_execution_20260120", "code_execution_20260521"]


class UserLocation(Wire):
    """The location of the user, for the web search.

    Source: official SDK types, 2026-11. Seen: recorded traffic.
    """

    type: str
    """Currently always ``approximate``."""
    city: str | None = None
    country: str | None = None
    """Two letters, ISO 3166."""
    region: str | None = None
    timezone: str | None = None
    """An IANA name."""


class WebSearchTool(NamedTool):
    """A web search that the server runs.

    Source: official SDK types, 2026-11. Seen: recorded traffic.
    """

    type: Literal["web_search_20250305", "web_search_20260209", "web_search_20260318"]
    allowed_domains: list[str] | None = None
    """Mutually exclusive with ``blocked_domains``."""
    blocked_domains: list[str] | None = None
    max_uses: Count | None = None
    """Maximum number of searches per request."""
    response_inclusion: str | None = None
    """``full`` or ``excluded``; since 20260318."""
    user_location: UserLocation | None = None


class ToolReference(Wire):
    """A tool name."""

    name: str
    type: Literal["tool_reference"]


class UrlRule(Wire):
    """Which results may supply URLs to fetch.

    Source: official SDK types, 2026-11; one type per rule there.
    """

    tools: list[Annotated[ToolReference | Unknown, Open("type")]] | None = None
    """Present when type is ``only`` or ``except``."""
    type: str
    """``all``, ``none``, ``only``, ``except``."""


class UrlSources(Wire):
    """Where a URL must have occurred before the web fetch may use it."""

    client_tool_results: UrlRule | None = None
    server_tool_results: UrlRule | None = None
    user_input: UrlRule | None = None
    """``all`` or ``none`` only."""


class WebFetchTool(NamedTool):
    """A web fetch that the server runs.

    Source: official SDK types, 2026-11. Seen: recorded traffic.
    """

    type: Literal["web_fetch_20250910", "web_fetch_20260209", "web_fetch_20260309", "web_fetch_20260318"]
    allowed_domains: list[str] | None = None
    """Mutually exclusive with ``blocked_domains``."""
    blocked_domains: list[str] | None = None
    citations: CitationOptions | None = None
    max_content_tokens: Count | None = None
    """Approximate maximum of tokens per page."""
    max_uses: Count | None = None
    """Maximum number of fetches per request."""
    response_inclusion: str | None = None
    """``full`` or ``excluded``; since 20260318."""
    url_sources: UrlSources | None = None
    use_cache: bool | None = None
    """Since 20260309."""


class ToolSearchTool(NamedTool):
    """A search among the tools with deferred loading; the server runs it.

    Source: official SDK types, 2026-11. Seen: recorded traffic.
    """

    type: Literal[
        "tool_search_tool_bm25_20251119", "tool_search_tool_bm25", "tool_search_tool_regex_20251119", "tool_search_tool_regex"
    ]


class AdvisorTool(NamedTool):
    """A second model that the model may call for advice.

    Source: official SDK types (beta), 2026-11. Seen: recorded traffic.
    """

    model: str
    type: Literal["advisor_20260301"]
    caching: CacheControl | None = None
    """Caches the input of the advisor; ``cache_control`` is for this definition."""
    max_tokens: Count | None = None
    """Maximum of output tokens per call of the advisor."""
    max_uses: Count | None = None
    """Maximum number of calls per request."""


class McpTool(Wire):
    """A tool of an MCP server, as defined by that server.

    Source: official SDK types (beta), 2026-11.
    """

    input_schema: dict[str, Any]
    name: str
    description: str | None = None


class McpToolset(Wire):
    """The tools of an MCP server in ``mcp_servers``; the toolset has no name.

    Source: official SDK types (beta), 2026-11. Seen: recorded traffic.
    """

    mcp_server_name: str
    type: Literal["mcp_toolset"]
    cache_control: CacheControl | None = None
    configs: dict[str, ToolSwitch | None] | None = None
    """Configurations by tool name."""
    default_config: ToolSwitch | None = None
    tools: list[McpTool] | None = None
    """A fixed list of tools, so that the server does not ask the MCP server for it."""


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
