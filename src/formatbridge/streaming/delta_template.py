"""Delta templates: they recognize events of a stream that differ from those before them only in their text.

``EventPattern`` has the bytes around the text of one event. The same bytes around another string are the same JSON with another value.
``EventLog`` keeps the events of a stream, without those that match a pattern. ``DeltaTemplate`` learns a pattern from two events and
matches the next ones with it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from copy import copy
from dataclasses import dataclass, replace
from typing import Any

from pydantic_core import from_json, to_json

from formatbridge.ir import events
from formatbridge.jsontext.pointers import Path
from formatbridge.jsontext.types import JsonObject
from formatbridge.streaming.framing import ServerSentEvent

_COUNTED = re.compile(
    rb'"(?:sequence_number|promptTokenCount|candidatesTokenCount|thoughtsTokenCount|totalTokenCount|tokenCount)":[ ]?(\d+)'
    rb'|"obfuscation":[ ]?("[^"\\]*")'
)
"""Members that change with each event: numbers and padding, which are not read, and counts, of which the last is valid."""
_USAGE = b'"usageMetadata"'
_BACKSLASH = ord("\\")
_LONG = 4096
"""Bytes of an event that is too long for a template."""
_NUMBER = re.compile(rb"0|[1-9]\d{0,14}")
_PADDING = re.compile(rb'"[ !#-\[\]-~]*"')
_STRING = re.compile(rb'"[^"\\]*(?:\\.[^"\\]*)*"', re.DOTALL)


class EventPattern:
    """The bytes around the text of an event. ``frame_end``: the end of its frame, if the pattern includes the frame."""

    __slots__ = ("_end", "_first", "_head", "_min_length", "_padded_end", "_tail", "_varying", "has_usage")

    def __init__(self, head: bytes, tail: bytes, frame_end: bytes = b"") -> None:
        self._head = head
        self._tail = tail
        self._min_length = len(head) + len(tail) + 2
        self._end = b"}" + frame_end
        self._padded_end = b" }" + frame_end
        self.has_usage = _USAGE in head or _USAGE in tail
        # Each part that varies, with the bytes after it; empty until the first use, because many events have no similar ones after them.
        # Compiling one pattern per template would take longer than using it.
        self._varying: list[tuple[re.Pattern[bytes], bytes]] = []
        self._first = b""

    @classmethod
    def of(cls, data: bytes, text: str) -> EventPattern | None:
        """Return the pattern of an event whose text is known; None unless the JSON string of the text occurs exactly once.

        The string has characters outside ASCII unchanged or all escaped. If this text has another escape, a later event without one becomes
        the pattern.
        """
        if not text or len(data) > _LONG:
            return None
        literal = to_json(text)
        if literal not in data:
            literal = json.dumps(text).encode()
        start = data.find(literal)
        if data.count(literal) != 1 or data[start - 1] == _BACKSLASH:  # the end of another string
            return None
        data = _without_padding(data, b"}") if data.endswith(b" }") else data
        return cls(data[:start], data[start + len(literal) :])

    def text_of(self, data: bytes) -> str | None:
        """Return the text of another event; None if it differs in anything else, or its text is no JSON string."""
        if data.endswith(self._padded_end):
            data = _without_padding(data, self._end)
        if not self._varying:
            self._divide()
        if len(self._varying) > 1:
            literal = self._find_text(data)
            if literal is None:
                return None
        elif len(data) >= self._min_length and data.startswith(self._head) and data.endswith(self._tail):
            literal = data[len(self._head) : len(data) - len(self._tail)]
        else:
            return None
        return _parse_string(literal)

    def _divide(self) -> None:
        """Divide the bytes at the text and at the other members that vary."""
        (_, self._first), *before_text = _split(self._head)
        (_, behind_text), *after_text = _split(self._tail)
        self._varying = [*before_text, (_STRING, behind_text), *after_text]

    def _find_text(self, data: bytes) -> bytes | None:
        """Return the JSON string of the text, for a pattern in which other members vary too."""
        if not data.startswith(self._first):
            return None
        literal, at = None, len(self._first)
        for pattern, following in self._varying:
            match = pattern.match(data, at)
            if match is None:
                return None
            at = match.end()
            if not data.startswith(following, at):
                return None
            at += len(following)
            if pattern is _STRING:
                literal = match[0]
        return literal if at == len(data) else None

    def framed(self, before: bytes, after: bytes) -> EventPattern:
        """Return the pattern of the same events in their frame."""
        out = EventPattern(before + self._head, self._tail + after, after)
        if self._varying:
            *others, (pattern, last) = self._varying
            out._first, out._varying = before + self._first, [*others, (pattern, last + after)]
        return out

    def filled(self, text: str) -> bytes:
        """Return the event with another text."""
        return self._head + to_json(text) + self._tail


def _parse_string(literal: bytes) -> str | None:
    """Parse a JSON string; return None for other bytes, and for white space around it, because a line break would end the event's line."""
    if literal[:1] != b'"' or literal[-1:] != b'"':
        return None
    try:
        return str(from_json(literal))
    except ValueError:
        return None


def _without_padding(data: bytes, end: bytes) -> bytes:
    """Return an event without the spaces before its last brace, which servers of messages add as padding."""
    return data[: -len(end)].rstrip(b" ") + end


def _split(text: bytes) -> list[tuple[re.Pattern[bytes], bytes]]:
    """Split text at the members that vary. Return the pattern of each and the text after it; the first pattern is unused."""
    out, at, pattern = [], 0, _NUMBER
    for match in _COUNTED.finditer(text):
        start, end = match.span(match.lastindex or 0)
        if text[match.start() - 1] == _BACKSLASH:  # in the name of another member
            continue
        out.append((pattern, text[at:start]))
        pattern, at = _NUMBER if match.lastindex == 1 else _PADDING, end
    return [*out, (pattern, text[at:])]


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
