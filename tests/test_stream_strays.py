"""Streams that are not what they should be: calls that nobody announced, and events of another format."""

from __future__ import annotations

import json
from itertools import permutations
from typing import Any

import pytest

import formatbridge as fb
from tests.fixtures import streams

HEAD = {"id": "r", "object": "response", "created_at": 1, "model": "m", "output": [], "tools": [], "tool_choice": "auto"}

NAMELESS = {"type": "function_call", "id": "fc_1", "call_id": "", "name": "", "arguments": "", "status": "in_progress"}


def _stream(*told: dict[str, Any]) -> bytes:
    """Frame the events of an answer of responses that says nothing else."""
    first = {"type": "response.created", "response": HEAD | {"status": "in_progress"}}
    last = {"type": "response.completed", "response": HEAD | {"status": "completed"}}
    return b"".join(b"data: " + json.dumps(event).encode() + b"\n\n" for event in (first, *told, last))


def _delta(text: str, **more: Any) -> dict[str, Any]:
    return {"type": "response.function_call_arguments.delta", "item_id": "fc_1", "output_index": 0, "delta": text} | more


@pytest.mark.parametrize(
    "told",
    [
        pytest.param([_delta('{"a":'), _delta("1}")], id="deltas alone"),
        pytest.param([_delta('{"a":'), _delta("", type="response.function_call_arguments.done", arguments='{"a":1}')], id="whole"),
        pytest.param(
            [
                {"type": "response.output_item.added", "output_index": 0, "item": NAMELESS},
                _delta('{"a":1}'),
            ],
            id="announced without its name",
        ),
    ],
)
def test_arguments_of_a_call_that_nobody_announced_are_kept(told: list[dict[str, Any]]) -> None:
    """Servers leave out the events around a call; what it was asked for is no less true."""
    made = fb.collect_stream([_stream(*told)], source="responses", target="chat_completions")

    (call,) = made.body["choices"][0]["message"]["tool_calls"]
    assert (call["id"], call["function"]["arguments"]) == ("fc_1", '{"a":1}')
    assert made.body["choices"][0]["finish_reason"] == "tool_calls"


def test_a_call_that_nobody_announced_has_the_name_that_its_end_tells() -> None:
    """The event that has the arguments whole may have the name, too."""
    done = {"type": "response.function_call_arguments.done", "item_id": "fc_1", "output_index": 0, "name": "f", "arguments": "{}"}

    made = fb.collect_stream([_stream(done)], source="responses", target="messages")

    assert made.body["content"] == [{"type": "tool_use", "id": "fc_1", "name": "f", "input": {}}]


def test_a_call_that_is_told_late_is_told_once() -> None:
    """Deltas that come before their item belong to it."""
    item = {"type": "function_call", "id": "fc_1", "call_id": "c", "name": "f", "arguments": '{"a":1}', "status": "completed"}
    done = {"type": "response.output_item.done", "output_index": 0, "item": item}

    made = fb.collect_stream([_stream(_delta('{"a":'), _delta("1}"), done)], source="responses", target="messages")

    assert made.body["content"] == [{"type": "tool_use", "id": "c", "name": "f", "input": {"a": 1}}]


@pytest.mark.parametrize("kind", ["custom_tool_call_input", "mcp_call_arguments", "code_interpreter_call_code"])
def test_other_calls_that_nobody_announced_are_kept_as_well(kind: str) -> None:
    """Each kind of call has deltas of its own."""
    told = _delta("ls", type=f"response.{kind}.delta")

    made = fb.StreamConverter(source="responses", target="messages")
    made.feed(_stream(told))
    made.finish()

    assert "ls" in json.dumps(made.response().body["content"])


@pytest.mark.parametrize(("given", "named"), list(permutations(fb.FORMATS, 2)))
@pytest.mark.parametrize("on_truncated", ["error", "close"])
def test_a_stream_of_another_format_is_refused_by_name(given: fb.Format, named: fb.Format, on_truncated: Any) -> None:
    """Its events may fit, for all their members are optional; what they add up to is an answer that says nothing."""
    stream = next(fixture.data for fixture in streams(given) if fixture.stem.startswith("text"))
    converter = fb.StreamConverter(source=named, target=given, options=fb.Options(on_truncated=on_truncated))

    with pytest.raises(fb.StreamDecodeError, match=f"is not of {named}: is an event of {given}"):
        converter.feed(stream)


HALF = {"index": 0, "id": "c", "type": "function", "function": {"name": "rm", "arguments": '{"path":"/tm'}}


def _cut_call(target: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """Convert an answer that ran out of tokens within a call, whole and as a stream."""
    head = {"id": "x", "object": "chat.completion", "created": 1, "model": "m"}
    message = {"role": "assistant", "content": "I will.", "tool_calls": [HALF]}
    chunk = head | {"object": "chat.completion.chunk", "choices": [{"index": 0, "delta": message, "finish_reason": "length"}]}
    body = head | {"choices": [{"index": 0, "message": message, "finish_reason": "length"}]}
    stream = b"data: " + json.dumps(chunk).encode() + b"\n\ndata: [DONE]\n\n"
    whole = fb.convert_response(body, source="chat_completions", target=target).body
    return whole, fb.collect_stream(fb.convert_stream([stream], source="chat_completions", target=target), source=target).body


def test_a_call_that_was_cut_is_incomplete_where_items_have_a_status() -> None:
    """Whoever runs items by their status would run half a command."""
    for body in _cut_call("responses"):
        assert [item["status"] for item in body["output"]] == ["completed", "incomplete"]


def test_an_answer_that_goes_on_has_its_last_item_in_progress() -> None:
    """What has come so far is no whole call, though the encoder writes it as one."""
    begun = {"index": 0, "delta": {"role": "assistant", "tool_calls": [HALF]}, "finish_reason": None}
    chunk = {"id": "x", "object": "chat.completion.chunk", "created": 1, "model": "m", "choices": [begun]}
    converter = fb.StreamConverter(source="chat_completions", target="responses")

    converter.feed(b"data: " + json.dumps(chunk).encode() + b"\n\n")

    assert [item["status"] for item in converter.response().body["output"]] == ["in_progress"]
