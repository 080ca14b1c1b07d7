"""The event type and base class of all stream readers, and the reader of streams that are a sequence of JSON values."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from dataclasses import dataclass

from formatbridge.errors import EventTooLargeError

LIMIT = 64 * 1024 * 1024
"""The largest size of one event, in bytes; common relays read lines up to the same length."""


@dataclass(slots=True)
class ServerSentEvent:
    """One event. ``offset`` is the offset of its data in the stream, in bytes."""

    event: str
    """The value of its ``event`` line; empty without one."""
    data: bytes
    """Its ``data`` lines joined by LF, unchanged: they may be empty, or not UTF-8."""
    offset: int


class Reader(ABC):
    """Base class of readers: ``feed`` returns the events that a chunk completes, ``finish`` those that the end of the bytes completes.

    An event longer than ``limit`` bytes raises ``EventTooLargeError`` as soon as the limit is exceeded, and so does each later call. Events
    before it in the same chunk are returned first, and the next call raises: the result does not depend on chunk boundaries.
    """

    __slots__ = ("_is_refused", "_limit", "_position")

    def __init__(self, limit: int = LIMIT) -> None:
        self._limit = limit
        self._position = 0
        self._is_refused = False

    def feed(self, chunk: bytes) -> list[ServerSentEvent]:
        """Read some bytes and return the events that they complete."""
        return self._read_within_limit(bytes(chunk), [])

    def finish(self) -> list[ServerSentEvent]:
        """Return the event that lacks only its end. Its data may be truncated, because a connection can break anywhere."""
        return self._read_within_limit(None, [])

    def _read_within_limit(self, chunk: bytes | None, events: list[ServerSentEvent]) -> list[ServerSentEvent]:
        """Read a chunk, or the end if it is None. Return ``events`` with the events that it completes.

        After an event over the limit, it raises ``EventTooLargeError``, as soon as no complete event is left to return.
        """
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
        """Append the last event if it lacks only the delimiter at its end."""

    @abstractmethod
    def _forget(self) -> None:
        """Discard all bytes that are not yet an event."""


_VALUE = re.compile(rb"[^ \t\r\n,\[\]\xef\xbb\xbf]")
"""The first byte of a value. Brackets and commas of the array, which are not validated, and a byte order mark may precede it."""
_STRUCTURE = re.compile(rb'"(?:[^"\\]{0,200}")?|[{}]')
"""The relevant tokens of an object: a brace, a short string, or the first quote of any other string."""
_LOOSE_END = re.compile(rb'["{ \t\r\n,\[\]]')


class ArrayReader(Reader):
    """Reads a sequence of JSON objects, in an array or not, compact or not; each becomes an event without a name.

    Other values between them become events too, so that no input is lost. ``offset``: the offset of the first byte in the stream.
    """

    __slots__ = ("_depth", "_in_string", "_is_escaped", "_is_open", "_offset", "_pending")

    def __init__(self, limit: int = LIMIT, *, offset: int = 0) -> None:
        super().__init__(limit)
        self._position = offset
        self._offset = offset
        self._forget()

    def _forget(self) -> None:
        self._is_open = False  # whether a value is incomplete; its bytes are in ``_pending``
        self._pending = bytearray()
        self._depth = 0
        self._in_string = False
        self._is_escaped = False  # whether the last byte of the last chunk was a backslash that escapes the next byte

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
        """Return where the value that is open at ``at`` ends; None if it continues after this chunk."""
        while at < len(chunk):
            if self._in_string:
                at = self._after_quote(chunk, at)
                continue
            match = (_STRUCTURE if self._depth else _LOOSE_END).search(chunk, at)
            if match is None:
                return None
            at = match.end()
            token = match[0]
            if token == b"{":
                self._depth += 1
            elif token == b"}":
                self._depth -= 1
                if not self._depth:
                    return at
            elif token == b'"':
                self._in_string = True
            elif not self._depth:
                return match.start()
        return None

    def _after_quote(self, chunk: bytes, at: int) -> int:
        """Return the index after the next quote, which ends the string unless it is escaped, or the end of the chunk."""
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
