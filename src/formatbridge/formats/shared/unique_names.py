"""Names and ids that fit another format: legal characters, limited length, unique."""

from __future__ import annotations

import re
from collections.abc import Container
from hashlib import sha256
from typing import Any

from formatbridge.formats.format import Context
from formatbridge.jsontext.codec import dumps

_ILLEGAL = re.compile(r"[^A-Za-z0-9_-]")


def with_legal_letters(name: str, longest: int | None) -> str:
    """Return a name in characters that every format takes. A name that is too long ends in a hash, so that it stays unique."""
    legal = _ILLEGAL.sub("_", name)
    return legal if longest is None or len(legal) <= longest else truncate_with_hash(legal, longest, name)


def truncate_with_hash(text: str, longest: int, whole: str, *, digits: int = 8) -> str:
    """Return the beginning of a text that is too long, and a hash of the ``whole`` of it, with so many hexadecimal digits."""
    return f"{text[: longest - digits - 1]}_{sha256(whole.encode()).hexdigest()[:digits]}"


class UniqueNames:
    """Makes names unique: appends a number to a name that is taken."""

    __slots__ = ("_last",)

    def __init__(self) -> None:
        self._last: dict[str, int] = {}

    def unique(self, name: str, *taken: Container[str], longest: int | None = None) -> str:
        """Return a name that is not taken. Numbers continue after the last similar name."""
        result, count = name, self._last.get(name, 1)
        while any(result in names for names in taken):
            count += 1
            tail = f"_{count}"
            result = f"{name if longest is None else name[: longest - len(tail)]}{tail}"
        self._last[name] = count
        return result


_PREFIXES = ("chatcmpl-", "msg_", "resp_")


def encode_id(raw: str | None, prefix: str, context: Context | None) -> str | None:
    """Return an id with the target's prefix that contains the source's id; None if there is none.

    The id of an answer in the caller's format stays as it is: the caller may refer to it.
    """
    if not raw:
        return None
    if context is not None and context.is_same_format:
        return raw
    # "msg_1" becomes "resp_msg_1" in Responses, and "msg_1" again in Messages, so a stored id is the same after both conversions.
    if prefix and prefix not in raw:  # the common case: the id was not created from an id of the target
        return f"{prefix}{raw}"
    for known in _PREFIXES:
        if raw.startswith(known):
            inner = raw.removeprefix(known)
            if inner.startswith(_PREFIXES) and inner.startswith(prefix):
                return inner
            break
    return raw if raw.startswith(prefix) else f"{prefix}{raw}"


def derive_call_id(*facts: Any) -> str:
    """Return an id for a call in an answer without an id, from all that distinguishes the call from those of other answers."""
    return f"call_{sha256(dumps(facts)).hexdigest()[:24]}"
