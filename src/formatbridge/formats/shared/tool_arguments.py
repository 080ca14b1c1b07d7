"""Encode tool arguments as text or as an object. They are converted only if the target needs the other form."""

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

ParsedArguments = Mapping[int, JsonObject]
"""Parsed arguments of calls, by the ``id()`` of the call."""

NOTHING_PARSED: ParsedArguments = {}
_SCALARS = frozenset({str, int, bool, type(None)})


def encode_arguments_text(call: ir.ToolCall) -> str:
    """Return arguments as text: unchanged, or the object as JSON without spaces."""
    arguments = call.arguments
    return arguments if isinstance(arguments, str) else dumps(arguments).decode()


def repeated_keys(raw: str | JsonObject, parsed: JsonObject) -> str | None:
    """Return the code of the loss if the text of an object repeats a key, of which ``parsed`` has the last value only."""
    del parsed
    return "duplicate_keys" if isinstance(raw, str) and _parse_carefully(raw)[1] else None


def parse_arguments_of(parts: Iterable[ir.Part]) -> ParsedArguments:
    """Parse the arguments of all calls among some parts, with one search for infinities. Arguments that need more checks are left out."""
    # ``Infinity`` is no JSON (RFC 8259, 6), but parsers accept it. One search over all values is faster than one for each call.
    read: dict[int, JsonObject] = {}
    for part in parts:
        if type(part) is ir.ToolCall and part.kind == "function" and type(part.arguments) is str and part.arguments:
            value = _object_in(part.arguments)
            if value is not None:
                read[id(part)] = value
    if read and may_hold_infinity(list(read.values())):
        return {key: value for key, value in read.items() if not may_hold_infinity(value)}
    return read


def parse_all_arguments(messages: Iterable[ir.Message]) -> ParsedArguments:
    """Parse the arguments of the calls of a conversation, as ``parse_arguments_of`` does."""
    calls: list[ir.Part] = []
    for message in messages:
        for part in message.parts:
            if type(part) is ir.ToolCall:
                calls.append(part)
    return parse_arguments_of(calls) if calls else NOTHING_PARSED


def encode_arguments_object(
    call: ir.ToolCall, losses: Ledger, already_parsed: ParsedArguments = NOTHING_PARSED, examine: Examine = repeated_keys
) -> JsonObject:
    """Return arguments as an object. Text that is no object becomes its member ``raw_arguments`` and is noted, never repaired.

    ``already_parsed``: arguments that were parsed before. ``examine`` returns the code of what the target loses of an object.
    """
    known = already_parsed.get(id(call))
    if known is not None:
        losses.examined(call, "arguments", known, examine)
        return known
    arguments = call.arguments
    if not isinstance(arguments, str):
        losses.examined(call, "arguments", arguments, examine)
        return arguments
    # Servers send empty text for a call without arguments (fixture tools_no_arguments).
    if not arguments or arguments.isspace():
        return {}
    replaced: list[Replacement] = []
    try:
        parsed = loads(arguments, replaced)
    except NotJsonError:
        parsed = None
    # The model sees the text in the next turn and can correct it. A repaired object would have another meaning.
    if not isinstance(parsed, dict):
        wrapped: JsonObject = losses.changed(call, "arguments", {"raw_arguments": arguments}, "invalid_arguments")
        return wrapped
    if replaced:
        losses.changed(call, "arguments", parsed, "lone_surrogate")
    losses.examined(call, "arguments", parsed, examine)
    return parsed


def wrap_invalid_arguments(text: str) -> str:
    """Return the text of an object with arguments that are none, as ``encode_arguments_object`` returns the object."""
    return dumps({"raw_arguments": text}).decode()


def is_whole(arguments: str) -> bool:
    """Return whether arguments are a complete JSON object. Empty text counts as an empty object."""
    if not arguments or arguments.isspace() or _object_in(arguments) is not None:
        return True
    try:
        return isinstance(loads(arguments, []), dict)
    except NotJsonError:
        return False


def _object_in(text: str) -> JsonObject | None:
    """Parse text as an object, without a check for infinities; None if the fast parser rejects it or it is no object."""
    try:
        value = from_json(text, allow_inf_nan=False, cache_strings="keys")
    except ValueError:
        return None
    return value if type(value) is dict else None


def wrap_text(text: str) -> dict[str, str]:
    """Return an object with free text as the only argument."""
    return {"input": text}


def read_wrapped_text(arguments: str | ir.JsonObject) -> str | None:
    """Return the free text from arguments of ``wrap_text``; None if they are something else."""
    value = read_object(arguments) if isinstance(arguments, str) else arguments
    if value is not None and set(value) == {"input"} and isinstance(value["input"], str):
        return value["input"]
    return None


def read_object(text: str) -> JsonObject | None:
    """Parse text as a JSON object; None if it is no object."""
    try:
        value = loads(text)
    except NotJsonError:
        return None
    return value if isinstance(value, dict) else None


def parse_object(text: str) -> tuple[JsonObject | None, bool]:
    """Parse text as a JSON object; None if it is no object. The flag is true if a key is repeated."""
    try:
        value = from_json(text)
        if not isinstance(value, dict):
            return None, False
        if _SCALARS.issuperset(map(type, value.values())) and text.count(":") == len(value):
            return value, False  # with one colon for each key no key is repeated; and no number can be infinite
        # Without a repeated key, the text and the value written again have the same number of quotation marks.
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
        result = dict(pairs)
        repeated = repeated or len(result) < len(pairs)
        return result

    try:
        value = loads(text)
        read(text, json.JSONDecoder(object_pairs_hook=collect))
    except (NotJsonError, ValueError):
        return None, False
    return (value, repeated) if isinstance(value, dict) else (None, False)


def read_lossless_object(text: str) -> JsonObject | None:
    """Parse text as a JSON object; None if it is none, or where the object would not have all of the text.

    The object would lose a repeated key. As a double, a number may change its value or its notation: a large integer, ``1.0``, ``1e3``.
    White space and escapes do not count.
    """
    # The fast parser only decides whether the text is an object. The other one is slower, but sees each token of a number.
    if not text.lstrip(_SPACES).startswith("{") or _object_in(text) is None:
        return None
    try:
        value = _LOSSLESS.decode(text)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


_SPACES = " \t\r\n"


def _lossless_pairs(pairs: list[tuple[str, Any]]) -> JsonObject:
    result = dict(pairs)
    if len(result) < len(pairs):
        raise ValueError("a key is repeated")
    return result


def _lossless_int(token: str) -> int:
    value = int(token)
    if abs(value) > EXACT or str(value) != token:
        raise ValueError(f"{token} changes as a double")
    return value


def _lossless_float(token: str) -> float:
    value = float(token)
    if value.is_integer() or dumps(value).decode() != token:
        raise ValueError(f"{token} changes as a double")
    return value


_LOSSLESS = json.JSONDecoder(object_pairs_hook=_lossless_pairs, parse_int=_lossless_int, parse_float=_lossless_float)
