"""Each entry of a report is true: its pointer exists, its value is that of the body, and its reason is the cause."""

from __future__ import annotations

from typing import Any

import pytest

import formatbridge as fb
from tests.support.same_format import USER


def _chat(server: str) -> fb.Target:
    return fb.Target("chat_completions", dialect=server)


def _losses(converted: fb.Converted) -> list[tuple[str, str, Any]]:
    """Return the pointer, the code and the new value of each loss."""
    return [(loss.path, loss.code, loss.after) for loss in converted.losses]


# Reasoning.


def test_a_budget_is_reported_with_the_effort_that_is_sent() -> None:
    """Mistral has no effort ``medium``, the nearest one to the budget. The user reads what the model gets: ``high``."""
    thinking = {"thinking": {"type": "enabled", "budget_tokens": 4000}}
    config = {"thinkingConfig": {"thinkingBudget": 4000}}
    gemini = {"contents": [{"role": "user", "parts": [{"text": "hi"}]}], "generationConfig": config}

    cases: list[tuple[fb.Format, dict[str, Any], str]] = [
        ("chat_completions", {"messages": [USER], **thinking}, "/thinking/budget_tokens"),
        ("messages", {"messages": [USER], "max_tokens": 9000, **thinking}, "/thinking/budget_tokens"),
        ("generate_content", gemini, "/generationConfig/thinkingConfig/thinkingBudget"),
    ]
    for source, body, path in cases:
        converted = fb.convert_request(body, source=source, target=_chat("mistral"), model="m")

        assert converted.body["reasoning_effort"] == "high"
        assert _losses(converted) == [(path, "unsupported_by_server", "high")]


def test_reasoning_that_a_server_cannot_turn_off_is_only_dropped() -> None:
    """The report must not have the effort ``none``, because the body has no effort."""
    body = {"model": "m", "max_tokens": 9000, "messages": [USER], "thinking": {"type": "between_tools"}}

    converted = fb.convert_request(body, source="messages", target=_chat("perplexity"))

    assert "reasoning_effort" not in converted.body
    assert _losses(converted) == [("/thinking/type", "unsupported_by_server", None)]


# Values of the caller.


@pytest.mark.parametrize("server", ["openrouter", "qwen"])
def test_a_cache_mark_of_the_caller_is_no_addition(server: str) -> None:
    """An agent marks its prompt in each request. The user looks for values that the library has chosen, and this is none."""
    text = {"type": "text", "text": "hi", "cache_control": {"type": "ephemeral"}}
    body = {"model": "m", "max_tokens": 9, "messages": [{"role": "user", "content": [text]}]}

    converted = fb.convert_request(body, source="messages", target=_chat(server))

    assert converted.body["messages"][0]["content"] == [text]
    assert not converted.losses
    assert not converted.additions
