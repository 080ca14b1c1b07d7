"""State of the decoder for streams of Anthropic Messages: the content blocks and their parts.

Relays omit starts and stops, reuse an index, or interleave blocks (fixtures block_never_opened, block_never_closed, tools_index_reused,
tools_interleaved). A block with the carried token of the next part becomes no part.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

from formatbridge import ir
from formatbridge.errors import StreamDecodeError
from formatbridge.formats.messages.citations import decode_citation
from formatbridge.formats.messages.conversation import decode_block
from formatbridge.formats.shared.reasoning_tokens import carries_call_token, decode_token
from formatbridge.formats.shared.text_lengths import TextLengths
from formatbridge.formats.shared.tool_arguments import parse_object
from formatbridge.formats.shared.unmodelled_fields import Pieces, merge_extra, read_extra
from formatbridge.ir import events
from formatbridge.jsontext.codec import dumps
from formatbridge.jsontext.types import JsonObject
from formatbridge.streaming.replay import unfold

_TEXT_DELTAS: dict[object, tuple[str, str]] = {
    "text_delta": ("text", "text"),
    "thinking_delta": ("thinking", "thinking"),
    "input_json_delta": ("tool_use", "partial_json"),
}
"""Types of deltas to the type of their block and the field with the text."""
_DELTA_OF = {"signature": "signature_delta", **{member: kind for kind, (_, member) in _TEXT_DELTAS.items()}}
"""Fields of deltas to the type of the delta."""
_REQUIRED: dict[str, JsonObject] = {
    "text": {"text": ""},
    "thinking": {"thinking": "", "signature": ""},
    "tool_use": {"input": {}},
    "server_tool_use": {"input": {}},
    "mcp_tool_use": {"input": {}},
}
"""Required fields of a block, for servers that omit them while they are empty."""


@dataclass(slots=True, eq=False)
class _Block:
    """The state of a block.

    ``kind``: ``text``, ``thinking`` or ``tool_use``; ``input`` for other blocks with an input; ``whole`` for blocks without deltas.
    ``number``: the index of its part, None before the part starts. ``length``: the number of characters in its deltas. ``text_number``: its
    index among the texts. ``pieces``: the pieces of its input. ``unknown``: the unknown fields of its deltas.
    """

    kind: str
    src: str
    raw: JsonObject
    part: ir.Part | None = None
    number: int | None = None
    length: int = 0
    text_number: int = -1
    pieces: list[str] = field(default_factory=list)
    citations: list[ir.Citation] = field(default_factory=list)
    token: ir.Signature | None = None
    unknown: Pieces = field(default_factory=Pieces)


class Blocks:
    """The blocks of one stream, and the length of the visible text."""

    def __init__(self) -> None:
        self._open: dict[Any, _Block] = {}
        self._calls: dict[str, list[Any]] = {}  # the indexes of blocks, by their id
        self._latest: _Block | None = None  # the block with the last text delta
        self._count = 0
        self._part_count = 0
        self._lengths = TextLengths()  # of the texts; that of the latest block is not up to date
        self._next_token: ir.Reasoning | None = None  # holds the token of the next part

    @property
    def are_complete(self) -> bool:
        """Whether the stream has blocks and none is open."""
        return self._count > 0 and not self._open

    def begin(self, index: object, content: JsonObject, out: list[events.Event]) -> None:
        """Take the start of a block."""
        content = without_nulls(content)
        # Some relays do not close the call of a server tool (fixture hosted_mcp_never_closed).
        self._end_call(content.get("tool_use_id"), out)
        kind = content.get("type")
        if isinstance(kind, str):
            content = {"type": kind, **_REQUIRED.get(kind, {}), **content}
        block = self._add(index, content, out)
        block.kind = kind if kind in ("text", "thinking", "tool_use") else "input" if "input" in content else "whole"
        if kind == "text":
            block.text_number = self._lengths.add()
        self._open_part(block, out)

    def _end_call(self, call_id: object, out: list[events.Event]) -> None:
        """Close the call of a result that starts, if the call is still open. A result must follow its call."""
        for index in self._calls.pop(call_id, ()) if isinstance(call_id, str) else ():
            if index in self._open and self._open[index].raw.get("id") == call_id:
                self.end(index, out)

    def skip(self, index: object, out: list[events.Event]) -> str:
        """Take the start of a block that becomes no part. Returns its pointer."""
        self._flush_token(out)
        return self._add(index, {}, out).src

    def _add(self, index: object, content: JsonObject, out: list[events.Event]) -> _Block:
        """Add an open block. If its index is in use, the block with that index is closed first."""
        # Some relays use one index for all blocks (fixture tools_index_reused).
        if index in self._open:
            self.end(index, out)
        block = _Block("", f"/content/{self._count}", content)
        key = f"block/{self._count}" if index is None else index
        self._open[key] = block
        if isinstance(call_id := content.get("id"), str):
            self._calls.setdefault(call_id, []).append(key)
        self._count += 1
        return block

    def end_all(self, out: list[events.Event]) -> None:
        """Close all open blocks."""
        for index in list(self._open):
            self.end(index, out)
        self._flush_token(out)

    def _open_part(self, block: _Block, out: list[events.Event]) -> None:
        """Start the part of a block, without its text.

        Reasoning starts with its first text, because a block without text may be a carried token.
        """
        part = block.part = decode_block(block.raw, block.src)
        match part:
            case ir.Reasoning() if block.kind == "thinking":
                block.token, part.signature = part.signature, None
                text, part.text = part.text, ""
                if text:
                    self._add_text(block, text, out)
            case ir.Reasoning() if carries_call_token(part):
                self._flush_token(out)
                self._next_token, block.part = part, None
            case ir.Text():
                text, part.text = part.text, ""
                block.citations, part.citations = part.citations or [], None
                self._start_part(block, out)
                if text:
                    self._add_text(block, text, out)
            case ir.ToolCall():
                part.arguments = ""
                self._start_part(block, out)
            case _:
                if isinstance(part, ir.Hosted) and block.kind == "input":
                    part.arguments = None
                self._start_part(block, out)

    def _start_part(self, block: _Block, out: list[events.Event]) -> None:
        part = block.part
        assert part is not None
        if self._next_token is not None and isinstance(part, ir.ToolCall | ir.Text | ir.Hosted):
            part.signature, self._next_token = self._next_token.signature, None
        self._flush_token(out)
        block.number, self._part_count = self._part_count, self._part_count + 1
        out.append(events.PartStart(0, block.number, part))
        if block.token is not None:
            out.append(events.PartUpdate(0, block.number, signature=block.token))

    def _flush_token(self, out: list[events.Event]) -> None:
        """Emit a kept token as a reasoning part, because the part that it belongs to never arrived."""
        if self._next_token is not None:
            reasoning, self._next_token = self._next_token, None
            self._start_part(block := _Block("whole", reasoning.src, {}, reasoning), out)
            out.append(events.PartEnd(0, block.number or 0))

    def take_delta(self, raw: JsonObject, out: list[events.Event], count: int) -> bool:
        """Take a delta, or ``count`` joined deltas. Returns whether it has unknown fields."""
        delta = with_type(raw.get("delta") or {})
        block = self._open.get(raw.get("index")) or self._block_without_start(raw, delta, out)
        kind, member = _TEXT_DELTAS.get(delta.get("type"), ("", ""))
        if kind != block.kind:
            fields = self._take_other(block, delta, out)
        else:
            fields = read_extra(delta, {"type", member}) if len(delta) > 2 else None
            if text := delta.get(member):
                self._add_text(block, text, out)
        if fields:
            block.unknown.take(fields, count)
        return bool(fields)

    def _add_text(self, block: _Block, text: str, out: list[events.Event]) -> None:
        if block.number is None:
            self._start_part(block, out)
        if block is not self._latest:
            self._count_latest()
            self._latest = block
        block.length += len(text)
        out.append(events.Delta(0, block.number or 0, text))

    def _count_latest(self) -> None:
        block = self._latest
        if block is not None and block.text_number >= 0:
            self._lengths.set_length(block.text_number, block.length)

    def _block_without_start(self, raw: JsonObject, delta: JsonObject, out: list[events.Event]) -> _Block:
        """Return the block of a delta without an open block: without an index the last one, for text and thinking a new one."""
        index = raw.get("index")
        if index is None and self._open:
            return next(reversed(self._open.values()))
        kind, _ = _TEXT_DELTAS.get(delta.get("type"), ("", ""))
        # A call without a start has no name. Text and thinking need no start (fixture block_never_opened).
        if kind not in ("text", "thinking"):
            raise StreamDecodeError(
                "adds to a block that is not open, expected content_block_start before it", offset=0, snippet=dumps(raw)
            )
        self.begin(index, {"type": kind}, out)
        return next(reversed(self._open.values()))

    def _take_other(self, block: _Block, delta: JsonObject, out: list[events.Event]) -> JsonObject | None:
        """Take a delta without text for its block. Returns its unknown fields."""
        match delta.get("type"):
            case "signature_delta" if block.kind == "thinking":
                if token := delta.get("signature"):
                    self._sign(block, decode_token(token, "messages", "thinking", f"{block.src}/signature"), out)
                return read_extra(delta, {"type", "signature"})
            case "citations_delta" if block.kind == "text":
                src = f"{block.src}/citations/{len(block.citations)}"
                block.citations.append(decode_citation(delta["citation"], src))
                return read_extra(delta, {"type", "citation"})
            case "input_json_delta" if block.kind == "input":
                block.pieces.append(delta.get("partial_json") or "")
                return read_extra(delta, {"type", "partial_json"})
            # The only delta has the whole content (beta types of the SDK, ``BetaCompactionContentBlockDelta``).
            case "compaction_delta":
                block.raw |= {key: value for key, value in without_nulls(delta).items() if key != "type"}
                return None
            case None:
                return read_extra(delta, {"type"})
            case other:
                return {str(other): delta}

    def _sign(self, block: _Block, token: ir.Signature, out: list[events.Event]) -> None:
        block.token = token
        if block.number is not None:
            out.append(events.PartUpdate(0, block.number, signature=token))
        elif token.kind != "call":
            self._start_part(block, out)

    def end(self, index: object, out: list[events.Event]) -> None:
        """Take the stop of a block; without an index, of the last one."""
        if index is None and self._open:
            index = next(reversed(self._open))
        block = self._open.pop(index, None)
        if block is None or block.part is None:
            return
        final: ir.Part | None = None
        match block.kind:
            case "thinking" if block.number is None:
                if self._keep_token(block, out):
                    return
                self._start_part(block, out)
            case "text" if block.citations:
                out += self._citations_with_spans(block)
            # Some relays send the whole input in the start (fixture tools_input_in_start).
            case "tool_use" if not block.length:
                self._add_text(block, dumps(block.raw["input"]).decode(), out)
            case "input":
                final = _decode_with_input(block)
            case "whole" if block.raw.get("type") == "compaction":
                final = decode_block(block.raw, block.src)
        out.append(events.PartEnd(0, block.number or 0, final, block.unknown.to_object() or None))

    def _keep_token(self, block: _Block, out: list[events.Event]) -> bool:
        """Keep reasoning that is only the carried token of the next part. Return whether it is that."""
        reasoning = block.part
        assert isinstance(reasoning, ir.Reasoning)
        reasoning.signature = block.token
        if not carries_call_token(reasoning):
            reasoning.signature = None
            return False
        self._flush_token(out)
        self._next_token = reasoning
        return True

    def _citations_with_spans(self, block: _Block) -> list[events.Event]:
        """Return the citations of a text with their span. It follows from the lengths of the texts before, which may still be open."""
        self._count_latest()
        start = self._lengths.length_before(block.text_number)
        citations = [replace(citation, start=start, end=start + block.length) for citation in block.citations]
        return [events.PartUpdate(0, block.number or 0, citation=citation) for citation in citations]

    def pending_events(self) -> list[events.Event]:
        """Return the pending events of open blocks, and of reasoning that may be a carried token. The state does not change."""
        out: list[events.Event] = []
        pending = [self._next_token] if self._next_token is not None else []
        for block in self._open.values():
            if block.number is not None:
                out += self._pending_events_of(block)
            elif isinstance(block.part, ir.Reasoning):
                extra = merge_extra(block.part.extra, block.unknown.to_object())
                pending.append(replace(block.part, signature=block.token, extra=extra))
        parts = [part for part in pending if part.signature or part.extra]
        for number, part in enumerate(parts, self._part_count):
            out += unfold(0, number, part)[:-1]
        return out

    def _pending_events_of(self, block: _Block) -> list[events.Event]:
        number, extra = block.number or 0, block.unknown.to_object() or None
        out: list[events.Event] = []
        match block.kind:
            case "text" if block.citations:
                out = self._citations_with_spans(block)
            case "tool_use" if not block.length and block.raw["input"]:
                out = [events.Delta(0, number, dumps(block.raw["input"]).decode())]
            case "input" if block.pieces or block.raw["input"]:
                return [events.PartEnd(0, number, _decode_with_input(block), extra)]
            case "whole" if block.raw.get("type") == "compaction":
                return [events.PartEnd(0, number, decode_block(block.raw, block.src), extra)]
        return [*out, events.PartUpdate(0, number, extra=extra)] if extra else out


def _decode_with_input(block: _Block) -> ir.Part:
    """Return the part of a server tool call with its complete input, on which the type of the part depends."""
    text = "".join(block.pieces)
    raw = block.raw
    if text.strip():
        value = parse_object(text)[0]
        # An input that is no object stays as text, as in ``encode_arguments_object``.
        raw = {**raw, "input": {"raw_arguments": text} if value is None else value}
    part = decode_block(raw, block.src)
    if block.part is not None and not isinstance(part, ir.Refusal):
        part.signature = getattr(block.part, "signature", None)
    return part


def with_type(delta: JsonObject) -> JsonObject:
    """Return a delta with its type. If the type is missing, a field implies it."""
    if delta.get("type") is not None:
        return delta
    kind = next((kind for member, kind in _DELTA_OF.items() if isinstance(delta.get(member), str)), None)
    return delta if kind is None else {**delta, "type": kind}


def without_nulls(raw: JsonObject) -> JsonObject:
    """Return an object without its null fields."""
    return {key: value for key, value in raw.items() if value is not None}
