"""Requests in Google's format, as Gemini or Vertex AI reads them."""

from __future__ import annotations

import json
from typing import Any

import httpx
import pytest

import formatbridge as fb
from formatbridge.testing import FakeRelay
from tests.support.same_format import GEMINI, USER


def test_the_fake_server_of_vertex_rejects_ids_in_snake_case() -> None:
    """A test must fail here before the request fails in production."""
    relay = FakeRelay("hi", dialect="vertex")
    body = {"contents": [{"role": "model", "parts": [{"function_call": {"id": "c1", "name": "f"}}]}]}

    answer = relay.http_client().post(
        f"{relay.base_url}/v1beta/models/m:generateContent", json=body, headers={"x-goog-api-key": "sk-fake"}
    )

    assert answer.status_code == 400
    assert "function_call" in answer.text


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
