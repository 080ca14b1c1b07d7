"""Citations of chat_completions: annotations of the message, which hang on its first text."""

from __future__ import annotations

from formatbridge import ir
from formatbridge.formats.chat_completions.holds import drop_unheld_in_answer
from formatbridge.formats.shared.parts import put_in
from formatbridge.formats.shared.unmodelled_fields import joined, rest
from formatbridge.jsontext.types import JsonObject
from formatbridge.report.ledger import Ledger

_BLANK_LINE = "\n\n"


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
    drop_unheld_in_answer(citation, losses)
    made: JsonObject = {"url": citation.url}
    put_in(made, "title", citation.title, "", losses)
    start, end = joints.moved(citation)
    if citation.second_src or citation.cited_text is None:  # a format that cites by text alone has no offsets that could change
        for name, place in (("start", start), ("end", end)):
            if place != getattr(citation, name):
                losses.changed(citation, name, place, "moved", severity="info")
    put_in(made, "start_index", start, 0, losses)
    put_in(made, "end_index", end, made["start_index"], losses)
    return made


def is_dropped(part: ir.Part) -> bool:
    """Return whether a part of an answer is one that this format drops and that parts the texts around it."""
    if isinstance(part, ir.Opaque):
        return part.text is None and part.format != "chat_completions"  # whose own unknown parts are no tools
    return isinstance(part, ir.Hosted)


class Joints:
    """The texts of an answer as far as they have come, and where blank lines were put between them.

    Only the characters beside a joint count, so that it does not matter in which pieces a text comes.
    """

    __slots__ = ("_is_open", "_last", "_length", "_places")

    def __init__(self) -> None:
        self._length = 0  # characters of the texts, without what was put between them
        self._last = ""
        self._is_open = False
        self._places: list[tuple[int, int]] = []  # where something was put, and how many characters

    def part(self) -> None:
        """Take a part that is dropped: the next text is told from those before it."""
        self._is_open = self._length > 0

    def take(self, text: str) -> str:
        """Take a piece of text; return what goes before it."""
        if not text:
            return ""
        before = ""
        if self._is_open:
            before = _BLANK_LINE[self._last.endswith("\n") + text.startswith("\n") :]
            self._places.append((self._length, len(before)))
            self._is_open = False
        self._length += len(text)
        self._last = text
        return before

    def moved(self, citation: ir.Citation) -> tuple[int | None, int | None]:
        """Return the span of a citation, which counts the texts alone, in what was made of them."""
        start, end = citation.start, citation.end
        return (
            None if start is None else start + sum(size for place, size in self._places if place <= start),
            None if end is None else end + sum(size for place, size in self._places if place < end),
        )
