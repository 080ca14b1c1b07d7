"""The events of a stream as they came, kept in little space until somebody asks what they add up to."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from formatbridge.streaming.delta_template import Template


@dataclass(slots=True)
class _Run:
    """Events in a row that are known by heart. Their texts stand in ``pieces`` from ``start`` on, up to ``end``; None: all that come.

    ``last``: the last of them as it came, where its counts hold. ``each_counts``: they do not add up to one event with all texts.
    """

    template: Template
    pieces: list[str]
    start: int
    end: int | None = None
    last: bytes | None = None
    each_counts: bool = False

    def events(self) -> Iterator[bytes]:
        """Yield what adds up to the same: each event, or one with all texts; but the last as it came, where that is known."""
        texts = self.pieces[self.start : self.end]
        if self.last is not None:
            texts.pop()
        if self.each_counts:
            yield from map(self.template.filled, texts)
        elif texts:
            yield self.template.filled("".join(texts))
        if self.last is not None:
            yield self.last


class Record:
    """What a stream brought, event by event. Of those that are known by heart nothing is kept: their texts are where they are collected."""

    __slots__ = ("_told",)

    def __init__(self) -> None:
        self._told: list[bytes | _Run] = []

    def add(self, data: bytes) -> None:
        """Keep an event, which ends a run."""
        if self._told and isinstance(run := self._told[-1], _Run):
            run.end = len(run.pieces)
        self._told.append(data)

    def run(self, template: Template, pieces: list[str], *, each_counts: bool = False) -> None:
        """Begin a run with those of the last events that are of its template; others may come, which add nothing but text to ``pieces``."""
        start = len(pieces)
        while start and not template.counts_usage and self._ends_with(template, pieces[start - 1]):
            self._told.pop()
            start -= 1
        self._told.append(_Run(template, pieces, start, each_counts=each_counts))

    def _ends_with(self, template: Template, text: str) -> bool:
        last = self._told[-1] if self._told else None
        return isinstance(last, bytes) and template.text_of(last) == text

    def copy(self) -> Record:
        """Return what came until now; what comes later is not in it."""
        made = Record()
        made._told = [*self._told]
        if made._told and isinstance(run := made._told[-1], _Run):
            made._told[-1] = replace(run, end=len(run.pieces))
        return made

    def keep_last(self, data: bytes) -> None:
        """Keep the last event of the run that is open."""
        run = self._told[-1]
        assert isinstance(run, _Run)
        run.last = data

    def __iter__(self) -> Iterator[bytes]:
        for told in self._told:
            if isinstance(told, bytes):
                yield told
            else:
                yield from told.events()
