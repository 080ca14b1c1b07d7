"""The lengths of texts that arrive in parallel, and the total length of all texts before one of them."""

from __future__ import annotations


class Lengths:
    """The lengths of texts, in the order of the answer. Each step takes log n for n open texts (a Fenwick tree)."""

    __slots__ = ("_lengths", "_sums")

    def __init__(self) -> None:
        self._lengths: list[int] = []
        self._sums = [0]  # at i: the sum of the last lengths up to the i-th, as many as the lowest bit of i

    def add(self) -> int:
        """Append a text and return its number."""
        at = len(self._sums)
        self._sums.append(self.before(at - 1) - self.before(at & (at - 1)))
        self._lengths.append(0)
        return at - 1

    def set_length(self, number: int, length: int) -> None:
        """Set the current length of a text."""
        more, self._lengths[number] = length - self._lengths[number], length
        at = number + 1
        while more and at < len(self._sums):
            self._sums[at] += more
            at += at & -at

    def before(self, number: int) -> int:
        """Return the length of all texts before one, or before the next where no text has that number."""
        length, at = 0, number
        while at:
            length += self._sums[at]
            at &= at - 1
        return length
