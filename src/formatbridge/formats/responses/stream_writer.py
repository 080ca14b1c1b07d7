"""Streams of responses, written: items, each of which opens, grows by deltas, and repeats itself whole when it is done."""

from __future__ import annotations

from collections import deque
from dataclasses import replace

from formatbridge import ir
from formatbridge.formats.responses.citations import encode_citations
from formatbridge.formats.responses.hosted_tools import encode_hosted
from formatbridge.formats.responses.item_ids import ItemIds
from formatbridge.formats.responses.reasoning import encode_item
from formatbridge.formats.shared.logprobs import PendingTokens, encode_tokens
from formatbridge.formats.shared.reasoning_tokens import id_of
from formatbridge.formats.shared.text_lengths import Lengths
from formatbridge.jsontext.codec import dumps, loads
from formatbridge.jsontext.types import JsonObject
from formatbridge.report.ledger import null_ledger

_ARGUMENTS = {
    "mcp_call": ("response.mcp_call_arguments", "arguments"),
    "code_interpreter_call": ("response.code_interpreter_call_code", "code"),
}
"""Kind of item to the stem of its events that grow, and the field that they grow."""
_WORK = {"code_interpreter_call": "interpreting", "web_search_call": "searching", "image_generation_call": "generating"}
"""Kind of item to its event between start and end."""


class Live:
    """Something that grows by deltas. ``head`` and ``tail`` stand around the text of each; ``pieces`` are its text so far.

    ``fields``: its place, as the JSON of an event has it. ``number``: its own among the visible texts. ``only``: the text as JSON while it
    is a single piece, which need not be written again then.
    """

    __slots__ = ("_counted", "_length", "fields", "head", "kind", "number", "only", "pieces", "place", "tail")

    def __init__(self, kind: str, place: JsonObject) -> None:
        self.kind = kind
        self.place = place
        self.pieces: list[str] = []
        self.only: bytes | None = None
        self.number = -1
        self._counted, self._length = 0, 0
        self.fields, name = dumps(place)[1:-1], kind.encode()
        self.head = b'event: %b.delta\ndata: {"type":"%b.delta",%b,"delta":' % (name, name, self.fields)
        self.tail = b',"logprobs":[],"sequence_number":' if kind == "response.output_text" else b',"sequence_number":'

    def text(self) -> str:
        """Return all that it grew to."""
        return "".join(self.pieces)

    def written(self) -> bytes:
        """Return all that it grew to, as JSON."""
        return dumps(self.text()) if self.only is None else self.only

    def length(self) -> int:
        """Return how long it is by now; each piece is counted once."""
        self._length += sum(map(len, self.pieces[self._counted :]))
        self._counted = len(self.pieces)
        return self._length


class Writer:
    """Writes events, numbers them, and keeps the items that are done: the last event repeats them all.

    ``unsigned``: the tokens of thoughts that were done without them.
    """

    def __init__(self) -> None:
        self.losses = null_ledger()
        self.ids = ItemIds("/output", "", self.losses)
        self._lengths = Lengths()  # of the visible texts, but for what came of the one that grew last
        self._latest: Live | None = None
        self._tokens: list[ir.TokenLogprob] = []
        self._untaken = PendingTokens()  # what the texts that are done left of them
        self._taken: list[ir.TokenLogprob] = []
        self.unsigned: list[ir.Signature] = []
        self._items: list[bytes | None] = []
        self._number = 0
        self._out: list[bytes] = []

    def tell(self, kind: str, fields: JsonObject) -> None:
        """Write one event."""
        self.write(kind, dumps(fields)[1:-1])

    def write(self, kind: str, fields: bytes) -> None:
        """Write one event whose fields are written."""
        name = kind.encode()
        self._out.append(b'event: %b\ndata: {"type":"%b",%b,"sequence_number":%d}\n\n' % (name, name, fields, self._number))
        self._number += 1

    def go_on(self, number: int) -> None:
        """Number the next event so, and write none of those before it: others have."""
        self._number, self._out = number, []

    def grow(self, live: Live, text: str) -> None:
        """Write a delta: the envelope is there already."""
        self._out.append(self.grown(live, text))

    def grown(self, live: Live, text: str) -> bytes:
        """Return a delta instead of writing it, where nothing was written since the last time."""
        if live is not self._latest:
            self._turn_to(live)
        written = dumps(text)
        live.only = None if live.pieces else written
        live.pieces.append(text)
        self._number += 1
        return b"%b%b%b%d}\n\n" % (live.head, written, live.tail, self._number - 1)

    def grow_with(self, live: Live, text: str, tokens: list[ir.TokenLogprob]) -> None:
        """Write a delta with the probabilities of its tokens, where the event has a place for them."""
        self._turn_to(live)
        live.only = None
        live.pieces.append(text)
        told = {"logprobs": encode_tokens(tokens, self.losses, needs_bytes=True)} if live.kind == "response.output_text" else {}
        self.tell(f"{live.kind}.delta", {**live.place, "delta": text, **told})

    def weigh(self, tokens: list[ir.TokenLogprob]) -> None:
        """Keep tokens, for the texts that are done next."""
        self._tokens += tokens
        self._untaken.add(tokens)

    def taken(self, text: str) -> list[JsonObject]:
        """Write the tokens of a text that is done."""
        _, taken = self._untaken.take(text)
        self._taken += taken
        return encode_tokens(taken, self.losses, needs_bytes=True)

    def late(self) -> list[ir.TokenLogprob | ir.Signature]:
        """Return the tokens of texts and thoughts that were done without them."""
        made: list[ir.TokenLogprob | ir.Signature] = [*self.unsigned]
        left, written = PendingTokens(self._tokens), set(map(id, self._taken))
        items = [loads(item) for item in self._items if item is not None]
        for part in (part for item in items if item["type"] == "message" for part in item["content"]):
            if left and part["type"] == "output_text":
                _, taken = left.take(part["text"])
                made += [token for token in taken if id(token) not in written]
        return made

    def begin_text(self, live: Live) -> None:
        """Take a visible text that opens behind all others."""
        live.number = self._lengths.add()

    def start_of(self, live: Live) -> int:
        """Return how much visible text is before another by now; others before it may be open, too."""
        self._turn_to(None)
        return self._lengths.before(live.number)

    def _turn_to(self, live: Live | None) -> None:
        """Count what came of the text that grew last, before another grows."""
        latest, self._latest = self._latest, live
        if latest is not None and latest.number >= 0:
            self._lengths.set_length(latest.number, latest.length())

    def take(self) -> bytes:
        """Return what was written since the last time."""
        out, self._out = self._out, []
        return out[0] if len(out) == 1 else b"".join(out)

    def next_place(self) -> int:
        """Return the place of the next item."""
        return len(self._items)

    def add(self, item: JsonObject) -> int:
        """Open an item and return its place."""
        at = len(self._items)
        self._items.append(None)
        self.write("response.output_item.added", b'"output_index":%d,"item":%b' % (at, dumps(item)))
        return at

    def done(self, at: int, item: bytes) -> None:
        """Close an item, which is written."""
        self._items[at] = item
        self.write("response.output_item.done", b'"output_index":%d,"item":%b' % (at, item))

    def begin(self, body: JsonObject) -> None:
        """Write the events that begin a stream."""
        fields = b'"response":%b' % dumps(body)
        for kind in ("response.created", "response.in_progress"):
            self.write(kind, fields)

    def end(self, kind: str, body: JsonObject) -> None:
        """Write the last event, which has the items that are done; nothing ahead of them in the body is a list."""
        before, behind = dumps(body | {"output": []}).split(b'"output":[]', 1)
        items = b",".join([item for item in self._items if item is not None])
        self.write(kind, b'"response":%b"output":[%b]%b' % (before, items, behind))


class Content:
    """A part of a message. ``citations``: those of each text that joined it; ``start``: how much text was before it when they came.

    ``is_single``: no other text joins it, for a token is of this one alone.
    """

    __slots__ = ("citations", "is_refusal", "is_single", "live", "start")

    def __init__(self, live: Live, *, is_refusal: bool, is_single: bool) -> None:
        self.live = live
        self.is_refusal = is_refusal
        self.is_single = is_single
        self.citations: list[list[ir.Citation]] = []
        self.start: int | None = None


class Message:
    """A message; it stays open while words follow words. ``growing``: how many of its parts are open."""

    def __init__(self, writer: Writer, given: str | None) -> None:
        self.given = given
        self.growing = 0
        self._writer = writer
        self._content: Content | None = None
        self._done: list[JsonObject] = []
        self._id = given or writer.ids.make("msg", writer.next_place())
        self._at = writer.add(self._item("in_progress"))

    def _item(self, status: str) -> JsonObject:
        return {"id": self._id, "type": "message", "role": "assistant", "status": status, "content": self._done}

    def open(self, part: ir.Text | ir.Refusal, *, is_single: bool) -> Content:
        """Return the content that a part grows: texts in a row are one, but for one that is single."""
        is_refusal = isinstance(part, ir.Refusal)
        if self._content and not (is_refusal or self._content.is_refusal or self._content.is_single):
            return self._content
        self._close_content()
        place = {"item_id": self._id, "output_index": self._at, "content_index": len(self._done)}
        self._writer.tell("response.content_part.added", {**place, "part": _refusal("") if is_refusal else _text("", [], [])})
        live = Live("response.refusal" if is_refusal else "response.output_text", place)
        self._content = Content(live, is_refusal=is_refusal, is_single=is_single)
        if not is_refusal:
            self._writer.begin_text(self._content.live)
        return self._content

    def end_part(self, citations: list[ir.Citation]) -> None:
        """Take the end of a part; its citations count from where it stands now, whatever grows before it later."""
        self.growing -= 1
        if citations and self._content and not self._content.is_refusal:
            self._content.start = self._writer.start_of(self._content.live)

    def close(self, status: str = "completed") -> None:
        """Close the message."""
        self._close_content()
        self._writer.done(self._at, dumps(self._item(status)))

    def _close_content(self) -> None:
        content, self._content = self._content, None
        if content is None:
            return
        writer, place, text = self._writer, content.live.place, content.live.text()
        if content.is_refusal:
            part = _refusal(text)
            writer.tell("response.refusal.done", {**place, "refusal": text})
        else:
            citations = [citation for each in content.citations for citation in each]
            start = writer.start_of(content.live) if content.start is None else content.start
            annotations = encode_citations(citations, start, len(text), writer.losses)
            part = _text(text, annotations, writer.taken(text))
            for index, annotation in enumerate(annotations):
                fields = {**place, "annotation_index": index, "annotation": annotation}
                writer.tell("response.output_text.annotation.added", fields)
            writer.tell("response.output_text.done", {**place, "text": text, "logprobs": part["logprobs"]})
        writer.tell("response.content_part.done", {**place, "part": part})
        self._done.append(part)


def _text(text: str, annotations: list[JsonObject], tokens: list[JsonObject]) -> JsonObject:
    return {"type": "output_text", "text": text, "annotations": annotations, "logprobs": tokens}


def _refusal(text: str) -> JsonObject:
    return {"type": "refusal", "refusal": text}


class Thought:
    """A reasoning item: one part of a summary where there is text, and its token at the end."""

    def __init__(self, writer: Writer, part: ir.Reasoning) -> None:
        self._writer = writer
        item = encode_item("", None, writer.next_place(), writer.ids, id_of(part))
        self.id: str = item["id"]
        self._at = writer.add(item)
        self._live: Live | None = None

    def open(self) -> Live:
        """Open the part that the text goes to."""
        place = {"item_id": self.id, "output_index": self._at, "summary_index": 0}
        self._writer.tell("response.reasoning_summary_part.added", {**place, "part": {"type": "summary_text", "text": ""}})
        self._live = Live("response.reasoning_summary_text", place)
        return self._live

    def close(self, token: str | None, status: str | None = None) -> None:
        """Close the item; only what was cut off has a status."""
        writer, text = self._writer, ""
        if self._live:
            text, place = self._live.text(), self._live.place
            writer.tell("response.reasoning_summary_text.done", {**place, "text": text})
            writer.tell("response.reasoning_summary_part.done", {**place, "part": {"type": "summary_text", "text": text}})
        item = encode_item(text, token, self._at, writer.ids, self.id)
        writer.done(self._at, dumps(item | ({"status": status} if status else {})))


class Run:
    """A call that the server ran. ``call`` is what is known of it; ``index`` the place of its part in the answer."""

    def __init__(self, writer: Writer, call: ir.Hosted, index: int, item: JsonObject) -> None:
        self.call = call
        self.index = index
        self._writer = writer
        self._kind: str = item["type"]
        self._at = writer.add(item | {"status": "in_progress"})
        self._place = {"item_id": item["id"], "output_index": self._at}
        writer.tell(f"response.{self._kind}.in_progress", self._place)
        growing = _ARGUMENTS.get(self._kind)
        self.live = Live(growing[0], self._place) if growing else None

    @classmethod
    def open(cls, writer: Writer, call: ir.Hosted, index: int) -> Run:
        """Open the item of a call."""
        bare = replace(call, arguments="", output=None, error=None, status=None, extra=None)
        return cls(writer, call, index, encode_hosted(bare, None, writer.next_place(), writer.ids, writer.losses))

    def settle(self, call: ir.Hosted) -> None:
        """Close the arguments: the call is known in full."""
        self.call = replace(call, arguments=self.live.text()) if self.live else call
        if self.live:
            self._writer.tell(f"{self.live.kind}.done", {**self._place, _ARGUMENTS[self._kind][1]: self.call.arguments})
        if self._kind in _WORK:
            self._writer.tell(f"response.{self._kind}.{_WORK[self._kind]}", self._place)

    def close(self, result: ir.Hosted | None, status: str | None = None) -> None:
        """Close the item, with the result where that stands apart."""
        item = encode_hosted(self.call, result, self._at, self._writer.ids, self._writer.losses)
        item |= {"status": status} if status else {}
        word = item.get("status")
        if not status and (word == "completed" or (word == "failed" and self._kind == "mcp_call")):  # others have no event for it
            self._writer.tell(f"response.{self._kind}.{word}", self._place)
        self._writer.done(self._at, dumps(item))


class Runs:
    """The calls that the server ran and whose results have not come."""

    def __init__(self) -> None:
        self._by_index: dict[int, Run] = {}
        self._by_id: dict[tuple[str, str], deque[Run]] = {}

    def add(self, run: Run) -> None:
        """Take the next one."""
        self._by_index[run.index] = run
        self._by_id.setdefault((run.call.family, run.call.id), deque()).append(run)

    def answered(self, result: ir.Hosted, index: int) -> Run | None:
        """Return the call of the result at ``index``, which waits no more: the first of its id, else the one directly before it."""
        named = self._by_id.get((result.family, result.id), deque())
        while named and self._by_index.get(named[0].index) is not named[0]:
            named.popleft()
        before = self._by_index.get(index - 1)
        run = named[0] if named else before if before and before.call.family == result.family else None
        return None if run is None else self._by_index.pop(run.index)

    def close(self, status: str | None = None) -> None:
        """Close those that still wait."""
        for run in self._by_index.values():
            run.close(None, status)
        self._by_index = {}


def write_image(writer: Writer, item: JsonObject) -> None:
    """Write an image, which comes whole."""
    at = writer.add({"type": item["type"], "id": item["id"], "status": "in_progress", "result": None})
    place = {"item_id": item["id"], "output_index": at}
    for word in ("in_progress", "generating", "completed"):
        writer.tell(f"response.image_generation_call.{word}", place)
    writer.done(at, dumps(item))
