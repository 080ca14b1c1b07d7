"""Content blocks that a caller and a model exchange themselves: text, media, reasoning, tool calls and their results.

What the server's own tools add stands in ``hosted_content.py``; the union of all blocks in ``messages.py``.
"""

from typing import Annotated, Any, Literal

from formatbridge.formats.messages.wire.cache import CacheControl
from formatbridge.formats.messages.wire.citations import Citation, CitationOptions
from formatbridge.validation.wire_base import Count, Open, Unknown, Wire


class Base64Source(Wire):
    """Bytes in the body itself.

    Source: official SDK types, 2026-11.
    """

    data: str
    """Base64, without a ``data:`` prefix."""
    media_type: str
    """Images: ``image/jpeg``, ``image/png``, ``image/gif``, ``image/webp``. Documents: ``application/pdf``."""
    type: Literal["base64"]


class TextSource(Wire):
    """A document given as plain text.

    Source: official SDK types, 2026-11.
    """

    data: str
    media_type: str | None = None
    """Today always ``text/plain``."""
    type: Literal["text"]


class UrlSource(Wire):
    """An image or a PDF that the server fetches.

    Source: official SDK types, 2026-11.
    """

    type: Literal["url"]
    url: str


class FileSource(Wire):
    """A file uploaded before.

    Source: official SDK types, 2026-11.
    """

    file_id: str
    type: Literal["file"]


class ImageTransformations(Wire):
    """What the server may do to an image before the model sees it.

    Source: official SDK types, 2026-11.
    """

    oversized_image: str | None = None
    """``downsize`` or ``error``."""


class TextBlock(Wire):
    """A piece of text.

    Source: specification, Messages-format response; official SDK types, 2026-11.
    """

    text: str
    type: Literal["text"]
    cache_control: CacheControl | None = None
    citations: list[Citation] | None = None


class ImageBlock(Wire):
    """An image in a turn of the user or in a tool result.

    Source: official SDK types, 2026-11.
    """

    source: Annotated[Base64Source | UrlSource | FileSource | Unknown, Open("type")]
    type: Literal["image"]
    cache_control: CacheControl | None = None
    transformations: ImageTransformations | None = None


class ContentSource(Wire):
    """A document given as blocks, which citations then count.

    Source: official SDK types, 2026-11.
    """

    content: str | list[Annotated[TextBlock | ImageBlock | Unknown, Open("type")]]
    type: Literal["content"]


class DocumentBlock(Wire):
    """A document: PDF, plain text, blocks, an address or an uploaded file.

    The hosted web fetch returns the page it read as one of these, without the caching and context fields.
    Source: official SDK types, 2026-11. Seen: recorded traffic.
    """

    source: Annotated[
        Base64Source | TextSource | ContentSource | UrlSource | FileSource | Unknown,
        Open("type"),
    ]
    type: Literal["document"]
    cache_control: CacheControl | None = None
    citations: CitationOptions | None = None
    context: str | None = None
    """Shown to the model, never cited."""
    title: str | None = None


class SearchResultBlock(Wire):
    """One result of a search that the caller made, citable.

    Source: official SDK types, 2026-11.
    """

    content: list[Annotated[TextBlock | Unknown, Open("type")]]
    source: str
    """Where it comes from: an address or any other name."""
    title: str
    type: Literal["search_result"]
    cache_control: CacheControl | None = None
    citations: CitationOptions | None = None


class ThinkingBlock(Wire):
    """Reasoning text of the model.

    Source: official SDK types, 2026-11. Seen: recorded traffic, also with empty text beside a signature.
    """

    signature: str | None = None
    """Opaque; the vendor wants it back unchanged and refuses the block without it. Other servers leave it out."""
    thinking: str
    type: Literal["thinking"]


class RedactedThinkingBlock(Wire):
    """Reasoning that only the server can read.

    Source: official SDK types, 2026-11.
    """

    data: str
    """Opaque; must come back unchanged."""
    type: Literal["redacted_thinking"]


class DirectCaller(Wire):
    """Says that the model itself made a tool call.

    Source: official SDK types, 2026-11. Seen: recorded traffic.
    """

    type: Literal["direct"]


class CodeCaller(Wire):
    """Says that code run by a hosted tool made a tool call.

    Source: official SDK types, 2026-11. Seen: recorded traffic.
    """

    tool_id: str | None = None
    """Id of the ``server_tool_use`` block that runs the code."""
    type: Literal["code_execution_20250825", "code_execution_20260120"]


Caller = Annotated[DirectCaller | CodeCaller | Unknown, Open("type")]
"""Who made a tool call."""


class ToolUseBlock(Wire):
    """A call of one of the caller's tools.

    Source: official SDK types, 2026-11. Seen: recorded traffic, with ids of any shape.
    """

    id: str
    input: dict[str, Any]
    """An object even without arguments. In a stream the opening block has ``{}`` and the text follows in deltas."""
    name: str
    type: Literal["tool_use"]
    cache_control: CacheControl | None = None
    caller: Caller | None = None
    toolset_name: str | None = None
    """The toolset that the called tool belongs to; absent in the 2023-06-01 dialect."""


class ToolReferenceBlock(Wire):
    """The name of a tool, in the result of a tool search.

    Source: official SDK types, 2026-11.
    """

    tool_name: str
    type: Literal["tool_reference"]
    cache_control: CacheControl | None = None


class BrowserTab(Wire):
    """One open tab of a browser.

    Source: official SDK types, 2026-11.
    """

    tab_id: str
    title: str
    url: str
    active: bool | None = None


class TabOpened(Wire):
    """Tells that a tab opened.

    Source: official SDK types, 2026-11.
    """

    tab_id: str
    type: Literal["tab_opened"]


class Download(Wire):
    """Tells how a download is going.

    Source: official SDK types, 2026-11; one type per state there.
    """

    download_id: str
    type: Literal["download_started", "download_completed", "download_failed"]
    url: str
    path: str | None = None
    size_bytes: Count | None = None
    error: str | None = None


class BrowserStateBlock(Wire):
    """What a browser shows after a tool call, in the call's result.

    Source: official SDK types, 2026-11.
    """

    tabs: list[BrowserTab]
    type: Literal["browser_state"]
    cache_control: CacheControl | None = None
    state_changes: list[Annotated[TabOpened | Download | Unknown, Open("type")]] | None = None


ResultBlock = Annotated[
    TextBlock | ImageBlock | SearchResultBlock | DocumentBlock | ToolReferenceBlock | BrowserStateBlock | Unknown,
    Open("type"),
]
"""What a tool result may hold."""


class ToolResultBlock(Wire):
    """The result of a tool call, in the turn of the user that follows it.

    Source: official SDK types, 2026-11. Seen: recorded traffic.
    """

    tool_use_id: str
    type: Literal["tool_result"]
    cache_control: CacheControl | None = None
    content: str | list[ResultBlock] | None = None
    is_error: bool | None = None
    toolset_name: str | None = None
    """Repeats that of the call."""
