"""Citations of messages: they hang on blocks of text, and the block is the span that they vouch for."""

from __future__ import annotations

from itertools import pairwise
from typing import Literal

from formatbridge import ir
from formatbridge.formats.messages.holds import drop_unheld_in_answer
from formatbridge.formats.shared.parts import may_repeat
from formatbridge.formats.shared.unmodelled_fields import rest
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
"""What each kind of place is elsewhere, and what it says."""
_WEB = frozenset({"web", "map"})
_THICKET = 50
"""Times that the citations of a text may be repeated, on average, where their spans overlap."""

_Span = tuple[int, int, ir.Citation]


def decode_citations(raw: list[JsonObject], src: str) -> list[ir.Citation]:
    """Read the citations of one block; their spans are known only in a whole answer."""
    return [decode_citation(item, f"{src}/{index}") for index, item in enumerate(raw)]


def decode_citation(raw: JsonObject, src: str) -> ir.Citation:
    """Read one citation."""
    word = raw.get("type")
    if not isinstance(word, str) or word not in _KINDS:
        return ir.Citation(kind="document", src=src, extra={WHOLE_NODE: raw})
    kind, known = _KINDS[word]
    told = {key: raw[key] for key in known if key in raw}
    return ir.Citation(
        kind=kind,
        url=told.get("url") or told.get("source"),
        title=told.get("title") or told.get("document_title"),
        file_id=told.get("file_id"),
        cited_text=told.get("cited_text"),
        src=src,
        extra=rest(raw, known),
    )


def place_citations(parts: list[ir.Part]) -> None:
    """Give each citation of an answer the span of its block, counted over the visible text."""
    offset = 0
    for part in parts:
        if type(part) is ir.Text:
            end = offset + len(part.text)
            if part.citations:
                for citation in part.citations:
                    citation.start, citation.end = offset, end
            offset = end


def encode_cited_text(part: ir.Text, offset: int, at: int, losses: Ledger) -> list[JsonObject]:
    """Write a text of an answer as blocks, cut wherever a citation begins or ends.

    ``offset``: where the text begins in the visible text of the answer; ``at``: the index of its first block.
    """
    length = len(part.text)
    spans = [
        (*_span_of(citation, offset, length, losses), citation) for citation in part.citations or () if can_cite(citation, losses)
    ]
    blocks: list[JsonObject] = []
    pieces = _cut(spans, length)
    untold = (last - first for _, _, cited in pieces for first, last, citation in cited if citation.cited_text is None)
    tells = may_repeat(untold, length)
    for start, end, cited in pieces:
        block: JsonObject = {"type": "text", "text": part.text[start:end]}
        if cited:
            place = f"/content/{at + len(blocks)}/citations"
            block["citations"] = [
                encode_citation(citation, part.text[first:last] if tells else "", f"{place}/{index}", losses)
                for index, (first, last, citation) in enumerate(cited)
            ]
        blocks.append(block)
    return blocks


def _cut(spans: list[_Span], length: int) -> list[tuple[int, int, list[_Span]]]:
    """Cut a text at the borders of all spans; each piece comes with the spans over it. A thicket of spans stays one piece."""
    borders = sorted({0, length, *(span[0] for span in spans), *(span[1] for span in spans)})
    waiting = sorted(spans, key=lambda span: span[0])[::-1]  # those that begin at one place leave in their order
    pieces: list[tuple[int, int, list[_Span]]] = []
    active: list[_Span] = []
    written = 0
    for start, end in pairwise(borders):
        active = [span for span in active if span[1] > start]
        while waiting and waiting[-1][0] <= start:
            active.append(waiting.pop())
        written += len(active)
        if written > _THICKET * len(spans):
            return [(0, length, spans)]
        pieces.append((start, end, active))
    return pieces


def _span_of(citation: ir.Citation, offset: int, length: int, losses: Ledger) -> tuple[int, int]:
    """Return a citation's span within its text; the whole text where it names none that lies there."""
    if citation.start is None or citation.end is None:
        return 0, length
    start, end = citation.start - offset, citation.end - offset
    if start < 0 or end > length or start >= end:
        start, end = max(0, start), min(length, end)
        if start >= end:
            start, end = 0, length
        for name, place in (("start", start), ("end", end)):
            if getattr(citation, name) != offset + place:
                losses.changed(citation, name, offset + place, "span_lost", severity="info")
    return start, end


def can_cite(citation: ir.Citation, losses: Ledger) -> bool:
    """Say whether a place can be cited; only pages of the web can, for the others count what this request never had."""
    if citation.kind in _WEB and citation.url is not None:
        return True
    losses.dropped(citation)
    return False


def encode_citation(citation: ir.Citation, span: str, at: str, losses: Ledger) -> JsonObject:
    """Write one citation; ``span`` is the text that it vouches for, empty where nobody says it again."""
    drop_unheld_in_answer(citation, losses)
    made = {
        "type": "web_search_result_location",
        "url": citation.url,
        "title": citation.title,
        "cited_text": citation.cited_text if citation.cited_text is not None else span,
        "encrypted_index": losses.added(f"{at}/encrypted_index", ""),
    }
    losses.changed(citation, "", made, "weaker_carrier", severity="info")
    return made
