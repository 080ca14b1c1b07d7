"""Apply the differences of two encoded bodies to the body of a caller, which keeps everything else."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

from formatbridge.jsontext.codec import dumps
from formatbridge.jsontext.pointers import escape, to_snake
from formatbridge.jsontext.types import JsonObject

_ABSENT = object()


class Patch:
    """Applies the differences between two bodies to a third, and records where."""

    def __init__(self) -> None:
        self._changed: list[str] = []
        self._replaced: set[str] = set()
        self._removed: list[str] = []

    @property
    def removed(self) -> list[str]:
        """The pointers of list items to remove, which ``apply`` leaves in their lists so that other pointers stay valid."""
        return [path for path in self._removed if not any(path.startswith(f"{replaced}/") for replaced in self._replaced)]

    def note(self, path: str) -> None:
        """Record a pointer at which another value than that of the caller is written."""
        self._changed.append(path)

    def replace(self, path: str, value: Any) -> Any:
        """Record a pointer at which another value with items or members is written, and return this value."""
        self._changed.append(path)
        self._replaced.add(path)
        return value

    def note_changes(self, before: JsonObject, after: JsonObject, keys: Iterable[str]) -> None:
        """Record the pointers at which two objects differ, below some of their keys."""
        for key in keys:
            old, new = before.get(key), after.get(key)
            if isinstance(old, dict) and isinstance(new, dict):
                self._changed += [f"/{key}/{member}" for member in old.keys() | new.keys() if old.get(member) != new.get(member)]
            elif old != new:
                self._changed.append(f"/{key}")

    def replaces(self, path: str) -> bool:
        """Return whether the value at a pointer was replaced as a whole."""
        return path in self._replaced

    def concerns(self, path: str) -> bool:
        """Return whether a pointer is at, above or below a changed value."""
        return any(f"{path}/".startswith(f"{changed}/") or f"{changed}/".startswith(f"{path}/") for changed in self._changed)

    def apply(self, raw: Any, before: Any, after: Any, path: str) -> Any:
        """Return ``raw`` with the changes from ``before`` to ``after``; the same object if there are none."""
        if dumps(before) == dumps(after):  # in Python 1 equals True
            return raw
        if isinstance(raw, dict) and isinstance(before, dict) and isinstance(after, dict):
            return self._apply_to_object(raw, before, after, path)
        if isinstance(raw, list) and isinstance(before, list) and isinstance(after, list):
            changed = self._apply_to_list(raw, before, after, path)
            if changed is not None:
                return changed
        self._changed.append(path)
        if isinstance(raw, list | dict):
            self._replaced.add(path)
        return after

    def _apply_to_list(self, raw: list[Any], before: list[Any], after: list[Any], path: str) -> list[Any] | None:
        """Return a list with changed, removed or added items; None if it must be replaced as a whole."""
        indexes = _indexes_in(raw, before, path)
        if path == "/tools" and indexes is not None:
            return self._apply_to_tools(raw, before, after, indexes)
        has_moved = [*map(_role, before)] != [*map(_role, after)]
        if indexes is not None and len(before) == len(after) and not has_moved:
            result = list(raw)
            for index, old, new in zip(indexes, before, after, strict=True):
                result[index] = self.apply(raw[index], old, new, f"{path}/{index}")
            return result
        removed = None if indexes is None else _removed_from(indexes, before, after)
        if removed is not None:
            self._remove(path, removed)
            return raw
        if _adds_known_items(raw, before, after):
            return raw
        if _is_extended(raw, before, after, path):
            self._changed += [f"{path}/{index}" for index in range(len(raw), len(after))]
            return raw + after[len(raw) :]
        return None

    def _apply_to_tools(self, raw: list[Any], before: list[Any], after: list[Any], indexes: list[int]) -> list[Any]:
        """Return a list of tools with changed and removed ones; others come last. ``indexes``: those of ``before`` in ``raw``."""
        result, rest, removed = list(raw), list(after), []
        for index, old in zip(indexes, before, strict=True):
            at = next((at for at, new in enumerate(rest) if _is_same_tool(old, new)), None)
            if at is None:
                removed.append(index)
            else:
                result[index] = self.apply(raw[index], old, rest.pop(at), f"/tools/{index}")
        self._remove("/tools", removed)
        self._changed += [f"/tools/{index}" for index in range(len(raw), len(raw) + len(rest))]
        return result + rest

    def _apply_to_object(self, raw: JsonObject, before: JsonObject, after: JsonObject, path: str) -> JsonObject:
        result, count = dict(raw), len(self._changed)
        for key in [*before, *(key for key in after if key not in before)]:
            # ``name``: the key as the caller has it. Gemini's servers also read keys in snake_case.
            name = key if key in raw or to_snake(key) not in raw else to_snake(key)
            below = f"{path}/{escape(name)}"
            if key not in after:
                indexes = _indexes_of_written(result.get(name), before[key], below)
                if indexes:
                    self._remove(below, indexes)
                elif name in result:
                    del result[name]
                    self._changed.append(below)
            elif key in before and name in raw:
                result[name] = self.apply(raw[name], before[key], after[key], below)
            # A key that only the server's body has may be in the caller's body already, in a field that the format does not write.
            elif before.get(key, _ABSENT) != after[key] and (key in before or not _covers(raw.get(name), after[key])):
                result[name] = after[key]
                self._changed.append(below)
        return result if len(self._changed) > count else raw

    def _remove(self, path: str, indexes: Iterable[int]) -> None:
        pointers = [f"{path}/{index}" for index in indexes]
        self._changed += pointers
        self._removed += pointers


def _indexes_of_written(raw: Any, before: Any, path: str) -> list[int] | None:
    """Return the indexes of the items of a list that the encoder writes, if it does not write others; None otherwise."""
    indexes = _indexes_in(raw, before, path) if isinstance(raw, list) and isinstance(before, list) else None
    return indexes if indexes is not None and len(indexes) < len(raw) else None


def _indexes_in(raw: list[Any], before: list[Any], path: str) -> list[int] | None:
    """Return the index in ``raw`` of each item of ``before``; None if the encoder has moved or joined items.

    ``raw`` may also have items that the encoder does not write, if no written item is of the same kind.
    """
    expected, present = _identities(before, path), _identities(raw, path)
    indexes = [index for index, identity in enumerate(present) if identity in expected]
    return indexes if [present[index] for index in indexes] == expected else None


def _removed_from(indexes: list[int], before: list[Any], after: list[Any]) -> set[int] | None:
    """Return the indexes of the items that ``after`` does not have, if that is the only difference to ``before``; otherwise None."""
    kept = [dumps(item) for item in after]
    removed = set()
    for index, item in zip(indexes, before, strict=True):
        if kept and dumps(item) == kept[0]:
            del kept[0]
        else:
            removed.add(index)
    return None if kept else removed


def _adds_known_items(raw: list[Any], before: list[Any], after: list[Any]) -> bool:
    """Return whether ``after`` is ``before`` with items that ``raw`` has already, such as reasoning that only this server reads."""
    if len(raw) != len(after):
        return False
    others = [dumps(item) for item in before]
    for one, new in zip(raw, after, strict=True):
        if others and dumps(new) == others[0]:
            del others[0]
        elif not _covers(one, new):
            return False
    return not others


def _is_extended(raw: list[Any], before: list[Any], after: list[Any], path: str) -> bool:
    """Return whether ``after`` is ``before`` with further items, such as tools that a conversation adds later."""
    is_same = _identities(raw, path) == _identities(before, path)
    return is_same and len(after) > len(before) and dumps(after[: len(before)]) == dumps(before)


def _role(value: Any) -> Any:
    """Return the role of a message. Messages for the developer and the system are at the same places."""
    role = value.get("role") if isinstance(value, dict) else None
    return "system" if role == "developer" else role


def _is_same_tool(old: Any, new: Any) -> bool:
    """Return whether two encodings are of one tool: both have its name, or neither has one and both have its type."""
    name = _name_of_tool(old)
    return name == _name_of_tool(new) and (name is not None or _identities([old], "/tools") == _identities([new], "/tools"))


def _name_of_tool(tool: Any) -> Any:
    # {"type": "function", "function": {"name": "f"}}, {"type": "mcp", "server_label": "docs"},
    # {"functionDeclarations": [{"name": "f"}]}, {"name": "f", "input_schema": {...}}
    function = tool.get("function") or tool.get("custom")
    return tool.get("name") or tool.get("server_label") or (function.get("name") if isinstance(function, dict) else None)


def _identities(items: list[Any], path: str) -> list[Any]:
    """Return what distinguishes each item of a list from its neighbours. ``path``: the pointer of the list."""
    return [_identity(item, is_tool=path == "/tools") if isinstance(item, dict) else None for item in items]


def _identity(item: JsonObject, *, is_tool: bool) -> Any:
    kind = item.get("type")
    if is_tool and "input_schema" in item:  # Messages: the type ``custom`` is the default
        kind = None
    elif is_tool and kind is None and item:  # Gemini: ``{"googleSearch": {}}``, or ``google_search``
        return to_snake(next(iter(item)))
    # The encoder writes another version of the types of tools that a server runs.
    return item.get("role"), _VERSION.sub("", kind) if isinstance(kind, str) else kind, item.get("tool_call_id")


_VERSION = re.compile(r"(_preview)?(_\d{8}|_\d{4}_\d{2}_\d{2})?$")
"""The version in the type of a tool: ``web_search_20260318``, ``web_search_preview_2025_03_11``."""


def _covers(raw: Any, value: Any) -> bool:
    """Return whether a value of the body has all of another value already."""
    if isinstance(raw, dict) and isinstance(value, dict):
        return all(key in raw and _covers(raw[key], member) for key, member in value.items())
    return type(raw) is type(value) and bool(raw == value)
