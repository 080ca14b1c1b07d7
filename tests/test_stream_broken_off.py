"""A stream that breaks off, or ends in an error, has told more than its parts: the partial answer and its report have that, too."""

from __future__ import annotations

import json
from typing import Any

import pytest

import formatbridge as fb
from formatbridge.errors import PartialAnswer
from tests.directions import CROSSINGS

JsonObject = dict[str, Any]

_ITEM = {"type": "message", "id": "msg_1", "role": "assistant", "content": [], "status": "completed", "x_choice": 1}
_HEAD = {"id": "r", "object": "response", "created_at": 1, "model": "m", "status": "in_progress", "output": []}
_TOLD: dict[str, list[JsonObject]] = {
    "chat_completions": [
        {
            "id": "c",
            "model": "m",
            "choices": [{"index": 0, "delta": {"content": "Hello"}, "x_choice": 1}],
            "usage": {"prompt_tokens": 7, "completion_tokens": 3, "total_tokens": 10},
            "x_answer": 1,
        },
    ],
    "messages": [
        {
            "type": "message_start",
            "message": {
                "id": "msg_1",
                "type": "message",
                "role": "assistant",
                "model": "m",
                "content": [],
                "usage": {"input_tokens": 7, "output_tokens": 3},
            },
        },
        {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": "Hello"}, "x_answer": 1},
    ],
    "responses": [
        {"type": "response.created", "response": _HEAD},
        {
            "type": "response.output_text.delta",
            "item_id": "msg_1",
            "output_index": 0,
            "content_index": 0,
            "delta": "Hello",
            "x_answer": 1,
        },
        {
            "type": "response.output_item.done",
            "output_index": 0,
            "item": _ITEM | {"content": [{"type": "output_text", "text": "Hello", "annotations": []}]},
        },
    ],
    "generate_content": [
        {
            "candidates": [{"content": {"role": "model", "parts": [{"text": "Hello"}]}, "index": 0, "x_choice": 1}],
            "usageMetadata": {"promptTokenCount": 7, "candidatesTokenCount": 3, "totalTokenCount": 10},
            "x_answer": 1,
        },
    ],
}
"""The first events of an answer, with a field that nobody knows at the answer, and at its choice where that has a place of its own."""
_ERRORS: dict[str, JsonObject] = {
    "chat_completions": {"error": {"message": "out of luck", "type": "server_error"}},
    "messages": {"type": "error", "error": {"type": "api_error", "message": "out of luck"}},
    "responses": {"type": "error", "code": "server_error", "message": "out of luck"},
    "generate_content": {"error": {"code": 500, "message": "out of luck", "status": "INTERNAL"}},
}
_COUNTED = ("chat_completions", "messages", "generate_content")
"""The formats that may tell what an answer costs before its end."""


def _broken_off(source: str, target: str, last: list[JsonObject]) -> PartialAnswer:
    """Return the answer so far of a stream that does not end well."""
    data = b"".join(b"data: " + json.dumps(event).encode() + b"\n\n" for event in [*_TOLD[source], *last])
    with pytest.raises(fb.StreamError) as raised:
        fb.collect_stream([data], source=source, target=target)
    assert raised.value.partial is not None
    return raised.value.partial


@pytest.mark.parametrize("ends_in_error", [False, True], ids=["cut", "error"])
@pytest.mark.parametrize(("source", "target"), CROSSINGS)
def test_what_nobody_knows_is_reported_of_an_answer_without_an_end(source: str, target: str, ends_in_error: bool) -> None:
    """Law 1: the end of a stream mostly tells such fields, and this one has none."""
    partial = _broken_off(source, target, [_ERRORS[source]] if ends_in_error else [])

    lost = {loss.path.rpartition("/")[2] for loss in partial.losses}
    assert lost >= ({"x_answer"} if source == "messages" else {"x_answer", "x_choice"})


@pytest.mark.parametrize("ends_in_error", [False, True], ids=["cut", "error"])
@pytest.mark.parametrize("source", _COUNTED)
def test_what_an_answer_without_an_end_costs_is_told(source: str, ends_in_error: bool) -> None:
    """Whoever pays for it wants to know."""
    partial = _broken_off(source, "chat_completions", [_ERRORS[source]] if ends_in_error else [])

    counts = partial.body["usage"]
    assert (counts["prompt_tokens"], counts["completion_tokens"]) == (7, 3)


@pytest.mark.parametrize("source", _COUNTED)
def test_an_answer_that_is_closed_costs_what_it_was_told(source: str) -> None:
    """A cut that the caller asked to close is an answer as far as it came, with its counts."""
    data = b"".join(b"data: " + json.dumps(event).encode() + b"\n\n" for event in _TOLD[source])
    closing = fb.Options(on_truncated="close")

    made = fb.collect_stream(fb.convert_stream([data], source=source, target="responses", options=closing), source="responses")

    assert (made.body["usage"]["input_tokens"], made.body["usage"]["output_tokens"]) == (7, 3)


@pytest.mark.parametrize(("first", "status"), [('{"path":"/', "incomplete"), ('{"path":"/"}', "completed"), ("", "completed")])
def test_no_call_that_came_by_half_is_said_to_be_complete(first: str, status: str) -> None:
    """Calls come side by side, so any of them may be cut; whoever runs items by their status would run half of one."""
    calls = [
        {"index": at, "id": f"call_{at}", "type": "function", "function": {"name": "f", "arguments": text}}
        for at, text in enumerate((first, "{}"))
    ]
    choice = {"index": 0, "delta": {"tool_calls": calls}}
    chunk = {"id": "c1", "object": "chat.completion.chunk", "created": 0, "model": "m", "choices": [choice]}
    source = b"data: %b\n\n" % json.dumps(chunk).encode()
    closing = fb.StreamConverter(source="chat_completions", target="responses", options=fb.Options(on_truncated="close"))
    cut = fb.StreamConverter(source="chat_completions", target="responses")

    told = closing.feed(source) + closing.finish()
    cut.feed(source)
    with pytest.raises(fb.TruncatedStreamError) as caught:
        cut.finish()

    made = fb.collect_stream([told], source="responses").body["output"]
    assert [item["status"] for item in made] == [status, "incomplete"]
    assert [item["status"] for item in closing.response().body["output"]] == [status, "incomplete"]
    so_far = "in_progress" if status == "incomplete" else "completed"
    assert caught.value.partial is not None
    assert [item["status"] for item in caught.value.partial.body["output"]] == [so_far, "in_progress"]
