"""Encoder for Responses streams: ``response.created``, items that open and are done, and a last event that repeats them all.

Text, reasoning and arguments are sent immediately. Citations are sent at the end of their text, which the next text may join. A message
stays open until the next part comes. The token of an empty text is sent when the next part comes, because its item precedes that part.
The last event repeats the output, so this encoder keeps all of it in memory; those of other formats do not.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

from formatbridge import ir
from formatbridge.formats.format import Context
from formatbridge.formats.responses.content import text_of
from formatbridge.formats.responses.errors import encode_error_event
from formatbridge.formats.responses.hosted_tools import encode_generated_image, has_output_item
from formatbridge.formats.responses.item_ids import ItemIds
from formatbridge.formats.responses.reasoning import carry_token, encode_reasoning_item
from formatbridge.formats.responses.response import encode_response, last_item_status, refusal_of
from formatbridge.formats.responses.stream_items import (
    Call,
    Calls,
    Content,
    HostedItem,
    HostedItems,
    Message,
    OpenText,
    ReasoningItem,
    ToolSearch,
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
"""Status of a response to the type of its last event; for other statuses, ``response.incomplete``."""


@dataclass(slots=True)
class _Slot:
    """The state of a part. ``open_text``: the text that its deltas continue; ``pieces``: text that can only be sent complete."""

    part: ir.Part
    index: int = -1
    signature: ir.Signature | None = None
    citations: list[ir.Citation] = field(default_factory=list)
    pieces: list[str] = field(default_factory=list)
    length: int = 0
    open_text: OpenText | None = None
    item: Message | ReasoningItem | Call | ToolSearch | HostedItem | None = None
    is_open: bool = False


class StreamEncoder:
    """Encodes one stream. The report comes from the accumulated response, not from this encoder."""

    def __init__(self, options: Options, context: Context | None) -> None:
        self._options = options
        self._context = context
        self._writer = Writer()
        self._start: events.Start | None = None
        self._first = FirstChoice()
        self._slots: dict[int, _Slot] = {}
        self._waiting_call: _Slot | None = None  # a call that may still get its token
        self._message: Message | None = None
        self._calls = Calls()
        self._hosted = HostedItems()
        self._held_token: ir.Signature | None = None  # the token of an empty text
        self._has_refusal = False
        self._finish: ir.Finish | None = None
        self._usage: ir.Usage | None = None
        self._is_over = False

    def feed(self, event: events.Event) -> bytes:
        """Encode one event as server-sent events."""
        if self._is_over:
            return b""
        if type(event) is events.Delta and event.choice == self._first.number and not event.logprobs:
            slot = self._slots.get(event.index)
            if slot is not None and slot.open_text is not None:  # nearly all events
                slot.length += len(event.text)
                return self._writer.delta(slot.open_text, event.text)
        for each in self._first.feed(event):
            handle = _HANDLERS.get(type(each))
            if handle:
                handle(self, each)
        return self._writer.take()

    def fail(self, error: ir.Error, *, events_before: int = 0) -> bytes:
        """End the stream as failed: open items are incomplete, an error event follows, and the last event has the output and the error."""
        if events_before:
            self._end_items()  # the code that sent them closed them, unless text is open
            self._writer.continue_at(events_before)
        return self.feed(events.Failed(error))

    def undelivered_tokens(self) -> list[ir.TokenLogprob | ir.Signature]:
        """Return the tokens of texts and reasoning that had been sent without them."""
        return self._writer.undelivered_tokens()

    # The response.

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
            self._prepare_part(slot)
            self._close(slot)
        self._has_refusal = had_refusal
        self._flush_held_token(None)
        self._end_items(last_item_status(event.finish, self._refusals()))
        self._hosted.close()

    def _refusals(self) -> list[ir.Part]:
        """Return the parts that the finish reason depends on: a refusal, if there was one."""
        return [ir.Refusal(text="")] if self._has_refusal else []

    def _fail(self, event: events.Failed) -> None:
        if self._start is None:
            self._begin(events.Start(None, None))
        self._flush_held_token(None)
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
        if self._waiting_call:  # its item precedes this part
            self._open(self._waiting_call)
        slot = self._slots[event.index] = _Slot(event.part, event.index, getattr(event.part, "signature", None))
        if citations := getattr(event.part, "citations", None):
            slot.citations = list(citations)
        self._prepare_part(slot)

    def _prepare_part(self, slot: _Slot) -> None:
        """Prepare for a part: note a call or a refusal, and end the open message unless the part belongs to it."""
        part, message = slot.part, self._message
        if isinstance(part, ir.Refusal):
            self._has_refusal = True
        if isinstance(part, ir.ToolCall | ir.Hosted):
            self._waiting_call = slot
        if message is None:
            return
        is_message_part = isinstance(part, ir.Text | ir.Refusal) and message.source_id == part.id
        if not is_message_part or slot.signature or message.open_parts:
            self._end_message()

    def _end_message(self, status: str = "completed") -> None:
        """Add no more parts to the open message; it closes now, unless a part of it is open."""
        message, self._message = self._message, None
        if message and not message.open_parts:
            message.close(status)

    def _end_items(self, status: str = "completed") -> None:
        """End the message and close the calls that wait for the next part."""
        self._end_message(status)
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
            is_text_open = slot.is_open and not isinstance(slot.part, ir.Reasoning | ir.Media) and slot.signature is None
            slot.signature = event.signature
            if is_text_open:  # its part is open already, so the token follows it
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
        """Open the item of a part, after a reasoning item for a token that has no field."""
        self._flush_held_token(slot)
        self._calls.close_complete()
        self._waiting_call = None if self._waiting_call is slot else self._waiting_call
        slot.is_open, part = True, slot.part
        if slot.signature and not isinstance(part, ir.Reasoning) and has_output_item(part):
            self._end_message()
            self._write_token(slot.signature, "call")
        if isinstance(part, ir.Text | ir.Refusal):
            slot.open_text = self._open_text(slot, part).open_text
        elif isinstance(part, ir.Reasoning):
            slot.item = ReasoningItem(self._writer, part)
            slot.open_text = slot.item.open()
        elif isinstance(part, ir.ToolCall):
            slot.item = open_call(self._writer, part)
            slot.open_text = slot.item.open_text
        elif isinstance(part, ir.Hosted) and has_output_item(part):
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
        """Close a part. A part without deltas opens only now, if it has content."""
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
        elif isinstance(slot.item, Call | ToolSearch):
            slot.item.complete(slot.pieces, part)
            self._calls.end(slot.item)
        elif isinstance(part, ir.Hosted):
            self._close_hosted(slot, part)
        else:
            self._write_whole(slot, part)

    def _close_empty(self, slot: _Slot) -> None:
        """Hold the token of an empty text until the next part comes."""
        self._flush_held_token(slot)
        if slot.signature:
            self._end_message()
            self._held_token = slot.signature

    def _close_encrypted(self, slot: _Slot, part: ir.Reasoning) -> None:
        """Encode reasoning that only has a token."""
        self._flush_held_token(slot)
        token = carry_token(slot.signature, self._writer.losses, self._options)
        if token:
            self._calls.close_complete()
            ReasoningItem(self._writer, replace(part, signature=slot.signature)).close(token)

    def _close_reasoning(self, reasoning: ReasoningItem, signature: ir.Signature | None, status: str | None = None) -> None:
        """Close reasoning. If the item id of its token differs from the sent id, the tag contains that id."""
        tag = signature.kind if signature and signature.item not in (None, reasoning.id) else None
        reasoning.close(carry_token(signature, self._writer.losses, self._options, tag), status)

    def _close_hosted(self, slot: _Slot, part: ir.Hosted) -> None:
        """Close a hosted call, or its result, which may come with the call, later, or never."""
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
        """Encode a part without deltas: an image or an opaque part."""
        losses = self._writer.losses
        if isinstance(part, ir.Media):
            data = "".join(slot.pieces) or part.data
            item = encode_generated_image(replace(part, data=data), self._writer.next_index(), self._writer.ids, losses)
            if item:
                write_image(self._writer, item)
        elif isinstance(part, ir.Opaque):
            text = encode_opaque(part, losses)
            if text and text.text:
                slot_of_text = _Slot(text)
                self._prepare_part(slot_of_text)
                self._close(slot_of_text)

    def _close_incomplete(self, slot: _Slot) -> None:
        """Close a part that is incomplete because of an error."""
        if isinstance(slot.item, Message):
            if slot.item is not self._message:
                slot.item.close("incomplete")
        elif isinstance(slot.item, ReasoningItem):
            self._close_reasoning(slot.item, slot.signature, "incomplete")
        elif isinstance(slot.item, Call | ToolSearch):
            slot.item.complete(slot.pieces, slot.part)
            slot.item.close("incomplete")
        elif isinstance(slot.item, HostedItem):
            slot.item.complete(slot.item.call)
            slot.item.close(None, "incomplete")

    # Tokens of parts that have no field for them, or that are closed.

    def _sign(self, event: events.Signed) -> None:
        if is_carried(event.signature, "responses", self._options):
            self._writer.unsigned.append(event.signature)

    def _flush_held_token(self, following: _Slot | None) -> None:
        """Encode the token of an empty text. Its kind is ``call`` if the next part is reasoning or has a token, or if there is none."""
        if self._held_token is None:
            return
        signature, self._held_token = self._held_token, None
        is_alone = following is None or isinstance(following.part, ir.Reasoning)
        is_alone = is_alone or (following is not None and following.signature is not None)
        self._write_token(signature, "call" if is_alone else None)

    def _write_token(self, signature: ir.Signature, kind: ir.SignatureKind | None) -> None:
        token = carry_token(signature, self._writer.losses, self._options, kind)
        if token:
            self._calls.close_complete()
            item = encode_reasoning_item("", token, self._writer.next_index(), self._writer.ids, signature.item)
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
