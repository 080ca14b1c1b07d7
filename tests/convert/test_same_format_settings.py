"""Settings and reasoning of a request in the format of the target, as the server of a dialect reads them."""

from __future__ import annotations

import json
from typing import Any

import pytest

import formatbridge as fb
from tests.support.same_format import GEMINI, SCHEMA, USER, convert, convert_chat, settings_of

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
    converted = convert_chat(sent, server)

    assert settings_of(converted) == expected
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
    converted = convert_chat(sent, server)

    assert settings_of(converted) == sent
    assert (list(converted.losses), list(converted.additions)) == ([], [])


@pytest.mark.parametrize("server", ["deepseek", "moonshot", "zhipu"])
def test_a_budget_that_the_server_does_not_read_is_dropped_as_reported(server: str) -> None:
    """The server would ignore the budget, and a user who limits costs must learn that."""
    converted = convert_chat({"thinking": {"type": "enabled", "budget_tokens": 2048}}, server)

    assert settings_of(converted) == {"thinking": {"type": "enabled"}}
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
    converted = convert_chat({"messages": [USER, {"role": "assistant", "content": [_THINKING, _ANSWER]}, USER]}, server)

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
    converted = convert_chat({"messages": [USER, message, USER]}, server)

    assert converted.body["messages"][1] == message
    assert list(converted.losses) == []


def test_a_second_text_of_reasoning_that_the_server_rejects_is_a_loss() -> None:
    """A history that passed through two servers may have both fields, with different texts."""
    message = {"role": "assistant", "content": "Yes.", "reasoning": "Think.", "reasoning_content": "Other."}

    converted = convert_chat({"messages": [USER, message, USER]}, "groq")

    assert converted.body["messages"][1] == {"role": "assistant", "content": "Yes.", "reasoning": "Think."}
    assert [(loss.path, loss.code) for loss in converted.losses] == [("/messages/1/reasoning_content", "rejected_by_server")]


@pytest.mark.parametrize("server", ["zhipu", "mistral"])
def test_options_of_a_stream_that_the_server_does_not_read_are_reported(server: str) -> None:
    """An application that waits for the usage at the end of the stream must learn that it may not arrive."""
    converted = convert_chat({"stream": True, "stream_options": {"include_usage": True}}, server)

    assert "stream_options" not in converted.body
    assert [loss.path for loss in converted.losses] == ["/stream_options"]


@pytest.mark.parametrize("server", ["vllm", "openai", "groq"])
def test_a_seed_gets_the_name_that_the_server_reads(server: str) -> None:
    """Mistral has another name, and a user who compares servers needs the same seed everywhere."""
    assert settings_of(convert_chat({"random_seed": 7}, server)) == {"seed": 7}
    assert settings_of(convert_chat({"seed": 7}, "mistral")) == {"random_seed": 7}


@pytest.mark.parametrize("server", ["vllm", "sglang", "groq", "mistral"])
def test_a_number_of_log_probabilities_becomes_a_flag_and_a_number(server: str) -> None:
    """Together has the number in the field of the flag."""
    converted = convert_chat({"logprobs": 2}, server)

    rejected = server == "groq"
    assert settings_of(converted) == ({} if rejected else {"logprobs": True, "top_logprobs": 2})
    assert bool(converted.losses) == rejected


@pytest.mark.parametrize(("server", "tier"), [("mistral", "flex"), ("groq", "priority"), ("fireworks", "on_demand")])
def test_a_tier_that_the_server_does_not_have_is_reported(server: str, tier: str) -> None:
    """The server would reject the request for a setting that affects only price and speed."""
    converted = convert_chat({"service_tier": tier}, server)

    assert settings_of(converted) == {}
    assert [(loss.path, loss.severity) for loss in converted.losses] == [("/service_tier", "info")]


def test_fields_without_a_value_are_left_out_for_a_server_that_rejects_null() -> None:
    """Typed clients write null for each field that was not set."""
    assert settings_of(convert_chat({"temperature": None, "n": None}, "sglang")) == {}
    assert settings_of(convert_chat({"temperature": None}, "vllm")) == {"temperature": None}


@pytest.mark.parametrize(
    ("server", "sent", "written"),
    [("zhipu", 1.5, 1), ("minimax", 0, 0.01), ("minimax", 2, 1), ("qwen", 2, 1.99), ("mistral", 1.6, 1.5)],
)
def test_a_temperature_outside_the_range_of_the_server_becomes_the_nearest_one(server: str, sent: float, written: float) -> None:
    """These servers answer another temperature with an error."""
    converted = convert_chat({"temperature": sent}, server)

    assert settings_of(converted) == {"temperature": written}
    assert [(loss.path, loss.before, loss.after) for loss in converted.losses] == [("/temperature", sent, written)]
    assert settings_of(convert_chat({"temperature": 0.5}, server)) == {"temperature": 0.5}


@pytest.mark.parametrize("server", ["openai", "qwen", "zhipu", "vllm", "openrouter", "litellm"])
@pytest.mark.parametrize("kind", ["disabled", "between_tools"])
def test_the_effort_of_a_request_that_turns_reasoning_off_is_reported(server: str, kind: str) -> None:
    """With reasoning off the effort has no effect, so it is left out, and the caller sees that."""
    body = {"model": "m", "max_tokens": 9, "messages": [USER], "thinking": {"type": kind}, "output_config": {"effort": "low"}}

    converted = fb.convert_request(body, source="messages", target=fb.Target("chat_completions", dialect=server))

    assert "/output_config/effort" in [loss.path for loss in converted.losses]


def test_parameters_that_the_server_ignores_are_reported() -> None:
    """DeepSeek's documentation does not have them."""
    sent = {"n": 2, "seed": 1, "logit_bias": {"5": 1}, "verbosity": "low", "service_tier": "flex", "top_p": 0.5}

    converted = convert_chat(sent, "deepseek")

    assert settings_of(converted) == {"top_p": 0.5}
    assert {loss.path for loss in converted.losses} == {"/n", "/seed", "/logit_bias", "/verbosity", "/service_tier"}


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
    bodies: dict[str, dict[str, Any]] = {"generate_content": GEMINI, "messages": {"max_tokens": 9, "messages": [USER]}}

    converted = convert({**bodies.get(format, {"messages": [USER]}), field: value}, server, format)

    assert [loss.path.split("/")[1] for loss in converted.losses][-1:] == [field]
    assert "" not in [loss.path for loss in converted.losses]


def test_an_addition_that_the_body_does_not_have_is_not_reported() -> None:
    """A body of another format would get an instruction for JSON mode."""
    parts = [{"type": "text", "text": "Hi"}, {"type": "document_url", "document_url": "https://example.com/a.pdf"}]

    converted = convert_chat(
        {"messages": [{"role": "user", "content": parts}], "response_format": {"type": "json_object"}}, "openai"
    )

    assert list(converted.additions) == []


@pytest.mark.parametrize("server", ["openrouter", "qwen", "fireworks"])
def test_a_budget_is_within_the_bounds_of_the_model(server: str) -> None:
    """A server rejects a budget above the maximum of its model."""
    facts = fb.ModelFacts(reasoning="budget", budgets=(1024, 8000))
    body = {"model": "m", "messages": [USER], "reasoning": {"max_tokens": 9000}}

    converted = fb.convert_request(
        body, source="chat_completions", target=fb.Target("chat_completions", dialect=server, model=facts)
    )

    assert "9000" not in json.dumps(converted.body)
    assert "8000" in json.dumps(converted.body)
    assert [loss.code for loss in converted.losses] == ["reasoning_budget"]


def test_a_request_to_hide_reasoning_that_the_server_does_not_read_is_a_loss() -> None:
    """An application that shows the whole answer would show the reasoning too."""
    converted = convert_chat({"reasoning": {"effort": "high", "exclude": True}}, "groq")

    assert settings_of(converted) == {"reasoning_effort": "high"}
    assert [(loss.path, loss.severity) for loss in converted.losses] == [("/reasoning/exclude", "info")]


@pytest.mark.parametrize("reasoning", [{}, {"reasoning": {"effort": "low"}}])
def test_a_model_without_reasoning_gets_no_request_for_its_tokens(reasoning: dict[str, Any]) -> None:
    """Such a model rejects the value."""
    body = {"model": "m", "input": "Hi", "include": ["reasoning.encrypted_content", "web_search_call.action.sources"], **reasoning}

    converted = fb.convert_request(body, source="responses", target=fb.Target("responses", model=fb.ModelFacts(reasoning="none")))

    assert converted.body == {"model": "m", "input": "Hi", "include": ["web_search_call.action.sources"]}
    assert {loss.path: loss.severity for loss in converted.losses} == {"/include/0": "info"} | (
        {"/reasoning/effort": "lossy"} if reasoning else {}
    )


@pytest.mark.parametrize("server", ["lmstudio", "perplexity", "minimax", "zhipu"])
def test_json_mode_does_not_change_the_conversation(server: str) -> None:
    """The prompt asks for JSON already, and its unknown fields must survive the change of the setting."""
    messages = [{"role": "user", "content": [{"type": "text", "text": "Hello", "unknown": 1}, {"type": "mystery"}], "other": 2}]

    converted = convert_chat({"messages": messages, "response_format": {"type": "json_object"}}, server)

    assert converted.body["messages"] == messages


def test_the_instruction_for_json_is_added_once() -> None:
    """Two instructions would cost tokens in every turn."""
    audio = {"type": "input_audio", "input_audio": {"data": "AAAA", "format": "wav"}}
    schema = {"type": "json_schema", "json_schema": {"name": "n", "schema": SCHEMA}}
    parts = [audio, {"type": "text", "text": "What is the music?"}]

    converted = convert_chat({"messages": [{"role": "user", "content": parts}, USER], "response_format": schema}, "deepseek")

    assert [addition.path for addition in converted.additions] == ["/messages/0"]
    assert "JSON" in converted.body["messages"][0]["content"]


@pytest.mark.parametrize("server", ["mistral", "qwen", "llamacpp", "minimax"])
def test_a_budget_for_a_model_with_efforts_is_one_loss(server: str) -> None:
    """The budget becomes an effort; a second line for the same value would look like another loss."""
    body = {"model": "m", "messages": [USER], "thinking": {"type": "enabled", "budget_tokens": 3000}}
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
    converted = convert_chat(setting, server)

    assert settings_of(converted) == written
    assert [(loss.before, loss.after) for loss in converted.losses] == [
        (value, written[key]) for key, value in setting.items() if written[key] != value
    ]
