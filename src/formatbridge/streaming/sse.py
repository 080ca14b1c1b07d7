"""Server-sent events: bytes to events and back, at any cut of the bytes, without I/O.

Read by the rules of WHATWG HTML, 9.2, on bytes, but for one: an event that lacks only its blank line at the end of the bytes counts.
``StreamReader`` is the one to use: it also reads JSON where a stream was expected.
"""

from __future__ import annotations

import re

from formatbridge.errors import EventTooLargeError
from formatbridge.streaming.framing import LIMIT, ArrayReader, Reader, ServerSentEvent

__all__ = [
    "DONE",
    "LIMIT",
    "PINGS",
    "ArrayReader",
    "ServerSentEvent",
    "SseReader",
    "StreamReader",
    "carries_json",
    "encode_crlf_event",
    "encode_event",
    "escape_separators",
    "without_comments",
]

DONE = b"[DONE]"
"""The data of the event that ends a chat_completions stream; streams of other formats end in it, too, now and then."""
PINGS = frozenset({"keepalive", "ping"})
"""Types of events that only keep the connection open; they may come before the answer begins."""

_MARK = b"\xef\xbb\xbf"
_LINE_ENDS = b"\r\n"
_CR, _LF = _LINE_ENDS  # as numbers, which ``in`` finds eight times as fast as bytes of length one
_BLANK_LINES = (b"\n\n", b"\r\n\r\n")
_BEFORE_JSON = b"[{ \t"
_D, _E = b"de"
_COMMENTS = re.compile(rb"(?:[\xef\xbb\xbf \t\r\n]*+:[^\r\n]*+[\r\n])+")
_FIELDS = (b"data", b"event")
_SEPARATORS = tuple((character.encode(), b"\\u%04x" % ord(character)) for character in "\u2028\u2029\x85")
_ON_ONE_LINE = bytes.maketrans(b"\r\n", b"  ")


def carries_json(event: ServerSentEvent) -> bool:
    """Say whether an event is one of its format's, and not an empty one or ``[DONE]``."""
    return event.data.strip() not in (DONE, b"")


def without_comments(body: bytes) -> bytes:
    """Return a body without the comments, each whole with its line end, that stand before it; some relays send them until they have one."""
    found = _COMMENTS.match(body)
    return body[found.end() :] if found else body


def encode_event(data: bytes, event: str | None = None) -> bytes:
    """Write an event with one data line. Raw line ends, which JSON has only between its tokens, become spaces."""
    data = escape_separators(_on_one_line(data))
    if event is None:
        return b"data: %b\n\n" % data
    return b"event: %b\ndata: %b\n\n" % (_on_one_line(event.encode("utf-8", "replace")), data)


def frame_of(event: ServerSentEvent, chunk: bytes) -> tuple[bytes, bytes] | None:
    """Return what stands before and behind the data of an event that came in a chunk of its own; None where it did not."""
    before, _, behind = chunk.partition(event.data)
    expected = b"event: %b\ndata: " % event.event.encode() if event.event else b"data: "
    return (before, behind) if before == expected and behind in _BLANK_LINES else None


def encode_crlf_event(data: bytes) -> bytes:
    """Write an event as generate_content does: its lines end in CRLF, and it has no name."""
    return b"data: %b\r\n\r\n" % escape_separators(_on_one_line(data))


def escape_separators(text: bytes) -> bytes:
    """Return JSON, or whole events, with U+2028, U+2029 and U+0085 escaped.

    Clients that split lines as ``str.splitlines`` does end a line at each of them: google-genai up to 3.4, readers built on
    ``httpx.Response.iter_lines``. JSON has them in strings only.
    """
    if text.isascii():
        return text
    for character, escape in _SEPARATORS if b"\xe2\x80" in text else _SEPARATORS[2:]:
        text = text.replace(character, escape)
    return text


def _on_one_line(text: bytes) -> bytes:
    return text.translate(_ON_ONE_LINE) if _LF in text or _CR in text else text


class SseReader(Reader):
    """Server-sent events. No byte is looked at twice: what is incomplete is kept and appended to."""

    __slots__ = ("_data", "_event", "_has_begun", "_is_after_cr", "_json", "_offset", "_pending", "is_between")

    def __init__(self, limit: int = LIMIT) -> None:
        super().__init__(limit)
        self._has_begun = False  # the first bytes are known to be a mark, or none
        self._is_after_cr = False  # an LF would belong to the line end before
        self._forget()
        self.is_between = True

    def _forget(self) -> None:
        self._pending = bytearray()  # a line that lacks its end
        self._event = ""
        self._data: bytes | bytearray | None = None
        self._offset = 0
        #: Whether nothing is pending: the next byte begins an event.
        self.is_between = False
        self._json: ArrayReader | None = None  # who reads on; never set in this class

    def feed(self, chunk: bytes) -> list[ServerSentEvent]:
        """Read some bytes and return the events that they complete."""
        if self.is_between and type(chunk) is bytes:
            # Nearly every read of a live stream is one event of one data line, perhaps with a name before it. A slice one byte too long
            # says in one go that the chunk ends there.
            end = chunk.find(b"\n")
            position = self._position
            if chunk[:6] == b"data: ":
                if chunk[end : end + 3] == b"\n\n" and end <= self._limit and _CR not in chunk:
                    self._position = position + end + 2
                    return [ServerSentEvent("", chunk[6:end], position + 6)]
                if chunk[end - 1 : end + 4] == b"\r\n\r\n" and end <= self._limit and chunk.find(b"\r") == end - 1:
                    self._position = position + end + 3
                    return [ServerSentEvent("", chunk[6 : end - 1], position + 6)]
            elif chunk[:7] == b"event: " and chunk[end + 1 : end + 7] == b"data: ":
                start = end + 7
                last = chunk.find(b"\n", start)
                if chunk[last : last + 3] == b"\n\n" and last <= self._limit and _CR not in chunk:
                    self._position = position + last + 2
                    return [ServerSentEvent(chunk[7:end].decode("utf-8", "replace"), chunk[start:last], position + start)]
        return super().feed(chunk)

    @property
    def has_opened(self) -> bool:
        """Whether the bytes have begun an event that they have not ended. Comments and fields that say nothing here begin none."""
        is_open = self._event or self._data is not None or _opens_event(bytes(self._pending))
        return self._json is None and bool(is_open)

    def pass_over(self, chunk: bytes) -> int:
        """Take bytes that somebody else knows to be one event, whole; return how many came before."""
        before = self._position
        self._position = before + len(chunk)
        return before

    def _read(self, chunk: bytes, events: list[ServerSentEvent]) -> None:
        if not self._has_begun and not self._position:
            chunk = self._begin(chunk)
        if not chunk:
            return
        if self._is_after_cr and chunk.startswith(b"\n"):
            self._position += 1
            chunk = chunk[1:]
        self._is_after_cr = chunk.endswith(b"\r")
        self._read_lines(chunk, events)
        is_within = self._is_after_cr or self._pending or self._event or self._data is not None
        self.is_between = not is_within and self._json is None

    def _begin(self, chunk: bytes) -> bytes:
        """Return the first bytes without their mark; nothing while they may still become one."""
        chunk = bytes(self._pending) + chunk
        self._has_begun = len(chunk) >= len(_MARK) or not _MARK.startswith(chunk)
        self._pending = bytearray() if self._has_begun else bytearray(chunk)
        if not self._has_begun:
            self.is_between = False
            return b""
        if not chunk.startswith(_MARK):
            return chunk
        self._position = len(_MARK)
        return chunk[len(_MARK) :]

    def _read_lines(self, chunk: bytes, events: list[ServerSentEvent]) -> None:
        if self._pending and _LF not in chunk and _CR not in chunk:  # the middle of a long line
            self._read_part(chunk, events)
            return
        # Of bytes, other than of str, splitlines knows CR, LF and CRLF alone.
        for line in chunk.splitlines(keepends=True):
            if self._json is not None:
                self._json._read(line, events)
            elif self._pending or line[-1] not in _LINE_ENDS:
                self._read_part(line, events)
            else:
                self._read_line(line, events)

    def _read_part(self, part: bytes, events: list[ServerSentEvent]) -> None:
        """Read a line of which a chunk holds only a part."""
        self._pending += part
        line = self._pending
        if part[-1] in _LINE_ENDS:
            self._pending = bytearray()
            self._read_line(line, events)
        elif line[0] in _BEFORE_JSON and self._turns_to_json(line):
            self._pending = bytearray()
            self._hand_over(line, events)
        else:
            self._check(len(line))

    def _read_line(self, line: bytes | bytearray, events: list[ServerSentEvent]) -> None:
        """Read a line with its end; comments and other fields than the two say nothing here."""
        first = line[0]
        if first in _LINE_ENDS:
            self._dispatch(events)
        elif first in _BEFORE_JSON and self._turns_to_json(line):
            self._hand_over(line, events)
            return
        else:
            size = len(line) - (2 if line[-2:] == b"\r\n" else 1)
            self._check(size)
            if first == _D:
                self._read_data(line, size)
            elif first == _E and line.startswith(b"event"):
                start = _value_start(line, 5, size)
                self._event = line[start:size].decode("utf-8", "replace") if start else self._event
        self._position += len(line)

    def _turns_to_json(self, line: bytes | bytearray) -> bool:
        del line  # events are all that this class reads
        return False

    def _hand_over(self, line: bytes | bytearray, events: list[ServerSentEvent]) -> None:
        self._json = ArrayReader(self._limit, offset=self._position)
        self._json._read(bytes(line), events)

    def _read_data(self, line: bytes | bytearray, size: int) -> None:
        start = 6 if line.startswith(b"data: ") else _value_start(line, 4, size) if line.startswith(b"data") else 0
        if not start:
            return
        value = line[start:size] if isinstance(line, bytes) else bytes(memoryview(line)[start:size])
        if self._data is None:
            self._data, self._offset = value, self._position + start
            return
        if isinstance(self._data, bytes):
            self._data = bytearray(self._data)
        self._data += b"\n"
        self._data += value

    def _check(self, size: int) -> None:
        """Hold the data so far and a line of ``size`` bytes against the limit. A comment is a line, too."""
        if size > self._limit or (self._data is not None and size + len(self._data) > self._limit):
            raise EventTooLargeError(self._limit)

    def _dispatch(self, events: list[ServerSentEvent]) -> None:
        if self._data is not None:
            data = self._data if isinstance(self._data, bytes) else bytes(self._data)
            events.append(ServerSentEvent(self._event, data, self._offset))
            self._data = None
        self._event = ""

    def _end(self, events: list[ServerSentEvent]) -> None:
        if self._pending:
            self._read(b"\n", events)
        self._dispatch(events)
        if self._json is not None:
            self._json._end(events)


def _opens_event(line: bytes) -> bool:
    """Say whether a line that lacks its end is of a field that counts, or may become one."""
    name, colon, _ = line.partition(b":")
    return name in _FIELDS if colon else bool(name) and any(field.startswith(name) for field in _FIELDS)


def _value_start(line: bytes | bytearray, length: int, size: int) -> int:
    """Return where the value begins of a field whose name has that length; 0 where the name goes on."""
    if length == size:
        return size
    if line[length] != ord(":"):
        return 0
    return length + 2 if line[length + 1] == ord(" ") else length + 1


_JSON = re.compile(rb"[ \t]{0,256}[\[{]")


class StreamReader(SseReader):
    """A stream in either framing: server-sent events and, from a line on that begins an object or an array, JSON.

    No field of an event begins so. That line may be the first (generate_content without ``alt=sse``; an error body), come after comments,
    which relays send ahead of a plain body, too, or after events (an error without ``data:``). From there to the end all is JSON.
    """

    __slots__ = ()

    @property
    def reads_json(self) -> bool:
        """Whether the bytes have turned out to be JSON, from some line on."""
        return self._json is not None

    def _turns_to_json(self, line: bytes | bytearray) -> bool:
        return self._data is None and _JSON.match(line) is not None

    def _read(self, chunk: bytes, events: list[ServerSentEvent]) -> None:
        if self._json is None:
            super()._read(chunk, events)
        else:
            self._json._read(chunk, events)
