"""The loss report: what it says, and the ledger in which encoders write it.

Encoders speak of canonical nodes and fields; the report speaks in JSON pointers into the user's own body. The source format says where
its fields stand (``Spelling``), and a pointer is worked out only when a loss exists.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from copy import copy
from dataclasses import dataclass, field
from functools import partial
from threading import RLock
from typing import Any

from formatbridge.jsontext.pointers import is_below, objects_in, pointer_to
from formatbridge.jsontext.types import JsonValue
from formatbridge.report.field_paths import ITSELF, Own, Spelling, resolve
from formatbridge.report.losses import SEVERITIES, Addition, Change, Loss, Severity
from formatbridge.report.reasons import REASONS, REQUIRED
from formatbridge.report.resolve_notes import UNSEEN, Examine, Note, Settling

# What the formats write a report with is taken from here, whichever layer below it stands in.
__all__ = ["ITSELF", "Examine", "Late", "Ledger", "Own", "Spelling", "nowhere", "resolve"]

Text = bytes | bytearray | str
"""JSON text as a caller hands it in."""


@dataclass(frozen=True, slots=True)
class Late:
    """A body that is put together when somebody asks for losses. ``body`` returns None where that cannot be done.

    ``report``: adds to a ledger what was malformed in the body.
    """

    body: Callable[[], JsonValue]
    report: Callable[[Ledger, Any], None] | None = None


@dataclass(slots=True)
class _Settled:
    """What notes have come to: losses by their pointers, and the shares that are gone of objects of which several nodes are made."""

    losses: dict[str, Loss] = field(default_factory=dict)
    shares: dict[str, set[str]] = field(default_factory=dict)

    def keep(self, path: str, kind: Change, severity: Severity, code: str, before: JsonValue, after: JsonValue) -> None:
        """Keep a loss, unless a graver one is known of its pointer, or that nothing there could be read."""
        known = self.losses.get(path)
        if known is not None and known.code == _MALFORMED:
            return
        if known is not None and known.code in _MENDED and kind == "dropped":
            known = None  # nothing is left of what was replaced
        if known is None or SEVERITIES.index(known.severity) < SEVERITIES.index(severity):
            self.losses[path] = Loss(path, kind, severity, code, REASONS[code], before, after)

    def copy(self) -> _Settled:
        """Return one that goes its own way."""
        return _Settled(dict(self.losses), {pointer: set(gone) for pointer, gone in self.shares.items()})


_ITEM = re.compile(r"(/[^/]+)/[0-9]+/")
"""The beginning of a pointer to a field of an item of a list."""


def _first_of_each(losses: Iterable[Loss]) -> tuple[Loss, ...]:
    """Return the losses without those that an earlier item of the list has of the same field, for the same reason."""
    found: dict[tuple[str, Change, Severity, str], Loss] = {}
    for loss in losses:
        found.setdefault((_ITEM.sub(r"\1/*/", loss.path, count=1), loss.kind, loss.severity, loss.code), loss)
    return tuple(found.values())


_SETTLING = RLock()
"""Held by whoever reads a report: one for all, since a lock for each conversion would cost those that nobody reads."""
_MENDED = frozenset({"lone_surrogate", "invalid_utf8"})
_MALFORMED = "malformed"


class Ledger:
    """Where encoders write what got lost on the way. It records; it never decides, warns or raises.

    ``dropped``, ``changed`` and ``added`` return the value to use. Of two notes on one pointer the
    graver one stays.

    A note is kept as it was made, and its pointer is worked out when the losses are read: most callers never do. So neither the body
    nor a node that was noted may change in between.
    """

    __slots__ = ("_additions", "_notes", "_original", "_repaired", "_settled", "_spelling", "body", "is_list", "text", "unplaced")

    def __init__(self, body: JsonValue, spelling: Spelling, text: Text | None = None) -> None:
        #: The source's body, into which the report points.
        self.body = body
        self._spelling = spelling
        self._notes: list[Note] = []
        self._settled: _Settled | None = None  # until somebody asks
        self._additions: dict[str, tuple[JsonValue, str]] = {}
        # The body as it was decoded and the way from its pointers to those of the body, where malformed values were taken out.
        self._repaired: JsonValue = None
        self._original: Callable[[str], str] | None = None
        #: What was added to objects of the target's body, until ``place`` finds out where those stand.
        self.unplaced: list[tuple[dict[str, JsonValue], str]] | None = None
        #: The JSON text of the body, which may hold equal keys; None where there is none.
        self.text = text
        #: The body lists models, and a loss that several of them share is reported for the first one only.
        self.is_list = False

    @property
    def losses(self) -> tuple[Loss, ...]:
        """The losses so far, without those below a container that is gone as a whole, but for graver ones."""
        with _SETTLING:  # or a second reader would find the notes gone and the losses not yet there
            losses = self._settle().losses
        gone = {path: SEVERITIES.index(loss.severity) for path, loss in losses.items() if loss.kind == "dropped"}
        kept = tuple(loss for path, loss in losses.items() if not is_below(path, SEVERITIES.index(loss.severity), gone))
        return _first_of_each(kept) if self.is_list else kept

    @property
    def additions(self) -> tuple[Addition, ...]:
        """The additions so far."""
        return tuple(Addition(path, value, why) for path, (value, why) in self._additions.items())

    def dropped(self, node: Any, name: str = "", code: str = "no_counterpart", *, severity: Severity = "lossy") -> None:
        """Note that a field of a node is gone; without ``name``, the whole node.

        A field that stands nowhere of its own in the source changes the node, which is still there.
        """
        self._notes.append(("dropped", node, name, None, code, severity))

    def changed(
        self, node: Any, name: str, after: JsonValue, code: str = "nearest_value", *, severity: Severity = "lossy"
    ) -> JsonValue:
        """Note that a field of a node becomes ``after`` and return that."""
        self._notes.append(("changed", node, name, after, code, severity))
        return after

    def examined(self, node: Any, name: str, after: JsonValue, examine: Examine) -> None:
        """Note that a field of a node becomes ``after``, for the reason that is looked for when the losses are read."""
        self._notes.append(("examined", node, name, after, examine, "lossy"))

    def added(self, path: str, value: JsonValue, why: str = REQUIRED) -> JsonValue:
        """Note that the target demands ``value`` at ``path`` (a pointer into the target) and return it."""
        self._additions.setdefault(path, (value, why))
        return value

    def added_in(self, node: dict[str, JsonValue], key: str, value: JsonValue) -> None:
        """Put what the target demands into an object of its body, and note it there: ``place`` finds out where that is."""
        node[key] = value
        self.unplaced = self.unplaced or []
        self.unplaced.append((node, key))

    def place(self, body: JsonValue) -> None:
        """Look for the objects of the target's body to which something was added."""
        if self.unplaced is None:
            return
        wanted = {id(node) for node, _ in self.unplaced}
        pointers = {id(node): pointer_to(way) for way, node in objects_in(body) if id(node) in wanted}
        for node, key in self.unplaced:
            if id(node) in pointers:
                self.added(f"{pointers[id(node)]}/{key}", node[key])
        self.unplaced = None

    def withdraw(self, body: JsonValue) -> None:
        """Take back what was added where it does not stand in the target any more."""
        self._additions = {path: told for path, told in self._additions.items() if resolve(body, path)[1] == told[0]}

    def extras(self, node: Any) -> None:
        """Note every field of a node that only its own format has, as grave as that format says. Neutral values are none."""
        self._notes.append(("extras", node, "", None, "", "info"))

    def replaced(self, replacements: Iterable[tuple[str, str, str, str]]) -> None:
        """Report texts that were no valid Unicode: the pointer of each, the text, its replacement, and the code of the reason.

        To lose such a text as a whole counts more.
        """
        settled = self._settled = self._settled or _Settled()
        for path, before, after, code in replacements:
            settled.losses[path] = Loss(path, "changed", "lossy", code, REASONS[code], before, after)

    def repaired(self, body: JsonValue, original: Callable[[str], str]) -> None:
        """Take the body as it was decoded, without its malformed values.

        ``original`` translates a pointer into it to one into the source.
        """
        self._repaired, self._original = body, original

    def malformed(self, removed: Mapping[str, JsonValue], kind: Change = "dropped") -> None:
        """Report values that were taken out of the body before it was decoded, by their pointers in the source.

        ``changed``: something else stands at the pointer, which lacks what the value would have added.
        """
        settled = self._settled = self._settled or _Settled()
        for path, value in removed.items():
            severity: Severity = (
                "lossy" if path.partition("/")[2].partition("/")[0] in self._spelling.content or not path else "info"
            )
            settled.keep(path, kind, severity, _MALFORMED, value, None)

    def __getstate__(self) -> tuple[None, dict[str, Any]]:
        """Return what a copy has. What puts a late body together stays behind, so the report on one is worked out before."""
        with _SETTLING:  # or the copy would find the notes gone and the losses not yet there
            is_late = isinstance(self.body, Late)
            if is_late:
                self._settle()
            state = {name: getattr(self, name) for name in self.__slots__}
            state |= {name: copy(state[name]) for name in ("_notes", "_additions", "unplaced")}
            state["_settled"] = self._settled and self._settled.copy()
        return None, state | ({"body": None} if is_late else {})

    def _settle(self) -> _Settled:
        """Work out the losses that the notes stand for, and return all there are."""
        settled = self._settled = self._settled or _Settled()
        notes, self._notes = self._notes, []
        if isinstance(self.body, Late) and (notes or self.body.report):
            late, found = self.body, self.body.body()
            self.body = UNSEEN if found is None else found
            if late.report:
                late.report(self, found)
        if self._original is None:
            Settling(self.body, self._spelling, settled.shares, settled.keep).settle(notes)
        else:
            Settling(self._repaired, self._spelling, settled.shares, partial(_keep_at, settled, self._original, self.body)).settle(
                notes
            )
        return settled


def _keep_at(
    settled: _Settled,
    original: Callable[[str], str],
    body: JsonValue,
    path: str,
    kind: Change,
    severity: Severity,
    code: str,
    before: JsonValue,
    after: JsonValue,
) -> None:
    """Keep a loss of a repaired body at its place in the ``body`` as it came, whose objects and lists have their malformed details."""
    path = original(path)
    came = resolve(body, path)[1] if isinstance(before, dict | list) else before
    settled.keep(path, kind, severity, code, came if type(came) is type(before) else before, after)


class _Blank(Ledger):
    """A ledger in which nothing is ever written, so that one does for all."""

    __slots__ = ()

    def dropped(self, node: Any, name: str = "", code: str = "no_counterpart", *, severity: Severity = "lossy") -> None:
        """Note nothing."""
        del node, name, code, severity

    def changed(
        self, node: Any, name: str, after: JsonValue, code: str = "nearest_value", *, severity: Severity = "lossy"
    ) -> JsonValue:
        """Return what a field becomes."""
        del node, name, code, severity
        return after

    def examined(self, node: Any, name: str, after: JsonValue, examine: Examine) -> None:
        """Note nothing."""
        del node, name, after, examine

    def added(self, path: str, value: JsonValue, why: str = REQUIRED) -> JsonValue:
        """Return what the target demands."""
        del path, why
        return value

    def added_in(self, node: dict[str, JsonValue], key: str, value: JsonValue) -> None:
        """Put what the target demands into an object of its body."""
        node[key] = value

    def extras(self, node: Any) -> None:
        """Note nothing."""
        del node

    def replaced(self, replacements: Iterable[tuple[str, str, str, str]]) -> None:
        """Note nothing."""
        del replacements


_NOWHERE = _Blank({}, Spelling())


def nowhere() -> Ledger:
    """Return a ledger that nobody reads, for writing what is reported elsewhere."""
    return _NOWHERE
