"""Citations of Gemini: grounding chunks are separate from the text, and grounding supports count bytes of UTF-8.

The vendor documents a segment as a range of one part. In recorded traffic it is a range of all visible text of the candidate, joined.

Sources and spans are two lists of a candidate, so all citations of its parts are encoded at once.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator
from itertools import accumulate, chain
from operator import itemgetter
from typing import Any

from formatbridge import ir
from formatbridge.formats.generate_content.holds import drop_unheld_in_answer
from formatbridge.formats.shared.held_fields import drop_field
from formatbridge.formats.shared.text_lengths import may_repeat
from formatbridge.formats.shared.unmodelled_fields import merge_extra, read_extra
from formatbridge.jsontext.codec import dumps
from formatbridge.jsontext.types import JsonObject
from formatbridge.report.ledger import Ledger

# Source of the fields: the official SDK, ``GroundingChunk``, whose members exclude one another.
_DOCUMENT = "retrievedContext"
_KINDS: dict[str, Any] = {"web": "web", "maps": "map", "retrievedContext": "document", "image": "web"}
_CHUNK: dict[str, frozenset[str]] = {
    "web": frozenset({"uri", "title"}),
    "maps": frozenset({"uri", "title"}),
    "retrievedContext": frozenset({"uri", "title", "text"}),
    "image": frozenset({"sourceUri", "title"}),
}
_GROUNDING = frozenset({"groundingChunks", "groundingSupports"})
_SUPPORT = frozenset({"segment", "groundingChunkIndices"})
_CITATION_SOURCE = frozenset({"startIndex", "endIndex", "uri", "title"})
_CONTINUATION_BYTES = bytes(range(0x80, 0xC0))
"""Continuation bytes of UTF-8, which begin no code point."""


def decode_citations(candidate: JsonObject, parts: list[ir.Part], src: str) -> JsonObject | None:
    """Add the citations of a candidate to the texts that they cite; return the unread fields by pointer."""
    # Grounding has the pages that the server searched, and citation metadata the works that the model quotes (official SDK).
    grounding, quoted = candidate.get("groundingMetadata"), candidate.get("citationMetadata")
    if not grounding and not quoted:
        return None
    texts = [part for part in parts if type(part) is ir.Text]
    # A canonical citation is a field of a text, so without a text the metadata stay unmodelled fields.
    if not texts:
        fields = {"groundingMetadata": grounding, "citationMetadata": quoted}
        return {key: value for key, value in fields.items() if value}
    unread: JsonObject = {}
    citations: list[ir.Citation] = []
    visible = "".join(part.text for part in texts)
    if quoted:
        citations += _decode_citation_sources(quoted, f"{src}/citationMetadata", visible, unread)
    if grounding:
        citations += _decode_grounding(grounding, f"{src}/groundingMetadata", visible, unread)
    _add_to_texts(citations, texts)
    return unread or None


def encode_citations(parts: list[ir.Part], losses: Ledger) -> JsonObject | None:
    """Encode the citations of a candidate as grounding chunks and supports; None if there are none."""
    citations = [citation for part in parts if type(part) is ir.Text for citation in part.citations or ()]
    cited = [citation for citation in citations if _can_cite(citation, losses)]
    if not cited:
        return None
    visible, shifts = _visible_text(parts)
    offsets = _byte_offsets(
        visible, {offset for citation in cited for offset in (citation.start, citation.end) if offset is not None}
    )
    # A page that several spans cite is one chunk, and spans that are equal are one support, as the vendor sends them
    # (recorded traffic).
    chunks: dict[bytes, tuple[int, JsonObject]] = {}
    spans: dict[tuple[int | None, int | None], dict[int, None]] = {}
    for citation in cited:
        chunk = _encode_chunk(citation, losses)
        number, _ = chunks.setdefault(dumps(chunk), (len(chunks), chunk))
        if citation.start is not None or citation.end is not None:
            spans.setdefault((citation.start, citation.end), {})[number] = None
    # The text of a segment is optional. Many long spans would repeat the answer many times, so then none has it.
    with_text = may_repeat((end - (start or 0) for start, end in spans if end is not None), len(visible))
    supports = [
        {
            "segment": _encode_segment(start, end, offsets, shifts, visible if with_text else None),
            "groundingChunkIndices": list(numbers),
        }
        for (start, end), numbers in spans.items()
    ]
    return {"groundingChunks": [chunk for _, chunk in chunks.values()]} | ({"groundingSupports": supports} if supports else {})


def _add_to_texts(citations: list[ir.Citation], texts: list[ir.Text]) -> None:
    """Add each citation to the text in which its span begins; one without a span to the last text."""
    ends = list(accumulate(len(text.text) for text in texts))
    for citation in citations:
        position = bisect_right(ends, citation.start) if citation.start is not None else len(texts)
        cited = texts[min(position, len(texts) - 1)]
        cited.citations = cited.citations or []
        cited.citations.append(citation)


def _decode_citation_sources(raw: JsonObject, src: str, visible: str, unread: JsonObject) -> Iterator[ir.Citation]:
    """Decode ``citationMetadata``."""
    # {"citationSources": [{"startIndex": 0, "endIndex": 120, "uri": "https://a.example", "license": "mit"}]}
    # The Vertex API names the list ``citations`` (google-gemini/deprecated-generative-ai-dart#199).
    unread |= read_extra(raw, frozenset({"citations", "citationSources"}), "citationMetadata/") or {}
    items = [(name, index, item) for name in ("citations", "citationSources") for index, item in enumerate(raw.get(name) or ())]
    offsets = _code_point_offsets(visible, (item.get(key) or 0 for _, _, item in items for key in ("startIndex", "endIndex")))
    for name, index, item in items:
        end = item.get("endIndex")
        # proto3 JSON omits a start of 0, so an end alone means a span from the start.
        yield ir.Citation(
            kind="web",
            url=item.get("uri"),
            title=item.get("title"),
            start=offsets[item.get("startIndex") or 0] if end is not None or item.get("startIndex") is not None else None,
            end=offsets[end] if end is not None else None,
            src=f"{src}/{name}/{index}",
            extra=read_extra(item, _CITATION_SOURCE),
        )


def _decode_grounding(raw: JsonObject, src: str, visible: str, unread: JsonObject) -> Iterator[ir.Citation]:
    """Decode each pair of a grounding support and a chunk as one citation. An uncited chunk is a citation without a span."""
    # {"groundingChunks": [{"web": {"uri": "https://a.example", "title": "A"}}],
    #  "groundingSupports": [{"segment": {"startIndex": 4, "endIndex": 31, "text": "..."}, "groundingChunkIndices": [0]}]}
    unread |= read_extra(raw, _GROUNDING, "groundingMetadata/") or {}
    chunks, supports = raw.get("groundingChunks") or [], raw.get("groundingSupports") or []
    segments = [support.get("segment") or {} for support in supports]
    spans = [(segment.get("startIndex") or 0, segment.get("endIndex") or 0) for segment in segments]
    # "measured in bytes" (official SDK, ``Segment``): bytes of UTF-8 (google-gemini/gemini-cli#29039).
    offsets = _code_point_offsets(visible, chain.from_iterable(spans))
    cited: set[int] = set()
    for index, (support, segment) in enumerate(zip(supports, segments, strict=True)):
        pointer = f"groundingMetadata/groundingSupports/{index}"
        start, end = (offsets[byte] for byte in spans[index])
        indices = enumerate(support.get("groundingChunkIndices") or ())
        known = [(position, number) for position, number in indices if 0 <= number < len(chunks)]
        # A support without a chunk has a span and no source, so it cites nothing.
        if not known:
            unread[pointer] = support
            continue
        unread |= (
            merge_extra(read_extra(support, _SUPPORT, f"{pointer}/"), _unread_segment(segment, visible[start:end], pointer)) or {}
        )
        unread |= _unread_indices(support, len(chunks), pointer)
        for position, number in known:
            cited.add(number)
            citation = _decode_chunk(chunks[number], f"{src}/groundingChunks/{number}")
            if segment:
                citation.start, citation.end = start, end
            # A citation comes from two places of the body, so its loss may be one of either.
            citation.second_src = f"{src}/groundingSupports/{index}"
            if len(known) > 1:
                citation.index_src = f"{citation.second_src}/groundingChunkIndices/{position}"
                citation.index_count = len(known)
            yield citation
    for number, chunk in enumerate(chunks):
        if number not in cited:
            yield _decode_chunk(chunk, f"{src}/groundingChunks/{number}")


def _unread_segment(segment: JsonObject, cited: str, pointer: str) -> JsonObject | None:
    """Return the unread fields of a segment. Its text is unread only if it differs from the cited text."""
    # ``partIndex`` 0 is its default. The vendor documents it, but in recorded traffic offsets count from the first text.
    known = {"startIndex", "endIndex"} | ({"text"} if segment.get("text") == cited else set())
    return read_extra(segment, known if segment.get("partIndex") else known | {"partIndex"}, f"{pointer}/segment/")


def _unread_indices(support: JsonObject, count: int, pointer: str) -> JsonObject:
    """Return the chunk indices of a support that are out of range, by pointer."""
    return {
        f"{pointer}/groundingChunkIndices/{position}": number
        for position, number in enumerate(support["groundingChunkIndices"])
        if not 0 <= number < count
    }


def _encode_segment(
    start: int | None, end: int | None, offsets: dict[int, int], shifts: list[tuple[int, int]], visible: str | None
) -> JsonObject:
    """Encode a span, with the cited text if ``visible`` is not None."""
    segment: JsonObject = {}
    if start is not None:
        segment["startIndex"] = offsets[start] + _shift_at(shifts, start)
    if end is not None:
        segment["endIndex"] = offsets[end] + _shift_at(shifts, max(end - 1, 0))
        if visible is not None:
            segment["text"] = visible[start or 0 : end]
    return segment


def _decode_chunk(raw: JsonObject, src: str) -> ir.Citation:
    """Decode one grounding chunk."""
    # {"web": {"uri": "https://a.example", "title": "A"}}, {"retrievedContext": {"uri": "...", "title": "...", "text": "..."}}
    chunk_type = next((name for name in _CHUNK if raw.get(name) is not None), "")
    source = raw.get(chunk_type) or {}
    return ir.Citation(
        kind=_KINDS.get(chunk_type, "web"),
        url=source.get("sourceUri") if chunk_type == "image" else source.get("uri"),
        title=source.get("title"),
        cited_text=source.get("text") if chunk_type == "retrievedContext" else None,
        src=src,
        extra=merge_extra(
            read_extra(source, _CHUNK.get(chunk_type, frozenset()), f"{chunk_type}/"), read_extra(raw, frozenset({chunk_type}))
        ),
    )


def _chunk_type(citation: ir.Citation) -> str:
    """Return the field of a grounding chunk that holds this kind of source."""
    return "maps" if citation.kind == "map" else "web" if citation.kind in ("web", "search") else _DOCUMENT


def _encode_chunk(citation: ir.Citation, losses: Ledger) -> JsonObject:
    """Encode the source of a citation as a grounding chunk."""
    drop_unheld_in_answer(citation, losses)
    source = {"uri": citation.url, "title": citation.title}
    chunk_type = _chunk_type(citation)
    if chunk_type == _DOCUMENT:
        source["text"] = citation.cited_text
    else:
        drop_field(citation, "cited_text", losses)
    return {chunk_type: {key: value for key, value in source.items() if value is not None}}


def _can_cite(citation: ir.Citation, losses: Ledger) -> bool:
    """Return whether a chunk can identify the source; if not, report the loss of the citation."""
    # Every field of a chunk's source is optional (official SDK, ``GroundingChunkWeb``), but one of them must identify it.
    if (
        citation.url is not None
        or citation.title is not None
        or (citation.cited_text is not None and _chunk_type(citation) == _DOCUMENT)
    ):
        return True
    losses.dropped(citation)
    return False


def _code_point_offsets(text: str, offsets: Iterable[int]) -> dict[int, int]:
    """Return the number of code points before each byte offset of a text; bytes beyond its end count as one each."""
    if text.isascii():
        return {offset: offset for offset in offsets}
    # One pass over the sorted offsets: the text before each would take quadratic time for many citations.
    data = text.encode()
    counts: dict[int, int] = {}
    position = count = 0
    for offset in sorted(set(offsets)):
        count += len(data[position:offset].translate(None, _CONTINUATION_BYTES)) if offset > 0 else 0
        position = max(offset, 0)
        counts[offset] = count + max(0, offset - len(data))
    return counts


def _byte_offsets(text: str, positions: set[int]) -> dict[int, int]:
    """Return the number of bytes of UTF-8 before each code point of a text."""
    offsets: dict[int, int] = {}
    before = count = 0
    for position in sorted(positions):
        count += len(text[before:position].encode()) if position > 0 else 0
        before = max(position, 0)
        offsets[position] = count + max(0, position - len(text))
    return offsets


def _visible_text(parts: list[ir.Part]) -> tuple[str, list[tuple[int, int]]]:
    """Join the texts of a candidate. The second value lists, from which code point on, how many bytes of uncited text come before."""
    texts: list[str] = []
    shifts: list[tuple[int, int]] = []
    position = shift = 0
    for part in parts:
        if type(part) is ir.Text:
            shifts.append((position, shift))
            texts.append(part.text)
            position += len(part.text)
        # A refusal and a transcript become texts here, but canonical spans do not count them.
        elif type(part) is ir.Refusal:
            shift += len(part.text.encode())
        elif type(part) is ir.Media and part.transcript:
            shift += len(part.transcript.encode())
    return "".join(texts), shifts


def _shift_at(shifts: list[tuple[int, int]], position: int) -> int:
    """Return the number of bytes of uncited text before a code point."""
    return shifts[bisect_right(shifts, position, key=itemgetter(0)) - 1][1]
