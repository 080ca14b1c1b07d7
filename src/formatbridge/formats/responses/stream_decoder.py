"""Decoder for Responses streams: items that open, add_text and are done, several at once, and a last event that repeats them all.

Deltas become events at once. Items that are done are read by the functions for whole answers, and only what is new in them is emitted.
An item that is never done is read from the last event. Servers leave out sequence numbers and events around items, change ids, and send
an empty last output.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from typing import Any

from formatbridge import ir
from formatbridge.formats.format import EndReason
from formatbridge.formats.responses.content import decode_part
from formatbridge.formats.responses.conversation import decode_item, kind_of
from formatbridge.formats.responses.errors import decode_error, failure_in, take_request_id
from formatbridge.formats.responses.response import decode_finish, decode_response, take_message
from formatbridge.formats.responses.stream_state import (
    Item,
    Items,
    PartEmitter,
    Slot,
    as_opened,
    cited,
    cites,
    length_of,
    opening,
    pending_events,
)
from formatbridge.formats.shared.choices import fill_missing_head, head_of
from formatbridge.formats.shared.logprobs import decode_tokens
from formatbridge.formats.shared.reasoning_tokens import carries_call_token
from formatbridge.formats.shared.unmodelled_fields import Pieces, gathered, joined, rest, unknown_event
from formatbridge.ir import events
from formatbridge.jsontext.pointers import escape
from formatbridge.jsontext.types import JsonObject
from formatbridge.streaming.sse import PINGS

_ARGUMENTS = ("function_call_arguments", "custom_tool_call_input", "mcp_call_arguments", "code_interpreter_call_code")
"""The stems of the events that bring the arguments of a call."""
_FIELDS = frozenset({
    "type", "sequence_number", "obfuscation", "item_id", "output_index", "content_index", "summary_index", "annotation_index", "delta",
    "logprobs", "text", "refusal", "arguments", "name", "input", "code", "item", "part", "annotation", "response", "message", "param",
    "error", "call_id", "status", "command", "command_index", "output", "partial_image_b64", "partial_image_index", "background",
    "output_format", "quality", "size", "diff",
})  # fmt: skip
"""The fields of events; any other becomes an unmodelled field of the answer."""
_REPEATED = frozenset({
    "keepalive", "response.created", "response.in_progress", "response.queued", "response.reasoning_part.added",
    "response.reasoning_part.done", "response.reasoning_summary_part.added", "response.reasoning_summary_part.done",
    "response.shell_call_command.added", "response.shell_call_command.delta", "response.shell_call_command.done",
    "response.shell_call_output_content.delta", "response.shell_call_output_content.done",
    "response.apply_patch_call_operation_diff.delta", "response.apply_patch_call_operation_diff.done",
    "response.image_generation_call.partial_image", "response.image_generation_call.generating",
    "response.code_interpreter_call.interpreting", "response.web_search_call.searching", "response.file_search_call.searching",
    "response.mcp_list_tools.failed", "response.mcp_call.failed", "response.compaction.compacting",
    *(f"response.{kind}.{word}" for kind in (
        "code_interpreter_call", "web_search_call", "file_search_call", "image_generation_call", "mcp_list_tools", "mcp_call",
    ) for word in ("in_progress", "completed")),
})  # fmt: skip
"""Events whose content an item, a part or the last event repeats."""
_BEGINS = _REPEATED - PINGS
"""Those of them that begin an answer."""


def is_untyped_error(raw: JsonObject) -> bool:
    """Return whether an event without a type is an error body that a server sends as an event. It may also be padding."""
    return bool(raw.get("error")) or "message" in raw or "detail" in raw


_LISTS = ("summary", "content")
_TEXTS = ("arguments", "input", "code")
_ANY = {"id": ..., "status": ...}
"""Fields that may differ, because they are not emitted."""


def shape_of(raw: JsonObject, slots: Iterable[Slot]) -> JsonObject:
    """Return how much a done item has, without its values. Lists and texts with longer deltas count as complete."""
    out: JsonObject = _shape(raw)
    lists = [raw[name] for name in _LISTS if isinstance(raw.get(name), list)]
    parts = [part for each in lists for part in each if isinstance(part, dict)]
    words = [*(part.get("text") or part.get("refusal") for part in parts), *(raw.get(name) for name in _TEXTS)]
    length = sum(len(text) for text in words if isinstance(text, str))
    annotations = sum(len(part["annotations"]) for part in parts if isinstance(part.get("annotations"), list))
    texts, cited = 0, 0
    for slot in slots:
        texts, cited = texts + slot.length, cited + slot.annotations
    return out | _ANY | (dict.fromkeys((*_LISTS, *_TEXTS), ...) if texts > length or cited > annotations else {})


def _shape(value: Any, depth: int = 8) -> Any:
    """Return how much a value has; below the depth of any known item it counts as complete."""
    match value:
        case dict() | list() if not depth:
            return ...
        case dict():
            return {key: _shape(item, depth - 1) for key, item in value.items()}
        case list():
            return [_shape(item, depth - 1) for item in value]
        case str():
            return len(value), hash(value)
    return value is not None


def _without_text(item: Item, raw: JsonObject) -> tuple[JsonObject, JsonObject | None]:
    """Return a done item without its reasoning text, if its summary was emitted as the reasoning; the text becomes a field."""
    slot = item.slots.get(0)
    opened = slot.part if slot is not None and slot.length else None
    if item.kind != "reasoning" or not isinstance(opened, ir.Reasoning) or not opened.summary or not raw.get("content"):
        return raw, None
    return {key: value for key, value in raw.items() if key != "content"}, {f"/output/{item.at}/content": raw["content"]}


def _fields_after_close(item: Item, parts: list[ir.Part]) -> JsonObject:
    """Return the fields of a done item that belong to parts which closed without them, by pointer from the root."""
    closed = [(item.slots[at], part) for at, part in enumerate(parts) if at in item.slots and item.slots[at].is_closed]
    return {
        f"{part.src}/{name}": value
        for slot, part in closed
        for name, value in (getattr(part, "extra", None) or {}).items()
        if name not in (slot.extra or {})
    }


def _missing_parts(item: Item, raw: JsonObject) -> tuple[list[tuple[int, ir.Part]], JsonObject]:
    """Return what an item has in the last event and had not when it was done: as parts with places, and other fields."""
    missing = dict(_absent(raw, item.done_shape, src := f"/output/{item.at}"))
    if not missing:
        return [], missing
    parts: list[ir.Part] = []
    decode_item(raw, item.kind, src, parts)
    if item.kind == "message":
        take_message(parts, raw["content"], [], item.start)
    parts_with_places = [(at, more) for at, part in enumerate(parts) if (more := _missing_part(part, missing))]
    return parts_with_places, missing


def _missing_part(part: ir.Part, missing: JsonObject) -> ir.Part | None:
    """Return what can still be emitted of a closed part, and take it out of what is missing."""
    if isinstance(part, ir.Text):
        text, has_none = missing.pop(f"{part.src}/text", ""), missing.pop(f"{part.src}/annotations", None)
        new = [citation for citation in part.citations or () if has_none or missing.pop(citation.src, None)]
        return replace(part, text=text, citations=new or None, signature=None, extra=None) if text or new else None
    if isinstance(part, ir.Reasoning) and missing.pop(f"{part.src}/encrypted_content", None):
        return replace(part, text="", extra=None)
    return None


def _absent(value: Any, known: Any, at: str) -> Iterator[tuple[str, Any]]:
    """Yield what a value has and its known form lacks, by pointer; of a longer text the rest. A different text adds nothing."""
    match value, known:
        case _ if known is ... or value in (None, "", [], {}):
            return
        case dict(), dict() if known:
            for key, item in value.items():
                yield from _absent(item, known.get(key), f"{at}/{escape(key)}")
        case list(), list() if known:
            for index, item in enumerate(value):
                yield from _absent(item, known[index] if index < len(known) else None, f"{at}/{index}")
        case str(), (int(length), prefix_hash):
            if len(value) > length and hash(value[:length]) == prefix_hash:
                yield at, value[length:]
        case _ if not known:
            yield at, value


_OPENED_BY_DELTA = frozenset({"message", "reasoning", "image_generation_call", "tool_search_call"})
"""Items whose parts open with their first delta: their kind is not known before."""
_TEXTS_OF = {"output_text": "text", "refusal": "refusal"}
"""Kind of content that becomes a part, to its field."""


class StreamDecoder:
    """Decodes the events of one stream. ``is_complete``: the stream brought its last event, or an error."""

    END = "response.completed, response.incomplete or response.failed"

    NEVER_REPEATED: frozenset[str] = frozenset()

    def __init__(self) -> None:
        self.is_complete = False
        self.has_unknown_fields = False
        self._pending_start: events.Start | None = events.Start(None, None)
        self._started = events.Start(None, None)  # as emitted
        self._head: JsonObject = {}  # the answer in the events before the last
        self._items = Items()
        self._extra: JsonObject | None = None
        self._fields = Pieces()  # unmodelled fields of the answer, from events
        self._emitter = PartEmitter()

    def feed(self, raw: JsonObject, count: int = 1) -> list[events.Event]:
        """Take one event, or ``count`` of them joined, and return what it adds."""
        out: list[events.Event] = []
        self._emitter.out = out
        if self.is_complete:
            return out
        kind = raw.get("type")
        body = raw.get("response")
        handle = _HANDLERS.get(kind) if isinstance(kind, str) else StreamDecoder._fail_untyped if is_untyped_error(raw) else None
        if self._pending_start is not None:  # unmodelled events begin no answer
            if handle or kind in _BEGINS or raw.get("error") or isinstance(body, dict):
                self._start(body if isinstance(body, dict) else {})
        elif isinstance(body, dict):  # a resumed stream has the head of its answer at the end
            self._started = fill_missing_head(self._started, *head_of(body, "created_at"), out)
        if isinstance(body, dict):
            self._head |= body
        fields = unknown(raw)
        if fields:
            self._fields.take(fields, count)
        self.has_unknown_fields = bool(fields)
        if handle:
            handle(self, raw)
        if raw.get("error") and not self.is_complete:  # the official client raises on it, whatever its type
            self._fail(raw)
        return out

    def finish(self, reason: EndReason) -> list[events.Event]:
        """Return the pending events. The last event has emitted the end of a complete answer; ``[DONE]`` has no meaning."""
        out: list[events.Event] = [] if self._pending_start is None else [self._pending_start]
        if reason == "end_of_bytes":
            self._pending_start = None
        elif reason == "truncated":
            fields = [] if self.is_complete else self._metadata(self._fields.whole())
            return [*out, *fields, *pending_events(self._items, self._emitter, self._head)]
        return out if reason == "end_of_bytes" else []

    # The answer as a whole.

    def _start(self, body: JsonObject) -> None:
        self._pending_start = None
        self._started = events.Start(*head_of(body, "created_at"))
        self._emitter.out.append(self._started)

    def _end(self, raw: JsonObject) -> None:
        """Take the last event: close the open items by what it repeats, then emit the finish reason."""
        body, self._head = raw.get("response") or {}, {}
        output: list[JsonObject] = body.get("output") or []
        for at, item_raw in enumerate(output):
            item = self._items.repeated(item_raw, at)
            if not item.is_closed:
                self._take_waiting(item)
                self._close(item, item_raw)
                self._release()
            elif item.done_shape is not None:
                self._add_missing(item, item_raw)
        for item in sorted(self._items.all, key=lambda item: item.at):
            if unopened_call := item.unopened_call():
                self._close(item, unopened_call)
            self._close_open(item)
        self._emitter.flush_token()
        body = {**body, "status": body.get("status") or raw["type"].removeprefix("response.")}
        finish = decode_finish({**body, "output": output or [item.stub() for item in self._items.all]})
        shell = decode_response({**body, "id": body.get("id") or "", "output": []})
        is_failure = raw.get("error") or raw["type"] == "response.failed"
        error = failure_in(raw) if is_failure and not body.get("error") else shell.error
        if error is None:
            self._emitter.out.append(events.Finished(0, finish))
        if shell.usage:
            self._emitter.out.append(events.UsageUpdate(shell.usage))
        self._emit_end(events.Failed(error) if error else events.End(), shell.extra)

    def _metadata(self, fields: JsonObject) -> list[events.Event]:
        """Return the fields of the answer that are known; its usage is in the last event alone."""
        return [events.Meta(extra, choice) for extra, choice in ((self._extra, 0), (fields, None)) if extra]

    def _emit_end(self, end: events.Failed | events.End, extra: JsonObject | None = None) -> None:
        """Emit the fields of the answer, then its end."""
        fields = {**(extra or {}), **self._fields.whole()}
        if isinstance(end, events.Failed):
            take_request_id(end.error, fields)
        self._emitter.out += [*self._metadata(fields), end]
        self.is_complete = True

    def _fail(self, raw: JsonObject) -> None:
        self._emit_end(events.Failed(failure_in(raw)))

    def _fail_untyped(self, raw: JsonObject) -> None:
        self._emit_end(events.Failed(decode_error(raw, status=None)))

    # Items.

    def _add_item(self, raw: JsonObject) -> None:
        added, index = raw["item"], raw.get("output_index")
        item = self._items.add(kind_of(added), index, added.get("id"))
        item.added = added
        part = opening(item, added) if item.kind not in _OPENED_BY_DELTA else None
        if part:
            self._emitter.open(item, 0, part)
        elif item.kind not in _OPENED_BY_DELTA:
            item.known = dict(added)

    def _finish_item(self, raw: JsonObject) -> None:
        done = raw["item"]
        item = self._items.find(raw, done.get("id"), kind_of(done))
        if not item.is_closed and self._may_close(item, done):
            self._close_as_done(item, done)
            self._release()
        elif not item.is_closed:
            item.waiting.append((None, raw))

    def _may_close(self, item: Item, raw: JsonObject) -> bool:
        """Return whether an item can be emitted: its citations wait for the messages before it."""
        return not (item.waiting or cites(raw)) or self._items.is_next(item)

    def _close_as_done(self, item: Item, raw: JsonObject) -> None:
        item.done_shape = shape_of(raw, item.slots.values())
        self._close(item, raw)

    def _release(self) -> None:
        """Take the events that waited for the messages before theirs."""
        while (item := self._items.first()) is not None and item.waiting:
            self._take_waiting(item)

    def _take_waiting(self, item: Item) -> None:
        waiting, item.waiting = item.waiting, []
        for slot, raw in waiting:
            if slot is None and not item.is_closed:
                self._close_as_done(item, raw["item"])
            elif slot is not None and not slot.is_closed:
                self._cite(slot, raw)

    def _close_open(self, item: Item) -> None:
        """Close an item that was never done."""
        if not item.is_closed:
            item.length = length_of(item)
            self._emitter.close(item)
            self._release()

    def _add_missing(self, item: Item, raw: JsonObject) -> None:
        """Emit what only the last event has of a done item."""
        parts, missing = _missing_parts(item, raw)
        for at, part in parts:
            self._emitter.add(item, at, part)
        self._extra = gathered(self._extra, missing)

    def _close(self, item: Item, raw: JsonObject) -> None:
        """Decode a done item and emit what was not emitted yet."""
        parts: list[ir.Part] = []
        was_message, item.kind, item.execution = item.kind == "message", kind_of(raw), raw.get("execution")
        if item.kind == "message" and not was_message:
            self._items.add_message(item)
        raw, text_field = _without_text(item, raw)
        extra = joined(decode_item(raw, item.kind, f"/output/{item.at}", parts), text_field)
        if extra:
            self._extra = gathered(self._extra, extra)
        tokens: list[ir.TokenLogprob] = []
        if item.kind == "message":
            start = self._items.length
            item.length = take_message(parts, raw["content"], tokens, start) - start
        self._extra = gathered(self._extra, _fields_after_close(item, parts))
        were_emitted = any(slot.tokens for slot in item.slots.values())
        slots_out_of_range = item.slots_out_of_range(len(parts))
        for at, part in enumerate(parts):
            slot = item.slots.get(at) or next(slots_out_of_range, None)
            if isinstance(part, ir.Refusal):
                item.has_refusal = True
            if slot is None and isinstance(part, ir.Reasoning) and carries_call_token(part):
                self._emitter.flush_token()
                self._emitter.token, self._emitter.place = part, (item.at, at)
                continue
            slot = slot or self._emitter.open(item, at, as_opened(part))
            if tokens and not were_emitted and isinstance(part, ir.Text) and not slot.is_closed:
                self._emitter.out.append(events.Delta(0, slot.number, "", tokens))
                were_emitted = True
            self._emitter.complete(slot, part)
        self._emitter.close(item)

    # Deltas.

    def _text(self, raw: JsonObject) -> None:
        slot = self._message_slot(raw, "output_text")
        if slot is None:
            return
        logprobs, tokens = raw.get("logprobs"), None
        if logprobs:
            tokens = decode_tokens(logprobs, f"{slot.src}/logprobs", slot.tokens)
            slot.tokens += len(tokens)
        self._emitter.add_text(slot, raw.get("delta"), tokens)

    def _refusal(self, raw: JsonObject) -> None:
        if slot := self._message_slot(raw, "refusal"):
            self._emitter.add_text(slot, raw.get("delta"))

    def _message_slot(self, raw: JsonObject, kind: str) -> Slot | None:
        """Return the part of a message that an event belongs to; None where it has closed. Not every server opens a part."""
        item = self._items.find(raw, raw.get("item_id"), "message")
        at = raw.get("content_index") or 0
        slot = item.slots.get(at)
        if slot is None and not item.is_closed:
            slot = self._open_text(item, at, kind)
        return None if slot is None or slot.is_closed else slot

    def _open_text(self, item: Item, at: int, kind: str) -> Slot:
        """Open a part of a message and close the one before it, if that is done."""
        start, before = 0, item.latest
        if before is not None:
            start = before.start + (before.length if isinstance(before.part, ir.Text) else 0)
            if before.whole is not None and self._items.is_next(item):
                part = decode_part(before.whole, before.src, item.id)
                take_message([part], [before.whole], [], self._items.length + before.start)
                self._emitter.complete(before, part)
        slot = self._emitter.open(
            item, at, decode_part({"type": kind, _TEXTS_OF[kind]: ""}, f"/output/{item.at}/content/{at}", item.id)
        )
        slot.start = start
        return slot

    def _add_part(self, raw: JsonObject) -> None:
        kind = raw["part"].get("type")
        if kind in _TEXTS_OF:
            self._message_slot(raw, kind)
        self._note_part(raw)

    def _finish_part(self, raw: JsonObject) -> None:
        part = raw["part"]
        if part.get("type") in _TEXTS_OF and (slot := self._message_slot(raw, part["type"])):
            slot.whole = part
        self._note_part(raw)

    def _note_part(self, raw: JsonObject) -> None:
        """Keep a part as its ``added`` or ``done`` event has it, for a stream that is truncated before its item is done."""
        item, name = self._items.get(raw, raw.get("item_id")), "summary" if "summary" in raw["type"] else "content"
        if item is not None and not item.is_closed:
            place = name, raw.get(f"{name}_index") or 0
            item.parts[place] = item.parts.get(place, {}) | raw["part"]

    def _annotate(self, raw: JsonObject) -> None:
        slot, annotation = self._message_slot(raw, "output_text"), raw.get("annotation")
        if slot is None or not annotation:
            return
        if not isinstance(slot.part, ir.Text):
            self._fields.take({raw["type"]: raw})
            return
        item = self._items.find(raw, raw.get("item_id"))
        if self._items.is_next(item):
            self._cite(slot, raw)
        else:
            item.waiting.append((slot, raw))

    def _cite(self, slot: Slot, raw: JsonObject) -> None:
        for citation in cited(slot, raw, self._items.length):
            slot.citations.append(citation)
            self._emitter.out.append(events.PartMeta(0, slot.number, citation=citation))
        slot.annotations += 1

    def _reason(self, raw: JsonObject) -> None:
        """Add to a reasoning item: blank lines separate its parts. Of text and summary, only the first that comes is added."""
        item, kind = self._items.find(raw, raw.get("item_id"), "reasoning"), raw["type"]
        is_summary, is_whole = kind.startswith("response.reasoning_summary"), kind.endswith(".done")
        slot, text = item.slots.get(0), raw.get("text" if is_whole else "delta")
        step = raw.get("summary_index" if is_summary else "content_index") or 0
        if item.is_closed or (slot is None and not text):
            return
        if slot is None:
            slot = self._emitter.open(item, 0, ir.Reasoning("", f"/output/{item.at}", summary=is_summary, id=item.id))
            slot.step = step
        if not isinstance(slot.part, ir.Reasoning) or slot.part.summary is not is_summary:
            return
        if slot.step is not None and step > slot.step:
            self._emitter.add_text(slot, "\n\n" * (step - slot.step))
            slot.step, slot.stepped = step, slot.length
        if not is_whole or slot.length == slot.stepped:
            self._emitter.add_text(slot, text)

    def _add_arguments(self, raw: JsonObject) -> None:
        item = self._items.find(raw, raw.get("item_id"))
        slot = item.slots.get(0)
        if slot:
            self._emitter.add_text(slot, raw.get("delta"))
        elif not item.is_closed:
            item.keep_arguments(raw, raw.get("delta"))

    # Complete values, which are used only where no delta came.

    def _whole_text(self, raw: JsonObject) -> None:
        kind = raw["type"].split(".")[1]
        slot = self._message_slot(raw, kind)
        if slot and not slot.length:
            self._emitter.add_text(slot, raw.get(_TEXTS_OF[kind]))

    def _whole_arguments(self, raw: JsonObject) -> None:
        item = self._items.find(raw, raw.get("item_id"))
        slot, text = item.slots.get(0), next((raw[key] for key in ("arguments", "input", "code") if raw.get(key)), None)
        if slot and not slot.length:
            self._emitter.add_text(slot, text)
        elif slot is None and not item.is_closed:
            item.keep_arguments(raw, text, is_whole=True)


def unknown(raw: JsonObject) -> JsonObject | None:
    """Return the unmodelled fields of an event, as fields of the answer: of an unknown type, all of it."""
    kind = raw.get("type")
    if kind in _REPEATED or kind in _HANDLERS:
        return rest(raw, _FIELDS)
    return None if kind is None and is_untyped_error(raw) else unknown_event(raw)


_HANDLERS: dict[str, Callable[[StreamDecoder, JsonObject], None]] = {
    "response.output_text.delta": StreamDecoder._text,
    "response.refusal.delta": StreamDecoder._refusal,
    "response.reasoning_text.delta": StreamDecoder._reason,
    "response.reasoning_summary_text.delta": StreamDecoder._reason,
    **{f"response.{stem}.delta": StreamDecoder._add_arguments for stem in _ARGUMENTS},
    "response.output_item.added": StreamDecoder._add_item,
    "response.output_item.done": StreamDecoder._finish_item,
    "response.content_part.added": StreamDecoder._add_part,
    "response.content_part.done": StreamDecoder._finish_part,
    "response.reasoning_part.added": StreamDecoder._note_part,
    "response.reasoning_part.done": StreamDecoder._note_part,
    "response.reasoning_summary_part.added": StreamDecoder._note_part,
    "response.reasoning_summary_part.done": StreamDecoder._note_part,
    "response.output_text.annotation.added": StreamDecoder._annotate,
    "response.output_text.done": StreamDecoder._whole_text,
    "response.refusal.done": StreamDecoder._whole_text,
    "response.reasoning_text.done": StreamDecoder._reason,
    "response.reasoning_summary_text.done": StreamDecoder._reason,
    **{f"response.{stem}.done": StreamDecoder._whole_arguments for stem in _ARGUMENTS},
    "response.completed": StreamDecoder._end,
    "response.incomplete": StreamDecoder._end,
    "response.failed": StreamDecoder._end,
    "error": StreamDecoder._fail,
}
