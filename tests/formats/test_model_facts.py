"""With facts about a model, a request matches the documentation of that model, and the report has the differences."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

import formatbridge as fb
from formatbridge import ir
from formatbridge.formats.model_facts import FEATURES, PARAMETERS

QUESTION = [{"role": "user", "content": "How deep is the fjord?"}]
LOW_TO_HIGH: tuple[ir.Effort, ...] = ("low", "medium", "high")


@dataclass(frozen=True, kw_only=True)
class Case:
    """A model as its vendor documents it, a request in Chat Completions, and the fields of the request that the vendor accepts."""

    model: str
    page: str
    """The page of the vendor's documentation that states the facts."""
    target: fb.Format
    facts: fb.ModelFacts
    request: dict[str, Any]
    expected: dict[str, Any]
    """The fields of the result besides the conversation."""
    losses: dict[str, str]
    """Pointers of the losses to their codes."""

    def __str__(self) -> str:
        return self.model


CASES = [
    Case(
        model="claude-sonnet-4-5",
        page="Anthropic, Build with Claude, Extended thinking: manual mode with budget_tokens",
        target="messages",
        facts=fb.ModelFacts(output_limit=64_000, reasoning="budget"),
        request={"reasoning_effort": "medium", "max_completion_tokens": 20_000},
        expected={"max_tokens": 20_000, "thinking": {"type": "enabled", "budget_tokens": 8192}},
        losses={"/reasoning_effort": "reasoning_control"},
    ),
    Case(
        model="claude-opus-4-5",
        page="Anthropic, Build with Claude, Effort: supported with extended thinking",
        target="messages",
        facts=fb.ModelFacts(output_limit=64_000, reasoning="budget", efforts=LOW_TO_HIGH),
        request={"reasoning_effort": "low"},
        expected={"max_tokens": 64_000, "thinking": {"type": "enabled", "budget_tokens": 1024}, "output_config": {"effort": "low"}},
        losses={},
    ),
    Case(
        model="claude-opus-4-7",
        page="Anthropic, Build with Claude, Adaptive thinking: budget_tokens and sampling settings are rejected",
        target="messages",
        facts=fb.ModelFacts(
            output_limit=128_000,
            reasoning="adaptive",
            efforts=("low", "medium", "high", "xhigh", "max"),
            refuses=frozenset({"temperature", "top_p", "top_k"}),
        ),
        request={"thinking": {"type": "enabled", "budget_tokens": 20_000}, "temperature": 0.2, "max_completion_tokens": 200_000},
        expected={"max_tokens": 128_000, "thinking": {"type": "adaptive"}, "output_config": {"effort": "high"}},
        losses={
            "/thinking/budget_tokens": "reasoning_control",
            "/temperature": "refused_by_model",
            "/max_completion_tokens": "output_limit",
        },
    ),
    Case(
        model="gemini-2.5-flash",
        page="Google, Gemini API, Thinking: thinkingBudget of Gemini 2.5",
        target="generate_content",
        facts=fb.ModelFacts(output_limit=65_536, reasoning="budget"),
        request={"reasoning_effort": "high"},
        expected={"generationConfig": {"thinkingConfig": {"thinkingBudget": 24_576, "includeThoughts": True}}},
        losses={"/reasoning_effort": "reasoning_control"},
    ),
    Case(
        model="gemini-3-pro-preview",
        page="Google, Gemini API, Thinking: thinkingLevel of Gemini 3 is low or high",
        target="generate_content",
        facts=fb.ModelFacts(reasoning="level", efforts=("low", "high")),
        request={"reasoning_effort": "xhigh"},
        expected={"generationConfig": {"thinkingConfig": {"thinkingLevel": "HIGH", "includeThoughts": True}}},
        losses={"/reasoning_effort": "reasoning_control"},
    ),
    Case(
        model="gemini-2.0-flash",
        page="Google, Gemini API, Models: Gemini 2.0 Flash has no thinking, and up to 8,192 output tokens",
        target="generate_content",
        facts=fb.ModelFacts(output_limit=8192, reasoning="none"),
        request={"reasoning_effort": "low", "max_completion_tokens": 10_000},
        expected={"generationConfig": {"maxOutputTokens": 8192}},
        losses={"/reasoning_effort": "no_reasoning", "/max_completion_tokens": "output_limit"},
    ),
    Case(
        model="gpt-5",
        page="OpenAI, Using GPT-5: temperature, top_p and logprobs are not supported; efforts from minimal to high",
        target="responses",
        facts=fb.ModelFacts(
            reasoning="effort",
            efforts=("minimal", *LOW_TO_HIGH),
            refuses=frozenset({"temperature", "top_p", "logprobs", "top_logprobs"}),
        ),
        request={"reasoning_effort": "max", "temperature": 0.5, "logprobs": True},
        expected={"reasoning": {"effort": "high"}, "include": ["reasoning.encrypted_content"], "store": False},
        losses={"/reasoning_effort": "reasoning_control", "/temperature": "refused_by_model", "/logprobs": "refused_by_model"},
    ),
    Case(
        model="gpt-4.1",
        page="OpenAI, Models, GPT-4.1: no reasoning, 32,768 output tokens; File inputs: models with vision read PDF files",
        target="responses",
        facts=fb.ModelFacts(output_limit=32_768, reasoning="none", inputs=frozenset({"text", "image", "document"})),
        request={"reasoning_effort": "low"},
        expected={"store": False},
        losses={"/reasoning_effort": "no_reasoning"},
    ),
    Case(
        model="deepseek-v4-pro",
        page="DeepSeek, Thinking Mode: efforts, and temperature, top_p and penalties without effect; Models & Pricing: 384K output tokens",
        target="chat_completions",
        facts=fb.ModelFacts(
            output_limit=393_216,
            reasoning="effort",
            efforts=("none", "low", "high", "max"),
            refuses=frozenset({"temperature", "top_p", "presence_penalty", "frequency_penalty"}),
        ),
        request={"reasoning_effort": "xhigh", "top_p": 0.5, "max_completion_tokens": 400_000},
        expected={"max_completion_tokens": 393_216, "reasoning_effort": "high"},
        losses={"/reasoning_effort": "reasoning_control", "/top_p": "refused_by_model", "/max_completion_tokens": "output_limit"},
    ),
    Case(
        model="grok-4.20-0309-reasoning",
        page="docs.x.ai/docs/guides/reasoning: it reasons without any setting, and rejects reasoning_effort, penalties and stop",
        target="responses",
        facts=fb.ModelFacts(reasoning="always", refuses=frozenset({"presence_penalty", "frequency_penalty", "stop"})),
        request={"reasoning_effort": "high", "stop": ["END"]},
        expected={"store": False},
        losses={"/reasoning_effort": "always_reasons", "/stop": "refused_by_model"},
    ),
]


@pytest.mark.parametrize("case", CASES, ids=str)
def test_a_request_for_a_model_matches_its_documentation(case: Case) -> None:
    """A server rejects a field that its format has and the model does not."""
    request = {"model": case.model, "messages": QUESTION} | case.request
    target = fb.Target(case.target, model={case.model: case.facts})

    converted = fb.convert_request(request, source="chat_completions", target=target)

    conversation = {"model", "messages", "input", "contents"}
    assert {key: value for key, value in converted.body.items() if key not in conversation} == case.expected
    assert {loss.path: loss.code for loss in converted.losses} == case.losses


@pytest.mark.parametrize("case", CASES, ids=str)
def test_a_request_that_a_model_accepts_passes_unchanged_in_its_format(case: Case) -> None:
    """What was converted once for the model needs no further change."""
    request = {"model": case.model, "messages": QUESTION} | case.request
    target = fb.Target(case.target, model=case.facts)
    once = fb.convert_request(request, source="chat_completions", target=target)

    again = fb.convert_request(once.body, source=case.target, target=target, model=once.model)

    assert again.body == once.body
    assert again.losses == ()


@pytest.mark.parametrize("kind", ["effort", "budget", "adaptive", "level", "none", "always"])
@pytest.mark.parametrize("target", fb.FORMATS)
@pytest.mark.parametrize(
    "setting", [{"reasoning_effort": "high"}, {"reasoning_effort": "none"}, {"reasoning": {"max_tokens": 9000}}]
)
def test_facts_may_state_the_kind_of_reasoning_only(kind: Any, target: fb.Format, setting: dict[str, Any]) -> None:
    """A table that a user writes by hand has one fact for each model, and no limits."""
    request = {"model": "m", "messages": QUESTION} | setting

    converted = fb.convert_request(
        request, source="chat_completions", target=fb.Target(target, model=fb.ModelFacts(reasoning=kind)), model="m"
    )

    assert converted.parse() is not None


def test_media_that_a_model_cannot_read_are_left_out_and_reported() -> None:
    """A text model would answer about an image that it never saw, so the caller needs the report."""
    part = {"type": "image_url", "image_url": {"url": "https://example.com/a.png"}}
    content = [{"type": "text", "text": "What is it?"}, part]
    target = fb.Target("messages", model=fb.ModelFacts(inputs=frozenset({"text"})))

    converted = fb.convert_request(
        {"model": "m", "messages": [{"role": "user", "content": content}]}, source="chat_completions", target=target
    )

    assert [(loss.path, loss.severity, loss.code) for loss in converted.losses] == [
        ("/messages/0/content/1", "impossible", "unsupported_by_model")
    ]


def test_a_lowered_limit_replaces_both_limit_fields() -> None:
    """A server that reads the other field would reject the request."""
    body = {"model": "m", "messages": QUESTION, "max_tokens": 500, "max_completion_tokens": 900}
    target = fb.Target("chat_completions", model=fb.ModelFacts(output_limit=100))

    converted = fb.convert_request(body, source="chat_completions", target=target)

    assert {key: value for key, value in converted.body.items() if key.startswith("max")} == {"max_completion_tokens": 100}
    assert {loss.path: loss.code for loss in converted.losses} == {
        "/max_tokens": "repeated",
        "/max_completion_tokens": "output_limit",
    }


@pytest.mark.parametrize("choice", ["auto", {"name": "f"}])
def test_a_model_without_tools_gets_no_empty_list_of_them(choice: Any) -> None:
    """Servers reject an empty list of tools, and a choice without tools."""
    body = {"model": "m", "messages": QUESTION, "functions": [{"name": "f", "parameters": {}}], "function_call": choice}
    target = fb.Target("chat_completions", model=fb.ModelFacts(refuses=frozenset({"tools"})))

    converted = fb.convert_request(body, source="chat_completions", target=target)

    assert converted.body == {"model": "m", "messages": QUESTION}
    assert {loss.path for loss in converted.losses} == {"/functions/0"} | ({"/function_call"} if choice != "auto" else set())


def test_a_function_of_the_name_gives_the_facts() -> None:
    """A service looks facts up where it keeps them."""
    target = fb.Target("messages", model=lambda name: fb.ModelFacts(output_limit=len(name)))

    body = fb.convert_request({"model": "seven_7", "messages": QUESTION}, source="chat_completions", target=target).body

    assert body["max_tokens"] == 7


@pytest.mark.parametrize("field", ["output_limit", "max_output_tokens"])
def test_a_mapping_with_the_arguments_of_facts_is_an_error(field: str) -> None:
    """It looks like a table of models, none of which is the model of the request, and would have no effect."""
    target = fb.Target("messages", model={field: 5})  # type: ignore[dict-item]  # the mistake

    with pytest.raises(
        fb.ConfigurationError, match=rf"model maps '{field}' to an int, expected names of models .*ModelFacts\(...\)"
    ):
        fb.convert_request({"model": "m", "messages": QUESTION}, source="chat_completions", target=target)


def test_an_error_of_a_function_of_the_name_is_explained() -> None:
    """A batch must fail this line only, so the error is one of the library."""
    known: dict[str, fb.ModelFacts] = {}
    target = fb.Target("messages", model=lambda name: known[name])

    with pytest.raises(fb.ConfigurationError, match="the function for facts raised KeyError for the model 'm'"):
        fb.convert_request({"model": "m", "messages": QUESTION}, source="chat_completions", target=target)


def test_unknown_models_are_converted_without_facts() -> None:
    """A table never has all models, and a new one must work."""
    target = fb.Target("messages", model={"other": fb.ModelFacts(output_limit=1)})
    request = {"model": "m", "messages": QUESTION}

    with_table = fb.convert_request(request, source="chat_completions", target=target)

    assert with_table.body == fb.convert_request(request, source="chat_completions", target="messages").body


def _for_model(target: fb.Format, *refuses: str, dialect: str | None = None) -> fb.Target:
    return fb.Target(target, dialect=dialect, model=fb.ModelFacts(refuses=frozenset(refuses)))


LATER_INSTRUCTIONS = {
    "model": "m",
    "messages": [
        {"role": "system", "content": "Answer in Norwegian."},
        *QUESTION,
        {"role": "assistant", "content": "Deep."},
        {"role": "system", "content": "Use metres."},
        {"role": "user", "content": "How deep?"},
    ],
}


def test_later_instructions_become_a_part_of_system_for_a_model_that_refuses_them() -> None:
    """Claude before Opus 4.8: "role 'system' is not supported on this model" (anthropics/claude-code#61242)."""
    converted = fb.convert_request(
        LATER_INSTRUCTIONS, source="chat_completions", target=_for_model("messages", "later_instructions")
    )

    assert [block["text"] for block in converted.body["system"]] == ["Answer in Norwegian.", "Use metres."]
    assert [message["role"] for message in converted.body["messages"]] == ["user", "assistant", "user"]
    assert [(loss.path, loss.code, loss.severity) for loss in converted.losses] == [("/messages/3", "moved", "lossy")]


@pytest.mark.parametrize("target", fb.FORMATS)
def test_a_model_that_refuses_later_instructions_gets_the_same_body_as_such_a_server(target: fb.Format) -> None:
    """The limit of a model and that of a server have the same effect and the same loss."""
    rules = fb.DialectRules(server="A server", accepts_later_instructions=False)
    server = fb.Target(target, dialect=fb.Dialect("a_server", {target: rules}))

    for_model, for_server = (
        fb.convert_request(LATER_INSTRUCTIONS, source="chat_completions", target=each, model="m")
        for each in (_for_model(target, "later_instructions"), server)
    )

    assert for_model.body == for_server.body
    assert for_model.losses == for_server.losses


def test_later_instructions_move_in_a_body_of_the_same_format_too() -> None:
    """Claude Code sends such messages, and fields that only its server has must stay."""
    body = {"model": "m", "max_tokens": 5, "x_trace": 1, "messages": [*QUESTION, {"role": "system", "content": "Use metres."}]}

    for dialect in (None, "anthropic"):
        target = _for_model("messages", "later_instructions", dialect=dialect)
        converted = fb.convert_request(body, source="messages", target=target)
        assert converted.body == {"model": "m", "max_tokens": 5, "x_trace": 1, "system": "Use metres.", "messages": QUESTION}
        counted = fb.convert_count_request(body, source="messages", target=target)
        assert counted.body["system"] == "Use metres."


SCHEMA = {"type": "object", "properties": {"depth": {"type": "number"}}, "required": ["depth"], "additionalProperties": False}
WITH_SCHEMA = {
    "model": "m",
    "messages": QUESTION,
    "response_format": {"type": "json_schema", "json_schema": {"name": "depth", "strict": True, "schema": SCHEMA}},
}


@pytest.mark.parametrize(
    ("target", "expected"),
    [
        ("chat_completions", {"response_format": {"type": "json_object"}}),
        ("responses", {"text": {"format": {"type": "json_object"}}}),
        ("generate_content", {"generationConfig": {"responseMimeType": "application/json"}}),
    ],
)
def test_a_model_that_refuses_schemas_gets_json_mode(target: fb.Format, expected: dict[str, Any]) -> None:
    """A model without structured outputs often has JSON mode, and the caller needs JSON."""
    converted = fb.convert_request(WITH_SCHEMA, source="chat_completions", target=_for_model(target, "json_schema"), model="m")

    assert expected.items() <= converted.body.items()
    assert [(loss.path, loss.kind, loss.severity, loss.code) for loss in converted.losses] == [
        ("/response_format", "changed", "lossy", "refused_by_model")
    ]


def test_a_claude_model_that_refuses_schemas_gets_the_schema_in_an_instruction() -> None:
    """Messages has no JSON mode. The model can follow a schema that it reads."""
    body = fb.convert_request(WITH_SCHEMA, source="chat_completions", target=_for_model("messages", "json_schema")).body

    assert "output_config" not in body
    assert '"depth"' in body["system"]


def test_json_mode_stays_for_a_model_that_refuses_schemas_only() -> None:
    """``output_format`` refuses both."""
    request = WITH_SCHEMA | {"response_format": {"type": "json_object"}}

    kept, without = (
        fb.convert_request(request, source="chat_completions", target=_for_model("responses", name)).body
        for name in ("json_schema", "output_format")
    )

    assert kept["text"] == {"format": {"type": "json_object"}}
    assert "text" not in without


def test_a_schema_is_left_out_where_neither_the_model_has_schemas_nor_the_server_json_mode() -> None:
    """The server would turn JSON mode into a schema, which the model rejects."""
    rules = fb.DialectRules(server="A server", output_formats=frozenset({"json_schema"}))
    dialect = fb.Dialect("a_server", {"chat_completions": rules})
    target = fb.Target("chat_completions", dialect=dialect, model=fb.ModelFacts(refuses=frozenset({"json_schema"})))

    for format in (WITH_SCHEMA["response_format"], {"type": "json_object"}):
        converted = fb.convert_request(WITH_SCHEMA | {"response_format": format}, source="chat_completions", target=target)
        assert "response_format" not in converted.body
        assert [loss.severity for loss in converted.losses] == ["impossible"]


FUNCTION = {"type": "function", "name": "depth", "parameters": {"type": "object", "properties": {}}}
WITH_TOOLS = {"model": "m", "input": "How deep?", "store": False, "tools": [FUNCTION, {"type": "web_search"}]}


@pytest.mark.parametrize("dialect", [None, "gemini", "vertex"])
def test_a_model_without_combined_tools_gets_functions_only(dialect: str | None) -> None:
    """Gemini 2.5: "Multiple tools are supported only when they are all search tools" (BerriAI/litellm#26682)."""
    target = _for_model("generate_content", "combined_tools", dialect=dialect)

    converted = fb.convert_request(WITH_TOOLS, source="responses", target=target)

    assert [list(tool) for tool in converted.body["tools"]] == [["functionDeclarations"]]
    assert "toolConfig" not in converted.body
    assert [(loss.path, loss.severity, loss.code) for loss in converted.losses] == [("/tools/1", "lossy", "refused_combination")]


def test_a_model_without_combined_tools_keeps_server_tools_without_functions() -> None:
    """Search tools alone are accepted, several of them too."""
    request = WITH_TOOLS | {"tools": [{"type": "web_search"}, {"type": "code_interpreter", "container": {"type": "auto"}}]}

    body = fb.convert_request(request, source="responses", target=_for_model("generate_content", "combined_tools")).body

    assert body["tools"] == [{"googleSearch": {}}, {"codeExecution": {}}]


def test_a_model_without_combined_tools_keeps_the_flag_out_of_a_body_of_the_same_format() -> None:
    """Without tools of the server the flag for the combination has no meaning."""
    contents = [{"role": "user", "parts": [{"text": "How deep?"}]}]
    functions: dict[str, Any] = {"functionDeclarations": [{"name": "depth"}]}
    search: dict[str, Any] = {"googleSearch": {}}
    computer: dict[str, Any] = {"computerUse": {"environment": "ENVIRONMENT_BROWSER"}}
    target = _for_model("generate_content", "combined_tools")

    for tools in ([functions, search, computer], [functions | search, computer], [functions | search | computer]):
        body = {"contents": contents, "tools": tools, "toolConfig": {"includeServerSideToolInvocations": True}}
        converted = fb.convert_request(body, source="generate_content", target=target, model="m")

        assert converted.body == {"contents": contents, "tools": [functions, computer]}
        assert [loss.code for loss in converted.losses if loss.path.startswith("/tools/")] == ["refused_combination"]


def test_a_model_without_combined_tools_keeps_tools_that_the_caller_runs() -> None:
    """The vendor defines them, but the caller runs them, as it does its functions."""
    tools = [{"name": "f", "input_schema": {"type": "object"}}, {"type": "bash_20250124", "name": "bash"}]
    request = {"model": "m", "max_tokens": 9, "messages": [{"role": "user", "content": "List files."}], "tools": tools}

    converted = fb.convert_request(request, source="messages", target=_for_model("messages", "combined_tools"))

    assert converted.body == request
    assert not converted.losses


@pytest.mark.parametrize("target", fb.FORMATS)
@pytest.mark.parametrize(("choice", "is_lost"), [("auto", True), ("required", True), ("none", False)])
def test_a_model_without_json_next_to_functions_gets_the_functions(target: fb.FormatName, choice: str, is_lost: bool) -> None:
    """Gemini 2.5: "Function calling with a response mime type: 'application/json' is unsupported" (googleapis/python-genai#867)."""
    question = {"role": "user", "content": "How deep? Answer as JSON."}
    tools = [{"type": "function", "function": {"name": "depth", "parameters": {"type": "object", "properties": {}}}}]
    request = {
        "model": "m",
        "messages": [question],
        "tools": tools,
        "response_format": {"type": "json_object"},
        "tool_choice": choice,
    }

    converted = fb.convert_request(request, source="chat_completions", target=_for_model(target, "json_with_functions"))

    assert "tools" in converted.body
    losses = [(loss.path, loss.severity) for loss in converted.losses if loss.code == "refused_combination"]
    assert losses == ([("/response_format", "lossy")] if is_lost else [])


@pytest.mark.parametrize("target", fb.FORMATS)
def test_a_model_without_prefill_gets_no_final_turn_of_the_model(target: fb.FormatName) -> None:
    """Claude Opus 4.6: "This model does not support assistant message prefill" (anomalyco/opencode#22404)."""
    question = {"role": "user", "content": "How deep?"}
    request = {"model": "m", "max_tokens": 99, "messages": [question, {"role": "assistant", "content": "It is"}]}

    converted = fb.convert_request(request, source="messages", target=_for_model(target, "prefill"))

    without = fb.convert_request(request | {"messages": [question]}, source="messages", target=target)
    assert converted.body == without.body
    assert [(loss.path, loss.severity) for loss in converted.losses] == [("/messages/1", "lossy")]


@pytest.mark.parametrize(
    ("choice", "expected"),
    [
        ({"type": "web_search"}, None),
        ({"type": "allowed_tools", "mode": "auto", "tools": [{"type": "web_search"}]}, None),
        (
            {"type": "allowed_tools", "mode": "auto", "tools": [{"type": "web_search"}, {"type": "function", "name": "depth"}]},
            {"type": "allowed_tools", "mode": "auto", "tools": [{"type": "function", "name": "depth"}]},
        ),
        ("required", "required"),
    ],
)
def test_a_tool_choice_names_no_tool_that_is_left_out(choice: object, expected: object) -> None:
    """Servers reject a choice of a tool that the request does not have."""
    request = WITH_TOOLS | {"tool_choice": choice}

    body = fb.convert_request(request, source="responses", target=_for_model("responses", "combined_tools")).body

    assert body["tools"] == [FUNCTION]
    assert body.get("tool_choice") == expected


def test_every_name_that_a_model_may_refuse_is_documented() -> None:
    """A user can only use a name whose effect the documentation has."""
    page = (Path(__file__).parents[2] / "docs" / "model-facts.md").read_text(encoding="utf-8")
    section = page.partition("## What a model refuses")[2].partition("\n## ")[0]
    rows = dict(re.findall(r"^\| `(\w+)` \|.*\| (.+) \|$", section, re.MULTILINE))
    settings = " ".join(line for line in section.splitlines() if line.startswith("- "))

    assert rows.keys() == FEATURES
    assert all(effect.strip() for effect in rows.values())
    assert {name for name in PARAMETERS - FEATURES if f"`{name}`" not in settings} == set()


def test_an_unknown_name_that_a_model_may_refuse_is_an_error_with_all_known_names() -> None:
    """A misspelt name would otherwise have no effect."""
    with pytest.raises(fb.ConfigurationError, match="refuses has 'later_instruction'") as caught:
        fb.ModelFacts(refuses=frozenset({"later_instruction"}))

    assert all(name in str(caught.value) for name in PARAMETERS)


def test_a_choice_of_a_server_tool_is_free_for_a_model_that_always_reasons() -> None:
    """A server that rejects a forced call with reasoning rejects that of a server tool too, and the report must be true."""
    rules = fb.DialectRules(server="mine", forced_call_excludes_reasoning=True)
    target: Any = fb.Target("messages", dialect=fb.Dialect("mine", {"messages": rules}), model=fb.ModelFacts(reasoning="always"))

    converted = fb.convert_request(WITH_TOOLS | {"tool_choice": {"type": "web_search"}}, source="responses", target=target)

    assert converted.body["tool_choice"] == {"type": "auto"}
    assert [(loss.path, loss.code) for loss in converted.losses if loss.severity != "info"] == [
        ("/tool_choice", "reasoning_stays_on")
    ]
