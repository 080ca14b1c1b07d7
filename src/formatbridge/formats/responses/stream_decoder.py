"""Streams of responses, read: items that open, grow and are done, several at once, and a last event that repeats everything.

Deltas become events at once; what is done comes whole and is read by the functions that read whole answers, so only what nobody has told
yet is told. An item that is never done is taken from the last event. Servers send neither sequence numbers nor every envelope, change
ids on the way and leave the last output empty.
"""

from __future__ import annotations

from collections.abc import Callable

from formatbridge import ir
from formatbridge.formats.responses.content import decode_part
from formatbridge.formats.responses.conversation import decode_item, kind_of
from formatbridge.formats.responses.errors import decode_error, failure_in, take_request_id
from formatbridge.formats.responses.response import decode_finish, decode_response, take_message
from formatbridge.formats.responses.stream_late import as_told, late, shape, told_behind
from formatbridge.formats.responses.stream_order import Items, cites, length_of
from formatbridge.formats.responses.stream_parts import Item, Slot, Teller, bare, cited, opening
from formatbridge.formats.responses.stream_untold import untold
from formatbridge.formats.responses.stream_words import ARGUMENTS, BEGUN, MEMBERS, SAID, is_plain_error
from formatbridge.formats.shared.choices import fill_missing_head, head_of
from formatbridge.formats.shared.logprobs import decode_tokens
from formatbridge.formats.shared.reasoning_tokens import carries_call_token
from formatbridge.formats.shared.unmodelled_fields import Pieces, gathered, joined, rest, unknown_event
from formatbridge.ir import events
from formatbridge.jsontext.types import JsonObject

_LATE = frozenset({"message", "reasoning", "image_generation_call", "tool_search_call"})
"""Items whose parts open only when something of them comes: what they are is not known before."""
_WORDS = {"output_text": "text", "refusal": "refusal"}
"""Kind of content that becomes a part to its field."""


class StreamDecoder:
    """Reads the events of one stream. ``is_complete``: its last event was there, or an error."""

    END = "response.completed, response.incomplete or response.failed"

    def __init__(self) -> None:
        self.is_complete = False
        self.start: events.Start | None = events.Start(None, None)
        self._told = events.Start(None, None)
        self._head: JsonObject = {}  # the answer as the events before the last have it
        self._items = Items()
        self._extra: JsonObject | None = None
        self._fields = Pieces()  # of the answer, which events brought
        self._tell = Teller()

    @property
    def tells_more(self) -> bool:
        """Whether the last event had fields that nobody knows."""
        return bool(self._fields.latest)

    def feed(self, raw: JsonObject) -> list[events.Event]:
        """Take one event and return what happened."""
        made: list[events.Event] = []
        self._tell.made = made
        if self.is_complete:
            return made
        kind = raw.get("type")
        body = raw.get("response")
        handle = _HANDLERS.get(kind) if isinstance(kind, str) else StreamDecoder._fail_plainly if is_plain_error(raw) else None
        if self.start is not None:  # what nobody knows begins no answer
            if handle or kind in BEGUN or raw.get("error") or isinstance(body, dict):
                self._start(body if isinstance(body, dict) else {})
        elif isinstance(body, dict):  # a stream that is taken up midway says at its end whose it is
            self._told = fill_missing_head(self._told, *head_of(body, "created_at"), made)
        if isinstance(body, dict):
            self._head |= body
        self._fields.take(unknown(raw))
        if handle:
            handle(self, raw)
        if raw.get("error") and not self.is_complete:  # the vendor's client raises on it, whatever its type
            self._fail(raw)
        return made

    def grow(self, text: str) -> None:
        """Take the last event once more, with another piece of its text."""
        self._tell.go_on(text)
        if self._fields.latest:
            self._fields.again()

    def recount(self, raw: JsonObject) -> None:
        """Take nothing: no event with text counts here."""

    def done(self) -> list[events.Event]:
        """Take ``[DONE]``, which some servers send after the last event and which says nothing by itself."""
        return []

    def finish(self) -> list[events.Event]:
        """Take the end of the bytes. Whatever ends an answer was told when it came."""
        return []

    # The answer as a whole.

    def _start(self, body: JsonObject) -> None:
        self.start = None
        self._told = events.Start(*head_of(body, "created_at"))
        self._tell.made.append(self._told)

    def _end(self, raw: JsonObject) -> None:
        """Take the last event: close what is open by what it repeats, then tell why the answer ended."""
        body, self._head = raw.get("response") or {}, {}
        output: list[JsonObject] = body.get("output") or []
        for at, item_raw in enumerate(output):
            item = self._items.repeated(item_raw, at)
            if not item.is_closed:
                self._take_waiting(item)
                self._close(item, item_raw)
                self._release()
            elif item.said is not None:
                self._add_late(item, item_raw)
        for item in sorted(self._items.all, key=lambda item: item.at):
            if overheard := item.overheard():
                self._close(item, overheard)
            self._abandon(item)
        self._tell.settle_token()
        body = {**body, "status": body.get("status") or raw["type"].removeprefix("response.")}
        finish = decode_finish({**body, "output": output or [item.stub() for item in self._items.all]})
        shell = decode_response({**body, "id": body.get("id") or "", "output": []})
        is_failure = raw.get("error") or raw["type"] == "response.failed"
        error = failure_in(raw) if is_failure and not body.get("error") else shell.error
        if error is None:
            self._tell.made.append(events.Finished(0, finish))
        if shell.usage:
            self._tell.made.append(events.UsageTold(shell.usage))
        self._leave(events.Failed(error) if error else events.End(), shell.extra)

    def untold(self) -> list[events.Event]:
        """Return what the end would tell, or would tell otherwise: of open items, and of the fields that the last event replaces."""
        return untold(self._items, self._tell, self._head)

    def beside(self) -> list[events.Event]:
        """Return what is known of the answer beside its parts and will not change; what it costs stands at its end alone."""
        return self._beside(self._fields.whole())

    def _beside(self, fields: JsonObject) -> list[events.Event]:
        return [events.Meta(extra, choice) for extra, choice in ((self._extra, 0), (fields, None)) if extra]

    def _leave(self, end: events.Failed | events.End, extra: JsonObject | None = None) -> None:
        """Tell the fields of the answer, then its end."""
        fields = {**(extra or {}), **self._fields.whole()}
        if isinstance(end, events.Failed):
            take_request_id(end.error, fields)
        self._tell.made += [*self._beside(fields), end]
        self.is_complete = True

    def _fail(self, raw: JsonObject) -> None:
        self._leave(events.Failed(failure_in(raw)))

    def _fail_plainly(self, raw: JsonObject) -> None:
        self._leave(events.Failed(decode_error(raw, status=None)))

    # Items.

    def _add_item(self, raw: JsonObject) -> None:
        given, index = raw["item"], raw.get("output_index")
        item = self._items.add(kind_of(given), index, given.get("id"))
        item.added = given
        part = opening(item, given) if item.kind not in _LATE else None
        if part:
            self._tell.open(item, 0, part)
        elif item.kind not in _LATE:
            item.known = dict(given)

    def _finish_item(self, raw: JsonObject) -> None:
        given = raw["item"]
        item = self._items.find(raw, given.get("id"), kind_of(given))
        if not item.is_closed and self._may_close(item, given):
            self._close_done(item, given)
            self._release()
        elif not item.is_closed:
            item.waiting.append((None, raw))

    def _may_close(self, item: Item, raw: JsonObject) -> bool:
        """Say whether an item can be told whole: not citations behind a message that still grows."""
        return not (item.waiting or cites(raw)) or self._items.reaches(item)

    def _close_done(self, item: Item, raw: JsonObject) -> None:
        item.said = shape(raw, item.slots.values())
        self._close(item, raw)

    def _release(self) -> None:
        """Take the events that waited for the messages before theirs to be whole."""
        while (item := self._items.first()) is not None and item.waiting:
            self._take_waiting(item)

    def _take_waiting(self, item: Item) -> None:
        told, item.waiting = item.waiting, []
        for slot, raw in told:
            if slot is None and not item.is_closed:
                self._close_done(item, raw["item"])
            elif slot is not None and not slot.is_closed:
                self._cite(slot, raw)

    def _abandon(self, item: Item) -> None:
        """Close an item that nobody closed."""
        if not item.is_closed:
            item.length = length_of(item)
            self._tell.close(item)
            self._release()

    def _add_late(self, item: Item, raw: JsonObject) -> None:
        """Tell what only the last event says of an item that was done."""
        parts, missing = late(item, raw)
        for at, part in parts:
            self._tell.add(item, at, part)
        self._extra = gathered(self._extra, missing)

    def _close(self, item: Item, raw: JsonObject) -> None:
        """Read a whole item and tell what nobody told yet."""
        parts: list[ir.Part] = []
        was_message, item.kind, item.execution = item.kind == "message", kind_of(raw), raw.get("execution")
        if item.kind == "message" and not was_message:
            self._items.line_up(item)
        raw, unsaid = as_told(item, raw)
        leftover = joined(decode_item(raw, item.kind, f"/output/{item.at}", parts), unsaid)
        if leftover:
            self._extra = gathered(self._extra, leftover)
        tokens: list[ir.TokenLogprob] = []
        if item.kind == "message":
            start = self._items.length
            item.length = take_message(parts, raw["content"], tokens, start) - start
        self._extra = gathered(self._extra, told_behind(item, parts))
        is_told = any(slot.tokens for slot in item.slots.values())
        strays = item.strays(len(parts))
        for at, part in enumerate(parts):
            slot = item.slots.get(at) or next(strays, None)
            if isinstance(part, ir.Refusal):
                item.has_refusal = True
            if slot is None and isinstance(part, ir.Reasoning) and carries_call_token(part):
                self._tell.settle_token()
                self._tell.token, self._tell.place = part, (item.at, at)
                continue
            slot = slot or self._tell.open(item, at, bare(part))
            if tokens and not is_told and isinstance(part, ir.Text) and not slot.is_closed:
                self._tell.made.append(events.Delta(0, slot.number, "", tokens))
                is_told = True
            self._tell.settle(slot, part)
        self._tell.close(item)

    # What grows.

    def _text(self, raw: JsonObject) -> None:
        slot = self._word(raw, "output_text")
        if slot is None:
            return
        given, tokens = raw.get("logprobs"), None
        if given:
            tokens = decode_tokens(given, f"{slot.src}/logprobs", slot.tokens)
            slot.tokens += len(tokens)
        self._tell.grow(slot, raw.get("delta"), tokens)

    def _refusal(self, raw: JsonObject) -> None:
        if slot := self._word(raw, "refusal"):
            self._tell.grow(slot, raw.get("delta"))

    def _word(self, raw: JsonObject, kind: str) -> Slot | None:
        """Find the part of a message that an event is about; None where it is over. Not every server announces a part."""
        item = self._items.find(raw, raw.get("item_id"), "message")
        at = raw.get("content_index") or 0
        slot = item.slots.get(at)
        if slot is None and not item.is_closed:
            slot = self._open_word(item, at, kind)
        return None if slot is None or slot.is_closed else slot

    def _open_word(self, item: Item, at: int, kind: str) -> Slot:
        """Open a part of a message and close the one before it, if that is whole."""
        start, before = 0, item.latest
        if before is not None:
            start = before.start + (before.length if isinstance(before.part, ir.Text) else 0)
            if before.whole is not None and self._items.reaches(item):
                part = decode_part(before.whole, before.src, item.id)
                take_message([part], [before.whole], [], self._items.length + before.start)
                self._tell.settle(before, part)
        slot = self._tell.open(item, at, decode_part({"type": kind, _WORDS[kind]: ""}, f"/output/{item.at}/content/{at}", item.id))
        slot.start = start
        return slot

    def _add_part(self, raw: JsonObject) -> None:
        kind = raw["part"].get("type")
        if kind in _WORDS:
            self._word(raw, kind)
        self._note_part(raw)

    def _finish_part(self, raw: JsonObject) -> None:
        given = raw["part"]
        if given.get("type") in _WORDS and (slot := self._word(raw, given["type"])):
            slot.whole = given
        self._note_part(raw)

    def _note_part(self, raw: JsonObject) -> None:
        """Keep a part as its own event has it, for an answer that breaks off before its item is done."""
        item, name = self._items.get(raw, raw.get("item_id")), "summary" if "summary" in raw["type"] else "content"
        if item is not None and not item.is_closed:
            place = name, raw.get(f"{name}_index") or 0
            item.told[place] = item.told.get(place, {}) | raw["part"]

    def _annotate(self, raw: JsonObject) -> None:
        slot, given = self._word(raw, "output_text"), raw.get("annotation")
        if slot is None or not given:
            return
        if not isinstance(slot.part, ir.Text):
            self._fields.take({raw["type"]: raw})
            return
        item = self._items.find(raw, raw.get("item_id"))
        if self._items.reaches(item):
            self._cite(slot, raw)
        else:
            item.waiting.append((slot, raw))

    def _cite(self, slot: Slot, raw: JsonObject) -> None:
        for citation in cited(slot, raw, self._items.length):
            slot.citations.append(citation)
            self._tell.made.append(events.PartMeta(0, slot.number, citation=citation))
        slot.notes += 1

    def _think(self, raw: JsonObject) -> None:
        """Grow a reasoning item: its parts join with an empty line between. Of thoughts and a digest, the first goes on."""
        item, kind = self._items.find(raw, raw.get("item_id"), "reasoning"), raw["type"]
        is_summary, is_whole = kind.startswith("response.reasoning_summary"), kind.endswith(".done")
        slot, text = item.slots.get(0), raw.get("text" if is_whole else "delta")
        step = raw.get("summary_index" if is_summary else "content_index") or 0
        if item.is_closed or (slot is None and not text):
            return
        if slot is None:
            slot = self._tell.open(item, 0, ir.Reasoning("", f"/output/{item.at}", summary=is_summary, id=item.id))
            slot.step = step
        if not isinstance(slot.part, ir.Reasoning) or slot.part.summary is not is_summary:
            return
        if slot.step is not None and step > slot.step:
            self._tell.grow(slot, "\n\n" * (step - slot.step))
            slot.step, slot.stepped = step, slot.length
        if not is_whole or slot.length == slot.stepped:
            self._tell.grow(slot, text)

    def _argue(self, raw: JsonObject) -> None:
        item = self._items.find(raw, raw.get("item_id"))
        slot = item.slots.get(0)
        if slot:
            self._tell.grow(slot, raw.get("delta"))
        elif not item.is_closed:
            item.overhear(raw, raw.get("delta"))

    # What is whole, and matters only where no delta came.

    def _whole_word(self, raw: JsonObject) -> None:
        kind = raw["type"].split(".")[1]
        slot = self._word(raw, kind)
        if slot and not slot.length:
            self._tell.grow(slot, raw.get(_WORDS[kind]))

    def _whole_arguments(self, raw: JsonObject) -> None:
        item = self._items.find(raw, raw.get("item_id"))
        slot, text = item.slots.get(0), next((raw[key] for key in ("arguments", "input", "code") if raw.get(key)), None)
        if slot and not slot.length:
            self._tell.grow(slot, text)
        elif slot is None and not item.is_closed:
            item.overhear(raw, text, is_whole=True)


def unknown(raw: JsonObject) -> JsonObject | None:
    """Return what nobody knows of an event, as fields of the answer: all of it, or members beside those that it may have."""
    kind = raw.get("type")
    if kind in SAID or kind in _HANDLERS:
        return rest(raw, MEMBERS)
    return None if kind is None and is_plain_error(raw) else unknown_event(raw)


_HANDLERS: dict[str, Callable[[StreamDecoder, JsonObject], None]] = {
    "response.output_text.delta": StreamDecoder._text,
    "response.refusal.delta": StreamDecoder._refusal,
    "response.reasoning_text.delta": StreamDecoder._think,
    "response.reasoning_summary_text.delta": StreamDecoder._think,
    **{f"response.{stem}.delta": StreamDecoder._argue for stem in ARGUMENTS},
    "response.output_item.added": StreamDecoder._add_item,
    "response.output_item.done": StreamDecoder._finish_item,
    "response.content_part.added": StreamDecoder._add_part,
    "response.content_part.done": StreamDecoder._finish_part,
    "response.reasoning_part.added": StreamDecoder._note_part,
    "response.reasoning_part.done": StreamDecoder._note_part,
    "response.reasoning_summary_part.added": StreamDecoder._note_part,
    "response.reasoning_summary_part.done": StreamDecoder._note_part,
    "response.output_text.annotation.added": StreamDecoder._annotate,
    "response.output_text.done": StreamDecoder._whole_word,
    "response.refusal.done": StreamDecoder._whole_word,
    "response.reasoning_text.done": StreamDecoder._think,
    "response.reasoning_summary_text.done": StreamDecoder._think,
    **{f"response.{stem}.done": StreamDecoder._whole_arguments for stem in ARGUMENTS},
    "response.completed": StreamDecoder._end,
    "response.incomplete": StreamDecoder._end,
    "response.failed": StreamDecoder._end,
    "error": StreamDecoder._fail,
}
