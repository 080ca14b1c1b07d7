"""Streams of messages, read: a start, blocks that open, grow and close, an end with usage, a stop.

Servers bend this, too: no start, no end before the stop, no stop after the end; ``stream_blocks`` says what they do to blocks.
"""

from __future__ import annotations

from dataclasses import replace

from formatbridge import ir
from formatbridge.formats.messages.errors import decode_error
from formatbridge.formats.messages.response import RESPONSE_FIELDS, decode_finish
from formatbridge.formats.messages.stream_blocks import Blocks, without_nulls
from formatbridge.formats.messages.stream_untold import untold
from formatbridge.formats.messages.usage import decode_usage
from formatbridge.formats.shared.choices import fill_missing_head
from formatbridge.formats.shared.unmodelled_fields import Pieces, rest, unknown_event
from formatbridge.ir import events
from formatbridge.jsontext.types import JsonObject

_STOP = frozenset({"stop_reason", "stop_sequence", "stop_details"})
_EVENT = frozenset({"type", "delta", "usage", "index", "content_block", "message"})
EVENTS = frozenset({
    "content_block_start", "content_block_delta", "content_block_stop", "message_start", "message_delta", "message_stop", "ping",
})  # fmt: skip
"""The kinds of event; one of another kind counts as a field of the answer."""


def is_failure(raw: JsonObject) -> bool:
    """Say whether an event of no other kind is an error, of whatever shape; one without a type may also be padding."""
    kind = raw.get("type")
    return kind == "error" or "error" in raw or (kind is None and ("message" in raw or "detail" in raw))


class StreamDecoder:
    """Reads the events of one stream. ``is_complete``: the stream said that it is over, for better or worse."""

    END = "message_stop, behind a stop reason or whole blocks"

    def __init__(self) -> None:
        self.is_complete = False
        self.start: events.Start | None = events.Start(None, None)
        self._told = events.Start(None, None)
        self._has_begun = False
        self._has_stopped = False
        self._is_cut = False
        self._named: str | None = None
        self._blocks = Blocks()
        self._usage: JsonObject | None = None
        self._stop: JsonObject = {}
        self._extra = Pieces()

    @property
    def tells_more(self) -> bool:
        """Whether the last event had fields that nobody knows."""
        block = self._blocks.latest
        return bool(self._extra.latest or (block and block.unknown.latest))

    def feed(self, raw: JsonObject) -> list[events.Event]:
        """Take one event and return what happened."""
        if self.is_complete or self._is_cut:
            return []
        made: list[events.Event] = []
        kind = raw.get("type")
        self._extra.take(rest(raw, _EVENT) if kind in EVENTS else None)
        if kind == "content_block_delta":
            if self.start is not None:
                self._flush_start(made)
            self._blocks.grow(raw, made)
        else:
            self._take(kind, raw, made)
        return made

    def grow(self, text: str) -> None:
        """Take the last event once more, with another piece of its text."""
        block = self._blocks.latest
        if block is not None:
            block.size += len(text)
            if block.unknown.latest:
                block.unknown.again()
        if self._extra.latest:
            self._extra.again()

    def recount(self, raw: JsonObject) -> None:
        """Take nothing: no event with text counts here."""

    def done(self) -> list[events.Event]:
        """Take ``[DONE]``, which some relays let slip into a stream that ends by other means: it says nothing."""
        return []

    def finish(self) -> list[events.Event]:
        """Take the end of the bytes; complete where the answer's end was told, even without the stop behind it."""
        made: list[events.Event] = []
        if not self.is_complete and self._has_stopped:
            self._end(made)
        return made

    # The answer as a whole.

    def _take(self, kind: object, raw: JsonObject, made: list[events.Event]) -> None:
        match kind:
            case "content_block_start":
                self._begin_block(raw, made)
            case "content_block_stop":
                self._blocks.end(raw.get("index"), made)
            case "message_start":
                self._begin(raw.get("message") or {}, made)
            case "message_delta":
                self._note(raw)
            case "message_stop" if self._stop.get("stop_reason") or self._blocks.are_whole:
                self._end(made)
            case "message_stop":  # some relays send it behind an answer that broke off
                self._is_cut = True
            case "ping":
                pass
            case _ if is_failure(raw):
                self._fail(raw, made)
            case _:  # nobody knows it; it counts as a field of the answer
                self._extra.take(unknown_event(raw))

    def _begin(self, message: JsonObject, made: list[events.Event]) -> None:
        """Take the start. It is passed on with what follows, for the first block may tell that another model took over."""
        if message.get("usage") is not None:
            self._usage = (self._usage or {}) | without_nulls(message["usage"])
        if self._has_begun:
            self._name_again(message.get("id"), message.get("model"), made)
            self._extra.take(rest(message, RESPONSE_FIELDS))
            return
        self._has_begun = True
        usage = decode_usage(self._usage, "/usage") if self._usage is not None else None
        self._named = message.get("model")
        self.start = events.Start(message.get("id") or None, self._named, None, usage, rest(message, RESPONSE_FIELDS))
        self._stop = {key: value for key, value in message.items() if key in _STOP and value is not None}
        for block in message.get("content") or ():
            self._begin_block({"content_block": block}, made)
            self._blocks.end(None, made)

    def _name_again(self, id: str | None, model: str | None, made: list[events.Event]) -> None:
        """Take what another start says. What the first left out is news, late only where that has been passed on; what differs is noted."""
        if self.start is None:
            self._told = fill_missing_head(self._told, id, model, None, made)
        else:
            self._named = self._named or model
            self.start = replace(self.start, id=self.start.id or id or None, model=self.start.model or model)
        known = self.start or self._told
        named = {"id": (id, known.id), "model": (model, known.model if model != self._named else model)}
        if other := {name: new for name, (new, old) in named.items() if new and new != old}:
            self._extra.take({"message_start": other})

    def _flush_start(self, made: list[events.Event]) -> None:
        if not self._has_begun:
            self._begin({}, made)
        if self.start is not None:
            made.append(self.start)
            self._told, self.start = self.start, None

    def _note(self, raw: JsonObject) -> None:
        """Take how the answer ended and what it cost; each count that is told replaces the one before."""
        stop = without_nulls(raw.get("delta") or {})
        self._has_stopped = self._has_stopped or bool(stop.get("stop_reason"))
        self._stop |= stop
        if raw.get("usage") is not None:
            self._usage = self._usage or {}
            self._usage |= without_nulls(raw["usage"])

    def _end(self, made: list[events.Event]) -> None:
        self.is_complete = True
        self._flush_start(made)
        self._blocks.end_all(made)
        made.append(events.Finished(0, decode_finish(self._stop) or ir.Finish("stop")))
        made += [*self.beside(), events.End()]

    def beside(self) -> list[events.Event]:
        """Return what is known of the answer beside its parts and will not change."""
        made: list[events.Event] = []
        if self._usage is not None:
            made.append(events.UsageTold(decode_usage(self._usage, "/usage")))
        extra = {**self._extra.whole(), **(rest(self._stop, _STOP) or {})}
        return [*made, events.Meta(extra)] if extra else made

    def untold(self) -> list[events.Event]:
        """Return what the end would tell, or would tell otherwise: of open blocks, and of tokens that wait for a part."""
        return untold(self._blocks)

    def _fail(self, raw: JsonObject, made: list[events.Event]) -> None:
        self.is_complete = True
        self._flush_start(made)
        made += [*self.beside(), events.Failed(decode_error(raw, status=None))]

    def _begin_block(self, raw: JsonObject, made: list[events.Event]) -> None:
        content = raw["content_block"]
        if not self._has_begun:
            self._begin({}, made)
        if content.get("type") == "fallback":
            self._hand_over(self._blocks.begin_nothing(raw.get("index"), made), content, made)
        else:
            self._flush_start(made)
            self._blocks.begin(raw.get("index"), content, made)

    def _hand_over(self, place: str, content: JsonObject, made: list[events.Event]) -> None:
        """Note that another model took over, which is no content; it comes late where the answer has begun."""
        self._extra.take({place[1:]: content})
        model = (content.get("to") or {}).get("model")
        if model is None:
            return
        self._extra.take({"model": self._named} if self._named not in (None, model) else None)
        if self.start is not None:
            self.start = replace(self.start, model=model)
        else:
            self._told = replace(self._told, model=model)
            made.append(events.Named(model=model))
