"""Removals of values and new orders of lists, recorded by pointers and applied in one step, so that the pointers stay valid."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from formatbridge.jsontext.pointers import escape, prefixes
from formatbridge.jsontext.types import JsonObject
from formatbridge.report.ledger import resolve

_NOTHING = object()
_TEXTS = ("/content", "/output")
"""Ends of pointers to lists of parts. A list that becomes empty there is replaced by an empty text."""


@dataclass(frozen=True, slots=True)
class NewItem:
    """An item that the list of the caller does not have."""

    value: Any


class BodyChanges:
    """Removals of values and new orders of lists of one body."""

    def __init__(self, body: JsonObject) -> None:
        self._body = body
        self._removed: set[str] = set()
        self._orders: dict[str, Sequence[int | NewItem]] = {}

    def remove(self, pointers: Iterable[str]) -> None:
        """Record pointers at which the body has no value any more."""
        self._removed.update(pointers)

    def is_removed(self, pointer: str) -> bool:
        """Return whether the value at a pointer is removed."""
        return pointer in self._removed

    def arrange(self, pointer: str, items: Sequence[int | NewItem]) -> None:
        """Record the items of the list at a pointer: indexes of the body, and new items."""
        self._orders[pointer] = items

    def forget(self, pointer: str) -> None:
        """Remove what is recorded below a pointer, whose value is replaced as a whole."""
        self._removed = {each for each in self._removed if not each.startswith(f"{pointer}/")}
        self._orders = {each: items for each, items in self._orders.items() if not f"{each}/".startswith(f"{pointer}/")}

    def apply(self, body: JsonObject) -> JsonObject:
        """Return a body, with values changed in their places, with these changes too; without objects that become empty."""
        paths = {prefix for pointer in [*self._removed, *self._orders] for prefix in prefixes(pointer)}
        changed = self._applied(body, "", paths)
        return {} if changed is _NOTHING else changed

    def _applied(self, value: Any, pointer: str, paths: set[str]) -> Any:
        if pointer in self._removed:
            return _NOTHING
        if pointer not in paths or not isinstance(value, dict | list):
            return value
        if isinstance(value, dict):
            members = {key: self._applied(member, f"{pointer}/{escape(key)}", paths) for key, member in value.items()}
            return {key: member for key, member in members.items() if member is not _NOTHING} or _NOTHING
        items: list[Any] = []
        for item in self._orders.get(pointer, range(len(value))):
            items.append(item.value if isinstance(item, NewItem) else self._applied(value[item], f"{pointer}/{item}", paths))
        kept = [item for item in items if item is not _NOTHING]
        if value and not kept and pointer.count("/") > 2 and not pointer.endswith("/parts"):
            return "" if pointer.endswith(_TEXTS) else _NOTHING  # in a message an empty list of calls or images is invalid
        return kept

    def pointer_of(self, item: NewItem, pointer: str) -> str:
        """Return the pointer, after the changes, of a new item of the list at a pointer."""
        return f"{self.pointer(pointer)}/{[each is item for each in self._items(pointer) or ()].index(True)}"

    def pointer(self, pointer: str) -> str:
        """Translate a pointer from before the changes to after them. A removed item has the pointer of the next one."""
        above = result = ""
        for step in pointer.split("/")[1:]:
            items = self._items(above)
            if items is None:
                result += f"/{step}"
            elif int(step) in items:
                result += f"/{items.index(int(step))}"
            else:
                result += f"/{sum(isinstance(item, int) and item < int(step) for item in items)}"
            above += f"/{step}"
        return result

    def original(self, pointer: str) -> str:
        """Translate a pointer from after the changes to before them. A value in a new item has the pointer of its list."""
        result = ""
        for step in pointer.split("/")[1:]:
            items = self._items(result)
            item = step if items is None else items[int(step)]
            if isinstance(item, NewItem):
                return result
            result += f"/{item}"
        return result

    def _items(self, pointer: str) -> list[int | NewItem] | None:
        """Return the items, after the changes, of the list at a pointer; None if the list has no changes."""
        order = self._orders.get(pointer)
        if order is None:
            if not any(each.rpartition("/")[0] == pointer for each in self._removed):
                return None
            value = resolve(self._body, pointer)[1]
            if not isinstance(value, list):
                return None
            order = range(len(value))
        return [item for item in order if isinstance(item, NewItem) or f"{pointer}/{item}" not in self._removed]
