"""Streams of chat_completions, read: thoughts told as text, and perhaps once more in details, with the token that proves them.

Six modules of thoughts stand one upon the other. ``thinking_blocks`` reads blocks that are whole, in answers, too; upon it ``told_blocks``
puts blocks together from what a stream tells of them. Upon that stand ``fold_thoughts``, which folds, and ``stream_thinking_blocks``,
which reads: it sets blocks against the thoughts that came as text, and those are kept here. ``stream_block_parts``, at the top, makes
parts of the choice of what comes of that.
"""

from __future__ import annotations

from formatbridge import ir

_DETAILS = "/reasoning_details/"


class Thoughts:
    """The thoughts of one choice: how far the open one has come, which were told as text alone, and which, by index, have no token."""

    def __init__(self) -> None:
        self._pieces: list[str] = []
        self._length = 0
        self._may_come_again = False
        self._all: list[list[str]] = []
        self._past: dict[int, str] = {}
        self._numbers: dict[str, dict[int, None]] = {}  # of each text, in order
        self._count = 0
        self._index: int | None = None
        self._unsigned: dict[int, int] = {}
        self._named: tuple[str, int] | None = (
            None  # the id and the number of the thought that the last detail told, without a token
        )

    def open(self, part: ir.Reasoning) -> None:
        """Begin the next thought."""
        self._pieces, self._length, self._index = [], 0, None
        self._all.append(self._pieces)
        self._may_come_again, self._count = _DETAILS not in part.src, self._count + 1

    def close(self, number: int) -> None:
        """End the open one, whose number it is; details or blocks may tell it again."""
        if self._may_come_again and self._pieces:
            self._past[number] = text = self.text()
            self._numbers.setdefault(text, {})[number] = None
        self._may_come_again = False

    def note(self, index: int | None, number: int, part: ir.Reasoning) -> None:
        """Note that a detail of an index was of a thought."""
        if _DETAILS in part.src:
            self._named = (part.id, number) if part.id and part.signature is None else None
        if index is not None:
            self._index = index
            if part.signature is None:
                self._unsigned[index] = number
            else:
                self._unsigned.pop(index, None)

    def is_other(self, index: int | None) -> bool:
        """Say whether an index is that of another thought than the open one."""
        return index is not None and self._index is not None and index != self._index

    def signed(self, index: int | None, part: ir.Reasoning, opened: int | None) -> int | None:
        """Return the number of the thought that has closed and that a token signs; None where there is none.

        A token alone signs by its index, one that comes with all of the text once more by that, and a sealed one by the id that it shares
        with the detail before it.
        """
        if part.signature is None:
            return None
        if part.signature.kind != "thinking":
            return self._take_named(part, opened)
        if part.text:
            return self._take_first() if self._is_told_again(part) and not self.is_again(part) else None
        if index is None or self._unsigned.get(index) == opened:
            return None
        return self._unsigned.pop(index, None)

    def _take_named(self, part: ir.Reasoning, opened: int | None) -> int | None:
        named, self._named = self._named, None
        if named is None or part.text or named[0] != part.id or named[1] == opened:
            return None
        self.sign(named[1])
        return named[1]

    def text(self) -> str:
        """Return the text of the open thought."""
        return "".join(self._pieces)

    def texts(self) -> list[str]:
        """Return the texts of all thoughts."""
        return ["".join(pieces) for pieces in self._all]

    def whose(self, text: str, opened: int | None) -> int | None:
        """Return the number of the thought without a token that has this text, which may be the open one; None where there is none."""
        if opened is not None and self._may_come_again and len(text) == self._length and text == self.text():
            return opened
        return next(iter(self._numbers.get(text, ())), None)

    @property
    def has_unsigned(self) -> bool:
        """Whether a thought has closed without a token."""
        return bool(self._past)

    def sign(self, number: int) -> None:
        """Take the token of a thought that has closed."""
        text = self._past.pop(number, None)
        if text is not None:
            del self._numbers[text][number]

    @property
    def is_first(self) -> bool:
        """Whether no thought has come yet."""
        return self._count == 0

    def is_past(self, part: ir.Reasoning) -> bool:
        """Say whether a detail tells again of a thought that has closed; each is told once."""
        if part.signature is None and part.text and self._is_told_again(part):
            number = self._take_first()
            self._named = (part.id, number) if part.id else None
            return True
        return False

    def _take_first(self) -> int:
        number = next(iter(self._past))
        self.sign(number)
        return number

    def _is_told_again(self, part: ir.Reasoning) -> bool:
        return _DETAILS in part.src and bool(self._past) and next(iter(self._past.values())) == part.text

    def is_again(self, part: ir.Reasoning) -> bool:
        """Say whether a detail tells again of the open thought, which came as text."""
        may_be = self._may_come_again and _DETAILS in part.src and len(part.text) == self._length
        return may_be and part.text == self.text()

    def add(self, text: str) -> None:
        """Add a piece to the open thought."""
        self._pieces.append(text)
        self._length += len(text)

    def grow(self, part: ir.Reasoning, index: int | None) -> str:
        """Add what a part brings to the open thought and return it; a blank line tells a thought from the one before.

        Details of several indexes are one thought where they have its id.
        """
        goes_on = self._pieces or self._count == 1
        text = part.text if goes_on else part.text.removeprefix("\n\n")
        if text and self._pieces and self.is_other(index):
            text = f"\n\n{text}"
        if text:
            self.add(text)
        return text
