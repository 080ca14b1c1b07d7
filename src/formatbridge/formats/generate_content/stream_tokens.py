"""Streams of generate_content, written: which text a token that comes when that has left is read to sign.

Whoever reads the parts takes a token of another format on an empty thought for that of the last thought without one, however much visible
text stands between; any other token between them says that it is not. Thoughts that follow each other are one, unless an empty text parts
them.
"""

from __future__ import annotations

from dataclasses import dataclass

from formatbridge import ir
from formatbridge.formats.generate_content.reasoning import ends_unsigned, is_late
from formatbridge.jsontext.types import JsonObject


@dataclass(slots=True)
class Left:
    """What has left of a text. ``has_text``: some, behind whatever came between; ``began``: some before that.

    ``step``: how much had come between others when it opened; -1: others were open beside it, whose text may stand between its own.
    """

    number: int
    has_text: bool = False
    began: bool = False
    step: int = 0

    @property
    def has_values(self) -> bool:
        """Whether any text has left."""
        return self.has_text or self.began


class Order:
    """In which order the parts of a candidate have left. ``unsigned``: the tokens that came too late for theirs."""

    def __init__(self) -> None:
        self.unsigned: list[ir.Signature] = []
        self._last: Left | None = None  # the last thought, behind which no token has left
        self._has_unsigned = False  # a thought that has ended, behind which no token has left
        self._thinks = False  # it left last
        self._step = 0
        self._open = 0

    @property
    def is_open(self) -> bool:
        """Whether a text is open, which may go on at any time."""
        return self._open > 0

    def begin(self, text: Left, part: ir.Part) -> bool:
        """Take a text that opens; return whether an empty one must part it from the thought before."""
        is_next = self._thinks or (self._last is not None and self._last.has_text)
        self._interrupt()
        if self._open and self._last is not None and not self._last.has_values:
            self._last.step = -1
        text.step = -1 if self._open else self._step
        self._open += 1
        if not isinstance(part, ir.Reasoning):
            return False
        self._has_unsigned = self._has_unsigned or (self._last is not None and self._last.has_values)
        self._last = text
        return is_next

    def takes(self, text: Left, signature: ir.Signature) -> bool:
        """Say whether a token that leaves now would be read as that of a text that has left."""
        if text.step == self._step:  # nothing came between
            return True
        is_whole = text.step >= 0 and not (text.began and text.has_text)
        return text is self._last and is_whole and is_late(signature)

    def thought(self, number: int) -> Left | None:
        """Return the thought of a number, if a token may still sign it."""
        return self._last if self._last is not None and self._last.number == number and self._last.has_values else None

    def stands_apart(self, part: ir.Part) -> bool:
        """Say whether a token that stands alone may be read as that of a thought before it; one that is open may have said something."""
        is_lone = isinstance(part, ir.Reasoning) and not part.text and is_late(part.signature)
        return is_lone and (self._has_unsigned or self._open > 0 or (self._last is not None and self._last.has_values))

    def end(self, part: ir.Part, made: list[JsonObject], *, has_left: bool) -> None:
        """Take what a part becomes at its end; ``has_left``: its text had left before."""
        if has_left and not made:
            self._thinks = isinstance(part, ir.Reasoning)
        elif made:
            self._interrupt()
            self._thinks = ends_unsigned(made)
        if any("thoughtSignature" in each for each in made):
            self._last, self._has_unsigned = None, False
        self._has_unsigned = self._has_unsigned or self._thinks

    def close(self) -> None:
        """Take a text that closes."""
        self._open -= 1

    def _interrupt(self) -> None:
        """Count that something comes between; what has left of the last thought stands before it."""
        self._step += 1
        if self._last is not None and self._last.has_text:
            self._last.began, self._last.has_text = True, False
