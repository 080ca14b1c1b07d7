"""Reasoning in Chat Completions streams: text, reasoning details and thinking blocks, which may repeat one another.

Blocks come in pieces without a signature and then the signature alone, or whole with their signature after text (fixtures
reasoning_blocks, reasoning_blocks_again). So a signature may only be that of the text in the same entry, unless that entry ends several
pieces.
"""

from __future__ import annotations

from typing import Literal, NamedTuple

from formatbridge import ir
from formatbridge.formats.chat_completions.reasoning import (
    BLOCK_TYPES,
    decode_thinking_block,
    decode_thinking_blocks,
    details_repeat_blocks,
    is_join_of,
    texts_in,
)
from formatbridge.jsontext.types import JsonObject

_DETAILS = "/reasoning_details/"


class TextInPieces:
    """A text in pieces, which is joined only to compare it with a text of the same length."""

    __slots__ = ("_length", "pieces")

    def __init__(self) -> None:
        self.pieces: list[str] = []
        self._length = 0

    def add(self, text: str) -> None:
        """Add a piece."""
        if text:
            self.pieces.append(text)
            self._length += len(text)

    def text(self) -> str:
        """Return the joined text."""
        return "".join(self.pieces)

    def is_text(self, text: str) -> bool:
        """Return whether the joined text equals another."""
        return len(text) == self._length and text == self.text()


class BlockStep(NamedTuple):
    """What an entry of ``thinking_blocks`` does to the block of a number.

    ``kind``: it begins the block, adds more to it, or repeats its text. ``unclear``: it may be part of the block or not.
    ``signs_block``: its signature is that of the block. ``ends_block``: the block is complete.
    """

    kind: Literal["new", "more", "again", "unclear"]
    number: int
    signs_block: bool = False
    ends_block: bool = False


class ThinkingBlock(TextInPieces):
    """The state of one block. ``repeats_text``: the same text came in another field of its deltas."""

    __slots__ = ("repeats_text", "token")

    def __init__(self, *, repeats_text: bool) -> None:
        super().__init__()
        self.token: str | None = None
        self.repeats_text = repeats_text


class ThinkingBlocks:
    """The thinking blocks of one choice. ``repeats_text``: the latest entries came with the same text in another field."""

    def __init__(self) -> None:
        self.blocks: list[ThinkingBlock] = []
        self.repeats_text = False
        self._is_open = False
        self._signed: dict[str, int] = {}  # numbers of blocks, by signature
        self._unsigned: dict[str, int] = {}  # numbers of closed blocks without a signature, by text

    def take(self, raw: list[JsonObject], text: str) -> list[BlockStep]:
        """Take the entries of a delta, all of known types. ``text``: the reasoning text in the other fields of the delta.

        Several entries are whole blocks if one has both a text and a signature, or if ``text`` separates their texts.
        """
        texts = [entry["thinking"] for entry in raw if entry.get("thinking")]
        self.repeats_text = bool(text and texts) and is_join_of(text, texts)
        are_separated = self.repeats_text and text != "".join(texts)
        are_whole = are_separated or any(entry.get("thinking") and entry.get("signature") for entry in raw)
        return [self._take(entry, is_whole=are_whole and len(texts) > 1) for entry in raw]

    def end(self, steps: list[BlockStep]) -> list[BlockStep]:
        """Close the open block, and mark the last step as its end. The text field has already had the text of the block."""
        if not self._is_open:
            return steps
        self.close()
        return [*steps[:-1], steps[-1]._replace(ends_block=True)]

    def close(self) -> None:
        """End the open block: other content follows."""
        if self._is_open and self.blocks[-1].pieces:
            self._is_open = False
            self._unsigned.setdefault(self.blocks[-1].text(), len(self.blocks) - 1)

    def _take(self, raw: JsonObject, *, is_whole: bool) -> BlockStep:
        token, text, last = raw.get("signature") or raw.get("data"), raw.get("thinking") or "", len(self.blocks) - 1
        # Some proxies repeat a complete block with its signature in a later delta (fixture reasoning_blocks_again).
        if token in self._signed:
            number = self._signed[token]
            return BlockStep("again" if not text or self.blocks[number].is_text(text) else "unclear", number)
        # Redacted thinking has no text and comes in one piece (official SDK of Anthropic, ``RedactedThinkingBlock``).
        if raw["type"] != "thinking":
            return self._begin(token, "", ends_block=True)
        if not text:
            return self._take_token(token, last)
        known = self._repeated_block(text, token)
        if known is not None:
            return self._end("again", known, token)
        if is_whole or not self._is_open:
            return self._begin(token, text, ends_block=is_whole or token is not None)
        block = self.blocks[last]
        pieces = len(block.pieces)
        if token and pieces and text.startswith(block.text()):
            self.close()
            return BlockStep("unclear", last)
        block.add(text)
        if token is None:
            return BlockStep("more", last)
        return self._end("more", last, token)._replace(signs_block=pieces != 1)  # after one piece it may be a separate block

    def _take_token(self, token: str | None, last: int) -> BlockStep:
        """Take an entry without text. Its signature is that of the block before it, or of reasoning that is hidden."""
        if token is None and self._is_open:
            return BlockStep("more", last)
        if token is None or last < 0 or self.blocks[last].token is not None:
            return self._begin(token, "", ends_block=token is not None)
        return self._end("more", last, token)

    def _repeated_block(self, text: str, token: str | None) -> int | None:
        """Return the number of the block without a signature that has the same text, or None if the text is new.

        Without a signature, an entry repeats a block only if the pieces of the block came with text. The entry itself must come without
        text, or after several pieces.
        """
        number = len(self.blocks) - 1
        is_last = self._is_open and self.blocks[number].is_text(text)
        if not is_last:
            number = self._unsigned.get(text, -1)
        if number < 0:
            return None
        block = self.blocks[number]
        is_again = block.repeats_text and (not self.repeats_text or (is_last and len(block.pieces) > 1))
        return number if token or is_again else None

    def _begin(self, token: str | None, text: str, *, ends_block: bool) -> BlockStep:
        self.close()
        self._is_open = True
        self.blocks.append(ThinkingBlock(repeats_text=self.repeats_text))
        self.blocks[-1].add(text)
        number = len(self.blocks) - 1
        return self._end("new", number, token) if ends_block else BlockStep("new", number)

    def _end(self, kind: Literal["new", "more", "again"], number: int, token: str | None) -> BlockStep:
        """End a block by its signature, or by all of its text once more."""
        if number == len(self.blocks) - 1:
            if token is None:
                self.close()
            self._is_open = False
        if token is not None:
            block = self.blocks[number]
            block.token, self._signed[token] = token, number
            if self._unsigned:
                self._unsigned.pop(block.text(), None)
        return BlockStep(kind, number, signs_block=token is not None, ends_block=True)


class ReasoningTexts:
    """The texts of the reasoning parts of one choice. Details or blocks may repeat a text that came in the text field only.

    ``all``: every text, in order; ``unsigned``: closed parts without a signature whose text came in the text field only, by number.
    """

    def __init__(self) -> None:
        self.all: list[TextInPieces] = []
        self.unsigned: dict[int, str] = {}
        self._open = TextInPieces()
        self._is_text_field_only = False  # the open text
        self._numbers: dict[str, dict[int, None]] = {}  # of ``unsigned``, in order, by text
        self._index: int | None = None  # of the open part, in its details
        self._by_index: dict[int, int] = {}  # parts without a signature, by the index of their details
        self._latest_unsigned: tuple[str, int] | None = None  # id and number of the latest detail, if it has no signature

    def open(self, part: ir.Reasoning) -> None:
        """Begin the text of a part."""
        self._open, self._index = TextInPieces(), None
        self.all.append(self._open)
        self._is_text_field_only = _DETAILS not in part.src

    def close(self, number: int) -> None:
        """End the text of the open part, which has this number."""
        if self._is_text_field_only and self._open.pieces:
            self.unsigned[number] = text = self.text()
            self._numbers.setdefault(text, {})[number] = None
        self._is_text_field_only = False

    def text(self) -> str:
        """Return the text of the open part."""
        return self._open.text()

    def add(self, text: str) -> None:
        """Add a piece to the text of the open part."""
        self._open.add(text)

    def add_part(self, part: ir.Reasoning, index: int | None) -> str:
        """Add the text of a part to the open part and return it. Blank lines separate reasoning, and separate indexes of one id."""
        has_text = bool(self._open.pieces)
        text = part.text if has_text or len(self.all) == 1 else part.text.removeprefix("\n\n")
        if text and has_text and self.is_other_detail(index):
            text = f"\n\n{text}"
        self.add(text)
        return text

    def note_detail(self, index: int | None, number: int, part: ir.Reasoning) -> None:
        """Note that a detail with an index belongs to a part."""
        if _DETAILS in part.src:
            self._latest_unsigned = (part.id, number) if part.id and part.signature is None else None
        if index is not None:
            self._index = index
            if part.signature is None:
                self._by_index[index] = number
            else:
                self._by_index.pop(index, None)

    def is_other_detail(self, index: int | None) -> bool:
        """Return whether an index is that of another part than the open one."""
        return index is not None and self._index is not None and index != self._index

    def signed_part(self, index: int | None, part: ir.Reasoning, opened: int | None) -> int | None:
        """Return the number of the closed part that a detail signs; None where there is none.

        A signature alone signs by its index; one with the whole text signs the part with that text. An encrypted one signs the part of the
        detail before it, if that has its id.
        """
        if part.signature is None:
            return None
        if part.signature.kind != "thinking":
            named, self._latest_unsigned = self._latest_unsigned, None
            if named is None or part.text or named[0] != part.id or named[1] == opened:
                return None
            self.sign(named[1])
            return named[1]
        if part.text:
            return self._take_first() if self._repeats_first(part) and not self.repeats_open(part) else None
        if index is None or self._by_index.get(index) == opened:
            return None
        return self._by_index.pop(index, None)

    def part_with_text(self, text: str, opened: int | None) -> int | None:
        """Return the number of the part without a signature that has this text; None where there is none."""
        if opened is not None and self._is_text_field_only and self._open.is_text(text):
            return opened
        return next(iter(self._numbers.get(text, ())), None)

    def sign(self, number: int) -> None:
        """Take a closed part out of those without a signature."""
        text = self.unsigned.pop(number, None)
        if text is not None:
            del self._numbers[text][number]

    def repeats_closed(self, part: ir.Reasoning) -> bool:
        """Return whether a detail repeats a closed part; each part is repeated once."""
        if part.signature is None and part.text and self._repeats_first(part):
            number = self._take_first()
            self._latest_unsigned = (part.id, number) if part.id else None
            return True
        return False

    def is_separator(self, part: ir.Reasoning) -> bool:
        """Return whether a part only separates texts, and there is a text before it."""
        return bool(self.all) and part.text in ("", "\n\n") and not part.signature and not part.id

    def repeats_open(self, part: ir.Reasoning) -> bool:
        """Return whether a detail repeats the open part, whose text came in the text field only."""
        return self._is_text_field_only and _DETAILS in part.src and self._open.is_text(part.text)

    def _take_first(self) -> int:
        number = next(iter(self.unsigned))
        self.sign(number)
        return number

    def _repeats_first(self, part: ir.Reasoning) -> bool:
        return _DETAILS in part.src and bool(self.unsigned) and next(iter(self.unsigned.values())) == part.text


def is_encrypted(part: ir.Reasoning) -> bool:
    """Return whether a part is encrypted reasoning, whose signature is for no text."""
    return part.signature is not None and part.signature.kind != "thinking" and not part.text


class DecodedBlock(NamedTuple):
    """An entry of ``thinking_blocks`` and what it does. ``is_new``: its text belongs to a part and did not come before."""

    raw: JsonObject
    part: ir.Reasoning
    step: BlockStep
    is_new: bool


class BlockDecoder:
    """Decodes the thinking blocks of one choice. The parts are decoded from blocks or text, whichever comes first; the other repeats them.

    ``part``: the number of the part that the latest block added text to.
    """

    def __init__(self) -> None:
        self.part: int | None = None
        self._blocks = ThinkingBlocks()
        self._blocks_are_source: bool | None = None
        self._repeated_text = False
        self._opened: int | None = None
        self._text_alone: list[str] = []
        self._repeated: dict[int, JsonObject] = {}
        self._unclear: list[JsonObject] = []

    def take(
        self, delta: JsonObject, others: list[ir.Reasoning], src: str, texts: ReasoningTexts, opened: int | None
    ) -> tuple[list[DecodedBlock], list[ir.Reasoning], JsonObject]:
        """Take the blocks of a delta; return them, the other reasoning in it that is new, and the unmodelled fields.

        ``others``: the other reasoning in the delta; ``opened``: the number of the open reasoning part.
        """
        details = [part for part in others if part.src.startswith(f"{src}/reasoning_details/")]
        raws, extra = self._entries(delta, details, src)
        if opened != self._opened or (opened is None and not raws):
            self._blocks.close()
        text = "" if details else "".join(texts_in(others))
        steps = self._blocks.take(raws, text)
        repeats_text = self._blocks.repeats_text
        self._choose_source(raws, text, is_first=not (texts.all or details))
        is_again = False
        if repeats_text and steps[0].kind == "new":  # the open part came as text, or a closed part is signed now
            number = texts.part_with_text(text, opened)
            is_again = number is not None and (number == opened or any(entry.get("signature") for entry in raws))
        if is_again:
            steps = self._blocks.end(steps)
        blocks = [self._decode(raw, step, src, is_again=is_again) for raw, step in zip(raws, steps, strict=True)]
        return blocks, [] if self._blocks_are_source or repeats_text else others, extra

    def _entries(self, delta: JsonObject, details: list[ir.Reasoning], src: str) -> tuple[list[JsonObject], JsonObject]:
        """Return the blocks of a delta, and its unmodelled fields: blocks of unknown types, and details that are not in the blocks.

        If details and blocks have the same content, and the parts are not decoded from blocks, there are no blocks to read.
        """
        entries = delta.get("thinking_blocks") or []
        raws = [raw for raw in entries if raw.get("type") in BLOCK_TYPES]
        extra: JsonObject = {}
        if len(raws) < len(entries):
            numbered = enumerate(entries, len(self._blocks.blocks))
            extra = {f"thinking_blocks/{number}": raw for number, raw in numbered if raw.get("type") not in BLOCK_TYPES}
        if details:
            are_repeated = details_repeat_blocks(details, decode_thinking_blocks(raws, src)[0])
            if are_repeated and not self._blocks_are_source:
                raws = []
            elif self._blocks_are_source and not are_repeated:
                extra["reasoning_details"] = delta["reasoning_details"]
        return raws, extra

    def _choose_source(self, raws: list[JsonObject], text: str, *, is_first: bool) -> None:
        """Note whether the parts are decoded from blocks: they came first, and no later text came without them."""
        repeats_text = self._blocks.repeats_text
        if self._blocks_are_source is None and any(
            raw["type"] == "thinking" and (raw.get("thinking") or raw.get("signature")) for raw in raws
        ):
            self._blocks_are_source = is_first and (repeats_text or not text)
        self._repeated_text = self._repeated_text or repeats_text
        if self._blocks_are_source and text and not repeats_text:
            self._blocks_are_source = not self._repeated_text
            self._text_alone += [text] if self._blocks_are_source else []

    def _decode(self, raw: JsonObject, step: BlockStep, src: str, *, is_again: bool) -> DecodedBlock:
        """Decode an entry. Its text is new if the parts are decoded from blocks, or if new text came with it."""
        part = decode_thinking_block(raw, f"{src}/thinking_blocks/{step.number}")
        has_text = bool(part.text) and step.kind in ("new", "more")
        is_new = not is_again if self._blocks.repeats_text else self._blocks_are_source and not self._repeated_text
        if has_text and not is_new:
            self._repeated[step.number] = raw
        return DecodedBlock(raw, part, step, bool(has_text and is_new))

    def note_open_part(self, opened: int | None) -> None:
        """Note which part is open after a delta; if the next delta finds another, other content came between them."""
        self._opened = opened

    def text(self, number: int) -> str:
        """Return the text of a block."""
        return self._blocks.blocks[number].text()

    def keep_as_unmodelled(self, block: DecodedBlock) -> None:
        """Keep a block as an unmodelled field, because its signature may be that of a text that no part has."""
        self._unclear.append({**block.raw, "thinking": self.text(block.step.number)} if block.step.signs_block else block.raw)

    def unmodelled_fields(self, texts: ReasoningTexts) -> JsonObject:
        """Return blocks that no part has, and text without blocks although the parts are decoded from blocks."""
        parts = [text.text() for text in texts.all]
        known, alone = set(parts), "".join(self._text_alone)
        repeated = [(self._blocks.blocks[number], raw) for number, raw in self._repeated.items()]
        blocks = [{**raw, "thinking": each.text()} for each, raw in repeated if each.token is None and each.text() not in known]
        blocks += self._unclear
        out: JsonObject = {"message/thinking_blocks": blocks} if blocks else {}
        return out | ({"message/reasoning_content": alone} if alone and not is_join_of(alone, parts) else {})
