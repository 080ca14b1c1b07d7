"""Tools of a request in the format of the target, as the server of a dialect reads them."""

from __future__ import annotations

from typing import Any

import httpx
import pytest

import formatbridge as fb
from formatbridge.testing import FakeRelay
from tests.support.same_format import SCHEMA, USER, convert, convert_chat, settings_of


@pytest.mark.parametrize("server", ["groq", "vllm", "deepseek", "ollama", "sglang", "qwen"])
def test_a_tool_that_only_another_server_runs_is_a_loss(server: str) -> None:
    """A request for OpenRouter names its web search; other servers reject the unknown type."""
    tools = [{"type": "function", "function": {"name": "f", "vendor_field": 1}}, {"type": "openrouter:web_search"}]

    converted = convert_chat({"tools": tools}, server)

    assert converted.body["tools"] == tools[:1]
    assert [(loss.path, loss.code) for loss in converted.losses] == [("/tools/1", "unsupported_by_server")]


@pytest.mark.parametrize("server", ["moonshot", "litellm", "openrouter"])
def test_a_tool_that_the_server_runs_stays(server: str) -> None:
    """The tool exists only there, so the conversion must not treat it as unknown."""
    kind = {"moonshot": "builtin_function"}.get(server, "openrouter:web_search")

    converted = convert_chat({"tools": [{"type": kind, "function": {"name": "$web_search"}}]}, server)

    assert converted.body["tools"] == [{"type": kind, "function": {"name": "$web_search"}}]


@pytest.mark.parametrize("server", ["deepseek", "qwen", "mistral"])
def test_functions_from_the_time_before_tools_become_tools(server: str) -> None:
    """Old applications send the deprecated fields, which newer servers never had."""
    function = {"name": "f", "parameters": {"type": "object", "properties": {}}}
    messages = [
        USER,
        {"role": "assistant", "content": None, "function_call": {"name": "f", "arguments": "{}"}},
        {"role": "function", "name": "f", "content": "1"},
    ]

    converted = convert_chat({"messages": messages, "functions": [function]}, server)

    assert converted.body["tools"] == [{"type": "function", "function": function}]
    assert "functions" not in converted.body
    _, call, result = converted.body["messages"][:3]
    assert call["tool_calls"][0]["function"] == {"name": "f", "arguments": "{}"}
    assert (result["role"], result["tool_call_id"]) == ("tool", call["tool_calls"][0]["id"])


def test_a_function_gets_the_fields_that_the_server_requires() -> None:
    """Mistral rejects a function without parameters, which the other servers accept."""
    tool = {"type": "function", "function": {"name": "now"}}

    converted = convert_chat({"tools": [tool]}, "mistral")

    assert converted.body["tools"][0]["function"] == {"name": "now", "parameters": {"type": "object", "properties": {}}}
    assert [(each.path, each.why) for each in converted.additions] == [
        ("/tools/0/function/parameters", "Mistral requires it in each function")
    ]


_SEARCH = {"type": "web_search_20250305", "name": "web_search"}
_EDITOR = {"type": "text_editor_20250124", "name": "str_replace_editor"}


def test_a_tool_keeps_its_version_without_its_cache_mark() -> None:
    """The encoder writes the newest version for requests of other formats."""
    marked = _SEARCH | {"cache_control": {"type": "ephemeral"}}

    converted = convert({"max_tokens": 9, "messages": [USER], "tools": [marked]}, "deepseek", "messages")

    assert converted.body["tools"] == [_SEARCH]
    assert [loss.path for loss in converted.losses] == ["/tools/0/cache_control"]


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
    # Without a function, the server is a more severe loss than the field, so that both are in the report.
    assert {loss.path for loss in converted.losses} - {"/mcp_servers/0"} == {"/mcp_servers", "/tools/0"}


def test_gemini_gets_no_excluded_domains_of_a_search() -> None:
    """Only Vertex AI has the field, and a user who excludes a site must learn that it is searched."""
    tool = {"type": "web_search_20260318", "name": "web_search", "blocked_domains": ["a.example"]}
    body = {"model": "m", "max_tokens": 9, "messages": [USER], "tools": [tool]}

    gemini, vertex = (
        fb.convert_request(body, source="messages", target=fb.Target("generate_content", dialect=server))
        for server in ("gemini", "vertex")
    )

    assert gemini.body["tools"] == [{"googleSearch": {}}]
    assert [loss.path for loss in gemini.losses] == ["/tools/0/blocked_domains"]
    assert vertex.body["tools"] == [{"googleSearch": {"excludeDomains": ["a.example"]}}]


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


def test_only_the_tools_that_the_server_does_not_have_change() -> None:
    """The others keep their versions, options and unknown fields."""
    search, images, files = {"type": "web_search_preview"}, {"type": "image_generation", "quality": "high"}, {"type": "file_search"}
    tools = [search, {"type": "custom", "name": "apply"}, images, files | {"vector_store_ids": ["v"]}]

    converted = convert({"input": "Hi", "tools": tools}, "vllm", "responses")

    assert [tool for tool in converted.body["tools"] if tool["type"] != "function"] == [tools[0], tools[2], tools[3]]
    assert [(loss.path, loss.code) for loss in converted.losses] == [("/tools/1", "wrapped")]


def test_a_function_of_a_namespace_takes_its_place() -> None:
    """Models prefer tools by their order, so a changed tool must not move to the end."""
    function = {"type": "function", "name": "f", "parameters": {"type": "object", "properties": {}}, "strict": False}
    tools = [{"type": "namespace", "name": "n", "description": "d", "tools": [function]}, {"type": "web_search_preview"}]

    converted = convert({"input": "Hi", "tools": tools}, "vllm", "responses")

    assert converted.body["tools"] == [function | {"name": "n__f"}, tools[1]]
    assert [(loss.path, loss.code) for loss in converted.losses] == [("/tools/0", "unsupported_by_server")]


@pytest.mark.parametrize(
    ("server", "tools"),
    [("groq", [{"type": "browser_search"}, {"type": "code_interpreter"}]), ("minimax", [{"type": "web_search"}])],
)
def test_a_server_gets_the_tools_that_it_runs(server: str, tools: list[dict[str, Any]]) -> None:
    """The fake server accepts them too, so that a test of the application can use them."""
    converted = convert_chat({"tools": tools}, server)

    assert (converted.body["tools"], list(converted.losses)) == (tools, [])
    headers = {"authorization": f"Bearer {(relay := FakeRelay('Hi', dialect=server)).api_key}"}
    request = httpx.Request("POST", "https://relay.test/v1/chat/completions", json=converted.body, headers=headers)
    assert relay.handle_request(request).status_code == 200


def test_bedrock_has_the_tools_that_the_caller_runs_and_not_those_of_anthropics_server() -> None:
    """A coding agent needs its shell; the web search runs only on the servers of Anthropic."""
    tools = [{"type": "bash_20250124", "name": "bash"}, _SEARCH, {"type": "memory_20250818", "name": "memory"}]

    converted = convert({"max_tokens": 9, "messages": [USER], "tools": tools}, "bedrock", "messages")

    assert converted.body["tools"] == [tools[0], tools[2]]
    assert [(loss.path, loss.code) for loss in converted.losses] == [("/tools/1", "unsupported_by_server")]


def test_a_tool_that_no_rule_concerns_keeps_its_place_and_has_no_loss() -> None:
    """A change of one tool must not reorder or report the others."""
    function = {"type": "function", "name": "f", "parameters": {"type": "object", "properties": {}}, "strict": False}
    mcp = {"type": "mcp", "server_label": "docs", "server_url": "https://mcp.example"}
    tools = [{"type": "openrouter:web_search"}, mcp, {"type": "namespace", "name": "n", "description": "d", "tools": [function]}]

    converted = convert({"input": "Hi", "tools": tools}, "openrouter", "responses")

    assert converted.body["tools"] == [*tools[:2], function | {"name": "n__f"}]
    assert [loss.path for loss in converted.losses] == ["/tools/2"]


def test_additions_have_the_pointers_of_the_body_that_is_written() -> None:
    """Without the first tool, the others are one place earlier."""
    functions = [{"type": "function", "function": {"name": name, "parameters": SCHEMA}} for name in ("f", "g")]

    converted = convert_chat({"tools": [{"type": "code_interpreter"}, *functions]}, "perplexity")

    assert [addition.path for addition in converted.additions] == [f"/tools/{at}/function/description" for at in range(2)]
    assert [tool["function"]["description"] for tool in converted.body["tools"]] == ["", ""]


def test_the_tools_that_the_caller_runs_stay_without_the_servers_of_tools() -> None:
    """The caller runs these tools, so they work without the MCP servers."""
    tools = [{"name": "f", "input_schema": SCHEMA, "unknown": 1}, _SEARCH, {"type": "bash_20250124", "name": "bash"}]
    servers = [{"type": "url", "url": "https://mcp.example", "name": "docs"}]

    converted = convert({"max_tokens": 9, "messages": [USER], "tools": tools, "mcp_servers": servers}, "deepseek", "messages")

    assert converted.body["tools"] == tools
    assert "mcp_servers" not in converted.body


def test_a_tool_choice_without_its_tools_is_a_loss() -> None:
    """The server rejects a required call if it has no tool to call."""
    converted = convert_chat({"tools": [{"type": "web_search"}], "tool_choice": "required"}, "groq")

    assert settings_of(converted) == {}
    assert {loss.path for loss in converted.losses} == {"/tools/0", "/tool_choice"}


def test_a_renamed_tool_keeps_its_other_fields() -> None:
    """Moonshot requires another name; options of the tool must not depend on that."""
    tool = {"type": "function", "function": {"name": "1f", "unknown": 1, "parameters": SCHEMA}, "other": 2}

    converted = convert_chat({"tools": [tool]}, "moonshot")

    (written,) = converted.body["tools"]
    assert (written["other"], written["function"]["unknown"]) == (2, 1)
    assert [loss.path for loss in converted.losses] == ["/tools/0/function/name"]


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


@pytest.mark.parametrize(("mode", "paths"), [("auto", []), ("required", ["/tool_choice/allowed_tools/mode"])])
def test_a_server_without_tool_choices_gets_the_allowed_tools_only(mode: str, paths: list[str]) -> None:
    """Ollama ignores ``tool_choice``. With all tools, its model would call one that the caller does not allow."""
    tools = [{"type": "function", "function": {"name": name}} for name in ("read", "search", "write")]
    names = [{"type": "function", "function": {"name": name}} for name in ("read", "search")]
    allowed = {"mode": mode, "tools": names}

    converted = convert_chat({"tools": tools, "tool_choice": {"type": "allowed_tools", "allowed_tools": allowed}}, "ollama")

    assert converted.body["tools"] == tools[:2]
    assert "tool_choice" not in converted.body
    assert [loss.path for loss in converted.losses if loss.severity != "info"] == paths
