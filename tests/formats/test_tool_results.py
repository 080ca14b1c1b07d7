"""Tool results: the call that a result answers, results without ids, and results that are JSON objects."""

from __future__ import annotations

import json
from itertools import product
from typing import Any

import pytest

import formatbridge as fb
from formatbridge import ir
from formatbridge.formats import load

Part = dict[str, Any]

CALL: Part = {"functionCall": {"id": "1", "name": "f", "args": {}}}
RESULT: Part = {"functionResponse": {"id": "1", "name": "f", "response": {"output": "x"}}}
OTHERS = [format for format in fb.FORMATS if format != "generate_content"]


def _orphans(turns: list[tuple[str, list[Part]]], target: fb.Format) -> set[str]:
    contents = [{"role": role, "parts": parts} for role, parts in turns]
    converted = fb.convert_request({"contents": contents}, source="generate_content", target=target, model="m")
    return {loss.path for loss in converted.losses if (loss.kind, loss.severity, loss.code) == ("changed", "impossible", "orphan")}


@pytest.mark.parametrize("target", OTHERS)
def test_a_call_in_a_turn_of_the_user_has_no_result(target: fb.Format) -> None:
    """Only the model calls tools; a server does not know a call of the user."""
    assert _orphans([("user", [{"text": "q"}, CALL]), ("user", [RESULT])], target) == {"/contents/1/parts/0"}


@pytest.mark.parametrize("target", OTHERS)
def test_a_result_in_a_turn_of_the_model_answers_no_call(target: fb.Format) -> None:
    """It is not written, so the user's result of the same call counts."""
    assert _orphans([("user", [{"text": "q"}]), ("model", [CALL, RESULT]), ("user", [RESULT])], target) == set()


@pytest.mark.parametrize("target", OTHERS)
def test_a_second_result_of_a_call_is_an_orphan(target: fb.Format) -> None:
    """Every server rejects it, also before its call."""
    once = [("user", [{"text": "q"}]), ("model", [CALL]), ("user", [RESULT])]

    assert _orphans(once, target) == set()
    assert _orphans([*once, ("user", [{"text": "z"}, RESULT])], target) == {"/contents/3/parts/1"}
    early = [("user", [{"text": "q"}, RESULT]), *once[1:2]]
    assert _orphans(early, target) == {"/contents/0/parts/1", "/contents/1/parts/0"}


@pytest.mark.parametrize("target", OTHERS)
def test_a_call_without_a_result_is_an_orphan(target: fb.Format) -> None:
    """Every server rejects it, wherever it is; a result is never invented."""
    request: list[tuple[str, list[Part]]] = [("user", [{"text": "q"}])]
    other = {"functionCall": {"id": "2", "name": "f", "args": {}}}

    assert _orphans([*request, ("model", [CALL])], target) == {"/contents/1/parts/0"}
    assert _orphans([*request, ("model", [CALL, other]), ("user", [RESULT])], target) == {"/contents/1/parts/1"}
    assert _orphans([*request, ("model", [CALL]), ("user", [{"text": "z"}])], target) == {"/contents/1/parts/0"}
    assert _orphans([*request, ("model", [CALL]), ("model", [other]), ("user", [RESULT])], target) == {"/contents/2/parts/0"}


ASKED = {"role": "user", "content": "q"}


def _call(name: str, id: str | None = None) -> dict[str, Any]:
    return {"type": "function", "function": {"name": name, "arguments": "{}"}} | ({} if id is None else {"id": id})


def _answered(body: dict[str, Any], source: fb.Format) -> dict[str, str]:
    """Decode a request; return the name of each call to the text of its result."""
    request = load(source).decode_request(body, model=None, stream=None)
    parts = [part for message in request.messages for part in message.parts]
    names = {part.id: part.name for part in parts if isinstance(part, ir.ToolCall)}
    results = [part for part in parts if isinstance(part, ir.ToolResult)]
    return {names[result.call_id]: part.text for result in results for part in result.content if isinstance(part, ir.Text)}


def _in_two_namespaces(results: list[dict[str, Any]]) -> dict[str, Any]:
    """Return a request of responses with a function of one name in two namespaces, and a call of each."""
    function = {"type": "function", "name": "get", "parameters": None, "strict": False}
    spaces = [{"type": "namespace", "name": name, "description": name, "tools": [function]} for name in ("crm", "erp")]
    calls = [
        {"type": "function_call", "call_id": name, "name": "get", "namespace": name, "arguments": "{}"} for name in ("crm", "erp")
    ]
    events = [{"type": "function_call_output", "name": "get"} | result for result in results]
    return {"model": "m", "input": [ASKED, *calls, *events], "tools": spaces}


def test_results_without_an_id_answer_the_call_of_their_namespace() -> None:
    """Two namespaces may have a function of one name, and the results must not be swapped."""
    body = _in_two_namespaces([{"namespace": name, "output": name.upper()} for name in ("erp", "crm")])

    converted = fb.convert_request(body, source="responses", target="chat_completions")

    events = [message for message in converted.body["messages"] if message["role"] == "tool"]
    assert {message["tool_call_id"]: message["content"] for message in events} == {"crm": "CRM", "erp": "ERP"}
    assert [loss.path for loss in converted.losses] == ["/tools/0", "/tools/1"]


@pytest.mark.parametrize("namespace", ["erp", None])
def test_a_result_has_the_name_of_its_call(namespace: str | None) -> None:
    """The target has no namespaces, so the name includes it, in the result as in the call."""
    results = [{"call_id": name, "output": "x"} | ({"namespace": name} if namespace else {}) for name in ("crm", "erp")]

    converted = fb.convert_request(_in_two_namespaces(results), source="responses", target="generate_content")

    parts = [part for content in converted.body["contents"] for part in content["parts"]]
    assert [part["functionCall"]["name"] for part in parts if "functionCall" in part] == ["crm__get", "erp__get"]
    assert [part["functionResponse"]["name"] for part in parts if "functionResponse" in part] == ["crm__get", "erp__get"]


def test_a_result_with_another_namespace_than_its_call_is_reported() -> None:
    """The id counts; a namespace that contradicts it is reported."""
    results = [{"call_id": "crm", "namespace": "erp", "output": "x"}, {"call_id": "erp", "output": "y"}]

    converted = fb.convert_request(_in_two_namespaces(results), source="responses", target="messages")

    assert ("/input/3/namespace", "dropped", "info") in [(loss.path, loss.kind, loss.severity) for loss in converted.losses]


@pytest.mark.parametrize("id", [None, ""])
def test_results_without_an_id_answer_the_calls_without_one_in_order(id: str | None) -> None:
    """A conversation from a server without ids returns to it without ids."""
    raw = {} if id is None else {"tool_call_id": id}
    calls = {"role": "assistant", "content": None, "tool_calls": [_call("f", id), _call("g", id)]}
    results = [{"role": "tool", "content": text} | raw for text in ("F", "G")]

    assert _answered({"model": "m", "messages": [ASKED, calls, *results]}, "chat_completions") == {"f": "F", "g": "G"}


def test_results_without_an_id_answer_the_call_of_their_name() -> None:
    """A name identifies the call better than the order."""
    calls = {"role": "assistant", "content": None, "tool_calls": [_call("f"), _call("g")]}
    results = [{"role": "tool", "name": name, "content": name.upper()} for name in ("g", "f")]

    assert _answered({"model": "m", "messages": [ASKED, calls, *results]}, "chat_completions") == {"f": "F", "g": "G"}


def test_results_without_an_id_answer_calls_without_a_result() -> None:
    """Callers omit the id; one call has no result, so the result is its."""
    calls = {"role": "assistant", "content": None, "tool_calls": [_call("f", "a"), _call("g", "b")]}
    results = [{"role": "tool", "content": "G"}, {"role": "tool", "tool_call_id": "a", "content": "F"}]

    assert _answered({"model": "m", "messages": [ASKED, calls, *results]}, "chat_completions") == {"f": "F", "g": "G"}


def test_an_empty_call_id_of_responses_is_replaced_by_the_item_id() -> None:
    """An empty text is no id; the id of the item is used."""
    call = {"type": "function_call", "call_id": "", "name": "f", "arguments": "{}"}
    items = [ASKED, call, call | {"name": "g", "id": "fc_2"}]
    results = [{"type": "function_call_output", "call_id": "", "output": text} for text in ("F", "G")]

    assert _answered({"model": "m", "input": [*items, *results]}, "responses") == {"f": "F", "g": "G"}


LOOSE: dict[fb.Format, dict[str, Any]] = {
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
def test_a_result_without_a_call_is_an_impossible_loss_if_no_call_is_open(source: fb.Format, target: fb.Format) -> None:
    """Every server rejects it, so a client reports it before the request is sent."""
    converted = fb.convert_request(LOOSE[source], source=source, target=target, model="m")

    assert [loss.code for loss in converted.losses if loss.severity == "impossible"] == ["orphan"]


@pytest.mark.parametrize(("name", "lost"), [("f", []), ("other", ["/input/2/name"])])
@pytest.mark.parametrize("target", ["chat_completions", "messages", "generate_content"])
def test_the_name_of_a_result_is_lost_where_its_call_has_another(name: str, lost: list[str], target: fb.Format) -> None:
    """The call has the same name, or contradicts it."""
    call = {"type": "function_call", "call_id": "c", "name": "f", "arguments": "{}"}
    items = [ASKED, call, {"type": "function_call_output", "call_id": "c", "name": name, "output": "x"}]

    converted = fb.convert_request({"model": "m", "input": items}, source="responses", target=target)

    assert [loss.path for loss in converted.losses] == lost


LOSSLESS = [
    '{"temperature":21,"wind":{"speed":3.5,"gusts":[1,2.25]},"note":null,"is_dry":true}',
    '{"a": 1, "b": "x"}',
    '\n{\n  "a": "\\u00e9 \\/",\n  "b": []\n}\n',
    "{}",
    '{"result": {"output": 1}}',
    '{"id": 9007199254740992}',
]
LOSSY = {
    "a repeated key": '{"a":1,"a":2}',
    "a repeated key further down": '{"a":[{"b":1,"b":1}]}',
    "an integer that no double holds": '{"id":9007199254740993}',
    "a whole number with a fraction": '{"price":1.0}',
    "a number with more digits than a double": '{"pi":3.14159265358979323846}',
    "a number with an exponent": '{"big":1e3}',
    "negative zero": '{"zero":-0}',
    "an infinity": '{"big":1e999}',
    "half a character": '{"a":"\\ud83d"}',
    "no strict JSON": '{"a":NaN}',
    "text behind the object": '{"a":1} done',
    "a list": "[1,2]",
    "an object that has the key of an output": '{"output":"x"}',
    "an object that has the key of an error": '{"error":"x","code":3}',
}


def _request(text: Any, **more: Any) -> dict[str, Any]:
    call = {"id": "c1", "type": "function", "function": {"name": "f", "arguments": "{}"}}
    turns = [{"role": "user", "content": "q"}, {"role": "assistant", "content": None, "tool_calls": [call]}]
    return {"model": "m", "messages": [*turns, {"role": "tool", "tool_call_id": "c1", "content": text} | more]}


def _response(converted: fb.Converted) -> Any:
    return converted.body["contents"][2]["parts"][0]["functionResponse"]["response"]


@pytest.mark.parametrize("text", LOSSLESS)
def test_a_json_object_is_sent_as_that_object(text: str) -> None:
    """Google's models read the fields of ``response``; JSON in a string costs tokens and quality."""
    converted = fb.convert_request(_request(text), source="chat_completions", target="generate_content")
    back = fb.convert_request(converted.body, source="generate_content", target="chat_completions", model="m")

    assert _response(converted) == json.loads(text)
    assert converted.losses == ()
    assert back.body["messages"][2]["content"] == json.dumps(json.loads(text), separators=(",", ":"), ensure_ascii=False)


@pytest.mark.parametrize("text", LOSSY.values(), ids=LOSSY.keys())
def test_text_that_an_object_would_change_stays_text(text: str) -> None:
    """The text must return unchanged."""
    converted = fb.convert_request(_request(text), source="chat_completions", target="generate_content")
    back = fb.convert_request(converted.body, source="generate_content", target="chat_completions", model="m")

    assert _response(converted) == {"output": text}
    assert converted.losses == ()
    assert back.body["messages"][2]["content"] == text


def test_an_error_stays_text_under_its_key() -> None:
    """The key states that the function failed."""
    result = {"type": "tool_result", "tool_use_id": "c1", "content": '{"a":1}', "is_error": True}
    call = {"type": "tool_use", "id": "c1", "name": "f", "input": {}}
    turns = [{"role": "user", "content": "q"}, {"role": "assistant", "content": [call]}, {"role": "user", "content": [result]}]

    converted = fb.convert_request({"model": "m", "max_tokens": 9, "messages": turns}, source="messages", target="generate_content")

    assert _response(converted) == {"error": '{"a":1}'}


def test_a_json_object_next_to_an_image_is_sent_as_that_object() -> None:
    """The image has a separate field."""
    image = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "iVBORw0KGgo="}}
    result = {"type": "tool_result", "tool_use_id": "c1", "content": [{"type": "text", "text": '{"a":1}'}, image]}
    call = {"type": "tool_use", "id": "c1", "name": "f", "input": {}}
    turns = [{"role": "user", "content": "q"}, {"role": "assistant", "content": [call]}, {"role": "user", "content": [result]}]

    converted = fb.convert_request({"model": "m", "max_tokens": 9, "messages": turns}, source="messages", target="generate_content")

    assert _response(converted) == {"a": 1}
    assert len(converted.body["contents"][2]["parts"][0]["functionResponse"]["parts"]) == 1


def test_deep_nesting_stays_text() -> None:
    """A body has a limit on its depth; text has none."""
    text = '{"a":' * 600 + "1" + "}" * 600

    assert _response(fb.convert_request(_request(text), source="chat_completions", target="generate_content")) == {"output": text}


def _assistant_call(call_id: str | None, name: str, arguments: str = "{}") -> dict[str, Any]:
    call = {"type": "function", "function": {"name": name, "arguments": arguments}}
    return call if call_id is None else {"id": call_id} | call


def test_a_result_answers_the_nearest_call_of_its_id() -> None:
    """Some servers count their calls again in each answer, so one id names several calls of a conversation."""
    body = {
        "model": "m",
        "messages": [
            {
                "role": "assistant",
                "content": None,
                "tool_calls": [_assistant_call("call_0", "first"), _assistant_call("call_0", "second")],
            },
            {"role": "tool", "tool_call_id": "call_0", "content": "1"},
            {"role": "tool", "tool_call_id": "call_0", "content": "2"},
            {"role": "assistant", "content": None, "tool_calls": [_assistant_call("call_0", "third")]},
            {"role": "tool", "tool_call_id": "call_0", "content": "3"},
        ],
    }

    converted = fb.convert_request(body, source="chat_completions", target="generate_content")

    parts = [part for turn in converted.body["contents"] for part in turn["parts"] if "functionResponse" in part]
    assert [part["functionResponse"]["name"] for part in parts] == ["first", "second", "third"]


def test_a_result_without_an_id_answers_an_unanswered_call_even_where_its_id_was_answered_before() -> None:
    """An id that is repeated names another call."""
    called = {"functionCall": {"id": "call_0", "name": "f", "args": {}}}
    body = {
        "contents": [
            {"role": "model", "parts": [called]},
            {"role": "user", "parts": [{"functionResponse": {"id": "call_0", "name": "f", "response": {"output": "1"}}}]},
            {"role": "model", "parts": [called]},
            {"role": "user", "parts": [{"functionResponse": {"name": "f", "response": {"output": "2"}}}]},
        ]
    }

    converted = fb.convert_request(body, source="generate_content", target="chat_completions", model="m")

    assert [each["tool_call_id"] for each in converted.body["messages"] if each["role"] == "tool"] == ["call_0", "call_0"]
    assert not converted.losses


def test_a_result_that_follows_other_turns_is_moved_after_its_call() -> None:
    """Of two calls with one id the second has a result already, so a later result belongs to the first."""
    call = {"type": "function_call", "call_id": "c", "name": "f", "arguments": "{}"}
    body = {
        "model": "m",
        "input": [
            call,
            {"role": "user", "content": "wait"},
            call,
            {"type": "function_call_output", "call_id": "c", "output": "second"},
            {"role": "user", "content": "now"},
            {"type": "function_call_output", "call_id": "c", "output": "first"},
        ],
    }

    converted = fb.convert_request(body, source="responses", target="chat_completions")

    assert [each["content"] for each in converted.body["messages"]] == [None, "first", "wait", None, "second", "now"]
