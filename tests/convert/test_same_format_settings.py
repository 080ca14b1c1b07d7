"""Settings and reasoning of a request in the format of the target, as the server of a dialect reads them."""

from __future__ import annotations

from typing import Any

import pytest

import formatbridge as fb
from tests.support.same_format import USER, convert_chat, settings_of


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


def test_an_addition_that_the_body_does_not_have_is_not_reported() -> None:
    """A body of another format would get an instruction for JSON mode."""
    parts = [{"type": "text", "text": "Hi"}, {"type": "document_url", "document_url": "https://example.com/a.pdf"}]

    converted = convert_chat(
        {"messages": [{"role": "user", "content": parts}], "response_format": {"type": "json_object"}}, "openai"
    )

    assert list(converted.additions) == []


@pytest.mark.parametrize("server", ["lmstudio", "minimax", "zhipu"])
def test_json_mode_does_not_change_the_conversation(server: str) -> None:
    """The prompt asks for JSON already, and its unknown fields must survive the change of the setting."""
    messages = [{"role": "user", "content": [{"type": "text", "text": "Hello", "unknown": 1}, {"type": "mystery"}], "other": 2}]

    converted = convert_chat({"messages": messages, "response_format": {"type": "json_object"}}, server)

    assert converted.body["messages"] == messages


def test_an_instruction_in_place_of_json_mode_changes_no_other_message() -> None:
    """Unknown fields of the caller must survive the added message."""
    messages = [{"role": "user", "content": [{"type": "text", "text": "Hello", "unknown": 1}, {"type": "mystery"}], "other": 2}]

    converted = convert_chat({"messages": messages, "response_format": {"type": "json_object"}}, "perplexity")

    assert converted.body["messages"][1:] == messages
    assert [addition.path for addition in converted.additions] == ["/messages/0"]


def test_json_mode_without_an_instruction_is_dropped() -> None:
    """A caller with another prompt for JSON can switch the instruction off, for a server without JSON mode too."""
    body = {"model": "m", "messages": [{"role": "user", "content": "Hello"}], "response_format": {"type": "json_object"}}
    perplexity = fb.Target("chat_completions", dialect="perplexity")

    converted = fb.convert_request(body, source="chat_completions", target=perplexity, options=fb.Options(json_mode="drop"))

    assert converted.body == {"model": "m", "messages": body["messages"]}
    assert [(loss.path, loss.kind, loss.severity) for loss in converted.losses] == [("/response_format", "dropped", "impossible")]


@pytest.mark.parametrize("server", ["mistral", "qwen", "llamacpp", "minimax"])
def test_a_budget_for_a_model_with_efforts_is_one_loss(server: str) -> None:
    """The budget becomes an effort; a second line for the same value would look like another loss."""
    body = {"model": "m", "messages": [USER], "thinking": {"type": "enabled", "budget_tokens": 3000}}
    target = fb.Target("chat_completions", dialect=server, model=fb.ModelFacts(reasoning="effort"))

    converted = fb.convert_request(body, source="chat_completions", target=target)

    assert [loss.path for loss in converted.losses] == ["/thinking/budget_tokens"]
