"""Fields that a server rejects only together: the request keeps the more useful one, and the report has the other."""

from __future__ import annotations

from typing import Any

import pytest

import formatbridge as fb

_USER: dict[str, Any] = {"role": "user", "content": "Answer in JSON."}
_OBJECT: dict[str, Any] = {"type": "object", "properties": {}, "required": [], "additionalProperties": False}
_SCHEMA = {"type": "json_schema", "json_schema": {"name": "answer", "schema": _OBJECT}}
_BOTH_SERVERS = pytest.mark.parametrize("server", ["cerebras", "groq"])


def _function(name: str = "now", **fields: Any) -> dict[str, Any]:
    return {"type": "function", "function": {"name": name, "parameters": _OBJECT, **fields}}


def _convert(body: dict[str, Any], server: str, source: fb.Format = "chat_completions") -> fb.ConvertedRequest:
    body = {"model": "m", "input" if source == "responses" else "messages": [_USER], **body}
    return fb.convert_request(body, source=source, target=fb.Target("chat_completions", dialect=server))


def _losses(converted: fb.ConvertedRequest) -> list[tuple[str, str, str]]:
    return [(loss.path, loss.code, loss.severity) for loss in converted.losses]


@_BOTH_SERVERS
@pytest.mark.parametrize("format", [{"type": "json_object"}, _SCHEMA], ids=["mode", "schema"])
def test_a_request_with_tools_loses_its_output_format(server: str, format: dict[str, Any]) -> None:
    """An agent without its tools could do nothing."""
    body = {"tools": [_function()], "response_format": format}

    converted = _convert(body, server)

    assert (converted.body["tools"], "response_format" in converted.body) == (body["tools"], False)
    assert _losses(converted) == [("/response_format", "rejected_combination", "lossy")]


@_BOTH_SERVERS
def test_a_request_of_another_format_with_tools_loses_its_output_format(server: str) -> None:
    """The loss points to the format of the source."""
    tool = {"type": "function", "name": "now", "parameters": _OBJECT, "strict": False}
    body = {"tools": [tool], "text": {"format": {"type": "json_object"}, "verbosity": "low"}}

    converted = _convert(body, server, "responses")

    assert (len(converted.body["tools"]), "response_format" in converted.body) == (1, False)
    assert ("/text/format", "rejected_combination", "lossy") in _losses(converted)


@_BOTH_SERVERS
def test_an_output_format_stays_if_the_model_must_not_call_a_tool(server: str) -> None:
    """The tools have no effect then."""
    body = {"tools": [_function()], "tool_choice": "none", "response_format": _SCHEMA}

    converted = _convert(body, server)

    assert converted.body == {"model": "m", "messages": [_USER], "response_format": _SCHEMA}
    assert _losses(converted) == [("/tools/0", "excluded", "info")]


@_BOTH_SERVERS
@pytest.mark.parametrize("body", [{"response_format": _SCHEMA}, {"tools": [_function()]}], ids=["format", "tools"])
def test_an_output_format_or_tools_alone_pass(server: str, body: dict[str, Any]) -> None:
    """Only the combination is rejected."""
    converted = _convert(body, server)

    assert (converted.body, list(converted.losses)) == ({"model": "m", "messages": [_USER], **body}, [])


@_BOTH_SERVERS
def test_an_unknown_output_format_next_to_tools_is_a_loss_for_the_server(server: str) -> None:
    """The server rejects every output format next to tools."""
    converted = _convert({"tools": [_function()], "response_format": {"type": "grammar", "grammar": "x"}}, server)

    assert "response_format" not in converted.body
    assert _losses(converted) == [("/response_format", "unsupported_by_server", "lossy")]


@_BOTH_SERVERS
def test_a_text_format_next_to_tools_is_left_out_without_a_loss(server: str) -> None:
    """It is the default, and Cerebras rejects even this one."""
    converted = _convert({"tools": [_function()], "response_format": {"type": "text"}}, server)

    assert ("response_format" in converted.body, list(converted.losses)) == (False, [])


def test_mixed_strict_functions_lose_strict_for_cerebras() -> None:
    """Its server rejects the request, and strict schemas for all functions may be impossible."""
    tools = [_function("a", strict=True), _function("b"), _function("c", strict=False)]

    converted = _convert({"tools": tools}, "cerebras")

    assert converted.body["tools"] == [_function("a"), *tools[1:]]
    assert _losses(converted) == [("/tools/0/function/strict", "rejected_combination", "lossy")]


def test_mixed_strict_functions_of_another_format_lose_strict_for_cerebras() -> None:
    """Also if only the target weakens one of them, because OpenAI's servers would reject its schema."""
    optional = {"type": "object", "properties": {"x": {"type": "string"}}, "additionalProperties": False}
    tools = [{"name": name, "input_schema": schema, "strict": True} for name, schema in (("a", _OBJECT), ("b", optional))]

    converted = _convert({"max_tokens": 9, "tools": tools}, "cerebras", "messages")

    assert [tool["function"].get("strict", False) for tool in converted.body["tools"]] == [False, False]
    assert _losses(converted) == [("/tools/1/strict", "not_strict", "lossy"), ("/tools/0/strict", "rejected_combination", "lossy")]


def test_a_strict_function_with_an_illegal_schema_loses_strict_with_the_others() -> None:
    """A body of the same format keeps such a schema, so that the tools would still be mixed."""
    loose = _function("a", strict=True, parameters={"type": "object", "properties": {"x": {"type": "string"}}})

    converted = _convert({"tools": [loose, _function("b", strict=True)]}, "cerebras")

    assert [tool["function"].get("strict", False) for tool in converted.body["tools"]] == [False, False]
    assert {path for path, _, _ in _losses(converted)} == {"/tools/0/function/strict", "/tools/1/function/strict"}


def test_uniform_strict_functions_pass_to_cerebras() -> None:
    """Only a mixture is rejected."""
    body = {"tools": [_function("a", strict=True), _function("b", strict=True)]}

    converted = _convert(body, "cerebras")

    assert (converted.body["tools"], list(converted.losses)) == (body["tools"], [])


_PREFILL = [_USER, {"role": "assistant", "content": "{"}]
_OFF = {"enable_thinking": False}


@pytest.mark.parametrize("setting", [{"reasoning_effort": "high"}, {"chat_template_kwargs": {"enable_thinking": True}}])
def test_a_final_answer_for_llamacpp_turns_reasoning_off(setting: dict[str, Any]) -> None:
    """Its server continues each final answer, and rejects one with reasoning."""
    converted = _convert({"messages": _PREFILL, **setting}, "llamacpp")

    assert (converted.body["messages"], converted.body["chat_template_kwargs"]) == (_PREFILL, _OFF)
    assert "reasoning_effort" not in converted.body
    assert [path.split("/")[1] for path, _, _ in _losses(converted)] == [*setting]


def test_a_final_answer_of_another_format_turns_reasoning_off_for_llamacpp() -> None:
    """Models reason by default there. The answer is continued as in the format of the source, so that this is no loss."""
    converted = _convert({"max_tokens": 9, "messages": _PREFILL}, "llamacpp", "messages")

    assert (converted.body["messages"], converted.body["chat_template_kwargs"]) == (_PREFILL, _OFF)
    assert [addition.path for addition in converted.additions] == ["/chat_template_kwargs"]
    assert list(converted.losses) == []


def test_a_final_answer_without_reasoning_passes_to_llamacpp() -> None:
    """The caller has turned reasoning off."""
    body = {"messages": _PREFILL, "chat_template_kwargs": {"enable_thinking": False, "x": 1}}

    converted = _convert(body, "llamacpp")

    assert (converted.body, list(converted.losses)) == ({"model": "m", **body}, [])


def test_reasoning_stays_on_for_llamacpp_after_a_question() -> None:
    """Only a final answer excludes it."""
    converted = _convert({"reasoning_effort": "high"}, "llamacpp")

    assert converted.body["chat_template_kwargs"] == {"enable_thinking": True}


_LOGPROBS = {"logprobs": True, "top_logprobs": 2}


def test_log_probabilities_are_left_out_of_a_stream_with_tools_for_llamacpp() -> None:
    """Its server rejects them, and the tools are more useful."""
    converted = _convert({"tools": [_function()], "stream": True, **_LOGPROBS}, "llamacpp")

    assert converted.body.keys().isdisjoint(_LOGPROBS)
    assert [(path, code) for path, code, _ in _losses(converted)] == [(f"/{name}", "rejected_combination") for name in _LOGPROBS]


def test_log_probabilities_of_another_format_are_left_out_of_a_stream_with_tools_for_llamacpp() -> None:
    """The loss points to the fields of the source."""
    tool = {"type": "function", "name": "now", "parameters": _OBJECT, "strict": False}
    body = {"tools": [tool], "stream": True, "include": ["message.output_text.logprobs"], "top_logprobs": 2}

    converted = _convert(body, "llamacpp", "responses")

    assert converted.body.keys().isdisjoint(_LOGPROBS)
    assert "rejected_combination" in {code for _, code, _ in _losses(converted)}


@pytest.mark.parametrize("body", [{"stream": True}, {"tools": [_function()]}], ids=["stream", "tools"])
def test_log_probabilities_without_a_stream_or_tools_pass_to_llamacpp(body: dict[str, Any]) -> None:
    """Only the combination is rejected."""
    converted = _convert(body | _LOGPROBS, "llamacpp")

    assert (converted.body, list(converted.losses)) == ({"model": "m", "messages": [_USER], **body, **_LOGPROBS}, [])
