"""The event log: keeps the events of a stream in little memory, so that they can be folded to a whole body on request."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from formatbridge.streaming.event_pattern import EventPattern


@dataclass(slots=True)
class _Run:
    """Consecutive events of one pattern. Their texts are ``pieces[start:end]``; without ``end`` the run is open.

    ``last``: the bytes of the last event, if its counts are valid. ``is_counted``: the number of events matters, so that one event with
    all texts is not equivalent to them.
    """

    pattern: EventPattern
    pieces: list[str]
    start: int
    end: int | None = None
    last: bytes | None = None
    is_counted: bool = False

    def events(self) -> Iterator[bytes]:
        """Yield equivalent events: each event, or one with all texts. The last one is unchanged if its counts are valid."""
        texts = self.pieces[self.start : self.end]
        if self.last is not None:
            texts.pop()
        if self.is_counted:
            yield from map(self.pattern.filled, texts)
        elif texts:
            yield self.pattern.filled("".join(texts))
        if self.last is not None:
            yield self.last


class EventLog:
    """The events of a stream. Of events that match a delta template the log keeps nothing: the collector has their texts already."""

    __slots__ = ("_entries",)

    def __init__(self) -> None:
        self._entries: list[bytes | _Run] = []

    def add(self, data: bytes) -> None:
        """Add an event, which ends a run."""
        if self._entries and isinstance(run := self._entries[-1], _Run):
            run.end = len(run.pieces)
        self._entries.append(data)

    def begin_run(self, pattern: EventPattern, pieces: list[str], *, is_counted: bool = False) -> None:
        """Begin a run with the last events that have its pattern. Later events of the run only add their text to ``pieces``."""
        start = len(pieces)
        while start and not pattern.has_usage and self._ends_with(pattern, pieces[start - 1]):
            self._entries.pop()
            start -= 1
        self._entries.append(_Run(pattern, pieces, start, is_counted=is_counted))

    def _ends_with(self, pattern: EventPattern, text: str) -> bool:
        last = self._entries[-1] if self._entries else None
        return isinstance(last, bytes) and pattern.text_of(last) == text

    def copy(self) -> EventLog:
        """Return a copy that later events do not change."""
        out = EventLog()
        out._entries = [*self._entries]
        if out._entries and isinstance(run := out._entries[-1], _Run):
            out._entries[-1] = replace(run, end=len(run.pieces))
        return out

    def keep_last(self, data: bytes) -> None:
        """Keep the bytes of the last event of the open run."""
        run = self._entries[-1]
        assert isinstance(run, _Run)
        run.last = data

    def __iter__(self) -> Iterator[bytes]:
        for entry in self._entries:
            if isinstance(entry, bytes):
                yield entry
            else:
                yield from entry.events()
