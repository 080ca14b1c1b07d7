"""Join surrogate pairs that are split between two events: some servers split text by UTF-16 units (openclaw/openclaw#110642)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from formatbridge.jsontext.codec import NotJsonError, join_surrogates
from formatbridge.jsontext.types import JsonValue

_Place = tuple[object, ...]

_INDEXES = ("index", "output_index", "content_index", "summary_index", "item_id")
"""Members of an event that show which text it continues."""


class SurrogateJoiner:
    """Joins the high surrogate at the end of a text with the low surrogate at the start of the next event for this text."""

    def __init__(self) -> None:
        self.pending: dict[_Place, str] = {}
        """The high surrogates whose low surrogates have not arrived, by the places of their texts."""

    def join(self, event: JsonValue) -> None:
        """Join the texts of a parsed event in place. Raise ``NotJsonError`` if a text must continue with a low surrogate and does not."""
        for holder, key, place in list(_texts(event)):
            if not holder[key]:
                continue
            high = self.pending.pop(place, "")
            text = join_surrogates(high + holder[key])
            if high and text[0] == high:
                raise NotJsonError("", "continues after a high surrogate, expected a low surrogate at its start")
            if "\ud800" <= text[-1:] <= "\udbff":
                self.pending[place] = text[-1]
                text = text[:-1]
            holder[key] = text


def _texts(event: JsonValue) -> Iterator[tuple[Any, Any, _Place]]:
    """Yield the texts of an event: the container of each, its key, and a place that is equal in events which continue the text."""
    pending: list[tuple[Any, _Place]] = [(event, ())]
    while pending:
        holder, place = pending.pop()
        if isinstance(holder, dict):
            place = (*place, *(index for name in _INDEXES if isinstance(index := holder.get(name), str | int)))
        for key, item in holder.items() if isinstance(holder, dict) else enumerate(holder) if isinstance(holder, list) else ():
            if isinstance(item, str):
                yield holder, key, (*place, key)
            else:
                pending.append((item, (*place, key)))
