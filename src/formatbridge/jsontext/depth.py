"""Read and write deeply nested JSON without recursion.

The C code of ``json`` and pydantic-core recurses, so the depth that it can reach depends on how much of the stack its caller has used.
"""

from __future__ import annotations

import json
import re
from typing import Any, NoReturn

from formatbridge.jsontext.types import JsonValue

MAX_DEPTH = 512
"""Levels of nesting that a body may have below the outermost one."""

_SPACE = re.compile(r"[ \t\n\r]*")
_CLOSING = {"[": "]", "{": "}"}


class TooDeepError(ValueError):
    """Text that is nested deeper than ``MAX_DEPTH``."""


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


def dump_sorted(value: JsonValue) -> str:
    """Return JSON text with sorted keys, which is the same for equal values and can be a dict key."""
    try:
        return json.dumps(value, ensure_ascii=False, separators=(",", ":"), sort_keys=True)
    except RecursionError:
        return write(value, sort_keys=True)


def read(text: str, decoder: json.JSONDecoder) -> Any:
    """Read JSON text as a decoder does, at any depth up to ``MAX_DEPTH``; raise ``TooDeepError`` beyond it."""
    try:
        return decoder.decode(text)
    except RecursionError:
        return read_in_steps(text, decoder)


def read_in_steps(text: str, decoder: json.JSONDecoder) -> Any:
    """Read JSON text as a decoder does, without recursion; raise ``TooDeepError`` as ``read`` does."""
    at = _skip(text, 0)
    opened: list[tuple[str, list[Any]]] = []  # closing bracket and members; an object alternates keys and values
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
            value = _container(*opened.pop(), decoder)
            at = _skip(text, at + 1)
            if not opened:
                return _at_end(text, at, value)
            opened[-1][1].append(value)
        if not text.startswith(",", at):
            raise json.JSONDecodeError("Expecting ',' delimiter", text, at)
        comma, at = at, _skip(text, at + 1)
        if text.startswith(opened[-1][0], at):
            _raise_trailing_comma(text, comma, at, decoder)
        at = _begin(text, at, decoder, opened)


def _skip(text: str, at: int) -> int:
    """Return the index of the first character that is not white space."""
    return _SPACE.match(text, at).end()  # type: ignore[union-attr]  # the pattern also matches the empty string


def _add(text: str, at: int, decoder: json.JSONDecoder, opened: list[tuple[str, list[Any]]]) -> int:
    """Read a scalar value; return where the next token begins."""
    value, at = decoder.raw_decode(text, at)
    opened[-1][1].append(value)
    return _skip(text, at)


def _raise_trailing_comma(text: str, comma: int, closing: int, decoder: json.JSONDecoder) -> NoReturn:
    """Raise the decoder's error for a comma before a closing bracket, which differs between versions of Python."""
    opening = '{"":0' if text[closing] == "}" else "[0"
    try:
        decoder.decode(opening + text[comma : closing + 1])
    except json.JSONDecodeError as error:
        raise json.JSONDecodeError(error.msg, text, error.pos - len(opening) + comma) from None
    raise AssertionError("the decoder accepts a trailing comma")


def _begin(text: str, at: int, decoder: json.JSONDecoder, opened: list[tuple[str, list[Any]]]) -> int:
    """Read the key before a member's value, in an object; return where the value begins."""
    if opened[-1][0] == "]":
        return at
    if not text.startswith('"', at):
        raise json.JSONDecodeError("Expecting property name enclosed in double quotes", text, at)
    at = _add(text, at, decoder, opened)
    if not text.startswith(":", at):
        raise json.JSONDecodeError("Expecting ':' delimiter", text, at)
    return _skip(text, at + 1)


def _container(closing: str, members: list[Any], decoder: json.JSONDecoder) -> Any:
    if closing == "]":
        return members
    pairs = list(zip(members[::2], members[1::2], strict=True))
    hook: Any = decoder.object_pairs_hook
    return hook(pairs) if hook else dict(pairs)


def _at_end(text: str, at: int, value: Any) -> Any:
    if at < len(text):
        raise json.JSONDecodeError("Extra data", text, at)
    return value
