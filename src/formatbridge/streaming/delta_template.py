"""Events that differ from the one before in nothing but a piece of text, which is nearly all of a stream: read without parsing again.

Whoever has parsed and checked one event knows every event with the same bytes around another string: it is the same JSON with another
value there, so neither the parser nor the checker could say anything new.
"""

from __future__ import annotations

import re

from pydantic_core import from_json, to_json

from formatbridge.ir import events
from formatbridge.streaming.framing import ServerSentEvent

_COUNTED = re.compile(
    rb'(?<!\\)"(?:sequence_number|promptTokenCount|candidatesTokenCount|thoughtsTokenCount|totalTokenCount|tokenCount)":[ ]?(\d+)'
    rb'|(?<!\\)"obfuscation":[ ]?("[^"\\]*")'
)
"""Members that change with each event: the vendor's own numbers and padding, which nobody reads, and counts, of which the last counts."""
_USAGE = b'"usageMetadata"'
_LONG = 4096
"""Bytes of an event that is not worth being known by heart."""
_NUMBER = re.compile(rb"0|[1-9]\d{0,14}")
_PADDING = re.compile(rb'"[ !#-\[\]-~]*"')
_TRIES = 16
"""How often in a row a template is taken in vain before a stream is let be."""
_STRING = re.compile(rb'"[^"\\]*(?:\\.[^"\\]*)*"', re.DOTALL)


class Template:
    """What stands around the text of an event. ``behind`` is the end of its frame, where the frame is part of it."""

    __slots__ = ("_end", "_first", "_head", "_least", "_padded_end", "_tail", "_varying", "counts_usage")

    def __init__(self, head: bytes, tail: bytes, behind: bytes = b"") -> None:
        self._head = head
        self._tail = tail
        self._least = len(head) + len(tail) + 2
        self._end = b"}" + behind
        self._padded_end = b" }" + behind
        #: Whether its events also tell what the answer costs so far.
        self.counts_usage = _USAGE in head or _USAGE in tail
        # What varies, each with what stands behind it. A pattern of its own for each template would take longer to make than to use.
        ahead, behind_text = _cut(head), _cut(tail)
        self._first = ahead[0][1]
        self._varying = [*ahead[1:], (_STRING, behind_text[0][1]), *behind_text[1:]]

    @classmethod
    def of(cls, data: bytes, text: str) -> Template | None:
        """Take the template of an event whose text is known; None where the bytes do not say for sure which of them are the text."""
        if not text or len(data) > _LONG:
            return None
        data = _bare(data, b"}") if data.endswith(b" }") else data
        found = [string.span() for string in _STRING.finditer(data) if _read(string[0]) == text]
        if len(found) != 1:
            return None
        start, end = found[0]
        return cls(data[:start], data[end:])

    def text_of(self, data: bytes) -> str | None:
        """Return the text of another event; None where it differs in anything else, or is no JSON there."""
        if data.endswith(self._padded_end):
            data = _bare(data, self._end)
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
        """Return the text of an event as it stands, where that is not all that varies."""
        if not data.startswith(self._first):
            return None
        literal, at = None, len(self._first)
        for pattern, behind in self._varying:
            found = pattern.match(data, at)
            if found is None:
                return None
            at = found.end()
            if not data.startswith(behind, at):
                return None
            at += len(behind)
            if pattern is _STRING:
                literal = found[0]
        return literal if at == len(data) else None

    def framed(self, before: bytes, behind: bytes) -> Template:
        """Return the template of the same events in their frame."""
        return Template(before + self._head, self._tail + behind, behind)

    def filled(self, text: str) -> bytes:
        """Return the event with another text."""
        return self._head + to_json(text) + self._tail


def _read(literal: bytes) -> str | None:
    """Read a string of JSON; None where it is none, or not alone: a line end beside it would end the line of its event."""
    if literal[:1] != b'"' or literal[-1:] != b'"':
        return None
    try:
        return str(from_json(literal))
    except ValueError:
        return None


def _bare(data: bytes, end: bytes) -> bytes:
    """Return an event without the spaces before its last brace, by which messages is padded; JSON has no others there but as text."""
    return data[: -len(end)].rstrip(b" ") + end


def _cut(text: bytes) -> list[tuple[re.Pattern[bytes], bytes]]:
    """Cut text where a member is counted: return what may stand there and the text behind it; the first piece has nothing before it."""
    made, at, pattern = [], 0, _NUMBER
    for found in _COUNTED.finditer(text):
        start, end = found.span(found.lastindex or 0)
        made.append((pattern, text[at:start]))
        pattern, at = _NUMBER if found.lastindex == 1 else _PADDING, end
    return [*made, (pattern, text[at:])]


_NONE = events.Delta(-1, -1, "")


class Refrain:
    """Knows by heart the deltas that come now. Two in a row that differ in nothing but their text make it; any other event ends it."""

    __slots__ = ("_before", "_behind", "_last", "_template", "_tries", "counts_usage", "framed", "known")

    def __init__(self) -> None:
        self._template: Template | None = None
        self._last = _NONE
        #: What is known by heart: the template, once an event has proved it.
        self.known: Template | None = None
        #: The same with its frame, where that is known.
        self.framed: Template | None = None
        self._before = self._behind = b""
        self._tries = 0
        #: Whether the events that are known by heart also tell what the answer costs so far.
        self.counts_usage = False

    def delta_of(self, data: bytes, *, is_framed: bool = False) -> events.Delta | None:
        """Return what an event brings, where it is known by heart, with its frame or without; it is never empty."""
        template = self.framed if is_framed else self.known
        if template is None:
            return None
        text = template.text_of(data)
        return events.Delta(self._last.choice, self._last.index, text) if text else None

    def expect(self, before: bytes, behind: bytes) -> None:
        """Take what stands around the events that are known from now on."""
        self._before, self._behind = before, behind
        self.framed = self.known.framed(before, behind) if self.known else None

    def event_in(self, chunk: bytes, offset: int) -> ServerSentEvent:
        """Return an event without its frame, which begins at an offset."""
        start = len(self._before)
        return ServerSentEvent("", chunk[start : len(chunk) - len(self._behind)], offset + start)

    def forget(self) -> None:
        """Know nothing by heart any more: what was open may be closed."""
        self._template = self.known = self.framed = None

    def learn(self, data: bytes, happened: list[events.Event]) -> Template | None:
        """Take an event that was not, and what came of it. Return what others like it are known by from now on; None: not yet."""
        self.framed = None
        delta = happened[0] if len(happened) == 1 else None
        if not isinstance(delta, events.Delta) or delta.logprobs:
            self.forget()
            return None
        known, last = self._template, self._last
        is_again = (last.choice, last.index) == (delta.choice, delta.index)
        self.known = known if is_again and known is not None and known.text_of(data) == delta.text else None
        if self.known is not None:
            self._tries, self.counts_usage = 0, self.known.counts_usage
        elif self._tries < _TRIES:
            self._tries += 1
            self._template, self._last = Template.of(data, delta.text), delta
        return self.known
