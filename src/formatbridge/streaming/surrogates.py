"""Characters of which one event brings the first half and a later one the second: some servers cut text by UTF-16 units."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from formatbridge.jsontext.codec import NotJsonError, join_surrogates
from formatbridge.jsontext.types import JsonValue

_Place = tuple[object, ...]

_TELLS = ("index", "output_index", "content_index", "summary_index", "item_id")
"""Members by which an event says which text it goes on with."""


class Halves:
    """Keeps the first halves of characters until the second ones come."""

    def __init__(self) -> None:
        #: The first halves whose second ones have not come, by their places.
        self.waiting: dict[_Place, str] = {}

    def join(self, event: JsonValue) -> None:
        """Put characters together, in the parsed event; its last text keeps no half. What goes on otherwise raises ``NotJsonError``."""
        for holder, key, place in list(_texts(event)):
            if not holder[key]:
                continue
            held = self.waiting.pop(place, "")
            text = join_surrogates(held + holder[key])
            if held and text[0] == held:
                raise NotJsonError("", "goes on where half a character ended, expected its other half")
            if "\ud800" <= text[-1:] <= "\udbff":
                self.waiting[place] = text[-1]
                text = text[:-1]
            holder[key] = text


def _texts(event: JsonValue) -> Iterator[tuple[Any, Any, _Place]]:
    """Yield the texts of an event: what holds each, under which key, and what it has in common with those that go on with it."""
    pending: list[tuple[Any, _Place]] = [(event, ())]
    while pending:
        holder, place = pending.pop()
        if isinstance(holder, dict):
            place = (*place, *(told for name in _TELLS if isinstance(told := holder.get(name), str | int)))
        for key, item in holder.items() if isinstance(holder, dict) else enumerate(holder) if isinstance(holder, list) else ():
            if isinstance(item, str):
                yield holder, key, (*place, key)
            else:
                pending.append((item, (*place, key)))
