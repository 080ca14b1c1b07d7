"""Decoder state for Chat Completions streams: one choice, its parts and its tool calls."""

from __future__ import annotations

import sys
from collections import ChainMap
from dataclasses import dataclass, field, replace

from formatbridge import ir
from formatbridge.formats.chat_completions.response import decode_answer
from formatbridge.formats.chat_completions.stream_thinking_blocks import Blocks
from formatbridge.formats.chat_completions.stream_thoughts import Thoughts
from formatbridge.formats.chat_completions.tool_calls import call_stem
from formatbridge.formats.shared.tool_arguments import read_object
from formatbridge.formats.shared.unmodelled_fields import Pieces, gathered, joined, rest, says_something
from formatbridge.ir import events
from formatbridge.jsontext.codec import dumps
from formatbridge.jsontext.types import JsonObject
from formatbridge.streaming.framing import ArrayReader
from formatbridge.streaming.replay import unfold

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
    return "custom" if custom and (says_something(custom) or not raw.get("function")) else "function"


@dataclass(slots=True)
class Choice:
    """One choice as far as it has come. ``open``: the kind and number of the part that text goes to.

    ``parts``: those that have begun, by number; ``items``: how many items each list of the message has so far; ``tokens``: how many log
    probabilities came, by their kind; ``finish`` and ``stop``: why it ended, and the text or token that ended it; ``notes``: citations that
    wait for a text; ``token``: the latest that came beside the message, ``beside``: one that waits for its part; ``sound``: the number of
    the sound, to which more may come until the very end; ``more``: fields that came when their part had begun; ``unknown``: those that
    nobody knows; ``has_text``: whether any of the parts is visible text; ``blocks``: its thoughts as
    blocks, where any came.
    """

    index: int
    open: tuple[str, int] | None = None
    calls: Calls | None = None
    parts: list[ir.Part] = field(default_factory=list)
    items: dict[str, int] = field(default_factory=dict)
    finish: str | None = None
    stop: str | int | None = None
    tokens: dict[str, int] = field(default_factory=dict)
    notes: list[ir.Citation] | None = None
    sound: int | None = None
    token: str | None = None
    beside: ir.Signature | None = None
    extra: JsonObject | None = None
    more: JsonObject | None = None
    unknown: Pieces = field(default_factory=Pieces)
    has_text: bool = False
    blocks: Blocks | None = None
    _thoughts: Thoughts | None = None

    @property
    def ending(self) -> JsonObject:
        """Why it ended, as a whole choice has it."""
        return {"finish_reason": self.finish, "stop_reason": self.stop}

    @property
    def thoughts(self) -> Thoughts:
        """What was thought; most answers have no thoughts."""
        self._thoughts = self._thoughts or Thoughts()
        return self._thoughts

    @property
    def is_whole(self) -> bool:
        """Whether it says something, and no call by half."""
        return bool(self.parts or self.calls) and (self.calls is None or self.calls.are_whole)

    def grow(self, kind: str, part: ir.Part, text: str, made: list[events.Event]) -> None:
        """Add text to the open part of a kind."""
        made.append(events.Delta(self.index, self.enter(kind, part, made), text))

    def enter(self, kind: str, part: ir.Part, made: list[events.Event]) -> int:
        """Return the number of the open part of a kind; another kind closes what is open and opens the next."""
        if self.open is None or self.open[0] != kind:
            self.leave(made)
            if isinstance(part, ir.Reasoning):
                part = ir.Reasoning(src=part.src, summary=part.summary, id=part.id, extra=part.extra)
                self.thoughts.open(part)
            self.open = (kind, self.start(part, made))
        return self.open[1]

    def start(self, part: ir.Part, made: list[events.Event]) -> int:
        """Begin a part and return its number; citations that waited for a text hang on the first."""
        number = len(self.parts)
        if self.beside is not None:
            self._sign(part)
        self._append(part)
        made.append(events.PartStart(self.index, number, part))
        if self.notes and isinstance(part, ir.Text):
            made += [events.PartMeta(self.index, number, citation=citation) for citation in self.notes]
            self.notes = None
        return number

    def _sign(self, part: ir.Part) -> None:
        """Give the token that waits to the first text, or to a call before any."""
        is_first = isinstance(part, ir.Text | ir.ToolCall) and not self.has_text
        if is_first and part.signature is None:  # type: ignore[union-attr]  # the test before it says so
            part.signature, self.beside = self.beside, None  # type: ignore[union-attr]

    def add(self, part: ir.Part, made: list[events.Event]) -> None:
        """Take a part that comes in one piece."""
        self.leave(made)
        made += unfold(self.index, len(self.parts), part)
        self._append(part)

    def _append(self, part: ir.Part) -> None:
        self.parts.append(part)
        self.has_text = self.has_text or isinstance(part, ir.Text)

    def leave(self, made: list[events.Event]) -> None:
        """End the part that text goes to, if there is one."""
        if self.open is not None:
            if self.open[0] == "reasoning":
                self.thoughts.close(self.open[1])
            made.append(events.PartEnd(self.index, self.open[1], extra=self.take_more()))
            self.open = None

    def keep(self, src: str, extra: JsonObject) -> None:
        """Keep fields that come when their part is open: an item of the content goes on under its own number, details have one each.

        Of what pieces of an item say the last counts, but what one of them denied stays so.
        """
        assert self.open is not None
        items, opened = f"/choices/{self.index}/message/content/", self.parts[self.open[1]]
        if isinstance(opened, ir.Reasoning) and src.startswith(items) and opened.src.startswith(items):
            said = ChainMap(self.more or {}, opened.extra or {})
            self.more = gathered(self.more, {name: value for name, value in extra.items() if said.get(name) is not False})
        else:
            self.keep_beside(src, extra)

    def keep_beside(self, src: str, extra: JsonObject) -> None:
        """Keep fields of an item that is no part of its own, under its number."""
        place = src.removeprefix(f"/choices/{self.index}/")
        self.extra = gathered(self.extra, {f"{place}/{name}": value for name, value in extra.items()})

    @property
    def open_thought(self) -> int | None:
        """The number of the open part, where that is a thought."""
        return self.open[1] if self.open is not None and self.open[0] == "reasoning" else None

    def left_over(self) -> JsonObject | None:
        """Return the fields of the whole choice that are no part of it."""
        made: JsonObject = {"stop_reason": self.stop} if self.stop is not None else {}
        if self.blocks is not None:
            made |= self.blocks.left_over(self.thoughts)
        return joined(self.extra, self.unknown.whole(), made)

    def take_more(self) -> JsonObject | None:
        """Return the fields that came when the open part had begun: its end tells them."""
        more, self.more = self.more, None
        return more

    def weighed(self, kind: str) -> int | None:
        """Return the number of the part that tokens of a kind are of; None where it has not begun.

        Whatever is open has tokens of its text.
        """
        if self.open is not None and kind in ("text", self.open[0]):
            return self.open[1]
        return self.sound if kind == "text" and self.open is None else None

    def cite(self, citations: list[ir.Citation], made: list[events.Event]) -> None:
        """Hang citations on the text that is open, or on those that have closed; before any they wait for it, or for the end."""
        if self.open is not None and isinstance(self.parts[self.open[1]], ir.Text):
            made += [events.PartMeta(self.index, self.open[1], citation=citation) for citation in citations]
        elif self.has_text:
            made += [events.Cited(self.index, citation) for citation in citations]
        else:
            self.notes = self.notes or []
            self.notes += citations


def untold(choice: Choice, answer_id: str) -> list[events.Event]:
    """Return what the end would tell: what nobody knows of open parts, and the parts that have not opened; the choice stays as it is."""
    extras: dict[int, JsonObject | None] = {} if choice.open is None else {choice.open[1]: choice.more}
    if calls := choice.calls:
        extras |= {number: calls.unread.get(slot) for slot, number in calls.open.items()}
    made: list[events.Event] = [events.PartMeta(choice.index, at, extra=extra) for at, extra in extras.items() if extra]
    for number, part in enumerate(_waiting(choice, answer_id), len(choice.parts)):
        made += unfold(choice.index, number, part)[:-1]
    return made


def _waiting(choice: Choice, answer_id: str) -> list[ir.Part]:
    """Return the parts that the end of the choice would open: a text for citations, calls by half, and a text for a token."""
    parts: list[ir.Part] = []
    if choice.notes:
        parts.append(ir.Text("", f"/choices/{choice.index}/message/content", citations=[*choice.notes]))
    if calls := choice.calls:
        for number, (slot, held) in enumerate(calls.waiting.items(), calls.count):
            call = opened(held, slot, number, choice.index, answer_id)
            extra = joined(call.extra, calls.unread.get(slot))
            parts.append(replace(call, arguments="".join(held.pieces), extra=extra))
    if choice.beside is not None:
        parts.append(ir.Text("", choice.beside.src, signature=choice.beside))
    return parts
