"""Content blocks of callers and models: text, media, reasoning, tool calls and tool results; their cache marks and citations.

The blocks of server tools, and the union of all blocks, are in ``messages.py``. Citations have the same form in responses and in later
requests. Source, unless a model names another: official SDK types, 2026-11.
"""

from typing import Annotated, Any, Literal

from formatbridge.validation.wire_base import Count, Open, Unknown, Wire


class CacheControl(Wire):
    """A mark that the server may cache the prompt up to and including its object.

    Source: specification, ``cache_control``; official SDK types, 2026-11.
    """

    type: str
    """Currently always ``ephemeral``."""
    ttl: str | None = None
    """``5m`` or ``1h``; None: ``5m``."""


class CitationOptions(Wire):
    """The citation setting of one source."""

    enabled: bool | None = None


class DocumentLocation(Wire):
    """The fields that the three kinds of document locations have in common."""

    cited_text: str | None = None
    document_index: Count | None = None
    """Index among the documents of the whole request, from 0."""
    document_title: str | None = None
    file_id: str | None = None
    """In responses only."""


class CharLocation(DocumentLocation):
    """A range of characters in a plain-text document."""

    start_char_index: Count | None = None
    """From 0."""
    end_char_index: Count | None = None
    """Exclusive."""
    type: Literal["char_location"]


class PageLocation(DocumentLocation):
    """A range of pages in a PDF document."""

    start_page_number: Count | None = None
    """From 1."""
    end_page_number: Count | None = None
    """Exclusive."""
    type: Literal["page_location"]


class ContentBlockLocation(DocumentLocation):
    """A range of blocks in a document with block content."""

    start_block_index: Count | None = None
    """From 0."""
    end_block_index: Count | None = None
    """Exclusive."""
    type: Literal["content_block_location"]


class WebSearchLocation(Wire):
    """A web page from the hosted web search.

    Source: official SDK types, 2026-11. Seen: recorded traffic.
    """

    cited_text: str | None = None
    encrypted_index: str | None = None
    """Opaque; to be sent back unchanged in later requests."""
    title: str | None = None
    type: Literal["web_search_result_location"]
    url: str


class SearchResultLocation(Wire):
    """A range of blocks in a search result that the caller provided."""

    cited_text: str | None = None
    end_block_index: Count | None = None
    """Exclusive."""
    search_result_index: Count | None = None
    """Index among the search results of the whole request, from 0."""
    source: str
    start_block_index: Count | None = None
    """From 0."""
    title: str | None = None
    type: Literal["search_result_location"]


Citation = Annotated[
    CharLocation | PageLocation | ContentBlockLocation | WebSearchLocation | SearchResultLocation | Unknown, Open("type")
]
"""The location of the source of a text."""


class Base64Source(Wire):
    """Base64 data of an image or a PDF."""

    data: str
    """Base64, without a ``data:`` prefix."""
    media_type: str
    """Images: ``image/jpeg``, ``image/png``, ``image/gif``, ``image/webp``. Documents: ``application/pdf``."""
    type: Literal["base64"]


class TextSource(Wire):
    """A document as plain text."""

    data: str
    media_type: str | None = None
    """Currently always ``text/plain``."""
    type: Literal["text"]


class UrlSource(Wire):
    """The URL of an image or a PDF that the server fetches."""

    type: Literal["url"]
    url: str


class FileSource(Wire):
    """An uploaded file."""

    file_id: str
    type: Literal["file"]


class ImageTransformations(Wire):
    """How the server may change an image before the model reads it."""

    oversized_image: str | None = None
    """``downsize`` or ``error``."""


class TextBlock(Wire):
    """A text block.

    Source: specification, Messages-format response; official SDK types, 2026-11.
    """

    text: str
    type: Literal["text"]
    cache_control: CacheControl | None = None
    citations: list[Citation] | None = None


class ImageBlock(Wire):
    """An image in a user message or in a tool result."""

    source: Annotated[Base64Source | UrlSource | FileSource | Unknown, Open("type")]
    type: Literal["image"]
    cache_control: CacheControl | None = None
    transformations: ImageTransformations | None = None


class ContentSource(Wire):
    """A document as a list of blocks; citations refer to the blocks by index."""

    content: str | list[Annotated[TextBlock | ImageBlock | Unknown, Open("type")]]
    type: Literal["content"]


class DocumentBlock(Wire):
    """A document: PDF, plain text, blocks, a URL or an uploaded file.

    The hosted web fetch returns a page as such a block, without the caching and context fields.
    Source: official SDK types, 2026-11. Seen: recorded traffic.
    """

    source: Annotated[Base64Source | TextSource | ContentSource | UrlSource | FileSource | Unknown, Open("type")]
    type: Literal["document"]
    cache_control: CacheControl | None = None
    citations: CitationOptions | None = None
    context: str | None = None
    """The model reads it but does not cite it."""
    title: str | None = None


class SearchResultBlock(Wire):
    """A result of a search by the caller, which the model can cite."""

    content: list[Annotated[TextBlock | Unknown, Open("type")]]
    source: str
    """The source of the result: a URL or another name."""
    title: str
    type: Literal["search_result"]
    cache_control: CacheControl | None = None
    citations: CitationOptions | None = None


class ThinkingBlock(Wire):
    """Reasoning of the model.

    Source: official SDK types, 2026-11. Seen: recorded traffic, also with empty text and a signature.
    """

    signature: str | None = None
    """Opaque; the vendor rejects a changed one (anthropics/anthropic-sdk-python#1598). Relays leave it out (fixture reasoning_unsigned)."""
    thinking: str
    type: Literal["thinking"]


class RedactedThinkingBlock(Wire):
    """Redacted reasoning, which only the server can read."""

    data: str
    """Opaque; to be sent back unchanged."""
    type: Literal["redacted_thinking"]


class DirectCaller(Wire):
    """The caller type of a tool call by the model itself.

    Source: official SDK types, 2026-11. Seen: recorded traffic.
    """

    type: Literal["direct"]


class CodeCaller(Wire):
    """The caller type of a tool call by code in a hosted tool.

    Source: official SDK types, 2026-11. Seen: recorded traffic.
    """

    tool_id: str | None = None
    """Id of the ``server_tool_use`` block that runs the code."""
    type: Literal["code_execution_20250825", "code_execution_20260120"]


Caller = Annotated[DirectCaller | CodeCaller | Unknown, Open("type")]
"""The caller of a tool: the model or code."""


class ToolUseBlock(Wire):
    """A call of a tool that the caller runs.

    Source: official SDK types, 2026-11. Seen: recorded traffic, with ids of any form.
    """

    id: str
    input: dict[str, Any]
    """An object, even without arguments. In a stream the start has ``{}`` and deltas have the JSON text."""
    name: str
    type: Literal["tool_use"]
    cache_control: CacheControl | None = None
    caller: Caller | None = None
    toolset_name: str | None = None
    """The toolset of the called tool; absent in the 2023-06-01 version."""


class ToolReferenceBlock(Wire):
    """The name of a tool, in the result of a tool search."""

    tool_name: str
    type: Literal["tool_reference"]
    cache_control: CacheControl | None = None


class BrowserTab(Wire):
    """One open tab of a browser."""

    tab_id: str
    title: str
    url: str
    active: bool | None = None


class TabOpened(Wire):
    """A browser event: a tab has opened."""

    tab_id: str
    type: Literal["tab_opened"]


class Download(Wire):
    """The state of a download in the browser.

    Source: official SDK types, 2026-11; one type per state there.
    """

    download_id: str
    type: Literal["download_started", "download_completed", "download_failed"]
    url: str
    path: str | None = None
    size_bytes: Count | None = None
    error: str | None = None


class BrowserStateBlock(Wire):
    """The state of the browser after a tool call, in the result of the call."""

    tabs: list[BrowserTab]
    type: Literal["browser_state"]
    cache_control: CacheControl | None = None
    state_changes: list[Annotated[TabOpened | Download | Unknown, Open("type")]] | None = None


ResultBlock = Annotated[
    TextBlock | ImageBlock | SearchResultBlock | DocumentBlock | ToolReferenceBlock | BrowserStateBlock | Unknown, Open("type")
]
"""A block of a tool result."""


class ToolResultBlock(Wire):
    """The result of a tool call, in the user message that follows the call.

    Source: official SDK types, 2026-11. Seen: recorded traffic.
    """

    tool_use_id: str
    type: Literal["tool_result"]
    cache_control: CacheControl | None = None
    content: str | list[ResultBlock] | None = None
    is_error: bool | None = None
    toolset_name: str | None = None
    """The same value as in the call."""
