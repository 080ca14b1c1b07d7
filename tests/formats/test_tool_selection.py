"""The tools of a request in another format: those that its choice allows, each once."""

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
    reported: list[str] = []
    json.loads(json.dumps(body), object_hook=lambda each: reported.append(each["name"]) if "description" in each else None)
    return reported


@pytest.mark.parametrize("target", TARGETS)
def test_a_repeated_identical_tool_is_written_once(target: fb.Format) -> None:
    """A server rejects two functions of one name."""
    body = {"model": "m", "input": [USER, _added(_function("f"))], "tools": [_function("f")]}

    converted = fb.convert_request(body, source="responses", target=target)

    assert _names(converted.body) == ["f"]


@pytest.mark.parametrize("target", ["messages", "generate_content"])
def test_a_repeated_tool_with_another_description_gets_another_name(target: fb.Format) -> None:
    """Other formats have both tools from the start, and a server rejects two functions of one name."""
    body = {"model": "m", "input": [USER, _added(_function("f", "Look up a place."))], "tools": [_function("f")]}

    converted = fb.convert_request(body, source="responses", target=target)

    assert sorted(_names(converted.body)) == ["f", "f_2"]
    assert "/input/1/tools/0/name" in {loss.path for loss in converted.losses}


def test_a_subsequent_tool_is_omitted_if_the_choice_excludes_it() -> None:
    """The target has no list of allowed tools: every tool in the request may be called."""
    choice = {"type": "allowed_tools", "mode": "required", "tools": [{"type": "function", "name": "f"}]}
    body = {"model": "m", "input": [USER, _added(_function("g"))], "tools": [_function("f")], "tool_choice": choice}

    converted = fb.convert_request(body, source="responses", target="messages")

    assert _names(converted.body) == ["f"]
    assert [(loss.path, loss.kind) for loss in converted.losses] == [("/input/1/tools/0", "dropped"), ("/tool_choice", "changed")]


@pytest.mark.parametrize("target", ["chat_completions", "responses"])
def test_the_kept_part_of_a_choice_is_not_reported(target: fb.Format) -> None:
    """The same object disables parallel calls and forces a tool that no other format has."""
    bash = {"type": "bash_20250124", "name": "bash"}
    choice = {"type": "tool", "name": "bash", "disable_parallel_tool_use": True}
    body = {"model": "m", "max_tokens": 99, "messages": [USER], "tools": [{"name": "f", "input_schema": {}}, bash]}

    converted = fb.convert_request(body | {"tool_choice": choice}, source="messages", target=target)

    assert converted.body["parallel_tool_calls"] is False
    assert {loss.path for loss in converted.losses} == {"/tools/1", "/tool_choice/type", "/tool_choice/name"}


# A choice among what was written.

SEARCH = {"type": "web_search_preview"}
DRAW = {"type": "image_generation"}


@pytest.mark.parametrize(
    ("tools", "added", "choice", "loss"),
    [
        ([_function("f")], [], SEARCH, ("impossible", "server_tool")),
        ([], [DRAW], {"type": "allowed_tools", "mode": "required", "tools": [DRAW]}, ("lossy", "without_tools")),
        ([_function("web_search")], [], SEARCH, ("impossible", "server_tool")),
        ([_function("f")], [], {"type": "function", "name": "g"}, ("lossy", "without_tools")),
    ],
    ids=["of the server's, nowhere", "among those of a turn", "like a function's name", "a function, nowhere"],
)
def test_an_omitted_tool_is_not_forced(
    tools: list[dict[str, Any]], added: list[dict[str, Any]], choice: dict[str, Any], loss: tuple[str, str]
) -> None:
    """The server rejects a choice of an unknown tool."""
    body = {"model": "m", "input": [USER, _added(*added)], "tools": tools, "tool_choice": choice}

    converted = fb.convert_request(body, source="responses", target="messages")

    assert "tool_choice" not in converted.body
    reported = {loss.path: (loss.severity, loss.code) for loss in converted.losses}
    assert reported["/tool_choice"] == loss


@pytest.mark.parametrize(
    ("tool", "choice", "name"),
    [(_function("f"), {"type": "function", "name": "f"}, "f"), ({"type": "web_search"}, SEARCH, "web_search")],
    ids=["a function", "the search"],
)
def test_a_tool_of_a_turn_may_be_forced(tool: dict[str, Any], choice: dict[str, Any], name: str) -> None:
    """It is available from that turn on."""
    body = {"model": "m", "input": [USER, _added(tool)], "tool_choice": choice}

    converted = fb.convert_request(body, source="responses", target="messages")

    assert converted.body["tool_choice"] == {"type": "tool", "name": name}
    assert not converted.losses


def test_a_server_tool_is_not_repeated() -> None:
    """A server rejects two tools of one name, wherever they are defined."""
    small = {"type": "web_search", "search_context_size": "low"}
    body = {"model": "m", "input": [USER, _added(small)], "tools": [{"type": "web_search"}]}

    converted = fb.convert_request(body, source="responses", target="messages")

    assert json.dumps(converted.body).count("web_search_20260318") == 1
    assert [(loss.path, loss.code) for loss in converted.losses] == [("/input/1/tools/0", "too_many")]


def test_a_remote_server_is_not_repeated() -> None:
    """Its tools refer to it by its label, which could mean either of two."""
    there, later = ({"type": "mcp", "server_label": "s", "server_url": f"https://{host}.example"} for host in "ab")
    body = {"model": "m", "input": [USER, _added(later)], "tools": [there]}

    converted = fb.convert_request(body, source="responses", target="messages")

    assert [server["url"] for server in converted.body["mcp_servers"]] == ["https://a.example"]
    assert ("/input/1/tools/0", "too_many") in [(loss.path, loss.code) for loss in converted.losses]


def test_a_remote_server_replaces_its_tools_only() -> None:
    """This holds for any label, also an empty one."""
    server = {"type": "url", "name": "", "url": "https://a.example"}
    function = {"name": "f", "input_schema": {"type": "object"}}
    body = {"model": "m", "max_tokens": 99, "messages": [USER], "tools": [function], "mcp_servers": [server]}

    converted = fb.convert_request(body, source="messages", target="responses")

    assert [tool["type"] for tool in converted.body["tools"]] == ["function", "mcp"]


def _allowing(*tools: dict[str, Any], mode: str = "required") -> dict[str, Any]:
    choice = {"type": "allowed_tools", "mode": mode, "tools": list(tools)}
    return {"model": "m", "input": [USER], "tools": [_function("f"), {"type": "web_search"}], "tool_choice": choice}


def test_a_weaker_choice_is_reported_as_it_is_written() -> None:
    """A list of functions only would force one of them."""
    body = _allowing({"type": "function", "name": "f"}, SEARCH)

    chat = fb.convert_request(body, source="responses", target="chat_completions")
    gemini = fb.convert_request(body, source="responses", target="generate_content")

    assert [(loss.path, loss.before, loss.after) for loss in chat.losses] == [("/tool_choice/mode", "required", "auto")]
    assert chat.body["tool_choice"]["allowed_tools"]["mode"] == "auto"
    assert [(loss.path, loss.after) for loss in gemini.losses] == [("/tool_choice", {"mode": "VALIDATED"})]
    # With a search, the server does not support AUTO.
    assert gemini.body["toolConfig"] == {"functionCallingConfig": {"mode": "VALIDATED"}, "includeServerSideToolInvocations": True}


def test_choice_auto_with_web_search_is_no_loss_if_the_search_stays_optional() -> None:
    """The list of chat_completions has functions only."""
    body = _allowing({"type": "function", "name": "f"}, SEARCH, mode="auto")

    converted = fb.convert_request(body, source="responses", target="chat_completions")

    assert not converted.losses
    assert converted.body["web_search_options"] == {}


@pytest.mark.parametrize(("target", "kind"), [("chat_completions", "dropped"), ("generate_content", "changed")])
def test_an_mcp_server_without_an_allowed_tool_is_an_info_loss(target: fb.Format, kind: str) -> None:
    """The model could never call it. If the target has servers, its absence follows from a value that is kept."""
    server = {"type": "url", "name": "s", "url": "https://mcp.example.com", "tool_configuration": {"enabled": False}}
    body = {"model": "m", "max_tokens": 99, "messages": [USER], "mcp_servers": [server]}

    converted = fb.convert_request(body, source="messages", target=target)

    reported = [(loss.path, loss.kind, loss.severity, loss.code) for loss in converted.losses]
    assert reported == [("/mcp_servers/0", kind, "info", "not_allowed")]


# A choice of none or of any, which is about functions only in two formats and about all tools in the others.

FUNCTIONS_ONLY = ["chat_completions", "generate_content"]
ALL_TOOLS = ["messages", "responses"]
SERVER_TOOLS = ("web_search", "googleSearch", "codeExecution", "IMAGE")


def _choosing(source: fb.Format, choice: str, *, functions: bool = True) -> dict[str, Any]:
    """Return a request with a function and the search, and a choice as ``responses`` writes it."""
    tools: list[dict[str, Any]]
    if source == "generate_content":
        config = {"functionCallingConfig": {"mode": {"none": "NONE", "required": "ANY"}[choice]}}
        tools = [{"functionDeclarations": [{"name": "f", "description": "d"}]}] if functions else []
        return {"contents": [{"parts": [{"text": "hi"}]}], "tools": [*tools, {"googleSearch": {}}], "toolConfig": config}
    if source == "chat_completions":
        body: dict[str, Any] = {"tools": [{"type": "function", "function": {"name": "f", "description": "d"}}]} if functions else {}
        return {"model": "m", "messages": [USER], "web_search_options": {}, "tool_choice": choice} | body
    if source == "messages":
        function = {"name": "f", "description": "d", "input_schema": {}}
        tools = [*([function] if functions else []), {"type": "web_search_20260318", "name": "web_search"}]
        chosen = {"type": {"required": "any"}.get(choice, choice)}
        return {"model": "m", "max_tokens": 99, "messages": [USER], "tools": tools, "tool_choice": chosen}
    tools = [*([_function("f")] if functions else []), {"type": "web_search"}]
    return {"model": "m", "input": [USER], "tool_choice": choice, "tools": tools}


def _choose(
    source: fb.Format, target: fb.Format, choice: str, *, functions: bool = True
) -> tuple[dict[str, Any], list[tuple[str, str, str, str]]]:
    converted = fb.convert_request(_choosing(source, choice, functions=functions), source=source, target=target, model="m")
    return converted.body, [(loss.path, loss.kind, loss.severity, loss.code) for loss in converted.losses]


def _searches(body: dict[str, Any]) -> bool:
    return any(word in json.dumps(body) for word in SERVER_TOOLS)


def _chosen(body: dict[str, Any]) -> str | None:
    """Return the choice as ``responses`` writes it.

    With functions and tools of the server, Gemini does not support AUTO. The model decides by default, so the mode is omitted.
    """
    config = body.get("toolConfig", {})
    if config.get("includeServerSideToolInvocations") and "functionCallingConfig" not in config:
        return "auto"
    choice = body.get("tool_choice") or body.get("toolConfig", {}).get("functionCallingConfig", {}).get("mode", "").lower() or None
    word = choice["type"] if isinstance(choice, dict) else choice
    return "required" if word == "any" else word


@pytest.mark.parametrize("target", FUNCTIONS_ONLY)
@pytest.mark.parametrize("source", ALL_TOOLS)
def test_an_excluded_server_tool_is_omitted_if_no_choice_can_exclude_it(source: fb.Format, target: fb.Format) -> None:
    """A forbidden search must not run, so its absence changes nothing."""
    body, reported = _choose(source, target, "none")

    assert _names(body) == ["f"]
    assert _chosen(body) == "none"
    assert not _searches(body)
    assert reported == [("/tools/1", "dropped", "info", "not_allowed")]


def test_an_excluded_image_generation_is_not_requested() -> None:
    """Image generation is a modality of generate_content, to which no choice applies."""
    body = {"model": "m", "input": [USER], "tools": [{"type": "image_generation"}], "tool_choice": "none"}

    converted = fb.convert_request(body, source="responses", target="generate_content")

    assert not _searches(converted.body)
    assert [(loss.path, loss.severity, loss.code) for loss in converted.losses] == [("/tools/0", "info", "not_allowed")]


def test_an_excluded_subsequent_server_tool_is_omitted() -> None:
    """In chat_completions it is available from the start."""
    body = {"model": "m", "input": [USER, _added(_function("f"), {"type": "web_search"})], "tool_choice": "none"}

    converted = fb.convert_request(body, source="responses", target="chat_completions")

    assert _names(converted.body) == ["f"]
    assert not _searches(converted.body)
    assert ("/input/1/tools/1", "dropped") in {(loss.path, loss.kind) for loss in converted.losses}


@pytest.mark.parametrize("target", ALL_TOOLS)
@pytest.mark.parametrize("source", FUNCTIONS_ONLY)
def test_web_search_stays_on_next_to_excluded_functions(source: fb.Format, target: fb.Format) -> None:
    """Only the functions are forbidden, so they are not sent."""
    body, reported = _choose(source, target, "none")

    assert _names(body) == []
    assert _searches(body)
    assert _chosen(body) == "auto"
    assert [(kind, severity, code) for _, kind, severity, code in reported] == [
        ("dropped", "info", "not_allowed"),
        ("changed", "info", "nearest_value"),
    ]


@pytest.mark.parametrize("target", ALL_TOOLS)
@pytest.mark.parametrize("source", FUNCTIONS_ONLY)
def test_tool_choice_none_does_not_affect_web_search(source: fb.Format, target: fb.Format) -> None:
    """The choice does not apply to the search."""
    body, reported = _choose(source, target, "none", functions=False)

    assert _searches(body)
    assert _chosen(body) == "auto"
    assert reported == []


@pytest.mark.parametrize("choice", ["none", "required"])
@pytest.mark.parametrize(("source", "target"), [FUNCTIONS_ONLY, FUNCTIONS_ONLY[::-1], ALL_TOOLS, ALL_TOOLS[::-1]])
def test_a_choice_that_means_the_same_on_both_sides_is_kept(source: fb.Format, target: fb.Format, choice: str) -> None:
    """In two formats the choice applies to all tools, in two to functions."""
    body, reported = _choose(source, target, choice)

    assert _names(body) == ["f"]
    assert _chosen(body) == choice
    assert _searches(body)
    assert reported == []


@pytest.mark.parametrize("target", FUNCTIONS_ONLY)
@pytest.mark.parametrize("source", ALL_TOOLS)
def test_a_function_is_not_forced_if_web_search_also_satisfies_the_choice(source: fb.Format, target: fb.Format) -> None:
    """A model that must use a tool may search; if the choice applies to functions only, it would have to call one."""
    body, reported = _choose(source, target, "required")

    assert _chosen(body) == "auto"
    assert [(kind, severity) for _, kind, severity, _ in reported] == [("changed", "lossy")]


@pytest.mark.parametrize("target", ALL_TOOLS)
@pytest.mark.parametrize("source", FUNCTIONS_ONLY)
def test_a_choice_that_web_search_can_satisfy_is_reported(source: fb.Format, target: fb.Format) -> None:
    """In the target the choice applies to the search too, as a list of functions does; a search alone cannot be chosen."""
    body, reported = _choose(source, target, "required")
    alone, reported_alone = _choose(source, target, "required", functions=False)

    assert _chosen(body) == "required"
    assert [(kind, severity, code) for _, kind, severity, code in reported] == [("changed", "lossy", "weaker_form")]
    assert _chosen(alone) == "auto"
    assert [(severity, code) for _, _, severity, code in reported_alone] == [("lossy", "without_tools")]


@pytest.mark.parametrize("target", ALL_TOOLS)
def test_excluded_functions_stay_if_no_other_tool_is_left(target: fb.Format) -> None:
    """No other format has the maps, and a server rejects a history of calls without tools."""
    body = _choosing("generate_content", "none")
    body["tools"][1] = {"googleMaps": {}}

    converted = fb.convert_request(body, source="generate_content", target=target, model="m")

    assert _names(converted.body) == ["f"]
    assert _chosen(converted.body) == "none"


@pytest.mark.parametrize("target", ["chat_completions", "messages", "generate_content"])
@pytest.mark.parametrize(("namespace", "lost"), [("crm", [("/tool_choice", "renamed")]), ("", [])])
def test_a_choice_in_an_unknown_namespace_selects_the_tool_of_that_name(
    namespace: str, lost: list[tuple[str, str]], target: fb.Format
) -> None:
    """The target would reject a name that no tool has, and an empty namespace is none."""
    tools = [{"type": "function", "name": "f", "parameters": {"type": "object"}}]
    choice = {"type": "function", "name": "f", "namespace": namespace}
    body = {"model": "m", "input": "Hi", "tools": tools, "tool_choice": choice}

    converted = fb.convert_request(body, source="responses", target=target)

    assert '"f"' in json.dumps(converted.body.get("tool_choice") or converted.body["toolConfig"])
    assert [(loss.path, loss.code) for loss in converted.losses] == lost


# More tools than a server takes.


@pytest.mark.parametrize(("target", "most"), [("chat_completions", 128), ("generate_content", 512)])
def test_tools_above_the_limit_of_a_server_are_reported_and_kept(target: fb.Format, most: int) -> None:
    """The vendor's server rejects the request, other servers accept it; only the caller knows which tool is less important."""
    tools = [{"name": f"f_{number}", "input_schema": {"type": "object"}} for number in range(most + 2)]
    body = {"model": "m", "max_tokens": 99, "messages": [USER], "tools": tools}

    converted = fb.convert_request(body, source="messages", target=target)

    declared = converted.body["tools"] if target == "chat_completions" else converted.body["tools"][0]["functionDeclarations"]
    assert len(declared) == most + 2
    reported = [(loss.path, loss.kind, loss.severity, loss.code) for loss in converted.losses]
    assert reported == [(f"/tools/{at}", "changed", "lossy", "too_many") for at in (most, most + 1)]
