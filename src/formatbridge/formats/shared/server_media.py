"""Media in a request for one server: what it reads, what becomes text, and what is left out."""

from __future__ import annotations

from dataclasses import replace

from formatbridge import ir
from formatbridge.dialect import DialectRules, MediaSource
from formatbridge.formats.shared.media import known_text
from formatbridge.formats.shared.parts import is_read_image, known_mime
from formatbridge.report.ledger import Ledger


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
