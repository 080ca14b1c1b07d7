"""Parse and write server-sent events, from chunks of any size, without I/O.

The parser follows WHATWG HTML, section 9.2, on bytes, with one exception. It also returns a last event that lacks only its blank line.
Use ``StreamReader``: it also reads JSON in place of a stream.
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
    "encode_crlf_event",
    "encode_event",
    "escape_separators",
    "is_json_event",
    "without_comments",
]

DONE = b"[DONE]"
"""The data of the event that ends a chat_completions stream; some streams of other formats end with it too."""
PINGS = frozenset({"keepalive", "ping"})
"""Types of events that only keep the connection open; they may come before the start of the answer."""

_MARK = b"\xef\xbb\xbf"
_LINE_ENDS = b"\r\n"
_CR, _LF = _LINE_ENDS  # numbers, because ``in`` is slower with bytes of length one
_BLANK_LINES = (b"\n\n", b"\r\n\r\n")
_BEFORE_JSON = b"[{ \t"
_D, _E = b"de"
_COMMENTS = re.compile(rb"(?:[\xef\xbb\xbf \t\r\n]*+:[^\r\n]*+[\r\n])+")
_FIELDS = (b"data", b"event")
_SEPARATORS = tuple((character.encode(), b"\\u%04x" % ord(character)) for character in "\u2028\u2029\x85")
_ON_ONE_LINE = bytes.maketrans(b"\r\n", b"  ")


def is_json_event(event: ServerSentEvent) -> bool:
    """Return whether the data of an event is JSON of its format, and not empty or ``[DONE]``."""
    return event.data.strip() not in (DONE, b"")


def without_comments(body: bytes) -> bytes:
    """Return a body without the complete comment lines before it; such as ``: PING`` of a relay until the body is ready."""
    match = _COMMENTS.match(body)
    return body[match.end() :] if match else body


def encode_event(data: bytes, event: str | None = None) -> bytes:
    """Write an event with one data line. Line ends become spaces; JSON has them only between tokens."""
    data = escape_separators(_on_one_line(data))
    if event is None:
        return b"data: %b\n\n" % data
    return b"event: %b\ndata: %b\n\n" % (_on_one_line(event.encode("utf-8", "replace")), data)


def frame_of(event: ServerSentEvent, chunk: bytes) -> tuple[bytes, bytes] | None:
    """Return the bytes before and after the data of an event, if the chunk holds exactly this event; otherwise None."""
    before, _, behind = chunk.partition(event.data)
    expected = b"event: %b\ndata: " % event.event.encode() if event.event else b"data: "
    return (before, behind) if before == expected and behind in _BLANK_LINES else None


def encode_crlf_event(data: bytes) -> bytes:
    """Write an event in the form of generate_content: its lines end in CRLF, and it has no ``event`` line."""
    return b"data: %b\r\n\r\n" % escape_separators(_on_one_line(data))


def escape_separators(text: bytes) -> bytes:
    """Return JSON, or whole events, with U+2028, U+2029 and U+0085 escaped.

    Clients that split lines with ``str.splitlines`` rules would end a line at each of them: google-genai up to 3.4, and readers built on
    ``httpx.Response.iter_lines``. JSON has these characters in strings only.
    """
    if text.isascii():
        return text
    for character, escape in _SEPARATORS if b"\xe2\x80" in text else _SEPARATORS[2:]:
        text = text.replace(character, escape)
    return text


def _on_one_line(text: bytes) -> bytes:
    return text.translate(_ON_ONE_LINE) if _LF in text or _CR in text else text


class SseReader(Reader):
    """Reads server-sent events. It scans no byte twice: incomplete lines are buffered and extended."""

    __slots__ = ("_data", "_event", "_has_begun", "_is_after_cr", "_json", "_offset", "_pending", "is_between")

    def __init__(self, limit: int = LIMIT) -> None:
        super().__init__(limit)
        self._has_begun = False  # whether the check for a byte order mark is done
        self._is_after_cr = False  # whether an LF at the start of the next chunk completes a CRLF
        self._forget()
        self.is_between = True

    def _forget(self) -> None:
        self._pending = bytearray()  # an incomplete line
        self._event = ""
        self._data: bytes | bytearray | None = None
        self._offset = 0
        self.is_between = False
        """Whether nothing is pending, so that the next byte begins an event."""
        self._json: ArrayReader | None = None  # reads the rest of the stream; set in subclasses only

    def feed(self, chunk: bytes) -> list[ServerSentEvent]:
        """Read some bytes and return the events that they complete."""
        chunk = bytes(chunk)
        events: list[ServerSentEvent] = []
        # Nearly all events have one data line, possibly after an ``event`` line. They are recognized without parsing each line.
        if self.is_between:
            read = self._read_whole_events(chunk, events)
            self._position += read
            if read == len(chunk):
                return events
            chunk = chunk[read:]
        return self._read_within_limit(chunk, events)

    def _read_whole_events(self, chunk: bytes, events: list[ServerSentEvent]) -> int:
        """Read the events with one data line at the start of a chunk. Return the number of bytes that they have."""
        line_end = b"\n"
        if _CR in chunk:
            line_end = b"\r\n"
            if not chunk.count(line_end) == chunk.count(b"\r") == chunk.count(b"\n"):
                return 0  # a CR or an LF alone ends a line, too
        blank_line, size, at = line_end * 2, len(line_end), 0
        while at < len(chunk):
            name, start = "", at + 6
            if chunk[at : at + 7] == b"event: ":
                end = chunk.find(line_end, at)
                if end < 0:
                    break
                name, start = chunk[at + 7 : end].decode("utf-8", "replace"), end + size + 6
            end = chunk.find(line_end, start)
            is_whole = chunk[start - 6 : start] == b"data: " and chunk[end : end + 2 * size] == blank_line
            if not is_whole or end - at > self._limit:
                break
            events.append(ServerSentEvent(name, chunk[start:end], self._position + start))
            at = end + 2 * size
        return at

    @property
    def has_opened(self) -> bool:
        """Whether an event is incomplete. Comments and ignored fields (``id``, ``retry``) do not begin an event."""
        is_open = self._event or self._data is not None or _opens_event(bytes(self._pending))
        return self._json is None and bool(is_open)

    def pass_over(self, chunk: bytes) -> int:
        """Skip bytes that the caller has recognized as one complete event; return how many bytes came before."""
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
        """Return the first bytes without a byte order mark; nothing while they may be a part of one."""
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
        # bytes.splitlines splits at CR, LF and CRLF only, unlike str.splitlines.
        for line in chunk.splitlines(keepends=True):
            if self._json is not None:
                self._json._read(line, events)
            elif self._pending or line[-1] not in _LINE_ENDS:
                self._read_part(line, events)
            else:
                self._read_line(line, events)

    def _read_part(self, part: bytes, events: list[ServerSentEvent]) -> None:
        """Read a part of a line that continues in another chunk."""
        self._pending += part
        line = self._pending
        if part[-1] in _LINE_ENDS:
            self._pending = bytearray()
            self._read_line(line, events)
        elif line[0] in _BEFORE_JSON and self._begins_json(line):
            self._pending = bytearray()
            self._switch_to_json(line, events)
        else:
            self._check_size(len(line))

    def _read_line(self, line: bytes | bytearray, events: list[ServerSentEvent]) -> None:
        """Read a complete line; comments and fields other than ``data`` and ``event`` are ignored."""
        first = line[0]
        if first in _LINE_ENDS:
            self._dispatch(events)
        elif first in _BEFORE_JSON and self._begins_json(line):
            self._switch_to_json(line, events)
            return
        else:
            size = len(line) - (2 if line[-2:] == b"\r\n" else 1)
            self._check_size(size)
            if first == _D:
                self._read_data(line, size)
            elif first == _E and line.startswith(b"event"):
                start = _value_start(line, 5, size)
                self._event = line[start:size].decode("utf-8", "replace") if start else self._event
        self._position += len(line)

    def _begins_json(self, line: bytes | bytearray) -> bool:
        del line  # this class does not read JSON
        return False

    def _switch_to_json(self, line: bytes | bytearray, events: list[ServerSentEvent]) -> None:
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

    def _check_size(self, size: int) -> None:
        """Raise ``EventTooLargeError`` if the data and a line of ``size`` bytes exceed the limit; comments count as lines."""
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
    """Return whether an incomplete line is, or may become, a ``data`` or ``event`` field."""
    name, colon, _ = line.partition(b":")
    return name in _FIELDS if colon else bool(name) and any(field.startswith(name) for field in _FIELDS)


def _value_start(line: bytes | bytearray, length: int, size: int) -> int:
    """Return where the value of a field begins, for a name of ``length`` bytes; 0 where the name is longer."""
    if length == size:
        return size
    if line[length] != ord(":"):
        return 0
    return length + 2 if line[length + 1] == ord(" ") else length + 1


_JSON = re.compile(rb"[ \t]{0,256}[\[{]")


class StreamReader(SseReader):
    """Reads a stream in either framing: server-sent events, then JSON from the first line that begins an object or array.

    No field of an event begins with a bracket or brace. The line may be the first one (generate_content without ``alt=sse``; an error
    body). It may follow comments, which relays also send before a body, or events (an error without ``data:``). All bytes after it are
    JSON.
    """

    __slots__ = ()

    @property
    def reads_json(self) -> bool:
        """Whether the reader reads JSON, which continues to the end of the stream."""
        return self._json is not None

    def _begins_json(self, line: bytes | bytearray) -> bool:
        return self._data is None and _JSON.match(line) is not None

    def _read(self, chunk: bytes, events: list[ServerSentEvent]) -> None:
        if self._json is None:
            super()._read(chunk, events)
        else:
            self._json._read(chunk, events)
