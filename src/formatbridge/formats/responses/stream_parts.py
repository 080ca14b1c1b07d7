"""Streams of responses, read: parts, what of each was told, and what remains to be told once it is whole."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from sys import maxsize
from typing import Any

from formatbridge import ir
from formatbridge.formats.responses.citations import decode_citations, shift
from formatbridge.formats.responses.conversation import as_text, decode_item
from formatbridge.ir import events
from formatbridge.jsontext.types import JsonObject
from formatbridge.streaming.replay import GROWS

GROWING = {"function_call": "arguments", "custom_tool_call": "input", "mcp_call": "arguments", "code_interpreter_call": "code"}
"""Kind of item to its field that deltas bring."""
_WHOSE = {f"response.{kind}_{field}.{when}": kind for kind, field in GROWING.items() for when in ("delta", "done")}
"""Kind of event to the kind of item that it is about."""
_NAMES = {"function_call": ("call_id", "name"), "custom_tool_call": ("call_id", "name"), "mcp_call": ("name", "server_label")}
"""Kind of item to what says whose it is."""
_BEHIND_ALL = (maxsize, 0)
"""The place of what comes when its own is long past."""


@dataclass(slots=True)
class Slot:
    """A part as far as it was told. ``start``: how much of its item's text is before it; ``whole``: the part as its own last event has it.

    ``step``: which part of a reasoning item grows; ``stepped``: the length of those before it. ``extra``: the fields that its end told.
    """

    number: int
    part: ir.Part
    src: str
    start: int = 0
    length: int = 0
    pieces: list[str] = field(default_factory=list)
    citations: list[ir.Citation] = field(default_factory=list)
    notes: int = 0
    tokens: int = 0
    step: int | None = None
    stepped: int = 0
    whole: JsonObject | None = None
    is_closed: bool = False
    extra: JsonObject | None = None


@dataclass(slots=True)
class Item:
    """An item of the output. ``slots``: its parts by place; once closed, it keeps only what tells why the answer ended.

    ``execution``: who is to run it. ``said``: how much it said when it was done; ``start``, ``length``: how much visible text is before it
    and in it; ``waiting``: its events that need to know that, with the parts that they cite. ``thought``: the number of its thought.
    ``heard``, ``known``: the arguments of a call that did not open, and what else is known of it. ``added``: the item as it opened;
    ``told``: its parts as their own events have them, by list and number.
    """

    kind: str
    at: int
    id: str | None
    slots: dict[int, Slot] = field(default_factory=dict)
    thought: int | None = None
    latest: Slot | None = None
    is_closed: bool = False
    has_refusal: bool = False
    execution: object = None
    said: JsonObject | None = None
    start: int = 0
    length: int = 0
    waiting: list[tuple[Slot | None, JsonObject]] = field(default_factory=list)
    heard: list[str] = field(default_factory=list)
    known: JsonObject = field(default_factory=dict)
    added: JsonObject = field(default_factory=dict)
    told: dict[tuple[str, int], JsonObject] = field(default_factory=dict)

    def overhear(self, raw: JsonObject, text: Any, *, is_whole: bool = False) -> None:
        """Keep what comes of a call that did not open: who is called may be told later, or never."""
        if self.kind not in GROWING:
            self.kind = _WHOSE[raw["type"]]
        if isinstance(text, str) and text:
            if is_whole:
                self.heard.clear()
            self.heard.append(text)
        if isinstance(raw.get("name"), str):
            self.known["name"] = raw["name"]

    def overheard(self) -> JsonObject | None:
        """Return the call that did not open, as far as it came. Its result is found by its id."""
        if self.is_closed or self.slots or not (self.heard or self.known):
            return None
        names = dict.fromkeys(_NAMES.get(self.kind, ()), "")
        if "call_id" in names:
            names["call_id"] = self.id or ""
        raw = {"type": self.kind, "id": self.id, **names, **{key: value for key, value in self.known.items() if value}}
        field = GROWING.get(self.kind)
        return raw | {field: "".join(self.heard)} if field else raw

    def strays(self, count: int) -> Iterator[Slot]:
        """Yield the open parts whose place no whole item of so many parts has: some servers count on from the item before."""
        return iter([slot for at, slot in self.slots.items() if at >= count and not slot.is_closed])

    def stub(self) -> JsonObject:
        """Return as much of the item as the reason of the end needs."""
        return {"type": self.kind, "execution": self.execution, "content": [{"type": "refusal"}] if self.has_refusal else []}


class Teller:
    """Tells what happens to parts: numbers them, gives a token that waits to the part behind it, and tells nothing twice."""

    def __init__(self) -> None:
        self.made: list[events.Event] = []
        self.token: ir.Reasoning | None = None
        self.place = (0, 0)  # of the token
        self._parts = 0

    def open(self, item: Item, at: int, part: ir.Part, *, place: tuple[int, int] | None = None) -> Slot:
        """Open a part of an item; ``place``: where it stands in the answer, if not there. A token goes to no part before it."""
        place = place or (item.at, at)
        held = self.token if self.place < place else None
        if isinstance(part, ir.Reasoning | ir.Refusal):
            if held is not None:
                self.settle_token()
        elif held is not None:
            part = replace(part, signature=held.signature)
            self.token = None
        slot = item.slots[at] = item.latest = Slot(self._parts, part, part.src)
        if isinstance(part, ir.Reasoning):
            item.thought = slot.number
        self._parts += 1
        self.made.append(events.PartStart(0, slot.number, part, place))
        return slot

    @property
    def count(self) -> int:
        """How many parts have opened."""
        return self._parts

    def settle_token(self) -> None:
        """Give a token that waits for a part an empty text of its own: no part took it."""
        if self.token is not None:
            number, part = self._parts, as_text(self.token)
            self._parts, self.token = number + 1, None
            self.made += [events.PartStart(0, number, part, self.place), events.PartEnd(0, number)]

    def settle(self, slot: Slot, whole: ir.Part) -> None:
        """Tell the rest of a part that is whole now; what cannot be told by pieces comes with its end."""
        if slot.is_closed:
            return
        slot.is_closed, slot.extra = True, whole.extra
        held = getattr(slot.part, "signature", None)
        if held and not isinstance(whole, ir.Reasoning | ir.Refusal):
            whole = replace(whole, signature=held)
        whole = _named(whole, slot.part)
        expected: JsonObject = {"extra": whole.extra}
        grows = GROWS.get(type(whole))
        if grows and type(whole) is type(slot.part):
            told, text = "".join(slot.pieces), getattr(whole, grows)
            if isinstance(text, str) and text.startswith(told):
                self.grow(slot, text[len(told) :])
                told = text
            expected[grows] = told
        if isinstance(whole, ir.Text):
            new = new_among(whole.citations or [], slot.citations)
            self.made += [events.PartMeta(0, slot.number, citation=citation) for citation in new]
            expected["citations"] = slot.citations + new or None
        if isinstance(whole, ir.Reasoning) and whole.signature:
            self.made.append(events.PartMeta(0, slot.number, signature=whole.signature))
            expected["signature"] = whole.signature
        is_told = type(whole) is type(slot.part) and replace(slot.part, **expected) == whole
        self.made.append(events.PartEnd(0, slot.number, None if is_told else whole, whole.extra if is_told else None))

    def add(self, item: Item, at: int, part: ir.Part) -> None:
        """Tell what comes when its item is over: the token of a thought that was told, else a part behind all others."""
        if isinstance(part, ir.Reasoning) and part.signature is not None and item.thought is not None:
            self.made.append(events.Signed(0, item.thought, part.signature))
        else:
            self.settle(self.open(item, at, bare(part), place=_BEHIND_ALL), part)

    def grow(self, slot: Slot, text: Any, tokens: list[ir.TokenLogprob] | None = None) -> None:
        """Tell a piece of a part; what is no text is none."""
        if not isinstance(text, str):
            return
        if text or tokens:
            slot.length += len(text)
            slot.pieces.append(text)
            self.made.append(events.Delta(0, slot.number, text, tokens))

    def close(self, item: Item) -> None:
        """Close what no whole item closed."""
        self.made += [events.PartEnd(0, slot.number) for slot in item.slots.values() if not slot.is_closed]
        item.slots, item.latest, item.is_closed = {}, None, True
        item.added, item.told = {}, {}


def _named(whole: ir.Part, opened: ir.Part) -> ir.Part:
    """Return a call that is whole with the name and the id that it opened with, where its end says none."""
    if not isinstance(whole, ir.ToolCall) or not isinstance(opened, ir.ToolCall):
        return whole
    if whole.id_made:
        whole = replace(whole, id=opened.id, id_made=opened.id_made)
    return whole if whole.name else replace(whole, name=opened.name)


def cited(slot: Slot, raw: JsonObject, start: int) -> list[ir.Citation]:
    """Read a citation of a part, before whose message there is so much text."""
    at = raw.get("annotation_index")
    citations, _ = decode_citations([raw["annotation"]], "")
    for citation in citations or ():
        citation.src = f"{slot.src}/annotations/{slot.notes if at is None else at}"
        shift([citation], start + slot.start)
    return citations or []


def new_among(citations: list[ir.Citation], told: list[ir.Citation]) -> list[ir.Citation]:
    """Return the citations that nobody told yet; which number their event gave them says nothing."""
    if not (citations and told):
        return citations
    left = Counter(repr(replace(citation, src="")) for citation in told)
    new: list[ir.Citation] = []
    for citation in citations:
        key = repr(replace(citation, src=""))
        if left[key]:
            left[key] -= 1
        else:
            new.append(citation)
    return new


def bare(part: ir.Part) -> ir.Part:
    """Return a part that comes whole as it opens: without what deltas and its end bring."""
    told: JsonObject = {name: None for name in ("citations", "signature") if getattr(part, name, None)}
    grows = GROWS.get(type(part))
    if grows and isinstance(getattr(part, grows), str):
        told[grows] = ""
    return replace(part, extra=None, **told)


def opening(item: Item, raw: JsonObject) -> ir.Part | None:
    """Read as much of an item as is known when it opens; None where that is too little."""
    known = {key: value for key, value in raw.items() if key != "status"}
    if item.kind in GROWING:
        known[GROWING[item.kind]] = ""
    parts: list[ir.Part] = []
    decode_item(known, item.kind, f"/output/{item.at}", parts)
    part = parts[0]
    if isinstance(part, ir.ToolCall) and not (part.id and part.name):
        return None
    return bare(part)
