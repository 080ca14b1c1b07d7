"""Ids of tool calls: equal ids become different if the target requires it, and results follow their calls."""

from __future__ import annotations

from typing import Any

import pytest

import formatbridge as fb
from tests.support.directions import DIRECTIONS


def _calls(*ids: str) -> dict[str, Any]:
    calls = [{"id": each, "type": "function", "function": {"name": "f", "arguments": "{}"}} for each in ids]
    return {"role": "assistant", "content": None, "tool_calls": calls}


def _result(call_id: str, text: str) -> dict[str, Any]:
    return {"role": "tool", "tool_call_id": call_id, "content": text}


def _to_messages(*turns: dict[str, Any]) -> fb.ConvertedRequest:
    body = {"model": "m", "messages": [{"role": "user", "content": "hi"}, *turns]}
    return fb.convert_request(body, source="chat_completions", target="messages")


def _blocks(converted: fb.ConvertedRequest, kind: str) -> list[dict[str, Any]]:
    return [
        block
        for message in converted.body["messages"]
        if isinstance(message["content"], list)
        for block in message["content"]
        if block["type"] == kind
    ]


@pytest.mark.parametrize(
    ("turns", "results"),
    [
        ([_calls("c"), _calls("c"), _result("c", "b"), _result("c", "a")], {"c_2": "b", "c": "a"}),
        ([_calls("c", "c"), _result("c", "a"), _result("c", "b")], {"c": "a", "c_2": "b"}),
        (
            [_calls("c"), _result("c", "a"), _calls("c", "d"), _result("d", "d"), _result("c", "b")],
            {"c": "a", "d": "d", "c_2": "b"},
        ),
        ([_calls("x:1"), _result("x:1", "a"), _calls("x:1"), _result("x:1", "b")], {"x_1": "a", "x_1_2": "b"}),
    ],
    ids=["the nearest turn first", "in the order of its calls", "next to another id", "with characters that are removed"],
)
def test_a_result_follows_the_new_id_of_its_call(turns: list[dict[str, Any]], results: dict[str, str]) -> None:
    """A server that counts its calls in each answer repeats ids; the server of messages rejects them."""
    result = _to_messages(*turns)

    assert {block["tool_use_id"]: block["content"] for block in _blocks(result, "tool_result")} == results
    assert {block["id"] for block in _blocks(result, "tool_use")} == set(results)


def test_a_surplus_result_stays_with_the_last_call_of_its_id() -> None:
    """No call is invented for it."""
    result = _to_messages(_calls("c"), _result("c", "a"), _calls("c"), _result("c", "b"), _result("c", "again"))

    assert [block["tool_use_id"] for block in _blocks(result, "tool_result")] == ["c", "c_2", "c_2"]


@pytest.mark.parametrize("target", ["chat_completions", "responses", "generate_content"])
def test_ids_may_repeat_if_the_server_accepts_it(target: fb.Format) -> None:
    """The caller's logs have the call under this id."""
    turns = (
        [{"type": "tool_use", "id": "c", "name": "f", "input": {}}],
        [{"type": "tool_result", "tool_use_id": "c", "content": "a"}],
    )
    request = [{"role": role, "content": turn} for role, turn in zip(("assistant", "user") * 2, turns * 2, strict=True)]
    body = {"model": "m", "max_tokens": 99, "messages": [{"role": "user", "content": "hi"}, *request]}

    converted = fb.convert_request(body, source="messages", target=target)

    assert "c_2" not in str(converted.body)
    assert not converted.losses


def test_an_id_that_only_looks_numbered_stays_with_its_call() -> None:
    """Of three calls in an answer only the second has the id of another."""
    message = _calls("c", "c", "c_2")
    body = {"id": "x", "model": "m", "choices": [{"index": 0, "message": message, "finish_reason": "tool_calls"}]}

    converted = fb.convert_response(body, source="chat_completions", target="messages")

    assert [block["id"] for block in converted.body["content"]] == ["c", "c_3", "c_2"]
    reported = [(loss.path, loss.after) for loss in converted.losses if loss.code == "repeated_id"]
    assert reported == [("/choices/0/message/tool_calls/1/id", "c_3")]


def test_calls_in_candidates_without_an_index_get_different_ids() -> None:
    """A server may leave out the index; whole and replayed, a result finds its call."""
    named = [{"content": {"role": "model", "parts": [{"functionCall": {"name": name}}]}, "finishReason": "STOP"} for name in "ab"]
    answer = {"responseId": "r", "modelVersion": "m", "candidates": named}

    converted = fb.convert_response(answer, source="generate_content", target="chat_completions").body

    replayed = fb.replay_response(answer, source="generate_content", target="chat_completions")
    streamed = fb.collect_stream(replayed, source="chat_completions").body
    whole, again = ([each["message"]["tool_calls"][0]["id"] for each in body["choices"]] for body in (converted, streamed))
    assert whole == again
    assert len(set(whole)) == 2


def _answer(message: dict[str, Any]) -> dict[str, Any]:
    choice = {"index": 0, "message": {"role": "assistant"} | message, "finish_reason": "stop"}
    return {"model": "m", "created": 0, "choices": [choice]}


def _candidate(*parts: dict[str, Any]) -> dict[str, Any]:
    return {"candidates": [{"content": {"role": "model", "parts": list(parts)}, "finishReason": "STOP"}], "responseId": "r"}


def _call(call_id: str | None, name: str, arguments: str = "{}") -> dict[str, Any]:
    call = {"type": "function", "function": {"name": name, "arguments": arguments}}
    return call if call_id is None else {"id": call_id} | call


@pytest.mark.parametrize("source", ["chat_completions", "generate_content"])
def test_generated_ids_differ_between_answers_without_an_id(source: fb.Format) -> None:
    """Both answers are in one history, where equal ids would assign a result to the wrong call."""

    def generated_id(arguments: dict[str, Any], text: str) -> str:
        body = _answer({"tool_calls": [_call(None, "f", text)]})
        if source == "generate_content":
            body = _candidate({"functionCall": {"name": "f", "args": arguments}})
            del body["responseId"]
        converted = fb.convert_response(body, source=source, target="messages")
        return str(converted.body["content"][0]["id"])

    first, again, other = generated_id({"a": 1}, '{"a":1}'), generated_id({"a": 1}, '{"a":1}'), generated_id({"a": 2}, '{"a":2}')

    assert first == again != other


@pytest.mark.parametrize(("source", "target"), DIRECTIONS)
def test_a_rewritten_call_id_is_reported_at_the_id(source: fb.Format, target: fb.Format) -> None:
    """The report names the id, and the rest of the call is unchanged."""
    raw = f"run:0/{'a' * 70}"
    calls: dict[str, tuple[dict[str, Any], list[str]]] = {
        "chat_completions": (
            {"messages": [
                {"role": "assistant", "content": None, "tool_calls": [
                    {"id": raw, "type": "function", "function": {"name": "f", "arguments": "{}"}}
                ]},
                {"role": "tool", "tool_call_id": raw, "content": "x"},
            ]},
            ["/messages/0/tool_calls/0/id", "/messages/1/tool_call_id"],
        ),
        "messages": (
            {"max_tokens": 9, "messages": [
                {"role": "assistant", "content": [{"type": "tool_use", "id": raw, "name": "f", "input": {}}]},
                {"role": "user", "content": [{"type": "tool_result", "tool_use_id": raw, "content": "x"}]},
            ]},
            ["/messages/0/content/0/id", "/messages/1/content/0/tool_use_id"],
        ),
        "responses": (
            {"input": [
                {"type": "function_call", "call_id": raw, "name": "f", "arguments": "{}"},
                {"type": "function_call_output", "call_id": raw, "output": "x"},
            ]},
            ["/input/0/call_id", "/input/1/call_id"],
        ),
        "generate_content": (
            {"contents": [
                {"role": "model", "parts": [{"functionCall": {"id": raw, "name": "f", "args": {}}}]},
                {"parts": [{"functionResponse": {"id": raw, "name": "f", "response": {"output": "x"}}}]},
            ]},
            ["/contents/0/parts/0/functionCall/id", "/contents/1/parts/0/functionResponse/id"],
        ),
    }  # fmt: skip
    body, paths = calls[source]

    converted = fb.convert_request({"model": "m"} | body, source=source, target=target)

    renamed = [(loss.path, loss.before) for loss in converted.losses if loss.code == "renamed"]
    is_refused = target != "generate_content"  # one refuses the characters, two the length
    assert renamed == ([(path, raw) for path in paths] if is_refused else [])
