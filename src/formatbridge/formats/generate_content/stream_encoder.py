"""Encoder for Gemini streams: each event is a partial response; the last one has the finish reasons, citations and usage.

Text and reasoning are sent as they come. A call is sent when its arguments are complete, because they are an object here. Visible text
is kept, because the end cites it by words and by byte offsets.

A decoder assigns a token of another format on an empty reasoning part to the last reasoning without a token. Visible text may be between
them, but no other token. Adjacent reasoning parts are one, unless an empty text separates them.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

from formatbridge import ir
from formatbridge.formats.format import Context
from formatbridge.formats.generate_content.citations import encode_citations
from formatbridge.formats.generate_content.content import EncodeContext
from formatbridge.formats.generate_content.conversation import belongs_to_next, encode_parts
from formatbridge.formats.generate_content.errors import encode_error
from formatbridge.formats.generate_content.hosted_tools import python_runs
from formatbridge.formats.generate_content.reasoning import (
    accepts_token,
    ends_in_unsigned_reasoning,
    has_carried_token,
    signs_earlier_reasoning,
)
from formatbridge.formats.generate_content.response import AverageLogprob, encode_finish, encode_head, encode_logprobs
from formatbridge.formats.generate_content.stream_fold import EMPTY_PART
from formatbridge.formats.generate_content.usage import encode_usage
from formatbridge.formats.shared.reasoning_tokens import bound_to, is_carried
from formatbridge.ir import events
from formatbridge.jsontext.codec import dumps
from formatbridge.jsontext.types import JsonObject
from formatbridge.options import Options
from formatbridge.report.ledger import null_ledger
from formatbridge.streaming.replay import DELTA_FIELDS, copy_part
from formatbridge.streaming.sse import encode_crlf_event


@dataclass(slots=True)
class _SentText:
    """The state of a text that is sent in pieces. ``has_text``: text was sent after the last interruption; ``has_earlier_text``: before it.

    ``step``: the number of interruptions when the text opened; -1: other texts were open, which may interrupt it.
    """

    number: int
    has_text: bool = False
    has_earlier_text: bool = False
    step: int = 0

    @property
    def was_sent(self) -> bool:
        """Whether any text was sent."""
        return self.has_text or self.has_earlier_text


class _SendOrder:
    """The order in which the parts of a candidate are sent. ``unsigned``: tokens that came after their parts were sent."""

    # {"text": "Let me see.", "thought": true}                      reasoning of another format, sent in pieces
    # {"text": "12 degrees."}                                       visible text
    # {"text": "", "thought": true, "thoughtSignature": "ZmIx..."}  its token, which the source sent last
    # The format has no ids of parts, so a decoder knows from the order alone which part such a token signs.

    def __init__(self) -> None:
        self.unsigned: list[ir.Signature] = []
        self._last: _SentText | None = None  # the last reasoning, if no token was sent after it
        self._has_unsigned = False  # reasoning that has ended, if no token was sent after it
        self._ends_in_reasoning = False  # reasoning was sent last
        self._step = 0
        self._open = 0

    @property
    def is_open(self) -> bool:
        """Whether a text is open, which may continue at any time."""
        return self._open > 0

    def begin(self, text: _SentText, part: ir.Part) -> bool:
        """Note a text that opens; return whether an empty text must separate it from the reasoning before."""
        # Adjacent reasoning parts are one, so a token between two of them would sign both.
        is_next = self._ends_in_reasoning or (self._last is not None and self._last.has_text)
        self._interrupt()
        if self._open and self._last is not None and not self._last.was_sent:
            self._last.step = -1
        text.step = -1 if self._open else self._step
        self._open += 1
        if not isinstance(part, ir.Reasoning):
            return False
        self._has_unsigned = self._has_unsigned or (self._last is not None and self._last.was_sent)
        self._last = text
        return is_next

    def accepts(self, text: _SentText, signature: ir.Signature) -> bool:
        """Return whether a token that is sent now is decoded as that of a text that was sent."""
        if text.step == self._step:  # no interruption
            return True
        is_whole = text.step >= 0 and not (text.has_earlier_text and text.has_text)
        return text is self._last and is_whole and signs_earlier_reasoning(signature)

    def reasoning(self, number: int) -> _SentText | None:
        """Return the reasoning of a number, if a token may still sign it."""
        return self._last if self._last is not None and self._last.number == number and self._last.was_sent else None

    def may_be_misread(self, part: ir.Part) -> bool:
        """Return whether a token without text may be decoded as that of reasoning before it, which may be open."""
        is_lone = isinstance(part, ir.Reasoning) and not part.text and signs_earlier_reasoning(part.signature)
        return is_lone and (self._has_unsigned or self._open > 0 or (self._last is not None and self._last.was_sent))

    def end(self, part: ir.Part, out: list[JsonObject], *, is_sent: bool) -> None:
        """Note the encoded parts ``out`` at the end of a part; ``is_sent``: its text was sent before."""
        if is_sent and not out:
            self._ends_in_reasoning = isinstance(part, ir.Reasoning)
        elif out:
            self._interrupt()
            self._ends_in_reasoning = ends_in_unsigned_reasoning(out)
        if any("thoughtSignature" in each for each in out):
            self._last, self._has_unsigned = None, False
        self._has_unsigned = self._has_unsigned or self._ends_in_reasoning

    def close(self) -> None:
        """Note the end of a text."""
        self._open -= 1

    def _interrupt(self) -> None:
        """Count an interruption: text that was sent of the last reasoning precedes it."""
        self._step += 1
        if self._last is not None and self._last.has_text:
            self._last.has_earlier_text, self._last.has_text = True, False


_TextLike = ir.Text | ir.Refusal | ir.Reasoning


@dataclass(slots=True)
class _PartState:
    """An open part. ``head`` and ``tail``: the bytes of an event around its text; without a head it is sent whole.

    ``next_head``: the head of a text whose first piece is sent with another part. ``is_separate``: an empty text separates it from the
    reasoning before. ``position``: the index in the visible parts.
    """

    part: ir.Part
    sent: _SentText
    head: bytes | None = None
    next_head: bytes | None = None
    is_separate: bool = False
    tail: bytes = b""
    pieces: list[str] | None = None
    position: int = -1
    fields: JsonObject = field(default_factory=dict)


@dataclass(slots=True)
class _Choice:
    """The state of one candidate.

    ``next_tokens``: reasoning parts with a token for the next part. ``carried``: an empty reasoning part with the token of another format,
    until the next part is sent. ``reserved``: reasoning whose token names a later call. ``visible``: the parts whose text citations count,
    in sending order. ``calls``: calls that were not sent, in their order. ``ended``: those that ended before an earlier call. ``cited``:
    citations that came after their texts. ``average``: the average of the log probabilities that were sent. ``order``: the sending order.
    """

    context: EncodeContext
    runs: set[str]
    parts: dict[int, _PartState] = field(default_factory=dict)
    next_tokens: list[ir.Part] = field(default_factory=list)
    carried: JsonObject | None = None
    reserved: dict[str, ir.Reasoning] = field(default_factory=dict)
    visible: list[ir.Part] = field(default_factory=list)
    pieces: dict[int, list[str]] = field(default_factory=dict)
    calls: deque[int] = field(default_factory=deque)
    ended: dict[int, events.PartEnd] = field(default_factory=dict)
    cited: list[ir.Citation] = field(default_factory=list)
    has_calls: bool = False
    average: AverageLogprob | None = None
    order: _SendOrder = field(default_factory=_SendOrder)
    end: JsonObject | None = None

    def reserve(self, part: ir.Part) -> bool:
        """Reserve reasoning whose token names a call for that call or the end; return whether it does."""
        call_id = bound_to(part)
        if call_id is None or call_id in self.reserved:
            return False
        assert isinstance(part, ir.Reasoning)
        self.reserved[call_id] = part
        return True

    def take_sendable(self, parts: list[JsonObject]) -> list[JsonObject]:
        """Return the parts to send now. The carried token is added to the first part if that accepts it; otherwise it precedes the parts.

        A token at their end is carried in turn, unless an open text may continue before the next part.
        """
        carried, self.carried = self.carried, None
        if carried is not None:
            if parts and accepts_token(parts[0]):
                parts = [parts[0] | {"thoughtSignature": carried["thoughtSignature"]}, *parts[1:]]
            else:
                parts = [carried, *parts]
        if parts and not parts[-1].get("text") and not self.order.is_open and has_carried_token(parts[-1]):
            *parts, self.carried = parts
        return parts

    def with_reserved(self, part: ir.Part) -> list[ir.Part]:
        """Return a part, after the reserved token that names it if it is a call."""
        token = (
            self.reserved.pop(part.id, None) if self.reserved and isinstance(part, ir.ToolCall) and part.signature is None else None
        )
        return [part] if token is None else [token, part]


class StreamEncoder:
    """Encodes one stream. The report is built from the accumulated response, not here."""

    def __init__(self, options: Options, context: Context | None) -> None:
        del context  # responses of this format do not repeat the request
        self._options = options
        self._head: JsonObject = {}
        self._choices: dict[int, _Choice] = {}
        self._usage: ir.Usage | None = None

    def feed(self, event: events.Event) -> bytes:
        """Take one event and return the bytes for it."""
        method = _METHODS.get(type(event))
        return method(self, event) if method else b""

    def fail(self, error: ir.Error, *, events_before: int = 0) -> bytes:
        """Encode an error after the carried tokens; no event follows."""
        del events_before  # events have no numbers here
        out = b""
        for index, choice in sorted(self._choices.items()):
            if choice.carried is not None:
                out, choice.carried = out + self._encode_event(index, [choice.carried]), None
        return out + encode_crlf_event(dumps(encode_error(error, null_ledger())[1]))

    def undelivered_tokens(self) -> list[ir.TokenLogprob | ir.Signature]:
        """Return the tokens that arrived after their texts and reasoning; log probabilities have a separate field."""
        return [token for choice in self._choices.values() for token in choice.order.unsigned]

    def _begin(self, event: events.Start) -> bytes:
        """Store the fields of the response that each event repeats."""
        # {"candidates": [{"content": {"role": "model", "parts": [{"text": "Hel"}]}, "index": 0}], "modelVersion": "m",
        #  "responseId": "r"}; the first event with a part has the names, so none is sent for the start alone.
        self._usage = event.usage
        response = ir.Response("generate_content", event.id, event.model, [], event.created)
        self._head = encode_head(response, null_ledger(), self._options, None)
        return b""

    def _note_usage(self, event: events.UsageUpdate) -> bytes:
        """Store the usage for the last event."""
        self._usage = event.usage
        return b""

    def _fail(self, event: events.Failed) -> bytes:
        """Encode the error of the source stream."""
        return self.fail(event.error)

    def _choice(self, index: int) -> _Choice:
        """Return the state of a candidate."""
        choice = self._choices.get(index)
        if choice is None:
            runs: set[str] = set()
            choice = self._choices[index] = _Choice(
                EncodeContext((), runs, is_answer=True, carries_tokens=self._options.carry_reasoning), runs
            )
        return choice

    def _start_part(self, event: events.PartStart) -> bytes:
        """Open a part; text and reasoning are sent in pieces."""
        choice = self._choice(event.choice)
        state = choice.parts[event.index] = _PartState(event.part, _SentText(event.index))
        part = event.part
        if isinstance(part, _TextLike):
            # Only the text differs between the events of one part, so the other bytes are encoded once.
            piece = {"text": "", "thought": True} if isinstance(part, ir.Reasoning) else {"text": ""}
            head, _, tail = dumps(self._event(event.choice, [piece])).partition(b'"text":""')
            state.head, state.tail = b'data: %b"text":' % head, b"%b\r\n\r\n" % tail
            state.is_separate = choice.order.begin(state.sent, part)
            if state.is_separate or choice.carried is not None:
                state.head, state.next_head = None, state.head
        if isinstance(part, ir.Text | ir.Refusal):
            state.pieces = []
            state.position = len(choice.visible)
            choice.visible.append(part)
            choice.pieces[state.position] = state.pieces
        elif type(part) in DELTA_FIELDS and state.head is None:
            state.pieces = []
            if isinstance(part, ir.ToolCall):
                choice.calls.append(event.index)
        return b""

    def _add_delta(self, event: events.Delta) -> bytes:
        """Encode a piece of text, or store it for a part that is sent whole."""
        choice = self._choices[event.choice]
        state = choice.parts[event.index]
        if state.pieces is not None:
            state.pieces.append(event.text)
        if event.logprobs and not isinstance(state.part, ir.Refusal):  # the format has none for a refusal
            return self._add_delta_with_logprobs(choice, state, event)
        if state.head is None or not event.text:
            return self._send(event.choice, _encode_piece(state, event.text)) if state.next_head and event.text else b""
        state.sent.has_text = True
        return state.head + dumps(event.text) + state.tail

    def _add_delta_with_logprobs(self, choice: _Choice, state: _PartState, event: events.Delta) -> bytes:
        """Encode a piece of text with the log probabilities of its tokens."""
        choice.average = choice.average or AverageLogprob()
        choice.average.add(event.logprobs or ())
        is_written = isinstance(state.part, _TextLike) and (event.text or state.sent.has_text)
        parts = choice.take_sendable(_encode_piece(state, event.text)) if is_written else []
        return self._encode_event(event.choice, parts, {"logprobsResult": encode_logprobs(event.logprobs or [], null_ledger())})

    def _update_part(self, event: events.PartUpdate) -> bytes:
        """Store fields of a part for its end."""
        fields = self._choices[event.choice].parts[event.index].fields
        if event.signature:
            fields["signature"] = event.signature
        if event.citation:
            fields.setdefault("citations", []).append(event.citation)
        if event.transcript:
            fields.setdefault("transcript", []).append(event.transcript)
        return b""

    def _add_citation(self, event: events.CitationUpdate) -> bytes:
        """Store a citation whose text has ended."""
        self._choices[event.choice].cited.append(event.citation)
        return b""

    def _take_signature(self, event: events.SignatureUpdate) -> bytes:
        """Encode the token of reasoning that has closed, if it would be decoded as such."""
        choice = self._choices[event.choice]
        reasoning = choice.order.reasoning(event.index)
        if not is_carried(event.signature, "generate_content", self._options):
            return b""
        if reasoning is None or not choice.order.accepts(reasoning, event.signature):
            choice.order.unsigned.append(event.signature)
            return b""
        token = ir.Reasoning("", signature=event.signature)
        out = _encode_parts([token], choice)
        choice.order.end(token, out, is_sent=True)
        return self._send(event.choice, out)

    def _end_part(self, event: events.PartEnd) -> bytes:
        """End a part; a call is sent after the calls that opened before it."""
        choice = self._choices[event.choice]
        if not isinstance(choice.parts[event.index].part, ir.ToolCall):
            return self._encode_part_end(choice, event)
        # A whole response has its calls in the order in which they opened, and the stream accumulates to the same.
        choice.ended[event.index] = event
        out = b""
        while choice.calls and choice.calls[0] in choice.ended:
            out += self._encode_part_end(choice, choice.ended.pop(choice.calls.popleft()))
        return out

    def _encode_part_end(self, choice: _Choice, event: events.PartEnd) -> bytes:
        """Encode a part that is sent whole, or the fields of a text that only its end has."""
        state = choice.parts.pop(event.index)
        part = event.part if event.part is not None else _with_fields(state)
        _note_ended(part, state, choice)
        was_sent = state.sent.was_sent and isinstance(part, _TextLike)
        if isinstance(part, ir.Reasoning) and not was_sent and belongs_to_next(part):
            choice.next_tokens.append(part)
            return b""
        if not was_sent and choice.reserve(part):
            return b""
        out = (
            self._tokens_after_text(part, state, choice)
            if was_sent
            else _encode_parts([*choice.next_tokens, *choice.with_reserved(part)], choice)
        )
        choice.next_tokens = []
        # Without the flag, a decoder takes the token for a separate part, and not for that of earlier reasoning.
        if out and not was_sent and choice.order.may_be_misread(part):
            out[0].pop("thought", None)
        choice.order.end(part, out, is_sent=was_sent)
        return self._send(event.choice, out) if out else b""

    def _tokens_after_text(self, part: ir.Part, state: _PartState, choice: _Choice) -> list[JsonObject]:
        """Encode the tokens of a text that was sent, as for the text in one piece."""
        # Whether a token is written, and how, depends on its part having a text. The stub stands for the text that was sent.
        token: ir.Signature | None = getattr(part, "signature", None)
        stub: JsonObject = {"text": "x"} | ({"citations": None} if isinstance(part, ir.Text) else {})
        if token is not None and not choice.order.accepts(state.sent, token):
            if is_carried(token, "generate_content", self._options):
                choice.order.unsigned.append(token)
            token, stub = None, stub | {"signature": None}
        if not choice.next_tokens and token is None:
            return []
        first, *others = _encode_parts([*choice.next_tokens, replace(part, **stub)], choice)
        return [first | {"text": ""}, *others] if "thoughtSignature" in first else others

    def _finish_choice(self, event: events.ChoiceEnd) -> bytes:
        """End a candidate; its finish reason is sent with the usage in the last event."""
        choice = self._choice(event.choice)
        sent = [] if choice.carried is None else [choice.carried]
        sent += _encode_parts([*choice.next_tokens, *choice.reserved.values()], choice)
        choice.carried = None
        out = self._event(event.choice, sent)["candidates"][0]
        out |= encode_finish(event.finish, choice.has_calls, "", null_ledger())
        # The vendor sends the grounding with the finish reason (recorded traffic).
        _cite_in_first_text(choice)
        if any(isinstance(part, ir.Text) and part.citations for part in choice.visible):
            visible = [_with_text(part, choice.pieces.get(index)) for index, part in enumerate(choice.visible)]
            grounding = encode_citations(visible, null_ledger())
            out |= {"groundingMetadata": grounding} if grounding else {}
        if choice.average is not None:
            out |= choice.average.fields()
        choice.end = out
        return b""

    def _end(self, event: events.End) -> bytes:
        """Encode the last event: the ends of all candidates, and the usage."""
        del event  # it has no fields
        # One event ends all candidates: their finish reasons may come before the usage, which only the last event needs.
        ends = [choice.end for _, choice in sorted(self._choices.items()) if choice.end is not None]
        if not ends:
            ends = [self._event(0, [], encode_finish(None, False, "", null_ledger()))["candidates"][0]]
        usage = {"usageMetadata": encode_usage(self._usage, null_ledger())} if self._usage else {}
        return encode_crlf_event(dumps({"candidates": ends, **usage, **self._head}))

    def _event(self, choice: int, parts: list[JsonObject], fields: JsonObject | None = None) -> JsonObject:
        """Return an event with parts of one candidate and its other fields."""
        content = {"role": "model", "parts": parts or [EMPTY_PART]}
        candidate = {"content": content, "index": choice, **(fields or {})}
        return {"candidates": [candidate], **self._head}

    def _send(self, choice: int, parts: list[JsonObject]) -> bytes:
        """Encode parts, except a token that is carried to the next part."""
        sendable = self._choices[choice].take_sendable(parts)
        return self._encode_event(choice, sendable) if sendable else b""

    def _encode_event(self, choice: int, parts: list[JsonObject], fields: JsonObject | None = None) -> bytes:
        """Encode an event with parts of one candidate."""
        return encode_crlf_event(dumps(self._event(choice, parts, fields)))


def _note_ended(part: ir.Part, state: _PartState, choice: _Choice) -> None:
    """Note what the end of a candidate needs of a part that has ended."""
    if isinstance(part, ir.Media) and part.transcript:
        choice.visible.append(ir.Refusal(text=part.transcript))  # counts as a text without citations
    elif isinstance(part, ir.Hosted):
        choice.runs |= python_runs([part])
    elif isinstance(part, ir.ToolCall):
        choice.has_calls = True
    elif isinstance(part, ir.Text) and isinstance(state.part, ir.Text):
        choice.visible[state.position] = part
    elif isinstance(part, ir.Text):  # the decoder knew its type only at the end
        choice.visible.append(part)
    if isinstance(state.part, _TextLike):
        choice.order.close()


def _with_fields(state: _PartState) -> ir.Part:
    """Return a part with the fields from later events; text that was sent is left out."""
    fields = state.fields
    if "transcript" in fields:
        fields["transcript"] = "".join(fields["transcript"])
    if state.pieces and state.head is None:
        fields[DELTA_FIELDS[type(state.part)]] = "".join(state.pieces)
    return copy_part(state.part, **fields) if fields else state.part


def _encode_piece(state: _PartState, text: str) -> list[JsonObject]:
    """Return the parts of an event with a piece of a text. Before its first piece an empty text may separate it."""
    before: list[JsonObject] = [EMPTY_PART] if state.next_head and state.is_separate else []
    state.head, state.next_head = state.head or state.next_head, None
    state.sent.has_text = True
    return [*before, {"text": text, "thought": True} if isinstance(state.part, ir.Reasoning) else {"text": text}]


def _encode_parts(parts: list[ir.Part], choice: _Choice) -> list[JsonObject]:
    """Encode parts without a report."""
    out: list[JsonObject] = []
    if parts:
        encode_parts(parts, out, "", choice.context, null_ledger())
    return out


def _cite_in_first_text(choice: _Choice) -> None:
    """Add the citations that came after their texts to the first text; their spans show where they belong."""
    if choice.cited:
        index, text = next((index, part) for index, part in enumerate(choice.visible) if isinstance(part, ir.Text))
        choice.visible[index] = replace(text, citations=[*(text.citations or ()), *choice.cited])


def _with_text(part: ir.Part, pieces: list[str] | None) -> ir.Part:
    """Return a text with the pieces that were sent."""
    return replace(part, text="".join(pieces)) if pieces and isinstance(part, ir.Text | ir.Refusal) else part


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
