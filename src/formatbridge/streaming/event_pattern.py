"""The bytes around the text of a stream event, which recognize other events that differ only in their text.

The same bytes around another string are the same JSON with another value.
"""

from __future__ import annotations

import json
import re

from pydantic_core import from_json, to_json

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

        The string has characters outside ASCII unchanged or all escaped. If this text has another escape, a
        later event without one becomes the pattern.
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
