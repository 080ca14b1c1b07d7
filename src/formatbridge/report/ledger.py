"""The ledger in which encoders note losses and additions.

Encoders note canonical nodes and fields. The report has JSON pointers into the source body. The field paths of the source format
translate one to the other (``FieldPaths``) when the report is read.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from copy import copy
from dataclasses import dataclass, field
from functools import partial
from threading import RLock
from typing import Any

from formatbridge.dialect import DialectRules
from formatbridge.jsontext.pointers import is_below, objects_in, pointer_to
from formatbridge.jsontext.types import JsonValue
from formatbridge.report.field_paths import ABSENT, WHOLE_NODE, FieldPaths, LossRule, resolve
from formatbridge.report.losses import SEVERITY_RANKS, Addition, Change, Loss, Severity
from formatbridge.report.reasons import REASONS, REQUIRED, SEARCH_TOOL, SERVER
from formatbridge.report.resolve_notes import NO_BODY, Examine, Keep, Note, NoteResolver

# Names that encoders use together with the ledger.
__all__ = ["WHOLE_NODE", "Examine", "FieldPaths", "LazyBody", "Ledger", "LossRule", "null_ledger", "resolve"]

Text = bytes | bytearray | str
"""JSON text as a caller passes it."""


@dataclass(frozen=True, slots=True)
class LazyBody:
    """A body that is assembled when the losses are read. ``body`` returns None if that is impossible.

    ``report``: a function that reports the malformed values of the body to a ledger. ``known``: returns the certain values of a body that
    cannot be assembled, at their places.
    """

    body: Callable[[], JsonValue]
    report: Callable[[Ledger, Any], None] | None = None
    known: Callable[[], JsonValue] | None = None


@dataclass(frozen=True, slots=True)
class _Value:
    """What a note has in place of a canonical node: the pointer of a value."""

    src: str


@dataclass(slots=True)
class _Resolved:
    """The losses of the resolved notes by their pointers, and the dropped source indexes of citation spans with several sources."""

    losses: dict[str, Loss] = field(default_factory=dict)
    dropped_indexes: dict[str, set[str]] = field(default_factory=dict)
    server: str = "the server"
    search_tool: str = "another tool"

    def keep(self, pointer: str, kind: Change, severity: Severity, code: str, before: JsonValue, after: JsonValue) -> None:
        """Keep a loss. A more severe loss at its pointer and a malformed value there take precedence."""
        known = self.losses.get(pointer)
        if known is not None and known.code == _MALFORMED:
            return
        if known is not None and known.code in _NOT_UNICODE and kind == "dropped":
            known = None  # the whole text is dropped
        if known is None or SEVERITY_RANKS[known.severity] < SEVERITY_RANKS[severity]:
            why = REASONS[code].replace(SERVER, self.server).replace(SEARCH_TOOL, self.search_tool)
            self.losses[pointer] = Loss(pointer, kind, severity, code, why, before, after)

    def copy(self) -> _Resolved:
        """Return an independent copy."""
        return _Resolved(
            dict(self.losses), {pointer: set(gone) for pointer, gone in self.dropped_indexes.items()}, self.server, self.search_tool
        )


_ITEM = re.compile(r"(/[^/]+)/[0-9]+/")
"""The beginning of a pointer to a field of an item of a list."""


def _first_of_each(losses: Iterable[Loss]) -> tuple[Loss, ...]:
    """Return the losses without those that an earlier item of the list has in the same field for the same reason."""
    first: dict[tuple[str, Change, Severity, str], Loss] = {}
    for loss in losses:
        first.setdefault((_ITEM.sub(r"\1/*/", loss.path, count=1), loss.kind, loss.severity, loss.code), loss)
    return tuple(first.values())


_NOTHING: frozenset[str] = frozenset()
_UNKNOWN = object()
"""The value of a field that a node does not have, such as a setting of a request."""

_LOCK = RLock()
"""Held while a report is read. One lock for all: a lock for each conversion would cost time in those whose report is not read."""
_NOT_UNICODE = frozenset({"lone_surrogate", "invalid_utf8"})
_MALFORMED = "malformed"


class Ledger:
    """Records what a conversion loses and adds. It never decides, warns or raises.

    ``changed`` and ``added`` return the value to use. Of two notes on one pointer the more severe one counts.

    Notes are resolved to pointers when the losses are read, which most callers never do. Until then neither the body nor a noted node
    may change.
    """

    __slots__ = (
        "_added_members",
        "_additions",
        "_notes",
        "_original",
        "_paths",
        "_repaired",
        "_resolved",
        "also_holds",
        "body",
        "dialect",
        "is_list",
        "text",
    )

    def __init__(self, body: JsonValue, paths: FieldPaths, text: Text | None = None) -> None:
        self.body = body
        """The source's body, into which the report points."""
        self._paths = paths
        self._notes: list[Note] = []
        self._resolved: _Resolved | None = None  # until the losses are read
        self._additions: dict[str, tuple[JsonValue, str]] = {}
        # If malformed values were removed: the decoded body, and a function that translates its pointers to pointers into the source.
        self._repaired: JsonValue = None
        self._original: Callable[[str], str] | None = None
        # Values that were added to objects of the target's body, with their keys and reasons. Their pointers are searched when read.
        self._added_members: list[tuple[dict[str, JsonValue], str, str]] = []
        self.text = text
        """The JSON text of the body, which may have repeated keys; None if the body was no text."""
        self.dialect: DialectRules | None = None
        """The rules of the server that receives the request; None: any server of the format."""
        self.also_holds: frozenset[str] = _NOTHING
        """The canonical fields, such as ``FunctionTool.cache``, that this server reads although the format does not hold them."""
        self.is_list = False
        """Whether the body is a list of models. Then a loss that several models share is reported for the first one only."""

    @property
    def losses(self) -> tuple[Loss, ...]:
        """The losses that were noted. A loss below a dropped container is left out, unless it is more severe."""
        with _LOCK:  # without it a second thread could see neither the notes nor the losses
            losses = self._resolve().losses
        gone = {pointer: SEVERITY_RANKS[loss.severity] for pointer, loss in losses.items() if loss.kind == "dropped"}
        kept = tuple(loss for pointer, loss in losses.items() if not is_below(pointer, SEVERITY_RANKS[loss.severity], gone))
        return _first_of_each(kept) if self.is_list else kept

    def source_body(self) -> JsonValue:
        """Return the body into which the report points; None if it is not available. The report of a lazy body is resolved first."""
        with _LOCK:
            if isinstance(self.body, LazyBody):
                self._resolve()
            body = self.body.body() if isinstance(self.body, LazyBody) else self.body
        return None if body is NO_BODY else body

    def additions(self, body: JsonValue) -> tuple[Addition, ...]:
        """Return the additions that were noted. ``body``: the target's body, which has them."""
        additions = self._additions
        if self._added_members:
            holders = {id(node) for node, _, _ in self._added_members}
            pointers = {id(node): pointer_to(path) for path, node in objects_in(body) if id(node) in holders}
            members = {
                f"{pointers[id(node)]}/{key}": (node[key], why)
                for node, key, why in self._added_members
                if id(node) in pointers and key in node
            }
            additions = additions | {path: members[path] for path in members if path not in additions}
        return tuple(Addition(path, value, why) for path, (value, why) in additions.items())

    def dropped(self, node: Any, name: str = "", code: str = "no_counterpart", *, severity: Severity | None = None) -> None:
        """Note that a field of a node is dropped; without ``name``, the whole node. None, as a node or as a field, is no loss.

        A field without a pointer in the source counts as a change of the node.
        Without ``severity``, its code has it (``CODE_SEVERITIES``).
        """
        if node is not None and (not name or getattr(node, name, _UNKNOWN) is not None):
            self._notes.append(("dropped", node, name, None, code, severity))

    def dropped_at(self, pointer: str, code: str = "no_counterpart", *, severity: Severity | None = None) -> None:
        """Note that the value at a pointer into the source body is dropped, for a value that has no canonical node."""
        self.dropped(_Value(pointer), code=code, severity=severity)

    def changed(
        self, node: Any, name: str, after: JsonValue, code: str = "nearest_value", *, severity: Severity | None = None
    ) -> JsonValue:
        """Note that a field of a node becomes ``after`` and return that. A field that has this value already is no loss."""
        if not name or getattr(node, name, _UNKNOWN) != after:
            self._notes.append(("changed", node, name, after, code, severity))
        return after

    def weakened(self, node: Any, name: str, after: JsonValue, code: str, *, severity: Severity | None = None) -> JsonValue:
        """Note that a field of a node becomes ``after``, and return that. The value may stay: its position or its exact meaning is lost."""
        self._notes.append(("changed", node, name, after, code, severity))
        return after

    def examined(self, node: Any, name: str, after: JsonValue, examine: Examine) -> None:
        """Note that a field of a node becomes ``after``. ``examine`` finds the reason when the losses are read."""
        self._notes.append(("examined", node, name, after, examine, "lossy"))

    def added(self, pointer: str, value: JsonValue, why: str = REQUIRED) -> JsonValue:
        """Note that the target requires ``value`` at a pointer into its body, and return it."""
        self._additions.setdefault(pointer, (value, why))
        return value

    def added_in(self, node: dict[str, JsonValue], key: str, value: JsonValue, why: str = REQUIRED) -> None:
        """Add a required value to an object of the target's body and note it."""
        node[key] = value
        self._added_members.append((node, key, why))

    def withdraw(self, body: JsonValue) -> None:
        """Remove additions that are no longer in the target's body."""
        self._additions = {
            pointer: addition for pointer, addition in self._additions.items() if resolve(body, pointer)[1] == addition[0]
        }

    def translate_additions(self, translated: Callable[[str], str]) -> None:
        """Translate the pointers of the additions, because values of the target's body have another place."""
        self._additions = {translated(pointer): addition for pointer, addition in self._additions.items()}

    def extras(self, node: Any) -> None:
        """Note every unmodelled field of a node, if it has any. Its loss rule has the severity; a neutral value is no loss."""
        if node.extra:
            self._notes.append(("extras", node, "", None, "", "info"))

    def replaced(self, replacements: Iterable[tuple[str, str, str, str]]) -> None:
        """Report texts that are not valid Unicode: the pointer of each, the text, its replacement, and the code of the reason.

        Dropping such a text as a whole takes precedence.
        """
        resolved = self._resolved = self._resolved or _Resolved()
        for pointer, before, after, code in replacements:
            resolved.losses[pointer] = Loss.of(pointer, "changed", "lossy", code, before, after)

    def include(self, losses: Iterable[Loss]) -> None:
        """Include losses of another report of the same body."""
        resolved = self._resolved = self._resolved or _Resolved()
        for loss in losses:
            resolved.losses.setdefault(loss.path, loss)

    def repaired(self, body: JsonValue, original: Callable[[str], str]) -> None:
        """Set the body that was decoded, which is the source without its malformed values.

        ``original`` translates a pointer into it to a pointer into the source.
        """
        self._repaired, self._original = body, original

    def malformed(self, removed: Mapping[str, JsonValue], kind: Change = "dropped") -> None:
        """Report values that were removed from the body before it was decoded, by their pointers in the source.

        ``changed``: the target has a value at the pointer, without what the removed value would have added.
        """
        resolved = self._resolved = self._resolved or _Resolved()
        for pointer, value in removed.items():
            severity: Severity = (
                "lossy" if pointer.partition("/")[2].partition("/")[0] in self._paths.content or not pointer else "info"
            )
            resolved.keep(pointer, kind, severity, _MALFORMED, value, None)

    def __getstate__(self) -> tuple[None, dict[str, Any]]:
        """Return the state of a copy. A lazy body cannot be copied, so its report is resolved first."""
        with _LOCK:  # without it the copy could have neither the notes nor the losses
            is_lazy = isinstance(self.body, LazyBody)
            if is_lazy:
                self._resolve()
            state = {name: getattr(self, name) for name in self.__slots__}
            state |= {name: copy(state[name]) for name in ("_notes", "_additions", "_added_members")}
            state["_resolved"] = self._resolved and self._resolved.copy()
        return None, state | ({"body": None} if is_lazy else {})

    def _resolve(self) -> _Resolved:
        """Resolve the notes and return all losses."""
        resolved = self._resolved = self._resolved or _Resolved()
        if self.dialect is not None:
            resolved.server = self.dialect.server
            resolved.search_tool = self.dialect.search_tool or resolved.search_tool
        notes, self._notes = self._notes, []
        keep: Keep = resolved.keep
        if isinstance(self.body, LazyBody) and (notes or self.body.report):
            lazy, body = self.body, self.body.body()
            self.body = NO_BODY if body is None else body
            if lazy.report:
                lazy.report(self, body)
            if body is None and notes and lazy.known:
                keep = partial(_keep_known, resolved, lazy.known())
        if self._original is None:
            NoteResolver(self.body, self._paths, resolved.dropped_indexes, keep).resolve(notes)
        else:
            NoteResolver(
                self._repaired, self._paths, resolved.dropped_indexes, partial(_keep_at, resolved, self._original, self.body)
            ).resolve(notes)
        return resolved


def _keep_known(
    resolved: _Resolved,
    known: JsonValue,
    pointer: str,
    kind: Change,
    severity: Severity,
    code: str,
    before: JsonValue,
    after: JsonValue,
) -> None:
    """Keep a loss of a body that cannot be assembled, with the value at its pointer if that is known."""
    value = resolve(known, pointer)[1] if before is None else before
    resolved.keep(pointer, kind, severity, code, None if value is ABSENT else value, after)


def _keep_at(
    resolved: _Resolved,
    original: Callable[[str], str],
    body: JsonValue,
    pointer: str,
    kind: Change,
    severity: Severity,
    code: str,
    before: JsonValue,
    after: JsonValue,
) -> None:
    """Keep a loss of a repaired body at its pointer in the source ``body``, with the value that the source has there."""
    pointer = original(pointer)
    original_value = resolve(body, pointer)[1] if isinstance(before, dict | list) else before
    resolved.keep(pointer, kind, severity, code, original_value if type(original_value) is type(before) else before, after)


class _NullLedger(Ledger):
    """A ledger that records nothing, so that one instance is enough."""

    __slots__ = ()

    def dropped(self, node: Any, name: str = "", code: str = "no_counterpart", *, severity: Severity | None = None) -> None:
        """Note nothing."""
        del node, name, code, severity

    def changed(
        self, node: Any, name: str, after: JsonValue, code: str = "nearest_value", *, severity: Severity | None = None
    ) -> JsonValue:
        """Return the new value."""
        del node, name, code, severity
        return after

    def weakened(self, node: Any, name: str, after: JsonValue, code: str, *, severity: Severity | None = None) -> JsonValue:
        """Return the new value."""
        del node, name, code, severity
        return after

    def examined(self, node: Any, name: str, after: JsonValue, examine: Examine) -> None:
        """Note nothing."""
        del node, name, after, examine

    def added(self, pointer: str, value: JsonValue, why: str = REQUIRED) -> JsonValue:
        """Return the value."""
        del pointer, why
        return value

    def added_in(self, node: dict[str, JsonValue], key: str, value: JsonValue, why: str = REQUIRED) -> None:
        """Add the value to the object."""
        del why
        node[key] = value

    def extras(self, node: Any) -> None:
        """Note nothing."""
        del node

    def withdraw(self, body: JsonValue) -> None:
        """Remove nothing, because there are no additions."""
        del body

    def replaced(self, replacements: Iterable[tuple[str, str, str, str]]) -> None:
        """Report nothing."""
        del replacements

    def repaired(self, body: JsonValue, original: Callable[[str], str]) -> None:
        """Keep the body of the ledger: there are no pointers to translate."""
        del body, original

    def malformed(self, removed: Mapping[str, JsonValue], kind: Change = "dropped") -> None:
        """Report nothing."""
        del removed, kind


_NULL_LEDGER = _NullLedger({}, FieldPaths())


def null_ledger() -> Ledger:
    """Return a ledger that records nothing, for encoding what is reported elsewhere."""
    return _NULL_LEDGER
