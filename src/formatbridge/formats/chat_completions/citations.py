"""Citations of Chat Completions, which are annotations of a message.

``TextSeparators`` is here alone: only this format joins all texts of a response into one, in which spans move.
"""

from __future__ import annotations

from formatbridge import ir
from formatbridge.formats.chat_completions.holds import drop_unheld_in_answer
from formatbridge.formats.shared.held_fields import put_in
from formatbridge.formats.shared.unmodelled_fields import merge_extra, read_extra
from formatbridge.jsontext.types import JsonObject
from formatbridge.report.ledger import Ledger

_BLANK_LINE = "\n\n"


def decode_citations(raw: list[JsonObject], text: ir.Text | None, src: str, first: int = 0) -> JsonObject:
    """Decode URL citations and add them to a text. Return other annotations by pointer, and all if there is no text.

    ``first``: the number of the annotations in earlier deltas.
    """
    unread: JsonObject = {}
    for index, item in enumerate(raw, first):
        url = item.get("url_citation")
        # OpenRouter sends annotations of files, and Xiaomi sends flat ones (fixture ``malformed_citation_only``).
        if item.get("type") != "url_citation" or not isinstance(url, dict) or text is None:
            unread[f"annotations/{index}"] = item
            continue
        text.citations = text.citations or []
        text.citations.append(_decode_citation(item, url, f"{src}/annotations/{index}"))
    return unread


def encode_citations(parts: list[ir.Part], separators: TextSeparators, losses: Ledger) -> list[JsonObject]:
    """Encode the citations of a response, which has one joined text. A citation without a URL is dropped."""
    annotations = []
    for part in parts:
        for citation in (part.citations or ()) if isinstance(part, ir.Text) else ():
            # ``url`` is required (official SDK, ``AnnotationURLCitation``). A document has none.
            if citation.url is None:
                losses.dropped(citation)
                continue
            annotations.append({"type": "url_citation", "url_citation": _encode_citation(citation, separators, losses)})
    return annotations


def _decode_citation(raw: JsonObject, url: JsonObject, src: str) -> ir.Citation:
    return ir.Citation(
        kind="web",
        url=url.get("url"),
        title=url.get("title"),
        cited_text=url.get("content") or None,
        start=url.get("start_index"),
        end=url.get("end_index"),
        src=src,
        extra=merge_extra(
            read_extra(raw, frozenset({"type", "url_citation"})),
            read_extra(url, frozenset({"url", "title", "content", "start_index", "end_index"}), "url_citation/"),
        ),
    )


def _encode_citation(citation: ir.Citation, separators: TextSeparators, losses: Ledger) -> JsonObject:
    """Encode one citation. If its span is unknown, the span is empty, as OpenRouter sends it (recorded traffic)."""
    drop_unheld_in_answer(citation, losses)
    url: JsonObject = {"url": citation.url}
    put_in(url, "title", citation.title, "", losses)
    start, end = separators.span_of(citation)
    if citation.second_src or citation.cited_text is None:  # a source that cites by text alone has no offsets to change
        for name, offset in (("start", start), ("end", end)):
            losses.changed(citation, name, offset, "moved", severity="info")
    put_in(url, "start_index", start, 0, losses)
    put_in(url, "end_index", end, url["start_index"], losses)
    return url


def separates_texts(part: ir.Part) -> bool:
    """Return whether this format drops a part that separates the texts of a response, such as a server's tool call."""
    if isinstance(part, ir.Opaque):
        return part.text is None and part.format != "chat_completions"  # unknown parts of this format are no tool calls
    return isinstance(part, ir.Hosted)


class TextSeparators:
    """The blank lines between the texts of a response, where a part between two texts is dropped.

    A separator depends only on the characters before and after it. So it is the same for a whole text and for a text in pieces.
    """

    __slots__ = ("_is_pending", "_last", "_length", "_separators")

    def __init__(self) -> None:
        self._length = 0  # of the texts without separators
        self._last = ""
        self._is_pending = False
        self._separators: list[tuple[int, int]] = []  # offset in the texts, and length

    def separate(self) -> None:
        """Separate the next text from those before it, because a part between them is dropped."""
        self._is_pending = self._length > 0

    def take(self, text: str) -> str:
        """Take a piece of text and return the separator before it."""
        if not text:
            return ""
        separator = ""
        if self._is_pending:
            # Without a separator, the last word before a search would touch the first one after it.
            separator = _BLANK_LINE[self._last.endswith("\n") + text.startswith("\n") :]
            self._separators.append((self._length, len(separator)))
            self._is_pending = False
        self._length += len(text)
        self._last = text
        return separator

    def span_of(self, citation: ir.Citation) -> tuple[int | None, int | None]:
        """Return the span of a citation in the texts with separators; its fields count the texts without them."""
        start, end = citation.start, citation.end
        return (
            None if start is None else start + sum(length for offset, length in self._separators if offset <= start),
            None if end is None else end + sum(length for offset, length in self._separators if offset < end),
        )
