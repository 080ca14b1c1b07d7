"""An explanation states in words what a target receives."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import formatbridge as fb
from formatbridge.cli.main import main
from tests import fixtures

REQUEST = {
    "model": "m",
    "messages": [
        {"role": "system", "content": "Be brief."},
        {
            "role": "user",
            "content": [{"type": "text", "text": "What is it?"}, {"type": "image_url", "image_url": {"url": "https://a/b.png"}}],
        },
    ],
    "tools": [{"type": "function", "function": {"name": "look_up", "parameters": {"type": "object", "properties": {}}}}],
    "reasoning_effort": "high",
    "seed": 7,
}


def test_an_explanation_names_endpoint_conversation_tools_reasoning_and_losses() -> None:
    """A person reads it before the first call of a new model, without knowing either format."""
    text = str(fb.explain(REQUEST, source="chat_completions", target="messages"))

    assert text.splitlines() == [
        "Request: POST /v1/messages, in the format Anthropic Messages",
        "Model: m",
        "Answer: one whole answer",
        "Instructions: 9 characters in 1 message",
        "Conversation: 1 user turn with 1 text, 1 image",
        "Tools:",
        "  - 1 tool that the caller runs: look_up",
        "  - choice: the model decides",
        "Reasoning: adaptive, effort high",
        "Output format: text",
        "Settings: max_tokens: 4096",
        "Left out: /seed (lossy): the target has no place for it",
        "Changed: nothing",
        "Added: /max_tokens = 4096: required by the target, missing in the source",
    ]


def test_an_explanation_is_shown_as_a_table_and_as_json() -> None:
    """Notebooks and other programs read the same sections."""
    explanation = fb.explain(REQUEST, source="chat_completions", target="responses")

    assert "<table" in explanation._repr_html_()
    assert json.loads(json.dumps(explanation.to_dict()))["sections"]["Model"] == ["m"]
    assert explanation.request.target == "responses"


@pytest.mark.parametrize("fixture", fixtures.fixtures("request"), ids=str)
def test_every_request_can_be_explained_for_every_target(fixture: fixtures.Fixture) -> None:
    """An explanation must not fail where the conversion succeeds."""
    for target in fb.FORMATS:
        try:
            converted = fb.convert_request(fixture.body, source=fixture.format, target=target, model=fixture.model or "m")
        except fb.FormatBridgeError:
            continue
        explanation = fb.explain(fixture.body, source=fixture.format, target=target, model=fixture.model or "m")
        assert explanation.request.body == converted.body
        assert [title for title, _ in explanation.sections][-3:] == ["Left out", "Changed", "Added"]


def test_the_command_explain_prints_the_explanation(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The command is for requests in files and for pipes."""
    path = tmp_path / "request.json"
    path.write_text(json.dumps(REQUEST))

    assert main(["explain", str(path), "--from", "openai", "--to", "anthropic"]) == 0
    assert capsys.readouterr().out.startswith("Request: POST /v1/messages")
    assert main(["explain", str(path), "--to", "gemini", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["request"]["target"] == "generate_content"
