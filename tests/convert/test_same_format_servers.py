"""Requests in the format of the target, as the server of a dialect reads them."""

from __future__ import annotations

import json
from typing import Any

import httpx
import pytest

import formatbridge as fb
from formatbridge.testing import FakeRelay

_USER = {"role": "user", "content": "Hi"}


def _convert(fields: dict[str, Any], server: str, format: fb.Format = "chat_completions") -> fb.ConvertedRequest:
    return fb.convert_request({"model": "m", **fields}, source=format, target=fb.Target(format, dialect=server), model="m")


def _chat(fields: dict[str, Any], server: str) -> fb.ConvertedRequest:
    return _convert({"messages": [_USER], **fields}, server)


def _settings(converted: fb.ConvertedRequest) -> dict[str, Any]:
    return {key: value for key, value in converted.body.items() if key not in ("model", "messages")}


_EFFORT = {"reasoning": {"effort": "low"}}
_OFF = {"enable_thinking": False}


@pytest.mark.parametrize(
    ("server", "sent", "expected"),
    [
        ("openai", _EFFORT, {"reasoning_effort": "low"}),
        ("azure", _EFFORT, {"reasoning_effort": "low"}),
        ("mistral", {"reasoning": {"effort": "high"}}, {"reasoning_effort": "high"}),
        ("vllm", _EFFORT, {"reasoning_effort": "low"}),
        ("deepseek", _EFFORT, {"thinking": {"type": "enabled"}, "reasoning_effort": "low"}),
        ("qwen", {"thinking": {"type": "disabled"}}, {"enable_thinking": False}),
        ("openai", _OFF, {"reasoning_effort": "none"}),
        ("groq", _OFF, {"reasoning_effort": "none"}),
        ("ollama", _OFF, {"reasoning_effort": "none"}),
        ("sglang", _OFF, {"chat_template_kwargs": {"enable_thinking": False}}),
        ("openrouter", {"reasoning_effort": "low"}, {"reasoning": {"effort": "low"}}),
        ("together", {"reasoning_effort": "none"}, {"reasoning": {"enabled": False}}),
    ],
)
def test_a_setting_of_reasoning_moves_to_the_field_that_the_server_reads(
    server: str, sent: dict[str, Any], expected: dict[str, Any]
) -> None:
    """An application that was written for one server turns reasoning on by its field, and another server ignores that field."""
    converted = _chat(sent, server)

    assert _settings(converted) == expected
    assert list(converted.losses) == []


@pytest.mark.parametrize(
    ("server", "sent"),
    [
        ("deepseek", {"reasoning_effort": "high"}),
        ("deepseek", {"thinking": {"type": "enabled"}}),
        ("vllm", {"chat_template_kwargs": {"thinking": True, "add_date": True}}),
        ("zhipu", {"thinking": {"type": "enabled", "clear_thinking": False}}),
        ("openrouter", {"reasoning": {"enabled": True, "exclude": True}}),
        ("groq", {"reasoning_effort": "default", "reasoning_format": "parsed"}),
        ("huggingface", {"chat_template_kwargs": {"enable_thinking": False}}),
    ],
)
def test_a_setting_of_reasoning_that_the_server_reads_stays(server: str, sent: dict[str, Any]) -> None:
    """A user who already writes for the server gets exactly the request that was tested."""
    converted = _chat(sent, server)

    assert _settings(converted) == sent
    assert (list(converted.losses), list(converted.additions)) == ([], [])


@pytest.mark.parametrize("server", ["deepseek", "moonshot", "zhipu"])
def test_a_budget_that_the_server_does_not_read_is_dropped_as_reported(server: str) -> None:
    """The server would ignore the budget, and a user who limits costs must learn that."""
    converted = _chat({"thinking": {"type": "enabled", "budget_tokens": 2048}}, server)

    assert _settings(converted) == {"thinking": {"type": "enabled"}}
    assert [(loss.path, loss.code) for loss in converted.losses] == [("/thinking/budget_tokens", "unsupported_by_server")]


_THINKING = {"type": "thinking", "thinking": [{"type": "text", "text": "Think."}]}
_ANSWER = {"type": "text", "text": "Yes."}


@pytest.mark.parametrize(
    ("server", "field"),
    [
        ("openai", "reasoning_content"),
        ("qwen", "reasoning_content"),
        ("deepseek", "reasoning_content"),
        ("groq", "reasoning"),
        ("ollama", "reasoning"),
    ],
)
def test_reasoning_in_a_part_moves_to_the_field_that_the_server_reads(server: str, field: str) -> None:
    """Mistral sends it in a part, which other servers reject."""
    converted = _chat({"messages": [_USER, {"role": "assistant", "content": [_THINKING, _ANSWER]}, _USER]}, server)

    assert converted.body["messages"][1] == {"role": "assistant", "content": [_ANSWER], field: "Think."}
    assert list(converted.losses) == []


@pytest.mark.parametrize(
    ("server", "message"),
    [
        ("mistral", {"role": "assistant", "content": [_THINKING, _THINKING, _ANSWER]}),
        (
            "openrouter",
            {"role": "assistant", "content": "Yes.", "reasoning_details": [{"type": "reasoning.text", "text": "Think."}]},
        ),
        ("ollama", {"role": "assistant", "content": "Yes.", "reasoning": "Think.", "reasoning_content": "Think."}),
    ],
)
def test_reasoning_that_the_server_reads_stays(server: str, message: dict[str, Any]) -> None:
    """The next answer depends on reasoning in exactly the form that the server sent."""
    converted = _chat({"messages": [_USER, message, _USER]}, server)

    assert converted.body["messages"][1] == message
    assert list(converted.losses) == []


def test_a_second_text_of_reasoning_that_the_server_rejects_is_a_loss() -> None:
    """A history that passed through two servers may have both fields, with different texts."""
    message = {"role": "assistant", "content": "Yes.", "reasoning": "Think.", "reasoning_content": "Other."}

    converted = _chat({"messages": [_USER, message, _USER]}, "groq")

    assert converted.body["messages"][1] == {"role": "assistant", "content": "Yes.", "reasoning": "Think."}
    assert [(loss.path, loss.code) for loss in converted.losses] == [("/messages/1/reasoning_content", "rejected_by_server")]


@pytest.mark.parametrize("names", [("functionCall", "functionResponse"), ("function_call", "function_response")])
def test_vertex_gets_calls_without_ids_in_camel_case_and_in_snake_case(names: tuple[str, str]) -> None:
    """The SDK writes one notation and a JSON file may have the other; Vertex AI rejects the ids in both."""
    call, result = names
    contents = [
        {"role": "user", "parts": [{"text": "Hi"}]},
        {"role": "model", "parts": [{call: {"id": "c1", "name": "f", "args": {"cityName": "Oslo"}}}]},
        {"role": "user", "parts": [{result: {"id": "c1", "name": "f", "response": {"output": 1}}}]},
    ]

    converted = _convert({"contents": contents}, "vertex", "generate_content")

    assert converted.body["contents"][1]["parts"] == [{call: {"name": "f", "args": {"cityName": "Oslo"}}}]
    assert converted.body["contents"][2]["parts"] == [{result: {"name": "f", "response": {"output": 1}}}]
    assert [(loss.path, loss.severity) for loss in converted.losses] == [
        (f"/contents/1/parts/0/{call}/id", "info"),
        (f"/contents/2/parts/0/{result}/id", "info"),
    ]


def test_the_fake_server_of_vertex_rejects_ids_in_snake_case() -> None:
    """A test must fail here before the request fails in production."""
    relay = FakeRelay("hi", dialect="vertex")
    body = {"contents": [{"role": "model", "parts": [{"function_call": {"id": "c1", "name": "f"}}]}]}

    answer = relay.http_client().post(
        f"{relay.base_url}/v1beta/models/m:generateContent", json=body, headers={"x-goog-api-key": "sk-fake"}
    )

    assert answer.status_code == 400
    assert "function_call" in answer.text


@pytest.mark.parametrize("server", ["zhipu", "mistral"])
def test_options_of_a_stream_that_the_server_does_not_read_are_reported(server: str) -> None:
    """An application that waits for the usage at the end of the stream must learn that it may not arrive."""
    converted = _chat({"stream": True, "stream_options": {"include_usage": True}}, server)

    assert "stream_options" not in converted.body
    assert [loss.path for loss in converted.losses] == ["/stream_options"]


@pytest.mark.parametrize("server", ["groq", "vllm", "deepseek", "ollama", "sglang", "qwen"])
def test_a_tool_that_only_another_server_runs_is_a_loss(server: str) -> None:
    """A request for OpenRouter names its web search; other servers reject the unknown type."""
    tools = [{"type": "function", "function": {"name": "f", "vendor_field": 1}}, {"type": "openrouter:web_search"}]

    converted = _chat({"tools": tools}, server)

    assert converted.body["tools"] == tools[:1]
    assert [(loss.path, loss.code) for loss in converted.losses] == [("/tools/1", "unsupported_by_server")]


@pytest.mark.parametrize("server", ["moonshot", "litellm", "openrouter"])
def test_a_tool_that_the_server_runs_stays(server: str) -> None:
    """The tool exists only there, so the conversion must not treat it as unknown."""
    kind = {"moonshot": "builtin_function"}.get(server, "openrouter:web_search")

    converted = _chat({"tools": [{"type": kind, "function": {"name": "$web_search"}}]}, server)

    assert converted.body["tools"] == [{"type": kind, "function": {"name": "$web_search"}}]


def _documents(*parts: dict[str, Any]) -> dict[str, Any]:
    return {"messages": [{"role": "user", "content": [{"type": "text", "text": "Read."}, *parts]}]}


_BYTES = "JVBERi0xLjQK"
_DATA = f"data:application/pdf;base64,{_BYTES}"
_PARTS: dict[str, dict[str, Any]] = {
    "openai": {"type": "file", "file": {"file_data": _DATA, "filename": "a.pdf"}},
    "mistral": {"type": "document_url", "document_url": _DATA, "document_name": "a.pdf"},
    "perplexity": {"type": "file_url", "file_url": {"url": _BYTES}, "file_name": "a.pdf"},
}


@pytest.mark.parametrize("server", _PARTS)
@pytest.mark.parametrize("sent", _PARTS)
def test_a_document_is_in_the_part_that_the_server_reads(sent: str, server: str) -> None:
    """Three servers have three parts for one PDF, and each rejects the parts of the others."""
    converted = _chat(_documents(_PARTS[sent]), server)

    assert converted.body["messages"][0]["content"][1] == _PARTS[server]
    assert list(converted.losses) == []


@pytest.mark.parametrize("server", ["mistral", "perplexity"])
def test_a_document_by_url_reaches_the_servers_that_read_one(server: str) -> None:
    """The caller need not download the document to send it."""
    url = "https://example.com/a.pdf"
    body = {"model": "m", "max_tokens": 9, **_documents({"type": "document", "source": {"type": "url", "url": url}})}

    converted = fb.convert_request(body, source="messages", target=fb.Target("chat_completions", dialect=server))

    part = converted.body["messages"][0]["content"][1]
    assert part == (
        {"type": "document_url", "document_url": url} if server == "mistral" else {"type": "file_url", "file_url": {"url": url}}
    )


def test_a_document_by_url_is_a_loss_for_a_server_without_such_documents() -> None:
    """The model would answer a question about a document that it never got."""
    converted = _chat(_documents({"type": "document_url", "document_url": "https://example.com/a.pdf"}), "openai")

    assert converted.body["messages"][0]["content"] == [{"type": "text", "text": "Read."}]
    assert [(loss.path, loss.severity) for loss in converted.losses] == [("/messages/0/content/1", "impossible")]


@pytest.mark.parametrize("server", ["deepseek", "qwen", "mistral"])
def test_functions_from_the_time_before_tools_become_tools(server: str) -> None:
    """Old applications send the deprecated fields, which newer servers never had."""
    function = {"name": "f", "parameters": {"type": "object", "properties": {}}}
    messages = [
        _USER,
        {"role": "assistant", "content": None, "function_call": {"name": "f", "arguments": "{}"}},
        {"role": "function", "name": "f", "content": "1"},
    ]

    converted = _chat({"messages": messages, "functions": [function]}, server)

    assert converted.body["tools"] == [{"type": "function", "function": function}]
    assert "functions" not in converted.body
    _, call, result = converted.body["messages"][:3]
    assert call["tool_calls"][0]["function"] == {"name": "f", "arguments": "{}"}
    assert (result["role"], result["tool_call_id"]) == ("tool", call["tool_calls"][0]["id"])


def test_a_file_of_a_vendor_is_a_loss_for_servers_without_files() -> None:
    """The id refers to storage that only one vendor has."""
    part = {"type": "file", "file": {"file_id": "file-1"}}

    kept, dropped = _chat(_documents(part), "openai"), _chat(_documents(part), "qwen")

    assert kept.body["messages"][0]["content"][1] == part
    assert [loss.path for loss in dropped.losses] == ["/messages/0/content/1"]


def test_a_document_of_texts_is_text_for_a_server_without_documents() -> None:
    """The model can still read the content, but the server cannot cite it."""
    document = {"type": "document", "source": {"type": "content", "content": [{"type": "text", "text": "Adults pay ten."}]}}
    body = {"max_tokens": 9, "messages": [{"role": "user", "content": [document]}]}

    converted = _convert(body, "minimax", "messages")

    assert converted.body["messages"][0]["content"] == "Adults pay ten."
    assert [loss.code for loss in converted.losses] == ["flattened"]


@pytest.mark.parametrize("server", ["vllm", "openai", "groq"])
def test_a_seed_gets_the_name_that_the_server_reads(server: str) -> None:
    """Mistral has another name, and a user who compares servers needs the same seed everywhere."""
    assert _settings(_chat({"random_seed": 7}, server)) == {"seed": 7}
    assert _settings(_chat({"seed": 7}, "mistral")) == {"random_seed": 7}


@pytest.mark.parametrize("server", ["vllm", "sglang", "groq", "mistral"])
def test_a_number_of_log_probabilities_becomes_a_flag_and_a_number(server: str) -> None:
    """Together has the number in the field of the flag."""
    converted = _chat({"logprobs": 2}, server)

    rejected = server == "groq"
    assert _settings(converted) == ({} if rejected else {"logprobs": True, "top_logprobs": 2})
    assert bool(converted.losses) == rejected


def test_a_function_gets_the_fields_that_the_server_requires() -> None:
    """Mistral rejects a function without parameters, which the other servers accept."""
    tool = {"type": "function", "function": {"name": "now"}}

    converted = _chat({"tools": [tool]}, "mistral")

    assert converted.body["tools"][0]["function"] == {"name": "now", "parameters": {"type": "object", "properties": {}}}
    assert [(each.path, each.why) for each in converted.additions] == [
        ("/tools/0/function/parameters", "Mistral requires it in each function")
    ]


@pytest.mark.parametrize(("server", "tier"), [("mistral", "flex"), ("groq", "priority"), ("fireworks", "on_demand")])
def test_a_tier_that_the_server_does_not_have_is_reported(server: str, tier: str) -> None:
    """The server would reject the request for a setting that affects only price and speed."""
    converted = _chat({"service_tier": tier}, server)

    assert _settings(converted) == {}
    assert [(loss.path, loss.severity) for loss in converted.losses] == [("/service_tier", "info")]


def test_fields_without_a_value_are_left_out_for_a_server_that_rejects_null() -> None:
    """Typed clients write null for each field that was not set."""
    assert _settings(_chat({"temperature": None, "n": None}, "sglang")) == {}
    assert _settings(_chat({"temperature": None}, "vllm")) == {"temperature": None}


@pytest.mark.parametrize(
    ("server", "sent", "written"),
    [("zhipu", 1.5, 1), ("minimax", 0, 0.01), ("minimax", 2, 1), ("qwen", 2, 1.99), ("mistral", 1.6, 1.5)],
)
def test_a_temperature_outside_the_range_of_the_server_becomes_the_nearest_one(server: str, sent: float, written: float) -> None:
    """These servers answer another temperature with an error."""
    converted = _chat({"temperature": sent}, server)

    assert _settings(converted) == {"temperature": written}
    assert [(loss.path, loss.before, loss.after) for loss in converted.losses] == [("/temperature", sent, written)]
    assert _settings(_chat({"temperature": 0.5}, server)) == {"temperature": 0.5}


_SEARCH = {"type": "web_search_20250305", "name": "web_search"}
_EDITOR = {"type": "text_editor_20250124", "name": "str_replace_editor"}


def test_a_tool_keeps_its_version_without_its_cache_mark() -> None:
    """The encoder writes the newest version for requests of other formats."""
    marked = _SEARCH | {"cache_control": {"type": "ephemeral"}}

    converted = _convert({"max_tokens": 9, "messages": [_USER], "tools": [marked]}, "deepseek", "messages")

    assert converted.body["tools"] == [_SEARCH]
    assert [loss.path for loss in converted.losses] == ["/tools/0/cache_control"]


_SCHEMA: dict[str, Any] = {"type": "object", "properties": {}}


@pytest.mark.parametrize(
    "tools",
    [
        [_EDITOR],
        [_EDITOR, {"type": "bash_20241022", "name": "bash"}],
        [_SEARCH, _EDITOR],
        [_SEARCH, {"name": "now", "input_schema": _SCHEMA, "unknown": 1}],
        [_SEARCH, {"input_schema": _SCHEMA, "description": "The time.", "name": "now", "unknown": 1}],
        [_SEARCH, {"type": "custom", "name": "now", "input_schema": _SCHEMA, "unknown": 1}],
    ],
)
def test_tools_of_the_format_stay_without_the_tools_that_the_server_does_not_run(tools: list[dict[str, Any]]) -> None:
    """Other formats do not have these tools."""
    server = {"mcp_servers": [{"type": "url", "url": "https://mcp.example", "name": "docs"}]}
    toolset = {"type": "mcp_toolset", "mcp_server_name": "docs"}

    converted = _convert({"max_tokens": 9, "messages": [_USER], "tools": [toolset, *tools], **server}, "deepseek", "messages")

    assert converted.body["tools"] == tools
    assert "mcp_servers" not in converted.body
    # Without a function, the server is a more severe loss than the field, so that both are in the report.
    assert {loss.path for loss in converted.losses} - {"/mcp_servers/0"} == {"/mcp_servers", "/tools/0"}


@pytest.mark.parametrize("server", ["openai", "qwen", "zhipu", "vllm", "openrouter", "litellm"])
@pytest.mark.parametrize("kind", ["disabled", "between_tools"])
def test_the_effort_of_a_request_that_turns_reasoning_off_is_reported(server: str, kind: str) -> None:
    """With reasoning off the effort has no effect, so it is left out, and the caller sees that."""
    body = {"model": "m", "max_tokens": 9, "messages": [_USER], "thinking": {"type": kind}, "output_config": {"effort": "low"}}

    converted = fb.convert_request(body, source="messages", target=fb.Target("chat_completions", dialect=server))

    assert "/output_config/effort" in [loss.path for loss in converted.losses]


_IMAGE = {"type": "image_url", "image_url": {"url": "https://example.com/a.png"}}
_DATA_IMAGE = {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}}
_PDF = {"type": "file", "file": {"filename": "a.pdf", "file_data": "data:application/pdf;base64,AAAA"}}


@pytest.mark.parametrize(
    ("server", "kept", "dropped"),
    [
        ("deepseek", [_IMAGE, _DATA_IMAGE], [_PDF]),
        ("vllm", [_IMAGE, _DATA_IMAGE], [_PDF]),
        ("lmstudio", [_DATA_IMAGE], [_IMAGE, _PDF]),
    ],
)
def test_a_server_gets_the_media_that_it_reads(server: str, kept: list[dict[str, Any]], dropped: list[dict[str, Any]]) -> None:
    """A model that silently gets no image invents its content."""
    text = {"type": "text", "text": "What is this?"}

    converted = _chat({"messages": [{"role": "user", "content": [text, *kept, *dropped]}]}, server)

    assert converted.body["messages"][0]["content"] == [text, *kept]
    assert [(loss.before, loss.severity) for loss in converted.losses] == [(part, "impossible") for part in dropped]


_GEMINI = {"contents": [{"role": "user", "parts": [{"text": "Hi"}]}]}
_OF_VERTEX: dict[str, Any] = {
    "safetySettings": [{"category": "HARM_CATEGORY_HATE_SPEECH", "threshold": "BLOCK_NONE", "method": "SEVERITY"}],
    "generationConfig": {"temperature": 0.1, "audioTimestamp": True, "imageConfig": {"personGeneration": "ALLOW_ALL"}},
    "tools": [{"enterpriseWebSearch": {}}, {"google_search": {"excludeDomains": ["a.example"]}}, {"retrieval": {}}],
}
_OF_GEMINI: dict[str, Any] = {
    "store": True,
    "generationConfig": {"temperature": 0.1, "enableEnhancedCivicAnswers": True},
    "tools": [{"fileSearch": {"fileSearchStoreNames": ["a"]}}, {"googleMaps": {}}, {"mcpServers": [{"name": "docs"}]}],
}


@pytest.mark.parametrize(
    ("server", "other", "sent", "written"),
    [
        (
            "gemini",
            "vertex",
            _OF_VERTEX,
            {
                "safetySettings": [{"category": "HARM_CATEGORY_HATE_SPEECH", "threshold": "BLOCK_NONE"}],
                "generationConfig": {"temperature": 0.1},
                "tools": [{"google_search": {}}],
            },
        ),
        ("vertex", "gemini", _OF_GEMINI, {"generationConfig": {"temperature": 0.1}, "tools": [{"googleMaps": {}}]}),
    ],
)
def test_a_field_that_only_the_other_server_of_google_has_is_reported(
    server: str, other: str, sent: dict[str, Any], written: dict[str, Any]
) -> None:
    """The official SDK raises an error for these fields, and the server rejects unknown names."""
    converted = _convert(_GEMINI | sent, server, "generate_content")

    assert converted.body == {"model": "m"} | _GEMINI | written
    assert len(converted.losses) >= 3
    for loss in converted.losses:
        assert loss.code in ("rejected_by_server", "unsupported_by_server", "nearest_value")
    kept = _convert(_GEMINI | sent, other, "generate_content")
    assert (kept.body, list(kept.losses)) == ({"model": "m"} | _GEMINI | sent, [])


def test_gemini_gets_no_excluded_domains_of_a_search() -> None:
    """Only Vertex AI has the field, and a user who excludes a site must learn that it is searched."""
    tool = {"type": "web_search_20260318", "name": "web_search", "blocked_domains": ["a.example"]}
    body = {"model": "m", "max_tokens": 9, "messages": [_USER], "tools": [tool]}

    gemini, vertex = (
        fb.convert_request(body, source="messages", target=fb.Target("generate_content", dialect=server))
        for server in ("gemini", "vertex")
    )

    assert gemini.body["tools"] == [{"googleSearch": {}}]
    assert [loss.path for loss in gemini.losses] == ["/tools/0/blocked_domains"]
    assert vertex.body["tools"] == [{"googleSearch": {"excludeDomains": ["a.example"]}}]


_FUNCTION = {"functionDeclarations": [{"name": "now"}]}
_COUNTED = _GEMINI | {"systemInstruction": {"parts": [{"text": "Be brief."}]}, "tools": [_FUNCTION]}


@pytest.mark.parametrize(
    ("body", "at"),
    [
        (_COUNTED | {"toolConfig": {"functionCallingConfig": {"mode": "ANY"}}}, ""),
        (
            {"generateContentRequest": {"model": "models/m", **_COUNTED, "cachedContent": "cachedContents/1"}},
            "/generateContentRequest",
        ),
    ],
)
def test_vertex_reads_the_fields_of_a_token_count_at_the_top(body: dict[str, Any], at: str) -> None:
    """It does not have ``generateContentRequest``."""
    converted = fb.convert_count_request(
        body, source="generate_content", target=fb.Target("generate_content", dialect="vertex"), model="m"
    )

    assert converted.body == _COUNTED
    assert [(loss.path, loss.code) for loss in converted.losses] == [
        (f"{at}/{'cachedContent' if at else 'toolConfig'}", "not_counted")
    ]


def test_a_request_of_another_format_is_counted_by_vertex() -> None:
    """A user checks the length of a prompt before sending it; fields outside the count would be rejected."""
    body = {
        "model": "m",
        "system": "Be brief.",
        "messages": [_USER],
        "tools": [{"name": "now", "input_schema": {"type": "object"}}],
    }
    choice = {"tool_choice": {"type": "any"}}

    converted = fb.convert_count_request(
        body | choice, source="messages", target=fb.Target("generate_content", dialect="vertex"), model="m"
    )

    assert converted.body.keys() == {"contents", "systemInstruction", "tools"}
    assert [(loss.path, loss.code) for loss in converted.losses] == [("/tool_choice", "not_counted")]


@pytest.mark.parametrize(("dialect", "status"), [("vertex", 400), ("gemini", 200)])
def test_the_server_of_vertex_rejects_a_whole_request_in_a_token_count(dialect: str, status: int) -> None:
    """Gemini reads the wrapped request; a test for Vertex AI must fail on it."""
    relay = FakeRelay(dialect=dialect)
    content = json.dumps({"generateContentRequest": {"model": "models/m", **_GEMINI}})
    request = httpx.Request(
        "POST", "https://relay.test/v1beta/models/m:countTokens", content=content, headers={"x-goog-api-key": relay.api_key or ""}
    )

    assert relay.handle_request(request).status_code == status


@pytest.mark.parametrize(("name", "written"), [("21st_magic", "f_21st_magic"), ("_now", "f__now"), ("now", "now")])
def test_a_tool_gets_a_name_that_starts_with_a_letter(name: str, written: str) -> None:
    """Moonshot rejects others; the answer has the name of the caller again."""
    body = {"model": "m", "max_tokens": 9, "messages": [_USER], "tools": [{"name": name, "input_schema": {"type": "object"}}]}
    call = {"id": "c1", "type": "function", "function": {"name": written, "arguments": "{}"}}
    message = {"role": "assistant", "content": None, "tool_calls": [call]}
    answer = {"id": "1", "model": "m", "choices": [{"index": 0, "message": message, "finish_reason": "tool_calls"}]}

    converted = fb.convert_request(body, source="messages", target=fb.Target("chat_completions", dialect="moonshot"))
    returned = fb.convert_response(answer, source="chat_completions", target="messages", request=converted)

    assert converted.body["tools"][0]["function"]["name"] == written
    assert [loss.code for loss in converted.losses] == (["renamed"] if name != written else [])
    assert returned.body["content"][0]["name"] == name


def test_parameters_that_the_server_ignores_are_reported() -> None:
    """DeepSeek's documentation does not have them."""
    sent = {"n": 2, "seed": 1, "logit_bias": {"5": 1}, "verbosity": "low", "service_tier": "flex", "temperature": 0.5}

    converted = _chat(sent, "deepseek")

    assert _settings(converted) == {"temperature": 0.5}
    assert {loss.path for loss in converted.losses} == {"/n", "/seed", "/logit_bias", "/verbosity", "/service_tier"}


def test_a_moved_message_leaves_the_others_unchanged() -> None:
    """Qwen reads instructions only at the start."""
    named = {"role": "user", "name": "bob", "content": "Hi", "unknown": 1}
    messages = [named, {"role": "system", "content": "Be brief."}, _USER]

    converted = _chat({"messages": messages}, "qwen")

    assert converted.body["messages"] == [messages[1], named, _USER]
    assert [(loss.path, loss.kind) for loss in converted.losses] == [("/messages/1", "changed")]


def test_only_the_tools_that_the_server_does_not_have_change() -> None:
    """The others keep their versions, options and unknown fields."""
    search, images, files = {"type": "web_search_preview"}, {"type": "image_generation", "quality": "high"}, {"type": "file_search"}
    tools = [search, {"type": "custom", "name": "apply"}, images, files | {"vector_store_ids": ["v"]}]

    converted = _convert({"input": "Hi", "tools": tools}, "vllm", "responses")

    assert [tool for tool in converted.body["tools"] if tool["type"] != "function"] == [tools[0], tools[2], tools[3]]
    assert [(loss.path, loss.code) for loss in converted.losses] == [("/tools/1", "wrapped")]


def test_a_function_of_a_namespace_takes_its_place() -> None:
    """Models prefer tools by their order, so a changed tool must not move to the end."""
    function = {"type": "function", "name": "f", "parameters": {"type": "object", "properties": {}}, "strict": False}
    tools = [{"type": "namespace", "name": "n", "description": "d", "tools": [function]}, {"type": "web_search_preview"}]

    converted = _convert({"input": "Hi", "tools": tools}, "vllm", "responses")

    assert converted.body["tools"] == [function | {"name": "n__f"}, tools[1]]
    assert [(loss.path, loss.code) for loss in converted.losses] == [("/tools/0", "renamed")]


@pytest.mark.parametrize("role", ["user", "system"])
def test_mistral_gets_an_assistant_message_after_a_tool_result(role: str) -> None:
    """Other servers accept a message of the user or the system directly after a result; Mistral rejects it."""
    call = {"id": "abcdefghi", "type": "function", "function": {"name": "f", "arguments": "{}"}}
    result = {"role": "tool", "tool_call_id": "abcdefghi", "content": "r"}
    messages = [_USER, {"role": "assistant", "content": None, "tool_calls": [call]}, result, {"role": role, "content": "x"}, _USER]

    converted = _chat({"messages": messages}, "mistral")

    assert [message["role"] for message in converted.body["messages"]] == ["user", "assistant", "tool", "assistant", role, "user"]
    assert [addition.path for addition in converted.additions] == ["/messages/3"]


@pytest.mark.parametrize(
    ("server", "tools"),
    [
        ("groq", [{"type": "browser_search"}, {"type": "code_interpreter"}]),
        ("xai", [{"type": "web_search"}, {"type": "live_search"}]),
    ],
)
def test_a_server_gets_the_tools_that_it_runs(server: str, tools: list[dict[str, Any]]) -> None:
    """The fake server accepts them too, so that a test of the application can use them."""
    converted = _chat({"tools": tools}, server)

    assert (converted.body["tools"], list(converted.losses)) == (tools, [])
    headers = {"authorization": f"Bearer {(relay := FakeRelay('Hi', dialect=server)).api_key}"}
    request = httpx.Request("POST", "https://relay.test/v1/chat/completions", json=converted.body, headers=headers)
    assert relay.handle_request(request).status_code == 200


_DOCUMENT: dict[str, Any] = {
    "type": "document",
    "source": {"type": "text", "media_type": "text/plain", "data": "The ferry leaves at nine."},
    "context": "Valid from May.",
    "citations": {"enabled": True},
}
_SEARCHED: list[dict[str, Any]] = [
    {"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {"query": "ferry"}},
    {"type": "web_search_tool_result", "tool_use_id": "srvtoolu_1", "content": []},
    {"type": "text", "text": "At nine.", "citations": []},
]


@pytest.mark.parametrize("server", ["vertex", "minimax", "deepseek"])
def test_the_conversation_stays_without_a_later_system_message(server: str) -> None:
    """Servers without system messages in the conversation get them in ``system``."""
    question = {"role": "user", "content": [{"type": "text", "text": "When?", "unknown": 1}]}
    messages = [question, {"role": "assistant", "content": _SEARCHED}, {"role": "system", "content": "Be brief."}, _USER]
    kind = {"type": "text", "text": "Be kind.", "unknown": 2}

    converted = _convert({"max_tokens": 9, "system": [kind], "messages": messages}, server, "messages")

    assert converted.body["messages"] == [question, messages[1], _USER]
    assert converted.body["system"] == [kind, {"type": "text", "text": "Be brief."}]
    assert [(loss.path, loss.code) for loss in converted.losses] == [("/messages/2", "moved")]


@pytest.mark.parametrize("dropped", ["first", "last"])
def test_a_message_stays_without_a_part_that_the_server_does_not_read(dropped: str) -> None:
    """The rest of the message is still the question of the caller, with all its fields."""
    text = {"type": "text", "text": "When?", "unknown": 1}
    parts = [_DOCUMENT, text] if dropped == "first" else [text, _DOCUMENT]

    converted = _convert({"max_tokens": 9, "messages": [{"role": "user", "content": parts}]}, "minimax", "messages")

    assert converted.body["messages"] == [{"role": "user", "content": [text]}]
    assert [loss.path for loss in converted.losses] == [f"/messages/0/content/{parts.index(_DOCUMENT)}"]


def test_items_of_responses_stay_without_a_part_that_the_server_does_not_read() -> None:
    """Here two fields of an answer that the encoder does not write for other servers."""
    text, file = {"type": "input_text", "text": "When?", "unknown": 1}, {"type": "input_file", "file_id": "file-1"}
    answer = {
        "type": "message",
        "id": "msg_1",
        "role": "assistant",
        "phase": "commentary",
        "content": [{"type": "output_text", "text": "At nine.", "annotations": []}],
    }

    converted = _convert({"input": [{"role": "user", "content": [text, file]}, answer, _USER]}, "ollama", "responses")

    assert converted.body["input"] == [{"role": "user", "content": [text]}, answer, _USER]
    assert [loss.path for loss in converted.losses] == ["/input/0/content/1"]


def test_parts_of_gemini_stay_next_to_a_call_without_its_id() -> None:
    """The parts around a changed call have tokens and code that the encoder cannot write again."""
    call = {"functionCall": {"id": "c1", "name": "f", "args": {}}, "thoughtSignature": "c2lnbmVk"}
    others: list[dict[str, Any]] = [
        {"executableCode": {"language": "PYTHON", "code": "1", "id": "x1"}},
        {"codeExecutionResult": {"outcome": "OUTCOME_OK", "output": "1"}},
    ]
    contents = [
        {"role": "user", "parts": [{"text": "Hi", "unknown": 1}]},
        {"role": "model", "parts": [call, *others]},
        {"role": "user", "parts": [{"functionResponse": {"id": "c1", "name": "f", "response": {"output": 1}}}]},
    ]

    converted = _convert({"contents": contents}, "vertex", "generate_content")

    assert converted.body["contents"][0] == contents[0]
    assert converted.body["contents"][1]["parts"] == [call | {"functionCall": {"name": "f", "args": {}}}, *others]
    assert {loss.path for loss in converted.losses} == {
        "/contents/1/parts/0/functionCall/id",
        "/contents/2/parts/0/functionResponse/id",
    }


def test_a_message_keeps_its_form_and_its_fields_if_another_one_moves() -> None:
    """Also if two messages have the same text, of which only one has a name."""
    named = {"role": "user", "name": "bob", "content": [{"type": "text", "text": "Hi", "unknown": 1}]}
    system = {"role": "system", "name": "host", "content": "Be brief."}

    answer = {"role": "assistant", "content": "Yes."}

    converted = _chat({"messages": [named, answer, _USER, system, answer]}, "perplexity")

    assert converted.body["messages"] == [system, named, answer, _USER, answer]
    assert [(loss.path, loss.code) for loss in converted.losses] == [("/messages/3", "moved")]


def test_a_loss_after_a_removed_item_has_the_pointer_of_the_caller() -> None:
    """A user looks for the value in the request that was passed in, not in the shorter one."""
    image = {"type": "image_generation_call", "id": "ig_1", "status": "completed", "result": "iVBORw0K"}
    program = {"type": "program", "id": "prog_1", "call_id": "c5", "code": "1", "fingerprint": "ZnA="}

    converted = _convert({"input": [_USER, image, program, _USER]}, "ollama", "responses")

    assert converted.body["input"] == [_USER, _USER]
    assert [(loss.path, loss.before) for loss in converted.losses] == [("/input/1", image), ("/input/2", program)]


def test_bedrock_has_the_tools_that_the_caller_runs_and_not_those_of_anthropics_server() -> None:
    """A coding agent needs its shell; the web search runs only on the servers of Anthropic."""
    tools = [{"type": "bash_20250124", "name": "bash"}, _SEARCH, {"type": "memory_20250818", "name": "memory"}]

    converted = _convert({"max_tokens": 9, "messages": [_USER], "tools": tools}, "bedrock", "messages")

    assert converted.body["tools"] == [tools[0], tools[2]]
    assert [(loss.path, loss.code) for loss in converted.losses] == [("/tools/1", "unsupported_by_server")]


def test_joined_messages_keep_the_reasoning_of_each() -> None:
    """Perplexity rejects two messages of one role in a row."""
    first = {"role": "assistant", "content": "One.", "reasoning_content": "Think."}
    second = {"role": "assistant", "content": "Two.", "reasoning_content": "Think again."}

    converted = _chat({"messages": [_USER, first, second, _USER]}, "perplexity")

    joined = converted.body["messages"][1]
    assert joined["content"] == [{"type": "text", "text": "One."}, {"type": "text", "text": "Two."}]
    assert joined["reasoning_content"] == "Think.\n\nThink again."


@pytest.mark.parametrize(
    ("format", "server", "field", "value"),
    [
        ("generate_content", "gemini", "labels", {"team": "a"}),
        ("chat_completions", "openai", "top_k", 7),
        ("chat_completions", "groq", "thinking_budget", 100),
        ("messages", "deepseek", "mcp_servers", [{"type": "url", "url": "https://mcp.example", "name": "docs"}]),
    ],
)
def test_a_field_that_the_server_does_not_read_is_one_loss(format: fb.Format, server: str, field: str, value: Any) -> None:
    """A report with one line for each field can be acted on."""
    bodies: dict[str, dict[str, Any]] = {"generate_content": _GEMINI, "messages": {"max_tokens": 9, "messages": [_USER]}}

    converted = _convert({**bodies.get(format, {"messages": [_USER]}), field: value}, server, format)

    assert [loss.path.split("/")[1] for loss in converted.losses][-1:] == [field]
    assert "" not in [loss.path for loss in converted.losses]


@pytest.mark.parametrize("system", [[], [{"role": "system", "content": "Be brief."}]])
def test_the_conversation_stays_if_the_encoder_joins_messages(system: list[dict[str, Any]]) -> None:
    """Agents send two messages of the user in a row."""
    marked = {"type": "text", "text": "When?", "cache_control": {"type": "ephemeral"}, "unknown": 1}
    answer = {"role": "assistant", "content": _SEARCHED}
    others = [{"role": "user", "content": "And where?"}, *system, {"role": "user", "content": "Or why?", "unknown": 2}]

    converted = _convert(
        {"max_tokens": 9, "messages": [{"role": "user", "content": [marked]}, answer, *others]}, "deepseek", "messages"
    )

    unmarked = {key: value for key, value in marked.items() if key != "cache_control"}
    assert converted.body["messages"] == [{"role": "user", "content": [unmarked]}, answer, others[0], others[-1]]
    assert [loss.path for loss in converted.losses if loss.code != "moved"] == ["/messages/0/content/0/cache_control"]


def test_instructions_and_searches_of_responses_stay_when_a_custom_call_changes() -> None:
    """The model reads the searches of earlier turns, and pays attention to who gave an instruction."""
    search = {"type": "web_search_call", "id": "ws_1", "status": "completed", "action": {"type": "search", "query": "ferry"}}
    call = {"type": "custom_tool_call", "id": "ctc_1", "call_id": "c1", "name": "sh", "input": "ls"}
    result = {"type": "custom_tool_call_output", "call_id": "c1", "output": "a.txt"}
    items = [{"role": "developer", "content": "Be brief."}, search, call, result, {"role": "user", "content": "Hi", "unknown": 1}]

    converted = _convert(
        {"instructions": "Be kind.", "input": items, "tools": [{"type": "custom", "name": "sh"}]}, "xai", "responses"
    )

    assert converted.body["instructions"] == "Be kind."
    assert [converted.body["input"][at] for at in (0, 1, 4)] == [items[0], search, items[4]]
    assert [converted.body["input"][at]["type"] for at in (2, 3)] == ["function_call", "function_call_output"]
    assert [(loss.path, loss.code) for loss in converted.losses] == [("/tools/0", "wrapped")]


def test_a_turn_that_the_encoder_does_not_write_stays() -> None:
    """Here code that Gemini ran, without a text."""
    parts: list[dict[str, Any]] = [
        {"executableCode": {"language": "PYTHON", "code": "1"}},
        {"codeExecutionResult": {"outcome": "OUTCOME_OK", "output": "1"}},
    ]
    call = {"functionCall": {"id": "c1", "name": "f", "args": {}}, "thoughtSignature": "c2lnbmVk"}
    contents = [
        {"role": "user", "parts": [{"text": "Hi", "unknown": 1}]},
        {"role": "model", "parts": parts},
        {"role": "user", "parts": [{"text": "Next", "videoMetadata": {"fps": 1}}]},
        {"role": "model", "parts": [call]},
        {"role": "user", "parts": [{"functionResponse": {"id": "c1", "name": "f", "response": {"output": 1}}}]},
    ]

    converted = _convert({"contents": contents}, "vertex", "generate_content")

    assert converted.body["contents"][:3] == contents[:3]
    assert {loss.severity for loss in converted.losses} == {"info"}


def test_a_tool_that_no_rule_concerns_keeps_its_place_and_has_no_loss() -> None:
    """A change of one tool must not reorder or report the others."""
    function = {"type": "function", "name": "f", "parameters": {"type": "object", "properties": {}}, "strict": False}
    mcp = {"type": "mcp", "server_label": "docs", "server_url": "https://mcp.example"}
    tools = [{"type": "openrouter:web_search"}, mcp, {"type": "namespace", "name": "n", "description": "d", "tools": [function]}]

    converted = _convert({"input": "Hi", "tools": tools}, "openrouter", "responses")

    assert converted.body["tools"] == [*tools[:2], function | {"name": "n__f"}]
    assert [loss.path for loss in converted.losses] == ["/tools/2"]


def test_additions_have_the_pointers_of_the_body_that_is_written() -> None:
    """Without the first tool, the others are one place earlier."""
    functions = [{"type": "function", "function": {"name": name, "parameters": _SCHEMA}} for name in ("f", "g")]

    converted = _chat({"tools": [{"type": "code_interpreter"}, *functions]}, "perplexity")

    assert [addition.path for addition in converted.additions] == [f"/tools/{at}/function/description" for at in range(2)]
    assert [tool["function"]["description"] for tool in converted.body["tools"]] == ["", ""]


def test_an_addition_that_the_body_does_not_have_is_not_reported() -> None:
    """A body of another format would get an instruction for JSON mode."""
    parts = [{"type": "text", "text": "Hi"}, {"type": "document_url", "document_url": "https://example.com/a.pdf"}]

    converted = _chat({"messages": [{"role": "user", "content": parts}], "response_format": {"type": "json_object"}}, "openai")

    assert list(converted.additions) == []


@pytest.mark.parametrize("server", ["openrouter", "qwen", "fireworks"])
def test_a_budget_is_within_the_bounds_of_the_model(server: str) -> None:
    """A server rejects a budget above the maximum of its model."""
    facts = fb.ModelFacts(reasoning="budget", budgets=(1024, 8000))
    body = {"model": "m", "messages": [_USER], "reasoning": {"max_tokens": 9000}}

    converted = fb.convert_request(
        body, source="chat_completions", target=fb.Target("chat_completions", dialect=server, model=facts)
    )

    assert "9000" not in json.dumps(converted.body)
    assert "8000" in json.dumps(converted.body)
    assert [loss.code for loss in converted.losses] == ["reasoning_budget"]


def test_the_tools_that_the_caller_runs_stay_without_the_servers_of_tools() -> None:
    """The caller runs these tools, so they work without the MCP servers."""
    tools = [{"name": "f", "input_schema": _SCHEMA, "unknown": 1}, _SEARCH, {"type": "bash_20250124", "name": "bash"}]
    servers = [{"type": "url", "url": "https://mcp.example", "name": "docs"}]

    converted = _convert({"max_tokens": 9, "messages": [_USER], "tools": tools, "mcp_servers": servers}, "deepseek", "messages")

    assert converted.body["tools"] == tools
    assert "mcp_servers" not in converted.body


def test_a_request_to_hide_reasoning_that_the_server_does_not_read_is_a_loss() -> None:
    """An application that shows the whole answer would show the reasoning too."""
    converted = _chat({"reasoning": {"effort": "high", "exclude": True}}, "groq")

    assert _settings(converted) == {"reasoning_effort": "high"}
    assert [(loss.path, loss.severity) for loss in converted.losses] == [("/reasoning/exclude", "info")]


def test_items_of_one_kind_keep_their_order() -> None:
    """Also if some of them are equal without their cache marks."""
    text = {"type": "text", "text": "Hi"}
    marked = text | {"cache_control": {"type": "ephemeral"}}
    parts = [text | {"unknown": 1}, marked | {"unknown": 2}, _DOCUMENT, text | {"unknown": 3}, marked | {"unknown": 4}]

    converted = _convert({"max_tokens": 9, "messages": [{"role": "user", "content": parts}]}, "deepseek", "messages")

    assert [part["unknown"] for part in converted.body["messages"][0]["content"]] == [1, 2, 3, 4]


@pytest.mark.parametrize("reasoning", [{}, {"reasoning": {"effort": "low"}}])
def test_a_model_without_reasoning_gets_no_request_for_its_tokens(reasoning: dict[str, Any]) -> None:
    """Such a model rejects the value."""
    body = {"model": "m", "input": "Hi", "include": ["reasoning.encrypted_content", "web_search_call.action.sources"], **reasoning}

    converted = fb.convert_request(body, source="responses", target=fb.Target("responses", model=fb.ModelFacts(reasoning="none")))

    assert converted.body == {"model": "m", "input": "Hi", "include": ["web_search_call.action.sources"]}
    assert {loss.path: loss.severity for loss in converted.losses} == {"/include/0": "info"} | (
        {"/reasoning/effort": "lossy"} if reasoning else {}
    )


def _turn(role: str, text: str) -> dict[str, Any]:
    return {"role": role, "content": text}


def test_turns_with_the_same_text_keep_their_places() -> None:
    """Users of agents write "continue" more than once."""
    turns = [_turn("user", "continue"), _turn("user", "continue"), _turn("assistant", "Done."), _turn("user", "continue")]
    messages = [turns[0], _turn("system", "Be brief."), *turns[1:]]
    image = {"role": "user", "content": [{"type": "image", "source": {"type": "url", "url": "https://example.com/a.png"}}]}

    moved = _convert({"max_tokens": 9, "messages": messages}, "vertex", "messages")
    dropped = _convert({"max_tokens": 9, "messages": [image, *turns[1:]]}, "bedrock", "messages")

    assert moved.body["messages"] == turns
    assert [(loss.path, loss.code) for loss in moved.losses] == [("/messages/1", "moved")]
    assert dropped.body["messages"] == turns[1:]


@pytest.mark.parametrize("part", [{"text": ""}, {"unknown": {"value": 1}}])
def test_model_turns_around_a_turn_that_the_encoder_does_not_write_stay(part: dict[str, Any]) -> None:
    """The encoder joins the two model turns."""
    call = {"functionCall": {"id": "c1", "name": "get_time", "args": {"city": "Oslo"}}}
    contents = [
        {"role": "user", "parts": [{"text": "Hello"}]},
        {"role": "model", "parts": [{"text": "One moment."}]},
        {"role": "user", "parts": [part]},
        {"role": "model", "parts": [call]},
        {"role": "user", "parts": [{"functionResponse": {"id": "c1", "name": "get_time", "response": {"output": "noon"}}}]},
    ]

    converted = _convert({"contents": contents}, "vertex", "generate_content")

    assert converted.body["contents"][:3] == contents[:3]
    assert converted.body["contents"][3]["parts"] == [{"functionCall": {"name": "get_time", "args": {"city": "Oslo"}}}]
    assert list(converted.additions) == []


def test_an_unknown_part_stays_in_its_message() -> None:
    """A server may read a part that is newer than this library."""
    unknown = {"role": "user", "content": [{"type": "pdf_url", "pdf_url": "https://example.com/a.pdf"}]}
    mixed = [{"type": "image_url", "image_url": {"url": "https://example.com/a.png"}}, {"type": "mystery"}]

    apart = _chat({"messages": [{"role": "user", "content": mixed[:1]}, _turn("assistant", "Nice."), unknown]}, "ollama")
    together = _chat({"messages": [{"role": "user", "content": mixed}]}, "ollama")

    assert apart.body["messages"][1:] == [_turn("assistant", "Nice."), unknown]
    assert together.body["messages"][0]["content"] == mixed[1:]
    assert [loss.path for loss in together.losses] == ["/messages/0/content/0"]


@pytest.mark.parametrize("server", ["lmstudio", "perplexity", "minimax", "zhipu"])
def test_json_mode_does_not_change_the_conversation(server: str) -> None:
    """The prompt asks for JSON already, and its unknown fields must survive the change of the setting."""
    messages = [{"role": "user", "content": [{"type": "text", "text": "Hello", "unknown": 1}, {"type": "mystery"}], "other": 2}]

    converted = _chat({"messages": messages, "response_format": {"type": "json_object"}}, server)

    assert converted.body["messages"] == messages


def test_the_instruction_for_json_is_added_once() -> None:
    """Two instructions would cost tokens in every turn."""
    audio = {"type": "input_audio", "input_audio": {"data": "AAAA", "format": "wav"}}
    schema = {"type": "json_schema", "json_schema": {"name": "n", "schema": _SCHEMA}}
    parts = [audio, {"type": "text", "text": "What do I hear?"}]

    converted = _chat({"messages": [{"role": "user", "content": parts}, _USER], "response_format": schema}, "deepseek")

    assert [addition.path for addition in converted.additions] == ["/messages/0"]
    assert "JSON" in converted.body["messages"][0]["content"]


@pytest.mark.parametrize("server", ["mistral", "qwen", "llamacpp", "minimax"])
def test_a_budget_for_a_model_with_efforts_is_one_loss(server: str) -> None:
    """The budget becomes an effort; a second line for the same value would look like another loss."""
    body = {"model": "m", "messages": [_USER], "thinking": {"type": "enabled", "budget_tokens": 3000}}
    target = fb.Target("chat_completions", dialect=server, model=fb.ModelFacts(reasoning="effort"))

    converted = fb.convert_request(body, source="chat_completions", target=target)

    assert [loss.path for loss in converted.losses] == ["/thinking/budget_tokens"]


@pytest.mark.parametrize(
    ("server", "setting", "written"),
    [
        ("huggingface", {"stop": ["a", "b", "c", "d", "e"]}, {"stop": ["a", "b", "c", "d"]}),
        (
            "zhipu",
            {"tools": [{"type": "web_search"}], "tool_choice": "required"},
            {"tools": [{"type": "web_search"}], "tool_choice": "auto"},
        ),
    ],
)
def test_a_reported_change_of_a_setting_is_in_the_body(server: str, setting: dict[str, Any], written: dict[str, Any]) -> None:
    """Also if no server of the format would get the value of the caller."""
    converted = _chat(setting, server)

    assert _settings(converted) == written
    assert [(loss.before, loss.after) for loss in converted.losses] == [
        (value, written[key]) for key, value in setting.items() if written[key] != value
    ]


def test_a_tool_choice_without_its_tools_is_a_loss() -> None:
    """The server rejects a required call if it has no tool to call."""
    converted = _chat({"tools": [{"type": "web_search"}], "tool_choice": "required"}, "groq")

    assert _settings(converted) == {}
    assert {loss.path for loss in converted.losses} == {"/tools/0", "/tool_choice"}


def test_a_renamed_tool_keeps_its_other_fields() -> None:
    """Moonshot requires another name; options of the tool must not depend on that."""
    tool = {"type": "function", "function": {"name": "1f", "unknown": 1, "parameters": _SCHEMA}, "other": 2}

    converted = _chat({"tools": [tool]}, "moonshot")

    (written,) = converted.body["tools"]
    assert (written["other"], written["function"]["unknown"]) == (2, 1)
    assert [loss.path for loss in converted.losses] == ["/tools/0/function/name"]


def test_joined_turns_of_a_user_lose_only_the_part_that_the_server_does_not_read() -> None:
    """The encoder joins the turns around a system message that moves."""
    image = {"type": "image", "source": {"type": "url", "url": "https://example.com/a.png"}}
    first: dict[str, Any] = {"role": "user", "content": [{"type": "text", "text": "Hello", "unknown": 1}, image], "other": 2}
    last = {"role": "user", "content": "And now?", "other": 3}

    converted = _convert({"max_tokens": 9, "messages": [first, _turn("system", "Be brief."), last]}, "bedrock", "messages")

    assert converted.body["messages"] == [first | {"content": first["content"][:1]}, last]
    assert {loss.path for loss in converted.losses} == {"/messages/1", "/messages/0/content/1"}


def test_calls_of_one_tool_stay_before_their_results() -> None:
    """Both calls have the same name."""
    items = [
        item
        for number in ("1", "2")
        for item in (
            {"type": "custom_tool_call", "call_id": f"call_{number}", "name": "shell", "input": f"command {number}"},
            {"type": "custom_tool_call_output", "call_id": f"call_{number}", "output": f"output {number}", "unknown": 1},
        )
    ]

    converted = _convert({"input": items}, "xai", "responses")

    assert [(item["type"], item["call_id"]) for item in converted.body["input"]] == [
        ("function_call", "call_1"),
        ("function_call_output", "call_1"),
        ("function_call", "call_2"),
        ("function_call_output", "call_2"),
    ]
    assert [item.get("unknown") for item in converted.body["input"]] == [None, 1, None, 1]


def test_a_result_without_a_name_stays_one_result() -> None:
    """Without ids the server finds its call by the name, so the request gets the name of the call."""
    result = {"functionResponse": {"id": "c1", "response": {"output": "sunny"}}}
    contents = [
        {"role": "user", "parts": [{"text": "Hello"}]},
        {"role": "model", "parts": [{"functionCall": {"id": "c1", "name": "lookup", "args": {}}}]},
        {"role": "user", "parts": [result], "unknown": 1},
    ]

    converted = _convert({"contents": contents}, "vertex", "generate_content")

    named = {"functionResponse": {"name": "lookup", "response": {"output": "sunny"}}}
    assert converted.body["contents"][2] == {"role": "user", "parts": [named]}
    assert "/contents/2/unknown" in {loss.path for loss in converted.losses}


@pytest.mark.parametrize("top", [{}, {"system": "Be kind."}])
def test_a_leading_system_message_is_sent_once(top: dict[str, Any]) -> None:
    """A prompt that is sent twice costs twice, and its order has a meaning."""
    messages = [_turn("system", "You are X."), _turn("user", "Hello"), _turn("system", "Be brief.")]

    converted = _convert({"max_tokens": 9, "messages": messages, **top}, "bedrock", "messages")

    assert converted.body["messages"] == messages[1:2]
    texts = [part["text"] for part in converted.body["system"]]
    assert texts == [*top.values(), "You are X.", "Be brief."]


def test_a_text_that_the_encoder_joins_or_copies_is_sent_once() -> None:
    """The encoder and the original body both have the text, and one of the two is used."""
    document = {"type": "document", "source": {"type": "text", "media_type": "text/plain", "data": "The contract."}}
    image = {"type": "image", "source": {"type": "url", "url": "https://example.com/a.png"}}
    question = {"type": "text", "text": "What is it?"}
    messages = [_turn("user", "Hello"), {"role": "user", "content": [document]}, {"role": "user", "content": [image, question]}]
    turns = ["Let me check. ", "Calling now."]
    call = {"functionCall": {"id": "c1", "name": "lookup", "args": {"q": "rain"}}}
    contents = [
        {"role": "user", "parts": [{"text": "Hello"}]},
        *({"role": "model", "parts": [{"text": text}]} for text in turns),
        {"role": "model", "parts": [call]},
        {"role": "user", "parts": [{"functionResponse": {"id": "c1", "name": "lookup", "response": {"output": "sunny"}}}]},
    ]

    joined = _convert({"max_tokens": 9, "messages": messages}, "vertex", "messages")
    pieces = _convert({"contents": contents}, "vertex", "generate_content")

    assert json.dumps(joined.body).count("The contract.") == 1
    assert json.dumps(pieces.body).count("Calling now.") == 1
    assert "c1" not in json.dumps(pieces.body)


@pytest.mark.parametrize("server", ["cerebras", "groq", "perplexity"])
def test_a_refusal_that_becomes_a_text_is_sent_once(server: str) -> None:
    """These servers have no refusals in the history; the model must read the refusal once."""
    refused = {"role": "assistant", "content": "Well.", "refusal": "I cannot help with it."}

    converted = _chat({"messages": [_USER, refused, _USER]}, server)

    assert json.dumps(converted.body).count("I cannot help with it.") == 1
    assert [(loss.path, loss.code) for loss in converted.losses] == [("/messages/1/refusal", "flattened")]
