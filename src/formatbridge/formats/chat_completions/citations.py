"""Citations of chat_completions: annotations of the message, which hang on its first text."""

from __future__ import annotations

from formatbridge import ir
from formatbridge.formats.chat_completions.joints import Joints
from formatbridge.formats.shared.parts import put_in
from formatbridge.formats.shared.unmodelled_fields import joined, rest
from formatbridge.jsontext.types import JsonObject
from formatbridge.report.ledger import Ledger


def decode_citations(raw: list[JsonObject], parts: list[ir.Part], src: str, first: int) -> JsonObject | None:
    """Hang URL citations on the text that they annotate; other kinds are left over."""
    text = next((part for part in parts if isinstance(part, ir.Text)), None)
    leftover: JsonObject = {}
    for index, item in enumerate(raw, first):
        url = item.get("url_citation")
        if item.get("type") != "url_citation" or not isinstance(url, dict) or text is None:
            leftover[f"annotations/{index}"] = item
            continue
        text.citations = text.citations or []
        text.citations.append(_decode_citation(item, url, f"{src}/annotations/{index}"))
    return leftover or None


def encode_citations(parts: list[ir.Part], joints: Joints, losses: Ledger) -> list[JsonObject]:
    """Write the citations of an answer, whose texts are joined; one without a URL has no place here."""
    made = []
    for part in parts:
        for citation in (part.citations or ()) if isinstance(part, ir.Text) else ():
            if citation.url is None:
                losses.dropped(citation)
                continue
            made.append({"type": "url_citation", "url_citation": _encode_citation(citation, joints, losses)})
    return made


def _decode_citation(raw: JsonObject, url: JsonObject, src: str) -> ir.Citation:
    return ir.Citation(
        kind="web",
        url=url.get("url"),
        title=url.get("title"),
        cited_text=url.get("content") or None,
        start=url.get("start_index"),
        end=url.get("end_index"),
        src=src,
        extra=joined(
            rest(raw, frozenset({"type", "url_citation"})),
            rest(url, frozenset({"url", "title", "content", "start_index", "end_index"}), "url_citation/"),
        ),
    )


def _encode_citation(citation: ir.Citation, joints: Joints, losses: Ledger) -> JsonObject:
    """Write one citation; where no span is known it is empty, as servers tell it."""
    if citation.extra:
        losses.extras(citation)
    for name in ("cited_text", "file_id"):
        if getattr(citation, name) is not None:
            losses.dropped(citation, name, severity="info")
    made: JsonObject = {"url": citation.url}
    put_in(made, "title", citation.title, "", losses)
    start, end = joints.moved(citation)
    if citation.aside or citation.cited_text is None:  # a format that cites by text alone has no offsets that could change
        for name, place in (("start", start), ("end", end)):
            if place != getattr(citation, name):
                losses.changed(citation, name, place, "moved", severity="info")
    put_in(made, "start_index", start, 0, losses)
    put_in(made, "end_index", end, made["start_index"], losses)
    return made
