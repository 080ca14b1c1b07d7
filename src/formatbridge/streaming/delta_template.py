"""The delta template: reads events that differ from the previous one only in their text, without parsing them again.

Most events of a stream are of this kind. The parser and the validator would return the same result for them, with another text.

The template works with three others. The event log keeps a run of matched events as their pattern and the texts of their part, which the
collector has anyway. The decoder gets a run later, as one event with the joined text and the number of events. It states which events
must not be joined: ``NEVER_REPEATED`` by their members, and ``has_unknown_fields`` for the log.
"""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from typing import Any

from formatbridge.ir import events
from formatbridge.jsontext.pointers import Path
from formatbridge.jsontext.types import JsonObject
from formatbridge.streaming.event_log import EventLog
from formatbridge.streaming.event_pattern import EventPattern
from formatbridge.streaming.framing import ServerSentEvent

_ATTEMPTS = 16
"""Number of templates in a row that match no event, after which a stream gets no more."""

_NO_DELTA = events.Delta(-1, -1, "")


class DeltaTemplate:
    """Matches events that differ from the two before them only in their text, until another event arrives.

    The decoder does not get matched events one by one. It gets them later as one event with their joined text: ``take_event``.
    """

    __slots__ = (
        "_after", "_attempts", "_before", "_candidate", "_delta", "_excluded", "_last", "_path", "_pieces", "_raw", "_taken",
        "framed", "log", "pattern",
    )  # fmt: skip

    def __init__(self, excluded: frozenset[str] = frozenset()) -> None:
        """``excluded``: names of members. An event with a non-empty value for one of them never matches."""
        self.log = EventLog()
        """The events of the stream, those that matched included."""
        self._excluded = excluded
        self._candidate: EventPattern | None = None
        self._delta = _NO_DELTA
        self.pattern: EventPattern | None = None
        """The pattern that a second event has confirmed."""
        self.framed: EventPattern | None = None
        """The same pattern with its frame, if that is known."""
        self._before = self._after = b""
        self._attempts = 0
        self._raw: JsonObject = {}
        self._path: Path = ()
        self._pieces: list[str] = []  # the texts of the part that the matched events continue
        self._taken = 0
        self._last: ServerSentEvent | None = None

    def match(self, event: ServerSentEvent) -> events.Delta | None:
        """Return the delta of an event that matches; its text is never empty."""
        pattern = self.pattern
        text = pattern.text_of(event.data) if pattern is not None else None
        if not text:
            return None
        if pattern is not None and pattern.has_usage:
            self._last = event
        return self._delta_of(text)

    def match_frame(self, chunk: bytes) -> events.Delta | None:
        """Return the delta of a chunk that is one matching event with its frame."""
        text = self.framed.text_of(chunk) if self.framed is not None else None
        return self._delta_of(text) if text else None

    def _delta_of(self, text: str) -> events.Delta:
        self._pieces.append(text)
        return events.Delta(self._delta.choice, self._delta.index, text)

    def keep_counts(self, chunk: bytes, offset: int) -> None:
        """Keep the event of a chunk that matched with its frame, if it has new counts. ``offset``: the start of the chunk."""
        if self.framed is not None and self.framed.has_usage:
            start = len(self._before)
            self._last = ServerSentEvent("", chunk[start : len(chunk) - len(self._after)], offset + start)

    def take_event(self, validate: Callable[[ServerSentEvent], JsonObject | None]) -> tuple[JsonObject, int] | None:
        """Return the events that matched since the last call as one event, with their number; None if there are none.

        The event has their joined text and the counts of the last of them, which ``validate`` parses and validates.
        """
        if self._taken >= len(self._pieces):
            return None
        texts = self._pieces[self._taken :]
        self._taken = len(self._pieces)
        last, self._last = self._last, None
        raw: JsonObject | None = None
        if last is not None:
            self.log.keep_last(last.data)
            raw = validate(last)
        return self._filled("".join(texts), self._raw if raw is None else raw), len(texts)

    def _filled(self, text: str, raw: JsonObject) -> JsonObject:
        """Return an event of the template with another text."""
        out: Any = copy(raw)
        node, *path, name = out, *self._path
        for step in path:
            node[step] = node = copy(node[step])
        node[name] = text
        return out  # type: ignore[no-any-return]  # a copy of an object

    def forget(self) -> None:
        """Stop matching, because the open part may be closed."""
        self._candidate = self.pattern = self.framed = None
        self._pieces, self._taken = [], 0

    def learn(self, data: bytes, raw: JsonObject, new_events: list[events.Event]) -> bool:
        """Learn from an event that did not match, and from the canonical events of it. Return whether similar events match now."""
        self.framed = None
        self._pieces, self._taken = [], 0  # later deltas of the part are not matched events
        delta = new_events[0] if len(new_events) == 1 else None
        if not isinstance(delta, events.Delta) or delta.logprobs:
            self.forget()
            return False
        known, last = self._candidate, self._delta
        is_again = (last.choice, last.index) == (delta.choice, delta.index)
        self.pattern = known if is_again and known is not None and known.text_of(data) == delta.text else None
        if self.pattern is not None:
            path = path_of(raw, delta.text, self._excluded)
            self._attempts = 0
            self._raw, self._path = raw, path or ()
            self.pattern = self.pattern if path else None
        elif self._attempts < _ATTEMPTS:
            self._attempts += 1
            self._candidate, self._delta = EventPattern.of(data, delta.text), delta
        else:
            self._candidate = None
        return self.pattern is not None

    def begin_run(self, frame: tuple[bytes, bytes] | None, pieces: list[str], *, is_counted: bool) -> None:
        """Match events from now on, after ``learn`` returned True.

        ``frame``: the bytes before and after the data of the learned event, if later events in such a frame may match without a parser.
        ``pieces``: the texts of the part that matching events continue; the last one is from the learned event. ``is_counted``: the number
        of events matters for the log.
        """
        assert self.pattern is not None
        if frame is not None:
            self._before, self._after = frame
            self.framed = self.pattern.framed(*frame)
        self._pieces, self._taken, self._last = pieces, len(pieces), None
        self.log.begin_run(self.pattern, pieces, is_counted=is_counted)


def path_of(raw: JsonObject, text: str, excluded: frozenset[str] = frozenset()) -> Path | None:
    """Return the path of the string in an event that equals a text; None if the event has an excluded member."""
    match: Path | None = None
    pending: list[tuple[Any, Path]] = [(raw, ())]
    while pending:
        value, path = pending.pop()
        if isinstance(value, dict | list):
            pending += [(item, (*path, step)) for step, item in (value.items() if isinstance(value, dict) else enumerate(value))]
        elif isinstance(value, str) and value == text:
            match = path
        if value and path and path[-1] in excluded:
            return None
    return match
