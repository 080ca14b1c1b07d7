"""Promises that a review found broken, one test for each."""

from __future__ import annotations

from typing import Any

import pytest

import formatbridge as fb
from tests.fixtures import fixtures
from tests.support.directions import DIRECTIONS
from tests.support.pointers import value_at

OTHERS = ("chat_completions", "messages", "generate_content")


def _answer(**fields: Any) -> dict[str, Any]:
    """Return a small answer of responses."""
    text = {"type": "output_text", "text": "Hi", "annotations": []}
    message = {"type": "message", "id": "msg_1", "role": "assistant", "status": "completed", "content": [text]}
    return {
        "id": "resp_1",
        "object": "response",
        "created_at": 1,
        "model": "m",
        "status": "completed",
        "output": [message],
    } | fields


@pytest.mark.parametrize("target", OTHERS)
@pytest.mark.parametrize("status", ["queued", "in_progress"])
def test_the_status_of_an_unfinished_answer_is_reported(status: str, target: str) -> None:
    """Whoever reads ``stop`` or ``pause_turn`` for it is told so."""
    body = _answer(status=status)

    converted = fb.convert_response(body, source="responses", target=target)

    assert [(loss.path, loss.kind, loss.severity, loss.before) for loss in converted.losses if loss.path == "/status"] == [
        ("/status", "changed", "lossy", status)
    ]


@pytest.mark.parametrize("target", OTHERS)
def test_unknown_details_of_an_unfinished_answer_are_reported(target: str) -> None:
    """Beside the reason as well as without one."""
    for details in ({"reason": "max_output_tokens", "new": 1}, {"new": 1}):
        body = _answer(status="incomplete", incomplete_details=details)

        converted = fb.convert_response(body, source="responses", target=target)

        assert "/incomplete_details/new" in {loss.path for loss in converted.losses}


@pytest.mark.parametrize("target", OTHERS)
def test_unknown_keys_of_code_output_are_reported(target: str) -> None:
    """The logs cross over; what stands beside them does not."""
    call = {"type": "code_interpreter_call", "id": "ci_1", "status": "completed", "code": "1", "container_id": "c"}
    body = _answer(output=[call | {"outputs": [{"type": "logs", "logs": "1\n", "new": 1}]}])

    converted = fb.convert_response(body, source="responses", target=target)

    assert any(loss.path in ("/output/0", "/output/0/outputs/0/new") for loss in converted.losses)


@pytest.mark.parametrize("target", ["chat_completions", "responses", "generate_content"])
def test_unknown_keys_around_an_added_tool_are_reported(target: str) -> None:
    """The definition crosses over; what stands beside it does not."""
    definition = {"name": "f", "input_schema": {"type": "object"}}
    added = {"type": "tool_addition", "tool": {"type": "tool_definition", "definition": definition, "new": 1}}
    messages = [{"role": "user", "content": "hi"}, {"role": "system", "content": [added]}]

    converted = fb.convert_request({"model": "m", "max_tokens": 9, "messages": messages}, source="messages", target=target)

    assert "/messages/1/content/0/tool/new" in {loss.path for loss in converted.losses}


@pytest.mark.parametrize(("source", "target"), DIRECTIONS)
@pytest.mark.parametrize("status", [404, 422, 429, 501, 502, 504, 520])
def test_an_error_keeps_a_status_that_means_the_same_in_the_target(source: str, target: str, status: int) -> None:
    """Clients retry by status, and a gateway's 502 is no 500."""
    converted = fb.convert_error({"error": {"message": "no"}}, source=source, target=target, status=status)

    assert converted.status == status


@pytest.mark.parametrize(("source", "target"), DIRECTIONS)
def test_an_overload_has_the_status_of_the_target(source: str, target: str) -> None:
    """529 is known to one vendor only, and its clients wait for it."""
    for status in (503, 529):
        converted = fb.convert_error({"error": {"message": "busy"}}, source=source, target=target, status=status)

        assert converted.status == (529 if target == "messages" else 503)


@pytest.mark.parametrize("target", ["messages", "generate_content"])
def test_a_missing_model_is_404_whatever_the_source_status(target: str) -> None:
    """One vendor says 400 for it."""
    body = {"error": {"message": "no such model", "type": "invalid_request_error", "code": "model_not_found"}}

    converted = fb.convert_error(body, source="responses", target=target, status=400)

    assert converted.status == 404


def _message_of(converted: fb.ConvertedError) -> Any:
    return converted.body["error"]["message"]


@pytest.mark.parametrize("target", fb.FORMATS)
@pytest.mark.parametrize("source", fb.FORMATS)
@pytest.mark.parametrize(
    ("body", "message"),
    [
        (b"", ""),
        (b"null", ""),
        (b"<html>Bad gateway</html>", "<html>Bad gateway</html>"),
        ([1, None], "[1,null]"),
        ({"error": ["x", None]}, '["x",null]'),
        ({"error": {"message": {"a": True}}}, '{"a":true}'),
        ({"error": {"message": "m", "code": [1]}}, '{"message":"m","code":[1]}'),
    ],
)
def test_an_error_of_any_shape_becomes_a_json_message(source: str, target: str, body: Any, message: str) -> None:
    """Also in its own format, whose shape it gets."""
    converted = fb.convert_error(body, source=source, target=target, status=502)

    assert _message_of(converted) == message
    assert converted.status == 502
    converted.parse()


@pytest.mark.parametrize(("source", "target"), DIRECTIONS)
def test_a_list_of_problems_is_the_message_as_json(source: str, target: str) -> None:
    """Frameworks that validate requests answer so."""
    for key in ("detail", "message"):
        converted = fb.convert_error({key: [{"loc": ["body"], "ok": None}]}, source=source, target=target, status=422)

        assert _message_of(converted) == '[{"loc":["body"],"ok":null}]'
        assert converted.losses == ()


@pytest.mark.parametrize("target", OTHERS)
def test_the_report_of_an_error_in_a_list_points_into_the_list(target: str) -> None:
    """A stream that was asked for without SSE wraps its error so."""
    converted = fb.convert_error([{"error": {"message": "m", "new": 1}}], source="responses", target=target, status=400)

    assert [loss.path for loss in converted.losses] == ["/0/error/new"]


@pytest.mark.parametrize("kind", ["request", "response", "error", "models"])
@pytest.mark.parametrize(("source", "target"), DIRECTIONS)
def test_an_addition_has_the_value_of_the_body(source: str, target: str, kind: str) -> None:
    """Else nobody could find or undo it."""
    for fixture in fixtures(kind, source):
        converted = fixture.convert(target)

        for addition in converted.additions:
            assert value_at(converted.body, addition.path) == addition.value, f"{fixture} {addition}"


@pytest.mark.parametrize(("source", "target"), DIRECTIONS)
def test_one_reason_for_an_addition_has_one_wording(source: str, target: str) -> None:
    """Whatever is required and missing is told in the same words everywhere."""
    whys = {addition.why for kind in ("request", "response", "models") for each in fixtures(kind, source)
            for addition in each.convert(target).additions}  # fmt: skip

    assert {why for why in whys if why.startswith("required, ")} <= {"required, and the source names none"}


@pytest.mark.parametrize("target", ["chat_completions", "responses"])
def test_hoisted_instructions_join_the_system_prompt_in_every_format(target: str) -> None:
    """Some servers refuse instructions in mid-conversation."""
    turns = [("user", "a"), ("system", "later"), ("assistant", "b"), ("user", "c")]
    messages = [{"role": role, "content": text} for role, text in turns]
    body = {"model": "m", "max_tokens": 99, "system": "first", "messages": messages}

    converted = fb.convert_request(body, source="messages", target=target, options=fb.Options(mid_system="hoist"))

    sent = converted.body["messages" if target == "chat_completions" else "input"]
    assert [(item["role"], item["content"]) for item in sent] == [
        ("system", "first"), ("system", "later"), ("user", "a"), ("assistant", "b"), ("user", "c"),
    ]  # fmt: skip
    assert [(loss.path, loss.code, loss.severity, loss.after) for loss in converted.losses] == [
        ("/messages/1", "moved", "lossy", "system")
    ]


@pytest.mark.parametrize(
    "wrong",
    [
        {"raise_on": "never"}, {"carry_reasoning": 1}, {"default_max_tokens": 0}, {"default_max_tokens": "9"},
        {"default_max_tokens": True}, {"on_truncated": "x"}, {"created": -1}, {"created": 1.5}, {"mid_system": []},
        {"messages_version": "2023"}, {"messages_version": None}, {"messages_version": "2023-13-01"},
    ],
)  # fmt: skip
def test_every_option_is_checked(wrong: dict[str, Any]) -> None:
    """A wrong one is named at once, not found in an answer."""
    with pytest.raises(fb.ConfigurationError, match=next(iter(wrong))):
        fb.Options(**wrong)


@pytest.mark.parametrize(("source", "target"), DIRECTIONS)
def test_a_rewritten_call_id_is_reported_at_the_id(source: str, target: str) -> None:
    """Whoever looks for the id finds it, and that the rest of the call is as it was."""
    raw = f"run:0/{'a' * 70}"
    calls: dict[str, tuple[dict[str, Any], list[str]]] = {
        "chat_completions": (
            {"messages": [
                {"role": "assistant", "content": None, "tool_calls": [
                    {"id": raw, "type": "function", "function": {"name": "f", "arguments": "{}"}}
                ]},
                {"role": "tool", "tool_call_id": raw, "content": "x"},
            ]},
            ["/messages/0/tool_calls/0/id", "/messages/1/tool_call_id"],
        ),
        "messages": (
            {"max_tokens": 9, "messages": [
                {"role": "assistant", "content": [{"type": "tool_use", "id": raw, "name": "f", "input": {}}]},
                {"role": "user", "content": [{"type": "tool_result", "tool_use_id": raw, "content": "x"}]},
            ]},
            ["/messages/0/content/0/id", "/messages/1/content/0/tool_use_id"],
        ),
        "responses": (
            {"input": [
                {"type": "function_call", "call_id": raw, "name": "f", "arguments": "{}"},
                {"type": "function_call_output", "call_id": raw, "output": "x"},
            ]},
            ["/input/0/call_id", "/input/1/call_id"],
        ),
        "generate_content": (
            {"contents": [
                {"role": "model", "parts": [{"functionCall": {"id": raw, "name": "f", "args": {}}}]},
                {"parts": [{"functionResponse": {"id": raw, "name": "f", "response": {"output": "x"}}}]},
            ]},
            ["/contents/0/parts/0/functionCall/id", "/contents/1/parts/0/functionResponse/id"],
        ),
    }  # fmt: skip
    body, paths = calls[source]

    converted = fb.convert_request({"model": "m"} | body, source=source, target=target)

    renamed = [(loss.path, loss.before) for loss in converted.losses if loss.code == "renamed"]
    is_refused = target != "generate_content"  # one refuses the characters, two the length
    assert renamed == ([(path, raw) for path in paths] if is_refused else [])


@pytest.mark.parametrize("target", ["messages", "responses"])
@pytest.mark.parametrize("source", fb.FORMATS)
def test_a_change_reports_the_new_value(source: str, target: str) -> None:
    """And that is something else than before."""
    silent = ("/error/details", "/response/error", "/usage", "/thinking")  # their part is gone, and the rest of them stays
    for kind in ("request", "response", "error"):
        for fixture in fixtures(kind, source):
            for loss in fixture.convert(target).losses:
                if loss.kind == "changed" and not loss.path.endswith(silent):
                    assert loss.after not in (None, loss.before), f"{fixture} {loss}"
