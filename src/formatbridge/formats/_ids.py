"""Ids of answers: made from the source's by a prefix, and taken back on the way home."""

from __future__ import annotations

from hashlib import sha256
from typing import Any

from formatbridge._codec import dumps

_PREFIXES = ("chatcmpl-", "msg_", "resp_")


def encode_id(given: str | None, prefix: str) -> str | None:
    """Return an id with the target's prefix that still holds the source's; None where there is none."""
    if not given:
        return None
    if prefix and prefix not in given:  # nearly always: it was not made from an id of the target's
        return f"{prefix}{given}"
    for known in _PREFIXES:
        if given.startswith(known):
            inner = given.removeprefix(known)
            if inner.startswith(_PREFIXES) and inner.startswith(prefix):
                return inner
            break
    return given if given.startswith(prefix) else f"{prefix}{given}"


def made_call_id(*facts: Any) -> str:
    """Make the id of a call in an answer that has no id itself: from all that tells the call from those of other answers."""
    return f"call_{sha256(dumps(facts)).hexdigest()[:24]}"
