"""JSON mode towards messages, whose servers have none."""

from __future__ import annotations

from typing import Any

import pytest

import formatbridge as fb

INSTRUCTION = "Respond with valid JSON only: no other text and no code fence."
BODIES: dict[str, tuple[dict[str, Any], str]] = {
    "chat_completions": (
        {"model": "m", "messages": [{"role": "user", "content": "q"}], "response_format": {"type": "json_object"}},
        "/response_format",
    ),
    "responses": ({"model": "m", "input": "q", "text": {"format": {"type": "json_object"}}}, "/text/format"),
    "generate_content": (
        {"contents": [{"role": "user", "parts": [{"text": "q"}]}], "generationConfig": {"responseMimeType": "application/json"}},
        "/generationConfig/responseMimeType",
    ),
}


def _converted(source: str, body: dict[str, Any], **options: Any) -> fb.ConvertedRequest:
    return fb.convert_request(body, source=source, target="messages", model="m", options=fb.Options(**options))


@pytest.mark.parametrize("source", BODIES)
def test_an_instruction_stands_for_the_json_mode(source: str) -> None:
    """Without it the model answers in prose, and the caller fails to parse that."""
    body, path = BODIES[source]

    made = _converted(source, body)

    assert made.body["system"] == INSTRUCTION
    assert ("/system", INSTRUCTION) in [(item.path, item.value) for item in made.additions]
    assert [(loss.path, loss.kind, loss.severity, loss.code) for loss in made.losses] == [(path, "changed", "lossy", "json_mode")]


def test_the_instruction_stands_behind_the_system_prompt() -> None:
    """A cache mark of the prompt keeps what it marks."""
    system = {"role": "system", "content": [{"type": "text", "text": "s", "cache_control": {"type": "ephemeral"}}]}
    body, _ = BODIES["chat_completions"]

    made = _converted("chat_completions", body | {"messages": [system, *body["messages"]]})

    block = {"type": "text", "text": INSTRUCTION}
    assert made.body["system"] == [{"type": "text", "text": "s", "cache_control": {"type": "ephemeral"}}, block]
    assert ("/system/1", block) in [(item.path, item.value) for item in made.additions]


@pytest.mark.parametrize("source", BODIES)
def test_the_json_mode_is_left_out_where_the_caller_wants_no_instruction(source: str) -> None:
    """The report then says that the request no longer means the same."""
    body, path = BODIES[source]

    made = _converted(source, body, json_mode="drop")

    assert "system" not in made.body
    assert [(loss.path, loss.kind, loss.severity) for loss in made.losses] == [(path, "dropped", "impossible")]


def test_a_schema_needs_no_instruction() -> None:
    """The server holds the answer to it."""
    schema = {"type": "object", "properties": {}, "additionalProperties": False}
    format = {"type": "json_schema", "json_schema": {"name": "n", "schema": schema, "strict": True}}

    made = _converted("chat_completions", BODIES["chat_completions"][0] | {"response_format": format})

    assert "system" not in made.body
