"""The loss report: what it says, and the ledger in which encoders write it.

Encoders speak of canonical nodes and fields; the report speaks in JSON pointers into the user's own body. The source format says where
its fields stand (``Spelling``), and a pointer is worked out only when a loss exists.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, field
from threading import RLock
from typing import Any, Literal

from formatbridge._json import JsonValue
from formatbridge._pointers import escape, is_below, objects_in, to_snake, unescape
from formatbridge._reasons import REASONS, REQUIRED
from formatbridge.options import SEVERITIES, Severity

Text = bytes | bytearray | str
"""JSON text as a caller hands it in."""


@dataclass(frozen=True, slots=True)
class Loss:
    """One value that the target could not hold as it was.

    ``path`` is a JSON pointer (RFC 6901) into the source body, at the most specific node that lost meaning. ``changed``: the nearest
    value or a weaker carrier stands in the target; ``dropped``: nothing does. ``info``: the model never sees it, or only cost and labels
    change; ``lossy``: the output may differ; ``impossible``: the payload no longer means the same.
    """

    path: str
    kind: Literal["dropped", "changed"]
    severity: Severity
    code: str
    why: str
    before: JsonValue = None
    after: JsonValue = None


@dataclass(frozen=True, slots=True)
class Addition:
    """A value that the target demands and the source lacks. ``path`` is a JSON pointer into the target body."""

    path: str
    value: JsonValue
    why: str


@dataclass(frozen=True, slots=True)
class Own:
    """How much is lost with a field that only its own format has; ``neutral`` values say what happens anyway and are no loss.

    ``after``: what stands in the target for a field that is only changed. ``restates``: the key, in the same object, of the JSON text of
    which a field is the value, as far as it is no loss.
    """

    severity: Severity = "lossy"
    code: str = "no_counterpart"
    neutral: tuple[JsonValue, ...] = ()
    kind: Literal["dropped", "changed"] = "dropped"
    after: JsonValue = None
    restates: str = ""

    def is_neutral(self, value: JsonValue) -> bool:
        """Say whether a value is what happens anyway."""
        return is_empty(value) or any(value == neutral and type(value) is type(neutral) for neutral in self.neutral)


@dataclass(frozen=True, slots=True, kw_only=True)
class Spelling:
    """Where a source format keeps canonical fields, and how grave it is to lose the fields of its own.

    ``places``: ``Class.field`` to pointers relative to the node, the first that says something counts; a field that stands under its own
    name needs no row; one that begins with @ is relative to the node's ``aside``, each ^ leads one step out of it. A step into a list is
    an index or a text that stands there. ``Class.field@pointer`` is a row for the node that stands there alone. ``own``:
    ``Class.pointer`` of a field in ``extra`` to what its loss means; without a row it is lossy. ``shared``: fields whose place also says
    something that stays (the key of a text, say), so that losing them changes the place. ``snake_case``: the format also takes its keys
    in snake_case. ``keywords``: words of ours to others that the format has for them.
    """

    places: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    own: Mapping[str, Own] = field(default_factory=dict)
    shared: frozenset[str] = frozenset()
    snake_case: bool = False
    keywords: Mapping[str, str] = field(default_factory=dict)


_PLAIN = Spelling()
_INDEX = re.compile(r"(?<=[./])\d+(?=/|$)")
UNSEEN = object()
"""The body of a ledger whose source came in pieces of which nobody knows the whole: its pointers are taken as they are, and no value is
shown."""


@dataclass(frozen=True, slots=True)
class Late:
    """A body that is put together when somebody asks for losses. ``body`` returns None where that cannot be done."""

    body: Callable[[], JsonValue]


ITSELF = "//"
"""The key in ``extra`` that means the node itself, of which nothing is modelled; no pointer of a field looks like it."""

Examine = Callable[[JsonValue, JsonValue], str | None]
"""Says what is lost between a value and the one that stands for it: the code of a reason, or None."""

_Note = tuple[Literal["dropped", "changed", "extras", "examined", "all examined"], Any, str, JsonValue, Any, Severity]
"""A note as it was made: what happened, the node, the field, the value that stands there now, code (or what finds it) and severity."""

_UNKNOWN = Own(code="unknown_field")
_COUNT = Own("info", "accounting", neutral=(0, 0.0))
_SETTLING = RLock()
"""Held by whoever reads a report: one for all, since a lock for each conversion would cost those that nobody reads."""
_ABSENT = object()
_MENDED = "lone_surrogate"


class Ledger:
    """Where encoders write what got lost on the way. It records; it never decides, warns or raises.

    ``dropped``, ``changed`` and ``added`` return the value to use. Of two notes on one pointer the
    graver one stays.

    A note is kept as it was made, and its pointer is worked out when the losses are read: most callers never do. So neither the body
    nor a node that was noted may change in between.
    """

    __slots__ = ("_additions", "_losses", "_notes", "_shares", "_spelling", "body", "text", "unplaced")

    def __init__(self, body: JsonValue, spelling: Spelling, text: Text | None = None) -> None:
        #: The source's body, into which the report points.
        self.body = body
        self._spelling = spelling
        self._notes: list[_Note] = []
        self._losses: dict[str, Loss] = {}
        self._shares: dict[str, set[str]] = {}
        self._additions: dict[str, tuple[JsonValue, str]] = {}
        #: What was added to objects of the target's body, until ``place`` finds out where those stand.
        self.unplaced: list[tuple[dict[str, JsonValue], str]] | None = None
        #: The JSON text of the body, which may hold equal keys; None where there is none.
        self.text = text

    @property
    def losses(self) -> tuple[Loss, ...]:
        """The losses so far, without those below a container that is gone as a whole, but for graver ones."""
        with _SETTLING:  # or a second reader would find the notes gone and the losses not yet there
            self._settle()
        gone = {path: SEVERITIES.index(loss.severity) for path, loss in self._losses.items() if loss.kind == "dropped"}
        return tuple(loss for path, loss in self._losses.items() if not is_below(path, SEVERITIES.index(loss.severity), gone))

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

    def all_examined(self, nodes: Sequence[Any], name: str, afters: Sequence[JsonValue], examine: Examine) -> None:
        """Note for each of some nodes what ``examined`` notes for one."""
        self._notes.append(("all examined", nodes, name, afters, examine, "lossy"))

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
        pointers = {id(node): pointer for pointer, node in objects_in(body)}
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

    def mended(self, mends: Iterable[tuple[str, str, str]]) -> None:
        """Report texts of which half a character is gone: the pointer of each, the text, and what it is now.

        To lose such a text as a whole counts more.
        """
        for path, before, after in mends:
            self._losses[path] = Loss(path, "changed", "lossy", _MENDED, REASONS[_MENDED], before, after)

    def __getstate__(self) -> tuple[None, dict[str, Any]]:
        """Return what a copy has. What puts a late body together stays behind, so the report on one is worked out before."""
        with _SETTLING:  # or the copy would find the notes gone and the losses not yet there
            is_late = isinstance(self.body, Late)
            if is_late:
                self._settle()
            state = {name: getattr(self, name) for name in self.__slots__}
            state |= {name: copy(state[name]) for name in ("_notes", "_losses", "_shares", "_additions", "unplaced")}
        return None, state | ({"body": None} if is_late else {})

    def _settle(self) -> None:
        """Work out the losses that the notes stand for."""
        notes, self._notes = self._notes, []
        if notes and isinstance(self.body, Late):
            found = self.body.body()
            self.body = UNSEEN if found is None else found
        for kind, node, name, after, noted, severity in notes:
            if kind == "extras":
                self._settle_extras(node)
            elif kind == "dropped":
                self._settle_dropped(node, name, noted, severity)
            elif kind == "all examined":
                for each, made in zip(node, after, strict=True):
                    self._settle_changed(each, name, made, noted(getattr(each, name), made), severity)
            else:
                code = noted(getattr(node, name), after) if kind == "examined" else noted
                self._settle_changed(node, name, after, code, severity)

    def _settle_dropped(self, node: Any, name: str, code: str, severity: Severity) -> None:
        path, before = self._find(node, name)
        if before is None and not name:
            before = getattr(node, "raw", None)  # which is all that a node that nobody models has
        is_whole = not name or path != self._resolve(node.src)[0] or isinstance(before, str)
        is_whole = is_whole and f"{type(node).__name__}.{name}" not in self._spelling.shared
        self._keep(Loss(path, "dropped" if is_whole else "changed", severity, code, REASONS[code], before))
        if not name and getattr(node, "aside", None):
            path, before = self._resolve(self._gone_aside(node))
            self._keep(Loss(path, "dropped", severity, code, REASONS[code], before))
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
            self._keep(Loss(path, "changed", severity, code, REASONS[code], before, after))

    def _settle_extras(self, node: Any) -> None:
        kind = type(node).__name__
        for pointer, value in node.extra.items():
            own = self._own(f"{kind}.{pointer}", value)
            if own.is_neutral(value):
                continue
            place = pointer if pointer[:1] == "/" else f"{node.src}/{pointer}"
            if pointer == ITSELF:
                place = node.src
            path, before = resolve(self.body, place, self._spelling)
            before = value if before is _ABSENT else before
            if own.restates and _says(resolve(self.body, f"{place.rpartition('/')[0]}/{own.restates}")[1], value):
                continue
            self._keep(Loss(path, own.kind, own.severity, own.code, REASONS[own.code], before, own.after))

    def _own(self, name: str, value: JsonValue) -> Own:
        """Return what the loss of a field means; a row may have a star for any index. Any number in usage counts something."""
        own = self._spelling.own.get(name) or self._spelling.own.get(_INDEX.sub("*", name))
        return own or (_COUNT if name.startswith("Usage.") and type(value) in (int, float) else _UNKNOWN)

    def _keep(self, loss: Loss) -> None:
        known = self._losses.get(loss.path)
        if known is not None and known.code == _MENDED and loss.kind == "dropped":
            known = None  # nothing is left of what was mended
        if known is None or SEVERITIES.index(known.severity) < SEVERITIES.index(loss.severity):
            self._losses[loss.path] = loss

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
                if self.body is UNSEEN:  # whether the source names what is below as we do is not known
                    return above, None
                path, value = self._resolve(f"{above}/{name[inner.end() :]}")
                return (above, before) if value is _ABSENT else (path, value)
        path, value = self._resolve(node.src)
        return path, None if value is _ABSENT else value

    def _told(self, node: Any, places: tuple[str, ...]) -> tuple[str, JsonValue] | None:
        """Return the first place that says something, else the first that exists; None where none does.

        Null, false and empty containers say nothing, nor does a zero among counts.
        """
        found = [at for place in places if (at := self._resolve(_join(node, place)))[1] is not _ABSENT]
        is_count = type(node).__name__ == "Usage"
        said = [at for at in found if at[1] or not (is_count or at[1] is False or is_empty(at[1]))]
        return next(iter(said or found), None)

    def _resolve(self, pointer: str) -> tuple[str, JsonValue]:
        if self.body is UNSEEN:
            return pointer, None
        return resolve(self.body, pointer, self._spelling)


_INNER = re.compile(r"[./]")


def _join(node: Any, place: str) -> str:
    """Return the pointer of a place: relative to the node, after an @ to the second object that the node is made of.

    Each ^ in front leads one step out of the node.
    """
    if place.startswith("@"):
        return f"{node.aside}{place[1:]}" if node.aside else f"{node.src}/@"
    if place.startswith("^"):
        name = place.lstrip("^")
        return f"{node.src.rsplit('/', len(place) - len(name))[0]}/{name}"
    return f"{node.src}/{place}" if place else str(node.src)


def is_absent(value: JsonValue) -> bool:
    """Say whether a pointer led nowhere."""
    return value is _ABSENT


def is_empty(value: JsonValue) -> bool:
    """Say whether a value is null or an empty container: nothing that could be lost."""
    return value is None or (isinstance(value, list | dict) and not value)


def resolve(body: JsonValue, pointer: str, spelling: Spelling = _PLAIN) -> tuple[str, JsonValue]:
    """Follow a pointer through a body; return it in the body's own spelling with the value, or a marker where there is none.

    A step into a list is an index or a text that stands there.
    """
    steps: list[str] = []
    value = body
    for step in pointer.split("/")[1:]:
        key = unescape(step)
        if isinstance(value, dict):
            if spelling.snake_case and key not in value:
                if key == "0":  # such a format takes one object for a list of it
                    continue
                key = next((word for word in (spelling.keywords.get(key, key), to_snake(key)) if word in value), key)
            value = value.get(key, _ABSENT)
        elif isinstance(value, list):
            if not key.isdecimal() and key in value:
                key = str(value.index(key))
            value = value[int(key)] if key.isdecimal() and int(key) < len(value) else _ABSENT
        else:
            value = _ABSENT
        if value is _ABSENT:
            return pointer, _ABSENT
        steps.append(escape(key))
    return "".join(f"/{step}" for step in steps), value


def _says(text: JsonValue, value: JsonValue) -> bool:
    """Say whether something is the JSON text of a value; 1 is 1.0 there, and not true."""
    try:
        return len({json.dumps(json.loads(each, parse_int=float), sort_keys=True) for each in (text, json.dumps(value))}) == 1
    except (TypeError, ValueError, RecursionError):
        return False


def nowhere() -> Ledger:
    """Return a ledger that nobody reads, for writing what is reported elsewhere."""
    return Ledger({}, Spelling())
