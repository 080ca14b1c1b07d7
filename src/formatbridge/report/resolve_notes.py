"""Resolves notes to losses with pointers, values and severities, when the losses are read."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable
from typing import Any, Literal

from formatbridge.jsontext.depth import dump_sorted, read
from formatbridge.jsontext.types import JsonValue
from formatbridge.report.field_paths import ABSENT, WHOLE_NODE, FieldPaths, LossRule, is_empty, resolve
from formatbridge.report.loss_rules import severity_of_code
from formatbridge.report.losses import Change, Severity

Examine = Callable[[JsonValue, JsonValue], str | None]
"""A function that compares a value with its replacement, and returns the code of the loss, or None."""

Keep = Callable[[str, Change, Severity, str, JsonValue, JsonValue], None]
"""Stores a loss: its pointer, kind, severity, code, and the value before and after."""

Note = tuple[Literal["dropped", "changed", "examined", "extras"], Any, str, Any, Any, Severity | None]
"""A note: its kind, the node, the field, the new value, the code, and the severity unless its code has it.

It is a tuple, because tuples are the fastest to create. The kind decides what is set:

- ``dropped``: no new value; without a field, the whole node is dropped.
- ``changed``: all of them.
- ``examined``: instead of the code, the ``Examine`` that finds it.
- ``extras``: the node alone; the loss rules of its format have the rest.
"""

NO_BODY = object()
"""The body of a ledger whose source was a stream that cannot be assembled: pointers are used unchanged, and losses have no values."""

_CALL_IDS = {"ToolCall": "id", "ToolResult": "call_id"}
"""Nodes to the field with the id of a call."""

_INDEX = re.compile(r"(?<=[./])\d+(?=/|$)")
_INNER = re.compile(r"[./]")
_UNKNOWN = LossRule(code="unknown_field")
_UNKNOWN_OF_MODEL = LossRule("info", "unknown_field")
"""An unmodelled field of a list of models, which no model reads."""
_TELEMETRY = LossRule("info", "unknown_field")
_COUNT = LossRule("info", "accounting", neutral=(0, 0.0))


class NoteResolver:
    """Resolves notes to losses and passes each to ``keep``.

    ``body``: the source's, or ``NO_BODY``. ``dropped_indexes``: the pointer of a citation span with several sources to the pointers of the
    indexes whose sources are dropped, such as ``/groundingSupports/0`` to ``/groundingSupports/0/groundingChunkIndices/1``. It is updated.
    """

    def __init__(self, body: JsonValue, paths: FieldPaths, dropped_indexes: dict[str, set[str]], keep: Keep) -> None:
        self._body = body
        self._paths = paths
        self._dropped_indexes = dropped_indexes
        self._keep = keep
        self._src: str | None = None  # the pointer of the last node that was resolved
        self._node: tuple[str, JsonValue] = ("", None)

    def resolve(self, notes: Iterable[Note]) -> None:
        """Resolve notes in their order."""
        for kind, node, name, after, noted, severity in notes:
            if kind == "extras":
                self._resolve_extras(node)
            elif kind == "dropped":
                self._resolve_dropped(node, name, noted, severity)
            else:
                code = noted(getattr(node, name), after) if kind == "examined" else noted
                self._resolve_changed(node, name, after, code, severity)

    def _resolve_dropped(self, node: Any, name: str, code: str, severity: Severity | None) -> None:
        pointer, before = self._find(node, name)
        if self._is_absent(pointer, node, name):
            return
        if before is None and not name:
            before = getattr(node, "raw", None)  # all that an unmodelled node has
        is_whole = not name or isinstance(before, str | list) or pointer != self._resolve_src(node.src)[0]
        is_whole = is_whole and f"{type(node).__name__}.{name}" not in self._paths.shared
        severity = severity or severity_of_code(code)
        self._keep(pointer, "dropped" if is_whole else "changed", severity, code, before, None)
        if not name and getattr(node, "second_src", None):
            pointer, before = self._follow(self._dropped_second_src(node))
            self._keep(pointer, "dropped", severity, code, before, None)
        if not name and getattr(node, "signature", None):  # which may be outside the node
            self._resolve_dropped(node.signature, "", code, severity)

    def _dropped_second_src(self, node: Any) -> str:
        """Return the pointer of a node's second source object, or of the index in it if other nodes of the object are not dropped."""
        dropped = self._dropped_indexes.setdefault(node.second_src, set())
        index = getattr(node, "index_src", "")
        dropped.add(index)
        return str(node.second_src if not index or len(dropped) == node.index_count else index)

    def _resolve_changed(self, node: Any, name: str, after: JsonValue, code: str | None, severity: Severity | None) -> None:
        if code is not None:
            pointer, before = self._find(node, name)
            if not self._is_absent(pointer, node, name):
                self._keep(pointer, "changed", severity or severity_of_code(code), code, before, after)

    def _resolve_extras(self, node: Any) -> None:
        kind = type(node).__name__
        for pointer, value in node.extra.items():
            rule = self._rule_of(f"{kind}.{pointer}", value)
            if rule.is_neutral(value):
                continue
            place = pointer if pointer[:1] == "/" else f"{node.src}/{pointer}"
            if pointer == WHOLE_NODE:
                place = node.src
            path, before = resolve(self._body, place, self._paths)
            before = value if before is ABSENT else before
            if rule.restates and _is_text_of(resolve(self._body, f"{place.rpartition('/')[0]}/{rule.restates}")[1], value):
                continue
            self._keep(path, rule.kind, rule.severity, rule.code, before, rule.after)

    def _rule_of(self, name: str, value: JsonValue) -> LossRule:
        """Return the loss rule of an unmodelled field. A row may have a star for any index.

        Without a row, a field of usage or of a token count is a count, and a field at the top of an answer describes the server. No model
        reads the fields of a list of models. An unknown event, whose pointer is also at the top of an answer, may have content.
        """
        rule = self._paths.rules.get(name) or self._paths.rules.get(_INDEX.sub("*", name))
        if rule is not None:
            return rule
        if name.startswith(("Model.", "ModelList.")):
            return _UNKNOWN_OF_MODEL
        node, _, pointer = name.partition(".")
        if node in ("Usage", "TokenCount"):
            return _COUNT
        is_event = isinstance(value, dict) and (pointer == "event" or value.get("type") == pointer)
        return _TELEMETRY if node == "Response" and "/" not in pointer and not is_event else _UNKNOWN

    def _find(self, node: Any, name: str) -> tuple[str, JsonValue]:
        """Return the pointer and the value of a canonical field in the source body, else those of its node.

        ``name`` may continue below a field, after a dot or a slash: ``schema/properties/a``.
        """
        if name:
            inner = _INNER.search(name)
            row = f"{type(node).__name__}.{name}"
            field_paths = self._paths.places.get(f"{row}@{node.src}") or self._paths.places.get(row, () if inner else (name,))
            first = self._first_value(node, field_paths, None if inner else getattr(node, name, None))
            if first is not None:
                return first
            if inner:
                above, before = self._find(node, name[: inner.start()])
                if self._body is NO_BODY:  # the names below in the source are unknown
                    return above, None
                pointer, value = self._follow(f"{above}/{name[inner.end() :]}")
                return (above, before) if value is ABSENT else (pointer, value)
        pointer, value = self._resolve_src(node.src)
        return pointer, None if value is ABSENT else value

    def _first_value(self, node: Any, field_paths: tuple[str, ...], canonical: object) -> tuple[str, JsonValue] | None:
        """Return the first pointer with the ``canonical`` value, else with any value, else the first that exists, else None.

        Null, false, empty texts and empty containers do not count as values, nor does a zero in usage.
        """
        is_count = type(node).__name__ == "Usage"
        first: tuple[str, JsonValue] | None = None
        valued: tuple[str, JsonValue] | None = None
        for field_path in field_paths:
            is_below = field_path[:1] not in ("", "@", "^") and self._body is not NO_BODY
            candidate = self._resolve_below(node.src, field_path) if is_below else self._follow(_pointer_of_field(node, field_path))
            if candidate[1] is ABSENT:
                continue
            if candidate[1] or not (is_count or candidate[1] is False or candidate[1] == "" or is_empty(candidate[1])):
                if len(field_paths) == 1 or candidate[1] == canonical:
                    return candidate
                valued = valued or candidate
            first = first or candidate
        return valued or first

    def _is_absent(self, pointer: str, node: Any, name: str) -> bool:
        """Return whether the source does not have a field, so that it is no loss.

        That is a setting of reasoning without a pointer, which follows from another one, and a generated id, which is an addition.
        """
        kind = type(node).__name__
        if kind == "ReasoningConfig":
            return pointer == "" and name != "" and bool(self._body)
        return name == _CALL_IDS.get(kind) and (node.has_generated_id or pointer == self._resolve_src(node.src)[0])

    def _resolve_src(self, src: str) -> tuple[str, JsonValue]:
        """Follow the pointer of a node, and keep the result for its other fields."""
        if src != self._src:
            self._src, self._node = src, self._follow(src)
        return self._node

    def _resolve_below(self, src: str, field_path: str) -> tuple[str, JsonValue]:
        """Follow a pointer that is relative to a node."""
        pointer, value = self._resolve_src(src)
        below, value = resolve(value, f"/{field_path}", self._paths)
        return pointer + below, value

    def _follow(self, pointer: str) -> tuple[str, JsonValue]:
        if self._body is NO_BODY:
            return pointer, None
        return resolve(self._body, pointer, self._paths)


def _pointer_of_field(node: Any, field_path: str) -> str:
    """Return the pointer for a field path: relative to the node, or after an @ to its second source object.

    Each leading ^ goes one level up.
    """
    pointer, steps = str(node.src), field_path
    if field_path.startswith("@"):
        if not node.second_src:
            return f"{pointer}/@"
        pointer, steps = node.second_src, field_path[1:].removeprefix("/")
    name = steps.lstrip("^")
    pointer = pointer.rsplit("/", len(steps) - len(name))[0]
    return f"{pointer}/{name}" if name else pointer


def _is_text_of(text: JsonValue, value: JsonValue) -> bool:
    """Return whether something is the JSON text of a value. There 1 equals 1.0, and not true."""
    decoder = json.JSONDecoder(parse_int=float)
    try:
        return len({dump_sorted(read(each, decoder)) for each in (text, dump_sorted(value))}) == 1
    except (TypeError, ValueError):
        return False
