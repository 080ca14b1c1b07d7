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
from formatbridge.formats.responses.reasoning import encode_carried_token, encode_reasoning_item
from formatbridge.formats.responses.response import encode_response, last_item_status, refusal_of
from formatbridge.formats.responses.stream_items import (
    Call,
    CallItems,
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
from formatbridge.formats.shared.parts import encode_opaque, encode_transcript
from formatbridge.formats.shared.reasoning_tokens import is_carried
from formatbridge.ir import events
from formatbridge.jsontext.codec import dumps
from formatbridge.jsontext.types import JsonObject
from formatbridge.options import Options
from formatbridge.report.ledger import null_ledger

_ENDS = {"completed": "response.completed", "failed": "response.failed"}
"""Status of a response to the type of its last event; for other statuses, ``response.incomplete``."""


@dataclass(slots=True)
class _PartState:
    """The state of a part. ``open_text``: the text that its deltas continue; ``pieces``: text that can only be sent complete.

    ``transcript``: that of audio, which this format has no item for.
    """

    part: ir.Part
    index: int = -1
    signature: ir.Signature | None = None
    citations: list[ir.Citation] = field(default_factory=list)
    pieces: list[str] = field(default_factory=list)
    transcript: str = ""
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
        self._states: dict[int, _PartState] = {}
        self._waiting_call: _PartState | None = None  # a call that may still get its token
        self._message: Message | None = None
        self._calls = CallItems()
        self._hosted = HostedItems()
        self._token_of_empty_text: ir.Signature | None = None  # it waits for the next part
        self._has_refusal = False
        self._finish: ir.Finish | None = None
        self._usage: ir.Usage | None = None
        self._is_over = False

    def feed(self, event: events.Event) -> bytes:
        """Encode one event as server-sent events."""
        if self._is_over:
            return b""
        if type(event) is events.Delta and event.choice == self._first.number and not event.logprobs:
            state = self._states.get(event.index)
            if state is not None and state.open_text is not None:  # nearly all events
                state.length += len(event.text)
                return self._writer.encode_delta(state.open_text, event.text)
        for each in self._first.feed(event):
            method = _METHODS.get(type(each))
            if method:
                method(self, each)
        return self._writer.take()

    def fail(self, error: ir.Error, *, events_before: int = 0) -> bytes:
        """End the stream as failed: open items are incomplete, an error event follows, and the last event has the output and the error."""
        if events_before:
            self._end_items()  # the code that sent them closed them, unless text is open
            self._writer.continue_at(events_before)
        return self.feed(events.Failed(error))

    def undelivered_tokens(self) -> list[ir.TokenLogprob | ir.Signature]:
        """Return the log probabilities of texts, and the reasoning tokens, that came after these had been sent without them."""
        return self._writer.undelivered_tokens()

    def _begin(self, event: events.Start) -> None:
        # {"type": "response.created", "response": {"id": "resp_1", "status": "in_progress", "output": [], ...}}
        self._start, self._usage = event, event.usage
        body = self._body(ir.Choice(parts=[]), None)
        self._writer.ids = ItemIds("/output", f"{body['id'].removeprefix('resp_')}_", self._writer.losses)
        self._writer.begin(body | {"status": "in_progress"})

    def _body(self, choice: ir.Choice, usage: ir.Usage | None, error: ir.Error | None = None) -> JsonObject:
        start = self._start or events.Start(None, None)
        response = ir.Response("responses", start.id, start.model, [choice], start.created, usage, error=error)
        return encode_response(response, null_ledger(), self._options, self._context)

    def _finish_choice(self, event: events.ChoiceEnd) -> None:
        if self._finish is not None:
            return
        self._finish = event.finish
        # Not every source ends its parts before the choice. Each open one ends now, so that its item is done.
        for index in list(self._states):
            self._end_part(events.PartEnd(event.choice, index))
        had_refusal = self._has_refusal
        refusal = refusal_of(event.finish, self._refusals(), self._writer.losses)
        if refusal and refusal.text:
            state = _PartState(refusal)
            self._prepare_part(state)
            self._close(state)
        self._has_refusal = had_refusal
        self._write_token_of_empty_text(None)
        # The status of the last item depends on the finish reason, so it is still open.
        self._end_items(last_item_status(event.finish, self._refusals()))
        self._hosted.close()

    def _refusals(self) -> list[ir.Part]:
        """Return the parts that the finish reason depends on: a refusal, if there was one."""
        return [ir.Refusal(text="")] if self._has_refusal else []

    def _fail(self, event: events.Failed) -> None:
        if self._start is None:
            self._begin(events.Start(None, None))
        self._write_token_of_empty_text(None)
        # The last event repeats only the items that are done, so open ones close as incomplete.
        self._calls.close("incomplete")
        for state in self._states.values():
            if state.is_open:
                self._close_incomplete(state)
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
        # Clients raise on the ``error`` event only (source: ``encode_error_event``).
        # ``response.failed`` follows for those that read the last event.
        if error is not None:
            self._writer.emit("error", encode_error_event(error))
        body = self._body(ir.Choice(parts=self._refusals(), finish=self._finish), self._usage, error)
        self._writer.end(_ENDS.get(body["status"], "response.incomplete"), body)

    def _start_part(self, event: events.PartStart) -> None:
        # A call opens with its first delta or with the next part, because its token may come after its start.
        if self._waiting_call:  # its item precedes this part
            self._open(self._waiting_call)
        state = self._states[event.index] = _PartState(event.part, event.index, getattr(event.part, "signature", None))
        if citations := getattr(event.part, "citations", None):
            state.citations = list(citations)
        self._prepare_part(state)

    def _prepare_part(self, state: _PartState) -> None:
        """Prepare for a part: note a call or a refusal, and end the open message unless the part belongs to it."""
        part, message = state.part, self._message
        if isinstance(part, ir.Refusal):
            self._has_refusal = True
        if isinstance(part, ir.ToolCall | ir.Hosted):
            self._waiting_call = state
        if message is None:
            return
        is_message_part = isinstance(part, ir.Text | ir.Refusal) and message.source_id == part.id
        if not is_message_part or state.signature or message.open_parts:
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
        state = self._states.get(event.index)
        if state is None:
            return
        text, tokens = event.text, None if isinstance(state.part, ir.Refusal) else event.logprobs
        # A part without text has no item yet: an empty message or summary would be content that the source does not have.
        if not state.is_open and text:
            self._open(state)
        if tokens:
            self._writer.add_logprobs(tokens)
        state.length += len(text)
        open_text = state.open_text
        if open_text is None:
            state.pieces.append(text)
        elif tokens:
            self._writer.add_text_with_logprobs(open_text, text, tokens)
        elif text:
            self._writer.add_text(open_text, text)

    def _update_part(self, event: events.PartUpdate) -> None:
        state = self._states.get(event.index)
        if state is None:
            return
        state.transcript += event.transcript or ""
        if event.citation:
            state.citations.append(event.citation)
        if event.signature:
            is_text_open = state.is_open and not isinstance(state.part, ir.Reasoning | ir.Media) and state.signature is None
            state.signature = event.signature
            if is_text_open:  # its part is open already, so the token follows it
                self._write_token(event.signature, None)

    def _end_part(self, event: events.PartEnd) -> None:
        state = self._states.pop(event.index, None)
        if state is None:
            return
        # The end of a part may have the whole part, with content that no delta had.
        if event.part is not None:
            state.signature = state.signature or getattr(event.part, "signature", None)
            state.citations[:] = getattr(event.part, "citations", None) or state.citations
            is_same = type(event.part) is type(state.part)
            text = text_of(event.part) if is_same else ""
            if is_same or not state.is_open:
                state.part = event.part
            if state.open_text is None:
                state.pieces = [] if text else state.pieces
            elif len(text) > state.length:
                self._writer.add_text(state.open_text, text[state.length :])
        self._close(state)

    def _open(self, state: _PartState) -> None:
        """Open the item of a part, after a reasoning item for a token that has no field."""
        self._write_token_of_empty_text(state)
        self._calls.close_complete()
        self._waiting_call = None if self._waiting_call is state else self._waiting_call
        state.is_open, part = True, state.part
        if state.signature and not isinstance(part, ir.Reasoning) and has_output_item(part):
            self._end_message()
            self._write_token(state.signature, "call")
        if isinstance(part, ir.Text | ir.Refusal):
            state.open_text = self._open_text(state, part).open_text
        elif isinstance(part, ir.Reasoning):
            state.item = ReasoningItem(self._writer, part)
            state.open_text = state.item.open()
        elif isinstance(part, ir.ToolCall):
            state.item = open_call(self._writer, part)
            state.open_text = state.item.open_text
        elif isinstance(part, ir.Hosted) and has_output_item(part):
            state.item = HostedItem.open(self._writer, part, state.index)
            state.open_text = state.item.open_text
        text = text_of(part)
        if state.open_text and text:
            state.length += len(text)
            self._writer.add_text(state.open_text, text)

    def _open_text(self, state: _PartState, part: ir.Text | ir.Refusal) -> Content:
        if self._message is None:
            self._message = Message(self._writer, part.id)
        state.item = self._message
        self._message.open_parts += 1
        content = self._message.open(part, is_single=state.signature is not None and self._options.carry_reasoning)
        content.citations.append(state.citations)
        return content

    def _close(self, state: _PartState) -> None:
        """Close a part. A part without deltas opens only now, if it has content."""
        part = state.part
        if isinstance(part, ir.Text | ir.Refusal) and not (state.is_open or part.text or state.citations):
            self._close_empty(state)
            return
        if isinstance(part, ir.Reasoning) and not state.is_open and not part.text:
            self._close_encrypted(state, part)
            return
        if not state.is_open:
            self._open(state)
        if isinstance(state.item, Message):
            state.item.end_part(state.citations)
            if not state.item.open_parts and state.item is not self._message:
                state.item.close()
        elif isinstance(state.item, ReasoningItem):
            self._close_reasoning(state.item, state.signature)
        elif isinstance(state.item, Call | ToolSearch):
            state.item.complete(state.pieces, part)
            self._calls.end(state.item)
        elif isinstance(part, ir.Hosted):
            self._close_hosted(state, part)
        else:
            self._write_whole(state, part)

    def _close_empty(self, state: _PartState) -> None:
        """Hold the token of an empty text until the next part comes."""
        self._write_token_of_empty_text(state)
        if state.signature:
            self._end_message()
            self._token_of_empty_text = state.signature

    def _close_encrypted(self, state: _PartState, part: ir.Reasoning) -> None:
        """Encode reasoning that only has a token."""
        self._write_token_of_empty_text(state)
        # A server would look up an item without a summary and a token by its id (vercel/ai#7543).
        token = encode_carried_token(state.signature, self._writer.losses, self._options)
        if token:
            self._calls.close_complete()
            ReasoningItem(self._writer, replace(part, signature=state.signature)).close(token)

    def _close_reasoning(self, reasoning: ReasoningItem, signature: ir.Signature | None, status: str | None = None) -> None:
        """Close reasoning. If the item id of its token differs from the sent id, the tag contains that id."""
        # The id of the item was sent when it opened. The next request needs the id that the issuer gave it.
        tag = signature.kind if signature and signature.item_id not in (None, reasoning.id) else None
        reasoning.close(encode_carried_token(signature, self._writer.losses, self._options, tag), status)

    def _close_hosted(self, state: _PartState, part: ir.Hosted) -> None:
        """Close a hosted call, or its result, which may come with the call, later, or never."""
        if isinstance(state.item, HostedItem):
            state.item.complete(replace(part, arguments="".join(state.pieces)) if state.pieces else part)
            if part.role == "both":
                state.item.close(None)
            else:
                self._hosted.add(state.item)
        elif part.role == "result" and (call := self._hosted.take_call_of(part, state.index)):
            call.close(replace(part, signature=state.signature, output="".join(state.pieces) or part.output))
        else:
            encode_opaque(replace(part, signature=state.signature), self._writer.losses)

    def _write_whole(self, state: _PartState, part: ir.Part) -> None:
        """Encode a part without deltas: an image, the transcript of audio, or an opaque part."""
        losses = self._writer.losses
        text = None
        if isinstance(part, ir.Media) and (state.transcript or part.transcript):
            text = encode_transcript(replace(part, transcript=part.transcript or state.transcript), losses)
        elif isinstance(part, ir.Media):
            data = "".join(state.pieces) or part.data
            item = encode_generated_image(replace(part, data=data), self._writer.next_index(), self._writer.ids, losses)
            if item:
                write_image(self._writer, item)
        elif isinstance(part, ir.Opaque):
            text = encode_opaque(part, losses)
        if text and text.text:
            text_state = _PartState(text)
            self._prepare_part(text_state)
            self._close(text_state)

    def _close_incomplete(self, state: _PartState) -> None:
        """Close a part that is incomplete because of an error."""
        if isinstance(state.item, Message):
            if state.item is not self._message:
                state.item.close("incomplete")
        elif isinstance(state.item, ReasoningItem):
            self._close_reasoning(state.item, state.signature, "incomplete")
        elif isinstance(state.item, Call | ToolSearch):
            state.item.complete(state.pieces, state.part)
            state.item.close("incomplete")
        elif isinstance(state.item, HostedItem):
            state.item.complete(state.item.call)
            state.item.close(None, "incomplete")

    # Tokens of parts that have no field for them, or that are closed.

    def _take_signature(self, event: events.SignatureUpdate) -> None:
        """Keep a token that came after its reasoning was done, for ``undelivered_tokens``."""
        if is_carried(event.signature, "responses", self._options):
            self._writer.unsigned.append(event.signature)

    def _write_token_of_empty_text(self, following: _PartState | None) -> None:
        """Encode the token of an empty text. Its kind is ``call`` if the next part is reasoning or has a token, or if there is none."""
        if self._token_of_empty_text is None:
            return
        signature, self._token_of_empty_text = self._token_of_empty_text, None
        is_alone = following is None or isinstance(following.part, ir.Reasoning)
        is_alone = is_alone or (following is not None and following.signature is not None)
        self._write_token(signature, "call" if is_alone else None)

    def _write_token(self, signature: ir.Signature, kind: ir.SignatureKind | None) -> None:
        token = encode_carried_token(signature, self._writer.losses, self._options, kind)
        if token:
            self._calls.close_complete()
            item = encode_reasoning_item("", token, self._writer.next_index(), self._writer.ids, signature.item_id)
            bare = {key: value for key, value in item.items() if key != "encrypted_content"}
            self._writer.close_item(self._writer.open_item(bare), dumps(item))


_METHODS: dict[type[events.Event], Callable[[StreamEncoder, Any], None]] = {
    events.Start: StreamEncoder._begin,
    events.PartStart: StreamEncoder._start_part,
    events.Delta: StreamEncoder._add_delta,
    events.PartUpdate: StreamEncoder._update_part,
    events.SignatureUpdate: StreamEncoder._take_signature,
    events.PartEnd: StreamEncoder._end_part,
    events.ChoiceEnd: StreamEncoder._finish_choice,
    events.UsageUpdate: StreamEncoder._note_usage,
    events.Failed: StreamEncoder._fail,
    events.End: StreamEncoder._end,
}
