"""A request of the format of its server keeps its conversation: every call has its result, and nothing is moved, repeated or lost."""

from __future__ import annotations

import json
from typing import Any

import pytest

import formatbridge as fb

_CALL = {"role": "model", "parts": [{"functionCall": {"name": "shot", "args": {}}}]}
_QUESTION = {"role": "user", "parts": [{"text": "hi"}]}


def _text(text: str, **fields: Any) -> dict[str, Any]:
    return {"type": "text", "text": text, **fields}


def _convert(body: dict[str, Any], format: Any, dialect: str, facts: fb.ModelFacts | None = None) -> fb.ConvertedRequest:
    return fb.convert_request({"model": "m", **body}, source=format, target=fb.Target(format, dialect=dialect, model=facts))


@pytest.mark.parametrize("role", [{}, {"role": "function"}, {"role": "user"}])
def test_a_result_of_any_role_passes_unchanged_with_text(role: dict[str, str]) -> None:
    """``user`` is the default of Gemini, and ``function`` its older role for results."""
    result = {"functionResponse": {"name": "shot", "response": {"output": "warm", "degrees": 4}}}
    contents = [_QUESTION, _CALL, {**role, "parts": [result, {"text": "and now?"}]}]
    converted = _convert({"contents": contents}, "generate_content", "vertex")

    assert converted.body["contents"] == contents
    assert (converted.losses, converted.additions) == ((), ())


def test_results_of_two_turns_are_sent_once() -> None:
    """Vertex has no ids, so the encoder joins the results for the calls of one turn."""

    def result(name: str, value: str, **fields: Any) -> dict[str, Any]:
        return {"functionResponse": {"name": name, "response": {"output": value, "deg": 4}, **fields}}

    image = {"inlineData": {"mimeType": "image/png", "data": "iVBORw0KGgo="}}
    calls = [{"functionCall": {"name": name, "args": {}}} for name in "ffg"]
    later = {"role": "user", "parts": [result("f", "bb"), result("g", "cc"), {"text": "and?"}]}
    first = {"role": "user", "parts": [result("f", "aa", parts=[image])]}
    contents = [_QUESTION, {"role": "model", "parts": calls}, first, later]
    converted = _convert({"contents": contents}, "generate_content", "vertex", fb.ModelFacts(inputs=frozenset({"text"})))

    assert converted.body["contents"][2:] == [{"role": "user", "parts": [result("f", "aa")]}, later]


@pytest.mark.parametrize("index", [0, 2])
def test_an_instruction_at_either_end_is_moved_if_the_server_has_no_such_role(index: int) -> None:
    """Bedrock rejects the role in a conversation. Between two turns the encoder moves an instruction for this server only."""
    messages = [{"role": "user", "content": "hi"}, {"role": "assistant", "content": "yo"}]
    messages.insert(index, {"role": "system", "content": "Answer in French."})
    converted = _convert({"max_tokens": 9, "messages": messages}, "messages", "bedrock")

    assert converted.body["system"] == "Answer in French."
    assert "system" not in [message["role"] for message in converted.body["messages"]]


def test_a_replaced_conversation_keeps_the_items_of_its_format() -> None:
    """A conversation that adds tools is replaced as a whole, with the calls that the server has run."""
    tools = {"type": "additional_tools", "role": "developer", "tools": [{"type": "function", "name": "f", "parameters": {}}]}
    history = [
        {"type": "shell_call", "call_id": "call_1", "action": {"commands": ["cat a.txt"]}, "status": "completed"},
        {"type": "image_generation_call", "id": "ig_1", "status": "completed", "result": "iVBORw0KGgo="},
        {"type": "file_search_call", "id": "fs_1", "status": "completed", "queries": ["hello"], "results": None},
    ]
    converted = _convert({"input": [{"role": "user", "content": "hi"}, *history, tools]}, "responses", "xai")

    assert converted.body["input"][1:] == history
    assert [tool["name"] for tool in converted.body["tools"]] == ["f"]


def test_a_document_without_its_cache_mark_stays_a_document() -> None:
    """The server reads no cache marks. The conversation was replaced, and the mark was still in it."""
    mark = {"cache_control": {"type": "ephemeral"}}
    search = {"type": "search_result", "source": "https://example.com", "title": "Times", "content": [_text("At nine.", **mark)]}
    call = {"role": "assistant", "content": [{"type": "tool_use", "id": "t1", "name": "f", "input": {}, "x_unknown": 1}]}
    result = {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t1", "content": [search]}]}
    rules = fb.DialectRules(server="own", cache_marks="none", accepts_later_instructions=False)
    body = {"model": "m", "max_tokens": 9, "messages": [{"role": "user", "content": "a"}, call, result]}
    converted = fb.convert_request(
        body, source="messages", target=fb.Target("messages", dialect=fb.Dialect("own", {"messages": rules}))
    )

    assert converted.body["messages"][1] == call
    assert converted.body["messages"][2]["content"][0]["content"] == [search | {"content": [_text("At nine.")]}]


def test_added_tools_come_without_the_toolsets_of_servers_that_the_caller_configured() -> None:
    """The encoder writes a toolset for each server, which contradicts the configuration in the server itself."""
    servers = [{"type": "url", "name": "wiki", "url": "https://example.com", "tool_configuration": {"enabled": False}}]
    definition = {"name": "f", "input_schema": {"type": "object", "properties": {}}}
    addition = {"type": "tool_addition", "tool": {"type": "tool_definition", "definition": definition}}
    messages = [{"role": "user", "content": "a"}, {"role": "system", "content": [addition]}]
    cloud = fb.Dialect("own", {"messages": fb.DialectRules(server="own", accepts_later_instructions=False)})
    body = {"model": "m", "max_tokens": 9, "messages": messages, "mcp_servers": servers}
    converted = fb.convert_request(body, source="messages", target=fb.Target("messages", dialect=cloud))

    assert converted.body["tools"] == [definition]
    assert converted.body["mcp_servers"] == servers


def test_facts_about_the_model_do_not_change_the_conversation_a_second_time() -> None:
    """The body is adapted again with facts, because several fields may set the same. Unknown fields of parts were lost in this."""
    part = {"type": "file", "file": {"filename": "a.txt", "file_data": "data:text/plain;base64,Q2Fm"}, "x_unknown": 1}
    image = {"type": "image_url", "image_url": {"url": "data:image/png;base64,iVBORw0KGgo="}}
    question = {"role": "user", "content": [_text("hi"), part, image]}
    messages = [question, {"role": "system", "content": ""}, {"role": "user", "content": "Take a screenshot"}]
    converted = _convert({"messages": messages}, "chat_completions", "perplexity", fb.ModelFacts(refuses=frozenset({"tools"})))

    assert '"x_unknown": 1' in json.dumps(converted.body)
    assert converted.losses == ()
