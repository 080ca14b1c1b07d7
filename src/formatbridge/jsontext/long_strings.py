"""Write bodies that consist of a few long strings (images, mostly) without a check of each character.

The search for characters to escape is most of the cost of writing. If the source text contains the same string, the search is
unnecessary: JSON text contains no unescaped character that must be escaped.
"""

from __future__ import annotations

from pydantic_core import to_json

from formatbridge.jsontext.types import JsonValue

LONG = 256 * 1024
"""Bytes of text from which a check for a few long strings pays off."""
BYTES_PER_VALUE = 4096
"""Bytes of text per value, from which the text counts as a few long strings."""

_LONG_STRING = 64 * 1024
_DEEP = 20  # levels of nesting; each takes two stack frames
_MARK = "\0"
_MARKED = to_json(_MARK)
_QUOTE, _ESCAPE = b'"\\'
_HEAD = 128  # bytes in which a prefix may differ between formats, such as ``data:image/png;base64,``
_IDENTIFYING = 256  # bytes that identify a long string
_WINDOW = 256 * 1024  # bytes of source, besides twice the string's length, in which the string is searched
_BETWEEN_STRINGS = b"\t\n\r 0123456789+-.eE,:[]{}truefalsn"  # all that JSON text has between strings


def values_in(value: JsonValue, limit: int) -> list[JsonValue] | None:
    """Return a value and all values in it; None if there are more than ``limit``."""
    pending = [value]
    for node in pending:  # the loop appends to this list
        kind = type(node)
        if kind is dict or kind is list:
            if len(pending) + len(node) > limit:
                return None
            pending += node.values() if kind is dict else node
    return pending


def dumps_in_pieces(value: JsonValue, source: bytes) -> bytes:
    """Write a value; copy its long strings from ``source`` where they need no escape, if they are few."""
    texts: list[str] = []
    frame = value if values_in(value, len(source) // BYTES_PER_VALUE) is None else _lift(value, texts, 0)
    written = to_json(frame, inf_nan_mode="constants")
    if not texts:
        return written
    between = written.split(_MARKED)
    if len(between) != len(texts) + 1:  # another string contains the mark
        return to_json(value, inf_nan_mode="constants")
    pieces: list[bytes | memoryview] = [between[0]]
    view, end = memoryview(source), 0
    for text, following in zip(texts, between[1:], strict=True):
        literal = text.encode()
        start, head = _find_string(literal, source, end)
        if start < 0:
            end += len(literal)
            pieces += (to_json(text), following)
        else:
            end = start + len(literal) - head
            pieces += (b'"', literal[:head], view[start:end], b'"', following)
    return b"".join(pieces)


def _lift(value: JsonValue, texts: list[str], depth: int) -> JsonValue:
    """Copy a value with a mark in place of each long string, and append the string to ``texts``; below ``_DEEP`` levels nothing changes."""
    kind = type(value)
    if kind is str:
        if len(value) < _LONG_STRING:
            return value
        texts.append(value)
        return _MARK
    if kind is dict and depth < _DEEP:
        return {key: _lift(item, texts, depth + 1) for key, item in value.items()}
    return [_lift(item, texts, depth + 1) for item in value] if kind is list and depth < _DEEP else value


def _find_string(literal: bytes, source: bytes, after: int) -> tuple[int, int]:
    """Return where ``source`` has a JSON string with these bytes, and how many of the first bytes it lacks; -1 where that is not certain.

    The search starts at ``after``, because a conversion mostly keeps the order of strings.
    """
    inner = literal[_HEAD : _HEAD + _IDENTIFYING]
    if _QUOTE in literal or _ESCAPE in literal or b"\n" in inner or not inner.translate(None, _BETWEEN_STRINGS):
        return -1, 0
    start = source.find(inner, after, after + _WINDOW + 2 * len(literal))
    if start >= _HEAD and source.startswith(literal, start - _HEAD):
        return start - _HEAD, 0
    is_printable = literal[:_HEAD].isascii() and literal[:_HEAD].decode().isprintable()
    return (start, _HEAD) if start >= 0 and is_printable and source.startswith(literal[_HEAD:], start) else (-1, 0)
