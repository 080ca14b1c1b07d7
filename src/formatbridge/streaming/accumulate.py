"""Accumulate the canonical events of a stream to the partial or whole answer."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterable, Mapping
from copy import copy
from dataclasses import dataclass, field, replace
from itertools import accumulate
from typing import Any

from formatbridge import ir
from formatbridge.ir import events
from formatbridge.streaming.replay import DELTA_FIELDS, copy_part, unfold

_MAX_QUEUED = 100
"""The largest number of events that are queued before they are folded."""
_NAMES = ("id", "name")
"""Fields of a tool call that its start has, and that its end may change."""


@dataclass(slots=True)
class PartState:
    """The accumulated state of one part. Its text is a list of deltas, which ``whole`` joins."""

    part: ir.Part
    position: tuple[int, int] = (0, 0)
    pieces: list[str] = field(default_factory=list)
    citations: list[ir.Citation] | None = None
    signature: ir.Signature | None = None
    transcript: list[str] | None = None
    is_open: bool = True
    revised: dict[str, str] | None = None  # earlier values, by field, that its end has changed

    def copy(self) -> PartState:
        """Return an independent copy."""
        citations, transcript = self.citations and [*self.citations], self.transcript and [*self.transcript]
        return replace(self, pieces=[*self.pieces], citations=citations, transcript=transcript)

    def add(self, extra: ir.JsonObject | None) -> None:
        """Add unmodelled fields."""
        if extra:
            self.part = replace(self.part, extra={**(self.part.extra or {}), **extra})

    def whole(self) -> ir.Part:
        """Return the part with its accumulated text, citations, signature and transcript."""
        values: dict[str, Any] = {}
        delta_field = DELTA_FIELDS.get(type(self.part))
        if delta_field and self.pieces:
            values[delta_field] = "".join(self.pieces)
        if self.citations:
            values["citations"] = self.citations
        if self.signature:
            values["signature"] = self.signature
        if self.transcript:
            values["transcript"] = "".join(self.transcript)
        return copy_part(self.part, **values) if values else self.part

    def emitted_text(self) -> str:
        """Return the text of a closed part as it was emitted: the deltas, even if its end has changed the text."""
        delta_field = DELTA_FIELDS[type(self.part)]
        emitted = (self.revised or {}).get(delta_field)
        return emitted if emitted is not None else getattr(self.whole(), delta_field)


@dataclass(slots=True)
class _Choice:
    parts: dict[int, PartState] = field(default_factory=dict)
    cited: list[ir.Citation] = field(default_factory=list)
    logprobs: list[ir.TokenLogprob] | None = None
    refusal_logprobs: list[ir.TokenLogprob] | None = None
    finish: ir.Finish | None = None
    extra: ir.JsonObject = field(default_factory=dict)

    def copy(self) -> _Choice:
        """Return an independent copy."""
        return replace(
            self,
            parts={number: part.copy() for number, part in self.parts.items()},
            cited=[*self.cited],
            logprobs=self.logprobs and [*self.logprobs],
            refusal_logprobs=self.refusal_logprobs and [*self.refusal_logprobs],
            extra={**self.extra},
        )

    def tokens(self, part: ir.Part) -> list[ir.TokenLogprob]:
        """Return the list for the log probabilities of a part."""
        if isinstance(part, ir.Refusal):
            self.refusal_logprobs = self.refusal_logprobs or []
            return self.refusal_logprobs
        self.logprobs = self.logprobs or []
        return self.logprobs


class Collector:
    """Accumulates events to an answer. Memory is linear in the size of the answer, time in the number of events.

    The last events are queued and folded only when a method needs the answer, because a short stream may never need it.
    """

    def __init__(self, format: ir.FormatName, choice_pointer: str = "") -> None:
        """``choice_pointer``: JSON pointer of a choice in an answer, with ``{}`` for its index; empty: the answer is the only choice."""
        self._format = format
        self._choice_pointer = choice_pointer
        self._start = events.Start(None, None)
        self._fields_after_start: tuple[str, ...] = ()
        self._choices: dict[int, _Choice] = {}
        self._usage: ir.Usage | None = None
        self._error: ir.Error | None = None
        self._extra: ir.JsonObject = {}
        self._latest: list[str] = []
        self._queued: list[events.Event] = []

    def and_then(self, new_events: Iterable[events.Event]) -> Collector:
        """Return a copy of the collector with more events; this one does not get them."""
        self._fold()
        result = copy(self)
        result._queued = []
        result._choices = {index: choice.copy() for index, choice in self._choices.items()}
        result._extra = {**self._extra}
        for event in new_events:
            if result._has_begun(event):
                _METHODS[type(event)](result, event)
        return result

    def _has_begun(self, event: events.Event) -> bool:
        """Return whether the part of an event has begun. It has not if the event that begins it was not read completely."""
        match event:
            case events.Delta() | events.PartUpdate() | events.PartEnd():
                return event.choice in self._choices and event.index in self._choices[event.choice].parts
            case events.CitationUpdate():
                parts = self._choices[event.choice].parts.values() if event.choice in self._choices else ()
                return any(isinstance(part.part, ir.Text) for part in parts)
        return True

    def feed(self, event: events.Event) -> None:
        """Accumulate one event."""
        self.take((event,))

    def take(self, new_events: Iterable[events.Event]) -> None:
        """Accumulate some events."""
        self._queued += new_events
        if len(self._queued) > _MAX_QUEUED:
            self._fold()

    def _fold(self) -> None:
        queued, self._queued = self._queued, []
        for event in queued:
            _METHODS[type(event)](self, event)

    @property
    def latest(self) -> list[str]:
        """The deltas of the part with the most recent delta; later deltas are appended to the same list."""
        self._fold()
        return self._latest

    def response(self) -> ir.Response:
        """Return the accumulated answer."""
        self._fold()
        start = self._start
        return ir.Response(
            format=self._format,
            id=start.id,
            model=start.model,
            created=start.created,
            choices=[
                _whole(index, choice, self._choice_src(number))
                for number, (index, choice) in enumerate(sorted(self._choices.items()))
            ],
            usage=self._usage,
            error=self._error,
            extra={**(start.extra or {}), **self._extra} or None,
            fields_after_start=self._fields_after_start,
            revised_parts=tuple(
                (part.whole(), name, earlier)
                for choice in self._choices.values()
                for part in choice.parts.values()
                for name, earlier in (part.revised or {}).items()
            ),
            citations_after_text=tuple(citation for choice in self._choices.values() for citation in choice.cited),
        )

    def first_parts(self, *, is_over: bool) -> Mapping[int, PartState]:
        """Return the parts of the first choice, by number: choice 0, or the lowest number if the answer has ended without choice 0."""
        self._fold()
        first = min(self._choices, default=0) if is_over else 0
        return self._choices[first].parts if first in self._choices else {}

    def partial_events(self) -> list[events.Event]:
        """Return events that accumulate to the same partial answer, with one delta per part; open parts stay open."""
        self._fold()
        result: list[events.Event] = [self._start]
        for index, choice in self._choices.items():
            for number, part in sorted(choice.parts.items()):
                part_events = unfold(index, number, part.whole())
                result += part_events[:-1] if part.is_open else part_events
        return result if self._usage is None else [*result, events.UsageUpdate(self._usage)]

    def unfinished(self) -> list[events.Event]:
        """Return the events that close an incomplete answer: ends of open parts, and the finish reason ``length`` for open choices."""
        self._fold()
        result: list[events.Event] = []
        for index, choice in self._choices.items() if self._choices else ((0, _Choice()),):
            result += [events.PartEnd(index, number) for number, part in choice.parts.items() if part.is_open]
            if choice.finish is None:
                result.append(events.ChoiceEnd(index, ir.Finish("length")))
        return result

    def _choice_src(self, number: int) -> str:
        """Return the pointer of a choice in the accumulated body."""
        return self._choice_pointer.format(number)

    def _choice(self, index: int) -> _Choice:
        choice = self._choices.get(index)
        if choice is None:
            choice = self._choices[index] = _Choice()
        return choice

    def _open(self, event: events.PartStart) -> None:
        self._choice(event.choice).parts[event.index] = PartState(event.part, event.position)

    def _append(self, event: events.Delta) -> None:
        choice = self._choices[event.choice]
        part = choice.parts[event.index]
        part.pieces.append(event.text)
        self._latest = part.pieces
        if event.logprobs:
            choice.tokens(part.part).extend(event.logprobs)

    def _extend(self, event: events.PartUpdate) -> None:
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

    def _cite(self, event: events.CitationUpdate) -> None:
        self._choice(event.choice).cited.append(event.citation)

    def _sign(self, event: events.SignatureUpdate) -> None:
        self._choices[event.choice].parts[event.index].signature = event.signature

    def _close(self, event: events.PartEnd) -> None:
        part = self._choices[event.choice].parts[event.index]
        part.is_open = False
        if event.part is not None:
            part.revised = _changed_fields(part, event.part)
            part.part = event.part
            part.pieces, part.citations, part.transcript, part.signature = [], None, None, None
        part.add(event.extra)

    def _finish_choice(self, event: events.ChoiceEnd) -> None:
        self._choice(event.choice).finish = event.finish

    def _begin(self, event: events.Start) -> None:
        self._start, self._usage = event, event.usage

    def _name(self, event: events.StartUpdate) -> None:
        names = {name: value for name in ("id", "model", "created") if (value := getattr(event, name)) is not None}
        self._start = replace(self._start, **names)
        self._fields_after_start = (*self._fields_after_start, *names)

    def _count(self, event: events.UsageUpdate) -> None:
        self._usage = event.usage

    def _add(self, event: events.FieldsUpdate) -> None:
        if event.choice is None:
            self._extra |= event.extra
        else:
            self._choice(event.choice).extra |= event.extra

    def _fail(self, event: events.Failed) -> None:
        self._error = event.error

    def _end(self, event: events.End) -> None:
        """Ignore the end, which adds nothing to the answer."""


_METHODS: dict[type[events.Event], Callable[[Collector, Any], None]] = {
    events.Start: Collector._begin,
    events.StartUpdate: Collector._name,
    events.PartStart: Collector._open,
    events.Delta: Collector._append,
    events.PartUpdate: Collector._extend,
    events.CitationUpdate: Collector._cite,
    events.SignatureUpdate: Collector._sign,
    events.PartEnd: Collector._close,
    events.ChoiceEnd: Collector._finish_choice,
    events.UsageUpdate: Collector._count,
    events.FieldsUpdate: Collector._add,
    events.Failed: Collector._fail,
    events.End: Collector._end,
}


def _changed_fields(part: PartState, whole: ir.Part) -> dict[str, str]:
    """Return the earlier values, by field, that the end of a part has changed."""
    earlier = {DELTA_FIELDS.get(type(whole), ""): "".join(part.pieces)}
    if isinstance(whole, ir.ToolCall) and isinstance(part.part, ir.ToolCall):
        earlier |= {name: getattr(part.part, name) for name in _NAMES}
    now = {name: getattr(whole, name, None) for name in earlier}
    return {name: text for name, text in earlier.items() if text and isinstance(now[name], str) and now[name] != text}


def _whole(index: int, choice: _Choice, src: str) -> ir.Choice:
    parts = [
        choice.parts[number].whole() for number in sorted(choice.parts, key=lambda number: (choice.parts[number].position, number))
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
    """Add each citation to the text in which its span begins. Without a span, or after all texts, it belongs to the last text."""
    texts = [(index, part) for index, part in enumerate(parts) if isinstance(part, ir.Text)]
    ends = list(accumulate(len(text.text) for _, text in texts))
    cited: dict[int, list[ir.Citation]] = {index: list(text.citations or ()) for index, text in texts}
    for citation in citations:
        number = len(texts) if citation.start is None else bisect_right(ends, citation.start)
        cited[texts[min(number, len(texts) - 1)][0]].append(citation)
    result = list(parts)
    for index, text in texts:
        result[index] = replace(text, citations=cited[index] or None)
    return result


class VisibleTextReader:
    """Returns the visible text of the first choice, each delta once.

    Texts are returned in their order: while a text is open, deltas of later texts are kept. So the returned pieces join to the text of the
    answer.
    """

    def __init__(self, collector: Collector) -> None:
        self._collector = collector
        self._at = 0  # number of the current part
        self._pieces = 0  # deltas of it that were returned
        self._size = 0  # characters of it that were returned

    def read_new(self, *, is_over: bool) -> list[str]:
        """Return the text since the last call. ``is_over``: the answer has ended, so that choice 0 can no longer begin."""
        parts = self._collector.first_parts(is_over=is_over)
        result: list[str] = []
        while (state := parts.get(self._at)) is not None:
            if isinstance(state.part, ir.Text):
                result += self._new_pieces(state)
                if state.is_open:
                    break
            self._at, self._pieces, self._size = self._at + 1, 0, 0
        return result

    def _new_pieces(self, state: PartState) -> list[str]:
        """Return the new pieces of a text. If its end has changed the text, the deltas count, because they were returned already."""
        new_pieces = state.pieces[self._pieces :] if state.pieces or state.is_open else [state.emitted_text()[self._size :]]
        self._pieces += len(new_pieces)
        self._size += sum(map(len, new_pieces))
        return [piece for piece in new_pieces if piece]
