"""The visible text of an answer that is being collected, as it comes."""

from __future__ import annotations

from formatbridge import ir
from formatbridge.streaming.collect import Collector, Growing


class Listener:
    """Tells the visible text of the first choice, each piece once.

    Texts are told in their order: what comes of the next while one is open waits for the end of that one, so that the pieces add up to the
    text of the answer.
    """

    def __init__(self, collector: Collector) -> None:
        self._collector = collector
        self._at = 0  # the part that is listened to
        self._pieces = 0  # how many of its pieces were told
        self._size = 0  # and how many characters

    def hear(self, *, is_over: bool) -> list[str]:
        """Return what came since the last time. ``is_over``: the answer has ended, so that no choice before the first will come."""
        parts = self._collector.first_parts(is_over=is_over)
        made: list[str] = []
        while (held := parts.get(self._at)) is not None:
            if isinstance(held.part, ir.Text):
                made += self._told(held)
                if held.is_open:
                    break
            self._at, self._pieces, self._size = self._at + 1, 0, 0
        return made

    def _told(self, held: Growing) -> list[str]:
        """Return what is new of a text. Where its end said something else than its deltas, these are what a reader has."""
        fresh = held.pieces[self._pieces :] if held.pieces or held.is_open else [held.as_told()[self._size :]]
        self._pieces += len(fresh)
        self._size += sum(map(len, fresh))
        return [piece for piece in fresh if piece]
