"""Values that the target requires and the source lacks are in the report."""

from __future__ import annotations

from typing import Any

import pytest

import formatbridge as fb
from tests.fixtures import fixtures
from tests.support.directions import DIRECTIONS
from tests.support.pointers import value_at

CALLED = {"role": "model", "parts": [{"functionCall": {"name": "f", "args": {}}}]}
RETURNED = {"role": "user", "parts": [{"functionResponse": {"name": "f", "response": {"output": "x"}}}]}
UNNAMED = {"contents": [{"role": "user", "parts": [{"text": "x"}]}, CALLED, RETURNED]}
LEGACY = {
    "model": "m",
    "messages": [
        {"role": "user", "content": "x"},
        {"role": "assistant", "content": None, "function_call": {"name": "f", "arguments": "{}"}},
        {"role": "function", "name": "f", "content": "x"},
    ],
}
IDS = {
    "chat_completions": ("/messages/1/tool_calls/0/id", "/messages/2/tool_call_id"),
    "messages": ("/messages/1/content/0/id", "/messages/2/content/0/tool_use_id"),
    "responses": ("/input/1/call_id", "/input/2/call_id"),
    "generate_content": ("/contents/1/parts/0/functionCall/id", "/contents/2/parts/0/functionResponse/id"),
}
ANSWER_IDS = {
    "chat_completions": "/choices/0/message/tool_calls/0/id",
    "messages": "/content/0/id",
    "responses": "/output/0/call_id",
    "generate_content": "/candidates/0/content/parts/0/functionCall/id",
}
ENDS = {
    "chat_completions": "/choices/0/finish_reason",
    "messages": "/stop_reason",
    "responses": "/status",
    "generate_content": "/candidates/0/finishReason",
}


def _added(converted: fb.Converted) -> dict[str, Any]:
    """Return the additions, each of which is in the body."""
    added = {each.path: each.value for each in converted.additions}
    assert {path: value_at(converted.body, path) for path in added} == added
    return added


@pytest.mark.parametrize("target", fb.FORMATS)
@pytest.mark.parametrize(("source", "body"), [("generate_content", UNNAMED), ("chat_completions", LEGACY)])
def test_a_generated_call_id_is_reported_at_the_call_and_at_its_result(
    source: fb.Format, body: dict[str, Any], target: fb.Format
) -> None:
    """A user who searches for the origin of an id finds it in the report."""
    if source == target:
        return

    added = _added(fb.convert_request(body, source=source, target=target, model="m"))

    assert [added.get(path) for path in IDS[target]] == ["call_1_0", "call_1_0"]


@pytest.mark.parametrize("target", ["chat_completions", "messages", "generate_content"])
def test_a_generated_id_of_a_result_without_a_call_is_reported(target: fb.Format) -> None:
    """A list of items may begin after the call."""
    body = {"model": "m", "input": [{"type": "function_call_output", "output": "x"}]}

    added = _added(fb.convert_request(body, source="responses", target=target))

    assert "call_0" in added.values()


@pytest.mark.parametrize("target", fb.FORMATS)
@pytest.mark.parametrize(
    ("source", "body"),
    [
        ("generate_content", {"candidates": [{"content": CALLED, "finishReason": "STOP"}]}),
        ("chat_completions", {"choices": [{"message": LEGACY["messages"][1], "finish_reason": "function_call"}]}),
    ],
)
def test_a_generated_call_id_of_an_answer_is_reported(source: fb.Format, body: dict[str, Any], target: fb.Format) -> None:
    """The next request repeats it."""
    if source == target:
        return

    added = _added(fb.convert_response(body, source=source, target=target))

    assert ANSWER_IDS[target] in added


@pytest.mark.parametrize("target", fb.FORMATS)
@pytest.mark.parametrize(
    ("source", "body"),
    [
        ("chat_completions", {"choices": []}),
        ("chat_completions", {"choices": [{"index": 0, "message": None, "finish_reason": None}]}),
        ("chat_completions", {"choices": [{"index": 0, "message": {"content": "x"}}]}),
        ("chat_completions", {"choices": [{"message": {"content": "x", "tool_calls": [{"function": {"name": "f"}}]}}]}),
        ("messages", {"id": "a", "type": "message", "content": [], "stop_reason": None}),
        ("responses", {"id": "a", "output": []}),
        ("generate_content", {"candidates": [{"content": {"parts": [{"text": "x"}]}}]}),
        ("generate_content", {"modelVersion": "m"}),
    ],
)
def test_a_generated_end_is_reported(source: fb.Format, body: dict[str, Any], target: fb.Format) -> None:
    """A user who reads an end that the source did not have takes half an answer for a whole one."""
    if source == target:
        return

    added = _added(fb.convert_response(body, source=source, target=target))

    assert ENDS[target] in added


@pytest.mark.parametrize("source", fb.FORMATS)
def test_an_end_in_the_source_is_no_addition(source: fb.Format) -> None:
    """The source has the value."""
    ended: dict[str, dict[str, Any]] = {
        "chat_completions": {"choices": [{"message": {"content": "x"}, "finish_reason": "stop"}]},
        "messages": {
            "id": "a",
            "type": "message",
            "content": [],
            "stop_reason": "refusal",
            "stop_details": {"type": "refusal", "explanation": "no"},
        },
        "responses": {"id": "a", "output": [], "status": "completed"},
        "generate_content": {"promptFeedback": {"blockReason": "SAFETY", "blockReasonMessage": "no"}},
    }

    for target in fb.FORMATS:
        assert ENDS[target] not in _added(fb.convert_response(ended[source], source=source, target=target))


def _structured(schema: dict[str, Any]) -> fb.ConvertedRequest:
    format = {"type": "json_schema", "json_schema": {"name": "n", "schema": schema}}
    body = {"model": "m", "messages": [{"role": "user", "content": "x"}], "response_format": format}
    return fb.convert_request(body, source="chat_completions", target="messages")


def test_additional_properties_false_is_reported_at_each_object() -> None:
    """The server enforces closed objects only."""
    inner = {"type": "object", "properties": {"b": {"type": "string"}}}
    schema = {"type": "object", "properties": {"a": {"type": "array", "items": {"oneOf": [inner, {"type": "null"}]}}}}

    added = _added(_structured(schema))

    at = "/output_config/format/schema"
    assert [path for path in added if path.startswith(at)] == [
        f"{at}/additionalProperties",
        f"{at}/properties/a/items/anyOf/0/additionalProperties",
    ]


def test_an_object_of_any_properties_can_only_be_empty_in_the_target() -> None:
    """No property remains after it is closed."""
    result = _structured({"type": "object", "properties": {"a": {"type": "object"}}})

    at = "/response_format/json_schema/schema/properties/a"
    assert (at, "changed", "lossy") in {(loss.path, loss.kind, loss.severity) for loss in result.losses}


def test_additional_properties_false_of_a_strict_tool_is_reported() -> None:
    """This holds for the tools of the request and for those that are added later."""
    tool = {"type": "function", "name": "f", "strict": True, "parameters": {"type": "object", "properties": {}}}
    later = {"type": "additional_tools", "role": "developer", "tools": [tool | {"name": "g"}]}
    items = [{"role": "user", "content": "x"}, {"role": "developer", "content": "y"}, later]

    added = _added(fb.convert_request({"model": "m", "input": items, "tools": [tool]}, source="responses", target="messages"))

    assert added.keys() == {
        "/tools/0/input_schema/additionalProperties",
        "/messages/1/content/1/tool/definition/input_schema/additionalProperties",
        "/max_tokens",
    }


def test_a_generated_call_id_is_an_addition() -> None:
    """A user who searches for the origin of an id finds it in the report, at the call and at its result."""
    body = {
        "contents": [
            {"role": "model", "parts": [{"functionCall": {"name": "f", "args": {}}}]},
            {"role": "user", "parts": [{"functionResponse": {"name": "f", "response": {"output": "x"}}}]},
        ]
    }

    converted = fb.convert_request(body, source="generate_content", target="chat_completions", model="m")

    assert {each.path for each in converted.additions} == {"/messages/0/tool_calls/0/id", "/messages/1/tool_call_id"}


def test_a_generated_finish_reason_is_an_addition() -> None:
    """An answer without choices has no finish reason."""
    converted = fb.convert_response({"id": "x", "choices": []}, source="chat_completions", target="generate_content")

    assert "/candidates/0/finishReason" in {each.path for each in converted.additions}


@pytest.mark.parametrize("kind", ["request", "response", "error", "models"])
@pytest.mark.parametrize(("source", "target"), DIRECTIONS)
def test_an_addition_has_the_value_of_the_body(source: fb.Format, target: fb.Format, kind: str) -> None:
    """Otherwise a user could not find or undo it."""
    for fixture in fixtures(kind, source):
        converted = fixture.convert(target)

        for addition in converted.additions:
            assert value_at(converted.body, addition.path) == addition.value, f"{fixture} {addition}"


@pytest.mark.parametrize(("source", "target"), DIRECTIONS)
def test_one_reason_for_an_addition_has_one_wording(source: fb.Format, target: fb.Format) -> None:
    """A required and missing value is reported in the same words everywhere."""
    whys = {addition.why for kind in ("request", "response", "models") for each in fixtures(kind, source)
            for addition in each.convert(target).additions}  # fmt: skip

    assert {why for why in whys if why.startswith("required, ")} <= {"required, and the source names none"}
