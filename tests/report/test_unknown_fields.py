"""Fields that the models do not know are in the report, wherever they are."""

from __future__ import annotations

from typing import Any

import pytest

import formatbridge as fb


def _paths(losses: tuple[fb.Loss, ...]) -> set[str]:
    return {loss.path for loss in losses}


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
    """A key of another version of the format may matter."""
    tools = [{"type": "function", "function": {"name": "f"}}]
    body = {"model": "m", "messages": [{"role": "user", "content": "hi"}], "tools": tools} | added

    converted = fb.convert_request(body, source="chat_completions", target="responses")

    assert path in _paths(converted.losses)


def _answer(message: dict[str, Any]) -> dict[str, Any]:
    choice = {"index": 0, "message": {"role": "assistant"} | message, "finish_reason": "stop"}
    return {"model": "m", "created": 0, "choices": [choice]}


def _call(call_id: str | None, name: str, arguments: str = "{}") -> dict[str, Any]:
    call = {"type": "function", "function": {"name": name, "arguments": arguments}}
    return call if call_id is None else {"id": call_id} | call


def test_an_unknown_key_in_a_call_without_an_id_is_reported() -> None:
    """A missing key and an additional one do not compensate."""
    body = _answer({"tool_calls": [_call(None, "f") | {"x": 1}]})

    converted = fb.convert_response(body, source="chat_completions", target="messages")

    assert "/choices/0/message/tool_calls/0/x" in _paths(converted.losses)


def test_an_unknown_key_in_a_response_format_is_reported() -> None:
    """A plain text format has no effect, but an unknown key next to it may."""
    text = {"mimeType": "text/plain", "x": 1}
    body = {"contents": [{"parts": [{"text": "hi"}]}], "generationConfig": {"responseFormat": [{"text": text}]}}

    converted = fb.convert_request(body, source="generate_content", target="messages", model="m")

    assert "/generationConfig/responseFormat/0/text/x" in _paths(converted.losses)


def _candidate(*parts: dict[str, Any]) -> dict[str, Any]:
    return {"candidates": [{"content": {"role": "model", "parts": list(parts)}, "finishReason": "STOP"}], "responseId": "r"}


def test_an_unknown_key_next_to_a_token_is_reported() -> None:
    """A part with a token only may have other fields."""
    body = _candidate({"text": "hi"}, {"text": "", "thoughtSignature": "QUJD", "x": 1})

    converted = fb.convert_response(body, source="generate_content", target="responses")

    assert "/candidates/0/content/parts/1/x" in _paths(converted.losses)


OTHERS = ("chat_completions", "messages", "generate_content")


def _responses_answer(**fields: Any) -> dict[str, Any]:
    """Return a small answer of responses."""
    text = {"type": "output_text", "text": "Hi", "annotations": []}
    message = {"type": "message", "id": "msg_1", "role": "assistant", "status": "completed", "content": [text]}
    return {
        "id": "resp_1",
        "object": "response",
        "created_at": 1,
        "model": "m",
        "status": "completed",
        "output": [message],
    } | fields


@pytest.mark.parametrize("target", OTHERS)
def test_unknown_keys_of_code_output_are_reported(target: fb.Format) -> None:
    """The logs are converted; unknown fields next to them are not."""
    call = {"type": "code_interpreter_call", "id": "ci_1", "status": "completed", "code": "1", "container_id": "c"}
    body = _responses_answer(output=[call | {"outputs": [{"type": "logs", "logs": "1\n", "new": 1}]}])

    converted = fb.convert_response(body, source="responses", target=target)

    assert any(loss.path in ("/output/0", "/output/0/outputs/0/new") for loss in converted.losses)


@pytest.mark.parametrize("target", ["chat_completions", "responses", "generate_content"])
def test_unknown_keys_around_an_added_tool_are_reported(target: fb.Format) -> None:
    """The definition is converted; unknown fields next to it are not."""
    definition = {"name": "f", "input_schema": {"type": "object"}}
    added = {"type": "tool_addition", "tool": {"type": "tool_definition", "definition": definition, "new": 1}}
    messages = [{"role": "user", "content": "hi"}, {"role": "system", "content": [added]}]

    converted = fb.convert_request({"model": "m", "max_tokens": 9, "messages": messages}, source="messages", target=target)

    assert "/messages/1/content/0/tool/new" in {loss.path for loss in converted.losses}
