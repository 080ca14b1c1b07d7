"""A request of instructions only: what there is to answer where they may stand among the turns."""

from __future__ import annotations

from typing import Any

import pytest

import formatbridge as fb

ALONE: dict[str, dict[str, Any]] = {
    "chat_completions": {"model": "m", "messages": [{"role": "system", "content": "Tell a joke."}]},
    "messages": {"model": "m", "max_tokens": 99, "system": "Tell a joke.", "messages": []},
    "generate_content": {"systemInstruction": {"parts": [{"text": "Tell a joke."}]}, "contents": []},
}


@pytest.mark.parametrize("source", ALONE)
def test_instructions_alone_are_what_is_answered(source: str) -> None:
    """A server refuses instructions without an input, and answers them as the only item of one."""
    made = fb.convert_request(ALONE[source], source=source, target="responses", model="m")

    assert made.body["input"] == [{"type": "message", "role": "system", "content": "Tell a joke."}]
    assert "instructions" not in made.body
    assert not made.losses


def test_instructions_alone_come_back() -> None:
    """There is nothing to lose on the way; that the exchange is not stored is added on it."""
    there = fb.convert_request(ALONE["chat_completions"], source="chat_completions", target="responses")
    back = fb.convert_request(there.body, source="responses", target="chat_completions")

    assert back.body == ALONE["chat_completions"] | {"store": False}


def test_instructions_are_answered_where_all_turns_are_empty() -> None:
    """Such a turn is left out, and then nothing else is there."""
    empty = {"role": "assistant", "content": None}
    body = ALONE["chat_completions"] | {"messages": [*ALONE["chat_completions"]["messages"], empty]}

    made = fb.convert_request(body, source="chat_completions", target="responses")

    assert [item["role"] for item in made.body["input"]] == ["system"]
    assert [(loss.path, loss.severity, loss.code) for loss in made.losses] == [("/messages/1", "info", "empty")]


def test_empty_instructions_are_nothing_to_answer() -> None:
    """No server answers nothing."""
    body = {"model": "m", "messages": [{"role": "system", "content": ""}]}

    made = fb.convert_request(body, source="chat_completions", target="responses")

    assert [(loss.path, loss.severity, loss.code) for loss in made.losses] == [("/messages/0", "impossible", "no_turns")]
