"""Tools that the vendor defines: most run on the server, some on the caller's machine."""

from typing import Annotated, Literal

from formatbridge.formats.responses.wire.containers import CodeContainer, Environment
from formatbridge.formats.responses.wire.settings import Reasoning
from formatbridge.validation.wire_base import Count, Number, Open, Unknown, Wire


class UserLocation(Wire):
    """Roughly where the user is, for searches.

    Source: official SDK types, 2026-11.
    """

    city: str | None = None
    country: str | None = None
    """Two letters, ISO 3166-1."""
    region: str | None = None
    timezone: str | None = None
    """An IANA name, such as ``Europe/Paris``."""
    type: str | None = None
    """Today only ``approximate``."""


class SearchFilters(Wire):
    """Which sites a web search may use.

    Source: official SDK types, 2026-11.
    """

    allowed_domains: list[str] | None = None
    """Subdomains count in."""


class WebSearchTool(Wire):
    """A web search.

    Source: official SDK types, 2026-11. Seen: the last two fields, in recorded answers.
    """

    type: Literal["web_search", "web_search_2025_08_26"]
    external_web_access: bool | None = None
    """False: cached pages alone."""
    filters: SearchFilters | None = None
    search_context_size: str | None = None
    """``low``, ``medium`` or ``high``."""
    user_location: UserLocation | None = None
    search_content_types: list[str] | None = None
    return_token_budget: str | None = None
    """``default`` has been seen."""


class WebSearchPreviewTool(Wire):
    """The web search as it was first offered.

    Source: official SDK types, 2026-11.
    """

    type: Literal["web_search_preview", "web_search_preview_2025_03_11"]
    search_content_types: list[str] | None = None
    """``text`` and ``image``."""
    search_context_size: str | None = None
    """``low``, ``medium`` or ``high``."""
    user_location: UserLocation | None = None


class ComparisonFilter(Wire):
    """A condition on one attribute of a file.

    Source: official SDK types, 2026-11.
    """

    key: str
    type: Literal["eq", "ne", "gt", "gte", "lt", "lte", "in", "nin"]
    value: str | Number | bool | list[str | Number]


class CompoundFilter(Wire):
    """Conditions joined; they nest.

    Source: official SDK types, 2026-11.
    """

    filters: list["FileFilter"]
    type: Literal["and", "or"]


FileFilter = Annotated[ComparisonFilter | CompoundFilter | Unknown, Open("type")]
"""Which files a search may use."""


class HybridSearch(Wire):
    """How much each of two rankings counts.

    Source: official SDK types, 2026-11.
    """

    embedding_weight: Number
    text_weight: Number


class RankingOptions(Wire):
    """How found files are ranked.

    Source: official SDK types, 2026-11.
    """

    hybrid_search: HybridSearch | None = None
    ranker: str | None = None
    """``auto`` or ``default-2024-11-15``."""
    score_threshold: Number | None = None
    """0 to 1."""


class FileSearchTool(Wire):
    """A search through uploaded files.

    Source: official SDK types, 2026-11.
    """

    type: Literal["file_search"]
    vector_store_ids: list[str]
    filters: FileFilter | None = None
    max_num_results: Count | None = None
    """1 to 50 at the vendor."""
    ranking_options: RankingOptions | None = None


class CodeInterpreterTool(Wire):
    """Python code that the model writes and the server runs.

    The vendor requires ``container``; other servers take the bare tool.
    Source: official SDK types, 2026-11.
    """

    container: str | CodeContainer | None = None
    """A container's id, or how to make one."""
    type: Literal["code_interpreter"]
    allowed_callers: list[str] | None = None
    """``direct`` and ``programmatic``."""


class ImageMask(Wire):
    """The mask of an image edit.

    Source: official SDK types, 2026-11.
    """

    file_id: str | None = None
    image_url: str | None = None
    """A ``data:`` URL."""


class SvgAuthor(Wire):
    """The model that writes an SVG; only with the output format ``svg``.

    Source: official SDK types, 2026-11.
    """

    model: str | None = None
    reasoning: Reasoning | None = None
    """Today only its ``effort``."""


class ImageGenerationTool(Wire):
    """An image generator.

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
    """0 to 100 at the vendor."""
    output_format: str | None = None
    """``png``, ``webp``, ``jpeg``, ``gif`` or ``svg``."""
    partial_images: Count | None = None
    """0 to 3 at the vendor: previews sent while streaming."""
    quality: str | None = None
    """``low``, ``medium``, ``high``, ``xhigh``, ``max`` or ``auto``."""
    size: str | None = None
    """Width, ``x``, height, in pixels; or ``auto``."""
    svg: SvgAuthor | None = None
    n: Count | None = None


class McpToolFilter(Wire):
    """A selection among the tools of an MCP server.

    Source: official SDK types, 2026-11.
    """

    read_only: bool | None = None
    tool_names: list[str] | None = None


class McpApprovalFilter(Wire):
    """Which tools need the caller's approval.

    Source: official SDK types, 2026-11.
    """

    always: McpToolFilter | None = None
    never: McpToolFilter | None = None


class McpTool(Wire):
    """The tools of a remote MCP server or a connector.

    Source: official SDK types, 2026-11.
    """

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
    """A computer whose screen the model reads and whose input it drives.

    Source: official SDK types, 2026-11.
    """

    type: Literal["computer"]


class ComputerPreviewTool(Wire):
    """The computer tool as it was first offered.

    Source: official SDK types, 2026-11.
    """

    display_height: Count
    """Pixels."""
    display_width: Count
    """Pixels."""
    environment: str
    """``windows``, ``mac``, ``linux``, ``ubuntu`` or ``browser``."""
    type: Literal["computer_use_preview"]


class ShellTool(Wire):
    """A shell, in a container of the server or on the caller's machine.

    Source: official SDK types, 2026-11.
    """

    type: Literal["shell"]
    allowed_callers: list[str] | None = None
    """``direct`` and ``programmatic``."""
    environment: Environment | None = None


class LocalShellTool(Wire):
    """A shell on the caller's machine, as it was first offered.

    Source: official SDK types, 2026-11.
    """

    type: Literal["local_shell"]


class ApplyPatchTool(Wire):
    """Edits of files by diff; the caller applies them.

    Source: official SDK types, 2026-11.
    """

    type: Literal["apply_patch"]
    allowed_callers: list[str] | None = None
    """``direct`` and ``programmatic``."""


class ProgrammaticTool(Wire):
    """Lets the model call tools from a program that it writes.

    Source: official SDK types, 2026-11.
    """

    type: Literal["programmatic_tool_calling"]
