"""How long the texts of an answer are while they grow side by side, and how much text stands before each."""

from __future__ import annotations


class Lengths:
    """The lengths of texts, in the order of the answer. Each step takes log n, however many are open (a Fenwick tree)."""

    __slots__ = ("_lengths", "_sums")

    def __init__(self) -> None:
        self._lengths: list[int] = []
        self._sums = [0]  # at i, how long those are that end with the i-th, as many as the lowest bit of i says

    def add(self) -> int:
        """Take a text that begins behind all others and return its number."""
        at = len(self._sums)
        self._sums.append(self.before(at - 1) - self.before(at & (at - 1)))
        self._lengths.append(0)
        return at - 1

    def set_length(self, number: int, length: int) -> None:
        """Take how long a text is by now."""
        more, self._lengths[number] = length - self._lengths[number], length
        at = number + 1
        while more and at < len(self._sums):
            self._sums[at] += more
            at += at & -at

    def before(self, number: int) -> int:
        """Return how much text stands before one, or before the next where nothing has that number."""
        length, at = 0, number
        while at:
            length += self._sums[at]
            at &= at - 1
        return length
