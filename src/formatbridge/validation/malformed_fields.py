"""Answers with malformed details: what the wire model refuses is taken out, and everything else is read.

An answer has been paid for, so one detail of an unexpected shape (a citation without its object, a log probability without its number)
must not cost the whole of it. The validation errors name the places. The smallest removal that leaves a valid body is found from there
upwards: a member or a list item is removed, and what contains it where that cannot be left out.
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
"""How often a body is validated again. Each round removes every fault it finds or what contains it, and no wire model nests deeper."""

_GONE = object()
"""Marks a removed item of a list until all are known."""


class Repair:
    """A body without its malformed details.

    Indexes of a list shift where one of its items was removed, so pointers into the repaired body are translated by ``original``.
    """

    __slots__ = ("_kept", "body", "checked", "removed")

    def __init__(self, body: JsonObject, checked: JsonObject, removed: dict[Path, JsonValue], kept: dict[Path, list[int]]) -> None:
        #: The body without them, its keys as they came.
        self.body = body
        #: The same as the validator returns it, in the vendor's spelling.
        self.checked = checked
        #: The malformed values by their paths in the body as it came.
        self.removed = removed
        self._kept = kept

    def original(self, pointer: str) -> str:
        """Translate a pointer into the repaired body to one into the body as it came."""
        return pointer_of(_path_of(pointer, self.body, self._kept))

    @property
    def pointers(self) -> dict[str, JsonValue]:
        """The malformed values by their pointers into the body as it came."""
        return {pointer_of(path): value for path, value in self.removed.items()}


def repair(shape: Any, raw: JsonObject, essential: Iterable[str] = (), parts: frozenset[Path] = frozenset()) -> Repair | None:
    """Return a body that the wire model ``shape`` refuses without what is malformed in it; None where no removal makes it valid.

    ``essential``: paths of what the body cannot be read without, with a star for any index; a body without one of these is not repaired.
    ``parts``: paths of what holds a part of an answer; one that is malformed loses its ``type``, so that it is one of an unknown kind.
    """
    validate = _lenient(shape, tuple(sorted({path.split("/")[0] for path in essential}))).validate_python
    patterns = [path.split("/") for path in essential]
    removed: set[Path] = set()
    body, kept = raw, dict[Path, list[int]]()
    for _ in range(_ROUNDS):
        try:
            checked = validate(body)
        except ValidationError as error:
            found = places_of(error, body)
        else:
            return Repair(body, checked, {path: value_at(raw, path) for path in _topmost(removed)}, kept)
        for pointer, value in found.items():
            path = _removable(raw, _path_of(pointer, body, kept), is_missing=value is MISSING)
            if not path or any(_is_above(path, pattern) for pattern in patterns):
                return None
            kind = (*path, "type")
            if path in parts and value_at(raw, kind) and kind not in removed:
                removed, path = {other for other in removed if other[: len(path)] != path}, kind
            removed.add(path)
        body, kept = _without(raw, _topmost(removed))
    return None


def faults(shape: Any, raw: JsonObject) -> dict[Path, JsonValue]:
    """Return what is malformed in a body that cannot be repaired, by its paths."""
    try:
        _lenient(shape, ()).validate_python(raw)
    except ValidationError as error:
        places = places_of(error, raw)
        paths = [_removable(raw, _path_of(pointer, raw, {}), is_missing=value is MISSING) for pointer, value in places.items()]
        return {path: value_at(raw, path) for path in paths}
    return {}


def _removable(raw: JsonObject, path: Path, *, is_missing: bool) -> Path:
    """Return the path of what is removed for a fault: an object that lacks a key, and a list item of which nothing else is left."""
    if is_missing:
        return path[:-1]
    is_only_member = (
        len(path) > 1 and isinstance(path[-2], int) and isinstance(path[-1], str) and len(value_at(raw, path[:-1])) == 1
    )
    return path[:-1] if is_only_member else path


@cache
def _lenient(shape: Any, essential: tuple[str, ...]) -> SchemaValidator:
    """Compile a checker that also takes a body without its required fields, but for the essential ones, and without literal ones.

    A field with a literal (``type``, ``role``) says again what the place says; and what else a body lacks, the encoder of the target adds.
    """
    return SchemaValidator(labelled(_without_required(dicts_of(shape), essential if essential else None)))


def _without_required(schema: Any, essential: tuple[str, ...] | None) -> Any:
    """Let fields be left out: literal ones anywhere, and of the outermost object all but the essential ones. None: of no object all."""
    if isinstance(schema, list | tuple):
        return type(schema)(_without_required(item, None) for item in schema)
    if not isinstance(schema, dict):
        return schema
    made = {key: value if key == "metadata" else _without_required(value, None) for key, value in schema.items()}
    if schema.get("type") == "typed-dict-field" and schema["schema"].get("type") == "literal":
        made["required"] = False
    if essential is not None and schema.get("type") == "typed-dict":
        made["fields"] = {
            name: field if name in essential else field | {"required": False} for name, field in made["fields"].items()
        }
    elif essential is not None and isinstance(schema.get("schema"), dict):
        made["schema"] = _without_required(schema["schema"], essential)
    return made


def _without(raw: JsonObject, removed: Iterable[Path]) -> tuple[JsonObject, dict[Path, list[int]]]:
    """Return a copy of a body without some values, and by the path of each list that lost some the indexes of those that stay.

    Only what is above a removed value is copied.
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
    """Return the paths that lead below none of the others, in the order of their places."""
    return sorted((path for path in paths if not any(path[:depth] in paths for depth in range(len(path)))), key=_order)


def _order(path: Path) -> tuple[tuple[bool, Any], ...]:
    return tuple((isinstance(step, int), step) for step in path)


def _path_of(pointer: str, repaired: Any, kept: dict[Path, list[int]]) -> Path:
    """Return the path in the body as it came of what a pointer leads to in the repaired one."""
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
    """Say whether a path leads to what a pattern names or to something that contains it."""
    return len(path) <= len(pattern) and all(starmap(_fits, zip(path, pattern, strict=False)))


def _fits(step: str | int, wanted: str) -> bool:
    return wanted in ("*", step)
