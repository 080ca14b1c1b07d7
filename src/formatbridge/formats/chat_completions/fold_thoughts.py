"""Streams of chat_completions, folded: thoughts to those of the whole message, in the vendor's own terms, each told once."""

from __future__ import annotations

from typing import Any

from formatbridge.formats.chat_completions.reasoning import KINDS
from formatbridge.formats.chat_completions.stream_reasoning import BlockStep, ThinkingBlocks
from formatbridge.jsontext.types import JsonObject

_ALONE = ("reasoning_content", "reasoning")
"""Fields of a delta that tell thoughts as text alone."""
_TEXTS = frozenset({"text", "summary", "thinking"})
"""Fields of a detail or block of reasoning that grow."""


class Detail:
    """One detail or block of reasoning: its texts grow, and all else is told once. A token ends it, for it signs what came before."""

    def __init__(self, raw: JsonObject) -> None:
        self._told = dict(raw)
        self._pieces = {key: [value] for key, value in raw.items() if key in _TEXTS and isinstance(value, str)}

    def is_of(self, at: Any, kind: Any) -> bool:
        """Say whether a detail goes by this index and type."""
        return bool(self._told.get("index") == at and self._told.get("type") == kind)

    def grow(self, raw: JsonObject) -> bool:
        """Add a piece; false where it is one of another detail."""
        is_over = self._told.get("signature") or self._told.get("data")
        if is_over or any(not isinstance(raw[key], str | None) for key in _TEXTS & raw.keys()):  # no piece of a text
            return False
        return self.tell(raw, has_news=True)

    def tell(self, raw: JsonObject, *, has_news: bool) -> bool:
        """Take what a piece says of it, and its texts where they are news; false where it said something else."""
        told = {key: value for key, value in raw.items() if key not in _TEXTS and value is not None}
        if any(self._told.get(key) not in (None, "", value) for key, value in told.items()):
            return False
        self._told |= news({key: value for key, value in raw.items() if has_news or key not in _TEXTS}, self._told)
        for key in _TEXTS & raw.keys() if has_news else ():
            self._pieces.setdefault(key, []).append(raw[key] or "")
        return True

    def body(self) -> JsonObject:
        """Return the detail as a whole answer has it."""
        return self._told | {key: "".join(pieces) for key, pieces in self._pieces.items()}


class FoldedThoughts:
    """The thoughts of one choice, told as text, as blocks or as both. ``blocks``: the blocks as far as they have come."""

    def __init__(self) -> None:
        self.blocks: list[Detail] = []
        self._told = ThinkingBlocks()
        self._numbered: list[Detail] = []
        self._run: list[str] = []
        self._length = 0
        self._past: set[str] = set()
        self._comes_alone = False

    def take(self, delta: JsonObject) -> JsonObject | None:
        """Take the blocks of a delta and return the rest of it, without text that was told before; None where nobody knows what is."""
        given = delta.get("thinking_blocks") or []
        raws = [raw for raw in given if raw.get("type") in KINDS]
        text = "" if delta.get("reasoning_details") else next((delta[name] for name in _ALONE if delta.get(name)), "")
        if not raws and not self._run and self._comes_alone:
            self._told.close()
        steps = self._told.take(raws, text)
        is_again = self._told.repeats_text and steps[0].kind == "new" and self._is_known(text, raws)
        steps = self._told.end(steps) if is_again else steps
        if not self._keep(given, steps):
            return None
        texts = [raw.get("thinking") or "" for raw, step in zip(raws, steps, strict=True) if step.kind in ("new", "more")]
        if self._told.repeats_text and (is_again or len("".join(texts)) < sum(len(raw.get("thinking") or "") for raw in raws)):
            kept = "" if is_again else "".join(texts)
            delta = {key: kept if key in _ALONE and value == text else value for key, value in delta.items()}
            text = kept
        self._follow(steps, text)
        return {key: value for key, value in delta.items() if key != "thinking_blocks" or not value}

    def _is_known(self, text: str, raw: list[JsonObject]) -> bool:
        """Say whether text alone has told all of a text: the thought that is open, or one that has closed and gets its token now."""
        return self._is_run(text) or (text in self._past and any(entry.get("signature") for entry in raw))

    def _is_run(self, text: str) -> bool:
        return len(text) == self._length and text == "".join(self._run)

    def _keep(self, given: list[JsonObject], steps: list[BlockStep]) -> bool:
        """Keep entries with the blocks that they are of; false where that is not sure."""
        behind = iter(steps)
        for raw in given:
            if raw.get("type") not in KINDS:
                self.blocks.append(Detail(raw))
                continue
            step, is_signed = next(behind), bool(raw.get("signature") or raw.get("data"))
            if step.kind == "unclear" or (step.ends and is_signed and not step.signs):
                return False
            if step.kind == "new":
                self._numbered.append(Detail(raw))
                self.blocks.append(self._numbered[-1])
            elif not self._numbered[step.number].tell(raw, has_news=step.kind == "more"):
                return False
        return True

    def _follow(self, steps: list[BlockStep], text: str) -> None:
        """Note how far the text of the open thought has come; a block that has all of it ends it."""
        self._comes_alone = self._comes_alone or bool(text and not steps)
        self._run += [text] if text else []
        self._length += len(text)
        ends = [step.number for step in steps if step.ends]
        if ends and (self._told.repeats_text or self._is_run(self._told.blocks[ends[-1]].text())):
            self._run, self._length = [], 0

    def close(self) -> None:
        """End what is open: the answer goes on with something else."""
        self._told.close()
        if self._run:
            self._past.add("".join(self._run))
            self._run, self._length = [], 0


def news(told: JsonObject, known: JsonObject) -> JsonObject:
    """Return the fields of a piece that say something, or as much as is known: what says nothing (null, empty, 0) replaces nothing."""
    return {key: value for key, value in told.items() if value or value is False or not known.get(key)}
