"""An explanation states in words what a target receives."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

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
        "Answer: one JSON body",
        "Instructions: 9 characters in 1 message",
        "Conversation: 1 message of the user: 1 text, 1 image",
        "Tools:",
        "  - 1 tool that the caller runs: look_up",
        "  - choice: the model decides whether it calls a tool",
        "Reasoning: the model decides how much, effort high",
        "Output format: text",
        "Settings: max_tokens: 4096",
        "Left out: /seed = 7: Anthropic Messages has no place for it (the answer may differ)",
        "Changed: nothing",
        "Added: /max_tokens = 4096: required by Anthropic Messages, missing in the source request",
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
        "  - /messages/1/content/1 (2nd message, image_url): the model does not support this kind of media "
        "(the request no longer means the same)",
        "  - /seed = 7: the model does not accept it (the answer may differ)",
        "Changed: /max_completion_tokens = 90000 becomes 64000: more than the model can write (no effect on the answer)",
        "Added: nothing",
    ]


LITELLM = {
    "m": {"litellm_provider": "openai", "mode": "chat"},
    "o": {"litellm_provider": "openai", "mode": "chat", "supports_reasoning": True},
    "t": {"litellm_provider": "openai", "mode": "chat", "supports_reasoning": False, "max_output_tokens": 9000},
    "azure/k": {"litellm_provider": "azure", "mode": "chat", "max_output_tokens": 1},
    "openai/k": {"litellm_provider": "openai", "mode": "chat", "max_output_tokens": 2},
}


@pytest.mark.parametrize(
    ("model", "expected"),
    [
        (
            "m",
            (
                "whether and how the model reasons: the setting of reasoning is sent without a check",
                "whether the model accepts temperature, which many models that reason reject",
                "how many tokens the model can write: the limit is sent without a check",
            ),
        ),
        (
            "o",
            (
                "which efforts the model accepts: the effort high is sent without a check",
                "whether the model accepts temperature, which many models that reason reject",
                "how many tokens the model can write: the limit is sent without a check",
            ),
        ),
        ("t", None),
        ("k", ("every fact about the model, because the table has no 'k', but azure/k, openai/k",)),
        ("x", ("every fact about the model, because the table has no 'x'",)),
    ],
)
def test_an_explanation_lists_the_facts_that_are_missing_and_concern_the_request(model: str, expected: Any) -> None:
    """No table states everything that a model rejects, and a reader must know what has not been checked."""
    request = REQUEST | {"model": model, "temperature": 0.2, "max_completion_tokens": 500}
    target = fb.Target("chat_completions", model=fb.load_model_facts(LITELLM))

    sections = dict(fb.explain(request, source="chat_completions", target=target).sections)

    assert sections.get("Not known") == expected


def test_an_explanation_lists_the_tools_that_messages_add_and_parts_of_one_format_by_their_types() -> None:
    """An agent adds tools in the middle of a conversation, in a message that has no instructions."""
    added = {"type": "function", "name": "clock", "parameters": {"type": "object", "properties": {}}, "strict": False}
    call = {"type": "apply_patch_call", "call_id": "c1", "status": "completed", "operation": {"type": "delete_file", "path": "a"}}
    output = {"type": "apply_patch_call_output", "call_id": "c1", "status": "completed"}
    tools = {"type": "additional_tools", "role": "developer", "tools": [added]}
    body = {"model": "m", "input": [{"role": "user", "content": "Hi"}, tools, call, output]}

    sections = dict(fb.explain(body, source="responses", target="responses").sections)

    assert sections["Instructions"] == ("none",)
    assert sections["Tools"][0] == "1 tool that messages add: clock"
    assert sections["Conversation"][1].endswith("2 other parts (apply_patch_call, apply_patch_call_output)")


def test_an_explanation_states_that_a_function_has_no_facts_about_a_model() -> None:
    """A function that looks names up in a database returns nothing for a misspelt one."""
    known: dict[str, fb.ModelFacts] = {}
    target = fb.Target("chat_completions", model=known.get)

    sections = dict(fb.explain(REQUEST, source="chat_completions", target=target).sections)

    assert sections["Not known"] == ("every fact about the model, because the function for facts returns none for 'm'",)


def test_an_explanation_shows_no_text_of_the_conversation_next_to_a_pointer() -> None:
    """Explanations are copied into tickets; a number or a setting helps there, a sentence of a user does not."""
    request = REQUEST | {"messages": [{"role": "user", "name": "a name of a person", "content": "Hi"}], "user": "x" * 80}

    text = str(fb.explain(request, source="chat_completions", target="generate_content", model="m"))

    assert "a name of a person" not in text
    assert "xxx" not in text


def _lines_of(request: dict[str, Any], source: fb.Format, target: fb.FormatOrName) -> dict[str, tuple[str, ...]]:
    return dict(fb.explain(request, source=source, target=target, model="m").sections)


PIXEL = {"inlineData": {"mimeType": "image/png", "data": "iVBORw0KGgo="}}
WEATHER: dict[fb.Format, dict[str, Any]] = {
    "chat_completions": {
        "messages": [
            {"role": "user", "content": "How is the weather in Bergen?"},
            {
                "role": "assistant",
                "tool_calls": [{"id": "call_1", "type": "function", "function": {"name": "weather", "arguments": "{}"}}],
            },
            {"role": "tool", "tool_call_id": "call_1", "content": "rain"},
        ]
    },
    "messages": {
        "max_tokens": 100,
        "messages": [
            {"role": "user", "content": "How is the weather in Bergen?"},
            {"role": "assistant", "content": [{"type": "tool_use", "id": "call_1", "name": "weather", "input": {}}]},
            {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "call_1", "content": "rain"}]},
        ],
    },
    "responses": {
        "input": [
            {"role": "user", "content": "How is the weather in Bergen?"},
            {"type": "function_call", "call_id": "call_1", "name": "weather", "arguments": "{}"},
            {"type": "function_call_output", "call_id": "call_1", "output": "rain"},
        ]
    },
    "generate_content": {
        "contents": [
            {"role": "user", "parts": [{"text": "How is the weather in Bergen?"}]},
            {"role": "model", "parts": [{"functionCall": {"id": "call_1", "name": "weather", "args": {}}}]},
            {"role": "user", "parts": [{"functionResponse": {"id": "call_1", "name": "weather", "response": {"output": "rain"}}}]},
        ]
    },
}
"""One conversation with a tool call in each format."""


@pytest.mark.parametrize("target", fb.FORMATS)
@pytest.mark.parametrize("source", fb.FORMATS)
def test_the_same_conversation_has_the_same_description_in_every_format(source: fb.Format, target: fb.Format) -> None:
    """Two formats have tool results in messages of the user. A reader who sent one question must not read of two."""
    assert _lines_of({"model": "m"} | WEATHER[source], source, target)["Conversation"] == (
        "1 message of the user: 1 text",
        "1 message of the assistant: 1 tool call",
        "1 tool result: 1 text",
    )


def test_media_in_a_tool_result_are_counted_with_the_result() -> None:
    """An image that a tool returned is often the largest part of a request."""
    response = {"functionResponse": {"name": "look", "response": {"output": "done"}, "parts": [PIXEL]}}
    contents = [
        {"role": "user", "parts": [{"text": "Look."}]},
        {"role": "model", "parts": [{"functionCall": {"name": "look", "args": {}}}]},
        {"role": "user", "parts": [response]},
    ]

    lines = _lines_of({"contents": contents}, "generate_content", "messages")["Conversation"]

    assert lines[-1] == "1 tool result: 1 text, 1 image"


def test_a_line_about_a_moved_value_has_the_new_place() -> None:
    """The effect of instructions depends on where they are."""
    messages = [
        {"role": "user", "content": "Hi"},
        {"role": "assistant", "content": "Yes?"},
        {"role": "system", "content": "Be brief."},
    ]
    request = {"model": "m", "messages": [*messages, {"role": "user", "content": "Go on."}]}

    assert _lines_of(request, "chat_completions", "generate_content")["Changed"] == (
        "/messages/2 (3rd message, system): moved to /systemInstruction of the new body (the answer may differ)",
    )


def test_a_line_about_several_messages_names_the_first_ones() -> None:
    """A pointer with a star may be that of any of a hundred messages."""
    block = {"type": "text", "text": "Hi", "cache_control": {"type": "ephemeral"}}
    roles = ("user", "assistant")
    messages = [{"role": roles[at % 2], "content": "Yes?" if at % 2 else [block]} for at in range(9)][:-1]

    lines = _lines_of({"model": "m", "max_tokens": 5, "messages": messages}, "messages", "generate_content")["Left out"]

    assert lines == (
        "/messages/*/content/*/cache_control (1st, 3rd, 5th message and 1 more, ephemeral): "
        "Google Gemini generateContent has no place for it (no effect on the answer)",
    )


def test_a_line_about_a_field_of_a_tool_names_the_tool() -> None:
    """An agent has dozens of tools, which a reader does not count."""
    parameters = {"type": "object", "properties": {"x": {"type": "string"}}}
    tools = [
        {"type": "function", "function": {"name": name, "strict": True, "parameters": parameters}} for name in ("look_up", "send")
    ]
    request = {"model": "m", "messages": [{"role": "user", "content": "Hi"}], "tools": tools}

    assert _lines_of(request, "chat_completions", "generate_content")["Left out"] == (
        "/tools/*/function/strict (of look_up and send) = true: Google Gemini generateContent has no place for it (the answer may differ)",
    )


@pytest.mark.parametrize(
    ("fields", "target", "line"),
    [
        ({"reasoning_effort": "high"}, fb.Target("messages", model=fb.ModelFacts(reasoning="budget")), "a budget of 2,048 tokens"),
        ({"reasoning": {"max_tokens": 9000}}, fb.Target("responses"), 'the effort "high"'),
        ({"reasoning_effort": "high"}, fb.Target("chat_completions", dialect="minimax"), "on, without an amount"),
    ],
)
def test_an_amount_of_reasoning_in_another_unit_is_described_in_words(fields: dict[str, Any], target: fb.Target, line: str) -> None:
    """The new value alone, such as ``true``, has no meaning for a reader who does not know the field."""
    request = {"model": "m", "messages": [{"role": "user", "content": "Hi"}], "max_completion_tokens": 4096} | fields

    changed = next(line for line in _lines_of(request, "chat_completions", target)["Changed"] if "reasoning" in line)

    assert f" becomes {line}: " in changed


def test_a_changed_id_of_a_call_is_not_called_a_name() -> None:
    """The same reason is used for names of tools, which a reader would search for a mistake."""
    conversation = json.loads(json.dumps(WEATHER["chat_completions"]).replace("call_1", "call|1"))

    lines = _lines_of({"model": "m"} | conversation, "chat_completions", "messages")["Changed"]

    assert lines == (
        '/messages/1/tool_calls/0/id (2nd message) = "call|1" becomes "call_1": '
        "Anthropic Messages does not allow this id (no effect on the answer)",
        '/messages/2/tool_call_id (3rd message) = "call|1" becomes "call_1": '
        "Anthropic Messages does not allow this id (no effect on the answer)",
    )


@pytest.mark.parametrize(
    ("choice", "line"),
    [
        ("none", "the model must not call a tool"),
        ("required", "the model must call a tool"),
        ({"type": "function", "function": {"name": "look_up"}}, "the model must call look_up"),
    ],
)
def test_a_tool_choice_is_described_in_words(choice: object, line: str) -> None:
    """``auto`` and ``named`` are words of the canonical model."""
    assert _lines_of(REQUEST | {"tool_choice": choice}, "chat_completions", "responses")["Tools"][-1] == f"choice: {line}"


def test_an_explanation_states_who_runs_each_tool() -> None:
    """A person prepares the tools that the model will ask the application to run; a vendor defines some of them."""
    types = ("bash_20250124", "text_editor_20250728", "web_search_20260318")
    tools = [{"type": type, "name": type.rpartition("_")[0]} for type in types]
    request = {"model": "m", "max_tokens": 9, "messages": [{"role": "user", "content": "hi"}], "tools": tools}

    lines = str(fb.explain(request, source="messages", target="messages")).splitlines()

    assert "  - 2 tools that the caller runs: bash_20250124, text_editor_20250728" in lines
    assert "  - 1 tool that the server runs: web_search" in lines


def test_an_explanation_shows_no_header_and_no_answer() -> None:
    """A header may have a key, and a parsed answer has texts of the conversation."""
    server = {"name": "library", "streamableHttpTransport": {"url": "https://a.example", "headers": {"x-key": "secret-key"}}}
    request = {"contents": [{"role": "user", "parts": [{"text": "Hi"}]}], "tools": [{"mcpServers": [server]}]}

    assert "secret-key" not in str(fb.explain(request, source="generate_content", target="messages", model="m"))


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
