"""The delta template: reads events that differ from the previous one only in their text, without parsing them again.

Most events of a stream are of this kind. The same bytes around another string are the same JSON with another value.
So the parser and the validator would return the same result for them.
"""

from __future__ import annotations

import re
from copy import copy
from typing import Any, NamedTuple

from pydantic_core import from_json, to_json

from formatbridge.ir import events
from formatbridge.jsontext.pointers import Path
from formatbridge.jsontext.types import JsonObject
from formatbridge.streaming.framing import ServerSentEvent

_COUNTED = re.compile(
    rb'(?<!\\)"(?:sequence_number|promptTokenCount|candidatesTokenCount|thoughtsTokenCount|totalTokenCount|tokenCount)":[ ]?(\d+)'
    rb'|(?<!\\)"obfuscation":[ ]?("[^"\\]*")'
)
"""Members that change with each event: numbers and padding, which are not read, and counts, of which the last is valid."""
_USAGE = b'"usageMetadata"'
_LONG = 4096
"""Bytes of an event that is too long for a template."""
_NUMBER = re.compile(rb"0|[1-9]\d{0,14}")
_PADDING = re.compile(rb'"[ !#-\[\]-~]*"')
_ATTEMPTS = 16
"""Number of templates in a row that match no event, after which a stream gets no more."""
_STRING = re.compile(rb'"[^"\\]*(?:\\.[^"\\]*)*"', re.DOTALL)


class EventPattern:
    """The bytes around the text of an event. ``frame_end``: the end of its frame, if the pattern includes the frame."""

    __slots__ = ("_end", "_first", "_head", "_least", "_padded_end", "_tail", "_varying", "has_usage")

    def __init__(self, head: bytes, tail: bytes, frame_end: bytes = b"") -> None:
        self._head = head
        self._tail = tail
        self._least = len(head) + len(tail) + 2
        self._end = b"}" + frame_end
        self._padded_end = b" }" + frame_end
        self.has_usage = _USAGE in head or _USAGE in tail
        # Each part that varies, with the bytes after it. Compiling one pattern per template would take longer than using it.
        before_text, after_text = _split(head), _split(tail)
        self._first = before_text[0][1]
        self._varying = [*before_text[1:], (_STRING, after_text[0][1]), *after_text[1:]]

    @classmethod
    def of(cls, data: bytes, text: str) -> EventPattern | None:
        """Return the pattern of an event whose text is known; None unless exactly one string of the event equals the text."""
        if not text or len(data) > _LONG:
            return None
        data = _without_padding(data, b"}") if data.endswith(b" }") else data
        matches = [string.span() for string in _STRING.finditer(data) if _read(string[0]) == text]
        if len(matches) != 1:
            return None
        start, end = matches[0]
        return cls(data[:start], data[end:])

    def text_of(self, data: bytes) -> str | None:
        """Return the text of another event; None if it differs in anything else, or its text is no JSON string."""
        if data.endswith(self._padded_end):
            data = _without_padding(data, self._end)
        if len(self._varying) > 1:
            literal = self._find(data)
            if literal is None:
                return None
        elif len(data) >= self._least and data.startswith(self._head) and data.endswith(self._tail):
            literal = data[len(self._head) : len(data) - len(self._tail)]
        else:
            return None
        return _read(literal)

    def _find(self, data: bytes) -> bytes | None:
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
        return EventPattern(before + self._head, self._tail + after, after)

    def filled(self, text: str) -> bytes:
        """Return the event with another text."""
        return self._head + to_json(text) + self._tail


def _read(literal: bytes) -> str | None:
    """Parse a JSON string. None if it is none, or has white space around it, because a line break would end the line of the event."""
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
        out.append((pattern, text[at:start]))
        pattern, at = _NUMBER if match.lastindex == 1 else _PADDING, end
    return [*out, (pattern, text[at:])]


_NO_DELTA = events.Delta(-1, -1, "")


class Repeated(NamedTuple):
    """Events that the template has matched: their number and joined text. ``last``: the last of them, if it has new counts."""

    number: int
    text: str
    last: ServerSentEvent | None


class DeltaTemplate:
    """Matches events that differ from the two before them only in their text, until another event arrives.

    The decoder does not get matched events one by one. It gets them later as one event with their joined text: ``take_repeated``.
    """

    __slots__ = (
        "_after", "_attempts", "_before", "_candidate", "_delta", "_excluded", "_last", "_path", "_raw", "_taken",
        "framed", "pattern", "pieces",
    )  # fmt: skip

    def __init__(self, excluded: frozenset[str] = frozenset()) -> None:
        """``excluded``: names of members. An event with a non-empty value for one of them never matches."""
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
        self.pieces: list[str] = []
        """The texts of the part that the matched events continue."""
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
        self.pieces.append(text)
        return events.Delta(self._delta.choice, self._delta.index, text)

    def keep_counts(self, chunk: bytes, offset: int) -> None:
        """Keep the event of a chunk that matched with its frame, if it has new counts. ``offset``: the start of the chunk."""
        if self.framed is not None and self.framed.has_usage:
            start = len(self._before)
            self._last = ServerSentEvent("", chunk[start : len(chunk) - len(self._after)], offset + start)

    def take_repeated(self) -> Repeated | None:
        """Return the events that matched since the last call; None if there are none."""
        if self._taken >= len(self.pieces):
            return None
        texts = self.pieces[self._taken :]
        self._taken = len(self.pieces)
        last, self._last = self._last, None
        return Repeated(len(texts), "".join(texts), last)

    def filled(self, text: str, raw: JsonObject | None = None) -> JsonObject:
        """Return an event of the template with another text. ``raw``: an event to use instead of the learned one."""
        out: Any = copy(self._raw if raw is None else raw)
        node, *path, name = out, *self._path
        for step in path:
            node[step] = node = copy(node[step])
        node[name] = text
        return out  # type: ignore[no-any-return]  # a copy of an object

    def expect(self, before: bytes, after: bytes) -> None:
        """Set the frame of later events that match."""
        self._before, self._after = before, after
        self.framed = self.pattern.framed(before, after) if self.pattern else None

    def forget(self) -> None:
        """Stop matching, because the open part may be closed."""
        self._candidate = self.pattern = self.framed = None
        self.pieces, self._taken = [], 0

    def learn(self, data: bytes, raw: JsonObject, new_events: list[events.Event]) -> bool:
        """Learn from an event that did not match, and from the canonical events of it. Return whether similar events match now."""
        self.framed = None
        self.pieces, self._taken = [], 0  # later deltas of the part are not matched events
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
        return self.pattern is not None

    def continue_part(self, pieces: list[str]) -> None:
        """Set the texts of the part that matching events continue. The last of them is from the learned event."""
        self.pieces, self._taken, self._last = pieces, len(pieces), None


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
