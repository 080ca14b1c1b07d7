"""Citations of Anthropic Messages.

A citation belongs to a ``text`` block, and the text of the block is its span. Text with several spans is split into several blocks.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Literal

from formatbridge import ir
from formatbridge.formats.messages.holds import drop_unheld_in_answer
from formatbridge.formats.shared.text_lengths import may_repeat
from formatbridge.formats.shared.unmodelled_fields import read_extra
from formatbridge.jsontext.types import JsonObject
from formatbridge.report.ledger import WHOLE_NODE, Ledger

_Kind = Literal["web", "document", "search"]

_DOCUMENT: tuple[_Kind, frozenset[str]] = ("document", frozenset({"type", "cited_text", "document_title", "file_id"}))
_KINDS: dict[str, tuple[_Kind, frozenset[str]]] = {
    "char_location": _DOCUMENT,
    "page_location": _DOCUMENT,
    "content_block_location": _DOCUMENT,
    "web_search_result_location": ("web", frozenset({"type", "cited_text", "url", "title"})),
    "search_result_location": ("search", frozenset({"type", "cited_text", "source", "title"})),
}
"""Types of citations to the canonical kind, and the keys that the decoder reads."""
_WEB = frozenset({"web", "map"})
_MAX_REPEATS = 50
"""How often each citation of a text may be repeated on average, if spans overlap. This bounds the size of the output."""

_Span = tuple[int, int, ir.Citation]


def decode_citations(raw: list[JsonObject], src: str) -> list[ir.Citation]:
    """Decode the citations of a block, without spans."""
    return [decode_citation(item, f"{src}/{index}") for index, item in enumerate(raw)]


def decode_citation(raw: JsonObject, src: str) -> ir.Citation:
    """Decode a citation, without its span."""
    wire_type = raw.get("type")
    if not isinstance(wire_type, str) or wire_type not in _KINDS:
        return ir.Citation(kind="document", src=src, extra={WHOLE_NODE: raw})
    kind, known = _KINDS[wire_type]
    fields = {key: raw[key] for key in known if key in raw}
    return ir.Citation(
        kind=kind,
        url=fields.get("url") or fields.get("source"),
        title=fields.get("title") or fields.get("document_title"),
        file_id=fields.get("file_id"),
        cited_text=fields.get("cited_text"),
        src=src,
        extra=read_extra(raw, known),
    )


def encode_citation(citation: ir.Citation, span: str, pointer: str, losses: Ledger) -> JsonObject:
    """Encode a citation of a web page. ``span``: the text of its span, or empty if it is not to be repeated."""
    drop_unheld_in_answer(citation, losses)
    # All fields are required (official SDK, ``CitationsWebSearchResultLocation``). Only the server creates ``encrypted_index``.
    location = {
        "type": "web_search_result_location",
        "url": citation.url,
        "title": citation.title,
        "cited_text": citation.cited_text if citation.cited_text is not None else span,
        "encrypted_index": losses.added(f"{pointer}/encrypted_index", ""),
    }
    losses.changed(citation, "", location, "weaker_form", severity="info")
    return location


def can_cite(citation: ir.Citation, losses: Ledger) -> bool:
    """Return whether this format can cite the source, which must be a web page. Citations of documents need indexes in the request."""
    # Citations of documents have the index of a document in the request, which other formats do not send.
    if citation.kind in _WEB and citation.url is not None:
        return True
    losses.dropped(citation)
    return False


def set_citation_spans(parts: list[ir.Part]) -> None:
    """Set the span of each citation to that of its block in the visible text of the response."""
    # Anthropic sends no offsets: the text of a block is the span of its citations (Anthropic, "Citations").
    offset = 0
    for part in parts:
        if type(part) is ir.Text:
            end = offset + len(part.text)
            if part.citations:
                for citation in part.citations:
                    citation.start, citation.end = offset, end
            offset = end


def encode_cited_text(part: ir.Text, offset: int, first_index: int, losses: Ledger) -> list[JsonObject]:
    """Encode a text of a response as ``text`` blocks, split where a citation begins or ends.

    ``offset``: the offset of the text in the visible text of the response. ``first_index``: the index of the first block.
    """
    length = len(part.text)
    spans = [
        (*_span_of(citation, offset, length, losses), citation) for citation in part.citations or () if can_cite(citation, losses)
    ]
    blocks: list[JsonObject] = []
    pieces = _split(spans, length)
    missing = (last - first for _, _, cited in pieces for first, last, citation in cited if citation.cited_text is None)
    may_copy = may_repeat(missing, length)
    for start, end, cited in pieces:
        block: JsonObject = {"type": "text", "text": part.text[start:end]}
        if cited:
            citations_pointer = f"/content/{first_index + len(blocks)}/citations"
            block["citations"] = [
                encode_citation(citation, part.text[first:last] if may_copy else "", f"{citations_pointer}/{index}", losses)
                for index, (first, last, citation) in enumerate(cited)
            ]
        blocks.append(block)
    return blocks


def _split(spans: list[_Span], length: int) -> list[tuple[int, int, list[_Span]]]:
    """Split a text at the borders of all spans. Each piece has its offsets and the spans that include it.

    If too many spans overlap, the whole text is one piece.
    """
    borders = sorted({0, length, *(span[0] for span in spans), *(span[1] for span in spans)})
    pending = sorted(spans, key=lambda span: span[0])[::-1]  # spans with the same start keep their order
    pieces: list[tuple[int, int, list[_Span]]] = []
    active: list[_Span] = []
    count = 0
    for start, end in pairwise(borders):
        active = [span for span in active if span[1] > start]
        while pending and pending[-1][0] <= start:
            active.append(pending.pop())
        count += len(active)
        if count > _MAX_REPEATS * len(spans):
            return [(0, length, spans)]
        pieces.append((start, end, active))
    return pieces


def _span_of(citation: ir.Citation, offset: int, length: int, losses: Ledger) -> tuple[int, int]:
    """Return the span of a citation in its text; the whole text if the citation has no span there."""
    if citation.start is None or citation.end is None:
        return 0, length
    start, end = citation.start - offset, citation.end - offset
    if start < 0 or end > length or start >= end:
        start, end = max(0, start), min(length, end)
        if start >= end:
            start, end = 0, length
        for name, value in (("start", offset + start), ("end", offset + end)):
            losses.changed(citation, name, value, "span_lost")
    return start, end
