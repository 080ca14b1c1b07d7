"""Streams of any size: one event in many reads, many events in one read, in both framings."""

from __future__ import annotations

from collections.abc import Callable

SIZE = 64 * 1024
"""Bytes of the small stream; the large one has eight times as many. In megabytes, new memory would take longer than the reading."""

_EVENT = b'{"id":"chatcmpl-1","choices":[{"index":0,"delta":{"content":" hello"},"finish_reason":null}]}'

STREAMS: dict[str, tuple[Callable[[int], bytes], int]] = {
    "one event, reads of 512 bytes": (lambda size: b'data: {"a":"' + b"x" * size + b'"}\n\n', 512),
    "one object in an array, reads of 512 bytes": (lambda size: b'[{"a":"' + b"x" * size + b'"}]', 512),
    "one event of many lines, reads of 512 bytes": (lambda size: b"data: some words\n" * (size // 17) + b"\n", 512),
    "many events, one read": (lambda size: b"data: %b\n\n" % _EVENT * (size // len(_EVENT)), 1 << 30),
    "many objects in an array, one read": (lambda size: b"[%b]" % b",\r\n".join([_EVENT] * (size // len(_EVENT))), 1 << 30),
}
"""Name of a case to a function that returns a stream of a size, and the size of a read."""


def read(stream: bytes, size: int) -> int:
    """Read a stream in chunks of that size; return the number of its events."""
    from formatbridge.streaming.sse import StreamReader

    reader = StreamReader()
    count = sum(len(reader.feed(stream[at : at + size])) for at in range(0, len(stream), size))
    return count + len(reader.finish())
