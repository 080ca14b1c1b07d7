"""The tool search that a client executes in responses: a function in other formats, and a search again in responses."""

from __future__ import annotations

import json
from typing import Any

import pytest

import formatbridge as fb
from tests.fixtures import fixtures, streams

SEARCH = next(each.body for each in fixtures() if str(each) == "request-tools_search_client-responses")
QUERY = {"goal": "tides", "limit": 2}
ANSWERS: dict[str, dict[str, Any]] = {
    "chat_completions": {
        "id": "a1", "object": "chat.completion", "created": 1, "model": "m",
        "choices": [{
            "index": 0,
            "finish_reason": "tool_calls",
            "message": {
                "role": "assistant",
                "content": None,
                "tool_calls": [
                    {"id": "c1", "type": "function", "function": {"name": "tool_search", "arguments": '{"goal":"tides","limit":2}'}}
                ],
            },
        }],
    },
    "messages": {
        "id": "a1", "type": "message", "role": "assistant", "model": "m", "stop_reason": "tool_use", "stop_sequence": None,
        "content": [{"type": "tool_use", "id": "c1", "name": "tool_search", "input": QUERY}],
        "usage": {"input_tokens": 1, "output_tokens": 1},
    },
    "generate_content": {
        "responseId": "a1", "modelVersion": "m",
        "candidates": [{
            "index": 0,
            "finishReason": "STOP",
            "content": {"role": "model", "parts": [{"functionCall": {"id": "c1", "name": "tool_search", "args": QUERY}}]},
        }],
    },
}  # fmt: skip


@pytest.mark.parametrize("streams", [False, True], ids=["whole", "stream"])
@pytest.mark.parametrize("via", ANSWERS)
def test_a_call_of_the_search_returns_as_a_search(via: fb.Format, streams: bool) -> None:
    """Codex CLI runs its search for an item of this type only; it has no function of that name."""
    exchange = fb.Bridge("responses", via=via).open(SEARCH, stream=streams)
    if streams:
        converter = exchange.stream()
        events = [converter.feed(event) for event in fb.replay_response(ANSWERS[via], source=via)]
        output = fb.collect_stream([*events, converter.finish()], source="responses").body["output"]
    else:
        output = exchange.response(ANSWERS[via]).body["output"]

    (item,) = output
    assert item.pop("id").startswith("tsc_")
    assert item == {
        "type": "tool_search_call", "call_id": "c1", "execution": "client", "status": "completed", "arguments": QUERY,
    }  # fmt: skip


@pytest.mark.parametrize("streams", [False, True], ids=["whole", "stream"])
def test_arguments_of_a_search_that_are_no_object_are_passed_on(streams: bool) -> None:
    """The caller must see that a model wrote invalid JSON."""
    answer = ANSWERS["chat_completions"]
    message = answer["choices"][0]["message"]
    call = message["tool_calls"][0] | {"function": {"name": "tool_search", "arguments": "tides"}}
    broken = answer | {"choices": [answer["choices"][0] | {"message": message | {"tool_calls": [call]}}]}
    exchange = fb.Bridge("responses", via="chat_completions").open(SEARCH, stream=streams)

    converted: fb.Converted
    if streams:
        converter = exchange.stream()
        for event in fb.replay_response(broken, source="chat_completions"):
            converter.feed(event)
        converter.finish()
        converted = converter.response()
    else:
        converted = exchange.response(broken)

    assert converted.body["output"][0]["arguments"] == {"raw_arguments": "tides"}
    assert [loss.code for loss in converted.losses] == ["invalid_arguments"]


def test_a_search_that_the_stream_breaks_off_in_is_incomplete() -> None:
    """Half a query must not look like a whole one."""
    exchange = fb.Bridge("responses", via="messages").open(SEARCH, stream=True)
    converter = exchange.stream()
    events = list(fb.replay_response(ANSWERS["messages"], source="messages"))
    for event in events[:3]:
        converter.feed(event)
    failed = b'event: error\ndata: {"type": "error", "error": {"type": "overloaded_error", "message": "busy"}}\n\n'

    converter.feed(failed)
    converter.finish()

    assert [item["status"] for item in converter.response().body["output"]] == ["incomplete"]


@pytest.mark.parametrize("target", ["chat_completions", "messages", "generate_content"])
def test_a_search_among_allowed_tools_is_a_function(target: fb.Format) -> None:
    """The choice names the tool by its type, because it has no name there."""
    tool = {"type": "function", "name": "now", "parameters": {"type": "object", "properties": {}}, "strict": False}
    choice = {"type": "allowed_tools", "mode": "auto", "tools": [{"type": "tool_search"}]}

    body = {"model": "m", "input": "hi", "tools": [*SEARCH["tools"], tool], "tool_choice": choice}
    converted = fb.convert_request(body, source="responses", target=target)

    assert "tool_search" in str(converted.body["tools"])
    assert not [loss for loss in converted.losses if loss.path.startswith("/tools/0")]


def test_a_search_that_the_server_runs_becomes_no_function() -> None:
    """The caller could not answer the call."""
    body = {"model": "m", "input": "hi", "tools": [{"type": "tool_search"}]}

    converted = fb.convert_request(body, source="responses", target="chat_completions")

    assert "tools" not in converted.body
    assert [(loss.path, loss.code) for loss in converted.losses] == [("/tools/0", "server_tool")]


STORED: dict[str, dict[str, Any]] = {
    "/previous_response_id": {"input": "hi", "previous_response_id": "resp_1"},
    "/conversation": {"input": "hi", "conversation": "conv_1"},
    "/input/0": {"input": [{"type": "item_reference", "id": "msg_1"}, {"role": "user", "content": "hi"}]},
}


@pytest.mark.parametrize("target", ["chat_completions", "messages", "generate_content"])
@pytest.mark.parametrize("path", STORED)
def test_stored_state_is_reported_with_what_to_do(path: str, target: fb.Format) -> None:
    """Only the server that stored it can look it up; a client that sends everything needs no stored state."""
    converted = fb.convert_request({"model": "m"} | STORED[path], source="responses", target=target)

    assert {(loss.path, loss.severity, loss.why) for loss in converted.losses} == {
        (path, "impossible", "stored state; send store: false and the full history")
    }


@pytest.mark.parametrize("target", ["chat_completions", "messages", "generate_content"])
def test_a_streamed_search_is_a_whole_call_in_other_formats(target: fb.Format) -> None:
    """The query is in the last event of its item, and no event has a piece of it."""
    stream = next(each for each in streams("responses") if each.stem == "tools_search_client")
    converter = fb.StreamConverter(source="responses", target=target)

    emitted = [converter.feed(stream.data), converter.finish()]

    back = fb.convert_response(fb.collect_stream(emitted, source=target).body, source=target, target="responses").body
    (item,) = back["output"]
    assert (item["name"], json.loads(item["arguments"])) == ("tool_search", {"goal": "weather", "limit": 3})
