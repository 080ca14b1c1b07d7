"""Decoder state for Responses streams: output items, their parts, and the order of messages.

The offset of a message in the visible text is known when all messages before it are complete.

There are more classes than in other formats, because several items are open at once and each event repeats content.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from heapq import heappop, heappush
from sys import maxsize
from typing import Any

from formatbridge import ir
from formatbridge.formats.responses.citations import decode_citations, shift_citations
from formatbridge.formats.responses.content import decode_part
from formatbridge.formats.responses.conversation import decode_item, item_type, token_as_text
from formatbridge.formats.responses.response import RESPONSE_FIELDS
from formatbridge.formats.shared.logprobs import decode_tokens
from formatbridge.formats.shared.reasoning_tokens import carries_call_token
from formatbridge.formats.shared.unmodelled_fields import extend_extra, merge_extra, read_extra
from formatbridge.ir import events
from formatbridge.jsontext.types import JsonObject
from formatbridge.streaming.replay import DELTA_FIELDS, unfold

TEXT_FIELD = {"function_call": "arguments", "custom_tool_call": "input", "mcp_call": "arguments", "code_interpreter_call": "code"}
"""Type of item to the field that its deltas continue."""
_ITEM_TYPES = {f"response.{kind}_{field}.{when}": kind for kind, field in TEXT_FIELD.items() for when in ("delta", "done")}
"""Type of event to the type of its item."""
# They are required in each of these types, but an item that only deltas describe has none of them.
_NAME_FIELDS = {"function_call": ("call_id", "name"), "custom_tool_call": ("call_id", "name"), "mcp_call": ("name", "server_label")}
"""Type of item to its fields that identify the tool."""
_LAST_POSITION = (maxsize, 0)
"""The place of a part that comes after its item was closed: after all other parts."""


@dataclass(slots=True)
class Slot:
    """The state of a part. ``number``: its number in the response.

    ``start``: the length of the text before it in its item. ``whole``: the part in its ``done`` event. ``part_index``: the index of the
    reasoning part that deltas continue; ``part_start``: the length of the text before that. ``annotations``: the number of annotation
    events. ``extra``: the fields that were emitted with its end.
    """

    number: int
    part: ir.Part
    src: str
    start: int = 0
    length: int = 0
    pieces: list[str] = field(default_factory=list)
    citations: list[ir.Citation] = field(default_factory=list)
    annotations: int = 0
    tokens: int = 0
    part_index: int | None = None
    part_start: int = 0
    whole: JsonObject | None = None
    is_closed: bool = False
    extra: JsonObject | None = None


@dataclass(slots=True)
class Item:
    """An output item. A closed item keeps only the fields that the finish reason depends on.

    ``position``: its index in ``output``. ``slots``: its parts by index. ``execution``: who runs a tool search. ``done_shape``: its
    shape in its ``done`` event. ``start``, ``length``: the lengths of the visible text before it and in it. ``waiting``: its events
    that need ``start``, with their parts. ``reasoning``: the number of its reasoning part. ``arguments``, ``known``: the arguments and
    other fields of a call that has not opened. ``added``: the item in its ``added`` event. ``parts``: its parts in their ``added`` or
    ``done`` events, by list and index.
    """

    kind: str
    position: int
    id: str | None
    slots: dict[int, Slot] = field(default_factory=dict)
    reasoning: int | None = None
    latest: Slot | None = None
    is_closed: bool = False
    has_refusal: bool = False
    execution: object = None
    done_shape: JsonObject | None = None
    start: int = 0
    length: int = 0
    waiting: list[tuple[Slot | None, JsonObject]] = field(default_factory=list)
    arguments: list[str] = field(default_factory=list)
    known: JsonObject = field(default_factory=dict)
    added: JsonObject = field(default_factory=dict)
    parts: dict[tuple[str, int], JsonObject] = field(default_factory=dict)

    def keep_arguments(self, raw: JsonObject, text: Any, *, is_whole: bool = False) -> None:
        """Keep the arguments of a call that has not opened: its name may come later, or never."""
        # Without an ``added`` event, the type of the delta shows the type of the item (fixture text_no_envelopes).
        if self.kind not in TEXT_FIELD:
            self.kind = _ITEM_TYPES[raw["type"]]
        if isinstance(text, str) and text:
            if is_whole:
                self.arguments.clear()
            self.arguments.append(text)
        # The ``done`` event of arguments may have the name (recorded traffic).
        if isinstance(raw.get("name"), str):
            self.known["name"] = raw["name"]

    def unopened_call(self) -> JsonObject | None:
        """Return the call that has not opened. Its id pairs it with its result."""
        if self.is_closed or self.slots or not (self.arguments or self.known):
            return None
        names = dict.fromkeys(_NAME_FIELDS.get(self.kind, ()), "")
        if "call_id" in names:
            names["call_id"] = self.id or ""
        raw = {"type": self.kind, "id": self.id, **names, **{key: value for key, value in self.known.items() if value}}
        field = TEXT_FIELD.get(self.kind)
        return raw | {field: "".join(self.arguments)} if field else raw

    def slots_out_of_range(self, count: int) -> Iterator[Slot]:
        """Yield the open parts whose index is out of range, such as one that counts on from the item before."""
        return iter([slot for index, slot in self.slots.items() if index >= count and not slot.is_closed])

    def stub(self) -> JsonObject:
        """Return an item with the fields that the finish reason depends on."""
        return {"type": self.kind, "execution": self.execution, "content": [{"type": "refusal"}] if self.has_refusal else []}


class PartEmitter:
    """Emits the events of parts: it numbers the parts, moves a pending token to the next part, and emits nothing twice."""

    def __init__(self) -> None:
        self.out: list[events.Event] = []
        self.token: ir.Reasoning | None = None
        self.token_position = (0, 0)
        self._parts = 0

    def open(self, item: Item, part_index: int, part: ir.Part, *, position: tuple[int, int] | None = None) -> Slot:
        """Open a part of an item. ``position``: its place in the response, if it differs. A pending token moves only to a part after it."""
        # Items may interleave (fixture reasoning_interleaved), so the order of the events is not that of the output.
        position = position or (item.position, part_index)
        held = self.token if self.token_position < position else None
        if isinstance(part, ir.Reasoning | ir.Refusal):
            if held is not None:
                self.flush_token()
        elif held is not None:
            part = replace(part, signature=held.signature)
            self.token = None
        slot = item.slots[part_index] = item.latest = Slot(self._parts, part, part.src)
        if isinstance(part, ir.Reasoning):
            item.reasoning = slot.number
        self._parts += 1
        self.out.append(events.PartStart(0, slot.number, part, position))
        return slot

    @property
    def count(self) -> int:
        """The number of parts that have opened."""
        return self._parts

    def flush_token(self) -> None:
        """Emit the pending token as an empty text: no part followed that can have it."""
        if self.token is not None:
            number, part = self._parts, token_as_text(self.token)
            self._parts, self.token = number + 1, None
            self.out += [events.PartStart(0, number, part, self.token_position), events.PartEnd(0, number)]

    def complete(self, slot: Slot, whole: ir.Part) -> None:
        """Emit the rest of a complete part; content without deltas is emitted with its end."""
        if slot.is_closed:
            return
        # ``expected`` has the fields of the part as the events so far describe it. If it equals the whole part, its end needs none.
        slot.is_closed, slot.extra = True, whole.extra
        held = getattr(slot.part, "signature", None)
        if held and not isinstance(whole, ir.Reasoning | ir.Refusal):
            whole = replace(whole, signature=held)
        whole = _with_name_and_id(whole, slot.part)
        expected: JsonObject = {"extra": whole.extra}
        text_field = DELTA_FIELDS.get(type(whole))
        if text_field and type(whole) is type(slot.part):
            sent, text = "".join(slot.pieces), getattr(whole, text_field)
            # A text that continues its deltas is sent as one more delta. Any other replaces the part at its end.
            if isinstance(text, str) and text.startswith(sent):
                self.add_text(slot, text[len(sent) :])
                sent = text
            expected[text_field] = sent
        if isinstance(whole, ir.Text):
            new = _new_citations(whole.citations or [], slot.citations)
            self.out += [events.PartUpdate(0, slot.number, citation=citation) for citation in new]
            expected["citations"] = slot.citations + new or None
        if isinstance(whole, ir.Reasoning) and whole.signature:
            self.out.append(events.PartUpdate(0, slot.number, signature=whole.signature))
            expected["signature"] = whole.signature
        is_emitted = type(whole) is type(slot.part) and replace(slot.part, **expected) == whole
        self.out.append(events.PartEnd(0, slot.number, None if is_emitted else whole, whole.extra if is_emitted else None))

    def add(self, item: Item, part_index: int, part: ir.Part) -> None:
        """Emit a part of a closed item: a token of emitted reasoning as such, any other part after all other parts."""
        # Some servers send the token of reasoning in the last event only (fixture reasoning_token_last).
        if isinstance(part, ir.Reasoning) and part.signature is not None and item.reasoning is not None:
            self.out.append(events.SignatureUpdate(0, item.reasoning, part.signature))
        else:
            self.complete(self.open(item, part_index, as_opened(part), position=_LAST_POSITION), part)

    def add_text(self, slot: Slot, text: Any, tokens: list[ir.TokenLogprob] | None = None) -> None:
        """Emit a delta of a part; a value that is not a string is ignored."""
        if not isinstance(text, str):
            return
        # An empty text may have log probabilities, which are content.
        if text or tokens:
            slot.length += len(text)
            slot.pieces.append(text)
            self.out.append(events.Delta(0, slot.number, text, tokens))

    def close(self, item: Item) -> None:
        """Close the parts of an item that are still open."""
        self.out += [events.PartEnd(0, slot.number) for slot in item.slots.values() if not slot.is_closed]
        item.slots, item.latest, item.is_closed = {}, None, True
        item.added, item.parts = {}, {}


def _with_name_and_id(whole: ir.Part, opened: ir.Part) -> ir.Part:
    """Return a complete call with the name and the id from its start, where its end has none."""
    if not isinstance(whole, ir.ToolCall) or not isinstance(opened, ir.ToolCall):
        return whole
    if whole.has_generated_id:
        whole = replace(whole, id=opened.id, has_generated_id=opened.has_generated_id)
    return whole if whole.name else replace(whole, name=opened.name)


def decode_annotation_event(slot: Slot, raw: JsonObject, start: int) -> list[ir.Citation]:
    """Decode a citation of a part. ``start``: the length of the visible text before its message."""
    # {"type": "response.output_text.annotation.added", "annotation_index": 0, "annotation": {"type": "url_citation", ...}}
    index = raw.get("annotation_index")
    citations, _ = decode_citations([raw["annotation"]], "")
    for citation in citations or ():
        citation.src = f"{slot.src}/annotations/{slot.annotations if index is None else index}"
        shift_citations([citation], start + slot.start)
    return citations or []


def _new_citations(citations: list[ir.Citation], emitted: list[ir.Citation]) -> list[ir.Citation]:
    """Return the citations that were not emitted yet; their indexes do not matter."""
    if not (citations and emitted):
        return citations
    # One page may be cited twice at one place, so equal citations are counted and not collected in a set.
    counts = Counter(repr(replace(citation, src="")) for citation in emitted)
    new: list[ir.Citation] = []
    for citation in citations:
        key = repr(replace(citation, src=""))
        if counts[key]:
            counts[key] -= 1
        else:
            new.append(citation)
    return new


def as_opened(part: ir.Part) -> ir.Part:
    """Return a complete part as it opens: without its text, citations, token and unmodelled fields."""
    # "The `encrypted_content` in `response.output_item.added` may be incomplete" (official SDK, ``ResponseReasoningItem``).
    fields: JsonObject = {name: None for name in ("citations", "signature") if getattr(part, name, None)}
    text_field = DELTA_FIELDS.get(type(part))
    if text_field and isinstance(getattr(part, text_field), str):
        fields[text_field] = ""
    return replace(part, extra=None, **fields)


def decode_opening_part(item: Item, raw: JsonObject) -> ir.Part | None:
    """Decode the part of an item from its ``added`` event; None if a call has no id or name yet."""
    known = {key: value for key, value in raw.items() if key != "status"}
    # Some servers open an item with its arguments and then send them as deltas (fixture ``tools_opening_arguments_only``).
    if item.kind in TEXT_FIELD:
        known[TEXT_FIELD[item.kind]] = ""
    parts: list[ir.Part] = []
    decode_item(known, item.kind, f"/output/{item.position}", parts)
    part = parts[0]
    if isinstance(part, ir.ToolCall) and not (part.id and part.name):
        return None
    return as_opened(part)


class Items:
    """The output items, by index and id, and the messages in the order of the output."""

    def __init__(self) -> None:
        self.all: list[Item] = []
        self._length = 0
        self._by_index: dict[int, Item] = {}
        self._by_id: dict[str, Item] = {}
        self._by_position: dict[int, Item] = {}
        self._messages: list[tuple[int, int, Item]] = []
        self._count = 0

    def add(self, kind: str, index: Any, item_id: Any) -> Item:
        """Add the next item."""
        # A repeated index is no position, but later events with it belong to the item that came last.
        is_position = isinstance(index, int) and index not in self._by_index
        item = Item(kind, index if is_position else len(self.all), item_id if isinstance(item_id, str) else None)
        self.all.append(item)
        self._by_position[item.position] = item
        self._by_index[index if isinstance(index, int) else item.position] = item
        if item.id:
            self._by_id[item.id] = item
        if kind == "message":
            self.add_message(item)
        return item

    def find(self, raw: JsonObject, item_id: Any, kind: str = "") -> Item:
        """Return the item of an event, or add it."""
        return self.get(raw, item_id) or self.add(kind, raw.get("output_index"), item_id)

    def get(self, raw: JsonObject, item_id: Any) -> Item | None:
        """Return the item of an event, if there is one. The index has priority, unless another item has the id of the event."""
        # GitHub Copilot's server sends another id with each event of an item (vercel/ai#18548, fixture text_ids_rotate).
        item = self._by_index.get(raw["output_index"]) if isinstance(raw.get("output_index"), int) else None
        if isinstance(item_id, str) and (item is None or item.id != item_id):
            item = self._by_id.get(item_id, item)
        return item

    def find_repeated(self, raw: JsonObject, position: int) -> Item:
        """Return the item that the last event repeats: by its id, or else by its index. A new item is added."""
        # The output of the last event may omit an item, so the index there is not that of the events.
        item = self._by_id.get(raw.get("id") or "")
        if item is None or item.kind != item_type(raw):
            item = self._by_position.get(position)
        if item is not None and item.kind == item_type(raw):
            return item
        return self.add(item_type(raw), position, raw.get("id"))

    @property
    def length(self) -> int:
        """The length of the visible text before the first open message."""
        self.first_open_message()
        return self._length

    def add_message(self, item: Item) -> None:
        """Add a message to the order of the output."""
        # The count decides between equal indexes, because items cannot be compared.
        self._count += 1
        heappush(self._messages, (item.position, self._count, item))

    def first_open_message(self) -> Item | None:
        """Return the first message that is open."""
        while self._messages and self._messages[0][2].is_closed:
            item = heappop(self._messages)[2]
            item.start = self._length
            self._length += item.length
        return self._messages[0][2] if self._messages else None

    def has_known_start(self, item: Item) -> bool:
        """Return whether the offset of an item in the visible text is known: all messages before it are complete."""
        first = self.first_open_message()
        return first is None or item.position <= first.position


def has_citations(raw: JsonObject) -> bool:
    """Return whether a message has citations, whose spans count from the start of the response."""
    content = raw.get("content")
    return isinstance(content, list) and any(isinstance(part, dict) and part.get("annotations") for part in content)


def text_length(item: Item) -> int:
    """Return the length of the visible text of an item."""
    return sum(slot.length for slot in item.slots.values() if isinstance(slot.part, ir.Text))


_MESSAGE = frozenset({"type", "role", "content", "id", "status"})
_KINDS = ("output_text", "refusal")
_REASONING_PART = frozenset({"type", "text"})


def pending_events(items: Items, emitter: PartEmitter, head: JsonObject) -> list[events.Event]:
    """Return the events that the end of a stream emits for open items, and for the fields of ``head``. Nothing changes.

    ``head``: the response of the first events.
    """
    # The stream was truncated, so each open part gets its ``added`` or ``done`` event's content, which no delta had.
    out: list[events.Event] = []
    new: list[tuple[tuple[int, int], ir.Part]] = (
        [] if emitter.token is None else [(emitter.token_position, token_as_text(emitter.token))]
    )
    extra: JsonObject | None = None
    start = 0
    for item in sorted(items.all, key=lambda item: item.position):
        if item.is_closed:
            start += item.length
            continue
        parts, extra_fields = _decode_open(item)
        extra = extend_extra(extra, extra_fields)
        for part_index, part in parts:
            slot = item.slots.get(part_index)
            if slot is None:
                new += (
                    [((item.position, part_index), token_as_text(part) if carries_call_token(part) else part)]
                    if _has_content(part)
                    else []
                )
            elif not slot.is_closed:
                out += _completion_events(
                    slot, _with_shifted_citations(part, start + slot.start), _waiting_citations(item, slot, start)
                )
        start += text_length(item)
    for number, (position, part) in enumerate(new, emitter.count):
        out += _opening_events(number, position, part)
    fields = ((extra, 0), (read_extra(head, RESPONSE_FIELDS), None))
    return [*out, *(events.FieldsUpdate(each, choice) for each, choice in fields if each)]


def _decode_open(item: Item) -> tuple[list[tuple[int, ir.Part]], JsonObject | None]:
    """Decode an open item: its parts by place, and its unmodelled fields. An item that is done may wait for others."""
    src = f"/output/{item.position}"
    done = next((raw["item"] for slot, raw in item.waiting if slot is None), None)
    if done is not None:
        return _decode_parts(done, item.kind, src)
    if item.kind == "message":
        return _decode_message_parts(item, src), read_extra(item.added, _MESSAGE, f"{src}/")
    if item.kind == "reasoning":
        return [(0, _decode_open_reasoning(item, src))], None
    if item.kind == "image_generation_call":
        return [], {src: item.added} if item.added else None
    # The status of an open item is always ``in_progress``.
    raw = {key: value for key, value in (item.unopened_call() or item.added).items() if key != "status"}
    if field := TEXT_FIELD.get(item.kind):
        raw[field] = raw.get(field) or ""
    return _decode_parts(raw, item.kind, src) if raw.get("type") else ([], None)


def _decode_parts(raw: JsonObject, kind: str, src: str) -> tuple[list[tuple[int, ir.Part]], JsonObject | None]:
    parts: list[ir.Part] = []
    extra_fields = decode_item(raw, kind, src, parts)
    return [*enumerate(parts)], extra_fields


def _decode_message_parts(item: Item, src: str) -> list[tuple[int, ir.Part]]:
    """Decode the parts of a message; a part without an ``added`` event has only the text of its deltas."""
    opened = dict.fromkeys((index for index, slot in item.slots.items() if not slot.is_closed), None)
    known: dict[int, JsonObject | None] = {**opened, **{index: raw for (_, index), raw in item.parts.items()}}
    return [
        (index, item.slots[index].part if raw is None else _decode_message_part(raw, f"{src}/content/{index}", item.id))
        for index, raw in sorted(known.items())
    ]


def _decode_message_part(raw: JsonObject, src: str, item_id: str | None) -> ir.Part:
    """Decode a part of a message; one of an unknown type stays unchanged."""
    kind = raw.get("type")
    return decode_part(raw, src, item_id) if kind in _KINDS else ir.Opaque(format="responses", raw=raw, label=str(kind), src=src)


def _decode_open_reasoning(item: Item, src: str) -> ir.Reasoning:
    """Decode reasoning with the unmodelled fields of its parts; its text only if there was no delta."""
    raw = {key: value for key, value in item.added.items() if key not in ("status", "summary", "content")}
    parts: list[ir.Part] = []
    decode_item({"type": "reasoning", "id": item.id, **raw}, "reasoning", src, parts)
    out = parts[0]
    assert isinstance(out, ir.Reasoning)
    for (name, index), part in item.parts.items():
        out.extra = merge_extra(out.extra, read_extra(part, _REASONING_PART, f"{name}/{index}/"))
    if not item.slots:
        name = "content" if any(name == "content" for name, _ in item.parts) else "summary"
        texts = [str(part.get("text") or "") for (each, _), part in sorted(item.parts.items()) if each == name]
        out.text, out.is_summary = "\n\n".join(filter(None, texts)), name == "summary"
    return out


def _with_shifted_citations(part: ir.Part, start: int) -> ir.Part:
    """Return a part whose citations count from the start of the response."""
    if isinstance(part, ir.Text) and part.citations:
        shift_citations(part.citations, start)
    return part


def _waiting_citations(item: Item, slot: Slot, start: int) -> list[ir.Citation]:
    """Return the citations of a part that wait for the messages before its message."""
    return [citation for each, raw in item.waiting if each is slot for citation in decode_annotation_event(slot, raw, start)]


def _completion_events(slot: Slot, whole: ir.Part, citations: list[ir.Citation]) -> Iterator[events.Event]:
    """Yield the events that complete an open part. A text that is shorter than its deltas is ignored."""
    yield from (events.PartUpdate(0, slot.number, citation=citation) for citation in citations)
    tokens = _take_logprobs(whole)
    if tokens and not slot.tokens:
        yield events.Delta(0, slot.number, "", tokens)
    if type(whole) is not type(slot.part):
        yield events.PartUpdate(0, slot.number, extra=getattr(whole, "extra", None))
        return
    sent, known = "".join(slot.pieces), [*slot.citations, *citations]
    more: dict[str, Any] = {}
    text = getattr(whole, text_field := DELTA_FIELDS.get(type(whole), ""), None)
    if isinstance(text, str) and not text.startswith(sent):
        more[text_field] = sent
    if isinstance(whole, ir.Text):
        more["citations"] = [*known, *_new_citations(whole.citations or [], known)] or None
    if isinstance(slot.part, ir.Reasoning):
        more["is_summary"] = slot.part.is_summary
    # A copy of the state completes the part, because the caller may feed more events.
    emitter = PartEmitter()
    emitter.complete(replace(slot, pieces=[*slot.pieces], citations=known), replace(whole, **more))
    yield from emitter.out


def _take_logprobs(part: ir.Part) -> list[ir.TokenLogprob] | None:
    """Remove and return the log probabilities of a part."""
    raw = part.extra.pop("logprobs", None) if isinstance(part, ir.Text) and part.extra else None
    return decode_tokens(raw, f"{part.src}/logprobs") if raw else None


def _has_content(part: ir.Part) -> bool:
    return not isinstance(part, ir.Reasoning) or bool(part.text or part.signature or part.extra)


def _opening_events(number: int, position: tuple[int, int], part: ir.Part) -> Iterator[events.Event]:
    """Yield the events of a part that has not opened yet, without its end."""
    tokens = _take_logprobs(part)
    for event in unfold(0, number, part, tokens)[:-1]:
        yield replace(event, position=position) if isinstance(event, events.PartStart) else event
