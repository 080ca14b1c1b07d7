"""Calls and results that name each other badly: servers send calls without an id, and their callers send them back."""

from __future__ import annotations

from itertools import product
from typing import Any

import pytest

import formatbridge as fb
from formatbridge import ir
from formatbridge.formats import load

ASKED = {"role": "user", "content": "q"}


def _call(name: str, id: str | None = None) -> dict[str, Any]:
    return {"type": "function", "function": {"name": name, "arguments": "{}"}} | ({} if id is None else {"id": id})


def _answered(body: dict[str, Any], source: str) -> dict[str, str]:
    """Read a request; return the name of each call to the text that answers it."""
    request = load(source).decode_request(body, model=None, stream=None)
    parts = [part for message in request.messages for part in message.parts]
    names = {part.id: part.name for part in parts if isinstance(part, ir.ToolCall)}
    results = [part for part in parts if isinstance(part, ir.ToolResult)]
    return {names[result.call_id]: part.text for result in results for part in result.content if isinstance(part, ir.Text)}


def _in_two_namespaces(results: list[dict[str, Any]]) -> dict[str, Any]:
    """Make a request of responses whose two namespaces have a function of one name, with a call of each."""
    function = {"type": "function", "name": "get", "parameters": None, "strict": False}
    spaces = [{"type": "namespace", "name": name, "description": name, "tools": [function]} for name in ("crm", "erp")]
    calls = [
        {"type": "function_call", "call_id": name, "name": "get", "namespace": name, "arguments": "{}"} for name in ("crm", "erp")
    ]
    told = [{"type": "function_call_output", "name": "get"} | result for result in results]
    return {"model": "m", "input": [ASKED, *calls, *told], "tools": spaces}


def test_results_without_an_id_answer_the_call_of_their_namespace() -> None:
    """Two namespaces may have a function of one name; what the one found must not be read as the other's."""
    body = _in_two_namespaces([{"namespace": name, "output": name.upper()} for name in ("erp", "crm")])

    made = fb.convert_request(body, source="responses", target="chat_completions")

    told = [message for message in made.body["messages"] if message["role"] == "tool"]
    assert {message["tool_call_id"]: message["content"] for message in told} == {"crm": "CRM", "erp": "ERP"}
    assert [loss.path for loss in made.losses] == ["/tools/0", "/tools/1"]


@pytest.mark.parametrize("namespace", ["erp", None])
def test_a_result_is_called_what_its_call_is_called(namespace: str | None) -> None:
    """The target has no namespaces, so the name that it knows has it in front, in the result as in the call."""
    results = [{"call_id": name, "output": "x"} | ({"namespace": name} if namespace else {}) for name in ("crm", "erp")]

    made = fb.convert_request(_in_two_namespaces(results), source="responses", target="generate_content")

    parts = [part for content in made.body["contents"] for part in content["parts"]]
    assert [part["functionCall"]["name"] for part in parts if "functionCall" in part] == ["crm__get", "erp__get"]
    assert [part["functionResponse"]["name"] for part in parts if "functionResponse" in part] == ["crm__get", "erp__get"]


def test_a_namespace_that_is_not_that_of_the_call_is_told() -> None:
    """The id counts; what contradicts it is nobody's, and the report says so."""
    results = [{"call_id": "crm", "namespace": "erp", "output": "x"}, {"call_id": "erp", "output": "y"}]

    made = fb.convert_request(_in_two_namespaces(results), source="responses", target="messages")

    assert ("/input/3/namespace", "dropped", "info") in [(loss.path, loss.kind, loss.severity) for loss in made.losses]


@pytest.mark.parametrize("id", [None, ""])
def test_results_without_an_id_answer_the_calls_without_one_in_order(id: str | None) -> None:
    """What came from a server without ids goes back without them."""
    given = {} if id is None else {"tool_call_id": id}
    calls = {"role": "assistant", "content": None, "tool_calls": [_call("f", id), _call("g", id)]}
    results = [{"role": "tool", "content": text} | given for text in ("F", "G")]

    assert _answered({"model": "m", "messages": [ASKED, calls, *results]}, "chat_completions") == {"f": "F", "g": "G"}


def test_results_without_an_id_answer_the_call_of_their_name() -> None:
    """A name says more than the order."""
    calls = {"role": "assistant", "content": None, "tool_calls": [_call("f"), _call("g")]}
    results = [{"role": "tool", "name": name, "content": name.upper()} for name in ("g", "f")]

    assert _answered({"model": "m", "messages": [ASKED, calls, *results]}, "chat_completions") == {"f": "F", "g": "G"}


def test_results_without_an_id_answer_calls_with_one_that_nobody_else_does() -> None:
    """Callers forget the id; one call is left, so it is that."""
    calls = {"role": "assistant", "content": None, "tool_calls": [_call("f", "a"), _call("g", "b")]}
    results = [{"role": "tool", "content": "G"}, {"role": "tool", "tool_call_id": "a", "content": "F"}]

    assert _answered({"model": "m", "messages": [ASKED, calls, *results]}, "chat_completions") == {"f": "F", "g": "G"}


def test_an_empty_id_of_responses_is_none() -> None:
    """An empty text names nothing; the id of the item does."""
    call = {"type": "function_call", "call_id": "", "name": "f", "arguments": "{}"}
    items = [ASKED, call, call | {"name": "g", "id": "fc_2"}]
    results = [{"type": "function_call_output", "call_id": "", "output": text} for text in ("F", "G")]

    assert _answered({"model": "m", "input": [*items, *results]}, "responses") == {"f": "F", "g": "G"}


LOOSE = {
    "chat_completions": {"messages": [ASKED, {"role": "tool", "content": "x"}]},
    "responses": {"input": [ASKED, {"type": "function_call_output", "output": "x"}]},
    "generate_content": {
        "contents": [
            {"role": "user", "parts": [{"text": "q"}]},
            {"role": "user", "parts": [{"functionResponse": {"name": "f", "response": {}}}]},
        ]
    },
}


@pytest.mark.parametrize(("source", "target"), [pair for pair in product(LOOSE, fb.FORMATS) if pair[0] != pair[1]])
def test_a_result_that_names_no_call_is_impossible_where_none_waits(source: str, target: str) -> None:
    """Every server refuses it, so a client says so before the request leaves."""
    made = fb.convert_request(LOOSE[source], source=source, target=target, model="m")

    assert [loss.code for loss in made.losses if loss.severity == "impossible"] == ["orphan"]


@pytest.mark.parametrize(("name", "lost"), [("f", []), ("other", ["/input/2/name"])])
@pytest.mark.parametrize("target", ["chat_completions", "messages", "generate_content"])
def test_the_name_of_a_result_is_lost_where_its_call_has_another(name: str, lost: list[str], target: str) -> None:
    """The call says it already, or something else."""
    call = {"type": "function_call", "call_id": "c", "name": "f", "arguments": "{}"}
    items = [ASKED, call, {"type": "function_call_output", "call_id": "c", "name": name, "output": "x"}]

    made = fb.convert_request({"model": "m", "input": items}, source="responses", target=target)

    assert [loss.path for loss in made.losses] == lost
