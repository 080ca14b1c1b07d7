"""Content parts of Chat Completions: texts, images, audio, video, files and refusals.

Two functions each encode and decode cache marks: those of OpenAI on parts, and those of Anthropic, which compatible servers accept
(``docs/dialects.md``, ``cache_marks``).
"""

from __future__ import annotations

import base64
from collections.abc import Callable, Sequence
from typing import TypeGuard, assert_never

from formatbridge import ir
from formatbridge.dialect import DocumentPart
from formatbridge.formats.chat_completions.holds import drop_unheld
from formatbridge.formats.shared.held_fields import drop_field, put_in
from formatbridge.formats.shared.media import (
    PDF,
    as_stored_file,
    bare_mime,
    default_filename,
    guess_mime,
    is_address,
    media_kind,
    read_data_url,
    read_file_data,
    sniff_mime,
    write_data_url,
)
from formatbridge.formats.shared.parts import (
    COMMON_IMAGES,
    decode_cache_and_extra,
    decode_cache_control,
    encode_cache_breakpoint,
    encode_cache_control,
    encode_mime,
    encode_opaque,
    encode_user_content,
    is_read_image,
    known_mime,
)
from formatbridge.formats.shared.unmodelled_fields import merge_extra, read_extra
from formatbridge.jsontext.codec import dumps
from formatbridge.jsontext.types import JsonObject
from formatbridge.report.ledger import Ledger

# Source: the official SDK, ``InputAudio.format``: wav or mp3.
_AUDIO_FORMATS = {"audio/wav": "wav", "audio/x-wav": "wav", "audio/wave": "wav", "audio/mpeg": "mp3", "audio/mp3": "mp3"}
# Source: the official SDK, ``ImageURL.detail``.
_DETAILS = frozenset({"auto", "low", "high", "original"})
_CONTROL_TTLS = {"30m": "1h", "12h": "1h"}
"""Cache durations of this format to the nearest one of Messages. Others stay."""

_TEXT, _IMAGE, _AUDIO, _FILE = (frozenset({"type", kind}) for kind in ("text", "image_url", "input_audio", "file"))
_IMAGE_URL = frozenset({"url", "detail"})
_VIDEO = frozenset({"type", "video_url", "cache_control"})
_DOCUMENT_URL = frozenset({"type", "document_url", "document_name"})
_FILE_URL = frozenset({"type", "file_url", "file_name"})
_TYPE_AND_TEXT = frozenset({"type", "text"})
_REFUSAL = frozenset({"type", "refusal"})
_THINKING = frozenset({"type", "thinking"})
_SAMPLES = frozenset({"audio/l16", "audio/pcm"})
"""Media types of audio without a container."""


def decode_content(content: str | list[JsonObject] | JsonObject | None, src: str) -> list[ir.Part]:
    """Decode content: a text, a list of parts, null, or an object in place of its JSON text."""
    if isinstance(content, str):
        return [ir.Text(content, src)]
    # Cloudflare's servers answer a JSON schema with an object (fixture content_object).
    if isinstance(content, dict):
        return [ir.Text(dumps(content).decode(), src)]
    parts: list[ir.Part] = []
    for index, part in enumerate(content or ()):
        parts.append(decode_part(part, f"{src}/{index}"))
    return parts


def encode_content(parts: Sequence[ir.Part], losses: Ledger) -> str | list[JsonObject]:
    """Encode the parts of a user message or an instruction. A single text becomes a string."""
    return encode_user_content(parts, encode_part, losses)


def decode_part(raw: JsonObject, src: str) -> ir.Part:
    """Decode a content part. A part of an unknown type becomes an opaque part."""
    kind = raw.get("type")
    decode = _DECODE_PART.get(kind) if isinstance(kind, str) else None
    return decode(raw, src) if decode else _decode_unknown(raw, src)


def encode_part(part: ir.Part, losses: Ledger) -> JsonObject | None:
    """Encode a part of a user message. Return None for a part that this format cannot express."""
    match part:
        case ir.Text():
            return _encode_text(part, losses)
        case ir.Media():
            return _encode_media(part, losses)
        case ir.Refusal():
            drop_unheld(part, losses)
            # Only assistant messages have refusals (official SDK, ``ContentArrayOfContentPart``).
            losses.changed(part, "", part.text, "flattened")
            return {"type": "text", "text": part.text}
        case ir.Opaque(format="chat_completions", raw=dict(own_part)) if "/content/" in part.src:
            return own_part
        case ir.Opaque() | ir.Hosted():
            text = encode_opaque(part, losses)
            return None if text is None else _encode_text(text, losses)
        case ir.Reasoning() | ir.ToolCall() | ir.ToolResult():
            losses.dropped(part, code="orphan", severity="impossible")
            return None
        case _:
            assert_never(part)


def _decode_unknown(raw: JsonObject, src: str) -> ir.Part:
    return ir.Opaque(format="chat_completions", raw=raw, label=str(raw.get("type")), src=src)


def encode_cache(mark: ir.CacheMark, losses: Ledger) -> JsonObject:
    """Encode the cache mark of a part as one of its fields."""
    drop_unheld(mark, losses)
    if losses.dialect is not None and losses.dialect.cache_marks == "cache_control":
        return encode_cache_mark_of_messages(mark, losses)
    return encode_cache_breakpoint(mark, losses)


def encode_cache_mark_of_messages(mark: ir.CacheMark, losses: Ledger) -> JsonObject:
    """Encode a cache mark as that of Messages, for servers that accept it."""
    losses.extras(mark)
    return encode_cache_control(mark, _CONTROL_TTLS.get(mark.ttl or "", mark.ttl), losses)


def _decode_text(raw: JsonObject, src: str) -> ir.Part:
    cache, extra = decode_cache_and_extra(raw, _TEXT, src)
    return ir.Text(raw["text"], src, extra, cache=cache)


def _decode_foreign_text(raw: JsonObject, src: str) -> ir.Part:
    """Decode a text with a type of Responses. The wire types do not check such a part, so its text may have any type."""
    text = raw.get("text")
    return ir.Text(text, src, read_extra(raw, _TYPE_AND_TEXT)) if isinstance(text, str) else _decode_unknown(raw, src)


def _encode_text(part: ir.Text, losses: Ledger) -> JsonObject:
    drop_unheld(part, losses)
    encoded: JsonObject = {"type": "text", "text": part.text}
    return encoded if part.cache is None else encoded | encode_cache(part.cache, losses)


def _decode_thinking(raw: JsonObject, src: str) -> ir.Part:
    thinking = raw.get("thinking") or []
    if isinstance(thinking, str):
        return ir.Reasoning(text=thinking, src=src, extra=read_extra(raw, _THINKING))
    texts = [item["text"] if isinstance(item.get("text"), str) else None for item in thinking]
    known = [frozenset({"type"} if text is None else {"type", "text"}) for text in texts]
    inner = [read_extra(item, known[index], f"thinking/{index}/") for index, item in enumerate(thinking)]
    return ir.Reasoning(text="".join(text or "" for text in texts), src=src, extra=merge_extra(read_extra(raw, _THINKING), *inner))


def _decode_refusal(raw: JsonObject, src: str) -> ir.Part:
    return ir.Refusal(text=raw["refusal"], src=src, extra=read_extra(raw, _REFUSAL))


def _decode_image(raw: JsonObject, src: str) -> ir.Part:
    image = raw["image_url"]
    if isinstance(image, str):  # without the object around it (recorded requests)
        image = {"url": image}
    media = _media_of_text("image", image["url"], src)
    media.detail = image.get("detail")
    media.cache, media.extra = decode_cache_and_extra(raw, _IMAGE, src)
    if not _IMAGE_URL.issuperset(image):
        media.extra = merge_extra(media.extra, read_extra(image, _IMAGE_URL, "image_url/"))
    return as_stored_file(media)


def _encode_image(part: ir.Media, losses: Ledger) -> JsonObject | None:
    if part.file_id is not None:
        losses.dropped(part, code="foreign_id")
        return None
    if part.data is not None and not is_read_image(part.mime, COMMON_IMAGES):
        losses.dropped(part, code="unsupported_media")
        return None
    url = part.url if part.url is not None else write_data_url(part.mime or "image/png", part.data or "")
    detail = part.detail
    if detail is not None and detail not in _DETAILS:
        detail = losses.changed(part, "detail", "auto")
    return {"type": "image_url", "image_url": {"url": url} | ({"detail": detail} if detail else {})}


def media_of_url(kind: ir.MediaKind, url: str, src: str) -> ir.Media:
    """Return media with a URL, or with the media type and the data of a data URL."""
    mime, data = read_data_url(url) or (None, None)
    return ir.Media(kind=kind, mime=mime, data=data, url=url if data is None else None, src=src)


def _media_of_text(kind: ir.MediaKind, text: str, src: str) -> ir.Media:
    """Return media with a URL, a data URL or base64 data."""
    media = media_of_url(kind, text, src)
    # Some callers send base64 in place of a URL. Its first bytes show that (fixture ``audio_text_only``).
    mime = sniff_mime(text) if media.url is not None and "://" not in text else None
    if mime is not None:
        media.mime, media.data, media.url = mime, text, None
    return media


def _decode_audio(raw: JsonObject, src: str) -> ir.Part:
    audio = raw["input_audio"]
    # Mistral's servers take base64 or a URL without the object around it (their recorded requests).
    if isinstance(audio, str):
        media = _media_of_text("audio", audio, src)
        if media.url is not None and "://" not in audio:  # base64 of an unknown type
            media.data, media.url = audio, None
        media.cache, media.extra = decode_cache_and_extra(raw, _AUDIO, src)
        return as_stored_file(media)
    format = audio.get("format")
    data = audio.get("data")
    # Qwen's servers take a URL or a data URL (AAswordman/Operit#601).
    is_url = data is not None and is_address(data)
    inline = read_data_url(data) if data is not None and not is_url else None
    cache, extra = decode_cache_and_extra(raw, _AUDIO, src)
    return ir.Media(
        kind="audio",
        # ``format`` is the name of an encoding. For MP3 alone, the media type has another name (RFC 3003).
        mime={"mp3": "audio/mpeg", None: None}.get(format, f"audio/{format}"),
        data=None if is_url else inline[1] if inline else data,
        url=data if is_url else None,
        cache=cache,
        src=src,
        extra=merge_extra(extra, read_extra(audio, frozenset({"data", "format"}), "input_audio/")),
    )


def _encode_audio(part: ir.Media, losses: Ledger) -> JsonObject | None:
    place = losses.dialect.audio_url if losses.dialect is not None else None
    # Mistral's servers accept data in an object too (their recorded requests), so that only a URL has another form.
    if place == "text" and part.url is not None:
        return {"type": "input_audio", "input_audio": part.url}
    format = _AUDIO_FORMATS.get(encode_mime(part, losses) or "")
    if place == "data" and part.file_id is None:
        url = part.url if part.url is not None else write_data_url(part.mime or "", part.data or "")
        return {"type": "input_audio", "input_audio": {"data": url} | ({"format": format} if format else {})}
    if format is None or part.data is None:
        losses.dropped(part, code="unsupported_media")
        return None
    return {"type": "input_audio", "input_audio": {"data": part.data, "format": format}}


def _decode_video(raw: JsonObject, src: str) -> ir.Part:
    media = media_of_url("video", raw["video_url"]["url"], src)
    media.cache = decode_cache_control(raw, src)
    media.extra = merge_extra(read_extra(raw, _VIDEO), read_extra(raw["video_url"], frozenset({"url"}), "video_url/"))
    return as_stored_file(media)


def _encode_video(part: ir.Media, losses: Ledger) -> JsonObject | None:
    if part.file_id is not None:
        losses.dropped(part, code="foreign_id")
        return None
    url = part.url if part.url is not None else write_data_url(part.mime or "video/mp4", part.data or "")
    return {"type": "video_url", "video_url": {"url": url}}


def _decode_file(raw: JsonObject, src: str) -> ir.Part:
    file = raw["file"]
    name, content = file.get("filename"), file.get("file_data")
    if content is None and file.get("file_id") is None:
        return _decode_unknown(raw, src)
    mime, data = read_file_data(content, name) if content is not None else (None, None)
    # Callers of LiteLLM put an address in Google Cloud Storage in place of the data (fixture video_stored).
    is_url = data is not None and is_address(data)
    if is_url:
        mime = mime or guess_mime(data or "")
    file_id = file.get("file_id")
    # The canonical node has one source. The data is what every other format can send, so the id is lost.
    unread = {"file/file_id": file_id} if data is not None and file_id is not None else None
    cache, extra = decode_cache_and_extra(raw, _FILE, src)
    media = ir.Media(
        kind=media_kind(mime) if mime else "document",
        mime=mime,
        data=None if is_url else data,
        url=data if is_url else None,
        file_id=None if unread else file_id,
        vendor="openai",
        filename=name,
        cache=cache,
        src=src,
        extra=merge_extra(extra, read_extra(file, frozenset({"filename", "file_data", "file_id"}), "file/"), unread),
    )
    return as_stored_file(media)


def _encode_document(part: ir.Media, losses: Ledger) -> JsonObject | None:
    name = {"filename": part.filename} if part.filename is not None else {}
    if part.file_id is not None and part.vendor == "openai":
        return {"type": "file", "file": {"file_id": part.file_id} | name}
    type = losses.dialect.document_part if losses.dialect is not None else None
    if type in ("document_url", "file_url") and part.file_id is None:
        return _encode_document_of_server(type, part, losses)
    # A ``file`` has data or an id, but no URL (official SDK, ``FileFile``). Some servers read a URL in place of its data.
    url = part.url if type == "file" else None
    if part.data is None and url is None:
        losses.dropped(part, code="unsupported_media" if part.url else "foreign_id")
        return None
    data = part.data or ""
    file: JsonObject = {"file_data": url or (write_data_url(part.mime, data) if part.mime else data)}
    put_in(file, "filename", part.filename, default_filename(part.mime), losses)
    return {"type": "file", "file": file}


def _decode_document_url(raw: JsonObject, src: str) -> ir.Part:
    media = media_of_url("document", raw["document_url"], src)
    media.filename, media.extra = raw.get("document_name"), read_extra(raw, _DOCUMENT_URL)
    return media


def _decode_file_url(raw: JsonObject, src: str) -> ir.Part:
    source, name = raw["file_url"], raw.get("file_name")
    unread = None if isinstance(source, str) else read_extra(source, frozenset({"url"}), "file_url/")
    url = source if isinstance(source, str) else source["url"]
    media = media_of_url("document", url, src)
    if not is_address(url):  # Perplexity reads base64 without a media type
        media.mime, media.data = read_file_data(url, name)
        media.url = None
    media.filename, media.extra = name, merge_extra(read_extra(raw, _FILE_URL), unread)
    return media


def _encode_document_of_server(type: DocumentPart, part: ir.Media, losses: Ledger) -> JsonObject:
    """Encode a document as Mistral and Perplexity read it. The latter has base64 without a media type (recorded traffic)."""
    data = part.data or ""
    if type == "document_url":
        url = part.url if part.url is not None else write_data_url(part.mime or PDF, data)
        return {"type": type, "document_url": url} | ({"document_name": part.filename} if part.filename is not None else {})
    url = part.url if part.url is not None else data
    if part.mime is not None and part.url is None and part.mime not in (guess_mime(part.filename or ""), sniff_mime(data)):
        losses.changed(part, "mime", None, "unsupported_by_server", severity="info")
    return {"type": type, "file_url": {"url": url}} | ({"file_name": part.filename} if part.filename is not None else {})


def _encode_media(part: ir.Media, losses: Ledger) -> JsonObject | None:
    drop_unheld(part, losses)
    # PDF data is a document, whatever the kind of the part is. A PDF with a URL keeps its kind: documents have no URL.
    kind = "document" if part.data is not None and known_mime(part) == PDF else part.kind
    # Only a ``file`` has a name, and only an image has a level of detail (official SDK, ``FileFile`` and ``ImageURL``).
    if part.filename is not None and kind != "document":
        drop_field(part, "filename", losses)
    if part.detail is not None and kind != "image":
        drop_field(part, "detail", losses)
    encoded = _ENCODE_MEDIA[kind](part, losses)
    return encoded if encoded is None or part.cache is None else encoded | encode_cache(part.cache, losses)


def is_image(part: ir.Part) -> TypeGuard[ir.Media]:
    """Return whether a part goes into the ``images`` of a response, each of which may have a signature."""
    return isinstance(part, ir.Media) and part.kind == "image" and part.file_id is None


def is_audio(part: ir.Part) -> TypeGuard[ir.Media]:
    """Return whether a part goes into the ``audio`` of a response."""
    return isinstance(part, ir.Media) and part.kind == "audio" and part.data is not None


def is_samples(mime: str) -> bool:
    """Return whether a media type is one of samples, which cannot be played without their type and rate."""
    return bare_mime(mime).lower() in _SAMPLES


class AudioJoiner:
    """Joins the pieces of an audio clip. Samples without a container can be joined; other audio consists of one piece."""

    __slots__ = ("_left", "_mime", "has_begun")

    def __init__(self) -> None:
        self.has_begun = False
        self._mime = ""  # of samples; other audio takes no further piece
        self._left = b""

    def take(self, mime: str | None, data: str) -> str | None:
        """Return the base64 data to append for a piece; None if it belongs to another clip. Bytes of an incomplete group are kept."""
        if self.has_begun and mime != self._mime:
            return None
        is_raw = mime is not None and is_samples(mime)
        try:
            decoded = self._left + base64.b64decode(data, validate=True) if is_raw else None
        except ValueError:  # no base64
            decoded = None
        if decoded is None:
            is_first, self.has_begun = not self.has_begun, True
            return data if is_first else None
        # Base64 of three bytes has no padding, so pieces of whole groups can be concatenated as text.
        self.has_begun, self._mime = True, mime or ""
        whole = len(decoded) // 3 * 3
        self._left = decoded[whole:]
        return base64.b64encode(decoded[:whole]).decode()

    def remaining(self) -> str:
        """Return the kept bytes as base64."""
        return base64.b64encode(self._left).decode()


_DECODE_PART: dict[str, Callable[[JsonObject, str], ir.Part]] = {
    "text": _decode_text,
    # Some callers copy parts with the types of Responses (fixture text_borrowed).
    "input_text": _decode_foreign_text,
    "output_text": _decode_foreign_text,
    "image_url": _decode_image,
    "input_audio": _decode_audio,
    # No official type has videos. Source: the relay's specification, "Content part" (fixture video_url).
    "video_url": _decode_video,
    "file": _decode_file,
    "document_url": _decode_document_url,
    "file_url": _decode_file_url,
    "refusal": _decode_refusal,
    # Mistral's servers send reasoning as a part of the content (fixture reasoning_parts).
    "thinking": _decode_thinking,
}


_ENCODE_MEDIA: dict[str, Callable[[ir.Media, Ledger], JsonObject | None]] = {
    "image": _encode_image,
    "audio": _encode_audio,
    "video": _encode_video,
    "document": _encode_document,
}
