"""What a review found broken stays mended: each test is one promise that no fixture can make as plainly."""

from __future__ import annotations

from typing import Any

import pytest

import formatbridge as fb


def _call(call_id: str | None, name: str, arguments: str = "{}") -> dict[str, Any]:
    call = {"type": "function", "function": {"name": name, "arguments": arguments}}
    return call if call_id is None else {"id": call_id} | call


def _answer(message: dict[str, Any]) -> dict[str, Any]:
    choice = {"index": 0, "message": {"role": "assistant"} | message, "finish_reason": "stop"}
    return {"model": "m", "created": 0, "choices": [choice]}


def _candidate(*parts: dict[str, Any]) -> dict[str, Any]:
    return {"candidates": [{"content": {"role": "model", "parts": list(parts)}, "finishReason": "STOP"}], "responseId": "r"}


def _paths(losses: tuple[fb.Loss, ...]) -> set[str]:
    return {loss.path for loss in losses}


# Calls and results.


def test_a_result_answers_the_nearest_call_of_its_id() -> None:
    """Some servers count their calls anew in each answer, so that an id names several calls of one conversation."""
    body = {
        "model": "m",
        "messages": [
            {"role": "assistant", "content": None, "tool_calls": [_call("call_0", "first"), _call("call_0", "second")]},
            {"role": "tool", "tool_call_id": "call_0", "content": "1"},
            {"role": "tool", "tool_call_id": "call_0", "content": "2"},
            {"role": "assistant", "content": None, "tool_calls": [_call("call_0", "third")]},
            {"role": "tool", "tool_call_id": "call_0", "content": "3"},
        ],
    }

    converted = fb.convert_request(body, source="chat_completions", target="generate_content")

    parts = [part for turn in converted.body["contents"] for part in turn["parts"] if "functionResponse" in part]
    assert [part["functionResponse"]["name"] for part in parts] == ["first", "second", "third"]


def test_a_result_without_an_id_answers_an_unanswered_call_even_where_its_id_was_answered_before() -> None:
    """An id that comes again is another call."""
    called = {"functionCall": {"id": "call_0", "name": "f", "args": {}}}
    body = {
        "contents": [
            {"role": "model", "parts": [called]},
            {"role": "user", "parts": [{"functionResponse": {"id": "call_0", "name": "f", "response": {"output": "1"}}}]},
            {"role": "model", "parts": [called]},
            {"role": "user", "parts": [{"functionResponse": {"name": "f", "response": {"output": "2"}}}]},
        ]
    }

    converted = fb.convert_request(body, source="generate_content", target="chat_completions", model="m")

    assert [each["tool_call_id"] for each in converted.body["messages"] if each["role"] == "tool"] == ["call_0", "call_0"]
    assert not converted.losses


def test_a_result_that_follows_other_turns_is_moved_after_its_call() -> None:
    """Of two calls with one id the second has its result already, so a result that comes late is the first one's."""
    call = {"type": "function_call", "call_id": "c", "name": "f", "arguments": "{}"}
    body = {
        "model": "m",
        "input": [
            call,
            {"role": "user", "content": "wait"},
            call,
            {"type": "function_call_output", "call_id": "c", "output": "second"},
            {"role": "user", "content": "now"},
            {"type": "function_call_output", "call_id": "c", "output": "first"},
        ],
    }

    converted = fb.convert_request(body, source="responses", target="chat_completions")

    assert [each["content"] for each in converted.body["messages"]] == [None, "first", "wait", None, "second", "now"]


@pytest.mark.parametrize("source", ["chat_completions", "generate_content"])
def test_generated_ids_differ_between_answers_without_an_id(source: str) -> None:
    """Both answers end up in one history, where equal ids would give a result to the wrong call."""

    def generated_id(arguments: dict[str, Any], text: str) -> str:
        body = _answer({"tool_calls": [_call(None, "f", text)]})
        if source == "generate_content":
            body = _candidate({"functionCall": {"name": "f", "args": arguments}})
            del body["responseId"]
        converted = fb.convert_response(body, source=source, target="messages")
        return str(converted.body["content"][0]["id"])

    first, again, other = generated_id({"a": 1}, '{"a":1}'), generated_id({"a": 1}, '{"a":1}'), generated_id({"a": 2}, '{"a":2}')

    assert first == again != other


def test_a_generated_call_id_is_an_addition() -> None:
    """Whoever looks for where an id came from finds it in the report, at the call and at its result."""
    body = {
        "contents": [
            {"role": "model", "parts": [{"functionCall": {"name": "f", "args": {}}}]},
            {"role": "user", "parts": [{"functionResponse": {"name": "f", "response": {"output": "x"}}}]},
        ]
    }

    converted = fb.convert_request(body, source="generate_content", target="chat_completions", model="m")

    assert {each.path for each in converted.additions} == {"/messages/0/tool_calls/0/id", "/messages/1/tool_call_id"}


def test_a_generated_finish_reason_is_an_addition() -> None:
    """An answer without choices said nothing of how it ended."""
    converted = fb.convert_response({"id": "x", "choices": []}, source="chat_completions", target="generate_content")

    assert "/candidates/0/finishReason" in {each.path for each in converted.additions}


# Reasoning and order in answers of chat_completions.


def test_reasoning_returns_complete_over_chat_completions() -> None:
    """Text, sealed token and id of one item are one item again, in their order."""
    output = [
        {"type": "reasoning", "id": "rs_a", "summary": [{"type": "summary_text", "text": "why"}], "encrypted_content": "A"},
        {"type": "reasoning", "id": "rs_b", "summary": [{"type": "summary_text", "text": "how"}]},
        {"type": "reasoning", "id": "rs_c", "summary": [], "encrypted_content": "C"},
        {"type": "message", "id": "m", "role": "assistant", "status": "completed", "content": [
            {"type": "output_text", "text": "so", "annotations": []}
        ]},
    ]  # fmt: skip
    body = {"id": "resp_1", "object": "response", "created_at": 1, "model": "m", "status": "completed", "output": output}
    there = fb.convert_response(body, source="responses", target="chat_completions")

    returned = fb.convert_response(there.body, source="chat_completions", target="responses")

    assert returned.body["output"][:3] == output[:3]
    assert not returned.losses


def test_a_token_that_is_moved_is_reported() -> None:
    """A vendor may refuse a token that no longer stands where it was minted."""
    body = {
        "id": "resp_1", "object": "response", "created_at": 1, "model": "m", "status": "completed",
        "output": [
            {"type": "message", "id": "m", "role": "assistant", "status": "completed", "content": [
                {"type": "output_text", "text": "hi", "annotations": []}
            ]},
            {"type": "reasoning", "id": "rs_a", "summary": [], "encrypted_content": "A"},
        ],
    }  # fmt: skip

    converted = fb.convert_response(body, source="responses", target="chat_completions")

    assert ("/output/1", "position_lost") in {(loss.path, loss.code) for loss in converted.losses}


@pytest.mark.parametrize(("first", "is_reported"), [("inlineData", True), ("text", False)])
def test_media_moved_after_text_is_reported(first: str, is_reported: bool) -> None:
    """The message has its images behind its text, whatever the order was."""
    parts: list[dict[str, Any]] = [{"inlineData": {"mimeType": "image/png", "data": "aaaa"}}, {"text": "below"}]
    body = _candidate(*sorted(parts, key=lambda part: first not in part))

    converted = fb.convert_response(body, source="generate_content", target="chat_completions")

    assert ("position_lost" in {loss.code for loss in converted.losses}) is is_reported


# Errors in place of answers.


def test_an_error_in_place_of_an_answer_is_an_error() -> None:
    """Servers send it with status 200; it must not look like an answer that ended well."""
    body = {"error": {"code": 429, "message": "slow down", "status": "RESOURCE_EXHAUSTED"}}

    converted = fb.convert_response(body, source="generate_content", target="messages")

    assert isinstance(converted, fb.ConvertedError)
    assert (converted.status, converted.body["error"]["type"]) == (429, "rate_limit_error")


def test_the_finish_reason_of_an_answer_without_candidates_is_reported() -> None:
    """Nothing says why there are no candidates, so the normal end that the target shows is a loss, and points at what is there."""
    converted = fb.convert_response({"modelVersion": "m"}, source="generate_content", target="chat_completions")

    assert [(loss.path, loss.code) for loss in converted.losses] == [("", "finish_reason")]


# Keys that nobody knows.


@pytest.mark.parametrize(
    ("added", "path"),
    [
        ({"tool_choice": {"type": "function", "function": {"name": "f", "x": 1}}}, "/tool_choice/function/x"),
        (
            {
                "tool_choice": {
                    "type": "allowed_tools",
                    "allowed_tools": {"mode": "auto", "tools": [{"type": "function", "function": {"name": "f"}, "x": 1}]},
                }
            },
            "/tool_choice/allowed_tools/tools/0/x",
        ),
        (
            {
                "tools": [
                    {
                        "type": "custom",
                        "custom": {
                            "name": "c",
                            "format": {"type": "grammar", "grammar": {"syntax": "lark", "definition": "d", "x": 1}},
                        },
                    }
                ]
            },
            "/tools/0/custom/format/grammar/x",
        ),
        ({"max_completion_tokens": 5, "max_tokens": 6}, "/max_tokens"),
    ],
)
def test_an_unknown_key_in_a_request_is_reported(added: dict[str, Any], path: str) -> None:
    """A key that another version of the format has may matter."""
    tools = [{"type": "function", "function": {"name": "f"}}]
    body = {"model": "m", "messages": [{"role": "user", "content": "hi"}], "tools": tools} | added

    converted = fb.convert_request(body, source="chat_completions", target="responses")

    assert path in _paths(converted.losses)


def test_an_unknown_key_in_a_call_without_an_id_is_reported() -> None:
    """One key missing and one too many is not the usual number."""
    body = _answer({"tool_calls": [_call(None, "f") | {"x": 1}]})

    converted = fb.convert_response(body, source="chat_completions", target="messages")

    assert "/choices/0/message/tool_calls/0/x" in _paths(converted.losses)


def test_an_unknown_key_in_a_response_format_is_reported() -> None:
    """A plain text format says what happens anyway, but not with a key beside it."""
    text = {"mimeType": "text/plain", "x": 1}
    body = {"contents": [{"parts": [{"text": "hi"}]}], "generationConfig": {"responseFormat": [{"text": text}]}}

    converted = fb.convert_request(body, source="generate_content", target="messages", model="m")

    assert "/generationConfig/responseFormat/0/text/x" in _paths(converted.losses)


def test_an_unknown_key_next_to_a_token_is_reported() -> None:
    """A part that is nothing but a token still has what stands beside it."""
    body = _candidate({"text": "hi"}, {"text": "", "thoughtSignature": "QUJD", "x": 1})

    converted = fb.convert_response(body, source="generate_content", target="responses")

    assert "/candidates/0/content/parts/1/x" in _paths(converted.losses)


def test_a_missing_model_of_the_url_raises() -> None:
    """Without one the path would lead nowhere."""
    body = {"messages": [{"role": "user", "content": "hi"}]}

    with pytest.raises(fb.ConfigurationError, match="model="):
        fb.convert_request(body, source="chat_completions", target="generate_content")
