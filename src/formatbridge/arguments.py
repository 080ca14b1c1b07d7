"""Checks of the arguments of public calls: each check returns the value or raises ``ConfigurationError``."""

from __future__ import annotations

import sys
from collections.abc import AsyncIterable, Iterable, Mapping, Sequence
from types import FrameType
from typing import TypeVar

from formatbridge.base_errors import ConfigurationError

T = TypeVar("T")
S = TypeVar("S", bound=str)

_BYTES = (bytes, bytearray, memoryview)
_MAX_LENGTH = 40
_MAX_NAME_LENGTH = 64
_MAX_BITS = 256
_MAX_ITEMS = 4


def type_name(value: object) -> str:
    """Return the type name of a value with its article, such as ``a dict``; ``None`` for None."""
    if value is None:
        return "None"
    name = type(value).__name__
    return f"{'an' if name[0] in 'aeiou' else 'a'} {name}"


def shown(value: object) -> str:
    """Return the ``repr`` of a value for an error message, or its type name where the ``repr`` would be long."""
    if isinstance(value, str) and len(value) > _MAX_LENGTH:
        return f"a string of {len(value)} characters"
    if isinstance(value, int) and value.bit_length() > _MAX_BITS:
        return f"an integer of {value.bit_length()} bits"
    if isinstance(value, tuple) and len(value) <= _MAX_ITEMS and all(isinstance(item, int | float | None) for item in value):
        return f"({', '.join(map(shown, value))})"
    return repr(value) if isinstance(value, str | int | float | None) else type_name(value)


def suggestion(name: object, known: Sequence[str]) -> str:
    """Return a phrase with a similar known name; empty if there is none, or if the name is too long to compare."""
    from difflib import get_close_matches  # loaded only for this error

    if not isinstance(name, str) or not name or len(name) >= _MAX_NAME_LENGTH:
        return ""
    name = name.lower()
    similar = [each for each in known if each.startswith(name)] or get_close_matches(name, known, n=1)
    return f"perhaps {similar[0]}; " if similar else ""


def caller() -> tuple[FrameType, int]:
    """Return the first frame outside this library, and its number of levels above the calling function, from 1."""
    frame, levels = sys._getframe(1), 1
    while frame.f_back is not None and frame.f_globals.get("__name__", "").startswith("formatbridge."):
        frame, levels = frame.f_back, levels + 1
    return frame, levels


def checked_model(model: str | None) -> str | None:
    """Return the name of a model; None: the body names it."""
    if model is None or (type(model) is str and model.isascii()):
        return model
    if not isinstance(model, str):
        raise ConfigurationError(f"model is {shown(model)}, expected a string or None")
    try:
        model.encode()
    except UnicodeEncodeError:
        raise ConfigurationError("model holds a lone surrogate, expected valid Unicode") from None
    return model


def checked_stream(stream: bool | None) -> bool | None:
    """Return whether to stream; None: the body decides. Strings are rejected, because ``"false"`` would count as true."""
    if stream is not None and not isinstance(stream, bool):
        raise ConfigurationError(f"stream is {shown(stream)}, expected True, False or None")
    return stream


def checked_status(status: int) -> int:
    """Return the HTTP status of an answer. It is 200 for an error in the body of a success."""
    if isinstance(status, bool) or not isinstance(status, int) or not 200 <= status <= 599:
        raise ConfigurationError(f"status is {shown(status)}, expected an HTTP status from 200 to 599")
    return int(status)


def checked_names(name: str, values: Iterable[S]) -> tuple[S, ...]:
    """Return strings as a tuple, in their order. A single string is rejected, because its members are letters."""
    if isinstance(values, str | bytes) or not isinstance(values, Iterable):
        raise ConfigurationError(f"{name} is {shown(values)}, expected strings in a tuple, list or set")
    names = tuple(values)
    for each in names:
        if not isinstance(each, str):
            raise ConfigurationError(f"{name} contains {shown(each)}, expected strings")
    return names


def checked_table(name: str, table: Mapping[str, str]) -> None:
    """Raise ``ConfigurationError`` unless the value is a mapping of strings to strings."""
    if not isinstance(table, Mapping):
        raise ConfigurationError(f"{name} is {shown(table)}, expected a mapping of strings to strings")
    checked_names(name, table)
    checked_names(name, table.values())


def checked_chunks(chunks: T) -> T:
    """Return the chunks of a stream. Bytes are rejected, because their members are numbers."""
    if isinstance(chunks, (*_BYTES, str)):
        raise ConfigurationError(f"chunks is {type_name(chunks)}, expected an iterable of bytes, such as a list of them")
    if not isinstance(chunks, Iterable | AsyncIterable):
        raise ConfigurationError(f"chunks is {type_name(chunks)}, expected an iterable of bytes")
    return chunks


def checked_cause(cause: BaseException | None) -> None:
    """Raise ``ConfigurationError`` unless the value is an exception or None."""
    if cause is not None and not isinstance(cause, BaseException):
        raise ConfigurationError(f"cause is {shown(cause)}, expected an exception or None")


def bytes_of(chunk: bytes | bytearray | memoryview) -> bytes:
    """Return a chunk of a stream as bytes."""
    if type(chunk) is bytes:
        return chunk
    if not isinstance(chunk, _BYTES):
        raise ConfigurationError(f"chunk is {type_name(chunk)}, expected bytes")
    return bytes(chunk)
