"""Tokens that a server of chat_completions binds to a call by its id."""

from __future__ import annotations

import base64
import json
from typing import Any

import pytest

import formatbridge as fb
from tests.fixtures import fixtures, streams

LONG = "tool_0_get_the_time_of_the_day_in_a_city_by_its_name"
TOKENS = {"tool_0_get_weather": "d2VhdGhlcg==", "tool_1_get_time": "dGltZQ==", "tool_2_get_mayor": "bWF5b3I="}


def _call(call_id: str, name: str = "f") -> dict[str, Any]:
    return {"id": call_id, "type": "function", "function": {"name": name, "arguments": "{}"}}


def _detail(call_id: str, token: str = "c2ln") -> dict[str, Any]:
    return {"type": "reasoning.encrypted", "data": token, "id": call_id, "format": "google-gemini-v1", "index": 0}


def _next_request(answer: dict[str, Any], caller: fb.Format, call_ids: tuple[str, ...]) -> dict[str, Any]:
    """Return the next request, with an answer and the results of its calls."""
    if caller == "messages":
        results = [{"type": "tool_result", "tool_use_id": call_id, "content": "1"} for call_id in call_ids]
        turns = [{"role": "assistant", "content": answer["content"]}, {"role": "user", "content": results}]
        return {"model": "m", "max_tokens": 9, "messages": [{"role": "user", "content": "go"}, *turns]}
    if caller == "generate_content":
        responses = [{"functionResponse": {"id": call_id, "name": "f", "response": {"output": "1"}}} for call_id in call_ids]
        turns = [answer["candidates"][0]["content"], {"role": "user", "parts": responses}]
        return {"contents": [{"role": "user", "parts": [{"text": "go"}]}, *turns]}
    outputs = [{"type": "function_call_output", "call_id": call_id, "output": "1"} for call_id in call_ids]
    return {"model": "m", "input": [{"role": "user", "content": "go"}, *answer["output"], *outputs]}


def _answer(message: dict[str, Any]) -> dict[str, Any]:
    choice = {"index": 0, "finish_reason": "tool_calls", "message": {"role": "assistant", "content": None, **message}}
    return {"id": "c1", "object": "chat.completion", "created": 0, "model": "m", "choices": [choice]}


def _asked(message: dict[str, Any]) -> dict[str, Any]:
    return {"model": "m", "messages": [{"role": "user", "content": "go"}, {"role": "assistant", "content": None, **message}]}


def _signed(parts: list[dict[str, Any]]) -> list[tuple[str | None, str | None]]:
    """Return the id of the call and the token of each part."""
    return [(part.get("functionCall", {}).get("id"), part.get("thoughtSignature")) for part in parts]


@pytest.mark.parametrize("is_streamed", [False, True])
@pytest.mark.parametrize("caller", ["messages", "responses", "generate_content"])
def test_a_token_of_a_call_returns_with_its_call(caller: fb.Format, is_streamed: bool) -> None:
    """The server answers 400 if a call returns without its token."""
    if is_streamed:
        (stream,) = (each for each in streams("chat_completions") if each.stem == "reasoning_bound")
        pieces = fb.convert_stream([stream.data], source="chat_completions", target=caller)
        result, ids = fb.collect_stream(pieces, source=caller), tuple(TOKENS)
    else:
        (fixture,) = (each for each in fixtures("response", "chat_completions") if each.stem == "reasoning_bound")
        result, ids = fb.convert_response(fixture.body, source="chat_completions", target=caller), tuple(TOKENS)[:2]
    request = _next_request(result.body, caller, ids)

    returned = fb.convert_request(request, source=caller, target="chat_completions", model="m")
    other = fb.convert_request(request, source=caller, target="generate_content", model="m")

    details = returned.body["messages"][1]["reasoning_details"]
    assert {detail["id"]: detail["data"] for detail in details} == {call_id: TOKENS[call_id] for call_id in ids}
    assert {(detail["type"], detail["format"]) for detail in details} == {("reasoning.encrypted", "google-gemini-v1")}
    calls = [part for part in other.body["contents"][1]["parts"] if "functionCall" in part]
    assert _signed(calls) == [(call_id, TOKENS[call_id]) for call_id in ids]
    assert "lossy" not in {loss.severity for loss in (*returned.losses, *other.losses)}


@pytest.mark.parametrize("call_id", ["a|b", "|", "a~1b|~", "a|responses"])
@pytest.mark.parametrize("token", ["c2ln", "c2ln|x"])
@pytest.mark.parametrize("caller", ["messages", "responses"])
def test_an_id_with_a_bar_returns_with_its_token(caller: fb.Format, token: str, call_id: str) -> None:
    """Clients join the ids of a call and of its item with a bar, which also separates a token from its id."""
    answer = _answer({"tool_calls": [_call(call_id)], "reasoning_details": [_detail(call_id, token)]})
    converted = fb.convert_response(answer, source="chat_completions", target=caller)

    returned = fb.convert_response(converted.body, source=caller, target="chat_completions")

    (detail,) = returned.body["choices"][0]["message"]["reasoning_details"]
    assert (detail["data"], detail["id"]) == (token, call_id)


@pytest.mark.parametrize("caller", ["messages", "responses", "generate_content"])
def test_a_call_and_its_token_get_the_same_shortened_id(caller: fb.Format) -> None:
    """Servers of chat_completions accept ids of 40 characters; the name of a function in an id makes it longer."""
    answer = _answer({"tool_calls": [_call(LONG), _call("b")], "reasoning_details": [_detail(LONG)]})
    converted = fb.convert_response(answer, source="chat_completions", target=caller)

    request = _next_request(converted.body, caller, (LONG, "b"))
    returned = fb.convert_request(request, source=caller, target="chat_completions", model="m")

    turn = returned.body["messages"][1]
    assert turn["reasoning_details"][0]["id"] == turn["tool_calls"][0]["id"] != LONG


def test_a_token_of_an_unknown_call_is_a_separate_reasoning_part() -> None:
    """Its server issued it, and may require it."""
    converted = fb.convert_request(
        _asked({"tool_calls": [_call("a")], "reasoning_details": [_detail("b")]}),
        source="chat_completions",
        target="generate_content",
        options=fb.Options(unsigned_calls="leave"),
    )

    assert _signed(converted.body["contents"][1]["parts"]) == [(None, "c2ln"), ("a", None)]


def test_a_call_that_has_a_token_keeps_it() -> None:
    """Of two tokens for one call the first belongs to it; the other stays a reasoning part, so that none is lost."""
    outer = {"extra_content": {"google": {"thought_signature": "b3V0ZXI="}}}
    details = [_detail("a"), _detail("b"), _detail("b", "bW9yZQ==")]

    converted = fb.convert_request(
        _asked({"tool_calls": [_call("a") | outer, _call("b")], "reasoning_details": details}),
        source="chat_completions",
        target="generate_content",
    )

    assert _signed(converted.body["contents"][1]["parts"]) == [(None, "c2ln"), (None, "bW9yZQ=="), ("a", "b3V0ZXI="), ("b", "c2ln")]


def test_other_fields_of_a_token_of_a_call_are_reported() -> None:
    """An unknown field is lost wherever the token is written."""
    message = {"tool_calls": [_call("a")], "reasoning_details": [_detail("a") | {"format": "google-gemini-v9", "more": 1}]}

    converted = fb.convert_request(_asked(message), source="chat_completions", target="generate_content")

    place = "/messages/1/reasoning_details/0"
    assert {loss.path for loss in converted.losses} >= {f"{place}/format", f"{place}/more"}


@pytest.mark.parametrize("target", ["chat_completions", "messages", "generate_content"])
def test_other_fields_of_a_carried_token_of_a_call_are_reported(target: fb.Format) -> None:
    """A client may add fields to the reasoning item that it returns; the item itself becomes a token of the call."""
    item = {"type": "reasoning", "summary": [], "encrypted_content": "fb1|generate_content|call|c2ln|", "more": 1}
    call = {"type": "function_call", "call_id": "a", "name": "f", "arguments": "{}"}
    body = {"model": "m", "input": [{"role": "user", "content": "go"}, item, call]}

    converted = fb.convert_request(body, source="responses", target=target)

    assert "/input/1/more" in {loss.path for loss in converted.losses}


def test_an_id_that_is_a_counter_names_no_call() -> None:
    """The library uses such ids for reasoning parts with separate tokens."""
    details = [{"type": "reasoning.text", "text": "hm", "id": "rs_0", "index": 0}, _detail("rs_0")]

    converted = fb.convert_response(
        _answer({"content": "x", "reasoning_details": details}), source="chat_completions", target="messages"
    )

    assert converted.body["content"][0] == {
        "type": "thinking", "thinking": "hm", "signature": "fb1|generate_content|thought|c2ln|chat_completions",
    }  # fmt: skip


def test_a_token_whose_call_never_arrives_is_emitted_at_the_end() -> None:
    """Until then its call may still arrive."""
    converter = fb.StreamConverter(source="chat_completions", target="generate_content")
    before = converter.feed(_chunk({"reasoning_details": [_detail("a")]})) + converter.feed(_chunk({"content": "one"}))

    converted = converter.feed(_chunk({}, "stop")) + converter.finish()

    token = base64.b64encode(b"fb1|generate_content|thought|c2ln|a|chat_completions")
    assert token not in before
    assert converted.count(b'"thoughtSignature":"%b"' % token) == 1


def _chunk(delta: dict[str, Any], finish: str | None = None) -> bytes:
    choice = {"index": 0, "delta": delta, "finish_reason": finish}
    body = {"id": "c1", "object": "chat.completion.chunk", "created": 0, "model": "m", "choices": [choice]}
    return b"data: %b\n\n" % json.dumps(body).encode()
