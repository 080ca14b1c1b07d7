"""Settings of reasoning: modes, budgets and summaries."""

from __future__ import annotations

from typing import Any, get_args

import pytest

import formatbridge as fb
from formatbridge.dialect import ReasoningControl

ASKED = [{"role": "user", "content": "x"}]


def test_a_loss_of_reasoning_points_to_the_field_with_text() -> None:
    """An empty list next to the summary is no reasoning."""
    reasoning = {"type": "reasoning", "id": "rs_1", "summary": [{"type": "summary_text", "text": "So."}], "content": []}

    converted = fb.convert_request({"model": "m", "input": [reasoning, *ASKED]}, source="responses", target="messages")

    assert {loss.path: loss.before for loss in converted.losses}["/input/0/summary"] == reasoning["summary"]


@pytest.mark.parametrize(("target", "place"), [("chat_completions", ["reasoning_effort"]), ("responses", ["reasoning", "effort"])])
def test_thinking_between_tools_becomes_effort_none_in_formats_without_it(target: fb.Format, place: list[str]) -> None:
    """An effort would turn on the reasoning before the answer."""
    request = {"thinking": {"type": "between_tools"}, "output_config": {"effort": "low"}}

    converted = fb.convert_request(
        {"model": "m", "max_tokens": 9000, "messages": ASKED, **request}, source="messages", target=target
    )

    written: Any = converted.body
    for step in place:
        written = written[step]
    assert written == "none"
    assert {(loss.path, loss.kind) for loss in converted.losses} == {
        ("/thinking/type", "changed"),
        ("/output_config/effort", "dropped"),
    }


def test_shown_reasoning_without_thinking_is_reported() -> None:
    """It has no effect if thinking is off; law 1 requires it in the report."""
    config = {"thinkingConfig": {"thinkingBudget": 0, "includeThoughts": True}}
    body = {"contents": [{"parts": [{"text": "x"}]}], "generationConfig": config}

    converted = fb.convert_request(body, source="generate_content", target="messages", model="m")

    assert converted.body["thinking"] == {"type": "disabled"}
    assert [(loss.path, loss.severity) for loss in converted.losses] == [
        ("/generationConfig/thinkingConfig/includeThoughts", "info")
    ]


@pytest.mark.parametrize(
    ("target", "result"),
    [
        ("chat_completions", {"reasoning_effort": "high"}),
        ("responses", {"reasoning": {"effort": "high"}}),
        (
            "generate_content",
            {"generationConfig": {"maxOutputTokens": 9000, "thinkingConfig": {"thinkingBudget": -1, "includeThoughts": True}}},
        ),
    ],
)
def test_thinking_without_a_budget_is_requested(target: fb.Format, result: dict[str, Any]) -> None:
    """Some clients leave the budget to the server; without the field recent models would not reason at all."""
    body = {"model": "m", "max_tokens": 9000, "messages": ASKED, "thinking": {"type": "enabled"}}

    converted = fb.convert_request(body, source="messages", target=target)

    assert result.items() <= converted.body.items()
    assert [(loss.path, loss.kind, loss.severity) for loss in converted.losses] == [("/thinking/type", "changed", "lossy")]


@pytest.mark.parametrize("effort", ["none", "high"])
@pytest.mark.parametrize("control", get_args(ReasoningControl))
def test_settings_that_are_written_for_a_server_pass_unchanged_to_it(control: ReasoningControl, effort: str) -> None:
    """The settings of each kind of server can be decoded, and a request in these fields needs no change."""
    rules = fb.DialectRules(server="S", reasoning_control=control)
    target = fb.Target("chat_completions", dialect=fb.Dialect("s", {"chat_completions": rules}))
    request = {"model": "m", "input": ASKED, "reasoning": {"effort": effort}}

    written = fb.convert_request(request, source="responses", target=target)
    again = fb.convert_request(written.body, source="chat_completions", target=target)

    assert (again.body, [*again.losses]) == (written.body, [])
