"""The lengths of texts that arrive in parallel, and the limit for texts that citations repeat."""

from __future__ import annotations

from collections.abc import Iterable

_TIMES, _SHORT = 8, 10_000
"""How often the citations of a text may repeat its length; a shorter text counts as one of this length, in characters."""


class TextLengths:
    """The lengths of texts, in the order of the answer. Each step takes log n for n open texts (a Fenwick tree)."""

    __slots__ = ("_lengths", "_sums")

    def __init__(self) -> None:
        self._lengths: list[int] = []
        self._sums = [0]  # at i: the sum of the i-th length and those before it, as many as the lowest set bit of i

    def add(self) -> int:
        """Append an empty text. Return its number in the order of the answer, from 0."""
        index = len(self._sums)
        self._sums.append(self.length_before(index - 1) - self.length_before(index & (index - 1)))
        self._lengths.append(0)
        return index - 1

    def set_length(self, number: int, length: int) -> None:
        """Set the current length of a text."""
        increase, self._lengths[number] = length - self._lengths[number], length
        index = number + 1
        while increase and index < len(self._sums):
            self._sums[index] += increase
            index += index & -index

    def length_before(self, number: int) -> int:
        """Return the length of all texts with lower numbers. ``number``: at most the number of texts."""
        length, index = 0, number
        while index:
            length += self._sums[index]
            index &= index - 1
        return length


def may_repeat(lengths: Iterable[int], length: int) -> bool:
    """Return whether the texts of all spans may be repeated in the citations: up to a few times the length of the text.

    If thousands of citations cite all of a long text, its copies would be a thousand times longer than the source.
    """
    return sum(max(0, each) for each in lengths) <= _TIMES * max(length, _SHORT)
