"""Decoder for Responses streams: items open, receive deltas and are done, several at once, and the last event repeats them all.

Each delta becomes an event immediately. The functions for whole responses decode the items that are done, and only new content is emitted.
An item that is never done is decoded from the last event. Servers omit sequence numbers and item events, change ids, and send an empty
output in the last event (fixtures text_no_sequence, text_no_envelopes, text_ids_rotate, text_empty_output).

``is_error_event`` and ``unknown_fields`` are public because folding a stream needs them, too.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from typing import Any

from formatbridge import ir
from formatbridge.formats.format import EndReason
from formatbridge.formats.responses.content import decode_part
from formatbridge.formats.responses.conversation import decode_item, item_type
from formatbridge.formats.responses.errors import decode_error, decode_error_event, move_request_id
from formatbridge.formats.responses.response import add_message_to_response, decode_finish, decode_response
from formatbridge.formats.responses.stream_state import (
    Item,
    Items,
    PartEmitter,
    Slot,
    as_opened,
    decode_annotation_event,
    decode_opening_part,
    has_citations,
    pending_events,
    text_length,
)
from formatbridge.formats.shared.choices import fill_missing_head, read_id_model_time
from formatbridge.formats.shared.logprobs import decode_tokens
from formatbridge.formats.shared.reasoning_tokens import carries_call_token
from formatbridge.formats.shared.unmodelled_fields import Pieces, extend_extra, merge_extra, read_extra, unknown_event
from formatbridge.ir import events
from formatbridge.jsontext.pointers import escape
from formatbridge.jsontext.types import JsonObject
from formatbridge.streaming.sse import PINGS

_ARGUMENTS = ("function_call_arguments", "custom_tool_call_input", "mcp_call_arguments", "code_interpreter_call_code")
"""The stems of the event types with the arguments of a call."""
# Source: the official SDK, the types of events in ``ResponseStreamEvent``.
_FIELDS = frozenset({
    "type", "sequence_number", "obfuscation", "item_id", "output_index", "content_index", "summary_index", "annotation_index", "delta",
    "logprobs", "text", "refusal", "arguments", "name", "input", "code", "item", "part", "annotation", "response", "message", "param",
    "error", "call_id", "status", "command", "command_index", "output", "partial_image_b64", "partial_image_index", "background",
    "output_format", "quality", "size", "diff",
})  # fmt: skip
"""The known fields of events; any other becomes an unmodelled field of the response."""
_REPEATED_EVENTS = frozenset({
    "keepalive", "response.created", "response.in_progress", "response.queued", "response.reasoning_part.added",
    "response.reasoning_part.done", "response.reasoning_summary_part.added", "response.reasoning_summary_part.done",
    "response.shell_call_command.added", "response.shell_call_command.delta", "response.shell_call_command.done",
    "response.shell_call_output_content.delta", "response.shell_call_output_content.done",
    "response.apply_patch_call_operation_diff.delta", "response.apply_patch_call_operation_diff.done",
    "response.image_generation_call.partial_image", "response.image_generation_call.generating",
    "response.code_interpreter_call.interpreting", "response.web_search_call.searching", "response.file_search_call.searching",
    "response.mcp_list_tools.failed", "response.mcp_call.failed", "response.compaction.compacting",
    *(f"response.{kind}.{stage}" for kind in (
        "code_interpreter_call", "web_search_call", "file_search_call", "image_generation_call", "mcp_list_tools", "mcp_call",
    ) for stage in ("in_progress", "completed")),
})  # fmt: skip
"""Events whose content an item, a part or the last event repeats."""
_START_EVENTS = _REPEATED_EVENTS - PINGS
"""Those of them that start a response."""


def is_error_event(raw: JsonObject) -> bool:
    """Return whether an event without a type is an error body that a server sends as an event. It may also be padding."""
    # {"error": {"message": "..."}}, {"message": "..."} or {"detail": "..."}
    return bool(raw.get("error")) or "message" in raw or "detail" in raw


_LIST_KEYS = ("summary", "content")
_TEXT_KEYS = ("arguments", "input", "code")
_UNCOMPARED = {"id": ..., "status": ...}
"""Fields that are not compared with the last event (``...``), because they are not emitted."""


def _summarize_done_item(raw: JsonObject, slots: Iterable[Slot]) -> JsonObject:
    """Return the shape of a done item: lengths and hashes instead of values. Lists and texts with longer deltas count as complete."""
    # The shape is only compared with the last event, which repeats the item. So it needs no memory for the values.
    out: JsonObject = _summarize(raw)
    lists = [raw[name] for name in _LIST_KEYS if isinstance(raw.get(name), list)]
    parts = [part for items in lists for part in items if isinstance(part, dict)]
    texts = [*(part.get("text") or part.get("refusal") for part in parts), *(raw.get(name) for name in _TEXT_KEYS)]
    done_length = sum(len(text) for text in texts if isinstance(text, str))
    annotations = sum(len(part["annotations"]) for part in parts if isinstance(part.get("annotations"), list))
    emitted_length, emitted_annotations = 0, 0
    for slot in slots:
        emitted_length, emitted_annotations = emitted_length + slot.length, emitted_annotations + slot.annotations
    has_longer_deltas = emitted_length > done_length or emitted_annotations > annotations
    return out | _UNCOMPARED | (dict.fromkeys((*_LIST_KEYS, *_TEXT_KEYS), ...) if has_longer_deltas else {})


def _summarize(value: Any, depth: int = 8) -> Any:
    """Return the shape of a value; below the depth of all known items it counts as complete."""
    match value:
        case dict() | list() if not depth:
            return ...
        case dict():
            return {key: _summarize(item, depth - 1) for key, item in value.items()}
        case list():
            return [_summarize(item, depth - 1) for item in value]
        case str():
            return len(value), hash(value)
    return value is not None


def _without_text(item: Item, raw: JsonObject) -> tuple[JsonObject, JsonObject | None]:
    """Return a done item without its reasoning text, if its summary was emitted as the reasoning; the text becomes a field."""
    # The decoder of whole items prefers the text to the summary. But the deltas of the summary came first, and were emitted.
    slot = item.slots.get(0)
    opened = slot.part if slot is not None and slot.length else None
    if item.kind != "reasoning" or not isinstance(opened, ir.Reasoning) or not opened.is_summary or not raw.get("content"):
        return raw, None
    return {key: value for key, value in raw.items() if key != "content"}, {f"/output/{item.position}/content": raw["content"]}


def _fields_after_close(item: Item, parts: list[ir.Part]) -> JsonObject:
    """Return the fields of a done item that belong to parts which closed without them, by pointer from the root."""
    closed = [(item.slots[index], part) for index, part in enumerate(parts) if index in item.slots and item.slots[index].is_closed]
    return {
        f"{part.src}/{name}": value
        for slot, part in closed
        for name, value in (getattr(part, "extra", None) or {}).items()
        if name not in (slot.extra or {})
    }


def _missing_parts(item: Item, raw: JsonObject) -> tuple[list[tuple[int, ir.Part]], JsonObject]:
    """Return the content of an item that only the last event has: parts with their places, and other fields."""
    # Some servers leave a token or citations out of the ``done`` event (fixtures ``reasoning_token_last``, ``more_fields_in_last_event``).
    missing = dict(_missing_values(raw, item.done_shape, src := f"/output/{item.position}"))
    if not missing:
        return [], missing
    parts: list[ir.Part] = []
    decode_item(raw, item.kind, src, parts)
    if item.kind == "message":
        add_message_to_response(parts, raw["content"], [], item.start)
    parts_with_places = [(index, more) for index, part in enumerate(parts) if (more := _missing_part(part, missing))]
    return parts_with_places, missing


def _missing_part(part: ir.Part, missing: JsonObject) -> ir.Part | None:
    """Return the missing content of a closed part that can still be emitted, and remove it from ``missing``."""
    if isinstance(part, ir.Text):
        text, has_none = missing.pop(f"{part.src}/text", ""), missing.pop(f"{part.src}/annotations", None)
        new = [citation for citation in part.citations or () if has_none or missing.pop(citation.src, None)]
        return replace(part, text=text, citations=new or None, signature=None, extra=None) if text or new else None
    if isinstance(part, ir.Reasoning) and missing.pop(f"{part.src}/encrypted_content", None):
        return replace(part, text="", extra=None)
    return None


def _missing_values(value: Any, known: Any, pointer: str) -> Iterator[tuple[str, Any]]:
    """Yield the values that are missing in a known shape, by pointer; of a longer text, its end. A different text yields nothing."""
    match value, known:
        case _ if known is ... or value in (None, "", [], {}):
            return
        case dict(), dict() if known:
            for key, item in value.items():
                yield from _missing_values(item, known.get(key), f"{pointer}/{escape(key)}")
        case list(), list() if known:
            for index, item in enumerate(value):
                yield from _missing_values(item, known[index] if index < len(known) else None, f"{pointer}/{index}")
        case str(), (int(length), prefix_hash):
            if len(value) > length and hash(value[:length]) == prefix_hash:
                yield pointer, value[length:]
        case _ if not known:
            yield pointer, value


_OPENED_BY_DELTA = frozenset({"message", "reasoning", "image_generation_call", "tool_search_call"})
"""Items whose parts open with their first delta: their kind is not known before."""
_TEXT_FIELDS = {"output_text": "text", "refusal": "refusal"}
"""Type of content that becomes a part, to its field."""


class StreamDecoder:
    """Decodes the events of one stream. ``is_complete``: the last event or an error has come."""

    END = "response.completed, response.incomplete or response.failed"

    NEVER_REPEATED: frozenset[str] = frozenset()

    def __init__(self) -> None:
        self.is_complete = False
        self.has_unknown_fields = False
        self._pending_start: events.Start | None = events.Start(None, None)
        self._started = events.Start(None, None)  # the start with the values that were emitted
        self._head: JsonObject = {}  # the response of the events before the last
        self._items = Items()
        self._extra: JsonObject | None = None
        self._fields = Pieces()  # unmodelled fields of the response, from all events
        self._emitter = PartEmitter()

    def feed(self, raw: JsonObject, count: int = 1) -> list[events.Event]:
        """Decode one event and return the canonical events. ``count``: the number of joined events that it stands for."""
        out: list[events.Event] = []
        self._emitter.out = out
        if self.is_complete:
            return out
        kind = raw.get("type")
        body = raw.get("response")
        method = _METHODS.get(kind) if isinstance(kind, str) else StreamDecoder._fail_untyped if is_error_event(raw) else None
        if self._pending_start is not None:  # unknown events start no response
            if method or kind in _START_EVENTS or raw.get("error") or isinstance(body, dict):
                self._begin(body if isinstance(body, dict) else {})
        elif isinstance(body, dict):  # a resumed stream (fixture text_no_created)
            self._started = fill_missing_head(self._started, *read_id_model_time(body, "created_at"), out)
        if isinstance(body, dict):
            self._head |= body
        fields = unknown_fields(raw)
        if fields:
            self._fields.take(fields, count)
        self.has_unknown_fields = bool(fields)
        if method:
            method(self, raw)
        if raw.get("error") and not self.is_complete:  # openai-python raises on it, whatever its type
            self._fail(raw)
        return out

    def finish(self, reason: EndReason) -> list[events.Event]:
        """Return the pending events. A complete response has none, because its last event ends it; ``[DONE]`` has no effect."""
        out: list[events.Event] = [] if self._pending_start is None else [self._pending_start]
        if reason == "end_of_bytes":
            self._pending_start = None
        elif reason == "truncated":
            fields = [] if self.is_complete else self._metadata(self._fields.to_object())
            return [*out, *fields, *pending_events(self._items, self._emitter, self._head)]
        return out if reason == "end_of_bytes" else []

    def _begin(self, body: JsonObject) -> None:
        self._pending_start = None
        self._started = events.Start(*read_id_model_time(body, "created_at"))
        self._emitter.out.append(self._started)

    def _end(self, raw: JsonObject) -> None:
        """Decode the last event: close the open items with its output, then emit the finish reason."""
        # {"type": "response.completed", "response": {"id": "resp_1", "status": "completed", "output": [...], "usage": {...}}}
        body, self._head = raw.get("response") or {}, {}
        output: list[JsonObject] = body.get("output") or []
        for position, item_raw in enumerate(output):
            item = self._items.find_repeated(item_raw, position)
            if not item.is_closed:
                self._emit_waiting_item(item)
                self._close(item, item_raw)
                self._emit_waiting_items()
            elif item.done_shape is not None:
                self._add_missing(item, item_raw)
        # The output may omit items, or be empty (fixture text_empty_output). These close with the content of their events.
        for item in sorted(self._items.all, key=lambda item: item.position):
            if unopened_call := item.unopened_call():
                self._close(item, unopened_call)
            self._close_open(item)
        self._emitter.flush_token()
        # Without a status, the type of the event contains it.
        body = {**body, "status": body.get("status") or raw["type"].removeprefix("response.")}
        finish = decode_finish({**body, "output": output or [item.stub() for item in self._items.all]})
        response = decode_response({**body, "id": body.get("id") or "", "output": []})
        is_failure = raw.get("error") or raw["type"] == "response.failed"
        error = decode_error_event(raw) if is_failure and not body.get("error") else response.error
        if error is None:
            self._emitter.out.append(events.ChoiceEnd(0, finish))
        if response.usage:
            self._emitter.out.append(events.UsageUpdate(response.usage))
        self._emit_end(events.Failed(error) if error else events.End(), response.extra)

    def _metadata(self, fields: JsonObject) -> list[events.Event]:
        """Return the unmodelled fields of the response; the usage is only in the last event."""
        return [events.FieldsUpdate(extra, choice) for extra, choice in ((self._extra, 0), (fields, None)) if extra]

    def _emit_end(self, end: events.Failed | events.End, extra: JsonObject | None = None) -> None:
        """Emit the unmodelled fields of the response, then its end."""
        fields = {**(extra or {}), **self._fields.to_object()}
        if isinstance(end, events.Failed):
            move_request_id(end.error, fields)
        self._emitter.out += [*self._metadata(fields), end]
        self.is_complete = True

    def _fail(self, raw: JsonObject) -> None:
        self._emit_end(events.Failed(decode_error_event(raw)))

    def _fail_untyped(self, raw: JsonObject) -> None:
        self._emit_end(events.Failed(decode_error(raw, status=None)))

    def _add_item(self, raw: JsonObject) -> None:
        # {"type": "response.output_item.added", "output_index": 0, "item": {"type": "message", "id": "msg_1", "content": []}}
        added, index = raw["item"], raw.get("output_index")
        item = self._items.add(item_type(added), index, added.get("id"))
        item.added = added
        part = decode_opening_part(item, added) if item.kind not in _OPENED_BY_DELTA else None
        if part:
            self._emitter.open(item, 0, part)
        # A call without an id or a name opens when it is done. Until then its deltas are kept.
        elif item.kind not in _OPENED_BY_DELTA:
            item.known = dict(added)

    def _finish_item(self, raw: JsonObject) -> None:
        done = raw["item"]
        item = self._items.find(raw, done.get("id"), item_type(done))
        if not item.is_closed and self._may_close(item, done):
            self._close_as_done(item, done)
            self._emit_waiting_items()
        elif not item.is_closed:
            item.waiting.append((None, raw))

    def _may_close(self, item: Item, raw: JsonObject) -> bool:
        """Return whether an item can be closed now; one with citations waits until the messages before it are complete."""
        # Canonical spans count from the start of the response, and messages may interleave (fixture reasoning_around_message).
        return not (item.waiting or has_citations(raw)) or self._items.has_known_start(item)

    def _close_as_done(self, item: Item, raw: JsonObject) -> None:
        item.done_shape = _summarize_done_item(raw, item.slots.values())
        self._close(item, raw)

    def _emit_waiting_items(self) -> None:
        """Decode the events that waited until the messages before theirs were complete."""
        while (item := self._items.first_open_message()) is not None and item.waiting:
            self._emit_waiting_item(item)

    def _emit_waiting_item(self, item: Item) -> None:
        waiting, item.waiting = item.waiting, []
        for slot, raw in waiting:
            if slot is None and not item.is_closed:
                self._close_as_done(item, raw["item"])
            elif slot is not None and not slot.is_closed:
                self._emit_citations(slot, raw)

    def _close_open(self, item: Item) -> None:
        """Close an item that was never done."""
        if not item.is_closed:
            item.length = text_length(item)
            self._emitter.close(item)
            self._emit_waiting_items()

    def _add_missing(self, item: Item, raw: JsonObject) -> None:
        """Emit the content of a done item that only the last event has."""
        parts, missing = _missing_parts(item, raw)
        for part_index, part in parts:
            self._emitter.add(item, part_index, part)
        self._extra = extend_extra(self._extra, missing)

    def _close(self, item: Item, raw: JsonObject) -> None:
        """Decode a done item and emit the content that was not emitted yet."""
        parts, tokens = self._decode_done(item, raw)
        were_emitted = any(slot.tokens for slot in item.slots.values())
        slots_out_of_range = item.slots_out_of_range(len(parts))
        for part_index, part in enumerate(parts):
            slot = item.slots.get(part_index) or next(slots_out_of_range, None)
            if isinstance(part, ir.Refusal):
                item.has_refusal = True
            # A carried token of this kind belongs to the next part, whose item follows.
            if slot is None and isinstance(part, ir.Reasoning) and carries_call_token(part):
                self._emitter.flush_token()
                self._emitter.token, self._emitter.token_position = part, (item.position, part_index)
                continue
            slot = slot or self._emitter.open(item, part_index, as_opened(part))
            # Without log probabilities in its deltas, the first text that is open gets those of the item.
            if tokens and not were_emitted and isinstance(part, ir.Text) and not slot.is_closed:
                self._emitter.out.append(events.Delta(0, slot.number, "", tokens))
                were_emitted = True
            self._emitter.complete(slot, part)
        self._emitter.close(item)

    def _decode_done(self, item: Item, raw: JsonObject) -> tuple[list[ir.Part], list[ir.TokenLogprob]]:
        """Decode the parts of a done item and their log probabilities. Its unmodelled fields become those of the choice."""
        parts: list[ir.Part] = []
        # The item may have another type than the deltas implied.
        was_message, item.kind, item.execution = item.kind == "message", item_type(raw), raw.get("execution")
        if item.kind == "message" and not was_message:
            self._items.add_message(item)
        raw, text_field = _without_text(item, raw)
        extra = merge_extra(decode_item(raw, item.kind, f"/output/{item.position}", parts), text_field)
        if extra:
            self._extra = extend_extra(self._extra, extra)
        tokens: list[ir.TokenLogprob] = []
        if item.kind == "message":
            start = self._items.length
            item.length = add_message_to_response(parts, raw["content"], tokens, start) - start
        self._extra = extend_extra(self._extra, _fields_after_close(item, parts))
        return parts, tokens

    def _add_text(self, raw: JsonObject) -> None:
        # {"type": "response.output_text.delta", "item_id": "msg_1", "output_index": 0, "content_index": 0, "delta": "Hel"}
        slot = self._message_slot(raw, "output_text")
        if slot is None:
            return
        logprobs, tokens = raw.get("logprobs"), None
        if logprobs:
            tokens = decode_tokens(logprobs, f"{slot.src}/logprobs", slot.tokens)
            slot.tokens += len(tokens)
        self._emitter.add_text(slot, raw.get("delta"), tokens)

    def _add_refusal(self, raw: JsonObject) -> None:
        if slot := self._message_slot(raw, "refusal"):
            self._emitter.add_text(slot, raw.get("delta"))

    def _message_slot(self, raw: JsonObject, kind: str) -> Slot | None:
        """Return the part of a message for an event, or None if it is closed. Its ``added`` event may be missing (text_no_envelopes)."""
        item = self._items.find(raw, raw.get("item_id"), "message")
        part_index = raw.get("content_index") or 0
        slot = item.slots.get(part_index)
        if slot is None and not item.is_closed:
            slot = self._open_text(item, part_index, kind)
        return None if slot is None or slot.is_closed else slot

    def _open_text(self, item: Item, part_index: int, kind: str) -> Slot:
        """Open a part of a message, and close the part before it if that is done."""
        start, before = 0, item.latest
        if before is not None:
            start = before.start + (before.length if isinstance(before.part, ir.Text) else 0)
            # The part before is done, so it can close now. Otherwise it closes with its item.
            if before.whole is not None and self._items.has_known_start(item):
                part = decode_part(before.whole, before.src, item.id)
                add_message_to_response([part], [before.whole], [], self._items.length + before.start)
                self._emitter.complete(before, part)
        slot = self._emitter.open(
            item,
            part_index,
            decode_part({"type": kind, _TEXT_FIELDS[kind]: ""}, f"/output/{item.position}/content/{part_index}", item.id),
        )
        slot.start = start
        return slot

    def _add_part(self, raw: JsonObject) -> None:
        kind = raw["part"].get("type")
        if kind in _TEXT_FIELDS:
            self._message_slot(raw, kind)
        self._note_part(raw)

    def _finish_part(self, raw: JsonObject) -> None:
        part = raw["part"]
        if part.get("type") in _TEXT_FIELDS and (slot := self._message_slot(raw, part["type"])):
            slot.whole = part
        self._note_part(raw)

    def _note_part(self, raw: JsonObject) -> None:
        """Keep the part of an ``added`` or ``done`` event, in case the stream is truncated before the item is done."""
        item, name = self._items.get(raw, raw.get("item_id")), "summary" if "summary" in raw["type"] else "content"
        if item is not None and not item.is_closed:
            place = name, raw.get(f"{name}_index") or 0
            item.parts[place] = item.parts.get(place, {}) | raw["part"]

    def _add_annotation(self, raw: JsonObject) -> None:
        slot, annotation = self._message_slot(raw, "output_text"), raw.get("annotation")
        if slot is None or not annotation:
            return
        # A refusal has no annotations, so there the event becomes an unmodelled field.
        if not isinstance(slot.part, ir.Text):
            self._fields.take({raw["type"]: raw})
            return
        item = self._items.find(raw, raw.get("item_id"))
        if self._items.has_known_start(item):
            self._emit_citations(slot, raw)
        else:
            item.waiting.append((slot, raw))

    def _emit_citations(self, slot: Slot, raw: JsonObject) -> None:
        for citation in decode_annotation_event(slot, raw, self._items.length):
            slot.citations.append(citation)
            self._emitter.out.append(events.PartUpdate(0, slot.number, citation=citation))
        slot.annotations += 1

    def _add_reasoning(self, raw: JsonObject) -> None:
        """Add text to a reasoning item; blank lines separate its parts. Text or summary, whichever arrives first, is kept."""
        # Some servers send no deltas but only the ``done`` event (fixture text_done_only).
        item, kind = self._items.find(raw, raw.get("item_id"), "reasoning"), raw["type"]
        is_summary, is_whole = kind.startswith("response.reasoning_summary"), kind.endswith(".done")
        slot, text = item.slots.get(0), raw.get("text" if is_whole else "delta")
        part_index = raw.get("summary_index" if is_summary else "content_index") or 0
        if item.is_closed or (slot is None and not text):
            return
        if slot is None:
            slot = self._emitter.open(item, 0, ir.Reasoning("", f"/output/{item.position}", is_summary=is_summary, id=item.id))
            slot.part_index = part_index
        if not isinstance(slot.part, ir.Reasoning) or slot.part.is_summary is not is_summary:
            return
        if slot.part_index is not None and part_index > slot.part_index:
            self._emitter.add_text(slot, "\n\n" * (part_index - slot.part_index))
            slot.part_index, slot.part_start = part_index, slot.length
        if not is_whole or slot.length == slot.part_start:
            self._emitter.add_text(slot, text)

    def _add_arguments(self, raw: JsonObject) -> None:
        # {"type": "response.function_call_arguments.delta", "item_id": "fc_1", "output_index": 1, "delta": "{\"a\""}
        item = self._items.find(raw, raw.get("item_id"))
        slot = item.slots.get(0)
        if slot:
            self._emitter.add_text(slot, raw.get("delta"))
        elif not item.is_closed:
            item.keep_arguments(raw, raw.get("delta"))

    def _complete_text(self, raw: JsonObject) -> None:
        kind = raw["type"].split(".")[1]
        slot = self._message_slot(raw, kind)
        if slot and not slot.length:
            self._emitter.add_text(slot, raw.get(_TEXT_FIELDS[kind]))

    def _complete_arguments(self, raw: JsonObject) -> None:
        item = self._items.find(raw, raw.get("item_id"))
        slot, text = item.slots.get(0), next((raw[key] for key in ("arguments", "input", "code") if raw.get(key)), None)
        if slot and not slot.length:
            self._emitter.add_text(slot, text)
        elif slot is None and not item.is_closed:
            item.keep_arguments(raw, text, is_whole=True)


def unknown_fields(raw: JsonObject) -> JsonObject | None:
    """Return the unknown fields of an event, which become fields of the response; an event of an unknown type as a whole."""
    kind = raw.get("type")
    if kind in _REPEATED_EVENTS or kind in _METHODS:
        return read_extra(raw, _FIELDS)
    return None if kind is None and is_error_event(raw) else unknown_event(raw)


_METHODS: dict[str, Callable[[StreamDecoder, JsonObject], None]] = {
    "response.output_text.delta": StreamDecoder._add_text,
    "response.refusal.delta": StreamDecoder._add_refusal,
    "response.reasoning_text.delta": StreamDecoder._add_reasoning,
    "response.reasoning_summary_text.delta": StreamDecoder._add_reasoning,
    **{f"response.{stem}.delta": StreamDecoder._add_arguments for stem in _ARGUMENTS},
    "response.output_item.added": StreamDecoder._add_item,
    "response.output_item.done": StreamDecoder._finish_item,
    "response.content_part.added": StreamDecoder._add_part,
    "response.content_part.done": StreamDecoder._finish_part,
    "response.reasoning_part.added": StreamDecoder._note_part,
    "response.reasoning_part.done": StreamDecoder._note_part,
    "response.reasoning_summary_part.added": StreamDecoder._note_part,
    "response.reasoning_summary_part.done": StreamDecoder._note_part,
    "response.output_text.annotation.added": StreamDecoder._add_annotation,
    "response.output_text.done": StreamDecoder._complete_text,
    "response.refusal.done": StreamDecoder._complete_text,
    "response.reasoning_text.done": StreamDecoder._add_reasoning,
    "response.reasoning_summary_text.done": StreamDecoder._add_reasoning,
    **{f"response.{stem}.done": StreamDecoder._complete_arguments for stem in _ARGUMENTS},
    "response.completed": StreamDecoder._end,
    "response.incomplete": StreamDecoder._end,
    "response.failed": StreamDecoder._end,
    "error": StreamDecoder._fail,
}
