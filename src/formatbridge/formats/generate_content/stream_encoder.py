"""Streams of generate_content, written: each event is a small answer; the last one has the reasons, the sources and the usage.

Text and thoughts leave as they come, in envelopes written once. A call waits until its arguments are whole, for they are an object here.
Visible text is kept beside, because a source cites it by words and by bytes, and names both at the end.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

from formatbridge import ir
from formatbridge.formats.format import Context
from formatbridge.formats.generate_content.citations import encode_citations
from formatbridge.formats.generate_content.content import Surroundings
from formatbridge.formats.generate_content.conversation import belongs_to_next, encode_parts
from formatbridge.formats.generate_content.errors import encode_error
from formatbridge.formats.generate_content.hosted_tools import python_runs
from formatbridge.formats.generate_content.reasoning import has_room, holds_carried
from formatbridge.formats.generate_content.response import Average, encode_finish, encode_logprobs, encode_response
from formatbridge.formats.generate_content.stream_fold import NOTHING
from formatbridge.formats.generate_content.stream_tokens import Left, Order
from formatbridge.formats.generate_content.usage import encode_usage
from formatbridge.formats.shared.reasoning_tokens import bound_to, is_carried
from formatbridge.ir import events
from formatbridge.jsontext.codec import dumps
from formatbridge.jsontext.types import JsonObject
from formatbridge.options import Options
from formatbridge.report.ledger import null_ledger
from formatbridge.streaming.replay import GROWS, altered
from formatbridge.streaming.sse import encode_crlf_event

_TextLike = ir.Text | ir.Refusal | ir.Reasoning


@dataclass(slots=True)
class _Part:
    """A part that is open. ``head`` and ``tail``: the envelope of its text; None where it leaves whole. ``place``: among the visible.

    ``next_head``: that of a text whose first piece leaves with something else; ``is_apart``: which an empty text parts from the thought
    before.
    """

    part: ir.Part
    left: Left
    head: bytes | None = None
    next_head: bytes | None = None
    is_apart: bool = False
    tail: bytes = b""
    pieces: list[str] | None = None
    place: int = -1
    told: JsonObject = field(default_factory=dict)


@dataclass(slots=True)
class _Choice:
    """One candidate as far as it has come.

    ``waiting``: tokens of the part that follows; ``carried``: the thought that holds the token of another format's reasoning, until the
    next part leaves; ``bound``: those that name a call, which may come; ``visible``: what citations count, in
    the order in which it left; ``calls``: those that have not left, in their order; ``ended``: those that wait for one before them;
    ``cited``: what came late; ``weighed``: how likely the tokens were that have left; ``order``: what has left behind what.
    """

    around: Surroundings
    runs: set[str]
    parts: dict[int, _Part] = field(default_factory=dict)
    waiting: list[ir.Part] = field(default_factory=list)
    carried: JsonObject | None = None
    bound: dict[str, ir.Reasoning] = field(default_factory=dict)
    visible: list[ir.Part] = field(default_factory=list)
    pieces: dict[int, list[str]] = field(default_factory=dict)
    calls: deque[int] = field(default_factory=deque)
    ended: dict[int, events.PartEnd] = field(default_factory=dict)
    cited: list[ir.Citation] = field(default_factory=list)
    has_calls: bool = False
    weighed: Average | None = None
    order: Order = field(default_factory=Order)
    end: JsonObject | None = None

    def keeps(self, part: ir.Part) -> bool:
        """Keep a token that names a call until that leaves, or the end; return whether it does."""
        call_id = bound_to(part)
        if call_id is None or call_id in self.bound:
            return False
        assert isinstance(part, ir.Reasoning)
        self.bound[call_id] = part
        return True

    def leaving(self, parts: list[JsonObject]) -> list[JsonObject]:
        """Return the parts that leave now, the first with the token that waits, if it has room; else that stands before them alone.

        A token at their end waits in its turn, unless a text is open that may go on before the next part.
        """
        carried, self.carried = self.carried, None
        if carried is not None:
            has_token = bool(parts) and has_room(parts[0])
            first = [parts[0] | {"thoughtSignature": carried["thoughtSignature"]}, *parts[1:]] if has_token else [carried, *parts]
            parts = first
        if parts and not parts[-1].get("text") and not self.order.is_open and holds_carried(parts[-1]):
            *parts, self.carried = parts
        return parts

    def told_with(self, part: ir.Part) -> list[ir.Part]:
        """Return what leaves with a part: for a call the token that names it as well."""
        token = self.bound.pop(part.id, None) if self.bound and isinstance(part, ir.ToolCall) and part.signature is None else None
        return [part] if token is None else [token, part]


class StreamEncoder:
    """Writes one stream. Losses are worked out on the collected answer, not here."""

    def __init__(self, options: Options, context: Context | None) -> None:
        del context  # nothing in an answer of this format repeats the request
        self._options = options
        self._head: JsonObject = {}
        self._choices: dict[int, _Choice] = {}
        self._usage: ir.Usage | None = None

    def feed(self, event: events.Event) -> bytes:
        """Take one event and return what it becomes."""
        handle = _HANDLERS.get(type(event))
        return handle(self, event) if handle else b""

    def fail(self, error: ir.Error, *, behind: int = 0) -> bytes:
        """Write an error in the stream, behind the tokens that wait; nothing follows."""
        del behind  # events have no numbers here
        made = b""
        for index, choice in sorted(self._choices.items()):
            if choice.carried is not None:
                made, choice.carried = made + self._written(index, [choice.carried]), None
        return made + encode_crlf_event(dumps(encode_error(error, null_ledger())[1]))

    def late(self) -> list[ir.TokenLogprob | ir.Signature]:
        """Return the tokens that came too late for their texts and thoughts; those with probabilities stand beside no text."""
        return [token for choice in self._choices.values() for token in choice.order.unsigned]

    def _begin(self, event: events.Start) -> bytes:
        self._usage = event.usage
        answer = ir.Response("generate_content", event.id, event.model, [], event.created)
        self._head = encode_response(answer, null_ledger(), self._options, None)
        del self._head["candidates"]
        return b""

    def _tell_usage(self, event: events.UsageTold) -> bytes:
        self._usage = event.usage
        return b""

    def _fail(self, event: events.Failed) -> bytes:
        return self.fail(event.error)

    def _choice(self, index: int) -> _Choice:
        choice = self._choices.get(index)
        if choice is None:
            runs: set[str] = set()
            choice = self._choices[index] = _Choice(
                Surroundings((), runs, is_answer=True, carries=self._options.carry_reasoning), runs
            )
        return choice

    # Parts.

    def _start(self, event: events.PartStart) -> bytes:
        choice = self._choice(event.choice)
        held = choice.parts[event.index] = _Part(event.part, Left(event.index))
        part = event.part
        if isinstance(part, _TextLike):
            piece = {"text": "", "thought": True} if isinstance(part, ir.Reasoning) else {"text": ""}
            head, _, tail = dumps(self._event(event.choice, [piece])).partition(b'"text":""')
            held.head, held.tail = b'data: %b"text":' % head, b"%b\r\n\r\n" % tail
            held.is_apart = choice.order.begin(held.left, part)
            if held.is_apart or choice.carried is not None:
                held.head, held.next_head = None, held.head
        if isinstance(part, ir.Text | ir.Refusal):
            held.pieces = []
            held.place = len(choice.visible)
            choice.visible.append(part)
            choice.pieces[held.place] = held.pieces
        elif type(part) in GROWS and held.head is None:
            held.pieces = []
            if isinstance(part, ir.ToolCall):
                choice.calls.append(event.index)
        return b""

    def _delta(self, event: events.Delta) -> bytes:
        choice = self._choices[event.choice]
        held = choice.parts[event.index]
        if held.pieces is not None:
            held.pieces.append(event.text)
        if event.logprobs and not isinstance(held.part, ir.Refusal):  # those of a refusal have no place here
            return self._weighed_delta(choice, held, event)
        if held.head is None or not event.text:
            return self._leave(event.choice, _pieces(held, event.text)) if held.next_head and event.text else b""
        held.left.has_text = True
        return held.head + dumps(event.text) + held.tail

    def _weighed_delta(self, choice: _Choice, held: _Part, event: events.Delta) -> bytes:
        choice.weighed = choice.weighed or Average()
        choice.weighed.add(event.logprobs or ())
        is_written = isinstance(held.part, _TextLike) and (event.text or held.left.has_text)
        parts = choice.leaving(_pieces(held, event.text)) if is_written else []
        return self._written(event.choice, parts, {"logprobsResult": encode_logprobs(event.logprobs or [], null_ledger())})

    def _meta(self, event: events.PartMeta) -> bytes:
        told = self._choices[event.choice].parts[event.index].told
        if event.signature:
            told["signature"] = event.signature
        if event.citation:
            told.setdefault("citations", []).append(event.citation)
        if event.transcript:
            told.setdefault("transcript", []).append(event.transcript)
        return b""

    def _cite(self, event: events.Cited) -> bytes:
        self._choices[event.choice].cited.append(event.citation)
        return b""

    def _sign(self, event: events.Signed) -> bytes:
        """Write the token of a thought that has closed, if it would be read as that one's."""
        choice = self._choices[event.choice]
        thought = choice.order.thought(event.index)
        if not is_carried(event.signature, "generate_content", self._options):
            return b""
        if thought is None or not choice.order.takes(thought, event.signature):
            choice.order.unsigned.append(event.signature)
            return b""
        token = ir.Reasoning("", signature=event.signature)
        made = _encoded([token], choice)
        choice.order.end(token, made, has_left=True)
        return self._leave(event.choice, made)

    def _end(self, event: events.PartEnd) -> bytes:
        """Close a part; a call waits for those that opened before it."""
        choice = self._choices[event.choice]
        if not isinstance(choice.parts[event.index].part, ir.ToolCall):
            return self._end_part(choice, event)
        choice.ended[event.index] = event
        made = b""
        while choice.calls and choice.calls[0] in choice.ended:
            made += self._end_part(choice, choice.ended.pop(choice.calls.popleft()))
        return made

    def _end_part(self, choice: _Choice, event: events.PartEnd) -> bytes:
        """Write what of a part leaves whole, and what of a text can only be told at its end."""
        held = choice.parts.pop(event.index)
        part = event.part if event.part is not None else _whole(held)
        if isinstance(part, ir.Media) and part.transcript:
            choice.visible.append(ir.Refusal(text=part.transcript))  # counts as any text in which nothing is cited
        elif isinstance(part, ir.Hosted):
            choice.runs |= python_runs([part])
        elif isinstance(part, ir.ToolCall):
            choice.has_calls = True
        elif isinstance(part, ir.Text) and isinstance(held.part, ir.Text):
            choice.visible[held.place] = part
        elif isinstance(part, ir.Text):  # which turned out to be one only now
            choice.visible.append(part)
        if isinstance(held.part, _TextLike):
            choice.order.close()
        is_gone = held.left.has_values and isinstance(part, _TextLike)
        if isinstance(part, ir.Reasoning) and not is_gone and belongs_to_next(part):
            choice.waiting.append(part)
            return b""
        if not is_gone and choice.keeps(part):
            return b""
        made = self._tokens(part, held, choice) if is_gone else _encoded([*choice.waiting, *choice.told_with(part)], choice)
        choice.waiting = []
        if made and not is_gone and choice.order.stands_apart(part):
            made[0].pop("thought", None)
        choice.order.end(part, made, has_left=is_gone)
        return self._leave(event.choice, made) if made else b""

    def _tokens(self, part: ir.Part, held: _Part, choice: _Choice) -> list[JsonObject]:
        """Write the tokens of a text that has left: those that the text would have if it came in one piece."""
        token: ir.Signature | None = getattr(part, "signature", None)
        bare: JsonObject = {"text": "x"} | ({"citations": None} if isinstance(part, ir.Text) else {})
        if token is not None and not choice.order.takes(held.left, token):
            if is_carried(token, "generate_content", self._options):
                choice.order.unsigned.append(token)
            token, bare = None, bare | {"signature": None}
        if not choice.waiting and token is None:
            return []
        first, *others = _encoded([*choice.waiting, replace(part, **bare)], choice)
        return [first | {"text": ""}, *others] if "thoughtSignature" in first else others

    def _finish(self, event: events.Finished) -> bytes:
        """End a candidate; its reason leaves with the usage."""
        choice = self._choice(event.choice)
        left = [] if choice.carried is None else [choice.carried]
        left += _encoded([*choice.waiting, *choice.bound.values()], choice)
        choice.carried = None
        made = self._event(event.choice, left)["candidates"][0]
        made |= encode_finish(event.finish, choice.has_calls, "", null_ledger())
        _cite_first(choice)
        if any(isinstance(part, ir.Text) and part.citations for part in choice.visible):
            visible = [_with_text(part, choice.pieces.get(place)) for place, part in enumerate(choice.visible)]
            grounding = encode_citations(visible, null_ledger())
            made |= {"groundingMetadata": grounding} if grounding else {}
        if choice.weighed is not None:
            made |= choice.weighed.told()
        choice.end = made
        return b""

    # Events.

    def _close(self, event: events.End) -> bytes:
        del event  # it says nothing
        ends = [choice.end for _, choice in sorted(self._choices.items()) if choice.end is not None]
        if not ends:
            ends = [self._event(0, [], encode_finish(None, False, "", null_ledger()))["candidates"][0]]
        usage = {"usageMetadata": encode_usage(self._usage, null_ledger())} if self._usage else {}
        return encode_crlf_event(dumps({"candidates": ends, **usage, **self._head}))

    def _event(self, choice: int, parts: list[JsonObject], more: JsonObject | None = None) -> JsonObject:
        content = {"role": "model", "parts": parts or [NOTHING]}
        candidate = {"content": content, "index": choice, **(more or {})}
        return {"candidates": [candidate], **self._head}

    def _leave(self, choice: int, parts: list[JsonObject]) -> bytes:
        """Write parts, but for a token that waits for the next one."""
        leaving = self._choices[choice].leaving(parts)
        return self._written(choice, leaving) if leaving else b""

    def _written(self, choice: int, parts: list[JsonObject], more: JsonObject | None = None) -> bytes:
        return encode_crlf_event(dumps(self._event(choice, parts, more)))


def _whole(held: _Part) -> ir.Part:
    """Return a part with what it was told; of text that has left, only what else there is."""
    told = held.told
    if "transcript" in told:
        told["transcript"] = "".join(told["transcript"])
    if held.pieces and held.head is None:
        told[GROWS[type(held.part)]] = "".join(held.pieces)
    return altered(held.part, **told) if told else held.part


def _pieces(held: _Part, text: str) -> list[JsonObject]:
    """Return the parts of an event with a piece of a text; before its first piece an empty one parts a thought from the one before."""
    before: list[JsonObject] = [NOTHING] if held.next_head and held.is_apart else []
    held.head, held.next_head = held.head or held.next_head, None
    held.left.has_text = True
    return [*before, {"text": text, "thought": True} if isinstance(held.part, ir.Reasoning) else {"text": text}]


def _encoded(parts: list[ir.Part], choice: _Choice) -> list[JsonObject]:
    made: list[JsonObject] = []
    if parts:
        encode_parts(parts, made, "", choice.around, null_ledger())
    return made


def _cite_first(choice: _Choice) -> None:
    """Hang the citations that came behind their texts on the first: where each belongs is what its span says."""
    if choice.cited:
        place, text = next((place, part) for place, part in enumerate(choice.visible) if isinstance(part, ir.Text))
        choice.visible[place] = replace(text, citations=[*(text.citations or ()), *choice.cited])


def _with_text(part: ir.Part, pieces: list[str] | None) -> ir.Part:
    return replace(part, text="".join(pieces)) if pieces and isinstance(part, ir.Text | ir.Refusal) else part


_HANDLERS: dict[type[events.Event], Callable[[StreamEncoder, Any], bytes]] = {
    events.Start: StreamEncoder._begin,
    events.PartStart: StreamEncoder._start,
    events.Delta: StreamEncoder._delta,
    events.PartMeta: StreamEncoder._meta,
    events.Cited: StreamEncoder._cite,
    events.Signed: StreamEncoder._sign,
    events.PartEnd: StreamEncoder._end,
    events.Finished: StreamEncoder._finish,
    events.UsageTold: StreamEncoder._tell_usage,
    events.Failed: StreamEncoder._fail,
    events.End: StreamEncoder._close,
}
