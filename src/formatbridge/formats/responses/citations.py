"""Citations of Responses: annotations of an output text, with offsets from its start.

``shift_citations`` and ``shift_annotations`` are here alone, because only here offsets count from the start of a content part.
"""

from __future__ import annotations

from collections.abc import Callable

from formatbridge import ir
from formatbridge.formats.responses.holds import drop_unheld_in_answer
from formatbridge.formats.shared.held_fields import drop_field, put_in
from formatbridge.formats.shared.unmodelled_fields import read_extra
from formatbridge.jsontext.types import JsonObject
from formatbridge.report.ledger import Ledger

# Keys that the decoder reads in each type of annotation; it keeps all others in ``extra``, for the report and for the same format.
_URL = frozenset({"type", "url", "title", "start_index", "end_index"})
_FILE = frozenset({"type", "file_id", "filename", "index"})
_CONTAINER_FILE = frozenset({"type", "file_id", "filename", "start_index", "end_index"})
_OFFSETS = frozenset({"start_index", "end_index", "index"})
"""The fields of annotations that count from the start of the text (official SDK, ``ResponseOutputText``)."""


def decode_citations(raw: list[JsonObject] | None, src: str) -> tuple[list[ir.Citation] | None, JsonObject | None]:
    """Decode the annotations of an output text; their offsets count from its start.

    Returns the citations, and the annotations of unknown types by pointer.
    """
    if not raw:
        return None, None
    # {"type": "url_citation", "url": "https://a.example", "title": "A", "start_index": 12, "end_index": 31}
    citations: list[ir.Citation] = []
    unread: JsonObject = {}
    for index, item in enumerate(raw):
        kind = item.get("type")
        decode = _DECODE_CITATION.get(kind) if isinstance(kind, str) else None
        if decode:
            citations.append(decode(item, f"{src}/{index}"))
        else:
            unread[f"annotations/{index}"] = item
    return citations or None, unread or None


def shift_citations(citations: list[ir.Citation], by: int) -> None:
    """Add ``by`` to the offsets of citations, so that they count from the start of the response."""
    # The SDK documents offsets "in the message" (``AnnotationURLCitation``). Recorded messages have one content part, and the offsets are
    # read as those of the part. The texts of a response are joined in Chat Completions and Gemini.
    for citation in citations:
        if citation.start is not None:
            citation.start += by
        if citation.end is not None:
            citation.end += by


def shift_annotations(annotations: list[JsonObject], by: int) -> list[JsonObject]:
    """Return annotations of a request whose offsets are greater by ``by``, as their text follows others in one part."""
    return [_shifted(annotation, by) for annotation in annotations]


def _shifted(annotation: JsonObject, by: int) -> JsonObject:
    # ``index`` of a file is its place in a list of files (official SDK, ``AnnotationFilePath``).
    offsets = _OFFSETS if annotation.get("type") != "file_path" else frozenset()
    moved = {key: value + by for key, value in annotation.items() if key in offsets and isinstance(value, int)}
    return annotation | moved


def encode_citations(citations: list[ir.Citation], start: int, length: int, losses: Ledger) -> list[JsonObject]:
    """Encode the citations of a text. ``start``, ``length``: its offset in the response and its length, in code points."""
    return [annotation for citation in citations if (annotation := _encode_citation(citation, start, length, losses)) is not None]


def _encode_citation(citation: ir.Citation, start: int, length: int, losses: Ledger) -> JsonObject | None:
    """Encode one citation; without a known span, both offsets are 0, as in recorded traffic."""
    # Each type of annotation requires a URL or the id of a file (official SDK, ``ResponseOutputText.annotations``).
    if citation.url is None and citation.file_id is None:
        losses.dropped(citation)
        return None
    drop_unheld_in_answer(citation, losses)
    first = _clamp_offset(citation, "start", start, length, losses)
    if citation.url is None:
        file: JsonObject = {"type": "file_citation", "file_id": citation.file_id}
        put_in(file, "filename", citation.title, "", losses)
        # The only offset of this type is the position where the citation is inserted (openai-python, AnnotationFileCitation).
        put_in(file, "index", first, 0, losses)
        return file
    drop_field(citation, "file_id", losses)
    # The title and both offsets are required (official SDK, ``AnnotationURLCitation``). Unknown ones get a value, as an addition.
    annotation: JsonObject = {"type": "url_citation", "url": citation.url}
    put_in(annotation, "title", citation.title, "", losses)
    put_in(annotation, "start_index", first, 0, losses)
    put_in(annotation, "end_index", _clamp_offset(citation, "end", start, length, losses), annotation["start_index"], losses)
    return annotation


def _clamp_offset(citation: ir.Citation, name: str, start: int, length: int, losses: Ledger) -> int | None:
    """Return an offset of a citation in its text, or None if it is unknown. An offset outside the text becomes the nearest one."""
    offset: int | None = getattr(citation, name)
    # A span of another format may reach into the next text, but an annotation belongs to one content part.
    if offset is None or 0 <= offset - start <= length:
        return None if offset is None else offset - start
    nearest: int = losses.weakened(citation, name, min(max(offset - start, 0), length), "span_lost")
    return nearest


def _decode_url(raw: JsonObject, src: str) -> ir.Citation:
    return ir.Citation(
        kind="web",
        url=raw["url"],
        title=raw.get("title"),
        start=raw.get("start_index"),
        end=raw.get("end_index"),
        src=src,
        extra=read_extra(raw, _URL),
    )


def _decode_file(raw: JsonObject, src: str) -> ir.Citation:
    # A ``file_path`` has no filename (official SDK, ``AnnotationFilePath``).
    title, index = raw.get("filename"), raw.get("index")
    return ir.Citation(kind="file", file_id=raw["file_id"], title=title, start=index, src=src, extra=read_extra(raw, _FILE))


def _decode_container_file(raw: JsonObject, src: str) -> ir.Citation:
    # ``container_id`` stays an unmodelled field: the container is one of the server (official SDK, ``AnnotationContainerFileCitation``).
    return ir.Citation(
        kind="file",
        file_id=raw["file_id"],
        title=raw.get("filename"),
        start=raw.get("start_index"),
        end=raw.get("end_index"),
        src=src,
        extra=read_extra(raw, _CONTAINER_FILE),
    )


_DECODE_CITATION: dict[str, Callable[[JsonObject, str], ir.Citation]] = {
    "url_citation": _decode_url,
    "file_citation": _decode_file,
    "container_file_citation": _decode_container_file,
    "file_path": _decode_file,
}
