"""OpenAI's servers reject JSON mode in a conversation that does not mention JSON."""

from __future__ import annotations

from typing import Any

import pytest

import formatbridge as fb

INSTRUCTION = "Respond with valid JSON only: no other text and no code fence."


def _request(*texts: str, system: str = "", **config: Any) -> dict[str, Any]:
    body: dict[str, Any] = {
        "contents": [{"role": "user", "parts": [{"text": text} for text in texts]}],
        "generationConfig": {"responseMimeType": "application/json", **config},
    }
    return body | ({"systemInstruction": {"parts": [{"text": system}]}} if system else {})


@pytest.mark.parametrize(("target", "field"), [("chat_completions", "messages"), ("responses", "input")])
def test_json_mode_gets_an_instruction_where_the_conversation_does_not_mention_json(target: Any, field: str) -> None:
    """Gemini has JSON mode without this condition."""
    converted = fb.convert_request(_request("Name a fruit."), source="generate_content", target=target, model="m")

    assert converted.body[field][0]["content"] == INSTRUCTION
    assert next((each.path, each.value) for each in converted.additions) == (f"/{field}/0", converted.body[field][0])
    assert list(converted.losses) == []


@pytest.mark.parametrize(("target", "field"), [("chat_completions", "messages"), ("responses", "input")])
def test_a_conversation_that_mentions_json_is_unchanged(target: Any, field: str) -> None:
    """OpenAI's server requires the word only; another instruction could contradict that of the caller."""
    converted = fb.convert_request(_request("Name a fruit as Json."), source="generate_content", target=target, model="m")

    assert [each["content"] for each in converted.body[field]] == ["Name a fruit as Json."]


def test_instructions_of_responses_that_mention_json_are_a_message() -> None:
    """The server looks for the word in the input only."""
    converted = fb.convert_request(
        _request("Name a fruit.", system="Write JSON."), source="generate_content", target="responses", model="m"
    )

    assert "instructions" not in converted.body
    assert [each["content"] for each in converted.body["input"]] == ["Write JSON.", "Name a fruit."]


def test_a_schema_needs_no_instruction() -> None:
    """The server enforces a schema, so the prompt stays the one that the caller tested."""
    schema = {"type": "OBJECT", "properties": {"name": {"type": "STRING"}}}

    converted = fb.convert_request(
        _request("Name a fruit.", responseSchema=schema), source="generate_content", target="chat_completions", model="m"
    )

    assert [each["content"] for each in converted.body["messages"]] == ["Name a fruit."]
