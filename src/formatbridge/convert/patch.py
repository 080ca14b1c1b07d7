"""Apply the differences of two encoded bodies to the body of a caller, which keeps everything else.

``BodyChanges`` records removals and new orders of lists by pointers and applies them in one step, so that the pointers stay valid.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from formatbridge.convert.alignment import Item, align, as_list, covers, moved_indexes
from formatbridge.convert.item_matching import ListVersions
from formatbridge.convert.origins import Origins
from formatbridge.formats.format import FormatSpec
from formatbridge.jsontext.codec import dumps
from formatbridge.jsontext.pointers import escape, prefixes
from formatbridge.jsontext.types import JsonObject
from formatbridge.report.ledger import resolve

_REMOVED = object()
"""Replaces a value that is removed, or whose members are all removed."""
_TEXTS = ("/content", "/output")
"""Ends of pointers to lists of parts. A list that becomes empty there is replaced by an empty text."""


@dataclass(frozen=True, slots=True)
class _NewItem:
    """An item that the list of the caller does not have."""

    value: Any


class BodyChanges:
    """Removals of values and new orders of lists of one body."""

    def __init__(self, body: JsonObject) -> None:
        self._body = body
        self._removed: set[str] = set()
        self._orders: dict[str, Sequence[int | _NewItem]] = {}

    def remove(self, pointers: Iterable[str]) -> None:
        """Record pointers at which the body has no value any more."""
        self._removed.update(pointers)

    def is_removed(self, pointer: str) -> bool:
        """Return whether the value at a pointer is removed."""
        return pointer in self._removed

    def arrange(self, pointer: str, items: Sequence[int | _NewItem]) -> None:
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
        return {} if changed is _REMOVED else changed

    def _applied(self, value: Any, pointer: str, paths: set[str]) -> Any:
        if pointer in self._removed:
            return _REMOVED
        if pointer not in paths or not isinstance(value, dict | list):
            return value
        if isinstance(value, dict):
            members = {key: self._applied(member, f"{pointer}/{escape(key)}", paths) for key, member in value.items()}
            return {key: member for key, member in members.items() if member is not _REMOVED} or _REMOVED
        items: list[Any] = []
        for item in self._orders.get(pointer, range(len(value))):
            items.append(item.value if isinstance(item, _NewItem) else self._applied(value[item], f"{pointer}/{item}", paths))
        kept = [item for item in items if item is not _REMOVED]
        if value and not kept and pointer.count("/") > 2 and not pointer.endswith("/parts"):
            return "" if pointer.endswith(_TEXTS) else _REMOVED  # in a message an empty list of calls or images is invalid
        return kept

    def pointer_of(self, item: _NewItem, pointer: str) -> str:
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
            if isinstance(item, _NewItem):
                return result
            result += f"/{item}"
        return result

    def _items(self, pointer: str) -> list[int | _NewItem] | None:
        """Return the items, after the changes, of the list at a pointer; None if the list has no changes."""
        order = self._orders.get(pointer)
        if order is None:
            if not any(each.rpartition("/")[0] == pointer for each in self._removed):
                return None
            value = resolve(self._body, pointer)[1]
            if not isinstance(value, list):
                return None
            order = range(len(value))
        return [item for item in order if isinstance(item, _NewItem) or f"{pointer}/{item}" not in self._removed]


_ABSENT = object()


class Patch:
    """Applies the differences between two bodies to a third, and records where."""

    def __init__(self, raw: JsonObject, format: FormatSpec, origins: Origins) -> None:
        self._format, self._origins = format, origins
        self._raw = raw
        self.changes = BodyChanges(raw)
        """Removed, moved and new items of lists, which ``apply`` leaves in their places so that pointers stay valid."""
        self._changed: set[str] = set()
        self._above: set[str] = set()
        self._replaced: set[str] = set()
        self._moved: set[str] = set()
        self._unwritten_values: list[str] = []
        self._sources: set[str] = set()
        """The pointers of the texts in values that the body gets from the encoder."""
        self._written: dict[str, dict[int, int | _NewItem]] = {}
        """For each list of the caller, by pointer: the index in the encoder's list to the index of the caller's item, or to a new item."""

    def note(self, pointer: str) -> None:
        """Record that the value at a pointer, such as ``/messages/0/content``, differs from that of the caller."""
        self._changed.add(pointer)
        self._above.update(prefixes(pointer))

    def replace(self, pointer: str, value: Any) -> Any:
        """Record that the encoder's value, a list or an object, replaces that of the caller at a pointer; return the value."""
        self.note(pointer)
        self._replaced.add(pointer)
        self.changes.forget(pointer)
        self._unwritten_values = [each for each in self._unwritten_values if not each.startswith(f"{pointer}/")]
        self._written = {each: items for each, items in self._written.items() if not f"{each}/".startswith(f"{pointer}/")}
        return value

    def note_changes(self, before: JsonObject, after: JsonObject, keys: Iterable[str]) -> None:
        """Record the pointers at which two objects differ, below some of their keys."""
        for key in keys:
            old, new = before.get(key), after.get(key)
            if isinstance(old, dict) and isinstance(new, dict):
                for member in old.keys() | new.keys():
                    if old.get(member) != new.get(member):
                        self.note(f"/{key}/{member}")
            elif old != new:
                self.note(f"/{key}")

    def remove_moved(self) -> None:
        """Record the removal of values that the encoder has moved to another field, if the body gets this field from the encoder."""
        written = {prefix for pointer in self._sources for prefix in prefixes(pointer)}
        for pointer in self._unwritten_values:
            if pointer in written:
                self.changes.remove([pointer])
                self.note(pointer)

    def replaces(self, pointer: str) -> bool:
        """Return whether the value at a pointer was replaced as a whole."""
        return pointer in self._replaced

    def concerns(self, pointer: str) -> bool:
        """Return whether a value at, above or below a pointer has changed, or the item at it has moved."""
        return pointer in self._moved or pointer in self._above or not self._changed.isdisjoint(prefixes(pointer))

    def is_unwritten(self, pointer: str) -> bool:
        """Return whether a value of the caller, which the encoder does not write, stays in the body."""
        return pointer in self._unwritten_values and not self.changes.is_removed(pointer)

    def pointer_of_addition(self, pointer: str) -> str | None:
        """Translate the pointer of an addition in the encoded body to the final body; None if the final body does not have it."""
        path = ""
        steps = pointer.split("/")[1:]
        for depth, step in enumerate(steps, 1):
            if path not in self._written:
                value = resolve(self._raw, path)[1]
                path += f"/{self._format.key_in(value, step) if isinstance(value, dict) else step}"
                continue
            item = self._written[path].get(int(step))
            if item is None:
                return None
            if isinstance(item, _NewItem):
                return "/".join([self.changes.pointer_of(item, path), *steps[depth:]])
            path += f"/{item}"
        return self.changes.pointer(path) if self.concerns(path) else None

    def apply(self, raw: Any, before: Any, after: Any, pointer: str) -> Any:
        """Return ``raw`` with the changes from ``before`` to ``after``; the same object if there are none."""
        if dumps(before) == dumps(after):  # in Python 1 equals True
            return raw
        if isinstance(raw, dict) and isinstance(before, dict) and isinstance(after, dict):
            return self._apply_to_object(raw, before, after, pointer)
        if isinstance(raw, list) and any(isinstance(item, dict) for item in raw):
            text_type = self._origins.identity.text_type if len(raw) > 1 else None
            old, new = (as_list(value, raw, text_type) for value in (before, after))
            items = None if old is None or new is None else align(ListVersions(raw, old, new, pointer, self._origins))
            if items or (items is not None and isinstance(after, list)):
                return self._apply_to_list(raw, items, pointer)
        self.note(pointer)
        self._sources.update(self._origins.pointers(after))
        if isinstance(raw, list | dict):
            self._replaced.add(pointer)
        return after

    def _apply_to_list(self, raw: list[Any], items: list[Item], pointer: str) -> list[Any]:
        """Return a list with changed items in their places; record removed, moved and new items."""
        result, order = list(raw), list[int | _NewItem]()
        for item in items:
            if item.is_new:
                order.append(_NewItem(item.server))
                self._sources.update(self._origins.pointers(item.server))
                self._above.update(prefixes(pointer))
            else:
                index = item.caller_index
                order.append(index)
                if item.server_index < 0:
                    self._unwritten_values.append(f"{pointer}/{index}")
                result[index] = self.apply(raw[index], item.common, item.server, f"{pointer}/{index}")
        self._written[pointer] = {item.server_index: sent for item, sent in zip(items, order, strict=True)}
        if order != [*range(len(raw))]:
            kept = [index for index in order if isinstance(index, int)]
            for index in {*range(len(raw))} - {*kept}:
                self.note(f"{pointer}/{index}")
            self._moved |= {f"{pointer}/{index}" for index in moved_indexes(kept)}
            self.changes.arrange(pointer, order)
        return result

    def _apply_to_object(self, raw: JsonObject, before: JsonObject, after: JsonObject, pointer: str) -> JsonObject:
        result, count = dict(raw), len(self._changed)
        written = {self._format.key_in(raw, key) for key in (*before, *after)}
        self._unwritten_values += [f"{pointer}/{escape(key)}" for key in raw if key not in written]
        for key in [*before, *(key for key in after if key not in before)]:
            name = self._format.key_in(raw, key)
            below = f"{pointer}/{escape(name)}"
            if key not in after:
                unwritten = self._unwritten(raw.get(name), before[key], below)
                if unwritten:
                    self._apply_to_list(raw[name], unwritten, below)
                elif below[1:] in self._format.setting_objects and _has_others(raw.get(name), before[key]):
                    result[name] = self.apply(raw[name], before[key], {}, below)
                elif name in result:
                    del result[name]
                    self.note(below)
            # A setting object of the caller may have members that the encoder does not write, and keeps them.
            elif name in raw and (key in before or below[1:] in self._format.setting_objects):
                result[name] = self.apply(raw[name], before.get(key, {}), after[key], below)
            # A key that only the server's body has may be in the caller's body already, in a field that the format does not write.
            elif before.get(key, _ABSENT) != after[key] and (key in before or not covers(raw.get(name), after[key])):
                result[name] = _added(before.get(key), after[key])
                self._sources.update(self._origins.pointers(after[key]))
                self.note(below)
        return result if len(self._changed) > count else raw

    def _unwritten(self, raw: Any, before: Any, pointer: str) -> list[Item] | None:
        """Return the items of a list that the encoder does not write."""
        return (
            align(ListVersions(raw, before, [], pointer, self._origins))
            if isinstance(raw, list) and isinstance(before, list)
            else None
        )


def _has_others(raw: Any, written: Any) -> bool:
    """Return whether an object of the caller has members that the encoder does not write."""
    if not isinstance(raw, dict) or not isinstance(written, dict):
        return False
    return any(value is not None and key not in written for key, value in raw.items())


def _added(before: Any, after: Any) -> Any:
    """Return a value that the caller does not have; of a list with new items, only these, because the encoder has added the others."""
    if isinstance(before, list) and isinstance(after, list) and all(item in after for item in before):
        return [item for item in after if item not in before]
    return after
