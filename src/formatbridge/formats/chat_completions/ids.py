"""Ids of calls that have none: made from where they stand, and in an answer from its id."""

from __future__ import annotations

from hashlib import sha256


def call_stem(answer_id: str, position: int | str) -> str:
    """Return what the ids begin with that are made for the calls of a choice."""
    return f"call_{sha256(answer_id.encode()).hexdigest()[:16]}_{position}"


def stem_at(src: str, answer_id: str | None) -> str:
    """Return what the ids begin with that are made for the calls of a message."""
    return f"call_{position_of(src)}" if answer_id is None else call_stem(answer_id, position_of(src))


def made_id_at(src: str, answer_id: str | None) -> str:
    """Make the id of a call at a pointer."""
    return f"{stem_at(src, answer_id)}_{src.rpartition('/')[2]}"


def position_of(src: str) -> str:
    """Return the index of the message that a pointer is in."""
    return src.split("/")[2] if src.count("/") >= 2 else "0"
