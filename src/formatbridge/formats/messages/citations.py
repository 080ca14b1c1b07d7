"""Citations of messages: they hang on blocks of text, and the block is the span that they vouch for."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

from formatbridge import ir
from formatbridge.formats._extra import rest
from formatbridge.losses import Ledger

JsonObject = dict[str, Any]

_KNOWN = frozenset({"type", "cited_text", "url", "title", "source", "document_title", "file_id"})
_WEB = frozenset({"web", "map"})


def decode_citations(raw: list[JsonObject], src: str) -> list[ir.Citation]:
    """Read the citations of one block; their spans are known only in a whole answer."""
    return [_decode_citation(item, f"{src}/{index}") for index, item in enumerate(raw)]


def _decode_citation(raw: JsonObject, src: str) -> ir.Citation:
    kind = raw.get("type")
    return ir.Citation(
        kind="web" if kind == "web_search_result_location" else "search" if kind == "search_result_location" else "document",
        url=raw.get("url") or raw.get("source"),
        title=raw.get("title") or raw.get("document_title"),
        file_id=raw.get("file_id"),
        cited_text=raw.get("cited_text"),
        src=src,
        extra=rest(raw, _KNOWN),
    )


def place_citations(parts: list[ir.Part]) -> None:
    """Give each citation of an answer the span of its block, counted over the visible text."""
    offset = 0
    for part in parts:
        if type(part) is ir.Text:
            end = offset + len(part.text)
            for citation in part.citations or ():
                citation.start, citation.end = offset, end
            offset = end


def encode_cited_text(part: ir.Text, offset: int, at: int, losses: Ledger) -> list[JsonObject]:
    """Write a text of an answer as blocks, cut wherever a citation begins or ends.

    ``offset``: where the text begins in the visible text of the answer; ``at``: the index of its first block.
    """
    length = len(part.text)
    spans = [(*_span_of(citation, offset, length), citation) for citation in part.citations or ()]
    spans = [span for span in spans if _can_cite(span[2], losses)]
    borders = sorted({0, length, *(span[0] for span in spans), *(span[1] for span in spans)})
    blocks: list[JsonObject] = []
    waiting = sorted(spans, key=lambda span: span[0], reverse=True)
    active: list[tuple[int, int, ir.Citation]] = []
    for start, end in pairwise(borders):
        active = [span for span in active if span[1] > start]
        while waiting and waiting[-1][0] <= start:
            active.append(waiting.pop())
        block: JsonObject = {"type": "text", "text": part.text[start:end]}
        if active:
            place = f"/content/{at + len(blocks)}/citations"
            block["citations"] = [
                _encode_citation(span[2], part.text[span[0] : span[1]], f"{place}/{index}", losses)
                for index, span in enumerate(active)
            ]
        blocks.append(block)
    return blocks


def _span_of(citation: ir.Citation, offset: int, length: int) -> tuple[int, int]:
    """Return a citation's span within its text; the whole text where it names none that lies there."""
    if citation.start is None or citation.end is None:
        return 0, length
    start, end = max(0, citation.start - offset), min(length, citation.end - offset)
    return (start, end) if start < end else (0, length)


def _can_cite(citation: ir.Citation, losses: Ledger) -> bool:
    """Say whether a place can be cited; only pages of the web can, for the others count what this request never had."""
    if citation.kind in _WEB and citation.url is not None:
        return True
    losses.dropped(citation)
    return False


def _encode_citation(citation: ir.Citation, span: str, at: str, losses: Ledger) -> JsonObject:
    if citation.extra:
        losses.extras(citation)
    if citation.file_id is not None:
        losses.dropped(citation, "file_id", severity="info")
    made = {
        "type": "web_search_result_location",
        "url": citation.url,
        "title": citation.title,
        "cited_text": citation.cited_text if citation.cited_text is not None else span,
        "encrypted_index": losses.added(f"{at}/encrypted_index", "", "required, and the source has none"),
    }
    losses.changed(citation, "", made, "weaker_carrier", severity="info")
    return made
