"""Truncated streams with the tail for their reader: every pair of formats, truncated after every event."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import formatbridge as fb
from tests.fixtures import streams

MESSAGE = "the stream ended before its answer was complete"
"""The message of the error in a tail."""

_STEMS = ("finish_length", "text_plain", "tools_parallel")
_ANSWER: dict[str, Any] = {
    "id": "msg_1",
    "type": "message",
    "role": "assistant",
    "model": "m-large",
    "content": [
        {"type": "thinking", "thinking": "The user asks for the weather.", "signature": "c2lnbmF0dXJl"},
        {"type": "text", "text": "I look it up."},
        {"type": "tool_use", "id": "toolu_1", "name": "get_weather", "input": {"city": "Rome"}},
    ],
    "stop_reason": "tool_use",
    "stop_sequence": None,
    "usage": {"input_tokens": 20, "output_tokens": 30},
}
_EVENT = re.compile(rb".*?(?:\r\n\r\n|\n\n)", re.DOTALL)


@dataclass(frozen=True)
class Truncated:
    """A stream of ``format`` as its reader gets it, with its tail. ``id``: the source's stream and the number of its events."""

    id: str
    format: fb.Format
    body: bytes


def truncated_streams(source: fb.Format, target: fb.Format) -> Iterator[Truncated]:
    """Yield the conversions of some streams of a format that are truncated after each of their events."""
    answer = fb.convert_response(_ANSWER, source="messages", target=source).body
    message = {each.stem: each.data for each in streams(source) if each.stem in _STEMS}
    message["reasoning_and_call"] = b"".join(fb.replay_response(answer, source=source))
    for name, data in message.items():
        events = _EVENT.findall(data)
        last = len(events) - (source != "generate_content")  # which has no last event: more may follow any
        for count in range(last + 1):
            body = _with_tail(b"".join(events[:count]), source, target)
            yield Truncated(f"{name} of {source} cut behind {count}", target, body)


def _with_tail(data: bytes, source: fb.Format, target: fb.Format) -> bytes:
    """Convert with the tail of ``finish``, or of ``abort`` if the answer looks complete and only the connection shows that it is not."""
    finished, aborted = (fb.StreamConverter(source=source, target=target) for _ in range(2))
    output = finished.feed(data)
    try:
        finished.finish()
    except fb.TruncatedStreamError as error:
        return output + error.tail
    return aborted.feed(data) + aborted.abort().tail
