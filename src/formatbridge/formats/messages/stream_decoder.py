"""Decoder for streams of Anthropic Messages: ``message_start``, content blocks, ``message_delta`` with the usage, ``message_stop``.

Relays omit some of these events (fixtures end_without_stop, stop_without_end). ``stream_state`` handles deviations in content blocks.

``is_error_event`` is public because folding a stream needs it, too.
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
from formatbridge.formats.shared.unmodelled_fields import Pieces, read_extra, unknown_event
from formatbridge.ir import events
from formatbridge.jsontext.types import JsonObject

_STOP = frozenset({"stop_reason", "stop_sequence", "stop_details"})
_EVENT = frozenset({"type", "delta", "usage", "index", "content_block", "message"})
EVENTS = frozenset({
    "content_block_start", "content_block_delta", "content_block_stop", "message_start", "message_delta", "message_stop", "ping",
})  # fmt: skip
"""The types of events. An event of another type becomes an unmodelled field of the response."""


def is_error_event(raw: JsonObject) -> bool:
    """Return whether an event of an unknown type is an error, in any format. An event without a type may also be padding."""
    kind = raw.get("type")
    return kind == "error" or "error" in raw or (kind is None and ("message" in raw or "detail" in raw))


class StreamDecoder:
    """Decodes the events of one stream. ``is_complete``: the stream has its terminal event or an error."""

    END = "message_stop, after a stop reason or complete blocks"

    NEVER_REPEATED: frozenset[str] = frozenset()

    def __init__(self) -> None:
        self.is_complete = False
        self.has_unknown_fields = False
        self._pending_start: events.Start | None = events.Start(None, None)
        self._start = events.Start(None, None)  # as emitted
        self._has_begun = False
        self._has_stopped = False
        self._is_truncated = False
        self._first_model: str | None = None
        self._blocks = Blocks()
        self._usage: JsonObject | None = None
        self._stop: JsonObject = {}
        self._extra = Pieces()

    def feed(self, raw: JsonObject, count: int = 1) -> list[events.Event]:
        """Take one event, or ``count`` joined events, and return the canonical events."""
        if self.is_complete or self._is_truncated:
            return []
        out: list[events.Event] = []
        kind = raw.get("type")
        fields = read_extra(raw, _EVENT) if kind in EVENTS else None
        if fields:
            self._extra.take(fields, count)
        self.has_unknown_fields = bool(fields)
        if kind == "content_block_delta":
            if self._pending_start is not None:
                self._emit_start(out)
            self.has_unknown_fields = self._blocks.take_delta(raw, out, count) or self.has_unknown_fields
        else:
            self._take(kind, raw, out)
        return out

    def finish(self, reason: EndReason) -> list[events.Event]:
        """Return the pending events. A stop reason completes the response even without ``message_stop``. ``[DONE]`` has no meaning."""
        out: list[events.Event] = []
        if reason == "truncated":
            return [
                *([] if self._pending_start is None else [self._pending_start]),
                *self._metadata(),
                *self._blocks.pending_events(),
            ]
        if reason == "end_of_bytes":
            # Some relays leave out ``message_stop`` (fixture end_without_stop).
            if not self.is_complete and self._has_stopped:
                self._end(out)
            elif self._pending_start is not None:
                self._emit_start(out)
        return out

    def _take(self, kind: object, raw: JsonObject, out: list[events.Event]) -> None:
        match kind:
            case "content_block_start":
                self._take_block_start(raw, out)
            case "content_block_stop":
                self._blocks.end(raw.get("index"), out)
            case "message_start":
                self._take_message_start(raw.get("message") or {}, out)
            case "message_delta":
                self._take_message_delta(raw)
            # Some relays end a complete response without a stop reason (fixture stop_without_end).
            case "message_stop" if self._stop.get("stop_reason") or self._blocks.are_complete:
                self._end(out)
            case "message_stop":  # after an incomplete block
                self._is_truncated = True
            case "ping":
                pass
            case _ if is_error_event(raw):
                self._fail(raw, out)
            case _:  # an unmodelled field of the response
                self._extra.take(unknown_event(raw))

    def _take_message_start(self, message: JsonObject, out: list[events.Event]) -> None:
        """Take the start. It stays pending until the first block, which may be a ``fallback`` block with another model."""
        if message.get("usage") is not None:
            self._usage = (self._usage or {}) | without_nulls(message["usage"])
        # Some relays send the start twice, or after the first text (fixtures text_start_twice, ``text_named_in_last_event``).
        if self._has_begun:
            self._take_repeated_start(message.get("id"), message.get("model"), out)
            self._extra.take(read_extra(message, RESPONSE_FIELDS))
            return
        self._has_begun = True
        usage = decode_usage(self._usage, "/usage") if self._usage is not None else None
        self._first_model = message.get("model")
        self._pending_start = events.Start(
            message.get("id") or None, self._first_model, None, usage, read_extra(message, RESPONSE_FIELDS)
        )
        self._stop = {key: value for key, value in message.items() if key in _STOP and value is not None}
        # Some relays send the first block in the start (fixture text_in_block_start).
        for block in message.get("content") or ():
            self._take_block_start({"content_block": block}, out)
            self._blocks.end(None, out)

    def _take_repeated_start(self, id: str | None, model: str | None, out: list[events.Event]) -> None:
        """Take a second start. It adds missing fields to the first one. Different values become an unmodelled field."""
        if self._pending_start is None:
            self._start = fill_missing_head(self._start, id, model, None, out)
        else:
            self._first_model = self._first_model or model
            start = self._pending_start
            self._pending_start = replace(start, id=start.id or id or None, model=start.model or model)
        known = self._pending_start or self._start
        pairs = {"id": (id, known.id), "model": (model, known.model if model != self._first_model else model)}
        if different := {name: new for name, (new, old) in pairs.items() if new and new != old}:
            self._extra.take({"message_start": different})

    def _emit_start(self, out: list[events.Event]) -> None:
        if not self._has_begun:
            self._take_message_start({}, out)
        if self._pending_start is not None:
            out.append(self._pending_start)
            self._start, self._pending_start = self._pending_start, None

    def _take_message_delta(self, raw: JsonObject) -> None:
        """Take the stop reason and the usage. Each count replaces the previous one."""
        stop = without_nulls(raw.get("delta") or {})
        self._has_stopped = self._has_stopped or bool(stop.get("stop_reason"))
        self._stop |= stop
        # "The token counts shown in the `usage` field of the `message_delta` event are cumulative" (Anthropic, Streaming messages).
        # Relays send null for counts that they do not have (fixture usage_nulls).
        if raw.get("usage") is not None:
            self._usage = self._usage or {}
            self._usage |= without_nulls(raw["usage"])

    def _end(self, out: list[events.Event]) -> None:
        self.is_complete = True
        self._emit_start(out)
        self._blocks.end_all(out)
        out.append(events.ChoiceEnd(0, decode_finish(self._stop) or ir.Finish("stop")))
        out += [*self._metadata(), events.End()]

    def _metadata(self) -> list[events.Event]:
        """Return the current usage and unmodelled fields."""
        out: list[events.Event] = []
        if self._usage is not None:
            out.append(events.UsageUpdate(decode_usage(self._usage, "/usage")))
        extra = {**self._extra.to_object(), **(read_extra(self._stop, _STOP) or {})}
        return [*out, events.FieldsUpdate(extra)] if extra else out

    def _fail(self, raw: JsonObject, out: list[events.Event]) -> None:
        self.is_complete = True
        self._emit_start(out)
        out += [*self._metadata(), events.Failed(decode_error(raw, status=None))]

    def _take_block_start(self, raw: JsonObject, out: list[events.Event]) -> None:
        content = raw["content_block"]
        if not self._has_begun:
            self._take_message_start({}, out)
        # A ``fallback`` block has no content. It names the model that continues (beta types of the SDK, ``BetaFallbackBlock``).
        if content.get("type") == "fallback":
            self._take_fallback(self._blocks.skip(raw.get("index"), out), content, out)
        else:
            self._emit_start(out)
            self._blocks.begin(raw.get("index"), content, out)

    def _take_fallback(self, src: str, content: JsonObject, out: list[events.Event]) -> None:
        """Take a ``fallback`` block, which names the model that continues the response. A pending start gets this model."""
        self._extra.take({src[1:]: content})
        model = (content.get("to") or {}).get("model")
        if model is None:
            return
        self._extra.take({"model": self._first_model} if self._first_model not in (None, model) else None)
        if self._pending_start is not None:
            self._pending_start = replace(self._pending_start, model=model)
        else:
            self._start = replace(self._start, model=model)
            out.append(events.StartUpdate(model=model))
