"""An explanation states in words what a target receives."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import formatbridge as fb
from formatbridge.cli.main import main
from tests import fixtures
from tests.support.for_each import for_each

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
        "Reasoning: the model decides how much, effort high",
        "Output format: text",
        "Settings: max_tokens: 4096",
        "Left out: /seed = 7: the target has no place for it (the answer may differ)",
        "Changed: nothing",
        "Added: /max_tokens = 4096: required by the target, missing in the source",
    ]


def test_an_explanation_names_the_server_and_the_limits_of_the_model() -> None:
    """A reader sees which facts the request was written for, and the names of fields that this server reads."""
    facts = fb.ModelFacts(output_limit=64_000, context=200_000, refuses=frozenset({"seed"}), inputs=frozenset({"text"}))
    target = fb.Target("chat_completions", dialect="deepseek", model=facts)

    lines = str(fb.explain(REQUEST | {"max_completion_tokens": 90_000}, source="chat_completions", target=target)).splitlines()

    assert lines[0] == "Request: POST /v1/chat/completions, in the format OpenAI Chat Completions, for DeepSeek"
    assert lines[1] == "Model: m, which writes at most 64,000 tokens and reads at most 200,000 tokens"
    assert "Settings: max_tokens: 64000" in lines
    assert lines[-5:] == [
        "Left out:",
        "  - /messages/*/content/* (image_url): the model does not support this kind of media (the request no longer means the same)",
        "  - /seed = 7: the model does not accept it (the answer may differ)",
        "Changed: /max_completion_tokens = 90000 becomes 64000: more than the model can write (no effect on the answer)",
        "Added: nothing",
    ]


def test_an_explanation_shows_no_text_of_the_conversation_next_to_a_pointer() -> None:
    """Explanations are copied into tickets; a number or a setting helps there, a sentence of a user does not."""
    request = REQUEST | {"messages": [{"role": "user", "name": "a name of a person", "content": "Hi"}], "user": "x" * 80}

    text = str(fb.explain(request, source="chat_completions", target="generate_content", model="m"))

    assert "a name of a person" not in text
    assert "xxx" not in text


def test_an_explanation_is_shown_as_a_table_and_as_json() -> None:
    """Notebooks and other programs read the same sections."""
    explanation = fb.explain(REQUEST, source="chat_completions", target="responses")

    assert "<table" in explanation._repr_html_()
    assert json.loads(json.dumps(explanation.to_dict()))["sections"]["Model"] == ["m"]
    assert explanation.request.target == "responses"


@for_each("fixture", fixtures.fixtures("request"))
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


def test_the_option_facts_reads_a_table_about_models(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """``explain`` and ``convert`` write the same request, for the model that it names."""
    path, table = tmp_path / "request.json", tmp_path / "table.json"
    path.write_text(json.dumps(REQUEST))
    table.write_text(json.dumps({"m": {"output_limit": 50_000, "reasoning": "budget"}}))
    arguments = [str(path), "--from", "openai", "--to", "anthropic@anthropic", "--facts", str(table)]

    assert main(["explain", *arguments]) == 0
    assert "Reasoning: up to 24,576 tokens" in capsys.readouterr().out
    assert main(["convert", *arguments, "--report", "none"]) == 0
    assert json.loads(capsys.readouterr().out)["thinking"] == {"type": "enabled", "budget_tokens": 24_576}


@pytest.mark.parametrize(("text", "reason"), [("{x", "is not JSON"), ('{"m": {"colour": 1}}', "the form of the table is unknown")])
def test_a_file_of_facts_that_is_no_table_is_rejected(
    text: str, reason: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The message names the file, because a command has two."""
    table = tmp_path / "table.json"
    table.write_text(text)

    with pytest.raises(SystemExit):
        main(["explain", "--to", "anthropic", "--facts", str(table)])

    error = capsys.readouterr().err
    assert "table.json" in error
    assert reason in error
