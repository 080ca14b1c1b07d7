"""Function calls of Gemini streams whose arguments come in pieces; they are complete when the call or the candidate ends."""

from __future__ import annotations

import re
from collections import deque
from typing import Any

from formatbridge.errors import StreamDecodeError
from formatbridge.formats.shared.unmodelled_fields import read_extra
from formatbridge.jsontext.depth import MAX_DEPTH
from formatbridge.jsontext.types import EXACT, JsonObject

# The two notations of a member, and an index (RFC 9535, sections 2.3 and 2.5).
_STEP = re.compile(r"\.([^.\[\]]+)|\[([0-9]{1,9})\]|\['((?:[^'\\]|\\.)*)'\]|\[\"((?:[^\"\\]|\\.)*)\"\]")
# The fields of a piece (python-genai, PartialArg).
_VALUES = ("stringValue", "numberValue", "boolValue")
_NAMES = {bool: "boolValue", type(None): "nullValue"}
_ARGUMENT = frozenset({"jsonPath", "willContinue", "nullValue", *_VALUES})
_CALL = frozenset({"id", "name", "args", "partialArgs", "willContinue"})


class _PartialCall:
    """A function call in pieces: each piece names a JSON path, and the strings for one path are concatenated.

    ``is_truncated``: the stream ended before the call.
    """

    def __init__(self, part: JsonObject) -> None:
        self._part = {key: value for key, value in part.items() if key != "functionCall"}
        self._call: JsonObject = {}
        self._values: dict[str, Any] = {}
        self.is_ended = False
        self.is_truncated = False

    @property
    def id(self) -> str | None:
        """The id of the call; None before a piece has one."""
        return self._call.get("id") or None

    def feed(self, part: JsonObject) -> None:
        """Add a piece. ``willContinue`` means that another one follows."""
        # {"functionCall": {"name": "f", "partialArgs": [{"jsonPath": "$.city", "stringValue": "Ro", "willContinue": true}],
        #  "willContinue": true}}, then {"functionCall": {"partialArgs": [{"jsonPath": "$.city", "stringValue": "me"}]}}
        call: JsonObject = part["functionCall"]
        self._part |= {key: value for key, value in part.items() if key != "functionCall" and value is not None}
        self._call |= read_extra(call, {"partialArgs", "willContinue"}) or {}
        for piece in call.get("partialArgs") or ():
            path = piece.get("jsonPath") or ""
            unread = read_extra(piece, _ARGUMENT) or {}
            self._call |= {f"partialArgs/{key}" if key in _CALL else key: value for key, value in unread.items()}
            name = next((name for name in _VALUES if piece.get(name) is not None), None)
            known = self._values.get(path)
            if name == "stringValue" and isinstance(known, list):
                known.append(piece[name])
            elif name is not None or piece.get("nullValue") is not None or not piece.get("willContinue"):
                self._values[path] = [piece[name]] if name == "stringValue" else _as_integer(piece[name]) if name else None
        self.is_ended = not call.get("willContinue")

    def pending_part(self) -> JsonObject:
        """Return the pending call with its pieces as they were received."""
        pieces = [
            {"jsonPath": path, "stringValue": "".join(value)}
            if isinstance(value, list)
            else {"jsonPath": path, _NAMES.get(type(value), "numberValue"): value}
            for path, value in self._values.items()
        ]
        return self._part | {"functionCall": self._call | ({"partialArgs": pieces} if pieces else {})}

    def to_part(self) -> JsonObject:
        """Return the call as a part in one piece."""
        call: JsonObject = {"args": dict(self._call.get("args") or {})} | ({"willContinue": True} if self.is_truncated else {})
        for path, value in self._values.items():
            _set_value(call, path, "".join(value) if isinstance(value, list) else value)
        return self._part | {"functionCall": self._call | call}


class PartialCalls:
    """The calls in pieces of one candidate, whose pieces may alternate. They are returned in the order in which they began.

    A piece belongs to the call with its id. One without an id or a name continues the call of the piece before, or the last open one.
    """

    def __init__(self) -> None:
        self._begun: deque[_PartialCall] = deque()  # in order; an ended call stays until those before it have ended
        self._open: dict[str, _PartialCall] = {}  # open calls by id
        self._unnamed: _PartialCall | None = None  # the open call without an id, if no other began after it
        self._latest: _PartialCall | None = None

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
        self._unnamed = call if not call.id and not call.is_ended else None if call is self._unnamed else self._unnamed
        if call.id and not call.is_ended:
            self._open[call.id] = call
        elif call.id:
            self._open.pop(call.id, None)
        return self._ended()

    def end(self) -> list[JsonObject]:
        """End the open calls and return them with ``willContinue``."""
        for call in self._begun:
            call.is_truncated = not call.is_ended
            call.is_ended = True
        self._open, self._unnamed = {}, None
        return self._ended()

    def unread(self, first: int) -> JsonObject:
        """Return the pending calls by pointer from their candidate; ``first``: the place of the next part."""
        return {f"content/parts/{index}": call.pending_part() for index, call in enumerate(self._begun, first)}

    def _open_of(self, raw: JsonObject) -> _PartialCall | None:
        """Return the open call that a piece continues; the id may come after the name."""
        if raw.get("id"):
            return self._open.get(raw["id"]) or (None if raw.get("name") else self._unnamed)
        if raw.get("name"):
            return None
        if not any(raw.values()) or (self._latest is not None and not self._latest.is_ended):
            return self._latest
        return next((call for call in reversed(self._begun) if not call.is_ended), None)

    def _begin(self, part: JsonObject) -> _PartialCall:
        """Begin a call. An open one without an id ends, because no later piece can name it."""
        if self._unnamed is not None:
            self._unnamed.is_ended = True
            self._unnamed = None
        self._begun.append(_PartialCall(part))
        return self._begun[-1]

    def _ended(self) -> list[JsonObject]:
        """Remove and return the calls that have ended, up to the first open one."""
        ended: list[JsonObject] = []
        while self._begun and self._begun[0].is_ended:
            call = self._begun.popleft()
            ended.append(call.to_part())
            self._latest = None if call is self._latest else self._latest
        return ended


def _as_integer(value: Any) -> Any:
    """Return an integral number as an integer, because validation decodes every number as a double."""
    return int(value) if isinstance(value, float) and value.is_integer() and abs(value) <= EXACT else value


def _set_value(call: JsonObject, path: str, value: Any) -> None:
    """Set the value at a JSON path of the arguments; missing objects and lists are created."""
    steps = _parse_path(path)
    node: Any = call
    for step, next_step in zip(["args", *steps], [*steps, None], strict=True):
        new = value if next_step is None else [] if isinstance(next_step, int) else {}
        if isinstance(node, dict) and isinstance(step, str):
            if next_step is None or step not in node:
                node[step] = new
        elif isinstance(node, list) and isinstance(step, int) and step <= len(node):
            node[step:] = [new, *node[step + 1 :]] if next_step is None or step == len(node) else node[step:]
        else:
            raise _path_error(path)
        node = node[step]


def _parse_path(path: str) -> list[str | int]:
    """Return the steps of a JSON path; raise ``StreamDecodeError`` if it is invalid or too deep."""
    steps = list(_STEP.finditer(path, 1))
    if path[:1] != "$" or not 0 < len(steps) <= MAX_DEPTH or sum(len(step[0]) for step in steps) != len(path) - 1:
        raise _path_error(path)
    return [int(step[2]) if step[2] else step[1] or re.sub(r"\\(.)", r"\1", step[3] or step[4] or "") for step in steps]


def _path_error(path: str) -> StreamDecodeError:
    """Return the error for a JSON path that is invalid or does not fit the values before it."""
    return StreamDecodeError(
        "has a function call with an invalid jsonPath, expected a path such as $.a[0].b",
        offset=0,
        snippet=path.encode(errors="replace"),
    )
