"""Tools of a request in the format of the target, as the server of a dialect reads them."""

from __future__ import annotations

from typing import Any

import pytest

import formatbridge as fb
from tests.support.same_format import SCHEMA, USER, convert, convert_chat


@pytest.mark.parametrize("server", ["groq", "vllm", "deepseek", "ollama", "sglang", "qwen"])
def test_a_tool_that_only_another_server_runs_is_a_loss(server: str) -> None:
    """A request for OpenRouter names a tool of its server; other servers reject the unknown type."""
    tools = [{"type": "function", "function": {"name": "f", "vendor_field": 1}}, {"type": "openrouter:advisor"}]

    converted = convert_chat({"tools": tools}, server)

    assert converted.body["tools"] == tools[:1]
    assert [(loss.path, loss.code) for loss in converted.losses] == [("/tools/1", "unsupported_by_server")]


@pytest.mark.parametrize("server", ["moonshot", "litellm", "openrouter"])
def test_a_tool_that_the_server_runs_stays(server: str) -> None:
    """The tool exists only there, so the conversion must not treat it as unknown."""
    kind = {"moonshot": "builtin_function"}.get(server, "openrouter:web_search")

    converted = convert_chat({"tools": [{"type": kind, "function": {"name": "$web_search"}}]}, server)

    assert converted.body["tools"] == [{"type": kind, "function": {"name": "$web_search"}}]


_SEARCH = {"type": "web_search_20250305", "name": "web_search"}
_EDITOR = {"type": "text_editor_20250124", "name": "str_replace_editor"}


@pytest.mark.parametrize(
    "tools",
    [
        [_EDITOR],
        [_EDITOR, {"type": "bash_20241022", "name": "bash"}],
        [_SEARCH, _EDITOR],
        [_SEARCH, {"name": "now", "input_schema": SCHEMA, "unknown": 1}],
        [_SEARCH, {"input_schema": SCHEMA, "description": "The time.", "name": "now", "unknown": 1}],
        [_SEARCH, {"type": "custom", "name": "now", "input_schema": SCHEMA, "unknown": 1}],
    ],
)
def test_tools_of_the_format_stay_without_the_tools_that_the_server_does_not_run(tools: list[dict[str, Any]]) -> None:
    """Other formats do not have these tools."""
    server = {"mcp_servers": [{"type": "url", "url": "https://mcp.example", "name": "docs"}]}
    toolset = {"type": "mcp_toolset", "mcp_server_name": "docs"}

    converted = convert({"max_tokens": 9, "messages": [USER], "tools": [toolset, *tools], **server}, "deepseek", "messages")

    assert converted.body["tools"] == tools
    assert "mcp_servers" not in converted.body
    assert {loss.path for loss in converted.losses} == {"/mcp_servers/0", "/tools/0"}


@pytest.mark.parametrize(("name", "written"), [("21st_magic", "f_21st_magic"), ("_now", "f__now"), ("now", "now")])
def test_a_tool_gets_a_name_that_starts_with_a_letter(name: str, written: str) -> None:
    """Moonshot rejects others; the answer has the name of the caller again."""
    body = {"model": "m", "max_tokens": 9, "messages": [USER], "tools": [{"name": name, "input_schema": {"type": "object"}}]}
    call = {"id": "c1", "type": "function", "function": {"name": written, "arguments": "{}"}}
    message = {"role": "assistant", "content": None, "tool_calls": [call]}
    answer = {"id": "1", "model": "m", "choices": [{"index": 0, "message": message, "finish_reason": "tool_calls"}]}

    converted = fb.convert_request(body, source="messages", target=fb.Target("chat_completions", dialect="moonshot"))
    returned = fb.convert_response(answer, source="chat_completions", target="messages", request=converted)

    assert converted.body["tools"][0]["function"]["name"] == written
    assert [loss.code for loss in converted.losses] == (["renamed"] if name != written else [])
    assert returned.body["content"][0]["name"] == name


@pytest.mark.parametrize("server", ["openai", "azure", "groq"])
def test_tools_beyond_the_limit_of_the_server_are_left_out(server: str) -> None:
    """The server rejects the whole request for them."""
    tools = [{"type": "function", "function": {"name": f"f{number}"}} for number in range(130)]

    converted = convert_chat({"tools": tools}, server)

    assert converted.body["tools"] == tools[:128]
    assert [(loss.path, loss.severity) for loss in converted.losses if loss.code == "server_limit"] == [
        ("/tools/128", "impossible"),
        ("/tools/129", "impossible"),
    ]
