"""Content parts of responses: text, images and files given to the model, text and refusals that it wrote."""

from __future__ import annotations

from collections.abc import Callable
from typing import assert_never

from formatbridge import ir
from formatbridge.formats.responses.citations import decode_citations
from formatbridge.formats.responses.holds import drop_unheld
from formatbridge.formats.shared.held_fields import drop_field
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
from formatbridge.formats.shared.parts import encode_opaque, is_only_text, known_mime
from formatbridge.formats.shared.tool_arguments import encode_arguments_text
from formatbridge.formats.shared.unmodelled_fields import joined, rest
from formatbridge.jsontext.types import JsonObject
from formatbridge.report.ledger import Ledger
from formatbridge.streaming.replay import DELTA_FIELDS

_DETAILS = frozenset({"auto", "low", "high", "original"})
_FILE_DETAILS = frozenset({"auto", "low", "high"})
_TTLS = {None: None, "5m": "30m", "1h": "12h", "30m": "30m", "12h": "12h"}

_MARKS = {"prompt_cache_breakpoint": frozenset({"ttl"}), "cache_control": frozenset({"type", "ttl"})}
"""Members that are cache marks, and what is read of each."""
_TEXT = frozenset({"type", "text"})
_OUTPUT = frozenset({"type", "text", "annotations"})
_BORROWED = frozenset({"type", "text"})
_UNCOUNTED_OUTPUT = _OUTPUT | {"logprobs"}
_IMAGE = frozenset({"type", "image_url", "file_id", "detail"})
_FILE = frozenset({"type", "file_data", "file_url", "file_id", "filename", "detail"})


def decode_content(
    content: str | list[JsonObject], src: str, item_id: str | None = None, parts: list[ir.Part] | None = None
) -> list[ir.Part]:
    """Read content that is text or parts, to the end of ``parts``. ``item_id`` is the id of the item around it."""
    made = [] if parts is None else parts
    if isinstance(content, str):
        made.append(_text(content, src, item_id))
        return made
    for index, part in enumerate(content):
        kind = part.get("type")
        if kind == "output_text":  # nearly always, where the model says something
            made.append(_decode_output(part, f"{src}/{index}", item_id))
        elif kind == "input_text" and len(part) == 2:  # its text is required, so there is nothing else
            made.append(_text(part["text"], f"{src}/{index}", item_id))
        else:
            made.append(decode_part(part, f"{src}/{index}", item_id))
    return made


def encode_content(parts: list[ir.Part], losses: Ledger) -> str | list[JsonObject]:
    """Write what is given to the model; one plain text on its own becomes a string."""
    if len(parts) == 1 and type(parts[0]) is ir.Text and is_only_text(parts[0]):
        return parts[0].text
    made = [encoded for part in parts if (encoded := encode_part(part, losses)) is not None]
    if len(parts) == len(made) == 1 and made[0].keys() == {"type", "text"}:
        text: str = made[0]["text"]
        return text
    return made or ""


def decode_part(raw: JsonObject, src: str, item_id: str | None = None) -> ir.Part:
    """Read one content part; a kind that is not known stays as it is."""
    kind = raw.get("type")
    decode = _DECODE_PART.get(kind) if type(kind) is str else None
    return decode(raw, src, item_id) if decode else _decode_unknown(raw, src)


def _decode_unknown(raw: JsonObject, src: str) -> ir.Part:
    return ir.Opaque(format="responses", raw=raw, label=str(raw.get("type")), src=src)


def encode_part(part: ir.Part, losses: Ledger) -> JsonObject | None:
    """Write one part that is given to the model; None where the target has no such part."""
    match part:
        case ir.Text():
            return {"type": "input_text", "text": part.text} if is_only_text(part) else _encode_text(part, losses)
        case ir.Media():
            return _encode_media(part, losses)
        case ir.Refusal():
            drop_unheld(part, losses)
            written = {"type": "input_text", "text": part.text}
            losses.changed(part, "", written, "flattened")
            return written
        case ir.Opaque() | ir.Hosted():
            text = encode_opaque(part, losses)
            return None if text is None else _encode_text(text, losses)
        case ir.Reasoning() | ir.ToolCall() | ir.ToolResult():
            losses.dropped(part, code="orphan", severity="impossible")
            return None
        case _:
            assert_never(part)


def _text(text: str, src: str, item_id: str | None) -> ir.Text:
    made = ir.Text(text, src)
    if item_id is not None:
        made.id = item_id
    return made


def _decode_text(raw: JsonObject, src: str, item_id: str | None) -> ir.Part:
    made = _text(raw["text"], src, item_id)
    if len(raw) > 2:  # more than the type and the text, which are always there
        made.cache = decode_cache(raw, src)
        made.extra = rest(raw, _with_mark(_TEXT, made.cache))
    return made


def _decode_borrowed_text(raw: JsonObject, src: str, item_id: str | None) -> ir.Part:
    """Read text under the name that other formats have for it; nothing holds the members of such a part to a type."""
    if not isinstance(raw.get("text"), str):
        return _decode_unknown(raw, src)
    made = _text(raw["text"], src, item_id)
    made.extra = rest(raw, _BORROWED)
    return made


def _decode_output(raw: JsonObject, src: str, item_id: str | None) -> ir.Part:
    made = _text(raw["text"], src, item_id)
    if raw.get("logprobs") or not _UNCOUNTED_OUTPUT.issuperset(raw):  # an empty list of probabilities is nothing to lose
        made.cache = decode_cache(raw, src)
        made.extra = rest(raw, _with_mark(_OUTPUT, made.cache))
    if raw.get("annotations"):
        made.citations, leftover = decode_citations(raw["annotations"], f"{src}/annotations")
        if leftover:
            made.extra = joined(made.extra, leftover)
    return made


def _encode_text(part: ir.Text, losses: Ledger) -> JsonObject:
    drop_unheld(part, losses)
    return {"type": "input_text", "text": part.text, **encode_cache(part.cache, losses)}


def _decode_refusal(raw: JsonObject, src: str, item_id: str | None) -> ir.Part:
    return ir.Refusal(text=raw["refusal"], id=item_id, src=src, extra=rest(raw, frozenset({"type", "refusal"})))


# Images, files, sound.


def _decode_image(raw: JsonObject, src: str, item_id: str | None) -> ir.Part:
    url, file_id = raw.get("image_url"), raw.get("file_id")
    if url is None and file_id is None:
        return ir.Opaque(format="responses", raw=raw, label="input_image", src=src)
    mime, data = (read_data_url(url) or (None, None)) if url is not None else (None, None)
    cache = decode_cache(raw, src)
    extra = rest(raw, _with_mark(_IMAGE, cache))
    made = ir.Media(
        kind="image",
        mime=mime,
        data=data,
        url=url if data is None else None,
        file_id=file_id if url is None else None,
        issuer="responses",
        detail=raw.get("detail"),
        cache=cache,
        id=item_id,
        src=src,
        extra=extra if url is None or file_id is None else joined(extra, {"file_id": file_id}),
    )
    return as_stored_file(made)


def _encode_image(part: ir.Media, losses: Ledger) -> JsonObject | None:
    drop_field(part, "filename", losses)
    detail = part.detail or "auto"
    if detail not in _DETAILS:
        detail = losses.changed(part, "detail", "auto")
    image: JsonObject = {"type": "input_image", "detail": detail}
    if part.file_id is not None:
        if part.issuer not in ("responses", "chat_completions"):
            losses.dropped(part, code="foreign_id", severity="impossible")
            return None
        return image | {"file_id": part.file_id}
    url = part.url if part.url is not None else write_data_url(part.mime or "image/png", part.data or "")
    return image | {"image_url": url}


def _decode_file(raw: JsonObject, src: str, item_id: str | None) -> ir.Part:
    content, url, file_id, name = raw.get("file_data"), raw.get("file_url"), raw.get("file_id"), raw.get("filename")
    if content is None and url is None and file_id is None:
        return ir.Opaque(format="responses", raw=raw, label="input_file", src=src)
    mime, data = read_file_data(content, name) if content is not None else (None, None)
    if data is not None and url is None and is_address(data):
        mime, data, url = mime or guess_mime(data), None, data
    cache = decode_cache(raw, src)
    unread = {"file_url": url if data is not None else None, "file_id": file_id if data is not None or url is not None else None}
    made = ir.Media(
        kind=media_kind(mime) if mime else "document",
        mime=mime,
        data=data,
        url=url if data is None else None,
        file_id=file_id if data is None and url is None else None,
        issuer="responses",
        filename=name,
        detail=raw.get("detail"),
        cache=cache,
        id=item_id,
        src=src,
        extra=joined(rest(raw, _with_mark(_FILE, cache)), {key: value for key, value in unread.items() if value is not None}),
    )
    return as_stored_file(made)


def _encode_file(part: ir.Media, losses: Ledger) -> JsonObject | None:
    file: JsonObject = {"type": "input_file"}
    if part.filename is not None:
        file["filename"] = part.filename
    if part.detail in _FILE_DETAILS and part.detail != "auto":
        file["detail"] = part.detail
    else:
        drop_field(part, "detail", losses)
    if part.file_id is not None:
        if part.issuer not in ("responses", "chat_completions"):
            losses.dropped(part, code="foreign_id", severity="impossible")
            return None
        return file | {"file_id": part.file_id}
    if part.url is not None:
        return file | {"file_url": part.url}
    mime, data = part.mime, part.data or ""
    file["file_data"] = write_data_url(mime, data) if mime else data
    if part.filename is None:
        losses.added_in(file, "filename", default_filename(mime))
    return file


def _decode_audio(raw: JsonObject, src: str, item_id: str | None) -> ir.Part:
    audio = raw["input_audio"]
    word = audio.get("format")
    return ir.Media(
        kind="audio",
        mime={"mp3": "audio/mpeg", None: None}.get(word, f"audio/{word}"),
        data=audio.get("data"),
        id=item_id,
        src=src,
        extra=joined(rest(raw, frozenset({"type", "input_audio"})), rest(audio, frozenset({"data", "format"}), "input_audio/")),
    )


def _encode_media(part: ir.Media, losses: Ledger) -> JsonObject | None:
    drop_unheld(part, losses)
    if part.kind in ("audio", "video"):
        losses.dropped(part, code="unsupported_media", severity="impossible")
        return None
    is_image = part.kind == "image" and known_mime(part) != PDF  # which some callers send as an image
    made = _encode_image(part, losses) if is_image else _encode_file(part, losses)
    if made and part.cache:
        made.update(encode_cache(part.cache, losses))
    return made


_DECODE_PART: dict[str, Callable[[JsonObject, str, str | None], ir.Part]] = {
    "input_text": _decode_text,
    "text": _decode_borrowed_text,
    "output_text": _decode_output,
    "refusal": _decode_refusal,
    "input_image": _decode_image,
    "input_file": _decode_file,
    "input_audio": _decode_audio,
}


# Cache marks.


def decode_cache(raw: JsonObject, src: str) -> ir.CacheMark | None:
    """Read the cache mark of a part, a message or a tool: the vendor's, else that of messages, which servers of many vendors take."""
    for name, known in _MARKS.items():
        mark = raw.get(name)
        if isinstance(mark, dict) and mark and isinstance(mark.get("ttl"), str | None):
            return ir.CacheMark(ttl=mark.get("ttl"), src=f"{src}/{name}", extra=rest(mark, known))
    return None


def _with_mark(known: frozenset[str], mark: ir.CacheMark | None) -> frozenset[str]:
    """Add the member that a cache mark was read from to those that are known."""
    return known if mark is None else known | {mark.src.rpartition("/")[2]}


def mark_last(parts: list[ir.Part], raw: JsonObject, src: str, known: frozenset[str]) -> frozenset[str]:
    """Move the cache mark of a message to its last part, which it means; return ``known`` and the member that was read."""
    mark, last = decode_cache(raw, src), parts[-1] if parts else None
    if mark is None or not isinstance(last, ir.Text | ir.Media) or last.cache is not None:
        return known
    last.cache = mark
    return _with_mark(known, mark)


def encode_cache(mark: ir.CacheMark | None, losses: Ledger) -> JsonObject:
    """Write a cache mark as the member of its part; nothing where there is none."""
    if mark is None:
        return {}
    drop_unheld(mark, losses)
    ttl = _TTLS.get(mark.ttl, mark.ttl)
    if ttl != mark.ttl:
        losses.changed(mark, "ttl", ttl, severity="info")
    return {"prompt_cache_breakpoint": {"mode": "explicit"} | ({"ttl": ttl} if ttl else {})}


def text_of(part: ir.Part) -> str:
    """Return what a part has of the text that deltas bring."""
    if isinstance(part, ir.ToolCall):
        return encode_arguments_text(part)
    return getattr(part, DELTA_FIELDS.get(type(part), ""), None) or ""
