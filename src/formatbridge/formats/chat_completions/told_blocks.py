"""Blocks of thoughts, put together from what a stream tells of them: in pieces, whole, or both.

No server says which. Known ones send pieces without a token and the token alone, or the whole block with its token behind text; so a token
beside text that is not the end of several pieces may be that of the text beside it alone.
"""

from __future__ import annotations

from typing import Literal, NamedTuple

from formatbridge.formats.chat_completions.reasoning import is_same
from formatbridge.jsontext.types import JsonObject


class Step(NamedTuple):
    """What an entry does to the block of a number.

    ``kind``: it begins the block, goes on with it, tells what it has, or is over, for it may be part of the block or not.
    ``signs``: its token is that of the block; ``ends``: the block takes no more.
    """

    kind: Literal["new", "more", "again", "over"]
    number: int
    signs: bool = False
    ends: bool = False


class Block:
    """One block as far as it has come. ``is_beside``: its text came beside a text of the same."""

    __slots__ = ("_length", "is_beside", "pieces", "token")

    def __init__(self, token: str | None, *, is_beside: bool) -> None:
        self.pieces: list[str] = []
        self.token = token
        self.is_beside = is_beside
        self._length = 0

    def add(self, text: str) -> None:
        """Add a piece of its text."""
        if text:
            self.pieces.append(text)
            self._length += len(text)

    def text(self) -> str:
        """Return its text so far."""
        return "".join(self.pieces)

    def is_text(self, text: str) -> bool:
        """Say whether this is all of its text."""
        return len(text) == self._length and text == self.text()


class ToldBlocks:
    """The blocks of one choice. ``is_beside``: the latest entries came beside a text of the same."""

    def __init__(self) -> None:
        self.blocks: list[Block] = []
        self.is_beside = False
        self._is_open = False
        self._signed: dict[str, int] = {}
        self._unsigned: dict[str, int] = {}

    def take(self, raw: list[JsonObject], text: str) -> list[Step]:
        """Take the entries that a delta has, all of kinds that are known. ``text``: what it tells of thoughts beside them.

        Several are whole, each, where one has both a text and a token or the text parts them.
        """
        texts = [entry["thinking"] for entry in raw if entry.get("thinking")]
        self.is_beside = bool(text and texts) and is_same(text, texts)
        are_parted = self.is_beside and text != "".join(texts)
        are_whole = len(texts) > 1 and (are_parted or any(entry.get("thinking") and entry.get("signature") for entry in raw))
        return [self._take(entry, is_whole=are_whole) for entry in raw]

    def end(self, steps: list[Step]) -> list[Step]:
        """Take the latest steps as those of whole blocks: text alone has told them before."""
        if not self._is_open:
            return steps
        self.close()
        return [*steps[:-1], steps[-1]._replace(ends=True)]

    def add(self, text: str) -> None:
        """Add a piece to the open block."""
        self.blocks[-1].add(text)

    def close(self) -> None:
        """End the open block: something else came behind it."""
        if self._is_open and self.blocks[-1].pieces:
            self._is_open = False
            self._unsigned.setdefault(self.blocks[-1].text(), len(self.blocks) - 1)

    def _take(self, raw: JsonObject, *, is_whole: bool) -> Step:
        token, text = raw.get("signature") or raw.get("data"), raw.get("thinking") or ""
        if token in self._signed:
            number = self._signed[token]
            return Step("again" if not text or self.blocks[number].is_text(text) else "over", number)
        if raw["type"] != "thinking":
            return self._begin(token, "", ends=True)
        if not text:
            return self._take_token(token)
        number_again = self._told_in(text, token)
        if number_again is not None:
            return self._end("again", number_again, token)
        if is_whole or not self._is_open:
            return self._begin(token, text, ends=is_whole or token is not None)
        return self._go_on(token, text)

    def _take_token(self, token: str | None) -> Step:
        """Take an entry without text. Its token is that of the block before it, or a thought that is not shown."""
        last = self.blocks[-1] if self.blocks else None
        if token is None and self._is_open:
            return Step("more", len(self.blocks) - 1)
        if token is None or last is None or last.token is not None:
            return self._begin(token, "", ends=token is not None)
        return self._end("more", len(self.blocks) - 1, token)

    def _told_in(self, text: str, token: str | None) -> int | None:
        """Return the number of the block without a token that has all of a text; None where the text is new.

        Without a token only a block whose pieces came beside text is known from one more piece: it comes alone, or behind several.
        """
        number = len(self.blocks) - 1
        is_last = self._is_open and self.blocks[number].is_text(text)
        if not is_last:
            number = self._unsigned.get(text, -1)
        if number < 0:
            return None
        block = self.blocks[number]
        is_again = block.is_beside and (not self.is_beside or (is_last and len(block.pieces) > 1))
        return number if token or is_again else None

    def _begin(self, token: str | None, text: str, *, ends: bool) -> Step:
        self.close()
        self._is_open = True
        self.blocks.append(Block(None, is_beside=self.is_beside))
        self.blocks[-1].add(text)
        return self._end("new", len(self.blocks) - 1, token) if ends else Step("new", len(self.blocks) - 1)

    def _go_on(self, token: str | None, text: str) -> Step:
        """Take a text behind the pieces of the open block. With a token it may as well be a block of its own behind a single one."""
        number, block = len(self.blocks) - 1, self.blocks[-1]
        pieces = len(block.pieces)
        if token and pieces and text.startswith(block.text()):
            self.close()
            return Step("over", number)
        block.add(text)
        if token is None:
            return Step("more", number)
        return self._end("more", number, token)._replace(signs=pieces != 1)

    def _end(self, kind: Literal["new", "more", "again"], number: int, token: str | None) -> Step:
        """End a block by the token that signs it, or by all of its text once more."""
        if number == len(self.blocks) - 1:
            if token is None:
                self.close()
            self._is_open = False
        if token is not None:
            block = self.blocks[number]
            block.token, self._signed[token] = token, number
            if self._unsigned:
                self._unsigned.pop(block.text(), None)
        return Step(kind, number, signs=token is not None, ends=True)
