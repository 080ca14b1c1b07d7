"""What an event is, whatever frames it; and the reader of events framed as JSON values, one after the other."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from dataclasses import dataclass

from formatbridge.errors import EventTooLargeError

LIMIT = 64 * 1024 * 1024
"""Bytes that one event may have; relays of this family read lines up to this length."""


@dataclass(slots=True)
class ServerSentEvent:
    """One event. ``offset`` is where its data begins in the stream, in bytes from 0."""

    event: str
    """The name in its ``event`` line; empty without one."""
    data: bytes
    """Its ``data`` lines joined by LF, as they came: may be empty, or no UTF-8."""
    offset: int


class Reader(ABC):
    """What every reader promises: ``feed`` returns what a chunk completes, ``finish`` what the end of the bytes completes.

    An event longer than ``limit`` bytes raises ``EventTooLargeError`` while it still arrives, and so does each call from then on. Events
    before it in the same chunk are returned first and the error waits for the next call: cuts do not matter.
    """

    __slots__ = ("_is_refused", "_limit", "_position")

    def __init__(self, limit: int = LIMIT) -> None:
        self._limit = limit
        self._position = 0
        self._is_refused = False

    def feed(self, chunk: bytes) -> list[ServerSentEvent]:
        """Read some bytes and return the events that they complete."""
        return self._guarded(bytes(chunk))

    def finish(self) -> list[ServerSentEvent]:
        """Return the event that lacks only its end. Its data may be cut off: a stream breaks anywhere."""
        return self._guarded(None)

    def _guarded(self, chunk: bytes | None) -> list[ServerSentEvent]:
        events: list[ServerSentEvent] = []
        if self._is_refused:
            raise EventTooLargeError(self._limit)
        try:
            if chunk is None:
                self._end(events)
            else:
                self._read(chunk, events)
        except EventTooLargeError:
            self._is_refused = True
            self._forget()
            if not events:
                raise
        return events

    @abstractmethod
    def _read(self, chunk: bytes, events: list[ServerSentEvent]) -> None:
        """Append the events that a chunk completes."""

    @abstractmethod
    def _end(self, events: list[ServerSentEvent]) -> None:
        """Append the event that lacks only its end."""

    @abstractmethod
    def _forget(self) -> None:
        """Let go of what has not become an event."""


_VALUE = re.compile(rb"[^ \t\r\n,\[\]\xef\xbb\xbf]")
"""The first byte of a value. Between values stand the array's brackets and commas, which nobody checks, and perhaps a byte order mark."""
_STRUCTURE = re.compile(rb'"(?:[^"\\]{0,200}")?|[{}]')
"""What matters within an object: a brace, a short string as a whole, of any other string its first quote."""
_LOOSE_END = re.compile(rb'["{ \t\r\n,\[\]]')


class ArrayReader(Reader):
    """JSON objects one after the other, in an array or not, compact or not: an event without a name each.

    What stands between them and is no object becomes an event too, rather than vanish. ``offset``: where in the stream the first byte is.
    """

    __slots__ = ("_depth", "_in_string", "_is_escaped", "_is_open", "_offset", "_pending")

    def __init__(self, limit: int = LIMIT, *, offset: int = 0) -> None:
        super().__init__(limit)
        self._position = offset
        self._offset = offset
        self._forget()

    def _forget(self) -> None:
        self._is_open = False  # within a value, whose beginning is pending
        self._pending = bytearray()
        self._depth = 0
        self._in_string = False
        self._is_escaped = False  # the last byte of the last chunk was a backslash that says what the next byte is

    def _read(self, chunk: bytes, events: list[ServerSentEvent]) -> None:
        at = 0
        while at < len(chunk):
            if not self._is_open:
                first = _VALUE.search(chunk, at)
                if first is None:
                    break
                at = first.start()
                self._is_open, self._offset = True, self._position + at
            end = self._value_end(chunk, at)
            self._keep(memoryview(chunk)[at:end])
            if end is None:
                break
            self._end(events)
            at = end
        self._position += len(chunk)

    def _value_end(self, chunk: bytes, at: int) -> int | None:
        """Return where the value ends that is open at ``at``; None if not in this chunk."""
        while at < len(chunk):
            if self._in_string:
                at = self._after_quote(chunk, at)
                continue
            found = (_STRUCTURE if self._depth else _LOOSE_END).search(chunk, at)
            if found is None:
                return None
            at = found.end()
            token = found[0]
            if token == b"{":
                self._depth += 1
            elif token == b"}":
                self._depth -= 1
                if not self._depth:
                    return at
            elif token == b'"':
                self._in_string = True
            elif not self._depth:
                return found.start()
        return None

    def _after_quote(self, chunk: bytes, at: int) -> int:
        """Return the place after the next quote, which ends the string unless it is escaped, or the end of the chunk."""
        if self._is_escaped:
            at += 1
        quote = chunk.find(b'"', at)
        stop = quote if quote >= 0 else len(chunk)
        text = chunk[at:stop] if chunk.endswith(b"\\", at, stop) else b""
        is_escaped = (len(text) - len(text.rstrip(b"\\"))) % 2 == 1
        self._is_escaped = is_escaped and quote < 0
        self._in_string = is_escaped or quote < 0
        return stop if quote < 0 else stop + 1

    def _keep(self, piece: memoryview) -> None:
        if len(self._pending) + len(piece) > self._limit:
            raise EventTooLargeError(self._limit)
        self._pending += piece

    def _end(self, events: list[ServerSentEvent]) -> None:
        if self._is_open:
            events.append(ServerSentEvent("", bytes(self._pending), self._offset))
        self._forget()
