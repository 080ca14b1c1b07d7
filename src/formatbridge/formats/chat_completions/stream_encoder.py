"""Encoder for Chat Completions streams: one kind of content a chunk, the role once per choice, usage last, then ``[DONE]``.

Text, reasoning and arguments are sent as they come. Citations wait for the end of their choice, because the official client accepts only
one list of them (openai-python, ``accumulate_delta``). Reasoning with a token is repeated whole in ``reasoning_details`` when it ends. The
token is only valid with the text that it signs, and clients send back what they accumulate.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from formatbridge import ir
from formatbridge.formats.chat_completions.citations import TextSeparators, separates_texts
from formatbridge.formats.chat_completions.content import AudioJoiner
from formatbridge.formats.chat_completions.errors import encode_error
from formatbridge.formats.chat_completions.reasoning import encode_answer_reasoning, encode_answer_signature
from formatbridge.formats.chat_completions.response import encode_answer, encode_finish, encode_head, encode_logprobs
from formatbridge.formats.chat_completions.usage import encode_usage
from formatbridge.formats.format import Context
from formatbridge.formats.shared.choices import is_part_event
from formatbridge.formats.shared.finish_reasons import explanation_of
from formatbridge.formats.shared.reasoning_tokens import is_carried
from formatbridge.ir import events
from formatbridge.jsontext.codec import dumps
from formatbridge.jsontext.types import JsonObject
from formatbridge.options import Options
from formatbridge.report.ledger import null_ledger
from formatbridge.streaming.sse import DONE, encode_event

_FIELDS = {ir.Text: b"content", ir.Reasoning: b"reasoning_content", ir.Refusal: b"refusal"}
_AFTER_CHOICE = b"]}\n\n"
_AFTER_TEXT = b'},"finish_reason":null}' + _AFTER_CHOICE
_AFTER_ARGUMENTS = b"}}]" + _AFTER_TEXT
_ROLE = b'%b{"index":%d,"delta":{"role":"assistant","content":""' + _AFTER_TEXT
_CALL = b'%b{"index":%d,"delta":{"tool_calls":[{"index":%d,"id":%b,"type":"%b","%b":{"name":%b,"%b":""}%b' + _AFTER_ARGUMENTS[1:]
_ARGUMENTS = b'%b{"index":%d,"delta":{"tool_calls":[{"index":%d,"%b":{"%b":'
_FINISH = b'%b{"index":%d,"delta":{},"finish_reason":"%b"}' + _AFTER_CHOICE
_END = encode_event(DONE)


class _ChoicesInOrder:
    """Orders the events of all choices. The events of a choice are pending until every choice before it has begun.

    Missing numbers leave no gap: at the end of the stream the pending choices get the next numbers.
    """

    def __init__(self) -> None:
        # The official SDK appends a choice when its index first appears, so a first index of 1 raises an ``IndexError``.
        self._begun = 0
        self._pending: dict[int, list[events.PartEvent]] = {}

    def feed(self, event: events.Event) -> list[events.Event]:
        """Process an event and return the events that can be written now."""
        if is_part_event(event):
            return self._take(event)
        result: list[events.Event] = []
        if self._pending and isinstance(event, events.End | events.Failed):
            for _, pending in sorted(self._pending.items()):
                result += [replace(each, choice=self._begun) for each in pending]
                self._begun += 1
            self._pending = {}
        return [*result, event]

    def _take(self, event: events.PartEvent) -> list[events.Event]:
        if event.choice < self._begun:
            return [event]
        self._pending.setdefault(event.choice, []).append(event)
        result: list[events.Event] = []
        while self._begun in self._pending:
            result += self._pending.pop(self._begun)
            self._begun += 1
        return result


class _Choice:
    """The state of a choice until its end."""

    def __init__(self) -> None:
        self.calls: dict[int, int] = {}
        self.envelopes: dict[int, tuple[bytes, bytes]] = {}
        """The bytes before and after the text in the deltas of each part."""
        self.parts: dict[int, ir.Part] = {}
        self.citations: list[ir.Citation] = []
        self.media: dict[int, tuple[list[str], list[str]]] = {}
        """The pieces of data and of transcript of each open medium."""
        self.latest_reasoning: int | None = None
        self.reasoning: dict[int, list[str]] = {}
        """The text of each open reasoning part."""
        self.tokens: dict[int, ir.Signature] = {}
        self.not_in_details: ir.Reasoning | None = None
        """Reasoning that was sent as text alone."""
        self.ended: tuple[int, ir.Reasoning] | None = None
        """Reasoning that a token may still sign, with its number."""
        self.undelivered: list[ir.Signature] = []
        """Tokens that arrived after other details."""
        self.details = 0
        """How many details were sent."""
        self.images = 0
        """How many images were sent."""
        self.audio: AudioJoiner | None = None
        self.has_refusal = False
        self.is_signed = False
        """Whether the message has a token."""
        self.texts: set[int] = set()
        """The numbers of the parts that are text."""
        self.separators = TextSeparators()
        """The blank lines between the texts."""


class StreamEncoder:
    """Encodes one stream. The report is built from the accumulated response, not by this class."""

    def __init__(self, options: Options, context: Context | None) -> None:
        self._options = options
        self._context = context
        is_asked = context is not None and bool((context.body.get("stream_options") or {}).get("include_usage"))
        self._sends_usage = context is None or is_asked or context.is_same_format
        # "All other chunks will also include a `usage` field, but with a null value" (official SDK, ``include_usage``).
        self._no_usage: JsonObject = {"usage": None} if is_asked else {}  # in every chunk but the one with the usage
        self._head: JsonObject = {}
        self._before = b'data: {"choices":['  # the bytes before the choice in a chunk
        self._order = _ChoicesInOrder()
        self._choices: dict[int, _Choice] = {}
        self._usage: ir.Usage | None = None

    def feed(self, event: events.Event) -> bytes:
        """Take one event and return the chunks for it."""
        if type(event) is events.Delta and event.choice in self._choices:
            return self._add_delta(event)  # nearly always
        if is_part_event(event) and event.choice in self._choices:  # all choices before it have begun
            return self._feed(event)
        return b"".join([self._feed(each) for each in self._order.feed(event)])

    def _feed(self, event: events.Event) -> bytes:
        method = _METHODS.get(type(event))
        return method(self, event) if method else b""

    def fail(self, error: ir.Error, *, events_before: int = 0) -> bytes:
        """Encode an error; nothing follows, not even ``[DONE]``."""
        del events_before  # events have no numbers here
        _, body = encode_error(error, null_ledger())
        return encode_event(dumps(body))

    def undelivered_tokens(self) -> list[ir.TokenLogprob | ir.Signature]:
        """Return the tokens of reasoning after which other details were sent; those of texts have a separate field."""
        return [token for choice in self._choices.values() for token in choice.undelivered]

    def _begin(self, event: events.Start) -> bytes:
        head = encode_head(event, null_ledger(), self._options, self._context)
        head["object"] = "chat.completion.chunk"
        self._head = head | self._no_usage if self._no_usage else head
        self._before = b'data: %b,"choices":[' % dumps(self._head)[:-1]
        self._usage = event.usage
        return b""

    def _note_usage(self, event: events.UsageUpdate) -> bytes:
        self._usage = event.usage
        return b""

    def _fail(self, event: events.Failed) -> bytes:
        return self.fail(event.error)

    def _end(self, event: events.End) -> bytes:
        del event  # it has no fields
        out = b""
        if not self._choices:
            out = _ROLE % (self._before, 0) + _FINISH % (self._before, 0, b"stop")
        if self._usage is not None and self._sends_usage:
            usage = encode_usage(self._usage, null_ledger())
            if self._no_usage:  # which precedes the choices
                out += b"data: %b\n\n" % dumps(self._head | {"choices": [], "usage": usage})
            else:
                out += self._before + b'],"usage":%b}\n\n' % dumps(usage)
        return out + _END

    def _encode_chunk(self, index: int, delta: JsonObject, logprobs: JsonObject | None = None) -> bytes:
        choice: JsonObject = {"index": index, "delta": delta, "finish_reason": None}
        if logprobs:
            choice["logprobs"] = logprobs
        return self._before + dumps(choice) + _AFTER_CHOICE

    def _open_choice(self, index: int) -> tuple[_Choice, bytes]:
        """Return a choice and, if it is new, the chunk with its role."""
        out = b""
        if index not in self._choices:
            out = _ROLE % (self._before, index)
            self._choices[index] = _Choice()
        return self._choices[index], out

    def _start_part(self, event: events.PartStart) -> bytes:
        choice, out = self._open_choice(event.choice)
        part = event.part
        choice.parts[event.index] = part
        if isinstance(part, ir.ToolCall):
            return out + self._start_call(choice, event.choice, event.index, part)
        # Media, hosted tools and opaque parts have no delta of this format. They are encoded when they end.
        field = _FIELDS.get(type(part))
        if field is not None:
            head = b'%b{"index":%d,"delta":{"%b":' % (self._before, event.choice, field)
            choice.envelopes[event.index] = head, _AFTER_TEXT
            choice.has_refusal = choice.has_refusal or isinstance(part, ir.Refusal)
            if isinstance(part, ir.Text):
                choice.texts.add(event.index)
                if part.signature:
                    out += self._encode_whole_part(choice, event.choice, ir.Text("", signature=part.signature))
            elif isinstance(part, ir.Reasoning):
                choice.reasoning[event.index] = [part.text]
                out += self._repeat_pending(choice, event.choice)
        return out

    def _start_call(self, choice: _Choice, index: int, number: int, call: ir.ToolCall) -> bytes:
        call_index = choice.calls[number] = len(choice.calls)
        slot, text = (b"custom", b"input") if call.kind == "custom" else (b"function", b"arguments")
        choice.envelopes[number] = _ARGUMENTS % (self._before, index, call_index, slot, text), _AFTER_ARGUMENTS
        token = encode_answer_signature(call.signature, null_ledger(), self._options) if call.signature else None
        more = b"," + dumps(token)[1:-1] if token else b""
        return _CALL % (self._before, index, call_index, dumps(call.id), slot, slot, dumps(call.name), text, more)

    def _add_delta(self, event: events.Delta) -> bytes:
        choice = self._choices[event.choice]
        envelope = choice.envelopes.get(event.index)
        if envelope is None:  # no delta of this format can hold a piece of a medium, so it is kept
            if isinstance(choice.parts[event.index], ir.Media):
                choice.media.setdefault(event.index, ([], []))[0].append(event.text)
            return b""
        out = b""
        if event.text:
            out = envelope[0] + dumps(event.text) + envelope[1]
            if event.index in choice.texts:
                if separator := choice.separators.take(event.text):
                    out = envelope[0] + dumps(separator) + envelope[1] + out
            elif event.index in choice.reasoning:
                out = self._separate_reasoning(choice, event) + out
        if event.logprobs:
            is_refusal = isinstance(choice.parts[event.index], ir.Refusal)
            content, refusal = (None, event.logprobs) if is_refusal else (event.logprobs, None)
            out += self._encode_chunk(event.choice, {}, logprobs=encode_logprobs(content, refusal, null_ledger()))
        return out

    def _separate_reasoning(self, choice: _Choice, event: events.Delta) -> bytes:
        """Keep the text of reasoning, and separate it from the reasoning before it by a blank line."""
        before, choice.latest_reasoning = choice.latest_reasoning, event.index
        is_next = before is not None and before < event.index and not any(choice.reasoning[event.index])
        choice.reasoning[event.index].append(event.text)
        return self._encode_chunk(event.choice, {"reasoning_content": "\n\n"}) if is_next else b""

    def _update_part(self, event: events.PartUpdate) -> bytes:
        choice = self._choices[event.choice]
        part = choice.parts[event.index]
        if event.citation:
            choice.citations.append(event.citation)
        if event.transcript and isinstance(part, ir.Media):
            choice.media.setdefault(event.index, ([], []))[1].append(event.transcript)
        if event.signature is None:
            return b""
        if isinstance(part, ir.ToolCall):
            token = encode_answer_signature(event.signature, null_ledger(), self._options)
            return (
                self._encode_chunk(event.choice, {"tool_calls": [{"index": choice.calls[event.index], **token}]}) if token else b""
            )
        # A token signs the whole text, so the details with both are encoded when the reasoning ends.
        if isinstance(part, ir.Reasoning):
            choice.tokens[event.index] = event.signature
            return b""
        return self._encode_whole_part(choice, event.choice, part)

    def _add_citation(self, event: events.CitationUpdate) -> bytes:
        self._choices[event.choice].citations.append(event.citation)
        return b""

    def _end_part(self, event: events.PartEnd) -> bytes:
        choice = self._choices[event.choice]
        part = event.part or choice.parts[event.index]
        if type(part) is ir.ToolCall:  # all of it has been sent
            return b""
        if isinstance(part, ir.Media) and event.index in choice.media:
            data, transcript = ("".join(pieces) for pieces in choice.media.pop(event.index))
            part = replace(part, data=data or part.data, transcript=transcript or part.transcript)
        if isinstance(part, ir.Reasoning):
            return self._end_reasoning(choice, event, part)
        if event.index in choice.envelopes or isinstance(part, ir.ToolResult):
            return b""
        return self._encode_whole_part(choice, event.choice, part)

    def _end_reasoning(self, choice: _Choice, event: events.PartEnd, part: ir.Reasoning) -> bytes:
        """End reasoning. If it has a token or an id, repeat it whole with them; only its text has been sent."""
        text = "".join(choice.reasoning.pop(event.index, ()))
        out = b"" if text or not part.text else self._encode_chunk(event.choice, {"reasoning_content": part.text})
        token = choice.tokens.pop(event.index, part.signature)
        whole = replace(part, text=part.text or text, signature=token, extra=None)
        details = encode_answer_reasoning([whole], null_ledger(), self._options).get("reasoning_details")
        choice.not_in_details = whole if whole.text and not details else None
        if details:
            out += self._add_details(choice, event.choice, details)
        elif choice.details:
            out += self._repeat_pending(choice, event.choice)
        choice.ended = None if token or not whole.text else (event.index, whole)
        return out

    def _take_signature(self, event: events.SignatureUpdate) -> bytes:
        """Encode the token of reasoning that has ended, if no other detail was sent since. Its id joins both when they are decoded."""
        choice = self._choices[event.choice]
        if not is_carried(event.signature, "chat_completions", self._options):
            return b""
        number, part = choice.ended or (-1, None)
        is_in_details = choice.not_in_details is None
        if part is None or number != event.index or (is_in_details and (part.id is None or event.signature.kind == "thinking")):
            choice.undelivered.append(event.signature)
            return b""
        whole = replace(part, signature=event.signature)
        details = encode_answer_reasoning([whole], null_ledger(), self._options).get("reasoning_details", [])
        choice.not_in_details = None
        return self._add_details(choice, event.choice, [details[-1] | {"id": part.id}] if is_in_details else details)

    def _repeat_pending(self, choice: _Choice, index: int) -> bytes:
        """Repeat reasoning without a token as a detail, if other reasoning follows: only details show where it ends."""
        part, choice.not_in_details = choice.not_in_details, None
        if part is None:
            return b""
        slot = "summary" if part.is_summary else "text"
        return self._add_details(choice, index, [{"type": f"reasoning.{slot}", slot: part.text}])

    def _add_details(self, choice: _Choice, index: int, details: list[JsonObject]) -> bytes:
        """Encode details of reasoning with consecutive indexes."""
        first_id, choice.ended = f"rs_{choice.details}", None
        # Clients join list entries with the same index (openai-python, ``accumulate_delta``).
        for number, detail in enumerate(details, choice.details):
            detail["index"] = number
            if detail.get("id") == "rs_0":
                detail["id"] = first_id
        choice.details += len(details)
        return self._encode_chunk(index, {"reasoning_details": details})

    def _encode_whole_part(self, choice: _Choice, index: int, part: ir.Part) -> bytes:
        """Encode a part that comes in one piece, as in a whole response. A message has one audio."""
        if choice.is_signed and isinstance(part, ir.Text) and part.signature:  # a message has one signature, in ``extra_content``
            part = replace(part, signature=replace(part.signature, received_in=None))
        # The encoder of whole responses decides how each kind of part is encoded, also in a stream.
        message = encode_answer([part], "", str(self._head.get("id")), null_ledger(), self._options)
        details = message.pop("reasoning_details", None)
        out = self._add_details(choice, index, details) if details else b""
        for number, image in enumerate(message.get("images", ()), choice.images):
            image["index"] = number  # without one, ``accumulate_delta`` accepts no second list
            choice.images += 1
        choice.is_signed = choice.is_signed or "extra_content" in message
        if message.get("content"):
            message["content"] = choice.separators.take(message["content"]) + message["content"]
        elif separates_texts(part):
            choice.separators.separate()
        for key in ("content", "images", "extra_content"):
            if message.get(key):
                out += self._encode_chunk(index, {key: message[key]})
        if "audio" in message and isinstance(part, ir.Media):
            out += self._encode_audio(choice, index, part, message["audio"])
        return out

    def _encode_audio(self, choice: _Choice, index: int, part: ir.Media, whole: JsonObject) -> bytes:
        """Encode audio, or samples that continue the audio before."""
        is_first = choice.audio is None
        audio = choice.audio = choice.audio or AudioJoiner()
        data = audio.take(part.mime, part.data or "")
        if data is None:
            return b""
        transcript = {"transcript": part.transcript} if part.transcript else {}
        return self._encode_chunk(index, {"audio": whole | {"data": data} if is_first else {"data": data} | transcript})

    def _finish_choice(self, event: events.ChoiceEnd) -> bytes:
        choice, out = self._open_choice(event.choice)
        # A blocked answer has no refusal of the model. Its explanation becomes the refusal, as in a whole response.
        if event.finish.message is not None:
            refusal = explanation_of(event.finish, [ir.Refusal(text="")] if choice.has_refusal else [], null_ledger())
            if refusal:
                out += self._encode_chunk(event.choice, {"refusal": refusal})
        if choice.audio is not None and (samples := choice.audio.remaining()):
            out += self._encode_chunk(event.choice, {"audio": {"data": samples}})
        # Without an index, ``accumulate_delta`` of openai-python rejects a second list. So there is one list, at the end.
        if choice.citations:
            spans = zip(choice.citations, map(choice.separators.span_of, choice.citations), strict=True)
            citations = [replace(citation, start=start, end=end) for citation, (start, end) in spans]
            cited = encode_answer([ir.Text("", citations=citations)], "", "", null_ledger(), self._options)
            out += self._encode_chunk(event.choice, {"annotations": cited.get("annotations", [])})
        reason = encode_finish(event.finish, bool(choice.calls), choice.has_refusal, "", null_ledger())
        return out + _FINISH % (self._before, event.choice, reason.encode())


_METHODS: dict[type[events.Event], Callable[[StreamEncoder, Any], bytes]] = {
    events.Start: StreamEncoder._begin,
    events.PartStart: StreamEncoder._start_part,
    events.Delta: StreamEncoder._add_delta,
    events.PartUpdate: StreamEncoder._update_part,
    events.CitationUpdate: StreamEncoder._add_citation,
    events.SignatureUpdate: StreamEncoder._take_signature,
    events.PartEnd: StreamEncoder._end_part,
    events.ChoiceEnd: StreamEncoder._finish_choice,
    events.UsageUpdate: StreamEncoder._note_usage,
    events.Failed: StreamEncoder._fail,
    events.End: StreamEncoder._end,
}
