"""Streams of messages, written: one block open at a time, numbered without gaps, one end that tells usage, too.

Text, reasoning and arguments of the open block leave as they come, in envelopes written once. What other parts bring meanwhile waits:
a block that has closed never opens again. Citations, whose text has left already, follow it without their spans.
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
from formatbridge.formats.messages.stream_writer import EMPTY, BlockWriter, write_event
from formatbridge.formats.messages.tool_calls import encode_opening
from formatbridge.formats.messages.usage import encode_usage
from formatbridge.formats.shared.choices import FirstChoice, is_of_a_choice
from formatbridge.formats.shared.reasoning_tokens import encode_token, is_carried
from formatbridge.formats.shared.tool_arguments import encode_arguments_text, wrap_text
from formatbridge.ir import events
from formatbridge.jsontext.codec import dumps
from formatbridge.options import Options
from formatbridge.report.ledger import null_ledger
from formatbridge.streaming.replay import altered

_PartEvent = events.PartStart | events.Delta | events.PartMeta | events.PartEnd

_TAIL = b"}}\n\n"
_BEFORE_FREE_TEXT = dumps(wrap_text(""))[:-2].decode()
_AFTER_FREE_TEXT = '"}'


@dataclass(slots=True)
class _Open:
    """The part that is being written.

    ``kind``: ``text``, ``thinking`` or ``input``, which stream; anything else is written when it closes. ``head``: the envelope of its
    deltas, empty until its block has opened. ``has_grown``: a delta has left.
    """

    part: ir.Part
    index: int
    kind: str = ""
    head: bytes = b""
    has_grown: bool = False
    pieces: list[str] = field(default_factory=list)
    citations: list[ir.Citation] = field(default_factory=list)
    token: ir.Signature | None = None


class StreamEncoder:
    """Writes one stream. Losses are worked out on the collected answer, not here."""

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
        self._counts_thoughts = False  # in the usage of its start
        self._unsigned: list[ir.Signature] = []  # the tokens of thoughts that had left without them
        self._has_calls = False
        self._has_refusal = False

    def feed(self, event: events.Event) -> bytes:
        """Take one event and return what becomes of it; of several choices the first is written."""
        if self._is_over:
            return b""
        held = self._open
        if type(event) is events.Delta and held is not None and event.index == held.index and event.choice == self._first.number:
            return self._grow(held, event.text)  # nearly always
        if is_of_a_choice(event) and event.choice == self._first.number:
            return self._feed(event)
        return b"".join([self._feed(each) for each in self._first.feed(event)])

    def _feed(self, event: events.Event) -> bytes:
        """Write an event; a citation whose block has closed has no place any more."""
        handle = _HANDLERS.get(type(event))
        return handle(self, event) if handle else b""

    def fail(self, error: ir.Error, *, behind: int = 0) -> bytes:
        """Write an error, behind which nothing follows; the open block stays open."""
        del behind  # events have no numbers here
        if self._is_over:
            return b""
        self._is_over = True
        return write_event("error", encode_error(error, null_ledger())[1])

    def late(self) -> list[ir.TokenLogprob | ir.Signature]:
        """Return the tokens of thoughts that had left without them; those of texts have no place at all."""
        return [*self._unsigned]

    # The answer as a whole.

    def _begin(self, event: events.Start) -> bytes:
        self._has_started = True
        self._usage = event.usage
        self._counts_thoughts = event.usage is not None and event.usage.reasoning is not None
        answer = ir.Response("messages", event.id, event.model, [], usage=event.usage)
        return write_event("message_start", {"type": "message_start", "message": encode_beginning(answer, null_ledger())})

    def _finish_choice(self, event: events.Finished) -> bytes:
        self._finish = event.finish
        return b""

    def _tell_usage(self, event: events.UsageTold) -> bytes:
        self._usage = event.usage
        return b""

    def _fail(self, event: events.Failed) -> bytes:
        return self.fail(event.error)

    def _end(self, event: events.End) -> bytes:
        del event  # it says nothing
        self._is_over = True
        made = b"" if self._has_started else self._begin(events.Start(None, None))
        while self._open is not None:  # a source that closes no parts
            made += self._close(events.PartEnd(self._first.number or 0, self._open.index)) + self._release()
        usage: ir.JsonObject = encode_usage(self._usage, null_ledger()) if self._usage else dict(NO_USAGE)
        if self._counts_thoughts:  # or the reader would keep the first count
            usage.setdefault("output_tokens_details", {"thinking_tokens": 0})
        stop = encode_finish(self._finish, self._has_calls, self._has_refusal, null_ledger())
        made += write_event("message_delta", {"type": "message_delta", "delta": stop, "usage": usage})
        return made + write_event("message_stop", {"type": "message_stop"})

    # Which part is written, and which wait.

    def _take(self, event: _PartEvent) -> bytes:
        held = self._open
        if held is not None and event.index == held.index:
            made = self._write(event)
            return made + self._release() if self._held and self._open is None else made
        if isinstance(event, events.PartStart):
            if held is None and not isinstance(event.part, ir.Media):
                return self._write(event)
            self._held[event.index] = [event]
        elif event.index in self._held:
            self._held[event.index].append(event)
            return self._release() if held is None else b""
        return b""

    def _sign(self, event: events.Signed) -> bytes:
        """Give a token to its thought, if that still waits."""
        told = self._held.get(event.index)
        if told is not None:
            told.insert(1, events.PartMeta(event.choice, event.index, signature=event.signature))
        elif is_carried(event.signature, "messages", self._options):
            self._unsigned.append(event.signature)
        return b""

    def _release(self) -> bytes:
        """Write what waited, up to the first part that is still open."""
        made: list[bytes] = []
        while self._open is None:
            index = next((index for index, told in self._held.items() if _may_begin(told)), None)
            if index is None:
                break
            made += map(self._write, self._held.pop(index))
        return b"".join(made)

    def _write(self, event: _PartEvent) -> bytes:
        if isinstance(event, events.PartStart):
            return self._start(event)
        held = self._open
        assert held is not None
        if isinstance(event, events.Delta):
            return self._grow(held, event.text)
        if isinstance(event, events.PartEnd):
            return self._close(event)
        held.token = event.signature or held.token
        if event.citation:
            held.citations.append(event.citation)
        return b""

    # Parts.

    def _start(self, event: events.PartStart) -> bytes:
        made = b"" if self._has_started else self._begin(events.Start(None, None))
        part = event.part
        held = self._open = _Open(part, event.index)
        match part:
            case ir.ToolCall():
                held.kind, self._has_calls = "input", True
                return made + (self._carry(part.signature) if part.signature else b"") + self._start_call(held, part)
            case ir.Text():
                held.kind = "text"
                held.citations = list(part.citations or ())
                made += self._carry(part.signature)
                return made + self._grow(held, part.text)
            case ir.Refusal():
                held.kind, self._has_refusal = "text", True
                return made + self._grow(held, part.text)
            case ir.Reasoning():
                held.kind, held.token = "thinking", part.signature
                return made + self._grow(held, part.text)
            case _:
                return made

    def _start_call(self, held: _Open, call: ir.ToolCall) -> bytes:
        made = self._blocks.start(encode_opening(call))
        held.head = self._blocks.head("input")
        return made + self._grow(held, encode_arguments_text(call))

    def _carry(self, token: ir.Signature | None) -> bytes:
        """Write the token of a part that has no slot for it as a block before that part."""
        block = encode_carrier(token, null_ledger(), self._options)
        return self._blocks.whole(block) if block else b""

    def _grow(self, held: _Open, text: str) -> bytes:
        if not text:
            return b""
        if held.kind == "input":
            return self._grow_input(held, text)
        if not held.kind:
            if isinstance(held.part, ir.Hosted):
                held.pieces.append(text)
            return b""
        if held.head:
            return held.head + dumps(text) + _TAIL
        made = self._blocks.start(EMPTY[held.kind])
        held.head = self._blocks.head(held.kind)
        return b"%b%b%b%b" % (made, held.head, dumps(text), _TAIL)

    def _grow_input(self, held: _Open, text: str) -> bytes:
        """Add to arguments, which are JSON as they stand; free text is the one value in them."""
        if isinstance(held.part, ir.ToolCall) and held.part.kind == "custom":
            text = dumps(text)[1:-1].decode()
            text = text if held.has_grown else _BEFORE_FREE_TEXT + text
        elif not held.has_grown and text.isspace():
            return b""
        held.has_grown = True
        return b"%b%b%b" % (held.head, dumps(text), _TAIL)

    def _close(self, event: events.PartEnd) -> bytes:
        held, self._open = self._open, None
        assert held is not None
        part = event.part or held.part
        match held.kind:
            case "text":
                made = self._close_text(held, event.part)
            case "thinking":
                made = self._close_thought(held, event.part)
            case "input":
                made = self._close_call(held, event.part)
            case _:
                if held.pieces and event.part is None and isinstance(part, ir.Hosted):
                    part = altered(part, arguments="".join(held.pieces))
                if held.token and not isinstance(part, ir.Refusal):
                    part = replace(part, signature=held.token)
                return b"".join(map(self._blocks.whole, encode_answer([part], null_ledger(), self._options)))
        if held.token and held.kind != "thinking" and self._options.carry_reasoning:  # it came late, and so it stands late
            data = encode_token(held.token, "messages", kind="thought")
            made += self._blocks.whole({"type": "redacted_thinking", "data": data})
        return made

    def _close_text(self, held: _Open, final: ir.Part | None) -> bytes:
        made = b""
        if not held.head:
            if held.token:  # nothing has left yet that it would have to precede
                made, held.token = self._carry(held.token), None
            if isinstance(final, ir.Text | ir.Refusal):
                made += self._grow(held, final.text)
            if not held.head:
                return made
        told = held.citations or (final.citations if isinstance(final, ir.Text) else None) or ()
        cited = [encode_citation(citation, "", "", null_ledger()) for citation in told if can_cite(citation, null_ledger())]
        deltas = [self._blocks.delta({"type": "citations_delta", "citation": citation}) for citation in cited]
        return b"".join([made, *deltas, self._blocks.stop()])

    def _close_thought(self, held: _Open, final: ir.Part | None) -> bytes:
        thought = final if isinstance(final, ir.Reasoning) else held.part
        assert isinstance(thought, ir.Reasoning)
        token = held.token or thought.signature
        if not held.head:
            whole = replace(thought, signature=token)
            block = encode_answer_reasoning(whole, null_ledger(), self._options)
            return self._blocks.whole(block) if block else b""
        block = encode_answer_reasoning(ir.Reasoning("x", signature=token), null_ledger(), self._options) or {}
        return self._blocks.delta({"type": "signature_delta", "signature": block["signature"]}) + self._blocks.stop()

    def _close_call(self, held: _Open, final: ir.Part | None) -> bytes:
        made = b""
        if not held.has_grown and isinstance(final, ir.ToolCall):
            made = self._grow(held, encode_arguments_text(final))
        is_free = isinstance(held.part, ir.ToolCall) and held.part.kind == "custom"
        rest = "" if held.has_grown else _BEFORE_FREE_TEXT if is_free else "{}"
        rest += _AFTER_FREE_TEXT if is_free else ""
        return made + (held.head + dumps(rest) + _TAIL if rest else b"") + self._blocks.stop()


def _may_begin(told: list[_PartEvent]) -> bool:
    """Say whether a part may be written now: sound, of which no block streams, lets others pass until it has ended."""
    begins = told[0]
    is_media = isinstance(begins, events.PartStart) and isinstance(begins.part, ir.Media)
    return not is_media or isinstance(told[-1], events.PartEnd)


_HANDLERS: dict[type[events.Event], Callable[[StreamEncoder, Any], bytes]] = {
    events.Start: StreamEncoder._begin,
    events.PartStart: StreamEncoder._take,
    events.Delta: StreamEncoder._take,
    events.PartMeta: StreamEncoder._take,
    events.Signed: StreamEncoder._sign,
    events.PartEnd: StreamEncoder._take,
    events.Finished: StreamEncoder._finish_choice,
    events.UsageTold: StreamEncoder._tell_usage,
    events.Failed: StreamEncoder._fail,
    events.End: StreamEncoder._end,
}
