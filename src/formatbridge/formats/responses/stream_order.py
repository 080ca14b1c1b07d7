"""Streams of responses, read: items found by their place or id, and their messages in the order of the output.

Where the text of a message begins is known when those before it are whole.
"""

from __future__ import annotations

from heapq import heappop, heappush
from typing import Any

from formatbridge import ir
from formatbridge.formats.responses.conversation import kind_of
from formatbridge.formats.responses.stream_parts import Item
from formatbridge.jsontext.types import JsonObject


class Items:
    """The items so far."""

    def __init__(self) -> None:
        self.all: list[Item] = []
        self._length = 0
        self._by_index: dict[int, Item] = {}
        self._by_id: dict[str, Item] = {}
        self._by_place: dict[int, Item] = {}
        self._row: list[tuple[int, int, Item]] = []
        self._count = 0

    def add(self, kind: str, index: Any, item_id: Any) -> Item:
        """Take the next item."""
        is_place = isinstance(index, int) and index not in self._by_index
        item = Item(kind, index if is_place else len(self.all), item_id if isinstance(item_id, str) else None)
        self.all.append(item)
        self._by_place[item.at] = item
        self._by_index[index if isinstance(index, int) else item.at] = item
        if item.id:
            self._by_id[item.id] = item
        if kind == "message":
            self.line_up(item)
        return item

    def find(self, raw: JsonObject, item_id: Any, kind: str = "") -> Item:
        """Find the item that an event is about, or take it for the next."""
        return self.get(raw, item_id) or self.add(kind, raw.get("output_index"), item_id)

    def get(self, raw: JsonObject, item_id: Any) -> Item | None:
        """Find the item that an event is about, if any. The place holds, unless an item of that very id stands elsewhere."""
        found = self._by_index.get(raw["output_index"]) if isinstance(raw.get("output_index"), int) else None
        if isinstance(item_id, str) and (found is None or found.id != item_id):
            found = self._by_id.get(item_id, found)
        return found

    def repeated(self, raw: JsonObject, at: int) -> Item:
        """Find the item that the last event repeats: by its id, else by its place; one that never came is new."""
        found = self._by_id.get(raw.get("id") or "")
        if found is None or found.kind != kind_of(raw):
            found = self._by_place.get(at)
        if found is not None and found.kind == kind_of(raw):
            return found
        return self.add(kind_of(raw), at, raw.get("id"))

    # Messages.

    @property
    def length(self) -> int:
        """How much visible text there is before the first message that is open."""
        self.first()
        return self._length

    def line_up(self, item: Item) -> None:
        """Give a message its place in the order of the output."""
        self._count += 1
        heappush(self._row, (item.at, self._count, item))

    def first(self) -> Item | None:
        """Return the first message that is open."""
        while self._row and self._row[0][2].is_closed:
            item = heappop(self._row)[2]
            item.start = self._length
            self._length += item.length
        return self._row[0][2] if self._row else None

    def reaches(self, item: Item) -> bool:
        """Say whether all messages before an item are whole."""
        first = self.first()
        return first is None or item.at <= first.at


def cites(raw: JsonObject) -> bool:
    """Say whether a message has citations, whose spans count from the start of the answer."""
    content = raw.get("content")
    return isinstance(content, list) and any(isinstance(part, dict) and part.get("annotations") for part in content)


def length_of(item: Item) -> int:
    """Return how much visible text an item said."""
    return sum(slot.length for slot in item.slots.values() if isinstance(slot.part, ir.Text))
