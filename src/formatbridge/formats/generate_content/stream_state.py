"""Decoder state for generateContent streams: one candidate.

The state of calls in pieces is ``PartialCalls`` in ``stream_fold``.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from formatbridge import ir
from formatbridge.formats.generate_content.citations import decode_citations
from formatbridge.formats.generate_content.stream_fold import URL_CONTEXT, Citations, PartialCalls
from formatbridge.formats.generate_content.tool_calls import ConversationCalls
from formatbridge.formats.shared.fold import Fold
from formatbridge.formats.shared.unmodelled_fields import merge_extra
from formatbridge.ir import events
from formatbridge.jsontext.types import JsonObject


@dataclass(slots=True)
class Choice:
    """The state of one candidate. ``texts``: all visible text.

    ``open``: the number of the open part, and its kind if text may be added to it. ``before``: the open text before a token without text.
    ``unsigned``: the reasoning that a token of another format signs, the last one after all tokens. ``token_parts``: how many tokens on
    other parts became separate parts.
    """

    index: int
    src: str
    calls: ConversationCalls
    parts: int = 0
    open: tuple[type[ir.Part] | None, int] | None = None
    before: int | None = None
    unsigned: int | None = None
    token_parts: int = 0
    texts: dict[int, list[str]] = field(default_factory=dict)
    has_calls: bool = False
    partial: PartialCalls | None = None
    finish: JsonObject = field(default_factory=dict)
    citations: Citations = field(default_factory=Citations)
    url_context: Fold = field(default_factory=lambda: Fold(URL_CONTEXT))
    tokens: list[ir.TokenLogprob] = field(default_factory=list)
    token_count: int = 0
    extra: JsonObject = field(default_factory=dict)

    @property
    def open_texts(self) -> list[int]:
        """The numbers of the visible texts that are open."""
        # Only an open part accepts a citation. A closed text gets it as the event ``CitationUpdate``.
        latest = self.open[1] if self.open is not None else None
        return [number for number in (self.before, latest) if number in self.texts and number is not None]

    @property
    def next_index(self) -> int:
        """The index of the next part in the body."""
        # A token that became a separate part has no index, because the body has it on another part.
        return self.parts - self.token_parts

    @property
    def next_src(self) -> str:
        """The pointer of the next part."""
        return f"{self.src}/content/parts/{self.next_index}"

    def cite(self, out: list[events.Event]) -> JsonObject | None:
        """Emit each citation with its text, or alone if that has closed; return the unread fields."""
        # Spans count the bytes of all visible text, so they are decoded when no more text can come.
        fields = self.citations.to_object()
        if not fields:
            return None
        texts = {number: ir.Text("".join(pieces)) for number, pieces in self.texts.items()}
        extra = decode_citations(fields, list(texts.values()), self.src)
        still_open = self.open_texts
        for number, text in texts.items():
            for citation in text.citations or ():
                if number in still_open:
                    out.append(events.PartUpdate(self.index, number, citation=citation))
                else:
                    out.append(events.CitationUpdate(self.index, citation))
        return extra

    def pending_events(self) -> list[events.Event]:
        """Return what the end of the stream would emit: citations, log probabilities, incomplete calls. The state does not change."""
        out: list[events.Event] = []
        extra = self.cite(out)
        if self.tokens:
            texts = self.open_texts
            number = texts[0] if texts else self.parts
            if not texts:
                out.append(events.PartStart(self.index, number, ir.Text("", self.next_src)))
            out.append(events.Delta(self.index, number, "", [*self.tokens]))
        if extra := merge_extra(extra, self.partial.unread(self.next_index) if self.partial else None):
            out.append(events.FieldsUpdate(extra, self.index))
        return out
