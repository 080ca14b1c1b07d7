"""Thoughts as blocks in a stream that is read: the thoughts themselves in pieces, or those that came as text told once more."""

from __future__ import annotations

from typing import Any, Literal, NamedTuple

from formatbridge import ir
from formatbridge.formats.chat_completions.stream_thoughts import Thoughts
from formatbridge.formats.chat_completions.thinking_blocks import decode_blocks, is_same, is_told_in, is_whole, texts_of

JsonObject = dict[str, Any]
Place = int | Literal["piece", "hidden", "again", "over"]
"""What a block is: the token of the thought of this number, a piece of the open or next thought, one
that is hidden, told again, or left over."""


class Item(NamedTuple):
    """A block, and what it was read from."""

    part: ir.Reasoning
    raw: JsonObject


class Blocks:
    """The blocks of one choice. What came first tells its thoughts; of the other only what surely is the same counts.

    ``left``: blocks that are left over, for their token may sign another text.
    """

    def __init__(self) -> None:
        self.left: list[JsonObject] = []
        self._tells: bool | None = None
        self._has_text_beside: bool | None = None
        self._is_beside = False
        self._is_over = False
        self._count = 0
        self._aside: list[str] = []
        self._signed: dict[str, str] = {}

    def take(self, delta: JsonObject, others: list[ir.Reasoning], src: str, thoughts: Thoughts) -> tuple[list[Item], JsonObject]:
        """Take those of a delta; return them, and what is left over. ``others``: what else tells of thoughts in it."""
        first, raw = self._count, delta.get("thinking_blocks") or []
        self._count += sum(map(is_whole, raw))
        parts, leftover = decode_blocks(raw, f"{src}/thinking_blocks", first)
        details = [part for part in others if part.src.startswith(f"{src}/reasoning_details/")]
        self._weigh(parts, others, thoughts, has_details=bool(details))
        is_told = is_told_in(details, parts)
        if self._tells and details and not is_told:
            leftover["reasoning_details"] = delta["reasoning_details"]
        if is_told and not self._tells:
            return [], leftover
        return [Item(part, raw[int(part.src.rpartition("/")[2]) - first]) for part in parts], leftover

    def _weigh(self, parts: list[ir.Reasoning], others: list[ir.Reasoning], thoughts: Thoughts, *, has_details: bool) -> None:
        """Note what tells the thoughts, and whether text stands beside blocks."""
        texts, text = texts_of(parts), "".join(texts_of(others))
        self._is_beside = bool(text and texts) and is_same(text, texts)
        if self._tells is None and any(not _is_hidden(part) for part in parts):
            self._tells = thoughts.is_first and not has_details and (not text or self._is_beside)
        if self._has_text_beside is None and texts:
            self._has_text_beside = self._is_beside
        if self._tells and text and not (self._is_beside or has_details):
            self._aside.append(text)

    @property
    def tell(self) -> bool:
        """Whether the thoughts are told by them, and text is only the same once more."""
        return bool(self._tells)

    def place_of(self, item: Item, opened: int | None, latest: int | None, thoughts: Thoughts) -> Place:
        """Return what a block is. ``opened`` and ``latest``: the numbers of the open and of the latest thought."""
        place = self._place_of(item.part, opened, latest, thoughts)
        if place == "over":
            self.left.append(item.raw)
        return place

    def _place_of(self, part: ir.Reasoning, opened: int | None, latest: int | None, thoughts: Thoughts) -> Place:
        token = part.signature.token if part.signature else None
        if token in self._signed:
            return "again" if part.text in ("", self._signed[token]) else self._leave()
        if _is_hidden(part):
            return "hidden"
        if self._is_over:
            return "over"
        number = thoughts.whose(part.text, opened) if part.text else None
        if token and number is not None:
            return number
        if not self._tells:
            return "again" if token is None and (number is not None or self._is_beside) else "over"
        if not part.text:
            return self._place_of_token(opened, latest, thoughts)
        return self._place_of_text(part, opened, number, thoughts)

    def _place_of_token(self, opened: int | None, latest: int | None, thoughts: Thoughts) -> Place:
        """Return what a block without text is: a token of the thought before it, or a thought that is not shown."""
        unsigned = thoughts.last_unsigned
        if opened is not None or unsigned is None:
            return "piece"
        return unsigned if unsigned == latest else self._leave()

    def _place_of_text(self, part: ir.Reasoning, opened: int | None, number: int | None, thoughts: Thoughts) -> Place:
        if self._is_beside:
            return "piece"
        if self._has_text_beside:  # pieces have text beside them here, so this is none
            return "again" if number is not None else self._leave()
        is_doubtful = part.signature is not None and opened is not None and part.text.startswith(thoughts.text())
        return self._leave() if is_doubtful else "piece"

    def _leave(self) -> Place:
        """Leave a block over; those behind it may go on with it, so that only text can tell more."""
        if self._has_text_beside:
            self._tells = False
        else:
            self._is_over = bool(self._tells)
        return "over"

    def note(self, signature: ir.Signature | None, text: str) -> None:
        """Note that a token has signed a text."""
        if signature is not None:
            self._signed[signature.token] = text

    def aside(self, thoughts: Thoughts) -> str | None:
        """Return the text that came without blocks, where it is not theirs; None where it is."""
        text = "".join(self._aside)
        return text if text and not is_same(text, thoughts.texts()) else None


def _is_hidden(part: ir.Reasoning) -> bool:
    return part.signature is not None and part.signature.kind != "thinking"
