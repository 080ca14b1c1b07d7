"""Streams of messages, read: blocks, from their start to their stop, as parts.

Servers leave out starts and stops, use an index again, and let blocks overlap. A block of thinking that turns out to be nothing but
the token of the part behind it becomes no part.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Any

from formatbridge import ir
from formatbridge.errors import StreamDecodeError
from formatbridge.formats.messages.citations import decode_citation
from formatbridge.formats.messages.conversation import decode_block
from formatbridge.formats.shared.reasoning_tokens import carries_call_token, decode_token
from formatbridge.formats.shared.text_lengths import Lengths
from formatbridge.formats.shared.tool_arguments import parse_object
from formatbridge.formats.shared.unmodelled_fields import Pieces, rest
from formatbridge.ir import events
from formatbridge.jsontext.codec import dumps
from formatbridge.jsontext.types import JsonObject

_HOT: dict[object, tuple[str, str]] = {
    "text_delta": ("text", "text"),
    "thinking_delta": ("thinking", "thinking"),
    "input_json_delta": ("tool_use", "partial_json"),
}
"""Kind of delta to the kind of block that it streams into, and the member that holds the piece."""
_KINDS = {"signature": "signature_delta", **{member: kind for kind, (_, member) in _HOT.items()}}
"""Member of a delta to the kind of delta that has it."""
_NEEDS: dict[str, JsonObject] = {
    "text": {"text": ""},
    "thinking": {"thinking": "", "signature": ""},
    "tool_use": {"input": {}},
    "server_tool_use": {"input": {}},
    "mcp_tool_use": {"input": {}},
}
"""What a block must have, for servers that leave it out while it is empty."""


@dataclass(slots=True, eq=False)
class Block:
    """A block as far as it has come. ``number``: its part's, None while that has not opened; ``size``: characters of its deltas.

    ``text``: its number among the texts.
    """

    kind: str
    src: str
    raw: JsonObject
    part: ir.Part | None = None
    number: int | None = None
    size: int = 0
    text: int = -1
    pieces: list[str] = field(default_factory=list)
    citations: list[ir.Citation] = field(default_factory=list)
    token: ir.Signature | None = None
    unknown: Pieces = field(default_factory=Pieces)


class Blocks:
    """The blocks of one stream: which are open, how many there were, and how far the visible text has come."""

    def __init__(self) -> None:
        self._open: dict[Any, Block] = {}
        self._calls: dict[str, list[Any]] = {}  # the indexes of blocks, by their id
        #: The block that grew last.
        self.latest: Block | None = None
        self._count = 0
        self._parts = 0
        self._lengths = Lengths()  # of the texts, but for what the latest block brought
        #: The token that waits for the part behind it.
        self.carrier: ir.Reasoning | None = None

    @property
    def open(self) -> Iterable[Block]:
        """The blocks that have not closed, in the order of their starts."""
        return self._open.values()

    @property
    def part_count(self) -> int:
        """How many parts have opened."""
        return self._parts

    @property
    def are_whole(self) -> bool:
        """Whether there were any, and none is open."""
        return self._count > 0 and not self._open

    def begin(self, index: object, content: JsonObject, made: list[events.Event]) -> None:
        """Open a block."""
        content = without_nulls(content)
        self._end_call(content.get("tool_use_id"), made)
        kind = content.get("type")
        if isinstance(kind, str):
            content = {"type": kind, **_NEEDS.get(kind, {}), **content}
        block = self._add(index, content, made)
        block.kind = kind if kind in ("text", "thinking", "tool_use") else "input" if "input" in content else "whole"
        if kind == "text":
            block.text = self._lengths.add()
        self._open_part(block, made)

    def _end_call(self, call_id: object, made: list[events.Event]) -> None:
        """Close the call whose result begins, if nothing did: a result that is told before its call has no place."""
        for index in self._calls.pop(call_id, ()) if isinstance(call_id, str) else ():
            if index in self._open and self._open[index].raw.get("id") == call_id:
                self.end(index, made)

    def begin_nothing(self, index: object, made: list[events.Event]) -> str:
        """Open a block that is no part of the answer and return its pointer."""
        self._flush_carrier(made)
        return self._add(index, {}, made).src

    def _add(self, index: object, content: JsonObject, made: list[events.Event]) -> Block:
        """Number a block in the order of the blocks; an index that is used again closes the one before."""
        if index in self._open:
            self.end(index, made)
        block = Block("", f"/content/{self._count}", content)
        place = f"block/{self._count}" if index is None else index
        self._open[place] = block
        if isinstance(call_id := content.get("id"), str):
            self._calls.setdefault(call_id, []).append(place)
        self._count += 1
        return block

    def end_all(self, made: list[events.Event]) -> None:
        """Close what is open."""
        for index in list(self._open):
            self.end(index, made)
        self._flush_carrier(made)

    def _open_part(self, block: Block, made: list[events.Event]) -> None:
        """Open a block's part without what its deltas bring. A thought waits for its text: it may be another part's token."""
        part = block.part = decode_block(block.raw, block.src)
        match part:
            case ir.Reasoning() if block.kind == "thinking":
                block.token, part.signature = part.signature, None
                text, part.text = part.text, ""
                if text:
                    self._grow(block, text, made)
            case ir.Reasoning() if carries_call_token(part):
                self._flush_carrier(made)
                self.carrier, block.part = part, None
            case ir.Text():
                text, part.text = part.text, ""
                block.citations, part.citations = part.citations or [], None
                self._start_part(block, made)
                if text:
                    self._grow(block, text, made)
            case ir.ToolCall():
                part.arguments = ""
                self._start_part(block, made)
            case _:
                if isinstance(part, ir.Hosted) and block.kind == "input":
                    part.arguments = None
                self._start_part(block, made)

    def _start_part(self, block: Block, made: list[events.Event]) -> None:
        part = block.part
        assert part is not None
        if self.carrier is not None and isinstance(part, ir.ToolCall | ir.Text | ir.Hosted):
            part.signature, self.carrier = self.carrier.signature, None
        self._flush_carrier(made)
        block.number, self._parts = self._parts, self._parts + 1
        made.append(events.PartStart(0, block.number, part))
        if block.token is not None:
            made.append(events.PartMeta(0, block.number, signature=block.token))

    def _flush_carrier(self, made: list[events.Event]) -> None:
        """Pass on a token that was carried for a part which never came."""
        if self.carrier is not None:
            carrier, self.carrier = self.carrier, None
            self._start_part(block := Block("whole", carrier.src, {}, carrier), made)
            made.append(events.PartEnd(0, block.number or 0))

    # Deltas.

    def grow(self, raw: JsonObject, made: list[events.Event]) -> None:
        """Take the delta of a block."""
        delta = raw.get("delta") or {}
        block = self._open.get(raw.get("index")) or self._stray(raw, delta, made)
        self._take(block, delta, made)

    def _take(self, block: Block, delta: JsonObject, made: list[events.Event]) -> None:
        kind, member = _HOT.get(delta.get("type"), ("", ""))
        if kind != block.kind:
            self._delta_rarely(block, delta, made)
            return
        block.unknown.take(rest(delta, {"type", member}) if len(delta) > 2 else None)
        text = delta.get(member)
        if text:
            self._grow(block, text, made)

    def _grow(self, block: Block, text: str, made: list[events.Event]) -> None:
        if block.number is None:
            self._start_part(block, made)
        if block is not self.latest:
            self._count_latest()
            self.latest = block
        block.size += len(text)
        made.append(events.Delta(0, block.number or 0, text))

    def _count_latest(self) -> None:
        block = self.latest
        if block is not None and block.text >= 0:
            self._lengths.tell(block.text, block.size)

    def _stray(self, raw: JsonObject, delta: JsonObject, made: list[events.Event]) -> Block:
        """Return the block of a delta that names none which is open: the latest, or for words a new one."""
        index = raw.get("index")
        if index is None and self._open:
            return next(reversed(self._open.values()))
        kind, _ = _HOT.get(with_kind(delta).get("type"), ("", ""))
        if kind not in ("text", "thinking"):
            raise StreamDecodeError("adds to a block that is not open", offset=0, snippet=dumps(raw))
        self.begin(index, {"type": kind}, made)
        return next(reversed(self._open.values()))

    def _delta_rarely(self, block: Block, delta: JsonObject, made: list[events.Event]) -> None:
        match delta.get("type"):
            case "signature_delta" if block.kind == "thinking":
                block.unknown.take(rest(delta, {"type", "signature"}))
                if token := delta.get("signature"):
                    self._sign(block, decode_token(token, "messages", "thinking", f"{block.src}/signature"), made)
            case "citations_delta" if block.kind == "text":
                block.unknown.take(rest(delta, {"type", "citation"}))
                place = f"{block.src}/citations/{len(block.citations)}"
                block.citations.append(decode_citation(delta["citation"], place))
            case "input_json_delta" if block.kind == "input":
                block.unknown.take(rest(delta, {"type", "partial_json"}))
                block.pieces.append(delta.get("partial_json") or "")
            case "compaction_delta":
                block.raw |= {key: value for key, value in without_nulls(delta).items() if key != "type"}
            case None if (named := with_kind(delta)) is not delta:
                self._take(block, named, made)
            case None:
                block.unknown.take(rest(delta, {"type"}))
            case other:
                block.unknown.take({str(other): delta})

    def _sign(self, block: Block, token: ir.Signature, made: list[events.Event]) -> None:
        block.token = token
        if block.number is not None:
            made.append(events.PartMeta(0, block.number, signature=token))
        elif token.kind != "call":
            self._start_part(block, made)

    # Ends of blocks.

    def end(self, index: object, made: list[events.Event]) -> None:
        """Close a block; without an index, the latest."""
        if index is None and self._open:
            index = next(reversed(self._open))
        block = self._open.pop(index, None)
        if block is None or block.part is None:
            return
        final: ir.Part | None = None
        match block.kind:
            case "thinking" if block.number is None:
                if self._hold_carrier(block, made):
                    return
                self._start_part(block, made)
            case "text" if block.citations:
                made += self.placed_citations(block)
            case "tool_use" if not block.size:
                self._grow(block, dumps(block.raw["input"]).decode(), made)
            case "input":
                final = with_input(block)
            case "whole" if block.raw.get("type") == "compaction":
                final = decode_block(block.raw, block.src)
        made.append(events.PartEnd(0, block.number or 0, final, block.unknown.whole() or None))

    def _hold_carrier(self, block: Block, made: list[events.Event]) -> bool:
        """Keep a thought that is nothing but another part's token for that part."""
        carrier = block.part
        assert isinstance(carrier, ir.Reasoning)
        carrier.signature = block.token
        if not carries_call_token(carrier):
            carrier.signature = None
            return False
        self._flush_carrier(made)
        self.carrier = carrier
        return True

    def placed_citations(self, block: Block) -> list[events.Event]:
        """Tell the citations of a text, whose span is known only now: behind the texts before it, which may be open yet."""
        self._count_latest()
        start = self._lengths.before(block.text)
        with_offset = [replace(citation, start=start, end=start + block.size) for citation in block.citations]
        return [events.PartMeta(0, block.number or 0, citation=citation) for citation in with_offset]


def with_input(block: Block) -> ir.Part:
    """Return the part of a server's call with its whole input, which decides what it is."""
    text = "".join(block.pieces)
    raw = block.raw
    if text.strip():
        given = parse_object(text)[0]
        raw = {**raw, "input": {"raw_arguments": text} if given is None else given}
    part = decode_block(raw, block.src)
    if block.part is not None and not isinstance(part, ir.Refusal):
        part.signature = getattr(block.part, "signature", None)
    return part


def with_kind(delta: JsonObject) -> JsonObject:
    """Return a delta with its kind, where that is missing and its text tells."""
    if delta.get("type") is not None:
        return delta
    kind = next((kind for member, kind in _KINDS.items() if isinstance(delta.get(member), str)), None)
    return delta if kind is None else {**delta, "type": kind}


def without_nulls(raw: JsonObject) -> JsonObject:
    """Return an object without the members that are null, which say nothing."""
    return {key: value for key, value in raw.items() if value is not None}
