"""Repair answers with malformed fields: remove what the wire model rejects and read the rest.

The caller has paid for an answer, so one malformed field must not make it unreadable, such as a citation without its object. The
validation errors name the places. From each place upwards, the smallest value is removed that leaves a valid body. This is an object
member or list item, or the value that contains it if the member is required.
"""

from __future__ import annotations

from collections.abc import Iterable
from copy import copy
from functools import cache
from itertools import starmap
from typing import Any

from pydantic import ValidationError
from pydantic_core import SchemaValidator

from formatbridge.jsontext.pointers import Path, pointer_of, unescape, value_at
from formatbridge.jsontext.types import JsonObject, JsonValue
from formatbridge.validation.error_messages import MISSING, labelled, places_of
from formatbridge.validation.validators import dicts_of

_ROUNDS = 16
"""Validations of one body at most. Each round removes all faults that it finds, and no wire model has more levels."""

_GONE = object()
"""Replaces each removed list item until all removals are done, so that indexes stay valid."""


class Repair:
    """A body without its malformed fields.

    The indexes of a list shift where an item was removed; ``original`` translates pointers into the repaired body.
    """

    __slots__ = ("_kept", "body", "checked", "removed")

    def __init__(self, body: JsonObject, checked: JsonObject, removed: dict[Path, JsonValue], kept: dict[Path, list[int]]) -> None:
        self.body = body
        """The body without them, with the source's keys."""
        self.checked = checked
        """The same body as the validator returns it, with the documented keys."""
        self.removed = removed
        """The malformed values by their paths in the original body."""
        self._kept = kept

    def original(self, pointer: str) -> str:
        """Translate a pointer into the repaired body to one into the original body."""
        return pointer_of(_path_of(pointer, self.body, self._kept))

    @property
    def pointers(self) -> dict[str, JsonValue]:
        """The malformed values by their pointers into the original body."""
        return {pointer_of(path): value for path, value in self.removed.items()}


def repair(shape: Any, raw: JsonObject, essential: Iterable[str] = (), parts: frozenset[Path] = frozenset()) -> Repair | None:
    """Return a body that is invalid for ``shape`` without its malformed values; None if no removal makes it valid.

    ``essential``: paths of values that the body must have, with a star for any index; a body without one of them is not repaired, except
    that an item of a list may lack it if another item has it.
    ``parts``: paths of objects that contain a part of an answer; a malformed part loses its ``type``, so that it becomes an unknown one.
    """
    validate = _lenient(shape, tuple(sorted({path.split("/")[0] for path in essential}))).validate_python
    patterns = [path.split("/") for path in essential]
    removed: set[Path] = set()
    body, kept = raw, dict[Path, list[int]]()
    for _ in range(_ROUNDS):
        try:
            checked = validate(body)
        except ValidationError as error:
            places = places_of(error, body)
        else:
            return Repair(body, checked, {path: value_at(raw, path) for path in _topmost(removed)}, kept)
        for pointer, value in places.items():
            path = _removable(raw, _path_of(pointer, body, kept), is_missing=value is MISSING)
            if any(_is_above(path, pattern) for pattern in patterns):
                path = _replaceable_item(raw, path, patterns, removed)
            if not path:
                return None
            kind = (*path, "type")
            if path in parts and value_at(raw, kind) and kind not in removed:
                removed, path = {other for other in removed if other[: len(path)] != path}, kind
            removed.add(path)
        body, kept = _without(raw, _topmost(removed))
    return None


def faults(shape: Any, raw: JsonObject) -> dict[Path, JsonValue]:
    """Return the malformed values of a body that cannot be repaired, by path."""
    try:
        _lenient(shape, ()).validate_python(raw)
    except ValidationError as error:
        places = places_of(error, raw)
        paths = [_removable(raw, _path_of(pointer, raw, {}), is_missing=value is MISSING) for pointer, value in places.items()]
        return {path: value_at(raw, path) for path in paths}
    return {}


def _removable(raw: JsonObject, path: Path, *, is_missing: bool) -> Path:
    """Return the path to remove for a fault: the object that lacks a required key, or the list item that has no other member."""
    if is_missing:
        return path[:-1]
    is_only_member = (
        len(path) > 1 and isinstance(path[-2], int) and isinstance(path[-1], str) and len(value_at(raw, path[:-1])) == 1
    )
    return path[:-1] if is_only_member else path


@cache
def _lenient(shape: Any, essential: tuple[str, ...]) -> SchemaValidator:
    """Compile a validator for which only the ``essential`` fields of the body are required, and no field with a literal.

    A literal (``type``, ``role``) repeats what the position implies. The target's encoder adds other fields that the body lacks.
    """
    return SchemaValidator(labelled(_without_required(dicts_of(shape), essential if essential else None)))


def _without_required(schema: Any, essential: tuple[str, ...] | None) -> Any:
    """Make fields optional: those with a literal everywhere, and in the outermost object all but the essential ones (None: no others)."""
    if isinstance(schema, list | tuple):
        return type(schema)(_without_required(item, None) for item in schema)
    if not isinstance(schema, dict):
        return schema
    result = {key: value if key == "metadata" else _without_required(value, None) for key, value in schema.items()}
    if schema.get("type") == "typed-dict-field" and schema["schema"].get("type") == "literal":
        result["required"] = False
    if essential is not None and schema.get("type") == "typed-dict":
        result["fields"] = {
            name: field if name in essential else field | {"required": False} for name, field in result["fields"].items()
        }
    elif essential is not None and isinstance(schema.get("schema"), dict):
        result["schema"] = _without_required(schema["schema"], essential)
    return result


def _without(raw: JsonObject, removed: Iterable[Path]) -> tuple[JsonObject, dict[Path, list[int]]]:
    """Return a copy of a body without some values, and the remaining original indexes of each list that lost items, by its path.

    Only values above a removed one are copied.
    """
    copies: dict[Path, Any] = {(): copy(raw)}
    shortened: dict[Path, list[Any]] = {}
    for path in removed:
        node = copies[()]
        for depth in range(1, len(path)):
            above = path[:depth]
            if above not in copies:
                copies[above] = node[path[depth - 1]] = copy(node[path[depth - 1]])
            node = copies[above]
        if isinstance(node, list):
            node[path[-1]] = _GONE  # type: ignore[index]  # the last step into a list is an index
            shortened[path[:-1]] = node
        else:
            del node[path[-1]]
    kept: dict[Path, list[int]] = {}
    for above, items in shortened.items():
        kept[above] = [index for index, item in enumerate(items) if item is not _GONE]
        items[:] = [item for item in items if item is not _GONE]
    return copies[()], kept


def _topmost(paths: set[Path]) -> list[Path]:
    """Return the paths that are not below another one, in the order of their places."""
    return sorted((path for path in paths if not any(path[:depth] in paths for depth in range(len(path)))), key=_sort_key)


def _sort_key(path: Path) -> tuple[tuple[bool, Any], ...]:
    return tuple((isinstance(step, int), step) for step in path)


def _path_of(pointer: str, repaired: Any, kept: dict[Path, list[int]]) -> Path:
    """Return the path in the original body of the value at a pointer into the repaired body."""
    path: Path = ()
    node = repaired
    for step in pointer.split("/")[1:]:
        key: str | int = unescape(step)
        if isinstance(node, list):
            key = int(step)
            node = node[key]
            key = kept[path][key] if path in kept else key
        else:
            node = node.get(key) if isinstance(node, dict) else None
        path = (*path, key)
    return path


def _is_above(path: Path, pattern: list[str]) -> bool:
    """Return whether a path leads to a value that matches a pattern, or to a value that contains one."""
    return len(path) <= len(pattern) and all(starmap(_fits, zip(path, pattern, strict=False)))


def _replaceable_item(raw: JsonObject, path: Path, patterns: list[list[str]], removed: set[Path]) -> Path:
    """Return the list item without an essential value, if other items of its list remain; the empty path otherwise.

    A choice without a message is left out of an answer whose other choices are complete.
    """
    stars = {pattern.index("*") for pattern in patterns if "*" in pattern and _is_above(path, pattern)}
    if len(stars) != 1 or len(path) <= (at := stars.pop()):
        return ()
    item = path[: at + 1]
    others = [other for other in range(len(value_at(raw, item[:-1]))) if (*item[:-1], other) not in removed | {item}]
    return item if others else ()


def _fits(step: str | int, wanted: str) -> bool:
    return wanted in ("*", step)
