"""Tool results whose text is a JSON object: generate_content gets the object, every other format the text."""

from __future__ import annotations

import json
from typing import Any

import pytest

import formatbridge as fb

LOSSLESS = [
    '{"temperature":21,"wind":{"speed":3.5,"gusts":[1,2.25]},"note":null,"is_dry":true}',
    '{"a": 1, "b": "x"}',
    '\n{\n  "a": "\\u00e9 \\/",\n  "b": []\n}\n',
    "{}",
    '{"result": {"output": 1}}',
    '{"id": 9007199254740992}',
]
LOSSY = {
    "a repeated key": '{"a":1,"a":2}',
    "a repeated key further down": '{"a":[{"b":1,"b":1}]}',
    "an integer that no double holds": '{"id":9007199254740993}',
    "a whole number spelled as a fraction": '{"price":1.0}',
    "a number with more digits than a double": '{"pi":3.14159265358979323846}',
    "a number with an exponent": '{"big":1e3}',
    "negative zero": '{"zero":-0}',
    "an infinity": '{"big":1e999}',
    "half a character": '{"a":"\\ud83d"}',
    "no strict JSON": '{"a":NaN}',
    "text behind the object": '{"a":1} done',
    "a list": "[1,2]",
    "an object that has the key of an output": '{"output":"x"}',
    "an object that has the key of an error": '{"error":"x","code":3}',
}


def _request(text: Any, **more: Any) -> dict[str, Any]:
    call = {"id": "c1", "type": "function", "function": {"name": "f", "arguments": "{}"}}
    turns = [{"role": "user", "content": "q"}, {"role": "assistant", "content": None, "tool_calls": [call]}]
    return {"model": "m", "messages": [*turns, {"role": "tool", "tool_call_id": "c1", "content": text} | more]}


def _response(made: fb.Converted) -> Any:
    return made.body["contents"][2]["parts"][0]["functionResponse"]["response"]


@pytest.mark.parametrize("text", LOSSLESS)
def test_a_json_object_is_sent_as_that_object(text: str) -> None:
    """Google's models read the fields of ``response``; JSON inside of a string costs them tokens and quality."""
    made = fb.convert_request(_request(text), source="chat_completions", target="generate_content")
    back = fb.convert_request(made.body, source="generate_content", target="chat_completions", model="m")

    assert _response(made) == json.loads(text)
    assert made.losses == ()
    assert back.body["messages"][2]["content"] == json.dumps(json.loads(text), separators=(",", ":"), ensure_ascii=False)


@pytest.mark.parametrize("text", LOSSY.values(), ids=LOSSY.keys())
def test_text_of_which_the_object_would_lose_something_stays_text(text: str) -> None:
    """The text comes back as it was."""
    made = fb.convert_request(_request(text), source="chat_completions", target="generate_content")
    back = fb.convert_request(made.body, source="generate_content", target="chat_completions", model="m")

    assert _response(made) == {"output": text}
    assert made.losses == ()
    assert back.body["messages"][2]["content"] == text


def test_an_error_stays_text_under_its_key() -> None:
    """The key says that the function failed."""
    result = {"type": "tool_result", "tool_use_id": "c1", "content": '{"a":1}', "is_error": True}
    call = {"type": "tool_use", "id": "c1", "name": "f", "input": {}}
    turns = [{"role": "user", "content": "q"}, {"role": "assistant", "content": [call]}, {"role": "user", "content": [result]}]

    made = fb.convert_request({"model": "m", "max_tokens": 9, "messages": turns}, source="messages", target="generate_content")

    assert _response(made) == {"error": '{"a":1}'}


def test_a_json_object_beside_an_image_is_sent_as_that_object() -> None:
    """The image has a place of its own."""
    image = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "iVBORw0KGgo="}}
    result = {"type": "tool_result", "tool_use_id": "c1", "content": [{"type": "text", "text": '{"a":1}'}, image]}
    call = {"type": "tool_use", "id": "c1", "name": "f", "input": {}}
    turns = [{"role": "user", "content": "q"}, {"role": "assistant", "content": [call]}, {"role": "user", "content": [result]}]

    made = fb.convert_request({"model": "m", "max_tokens": 9, "messages": turns}, source="messages", target="generate_content")

    assert _response(made) == {"a": 1}
    assert len(made.body["contents"][2]["parts"][0]["functionResponse"]["parts"]) == 1


def test_deep_nesting_stays_text() -> None:
    """A body has a limit on its depth; text has none."""
    text = '{"a":' * 600 + "1" + "}" * 600

    assert _response(fb.convert_request(_request(text), source="chat_completions", target="generate_content")) == {"output": text}
