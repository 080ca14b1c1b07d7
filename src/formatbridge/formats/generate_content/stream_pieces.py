"""Streams of generate_content, read and folded: calls cut by argument, and sources, which nobody can read before they are whole."""

from __future__ import annotations

import re
from collections import deque
from typing import Any

from formatbridge.errors import StreamDecodeError
from formatbridge.formats.shared.unmodelled_fields import rest
from formatbridge.jsontext.codec import dumps
from formatbridge.jsontext.depth import MAX_DEPTH, spell
from formatbridge.jsontext.types import EXACT, JsonObject

_STEP = re.compile(r"\.([^.\[\]]+)|\[([0-9]{1,9})\]|\['((?:[^'\\]|\\.)*)'\]|\[\"((?:[^\"\\]|\\.)*)\"\]")
_LISTS = ("groundingChunks", "groundingSupports", "citations", "citationSources")
_VALUES = ("stringValue", "numberValue", "boolValue")
_NAMES = {bool: "boolValue", type(None): "nullValue"}
_PIECE = frozenset({"jsonPath", "willContinue", "nullValue", *_VALUES})
_CALL = frozenset({"id", "name", "args", "partialArgs", "willContinue"})
"""What a call itself has: a piece has nothing to say by these names."""


class PartialCall:
    """A function call that comes argument by argument: each piece names its place by a JSON path, and text for one place adds up."""

    def __init__(self, part: JsonObject) -> None:
        self._part = {key: value for key, value in part.items() if key != "functionCall"}
        self._call: JsonObject = {}
        self._values: dict[str, Any] = {}
        self.is_over = False
        self.is_cut = False

    @property
    def id(self) -> str | None:
        """Its id, as far as it is known."""
        return self._call.get("id") or None

    def feed(self, part: JsonObject) -> None:
        """Take a piece, which says whether another one follows."""
        call: JsonObject = part["functionCall"]
        self._part |= {key: value for key, value in part.items() if key != "functionCall" and value is not None}
        self._call |= {
            key: value for key, value in call.items() if key not in ("partialArgs", "willContinue") and value is not None
        }
        for piece in call.get("partialArgs") or ():
            path = piece.get("jsonPath") or ""
            unread = rest(piece, _PIECE) or {}
            self._call |= {f"partialArgs/{key}" if key in _CALL else key: value for key, value in unread.items()}
            name = next((name for name in _VALUES if piece.get(name) is not None), None)
            known = self._values.get(path)
            if name == "stringValue" and isinstance(known, list):
                known.append(piece[name])
            elif name is not None or piece.get("nullValue") is not None or not piece.get("willContinue"):
                self._values[path] = [piece[name]] if name == "stringValue" else _number(piece[name]) if name else None
        self.is_over = not call.get("willContinue")

    def so_far(self) -> JsonObject:
        """Return the call with its pieces as they came: what they make is known only when it is over."""
        pieces = [_piece(path, value) for path, value in self._values.items()]
        return self._part | {"functionCall": self._call | ({"partialArgs": pieces} if pieces else {})}

    def whole(self) -> JsonObject:
        """Return the call as a part that came in one piece."""
        root: JsonObject = {"args": dict(self._call.get("args") or {})} | ({"willContinue": True} if self.is_cut else {})
        for path, value in self._values.items():
            _put(root, path, "".join(value) if isinstance(value, list) else value)
        return self._part | {"functionCall": self._call | root}


class PartialCalls:
    """The calls of a candidate that come in pieces, several side by side; they leave in the order in which they began.

    An id tells whose a piece is. One without an id or a name goes on with the call of the piece before, or with the last that is open.
    """

    def __init__(self) -> None:
        self._begun: deque[PartialCall] = deque()  # those that have ended wait for those before them
        self._open: dict[str, PartialCall] = {}  # those that have not, by id
        self._unnamed: PartialCall | None = None  # the one that is open without an id; none has begun behind it
        self._latest: PartialCall | None = None

    def __bool__(self) -> bool:
        return bool(self._begun)

    def take(self, part: JsonObject) -> list[JsonObject]:
        """Take a piece, or a call that comes whole behind others, and return the calls that are whole now."""
        call: JsonObject = part["functionCall"]
        found = self._open_of(call)
        if found is None:
            if not any(call.values()):  # the end of one that has ended
                return []
            found = self._begin(part)
        found.feed(part)
        self._latest = found
        self._unnamed = found if not found.id and not found.is_over else None if found is self._unnamed else self._unnamed
        if found.id and not found.is_over:
            self._open[found.id] = found
        elif found.id:
            self._open.pop(found.id, None)
        return self._ended()

    def end(self) -> list[JsonObject]:
        """End all that are open and return them, as such that would have gone on."""
        for call in self._begun:
            call.is_cut = not call.is_over
            call.is_over = True
        self._open, self._unnamed = {}, None
        return self._ended()

    def left_over(self, first: int) -> JsonObject:
        """Return the calls that nobody told yet, by pointer from their candidate: what is told next is part number ``first``."""
        return {f"content/parts/{number}": call.so_far() for number, call in enumerate(self._begun, first)}

    def _open_of(self, call: JsonObject) -> PartialCall | None:
        """Return the open call that a piece goes on with; an id may come later than the name."""
        if call.get("id"):
            return self._open.get(call["id"]) or (None if call.get("name") else self._unnamed)
        if call.get("name"):
            return None
        if not any(call.values()) or (self._latest is not None and not self._latest.is_over):
            return self._latest
        return next((each for each in reversed(self._begun) if not each.is_over), None)

    def _begin(self, part: JsonObject) -> PartialCall:
        """Begin a call; one before it that has no id ends, for no piece could name it."""
        if self._unnamed is not None:
            self._unnamed.is_over = True
            self._unnamed = None
        self._begun.append(PartialCall(part))
        return self._begun[-1]

    def _ended(self) -> list[JsonObject]:
        made: list[JsonObject] = []
        while self._begun and self._begun[0].is_over:
            call = self._begun.popleft()
            made.append(call.whole())
            self._latest = None if call is self._latest else self._latest
        return made


def _piece(path: str, value: Any) -> JsonObject:
    """Return a piece that brings what several brought for one place."""
    name, said = ("stringValue", "".join(value)) if isinstance(value, list) else (_NAMES.get(type(value), "numberValue"), value)
    return {"jsonPath": path, name: said}


def _number(value: Any) -> Any:
    """Return a whole number as an integer: on the wire they look the same, and the checker makes every number a double."""
    return int(value) if isinstance(value, float) and value.is_integer() and abs(value) <= EXACT else value


def _put(root: JsonObject, path: str, value: Any) -> None:
    """Set the value at a JSON path, making what leads there."""
    node: Any = root
    step: str | int = "args"
    for following in _steps(path):
        node = _enter(node, step, [] if isinstance(following, int) else {}, path)
        step = following
    _enter(node, step, value, path, replaces=True)


def _enter(node: Any, step: str | int, value: Any, path: str, *, replaces: bool = False) -> Any:
    """Return what is one step below a node; ``value`` becomes it where nothing is."""
    if isinstance(node, dict) and isinstance(step, str):
        if replaces or step not in node:
            node[step] = value
        return node[step]
    if isinstance(node, list) and isinstance(step, int) and step <= len(node):
        if step == len(node):
            node.append(value)
        elif replaces:
            node[step] = value
        return node[step]
    raise _astray(path)


def _steps(path: str) -> list[str | int]:
    steps: list[str | int] = []
    place = 1
    while place < len(path):
        found = _STEP.match(path, place)
        if found is None or len(steps) >= MAX_DEPTH:
            raise _astray(path)
        name, index, single, double = found.groups()
        quoted = single if single is not None else double
        steps.append(int(index) if index is not None else name if name is not None else re.sub(r"\\(.)", r"\1", quoted))
        place = found.end()
    if path[:1] != "$" or not steps:
        raise _astray(path)
    return steps


def _astray(path: str) -> StreamDecodeError:
    return StreamDecodeError("has an argument whose path leads nowhere", offset=0, snippet=path.encode(errors="replace"))


class Gathered:
    """An object, event by event: the new items of a list are added, and any other value that says something replaces the one before."""

    def __init__(self) -> None:
        self.told: JsonObject = {}
        self._seen: dict[str, set[str]] = {}

    def feed(self, told: JsonObject) -> None:
        """Take what another event tells."""
        for key, value in told.items():
            known = self.told.get(key)
            if isinstance(known, list) and isinstance(value, list):
                self._add(key, known, value)
            elif value or known is None:
                self.told[key] = list(value) if isinstance(value, list) else value
                self._seen.pop(key, None)

    def _add(self, key: str, known: list[Any], items: list[Any]) -> None:
        if key not in self._seen:
            self._seen[key] = set(map(spell, known))
        words = list(map(spell, items))
        known += [item for word, item in zip(words, items, strict=True) if word not in self._seen[key]]
        self._seen[key].update(words)


class Sources:
    """What a candidate rests on, event by event. ``told``: all of it, as a whole candidate would have it."""

    def __init__(self) -> None:
        self.told: JsonObject = {}
        self._gathered: dict[str, Gathered] = {}
        self._seen: set[str] = set()

    def feed(self, candidate: JsonObject) -> None:
        """Take what an event says about sources."""
        for name, add in (("groundingMetadata", self._add_grounding), ("citationMetadata", self._add_quotes)):
            told = candidate.get(name)
            if told:
                gathered = self._gathered.setdefault(name, Gathered())
                self.told[name] = gathered.told
                add(gathered.told, told)
                gathered.feed({key: value for key, value in told.items() if key not in _LISTS})

    def _add_grounding(self, held: JsonObject, told: JsonObject) -> None:
        """Add sources and spans. An event that repeats all before it replaces that; else its numbers of sources move up."""
        before = _extend(held, "groundingChunks", told.get("groundingChunks") or [])
        supports = told.get("groundingSupports") or []
        _extend(held, "groundingSupports", [_moved(support, before) for support in supports] if before else supports)

    def _add_quotes(self, held: JsonObject, told: JsonObject) -> None:
        """Add the quotes that no event before has told."""
        for name in ("citations", "citationSources"):
            if not told.get(name):
                continue
            keys = [(f"{name}{dumps(item).decode()}", item) for item in told[name]]
            held.setdefault(name, []).extend(item for key, item in keys if key not in self._seen)
            self._seen.update(key for key, _ in keys)


def _extend(held: JsonObject, name: str, items: list[JsonObject]) -> int:
    """Add items to those before, and return how many those are; 0 where the items repeat them."""
    known: list[JsonObject] = held.setdefault(name, []) if items else held.get(name, [])
    before = len(known)
    if len(items) >= before and items[:before] == known:
        known += items[before:]
        return 0
    known += items
    return before if items else 0


def _moved(support: JsonObject, by: int) -> JsonObject:
    return support | {"groundingChunkIndices": [number + by for number in support.get("groundingChunkIndices") or ()]}
