"""From the events of a stream to the whole answer, as far as it has come."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterable, Mapping
from copy import copy
from dataclasses import dataclass, field, replace
from itertools import accumulate
from typing import Any

from formatbridge import ir
from formatbridge.ir import events
from formatbridge.streaming.replay import GROWS, altered, unfold

_MOST_WAITING = 100
"""Events that wait at most to be folded."""
_NAMES = ("id", "name")
"""What a call tells of itself when it opens, and may tell otherwise when it closes."""


@dataclass(slots=True)
class Growing:
    """A part as far as it has come; pieces are joined once, when somebody asks."""

    part: ir.Part
    place: tuple[int, int] = (0, 0)
    pieces: list[str] = field(default_factory=list)
    citations: list[ir.Citation] | None = None
    signature: ir.Signature | None = None
    transcript: list[str] | None = None
    is_open: bool = True
    retold: dict[str, str] | None = None  # what it told, by field, where its end told something else

    def copy(self) -> Growing:
        """Return one that grows apart from this one."""
        citations, transcript = self.citations and [*self.citations], self.transcript and [*self.transcript]
        return replace(self, pieces=[*self.pieces], citations=citations, transcript=transcript)

    def add(self, extra: ir.JsonObject | None) -> None:
        """Add fields that only its own format knows."""
        if extra:
            self.part = replace(self.part, extra={**(self.part.extra or {}), **extra})

    def whole(self) -> ir.Part:
        """Return the part with all that it was told."""
        told: dict[str, Any] = {}
        grows = GROWS.get(type(self.part))
        if grows and self.pieces:
            told[grows] = "".join(self.pieces)
        if self.citations:
            told["citations"] = self.citations
        if self.signature:
            told["signature"] = self.signature
        if self.transcript:
            told["transcript"] = "".join(self.transcript)
        return altered(self.part, **told) if told else self.part

    def as_told(self) -> str:
        """Return the text of a part that has closed as its reader has it: its deltas, where its end said something else."""
        grows = GROWS[type(self.part)]
        told = (self.retold or {}).get(grows)
        return told if told is not None else getattr(self.whole(), grows)


@dataclass(slots=True)
class _Choice:
    parts: dict[int, Growing] = field(default_factory=dict)
    cited: list[ir.Citation] = field(default_factory=list)
    logprobs: list[ir.TokenLogprob] | None = None
    refusal_logprobs: list[ir.TokenLogprob] | None = None
    finish: ir.Finish | None = None
    extra: ir.JsonObject = field(default_factory=dict)

    def copy(self) -> _Choice:
        """Return one that goes on apart from this one."""
        return replace(
            self,
            parts={number: part.copy() for number, part in self.parts.items()},
            cited=[*self.cited],
            logprobs=self.logprobs and [*self.logprobs],
            refusal_logprobs=self.refusal_logprobs and [*self.refusal_logprobs],
            extra={**self.extra},
        )

    def tokens(self, part: ir.Part) -> list[ir.TokenLogprob]:
        """Return the list that the log probabilities of a part go to."""
        if isinstance(part, ir.Refusal):
            self.refusal_logprobs = self.refusal_logprobs or []
            return self.refusal_logprobs
        self.logprobs = self.logprobs or []
        return self.logprobs


class Collector:
    """Folds events to an answer; memory grows with the answer, time with its events.

    The last few wait until somebody asks what they add up to: of a short answer nobody may.
    """

    def __init__(self, format: ir.FormatName, choice_path: str = "") -> None:
        """``choice_path``: JSON pointer of a choice in an answer, with ``{}`` for its index; empty: the answer is the only choice."""
        self._format = format
        self._choice_path = choice_path
        self._start = events.Start(None, None)
        self._late: tuple[str, ...] = ()
        self._choices: dict[int, _Choice] = {}
        self._usage: ir.Usage | None = None
        self._error: ir.Error | None = None
        self._extra: ir.JsonObject = {}
        self._latest: list[str] = []
        self._waiting: list[events.Event] = []

    def and_then(self, happened: Iterable[events.Event]) -> Collector:
        """Return a collector that has taken some more events; this one has not."""
        self._fold()
        made = copy(self)
        made._waiting = []
        made._choices = {index: choice.copy() for index, choice in self._choices.items()}
        made._extra = {**self._extra}
        for event in happened:
            if made._has_place(event):
                _HANDLERS[type(event)](made, event)
        return made

    def _has_place(self, event: events.Event) -> bool:
        """Say whether what an event is about has begun. A part of an event that could not be read to its end has not."""
        match event:
            case events.Delta() | events.PartMeta() | events.PartEnd():
                return event.choice in self._choices and event.index in self._choices[event.choice].parts
            case events.Cited():
                parts = self._choices[event.choice].parts.values() if event.choice in self._choices else ()
                return any(isinstance(part.part, ir.Text) for part in parts)
        return True

    def feed(self, event: events.Event) -> None:
        """Take one event."""
        self.take((event,))

    def take(self, happened: Iterable[events.Event]) -> None:
        """Take what happened."""
        self._waiting += happened
        if len(self._waiting) > _MOST_WAITING:
            self._fold()

    def _fold(self) -> None:
        waiting, self._waiting = self._waiting, []
        for event in waiting:
            _HANDLERS[type(event)](self, event)

    @property
    def latest(self) -> list[str]:
        """The pieces of the part that grew last; they grow with it."""
        self._fold()
        return self._latest

    def response(self) -> ir.Response:
        """Return the answer as far as it has come."""
        self._fold()
        start = self._start
        return ir.Response(
            format=self._format,
            id=start.id,
            model=start.model,
            created=start.created,
            choices=[_whole(index, choice, self._place(at)) for at, (index, choice) in enumerate(sorted(self._choices.items()))],
            usage=self._usage,
            error=self._error,
            extra={**(start.extra or {}), **self._extra} or None,
            late=self._late,
            retold=tuple(
                (part.whole(), name, told)
                for choice in self._choices.values()
                for part in choice.parts.values()
                for name, told in (part.retold or {}).items()
            ),
            cited=tuple(citation for choice in self._choices.values() for citation in choice.cited),
        )

    def first_parts(self, *, is_over: bool) -> Mapping[int, Growing]:
        """Return the parts of the first choice, by number. That is the one numbered 0, unless the answer is over without it."""
        self._fold()
        first = min(self._choices, default=0) if is_over else 0
        return self._choices[first].parts if first in self._choices else {}

    def so_far(self) -> list[events.Event]:
        """Return the events that fold to the answer as far as it has come, each part in one piece; what is open stays open."""
        self._fold()
        made: list[events.Event] = [self._start]
        for index, choice in self._choices.items():
            for number, part in sorted(choice.parts.items()):
                told = unfold(index, number, part.whole())
                made += told[:-1] if part.is_open else told
        return made if self._usage is None else [*made, events.UsageTold(self._usage)]

    def unfinished(self) -> list[events.Event]:
        """Return what would close the answer, as one that ran out of tokens: the open parts, then the choices without an end."""
        self._fold()
        made: list[events.Event] = []
        for index, choice in self._choices.items() if self._choices else ((0, _Choice()),):
            made += [events.PartEnd(index, number) for number, part in choice.parts.items() if part.is_open]
            if choice.finish is None:
                made.append(events.Finished(index, ir.Finish("length")))
        return made

    def _place(self, at: int) -> str:
        """Return the pointer of a choice in the body that the stream adds up to."""
        return self._choice_path.format(at)

    # What concerns one choice.

    def _choice(self, index: int) -> _Choice:
        choice = self._choices.get(index)
        if choice is None:
            choice = self._choices[index] = _Choice()
        return choice

    def _open(self, event: events.PartStart) -> None:
        self._choice(event.choice).parts[event.index] = Growing(event.part, event.place)

    def _grow(self, event: events.Delta) -> None:
        choice = self._choices[event.choice]
        part = choice.parts[event.index]
        part.pieces.append(event.text)
        self._latest = part.pieces
        if event.logprobs:
            choice.tokens(part.part).extend(event.logprobs)

    def _tell(self, event: events.PartMeta) -> None:
        part = self._choices[event.choice].parts[event.index]
        if event.signature:
            part.signature = event.signature
        if event.citation:
            part.citations = part.citations or []
            part.citations.append(event.citation)
        if event.transcript:
            part.transcript = part.transcript or []
            part.transcript.append(event.transcript)
        part.add(event.extra)

    def _cite(self, event: events.Cited) -> None:
        self._choice(event.choice).cited.append(event.citation)

    def _sign(self, event: events.Signed) -> None:
        self._choices[event.choice].parts[event.index].signature = event.signature

    def _close(self, event: events.PartEnd) -> None:
        part = self._choices[event.choice].parts[event.index]
        part.is_open = False
        if event.part is not None:
            part.retold = _told_otherwise(part, event.part)
            part.part = event.part
            part.pieces, part.citations, part.transcript, part.signature = [], None, None, None
        part.add(event.extra)

    def _finish_choice(self, event: events.Finished) -> None:
        self._choice(event.choice).finish = event.finish

    # What concerns the answer as a whole.

    def _begin(self, event: events.Start) -> None:
        self._start, self._usage = event, event.usage

    def _name(self, event: events.Named) -> None:
        told = {name: value for name in ("id", "model", "created") if (value := getattr(event, name)) is not None}
        self._start = replace(self._start, **told)
        self._late = (*self._late, *told)

    def _count(self, event: events.UsageTold) -> None:
        self._usage = event.usage

    def _add(self, event: events.Meta) -> None:
        if event.choice is None:
            self._extra |= event.extra
        else:
            self._choice(event.choice).extra |= event.extra

    def _fail(self, event: events.Failed) -> None:
        self._error = event.error

    def _end(self, event: events.End) -> None:
        """Take the end, which says nothing of the answer."""


_HANDLERS: dict[type[events.Event], Callable[[Collector, Any], None]] = {
    events.Start: Collector._begin,
    events.Named: Collector._name,
    events.PartStart: Collector._open,
    events.Delta: Collector._grow,
    events.PartMeta: Collector._tell,
    events.Cited: Collector._cite,
    events.Signed: Collector._sign,
    events.PartEnd: Collector._close,
    events.Finished: Collector._finish_choice,
    events.UsageTold: Collector._count,
    events.Meta: Collector._add,
    events.Failed: Collector._fail,
    events.End: Collector._end,
}


def _told_otherwise(part: Growing, whole: ir.Part) -> dict[str, str]:
    """Return what a part told and does not say any more, now that it is whole, by field."""
    told = {GROWS.get(type(whole), ""): "".join(part.pieces)}
    if isinstance(whole, ir.ToolCall) and isinstance(part.part, ir.ToolCall):
        told |= {name: getattr(part.part, name) for name in _NAMES}
    now = {name: getattr(whole, name, None) for name in told}
    return {name: text for name, text in told.items() if text and isinstance(now[name], str) and now[name] != text}


def _whole(index: int, choice: _Choice, src: str) -> ir.Choice:
    parts = [
        choice.parts[number].whole() for number in sorted(choice.parts, key=lambda number: (choice.parts[number].place, number))
    ]
    return ir.Choice(
        parts=_with_citations(parts, choice.cited) if choice.cited else parts,
        finish=choice.finish,
        index=index,
        logprobs=choice.logprobs,
        refusal_logprobs=choice.refusal_logprobs,
        src=src,
        extra=choice.extra or None,
    )


def _with_citations(parts: list[ir.Part], citations: list[ir.Citation]) -> list[ir.Part]:
    """Hang each citation on the text in which its span begins; one that has no span, or begins behind all, on the last."""
    texts = [(at, part) for at, part in enumerate(parts) if isinstance(part, ir.Text)]
    ends = list(accumulate(len(text.text) for _, text in texts))
    cited: dict[int, list[ir.Citation]] = {at: list(text.citations or ()) for at, text in texts}
    for citation in citations:
        place = len(texts) if citation.start is None else bisect_right(ends, citation.start)
        cited[texts[min(place, len(texts) - 1)][0]].append(citation)
    made = list(parts)
    for at, text in texts:
        made[at] = replace(text, citations=cited[at] or None)
    return made


class Listener:
    """Tells the visible text of the first choice, each piece once.

    Texts are told in their order: what comes of the next while one is open waits for the end of that one, so that the pieces add up to the
    text of the answer.
    """

    def __init__(self, collector: Collector) -> None:
        self._collector = collector
        self._at = 0  # the part that is listened to
        self._pieces = 0  # how many of its pieces were told
        self._size = 0  # and how many characters

    def hear(self, *, is_over: bool) -> list[str]:
        """Return what came since the last time. ``is_over``: the answer has ended, so that no choice before the first will come."""
        parts = self._collector.first_parts(is_over=is_over)
        made: list[str] = []
        while (held := parts.get(self._at)) is not None:
            if isinstance(held.part, ir.Text):
                made += self._told(held)
                if held.is_open:
                    break
            self._at, self._pieces, self._size = self._at + 1, 0, 0
        return made

    def _told(self, held: Growing) -> list[str]:
        """Return what is new of a text. Where its end said something else than its deltas, these are what a reader has."""
        fresh = held.pieces[self._pieces :] if held.pieces or held.is_open else [held.as_told()[self._size :]]
        self._pieces += len(fresh)
        self._size += sum(map(len, fresh))
        return [piece for piece in fresh if piece]
