"""Encoder for Responses streams: ``response.created``, items that open and are done, and a last event that repeats them all.

Text, reasoning and arguments are sent as they come. Citations wait for the end of their text, which the next text may join. A message waits
for the part that follows it. A token without a field waits for the next part, because its item precedes that part. The last event repeats
the output, so this encoder alone keeps all of it in memory.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

from formatbridge import ir
from formatbridge.formats.format import Context
from formatbridge.formats.responses.content import text_of
from formatbridge.formats.responses.errors import encode_error_event
from formatbridge.formats.responses.hosted_tools import encode_generated_image, has_item
from formatbridge.formats.responses.item_ids import ItemIds
from formatbridge.formats.responses.reasoning import carry_token, encode_item
from formatbridge.formats.responses.response import encode_response, refusal_of, status_of_last
from formatbridge.formats.responses.stream_items import (
    Call,
    Calls,
    Content,
    HostedItem,
    HostedItems,
    Message,
    OpenText,
    ReasoningItem,
    Search,
    Writer,
    open_call,
    write_image,
)
from formatbridge.formats.shared.choices import FirstChoice
from formatbridge.formats.shared.parts import encode_opaque
from formatbridge.formats.shared.reasoning_tokens import is_carried
from formatbridge.ir import events
from formatbridge.jsontext.codec import dumps
from formatbridge.jsontext.types import JsonObject
from formatbridge.options import Options
from formatbridge.report.ledger import null_ledger

_ENDS = {"completed": "response.completed", "failed": "response.failed"}
"""Status of an answer to its last event; for all others that is ``response.incomplete``."""


@dataclass(slots=True)
class _Slot:
    """The state of a part. ``open_text``: what its text is added to; ``pieces``: text that can only be sent whole."""

    part: ir.Part
    index: int = -1
    signature: ir.Signature | None = None
    citations: list[ir.Citation] = field(default_factory=list)
    pieces: list[str] = field(default_factory=list)
    length: int = 0
    open_text: OpenText | None = None
    item: Message | ReasoningItem | Call | Search | HostedItem | None = None
    is_open: bool = False


class StreamEncoder:
    """Encodes one stream. The report is built from the accumulated answer, not here."""

    def __init__(self, options: Options, context: Context | None) -> None:
        self._options = options
        self._context = context
        self._writer = Writer()
        self._start: events.Start | None = None
        self._first = FirstChoice()
        self._slots: dict[int, _Slot] = {}
        self._waiting: _Slot | None = None  # a call that may still get its token
        self._message: Message | None = None
        self._calls = Calls()
        self._hosted = HostedItems()
        self._held: ir.Signature | None = None  # the token of an empty text
        self._has_refusal = False
        self._finish: ir.Finish | None = None
        self._usage: ir.Usage | None = None
        self._is_over = False

    def feed(self, event: events.Event) -> bytes:
        """Take one event and return the server-sent events for it."""
        if self._is_over:
            return b""
        if type(event) is events.Delta and event.choice == self._first.number and not event.logprobs:
            slot = self._slots.get(event.index)
            if slot is not None and slot.open_text is not None:  # nearly always
                slot.length += len(event.text)
                return self._writer.delta(slot.open_text, event.text)
        for each in self._first.feed(event):
            handle = _HANDLERS.get(type(each))
            if handle:
                handle(self, each)
        return self._writer.take()

    def fail(self, error: ir.Error, *, behind: int = 0) -> bytes:
        """End the stream as failed: open items are incomplete, an error event follows, and the last event has the output and the error."""
        if behind:
            self._leave_items()  # closed already by the code that sent them, unless text is open
            self._writer.go_on(behind)
        return self.feed(events.Failed(error))

    def undelivered_tokens(self) -> list[ir.TokenLogprob | ir.Signature]:
        """Return the tokens of texts and reasoning that had been sent without them."""
        return self._writer.undelivered_tokens()

    # The answer as a whole.

    def _begin(self, event: events.Start) -> None:
        self._start, self._usage = event, event.usage
        body = self._body(ir.Choice(parts=[]), None)
        self._writer.ids = ItemIds("/output", f"{body['id'].removeprefix('resp_')}_", self._writer.losses)
        self._writer.begin(body | {"status": "in_progress"})

    def _body(self, choice: ir.Choice, usage: ir.Usage | None, error: ir.Error | None = None) -> JsonObject:
        start = self._start or events.Start(None, None)
        response = ir.Response("responses", start.id, start.model, [choice], start.created, usage, error=error)
        return encode_response(response, null_ledger(), self._options, self._context)

    def _finish_choice(self, event: events.Finished) -> None:
        if self._finish is not None:
            return
        self._finish = event.finish
        for index in list(self._slots):
            self._end_part(events.PartEnd(event.choice, index))
        had_refusal = self._has_refusal
        refusal = refusal_of(event.finish, self._refusals(), self._writer.losses)
        if refusal and refusal.text:
            slot = _Slot(refusal)
            self._leave_other_message(slot)
            self._close(slot)
        self._has_refusal = had_refusal
        self._flush_held(None)
        self._leave_items(status_of_last(event.finish, self._refusals()))
        self._hosted.close()

    def _refusals(self) -> list[ir.Part]:
        """Return as much of the parts as the finish reason depends on."""
        return [ir.Refusal(text="")] if self._has_refusal else []

    def _fail(self, event: events.Failed) -> None:
        if self._start is None:
            self._begin(events.Start(None, None))
        self._flush_held(None)
        self._calls.close("incomplete")
        for slot in self._slots.values():
            if slot.is_open:
                self._close_incomplete(slot)
        if self._message:
            self._message.close("incomplete")
        self._hosted.close("failed")
        self._write_end(event.error)

    def _end(self, event: events.End) -> None:
        del event  # it has no fields
        self._write_end(None)

    def _note_usage(self, event: events.UsageUpdate) -> None:
        self._usage = event.usage

    def _write_end(self, error: ir.Error | None) -> None:
        self._is_over = True
        if error is not None:
            self._writer.emit("error", encode_error_event(error))
        body = self._body(ir.Choice(parts=self._refusals(), finish=self._finish), self._usage, error)
        self._writer.end(_ENDS.get(body["status"], "response.incomplete"), body)

    # Parts.

    def _start_part(self, event: events.PartStart) -> None:
        if self._waiting:  # its item precedes this part
            self._open(self._waiting)
        slot = self._slots[event.index] = _Slot(event.part, event.index, getattr(event.part, "signature", None))
        if citations := getattr(event.part, "citations", None):
            slot.citations = list(citations)
        self._leave_other_message(slot)

    def _leave_other_message(self, slot: _Slot) -> None:
        """Close the open message if a part does not belong to it."""
        part, message = slot.part, self._message
        if isinstance(part, ir.Refusal):
            self._has_refusal = True
        if isinstance(part, ir.ToolCall | ir.Hosted):
            self._waiting = slot
        if message is None:
            return
        is_word = isinstance(part, ir.Text | ir.Refusal) and message.source_id == part.id
        if not is_word or slot.signature or message.open_parts:
            self._leave_message()

    def _leave_message(self, status: str = "completed") -> None:
        """Add no more texts to the open message; it closes now, unless a part of it is open."""
        message, self._message = self._message, None
        if message and not message.open_parts:
            message.close(status)

    def _leave_items(self, status: str = "completed") -> None:
        """Close what waited for the next part."""
        self._leave_message(status)
        self._calls.close(status)

    def _add_delta(self, event: events.Delta) -> None:
        slot = self._slots.get(event.index)
        if slot is None:
            return
        text, tokens = event.text, None if isinstance(slot.part, ir.Refusal) else event.logprobs
        if not slot.is_open and text:
            self._open(slot)
        if tokens:
            self._writer.add_logprobs(tokens)
        slot.length += len(text)
        open_text = slot.open_text
        if open_text is None:
            slot.pieces.append(text)
        elif tokens:
            self._writer.add_text_with_logprobs(open_text, text, tokens)
        elif text:
            self._writer.add_text(open_text, text)

    def _add_meta(self, event: events.PartMeta) -> None:
        slot = self._slots.get(event.index)
        if slot is None:
            return
        if event.citation:
            slot.citations.append(event.citation)
        if event.signature:
            has_begun = slot.is_open and not isinstance(slot.part, ir.Reasoning | ir.Media) and slot.signature is None
            slot.signature = event.signature
            if has_begun:  # its part has begun, so it must follow
                self._write_token(event.signature, None)

    def _end_part(self, event: events.PartEnd) -> None:
        slot = self._slots.pop(event.index, None)
        if slot is None:
            return
        if event.part is not None:
            slot.signature = slot.signature or getattr(event.part, "signature", None)
            slot.citations[:] = getattr(event.part, "citations", None) or slot.citations
            is_same = type(event.part) is type(slot.part)
            text = text_of(event.part) if is_same else ""
            if is_same or not slot.is_open:
                slot.part = event.part
            if slot.open_text is None:
                slot.pieces = [] if text else slot.pieces
            elif len(text) > slot.length:
                self._writer.add_text(slot.open_text, text[slot.length :])
        self._close(slot)

    def _open(self, slot: _Slot) -> None:
        """Open the item of a part, after the token that it has no field for."""
        self._flush_held(slot)
        self._calls.leave()
        self._waiting = None if self._waiting is slot else self._waiting
        slot.is_open, part = True, slot.part
        if slot.signature and not isinstance(part, ir.Reasoning) and has_item(part):
            self._leave_message()
            self._write_token(slot.signature, "call")
        if isinstance(part, ir.Text | ir.Refusal):
            slot.open_text = self._open_text(slot, part).open_text
        elif isinstance(part, ir.Reasoning):
            slot.item = ReasoningItem(self._writer, part)
            slot.open_text = slot.item.open()
        elif isinstance(part, ir.ToolCall):
            slot.item = open_call(self._writer, part)
            slot.open_text = slot.item.open_text
        elif isinstance(part, ir.Hosted) and has_item(part):
            slot.item = HostedItem.open(self._writer, part, slot.index)
            slot.open_text = slot.item.open_text
        text = text_of(part)
        if slot.open_text and text:
            slot.length += len(text)
            self._writer.add_text(slot.open_text, text)

    def _open_text(self, slot: _Slot, part: ir.Text | ir.Refusal) -> Content:
        if self._message is None:
            self._message = Message(self._writer, part.id)
        slot.item = self._message
        self._message.open_parts += 1
        content = self._message.open(part, is_single=slot.signature is not None and self._options.carry_reasoning)
        content.citations.append(slot.citations)
        return content

    def _close(self, slot: _Slot) -> None:
        """Close a part. One without deltas opens only now, if it has content."""
        part = slot.part
        if isinstance(part, ir.Text | ir.Refusal) and not (slot.is_open or part.text or slot.citations):
            self._close_empty(slot)
            return
        if isinstance(part, ir.Reasoning) and not slot.is_open and not part.text:
            self._close_encrypted(slot, part)
            return
        if not slot.is_open:
            self._open(slot)
        if isinstance(slot.item, Message):
            slot.item.end_part(slot.citations)
            if not slot.item.open_parts and slot.item is not self._message:
                slot.item.close()
        elif isinstance(slot.item, ReasoningItem):
            self._close_reasoning(slot.item, slot.signature)
        elif isinstance(slot.item, Call | Search):
            slot.item.complete(slot.pieces, part)
            self._calls.end(slot.item)
        elif isinstance(part, ir.Hosted):
            self._close_hosted(slot, part)
        else:
            self._write_whole(slot, part)

    def _close_empty(self, slot: _Slot) -> None:
        """Keep the token of an empty text until the next part comes."""
        self._flush_held(slot)
        if slot.signature:
            self._leave_message()
            self._held = slot.signature

    def _close_encrypted(self, slot: _Slot, part: ir.Reasoning) -> None:
        """Encode reasoning that only has a token."""
        self._flush_held(slot)
        token = carry_token(slot.signature, self._writer.losses, self._options)
        if token:
            self._calls.leave()
            ReasoningItem(self._writer, replace(part, signature=slot.signature)).close(token)

    def _close_reasoning(self, reasoning: ReasoningItem, signature: ir.Signature | None, status: str | None = None) -> None:
        """Close reasoning. A token that belongs to another id than was sent is tagged with it, so that decoding restores it."""
        tag = signature.kind if signature and signature.item not in (None, reasoning.id) else None
        reasoning.close(carry_token(signature, self._writer.losses, self._options, tag), status)

    def _close_hosted(self, slot: _Slot, part: ir.Hosted) -> None:
        """Close a call that the server ran: its result may come with it, later, or never."""
        if isinstance(slot.item, HostedItem):
            slot.item.complete(replace(part, arguments="".join(slot.pieces)) if slot.pieces else part)
            if part.role == "both":
                slot.item.close(None)
            else:
                self._hosted.add(slot.item)
        elif part.role == "result" and (call := self._hosted.take_call_of(part, slot.index)):
            call.close(replace(part, signature=slot.signature, output="".join(slot.pieces) or part.output))
        else:
            encode_opaque(replace(part, signature=slot.signature), self._writer.losses)

    def _write_whole(self, slot: _Slot, part: ir.Part) -> None:
        """Encode a part that has no special events."""
        losses = self._writer.losses
        if isinstance(part, ir.Media):
            data = "".join(slot.pieces) or part.data
            item = encode_generated_image(replace(part, data=data), self._writer.next_place(), self._writer.ids, losses)
            if item:
                write_image(self._writer, item)
        elif isinstance(part, ir.Opaque):
            text = encode_opaque(part, losses)
            if text and text.text:
                words = _Slot(text)
                self._leave_other_message(words)
                self._close(words)

    def _close_incomplete(self, slot: _Slot) -> None:
        """Close a part that an error left incomplete."""
        if isinstance(slot.item, Message):
            if slot.item is not self._message:
                slot.item.close("incomplete")
        elif isinstance(slot.item, ReasoningItem):
            self._close_reasoning(slot.item, slot.signature, "incomplete")
        elif isinstance(slot.item, Call | Search):
            slot.item.complete(slot.pieces, slot.part)
            slot.item.close("incomplete")
        elif isinstance(slot.item, HostedItem):
            slot.item.complete(slot.item.call)
            slot.item.close(None, "incomplete")

    # Tokens of parts that have no field for them, or were sent already.

    def _sign(self, event: events.Signed) -> None:
        if is_carried(event.signature, "responses", self._options):
            self._writer.unsigned.append(event.signature)

    def _flush_held(self, following: _Slot | None) -> None:
        """Encode the token of an empty text, marked as separate if the next part is reasoning or has a token."""
        if self._held is None:
            return
        signature, self._held = self._held, None
        is_alone = following is None or isinstance(following.part, ir.Reasoning)
        is_alone = is_alone or (following is not None and following.signature is not None)
        self._write_token(signature, "call" if is_alone else None)

    def _write_token(self, signature: ir.Signature, kind: ir.SignatureKind | None) -> None:
        token = carry_token(signature, self._writer.losses, self._options, kind)
        if token:
            self._calls.leave()
            item = encode_item("", token, self._writer.next_place(), self._writer.ids, signature.item)
            bare = {key: value for key, value in item.items() if key != "encrypted_content"}
            self._writer.done(self._writer.add(bare), dumps(item))


_HANDLERS: dict[type[events.Event], Callable[[StreamEncoder, Any], None]] = {
    events.Start: StreamEncoder._begin,
    events.PartStart: StreamEncoder._start_part,
    events.Delta: StreamEncoder._add_delta,
    events.PartMeta: StreamEncoder._add_meta,
    events.Signed: StreamEncoder._sign,
    events.PartEnd: StreamEncoder._end_part,
    events.Finished: StreamEncoder._finish_choice,
    events.UsageUpdate: StreamEncoder._note_usage,
    events.Failed: StreamEncoder._fail,
    events.End: StreamEncoder._end,
}
