"""Decoder state for Chat Completions streams: one choice, its parts and its tool calls.

Calls have a separate state here, because servers omit, repeat or mix up the indexes of calls (fixtures ``tools_index_*``).
"""

from __future__ import annotations

import sys
from collections import ChainMap
from dataclasses import dataclass, field, replace

from formatbridge import ir
from formatbridge.formats.chat_completions.stream_reasoning import BlockDecoder, ReasoningTexts
from formatbridge.formats.chat_completions.tool_calls import ARGUMENTS, decode_call, generated_id_prefix
from formatbridge.formats.shared.tool_arguments import read_object
from formatbridge.formats.shared.unmodelled_fields import Pieces, extend_extra, has_values, merge_extra, read_extra
from formatbridge.ir import events
from formatbridge.jsontext.codec import dumps
from formatbridge.jsontext.types import JsonObject
from formatbridge.streaming.framing import ArrayReader
from formatbridge.streaming.replay import unfold

_CALL = frozenset({"index", "id", "type", "function", "custom", "extra_content"})
_FUNCTION = frozenset({"name", "arguments", "input"})


class _ObjectEnd:
    """Searches the pieces of a text for the end of a JSON object. It reads each piece once."""

    def __init__(self) -> None:
        self._reader = ArrayReader(sys.maxsize)
        self._count = 0
        self._has_end = False

    def is_in(self, pieces: list[str]) -> bool:
        """Return whether the pieces contain the end of an object."""
        text = "".join(pieces[self._count :]).encode()
        self._count = len(pieces)
        self._has_end = self._has_end or any(value.data.startswith(b"{") for value in self._reader.feed(text))
        return self._has_end


@dataclass(slots=True)
class CallState:
    """The state of one call, with the pieces of its arguments."""

    kind: str = "function"
    id: str | None = None
    name: str | None = None
    extra: JsonObject | None = None
    pieces: list[str] = field(default_factory=list)
    has_repeated_name: bool = False
    _object_end: _ObjectEnd | None = None

    def take(self, raw: JsonObject) -> None:
        """Add another piece. The first id and the first name are valid."""
        name = _name_of(raw)
        self.has_repeated_name = self.has_repeated_name or bool(name and self.name)
        self.kind = "custom" if kind_of_call(raw) == "custom" else self.kind
        self.id = self.id or raw.get("id")
        self.name = self.name or name
        self.extra = raw.get("extra_content") or self.extra
        self.pieces.append(arguments_of(raw))

    @property
    def is_complete(self) -> bool:
        """Whether the call has a name, and its arguments are an object. Free text is always regarded as complete."""
        return bool(self.name) and (self.kind == "custom" or read_object("".join(self.pieces)) is not None)

    @property
    def has_ended(self) -> bool:
        """Whether the arguments contain the end of an object. Free text has no such end."""
        self._object_end = self._object_end or _ObjectEnd()
        return self.kind == "function" and self._object_end.is_in(self.pieces)

    def to_call(self, slot: int, number: int, choice: int, answer_id: str) -> ir.ToolCall:
        """Return the call without arguments, as its part starts. ``number``: its position in the choice; ``slot``: for a generated id."""
        body = {"name": self.name or "", ARGUMENTS[self.kind]: ""}
        raw: JsonObject = {"id": self.id or f"{generated_id_prefix(answer_id, choice)}_{slot}", "type": self.kind, self.kind: body}
        raw |= {"extra_content": self.extra} if self.extra else {}
        call = decode_call(raw, f"/choices/{choice}/message/tool_calls/{number}", answer_id)
        assert isinstance(call, ir.ToolCall)
        call.arguments, call.has_generated_id = "", not self.id
        return call


@dataclass(slots=True)
class StreamedCalls:
    """The calls of one choice, by slot. A slot is the index of a call, or the next free number if the server sends no unique indexes."""

    open: dict[int, int] = field(default_factory=dict)
    """The numbers of the open parts of calls, by slot."""
    begun: dict[int, CallState] = field(default_factory=dict)
    """Calls that have a part."""
    pending: dict[int, CallState] = field(default_factory=dict)
    """Calls that have no part yet."""
    unknown: dict[int, JsonObject] = field(default_factory=dict)
    """Unmodelled fields of calls."""
    count: int = 0
    """The number of calls that have a part."""
    ids: dict[int, str] = field(default_factory=dict)
    """The first id of each slot."""
    slots: dict[str, int] = field(default_factory=dict)
    """The slot of each id."""
    last: int = -1
    """The highest slot."""
    latest: dict[int, int] = field(default_factory=dict)
    """The latest slot of each index."""

    def slot_of(self, raw: JsonObject, position: int) -> int:
        """Return the slot of a piece, whose index may be missing or that of several calls."""
        index, call_id = raw.get("index"), raw.get("id")
        slot = self.latest.get(index, index) if index is not None else None
        # Google's compatible server leaves out the index (openai/openai-python#3246). An id then belongs to a known call, or begins a call.
        if slot is None:
            slot = self.slots.get(call_id, self.last + 1) if call_id else max(self.last, position, 0)
        call = self.pending.get(slot) or self.begun.get(slot)
        # Ollama sends all calls with index 0 (vercel/ai#14277).
        if call is not None:
            slot = self._slot_of_next(call, raw, slot)
        self.last = max(self.last, slot)
        self.ids[slot] = self.ids.get(slot) or call_id or ""
        if call_id and self.ids[slot] == call_id:
            self.slots.setdefault(call_id, slot)
        if index is not None:
            self.latest[index] = slot
        return int(slot)

    def _slot_of_next(self, call: CallState, raw: JsonObject, slot: int) -> int:
        """Return the slot of a piece whose index a call already has: the slot of the call, the next slot, or the slot of its id."""
        call_id, is_next = raw.get("id"), _begins_next_call(raw, call)
        after = self.last + 1 if is_next else slot
        if call_id and call.id and call_id != call.id:
            return self.slots.get(call_id, after)
        if is_next and not _name_of(raw):
            self.pending[after] = CallState(name=call.name)
        return after

    @property
    def are_complete(self) -> bool:
        """Whether every call is complete."""
        return all(call.is_complete for call in (*self.begun.values(), *self.pending.values()))

    def keep_unknown_fields(self, raw: JsonObject, slot: int) -> None:
        """Keep the unmodelled fields of a piece, by pointer relative to the call."""
        kind = kind_of_call(raw)
        body = raw.get(kind) or {}
        if not (_CALL.issuperset(raw) and _FUNCTION.issuperset(body)):
            known = self.unknown.get(slot, {})
            self.unknown[slot] = known | (read_extra(raw, _CALL) or {}) | (read_extra(body, _FUNCTION, f"{kind}/") or {})

    def keep_changed_names(self, raw: JsonObject, slot: int, call: CallState) -> None:
        """Keep an id or a name of a piece that differs from the first one."""
        kind = kind_of_call(raw)
        for pointer, new, known in (("id", raw.get("id"), call.id), (f"{kind}/name", _name_of(raw), call.name)):
            if new and known and new != known:
                self.unknown[slot] = self.unknown.get(slot, {}) | {pointer: new}


def _begins_next_call(raw: JsonObject, call: CallState) -> bool:
    """Return whether a piece begins the next call, because it has another id, and a name.

    If the server sends no ids, the piece has another name, or the same name and text after the end of the arguments. A piece may repeat
    the name (fixture tools_id_repeated), and the last one may be empty. After the end of its arguments, another name also ends a call with
    an id.
    """
    call_id, name = raw.get("id"), _name_of(raw)
    # Some servers send a new id in each piece (fixture tools_id_changes). So a piece with another id and no name begins no call.
    if call_id and call.id:
        return bool(name) and call_id != call.id
    # The arguments of a call without an end are incomplete, so another name is then a new name of the same call.
    if name and call.name and name != call.name:
        return not call.id or call.has_ended
    is_name_repeated = call.name is not None and (name is not None or call.has_repeated_name)
    return is_name_repeated and not call.id and bool(arguments_of(raw).strip()) and call.has_ended


def _name_of(raw: JsonObject) -> str | None:
    """Return the name in a piece, or None if it is missing or empty."""
    return (raw.get(kind_of_call(raw)) or {}).get("name") or None


def arguments_of(raw: JsonObject) -> str:
    """Return the arguments in a piece; an object becomes its JSON text."""
    kind = kind_of_call(raw)
    text = (raw.get(kind) or {}).get(ARGUMENTS[kind])
    return text if isinstance(text, str) else dumps(text).decode() if text else ""


def kind_of_call(raw: JsonObject) -> str:
    """Return whether a piece is of a ``custom`` or a ``function`` call. An empty ``custom`` next to a function has no meaning."""
    custom = raw.get("custom")
    return "custom" if custom and (has_values(custom) or not raw.get("function")) else "function"


@dataclass(slots=True)
class Choice:
    """The state of one choice."""

    index: int
    """The index of the choice."""
    open: tuple[str, int] | None = None
    """The kind and the number of the part that text is added to."""
    calls: StreamedCalls | None = None
    """The tool calls; None before the first call."""
    parts: list[ir.Part] = field(default_factory=list)
    """The parts that have opened, by number."""
    items: dict[str, int] = field(default_factory=dict)
    """The length of each list of the message."""
    finish: str | None = None
    """The finish reason."""
    stop: str | int | None = None
    """The text or the id of the token that stopped the choice."""
    logprob_counts: dict[str, int] = field(default_factory=dict)
    """The number of log probabilities, by their kind."""
    citations: list[ir.Citation] | None = None
    """The citations that came before any text."""
    audio: int | None = None
    """The number of the audio part, which may continue until the end."""
    latest_token: str | None = None
    """The latest signature of the message."""
    pending_signature: ir.Signature | None = None
    """A signature that has no part yet."""
    extra: JsonObject | None = None
    """Unmodelled fields."""
    part_extra: JsonObject | None = None
    """Unmodelled fields of the open part that came after its start."""
    unknown: Pieces = field(default_factory=Pieces)
    """Unmodelled fields that arrive in pieces."""
    has_text: bool = False
    """Whether any part is visible text."""
    blocks: BlockDecoder | None = None
    """The thinking blocks; None before the first block."""
    reasoning: ReasoningTexts = field(default_factory=ReasoningTexts)
    """The texts of the reasoning parts."""

    @property
    def is_complete(self) -> bool:
        """Whether the choice has content, and no incomplete call."""
        return bool(self.parts or self.calls) and (self.calls is None or self.calls.are_complete)

    def add_text(self, kind: str, part: ir.Part, text: str, out: list[events.Event]) -> None:
        """Add text to the open part of a kind."""
        out.append(events.Delta(self.index, self.switch_to(kind, part, out), text))

    def switch_to(self, kind: str, part: ir.Part, out: list[events.Event]) -> int:
        """Return the number of the open part of a kind. If the open part has another kind, close it and open ``part``."""
        if self.open is None or self.open[0] != kind:
            self.close_part(out)
            if isinstance(part, ir.Reasoning):
                part = ir.Reasoning(src=part.src, is_summary=part.is_summary, id=part.id, extra=part.extra)
                self.reasoning.open(part)
            self.open = (kind, self.start(part, out))
        return self.open[1]

    def start(self, part: ir.Part, out: list[events.Event]) -> int:
        """Open a part and return its number. The first text gets the citations that came before the text."""
        number = len(self.parts)
        # A signature belongs to the first text, or to a call before any text (fixtures ``token_next_to_text``, ``token_next_to_call``).
        if self.pending_signature is not None:
            self._sign(part)
        self._append(part)
        out.append(events.PartStart(self.index, number, part))
        if self.citations and isinstance(part, ir.Text):
            out += [events.PartUpdate(self.index, number, citation=citation) for citation in self.citations]
            self.citations = None
        return number

    def _sign(self, part: ir.Part) -> None:
        """Set the pending signature on a part that is the first text, or a call before any text."""
        is_first = isinstance(part, ir.Text | ir.ToolCall) and not self.has_text
        if is_first and part.signature is None:  # type: ignore[union-attr]  # the line before excludes it
            part.signature, self.pending_signature = self.pending_signature, None  # type: ignore[union-attr]

    def add(self, part: ir.Part, out: list[events.Event]) -> None:
        """Emit a part that arrives in one piece."""
        self.close_part(out)
        out += unfold(self.index, len(self.parts), part)
        self._append(part)

    def _append(self, part: ir.Part) -> None:
        self.parts.append(part)
        self.has_text = self.has_text or isinstance(part, ir.Text)

    def close_part(self, out: list[events.Event]) -> None:
        """Close the open part, if there is one."""
        if self.open is not None:
            if self.open[0] == "reasoning":
                self.reasoning.close(self.open[1])
            self.end_part(None, out)

    def end_part(self, complete: ir.Part | None, out: list[events.Event]) -> None:
        """Emit the end of the open part, with the fields that came after its start.

        ``complete``: the complete part, if it differs from its start.
        """
        assert self.open is not None
        out.append(events.PartEnd(self.index, self.open[1], complete, self.part_extra))
        self.open, self.part_extra = None, None

    def keep_extra(self, src: str, extra: JsonObject) -> None:
        """Keep fields that come after the start of the open part. Fields of another detail get the number of that detail.

        The last value of a field of a content item is valid, but a value that was false stays false.
        """
        assert self.open is not None
        items, opened = f"/choices/{self.index}/message/content/", self.parts[self.open[1]]
        if isinstance(opened, ir.Reasoning) and src.startswith(items) and opened.src.startswith(items):
            # Mistral marks each piece of its reasoning as closed or not (fixture reasoning_parts).
            known = ChainMap(self.part_extra or {}, opened.extra or {})
            new = {name: value for name, value in extra.items() if known.get(name) is not False}
            self.part_extra = extend_extra(self.part_extra, new)
        else:
            self.keep_item_extra(src, extra)

    def keep_item_extra(self, src: str, extra: JsonObject) -> None:
        """Keep fields of an item that is no separate part, under its number."""
        pointer = src.removeprefix(f"/choices/{self.index}/")
        self.extra = extend_extra(self.extra, {f"{pointer}/{name}": value for name, value in extra.items()})

    @property
    def open_reasoning(self) -> int | None:
        """The number of the open part, if it is reasoning."""
        return self.open[1] if self.open is not None and self.open[0] == "reasoning" else None

    def has_open_id(self, part: ir.Reasoning) -> bool:
        """Return whether a part has the id of the open reasoning."""
        opened = None if self.open is None else self.parts[self.open[1]]
        return part.id is not None and isinstance(opened, ir.Reasoning) and opened.id == part.id

    def unmodelled_fields(self) -> JsonObject | None:
        """Return the unmodelled fields of the whole choice."""
        out: JsonObject = {"stop_reason": self.stop} if self.stop is not None else {}
        if self.blocks is not None:
            out |= self.blocks.unmodelled_fields(self.reasoning)
        return merge_extra(self.extra, self.unknown.to_object(), out)

    def part_of_logprobs(self, kind: str) -> int | None:
        """Return the number of the part that log probabilities of a kind belong to; None: the part is not open yet."""
        # Only text and refusals have such lists (official SDK, ``ChoiceLogprobs``). Those of ``content`` belong to whatever part is open.
        if self.open is not None and kind in ("text", self.open[0]):
            return self.open[1]
        return self.audio if kind == "text" and self.open is None else None

    def add_citations(self, citations: list[ir.Citation], out: list[events.Event]) -> None:
        """Add citations to the open text, or to closed texts. Before any text, keep them for the first text."""
        if self.open is not None and isinstance(self.parts[self.open[1]], ir.Text):
            out += [events.PartUpdate(self.index, self.open[1], citation=citation) for citation in citations]
        elif self.has_text:
            out += [events.CitationUpdate(self.index, citation) for citation in citations]
        else:
            self.citations = self.citations or []
            self.citations += citations

    def pending_events(self, answer_id: str) -> list[events.Event]:
        """Return the events that the end of the choice would emit. The choice does not change.

        They have the fields of open parts, and the parts that have not opened.
        """
        extras: dict[int, JsonObject | None] = {} if self.open is None else {self.open[1]: self.part_extra}
        parts: list[ir.Part] = []
        if self.citations:
            parts.append(ir.Text("", f"/choices/{self.index}/message/content", citations=[*self.citations]))
        if calls := self.calls:
            extras |= {number: calls.unknown.get(slot) for slot, number in calls.open.items()}
            for number, (slot, state) in enumerate(calls.pending.items(), calls.count):
                call = state.to_call(slot, number, self.index, answer_id)
                extra = merge_extra(call.extra, calls.unknown.get(slot))
                parts.append(replace(call, arguments="".join(state.pieces), extra=extra))
        if self.pending_signature is not None:
            parts.append(ir.Text("", self.pending_signature.src, signature=self.pending_signature))
        out: list[events.Event] = [events.PartUpdate(self.index, index, extra=extra) for index, extra in extras.items() if extra]
        for number, part in enumerate(parts, len(self.parts)):
            out += unfold(self.index, number, part)[:-1]
        return out
