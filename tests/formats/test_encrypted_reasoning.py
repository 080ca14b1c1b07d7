"""Reasoning over an endpoint of responses: the answer has its token, and the next request returns it."""

from __future__ import annotations

import json
from typing import Any

import pytest

import formatbridge as fb

TOKEN = "gAAAAABsealed"
ITEM = {
    "type": "reasoning",
    "id": "rs_0a1b2c",
    "summary": [{"type": "summary_text", "text": "Look it up."}],
    "encrypted_content": TOKEN,
}
CALL = {"type": "function_call", "id": "fc_1", "call_id": "call_1", "name": "look_up", "arguments": '{"word": "fjord"}'}
ANSWER: dict[str, Any] = {
    "id": "resp_1", "object": "response", "created_at": 1, "status": "completed", "model": "m", "output": [ITEM, CALL],
    "usage": {"input_tokens": 9, "output_tokens": 9, "total_tokens": 18},
}  # fmt: skip
SCHEMA = {"type": "object", "properties": {"word": {"type": "string"}}, "required": ["word"]}
ASKED: dict[str, dict[str, Any]] = {
    "messages": {
        "model": "m",
        "max_tokens": 4096,
        "thinking": {"type": "enabled", "budget_tokens": 2048},
        "tools": [{"name": "look_up", "input_schema": SCHEMA}],
        "messages": [{"role": "user", "content": "What is a fjord?"}],
    },
    "chat_completions": {
        "model": "m",
        "reasoning_effort": "medium",
        "tools": [{"type": "function", "function": {"name": "look_up", "parameters": SCHEMA}}],
        "messages": [{"role": "user", "content": "What is a fjord?"}],
    },
    "generate_content": {
        "model": "m",
        "generationConfig": {"thinkingConfig": {"thinkingBudget": 2048}},
        "tools": [{"functionDeclarations": [{"name": "look_up", "parametersJsonSchema": SCHEMA}]}],
        "contents": [{"role": "user", "parts": [{"text": "What is a fjord?"}]}],
    },
}


def _next_request(caller: fb.Format, answer: dict[str, Any]) -> dict[str, Any]:
    """Return the caller's request with an answer and the result of its call, as an official client writes it."""
    request = ASKED[caller]
    if caller == "messages":
        result = {"type": "tool_result", "tool_use_id": "call_1", "content": "A long inlet."}
        message = [{"role": "assistant", "content": answer["content"]}, {"role": "user", "content": [result]}]
        return request | {"messages": request["messages"] + message}
    if caller == "chat_completions":
        result = {"role": "tool", "tool_call_id": "call_1", "content": "A long inlet."}
        return request | {"messages": [*request["messages"], answer["choices"][0]["message"], result]}
    response = {"functionResponse": {"id": "call_1", "name": "look_up", "response": {"output": "A long inlet."}}}
    return request | {"contents": [*request["contents"], answer["candidates"][0]["content"], {"role": "user", "parts": [response]}]}


@pytest.mark.parametrize("streams", [False, True], ids=["whole", "stream"])
@pytest.mark.parametrize("caller", ASKED)
def test_a_token_of_responses_returns_with_the_next_request(caller: fb.Format, streams: bool) -> None:
    """The server reasons again in each turn of a tool loop if its reasoning does not return."""
    exchange = fb.Bridge(caller, via="responses").open(ASKED[caller], stream=streams)
    if streams:
        converter = exchange.stream()
        events = [converter.feed(event) for event in fb.replay_response(ANSWER, source="responses")]
        answer = fb.collect_stream([*events, converter.finish()], source=caller).body
    else:
        answer = exchange.response(ANSWER).body

    again = fb.Bridge(caller, via="responses").open(_next_request(caller, answer), stream=streams).request

    assert exchange.request.body["include"] == ["reasoning.encrypted_content"]
    assert exchange.request.body["store"] is False
    kept = [item for item in again.body["input"] if item["type"] == "reasoning"]
    assert kept == [ITEM]
    history = "/contents" if caller == "generate_content" else "/messages"
    assert not [loss for loss in again.losses if loss.path.startswith(history) and loss.severity != "info"]


@pytest.mark.parametrize("caller", ASKED)
def test_an_added_include_value_is_an_addition(caller: fb.Format) -> None:
    """A caller that logs additions sees what the server is asked to store and to return."""
    converted = fb.convert_request(ASKED[caller], source=caller, target="responses")

    assert {(item.path, json.dumps(item.value)) for item in converted.additions} == {
        ("/store", "false"),
        ("/include", '["reasoning.encrypted_content"]'),
    }
    assert "summary" not in converted.body["reasoning"]


NOT_ASKED: dict[str, tuple[fb.Format, dict[str, Any]]] = {
    "nothing": ("messages", {}),
    "thinking off": ("messages", {"thinking": {"type": "disabled"}}),
    "no effort": ("chat_completions", {"reasoning_effort": "none"}),
    "no budget": ("generate_content", {"generationConfig": {"thinkingConfig": {"thinkingBudget": 0}}}),
}


@pytest.mark.parametrize("case", NOT_ASKED)
def test_a_request_without_reasoning_asks_for_no_token(case: str) -> None:
    """Models without reasoning reject the value: "Encrypted content is not supported with this model"."""
    caller, settings = NOT_ASKED[case]
    request = {
        key: value for key, value in ASKED[caller].items() if key not in ("thinking", "reasoning_effort", "generationConfig")
    }

    converted = fb.convert_request(request | settings, source=caller, target="responses")

    assert "include" not in converted.body


@pytest.mark.parametrize("store", [True, False])
def test_an_explicit_store_setting_is_kept(store: bool) -> None:
    """The caller of a stored chat completion will fetch it later."""
    converted = fb.convert_request(ASKED["chat_completions"] | {"store": store}, source="chat_completions", target="responses")

    assert converted.body["store"] is store
    assert "/store" not in {item.path for item in converted.additions}


@pytest.mark.parametrize(("display", "expected"), [("summarized", "auto"), ("omitted", None)])
def test_a_summary_is_asked_for_only_where_the_caller_asks(display: str, expected: str | None) -> None:
    """The server writes summaries for verified organisations only, and rejects the request of others."""
    thinking = {"type": "enabled", "budget_tokens": 2048, "display": display}

    converted = fb.convert_request(ASKED["messages"] | {"thinking": thinking}, source="messages", target="responses")

    assert converted.body["reasoning"].get("summary") == expected


UNSIGNED: dict[str, Any] = {
    "model": "m",
    "max_tokens": 100,
    "messages": [
        {"role": "user", "content": "hi"},
        {
            "role": "assistant",
            "content": [
                {"type": "thinking", "thinking": "A greeting.", "signature": "of-messages"},
                {"type": "text", "text": "Hello."},
            ],
        },
        {"role": "user", "content": "Go on."},
    ],
}


@pytest.mark.parametrize(
    ("choice", "written"),
    [
        ("drop", []),
        ("text", [{"type": "message", "role": "assistant", "content": "A greeting."}]),
        ("item", [{"type": "reasoning", "summary": [{"type": "summary_text", "text": "A greeting."}]}]),
    ],
)
def test_reasoning_without_a_token_is_handled_by_the_option(choice: Any, written: list[dict[str, Any]]) -> None:
    """The server answers 404 to the id of a reasoning item that it never stored, so no id is generated."""
    converted = fb.convert_request(UNSIGNED, source="messages", target="responses", options=fb.Options(unsigned_reasoning=choice))

    message = {"type": "message", "role": "assistant", "content": "Hello."}
    assert converted.body["input"][1:-1] == [*written, message]
    reported = {(loss.path, loss.kind, loss.severity, loss.code) for loss in converted.losses}
    at = "/messages/1/content/0"
    signature = (f"{at}/signature", "dropped", "lossy", "foreign_signature")
    assert (
        reported
        == {
            "drop": {(f"{at}/thinking", "dropped", "lossy", "unsigned_reasoning"), signature},
            "text": {(at, "changed", "lossy", "flattened"), signature},
            "item": {signature},
        }[choice]
    )


def test_an_output_limit_below_the_minimum_is_raised_to_it() -> None:
    """Clients test an endpoint with a limit of 1 to 10 tokens; the server rejects less than 16."""
    converted = fb.convert_request(UNSIGNED | {"max_tokens": 1}, source="messages", target="responses")

    assert converted.body["max_output_tokens"] == 16
    assert ("/max_tokens", "changed", "info") in {(loss.path, loss.kind, loss.severity) for loss in converted.losses}


def test_reasoning_of_another_format_is_dropped_at_the_endpoint_of_responses() -> None:
    """The id of the item was generated for an answer of another vendor, so the server has never stored it."""
    history = [
        {"type": "message", "role": "user", "content": "hi"},
        {
            "type": "reasoning",
            "id": "rs_a1_0",
            "summary": [{"type": "summary_text", "text": "A greeting."}],
            "encrypted_content": "fb1|messages|thinking|of-messages",
        },
        {"type": "message", "role": "assistant", "content": "Hello."},
    ]

    converted = fb.convert_request({"model": "m", "input": history}, source="responses", target="responses")

    assert converted.body["input"] == [history[0], history[2]]
    assert [(loss.path, loss.code) for loss in converted.losses] == [("/input/1", "foreign_signature")]
