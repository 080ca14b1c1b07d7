"""Reasoning is requested as a model accepts it, and each difference is in the report."""

from __future__ import annotations

from typing import Any

import pytest

import formatbridge as fb
from formatbridge import ir

QUESTION = [{"role": "user", "content": "How deep is the fjord?"}]
LOW_TO_MAX: tuple[ir.Effort, ...] = ("low", "medium", "high", "xhigh", "max")
O3 = fb.ModelFacts(reasoning="effort", efforts=("low", "medium", "high"))
GPT_5_1 = fb.ModelFacts(reasoning="effort", efforts=("none", "low", "medium", "high"))
FABLE_5 = fb.ModelFacts(reasoning="always", efforts=LOW_TO_MAX)
OPUS_4_6 = fb.ModelFacts(reasoning="adaptive", efforts=("low", "medium", "high", "max"))
SONNET_4_5 = fb.ModelFacts(reasoning="budget", output_limit=64_000, budgets=(1024, None))
GEMINI_2_5_PRO = fb.ModelFacts(reasoning="always", budgets=(128, 32_768), output_limit=65_536)
GEMINI_2_5_FLASH = fb.ModelFacts(reasoning="budget", budgets=(1, 24_576))
GEMINI_3_PRO = fb.ModelFacts(reasoning="level", efforts=("low", "high"))
LEVEL_ONLY = fb.ModelFacts(reasoning="level")


def _convert(target: Any, facts: fb.ModelFacts, **request: Any) -> fb.ConvertedRequest:
    body = {"model": "m", "messages": QUESTION} | request
    return fb.convert_request(body, source="chat_completions", target=fb.Target(target, model=facts))


def _reasoning(converted: fb.ConvertedRequest) -> Any:
    """Return the fields of a request that control reasoning, without whether it is shown."""
    body = converted.body
    config = body.get("generationConfig", {}).get("thinkingConfig")
    if config is not None:
        return {key: value for key, value in config.items() if key != "includeThoughts"}
    return {key: body[key] for key in ("reasoning_effort", "reasoning", "thinking", "output_config") if key in body}


@pytest.mark.parametrize(
    ("target", "facts", "expected"),
    [
        ("responses", O3, {"reasoning": {"effort": "low"}}),
        ("chat_completions", O3, {"reasoning_effort": "low"}),
        ("messages", FABLE_5, {"thinking": {"type": "adaptive"}, "output_config": {"effort": "low"}}),
        ("generate_content", GEMINI_2_5_PRO, {"thinkingBudget": 128}),
        ("generate_content", GEMINI_3_PRO, {"thinkingLevel": "LOW"}),
        ("generate_content", LEVEL_ONLY, {"thinkingLevel": "LOW"}),
    ],
    ids=["o3", "o3 in its format", "claude-fable-5", "gemini-2.5-pro", "gemini-3-pro", "level"],
)
def test_a_model_that_cannot_stop_reasoning_reasons_as_little_as_it_can(
    target: fb.Format, facts: fb.ModelFacts, expected: Any
) -> None:
    """These models reject a request that turns reasoning off, and a request without a setting would reason more."""
    converted = _convert(target, facts, reasoning_effort="none")

    assert _reasoning(converted) == expected
    assert [(loss.path, loss.code) for loss in converted.losses] == [("/reasoning_effort", "reasoning_stays_on")]


def test_an_effort_next_to_disabled_reasoning_is_reported_if_the_model_gets_another() -> None:
    """Both fields are of the caller, and neither reaches a model that cannot stop reasoning."""
    converted = _convert("chat_completions", O3, enable_thinking=False, reasoning_effort="high")

    assert _reasoning(converted) == {"reasoning_effort": "low"}
    assert {loss.path for loss in converted.losses} == {"/enable_thinking", "/reasoning_effort"}


@pytest.mark.parametrize(
    ("target", "facts", "expected"),
    [
        ("responses", GPT_5_1, {"reasoning": {"effort": "none"}}),
        ("messages", OPUS_4_6, {"thinking": {"type": "disabled"}}),
        ("messages", SONNET_4_5, {"thinking": {"type": "disabled"}}),
        ("generate_content", GEMINI_2_5_FLASH, {"thinkingBudget": 0}),
    ],
    ids=["gpt-5.1", "claude-opus-4-6", "claude-sonnet-4-5", "gemini-2.5-flash"],
)
def test_reasoning_is_turned_off_where_the_model_allows_it(target: fb.Format, facts: fb.ModelFacts, expected: Any) -> None:
    """The efforts and budgets of a model are amounts; turning reasoning off is separate from them."""
    converted = _convert(target, facts, reasoning_effort="none")

    assert _reasoning(converted) == expected
    assert converted.losses == ()


def test_a_small_effort_never_turns_reasoning_off() -> None:
    """Of the known efforts ``none`` is the nearest to ``minimal``, but the caller wants some reasoning."""
    converted = _convert("responses", fb.ModelFacts(reasoning="effort", efforts=("none", "high")), reasoning_effort="minimal")

    assert converted.body["reasoning"] == {"effort": "high"}


@pytest.mark.parametrize(
    ("effort", "limits", "budget"),
    [
        ("max", {}, 32_000),
        ("high", {}, 24_576),
        ("high", {"max_completion_tokens": 10_000}, 5000),
        ("low", {"max_completion_tokens": 10_000}, 1024),
    ],
)
def test_a_budget_for_an_effort_leaves_half_of_the_answer_for_text(effort: str, limits: dict[str, int], budget: int) -> None:
    """The budget is a part of ``max_tokens``: a model that spends all of it on reasoning writes no answer."""
    converted = _convert("messages", SONNET_4_5, reasoning_effort=effort, **limits)

    assert converted.body["thinking"] == {"type": "enabled", "budget_tokens": budget}
    assert converted.body["max_tokens"] == limits.get("max_completion_tokens", 64_000)


def test_an_answer_that_is_too_short_for_a_budget_has_no_reasoning() -> None:
    """Anthropic requires 1,024 tokens of reasoning, and more than these for the answer."""
    converted = _convert("messages", SONNET_4_5, reasoning_effort="high", max_completion_tokens=1024)

    assert "thinking" not in converted.body
    assert [(loss.path, loss.kind, loss.code) for loss in converted.losses] == [
        ("/reasoning_effort", "dropped", "reasoning_budget")
    ]


@pytest.mark.parametrize("efforts", [("none",), ("none", "default"), ("default",)])
@pytest.mark.parametrize("setting", [{"reasoning_effort": "high"}, {"thinking": {"type": "enabled", "budget_tokens": 4000}}])
def test_an_amount_for_a_model_whose_reasoning_is_on_or_off_is_reported(setting: dict[str, Any], efforts: Any) -> None:
    """Qwen on Groq accepts ``none`` and ``default``, which is the same as no effort (earendil-works/pi#1745)."""
    converted = _convert("chat_completions", fb.ModelFacts(reasoning="effort", efforts=efforts), **setting)

    assert "reasoning_effort" not in converted.body
    assert [(loss.kind, loss.code) for loss in converted.losses if loss.path != "/thinking/type"] == [
        ("dropped", "reasoning_control")
    ]


@pytest.mark.parametrize("source", ["chat_completions", "responses"])
@pytest.mark.parametrize(
    ("dialect", "efforts", "effort", "expected"),
    [
        ("mistral", ("low", "medium", "high"), "low", "high"),
        ("mistral", ("low", "medium", "high"), "none", "high"),
        ("mistral", ("low", "medium"), "medium", "high"),
        ("mistral", ("low", "medium"), "high", "high"),
        ("mistral", ("none", "low"), "none", "none"),
        ("deepseek", ("low", "medium", "high"), "medium", "high"),
        ("deepseek", ("low", "medium"), "medium", "low"),
        ("deepseek", ("low", "medium"), "high", "low"),
    ],
)
def test_an_effort_is_one_that_the_server_and_the_model_accept(
    dialect: str, efforts: Any, effort: str, expected: str, source: fb.Format
) -> None:
    """Facts may be those of another server. The server decides then, and the report states what it gets."""
    target = fb.Target("chat_completions", dialect=dialect, model=fb.ModelFacts(reasoning="effort", efforts=efforts))
    chat = {"model": "m", "messages": QUESTION, "reasoning_effort": effort}
    body = chat if source == "chat_completions" else {"model": "m", "input": "Hi", "reasoning": {"effort": effort}}

    converted = fb.convert_request(body, source=source, target=target)

    assert converted.body["reasoning_effort"] == expected
    assert [loss.after for loss in converted.losses] == ([expected] if effort != expected else [])


@pytest.mark.parametrize(("effort", "expected"), [("none", "none"), ("default", "default"), ("max", "high")])
def test_the_word_default_among_the_efforts_of_a_model_is_no_amount(effort: str, expected: str) -> None:
    """Groq has this word, and a caller of Groq may send it."""
    facts = fb.ModelFacts(reasoning="effort", efforts=("none", "default", "low", "medium", "high"))
    target = fb.Target("chat_completions", dialect="groq", model=facts)

    converted = fb.convert_request(
        {"model": "m", "messages": QUESTION, "reasoning_effort": effort}, source="chat_completions", target=target
    )

    assert converted.body["reasoning_effort"] == expected


def test_a_budget_becomes_an_effort_that_the_model_has() -> None:
    """One loss names the budget and the effort that the target receives."""
    facts = fb.ModelFacts(reasoning="effort", efforts=("low", "high"))

    converted = _convert("responses", facts, thinking={"type": "enabled", "budget_tokens": 4000})

    assert converted.body["reasoning"] == {"effort": "low"}
    assert [(loss.path, loss.after) for loss in converted.losses] == [("/thinking/budget_tokens", "low")]


@pytest.mark.parametrize(("budget", "expected"), [(100, 128), (1000, 1000), (40_000, 32_768)])
def test_a_budget_outside_the_bounds_of_the_model_becomes_the_nearest(budget: int, expected: int) -> None:
    """Google rejects a budget outside the range of the model."""
    converted = _convert("generate_content", GEMINI_2_5_PRO, thinking={"type": "enabled", "budget_tokens": budget})

    assert _reasoning(converted) == {"thinkingBudget": expected}
    codes = [loss.code for loss in converted.losses]
    assert codes == ([] if budget == expected else ["reasoning_budget"])


def test_a_budget_above_the_output_limit_is_reduced() -> None:
    """Anthropic rejects a budget that is not below ``max_tokens``, and a ``max_tokens`` above the limit of the model."""
    converted = _convert("messages", SONNET_4_5, thinking={"type": "enabled", "budget_tokens": 100_000})

    assert converted.body["max_tokens"] == 64_000
    assert converted.body["thinking"] == {"type": "enabled", "budget_tokens": 32_000}
    assert [(loss.path, loss.code) for loss in converted.losses] == [("/thinking/budget_tokens", "reasoning_budget")]


@pytest.mark.parametrize(("limit", "budget"), [(1400, 1024), (1000, None)])
def test_a_budget_above_a_small_output_limit_is_reported_as_it_is_sent(limit: int, budget: int | None) -> None:
    """Anthropic requires 1,024 tokens of reasoning. A report with another number misleads a reader who looks for the cause."""
    facts = fb.ModelFacts(reasoning="budget", output_limit=limit)

    converted = _convert("messages", facts, thinking={"type": "enabled", "budget_tokens": 1500}, max_tokens=2000)

    assert converted.body.get("thinking", {}).get("budget_tokens") == budget
    losses = [(loss.kind, loss.after) for loss in converted.losses if "thinking" in loss.path]
    assert losses == ([("dropped", None)] * 2 if budget is None else [("changed", budget)])


@pytest.mark.parametrize("target", ["chat_completions", "responses"])
def test_an_effort_stays_an_effort_in_a_format_without_budgets(target: fb.Format) -> None:
    """A server of these formats that serves such a model translates the effort itself."""
    converted = _convert(target, SONNET_4_5, reasoning_effort="high")

    assert _reasoning(converted) in ({"reasoning_effort": "high"}, {"reasoning": {"effort": "high"}})
    assert converted.losses == ()


def test_a_model_that_reasons_by_level_gets_no_budget() -> None:
    """Gemini 3 reads a level; a budget of -1, which leaves the amount to the model, is for Gemini 2.5."""
    converted = fb.convert_request(
        {"model": "m", "max_tokens": 9, "messages": QUESTION, "thinking": {"type": "adaptive"}},
        source="messages",
        target=fb.Target("generate_content", model=GEMINI_3_PRO),
    )

    assert _reasoning(converted) == {"thinkingLevel": "HIGH"}


@pytest.mark.parametrize("facts", [GEMINI_2_5_PRO, GEMINI_2_5_FLASH])
def test_a_model_with_budgets_of_google_may_decide_how_much_it_reasons(facts: fb.ModelFacts) -> None:
    """A budget of -1 leaves the amount to the model (ai.google.dev/gemini-api/docs/thinking), so it does not become a number."""
    body = {"contents": [{"parts": [{"text": "Hi"}]}], "generationConfig": {"thinkingConfig": {"thinkingBudget": -1}}}
    same_format = fb.convert_request(body, source="generate_content", target=fb.Target("generate_content", model=facts), model="m")
    other_format = _convert("generate_content", facts, thinking={"type": "adaptive"})

    assert _reasoning(same_format) == {"thinkingBudget": -1}
    assert _reasoning(other_format)["thinkingBudget"] == -1
    assert same_format.losses == other_format.losses == ()


def test_a_budget_in_place_of_adaptive_reasoning_is_a_loss_next_to_an_effort_too() -> None:
    """The effort of the caller stays, but the model no longer decides how much it reasons."""
    facts = fb.ModelFacts(reasoning="budget", efforts=("low", "medium", "high"), budgets=(1024, None))

    converted = _convert("messages", facts, thinking={"type": "adaptive"}, reasoning_effort="high")

    assert _reasoning(converted)["thinking"]["type"] == "enabled"
    assert [(loss.path, loss.code) for loss in converted.losses] == [("/thinking/type", "reasoning_control")]


@pytest.mark.parametrize(
    ("facts", "thinking"),
    [(SONNET_4_5, {"type": "disabled"}), (OPUS_4_6, {"type": "between_tools"}), (FABLE_5, {"type": "adaptive"})],
)
def test_thinking_between_tools_is_sent_to_adaptive_models_only(facts: fb.ModelFacts, thinking: Any) -> None:
    """It turns reasoning off, except for progress updates; models with a budget reject it."""
    body = {"model": "m", "max_tokens": 9000, "messages": QUESTION, "thinking": {"type": "between_tools"}}

    converted = fb.convert_request(body, source="messages", target=fb.Target("messages", model=facts))

    assert converted.body["thinking"] == thinking


@pytest.mark.parametrize("budgets", [(0, 5), (9, 5), (1,), "ab", 5, (1, 2.5)])
def test_budgets_that_are_no_range_are_rejected(budgets: Any) -> None:
    """A single number is easily passed for the range."""
    with pytest.raises(fb.ConfigurationError, match=r"budgets is .*, expected None or the smallest and the largest budget"):
        fb.ModelFacts(budgets=budgets)


def test_reasoning_that_a_forced_call_excludes_is_reported_once() -> None:
    """Anthropic rejects thinking with a forced call, so facts about budgets do not count and no tokens are reserved."""
    tool = {"type": "function", "function": {"name": "depth", "parameters": {"type": "object"}}}

    converted = _convert(
        "messages",
        fb.ModelFacts(reasoning="budget", output_limit=9000, budgets=(1024, None)),
        reasoning_effort="high",
        tools=[tool],
        tool_choice="required",
    )

    assert "thinking" not in converted.body
    assert converted.body["max_tokens"] == 9000
    assert [loss.path for loss in converted.losses] == ["/reasoning_effort"]


def _with_effort_of_message(target: Any, facts: fb.ModelFacts, effort: str) -> fb.ConvertedRequest:
    update = {"type": "configuration_update", "reasoning": {"effort": effort}}
    body = {"model": "m", "input": [*QUESTION, update, {"role": "user", "content": "Think again."}]}
    return fb.convert_request(body, source="responses", target=fb.Target(target, model=facts))


@pytest.mark.parametrize(
    ("facts", "effort", "expected"), [(OPUS_4_6, "xhigh", "high"), (OPUS_4_6, "max", "max"), (FABLE_5, "none", "low")]
)
def test_an_effort_from_a_message_on_becomes_one_that_the_model_has(facts: fb.ModelFacts, effort: str, expected: str) -> None:
    """An agent that raises the effort in the middle of a conversation does not know the efforts of each model."""
    converted = _with_effort_of_message("messages", facts, effort)

    efforts = [turn["output_config"]["effort"] for turn in converted.body["messages"] if turn["role"] == "system"]
    assert efforts == [expected]
    changes = [(loss.path, loss.kind, loss.after) for loss in converted.losses]
    assert changes == ([("/input/1/reasoning/effort", "changed", expected)] if effort != expected else [])


@pytest.mark.parametrize(
    ("target", "facts", "code"),
    [
        ("messages", SONNET_4_5, "reasoning_control"),
        ("messages", fb.ModelFacts(reasoning="none"), "no_reasoning"),
        ("responses", fb.ModelFacts(reasoning="none"), "no_reasoning"),
        ("responses", fb.ModelFacts(reasoning="always"), "always_reasons"),
    ],
)
def test_an_effort_from_a_message_on_is_left_out_for_a_model_without_efforts(
    target: fb.Format, facts: fb.ModelFacts, code: str
) -> None:
    """The server of the vendor rejects the request, and no format has a budget for a single message."""
    converted = _with_effort_of_message(target, facts, "high")

    assert "effort" not in str(converted.body)
    assert [(loss.path, loss.kind, loss.code) for loss in converted.losses] == [("/input/1/reasoning/effort", "dropped", code)]


def test_no_reasoning_from_a_message_on_is_no_loss_for_a_model_that_does_not_reason() -> None:
    """The model does what the message asks for."""
    converted = _with_effort_of_message("responses", fb.ModelFacts(reasoning="none"), "none")

    assert "effort" not in str(converted.body)
    assert converted.losses == ()


_FUNCTION = {"type": "function", "function": {"name": "now", "parameters": {"type": "object", "properties": {}}}}
_BUDGET = {"reasoning": {"max_tokens": 2048}}
_FORCED = {"tools": [_FUNCTION], "tool_choice": "required"}


@pytest.mark.parametrize(
    ("format", "dialect", "facts", "fields", "expected"),
    [
        ("chat_completions", "openai", fb.ModelFacts(efforts=("medium",)), _BUDGET, {"reasoning_effort": "medium"}),
        ("responses", "xai", fb.ModelFacts(efforts=("medium",)), {"enable_thinking": True}, {"reasoning": {"effort": "medium"}}),
        (
            "messages",
            "deepseek",
            fb.ModelFacts(efforts=("low",)),
            _BUDGET | _FORCED,
            {"thinking": {"type": "adaptive"}, "output_config": {"effort": "low"}},
        ),
        (
            "messages",
            "deepseek",
            fb.ModelFacts(reasoning="budget"),
            {"reasoning_effort": "low"},
            {"thinking": {"type": "adaptive"}, "output_config": {"effort": "low"}},
        ),
        ("chat_completions", "deepseek", fb.ModelFacts(reasoning="none"), _FORCED, {}),
        ("chat_completions", "minimax", LEVEL_ONLY, _BUDGET, {"thinking": {"type": "adaptive"}}),
        (
            "messages",
            None,
            fb.ModelFacts(reasoning="always", efforts=("none", "low")),
            {"reasoning_effort": "none"},
            {"thinking": {"type": "adaptive"}, "output_config": {"effort": "low"}},
        ),
    ],
)
def test_a_request_for_a_model_is_unchanged_when_it_is_converted_again(
    format: str, dialect: str | None, facts: fb.ModelFacts, fields: dict[str, Any], expected: dict[str, Any]
) -> None:
    """A gateway may receive requests that another one has written for the same model of the same server."""
    target: Any = fb.Target(format, dialect=dialect, model=facts)
    body = {"model": "m", "messages": QUESTION} | fields

    converted = fb.convert_request(body, source="chat_completions", target=target)
    again = fb.convert_request(converted.body, source=target, target=target)

    assert _reasoning(converted) == expected
    assert (again.body, again.losses, again.additions) == (converted.body, (), ())
