"""Content blocks of Anthropic Messages: texts, images, documents and search results.

``decode_inner_media`` and ``simplify_content`` are here alone: documents contain blocks, and a text may replace a list of blocks.
"""

from __future__ import annotations

import base64
from collections.abc import Callable, Container
from dataclasses import replace
from typing import Literal, assert_never

from formatbridge import ir
from formatbridge.formats.messages.citations import decode_citations
from formatbridge.formats.messages.holds import drop_unheld
from formatbridge.formats.shared.held_fields import drop_field
from formatbridge.formats.shared.media import PDF, as_stored_file, read_text_data
from formatbridge.formats.shared.parts import (
    CACHE_CONTROL,
    COMMON_IMAGES,
    decode_cache_and_extra,
    decode_cache_control,
    encode_cache_control,
    encode_mime,
    encode_opaque,
    image_type,
    known_mime,
)
from formatbridge.formats.shared.unmodelled_fields import merge_extra, read_extra
from formatbridge.jsontext.types import JsonObject
from formatbridge.report.ledger import Ledger

_TEXT = frozenset({"type", "text", "citations"})
_MEDIA = frozenset({"type", "source"})
_DOCUMENT = _MEDIA | {"title"}
_SOURCES = {
    "base64": frozenset({"type", "media_type", "data"}),
    "text": frozenset({"type", "media_type", "data"}),
    "url": frozenset({"type", "url"}),
    "file": frozenset({"type", "file_id"}),
}
"""Types of the source of an image or a document to the keys that the decoder reads."""

# Source: the official SDK, ``CacheControlEphemeral.ttl``: 5m or 1h. Of the longer ones of OpenAI, 1h is the nearest.
_TTLS = {None: None, "5m": "5m", "1h": "1h", "30m": "1h", "12h": "1h"}
"""Cache durations of all formats to those of this format. Any other becomes ``1h``."""

_SEVERITY: dict[str, Literal["info", "lossy", "impossible"]] = {
    "container_upload": "impossible",
    # Without the summary, everything before it is lost. ``fallback`` only names a model.
    # Source: the official SDK, beta types, ``BetaCompactionBlock`` and ``BetaFallbackBlock``.
    "compaction": "impossible",
    "fallback": "info",
}
"""Types of blocks to the severity of losing one. For any other it is ``lossy``."""

SYSTEM_BLOCK_KINDS = frozenset({"text"})
"""The types of blocks that a system prompt and a system message accept."""
_IN_DOCUMENT = "/source/content/"
_INNER_KINDS = frozenset({"image"})
"""The types of blocks in a document that become separate parts."""


def decode_content(content: str | list[JsonObject] | None, src: str, kinds: Container[str] | None = None) -> list[ir.Part]:
    """Decode content: a string, blocks, or null. ``kinds``: the types of blocks that are accepted there, all if None."""
    if isinstance(content, str):
        return [ir.Text(content, src)]
    parts: list[ir.Part] = []
    for index, raw in enumerate(content or ()):
        block_src = f"{src}/{index}"
        parts.append(decode_part(raw, block_src, kinds))
        if raw.get("type") == "document" and kinds is None:
            parts += decode_inner_media(raw, block_src)
    return parts


def encode_content(parts: list[ir.Part], losses: Ledger) -> list[JsonObject]:
    """Encode the parts of a user turn, a tool result or an instruction as blocks. Images in a document of blocks stay in it."""
    blocks: list[JsonObject] = []
    documents: set[str] = set()  # the pointers of documents of blocks; the parts of their images follow them
    for part in parts:
        kept: ir.Part | None = part
        if type(part) is ir.Opaque and part.label == "document" and part.format == "messages":
            documents.add(part.src)
            kept = _document_with(part, {each.src for each in parts}, losses)
        elif documents and part.src.rpartition(_IN_DOCUMENT)[0] in documents:
            continue
        block = encode_part(kept, losses) if kept is not None else None
        if block is not None:
            blocks.append(block)
    return blocks


def _document_with(document: ir.Opaque, parts: Container[str], losses: Ledger) -> ir.Part | None:
    """Return a document of blocks with the images that are still among the parts; its title as a text if that leaves no block.

    ``parts``: the pointers of the parts.
    """
    source = document.raw["source"]
    blocks = source.get("content")
    if isinstance(blocks, str) or source.get("type") != "content":
        return document
    kept = [
        block
        for index, block in enumerate(blocks)
        if block.get("type") not in _INNER_KINDS or f"{document.src}{_IN_DOCUMENT}{index}" in parts
    ]
    if len(kept) == len(blocks):
        return document
    if not kept:
        return encode_opaque(document, losses) if document.text else None
    return replace(document, raw=document.raw | {"source": source | {"content": kept}})


def simplify_content(blocks: list[JsonObject]) -> str | list[JsonObject]:
    """Return a single text without other fields as a string, other blocks unchanged."""
    # "Using a `string` for `content` is shorthand for an array of one content block" (official SDK, ``messages``).
    if len(blocks) == 1 and len(blocks[0]) == 2 and "text" in blocks[0]:  # the other field is the type
        text: str = blocks[0]["text"]
        return text
    return blocks


def decode_part(raw: JsonObject, src: str, kinds: Container[str] | None = None) -> ir.Part:
    """Decode a content block. A block of an unknown type, or of none of ``kinds``, becomes an opaque part and is not validated."""
    kind = raw.get("type")
    decode = DECODE_PART.get(kind) if isinstance(kind, str) and (kinds is None or kind in kinds) else None
    return decode(raw, src) if decode else decode_unknown(raw, src)


def encode_part(part: ir.Part, losses: Ledger) -> JsonObject | None:
    """Encode a part of a user turn, a tool result or an instruction as a block; None if the part is dropped."""
    match part:
        case ir.Text():
            return encode_text(part, losses)
        case ir.Media():
            return _encode_media(part, losses)
        case ir.Refusal():
            return _encode_refusal(part, losses)
        case ir.Opaque(format="messages", raw=dict(block)):
            return block
        case ir.Opaque() | ir.Hosted():
            text = encode_opaque(part, losses)
            return encode_text(text, losses) if text else None
        case ir.Reasoning() | ir.ToolCall() | ir.ToolResult():
            losses.dropped(part, code="orphan", severity="impossible")
            return None
        case _:
            assert_never(part)


def decode_unknown(raw: JsonObject, src: str, text: str | None = None) -> ir.Opaque:
    """Decode a block that no other format has as an opaque part. ``text`` replaces it in other formats."""
    label = str(raw.get("type"))
    return ir.Opaque(format="messages", raw=raw, label=label, text=text, severity=_SEVERITY.get(label, "lossy"), src=src)


def _decode_as_text(raw: JsonObject, src: str, text: str, content: str | list[JsonObject] = "", pointer: str = "") -> ir.Opaque:
    """Decode a block that text can replace as an opaque part, with its cache mark.

    If the block has no cache mark, the last mark of the texts in its ``content`` counts. ``pointer``: that of the content in the block.
    """
    part = decode_unknown(raw, src, text)
    part.cache = decode_cache_control(raw, src)
    for index, block in enumerate(content if part.cache is None and not isinstance(content, str) else ()):
        if block.get("type") == "text":
            part.cache = decode_cache_control(block, f"{src}/{pointer}/{index}") or part.cache
    return part


def supported_ttl(ttl: str | None) -> str | None:
    """Return the cache duration, or the next longer one that this format has."""
    return _TTLS.get(ttl, "1h")


def encode_cache(mark: ir.CacheMark, losses: Ledger) -> JsonObject:
    """Encode a cache mark as the field ``cache_control``."""
    drop_unheld(mark, losses)
    return encode_cache_control(mark, supported_ttl(mark.ttl), losses)


def _decode_text(raw: JsonObject, src: str) -> ir.Part:
    citations = raw.get("citations")
    decoded = decode_citations(citations, f"{src}/citations") if citations else None
    cache, extra = decode_cache_and_extra(raw, _TEXT, src, CACHE_CONTROL)
    return ir.Text(raw["text"], src, extra, decoded, cache=cache)


def encode_text(part: ir.Text, losses: Ledger) -> JsonObject | None:
    """Encode a text of a request as a block; None for a blank text, which the server rejects."""
    text = part.text
    drop_unheld(part, losses)
    # "text content blocks must contain non-whitespace text" (anthropics/claude-code#23440).
    if not text or text.isspace():
        losses.changed(part, "text", "", "empty")
        # "cache_control cannot be set for empty text blocks" (anthropics/claude-code#62379).
        losses.dropped(part.cache, code="empty")
        return None
    block: JsonObject = {"type": "text", "text": text}
    return block if part.cache is None else block | encode_cache(part.cache, losses)


def _encode_refusal(part: ir.Refusal, losses: Ledger) -> JsonObject | None:
    """Encode a refusal as a ``text`` block."""
    drop_unheld(part, losses)
    block = {"type": "text", "text": part.text}
    losses.changed(part, "", block, "flattened")
    return block if part.text.strip() else None


def _decode_image(raw: JsonObject, src: str) -> ir.Part:
    source = raw["source"]
    if source.get("type") not in ("base64", "url", "file"):
        return decode_unknown(raw, src)
    fields, unread = _decode_source(source)
    cache, extra = decode_cache_and_extra(raw, _MEDIA, src, CACHE_CONTROL)
    media = ir.Media(
        kind="image",
        mime=fields.get("media_type"),
        data=fields.get("data"),
        url=fields.get("url"),
        file_id=fields.get("file_id"),
        vendor="anthropic",
        cache=cache,
        src=src,
        extra=merge_extra(extra, unread) if unread else extra,
    )
    return as_stored_file(media)


def _encode_image(part: ir.Media, losses: Ledger) -> JsonObject | None:
    if part.filename is not None:
        drop_field(part, "filename", losses)
    mime = image_type(encode_mime(part, losses) or "") if part.mime is not None else ""
    data = {"type": "base64", "media_type": mime, "data": part.data} if mime in COMMON_IMAGES else None
    source = _encode_remote_source(part) or data
    return {"type": "image", "source": source} if source else None


def _decode_document(raw: JsonObject, src: str) -> ir.Part:
    source = raw["source"]
    kind = source.get("type")
    if kind == "content":
        title = raw.get("title")
        # No other format has a document of blocks, so its texts replace it (fixture document_citable).
        text = _joined_texts(source["content"])
        return _decode_as_text(raw, src, f"{title}\n{text}" if title else text, source["content"], "source/content")
    if kind not in ("base64", "text", "url", "file"):
        return decode_unknown(raw, src)
    fields, unread = _decode_source(source)
    data = fields.get("data")
    if kind == "text":
        # Canonical media have base64 data. Only this format has a source with plain text (official SDK, ``PlainTextSourceParam``).
        data = base64.b64encode(fields["data"].encode()).decode()
    cache, extra = decode_cache_and_extra(raw, _DOCUMENT, src, CACHE_CONTROL)
    media = ir.Media(
        kind="document",
        mime=fields.get("media_type") or ("text/plain" if kind == "text" else None),
        data=data,
        url=fields.get("url"),
        file_id=fields.get("file_id"),
        vendor="anthropic",
        filename=raw.get("title"),
        cache=cache,
        src=src,
        extra=merge_extra(extra, unread) if unread else extra,
    )
    return as_stored_file(media)


def _encode_document(part: ir.Media, losses: Ledger) -> JsonObject | None:
    source = _encode_remote_source(part) or _encode_document_source(part, losses)
    if source is None:
        return None
    title = {} if part.filename is None else {"title": part.filename}
    return {"type": "document", "source": source} | title


def decode_inner_media(raw: JsonObject, src: str) -> list[ir.Part]:
    """Decode the images in a document of blocks, which text cannot replace. Their parts follow that of the document."""
    source = raw["source"]
    blocks = source["content"] if source.get("type") == "content" else ""
    if isinstance(blocks, str):
        return []
    return [
        decode_part(block, f"{src}{_IN_DOCUMENT}{index}", _INNER_KINDS)
        for index, block in enumerate(blocks)
        if block.get("type") != "text"
    ]


def _decode_source(source: JsonObject) -> tuple[JsonObject, JsonObject | None]:
    """Return the fields of the source of an image or a document that the decoder reads, and the unread fields."""
    known = _SOURCES[source["type"]]
    if known.issuperset(source):
        return source, None
    return {key: source[key] for key in known if key in source}, read_extra(source, known, "source/")


def _encode_video(part: ir.Media, losses: Ledger) -> JsonObject | None:
    """Encode a video for a server that has blocks of them. Anthropic's has none."""
    media = losses.dialect.media if losses.dialect is not None else None
    if media is None or media.isdisjoint({"video_url", "video_data"}):
        return None
    drop_field(part, "filename", losses)
    mime = encode_mime(part, losses) or ""
    data = {"type": "base64", "media_type": mime, "data": part.data} if mime.startswith("video/") else None
    source = _encode_remote_source(part) or data
    return {"type": "video", "source": source} if source else None


def _encode_remote_source(part: ir.Media) -> JsonObject | None:
    if part.file_id is not None:
        return {"type": "file", "file_id": part.file_id}
    return {"type": "url", "url": part.url} if part.url is not None else None


def _encode_document_source(part: ir.Media, losses: Ledger) -> JsonObject | None:
    """Encode the source of a document with data: a PDF as base64, text as a string; None for any other media type."""
    data = part.data or ""
    mime = known_mime(part) or ""
    # Source: the official SDK, ``Base64PDFSourceParam`` and ``PlainTextSourceParam``.
    if mime == PDF:
        encode_mime(part, losses)
        return {"type": "base64", "media_type": PDF, "data": data}
    if not mime.startswith("text/"):
        return None
    text = read_text_data(data, part.mime or "")
    if text is None:
        return None
    losses.changed(part, "mime", "text/plain", severity="info")
    return {"type": "text", "media_type": "text/plain", "data": text}


def _decode_search_result(raw: JsonObject, src: str) -> ir.Part:
    text = f"{raw['title']} ({raw['source']})\n{_joined_texts(raw['content'])}"
    return _decode_as_text(raw, src, text, raw["content"], "content")


def _decode_tool_reference(raw: JsonObject, src: str) -> ir.Part:
    return _decode_as_text(raw, src, raw["tool_name"])


def _joined_texts(content: str | list[JsonObject]) -> str:
    if isinstance(content, str):
        return content
    return "\n".join(block["text"] for block in content if block.get("type") == "text")


def _encode_media(part: ir.Media, losses: Ledger) -> JsonObject | None:
    # "Files are scoped to the workspace of the API key" (platform.claude.com/docs/en/build-with-claude/files).
    if part.file_id is not None and part.vendor != "anthropic":
        losses.dropped(part, code="foreign_id")
        return None
    encode = _ENCODE_MEDIA.get(_media_kind(part))
    block = encode(part, losses) if encode else None
    if block is None:
        losses.dropped(part, code="unsupported_media")
        return None
    drop_unheld(part, losses)
    return block if part.cache is None else block | encode_cache(part.cache, losses)


def _media_kind(part: ir.Media) -> str:
    """Return the type of block for media, by the media type if it is known. From a URL the server reads only images and PDF
    (official SDK, ``URLImageSourceParam`` and ``URLPDFSourceParam``).
    """
    mime = known_mime(part)
    if mime == PDF:
        return "document"
    if part.kind == "video":
        return part.kind
    # A URL without an extension may be of either type, so the kind of the source decides.
    if part.url is None or mime is None:
        return part.kind
    return "image" if mime in COMMON_IMAGES or image_type(mime) in COMMON_IMAGES else "other"


DECODE_PART: dict[str, Callable[[JsonObject, str], ir.Part]] = {
    "text": _decode_text,
    "image": _decode_image,
    "document": _decode_document,
    "search_result": _decode_search_result,
    "tool_reference": _decode_tool_reference,
}
"""Types of blocks to their decoders."""


_ENCODE_MEDIA: dict[str, Callable[[ir.Media, Ledger], JsonObject | None]] = {
    "image": _encode_image,
    "document": _encode_document,
    "video": _encode_video,
}
