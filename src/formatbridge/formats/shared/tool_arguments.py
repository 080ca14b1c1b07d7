"""Tool arguments: text stays text, objects stay objects, and only what must cross over is parsed or written."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any

from pydantic_core import from_json, to_json

from formatbridge import ir
from formatbridge.jsontext.codec import NotJsonError, Replacement, dumps, loads, may_hold_infinity
from formatbridge.jsontext.depth import read
from formatbridge.jsontext.types import EXACT, JsonObject
from formatbridge.report.ledger import Examine, Ledger

Objects = Mapping[int, JsonObject]
"""The arguments of calls by the ``id()`` of the call, as far as they have been read."""

NOT_READ: Objects = {}
_PLAIN = frozenset({str, int, bool, type(None)})


def encode_arguments_text(call: ir.ToolCall) -> str:
    """Write arguments as text: as it was, or the object as JSON without spaces."""
    arguments = call.arguments
    return arguments if isinstance(arguments, str) else dumps(arguments).decode()


def repeated_keys(given: str | JsonObject, parsed: JsonObject) -> str | None:
    """Say whether a key stands twice in the text of an object, of which ``parsed`` holds the last only."""
    del parsed
    return "duplicate_keys" if isinstance(given, str) and _parse_carefully(given)[1] else None


def read_objects(parts: Iterable[ir.Part]) -> Objects:
    """Read the arguments of all calls among some parts, with one search for infinities; what needs a second look is left out."""
    read: dict[int, JsonObject] = {}
    for part in parts:
        if type(part) is ir.ToolCall and part.kind == "function" and type(part.arguments) is str and part.arguments:
            value = _object_in(part.arguments)
            if value is not None:
                read[id(part)] = value
    if read and may_hold_infinity(list(read.values())):
        return {key: value for key, value in read.items() if not may_hold_infinity(value)}
    return read


def read_all_objects(messages: Iterable[ir.Message]) -> Objects:
    """Read the arguments of the calls of a conversation, as ``read_objects`` does."""
    return read_objects(part for message in messages if message.role == "assistant" for part in message.parts)


def encode_arguments_object(
    call: ir.ToolCall, losses: Ledger, read: Objects = NOT_READ, examine: Examine = repeated_keys
) -> JsonObject:
    """Write arguments as an object. Text that is none is passed on under ``raw_arguments`` and noted, never repaired.

    ``read``: what has been read already. ``examine`` says what the target loses of an object.
    """
    known = read.get(id(call))
    if known is not None:
        losses.examined(call, "arguments", known, examine)
        return known
    arguments = call.arguments
    if not isinstance(arguments, str):
        losses.examined(call, "arguments", arguments, examine)
        return arguments
    if not arguments or arguments.isspace():
        return {}
    replaced: list[Replacement] = []
    try:
        parsed = loads(arguments, replaced)
    except NotJsonError:
        parsed = None
    if not isinstance(parsed, dict):
        wrapped: JsonObject = losses.changed(call, "arguments", {"raw_arguments": arguments}, "invalid_arguments")
        return wrapped
    if replaced:
        losses.changed(call, "arguments", parsed, "lone_surrogate")
    losses.examined(call, "arguments", parsed, examine)
    return parsed


def is_whole(arguments: str) -> bool:
    """Say whether arguments are all of a JSON object; nothing at all stands for an empty one."""
    if not arguments or arguments.isspace() or _object_in(arguments) is not None:
        return True
    try:
        return isinstance(loads(arguments, []), dict)
    except NotJsonError:
        return False


def _object_in(text: str) -> JsonObject | None:
    """Parse text as an object, in which infinities are still to be looked for; None where it is none at first sight."""
    try:
        value = from_json(text, allow_inf_nan=False, cache_strings="keys")
    except ValueError:
        return None
    return value if type(value) is dict else None


def wrap_text(text: str) -> dict[str, str]:
    """Write free text as the one argument of a function."""
    return {"input": text}


def read_wrapped_text(arguments: str | ir.JsonObject) -> str | None:
    """Read free text back from the arguments that ``wrap_text`` made; None where they are something else."""
    value = read_object(arguments) if isinstance(arguments, str) else arguments
    if value is not None and set(value) == {"input"} and isinstance(value["input"], str):
        return value["input"]
    return None


def read_object(text: str) -> JsonObject | None:
    """Parse text as a JSON object; None where it is no object."""
    try:
        value = loads(text)
    except NotJsonError:
        return None
    return value if isinstance(value, dict) else None


def parse_object(text: str) -> tuple[JsonObject | None, bool]:
    """Parse text as a JSON object; None where it is no object. The flag says that a key stood twice."""
    try:
        value = from_json(text)
        if not isinstance(value, dict):
            return None, False
        if _PLAIN.issuperset(map(type, value.values())) and text.count(":") == len(value):
            return value, False  # one colon for each key: none can have stood twice; and no number that could be infinite
        written = to_json(value)
        if written.count(b'"') == text.count('"') and written.find(b"Infinity") < 0 and b"NaN" not in written:
            return value, False
        return _parse_carefully(text)
    except (ValueError, TypeError):
        return _parse_carefully(text)


def _parse_carefully(text: str) -> tuple[JsonObject | None, bool]:
    repeated = False

    def collect(pairs: list[tuple[str, Any]]) -> JsonObject:
        nonlocal repeated
        made = dict(pairs)
        repeated = repeated or len(made) < len(pairs)
        return made

    try:
        value = loads(text)
        read(text, json.JSONDecoder(object_pairs_hook=collect))
    except (NotJsonError, ValueError):
        return None, False
    return (value, repeated) if isinstance(value, dict) else (None, False)


def read_lossless_object(text: str) -> JsonObject | None:
    """Parse text as a JSON object; None where it is none, or where the object does not hold all that the text does.

    That is so where a key is repeated, and where a double has another value or another spelling than a number: a large integer, ``1.0``,
    ``1e3``. White space and escapes do not count.
    """
    if not text.lstrip(_SPACES).startswith("{") or _object_in(text) is None:
        return None
    try:
        value = _LOSSLESS.decode(text)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


_SPACES = " \t\r\n"


def _lossless_pairs(pairs: list[tuple[str, Any]]) -> JsonObject:
    made = dict(pairs)
    if len(made) < len(pairs):
        raise ValueError("a key is repeated")
    return made


def _lossless_int(token: str) -> int:
    value = int(token)
    if abs(value) > EXACT or str(value) != token:
        raise ValueError(f"{token} is no integer that a double spells so")
    return value


def _lossless_float(token: str) -> float:
    value = float(token)
    if value.is_integer() or dumps(value).decode() != token:
        raise ValueError(f"{token} is no number that a double spells so")
    return value


_LOSSLESS = json.JSONDecoder(object_pairs_hook=_lossless_pairs, parse_int=_lossless_int, parse_float=_lossless_float)


MOST_NODES = 20_000
"""Schemas within a schema that are looked at; those beyond are passed on as they are."""
