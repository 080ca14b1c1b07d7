"""Functions for parts that several formats share: cache marks, texts and foreign parts, media types, and media for one server.

Cache marks are OpenAI's ``prompt_cache_breakpoint`` and Anthropic's ``cache_control``. Many servers read the latter: ``docs/dialects.md``,
``cache_marks``.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Sequence
from dataclasses import replace

from formatbridge import ir
from formatbridge.dialect import DialectRules, MediaSource
from formatbridge.formats.shared.media import bare_mime, guess_mime, known_text, sniff_mime
from formatbridge.formats.shared.unmodelled_fields import read_extra
from formatbridge.jsontext.types import JsonObject
from formatbridge.report.ledger import Ledger

_BREAKPOINT, _CONTROL = "prompt_cache_breakpoint", "cache_control"
CACHE_CONTROL = (_CONTROL,)
"""The field of Anthropic's cache marks alone, for ``decode_cache_and_extra``."""

_KNOWN = {_BREAKPOINT: frozenset({"ttl"}), _CONTROL: frozenset({"type", "ttl"})}
"""The fields that are cache marks, in the order of their priority, and the keys that the decoder reads in each."""

# Source: the official SDK, ``PromptCacheBreakpoint.ttl`` ("The minimum lifetime"): 30m or 12h. A longer duration keeps the effect.
_BREAKPOINT_TTLS = {"5m": "30m", "1h": "12h"}
"""Cache durations of Anthropic (its SDK, ``CacheControlEphemeral.ttl``) to the next longer ones of OpenAI. Others stay."""


def decode_cache(raw: JsonObject, src: str, names: Iterable[str] = tuple(_KNOWN)) -> ir.CacheMark | None:
    """Decode the cache mark of a part, a message or a tool. If it has both, OpenAI's is valid."""
    # Both mark the same position (fixtures cache_control and cache_marks_borrowed).
    for name in names:
        mark = raw.get(name)
        if mark and isinstance(mark, dict) and isinstance(mark.get("ttl"), str | None):
            return ir.CacheMark(ttl=mark.get("ttl"), src=f"{src}/{name}", extra=read_extra(mark, _KNOWN[name]))
    return None


def decode_cache_and_extra(
    raw: JsonObject, known: frozenset[str], src: str, names: Iterable[str] = tuple(_KNOWN)
) -> tuple[ir.CacheMark | None, JsonObject | None]:
    """Return the cache mark of an object and its unmodelled fields. ``known``: its other fields that the decoder reads.

    The fields of cache marks are unmodelled if the mark cannot be decoded, or is not the valid one of two.
    """
    if known.issuperset(raw):
        return None, None
    cache = decode_cache(raw, src, names)
    return cache, read_extra(raw, known if cache is None else known | {cache.src.rpartition("/")[2]})


def encode_cache_breakpoint(mark: ir.CacheMark, losses: Ledger) -> JsonObject:
    """Encode a cache mark as OpenAI's field."""
    ttl = None if mark.ttl is None else _BREAKPOINT_TTLS.get(mark.ttl, mark.ttl)
    return {_BREAKPOINT: {"mode": "explicit"} | _encode_ttl(mark, ttl, losses)}


def decode_cache_control(raw: JsonObject, src: str) -> ir.CacheMark | None:
    """Decode the cache mark of Anthropic alone."""
    return decode_cache(raw, src, CACHE_CONTROL) if _CONTROL in raw else None


def encode_cache_control(mark: ir.CacheMark, ttl: str | None, losses: Ledger) -> JsonObject:
    """Encode a cache mark as Anthropic's field. ``ttl``: the duration that the server has in place of that of the mark."""
    # ``type`` is required and has one value (official SDK of Anthropic, ``CacheControlEphemeralParam``).
    return {_CONTROL: {"type": "ephemeral"} | _encode_ttl(mark, ttl, losses)}


def _encode_ttl(mark: ir.CacheMark, ttl: str | None, losses: Ledger) -> JsonObject:
    """Encode the duration of a cache mark; without one, no field."""
    losses.changed(mark, "ttl", ttl, severity="info")
    return {"ttl": ttl} if ttl else {}


def is_same_list(some: Sequence[object], others: Sequence[object]) -> bool:
    """Return whether two lists have the same objects: an adapted list without a change is no new one."""
    return len(some) == len(others) and all(one is other for one, other in zip(some, others, strict=True))


def encode_user_content(
    parts: Sequence[ir.Part], encode_part: Callable[[ir.Part, Ledger], JsonObject | None], losses: Ledger
) -> str | list[JsonObject]:
    """Encode the content of a user message, an instruction or a result for OpenAI. A single text without other fields becomes a string."""
    content: list[JsonObject] = []
    for part in parts:
        encoded = encode_part(part, losses)
        if encoded is not None:
            content.append(encoded)
    if len(parts) == len(content) == 1 and content[0].keys() == {"type", "text"}:
        text: str = content[0]["text"]
        return text
    return content or ""


def encode_transcript(part: ir.Media, losses: Ledger) -> ir.Text | None:
    """Return the transcript of audio that the target does not support as text; without one note that the media is dropped."""
    if not part.transcript:
        losses.dropped(part, code="unsupported_media")
        return None
    losses.changed(part, "", {"text": part.transcript}, "flattened")
    losses.extras(part)
    return ir.Text(part.transcript, part.src)


def encode_opaque(part: ir.Opaque | ir.Hosted, losses: Ledger) -> ir.Text | None:
    """Return a foreign part as text if it has one; otherwise note that the part is dropped."""
    if isinstance(part, ir.Opaque) and part.text is not None:
        losses.changed(part, "", part.text, "flattened")
        if part.text:
            return ir.Text(part.text, part.src, cache=part.cache)
        losses.dropped(part.cache, code="empty")
        return None
    if isinstance(part, ir.Hosted):
        losses.dropped(part, code="server_history")
    else:
        losses.dropped(part, code=part.code, severity=part.severity)
    return None


def encode_outcome_text(part: ir.Hosted, losses: Ledger) -> str:
    """Return the only text of the outcome of a server's tool call: its error, else its output. With an error, an output is lost."""
    if part.error is None:
        return part.output or ""
    if part.output:
        losses.dropped(part, "output")
    return part.error


def is_list_item(part: ir.Opaque) -> bool:
    """Return whether a part is an item of a conversation, such as ``/input/3``, and not a part in a message."""
    return part.src.count("/") == 2


def set_unknown_severity(parts: list[ir.Part], known: Container[str] = ()) -> list[ir.Part]:
    """Set the severity of losing parts of unknown type to ``impossible``, because such a part may be the whole question. Return the parts.

    ``known``: types that contain no question.
    """
    # An answer without its only image answers another question; in a turn of the model, less depends on one part.
    for part in parts:
        if type(part) is ir.Opaque and part.severity == "lossy" and part.text is None and part.label not in known:
            part.severity = "impossible"
    return parts


def is_only_text(part: ir.Text) -> bool:
    """Return whether a text has nothing else that could be lost."""
    return not (part.extra or part.cache or part.citations or part.signature or part.id is not None)


def join_texts(first: ir.Part, second: ir.Part) -> ir.Text | None:
    """Return two parts as one text; None if one of them has anything else than text."""
    if type(first) is ir.Text and type(second) is ir.Text and is_only_text(first) and is_only_text(second):
        return ir.Text(first.text + second.text, second.src if first.text.isspace() else first.src)
    return None


def encode_mime(part: ir.Media, losses: Ledger) -> str | None:
    """Return a media type without its parameters, for a target that accepts a list of types only."""
    if part.mime is None or ";" not in part.mime:
        return part.mime
    return str(losses.changed(part, "mime", bare_mime(part.mime), severity="info"))


def known_mime(part: ir.Media) -> str | None:
    """Return the media type of the source, or guess it from the extension of the URL or the first bytes of the data."""
    if part.mime:
        return bare_mime(part.mime)
    return guess_mime(part.url) if part.url is not None else sniff_mime(part.data or "")


COMMON_IMAGES = frozenset({"image/png", "image/jpeg", "image/gif", "image/webp"})
"""The media types of images that the servers of OpenAI and of Anthropic read. A dialect has those of one server, in ``image_types``.

OpenAI: "You uploaded an unsupported image. Please make sure your image is of one of the following formats: ['png', 'jpeg', 'gif', 'webp']"
(STranslate/STranslate#277, anomalyco/opencode#5704). Anthropic: the official SDK, ``Base64ImageSource.media_type``.
"""
GOOGLE_IMAGES = frozenset({"image/png", "image/jpeg", "image/webp", "image/heic", "image/heif"})
"""The media types of images that Google's servers read.

"MIME type must be image/png, image/jpeg, image/webp, image/heic, or image/heif" (EvanZhouDev/gemini-ai#3); the pages "Image understanding"
of the Gemini API and of Vertex AI list the same types. GIF: microsoft/vscode#286628, Mai-with-u/MaiBot#1435. SVG: google/adk-python#5693,
google-gemini/gemini-cli#3054. TIFF: google-gemini/gemini-cli#9530.
"""
INVALID_IMAGE_TYPES = {"image/jpg": "image/jpeg"}
"""Frequent invalid media types of images to the valid ones."""


def image_type(mime: str) -> str:
    """Return the media type of an image without its parameters and with its valid name."""
    bare = mime.partition(";")[0].rstrip().lower()  # as in ``bare_mime``, without another call for each image
    return INVALID_IMAGE_TYPES.get(bare, bare)


def is_read_image(mime: str | None, types: frozenset[str]) -> bool:
    """Return whether a server reads an image of a type, by the types that it reads. True for an unknown type and for other media."""
    return mime is None or not mime.lower().startswith("image/") or image_type(mime) in types


def adapt_media(part: ir.Media, rules: DialectRules, losses: Ledger) -> ir.Part | None:
    """Return media that the server reads, or the text of a document; None for other media."""
    if _is_read(part, rules):
        if part.detail in (None, "auto") or rules.reads_image_detail:
            return part
        losses.dropped(part, "detail", "ignored_by_server", severity="info")
        return replace(part, detail=None)
    text = known_text(part)
    if text is not None:
        return _as_text(part, text, losses)
    losses.dropped(part, code="unsupported_by_server", severity="impossible")
    return None


def _as_text(part: ir.Media, text: str, losses: Ledger) -> ir.Text:
    """Return the text of a document that the server does not read, below the title of the document."""
    if part.filename:
        text = f"{part.filename}\n{text}"
    losses.changed(part, "", text, "flattened")
    losses.extras(part)
    return ir.Text(text, part.src, cache=part.cache)


def reads_documents(rules: DialectRules) -> bool:
    """Return whether the server reads documents."""
    return rules.media is None or any(source.startswith("document") for source in rules.media)


def _is_read(part: ir.Media, rules: DialectRules) -> bool:
    """Return whether the server reads a media part."""
    if rules.image_types is not None and not is_read_image(known_mime(part), rules.image_types):
        return False
    has_type = part.kind in ("document", "audio") and part.data is not None and part.mime is not None
    if has_type and rules.file_types is not None and known_mime(part) not in rules.file_types:
        return False
    return rules.media is None or _is_read_from(part, rules.media)


def _is_read_from(part: ir.Media, media: frozenset[MediaSource]) -> bool:
    if part.file_id is not None:
        return not media.isdisjoint({"file_id", f"{part.kind}_file_id"})
    return f"{part.kind}_{'url' if part.url is not None else 'data'}" in media
