"""Tools that the vendor defines: some run by the server, some by the caller in a shape the model knows.

One class serves all dated versions of a tool; it has the fields of every version.
"""

from typing import Annotated, Any, Literal

from formatbridge.formats.messages.wire.cache import CacheControl
from formatbridge.formats.messages.wire.citations import CitationOptions
from formatbridge.validation.wire_base import Count, Int, Open, Unknown, Wire


class NamedTool(Wire):
    """What all tools that have a name have in common.

    Source: official SDK types, 2026-11.
    """

    name: str
    """The caller's own word in a function tool; fixed by the type, such as ``bash``, in all others."""
    allowed_callers: list[str] | None = None
    """``direct`` (the model), ``code_execution_20250825``, ``code_execution_20260120``, ``code_execution_20260521``."""
    cache_control: CacheControl | None = None
    defer_loading: bool | None = None
    """True: the model learns of the tool through a tool search only."""
    strict: bool | None = None
    """True: calls are held to the schema."""


class ToolSwitch(Wire):
    """Switches one member of a toolset.

    Source: official SDK types, 2026-11; one type per member there.
    """

    defer_loading: bool | None = None
    enabled: bool | None = None


class BashTool(NamedTool):
    """A shell that the caller runs.

    Source: official SDK types, 2026-11. Seen: recorded traffic.
    """

    type: Literal["bash_20241022", "bash_20250124"]
    input_examples: list[dict[str, Any]] | None = None


class TextEditorTool(NamedTool):
    """A text editor that the caller runs.

    Source: official SDK types, 2026-11.
    """

    type: Literal["text_editor_20241022", "text_editor_20250124", "text_editor_20250429", "text_editor_20250728"]
    input_examples: list[dict[str, Any]] | None = None
    max_characters: Count | None = None
    """Longest view of a file, in characters; since 20250728."""


class MemoryTool(NamedTool):
    """A folder of notes that the caller keeps for the model.

    Source: official SDK types, 2026-11.
    """

    type: Literal["memory_20250818"]
    input_examples: list[dict[str, Any]] | None = None


class ComputerTool(NamedTool):
    """A screen, a mouse and a keyboard that the caller controls, as one tool.

    Source: official SDK types (beta), 2026-11.
    """

    display_height_px: Count
    display_width_px: Count
    type: Literal["computer_20241022", "computer_20250124", "computer_20251124"]
    display_number: Int | None = None
    """The X11 display."""
    enable_zoom: bool | None = None
    """Since 20251124."""
    input_examples: list[dict[str, Any]] | None = None


class ComputerActions(Wire):
    """The switches of the actions in a computer toolset.

    Source: official SDK types, 2026-11.
    """

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
    """A screen, a mouse and a keyboard that the caller controls, one tool per action; it has no name.

    Source: official SDK types, 2026-11.
    """

    type: Literal["computer_toolset_20260801"]
    cache_control: CacheControl | None = None
    configs: ComputerActions | None = None


class BrowserActions(Wire):
    """The switches of the actions in a browser toolset.

    Source: official SDK types, 2026-11.
    """

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
    """A browser that the caller controls, one tool per action; it has no name.

    Source: official SDK types, 2026-11.
    """

    type: Literal["browser_toolset_20260801"]
    cache_control: CacheControl | None = None
    configs: BrowserActions | None = None


class CodeExecutionTool(NamedTool):
    """A sandbox in which the server runs the model's code.

    Source: official SDK types, 2026-11. Seen: recorded traffic.
    """

    type: Literal[
        "code_execution_20250522",
        "code_execution_20250825",
        "code_execution_20260120",
        "code_execution_20260521",
    ]


class UserLocation(Wire):
    """Where the user is, for the web search.

    Source: official SDK types, 2026-11. Seen: recorded traffic.
    """

    type: str
    """Today always ``approximate``."""
    city: str | None = None
    country: str | None = None
    """Two letters, ISO 3166."""
    region: str | None = None
    timezone: str | None = None
    """An IANA name."""


class WebSearchTool(NamedTool):
    """A web search that the server makes.

    Source: official SDK types, 2026-11. Seen: recorded traffic.
    """

    type: Literal["web_search_20250305", "web_search_20260209", "web_search_20260318"]
    allowed_domains: list[str] | None = None
    """Excludes ``blocked_domains``."""
    blocked_domains: list[str] | None = None
    max_uses: Count | None = None
    """Searches per request."""
    response_inclusion: str | None = None
    """``full`` or ``excluded``; since 20260318."""
    user_location: UserLocation | None = None


class ToolReference(Wire):
    """A tool, by its name.

    Source: official SDK types, 2026-11.
    """

    name: str
    type: Literal["tool_reference"]


class UrlRule(Wire):
    """Which results may supply addresses to fetch.

    Source: official SDK types, 2026-11; one type per rule there.
    """

    tools: list[Annotated[ToolReference | Unknown, Open("type")]] | None = None
    """Present when type is ``only`` or ``except``."""
    type: str
    """``all``, ``none``, ``only``, ``except``."""


class UrlSources(Wire):
    """Where an address must have come up before the web fetch may use it.

    Source: official SDK types, 2026-11.
    """

    client_tool_results: UrlRule | None = None
    server_tool_results: UrlRule | None = None
    user_input: UrlRule | None = None
    """``all`` or ``none`` only."""


class WebFetchTool(NamedTool):
    """A fetch of web pages that the server makes.

    Source: official SDK types, 2026-11. Seen: recorded traffic.
    """

    type: Literal["web_fetch_20250910", "web_fetch_20260209", "web_fetch_20260309", "web_fetch_20260318"]
    allowed_domains: list[str] | None = None
    """Excludes ``blocked_domains``."""
    blocked_domains: list[str] | None = None
    citations: CitationOptions | None = None
    max_content_tokens: Count | None = None
    """Tokens per page, roughly."""
    max_uses: Count | None = None
    """Fetches per request."""
    response_inclusion: str | None = None
    """``full`` or ``excluded``; since 20260318."""
    url_sources: UrlSources | None = None
    use_cache: bool | None = None
    """Since 20260309."""


class ToolSearchTool(NamedTool):
    """A search, run by the server, among the tools whose loading is deferred.

    Source: official SDK types, 2026-11. Seen: recorded traffic.
    """

    type: Literal[
        "tool_search_tool_bm25_20251119",
        "tool_search_tool_bm25",
        "tool_search_tool_regex_20251119",
        "tool_search_tool_regex",
    ]


class AdvisorTool(NamedTool):
    """A second model that the answering model may ask.

    Source: official SDK types (beta), 2026-11. Seen: recorded traffic.
    """

    model: str
    type: Literal["advisor_20260301"]
    caching: CacheControl | None = None
    """Caches what the advisor reads; ``cache_control`` marks the definition."""
    max_tokens: Count | None = None
    """Tokens per answer of the advisor."""
    max_uses: Count | None = None
    """Calls per request."""


class McpTool(Wire):
    """A tool of an MCP server, as that server defines it.

    Source: official SDK types (beta), 2026-11.
    """

    input_schema: dict[str, Any]
    name: str
    description: str | None = None


class McpToolset(Wire):
    """The tools of one of the request's MCP servers; it has no name of its own.

    Source: official SDK types (beta), 2026-11. Seen: recorded traffic.
    """

    mcp_server_name: str
    type: Literal["mcp_toolset"]
    cache_control: CacheControl | None = None
    configs: dict[str, ToolSwitch | None] | None = None
    """By tool name."""
    default_config: ToolSwitch | None = None
    tools: list[McpTool] | None = None
    """Pins the tools, so that the server need not be asked."""
