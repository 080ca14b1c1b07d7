"""Output items of encoded Responses streams. Each opens, gets deltas, and is repeated when it is done."""

from __future__ import annotations

from collections import deque
from dataclasses import replace

from formatbridge import ir
from formatbridge.formats.responses.citations import encode_citations
from formatbridge.formats.responses.content import output_message, output_refusal, output_text, text_of
from formatbridge.formats.responses.hosted_tools import encode_hosted
from formatbridge.formats.responses.item_ids import ItemIds
from formatbridge.formats.responses.reasoning import encode_reasoning_item
from formatbridge.formats.responses.tool_calls import encode_answer_call
from formatbridge.formats.shared.logprobs import PendingTokens, encode_tokens
from formatbridge.formats.shared.reasoning_tokens import id_of
from formatbridge.formats.shared.text_lengths import TextLengths
from formatbridge.formats.shared.tool_arguments import is_whole
from formatbridge.jsontext.codec import dumps, loads
from formatbridge.jsontext.types import JsonObject
from formatbridge.report.ledger import null_ledger
from formatbridge.streaming.replay import copy_part

_ARGUMENTS = {
    "mcp_call": ("response.mcp_call_arguments", "arguments"),
    "code_interpreter_call": ("response.code_interpreter_call_code", "code"),
}
"""Type of item to the common part of its event types, and the field that its deltas continue."""
_PROGRESS = {"code_interpreter_call": "interpreting", "web_search_call": "searching", "image_generation_call": "generating"}
"""Type of item to its event between start and end."""


class OpenText:
    """A text that is sent in deltas.

    ``head``, ``tail``: the bytes of each delta around its text. ``pieces``: the texts of the deltas. ``position``: the ids and indexes
    of the text; ``fields``: the same as JSON. ``number``: its index among the visible texts. ``single_json``: the text as JSON, while it
    has a single piece.
    """

    __slots__ = ("_counted", "_length", "fields", "head", "kind", "number", "pieces", "position", "single_json", "tail")

    def __init__(self, kind: str, position: JsonObject) -> None:
        self.kind = kind
        self.position = position
        self.pieces: list[str] = []
        self.single_json: bytes | None = None
        self.number = -1
        self._counted, self._length = 0, 0
        self.fields, name = dumps(position)[1:-1], kind.encode()
        # Only the text and the sequence number differ between the deltas of one text, so the other bytes are encoded once.
        self.head = b'event: %b.delta\ndata: {"type":"%b.delta",%b,"delta":' % (name, name, self.fields)
        self.tail = b',"logprobs":[],"sequence_number":' if kind == "response.output_text" else b',"sequence_number":'

    def text(self) -> str:
        """Return the joined text."""
        return "".join(self.pieces)

    def as_json(self) -> bytes:
        """Return the joined text as JSON."""
        return dumps(self.text()) if self.single_json is None else self.single_json

    def length(self) -> int:
        """Return the length of the text. Each piece is counted once."""
        # Each citation needs the length, so a sum over all pieces each time would take quadratic time.
        self._length += sum(map(len, self.pieces[self._counted :]))
        self._counted = len(self.pieces)
        return self._length


class Writer:
    """Encodes events with their sequence numbers, and keeps the items that are done, because the last event repeats them.

    ``unsigned``: the reasoning tokens that came after their reasoning was done.
    """

    def __init__(self) -> None:
        self.losses = null_ledger()
        self.ids = ItemIds("/output", "", self.losses)
        self._lengths = TextLengths()  # of the visible texts; the length of the latest one is set when another text gets a delta
        self._latest: OpenText | None = None
        # The report states which log probabilities no event had. Therefore they are kept until the end.
        self._logprobs: list[ir.TokenLogprob] = []
        self._unused_logprobs = PendingTokens()  # of texts that are not done
        self._used_logprobs: list[ir.TokenLogprob] = []
        self.unsigned: list[ir.Signature] = []
        self._items: list[bytes | None] = []
        self._number = 0
        self._out: list[bytes] = []

    def emit(self, kind: str, fields: JsonObject) -> None:
        """Write one event."""
        self.write(kind, dumps(fields)[1:-1])

    def write(self, kind: str, fields: bytes) -> None:
        """Write one event whose fields are encoded as JSON."""
        # {"type": "response.output_item.added", "output_index": 0, "item": {...}, "sequence_number": 2}
        # Each event has the next number, starting with 0 (official SDK, ``sequence_number`` of every event type).
        name = kind.encode()
        self._out.append(b'event: %b\ndata: {"type":"%b",%b,"sequence_number":%d}\n\n' % (name, name, fields, self._number))
        self._number += 1

    def continue_at(self, number: int) -> None:
        """Continue after events that other code has sent: set the next sequence number, and drop the events before it."""
        self._number, self._out = number, []

    def add_text(self, open_text: OpenText, text: str) -> None:
        """Write a delta of a text."""
        self._out.append(self.encode_delta(open_text, text))

    def encode_delta(self, open_text: OpenText, text: str) -> bytes:
        """Return a delta instead of writing it. Call this only if no written event is pending."""
        if open_text is not self._latest:
            self._count_latest(open_text)
        as_json = dumps(text)
        open_text.single_json = None if open_text.pieces else as_json
        open_text.pieces.append(text)
        self._number += 1
        return b"%b%b%b%d}\n\n" % (open_text.head, as_json, open_text.tail, self._number - 1)

    def add_text_with_logprobs(self, open_text: OpenText, text: str, tokens: list[ir.TokenLogprob]) -> None:
        """Write a delta, with the log probabilities of its tokens if the event has a field for them."""
        self._count_latest(open_text)
        open_text.single_json = None
        open_text.pieces.append(text)
        # The deltas of a refusal and of reasoning have no log probabilities (official SDK, ``ResponseRefusalDeltaEvent``).
        logprobs = (
            {"logprobs": encode_tokens(tokens, self.losses, needs_bytes=True)} if open_text.kind == "response.output_text" else {}
        )
        self.emit(f"{open_text.kind}.delta", {**open_text.position, "delta": text, **logprobs})

    def add_logprobs(self, tokens: list[ir.TokenLogprob]) -> None:
        """Add log probabilities for the texts that are done next."""
        self._logprobs += tokens
        self._unused_logprobs.add(tokens)

    def logprobs_of(self, text: str) -> list[JsonObject]:
        """Return the log probabilities of a text that is done."""
        _, tokens = self._unused_logprobs.take(text)
        self._used_logprobs += tokens
        return encode_tokens(tokens, self.losses, needs_bytes=True)

    def undelivered_tokens(self) -> list[ir.TokenLogprob | ir.Signature]:
        """Return the log probabilities of texts, and the tokens of reasoning, that came after these were done."""
        out: list[ir.TokenLogprob | ir.Signature] = [*self.unsigned]
        pending, delivered_ids = PendingTokens(self._logprobs), set(map(id, self._used_logprobs))
        items = [loads(item) for item in self._items if item is not None]
        for part in (part for item in items if item["type"] == "message" for part in item["content"]):
            if pending and part["type"] == "output_text":
                _, tokens = pending.take(part["text"])
                out += [token for token in tokens if id(token) not in delivered_ids]
        return out

    def add_visible_text(self, open_text: OpenText) -> None:
        """Add a visible text after all other texts."""
        open_text.number = self._lengths.add()

    def length_before(self, open_text: OpenText) -> int:
        """Return the length of the visible text before a text. Texts before it may still be open."""
        self._count_latest(None)
        return self._lengths.length_before(open_text.number)

    def _count_latest(self, open_text: OpenText | None) -> None:
        """Update the length of the latest text before another text gets a delta."""
        latest, self._latest = self._latest, open_text
        if latest is not None and latest.number >= 0:
            self._lengths.set_length(latest.number, latest.length())

    def take(self) -> bytes:
        """Return the events that were written since the last call."""
        out, self._out = self._out, []
        return out[0] if len(out) == 1 else b"".join(out)

    def next_index(self) -> int:
        """Return the output index of the next item."""
        return len(self._items)

    def open_item(self, item: JsonObject) -> int:
        """Open an item and return its output index."""
        output_index = len(self._items)
        self._items.append(None)
        self.write("response.output_item.added", b'"output_index":%d,"item":%b' % (output_index, dumps(item)))
        return output_index

    def close_item(self, output_index: int, item: bytes) -> None:
        """Close an item that is encoded as JSON."""
        self._items[output_index] = item
        self.write("response.output_item.done", b'"output_index":%d,"item":%b' % (output_index, item))

    def begin(self, body: JsonObject) -> None:
        """Write the events that begin a stream."""
        # The SDK's accumulator requires ``response.created`` first (openai-python, ``lib/streaming/responses``).
        fields = b'"response":%b' % dumps(body)
        for kind in ("response.created", "response.in_progress"):
            self.write(kind, fields)

    def end(self, kind: str, body: JsonObject) -> None:
        """Write the last event with the items that are done. The body has no other list before ``output``."""
        # ``get_final_response`` of the SDK reads this event alone, and so do tracers (Wei-Shaw/sub2api#4468).
        before, after = dumps(body | {"output": []}).split(b'"output":[]', 1)
        items = b",".join([item for item in self._items if item is not None])
        self.write(kind, b'"response":%b"output":[%b]%b' % (before, items, after))


class Content:
    """A content part of a message.

    ``citations``: the citations of each of its texts. ``start``: the length of the visible text before it at the time of its last citation.
    ``is_single``: it has one text only, because that text has a reasoning token.
    """

    __slots__ = ("citations", "is_refusal", "is_single", "open_text", "start")

    def __init__(self, open_text: OpenText, *, is_refusal: bool, is_single: bool) -> None:
        self.open_text = open_text
        self.is_refusal = is_refusal
        self.is_single = is_single
        self.citations: list[list[ir.Citation]] = []
        self.start: int | None = None


class Message:
    """A message. It stays open while only texts follow. ``open_parts``: the number of its open parts."""

    def __init__(self, writer: Writer, source_id: str | None) -> None:
        self.source_id = source_id
        self.open_parts = 0
        self._writer = writer
        self._content: Content | None = None
        self._finished_parts: list[JsonObject] = []
        self._id = source_id or writer.ids.generate("msg", writer.next_index())
        self._output_index = writer.open_item(self._item("in_progress"))

    def _item(self, status: str) -> JsonObject:
        return output_message(self._id, self._finished_parts, status)

    def open(self, part: ir.Text | ir.Refusal, *, is_single: bool) -> Content:
        """Return the content part for a part. Consecutive texts share a content part, except a text with a reasoning token."""
        is_refusal = isinstance(part, ir.Refusal)
        if self._content and not (is_refusal or self._content.is_refusal or self._content.is_single):
            return self._content
        self._close_content()
        position = {"item_id": self._id, "output_index": self._output_index, "content_index": len(self._finished_parts)}
        # Without this event, the SDK's accumulator fails at the first delta (Wei-Shaw/sub2api#4468, BerriAI/litellm#24445).
        self._writer.emit(
            "response.content_part.added", {**position, "part": output_refusal("") if is_refusal else output_text("", [], [])}
        )
        open_text = OpenText("response.refusal" if is_refusal else "response.output_text", position)
        self._content = Content(open_text, is_refusal=is_refusal, is_single=is_single)
        if not is_refusal:
            self._writer.add_visible_text(self._content.open_text)
        return self._content

    def end_part(self, citations: list[ir.Citation]) -> None:
        """End a part. The spans of its citations count from the current start of the content part."""
        self.open_parts -= 1
        if citations and self._content and not self._content.is_refusal:
            self._content.start = self._writer.length_before(self._content.open_text)

    def close(self, status: str = "completed") -> None:
        """Close the message."""
        self._close_content()
        self._writer.close_item(self._output_index, dumps(self._item(status)))

    def _close_content(self) -> None:
        content, self._content = self._content, None
        if content is None:
            return
        writer, position, text = self._writer, content.open_text.position, content.open_text.text()
        if content.is_refusal:
            part = output_refusal(text)
            writer.emit("response.refusal.done", {**position, "refusal": text})
        else:
            # The spans count from the start of the response, which is known only now if texts before this one were open.
            citations = [citation for each in content.citations for citation in each]
            start = writer.length_before(content.open_text) if content.start is None else content.start
            annotations = encode_citations(citations, start, len(text), writer.losses)
            part = output_text(text, annotations, writer.logprobs_of(text))
            for index, annotation in enumerate(annotations):
                fields = {**position, "annotation_index": index, "annotation": annotation}
                writer.emit("response.output_text.annotation.added", fields)
            writer.emit("response.output_text.done", {**position, "text": text, "logprobs": part["logprobs"]})
        writer.emit("response.content_part.done", {**position, "part": part})
        self._finished_parts.append(part)


class ReasoningItem:
    """A reasoning item. It has one summary part if there is text, and gets its token at the end."""

    def __init__(self, writer: Writer, part: ir.Reasoning) -> None:
        self._writer = writer
        # The token comes with the ``done`` event, from which clients take it (official SDK, ``ResponseReasoningItem``).
        item = encode_reasoning_item("", None, writer.next_index(), writer.ids, id_of(part))
        self.id: str = item["id"]
        self._output_index = writer.open_item(item)
        self._open_text: OpenText | None = None

    def open(self) -> OpenText:
        """Open the summary part for the text."""
        position = {"item_id": self.id, "output_index": self._output_index, "summary_index": 0}
        self._writer.emit("response.reasoning_summary_part.added", {**position, "part": {"type": "summary_text", "text": ""}})
        self._open_text = OpenText("response.reasoning_summary_text", position)
        return self._open_text

    def close(self, token: str | None, status: str | None = None) -> None:
        """Close the item. Only an incomplete item has a status."""
        writer, text = self._writer, ""
        if self._open_text:
            text, position = self._open_text.text(), self._open_text.position
            writer.emit("response.reasoning_summary_text.done", {**position, "text": text})
            writer.emit("response.reasoning_summary_part.done", {**position, "part": {"type": "summary_text", "text": text}})
        item = encode_reasoning_item(text, token, self._output_index, writer.ids, self.id)
        writer.close_item(self._output_index, dumps(item | ({"status": status} if status else {})))


class HostedItem:
    """The item of a hosted call. ``call``: its known fields; ``index``: the index of its part in the response."""

    def __init__(self, writer: Writer, call: ir.Hosted, index: int, item: JsonObject) -> None:
        self.call = call
        self.index = index
        self._writer = writer
        self._kind: str = item["type"]
        self._output_index = writer.open_item(item | {"status": "in_progress"})
        self._position = {"item_id": item["id"], "output_index": self._output_index}
        writer.emit(f"response.{self._kind}.in_progress", self._position)
        deltas = _ARGUMENTS.get(self._kind)
        self.open_text = OpenText(deltas[0], self._position) if deltas else None

    @classmethod
    def open(cls, writer: Writer, call: ir.Hosted, index: int) -> HostedItem:
        """Open the item of a call."""
        # The item opens without its arguments, because deltas add them. Its result and status are known at the end only.
        bare = replace(call, arguments="", output=None, error=None, status=None, extra=None)
        return cls(writer, call, index, encode_hosted(bare, None, writer.next_index(), writer.ids, writer.losses))

    def complete(self, call: ir.Hosted) -> None:
        """Close the arguments, because the call is complete."""
        self.call = replace(call, arguments=self.open_text.text()) if self.open_text else call
        if self.open_text:
            self._writer.emit(f"{self.open_text.kind}.done", {**self._position, _ARGUMENTS[self._kind][1]: self.call.arguments})
        if self._kind in _PROGRESS:
            self._writer.emit(f"response.{self._kind}.{_PROGRESS[self._kind]}", self._position)

    def close(self, result: ir.Hosted | None, status: str | None = None) -> None:
        """Close the item, with its result if the result is a separate part."""
        item = encode_hosted(self.call, result, self._output_index, self._writer.ids, self._writer.losses)
        item |= {"status": status} if status else {}
        end = item.get("status")
        if not status and (end == "completed" or (end == "failed" and self._kind == "mcp_call")):  # other statuses have no event
            self._writer.emit(f"response.{self._kind}.{end}", self._position)
        self._writer.close_item(self._output_index, dumps(item))


class HostedItems:
    """The hosted calls that have no result yet."""

    def __init__(self) -> None:
        self._by_index: dict[int, HostedItem] = {}
        self._by_id: dict[tuple[str, str], deque[HostedItem]] = {}

    def add(self, item: HostedItem) -> None:
        """Add the next call."""
        self._by_index[item.index] = item
        self._by_id.setdefault((item.call.family, item.call.id), deque()).append(item)

    def take_call_of(self, result: ir.Hosted, index: int) -> HostedItem | None:
        """Remove and return the call of the result at ``index``: the first call with its id, or else the call directly before."""
        named = self._by_id.get((result.family, result.id), deque())
        while named and self._by_index.get(named[0].index) is not named[0]:
            named.popleft()
        before = self._by_index.get(index - 1)
        item = named[0] if named else before if before and before.call.family == result.family else None
        return None if item is None else self._by_index.pop(item.index)

    def close(self, status: str | None = None) -> None:
        """Close the calls without a result."""
        for item in self._by_index.values():
            item.close(None, status)
        self._by_index = {}


def write_image(writer: Writer, item: JsonObject) -> None:
    """Write the events of an image, which has no deltas."""
    # Only the last event of the item has the whole image: ``partial_image`` events have previews.
    output_index = writer.open_item({"type": item["type"], "id": item["id"], "status": "in_progress", "result": None})
    position = {"item_id": item["id"], "output_index": output_index}
    for stage in ("in_progress", "generating", "completed"):
        writer.emit(f"response.image_generation_call.{stage}", position)
    writer.close_item(output_index, dumps(item))


class Call:
    """The item of a function call or a custom tool call."""

    def __init__(self, writer: Writer, call: ir.ToolCall) -> None:
        self._writer = writer
        bare = copy_part(call, arguments="") if call.arguments else call
        self._item = encode_answer_call(bare, writer.next_index(), writer.ids, writer.losses)
        self._field = "input" if call.kind == "custom" else "arguments"
        self._output_index = writer.open_item(self._item | ({"status": "in_progress"} if "status" in self._item else {}))
        kind = "response.custom_tool_call_input" if call.kind == "custom" else "response.function_call_arguments"
        self.open_text = OpenText(kind, {"item_id": self._item["id"], "output_index": self._output_index})

    @property
    def is_incomplete(self) -> bool:
        """Whether its arguments are an incomplete JSON object. Free text is never incomplete."""
        return self._field == "arguments" and not is_whole(self.open_text.text())

    def complete(self, pieces: list[str], part: ir.Part) -> None:
        """Do nothing, because all arguments have been sent."""

    def close(self, status: str | None = None) -> None:
        """Close the call, with its status if its type has one."""
        field, position = self._field.encode(), self.open_text.fields
        text = b'"%b":%b' % (field, self.open_text.as_json())
        # OpenAI's server repeats the name in the ``done`` event of function arguments (recorded traffic).
        name = b'"name":%b,' % dumps(self._item["name"]) if self._field == "arguments" else b""
        self._writer.write(f"{self.open_text.kind}.done", b"%b,%b%b" % (position, name, text))
        item = self._item | {"status": status} if status and "status" in self._item else self._item
        before, after = dumps(item).split(b'"%b":""' % field, 1)
        self._writer.close_item(self._output_index, before + text + after)


class ToolSearch:
    """The item of a tool search call that the caller runs. Its arguments are sent complete, because it has no delta events."""

    open_text = None

    def __init__(self, writer: Writer, call: ir.ToolCall) -> None:
        self._arguments = text_of(call)
        self._writer = writer
        self._call = call
        item = encode_answer_call(copy_part(call, arguments={}), writer.next_index(), writer.ids, writer.losses)
        self._output_index = writer.open_item(item | {"status": "in_progress"})

    @property
    def is_incomplete(self) -> bool:
        """Whether its arguments are not a complete JSON object."""
        return not is_whole(self._arguments)

    def complete(self, pieces: list[str], part: ir.Part) -> None:
        """Set the arguments: the text that came after the start of the call, or else the arguments of the complete call."""
        self._arguments = self._arguments + "".join(pieces) or text_of(part)

    def close(self, status: str) -> None:
        """Close the call with its status."""
        item = encode_answer_call(
            copy_part(self._call, arguments=self._arguments), self._output_index, self._writer.ids, self._writer.losses
        )
        self._writer.close_item(self._output_index, dumps(item | {"status": status}))


def open_call(writer: Writer, call: ir.ToolCall) -> Call | ToolSearch:
    """Open the item of a call of the caller's tool."""
    return ToolSearch(writer, call) if call.kind == "tool_search" else Call(writer, call)


class CallItems:
    """The calls that have ended but are not closed: the last one, and those with incomplete arguments."""

    # Their status depends on the finish reason, which comes after them. A caller may run each call whose status is ``completed``,
    # also in an incomplete response (NVIDIA-NeMo/Gym#2628).

    def __init__(self) -> None:
        self._last: Call | ToolSearch | None = None
        self._incomplete: list[Call | ToolSearch] = []

    def end(self, call: Call | ToolSearch) -> None:
        """Add a call that has ended, and close the call before it if that is complete."""
        self.close_complete()
        self._last = call

    def close_complete(self) -> None:
        """Close the last call if its arguments are complete, because other content follows."""
        call, self._last = self._last, None
        if call and call.is_incomplete:
            self._incomplete.append(call)
        elif call:
            call.close("completed")

    def close(self, status: str) -> None:
        """Close all calls, because nothing follows."""
        calls = [*self._incomplete, *([self._last] if self._last else [])]
        self._last, self._incomplete = None, []
        for call in calls:
            call.close(status)
