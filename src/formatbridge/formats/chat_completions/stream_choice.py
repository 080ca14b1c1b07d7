"""Streams of chat_completions, read: one choice, its parts as they open, grow and end."""

from __future__ import annotations

from collections import ChainMap
from dataclasses import dataclass, field

from formatbridge import ir
from formatbridge.formats.chat_completions.stream_calls import Calls
from formatbridge.formats.chat_completions.stream_thinking_blocks import Blocks
from formatbridge.formats.chat_completions.stream_thoughts import Thoughts
from formatbridge.formats.shared.unmodelled_fields import Pieces, gathered, joined
from formatbridge.ir import events
from formatbridge.jsontext.types import JsonObject
from formatbridge.streaming.replay import unfold


@dataclass(slots=True)
class Choice:
    """One choice as far as it has come. ``open``: the kind and number of the part that text goes to.

    ``parts``: those that have begun, by number; ``items``: how many items each list of the message has so far; ``tokens``: how many log
    probabilities came, by their kind; ``finish`` and ``stop``: why it ended, and the text or token that ended it; ``notes``: citations that
    wait for a text; ``token``: the latest that came beside the message, ``beside``: one that waits for its part; ``sound``: the number of
    the sound, to which more may come until the very end; ``more``: fields that came when their part had begun; ``unknown``: those that
    nobody knows; ``has_text``: whether any of the parts is visible text; ``blocks``: its thoughts as
    blocks, where any came.
    """

    index: int
    open: tuple[str, int] | None = None
    calls: Calls | None = None
    parts: list[ir.Part] = field(default_factory=list)
    items: dict[str, int] = field(default_factory=dict)
    finish: str | None = None
    stop: str | int | None = None
    tokens: dict[str, int] = field(default_factory=dict)
    notes: list[ir.Citation] | None = None
    sound: int | None = None
    token: str | None = None
    beside: ir.Signature | None = None
    extra: JsonObject | None = None
    more: JsonObject | None = None
    unknown: Pieces = field(default_factory=Pieces)
    has_text: bool = False
    blocks: Blocks | None = None
    _thoughts: Thoughts | None = None

    @property
    def ending(self) -> JsonObject:
        """Why it ended, as a whole choice has it."""
        return {"finish_reason": self.finish, "stop_reason": self.stop}

    @property
    def thoughts(self) -> Thoughts:
        """What was thought; most answers have no thoughts."""
        self._thoughts = self._thoughts or Thoughts()
        return self._thoughts

    @property
    def is_whole(self) -> bool:
        """Whether it says something, and no call by half."""
        return bool(self.parts or self.calls) and (self.calls is None or self.calls.are_whole)

    def grow(self, kind: str, part: ir.Part, text: str, made: list[events.Event]) -> None:
        """Add text to the open part of a kind."""
        made.append(events.Delta(self.index, self.enter(kind, part, made), text))

    def enter(self, kind: str, part: ir.Part, made: list[events.Event]) -> int:
        """Return the number of the open part of a kind; another kind closes what is open and opens the next."""
        if self.open is None or self.open[0] != kind:
            self.leave(made)
            if isinstance(part, ir.Reasoning):
                part = ir.Reasoning(src=part.src, summary=part.summary, id=part.id, extra=part.extra)
                self.thoughts.open(part)
            self.open = (kind, self.start(part, made))
        return self.open[1]

    def start(self, part: ir.Part, made: list[events.Event]) -> int:
        """Begin a part and return its number; citations that waited for a text hang on the first."""
        number = len(self.parts)
        if self.beside is not None:
            self._sign(part)
        self._append(part)
        made.append(events.PartStart(self.index, number, part))
        if self.notes and isinstance(part, ir.Text):
            made += [events.PartMeta(self.index, number, citation=citation) for citation in self.notes]
            self.notes = None
        return number

    def _sign(self, part: ir.Part) -> None:
        """Give the token that waits to the first text, or to a call before any."""
        is_first = isinstance(part, ir.Text | ir.ToolCall) and not self.has_text
        if is_first and part.signature is None:  # type: ignore[union-attr]  # the test before it says so
            part.signature, self.beside = self.beside, None  # type: ignore[union-attr]

    def add(self, part: ir.Part, made: list[events.Event]) -> None:
        """Take a part that comes in one piece."""
        self.leave(made)
        made += unfold(self.index, len(self.parts), part)
        self._append(part)

    def _append(self, part: ir.Part) -> None:
        self.parts.append(part)
        self.has_text = self.has_text or isinstance(part, ir.Text)

    def leave(self, made: list[events.Event]) -> None:
        """End the part that text goes to, if there is one."""
        if self.open is not None:
            if self.open[0] == "reasoning":
                self.thoughts.close(self.open[1])
            made.append(events.PartEnd(self.index, self.open[1], extra=self.take_more()))
            self.open = None

    def keep(self, src: str, extra: JsonObject) -> None:
        """Keep fields that come when their part is open: an item of the content goes on under its own number, details have one each.

        Of what pieces of an item say the last counts, but what one of them denied stays so.
        """
        assert self.open is not None
        items, opened = f"/choices/{self.index}/message/content/", self.parts[self.open[1]]
        if isinstance(opened, ir.Reasoning) and src.startswith(items) and opened.src.startswith(items):
            said = ChainMap(self.more or {}, opened.extra or {})
            self.more = gathered(self.more, {name: value for name, value in extra.items() if said.get(name) is not False})
        else:
            self.keep_beside(src, extra)

    def keep_beside(self, src: str, extra: JsonObject) -> None:
        """Keep fields of an item that is no part of its own, under its number."""
        place = src.removeprefix(f"/choices/{self.index}/")
        self.extra = gathered(self.extra, {f"{place}/{name}": value for name, value in extra.items()})

    @property
    def open_thought(self) -> int | None:
        """The number of the open part, where that is a thought."""
        return self.open[1] if self.open is not None and self.open[0] == "reasoning" else None

    def left_over(self) -> JsonObject | None:
        """Return the fields of the whole choice that are no part of it."""
        made: JsonObject = {"stop_reason": self.stop} if self.stop is not None else {}
        if self.blocks is not None:
            made |= self.blocks.left_over(self.thoughts)
        return joined(self.extra, self.unknown.whole(), made)

    def take_more(self) -> JsonObject | None:
        """Return the fields that came when the open part had begun: its end tells them."""
        more, self.more = self.more, None
        return more

    def weighed(self, kind: str) -> int | None:
        """Return the number of the part that tokens of a kind are of; None where it has not begun.

        Whatever is open has tokens of its text.
        """
        if self.open is not None and kind in ("text", self.open[0]):
            return self.open[1]
        return self.sound if kind == "text" and self.open is None else None

    def cite(self, citations: list[ir.Citation], made: list[events.Event]) -> None:
        """Hang citations on the text that is open, or on those that have closed; before any they wait for it, or for the end."""
        if self.open is not None and isinstance(self.parts[self.open[1]], ir.Text):
            made += [events.PartMeta(self.index, self.open[1], citation=citation) for citation in citations]
        elif self.has_text:
            made += [events.Cited(self.index, citation) for citation in citations]
        else:
            self.notes = self.notes or []
            self.notes += citations
