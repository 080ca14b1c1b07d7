"""Parse and write JSON text, and check that values are valid JSON.

The common case is one call of pydantic-core's parser. Text that it rejects (a byte order mark, a lone surrogate, NaN, deep nesting, invalid
JSON) is parsed again by slower code, which accepts more or finds the exact place of the error.
"""

from __future__ import annotations

import codecs
import json
import marshal
import math
from collections.abc import Mapping
from typing import Any, NamedTuple

from pydantic_core import PydanticSerializationError, from_json, to_json

from formatbridge.jsontext import depth
from formatbridge.jsontext.depth import MAX_DEPTH
from formatbridge.jsontext.long_strings import BYTES_PER_VALUE, LONG, dumps_in_pieces, values_in
from formatbridge.jsontext.pointers import Place, pointer_to
from formatbridge.jsontext.types import JsonValue

_MAX_DIGITS = 4300  # the default limit of ``sys.set_int_max_str_digits``
_MAX_BITS = 14_000
_VALID, _CONTAINERS = frozenset({bool, type(None)}), frozenset({dict, list})
_BOM = codecs.BOM_UTF8.decode()
_MAX_DUMPED = 64 * 1024 * 1024
_MAX_POINTER_BYTES = 16 * 1024 * 1024  # of all pointers to replaced texts; each repeats the keys above it

_SHORTEST_INFINITY = 309  # digits of the smallest number that parses as infinity and is written without an exponent
_SAME_DIGITS = bytes.maketrans(b"E123456789", b"e000000000")
_EXPONENT = b"0e"
"""The start of an exponent, after ``_SAME_DIGITS`` has replaced all digits by 0. A search from the end is the fastest."""

_INFINITE_BYTE = 0xF0  # part of both infinities as doubles; a number, because ``in`` is slower with bytes of length one
_LAST_BYTES = (0x7F, 0xFF)  # of plus and minus infinity; rare in text and in small numbers
_INFINITE_ENDS = (b"\xf0\x7f", b"\xf0\xff")  # the last two bytes of an infinity; UTF-8 text never has them in this order
_MAX_VISITS = 1_000  # with more occurrences of the byte than this, two searches cost less than a visit to each


class NotJsonError(ValueError):
    """A value that JSON cannot represent, or text that is not JSON. ``pointer`` is the place, ``message`` what was expected."""

    def __init__(self, pointer: str, message: str) -> None:
        super().__init__(f"{pointer} {message}")
        self.pointer = pointer
        self.message = message


class Replacement(NamedTuple):
    """A text with a lone surrogate (an escape) or a byte that is not UTF-8, and its replacement. ``code``: why it was replaced."""

    pointer: str
    before: str
    after: str
    code: str = "lone_surrogate"


def loads(text: bytes | bytearray | str, replaced: list[Replacement] | None = None) -> JsonValue:
    """Parse JSON text; raise ``NotJsonError`` on anything that is not strict JSON in valid Unicode.

    With ``replaced``, a lone surrogate is no error: U+FFFD replaces it, and the list receives each replacement.
    """
    try:
        value = from_json(text, allow_inf_nan=False, cache_strings="keys")
    except (ValueError, TypeError):
        return reread(text, replaced)
    return value if is_finite(value, text) else checked(value)


def reread(text: bytes | bytearray | str, replaced: list[Replacement] | None = None) -> JsonValue:
    """Parse text that pydantic-core's parser rejected, as ``loads`` does; raise ``NotJsonError`` with the place of the error."""
    return checked(loads_loosely(text), replaced)


def is_finite(value: JsonValue, text: bytes | bytearray | str) -> bool:
    """Return whether no number is infinite in a value that was parsed from a text; false also where that is not certain.

    Short text cannot hold an infinity without an exponent. Long text with few values: each value is checked. Otherwise ``marshal`` dumps
    the value. Floats are raw bytes in the dump, so one search finds an infinity.
    """
    size = len(text)
    if size < _SHORTEST_INFINITY and type(text) is bytes and text.translate(_SAME_DIGITS).rfind(_EXPONENT) < 0:
        return True
    if size > LONG and _is_each_finite(value, size // BYTES_PER_VALUE):
        return True
    if size > _MAX_DUMPED:
        return False
    dump = marshal.dumps(value)
    return _INFINITE_BYTE not in dump or not _holds_infinity(dump)


def may_hold_infinity(value: JsonValue) -> bool:
    """Return whether a parsed value may contain an infinity."""
    dump = marshal.dumps(value)
    return _INFINITE_BYTE in dump and _holds_infinity(dump)


def _is_each_finite(value: JsonValue, limit: int) -> bool:
    """Return whether each number is finite; false also where there are more than ``limit`` values."""
    values = values_in(value, limit)
    return values is not None and all(math.isfinite(node) for node in values if type(node) is float)


def _holds_infinity(dump: bytes) -> bool:
    if _LAST_BYTES[0] not in dump and _LAST_BYTES[1] not in dump:
        return False
    at = -1
    for _ in range(_MAX_VISITS):
        at = dump.find(_INFINITE_BYTE, at + 1)
        if at < 0:
            return False
        if dump[at : at + 2] in _INFINITE_ENDS:
            return True
    return any(end in dump for end in _INFINITE_ENDS)


def dumps(value: JsonValue, source: bytes | bytearray | str | None = None) -> bytes:
    """Write a JSON value as UTF-8 bytes without spaces. ``source``: JSON text that may contain the same long strings, to copy them."""
    try:
        if source is not None and len(source) > LONG and type(source) is bytes:
            return dumps_in_pieces(value, source)
        return to_json(value, inf_nan_mode="constants")
    except (PydanticSerializationError, ValueError):
        return depth.write(value).encode()


def checked(value: JsonValue, replaced: list[Replacement] | None = None) -> JsonValue:
    """Return a copy of a value that shares its strings; raise ``NotJsonError`` where JSON cannot represent it.

    ``replaced``: as in ``loads``.
    A value of a subclass of ``str``, ``int`` or ``float`` (a member of an enumeration, for example) becomes one of the base class.
    """
    copy, nested = _checked_leaf(value, (), replaced)
    pending: list[tuple[Any, Any, Place, int]] = [(value, copy, (), 0)] if nested else []
    while pending:
        node, node_copy, parent, depth = pending.pop()
        if depth > MAX_DEPTH:
            raise NotJsonError(pointer_to(parent)[:200], f"is nested more than {MAX_DEPTH} levels deep")
        is_object = isinstance(node, dict)
        for key, item in node.items() if is_object else enumerate(node):
            name = _checked_key(key, parent) if is_object and not (type(key) is str and key.isascii()) else key
            kind = type(item)
            if kind in _VALID or (kind is str and item.isascii()) or (kind is int and item.bit_length() <= _MAX_BITS):
                leaf = item
            elif kind in _CONTAINERS:
                leaf = kind()
                pending.append((item, leaf, (parent, name), depth + 1))
            else:
                place = (parent, name)
                leaf, nested = _checked_leaf(item, place, replaced)
                if nested:
                    pending.append((item, leaf, place, depth + 1))
            if is_object:
                node_copy[name] = leaf
            else:
                node_copy.append(leaf)
    return copy


def _checked_key(key: object, parent: Place) -> str:
    """Return the key of a member as a ``str``; ``parent`` is the place of its object."""
    if not isinstance(key, str) or _has_surrogate(key):
        raise NotJsonError(pointer_to(parent), f"has the key {key!r}, expected a string of valid Unicode")
    return str(_as_json(key))


def _checked_leaf(item: JsonValue, place: Place, replaced: list[Replacement] | None) -> tuple[JsonValue, bool]:
    """Copy one value without its members; also return whether it has members."""
    if isinstance(item, str):
        return _checked_text(_as_json(item), place, replaced), False
    if isinstance(item, dict):
        return {}, True
    if isinstance(item, list | tuple):
        return [], True
    if (fault := _fault_of(item)) is not None:
        raise NotJsonError(pointer_to(place), fault)
    return _as_json(item), False


def _as_json(value: Any) -> Any:
    """Return a string or number as an instance of the built-in type, without the conversion methods of its subclass."""
    kind = type(value)
    if kind is str or kind is int or kind is float or kind is bool or value is None:
        return value
    return (
        str.__str__(value) if isinstance(value, str) else int.__int__(value) if isinstance(value, int) else float.__float__(value)
    )


def _fault_of(item: object) -> str | None:
    """Return what is wrong with a value that is no string, object or array; None for a valid one."""
    if isinstance(item, float) and not math.isfinite(item):
        return f"is {item}, expected a finite number"
    if isinstance(item, int) and item.bit_length() > _MAX_BITS:
        return f"is {describe(item)}, expected fewer digits"
    if item is None or isinstance(item, bool | int | float):
        return None
    if isinstance(item, _TooLong):
        return f"is a number of {item.digits} digits, expected fewer digits"
    return f"is a {type(item).__name__}, expected a {'dict' if isinstance(item, Mapping) else 'JSON value'}"


def _checked_text(text: str, place: Place, replaced: list[Replacement] | None) -> str:
    if not _has_surrogate(text):
        return text
    joined = join_surrogates(text)
    if not _has_surrogate(joined):
        return joined
    pointer = pointer_to(place)
    if replaced is None or len(pointer) * len(replaced) > _MAX_POINTER_BYTES:
        raise NotJsonError(pointer, "holds a lone surrogate, expected valid Unicode")
    replacement = without_surrogates(joined)
    replaced.append(Replacement(pointer, joined.encode(errors="backslashreplace").decode(), replacement))
    return replacement


def join_surrogates(text: str) -> str:
    """Return text in which each surrogate pair is replaced by its character."""
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "surrogatepass")


def _has_surrogate(text: str) -> bool:
    if text.isascii():
        return False
    try:
        text.encode()
    except UnicodeEncodeError:
        return True
    return False


def without_surrogates(text: str) -> str:
    """Return text with U+FFFD for each lone surrogate, so that it can be written as UTF-8."""
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace") if _has_surrogate(text) else text


def loads_loosely(text: bytes | bytearray | str) -> JsonValue:
    """Parse JSON text with the ``json`` module, which accepts lone surrogates, NaN and infinities; ``checked`` examines the result."""
    try:
        decoded = text if isinstance(text, str) else bytes(text).decode()
    except UnicodeDecodeError as error:
        raise NotJsonError("", f"is not UTF-8 at byte {error.start}") from None
    try:
        return depth.read(decoded.removeprefix(_BOM), json.JSONDecoder(parse_int=_parse_int))
    except depth.TooDeepError:
        raise NotJsonError("", f"is nested more than {MAX_DEPTH} levels deep") from None
    except json.JSONDecodeError as error:
        raise NotJsonError("", f"is not JSON: {error.msg.removesuffix(' at')} at character {error.pos}") from None


class _TooLong:
    """Replaces an integer with too many digits for ``int``, until ``checked`` reports its place."""

    def __init__(self, digits: int) -> None:
        self.digits = digits


def _parse_int(text: str) -> int | _TooLong:
    return int(text) if len(text) <= _MAX_DIGITS else _TooLong(len(text))


def describe(value: JsonValue) -> str:
    """Name a JSON value for an error message, without showing long text."""
    if value is None:
        return "null"
    if isinstance(value, str):
        return f"the string {value!r}" if len(value) <= 40 else f"a string of {len(value)} characters"
    if isinstance(value, list):
        return "an array"
    if isinstance(value, dict):
        return "an object"
    if isinstance(value, int) and value.bit_length() > _MAX_BITS:
        return f"an integer of {value.bit_length()} bits"
    return json.dumps(value) if isinstance(value, bool | int | float) else f"a {type(value).__name__}"


class _Pairs(list[tuple[str, JsonValue]]):
    """An object as pairs of key and value, in order, with repeated keys."""


class _RepeatedKeyError(Exception):
    """An object of a JSON text has a key twice."""


def _require_unique_keys(pairs: list[tuple[str, JsonValue]]) -> None:
    if len(dict(pairs)) < len(pairs):
        raise _RepeatedKeyError


_UNIQUE_KEYS = json.JSONDecoder(object_pairs_hook=_require_unique_keys)
"""Raises ``_RepeatedKeyError`` on a text with a repeated key. It keeps no value."""


def repeated_keys(text: bytes | bytearray | str) -> list[tuple[str, JsonValue]]:
    """Return the pointer of every repeated key of an object, with each value that the last one overrides."""
    decoded = (text if isinstance(text, str) else bytes(text).decode()).removeprefix(_BOM)
    try:
        depth.read(decoded, _UNIQUE_KEYS)
    except _RepeatedKeyError:  # a second pass finds the pointers, because repeated keys are rare
        return _repeated_keys(decoded)
    return []


def _repeated_keys(text: str) -> list[tuple[str, JsonValue]]:
    value = depth.read(text, json.JSONDecoder(object_pairs_hook=_Pairs))
    repeated: list[tuple[str, JsonValue]] = []
    pending: list[tuple[Place, JsonValue]] = [((), value)]
    while pending:
        place, node = pending.pop()
        if isinstance(node, _Pairs):
            last = {key: index for index, (key, _) in enumerate(node)}
            for index, (key, item) in enumerate(node):
                if last[key] != index:
                    repeated.append((pointer_to((place, key)), _without_pairs(item)))
                elif isinstance(item, list):
                    pending.append(((place, key), item))
        else:
            items = enumerate(node) if isinstance(node, list) else ()
            pending += [((place, index), item) for index, item in items if isinstance(item, list)]
    return repeated


def _without_pairs(value: JsonValue) -> JsonValue:
    """Turn pairs back into the object that the parser would have returned."""
    result: list[JsonValue] = [None]
    pending: list[tuple[Any, Any, JsonValue]] = [(result, 0, value)]
    while pending:
        holder, place, node = pending.pop()
        if isinstance(node, _Pairs):
            members = {without_surrogates(key): item for key, item in node}
            holder[place] = copy = dict.fromkeys(members)
            pending += [(copy, key, item) for key, item in members.items()]
        elif isinstance(node, list):
            holder[place] = items = [None] * len(node)
            pending += [(items, index, item) for index, item in enumerate(node)]
        else:
            holder[place] = without_surrogates(node) if isinstance(node, str) else node
    return result[0]
