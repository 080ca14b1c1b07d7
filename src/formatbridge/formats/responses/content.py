"""Content parts of Responses: input text, images and files, output text and refusals.

``mark_last_part`` and ``text_of`` are here alone: a message may have a cache mark, and items of all types have deltas. So are the
``output_`` functions: the parts of an answer have fields that those of a request do not have.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import assert_never

from formatbridge import ir
from formatbridge.formats.responses.citations import decode_citations
from formatbridge.formats.responses.holds import drop_unheld
from formatbridge.formats.shared.held_fields import drop_field, put_in
from formatbridge.formats.shared.media import (
    PDF,
    as_stored_file,
    default_filename,
    guess_mime,
    is_address,
    media_kind,
    read_data_url,
    read_file_data,
    write_data_url,
)
from formatbridge.formats.shared.parts import (
    COMMON_IMAGES,
    decode_cache,
    decode_cache_and_extra,
    encode_cache_breakpoint,
    encode_opaque,
    encode_user_content,
    is_read_image,
    known_mime,
)
from formatbridge.formats.shared.tool_arguments import encode_arguments_text
from formatbridge.formats.shared.unmodelled_fields import merge_extra, read_extra
from formatbridge.jsontext.types import JsonObject
from formatbridge.report.ledger import Ledger
from formatbridge.streaming.replay import DELTA_FIELDS

# Source: the official SDK, ``ResponseInputImage.detail`` and ``ResponseInputFile.detail``.
_DETAILS = frozenset({"auto", "low", "high", "original"})
_FILE_DETAILS = frozenset({"auto", "low", "high"})
# Keys that the decoder reads in each type of part; it keeps all others in ``extra``, for the report and for the same format.
_TEXT = frozenset({"type", "text"})
_OUTPUT = frozenset({"type", "text", "annotations"})
_FOREIGN_TEXT = frozenset({"type", "text"})
_OUTPUT_WITH_LOGPROBS = _OUTPUT | {"logprobs"}
_IMAGE_KEYS = frozenset({"type", "image_url", "file_id", "detail"})
_FILE = frozenset({"type", "file_data", "file_url", "file_id", "filename", "detail"})


def decode_content(
    content: str | list[JsonObject], src: str, item_id: str | None = None, parts: list[ir.Part] | None = None
) -> list[ir.Part]:
    """Decode content that is a string or a list of parts. ``item_id``: the id of its item; ``parts``: a list to append to."""
    # An assistant message has one id for all its content parts. Each part keeps it, so the encoder can join them again.
    out = [] if parts is None else parts
    if isinstance(content, str):
        out.append(ir.Text(content, src, id=item_id))
        return out
    for index, part in enumerate(content):
        out.append(decode_part(part, f"{src}/{index}", item_id))
    return out


def encode_content(parts: list[ir.Part], losses: Ledger) -> str | list[JsonObject]:
    """Encode input content; a single text without other fields becomes a string."""
    return encode_user_content(parts, encode_part, losses)


def decode_part(raw: JsonObject, src: str, item_id: str | None = None) -> ir.Part:
    """Decode one content part; one of an unknown type becomes an opaque part."""
    # {"type": "input_text", "text": "Hello"}, {"type": "input_image", "image_url": "https://a.example/b.png", "detail": "auto"}
    # {"type": "output_text", "text": "Hello", "annotations": [], "logprobs": []}, {"type": "refusal", "refusal": "No."}
    kind = raw.get("type")
    decode = _DECODE_PART.get(kind) if type(kind) is str else None
    return decode(raw, src, item_id) if decode else _decode_unknown(raw, src)


def encode_part(part: ir.Part, losses: Ledger) -> JsonObject | None:
    """Encode one part of the input; None if the target has no such part."""
    match part:
        case ir.Text():
            return _encode_text(part, losses)
        case ir.Media():
            return _encode_media(part, losses)
        case ir.Refusal():
            drop_unheld(part, losses)
            # Only output messages have a refusal part (official SDK, ``ResponseInputContent``).
            converted = {"type": "input_text", "text": part.text}
            losses.changed(part, "", converted, "flattened")
            return converted
        case ir.Opaque(format="responses", raw=dict(own_part)):
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
    return ir.Opaque(format="responses", raw=raw, label=str(raw.get("type")), src=src)


def mark_last_part(parts: list[ir.Part], raw: JsonObject, src: str, known: frozenset[str]) -> frozenset[str]:
    """Move the cache mark of a message to its last part, where it takes effect. Returns ``known`` and the field of the mark."""
    # Callers of compatible servers set Anthropic's field on a message; it marks the end of the message (fixture cache_marks_borrowed).
    mark, last = decode_cache(raw, src), parts[-1] if parts else None
    if mark is None or not isinstance(last, ir.Text | ir.Media) or last.cache is not None:
        return known
    last.cache = mark
    return known | {mark.src.rpartition("/")[2]}


def encode_cache(mark: ir.CacheMark, losses: Ledger) -> JsonObject:
    """Encode the cache mark of a part as one of its fields."""
    drop_unheld(mark, losses)
    return encode_cache_breakpoint(mark, losses)


def _decode_text(raw: JsonObject, src: str, item_id: str | None) -> ir.Part:
    part = ir.Text(raw["text"], src, id=item_id)
    part.cache, part.extra = decode_cache_and_extra(raw, _TEXT, src)
    return part


def _decode_foreign_text(raw: JsonObject, src: str, item_id: str | None) -> ir.Part:
    """Decode a part of type ``text``, which other formats have. The wire model does not check its fields."""
    # Callers copy such parts from Chat Completions, and many servers accept them (fixture text_borrowed).
    if not isinstance(raw.get("text"), str):
        return _decode_unknown(raw, src)
    part = ir.Text(raw["text"], src, id=item_id)
    part.extra = read_extra(raw, _FOREIGN_TEXT)
    return part


def _decode_output(raw: JsonObject, src: str, item_id: str | None) -> ir.Part:
    part = ir.Text(raw["text"], src, id=item_id)
    if raw.get("logprobs") or not _OUTPUT_WITH_LOGPROBS.issuperset(raw):  # an empty list of log probabilities has no content
        part.cache, part.extra = decode_cache_and_extra(raw, _OUTPUT, src)
    if raw.get("annotations"):
        part.citations, unread = decode_citations(raw["annotations"], f"{src}/annotations")
        if unread:
            part.extra = merge_extra(part.extra, unread)
    return part


def _encode_text(part: ir.Text, losses: Ledger) -> JsonObject:
    drop_unheld(part, losses)
    encoded: JsonObject = {"type": "input_text", "text": part.text}
    return encoded if part.cache is None else encoded | encode_cache(part.cache, losses)


def _decode_refusal(raw: JsonObject, src: str, item_id: str | None) -> ir.Part:
    return ir.Refusal(text=raw["refusal"], id=item_id, src=src, extra=read_extra(raw, frozenset({"type", "refusal"})))


def _decode_image(raw: JsonObject, src: str, item_id: str | None) -> ir.Part:
    # Both sources are optional, and nothing excludes having both (official SDK, ``ResponseInputImage``).
    url, file_id = raw.get("image_url"), raw.get("file_id")
    if url is None and file_id is None:
        return ir.Opaque(format="responses", raw=raw, label="input_image", src=src)
    mime, data = (read_data_url(url) or (None, None)) if url is not None else (None, None)
    cache, extra = decode_cache_and_extra(raw, _IMAGE_KEYS, src)
    # Canonical media have one source. If the image has a URL too, its file id becomes an unmodelled field.
    part = ir.Media(
        kind="image",
        mime=mime,
        data=data,
        url=url if data is None else None,
        file_id=file_id if url is None else None,
        vendor="openai",
        detail=raw.get("detail"),
        cache=cache,
        id=item_id,
        src=src,
        extra=extra if url is None or file_id is None else merge_extra(extra, {"file_id": file_id}),
    )
    return as_stored_file(part)


def _encode_image(part: ir.Media, losses: Ledger) -> JsonObject | None:
    if part.filename is not None:
        drop_field(part, "filename", losses)
    # ``detail`` is required, and "Defaults to `auto`" (official SDK, ``ResponseInputImageParam``).
    detail = part.detail or "auto"
    if detail not in _DETAILS:
        detail = losses.changed(part, "detail", "auto")
    has_detail = part.detail is not None or losses.dialect is None or losses.dialect.reads_image_detail
    image: JsonObject = {"type": "input_image", "detail": detail} if has_detail else {"type": "input_image"}
    if part.file_id is not None:
        if part.vendor != "openai":
            losses.dropped(part, code="foreign_id")
            return None
        return image | {"file_id": part.file_id}
    if part.data is not None and not is_read_image(part.mime, COMMON_IMAGES):
        losses.dropped(part, code="unsupported_media")
        return None
    url = part.url if part.url is not None else write_data_url(part.mime or "image/png", part.data or "")
    return image | {"image_url": url}


def _decode_file(raw: JsonObject, src: str, item_id: str | None) -> ir.Part:
    content, url, file_id, name = raw.get("file_data"), raw.get("file_url"), raw.get("file_id"), raw.get("filename")
    if content is None and url is None and file_id is None:
        return ir.Opaque(format="responses", raw=raw, label="input_file", src=src)
    mime, data = read_file_data(content, name) if content is not None else (None, None)
    # ``file_data`` is a data URL or base64 alone. Callers of litellm also put an address there, such as ``gs://`` (fixture video_stored).
    if data is not None and url is None and is_address(data):
        mime, data, url = mime or guess_mime(data), None, data
    cache, extra = decode_cache_and_extra(raw, _FILE, src)
    # Of several sources, the data come before the URL, and the URL before the file id. The others become unmodelled fields.
    unread = {"file_url": url if data is not None else None, "file_id": file_id if data is not None or url is not None else None}
    part = ir.Media(
        kind=media_kind(mime) if mime else "document",
        mime=mime,
        data=data,
        url=url if data is None else None,
        file_id=file_id if data is None and url is None else None,
        vendor="openai",
        filename=name,
        detail=raw.get("detail"),
        cache=cache,
        id=item_id,
        src=src,
        extra=merge_extra(extra, {key: value for key, value in unread.items() if value is not None}),
    )
    return as_stored_file(part)


def _encode_file(part: ir.Media, losses: Ledger) -> JsonObject | None:
    file: JsonObject = {"type": "input_file"}
    if part.filename is not None:
        file["filename"] = part.filename
    if part.detail in _FILE_DETAILS and part.detail != "auto":
        file["detail"] = part.detail
    else:
        drop_field(part, "detail", losses)
    if part.file_id is not None:
        if part.vendor != "openai":
            losses.dropped(part, code="foreign_id")
            return None
        return file | {"file_id": part.file_id}
    if part.url is not None:
        return file | {"file_url": part.url}
    mime, data = part.mime, part.data or ""
    file["file_data"] = write_data_url(mime, data) if mime else data
    # The server rejects data without a filename with "Missing required parameter" (laravel/ai#324).
    put_in(file, "filename", part.filename, default_filename(mime), losses)
    return file


def _decode_audio(raw: JsonObject, src: str, item_id: str | None) -> ir.Part:
    # {"type": "input_audio", "input_audio": {"data": "UklGR...", "format": "wav"}}
    # The official SDK has the type ``ResponseInputAudio``, but no list of content parts includes it.
    audio = raw["input_audio"]
    format = audio.get("format")
    return ir.Media(
        kind="audio",
        mime={"mp3": "audio/mpeg", None: None}.get(format, f"audio/{format}"),
        data=audio.get("data"),
        id=item_id,
        src=src,
        extra=merge_extra(
            read_extra(raw, frozenset({"type", "input_audio"})), read_extra(audio, frozenset({"data", "format"}), "input_audio/")
        ),
    )


def _encode_media(part: ir.Media, losses: Ledger) -> JsonObject | None:
    drop_unheld(part, losses)
    # A request has texts, images and files only (official SDK, ``ResponseInputContent``).
    if part.kind in ("audio", "video"):
        losses.dropped(part, code="unsupported_media")
        return None
    is_image = part.kind == "image" and known_mime(part) != PDF  # a PDF is a file
    item = _encode_image(part, losses) if is_image else _encode_file(part, losses)
    if item and part.cache:
        item.update(encode_cache(part.cache, losses))
    return item


_DECODE_PART: dict[str, Callable[[JsonObject, str, str | None], ir.Part]] = {
    "input_text": _decode_text,
    "text": _decode_foreign_text,
    "output_text": _decode_output,
    "refusal": _decode_refusal,
    "input_image": _decode_image,
    "input_file": _decode_file,
    "input_audio": _decode_audio,
}


def output_message(item_id: str, content: list[JsonObject], status: str = "completed") -> JsonObject:
    """Return a message item of an answer. ``content``: its parts, as ``output_text`` and ``output_refusal`` return them."""
    return {"id": item_id, "type": "message", "role": "assistant", "status": status, "content": content}


def output_text(text: str, annotations: list[JsonObject], tokens: list[JsonObject]) -> JsonObject:
    """Return a text part of an answer. ``tokens``: its log probabilities."""
    return {"type": "output_text", "text": text, "annotations": annotations, "logprobs": tokens}


def output_refusal(text: str) -> JsonObject:
    """Return a refusal part of an answer."""
    return {"type": "refusal", "refusal": text}


def text_of(part: ir.Part) -> str:
    """Return the text of a part that stream deltas send, such as arguments; empty if there is none."""
    if isinstance(part, ir.ToolCall):
        return encode_arguments_text(part)
    return getattr(part, DELTA_FIELDS.get(type(part), ""), None) or ""
