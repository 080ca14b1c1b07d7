"""What an answer rests on: sources apart from the text, and spans that count bytes of UTF-8.

The vendor documents a span as one of its part. Recorded traffic shows that it runs over all visible text of the candidate, joined.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator
from itertools import accumulate
from operator import itemgetter
from typing import Any

from formatbridge import ir
from formatbridge.formats.generate_content.holds import drop_unheld_in_answer
from formatbridge.formats.shared.held_fields import drop_field
from formatbridge.formats.shared.parts import may_repeat
from formatbridge.formats.shared.unmodelled_fields import joined, rest
from formatbridge.jsontext.codec import dumps
from formatbridge.jsontext.types import JsonObject
from formatbridge.report.ledger import Ledger

_READ = "retrievedContext"
_KINDS: dict[str, Any] = {"web": "web", "maps": "map", "retrievedContext": "document", "image": "web"}
_CHUNK: dict[str, frozenset[str]] = {
    "web": frozenset({"uri", "title"}),
    "maps": frozenset({"uri", "title"}),
    "retrievedContext": frozenset({"uri", "title", "text"}),
    "image": frozenset({"sourceUri", "title"}),
}
_GROUNDING = frozenset({"groundingChunks", "groundingSupports"})
_SUPPORT = frozenset({"segment", "groundingChunkIndices"})
_QUOTE = frozenset({"startIndex", "endIndex", "uri", "title"})
_INSIDE = bytes(range(0x80, 0xC0))
"""Bytes of UTF-8 that begin no code point."""


def decode_citations(candidate: JsonObject, parts: list[ir.Part], src: str) -> JsonObject | None:
    """Hang the citations of a candidate on the text that they cite; return what no citation holds, by pointer."""
    grounding, quoted = candidate.get("groundingMetadata"), candidate.get("citationMetadata")
    if not grounding and not quoted:
        return None
    texts = [part for part in parts if type(part) is ir.Text]
    if not texts:
        found = {"groundingMetadata": grounding, "citationMetadata": quoted}
        return {key: value for key, value in found.items() if value}
    unread: JsonObject = {}
    citations: list[ir.Citation] = []
    visible = "".join(part.text for part in texts)
    if quoted:
        citations += _decode_quotes(quoted, f"{src}/citationMetadata", visible, unread)
    if grounding:
        citations += _decode_grounding(grounding, f"{src}/groundingMetadata", visible, unread)
    _hang(citations, texts)
    return unread or None


def _hang(citations: list[ir.Citation], texts: list[ir.Text]) -> None:
    """Give each citation to the text in which its span begins; one without a span to the last."""
    ends = list(accumulate(len(text.text) for text in texts))
    for citation in citations:
        place = bisect_right(ends, citation.start) if citation.start is not None else len(texts)
        home = texts[min(place, len(texts) - 1)]
        home.citations = home.citations or []
        home.citations.append(citation)


def _decode_quotes(raw: JsonObject, src: str, visible: str, unread: JsonObject) -> Iterator[ir.Citation]:
    unread |= rest(raw, frozenset({"citations", "citationSources"}), "citationMetadata/") or {}
    items = [(name, index, item) for name in ("citations", "citationSources") for index, item in enumerate(raw.get(name) or ())]
    places = _code_points(visible, (item.get(key) or 0 for _, _, item in items for key in ("startIndex", "endIndex")))
    for name, index, item in items:
        end = item.get("endIndex")
        yield ir.Citation(
            kind="web",
            url=item.get("uri"),
            title=item.get("title"),
            start=places[item.get("startIndex") or 0] if end is not None or item.get("startIndex") is not None else None,
            end=places[end] if end is not None else None,
            src=f"{src}/{name}/{index}",
            extra=rest(item, _QUOTE),
        )


def _decode_grounding(raw: JsonObject, src: str, visible: str, unread: JsonObject) -> Iterator[ir.Citation]:
    """Read each pair of a span and a source as one citation, and a source that no span names as one without a span."""
    unread |= rest(raw, _GROUNDING, "groundingMetadata/") or {}
    chunks, supports = raw.get("groundingChunks") or [], raw.get("groundingSupports") or []
    segments = [support.get("segment") or {} for support in supports]
    places = _code_points(visible, (segment.get(key) or 0 for segment in segments for key in ("startIndex", "endIndex")))
    cited: set[int] = set()
    for index, (support, segment) in enumerate(zip(supports, segments, strict=True)):
        at = f"groundingMetadata/groundingSupports/{index}"
        start, end = places[segment.get("startIndex") or 0], places[segment.get("endIndex") or 0]
        given = enumerate(support.get("groundingChunkIndices") or ())
        known = [(place, number) for place, number in given if 0 <= number < len(chunks)]
        if not known:
            unread[at] = support
            continue
        unread |= joined(rest(support, _SUPPORT, f"{at}/"), _unread_segment(segment, visible[start:end], at)) or {}
        unread |= _stray_indices(support, len(chunks), at)
        for place, number in known:
            cited.add(number)
            citation = _decode_chunk(chunks[number], f"{src}/groundingChunks/{number}")
            if segment:
                citation.start, citation.end = start, end
            citation.second_src = f"{src}/groundingSupports/{index}"
            if len(known) > 1:
                citation.index_src, citation.index_count = f"{citation.second_src}/groundingChunkIndices/{place}", len(known)
            yield citation
    for number, chunk in enumerate(chunks):
        if number not in cited:
            yield _decode_chunk(chunk, f"{src}/groundingChunks/{number}")


def _unread_segment(segment: JsonObject, words: str, at: str) -> JsonObject | None:
    """Return what a segment says beside its span: its text only where it is another one."""
    known = {"startIndex", "endIndex"} | ({"text"} if segment.get("text") == words else set())
    return rest(segment, known if segment.get("partIndex") else known | {"partIndex"}, f"{at}/segment/")


def _stray_indices(support: JsonObject, count: int, at: str) -> JsonObject:
    return {
        f"{at}/groundingChunkIndices/{place}": number
        for place, number in enumerate(support["groundingChunkIndices"])
        if not 0 <= number < count
    }


def _decode_chunk(raw: JsonObject, src: str) -> ir.Citation:
    member = next((name for name in _CHUNK if raw.get(name) is not None), "")
    source = raw.get(member) or {}
    return ir.Citation(
        kind=_KINDS.get(member, "web"),
        url=source.get("sourceUri") if member == "image" else source.get("uri"),
        title=source.get("title"),
        cited_text=source.get("text") if member == "retrievedContext" else None,
        src=src,
        extra=joined(rest(source, _CHUNK.get(member, frozenset()), f"{member}/"), rest(raw, frozenset({member}))),
    )


def _code_points(text: str, offsets: Iterable[int]) -> dict[int, int]:
    """Count the code points before each byte of a text's UTF-8; bytes beyond its end count as one each."""
    if text.isascii():
        return {offset: offset for offset in offsets}
    data = text.encode()
    found: dict[int, int] = {}
    place = count = 0
    for offset in sorted(set(offsets)):
        count += len(data[place:offset].translate(None, _INSIDE)) if offset > 0 else 0
        place = max(offset, 0)
        found[offset] = count + max(0, offset - len(data))
    return found


def encode_citations(parts: list[ir.Part], losses: Ledger) -> JsonObject | None:
    """Write the citations of an answer as sources and spans over its visible text; None where there are none."""
    given = [citation for part in parts if type(part) is ir.Text for citation in part.citations or ()]
    found = [citation for citation in given if _can_cite(citation, losses)]
    if not found:
        return None
    visible, leads = _visible(parts)
    places = _bytes(visible, {place for citation in found for place in (citation.start, citation.end) if place is not None})
    chunks: dict[bytes, tuple[int, JsonObject]] = {}
    spans: dict[tuple[int | None, int | None], dict[int, None]] = {}
    for citation in found:
        chunk = _encode_chunk(citation, losses)
        number, _ = chunks.setdefault(dumps(chunk), (len(chunks), chunk))
        if citation.start is not None or citation.end is not None:
            spans.setdefault((citation.start, citation.end), {})[number] = None
    tells = may_repeat((end - (start or 0) for start, end in spans if end is not None), len(visible))
    supports = [
        {"segment": _encode_segment(start, end, places, leads, visible if tells else None), "groundingChunkIndices": list(numbers)}
        for (start, end), numbers in spans.items()
    ]
    return {"groundingChunks": [chunk for _, chunk in chunks.values()]} | ({"groundingSupports": supports} if supports else {})


def _encode_segment(
    start: int | None, end: int | None, places: dict[int, int], leads: list[tuple[int, int]], visible: str | None
) -> JsonObject:
    """Write a span, with its text unless that is not to be said again."""
    made: JsonObject = {}
    if start is not None:
        made["startIndex"] = places[start] + _lead(leads, start)
    if end is not None:
        made["endIndex"] = places[end] + _lead(leads, max(end - 1, 0))
        if visible is not None:
            made["text"] = visible[start or 0 : end]
    return made


def _visible(parts: list[ir.Part]) -> tuple[str, list[tuple[int, int]]]:
    """Join the text of an answer; the list says from which code point on how many bytes of other words stand before it."""
    texts: list[str] = []
    leads: list[tuple[int, int]] = []
    place = lead = 0
    for part in parts:
        if type(part) is ir.Text:
            leads.append((place, lead))
            texts.append(part.text)
            place += len(part.text)
        elif type(part) is ir.Refusal:
            lead += len(part.text.encode())
        elif type(part) is ir.Media and part.transcript:
            lead += len(part.transcript.encode())
    return "".join(texts), leads


def _lead(leads: list[tuple[int, int]], place: int) -> int:
    return leads[bisect_right(leads, place, key=itemgetter(0)) - 1][1]


def _bytes(text: str, places: set[int]) -> dict[int, int]:
    """Count the bytes of UTF-8 before each code point of a text."""
    found: dict[int, int] = {}
    before = count = 0
    for place in sorted(places):
        count += len(text[before:place].encode()) if place > 0 else 0
        before = max(place, 0)
        found[place] = count + max(0, place - len(text))
    return found


def _can_cite(citation: ir.Citation, losses: Ledger) -> bool:
    """Say whether a source has anything to be known by here."""
    if citation.url is not None or citation.title is not None or (citation.cited_text is not None and _member(citation) == _READ):
        return True
    losses.dropped(citation)
    return False


def _member(citation: ir.Citation) -> str:
    return "maps" if citation.kind == "map" else "web" if citation.kind in ("web", "search") else _READ


def _encode_chunk(citation: ir.Citation, losses: Ledger) -> JsonObject:
    drop_unheld_in_answer(citation, losses)
    source = {"uri": citation.url, "title": citation.title}
    member = _member(citation)
    if member == _READ:
        source["text"] = citation.cited_text
    else:
        drop_field(citation, "cited_text", losses)
    return {member: {key: value for key, value in source.items() if value is not None}}
