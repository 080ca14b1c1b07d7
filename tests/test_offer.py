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


# A choice among what was written.

SEARCH = {"type": "web_search_preview"}


@pytest.mark.parametrize(
    ("tools", "added", "choice", "loss"),
    [
        ([_function("f")], [SEARCH], SEARCH, ("impossible", "server_tool")),
        ([_function("f")], [], SEARCH, ("impossible", "server_tool")),
        ([], [SEARCH], {"type": "allowed_tools", "mode": "required", "tools": [SEARCH]}, ("lossy", "without_tools")),
        ([_function("web_search")], [], SEARCH, ("impossible", "server_tool")),
        ([_function("f")], [], {"type": "function", "name": "g"}, ("lossy", "without_tools")),
    ],
    ids=[
        "of the server's, in a turn",
        "of the server's, nowhere",
        "among those of a turn",
        "like a function's name",
        "a function, nowhere",
    ],
)
def test_a_tool_that_was_not_written_is_not_forced(
    tools: list[dict[str, Any]], added: list[dict[str, Any]], choice: dict[str, Any], loss: tuple[str, str]
) -> None:
    """The server refuses a choice of what it does not know."""
    body = {"model": "m", "input": [USER, _added(*added)], "tools": tools, "tool_choice": choice}

    made = fb.convert_request(body, source="responses", target="messages")

    assert "tool_choice" not in made.body
    told = {loss.path: (loss.severity, loss.code) for loss in made.losses}
    assert told["/tool_choice"] == loss


def test_a_tool_that_a_turn_brings_may_be_forced() -> None:
    """It counts from there on."""
    body = {"model": "m", "input": [USER, _added(_function("f"))], "tool_choice": {"type": "function", "name": "f"}}

    made = fb.convert_request(body, source="responses", target="messages")

    assert made.body["tool_choice"] == {"type": "tool", "name": "f"}


def _allowing(*tools: dict[str, Any], mode: str = "required") -> dict[str, Any]:
    choice = {"type": "allowed_tools", "mode": mode, "tools": list(tools)}
    return {"model": "m", "input": [USER], "tools": [_function("f"), {"type": "web_search"}], "tool_choice": choice}


def test_what_is_said_of_a_weaker_choice_is_what_was_written() -> None:
    """A list with room for functions alone would force one of them."""
    body = _allowing({"type": "function", "name": "f"}, SEARCH)

    chat = fb.convert_request(body, source="responses", target="chat_completions")
    gemini = fb.convert_request(body, source="responses", target="generate_content")

    assert [(loss.path, loss.before, loss.after) for loss in chat.losses] == [("/tool_choice/mode", "required", "auto")]
    assert chat.body["tool_choice"]["allowed_tools"]["mode"] == "auto"
    assert [(loss.path, loss.after) for loss in gemini.losses] == [("/tool_choice", {"mode": "AUTO"})]
    assert gemini.body["toolConfig"] == {"functionCallingConfig": {"mode": "AUTO"}}


def test_a_free_choice_among_functions_and_the_search_is_no_loss_where_the_search_stays_free() -> None:
    """The list of chat_completions is of functions only."""
    body = _allowing({"type": "function", "name": "f"}, SEARCH, mode="auto")

    made = fb.convert_request(body, source="responses", target="chat_completions")

    assert not made.losses
    assert made.body["web_search_options"] == {}


@pytest.mark.parametrize(("target", "kind"), [("chat_completions", "dropped"), ("generate_content", "changed")])
def test_a_server_of_which_no_tool_may_be_used_is_hardly_a_loss(target: str, kind: str) -> None:
    """The model could never call it. Where the target has servers, that one is missing follows from a value of it, which is not lost."""
    server = {"type": "url", "name": "s", "url": "https://mcp.example.com", "tool_configuration": {"enabled": False}}
    body = {"model": "m", "max_tokens": 5, "messages": [USER], "mcp_servers": [server]}

    made = fb.convert_request(body, source="messages", target=target)

    told = [(loss.path, loss.kind, loss.severity, loss.code) for loss in made.losses]
    assert told == [("/mcp_servers/0", kind, "info", "excluded")]
