"""Streams of chat_completions, read: thoughts as blocks, the thoughts themselves or those that came as text told once more."""

from __future__ import annotations

from typing import NamedTuple

from formatbridge import ir
from formatbridge.formats.chat_completions.reasoning import KINDS, decode_block, decode_blocks, is_same, is_told_in, texts_of
from formatbridge.formats.chat_completions.stream_thoughts import Thoughts
from formatbridge.formats.chat_completions.told_blocks import Step, ToldBlocks
from formatbridge.jsontext.types import JsonObject


class Item(NamedTuple):
    """An entry, and what it does. ``shows``: its text is that of a thought, and did not come before."""

    raw: JsonObject
    part: ir.Reasoning
    step: Step
    shows: bool


class Blocks:
    """The blocks of one choice. What came first tells its thoughts; the other is only the same once more.

    ``thought``: the number of the thought that a block was shown in last.
    """

    def __init__(self) -> None:
        self.thought: int | None = None
        self._told = ToldBlocks()
        self._tells: bool | None = None
        self._has_text_beside = False
        self._opened: int | None = None
        self._aside: list[str] = []
        self._silent: dict[int, JsonObject] = {}
        self._left: list[JsonObject] = []
        self._growing: Thoughts | None = None

    def take(
        self, delta: JsonObject, others: list[ir.Reasoning], src: str, thoughts: Thoughts, opened: int | None
    ) -> tuple[list[Item], list[ir.Reasoning], JsonObject]:
        """Take those of a delta; return them, what else tells of thoughts that are new, and what is left over.

        ``others``: what else tells of thoughts in it; ``opened``: the number of the open thought.
        """
        given = delta.get("thinking_blocks") or []
        raws = [raw for raw in given if raw.get("type") in KINDS]
        leftover: JsonObject = {}
        if len(raws) < len(given):
            at = len(self._told.blocks)
            leftover = {f"thinking_blocks/{number}": raw for number, raw in enumerate(given, at) if raw.get("type") not in KINDS}
        details = [part for part in others if part.src.startswith(f"{src}/reasoning_details/")]
        if details and not is_told_in(details, decode_blocks(raws, src)[0]):
            leftover |= {"reasoning_details": delta["reasoning_details"]} if self._tells else {}
        elif details and not self._tells:
            raws = []
        if opened != self._opened or (opened is None and not raws):
            self._told.close()
        text = "" if details else "".join(texts_of(others))
        steps = self._told.take(raws, text)
        self._weigh(raws, text, can_tell=thoughts.is_first and not details)
        is_again = self._told.is_beside and steps[0].kind == "new" and _is_told(text, raws, thoughts, opened)
        steps = self._told.end(steps) if is_again else steps
        items = [self._item(raw, step, src, is_again=is_again) for raw, step in zip(raws, steps, strict=True)]
        return items, [] if self._tells or self._told.is_beside else others, leftover

    def _weigh(self, raws: list[JsonObject], text: str, *, can_tell: bool) -> None:
        """Note whether blocks tell the thoughts: they came first, and no text came alone where it had come beside them."""
        is_beside = self._told.is_beside
        if self._tells is None and any(raw["type"] == "thinking" and (raw.get("thinking") or raw.get("signature")) for raw in raws):
            self._tells = can_tell and (is_beside or not text)
        self._has_text_beside = self._has_text_beside or is_beside
        if self._tells and text and not is_beside:
            self._tells = not self._has_text_beside
            self._aside += [text] if self._tells else []

    def _item(self, raw: JsonObject, step: Step, src: str, *, is_again: bool) -> Item:
        """Return an entry; its text shows where blocks tell the thoughts, or text that is new came beside it."""
        part = decode_block(raw, f"{src}/thinking_blocks/{step.number}")
        has_text = bool(part.text) and step.kind in ("new", "more")
        tells = not is_again if self._told.is_beside else self._tells and not self._has_text_beside
        if has_text and not tells:
            self._silent[step.number] = raw
        return Item(raw, part, step, shows=bool(has_text and tells))

    def follow(self, opened: int | None) -> None:
        """Note which thought is open behind a delta; where it is another before the next, something came between."""
        self._opened = opened

    def grow(self, thoughts: Thoughts, text: str) -> None:
        """Add a text that shows to the open thought; ``add`` adds more."""
        thoughts.add(text)
        self._growing = thoughts

    def add(self, text: str) -> None:
        """Take one more piece of the open block, which shows."""
        assert self._growing is not None
        self._told.add(text)
        self._growing.add(text)

    def text(self, number: int) -> str:
        """Return the text of a block so far."""
        return self._told.blocks[number].text()

    def leave(self, item: Item) -> None:
        """Leave over a block whose token may sign another text than any thought has."""
        self._left.append({**item.raw, "thinking": self.text(item.step.number)} if item.step.signs else item.raw)

    def left_over(self, thoughts: Thoughts) -> JsonObject:
        """Return what is no thought that was told: blocks, and text where blocks tell the thoughts."""
        texts = thoughts.texts()
        known, aside = set(texts), "".join(self._aside)
        silent = [(self._told.blocks[number], raw) for number, raw in self._silent.items()]
        left = [{**raw, "thinking": block.text()} for block, raw in silent if block.token is None and block.text() not in known]
        left += self._left
        made: JsonObject = {"message/thinking_blocks": left} if left else {}
        return made | ({"message/reasoning_content": aside} if aside and not is_same(aside, texts) else {})


def _is_told(text: str, raw: list[JsonObject], thoughts: Thoughts, opened: int | None) -> bool:
    """Say whether text has told all of the open thought, or of one that has closed and gets its token now."""
    number = thoughts.whose(text, opened)
    return number is not None and (number == opened or any(entry.get("signature") for entry in raw))
