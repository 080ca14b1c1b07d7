"""Which tools a request offers elsewhere: those that its choice allows, each once, wherever they come from."""

from __future__ import annotations

import json
from typing import Any

import pytest

import formatbridge as fb

USER = {"role": "user", "content": "hi"}
TARGETS = [name for name in fb.FORMATS if name != "responses"]


def _function(name: str, description: str = "Look up a word.") -> dict[str, Any]:
    return {"type": "function", "name": name, "description": description, "parameters": None, "strict": None}


def _added(*tools: dict[str, Any]) -> dict[str, Any]:
    return {"type": "additional_tools", "role": "developer", "tools": list(tools)}


def _names(body: dict[str, Any]) -> list[str]:
    """Return the names of the functions in a body, wherever they are defined."""
    found: list[str] = []
    json.loads(json.dumps(body), object_hook=lambda each: found.append(each["name"]) if "description" in each else None)
    return found


@pytest.mark.parametrize("target", TARGETS)
def test_a_tool_that_comes_again_word_for_word_is_told_once(target: str) -> None:
    """A server refuses two functions of one name."""
    body = {"model": "m", "input": [USER, _added(_function("f"))], "tools": [_function("f")]}

    made = fb.convert_request(body, source="responses", target=target)

    assert _names(made.body) == ["f"]


@pytest.mark.parametrize("target", ["messages", "generate_content"])
def test_a_tool_that_comes_again_with_other_words_has_a_name_of_its_own(target: str) -> None:
    """Both are there from the start elsewhere, and a server refuses two functions of one name."""
    body = {"model": "m", "input": [USER, _added(_function("f", "Look up a place."))], "tools": [_function("f")]}

    made = fb.convert_request(body, source="responses", target=target)

    assert sorted(_names(made.body)) == ["f", "f_2"]
    assert "/input/1/tools/0/name" in {loss.path for loss in made.losses}


def test_a_tool_that_comes_later_is_left_out_if_the_choice_does_not_allow_it() -> None:
    """The target has no list of allowed tools: what stands there may be called."""
    choice = {"type": "allowed_tools", "mode": "required", "tools": [{"type": "function", "name": "f"}]}
    body = {"model": "m", "input": [USER, _added(_function("g"))], "tools": [_function("f")], "tool_choice": choice}

    made = fb.convert_request(body, source="responses", target="messages")

    assert _names(made.body) == ["f"]
    assert [(loss.path, loss.kind) for loss in made.losses] == [("/input/1/tools/0", "dropped"), ("/tool_choice", "changed")]


@pytest.mark.parametrize("target", ["chat_completions", "responses"])
def test_what_stays_of_a_choice_is_not_told_as_gone(target: str) -> None:
    """That calls come one at a time is said in the same object that forces a tool which nobody else has."""
    bash = {"type": "bash_20250124", "name": "bash"}
    choice = {"type": "tool", "name": "bash", "disable_parallel_tool_use": True}
    body = {"model": "m", "max_tokens": 5, "messages": [USER], "tools": [{"name": "f", "input_schema": {}}, bash]}

    made = fb.convert_request(body | {"tool_choice": choice}, source="messages", target=target)

    assert made.body["parallel_tool_calls"] is False
    assert {loss.path for loss in made.losses} == {"/tools/1", "/tool_choice/name"}
