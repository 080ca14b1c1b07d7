"""Decoder for Messages streams: ``message_start``, content blocks, ``message_delta`` with the usage, ``message_stop``.

Servers omit any of these; ``stream_state`` lists what they do to blocks.
"""

from __future__ import annotations

from dataclasses import replace

from formatbridge import ir
from formatbridge.formats.format import EndReason
from formatbridge.formats.messages.errors import decode_error
from formatbridge.formats.messages.response import RESPONSE_FIELDS, decode_finish
from formatbridge.formats.messages.stream_state import Blocks, without_nulls
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
"""The types of events. One of another type becomes an unmodelled field of the answer."""


def is_failure(raw: JsonObject) -> bool:
    """Return whether an event of no other type is an error, of whatever shape; one without a type may also be padding."""
    kind = raw.get("type")
    return kind == "error" or "error" in raw or (kind is None and ("message" in raw or "detail" in raw))


class StreamDecoder:
    """Decodes the events of one stream. ``is_complete``: the stream brought its end, or an error."""

    END = "message_stop, behind a stop reason or whole blocks"

    NEVER_REPEATED: frozenset[str] = frozenset()

    def __init__(self) -> None:
        self.is_complete = False
        self.has_unknown_fields = False
        self._pending_start: events.Start | None = events.Start(None, None)
        self._start = events.Start(None, None)  # as emitted
        self._has_begun = False
        self._has_stopped = False
        self._is_cut = False
        self._named: str | None = None
        self._blocks = Blocks()
        self._usage: JsonObject | None = None
        self._stop: JsonObject = {}
        self._extra = Pieces()

    def feed(self, raw: JsonObject, count: int = 1) -> list[events.Event]:
        """Take one event, or ``count`` of them joined, and return what it adds."""
        if self.is_complete or self._is_cut:
            return []
        out: list[events.Event] = []
        kind = raw.get("type")
        fields = rest(raw, _EVENT) if kind in EVENTS else None
        if fields:
            self._extra.take(fields, count)
        self.has_unknown_fields = bool(fields)
        if kind == "content_block_delta":
            if self._pending_start is not None:
                self._flush_start(out)
            self.has_unknown_fields = self._blocks.take_delta(raw, out, count) or self.has_unknown_fields
        else:
            self._take(kind, raw, out)
        return out

    def finish(self, reason: EndReason) -> list[events.Event]:
        """Return the pending events. A stop reason completes the answer, even without ``message_stop``; ``[DONE]`` has no meaning."""
        out: list[events.Event] = []
        if reason == "truncated":
            return [*([] if self._pending_start is None else [self._pending_start]), *self._metadata(), *self._blocks.pending()]
        if reason == "end_of_bytes":
            if not self.is_complete and self._has_stopped:
                self._end(out)
            elif self._pending_start is not None:
                self._flush_start(out)
        return out

    # The answer as a whole.

    def _take(self, kind: object, raw: JsonObject, out: list[events.Event]) -> None:
        match kind:
            case "content_block_start":
                self._begin_block(raw, out)
            case "content_block_stop":
                self._blocks.end(raw.get("index"), out)
            case "message_start":
                self._begin(raw.get("message") or {}, out)
            case "message_delta":
                self._note(raw)
            case "message_stop" if self._stop.get("stop_reason") or self._blocks.are_complete:
                self._end(out)
            case "message_stop":  # some relays send it after a truncated answer
                self._is_cut = True
            case "ping":
                pass
            case _ if is_failure(raw):
                self._fail(raw, out)
            case _:  # an unmodelled field of the answer
                self._extra.take(unknown_event(raw))

    def _begin(self, message: JsonObject, out: list[events.Event]) -> None:
        """Take the start. It is emitted with the first block, which may show that another model took over."""
        if message.get("usage") is not None:
            self._usage = (self._usage or {}) | without_nulls(message["usage"])
        if self._has_begun:
            self._start_again(message.get("id"), message.get("model"), out)
            self._extra.take(rest(message, RESPONSE_FIELDS))
            return
        self._has_begun = True
        usage = decode_usage(self._usage, "/usage") if self._usage is not None else None
        self._named = message.get("model")
        self._pending_start = events.Start(message.get("id") or None, self._named, None, usage, rest(message, RESPONSE_FIELDS))
        self._stop = {key: value for key, value in message.items() if key in _STOP and value is not None}
        for block in message.get("content") or ():
            self._begin_block({"content_block": block}, out)
            self._blocks.end(None, out)

    def _start_again(self, id: str | None, model: str | None, out: list[events.Event]) -> None:
        """Take another start. It adds what the first one lacks; what differs becomes an unmodelled field."""
        if self._pending_start is None:
            self._start = fill_missing_head(self._start, id, model, None, out)
        else:
            self._named = self._named or model
            start = self._pending_start
            self._pending_start = replace(start, id=start.id or id or None, model=start.model or model)
        known = self._pending_start or self._start
        named = {"id": (id, known.id), "model": (model, known.model if model != self._named else model)}
        if other := {name: new for name, (new, old) in named.items() if new and new != old}:
            self._extra.take({"message_start": other})

    def _flush_start(self, out: list[events.Event]) -> None:
        if not self._has_begun:
            self._begin({}, out)
        if self._pending_start is not None:
            out.append(self._pending_start)
            self._start, self._pending_start = self._pending_start, None

    def _note(self, raw: JsonObject) -> None:
        """Take the stop reason and the usage; each count replaces the one before."""
        stop = without_nulls(raw.get("delta") or {})
        self._has_stopped = self._has_stopped or bool(stop.get("stop_reason"))
        self._stop |= stop
        if raw.get("usage") is not None:
            self._usage = self._usage or {}
            self._usage |= without_nulls(raw["usage"])

    def _end(self, out: list[events.Event]) -> None:
        self.is_complete = True
        self._flush_start(out)
        self._blocks.end_all(out)
        out.append(events.Finished(0, decode_finish(self._stop) or ir.Finish("stop")))
        out += [*self._metadata(), events.End()]

    def _metadata(self) -> list[events.Event]:
        """Return the usage and the fields of the answer that are known."""
        out: list[events.Event] = []
        if self._usage is not None:
            out.append(events.UsageUpdate(decode_usage(self._usage, "/usage")))
        extra = {**self._extra.whole(), **(rest(self._stop, _STOP) or {})}
        return [*out, events.Meta(extra)] if extra else out

    def _fail(self, raw: JsonObject, out: list[events.Event]) -> None:
        self.is_complete = True
        self._flush_start(out)
        out += [*self._metadata(), events.Failed(decode_error(raw, status=None))]

    def _begin_block(self, raw: JsonObject, out: list[events.Event]) -> None:
        content = raw["content_block"]
        if not self._has_begun:
            self._begin({}, out)
        if content.get("type") == "fallback":
            self._hand_over(self._blocks.skip(raw.get("index"), out), content, out)
        else:
            self._flush_start(out)
            self._blocks.begin(raw.get("index"), content, out)

    def _hand_over(self, place: str, content: JsonObject, out: list[events.Event]) -> None:
        """Note that another model took over. The start gets its name, if it is still pending."""
        self._extra.take({place[1:]: content})
        model = (content.get("to") or {}).get("model")
        if model is None:
            return
        self._extra.take({"model": self._named} if self._named not in (None, model) else None)
        if self._pending_start is not None:
            self._pending_start = replace(self._pending_start, model=model)
        else:
            self._start = replace(self._start, model=model)
            out.append(events.Named(model=model))
