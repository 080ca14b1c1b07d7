"""Names of a function's properties that Messages does not allow: renamed in requests, restored in answers."""

from __future__ import annotations

import json
from typing import Any

import pytest

import formatbridge as fb

SCHEMA = {
    "type": "object",
    "properties": {"filter[id]": {"type": "string"}, "filter_id_": {"type": "integer"}, "page": {"type": "object"}},
    "required": ["filter[id]"],
}
NAMES = {"filter[id]": "filter_id__2"}


def _request(*messages: dict[str, Any], name: str = "list_apps", **function: Any) -> fb.ConvertedRequest:
    tool = {"type": "function", "function": {"name": name, "description": "List apps.", "parameters": SCHEMA, **function}}
    body = {"model": "m", "messages": [{"role": "user", "content": "hi"}, *messages], "tools": [tool]}
    return fb.convert_request(body, source="chat_completions", target="messages")


def _answer(arguments: dict[str, Any], name: str = "list_apps") -> dict[str, Any]:
    call = {"type": "tool_use", "id": "toolu_1", "name": name, "input": arguments}
    return {"id": "msg_1", "type": "message", "role": "assistant", "model": "m", "content": [call], "stop_reason": "tool_use",
            "usage": {"input_tokens": 1, "output_tokens": 1}}  # fmt: skip


def _call(arguments: str) -> dict[str, Any]:
    return {
        "role": "assistant",
        "tool_calls": [{"id": "c", "type": "function", "function": {"name": "list_apps", "arguments": arguments}}],
    }


def test_a_property_gets_a_name_that_no_other_property_has() -> None:
    """Its name is the only difference, in every list of names."""
    result = _request()

    schema = result.body["tools"][0]["input_schema"]
    assert [*schema["properties"]] == ["filter_id__2", "filter_id_", "page"]
    assert schema["required"] == ["filter_id__2"]
    assert [(loss.path, loss.severity, loss.code, loss.after) for loss in result.losses] == [
        ("/tools/0/function/parameters/properties/filter[id]", "lossy", "renamed", "filter_id__2"),
        ("/tools/0/function/parameters/required/0", "info", "renamed", "filter_id__2"),
    ]


@pytest.mark.parametrize(
    ("arguments", "sent"),
    [
        ('{"filter[id]":"a","page":{"filter[id]":1}}', {"filter_id__2": "a", "page": {"filter[id]": 1}}),
        ("{}", {}),
        ('{"filter[id]":"a","filter_id__2":1}', {"filter[id]": "a", "filter_id__2": 1}),
        ('{"filter[id]":', {"raw_arguments": '{"filter[id]":'}),
    ],
)
def test_calls_of_the_history_have_the_names_of_the_request(arguments: str, sent: dict[str, Any]) -> None:
    """The model copies them. Nothing is lost where two names would be equal, or where the text is no object."""
    result = _request(_call(arguments), {"role": "tool", "tool_call_id": "c", "content": "ok"})

    assert result.body["messages"][1]["content"][0]["input"] == sent


@pytest.mark.parametrize("tool", ["list_apps", "list.apps"])
def test_an_answer_has_the_names_of_the_caller(tool: str) -> None:
    """The caller's function has no other parameters, whatever the name of the function itself."""
    request = _request(name=tool)
    answer = _answer({"filter_id__2": "a", "page": {"filter_id__2": 1}}, request.body["tools"][0]["name"])

    result = fb.convert_response(answer, source="messages", target="chat_completions", request=request)

    function = result.body["choices"][0]["message"]["tool_calls"][0]["function"]
    assert function == {"name": tool, "arguments": '{"filter[id]":"a","page":{"filter_id__2":1}}'}
    assert not result.losses


@pytest.mark.parametrize("arguments", [{}, {"filter_id__2": "a", "filter_id_": 1}, {"page": {"filter_id__2": 1}}])
def test_a_stream_has_the_names_of_the_caller(arguments: dict[str, Any]) -> None:
    """Its client joins the pieces, and parses them."""
    request = _request()
    stream = b"".join(fb.replay_response(_answer(arguments), source="messages", target="messages"))
    converter = fb.StreamConverter(source="messages", target="chat_completions", request=request)

    data = b"".join(converter.feed(stream[at : at + 7]) for at in range(0, len(stream), 7)) + converter.finish()

    whole = fb.convert_response(_answer(arguments), source="messages", target="chat_completions", request=request).body
    for body in (fb.collect_stream([data], source="chat_completions").body, converter.response().body, whole):
        function = body["choices"][0]["message"]["tool_calls"][0]["function"]
        restored = {
            name: arguments[new] for name, new in (NAMES | {"filter_id_": "filter_id_", "page": "page"}).items() if new in arguments
        }
        assert json.loads(function["arguments"] or "{}") == restored


@pytest.mark.parametrize("target", [name for name in fb.FORMATS if name not in ("messages", "chat_completions")])
def test_other_formats_keep_the_names(target: fb.Format) -> None:
    """Their servers allow them."""
    body = {"model": "m", "messages": [{"role": "user", "content": "hi"}], "tools": [
        {"type": "function", "function": {"name": "f", "description": "d", "parameters": SCHEMA}}
    ]}  # fmt: skip

    converted = fb.convert_request(body, source="chat_completions", target=target)

    assert b'"filter[id]"' in converted.json()
    assert not [loss for loss in converted.losses if loss.code == "renamed"]


def test_a_request_of_the_same_format_keeps_the_names() -> None:
    """The caller's body is sent as it is."""
    body = {
        "model": "m",
        "max_tokens": 9,
        "messages": [{"role": "user", "content": "hi"}],
        "tools": [{"name": "f", "input_schema": SCHEMA}],
    }

    assert fb.convert_request(body, source="messages", target="messages").body == body
