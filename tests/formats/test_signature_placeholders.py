"""Function calls without a signature in generate_content: the first of each turn gets Google's placeholder."""

from __future__ import annotations

import base64
from typing import Any

import pytest

import formatbridge as fb

WORD = "skip_thought_signature_validator"
OTHER_WORD = "context_engineering_is_the_way_to_go"
PLACEHOLDERS = [word for each in (WORD, OTHER_WORD) for word in (each, base64.b64encode(each.encode()).decode())]


def _call(call_id: str, token: str | None = None) -> dict[str, Any]:
    call: dict[str, Any] = {"id": call_id, "type": "function", "function": {"name": "f", "arguments": "{}"}}
    return call | ({"extra_content": {"google": {"thought_signature": token}}} if token else {})


def _request(*steps: list[dict[str, Any]]) -> dict[str, Any]:
    messages: list[dict[str, Any]] = [{"role": "user", "content": "q"}]
    for calls in steps:
        messages.append({"role": "assistant", "content": None, "tool_calls": calls})
        messages += [{"role": "tool", "tool_call_id": call["id"], "content": "x"} for call in calls]
    return {"model": "m", "messages": messages}


def _signatures(converted: fb.Converted) -> list[list[str | None]]:
    turns = [content["parts"] for content in converted.body["contents"] if content["role"] == "model"]
    return [[part.get("thoughtSignature") for part in parts if "functionCall" in part] for parts in turns]


def test_the_first_call_of_each_turn_gets_the_placeholder() -> None:
    """Gemini 3 answers 400 without it; parallel calls after the first need none."""
    converted = fb.convert_request(
        _request([_call("a"), _call("b")], [_call("c")]), source="chat_completions", target="generate_content"
    )

    assert _signatures(converted) == [[WORD, None], [WORD]]
    assert [(item.path, item.value) for item in converted.additions] == [
        ("/contents/1/parts/0/thoughtSignature", WORD),
        ("/contents/3/parts/0/thoughtSignature", WORD),
    ]
    assert converted.losses == ()


def test_a_signature_is_never_replaced() -> None:
    """Only the first call of a turn requires one: a signature on a later call does not count for it."""
    steps = [_call("a", "c2ln"), _call("b")], [_call("c"), _call("d", "c2ln")]

    converted = fb.convert_request(_request(*steps), source="chat_completions", target="generate_content")

    assert _signatures(converted) == [["c2ln", None], [WORD, "c2ln"]]


def test_the_option_leave_adds_no_placeholder() -> None:
    """Older models and other servers of the format accept calls without."""
    options = fb.Options(unsigned_calls="leave")

    converted = fb.convert_request(_request([_call("a")]), source="chat_completions", target="generate_content", options=options)

    assert (_signatures(converted), converted.additions) == ([[None]], ())


def test_answers_get_no_placeholder() -> None:
    """The caller would take it for a signature of the model."""
    message = {"role": "assistant", "content": None, "tool_calls": [_call("a")]}
    choice = {"index": 0, "finish_reason": "tool_calls", "message": message}
    answer = {"id": "r", "object": "chat.completion", "created": 0, "model": "m", "choices": [choice]}

    converted = fb.convert_response(answer, source="chat_completions", target="generate_content")

    assert "thoughtSignature" not in converted.body["candidates"][0]["content"]["parts"][0]


@pytest.mark.parametrize("word", PLACEHOLDERS)
@pytest.mark.parametrize("target", [name for name in fb.FORMATS if name != "generate_content"])
def test_a_placeholder_that_is_read_is_no_token_and_no_loss(word: str, target: fb.Format) -> None:
    """Clients send one of two texts, or its base64."""
    call = {"functionCall": {"id": "a", "name": "f", "args": {}}, "thoughtSignature": word}
    result = {"functionResponse": {"id": "a", "name": "f", "response": {"output": "x"}}}
    contents = [{"role": "user", "parts": [{"text": "q"}]}, {"role": "model", "parts": [call]}, {"role": "user", "parts": [result]}]
    bare = [contents[0], {"role": "model", "parts": [{"functionCall": call["functionCall"]}]}, contents[2]]

    converted = fb.convert_request({"contents": contents}, source="generate_content", target=target, model="m")

    assert converted.losses == ()
    assert converted.body == fb.convert_request({"contents": bare}, source="generate_content", target=target, model="m").body


@pytest.mark.parametrize("word", PLACEHOLDERS)
def test_a_placeholder_in_extra_content_is_no_token_and_no_loss(word: str) -> None:
    """In OpenAI's format the text is in ``extra_content``."""
    body = _request([_call("a", word)])

    assert fb.convert_request(body, source="chat_completions", target="messages").losses == ()
    assert _signatures(fb.convert_request(body, source="chat_completions", target="generate_content")) == [[WORD]]


def test_a_request_in_its_format_is_unchanged() -> None:
    """This also holds for a call without a signature: a caller of the format knows the server."""
    calls = [{"functionCall": {"name": "f", "args": {}}}, {"functionCall": {"name": "g", "args": {}}, "thoughtSignature": WORD}]
    body = {"contents": [{"role": "user", "parts": [{"text": "q"}]}, {"role": "model", "parts": calls}]}

    converted = fb.convert_request(body, source="generate_content", target="generate_content", model="m")

    assert (converted.body, converted.losses, converted.additions) == (body, (), ())
