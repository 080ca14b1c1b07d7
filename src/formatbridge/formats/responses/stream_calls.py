"""Streams of responses, written: calls of the caller's tools, and which of them close when it is known how the answer ended."""

from __future__ import annotations

from formatbridge import ir
from formatbridge.formats.responses.content import text_of
from formatbridge.formats.responses.stream_writer import Live, Writer
from formatbridge.formats.responses.tool_calls import encode_answer_call
from formatbridge.formats.shared.tool_arguments import is_whole
from formatbridge.jsontext.codec import dumps
from formatbridge.streaming.replay import altered


class Call:
    """A call of one of the caller's tools."""

    def __init__(self, writer: Writer, call: ir.ToolCall) -> None:
        self._writer = writer
        bare = altered(call, arguments="") if call.arguments else call
        self._item = encode_answer_call(bare, writer.next_place(), writer.ids, writer.losses)
        self._field = "input" if call.kind == "custom" else "arguments"
        self._at = writer.add(self._item | ({"status": "in_progress"} if "status" in self._item else {}))
        kind = "response.custom_tool_call_input" if call.kind == "custom" else "response.function_call_arguments"
        self.live = Live(kind, {"item_id": self._item["id"], "output_index": self._at})

    @property
    def is_half(self) -> bool:
        """Whether its arguments should be a JSON object, and are not whole."""
        return self._field == "arguments" and not is_whole(self.live.text())

    def settle(self, pieces: list[str], part: ir.Part) -> None:
        """Take nothing: all that came has left."""

    def close(self, status: str | None = None) -> None:
        """Close the call; one that was cut off says so, where its type has a status."""
        field, place = self._field.encode(), self.live.fields
        text = b'"%b":%b' % (field, self.live.written())
        name = b'"name":%b,' % dumps(self._item["name"]) if self._field == "arguments" else b""
        self._writer.write(f"{self.live.kind}.done", b"%b,%b%b" % (place, name, text))
        ended = self._item | {"status": status} if status and "status" in self._item else self._item
        before, behind = dumps(ended).split(b'"%b":""' % field, 1)
        self._writer.done(self._at, before + text + behind)


class Search:
    """A call of the caller's search for tools. Its query, JSON text, leaves whole, for no events bring pieces of it."""

    live = None

    def __init__(self, writer: Writer, call: ir.ToolCall) -> None:
        self._query = text_of(call)
        self._writer = writer
        self._call = call
        item = encode_answer_call(altered(call, arguments={}), writer.next_place(), writer.ids, writer.losses)
        self._at = writer.add(item | {"status": "in_progress"})

    @property
    def is_half(self) -> bool:
        """Whether its query should be a JSON object, and is not whole."""
        return not is_whole(self._query)

    def settle(self, pieces: list[str], part: ir.Part) -> None:
        """Take the query: what came since the call opened, else that of the whole call."""
        self._query = self._query + "".join(pieces) or text_of(part)

    def close(self, status: str) -> None:
        """Close the call; one that was cut off says so."""
        item = encode_answer_call(altered(self._call, arguments=self._query), self._at, self._writer.ids, self._writer.losses)
        self._writer.done(self._at, dumps(item | {"status": status}))


def open_call(writer: Writer, call: ir.ToolCall) -> Call | Search:
    """Open the item of a call of the caller's."""
    return Search(writer, call) if call.kind == "tool_search" else Call(writer, call)


class Calls:
    """The calls that are over and not closed, for the answer may have broken off in them: the last, and any that came by half."""

    def __init__(self) -> None:
        self._last: Call | Search | None = None
        self._halves: list[Call | Search] = []

    def end(self, call: Call | Search) -> None:
        """Take a call of which all has come; the one before it was not the last."""
        self.leave()
        self._last = call

    def leave(self) -> None:
        """Close the last call if it is whole, for something follows."""
        call, self._last = self._last, None
        if call and call.is_half:
            self._halves.append(call)
        elif call:
            call.close("completed")

    def close(self, status: str) -> None:
        """Close all of them, for nothing follows."""
        calls = [*self._halves, *([self._last] if self._last else [])]
        self._last, self._halves = None, []
        for call in calls:
            call.close(status)
