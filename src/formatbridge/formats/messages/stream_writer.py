"""Streams of messages, written: blocks as bytes, numbered, opened, grown and closed."""

from __future__ import annotations

from formatbridge.jsontext.codec import dumps
from formatbridge.jsontext.types import JsonObject

_DELTA = (
    b"event: content_block_delta\n"
    b'data: {"type":"content_block_delta","index":%d,"delta":{"type":"%b_delta","%b":'
)  # fmt: skip
_START = b'event: content_block_start\ndata: {"type":"content_block_start","index":%d,"content_block":%b}\n\n'
_MORE = b'event: content_block_delta\ndata: {"type":"content_block_delta","index":%d,"delta":%b}\n\n'
_STOP = b'event: content_block_stop\ndata: {"type":"content_block_stop","index":%d}\n\n'
EMPTY: dict[str, JsonObject] = {
    "text": {"type": "text", "text": ""},
    "thinking": {"type": "thinking", "thinking": "", "signature": ""},
}
_STREAMED = {"text": ("text", "text"), "thinking": ("thinking", "thinking"), "input": ("input_json", "partial_json")}


class BlockWriter:
    """Writes blocks one after the other."""

    def __init__(self) -> None:
        self._index = 0

    def head(self, kind: str) -> bytes:
        """Return what stands before each piece of text that the open block grows by."""
        name, member = _STREAMED[kind]
        return _DELTA % (self._index, name.encode(), member.encode())

    def start(self, block: JsonObject) -> bytes:
        """Open a block."""
        return _START % (self._index, dumps(block))

    def delta(self, delta: JsonObject) -> bytes:
        """Add to the open block."""
        return _MORE % (self._index, dumps(delta))

    def stop(self) -> bytes:
        """Close the open block."""
        self._index += 1
        return _STOP % (self._index - 1)

    def whole(self, block: JsonObject) -> bytes:
        """Write a block that has come whole."""
        match block["type"]:
            case "text":
                made = self.start(EMPTY["text"]) + self.delta({"type": "text_delta", "text": block["text"]})
            case "thinking":
                made = self.start(EMPTY["thinking"])
                if block["thinking"]:
                    made += self.delta({"type": "thinking_delta", "thinking": block["thinking"]})
                made += self.delta({"type": "signature_delta", "signature": block["signature"]})
            case "server_tool_use" | "mcp_tool_use":
                given = dumps(block["input"]).decode()
                made = self.start({**block, "input": {}})
                made += self.delta({"type": "input_json_delta", "partial_json": given})
            case _:
                made = self.start(block)
        return made + self.stop()


def write_event(name: str, body: JsonObject) -> bytes:
    """Write one event, named twice as this format does."""
    return b"event: %b\ndata: %b\n\n" % (name.encode(), dumps(body))
