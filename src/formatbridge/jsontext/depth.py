"""JSON that is nested deep, read and written without a call for each level.

What reads and writes in C calls itself for each level, so how deep it gets depends on how much stack the caller has left.
"""

from __future__ import annotations

import json
import re
from typing import Any

from formatbridge.jsontext.types import JsonValue

MAX_DEPTH = 512
"""Levels of nesting that a body may have below its own."""

_SPACE = re.compile(r"[ \t\n\r]*")
_CLOSING = {"[": "]", "{": "}"}


class TooDeepError(ValueError):
    """Text that is nested deeper than a body may be."""


def write(value: JsonValue, *, sort_keys: bool = False) -> str:
    """Write a JSON value without spaces, as ``json.dumps`` does."""
    pieces: list[str] = []
    pending: list[tuple[str, JsonValue, str]] = [("", value, "")]
    while pending:
        before, node, after = pending.pop()
        if not node or not isinstance(node, dict | list | tuple):
            pieces += (before, json.dumps(node, ensure_ascii=False, allow_nan=False), after)
            continue
        if isinstance(node, dict):
            items = sorted(node.items()) if sort_keys else node.items()
            inner = [(f",{json.dumps(key, ensure_ascii=False)}:", item, "") for key, item in items]
        else:
            inner = [(",", item, "") for item in node]
        pieces += (before, "{" if isinstance(node, dict) else "[")
        inner[0] = (inner[0][0][1:], inner[0][1], "")
        inner[-1] = (*inner[-1][:2], ("}" if isinstance(node, dict) else "]") + after)
        pending += reversed(inner)
    return "".join(pieces)


def spell(value: JsonValue) -> str:
    """Return what equal values have in common, to be found at once."""
    try:
        return json.dumps(value, ensure_ascii=False, separators=(",", ":"), sort_keys=True)
    except RecursionError:
        return write(value, sort_keys=True)


def read(text: str, decoder: json.JSONDecoder) -> Any:
    """Read JSON text as a decoder does; raise ``TooDeepError`` where that is too much for it, and more than a body may be nested."""
    try:
        return decoder.decode(text)
    except RecursionError:
        return read_in_steps(text, decoder)


def read_in_steps(text: str, decoder: json.JSONDecoder) -> Any:
    """Read JSON text as a decoder does, in as little of the stack as there is; raise ``TooDeepError`` as ``read`` does."""
    at = _skip(text, 0)
    opened: list[tuple[str, list[Any]]] = []  # how each ends, and its members; those of an object behind their keys
    while True:
        closing = _CLOSING.get(text[at : at + 1])
        if closing is None and not opened:
            return decoder.decode(text)
        if closing is None:
            at = _add(text, at, decoder, opened)
        elif len(opened) > MAX_DEPTH:
            raise TooDeepError
        else:
            opened.append((closing, []))
            at = _skip(text, at + 1)
            if not text.startswith(closing, at):
                at = _begin(text, at, decoder, opened)
                continue
        while text.startswith(opened[-1][0], at):
            value = _made(*opened.pop(), decoder)
            at = _skip(text, at + 1)
            if not opened:
                return _whole(text, at, value)
            opened[-1][1].append(value)
        if not text.startswith(",", at):
            raise json.JSONDecodeError("Expecting ',' delimiter", text, at)
        at = _begin(text, _skip(text, at + 1), decoder, opened)


def _skip(text: str, at: int) -> int:
    """Return where something else than space is."""
    return _SPACE.match(text, at).end()  # type: ignore[union-attr]  # nothing matches, too


def _add(text: str, at: int, decoder: json.JSONDecoder, opened: list[tuple[str, list[Any]]]) -> int:
    """Read what has no members; return where the next begins."""
    value, at = decoder.raw_decode(text, at)
    opened[-1][1].append(value)
    return _skip(text, at)


def _begin(text: str, at: int, decoder: json.JSONDecoder, opened: list[tuple[str, list[Any]]]) -> int:
    """Read what stands before a member's value: in an object its key."""
    if opened[-1][0] == "]":
        return at
    if not text.startswith('"', at):
        raise json.JSONDecodeError("Expecting property name enclosed in double quotes", text, at)
    at = _add(text, at, decoder, opened)
    if not text.startswith(":", at):
        raise json.JSONDecodeError("Expecting ':' delimiter", text, at)
    return _skip(text, at + 1)


def _made(closing: str, members: list[Any], decoder: json.JSONDecoder) -> Any:
    if closing == "]":
        return members
    pairs = list(zip(members[::2], members[1::2], strict=True))
    hook: Any = decoder.object_pairs_hook
    return hook(pairs) if hook else dict(pairs)


def _whole(text: str, at: int, value: Any) -> Any:
    if at < len(text):
        raise json.JSONDecodeError("Extra data", text, at)
    return value
