"""Blank lines between the texts of an answer: its content is one string, and the server's tools that stood between texts are dropped.

Without them the words before a search run into those behind it: ``Let me look.Vinnufossen is ...``.
"""

from __future__ import annotations

from formatbridge import ir

_BLANK_LINE = "\n\n"


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
