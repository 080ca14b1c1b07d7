"""Streams of generate_content: function calls whose arguments come in pieces, and sources; complete only at the end of a candidate."""

from __future__ import annotations

import re
from collections import deque
from typing import Any

from formatbridge.errors import StreamDecodeError
from formatbridge.formats.shared.fold import Fold, Rule, Table
from formatbridge.formats.shared.unmodelled_fields import rest
from formatbridge.jsontext.depth import MAX_DEPTH
from formatbridge.jsontext.types import EXACT, JsonObject

_STEP = re.compile(r"\.([^.\[\]]+)|\[([0-9]{1,9})\]|\['((?:[^'\\]|\\.)*)'\]|\[\"((?:[^\"\\]|\\.)*)\"\]")
_VALUES = ("stringValue", "numberValue", "boolValue")
_NAMES = {bool: "boolValue", type(None): "nullValue"}
_ARGUMENT = frozenset({"jsonPath", "willContinue", "nullValue", *_VALUES})
_CALL = frozenset({"id", "name", "args", "partialArgs", "willContinue"})


class PartialCall:
    """A function call that comes argument by argument: each piece names a JSON path, and text for one path is concatenated.

    ``is_cut``: the stream ended before the call.
    """

    def __init__(self, part: JsonObject) -> None:
        self._part = {key: value for key, value in part.items() if key != "functionCall"}
        self._call: JsonObject = {}
        self._values: dict[str, Any] = {}
        self.is_over = False
        self.is_cut = False

    @property
    def id(self) -> str | None:
        """The id of the call; None before a piece has one."""
        return self._call.get("id") or None

    def feed(self, part: JsonObject) -> None:
        """Add a piece. ``willContinue`` means that another one follows."""
        call: JsonObject = part["functionCall"]
        self._part |= {key: value for key, value in part.items() if key != "functionCall" and value is not None}
        self._call |= rest(call, {"partialArgs", "willContinue"}) or {}
        for piece in call.get("partialArgs") or ():
            path = piece.get("jsonPath") or ""
            unread = rest(piece, _ARGUMENT) or {}
            self._call |= {f"partialArgs/{key}" if key in _CALL else key: value for key, value in unread.items()}
            name = next((name for name in _VALUES if piece.get(name) is not None), None)
            known = self._values.get(path)
            if name == "stringValue" and isinstance(known, list):
                known.append(piece[name])
            elif name is not None or piece.get("nullValue") is not None or not piece.get("willContinue"):
                self._values[path] = [piece[name]] if name == "stringValue" else _number(piece[name]) if name else None
        self.is_over = not call.get("willContinue")

    def so_far(self) -> JsonObject:
        """Return the call with its pieces as they came."""
        pieces = [
            {"jsonPath": path, "stringValue": "".join(value)}
            if isinstance(value, list)
            else {"jsonPath": path, _NAMES.get(type(value), "numberValue"): value}
            for path, value in self._values.items()
        ]
        return self._part | {"functionCall": self._call | ({"partialArgs": pieces} if pieces else {})}

    def whole(self) -> JsonObject:
        """Return the call as a part that came in one piece."""
        call: JsonObject = {"args": dict(self._call.get("args") or {})} | ({"willContinue": True} if self.is_cut else {})
        for path, value in self._values.items():
            _put(call, path, "".join(value) if isinstance(value, list) else value)
        return self._part | {"functionCall": self._call | call}


class PartialCalls:
    """The calls of a candidate that come in pieces, which may alternate. They are returned in the order in which they began.

    A piece belongs to the call with its id. One without an id or a name continues the call of the piece before, or the last open one.
    """

    def __init__(self) -> None:
        self._begun: deque[PartialCall] = deque()  # a call that has ended waits for those before it
        self._open: dict[str, PartialCall] = {}  # open calls by id
        self._unnamed: PartialCall | None = None  # the open call without an id, if no other began after it
        self._latest: PartialCall | None = None

    def __bool__(self) -> bool:
        return bool(self._begun)

    def take(self, part: JsonObject) -> list[JsonObject]:
        """Add a piece, or a whole call after others, and return the calls that are complete now."""
        raw: JsonObject = part["functionCall"]
        call = self._open_of(raw)
        if call is None:
            if not any(raw.values()):  # the end of a call that has ended
                return []
            call = self._begin(part)
        call.feed(part)
        self._latest = call
        self._unnamed = call if not call.id and not call.is_over else None if call is self._unnamed else self._unnamed
        if call.id and not call.is_over:
            self._open[call.id] = call
        elif call.id:
            self._open.pop(call.id, None)
        return self._ended()

    def end(self) -> list[JsonObject]:
        """End the open calls and return them with ``willContinue``."""
        for call in self._begun:
            call.is_cut = not call.is_over
            call.is_over = True
        self._open, self._unnamed = {}, None
        return self._ended()

    def left_over(self, first: int) -> JsonObject:
        """Return the pending calls by pointer from their candidate; ``first``: the place of the next part."""
        return {f"content/parts/{place}": call.so_far() for place, call in enumerate(self._begun, first)}

    def _open_of(self, raw: JsonObject) -> PartialCall | None:
        """Return the open call that a piece continues; the id may come after the name."""
        if raw.get("id"):
            return self._open.get(raw["id"]) or (None if raw.get("name") else self._unnamed)
        if raw.get("name"):
            return None
        if not any(raw.values()) or (self._latest is not None and not self._latest.is_over):
            return self._latest
        return next((call for call in reversed(self._begun) if not call.is_over), None)

    def _begin(self, part: JsonObject) -> PartialCall:
        """Begin a call. An open one without an id ends, for no later piece can name it."""
        if self._unnamed is not None:
            self._unnamed.is_over = True
            self._unnamed = None
        self._begun.append(PartialCall(part))
        return self._begun[-1]

    def _ended(self) -> list[JsonObject]:
        ended: list[JsonObject] = []
        while self._begun and self._begun[0].is_over:
            call = self._begun.popleft()
            ended.append(call.whole())
            self._latest = None if call is self._latest else self._latest
        return ended


def _number(value: Any) -> Any:
    """Return a whole number as an integer: on the wire both look the same, and validation makes every number a double."""
    return int(value) if isinstance(value, float) and value.is_integer() and abs(value) <= EXACT else value


def _put(call: JsonObject, path: str, value: Any) -> None:
    """Set the value at a JSON path of the arguments; objects and lists on the way that do not exist are created."""
    steps = _steps(path)
    node: Any = call
    for step, following in zip(["args", *steps], [*steps, None], strict=True):
        new = value if following is None else [] if isinstance(following, int) else {}
        if isinstance(node, dict) and isinstance(step, str):
            if following is None or step not in node:
                node[step] = new
        elif isinstance(node, list) and isinstance(step, int) and step <= len(node):
            node[step:] = [new, *node[step + 1 :]] if following is None or step == len(node) else node[step:]
        else:
            raise _bad_path(path)
        node = node[step]


def _steps(path: str) -> list[str | int]:
    """Return the steps of a JSON path; raise ``StreamDecodeError`` where it is none, or too deep."""
    steps = list(_STEP.finditer(path, 1))
    if path[:1] != "$" or not 0 < len(steps) <= MAX_DEPTH or sum(len(step[0]) for step in steps) != len(path) - 1:
        raise _bad_path(path)
    return [int(step[2]) if step[2] else step[1] or re.sub(r"\\(.)", r"\1", step[3] or step[4] or "") for step in steps]


def _bad_path(path: str) -> StreamDecodeError:
    return StreamDecodeError("has an argument whose path leads nowhere", offset=0, snippet=path.encode(errors="replace"))


class Gathered:
    """An object that comes event by event. A list gets the items that no earlier event had; of other values the last one counts."""

    _TABLE = Table({}, other="unique", null="unique")

    def __init__(self) -> None:
        self._fold = Fold(self._TABLE)

    def feed(self, piece: JsonObject) -> None:
        """Add what an event has of it."""
        self._fold.add(piece)

    @property
    def told(self) -> JsonObject:
        """The object as far as it has come."""
        return self._fold.whole()


def _add_grounding(candidate: Fold, key: str, value: Any) -> None:
    """Add grounding. An event repeats all earlier chunks, or has new ones only; then the indexes of its supports increase."""
    if not candidate.values.get(key):
        candidate.values[key] = value
        return
    grounding = candidate.object_of(key, _GROUNDING)
    before = _continue(grounding, "groundingChunks", value.get("groundingChunks"))
    supports = value.get("groundingSupports")
    if supports and before:
        supports = [
            support | {"groundingChunkIndices": [index + before for index in support.get("groundingChunkIndices") or ()]}
            for support in supports
        ]
    _continue(grounding, "groundingSupports", supports)
    grounding.add(value)


def _continue(grounding: Fold, key: str, items: list[JsonObject] | None) -> int:
    """Extend a list, except by a repetition of all of it; return the index of the first new item, 0 for a repetition."""
    if not items:
        return 0
    known = grounding.list_of(key)
    before = 0 if items[: len(known)] == known else len(known)
    known += items if before else items[len(known) :]
    return before


_GROUNDING = Table({"groundingChunks": "ignore", "groundingSupports": "ignore"}, other="unique", null="unique")
SOURCES: dict[str, Rule] = {
    "groundingMetadata": _add_grounding,
    "citationMetadata": Gathered._TABLE,
    "urlContextMetadata": Gathered._TABLE,
}
"""Fields of a candidate with sources. The vendor does not document how they continue."""


class Sources(Gathered):
    """The sources of a candidate, event by event."""

    _TABLE = Table(SOURCES | {"urlContextMetadata": "ignore"}, other="ignore", null="ignore")
