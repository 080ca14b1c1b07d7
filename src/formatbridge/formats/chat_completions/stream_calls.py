"""Pieces of tool calls: which call one belongs to, and what nobody knows of it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from formatbridge import ir
from formatbridge._codec import dumps
from formatbridge.formats._arguments import read_object
from formatbridge.formats._extra import rest

JsonObject = dict[str, Any]

_CALL = frozenset({"index", "id", "type", "function", "custom", "extra_content"})
_FUNCTION = frozenset({"name", "arguments", "input"})


@dataclass(slots=True)
class Held:
    """A call as far as it has come, with the pieces of its arguments."""

    kind: str = "function"
    id: str | None = None
    name: str | None = None
    extra: JsonObject | None = None
    pieces: list[str] = field(default_factory=list)

    def take(self, raw: JsonObject) -> None:
        """Take another piece; what was told stays, where it does not tell again."""
        body = raw.get("custom") or raw.get("function") or {}
        self.kind = "custom" if raw.get("custom") else self.kind
        self.id = raw.get("id") or self.id
        self.name = body.get("name") or self.name
        self.extra = raw.get("extra_content") or self.extra
        self.add(text_of(raw))

    def add(self, text: str) -> None:
        """Take another piece of its arguments."""
        self.pieces.append(text)

    @property
    def is_whole(self) -> bool:
        """Whether it can be made as it stands: it has a name, and its arguments are an object. Of free text nobody can say."""
        return bool(self.name) and (self.kind == "custom" or read_object("".join(self.pieces)) is not None)

    def call(self, made_id: str) -> JsonObject:
        """Return the call in the shape that a whole answer has, without its arguments."""
        body = {"name": self.name or "", "input" if self.kind == "custom" else "arguments": ""}
        call = {"id": self.id or made_id, "type": self.kind, self.kind: body}
        return call | ({"extra_content": self.extra} if self.extra else {})


@dataclass(slots=True)
class Calls:
    """The calls of one choice, by slot.

    ``open``: the numbers of their parts; ``begun``: those that have one; ``waiting``: those that have none yet; ``unread``: what nobody
    knows of them. ``count``: how many parts there were. ``ids``: their ids; ``latest``: the slot that an index named last.
    """

    open: dict[int, int] = field(default_factory=dict)
    begun: dict[int, Held] = field(default_factory=dict)
    waiting: dict[int, Held] = field(default_factory=dict)
    unread: dict[int, JsonObject] = field(default_factory=dict)
    count: int = 0
    ids: dict[int, str] = field(default_factory=dict)
    latest: dict[int, int] = field(default_factory=dict)

    def slot_of(self, raw: JsonObject, position: int) -> int:
        """Find the slot of a piece. Some servers leave the index out, and some use one again for a call with another id."""
        index, call_id = raw.get("index"), raw.get("id")
        slot = self.latest.get(index, index) if index is not None else None
        if slot is None:
            last = max(self.ids, default=-1)
            slot = self._named(call_id, last + 1) if call_id else max(last, position, 0)
        elif call_id and self.ids.get(slot) not in (None, "", call_id):
            slot = self._named(call_id, max(self.ids) + 1)
        self.ids.setdefault(slot, "")
        if index is not None:
            self.latest[index] = slot
        if call_id:
            self.ids[slot] = call_id
        return int(slot)

    @property
    def are_whole(self) -> bool:
        """Whether every call can be made as it stands."""
        return all(call.is_whole for call in (*self.begun.values(), *self.waiting.values()))

    def _named(self, call_id: str, otherwise: int) -> int:
        return next((slot for slot, known in self.ids.items() if known == call_id), otherwise)

    def note_unread(self, raw: JsonObject, slot: int) -> None:
        """Keep what nobody knows of a piece, by pointer relative to the call."""
        kind = "custom" if raw.get("custom") else "function"
        body = raw.get(kind) or {}
        if not (_CALL.issuperset(raw) and _FUNCTION.issuperset(body)):
            known = self.unread.get(slot, {})
            self.unread[slot] = known | (rest(raw, _CALL) or {}) | (rest(body, _FUNCTION, f"{kind}/") or {})

    def note_name(self, raw: JsonObject, slot: int, part: ir.Part) -> None:
        """Keep a name that a piece tells again, where it is another one: the first has left."""
        name = (raw.get("custom") or raw.get("function") or {}).get("name")
        if name and isinstance(part, ir.ToolCall) and name != part.name:
            kind = "custom" if raw.get("custom") else "function"
            self.unread[slot] = self.unread.get(slot, {}) | {f"{kind}/name": name}


def text_of(raw: JsonObject) -> str:
    """Return what a piece adds to the arguments; some servers send an object."""
    body = raw.get("custom") or raw.get("function") or {}
    text = body.get("input") if raw.get("custom") else body.get("arguments")
    return text if isinstance(text, str) else dumps(text).decode() if text else ""
