"""Streams of chat_completions, read: pieces of tool calls, which call one belongs to, and what nobody knows of it."""

from __future__ import annotations

import sys
from dataclasses import dataclass, field

from formatbridge import ir
from formatbridge.formats.chat_completions.response import decode_answer
from formatbridge.formats.chat_completions.tool_calls import call_stem
from formatbridge.formats.shared.tool_arguments import read_object
from formatbridge.formats.shared.unmodelled_fields import has_values, rest
from formatbridge.jsontext.codec import dumps
from formatbridge.jsontext.types import JsonObject
from formatbridge.streaming.framing import ArrayReader

_CALL = frozenset({"index", "id", "type", "function", "custom", "extra_content"})
_FUNCTION = frozenset({"name", "arguments", "input"})


class _Ending:
    """Looks for the end of an object in pieces of text that grow in number, at each of them once."""

    def __init__(self) -> None:
        self._reader = ArrayReader(sys.maxsize)
        self._count = 0
        self._is_found = False

    def is_in(self, pieces: list[str]) -> bool:
        """Say whether these pieces have come to it."""
        told = "".join(pieces[self._count :]).encode()
        self._count = len(pieces)
        self._is_found = self._is_found or any(value.data.startswith(b"{") for value in self._reader.feed(told))
        return self._is_found


@dataclass(slots=True)
class Held:
    """A call as far as it has come, with the pieces of its arguments."""

    kind: str = "function"
    id: str | None = None
    name: str | None = None
    extra: JsonObject | None = None
    pieces: list[str] = field(default_factory=list)
    is_named_again: bool = False
    _ending: _Ending | None = None

    def take(self, raw: JsonObject) -> None:
        """Take another piece; the first id and the first name count."""
        name = _name_of(raw)
        self.is_named_again = self.is_named_again or bool(name and self.name)
        self.kind = "custom" if kind_of_call(raw) == "custom" else self.kind
        self.id = self.id or raw.get("id")
        self.name = self.name or name
        self.extra = raw.get("extra_content") or self.extra
        self.add(text_of(raw))

    def add(self, text: str) -> None:
        """Take another piece of its arguments."""
        self.pieces.append(text)

    @property
    def is_whole(self) -> bool:
        """Whether it can be made as it stands: it has a name, and its arguments are an object. Of free text nobody can say."""
        return bool(self.name) and (self.kind == "custom" or read_object("".join(self.pieces)) is not None)

    @property
    def has_ended(self) -> bool:
        """Whether its arguments have come to the end of an object. Of free text nobody can say."""
        self._ending = self._ending or _Ending()
        return self.kind == "function" and self._ending.is_in(self.pieces)

    def call(self, made_id: str) -> JsonObject:
        """Return the call in the shape that a whole answer has, without its arguments."""
        body = {"name": self.name or "", "input" if self.kind == "custom" else "arguments": ""}
        call = {"id": self.id or made_id, "type": self.kind, self.kind: body}
        return call | ({"extra_content": self.extra} if self.extra else {})


@dataclass(slots=True)
class Calls:
    """The calls of one choice, by slot.

    ``open``: the numbers of their parts; ``begun``: those that have one; ``waiting``: those that have none yet; ``unread``: what nobody
    knows of them. ``count``: how many parts there were. ``ids``: their ids, the first of each; ``slots``: where an id is; ``last``: the
    highest slot; ``latest``: the slot that an index named last.
    """

    open: dict[int, int] = field(default_factory=dict)
    begun: dict[int, Held] = field(default_factory=dict)
    waiting: dict[int, Held] = field(default_factory=dict)
    unread: dict[int, JsonObject] = field(default_factory=dict)
    count: int = 0
    ids: dict[int, str] = field(default_factory=dict)
    slots: dict[str, int] = field(default_factory=dict)
    last: int = -1
    latest: dict[int, int] = field(default_factory=dict)

    def slot_of(self, raw: JsonObject, position: int) -> int:
        """Find the slot of a piece. Some servers leave the index out, and some use one again for the next call."""
        index, call_id = raw.get("index"), raw.get("id")
        slot = self.latest.get(index, index) if index is not None else None
        if slot is None:
            slot = self.slots.get(call_id, self.last + 1) if call_id else max(self.last, position, 0)
        held = self.waiting.get(slot) or self.begun.get(slot)
        if held is not None:
            slot = self._slot_behind(held, raw, slot)
        self._note_id(slot, call_id)
        if index is not None:
            self.latest[index] = slot
        return int(slot)

    def _slot_behind(self, held: Held, raw: JsonObject, slot: int) -> int:
        """Find the slot of a piece that comes to a call: its own, that of the next, or of another that has its id."""
        call_id, is_next = raw.get("id"), _is_of_the_next(raw, held)
        behind = self.last + 1 if is_next else slot
        if call_id and held.id and call_id != held.id:
            return self.slots.get(call_id, behind)
        if is_next and not _name_of(raw):
            self.waiting[behind] = Held(name=held.name)
        return behind

    def _note_id(self, slot: int, call_id: str | None) -> None:
        """Keep the first id of a slot."""
        self.last = max(self.last, slot)
        self.ids[slot] = self.ids.get(slot) or call_id or ""
        if call_id and self.ids[slot] == call_id:
            self.slots.setdefault(call_id, slot)

    @property
    def are_whole(self) -> bool:
        """Whether every call can be made as it stands."""
        return all(call.is_whole for call in (*self.begun.values(), *self.waiting.values()))

    def note_unread(self, raw: JsonObject, slot: int) -> None:
        """Keep what nobody knows of a piece, by pointer relative to the call."""
        kind = kind_of_call(raw)
        body = raw.get(kind) or {}
        if not (_CALL.issuperset(raw) and _FUNCTION.issuperset(body)):
            known = self.unread.get(slot, {})
            self.unread[slot] = known | (rest(raw, _CALL) or {}) | (rest(body, _FUNCTION, f"{kind}/") or {})

    def note_again(self, raw: JsonObject, slot: int, held: Held) -> None:
        """Keep an id or a name that a piece tells again, where it is another one: the first counts."""
        kind = kind_of_call(raw)
        for place, told, known in (("id", raw.get("id"), held.id), (f"{kind}/name", _name_of(raw), held.name)):
            if told and known and told != known:
                self.unread[slot] = self.unread.get(slot, {}) | {place: told}


def _is_of_the_next(raw: JsonObject, held: Held) -> bool:
    """Say whether a piece that comes to a call is of the next one: it has another id, and a name.

    Where the server gives no ids, another name tells, or the same one with text behind the end of the arguments: some servers say the name
    in every piece, and some send empty pieces last. A call that has an id takes no other name behind the end of its arguments, either.
    """
    call_id, name = raw.get("id"), _name_of(raw)
    if call_id and held.id:
        return bool(name) and call_id != held.id
    if name and held.name and name != held.name:
        return not held.id or held.has_ended
    is_named_twice = held.name is not None and (name is not None or held.is_named_again)
    return is_named_twice and not held.id and bool(text_of(raw).strip()) and held.has_ended


def opened(held: Held, slot: int, number: int, choice: int, answer_id: str) -> ir.ToolCall:
    """Return a call as it opens, the ``number``-th of its choice: without its arguments, its id made of its place where none came."""
    src = f"/choices/{choice}/message"
    message = {"role": "assistant", "tool_calls": [held.call(f"{call_stem(answer_id, choice)}_{slot}")]}
    parts, _ = decode_answer(message, src, answer_id, choice)
    call = parts[0]
    assert isinstance(call, ir.ToolCall)
    call.arguments, call.src, call.id_made = "", f"{src}/tool_calls/{number}", not held.id
    return call


def _name_of(raw: JsonObject) -> str | None:
    """Return the name that a piece tells; None where it is empty, too."""
    return (raw.get(kind_of_call(raw)) or {}).get("name") or None


def text_of(raw: JsonObject) -> str:
    """Return what a piece adds to the arguments; some servers send an object."""
    kind = kind_of_call(raw)
    body = raw.get(kind) or {}
    text = body.get("input") if kind == "custom" else body.get("arguments")
    return text if isinstance(text, str) else dumps(text).decode() if text else ""


def kind_of_call(raw: JsonObject) -> str:
    """Return whether a piece is of a custom tool's call or of a function's; some servers send a function with an empty ``custom``."""
    custom = raw.get("custom")
    return "custom" if custom and (has_values(custom) or not raw.get("function")) else "function"
