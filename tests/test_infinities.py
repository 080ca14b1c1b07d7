"""A number beyond doubles is found wherever it stands, also where the quick readers leave the look for it to the end."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator
from typing import Any

import pytest

import formatbridge as fb
from tests.fixtures import Fixture, convert, fixtures

MARK = "\0"
PADDING = b" " * 400
"""Makes it longer than text whose exponents are looked for by themselves."""
CASES = [pytest.param(fixture, id=str(fixture)) for fixture in fixtures() if fixture.kind in ("request", "response")]


def _marked(body: Any) -> Iterator[tuple[str, Any]]:
    """Yield a body with a mark in the place of each value that is no object or list, and as a member more of each object."""
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


@pytest.mark.parametrize("fixture", CASES)
def test_an_infinity_is_refused_wherever_it_stands(fixture: Fixture) -> None:
    """Decoders read texts and counts, and hand on the rest: whatever they hand on may hold one, also what they do not know."""
    targets = [name for name in fb.FORMATS if name != fixture.format]
    for index, (pointer, body) in enumerate(_marked(fixture.body)):
        text = json.dumps(body).replace(json.dumps(MARK), "1e400").encode() + PADDING
        for target in (targets[index % 3], fixture.format):
            with pytest.raises(fb.InvalidPayloadError) as caught:
                convert(text, fixture, target)
            assert caught.value.problems[0][1].startswith("is inf, expected a finite number"), (pointer, target)


@pytest.mark.parametrize("name", ["top_k", "max_output_tokens", "input"])
@pytest.mark.parametrize("padding", [b"", PADDING])
def test_an_infinity_under_the_name_of_another_format_is_refused(name: str, padding: bytes) -> None:
    """What is a number in one format may be anything in those that do not know its name."""
    text = b'{"model":"m","messages":[{"role":"user","content":"Q"}],"%s":1e400}' % name.encode()

    with pytest.raises(fb.InvalidPayloadError, match=f"/{name} is inf, expected a finite number"):
        fb.convert_request(text + padding, source="chat_completions", target="messages")


@pytest.mark.parametrize("response", [{"a": MARK}, {"output": MARK}, {"error": {"b": [MARK]}}])
@pytest.mark.parametrize("padding", [b"", PADDING])
def test_an_infinity_in_what_a_function_returned_is_refused(response: Any, padding: bytes) -> None:
    """Other formats get the object in words, and in words an infinity is none any more."""
    turns = [
        {"role": "user", "parts": [{"text": "Q"}]},
        {"role": "model", "parts": [{"functionCall": {"id": "c", "name": "f", "args": {}}}]},
        {"role": "user", "parts": [{"functionResponse": {"id": "c", "name": "f", "response": response}}]},
    ]
    text = json.dumps({"contents": turns}).replace(json.dumps(MARK), "1e400").encode() + padding

    with pytest.raises(fb.InvalidPayloadError, match=r"/functionResponse/response.* is inf, expected a finite number"):
        fb.convert_request(text, source="generate_content", target="messages", model="m")


@pytest.mark.parametrize(
    ("source", "beside"),
    [
        ("responses", {"object": "response", "created_at": 1, "status": "failed", "output": []}),
        ("chat_completions", {"object": "chat.completion", "created": 1, "choices": []}),
    ],
)
def test_an_infinity_in_an_error_is_refused(source: str, beside: dict[str, Any]) -> None:
    """An answer that failed is as plain as any, but for its error."""
    body = {"id": "a", "model": "m", **beside, "error": {"message": "x", "code": "server_error", "wait": {"for": MARK}}}
    text = json.dumps(body).replace(json.dumps(MARK), "1e400").encode() + PADDING

    with pytest.raises(fb.InvalidPayloadError, match="/error/wait/for is inf, expected a finite number"):
        fb.convert_response(text, source=source, target="messages")
