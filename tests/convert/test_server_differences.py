"""What single servers ignore or read in another form is in the report, and the request keeps what it can."""

from __future__ import annotations

from typing import Any

import pytest

import formatbridge as fb

_USER: dict[str, Any] = {"role": "user", "content": "hi"}
_NOW = {"type": "function", "function": {"name": "now"}}
_TOOL = {"name": "now", "input_schema": {"type": "object", "properties": {}}}


def _convert(body: dict[str, Any], source: fb.Format, target: fb.Format, dialect: str) -> fb.ConvertedRequest:
    return fb.convert_request({"model": "m", **body}, source=source, target=fb.Target(target, dialect=dialect))


def _codes(converted: fb.ConvertedRequest) -> dict[str, str]:
    return {loss.path: loss.code for loss in converted.losses}


def test_deepseek_gets_no_output_format_and_reports_it_as_impossible() -> None:
    """Its server ignores the schema without an error, and the caller parses the answer."""
    format = {"type": "json_schema", "schema": {"type": "object", "properties": {}}}
    body = {"max_tokens": 9, "messages": [_USER], "output_config": {"effort": "low", "format": format}}

    converted = _convert(body, "messages", "messages", "deepseek")

    assert converted.body["output_config"] == {"effort": "low"}
    assert [(loss.path, loss.severity) for loss in converted.losses] == [("/output_config/format", "impossible")]


def test_fields_that_deepseek_ignores_are_reported() -> None:
    """The server answers as if they were absent: calls may be parallel, and a failed tool looks like one that succeeded."""
    call = {"type": "tool_use", "id": "c1", "name": "now", "input": {}}
    result = {"type": "tool_result", "tool_use_id": "c1", "is_error": True, "content": "no clock"}
    body = {
        "max_tokens": 9,
        "tools": [_TOOL],
        "tool_choice": {"type": "auto", "disable_parallel_tool_use": True},
        "messages": [_USER, {"role": "assistant", "content": [call]}, {"role": "user", "content": [result]}],
    }

    converted = _convert(body, "messages", "messages", "deepseek")

    assert converted.body["tool_choice"] == {"type": "auto"}
    assert "is_error" not in converted.body["messages"][2]["content"][0]
    assert _codes(converted) == dict.fromkeys(
        ("/tool_choice/disable_parallel_tool_use", "/messages/2/content/0/is_error"), "ignored_by_server"
    )


def test_a_budget_for_deepseek_becomes_an_effort() -> None:
    """Its server ignores the number of tokens and reads three efforts."""
    body = {"max_tokens": 64_000, "messages": [_USER], "thinking": {"type": "enabled", "budget_tokens": 2048}}

    converted = _convert(body, "messages", "messages", "deepseek")

    assert (converted.body["thinking"], converted.body["output_config"]) == ({"type": "enabled"}, {"effort": "high"})
    assert [(loss.path, loss.kind, loss.after) for loss in converted.losses] == [("/thinking/budget_tokens", "changed", "high")]


def test_blocks_that_deepseek_does_not_read_become_text_or_are_reported() -> None:
    """One block of another type rejects the whole conversation of an agent."""
    search = {"type": "search_result", "source": "s", "title": "t", "content": [{"type": "text", "text": "x"}]}
    upload = {"type": "container_upload", "file_id": "file_1"}
    hidden = {"type": "redacted_thinking", "data": "c2lnbmVk"}
    body = {
        "max_tokens": 9,
        "messages": [
            {"role": "user", "content": [search, upload]},
            {"role": "assistant", "content": [hidden, {"type": "text", "text": "Yes."}]},
            _USER,
        ],
    }

    converted = _convert(body, "messages", "messages", "deepseek")

    assert converted.body["messages"][0]["content"] == [{"type": "text", "text": "t (s)\nx"}]
    assert converted.body["messages"][1]["content"] == [{"type": "text", "text": "Yes."}]
    assert _codes(converted) == {
        "/messages/0/content/0": "flattened",
        "/messages/0/content/1": "unsupported_by_server",
        "/messages/1/content/0": "unsupported_by_server",
    }


@pytest.mark.parametrize(
    ("dialect", "target"), [("deepseek", "messages"), ("deepseek", "chat_completions"), ("groq", "chat_completions")]
)
def test_a_document_with_a_text_becomes_this_text_where_the_server_has_no_documents(dialect: str, target: fb.Format) -> None:
    """The model can read the text, so the question is not lost with the document."""
    source = {"type": "text", "media_type": "text/plain", "data": "Hello"}
    document = {"type": "document", "title": "Notes", "source": source}
    body = {"max_tokens": 9, "messages": [{"role": "user", "content": [document, {"type": "text", "text": "Sum up."}]}]}

    converted = _convert(body, "messages", target, dialect)

    assert [part["text"] for part in converted.body["messages"][0]["content"]] == ["Notes\nHello", "Sum up."]
    assert _codes(converted) == {"/messages/0/content/0": "flattened"}


@pytest.mark.parametrize("dialect", ["deepseek", "minimax"])
def test_a_tier_that_the_server_ignores_is_dropped_and_not_changed(dialect: str) -> None:
    """A report of another tier would be wrong, because the request has none."""
    converted = _convert({"messages": [_USER], "service_tier": "priority"}, "chat_completions", "messages", dialect)

    assert "service_tier" not in converted.body
    assert [(loss.path, loss.kind, loss.code) for loss in converted.losses] == [("/service_tier", "dropped", "ignored_by_server")]


@pytest.mark.parametrize(("effort", "expected"), [("minimal", "low"), ("medium", "high"), ("xhigh", "high"), ("max", "max")])
@pytest.mark.parametrize("target", ["chat_completions", "messages"])
def test_efforts_for_deepseek_are_those_that_its_server_uses(effort: str, expected: str, target: fb.Format) -> None:
    """The server replaces the other ones without a message."""
    converted = _convert({"messages": [_USER], "reasoning_effort": effort}, "chat_completions", target, "deepseek")

    written = converted.body.get("reasoning_effort") or converted.body["output_config"]["effort"]
    assert written == expected
    assert [loss.path for loss in converted.losses] == ([] if effort == expected else ["/reasoning_effort"])


@pytest.mark.parametrize("target", ["chat_completions", "responses"])
def test_ollama_gets_no_tools_if_the_model_must_not_call_one(target: fb.Format) -> None:
    """Its server ignores the tool choice, so the model would call a tool that it has (ollama/ollama#17921)."""
    body = {"max_tokens": 99, "messages": [_USER], "tools": [_TOOL], "tool_choice": {"type": "none"}}

    converted = _convert(body, "messages", target, "ollama")

    assert converted.body.keys().isdisjoint({"tools", "tool_choice"})
    assert [(loss.path, loss.code, loss.severity) for loss in converted.losses] == [("/tools/0", "excluded", "info")]


def test_a_function_with_a_name_of_another_format_gets_the_fields_that_the_server_requires() -> None:
    """Mistral rejects a function without ``parameters``, whatever its name is."""
    tools = [{"type": "function", "function": {"name": "a.b"}}, _NOW]

    converted = _convert({"messages": [_USER], "tools": tools}, "chat_completions", "chat_completions", "mistral")

    assert [tool["function"]["name"] for tool in converted.body["tools"]] == ["a.b", "now"]
    assert [addition.path for addition in converted.additions] == ["/tools/0/function/parameters", "/tools/1/function/parameters"]


@pytest.mark.parametrize("dialect", ["moonshot", "qwen"])
def test_a_prefill_has_the_field_with_which_the_server_continues_it(dialect: str) -> None:
    """A request of Messages continues a final answer; one of Chat Completions does not."""
    messages = [_USER, {"role": "assistant", "content": "Hello, my"}]

    prefill = _convert({"max_tokens": 9, "messages": messages}, "messages", "chat_completions", dialect)
    answer = _convert({"messages": messages}, "chat_completions", "chat_completions", dialect)

    assert prefill.body["messages"][-1] == {"role": "assistant", "content": "Hello, my", "partial": True}
    assert [addition.path for addition in prefill.additions] == ["/messages/1/partial"]
    assert (answer.body["messages"], list(answer.additions)) == (messages, [])


def test_a_prefill_with_reasoning_is_no_prefill_for_qwen() -> None:
    """Its server continues an answer only without reasoning."""
    messages = [_USER, {"role": "assistant", "content": "Hello, my"}]
    body = {"max_tokens": 9, "messages": messages, "thinking": {"type": "adaptive"}}

    converted = _convert(body, "messages", "chat_completions", "qwen")

    assert converted.body["messages"][-1] == messages[-1]
    assert ("/messages/1", "prefill") in _codes(converted).items()


def test_audio_for_qwen_is_a_data_url() -> None:
    """Its server reads base64 as a URL and rejects it (AAswordman/Operit#601); what it accepts passes unchanged."""
    part = {"type": "input_audio", "input_audio": {"data": "UklGRgAAAABXQVZF", "format": "wav"}}

    converted = _convert({"messages": [{"role": "user", "content": [part]}]}, "chat_completions", "chat_completions", "qwen")
    again = _convert(converted.body, "chat_completions", "chat_completions", "qwen")
    other = _convert(converted.body, "chat_completions", "generate_content", "vertex")

    assert converted.body["messages"][0]["content"][0]["input_audio"]["data"] == "data:audio/wav;base64,UklGRgAAAABXQVZF"
    assert again.body == converted.body
    assert other.body["contents"][0]["parts"][0]["inlineData"]["data"] == "UklGRgAAAABXQVZF"


_CALL = {"id": "abcdefghi", "type": "function", "function": {"name": "f", "arguments": "{}"}}


@pytest.mark.parametrize(
    "turns",
    [
        [{"role": "assistant", "content": "Hello"}],
        [
            {"role": "assistant", "content": None, "tool_calls": [_CALL]},
            {"role": "tool", "tool_call_id": "abcdefghi", "content": "r"},
        ],
    ],
    ids=["answer", "result"],
)
def test_later_instructions_come_first_for_mistral(turns: list[dict[str, Any]]) -> None:
    """Its server rejects a system message after an answer or a tool result."""
    messages = [_USER, *turns, {"role": "system", "content": "Be brief."}, {"role": "assistant", "content": "Yes."}, _USER]

    converted = _convert({"messages": messages}, "chat_completions", "chat_completions", "mistral")

    system, *others = converted.body["messages"]
    assert (system["role"], others) == ("system", [message for message in messages if message["role"] != "system"])
    assert _codes(converted) == {f"/messages/{messages.index(system)}": "moved"}


@pytest.mark.parametrize("dialect", ["deepseek", "huggingface", "llamacpp", "lmstudio", "moonshot", "ollama", "qwen", "zhipu"])
@pytest.mark.parametrize(
    "answer", [{"content": [{"type": "refusal", "refusal": "No."}]}, {"content": None, "refusal": "No."}], ids=["part", "field"]
)
def test_a_refusal_becomes_text_where_the_server_has_no_such_part(answer: dict[str, Any], dialect: str) -> None:
    """Such a server rejects the conversation from the first refusal on. Functions of the time before tools rewrite every message."""
    call = {"role": "assistant", "content": None, "function_call": {"name": "now", "arguments": "{}"}}
    messages = [_USER, call, {"role": "function", "name": "now", "content": "12:00"}, {"role": "assistant", **answer}, _USER]
    body = {"messages": messages, "functions": [_NOW["function"]]}

    converted = _convert(body, "chat_completions", "chat_completions", dialect)

    assert '"type": "refusal"' not in str(converted.body).replace("'", '"')


def test_cerebras_gets_the_settings_that_its_server_accepts() -> None:
    """Its documentation lists fewer unsupported fields than before; only ``logit_bias`` has no effect (pydantic/pydantic-ai#7653)."""
    settings = {"frequency_penalty": 0.5, "parallel_tool_calls": False, "prompt_cache_key": "k", "service_tier": "flex"}
    body = {"messages": [_USER], "tools": [_NOW], "logit_bias": {"1": 5}, **settings}

    converted = _convert(body, "chat_completions", "chat_completions", "cerebras")

    assert {key: converted.body.get(key) for key in settings} == settings
    assert _codes(converted) == {"/logit_bias": "ignored_by_server"}


def _for_server_of_caller(body: dict[str, Any], format: Any, rules: fb.DialectRules) -> fb.ConvertedRequest:
    target = fb.Target(format, dialect=fb.Dialect("local", {format: rules}))
    return fb.convert_request({"model": "m", **body}, source=format, target=target)


@pytest.mark.parametrize(
    ("rules", "expected"),
    [
        (fb.DialectRules(server="X", efforts=frozenset({"none"})), None),
        (fb.DialectRules(server="X", efforts=frozenset({"none", "low"}), replaced_efforts={"medium": "ultra"}), "low"),
    ],
)
def test_an_effort_without_a_counterpart_is_reported(rules: fb.DialectRules, expected: str | None) -> None:
    """A dialect of the caller may have no other effort, or replace one by an effort that the server does not have."""
    body = {"messages": [{"role": "user", "content": "a"}], "reasoning_effort": "medium"}
    converted = _for_server_of_caller(body, "chat_completions", rules)

    assert converted.body.get("reasoning_effort") == expected
    assert [loss.path for loss in converted.losses] == ["/reasoning_effort"]


@pytest.mark.parametrize(
    "rules",
    [{"rejects_items": frozenset({"shell_call"})}, {"item_types": frozenset({"message"})}],
    ids=["rejected", "not accepted"],
)
def test_a_rejected_item_leaves_the_others_as_they_are(rules: dict[str, Any]) -> None:
    """Also for a dialect of the caller that has no other rule for messages."""
    turns = [{"role": "user", "content": "a", "x_unknown": 1}, {"role": "user", "content": "b"}]
    shell = {"type": "shell_call", "call_id": "c", "action": {"commands": ["ls"]}}
    converted = _for_server_of_caller({"input": [turns[0], shell, turns[1]]}, "responses", fb.DialectRules(server="X", **rules))

    assert converted.body["input"] == turns
    assert [loss.path for loss in converted.losses] == ["/input/1"]


def test_a_server_of_messages_without_an_effort_gets_none() -> None:
    """It would reject the effort."""
    body = {"max_tokens": 9, "messages": [{"role": "user", "content": "a"}], "output_config": {"effort": "high"}}
    converted = _for_server_of_caller(body, "messages", fb.DialectRules(server="X", efforts=frozenset({"none"})))

    assert "output_config" not in converted.body
    assert [loss.path for loss in converted.losses] == ["/output_config/effort"]


_STOPS = [chr(ord("A") + number) for number in range(20)]


@pytest.mark.parametrize(
    ("dialect", "most"),
    [("deepseek", 16), ("llamacpp", 20), ("ollama", 20), ("sglang", 20), ("vllm", 20), ("groq", 4), ("zhipu", 1)],
)
def test_stop_sequences_are_as_many_as_the_server_accepts(dialect: str, most: int) -> None:
    """The limit of OpenAI's server is no limit of others."""
    converted = _convert({"max_tokens": 9, "messages": [_USER], "stop_sequences": _STOPS}, "messages", "chat_completions", dialect)

    assert converted.body["stop"] == _STOPS[:most]
    assert [(loss.path, loss.after) for loss in converted.losses] == ([] if most == 20 else [("/stop_sequences", _STOPS[:most])])


@pytest.mark.parametrize(("dialect", "most"), [("deepseek", 16), ("vllm", 20), ("zhipu", 1)])
def test_stop_sequences_of_the_same_format_are_as_many_as_the_server_accepts(dialect: str, most: int) -> None:
    """A caller who writes for the server gets the request unchanged up to its limit."""
    for count in (3, 5, 20):
        body: dict[str, Any] = {"messages": [_USER], "stop": _STOPS[:count]}
        converted = _convert(body, "chat_completions", "chat_completions", dialect)

        assert converted.body["stop"] == body["stop"][:most]
        assert [loss.code for loss in converted.losses] == (["server_limit"] if count > most else [])


@pytest.mark.parametrize(("source", "tier"), [("messages", "standard_only"), ("chat_completions", "default")])
def test_the_standard_tier_has_the_word_of_mistral(source: fb.Format, tier: str) -> None:
    """Without it the server may choose a tier."""
    converted = _convert({"max_tokens": 9, "messages": [_USER], "service_tier": tier}, source, "chat_completions", "mistral")

    assert (converted.body["service_tier"], list(converted.losses)) == ("standard_only", [])


def test_fields_of_responses_that_ollama_ignores_are_reported() -> None:
    """Its server answers as if they were absent."""
    ignored = {
        "max_tool_calls": 2,
        "top_logprobs": 3,
        "service_tier": "flex",
        "user": "u",
        "metadata": {"a": "b"},
        "prompt": {"id": "p"},
    }
    body = {"input": "x", "text": {"verbosity": "low"}, "truncation": "auto", **ignored}

    converted = _convert(body, "responses", "responses", "ollama")

    assert converted.body == {"model": "m", "input": "x", "truncation": "auto"}
    assert _codes(converted) == dict.fromkeys(["/text/verbosity", *(f"/{key}" for key in ignored)], "ignored_by_server")


def test_fields_of_chat_completions_that_ollama_ignores_are_reported() -> None:
    """Its server answers as if they were absent."""
    ignored = {
        "parallel_tool_calls": False,
        "prediction": {"type": "content", "content": "x"},
        "verbosity": "low",
        "service_tier": "flex",
        "metadata": {"a": "b"},
        "store": True,
        "safety_identifier": "s",
        "prompt_cache_key": "k",
        "prompt_cache_retention": "24h",
    }

    converted = _convert({"messages": [_USER], "tools": [_NOW], **ignored}, "chat_completions", "chat_completions", "ollama")

    assert converted.body == {"model": "m", "messages": [_USER], "tools": [_NOW]}
    assert _codes(converted) == dict.fromkeys((f"/{key}" for key in ignored), "ignored_by_server")


def test_live_search_of_xai_is_reported() -> None:
    """Its server answers 410 and has searches in Responses only. In this one the search stays."""
    removed = {
        "search_parameters": {"mode": "on"},
        "tools": [{"type": "live_search", "sources": []}, _NOW],
        "web_search_options": {},
    }
    search = {"max_tokens": 9, "messages": [_USER], "tools": [{"type": "web_search_20250305", "name": "web_search"}]}

    chat = _convert({"messages": [_USER], **removed}, "chat_completions", "chat_completions", "xai")
    responses = _convert(search, "messages", "responses", "xai")

    assert chat.body == {"model": "m", "messages": [_USER], "tools": [_NOW]}
    assert _codes(chat) == {
        "/search_parameters": "rejected_by_server",
        "/tools/0": "unsupported_by_server",
        "/web_search_options": "unsupported_by_server",
    }
    assert [tool["type"] for tool in responses.body["tools"]] == ["web_search"]


@pytest.mark.parametrize(
    ("dialect", "why"),
    [
        ("groq", "Groq has another tool for it"),
        ("moonshot", "Moonshot has another tool for it"),
        ("zhipu", "Zhipu has another tool for it"),
        ("deepseek", "DeepSeek does not support it"),
    ],
)
def test_the_reason_for_a_lost_search_is_true(dialect: str, why: str) -> None:
    """The user can write the tool of the server, which the dialect lists."""
    body = {"max_tokens": 9, "messages": [_USER], "tools": [{"type": "web_search_20250305", "name": "web_search"}]}

    converted = _convert(body, "messages", "chat_completions", dialect)

    assert [(loss.path, loss.severity, loss.why) for loss in converted.losses] == [("/tools/0", "impossible", why)]


_DOMAINS = [f"{number}.example" for number in range(22)]


@pytest.mark.parametrize(
    ("domains", "expected", "losses"),
    [
        ({"allowed_domains": _DOMAINS[:2]}, _DOMAINS[:2], {}),
        ({"blocked_domains": _DOMAINS[:1]}, ["-0.example"], {}),
        ({"allowed_domains": _DOMAINS}, _DOMAINS[:20], {"/tools/0/allowed_domains": "server_limit"}),
        (
            {"allowed_domains": _DOMAINS[:1], "blocked_domains": ["x.example"]},
            _DOMAINS[:1],
            {"/tools/0/blocked_domains": "rejected_combination"},
        ),
        ({}, None, {}),
    ],
)
def test_the_domains_of_a_search_have_the_field_of_perplexity(domains: Any, expected: Any, losses: dict[str, str]) -> None:
    """Without them the model reads pages that the caller has excluded."""
    tool = {"type": "web_search_20250305", "name": "web_search", **domains}

    converted = _convert({"max_tokens": 9, "messages": [_USER], "tools": [tool]}, "messages", "chat_completions", "perplexity")

    assert (converted.body["web_search_options"], converted.body.get("search_domain_filter")) == ({}, expected)
    assert _codes(converted) == losses


_CONTAINER = {"id": "container_1", "skills": [{"type": "anthropic", "skill_id": "pptx", "version": "latest"}]}
_WIKI = {"type": "url", "name": "wiki", "url": "https://example.com"}
_FETCH = {"type": "web_fetch_20260318", "name": "web_fetch"}


def test_vertex_gets_no_features_of_anthropics_servers() -> None:
    """MCP servers, code execution, page fetches and containers exist on Anthropic's servers only; one of them rejects the request."""
    upload, text = {"type": "container_upload", "file_id": "file_1"}, {"type": "text", "text": "x"}
    body: dict[str, Any] = {
        "max_tokens": 9,
        "container": _CONTAINER,
        "mcp_servers": [_WIKI],
        "tools": [
            _TOOL,
            {"type": "mcp_toolset", "mcp_server_name": "wiki"},
            {"type": "code_execution_20260521", "name": "code_execution"},
            _FETCH,
            {"type": "memory_20250818", "name": "memory"},
        ],
        "messages": [{"role": "user", "content": [upload, text]}],
    }

    converted = _convert(body, "messages", "messages", "vertex")

    assert converted.body == {
        "model": "m",
        "max_tokens": 9,
        "tools": [_TOOL, body["tools"][4]],
        "messages": [{"role": "user", "content": [text]}],
    }
    assert {loss.path: (loss.code, loss.severity) for loss in converted.losses} == {
        "/container": ("rejected_by_server", "impossible"),
        "/mcp_servers": ("rejected_by_server", "lossy"),
        "/tools/1": ("unsupported_by_server", "lossy"),
        "/tools/2": ("unsupported_by_server", "lossy"),
        "/tools/3": ("unsupported_by_server", "lossy"),
        "/messages/0/content/0": ("unsupported_by_server", "impossible"),
    }


def test_vertex_gets_no_mcp_server_of_another_format() -> None:
    """An agent keeps its functions, and the report names the tools that it loses."""
    mcp = {"type": "mcp", "server_label": "wiki", "server_url": "https://example.com", "require_approval": "never"}
    tools = [
        mcp,
        {"type": "code_interpreter", "container": {"type": "auto"}},
        {"type": "function", "name": "now", "parameters": {}},
    ]

    converted = _convert({"input": "hi", "tools": tools}, "responses", "messages", "vertex")

    assert [tool["name"] for tool in converted.body["tools"]] == ["now"]
    assert "mcp_servers" not in converted.body
    assert {path for path in _codes(converted) if path in ("/tools/0", "/tools/1")} == {"/tools/0", "/tools/1"}


def test_bedrock_gets_no_containers_and_no_automatic_caching() -> None:
    """Its server has cache marks of blocks, and rejects the mark of the whole request and files for a container."""
    upload = {"type": "container_upload", "file_id": "file_1"}
    text = {"type": "text", "text": "x", "cache_control": {"type": "ephemeral", "ttl": "1h"}}
    edits = {"edits": [{"type": "clear_tool_uses_20250919"}]}
    body = {
        "max_tokens": 9,
        "cache_control": {"type": "ephemeral"},
        "container": _CONTAINER,
        "context_management": edits,
        "messages": [{"role": "user", "content": [upload, text]}],
    }

    converted = _convert(body, "messages", "messages", "bedrock")

    messages = [{"role": "user", "content": [text]}]
    assert converted.body == {"model": "m", "max_tokens": 9, "context_management": edits, "messages": messages}
    assert {loss.path: (loss.code, loss.severity) for loss in converted.losses} == {
        "/cache_control": ("rejected_by_server", "info"),
        "/container": ("rejected_by_server", "impossible"),
        "/messages/0/content/0": ("unsupported_by_server", "impossible"),
    }


_DEFERRED = _TOOL | {"name": "later", "defer_loading": True}


@pytest.mark.parametrize(
    ("kind", "codes"),
    [
        ("tool_search_tool_regex", {}),
        ("tool_search_tool_regex_20251119", {}),
        ("tool_search_tool_bm25_20251119", {"/tools/0": "nearest_value"}),
    ],
)
def test_bedrock_searches_tools_by_regular_expressions(kind: str, codes: dict[str, str]) -> None:
    """Its server has one of the two searches; without a search, the model would get no deferred tool."""
    search = {"type": kind, "name": kind.removesuffix("_20251119")}
    body = {"max_tokens": 9, "messages": [_USER], "tools": [search, _TOOL, _DEFERRED]}

    converted = _convert(body, "messages", "messages", "bedrock")

    regex = {"type": "tool_search_tool_regex", "name": "tool_search_tool_regex"}
    assert converted.body["tools"] == [regex, _TOOL, _DEFERRED]
    assert _codes(converted) == codes


@pytest.mark.parametrize("kinds", [("regex", "bm25"), ("bm25", "regex")])
def test_bedrock_gets_one_search_in_place_of_two(kinds: tuple[str, str]) -> None:
    """Both searches have the same type on its server, which rejects two tools with one name."""
    searches = [{"type": f"tool_search_tool_{kind}_20251119", "name": f"tool_search_tool_{kind}"} for kind in kinds]
    body = {"max_tokens": 9, "messages": [_USER], "tools": [searches[0], _DEFERRED, searches[1], _TOOL]}

    converted = _convert(body, "messages", "messages", "bedrock")

    regex = {"type": "tool_search_tool_regex", "name": "tool_search_tool_regex"}
    assert converted.body["tools"] == [regex, _DEFERRED, _TOOL]
    assert _codes(converted) == ({"/tools/0": "nearest_value"} if kinds[0] == "bm25" else {}) | {"/tools/2": "too_many"}
    assert _convert(body, "messages", "messages", "vertex").body["tools"] == body["tools"]


def test_bedrock_gets_the_search_of_responses() -> None:
    """The search of OpenAI's server has no kind, so it becomes the one of the two that the server has."""
    function = {"type": "function", "name": "later", "parameters": {"type": "object", "properties": {}}, "defer_loading": True}

    converted = _convert({"input": "hi", "tools": [{"type": "tool_search"}, function]}, "responses", "messages", "bedrock")

    search, later = converted.body["tools"]
    assert (search["type"], search["name"], later["defer_loading"]) == ("tool_search_tool_regex", "tool_search_tool_regex", True)


@pytest.mark.parametrize("added", [[], [_TOOL]])
def test_without_a_search_no_tool_is_deferred(added: list[dict[str, Any]]) -> None:
    """DeepSeek has no search, so the model would never get a deferred tool."""
    search = {"type": "tool_search_tool_regex", "name": "tool_search_tool_regex"}
    body = {"max_tokens": 9, "messages": [_USER], "tools": [search, *added, _DEFERRED]}

    converted = _convert(body, "messages", "messages", "deepseek")

    assert converted.body["tools"] == [*added, _TOOL | {"name": "later"}]
    assert _codes(converted) == dict.fromkeys(("/tools/0", f"/tools/{len(added) + 1}/defer_loading"), "unsupported_by_server")


def test_tools_stay_deferred_if_the_caller_searches_them() -> None:
    """A function of the caller returns references to tools, so the request has no search of the server."""
    body = {"max_tokens": 9, "messages": [_USER], "tools": [_TOOL, _DEFERRED]}

    converted = _convert(body, "messages", "messages", "deepseek")

    assert converted.body["tools"] == [_TOOL, _DEFERRED]
    assert converted.losses == ()


def test_vertex_gets_the_basic_web_search() -> None:
    """Later versions filter the pages with code, which its server does not run."""
    search = {"type": "web_search_20260318", "name": "web_search", "max_uses": 2, "response_inclusion": "excluded"}

    converted = _convert({"max_tokens": 9, "messages": [_USER], "tools": [search]}, "messages", "messages", "vertex")
    of_chat = _convert({"messages": [_USER], "web_search_options": {}}, "chat_completions", "messages", "vertex")

    assert converted.body["tools"] == [{"type": "web_search_20250305", "name": "web_search", "max_uses": 2}]
    assert _codes(converted) == {"/tools/0": "unsupported_by_server", "/tools/0/response_inclusion": "rejected_by_server"}
    assert of_chat.body["tools"][0]["type"] == "web_search_20250305"
    assert of_chat.losses == ()


_CALL = {"id": "c1", "type": "function", "function": {"name": "now", "arguments": "{}"}}


@pytest.mark.parametrize("dialect", ["deepseek", "moonshot"])
def test_servers_that_verify_no_signatures_get_reasoning_without_one(dialect: str) -> None:
    """Both reject a call without its reasoning in the next request, and accept reasoning of another format."""
    call = {"role": "assistant", "content": None, "reasoning_content": "Ask the clock.", "tool_calls": [_CALL]}
    result = {"role": "tool", "tool_call_id": "c1", "content": "noon"}
    body = {"messages": [_USER, call, result], "tools": [_NOW], "max_tokens": 9}

    converted = _convert(body, "chat_completions", "messages", dialect)
    without = _convert(
        body | {"messages": [_USER, call | {"reasoning_content": None}, result]}, "chat_completions", "messages", dialect
    )

    use = {"type": "tool_use", "id": "c1", "name": "now", "input": {}}
    assert converted.body["messages"][1]["content"] == [{"type": "thinking", "thinking": "Ask the clock.", "signature": ""}, use]
    assert converted.losses == ()
    assert without.body["messages"][1]["content"] == [use]


@pytest.mark.parametrize("source", ["messages", "chat_completions"])
def test_deepseek_treats_a_call_of_any_tool_as_a_free_choice(source: fb.Format) -> None:
    """So the choice is in the report, and reasoning stays. Only a call of one tool turns reasoning off."""
    tools = {"messages": [_TOOL], "chat_completions": [_NOW]}[source]
    any_tool, one_tool = {
        "messages": ({"type": "any"}, {"type": "tool", "name": "now"}),
        "chat_completions": ("required", {"type": "function", "function": {"name": "now"}}),
    }[source]
    body = {"max_tokens": 9, "messages": [_USER], "tools": tools}

    free = _convert(body | {"tool_choice": any_tool}, source, "messages", "deepseek")
    forced = _convert(body | {"tool_choice": one_tool}, source, "messages", "deepseek")

    assert (free.body["tool_choice"], "thinking" in free.body) == ({"type": "auto"}, False)
    assert set(_codes(free).values()) == {"unsupported_by_server"}
    assert (forced.body["tool_choice"], forced.body["thinking"]) == ({"type": "tool", "name": "now"}, {"type": "disabled"})


def test_deepseek_gets_images_that_were_uploaded_to_it() -> None:
    """Its server has files for images, and none for documents."""
    image = {"type": "image", "source": {"type": "file", "file_id": "file_1"}}
    document = {"type": "document", "source": {"type": "file", "file_id": "file_2"}}
    body = {"max_tokens": 9, "messages": [{"role": "user", "content": [image, document]}]}

    converted = _convert(body, "messages", "messages", "deepseek")

    assert converted.body["messages"][0]["content"] == [image]
    assert _codes(converted) == {"/messages/0/content/1": "unsupported_by_server"}


def test_an_effort_stays_without_the_output_format() -> None:
    """MiniMax has no output formats. Its effort is a setting of the same object, and nothing excludes it there."""
    format = {"type": "json_schema", "schema": {"type": "object", "properties": {}}}
    forced = {"tools": [_TOOL], "tool_choice": {"type": "tool", "name": "now"}, "thinking": {"type": "adaptive"}}
    body = forced | {"max_tokens": 9, "messages": [_USER], "output_config": {"effort": "high", "format": format}}

    converted = _convert(body, "messages", "messages", "minimax")

    assert converted.body == {"model": "m"} | body | {"output_config": {"effort": "high"}}
    assert _codes(converted) == {"/output_config/format": "unsupported_by_server"}


_GIF = "R0lGODlhAQABAAAAACw="
_READ = ("image/png", "image/webp")


@pytest.mark.parametrize(
    ("target", "dialect", "code"),
    [
        ("chat_completions", "ollama", "unsupported_by_server"),
        ("responses", "ollama", "unsupported_by_server"),
        ("chat_completions", "xai", "unsupported_by_server"),
        ("responses", "xai", "unsupported_by_server"),
        ("generate_content", "gemini", "unsupported_by_server"),
        ("generate_content", "vertex", "unsupported_by_server"),
    ],
)
def test_images_of_a_type_that_the_server_rejects_are_dropped(target: fb.Format, dialect: str, code: str) -> None:
    """One GIF in the history rejects every later turn; PNG and WebP stay."""
    images = [{"type": "image", "source": {"type": "base64", "media_type": mime, "data": _GIF}} for mime in ("image/gif", *_READ)]
    body = {"max_tokens": 99, "messages": [{"role": "user", "content": [*images, {"type": "text", "text": "x"}]}]}

    converted = _convert(body, "messages", target, dialect)

    assert "image/gif" not in str(converted.body)
    assert all(mime in str(converted.body) for mime in _READ)
    assert [(loss.path, loss.code, loss.severity) for loss in converted.losses] == [("/messages/0/content/0", code, "impossible")]


def test_images_of_a_type_that_the_server_rejects_are_dropped_in_the_same_format() -> None:
    """A body of the same format keeps all that the dialect does not concern, such as the other image."""
    urls = [f"data:{mime};base64,{_GIF}" for mime in ("image/gif", "image/png")]
    parts = [{"type": "image_url", "image_url": {"url": url}} for url in urls]

    converted = _convert({"messages": [{"role": "user", "content": parts}]}, "chat_completions", "chat_completions", "xai")

    assert converted.body["messages"] == [{"role": "user", "content": parts[1:]}]
    assert _codes(converted) == {"/messages/0/content/0": "unsupported_by_server"}


@pytest.mark.parametrize(
    ("mime", "is_read"), [("image/heic", True), ("image/jpg", True), ("image/bmp", False), ("image/avif", False)]
)
def test_gemini_reads_the_images_that_its_documentation_lists(mime: str, is_read: bool) -> None:
    """The server answers any other type with an error, on both clouds."""
    part = {"type": "input_image", "detail": "auto", "image_url": f"data:{mime};base64,{_GIF}"}

    converted = fb.convert_request(
        {"model": "m", "input": [{"role": "user", "content": [part, {"type": "input_text", "text": "x"}]}]},
        source="responses",
        target="generate_content",
    )

    assert ("inlineData" in converted.body["contents"][0]["parts"][0]) is is_read
    assert [loss.code for loss in converted.losses] == ([] if is_read else ["unsupported_media"])


@pytest.mark.parametrize("dialect", ["gemini", "vertex"])
def test_google_gets_no_gif_of_the_same_format(dialect: str) -> None:
    """The other image and the question of the caller stay."""
    data = [{"inlineData": {"mimeType": mime, "data": _GIF}} for mime in ("image/gif", "image/heic")]
    body = {"contents": [{"role": "user", "parts": [*data, {"text": "x"}]}]}

    converted = _convert(body, "generate_content", "generate_content", dialect)

    assert converted.body["contents"] == [{"role": "user", "parts": [data[1], {"text": "x"}]}]
    assert _codes(converted) == {"/contents/0/parts/0": "unsupported_by_server"}


_SEARCH_TOOL = {"type": "web_search"}
_FLAT = {"type": "function", "name": "f", "parameters": {"type": "object", "properties": {}}}


@pytest.mark.parametrize(
    ("tools", "choice", "expected", "is_lost"),
    [
        ([_SEARCH_TOOL], {"type": "web_search"}, "required", False),
        ([_FLAT, _SEARCH_TOOL], {"type": "web_search"}, "auto", True),
        ([_FLAT], {"type": "allowed_tools", "mode": "required", "tools": [{"type": "function", "name": "f"}]}, "required", False),
    ],
)
def test_xai_gets_a_word_or_a_function_as_tool_choice(tools: list[Any], choice: Any, expected: str, is_lost: bool) -> None:
    """Its server answers 422 for another object (router-for-me/CLIProxyAPI#4718)."""
    converted = _convert({"input": "x", "tools": tools, "tool_choice": choice}, "responses", "responses", "xai")

    assert converted.body["tool_choice"] in (expected, {"type": "function", "name": "f"})
    assert [loss.path for loss in converted.losses] == (["/tool_choice"] if is_lost else [])


@pytest.mark.parametrize("target", ["chat_completions", "responses"])
def test_ollama_gets_instructions_of_the_system(target: fb.Format) -> None:
    """Its server drops messages with the role `developer` in silence, so the model would not see the instructions."""
    later = {"role": "developer", "content": "Be brief."}

    converted = _convert({"messages": [_USER, later, _USER]}, "chat_completions", target, "ollama")

    messages = converted.body["messages" if target == "chat_completions" else "input"]
    assert [message["role"] for message in messages] == ["user", "system", "user"]
    assert not converted.losses


def test_ollama_gets_instructions_of_the_system_in_the_same_format() -> None:
    """An agent that sends Responses requests to Ollama writes its prompt with the role `developer`."""
    first, later = ({"role": "developer", "content": text} for text in ("Be brief.", "Be kind."))

    converted = _convert({"input": [first, _USER, later, _USER]}, "responses", "responses", "ollama")

    assert converted.body["instructions"] == "Be brief."
    assert converted.body["input"] == [_USER, {"role": "system", "content": "Be kind."}, _USER]
    assert not converted.losses


def test_a_temperature_for_moonshot_is_at_most_one() -> None:
    """Its range is smaller than that of OpenAI."""
    converted = _convert({"messages": [_USER], "temperature": 1.5}, "chat_completions", "chat_completions", "moonshot")

    assert converted.body["temperature"] == 1
    assert _codes(converted) == {"/temperature": "server_range"}


_STRICT_TOOL = {"type": "function", "function": {"name": "now", "parameters": {"type": "object", "properties": {}}, "strict": True}}
_LATER = {"type": "function", "function": {"name": "later", "parameters": {"type": "object", "properties": {}}}}


def test_fields_that_minimax_ignores_are_reported() -> None:
    """The server answers as if they were absent."""
    ignored = {"presence_penalty": 1, "frequency_penalty": 1, "logit_bias": {"50": 5}, "seed": 1, "parallel_tool_calls": False}

    converted = _convert(
        {"messages": [_USER], "tools": [_STRICT_TOOL], **ignored}, "chat_completions", "chat_completions", "minimax"
    )

    assert not converted.body.keys() & ignored.keys()
    assert "strict" not in converted.body["tools"][0]["function"]
    assert _codes(converted) == {
        **{f"/{name}": "ignored_by_server" for name in ignored},
        "/tools/0/function/strict": "unsupported_by_server",
    }


@pytest.mark.parametrize("choice", ["required", {"type": "function", "function": {"name": "now"}}])
def test_minimax_gets_no_forced_tool_call(choice: str | dict[str, Any]) -> None:
    """Its server accepts `none` and `auto` only."""
    body = {"messages": [_USER], "tools": [_NOW], "tool_choice": choice}

    converted = _convert(body, "chat_completions", "chat_completions", "minimax")

    assert converted.body["tool_choice"] == "auto"
    assert _codes(converted) == {"/tool_choice": "unsupported_by_server"}


def test_minimax_gets_only_the_allowed_tools() -> None:
    """Its server rejects a list of them, and the model cannot call tools that it does not have."""
    allowed = {"mode": "auto", "tools": [{"type": "function", "function": {"name": "now"}}]}
    body = {"messages": [_USER], "tools": [_NOW, _LATER], "tool_choice": {"type": "allowed_tools", "allowed_tools": allowed}}

    converted = _convert(body, "chat_completions", "chat_completions", "minimax")

    assert (converted.body["tools"], converted.body["tool_choice"]) == ([_NOW], "auto")
    assert _codes(converted) == {"/tools/1": "excluded"}


def test_perplexity_gets_no_token_bias() -> None:
    """The types of its library do not have it, so the report mentions it."""
    body = {"messages": [_USER], "logit_bias": {"50": 5}}

    converted = _convert(body, "chat_completions", "chat_completions", "perplexity")

    assert converted.body == {"model": "m", "messages": [_USER]}
    assert _codes(converted) == {"/logit_bias": "ignored_by_server"}


def test_a_web_search_for_qwen_is_reported_with_the_alternative() -> None:
    """Its server searches with `enable_search`, so a reason without this would be wrong."""
    converted = _convert({"messages": [_USER], "web_search_options": {}}, "chat_completions", "chat_completions", "qwen")

    assert "web_search_options" not in converted.body
    assert _codes(converted) == {"/web_search_options": "other_tool_of_server"}
