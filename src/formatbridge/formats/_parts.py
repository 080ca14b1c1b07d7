"""What formats do alike with parts: put in words what has no home in the target, note what stays behind, join texts."""

from __future__ import annotations

from collections.abc import Container

from formatbridge import ir
from formatbridge.formats._media import bare_mime, guess_mime, sniff_mime
from formatbridge.losses import Ledger


def encode_opaque(part: ir.Opaque | ir.Hosted, losses: Ledger) -> ir.Text | None:
    """Put a foreign part in words where it has any, else note that it is gone."""
    if isinstance(part, ir.Opaque) and part.text is not None:
        losses.changed(part, "", part.text, "flattened")
        if part.text:
            return ir.Text(part.text, part.src, cache=part.cache)
        if part.cache:
            losses.dropped(part.cache, code="empty", severity="info")
        return None
    if isinstance(part, ir.Hosted):
        losses.dropped(part, code="server_history")
    else:
        losses.dropped(part, code=part.code, severity=part.severity)
    return None


def weigh_unknown(parts: list[ir.Part], known: Container[str] = ()) -> list[ir.Part]:
    """Make it grave to lose a part of an unknown kind that was given to the model: it may be all that was asked. Returns the parts.

    ``known``: kinds of which the format knows that they ask for nothing.
    """
    for part in parts:
        if type(part) is ir.Opaque and part.severity == "lossy" and part.text is None and part.what not in known:
            part.severity = "impossible"
    return parts


def is_plain(part: ir.Text) -> bool:
    """Say whether a text is nothing but its text, so that nothing can be lost with it."""
    return not (part.extra or part.cache or part.citations or part.signature or part.id is not None)


def join_texts(first: ir.Part, second: ir.Part) -> ir.Text | None:
    """Return two parts as one text; None where one of them is more than text."""
    if type(first) is ir.Text and type(second) is ir.Text and is_plain(first) and is_plain(second):
        return ir.Text(first.text + second.text, second.src if first.text.isspace() else first.src)
    return None


def note_beside(call: ir.ToolCall, losses: Ledger) -> None:
    """Note what a call has for its own format, its server or its item, and no other format has on a call."""
    if call.extra:
        losses.extras(call)
    if call.cache:
        losses.dropped(call.cache, severity="info")
    if call.item_id is not None:
        losses.dropped(call, "item_id", "diagnostic", severity="info")


def drop_id(part: ir.Text | ir.Refusal | ir.Media | ir.Reasoning, losses: Ledger) -> None:
    """Note that the id of the item around a part stays behind, for formats that have no items."""
    if part.id is not None:
        losses.dropped(part, "id", "diagnostic", severity="info")


def encode_mime(part: ir.Media, losses: Ledger) -> str | None:
    """Write the type of media without its parameters, where the target has a word of its own or a list of types."""
    if part.mime is None or ";" not in part.mime:
        return part.mime
    return str(losses.changed(part, "mime", bare_mime(part.mime), severity="info"))


def known_mime(part: ir.Media) -> str | None:
    """Tell the type of media: as the source says it, else from the ending of their address or the beginning of their data."""
    if part.mime:
        return bare_mime(part.mime)
    return guess_mime(part.url) if part.url is not None else sniff_mime(part.data or "")


def drop_citations(part: ir.Text, losses: Ledger) -> None:
    """Note that the citations of a text stay behind; in a request the model hardly sees them."""
    if part.citations:
        losses.dropped(part, "citations", severity="info")
