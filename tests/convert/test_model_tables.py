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
        output_limit=64_000, context=200_000, reasoning="budget", efforts=("low", "high"), inputs=frozenset({"text", "image"})
    )


def test_a_list_of_openrouter_gives_the_parameters_that_a_model_lacks() -> None:
    """OpenRouter lists what a model supports; all other parameters are refused or ignored there."""
    facts = fb.load_model_facts(json.dumps(OPENROUTER))["vendor/m"]

    assert facts.refuses == {"top_k", "logprobs", "top_logprobs", "presence_penalty", "frequency_penalty"}
    assert (facts.context, facts.output_limit, facts.reasoning, facts.efforts) == (131_072, 32_768, "effort", ("low", "high"))
    assert facts.inputs == frozenset({"text", "image", "document"})
    assert facts.outputs == frozenset({"text"})


def test_a_list_of_gemini_states_the_models_that_do_not_reason() -> None:
    """The list of Gemini has ``thinking``, which is false for models without reasoning."""
    facts = fb.load_model_facts(GEMINI)["g"]

    assert facts == fb.ModelFacts(output_limit=65_536, context=1_048_576, reasoning="none")


def test_the_table_of_litellm_gives_facts_of_chat_models_only() -> None:
    """Its first row describes the columns, and rows of embeddings concern other endpoints."""
    table = fb.load_model_facts(LITELLM)

    assert set(table) == {"l"}
    assert table["l"] == fb.ModelFacts(
        output_limit=128_000,
        context=400_000,
        refuses=frozenset({"tools", "tool_choice"}),
        efforts=("minimal", "low", "medium", "high"),
        inputs=frozenset({"text", "image"}),
    )


def test_the_catalog_of_models_dev_gives_facts_by_name_and_by_provider() -> None:
    """Several providers serve one model with other limits. The plain name is that of the first."""
    table = fb.load_model_facts(MODELS_DEV)

    assert set(table) == {"d", "first/d", "second/d"}
    assert table["d"] == table["first/d"]
    assert table["d"].refuses == {"temperature"}
    assert (table["d"].reasoning, table["d"].efforts) == ("effort", ("low", "medium"))
    assert table["d"].inputs == frozenset({"text", "document"})
    assert table["second/d"].reasoning == "none"


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


def test_a_wrong_kind_is_rejected_by_name() -> None:
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
