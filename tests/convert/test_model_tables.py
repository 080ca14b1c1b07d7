"""Facts about models are read from the tables that users have, and from nothing else."""

from __future__ import annotations

import json
from typing import Any

import pytest

import formatbridge as fb

ANTHROPIC = {
    "data": [
        {
            "type": "model",
            "id": "claude-a",
            "display_name": "A",
            "max_input_tokens": 200_000,
            "max_tokens": 64_000,
            "capabilities": {
                "effort": {"supported": True, "low": {"supported": True}, "high": {"supported": True}, "max": {"supported": False}},
                "image_input": {"supported": True},
                "pdf_input": {"supported": False},
                "thinking": {"supported": True, "types": {"adaptive": {"supported": False}, "enabled": {"supported": True}}},
            },
        }
    ],
    "has_more": False,
}
OPENROUTER = {
    "data": [
        {
            "id": "vendor/m",
            "context_length": 131_072,
            "architecture": {"input_modalities": ["text", "image", "file"], "output_modalities": ["text"]},
            "top_provider": {"max_completion_tokens": 32_768},
            "supported_parameters": [
                "reasoning",
                "tools",
                "tool_choice",
                "response_format",
                "temperature",
                "top_p",
                "stop",
                "seed",
            ],
            "reasoning": {"supported_efforts": ["low", "high"], "mandatory": False},
        }
    ]
}
GEMINI = {"models": [{"name": "models/g", "inputTokenLimit": 1_048_576, "outputTokenLimit": 65_536, "thinking": False}]}
LITELLM = {
    "sample_spec": {"litellm_provider": "one of ...", "max_output_tokens": "the longest answer"},
    "l": {
        "litellm_provider": "openai", "mode": "chat", "max_input_tokens": 400_000, "max_output_tokens": 128_000,
        "supports_reasoning": True, "supports_vision": True, "supports_pdf_input": False, "supports_function_calling": False,
        "supports_minimal_reasoning_effort": True,
    },
    "e": {"litellm_provider": "openai", "mode": "embedding"},
}  # fmt: skip
MODELS_DEV = {
    "first": {
        "id": "first",
        "models": {
            "d": {
                "id": "d", "reasoning": True, "tool_call": True, "temperature": False, "limit": {"context": 1000, "output": 100},
                "modalities": {"input": ["text", "pdf"], "output": ["text"]},
                "reasoning_options": [{"type": "effort", "values": ["low", "medium"]}],
            },
        },
    },
    "second": {"id": "second", "models": {"d": {"id": "d", "reasoning": False, "limit": {"context": 5, "output": 4}}}},
}  # fmt: skip


def test_a_list_of_models_of_messages_gives_limits_thinking_efforts_and_inputs() -> None:
    """Anthropic's list has the capabilities of each model, so a caller needs no other table."""
    facts = fb.load_model_facts(ANTHROPIC)["claude-a"]

    assert facts == fb.ModelFacts(
        output_limit=64_000,
        context=200_000,
        reasoning="budget",
        efforts=("low", "high"),
        budgets=(1024, None),
        inputs=frozenset({"text", "image"}),
    )


def test_a_model_of_anthropic_on_bedrock_without_adaptive_thinking_takes_a_budget() -> None:
    """Claude 4.5 rejects adaptive thinking on every server; models of other vendors on Bedrock have no such budget."""
    names = ("us.anthropic.claude-sonnet-4-5-20250929-v1:0", "amazon.nova-pro-v1:0")
    rows = {name: {"litellm_provider": "bedrock_converse", "mode": "chat", "supports_reasoning": True} for name in names}

    facts = fb.load_model_facts(rows)

    assert [facts[name].reasoning for name in names] == ["budget", None]


def test_a_model_of_anthropic_that_rejects_disabled_thinking_always_reasons() -> None:
    """A request that turns its thinking off would be rejected."""
    types = {"adaptive": {"supported": True}, "enabled": {"supported": False}, "disabled": {"supported": False}}
    capabilities = {"effort": {"supported": True, "low": {"supported": True}}, "thinking": {"supported": True, "types": types}}
    model = {"id": "claude-a", "type": "model", "display_name": "A", "created_at": "2026-06-09T00:00:00Z"}

    facts = fb.load_model_facts({"data": [model | {"capabilities": capabilities}], "has_more": False}, source="messages")

    assert (facts["claude-a"].reasoning, facts["claude-a"].efforts) == ("always", ("low",))


def test_a_list_of_openrouter_gives_the_parameters_that_a_model_lacks() -> None:
    """OpenRouter lists what a model supports; all other parameters are refused or ignored there."""
    facts = fb.load_model_facts(json.dumps(OPENROUTER))["vendor/m"]

    assert facts.refuses == {"top_k", "logprobs", "top_logprobs", "presence_penalty", "frequency_penalty"}
    assert (facts.context, facts.output_limit, facts.reasoning, facts.efforts) == (
        131_072,
        32_768,
        "effort",
        ("none", "low", "high"),
    )
    assert facts.inputs == frozenset({"text", "image", "document"})
    assert facts.outputs == frozenset({"text"})


def test_a_model_of_openrouter_with_mandatory_reasoning_always_reasons() -> None:
    """OpenRouter rejects the effort ``none`` for it."""
    model = {
        "id": "vendor/m",
        "supported_parameters": ["reasoning"],
        "reasoning": {"mandatory": True, "supported_efforts": ["high"]},
    }

    facts = fb.load_model_facts({"data": [model]}, source="chat_completions")["vendor/m"]

    assert (facts.reasoning, facts.efforts) == ("always", ("high",))


def test_a_list_of_gemini_states_the_models_that_do_not_reason() -> None:
    """The list of Gemini has ``thinking``, which is false for models without reasoning."""
    facts = fb.load_model_facts(GEMINI)["g"]

    assert facts == fb.ModelFacts(output_limit=65_536, context=1_048_576, reasoning="none")


def test_a_limit_that_became_a_float_is_read() -> None:
    """Data frames and spreadsheets make floats of columns with gaps."""
    facts = fb.load_model_facts({"m": {"litellm_provider": "openai", "mode": "chat", "max_output_tokens": 8192.0}})

    assert facts["m"].output_limit == 8192


def test_the_table_of_litellm_gives_facts_of_chat_models_only() -> None:
    """Its first row describes the columns, and rows of embeddings concern other endpoints."""
    table = fb.load_model_facts(LITELLM)

    assert set(table) == {"l"}
    assert table["l"] == fb.ModelFacts(
        output_limit=128_000,
        context=400_000,
        refuses=frozenset({"tools", "tool_choice"}),
        reasoning="effort",
        efforts=("minimal", "low", "medium", "high"),
        inputs=frozenset({"text", "image", "audio", "video"}),
    )


@pytest.mark.parametrize(
    ("row", "expected"),
    [
        ({"litellm_provider": "anthropic", "supports_reasoning": True}, ("budget", (), (1024, None))),
        (
            {"litellm_provider": "anthropic", "supports_adaptive_thinking": True, "supports_max_reasoning_effort": True},
            ("adaptive", ("low", "medium", "high", "max"), None),
        ),
        (
            {"litellm_provider": "anthropic", "thinking_always_on": True, "supports_output_config": True},
            ("always", ("low", "medium", "high"), None),
        ),
        ({"litellm_provider": "openai", "supports_reasoning": True}, ("effort", (), None)),
        ({"litellm_provider": "novita", "supports_reasoning": True}, (None, (), None)),
        ({"litellm_provider": "openai"}, (None, (), None)),
        (
            {"litellm_provider": "openai", "supports_low_reasoning_effort": False, "supports_xhigh_reasoning_effort": True},
            ("effort", ("medium", "high", "xhigh"), None),
        ),
        ({"litellm_provider": "moonshot", "reasoning_effort_levels": ["none", "high"]}, ("effort", ("none", "high"), None)),
        ({"litellm_provider": "openai", "supports_reasoning": False}, ("none", (), None)),
    ],
)
def test_the_columns_of_litellm_about_reasoning_are_read_as_litellm_reads_them(row: dict[str, Any], expected: Any) -> None:
    """Claude 4.5 has a budget and later models adaptive thinking, which one column of the table states."""
    facts = fb.load_model_facts({"m": row | {"mode": "chat"}}, kind="litellm")["m"]

    assert (facts.reasoning, facts.efforts, facts.budgets) == expected


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("gemini-2.5-pro", "budget"),
        ("gemini/gemini-2.5-flash", "budget"),
        ("gemini/gemini-3-pro-preview", "level"),
        ("gemini-10-flash", "level"),
        ("gemini/gemma-4-31b-it", None),
    ],
)
def test_a_model_of_google_in_litellms_table_has_the_control_of_its_version(name: str, kind: str | None) -> None:
    """The table states that a model reasons. LiteLLM itself reads from the name whether it takes a budget or a level."""
    row = {"litellm_provider": "gemini", "mode": "chat", "supports_reasoning": True}

    facts = fb.load_model_facts({name: row})[name]

    assert (facts.reasoning, facts.budgets) == (kind, None)


@pytest.mark.parametrize(
    ("row", "refused"),
    [
        ({"litellm_provider": "openai", "supports_parallel_function_calling": False}, {"parallel_tool_calls"}),
        ({"litellm_provider": "watsonx", "supports_parallel_function_calling": False}, set()),
        ({"litellm_provider": "anthropic", "supports_assistant_prefill": False}, {"prefill"}),
    ],
)
def test_the_flags_of_litellm_about_prefill_and_parallel_calls_are_read(row: dict[str, Any], refused: set[str]) -> None:
    """o3 rejects ``parallel_tool_calls``, and Claude Opus 4.6 a prefill; other servers ignore the former."""
    assert fb.load_model_facts({"m": row})["m"].refuses == refused


@pytest.mark.parametrize(
    ("columns", "missing"),
    [
        ({"supported_modalities": ["text", "image"]}, {"audio", "video"}),
        ({"supported_modalities": ["text", "image"], "supports_pdf_input": False}, {"audio", "video", "document"}),
        ({"supported_modalities": ["text"], "supports_vision": True}, {"audio", "video"}),
        ({"supports_vision": True, "supports_audio_input": False}, {"audio"}),
    ],
)
def test_the_columns_of_litellm_about_inputs_are_combined(columns: dict[str, Any], missing: set[str]) -> None:
    """One column lists the modalities but never documents. What no column states is unknown and is not left out of requests."""
    facts = fb.load_model_facts({"m": {"litellm_provider": "openai", **columns}})["m"]

    assert {"text", "image", "audio", "video", "document"} - (facts.inputs or set()) == missing


def test_a_flag_of_litellm_states_nothing_about_other_inputs() -> None:
    """Most rows have the flag for images only."""
    assert fb.load_model_facts({"m": {"litellm_provider": "openai", "supports_vision": True}})["m"].inputs is None


def test_a_model_of_litellm_without_sampling_parameters_refuses_them() -> None:
    """Claude Opus 4.7 and later models answer such a request with an error."""
    row = {"litellm_provider": "anthropic", "supports_sampling_params": False}

    assert fb.load_model_facts({"m": row})["m"].refuses == {"temperature", "top_p", "top_k"}


def test_the_catalog_of_models_dev_gives_facts_by_name_and_by_provider() -> None:
    """Several providers serve one model with other limits. The name without a provider is that of the first."""
    table = fb.load_model_facts(MODELS_DEV)

    assert set(table) == {"d", "first/d", "second/d"}
    assert table["d"] == table["first/d"]
    assert table["d"].refuses == {"temperature"}
    assert (table["d"].reasoning, table["d"].efforts) == ("effort", ("low", "medium"))
    assert table["d"].inputs == frozenset({"text", "document"})
    assert table["second/d"].reasoning == "none"


EFFORTS = {"type": "effort", "values": ["low", "high"]}
TOGGLE = {"type": "toggle"}


@pytest.mark.parametrize(
    ("package", "options", "expected"),
    [
        ("@ai-sdk/openai", [EFFORTS], ("effort", ("low", "high"), None)),
        ("@ai-sdk/openai-compatible", [TOGGLE, EFFORTS], ("effort", ("none", "low", "high"), None)),
        ("@ai-sdk/openai-compatible", [TOGGLE, {"type": "budget_tokens"}], ("budget", (), (1, None))),
        ("@ai-sdk/groq", [{"type": "effort", "values": ["none", "default"]}], ("effort", ("none", "default"), None)),
        ("@ai-sdk/openai-compatible", [], ("always", (), None)),
        ("@ai-sdk/openai-compatible", [TOGGLE], (None, (), None)),
        ("@ai-sdk/anthropic", [{"type": "budget_tokens", "min": 1024}], ("budget", (), (1024, None))),
        ("@ai-sdk/anthropic", [EFFORTS, {"type": "budget_tokens", "min": 1024}], ("budget", ("low", "high"), (1024, None))),
        ("@ai-sdk/anthropic", [TOGGLE, EFFORTS], ("adaptive", ("low", "high"), None)),
        ("@ai-sdk/anthropic", [EFFORTS], ("always", ("low", "high"), None)),
        ("@ai-sdk/google", [{"type": "budget_tokens", "min": 128, "max": 32_768}], ("always", (), (128, 32_768))),
        ("@ai-sdk/google", [TOGGLE, {"type": "budget_tokens", "min": 0, "max": 24_576}], ("budget", (), (1, 24_576))),
        ("@ai-sdk/google", [EFFORTS], ("level", ("low", "high"), None)),
    ],
)
def test_the_reasoning_options_of_models_dev_are_read_for_the_format_of_the_provider(
    package: str, options: list[Any], expected: Any
) -> None:
    """The same option is another field in each format: an effort is a level for Gemini, and adaptive thinking for Claude."""
    model = {"id": "m", "reasoning": True, "reasoning_options": options}
    catalog = {"p": {"id": "p", "npm": package, "models": {"m": model}}}

    facts = fb.load_model_facts(catalog)["m"]

    assert (facts.reasoning, facts.efforts, facts.budgets) == expected


def test_one_provider_of_models_dev_can_be_selected() -> None:
    """A hundred providers serve the same model with other limits, and the first is rarely the one that is called."""
    table = fb.load_model_facts(MODELS_DEV, provider="second")

    assert set(table) == {"d", "second/d"}
    assert table["d"].context == 5


@pytest.mark.parametrize(("table", "expected"), [(MODELS_DEV, "2 providers of the catalog"), (LITELLM, "1 providers of the table")])
def test_an_unknown_provider_is_rejected(table: Any, expected: str) -> None:
    """A misspelt provider must not give an empty table."""
    with pytest.raises(fb.ConfigurationError, match=f"provider is 'third', expected one of the {expected}"):
        fb.load_model_facts(table, provider="third")


PREFIXED = {
    "azure/m": {"litellm_provider": "azure", "max_output_tokens": 1},
    "mistral/m": {"litellm_provider": "mistral", "max_output_tokens": 2},
    "mistral/n": {"litellm_provider": "mistral", "max_output_tokens": 3},
    "vertex_ai/v": {"litellm_provider": "vertex_ai-language-models", "max_output_tokens": 4},
    "gemini/g": {"litellm_provider": "gemini", "max_output_tokens": 5},
    "g": {"litellm_provider": "vertex_ai-language-models", "max_output_tokens": 6},
}


@pytest.mark.parametrize(
    ("provider", "limits"),
    [
        (None, {"m": None, "n": 3, "v": 4, "g": 6, "mistral/m": 2}),
        ("mistral", {"m": 2, "n": 3, "v": None, "g": None}),
        ("gemini", {"m": None, "g": 5}),
        ("vertex_ai", {"v": 4, "g": 6, "gemini/g": None}),
    ],
)
def test_a_model_of_litellm_is_listed_by_the_name_that_its_server_reads(
    provider: str | None, limits: dict[str, int | None]
) -> None:
    """Mistral reads ``mistral-large-latest``, and LiteLLM lists ``mistral/mistral-large-latest`` and that of other providers."""
    facts = fb.load_model_facts(PREFIXED, provider=provider)

    assert {name: facts[name].output_limit if name in facts else None for name in limits} == limits


def test_a_mapping_of_names_to_arguments_is_read_as_facts() -> None:
    """Users keep such a table in a configuration file."""
    assert fb.load_model_facts({"m": {"output_limit": 5}}) == {"m": fb.ModelFacts(output_limit=5)}


@pytest.mark.parametrize(
    ("table", "message"),
    [
        ({"a": {"colour": "red"}}, "the form of the table is unknown"),
        ({}, "the form of the table is unknown"),
        ({"models": [], "data": 1}, "the table is no list of models"),
    ],
)
def test_a_table_of_no_known_form_is_rejected_with_what_was_expected(table: Any, message: str) -> None:
    """A wrong file must not become an empty table, because then nothing would be checked."""
    with pytest.raises(fb.ConfigurationError, match=message):
        fb.load_model_facts(table, source="chat_completions")


@pytest.mark.parametrize("kind", [None, "facts"])
def test_a_wrong_argument_in_a_table_is_named_with_the_allowed_ones(kind: Any) -> None:
    """A user corrects the key; a message about the form of the table would hide it."""
    with pytest.raises(fb.ConfigurationError) as caught:
        fb.load_model_facts({"m": {"output_limit": 5, "effort": ["low"]}}, kind=kind)

    assert str(caught.value) == (
        "the facts about 'm' have the key 'effort': perhaps efforts; "
        "expected keys among budgets, context, efforts, inputs, output_limit, outputs, reasoning, refuses"
    )


def test_a_wrong_value_in_a_table_is_reported_with_its_model() -> None:
    """A table has many models."""
    with pytest.raises(fb.ConfigurationError, match="the facts about 'b': output_limit is -1, expected"):
        fb.load_model_facts({"a": {"output_limit": 5}, "b": {"output_limit": -1}})


@pytest.mark.parametrize(("table", "type"), [([], "a list"), ("[]", "a list"), ("5", "an int")])
def test_a_table_that_is_no_object_is_rejected_with_what_was_expected(table: Any, type: str) -> None:
    """A list is no answer of an endpoint that lists models, whose models are in a field."""
    with pytest.raises(fb.ConfigurationError, match=f"the table is {type}, expected a list of models, LiteLLM's table"):
        fb.load_model_facts(table)


def test_a_list_of_models_of_no_known_format_is_rejected_with_what_to_pass() -> None:
    """The word for the document is not that of the internal kind."""
    with pytest.raises(fb.ConfigurationError, match="source is missing, and the list of models matches no format"):
        fb.load_model_facts({"data": []})


def test_a_model_without_structured_outputs_refuses_schemas_and_keeps_json_mode() -> None:
    """Both flags are about schemas. Sources: LiteLLM, docs/completion/json_mode.md; models.dev, README.md."""
    of_litellm = fb.load_model_facts({"m": {"litellm_provider": "openai", "supports_response_schema": False}})
    catalog = {"p": {"id": "p", "models": {name: {"id": name, "structured_output": name == "yes"} for name in ("yes", "no")}}}
    of_models_dev = fb.load_model_facts(catalog)

    assert of_litellm["m"].refuses == {"json_schema"}
    assert of_models_dev["no"].refuses == {"json_schema"}
    assert of_models_dev["yes"].refuses == frozenset()


def test_litellm_states_which_models_of_anthropic_accept_later_instructions() -> None:
    """The column lists the models that accept them; an older table without the column states nothing."""
    old = {"litellm_provider": "anthropic", "mode": "chat"}
    new = old | {"supports_mid_conversation_system": True}
    other = {"litellm_provider": "openai", "mode": "chat"}

    table = fb.load_model_facts(
        {"old": old, "new": new, "other": other, "none": other | {"supports_mid_conversation_system": False}}
    )

    refusing = {name for name, facts in table.items() if "later_instructions" in facts.refuses}
    assert refusing == {"old", "none"}
    assert fb.load_model_facts({"old": old})["old"].refuses == frozenset()


def test_an_unknown_kind_of_table_is_rejected_with_the_known_ones() -> None:
    """A misspelt kind must not fall back to another one."""
    with pytest.raises(fb.ConfigurationError, match="kind is 'lite', expected model_list, litellm, models_dev or facts"):
        fb.load_model_facts({}, kind="lite")  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"output_limit": 0}, "output_limit is 0, expected None or an integer of 1 or more"),
        ({"reasoning": "deep"}, "reasoning is 'deep', expected None or one of effort, budget"),
        ({"refuses": {"temprature"}}, "refuses has 'temprature', expected names among"),
        ({"refuses": "seed"}, "refuses is a str, expected a set of names"),
        ({"efforts": ("huge",)}, "efforts has 'huge'"),
        ({"inputs": {"smell"}}, "inputs has 'smell'"),
    ],
)
def test_facts_with_an_unknown_name_are_rejected_with_the_known_ones(arguments: dict[str, Any], message: str) -> None:
    """A misspelt parameter would otherwise be sent and refused."""
    with pytest.raises(fb.ConfigurationError, match=message):
        fb.ModelFacts(**arguments)
