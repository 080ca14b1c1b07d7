"""Tools and the tool choice. Of the tools that the vendor defines, most run on the server, some on the caller's computer.

Source, unless a model names another: official SDK types, 2026-11.
"""

from typing import Annotated, Any, Literal

from pydantic import Field

from formatbridge.formats.responses.wire.settings import Reasoning, TextFormat
from formatbridge.validation.wire_base import Count, Number, Open, Unknown, Wire


class DomainSecret(Wire):
    """A secret that the server inserts into requests to one domain."""

    domain: str
    name: str
    value: str


class NetworkDisabled(Wire):
    """No network access."""

    type: Literal["disabled"]


class NetworkAllowlist(Wire):
    """Network access to a list of domains only."""

    allowed_domains: list[str]
    type: Literal["allowlist"]
    domain_secrets: list[DomainSecret] | None = None


NetworkPolicy = Annotated[NetworkDisabled | NetworkAllowlist | Unknown, Open("type")]
"""The network access of a container."""


class SkillReference(Wire):
    """A skill stored on the server."""

    skill_id: str
    type: Literal["skill_reference"]
    version: str | None = None


class SkillArchive(Wire):
    """The files of an inline skill."""

    data: str
    """Base64 of a zip archive."""
    media_type: str
    """Currently only ``application/zip``."""
    type: str
    """Currently only ``base64``."""


class InlineSkill(Wire):
    """A skill sent with the request."""

    description: str
    name: str
    source: SkillArchive
    type: Literal["inline"]


Skill = Annotated[SkillReference | InlineSkill | Unknown, Open("type")]
"""A skill for a hosted container."""


class LocalSkill(Wire):
    """A skill on the caller's computer."""

    description: str
    name: str
    path: str


class AutoContainer(Wire):
    """A container that the server creates for the code interpreter."""

    type: Literal["auto"]
    file_ids: list[str] | None = None
    memory_limit: str | None = None
    """``1g``, ``4g``, ``16g`` or ``64g``."""
    network_policy: NetworkPolicy | None = None


class ShellContainer(Wire):
    """A container that the server creates for the shell tool."""

    type: Literal["container_auto"]
    file_ids: list[str] | None = None
    memory_limit: str | None = None
    """``1g``, ``4g``, ``16g`` or ``64g``."""
    network_policy: NetworkPolicy | None = None
    skills: list[Skill] | None = None


class LocalEnvironment(Wire):
    """The caller's computer; the caller runs the commands."""

    type: Literal["local"]
    skills: list[LocalSkill] | None = None
    """Requests only."""


class ContainerReference(Wire):
    """An existing container."""

    container_id: str
    type: Literal["container_reference"]


CodeContainer = Annotated[AutoContainer | Unknown, Open("type")]
"""The container of the code interpreter, if it is not an id."""

Environment = Annotated[ShellContainer | LocalEnvironment | ContainerReference | Unknown, Open("type")]
"""The environment of the shell tool."""


class UserLocation(Wire):
    """The approximate location of the user, for searches."""

    city: str | None = None
    country: str | None = None
    """Two letters, ISO 3166-1."""
    region: str | None = None
    timezone: str | None = None
    """An IANA name, such as ``Europe/Paris``."""
    type: str | None = None
    """Currently only ``approximate``."""


class SearchFilters(Wire):
    """The sites that a web search may use."""

    allowed_domains: list[str] | None = None
    """Domains, including their subdomains."""


class WebSearchTool(Wire):
    """A web search tool.

    Source: official SDK types, 2026-11. Seen: the last two fields, in recorded answers.
    """

    type: Literal["web_search", "web_search_2025_08_26"]
    external_web_access: bool | None = None
    """False: cached pages only."""
    filters: SearchFilters | None = None
    search_context_size: str | None = None
    """``low``, ``medium`` or ``high``."""
    user_location: UserLocation | None = None
    search_content_types: list[str] | None = None
    return_token_budget: str | None = None
    """Seen: ``default``."""


class WebSearchPreviewTool(Wire):
    """The preview version of the web search tool."""

    type: Literal["web_search_preview", "web_search_preview_2025_03_11"]
    search_content_types: list[str] | None = None
    """``text`` and ``image``."""
    search_context_size: str | None = None
    """``low``, ``medium`` or ``high``."""
    user_location: UserLocation | None = None


class ComparisonFilter(Wire):
    """A condition on one attribute of a file."""

    key: str
    type: Literal["eq", "ne", "gt", "gte", "lt", "lte", "in", "nin"]
    value: str | Number | bool | list[str | Number]


class CompoundFilter(Wire):
    """A combination of conditions; they can be nested."""

    filters: list["FileFilter"]
    type: Literal["and", "or"]


FileFilter = Annotated[ComparisonFilter | CompoundFilter | Unknown, Open("type")]
"""A filter of the files that a search may use."""


class HybridSearch(Wire):
    """The weights of two rankings."""

    embedding_weight: Number
    text_weight: Number


class RankingOptions(Wire):
    """The ranking of search results."""

    hybrid_search: HybridSearch | None = None
    ranker: str | None = None
    """``auto`` or ``default-2024-11-15``."""
    score_threshold: Number | None = None
    """0 to 1."""


class FileSearchTool(Wire):
    """A file search tool."""

    type: Literal["file_search"]
    vector_store_ids: list[str]
    filters: FileFilter | None = None
    max_num_results: Count | None = None
    """1 to 50 on the vendor's servers."""
    ranking_options: RankingOptions | None = None


class CodeInterpreterTool(Wire):
    """A code interpreter: the model writes Python code and the server runs it.

    Source: official SDK types, 2026-11, where ``container`` is required; a tool without it is accepted, too.
    """

    container: str | CodeContainer | None = None
    """A container id, or the definition of a new container."""
    type: Literal["code_interpreter"]
    allowed_callers: list[str] | None = None
    """``direct`` and ``programmatic``."""


class ImageMask(Wire):
    """The mask of an image edit."""

    file_id: str | None = None
    image_url: str | None = None
    """A ``data:`` URL."""


class SvgAuthor(Wire):
    """The model that writes an SVG; only with the output format ``svg``."""

    model: str | None = None
    reasoning: Reasoning | None = None
    """Currently only its ``effort``."""


class ImageGenerationTool(Wire):
    """An image generation tool.

    Source: official SDK types, 2026-11. Seen: ``n``, in recorded answers.
    """

    type: Literal["image_generation"]
    action: str | None = None
    """``generate``, ``edit`` or ``auto``."""
    background: str | None = None
    """``transparent``, ``opaque`` or ``auto``."""
    complexity: str | None = None
    """``low``, ``medium`` or ``high``."""
    frame_count: Count | None = None
    """Frames of a GIF."""
    frame_duration_ms: Count | None = None
    """Milliseconds per frame of a GIF."""
    input_fidelity: str | None = None
    """``high`` or ``low``."""
    input_image_mask: ImageMask | None = None
    model: str | None = None
    moderation: str | None = None
    """``auto`` or ``low``."""
    output_compression: Count | None = None
    """0 to 100 on the vendor's servers."""
    output_format: str | None = None
    """``png``, ``webp``, ``jpeg``, ``gif`` or ``svg``."""
    partial_images: Count | None = None
    """Number of previews in a stream, 0 to 3 on the vendor's servers."""
    quality: str | None = None
    """``low``, ``medium``, ``high``, ``xhigh``, ``max`` or ``auto``."""
    size: str | None = None
    """Width, ``x``, height, in pixels; or ``auto``."""
    svg: SvgAuthor | None = None
    n: Count | None = None


class McpToolFilter(Wire):
    """A filter of the tools of an MCP server."""

    read_only: bool | None = None
    tool_names: list[str] | None = None


class McpApprovalFilter(Wire):
    """The tools that need the caller's approval."""

    always: McpToolFilter | None = None
    never: McpToolFilter | None = None


class McpTool(Wire):
    """The tools of a remote MCP server or a connector."""

    server_label: str
    type: Literal["mcp"]
    allowed_callers: list[str] | None = None
    """``direct`` and ``programmatic``."""
    allowed_tools: list[str] | McpToolFilter | None = None
    authorization: str | None = None
    """An OAuth token; secret."""
    connector_id: str | None = None
    """``connector_dropbox``, ``connector_gmail`` and others; deprecated for models of 2026-09 and later."""
    defer_loading: bool | None = None
    headers: dict[str, str] | None = None
    """Sent to the MCP server; they may hold secrets."""
    require_approval: str | McpApprovalFilter | None = None
    """``always``, the default, ``never``, or a filter."""
    server_description: str | None = None
    server_url: str | None = None
    tunnel_id: str | None = None


class ComputerTool(Wire):
    """A computer tool: the model reads the screen and controls the input."""

    type: Literal["computer"]


class ComputerPreviewTool(Wire):
    """The preview version of the computer tool."""

    display_height: Count
    """Pixels."""
    display_width: Count
    """Pixels."""
    environment: str
    """``windows``, ``mac``, ``linux``, ``ubuntu`` or ``browser``."""
    type: Literal["computer_use_preview"]


class ShellTool(Wire):
    """A shell tool, in a container of the server or on the caller's computer."""

    type: Literal["shell"]
    allowed_callers: list[str] | None = None
    """``direct`` and ``programmatic``."""
    environment: Environment | None = None


class LocalShellTool(Wire):
    """The earlier version of the shell tool, on the caller's computer."""

    type: Literal["local_shell"]


class ApplyPatchTool(Wire):
    """A tool that edits files by diffs, which the caller applies."""

    type: Literal["apply_patch"]
    allowed_callers: list[str] | None = None
    """``direct`` and ``programmatic``."""


class ProgrammaticTool(Wire):
    """A tool that lets the model call tools from a program that it writes."""

    type: Literal["programmatic_tool_calling"]


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
