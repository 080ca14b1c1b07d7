"""Conversations of nothing but texts, in the formats whose turns have a role and one content each."""

from __future__ import annotations

from formatbridge import ir
from formatbridge._pointers import KNOWN, known_places

_PLACES = known_places("/messages", "content")


def decode_turns(given: object, speakers: tuple[str, ...]) -> list[ir.Message] | None:
    """Read turns that nobody has checked, if each is one text of one of the ``speakers`` and nothing else; None for any others."""
    if type(given) is not list:
        return None
    messages: list[ir.Message] = []
    for index, raw in enumerate(given):
        if type(raw) is not dict or len(raw) != 2:
            return None
        role, content = raw.get("role"), raw.get("content")
        if type(content) is not str or role not in speakers:
            return None
        src, place = _PLACES[index] if index < KNOWN else (f"/messages/{index}", f"/messages/{index}/content")
        messages.append(ir.Message(role, [ir.Text(content, place)], src))
    return messages
