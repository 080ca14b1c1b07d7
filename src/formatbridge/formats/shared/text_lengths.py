"""The lengths of texts that arrive in parallel, and the total length of all texts before one of them."""

from __future__ import annotations


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
