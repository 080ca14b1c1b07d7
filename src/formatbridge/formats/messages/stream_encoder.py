"""Encoder for Messages streams: one block open at a time, numbered without gaps, and one end with the usage.

Text, reasoning and arguments of the open block are sent as they come. Events of other parts wait: a closed block never opens again.
Citations follow their text without spans.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

from formatbridge import ir
from formatbridge.formats.format import Context
from formatbridge.formats.messages.citations import can_cite, encode_citation
from formatbridge.formats.messages.errors import encode_error
from formatbridge.formats.messages.reasoning import encode_answer_reasoning, encode_carrier
from formatbridge.formats.messages.response import NO_USAGE, encode_answer, encode_beginning, encode_finish
from formatbridge.formats.messages.tool_calls import encode_opening
from formatbridge.formats.messages.usage import encode_usage
from formatbridge.formats.shared.choices import FirstChoice, is_of_a_choice
from formatbridge.formats.shared.reasoning_tokens import encode_token, is_carried
from formatbridge.formats.shared.tool_arguments import encode_arguments_text, wrap_text
from formatbridge.ir import events
from formatbridge.jsontext.codec import dumps
from formatbridge.jsontext.types import JsonObject
from formatbridge.options import Options
from formatbridge.report.ledger import null_ledger
from formatbridge.streaming.replay import altered

_DELTA = (
    b"event: content_block_delta\n"
    b'data: {"type":"content_block_delta","index":%d,"delta":{"type":"%b_delta","%b":'
)  # fmt: skip
_START = b'event: content_block_start\ndata: {"type":"content_block_start","index":%d,"content_block":%b}\n\n'
_MORE = b'event: content_block_delta\ndata: {"type":"content_block_delta","index":%d,"delta":%b}\n\n'
_STOP = b'event: content_block_stop\ndata: {"type":"content_block_stop","index":%d}\n\n'
EMPTY: dict[str, JsonObject] = {
    "text": {"type": "text", "text": ""},
    "thinking": {"type": "thinking", "thinking": "", "signature": ""},
}
_STREAMED = {"text": ("text", "text"), "thinking": ("thinking", "thinking"), "input": ("input_json", "partial_json")}


class BlockWriter:
    """Encodes content blocks, one after the other."""

    def __init__(self) -> None:
        self._index = 0

    def head(self, kind: str) -> bytes:
        """Return the bytes before the text in each delta of the open block."""
        name, member = _STREAMED[kind]
        return _DELTA % (self._index, name.encode(), member.encode())

    def start(self, block: JsonObject) -> bytes:
        """Open a block."""
        return _START % (self._index, dumps(block))

    def delta(self, delta: JsonObject) -> bytes:
        """Add to the open block."""
        return _MORE % (self._index, dumps(delta))

    def stop(self) -> bytes:
        """Close the open block."""
        self._index += 1
        return _STOP % (self._index - 1)

    def whole(self, block: JsonObject) -> bytes:
        """Encode a block that is complete."""
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


def write_event(name: str, body: JsonObject) -> bytes:
    """Encode one event, with its type in the name and in the data."""
    return b"event: %b\ndata: %b\n\n" % (name.encode(), dumps(body))


_PartEvent = events.PartStart | events.Delta | events.PartMeta | events.PartEnd

_TAIL = b"}}\n\n"
_BEFORE_FREE_TEXT = dumps(wrap_text(""))[:-2].decode()
_AFTER_FREE_TEXT = '"}'


@dataclass(slots=True)
class _Open:
    """The part whose block is open.

    ``kind``: ``text``, ``thinking`` or ``input``, which stream; any other part is encoded when it closes. ``head``: the bytes before the
    text of a delta, empty until the block has opened. ``has_deltas``: a delta was sent.
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
    """Encodes one stream. The report is built from the accumulated answer, not here."""

    def __init__(self, options: Options, context: Context | None) -> None:
        del context  # nothing in an answer of this format repeats the request
        self._options = options
        self._has_started = False
        self._is_over = False
        self._first = FirstChoice()
        self._blocks = BlockWriter()
        self._open: _Open | None = None
        self._held: dict[int, list[_PartEvent]] = {}
        self._finish: ir.Finish | None = None
        self._usage: ir.Usage | None = None
        self._counts_reasoning = False  # in the usage of the start
        self._unsigned: list[ir.Signature] = []  # tokens that arrived after their reasoning had been sent
        self._has_calls = False
        self._has_refusal = False

    def feed(self, event: events.Event) -> bytes:
        """Take one event and return the bytes for it; of several choices only the first is encoded."""
        if self._is_over:
            return b""
        held = self._open
        if type(event) is events.Delta and held is not None and event.index == held.index and event.choice == self._first.number:
            return self._add_text(held, event.text)  # nearly always
        if is_of_a_choice(event) and event.choice == self._first.number:
            return self._feed(event)
        return b"".join([self._feed(each) for each in self._first.feed(event)])

    def _feed(self, event: events.Event) -> bytes:
        """Encode an event. A citation of a closed block is not encoded."""
        handle = _HANDLERS.get(type(event))
        return handle(self, event) if handle else b""

    def fail(self, error: ir.Error, *, behind: int = 0) -> bytes:
        """Encode an error, after which nothing follows; the open block stays open."""
        del behind  # events have no numbers here
        if self._is_over:
            return b""
        self._is_over = True
        return write_event("error", encode_error(error, null_ledger())[1])

    def undelivered_tokens(self) -> list[ir.TokenLogprob | ir.Signature]:
        """Return the tokens of reasoning that had been sent without them; the format has none for texts."""
        return [*self._unsigned]

    # The answer as a whole.

    def _begin(self, event: events.Start) -> bytes:
        self._has_started = True
        self._usage = event.usage
        self._counts_reasoning = event.usage is not None and event.usage.reasoning is not None
        answer = ir.Response("messages", event.id, event.model, [], usage=event.usage)
        return write_event("message_start", {"type": "message_start", "message": encode_beginning(answer, null_ledger())})

    def _finish_choice(self, event: events.Finished) -> bytes:
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
        while self._open is not None:  # a source that closes no parts
            out += self._close(events.PartEnd(self._first.number or 0, self._open.index)) + self._release()
        usage: ir.JsonObject = encode_usage(self._usage, null_ledger()) if self._usage else dict(NO_USAGE)
        if self._counts_reasoning:  # otherwise the client would keep the first count
            usage.setdefault("output_tokens_details", {"thinking_tokens": 0})
        stop = encode_finish(self._finish, self._has_calls, self._has_refusal, null_ledger())
        out += write_event("message_delta", {"type": "message_delta", "delta": stop, "usage": usage})
        return out + write_event("message_stop", {"type": "message_stop"})

    # Which part is encoded, and which wait.

    def _take(self, event: _PartEvent) -> bytes:
        held = self._open
        if held is not None and event.index == held.index:
            out = self._write(event)
            return out + self._release() if self._held and self._open is None else out
        if isinstance(event, events.PartStart):
            if held is None and not isinstance(event.part, ir.Media):
                return self._write(event)
            self._held[event.index] = [event]
        elif event.index in self._held:
            self._held[event.index].append(event)
            return self._release() if held is None else b""
        return b""

    def _sign(self, event: events.Signed) -> bytes:
        """Give a token to its reasoning, if that still waits."""
        waiting = self._held.get(event.index)
        if waiting is not None:
            waiting.insert(1, events.PartMeta(event.choice, event.index, signature=event.signature))
        elif is_carried(event.signature, "messages", self._options):
            self._unsigned.append(event.signature)
        return b""

    def _release(self) -> bytes:
        """Encode the parts that waited, up to the first one that is still open."""
        out: list[bytes] = []
        while self._open is None:
            index = next((index for index, waiting in self._held.items() if _may_begin(waiting)), None)
            if index is None:
                break
            out += map(self._write, self._held.pop(index))
        return b"".join(out)

    def _write(self, event: _PartEvent) -> bytes:
        if isinstance(event, events.PartStart):
            return self._start(event)
        held = self._open
        assert held is not None
        if isinstance(event, events.Delta):
            return self._add_text(held, event.text)
        if isinstance(event, events.PartEnd):
            return self._close(event)
        held.token = event.signature or held.token
        if event.citation:
            held.citations.append(event.citation)
        return b""

    # Parts.

    def _start(self, event: events.PartStart) -> bytes:
        out = b"" if self._has_started else self._begin(events.Start(None, None))
        part = event.part
        held = self._open = _Open(part, event.index)
        match part:
            case ir.ToolCall():
                held.kind, self._has_calls = "input", True
                return out + (self._carry(part.signature) if part.signature else b"") + self._start_call(held, part)
            case ir.Text():
                held.kind = "text"
                held.citations = list(part.citations or ())
                out += self._carry(part.signature)
                return out + self._add_text(held, part.text)
            case ir.Refusal():
                held.kind, self._has_refusal = "text", True
                return out + self._add_text(held, part.text)
            case ir.Reasoning():
                held.kind, held.token = "thinking", part.signature
                return out + self._add_text(held, part.text)
            case _:
                return out

    def _start_call(self, held: _Open, call: ir.ToolCall) -> bytes:
        out = self._blocks.start(encode_opening(call))
        held.head = self._blocks.head("input")
        return out + self._add_text(held, encode_arguments_text(call))

    def _carry(self, token: ir.Signature | None) -> bytes:
        """Encode the token of a part that has no field for it as a block before that part."""
        block = encode_carrier(token, null_ledger(), self._options)
        return self._blocks.whole(block) if block else b""

    def _add_text(self, held: _Open, text: str) -> bytes:
        if not text:
            return b""
        if held.kind == "input":
            return self._add_input(held, text)
        if not held.kind:
            if isinstance(held.part, ir.Hosted):
                held.pieces.append(text)
            return b""
        if held.head:
            return held.head + dumps(text) + _TAIL
        out = self._blocks.start(EMPTY[held.kind])
        held.head = self._blocks.head(held.kind)
        return b"%b%b%b%b" % (out, held.head, dumps(text), _TAIL)

    def _add_input(self, held: _Open, text: str) -> bytes:
        """Add to arguments, which are JSON text; free text becomes the one string in them."""
        if isinstance(held.part, ir.ToolCall) and held.part.kind == "custom":
            text = dumps(text)[1:-1].decode()
            text = text if held.has_deltas else _BEFORE_FREE_TEXT + text
        elif not held.has_deltas and text.isspace():
            return b""
        held.has_deltas = True
        return b"%b%b%b" % (held.head, dumps(text), _TAIL)

    def _close(self, event: events.PartEnd) -> bytes:
        held, self._open = self._open, None
        assert held is not None
        part = event.part or held.part
        match held.kind:
            case "text":
                out = self._close_text(held, event.part)
            case "thinking":
                out = self._close_reasoning(held, event.part)
            case "input":
                out = self._close_call(held, event.part)
            case _:
                if held.pieces and event.part is None and isinstance(part, ir.Hosted):
                    part = altered(part, arguments="".join(held.pieces))
                if held.token and not isinstance(part, ir.Refusal):
                    part = replace(part, signature=held.token)
                return b"".join(map(self._blocks.whole, encode_answer([part], null_ledger(), self._options)))
        if held.token and held.kind != "thinking" and self._options.carry_reasoning:  # it came after the start of its block
            data = encode_token(held.token, "messages", kind="thought")
            out += self._blocks.whole({"type": "redacted_thinking", "data": data})
        return out

    def _close_text(self, held: _Open, final: ir.Part | None) -> bytes:
        out = b""
        if not held.head:
            if held.token:  # nothing of the text has been sent
                out, held.token = self._carry(held.token), None
            if isinstance(final, ir.Text | ir.Refusal):
                out += self._add_text(held, final.text)
            if not held.head:
                return out
        citations = held.citations or (final.citations if isinstance(final, ir.Text) else None) or ()
        cited = [encode_citation(citation, "", "", null_ledger()) for citation in citations if can_cite(citation, null_ledger())]
        deltas = [self._blocks.delta({"type": "citations_delta", "citation": citation}) for citation in cited]
        return b"".join([out, *deltas, self._blocks.stop()])

    def _close_reasoning(self, held: _Open, final: ir.Part | None) -> bytes:
        part = final if isinstance(final, ir.Reasoning) else held.part
        assert isinstance(part, ir.Reasoning)
        token = held.token or part.signature
        if not held.head:
            whole = replace(part, signature=token)
            block = encode_answer_reasoning(whole, null_ledger(), self._options)
            return self._blocks.whole(block) if block else b""
        block = encode_answer_reasoning(ir.Reasoning("x", signature=token), null_ledger(), self._options) or {}
        return self._blocks.delta({"type": "signature_delta", "signature": block["signature"]}) + self._blocks.stop()

    def _close_call(self, held: _Open, final: ir.Part | None) -> bytes:
        out = b""
        if not held.has_deltas and isinstance(final, ir.ToolCall):
            out = self._add_text(held, encode_arguments_text(final))
        is_free = isinstance(held.part, ir.ToolCall) and held.part.kind == "custom"
        rest = "" if held.has_deltas else _BEFORE_FREE_TEXT if is_free else "{}"
        rest += _AFTER_FREE_TEXT if is_free else ""
        return out + (held.head + dumps(rest) + _TAIL if rest else b"") + self._blocks.stop()


def _may_begin(waiting: list[_PartEvent]) -> bool:
    """Return whether a part may be encoded now. Audio has no block that streams, so it waits for its end."""
    begins = waiting[0]
    is_media = isinstance(begins, events.PartStart) and isinstance(begins.part, ir.Media)
    return not is_media or isinstance(waiting[-1], events.PartEnd)


_HANDLERS: dict[type[events.Event], Callable[[StreamEncoder, Any], bytes]] = {
    events.Start: StreamEncoder._begin,
    events.PartStart: StreamEncoder._take,
    events.Delta: StreamEncoder._take,
    events.PartMeta: StreamEncoder._take,
    events.Signed: StreamEncoder._sign,
    events.PartEnd: StreamEncoder._take,
    events.Finished: StreamEncoder._finish_choice,
    events.UsageUpdate: StreamEncoder._note_usage,
    events.Failed: StreamEncoder._fail,
    events.End: StreamEncoder._end,
}
