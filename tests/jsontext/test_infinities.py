"""An infinite number is rejected in any field, also where the fast parser leaves the check to a subsequent step."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator
from typing import Any

import pytest

import formatbridge as fb
from tests.fixtures import Fixture, convert, fixtures
from tests.support.for_each import for_each

MARK = "\0"
PADDING = b" " * 400
"""Padding that makes a body too long for the check of exponents."""


def _marked(body: Any) -> Iterator[tuple[str, Any]]:
    """Yield copies of a body with a mark in place of each scalar, and as an additional member of each object."""
    whole = copy.deepcopy(body)
    pending = [("", whole)]
    while pending:
        pointer, node = pending.pop()
        for key, value in [*node.items(), ("x_rate", None)] if isinstance(node, dict) else [*enumerate(node)]:
            if isinstance(value, dict | list):
                pending.append((f"{pointer}/{key}", value))
                continue
            node[key] = MARK
            yield f"{pointer}/{key}", whole
            if key == "x_rate":
                del node[key]
            else:
                node[key] = value


@for_each("fixture", [each for each in fixtures() if each.kind in ("request", "response")])
def test_an_infinity_is_rejected_at_any_place(fixture: Fixture) -> None:
    """Decoders pass on values that they do not examine, including unknown fields, and each may contain an infinity."""
    targets = [name for name in fb.FORMATS if name != fixture.format]
    for index, (pointer, body) in enumerate(_marked(fixture.body)):
        text = json.dumps(body).replace(json.dumps(MARK), "1e400").encode() + PADDING
        for target in (targets[index % 3], fixture.format):
            with pytest.raises(fb.InvalidPayloadError) as caught:
                convert(text, fixture, target)
            assert caught.value.problems[0][1].startswith("is inf, expected a finite number"), (pointer, target)


@pytest.mark.parametrize("name", ["top_k", "max_output_tokens", "input"])
@pytest.mark.parametrize("padding", [b"", PADDING])
def test_an_infinity_under_a_key_of_another_format_is_rejected(name: str, padding: bytes) -> None:
    """A number field of one format may have any value in formats without this field."""
    text = b'{"model":"m","messages":[{"role":"user","content":"Q"}],"%s":1e400}' % name.encode()

    with pytest.raises(fb.InvalidPayloadError, match=f"/{name} is inf, expected a finite number"):
        fb.convert_request(text + padding, source="chat_completions", target="messages")


@pytest.mark.parametrize("response", [{"a": MARK}, {"output": MARK}, {"error": {"b": [MARK]}}])
@pytest.mark.parametrize("padding", [b"", PADDING])
def test_an_infinity_in_a_function_result_is_rejected(response: Any, padding: bytes) -> None:
    """Other formats have the result as text, in which an infinity would be valid."""
    turns = [
        {"role": "user", "parts": [{"text": "Q"}]},
        {"role": "model", "parts": [{"functionCall": {"id": "c", "name": "f", "args": {}}}]},
        {"role": "user", "parts": [{"functionResponse": {"id": "c", "name": "f", "response": response}}]},
    ]
    text = json.dumps({"contents": turns}).replace(json.dumps(MARK), "1e400").encode() + padding

    with pytest.raises(fb.InvalidPayloadError, match=r"/functionResponse/response.* is inf, expected a finite number"):
        fb.convert_request(text, source="generate_content", target="messages", model="m")


@pytest.mark.parametrize(
    ("source", "extra"),
    [
        ("responses", {"object": "response", "created_at": 1, "status": "failed", "output": []}),
        ("chat_completions", {"object": "chat.completion", "created": 1, "choices": []}),
    ],
)
def test_an_infinity_in_an_error_is_rejected(source: fb.Format, extra: dict[str, Any]) -> None:
    """A failed answer is checked like any other."""
    body = {"id": "a", "model": "m", **extra, "error": {"message": "x", "code": "server_error", "wait": {"for": MARK}}}
    text = json.dumps(body).replace(json.dumps(MARK), "1e400").encode() + PADDING

    with pytest.raises(fb.InvalidPayloadError, match="/error/wait/for is inf, expected a finite number"):
        fb.convert_response(text, source=source, target="messages")
