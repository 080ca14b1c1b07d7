"""Requests in Google's format, as Gemini or Vertex AI reads them."""

from __future__ import annotations

import json
from typing import Any

import httpx
import pytest

import formatbridge as fb
from formatbridge.testing import FakeRelay
from tests.support.same_format import GEMINI, USER, convert


@pytest.mark.parametrize("names", [("functionCall", "functionResponse"), ("function_call", "function_response")])
def test_vertex_gets_calls_without_ids_in_camel_case_and_in_snake_case(names: tuple[str, str]) -> None:
    """The SDK writes one notation and a JSON file may have the other; Vertex AI rejects the ids in both."""
    call, result = names
    contents = [
        {"role": "user", "parts": [{"text": "Hi"}]},
        {"role": "model", "parts": [{call: {"id": "c1", "name": "f", "args": {"cityName": "Oslo"}}}]},
        {"role": "user", "parts": [{result: {"id": "c1", "name": "f", "response": {"output": 1}}}]},
    ]

    converted = convert({"contents": contents}, "vertex", "generate_content")

    assert converted.body["contents"][1]["parts"] == [{call: {"name": "f", "args": {"cityName": "Oslo"}}}]
    assert converted.body["contents"][2]["parts"] == [{result: {"name": "f", "response": {"output": 1}}}]
    assert [(loss.path, loss.severity) for loss in converted.losses] == [
        (f"/contents/1/parts/0/{call}/id", "info"),
        (f"/contents/2/parts/0/{result}/id", "info"),
    ]


def test_the_fake_server_of_vertex_rejects_ids_in_snake_case() -> None:
    """A test must fail here before the request fails in production."""
    relay = FakeRelay("hi", dialect="vertex")
    body = {"contents": [{"role": "model", "parts": [{"function_call": {"id": "c1", "name": "f"}}]}]}

    answer = relay.http_client().post(
        f"{relay.base_url}/v1beta/models/m:generateContent", json=body, headers={"x-goog-api-key": "sk-fake"}
    )

    assert answer.status_code == 400
    assert "function_call" in answer.text


_OF_VERTEX: dict[str, Any] = {
    "safetySettings": [{"category": "HARM_CATEGORY_HATE_SPEECH", "threshold": "BLOCK_NONE", "method": "SEVERITY"}],
    "generationConfig": {"temperature": 0.1, "audioTimestamp": True, "imageConfig": {"personGeneration": "ALLOW_ALL"}},
    "tools": [{"enterpriseWebSearch": {}}, {"google_search": {"excludeDomains": ["a.example"]}}, {"retrieval": {}}],
}
_OF_GEMINI: dict[str, Any] = {
    "store": True,
    "generationConfig": {"temperature": 0.1, "enableEnhancedCivicAnswers": True},
    "tools": [{"fileSearch": {"fileSearchStoreNames": ["a"]}}, {"googleMaps": {}}, {"mcpServers": [{"name": "docs"}]}],
}


@pytest.mark.parametrize(
    ("server", "other", "sent", "written"),
    [
        (
            "gemini",
            "vertex",
            _OF_VERTEX,
            {
                "safetySettings": [{"category": "HARM_CATEGORY_HATE_SPEECH", "threshold": "BLOCK_NONE"}],
                "generationConfig": {"temperature": 0.1},
                "tools": [{"google_search": {}}],
            },
        ),
        ("vertex", "gemini", _OF_GEMINI, {"generationConfig": {"temperature": 0.1}, "tools": [{"googleMaps": {}}]}),
    ],
)
def test_a_field_that_only_the_other_server_of_google_has_is_reported(
    server: str, other: str, sent: dict[str, Any], written: dict[str, Any]
) -> None:
    """The official SDK raises an error for these fields, and the server rejects unknown names."""
    converted = convert(GEMINI | sent, server, "generate_content")

    assert converted.body == {"model": "m"} | GEMINI | written
    assert len(converted.losses) >= 3
    for loss in converted.losses:
        assert loss.code in ("rejected_by_server", "unsupported_by_server", "nearest_value")
    kept = convert(GEMINI | sent, other, "generate_content")
    assert (kept.body, list(kept.losses)) == ({"model": "m"} | GEMINI | sent, [])


_FUNCTION = {"functionDeclarations": [{"name": "now"}]}
_COUNTED = GEMINI | {"systemInstruction": {"parts": [{"text": "Be brief."}]}, "tools": [_FUNCTION]}


@pytest.mark.parametrize(
    ("body", "at"),
    [
        (_COUNTED | {"toolConfig": {"functionCallingConfig": {"mode": "ANY"}}}, ""),
        (
            {"generateContentRequest": {"model": "models/m", **_COUNTED, "cachedContent": "cachedContents/1"}},
            "/generateContentRequest",
        ),
    ],
)
def test_vertex_reads_the_fields_of_a_token_count_at_the_top(body: dict[str, Any], at: str) -> None:
    """It does not have ``generateContentRequest``."""
    converted = fb.convert_count_request(
        body, source="generate_content", target=fb.Target("generate_content", dialect="vertex"), model="m"
    )

    assert converted.body == _COUNTED
    assert [(loss.path, loss.code) for loss in converted.losses] == [
        (f"{at}/{'cachedContent' if at else 'toolConfig'}", "not_counted")
    ]


def test_a_request_of_another_format_is_counted_by_vertex() -> None:
    """A user checks the length of a prompt before sending it; fields outside the count would be rejected."""
    body = {"model": "m", "system": "Be brief.", "messages": [USER], "tools": [{"name": "now", "input_schema": {"type": "object"}}]}
    choice = {"tool_choice": {"type": "any"}}

    converted = fb.convert_count_request(
        body | choice, source="messages", target=fb.Target("generate_content", dialect="vertex"), model="m"
    )

    assert converted.body.keys() == {"contents", "systemInstruction", "tools"}
    assert [(loss.path, loss.code) for loss in converted.losses] == [("/tool_choice", "not_counted")]


@pytest.mark.parametrize(("dialect", "status"), [("vertex", 400), ("gemini", 200)])
def test_the_server_of_vertex_rejects_a_whole_request_in_a_token_count(dialect: str, status: int) -> None:
    """Gemini reads the wrapped request; a test for Vertex AI must fail on it."""
    relay = FakeRelay(dialect=dialect)
    content = json.dumps({"generateContentRequest": {"model": "models/m", **GEMINI}})
    request = httpx.Request(
        "POST", "https://relay.test/v1beta/models/m:countTokens", content=content, headers={"x-goog-api-key": relay.api_key or ""}
    )

    assert relay.handle_request(request).status_code == status


def test_parts_of_gemini_stay_next_to_a_call_without_its_id() -> None:
    """The parts around a changed call have tokens and code that the encoder cannot write again."""
    call = {"functionCall": {"id": "c1", "name": "f", "args": {}}, "thoughtSignature": "c2lnbmVk"}
    others: list[dict[str, Any]] = [
        {"executableCode": {"language": "PYTHON", "code": "1", "id": "x1"}},
        {"codeExecutionResult": {"outcome": "OUTCOME_OK", "output": "1"}},
    ]
    contents = [
        {"role": "user", "parts": [{"text": "Hi", "unknown": 1}]},
        {"role": "model", "parts": [call, *others]},
        {"role": "user", "parts": [{"functionResponse": {"id": "c1", "name": "f", "response": {"output": 1}}}]},
    ]

    converted = convert({"contents": contents}, "vertex", "generate_content")

    assert converted.body["contents"][0] == contents[0]
    assert converted.body["contents"][1]["parts"] == [call | {"functionCall": {"name": "f", "args": {}}}, *others]
    assert {loss.path for loss in converted.losses} == {
        "/contents/1/parts/0/functionCall/id",
        "/contents/2/parts/0/functionResponse/id",
    }


def test_a_turn_that_the_encoder_does_not_write_stays() -> None:
    """Here code that Gemini ran, without a text."""
    parts: list[dict[str, Any]] = [
        {"executableCode": {"language": "PYTHON", "code": "1"}},
        {"codeExecutionResult": {"outcome": "OUTCOME_OK", "output": "1"}},
    ]
    call = {"functionCall": {"id": "c1", "name": "f", "args": {}}, "thoughtSignature": "c2lnbmVk"}
    contents = [
        {"role": "user", "parts": [{"text": "Hi", "unknown": 1}]},
        {"role": "model", "parts": parts},
        {"role": "user", "parts": [{"text": "Next", "videoMetadata": {"fps": 1}}]},
        {"role": "model", "parts": [call]},
        {"role": "user", "parts": [{"functionResponse": {"id": "c1", "name": "f", "response": {"output": 1}}}]},
    ]

    converted = convert({"contents": contents}, "vertex", "generate_content")

    assert converted.body["contents"][:3] == contents[:3]
    assert {loss.severity for loss in converted.losses} == {"info"}


@pytest.mark.parametrize("part", [{"text": ""}, {"unknown": {"value": 1}}])
def test_model_turns_around_a_turn_that_the_encoder_does_not_write_stay(part: dict[str, Any]) -> None:
    """The encoder joins the two model turns."""
    call = {"functionCall": {"id": "c1", "name": "get_time", "args": {"city": "Oslo"}}}
    contents = [
        {"role": "user", "parts": [{"text": "Hello"}]},
        {"role": "model", "parts": [{"text": "One moment."}]},
        {"role": "user", "parts": [part]},
        {"role": "model", "parts": [call]},
        {"role": "user", "parts": [{"functionResponse": {"id": "c1", "name": "get_time", "response": {"output": "noon"}}}]},
    ]

    converted = convert({"contents": contents}, "vertex", "generate_content")

    assert converted.body["contents"][:3] == contents[:3]
    assert converted.body["contents"][3]["parts"] == [{"functionCall": {"name": "get_time", "args": {"city": "Oslo"}}}]
    assert list(converted.additions) == []


def test_a_result_without_a_name_stays_one_result() -> None:
    """Without ids the server finds its call by the name, so the request gets the name of the call."""
    result = {"functionResponse": {"id": "c1", "response": {"output": "sunny"}}}
    contents = [
        {"role": "user", "parts": [{"text": "Hello"}]},
        {"role": "model", "parts": [{"functionCall": {"id": "c1", "name": "lookup", "args": {}}}]},
        {"role": "user", "parts": [result], "unknown": 1},
    ]

    converted = convert({"contents": contents}, "vertex", "generate_content")

    named = {"functionResponse": {"name": "lookup", "response": {"output": "sunny"}}}
    assert converted.body["contents"][2] == {"role": "user", "parts": [named]}
    assert "/contents/2/unknown" in {loss.path for loss in converted.losses}


@pytest.mark.parametrize("mime", ["image/png", "image/gif"])
def test_a_turn_whose_only_image_is_left_out_is_left_out(mime: str) -> None:
    """Google's server rejects a turn without parts, also if the type of the image is the reason."""
    image = {"role": "model", "parts": [{"inlineData": {"mimeType": mime, "data": "R0lGODlhAQABAAAAACw="}}]}
    rules = fb.DialectRules(server="mine", media=frozenset())
    target: Any = fb.Target("generate_content", dialect=fb.Dialect("mine", {"generate_content": rules}))
    question = {"role": "user", "parts": [{"text": "Draw."}]}

    converted = fb.convert_request({"contents": [question, image, question]}, source="generate_content", target=target, model="m")

    assert converted.body["contents"] == [question, question]
    assert [loss.path for loss in converted.losses] == ["/contents/1/parts/0", "/contents/1"]
