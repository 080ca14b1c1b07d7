"""Encoder for streams of Anthropic Messages.

One block is open at a time, and the indexes of the blocks have no gaps. Text, reasoning and arguments of the open block are sent at once.
Events of other parts stay pending, because a block that is closed cannot open again. Citations follow their text, without spans.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

from formatbridge import ir
from formatbridge.formats.format import Context
from formatbridge.formats.messages.citations import can_cite, encode_citation
from formatbridge.formats.messages.errors import encode_error
from formatbridge.formats.messages.reasoning import encode_answer_reasoning, encode_carried_token
from formatbridge.formats.messages.response import NO_USAGE, encode_answer, encode_finish, encode_head
from formatbridge.formats.messages.tool_calls import encode_call_start
from formatbridge.formats.messages.usage import encode_usage
from formatbridge.formats.shared.choices import FirstChoice, is_part_event
from formatbridge.formats.shared.reasoning_tokens import encode_token, is_carried
from formatbridge.formats.shared.tool_arguments import encode_arguments_text, wrap_text
from formatbridge.ir import events
from formatbridge.jsontext.codec import dumps
from formatbridge.jsontext.types import JsonObject
from formatbridge.options import Options
from formatbridge.report.ledger import null_ledger
from formatbridge.streaming.replay import copy_part

_TEXT_DELTA = (
    b"event: content_block_delta\n"
    b'data: {"type":"content_block_delta","index":%d,"delta":{"type":"%b_delta","%b":'
)  # fmt: skip
_BLOCK_START = b'event: content_block_start\ndata: {"type":"content_block_start","index":%d,"content_block":%b}\n\n'
_BLOCK_DELTA = b'event: content_block_delta\ndata: {"type":"content_block_delta","index":%d,"delta":%b}\n\n'
_BLOCK_STOP = b'event: content_block_stop\ndata: {"type":"content_block_stop","index":%d}\n\n'
EMPTY: dict[str, JsonObject] = {
    "text": {"type": "text", "text": ""},
    "thinking": {"type": "thinking", "thinking": "", "signature": ""},
}
"""Kinds of blocks to the block in their start."""
_DELTA_FIELDS = {"text": ("text", "text"), "thinking": ("thinking", "thinking"), "input": ("input_json", "partial_json")}
"""Kinds of blocks to the prefix of the type of their deltas and to the field with the text."""


class _BlockEncoder:
    """Encodes content blocks one after the other, with their indexes."""

    def __init__(self) -> None:
        self._index = 0

    def head(self, kind: str) -> bytes:
        """Return the bytes before the text in each delta of the open block. ``kind``: ``text``, ``thinking`` or ``input``."""
        name, member = _DELTA_FIELDS[kind]
        return _TEXT_DELTA % (self._index, name.encode(), member.encode())

    def start(self, block: JsonObject) -> bytes:
        """Encode the start of a block, which is open then."""
        return _BLOCK_START % (self._index, dumps(block))

    def delta(self, delta: JsonObject) -> bytes:
        """Encode a delta of the open block."""
        return _BLOCK_DELTA % (self._index, dumps(delta))

    def stop(self) -> bytes:
        """Encode the stop of the open block."""
        self._index += 1
        return _BLOCK_STOP % (self._index - 1)

    def whole(self, block: JsonObject) -> bytes:
        """Encode the events of a complete block."""
        match block["type"]:
            case "text":
                out = self.start(EMPTY["text"]) + self.delta({"type": "text_delta", "text": block["text"]})
            case "thinking":
                out = self.start(EMPTY["thinking"])
                if block["thinking"]:
                    out += self.delta({"type": "thinking_delta", "thinking": block["thinking"]})
                out += self.delta({"type": "signature_delta", "signature": block["signature"]})
            case "server_tool_use" | "mcp_tool_use":
                text = dumps(block["input"]).decode()
                out = self.start({**block, "input": {}})
                out += self.delta({"type": "input_json_delta", "partial_json": text})
            case _:
                out = self.start(block)
        return out + self.stop()


def _encode_event(name: str, body: JsonObject) -> bytes:
    """Encode an event. Its type is both the name of the SSE event and a field of the data."""
    return b"event: %b\ndata: %b\n\n" % (name.encode(), dumps(body))


_PartEvent = events.PartStart | events.Delta | events.PartUpdate | events.PartEnd

_AFTER_TEXT = b"}}\n\n"
_BEFORE_FREE_TEXT = dumps(wrap_text(""))[:-2].decode()
_AFTER_FREE_TEXT = '"}'


@dataclass(slots=True)
class _OpenBlock:
    """The open block and its part.

    ``kind``: ``text``, ``thinking`` or ``input``, whose deltas are sent at once. Empty for other parts, which are encoded when they end.
    ``head``: the bytes before the text of a delta, empty before the block starts. ``has_deltas``: a delta was sent.
    """

    part: ir.Part
    index: int
    kind: str = ""
    head: bytes = b""
    has_deltas: bool = False
    pieces: list[str] = field(default_factory=list)
    citations: list[ir.Citation] = field(default_factory=list)
    token: ir.Signature | None = None


class StreamEncoder:
    """Encodes one stream. The report is not built here but from the accumulated response."""

    def __init__(self, options: Options, context: Context | None) -> None:
        self._context = context
        self._options = options
        self._has_started = False
        self._is_over = False
        self._first = FirstChoice()
        self._blocks = _BlockEncoder()
        self._open: _OpenBlock | None = None
        self._pending_parts: dict[int, list[_PartEvent]] = {}
        self._finish: ir.Finish | None = None
        self._usage: ir.Usage | None = None
        self._counts_reasoning = False  # whether the usage in message_start counts it
        self._unsigned: list[ir.Signature] = []  # tokens that arrived after their reasoning had been sent
        self._has_calls = False
        self._has_refusal = False

    def feed(self, event: events.Event) -> bytes:
        """Take one event and return its bytes. Only the first choice is encoded."""
        if self._is_over:
            return b""
        block = self._open
        if type(event) is events.Delta and block is not None and event.index == block.index and event.choice == self._first.number:
            return self._add_text(block, event.text)  # most events
        if is_part_event(event) and event.choice == self._first.number:
            return self._feed(event)
        return b"".join([self._feed(each) for each in self._first.feed(event)])

    def _feed(self, event: events.Event) -> bytes:
        """Encode an event. A citation that follows the end of its text is not encoded."""
        method = _METHODS.get(type(event))
        return method(self, event) if method else b""

    def fail(self, error: ir.Error, *, events_before: int = 0) -> bytes:
        """Encode an error, which ends the stream. The open block stays open."""
        del events_before  # the events of this format have no sequence numbers
        if self._is_over:
            return b""
        self._is_over = True
        return _encode_event("error", encode_error(error, null_ledger())[1])

    def undelivered_tokens(self) -> list[ir.TokenLogprob | ir.Signature]:
        """Return the tokens that arrived after their reasoning was sent. This format has no logprobs."""
        return [*self._unsigned]

    def _begin(self, event: events.Start) -> bytes:
        self._has_started = True
        self._usage = event.usage
        self._counts_reasoning = event.usage is not None and event.usage.reasoning is not None
        # The SDK builds its message from this object, so it has all required fields (official SDK, ``Message``).
        empty: JsonObject = {"content": [], "stop_reason": None, "stop_sequence": None, "usage": self._encode_usage()}
        return _encode_event(
            "message_start", {"type": "message_start", "message": encode_head(event, null_ledger(), self._context) | empty}
        )

    def _encode_usage(self) -> JsonObject:
        return encode_usage(self._usage, null_ledger()) if self._usage else dict(NO_USAGE)

    def _finish_choice(self, event: events.ChoiceEnd) -> bytes:
        self._finish = event.finish
        return b""

    def _note_usage(self, event: events.UsageUpdate) -> bytes:
        self._usage = event.usage
        return b""

    def _fail(self, event: events.Failed) -> bytes:
        return self.fail(event.error)

    def _end(self, event: events.End) -> bytes:
        del event  # it has no fields
        self._is_over = True
        out = b"" if self._has_started else self._begin(events.Start(None, None))
        # The SDK reports a block as complete at its stop (official SDK, ``lib/streaming/_messages.py``).
        while self._open is not None:  # parts that the source did not end
            out += self._end_part(events.PartEnd(self._first.number or 0, self._open.index)) + self._encode_pending()
        usage = self._encode_usage()
        if self._counts_reasoning:  # else ``accumulate_event`` of the SDK keeps the count of the start
            usage.setdefault("output_tokens_details", {"thinking_tokens": 0})
        stop = encode_finish(self._finish, self._has_calls, self._has_refusal, null_ledger())
        out += _encode_event("message_delta", {"type": "message_delta", "delta": stop, "usage": usage})
        return out + _encode_event("message_stop", {"type": "message_stop"})

    def _take(self, event: _PartEvent) -> bytes:
        block = self._open
        if block is not None and event.index == block.index:
            out = self._encode(event)
            return out + self._encode_pending() if self._pending_parts and self._open is None else out
        if isinstance(event, events.PartStart):
            # The server sends one block after the other: its start, deltas and stop (Anthropic, Streaming messages).
            if block is None and not isinstance(event.part, ir.Media):
                return self._encode(event)
            self._pending_parts[event.index] = [event]
        elif event.index in self._pending_parts:
            self._pending_parts[event.index].append(event)
            return self._encode_pending() if block is None else b""
        return b""

    def _take_signature(self, event: events.SignatureUpdate) -> bytes:
        """Add a token to its reasoning, if that is pending."""
        pending = self._pending_parts.get(event.index)
        if pending is not None:
            pending.insert(1, events.PartUpdate(event.choice, event.index, signature=event.signature))
        elif is_carried(event.signature, "messages", self._options):
            self._unsigned.append(event.signature)
        return b""

    def _encode_pending(self) -> bytes:
        """Encode the pending parts, up to the first one that has not ended."""
        out: list[bytes] = []
        while self._open is None:
            index = next((index for index, pending in self._pending_parts.items() if _may_begin(pending)), None)
            if index is None:
                break
            out += map(self._encode, _as_text(self._pending_parts.pop(index)))
        return b"".join(out)

    def _encode(self, event: _PartEvent) -> bytes:
        if isinstance(event, events.PartStart):
            return self._start_part(event)
        block = self._open
        assert block is not None
        if isinstance(event, events.Delta):
            return self._add_text(block, event.text)
        if isinstance(event, events.PartEnd):
            return self._end_part(event)
        block.token = event.signature or block.token
        if event.citation:
            block.citations.append(event.citation)
        return b""

    def _start_part(self, event: events.PartStart) -> bytes:
        out = b"" if self._has_started else self._begin(events.Start(None, None))
        part = event.part
        block = self._open = _OpenBlock(part, event.index)
        match part:
            case ir.ToolCall():
                block.kind, self._has_calls = "input", True
                out += self._encode_carried(part.signature) + self._blocks.start(encode_call_start(part, null_ledger()))
                block.head = self._blocks.head("input")
                return out + self._add_text(block, encode_arguments_text(part))
            case ir.Text():
                block.kind = "text"
                block.citations = list(part.citations or ())
                out += self._encode_carried(part.signature)
                return out + self._add_text(block, part.text)
            case ir.Refusal():
                block.kind, self._has_refusal = "text", True
                return out + self._add_text(block, part.text)
            case ir.Reasoning():
                block.kind, block.token = "thinking", part.signature
                return out + self._add_text(block, part.text)
            case _:
                return out

    def _encode_carried(self, token: ir.Signature | None) -> bytes:
        """Encode the token of a part as a block before the block of the part."""
        block = encode_carried_token(token, null_ledger(), self._options)
        return self._blocks.whole(block) if block else b""

    def _add_text(self, block: _OpenBlock, text: str) -> bytes:
        if not text:
            return b""
        if block.kind == "input":
            return self._add_input(block, text)
        if not block.kind:
            if isinstance(block.part, ir.Hosted):
                block.pieces.append(text)
            return b""
        if block.head:
            return block.head + dumps(text) + _AFTER_TEXT
        out = self._blocks.start(EMPTY[block.kind])
        block.head = self._blocks.head(block.kind)
        return b"%b%b%b%b" % (out, block.head, dumps(text), _AFTER_TEXT)

    def _add_input(self, block: _OpenBlock, text: str) -> bytes:
        """Encode a delta of arguments, which are JSON text. Free text becomes a string in an object."""
        if isinstance(block.part, ir.ToolCall) and block.part.kind == "custom":
            text = dumps(text)[1:-1].decode()
            text = text if block.has_deltas else _BEFORE_FREE_TEXT + text
        # White space before the arguments would be the only delta of a call without arguments, which then have no JSON.
        elif not block.has_deltas and text.isspace():
            return b""
        block.has_deltas = True
        return b"%b%b%b" % (block.head, dumps(text), _AFTER_TEXT)

    def _end_part(self, event: events.PartEnd) -> bytes:
        block, self._open = self._open, None
        assert block is not None
        part = event.part or block.part
        match block.kind:
            case "text":
                out = self._close_text(block, event.part)
            case "thinking":
                out = self._close_reasoning(block, event.part)
            case "input":
                out = self._close_call(block, event.part)
            case _:
                if block.pieces and event.part is None and isinstance(part, ir.Hosted):
                    part = copy_part(part, arguments="".join(block.pieces))
                if block.token and not isinstance(part, ir.Refusal):
                    part = replace(part, signature=block.token)
                return b"".join(map(self._blocks.whole, encode_answer([part], null_ledger(), self._options)))
        if block.token and block.kind != "thinking" and self._options.carry_reasoning:  # it arrived after the start of its block
            data = encode_token(block.token, "messages", kind="thought")
            out += self._blocks.whole({"type": "redacted_thinking", "data": data})
        return out

    def _close_text(self, block: _OpenBlock, final: ir.Part | None) -> bytes:
        out = b""
        if not block.head:
            if block.token:  # nothing of the text has been sent
                out, block.token = self._encode_carried(block.token), None
            if isinstance(final, ir.Text | ir.Refusal):
                out += self._add_text(block, final.text)
            if not block.head:
                return out
        # Deltas of citations have no offsets, so they may follow the text of their block.
        citations = block.citations or (final.citations if isinstance(final, ir.Text) else None) or ()
        cited = [encode_citation(citation, "", "", null_ledger()) for citation in citations if can_cite(citation, null_ledger())]
        deltas = [self._blocks.delta({"type": "citations_delta", "citation": citation}) for citation in cited]
        return b"".join([out, *deltas, self._blocks.stop()])

    def _close_reasoning(self, block: _OpenBlock, final: ir.Part | None) -> bytes:
        part = final if isinstance(final, ir.Reasoning) else block.part
        assert isinstance(part, ir.Reasoning)
        token = block.token or part.signature
        if not block.head:
            whole = replace(part, signature=token)
            encoded = encode_answer_reasoning(whole, null_ledger(), self._options)
            return self._blocks.whole(encoded) if encoded else b""
        # The text has been sent. Any text makes the block a ``thinking`` block, whose signature is needed here.
        encoded = encode_answer_reasoning(ir.Reasoning("x", signature=token), null_ledger(), self._options) or {}
        return self._blocks.delta({"type": "signature_delta", "signature": encoded["signature"]}) + self._blocks.stop()

    def _close_call(self, block: _OpenBlock, final: ir.Part | None) -> bytes:
        out = b""
        if not block.has_deltas and isinstance(final, ir.ToolCall):
            out = self._add_text(block, encode_arguments_text(final))
        is_free_text = isinstance(block.part, ir.ToolCall) and block.part.kind == "custom"
        # The SDK parses the joined deltas as JSON (``accumulate_event``), so a call without arguments gets an empty object.
        text = "" if block.has_deltas else _BEFORE_FREE_TEXT if is_free_text else "{}"
        text += _AFTER_FREE_TEXT if is_free_text else ""
        return out + (block.head + dumps(text) + _AFTER_TEXT if text else b"") + self._blocks.stop()


def _may_begin(pending: list[_PartEvent]) -> bool:
    """Return whether the encoding of a pending part may begin. Media must have ended, because their block has no deltas."""
    start = pending[0]
    is_media = isinstance(start, events.PartStart) and isinstance(start.part, ir.Media)
    return not is_media or isinstance(pending[-1], events.PartEnd)


def _as_text(pending: list[_PartEvent]) -> list[_PartEvent]:
    """Return the events of audio with a transcript as those of a text, because this format has no audio; other events unchanged."""
    start, end = pending[0], pending[-1]
    if not isinstance(start, events.PartStart) or not isinstance(start.part, ir.Media):
        return pending
    whole = end.part if isinstance(end, events.PartEnd) and isinstance(end.part, ir.Media) else start.part
    later = [event.transcript for event in pending if isinstance(event, events.PartUpdate) and event.transcript]
    transcript = whole.transcript or "".join(later)
    if not transcript:
        return pending
    text = ir.Text(transcript, whole.src)
    return [events.PartStart(start.choice, start.index, text), events.PartEnd(start.choice, start.index)]


_METHODS: dict[type[events.Event], Callable[[StreamEncoder, Any], bytes]] = {
    events.Start: StreamEncoder._begin,
    events.PartStart: StreamEncoder._take,
    events.Delta: StreamEncoder._take,
    events.PartUpdate: StreamEncoder._take,
    events.SignatureUpdate: StreamEncoder._take_signature,
    events.PartEnd: StreamEncoder._take,
    events.ChoiceEnd: StreamEncoder._finish_choice,
    events.UsageUpdate: StreamEncoder._note_usage,
    events.Failed: StreamEncoder._fail,
    events.End: StreamEncoder._end,
}
