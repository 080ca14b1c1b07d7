"""Text that is a few long strings, images above all, is written without a look at each letter.

The search for what must be escaped is most of what writing costs. It is over at once where the source has the same string: no character
that must be escaped stands in JSON text as it is.
"""

from __future__ import annotations

from pydantic_core import to_json

from formatbridge.jsontext.types import JsonValue

LONG = 256 * 1024
"""Bytes from which on text is worth being looked at for a few long strings."""
SPARSE = 4096
"""Bytes of text to a value, from which on it is that."""

_LONG_STRING = 64 * 1024
_DEEP = 20  # levels, of which each takes two of what the stack has left
_MARK = "\0"
_MARKED = to_json(_MARK)
_QUOTE, _ESCAPE = b'"\\'
_HEAD = 128  # bytes, of which one format has some before the same data and another not: ``data:image/png;base64,``
_DISTINCT = 256  # bytes by which one long string is told from another
_WINDOW = 256 * 1024  # bytes beyond its own, and those of one that it was not, in which the next one is looked for
_BETWEEN_STRINGS = b"\t\n\r 0123456789+-.eE,:[]{}truefalsn"  # what JSON text has there; control characters are nowhere else


def values_in(value: JsonValue, most: int) -> list[JsonValue] | None:
    """Return a value and all that is in it; None where that is more than so many."""
    pending = [value]
    for node in pending:  # which grows on the way
        kind = type(node)
        if kind is dict or kind is list:
            if len(pending) + len(node) > most:
                return None
            pending += node.values() if kind is dict else node
    return pending


def dumps_in_pieces(value: JsonValue, source: bytes) -> bytes:
    """Write a value whose long strings, if they are few, are copied where they need no escape."""
    texts: list[str] = []
    frame = value if values_in(value, len(source) // SPARSE) is None else _lift(value, texts, 0)
    written = to_json(frame, inf_nan_mode="constants")
    if not texts:
        return written
    between = written.split(_MARKED)
    if len(between) != len(texts) + 1:  # some other string looks like a mark
        return to_json(value, inf_nan_mode="constants")
    pieces: list[bytes | memoryview] = [between[0]]
    view, end = memoryview(source), 0
    for text, following in zip(texts, between[1:], strict=True):
        literal = text.encode()
        start, head = _find(literal, source, end)
        if start < 0:
            end += len(literal)
            pieces += (to_json(text), following)
        else:
            end = start + len(literal) - head
            pieces += (b'"', literal[:head], view[start:end], b'"', following)
    return b"".join(pieces)


def _lift(value: JsonValue, texts: list[str], depth: int) -> JsonValue:
    """Copy a value with a mark in the place of each long string, which goes to ``texts``; what is nested deep stays."""
    kind = type(value)
    if kind is str:
        if len(value) < _LONG_STRING:
            return value
        texts.append(value)
        return _MARK
    if kind is dict and depth < _DEEP:
        return {key: _lift(item, texts, depth + 1) for key, item in value.items()}
    return [_lift(item, texts, depth + 1) for item in value] if kind is list and depth < _DEEP else value


def _find(literal: bytes, source: bytes, after: int) -> tuple[int, int]:
    """Return where a string of JSON text stands with these bytes, and how many at its head do not; -1 where that is not certain.

    Strings mostly keep their order.
    """
    inner = literal[_HEAD : _HEAD + _DISTINCT]
    if _QUOTE in literal or _ESCAPE in literal or b"\n" in inner or not inner.translate(None, _BETWEEN_STRINGS):
        return -1, 0
    start = source.find(inner, after, after + _WINDOW + 2 * len(literal))
    if start >= _HEAD and source.startswith(literal, start - _HEAD):
        return start - _HEAD, 0
    is_plain = literal[:_HEAD].isascii() and literal[:_HEAD].decode().isprintable()
    return (start, _HEAD) if start >= 0 and is_plain and source.startswith(literal[_HEAD:], start) else (-1, 0)
