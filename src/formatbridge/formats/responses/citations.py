"""Citations of responses: annotations of a text, whose places count from its start."""

from __future__ import annotations

from collections.abc import Callable

from formatbridge import ir
from formatbridge.formats.responses.holds import drop_unheld_in_answer
from formatbridge.formats.shared.held_fields import drop_field
from formatbridge.formats.shared.parts import put_in
from formatbridge.formats.shared.unmodelled_fields import rest
from formatbridge.jsontext.types import JsonObject
from formatbridge.report.ledger import Ledger

_URL = frozenset({"type", "url", "title", "start_index", "end_index"})
_FILE = frozenset({"type", "file_id", "filename", "index"})
_CONTAINER_FILE = frozenset({"type", "file_id", "filename", "start_index", "end_index"})


def decode_citations(raw: list[JsonObject] | None, src: str) -> tuple[list[ir.Citation] | None, JsonObject | None]:
    """Read the annotations of a text, places counted from its start. A kind that is not known is left over."""
    if not raw:
        return None, None
    citations: list[ir.Citation] = []
    leftover: JsonObject = {}
    for index, item in enumerate(raw):
        kind = item.get("type")
        decode = _DECODE_CITATION.get(kind) if isinstance(kind, str) else None
        if decode:
            citations.append(decode(item, f"{src}/{index}"))
        else:
            leftover[f"annotations/{index}"] = item
    return citations or None, leftover or None


def shift(citations: list[ir.Citation], by: int) -> None:
    """Count the places of citations that were just read from the start of the whole answer."""
    for citation in citations:
        if citation.start is not None:
            citation.start += by
        if citation.end is not None:
            citation.end += by


def encode_citations(citations: list[ir.Citation], start: int, length: int, losses: Ledger) -> list[JsonObject]:
    """Write the citations of a text that begins at ``start`` of the answer and is ``length`` long, in code points."""
    return [made for citation in citations if (made := _encode_citation(citation, start, length, losses)) is not None]


def _encode_citation(citation: ir.Citation, start: int, length: int, losses: Ledger) -> JsonObject | None:
    """Write one citation; where no span is known it is empty, as servers tell it."""
    if citation.url is None and citation.file_id is None:
        losses.dropped(citation)
        return None
    drop_unheld_in_answer(citation, losses)
    first = _within(citation, "start", start, length, losses)
    if citation.url is None:
        file: JsonObject = {"type": "file_citation", "file_id": citation.file_id}
        put_in(file, "filename", citation.title, "", losses)
        put_in(file, "index", first, 0, losses)
        return file
    drop_field(citation, "file_id", losses)
    made: JsonObject = {"type": "url_citation", "url": citation.url}
    put_in(made, "title", citation.title, "", losses)
    put_in(made, "start_index", first, 0, losses)
    put_in(made, "end_index", _within(citation, "end", start, length, losses), made["start_index"], losses)
    return made


def _within(citation: ir.Citation, name: str, start: int, length: int, losses: Ledger) -> int | None:
    """Return a place of a citation in its text, if it is known: the nearest one, if it is in another text."""
    given: int | None = getattr(citation, name)
    if given is None or 0 <= given - start <= length:
        return None if given is None else given - start
    made: int = losses.changed(citation, name, min(max(given - start, 0), length), "span_lost", severity="info")
    return made


def _decode_url(raw: JsonObject, src: str) -> ir.Citation:
    return ir.Citation(
        kind="web",
        url=raw["url"],
        title=raw.get("title"),
        start=raw.get("start_index"),
        end=raw.get("end_index"),
        src=src,
        extra=rest(raw, _URL),
    )


def _decode_file(raw: JsonObject, src: str) -> ir.Citation:
    title, place = raw.get("filename"), raw.get("index")
    return ir.Citation(kind="file", file_id=raw["file_id"], title=title, start=place, src=src, extra=rest(raw, _FILE))


def _decode_container_file(raw: JsonObject, src: str) -> ir.Citation:
    return ir.Citation(
        kind="file",
        file_id=raw["file_id"],
        title=raw.get("filename"),
        start=raw.get("start_index"),
        end=raw.get("end_index"),
        src=src,
        extra=rest(raw, _CONTAINER_FILE),
    )


_DECODE_CITATION: dict[str, Callable[[JsonObject, str], ir.Citation]] = {
    "url_citation": _decode_url,
    "file_citation": _decode_file,
    "container_file_citation": _decode_container_file,
    "file_path": _decode_file,
}
