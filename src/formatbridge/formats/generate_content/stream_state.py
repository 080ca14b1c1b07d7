"""Decoder state for generateContent streams: one candidate."""

from __future__ import annotations

from dataclasses import dataclass, field

from formatbridge import ir
from formatbridge.formats.generate_content.citations import decode_citations
from formatbridge.formats.generate_content.stream_pieces import Gathered, PartialCalls, Sources
from formatbridge.formats.generate_content.tool_calls import Calls
from formatbridge.formats.shared.unmodelled_fields import joined
from formatbridge.ir import events
from formatbridge.jsontext.types import JsonObject


@dataclass(slots=True)
class Choice:
    """One candidate as far as it has come. ``texts``: all visible text.

    ``open``: the open part's number, and its kind where more text may go to it; ``behind``: the text before a bare token, also open.
    ``loose``: the thought that a token would sign which comes late, the last one behind all tokens. ``tokens_apart``: how many tokens on
    other parts are parts of their own here.
    """

    index: int
    src: str
    calls: Calls
    parts: int = 0
    open: tuple[type[ir.Part] | None, int] | None = None
    behind: int | None = None
    loose: int | None = None
    tokens_apart: int = 0
    texts: dict[int, list[str]] = field(default_factory=dict)
    called: list[ir.Part] = field(default_factory=list)
    partial: PartialCalls | None = None
    finish: JsonObject = field(default_factory=dict)
    sources: Sources | None = None
    pages: Gathered | None = None
    tokens: list[ir.TokenLogprob] = field(default_factory=list)
    weighed: int = 0
    extra: JsonObject = field(default_factory=dict)

    @property
    def open_texts(self) -> list[int]:
        """The numbers of the visible texts that still take something."""
        latest = self.open[1] if self.open is not None else None
        return [number for number in (self.behind, latest) if number in self.texts and number is not None]

    @property
    def place(self) -> int:
        """The place of the next part in the body."""
        return self.parts - self.tokens_apart

    @property
    def at(self) -> str:
        """The pointer of the next part."""
        return f"{self.src}/content/parts/{self.place}"

    def cite(self, made: list[events.Event]) -> JsonObject | None:
        """Hang each citation on the text that it vouches for, or tell it alone where that has closed; return what no citation holds."""
        if self.sources is None:
            return None
        texts = {number: ir.Text("".join(pieces)) for number, pieces in self.texts.items()}
        unread = decode_citations(self.sources.told, list(texts.values()), self.src)
        still_open = self.open_texts
        for number, text in texts.items():
            for citation in text.citations or ():
                if number in still_open:
                    made.append(events.PartMeta(self.index, number, citation=citation))
                else:
                    made.append(events.Cited(self.index, citation))
        return unread


def untold(choice: Choice) -> list[events.Event]:
    """Return what the end would tell: what the candidate rests on, the chances of tokens, calls by half; the choice stays as it is."""
    made: list[events.Event] = []
    unread = choice.cite(made)
    if choice.tokens:
        made += _weighed(choice)
    if left := joined(unread, choice.partial.left_over(choice.place) if choice.partial else None):
        made.append(events.Meta(left, choice.index))
    return made


def _weighed(choice: Choice) -> list[events.Event]:
    """Return what tells the chances of tokens that wait for a text, with one of their own where none is open."""
    tokens, texts = [*choice.tokens], choice.open_texts
    number = texts[0] if texts else choice.parts
    begun: list[events.Event] = [] if texts else [events.PartStart(choice.index, number, ir.Text("", choice.at))]
    return [*begun, events.Delta(choice.index, number, "", tokens)]
