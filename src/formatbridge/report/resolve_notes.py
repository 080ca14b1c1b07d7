"""From notes to losses: pointers, values and severities, worked out when somebody reads them."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable
from typing import Any, Literal

from formatbridge.jsontext.depth import read, spell
from formatbridge.jsontext.types import JsonValue
from formatbridge.report.field_paths import ABSENT, WHOLE_NODE, FieldPaths, LossRule, is_empty, resolve
from formatbridge.report.losses import Change, Severity

Examine = Callable[[JsonValue, JsonValue], str | None]
"""Says what is lost between a value and the one that stands for it: the code of a reason, or None."""

Keep = Callable[[str, Change, Severity, str, JsonValue, JsonValue], None]
"""Takes a loss: its pointer, kind, severity, code, and the value before and after."""

Note = tuple[Literal["dropped", "changed", "examined", "extras"], Any, str, Any, Any, Severity]
"""A note as it was made: what happened, the node, the field, the value that stands there now, the code, and the severity.

A plain tuple, since a note is made while a body is written. What happened says what is in it:

- ``dropped``: no value stands there now; without a field, the whole node is gone.
- ``changed``: all of them.
- ``examined``: in the place of the code, the ``Examine`` that finds it.
- ``extras``: the node alone; the rows of its format say the rest.
"""

UNSEEN = object()
"""The body of a ledger whose source came in pieces of which nobody knows the whole: its pointers are taken as they are, and no value is
shown."""

_INDEX = re.compile(r"(?<=[./])\d+(?=/|$)")
_INNER = re.compile(r"[./]")
_UNKNOWN = LossRule(code="unknown_field")
_UNKNOWN_OF_MODEL = LossRule("info", "unknown_field")
"""What is lost of a list of models; no model reads one."""
_TELEMETRY = LossRule("info", "unknown_field")
_COUNT = LossRule("info", "accounting", neutral=(0, 0.0))


class NoteResolver:
    """Works out the losses that notes stand for and hands them to ``keep``.

    ``body``: the source's, or ``UNSEEN``. ``shares``: by the pointer of an object of which several nodes are made, the shares of those that
    are gone; it is added to.
    """

    def __init__(self, body: JsonValue, spelling: FieldPaths, shares: dict[str, set[str]], keep: Keep) -> None:
        self._body = body
        self._spelling = spelling
        self._shares = shares
        self._keep = keep
        self._asked: str | None = None  # the pointer of the last node that was looked for
        self._found: tuple[str, JsonValue] = ("", None)

    def settle(self, notes: Iterable[Note]) -> None:
        """Take the notes in the order in which they were made."""
        for kind, node, name, after, noted, severity in notes:
            if kind == "extras":
                self._settle_extras(node)
            elif kind == "dropped":
                self._settle_dropped(node, name, noted, severity)
            else:
                code = noted(getattr(node, name), after) if kind == "examined" else noted
                self._settle_changed(node, name, after, code, severity)

    def _settle_dropped(self, node: Any, name: str, code: str, severity: Severity) -> None:
        path, before = self._find(node, name)
        if before is None and not name:
            before = getattr(node, "raw", None)  # which is all that a node that nobody models has
        is_whole = not name or isinstance(before, str) or path != self._at(node.src)[0]
        is_whole = is_whole and f"{type(node).__name__}.{name}" not in self._spelling.shared
        self._keep(path, "dropped" if is_whole else "changed", severity, code, before, None)
        if not name and getattr(node, "aside", None):
            path, before = self._resolve(self._gone_aside(node))
            self._keep(path, "dropped", severity, code, before, None)
        if not name and getattr(node, "signature", None):  # which may stand in front of the node
            self._settle_dropped(node.signature, "", code, severity)

    def _gone_aside(self, node: Any) -> str:
        """Return the pointer of what is gone of the second object that a node is made of: all of it when none of its nodes is left."""
        gone = self._shares.setdefault(node.aside, set())
        share = getattr(node, "share", "")
        gone.add(share)
        return str(node.aside if not share or len(gone) == node.shares else share)

    def _settle_changed(self, node: Any, name: str, after: JsonValue, code: str | None, severity: Severity) -> None:
        if code is not None:
            path, before = self._find(node, name)
            self._keep(path, "changed", severity, code, before, after)

    def _settle_extras(self, node: Any) -> None:
        kind = type(node).__name__
        for pointer, value in node.extra.items():
            own = self._own(f"{kind}.{pointer}", value)
            if own.is_neutral(value):
                continue
            place = pointer if pointer[:1] == "/" else f"{node.src}/{pointer}"
            if pointer == WHOLE_NODE:
                place = node.src
            path, before = resolve(self._body, place, self._spelling)
            before = value if before is ABSENT else before
            if own.restates and _says(resolve(self._body, f"{place.rpartition('/')[0]}/{own.restates}")[1], value):
                continue
            self._keep(path, own.kind, own.severity, own.code, before, own.after)

    def _own(self, name: str, value: JsonValue) -> LossRule:
        """Return what the loss of a field means; a row may have a star for any index.

        Without a row, whatever else is in usage counts something, what else is at the top of an answer says something about the server, and
        a field of a model list is for whoever reads the list. An event that is not known, which has its place at the top of an answer, too,
        may bring content.
        """
        own = self._spelling.own.get(name) or self._spelling.own.get(_INDEX.sub("*", name))
        if own is not None:
            return own
        if name.startswith(("Model.", "ModelList.")):
            return _UNKNOWN_OF_MODEL
        node, _, pointer = name.partition(".")
        if node == "Usage":
            return _COUNT
        is_event = isinstance(value, dict) and (pointer == "event" or value.get("type") == pointer)
        return _TELEMETRY if node == "Response" and "/" not in pointer and not is_event else _UNKNOWN

    def _find(self, node: Any, name: str) -> tuple[str, JsonValue]:
        """Turn a canonical place into the pointer and the value in the user's body; the node itself where the field has none.

        ``name`` may go on below a field, after a dot or a slash: ``schema/properties/a``.
        """
        if name:
            inner = _INNER.search(name)
            row = f"{type(node).__name__}.{name}"
            places = self._spelling.places.get(f"{row}@{node.src}") or self._spelling.places.get(row, () if inner else (name,))
            found = self._told(node, places)
            if found is not None:
                return found
            if inner:
                above, before = self._find(node, name[: inner.start()])
                if self._body is UNSEEN:  # whether the source names what is below as we do is not known
                    return above, None
                path, value = self._resolve(f"{above}/{name[inner.end() :]}")
                return (above, before) if value is ABSENT else (path, value)
        path, value = self._at(node.src)
        return path, None if value is ABSENT else value

    def _told(self, node: Any, places: tuple[str, ...]) -> tuple[str, JsonValue] | None:
        """Return the first place that says something, else the first that exists; None where none does.

        Null, false, empty texts and empty containers say nothing, nor does a zero among counts.
        """
        is_count = type(node).__name__ == "Usage"
        first: tuple[str, JsonValue] | None = None
        for place in places:
            is_below = place[:1] not in ("", "@", "^") and self._body is not UNSEEN
            at = self._below(node.src, place) if is_below else self._resolve(_join(node, place))
            if at[1] is ABSENT:
                continue
            if at[1] or not (is_count or at[1] is False or at[1] == "" or is_empty(at[1])):
                return at
            first = first or at
        return first

    def _at(self, src: str) -> tuple[str, JsonValue]:
        """Follow the pointer of a node, of which several fields may be asked for."""
        if src != self._asked:
            self._asked, self._found = src, self._resolve(src)
        return self._found

    def _below(self, src: str, place: str) -> tuple[str, JsonValue]:
        """Follow a pointer that is relative to a node."""
        at, value = self._at(src)
        below, found = resolve(value, f"/{place}", self._spelling)
        return at + below, found

    def _resolve(self, pointer: str) -> tuple[str, JsonValue]:
        if self._body is UNSEEN:
            return pointer, None
        return resolve(self._body, pointer, self._spelling)


def _join(node: Any, place: str) -> str:
    """Return the pointer of a place: relative to the node, after an @ to the second object that the node is made of.

    Each ^ in front leads one step out of that.
    """
    at, way = str(node.src), place
    if place.startswith("@"):
        if not node.aside:
            return f"{at}/@"
        at, way = node.aside, place[1:].removeprefix("/")
    name = way.lstrip("^")
    at = at.rsplit("/", len(way) - len(name))[0]
    return f"{at}/{name}" if name else at


def _says(text: JsonValue, value: JsonValue) -> bool:
    """Say whether something is the JSON text of a value; 1 is 1.0 there, and not true."""
    decoder = json.JSONDecoder(parse_int=float)
    try:
        return len({spell(read(each, decoder)) for each in (text, spell(value))}) == 1
    except (TypeError, ValueError):
        return False
