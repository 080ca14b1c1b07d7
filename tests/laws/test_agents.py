"""Recorded requests of coding agents lose only values without a counterpart in the target."""

from __future__ import annotations

import json
import re
from typing import Any

import formatbridge as fb
from tests.laws.test_vendor_rules import agents, every_direction, requires_agents
from tests.support.directions import DIRECTIONS

CHAT, MESSAGES, RESPONSES, GENERATE = fb.FORMATS
UNSIGNED = "the target accepts reasoning with its signature only"
FOREIGN = "a token of another vendor, which no other vendor can read"
NAMESPACE = "other formats have no namespaces; the names are restored in the answer"
FREE_FORM = "messages and generate_content have no free-form tools"
NO_GRAMMAR = "a JSON argument is held to no grammar"
NO_BUDGET = "formats without a budget in tokens have words of effort"
NO_SUMMARY = "chat_completions has no field that asks for a summary"
NO_THINKING = "messages refuses thinking where the history of a call in progress has none"
LOST: dict[tuple[str, str, str, str], tuple[tuple[str, ...], str]] = {
    (CHAT, "/messages/*/reasoning_content", "lossy", "unsigned_reasoning"): ((MESSAGES, RESPONSES), UNSIGNED),
    (GENERATE, "/contents/*/parts/*/text", "lossy", "unsigned_reasoning"): ((MESSAGES, RESPONSES), UNSIGNED),
    (GENERATE, "/contents/*/parts/*/thoughtSignature", "lossy", "foreign_signature"): ((CHAT, RESPONSES), FOREIGN),
    (GENERATE, "/generationConfig/thinkingConfig/includeThoughts", "lossy", "lacks_reasoning"): ((MESSAGES,), NO_THINKING),
    (GENERATE, "/generationConfig/thinkingConfig/includeThoughts", "lossy", "no_counterpart"): ((CHAT,), NO_SUMMARY),
    (GENERATE, "/generationConfig/thinkingConfig/thinkingBudget", "lossy", "lacks_reasoning"): ((MESSAGES,), NO_THINKING),
    (GENERATE, "/generationConfig/thinkingConfig/thinkingBudget", "lossy", "nearest_value"): ((CHAT, RESPONSES), NO_BUDGET),
    (GENERATE, "/generationConfig/topK", "lossy", "no_counterpart"): ((CHAT, RESPONSES), "the OpenAI formats have no top_k"),
    (MESSAGES, "/messages/*/content/*/signature", "lossy", "foreign_signature"): ((CHAT, RESPONSES, GENERATE), FOREIGN),
    (MESSAGES, "/messages/*/content/*/thinking", "lossy", "unsigned_reasoning"): ((RESPONSES,), UNSIGNED),
    (MESSAGES, "/thinking/budget_tokens", "lossy", "nearest_value"): ((CHAT, RESPONSES), NO_BUDGET),
    (MESSAGES, "/thinking/display", "lossy", "no_counterpart"): ((CHAT,), NO_SUMMARY),
    (RESPONSES, "/input/*/encrypted_content", "lossy", "foreign_signature"): ((CHAT, MESSAGES, GENERATE), FOREIGN),
    (RESPONSES, "/input/*/summary", "lossy", "unsigned_reasoning"): ((MESSAGES,), UNSIGNED),
    (RESPONSES, "/input/*/tools/*", "lossy", "namespace"): ((CHAT, MESSAGES, GENERATE), NAMESPACE),
    (RESPONSES, "/input/*/tools/*/tools/*", "lossy", "wrapped"): ((MESSAGES, GENERATE), FREE_FORM),
    (RESPONSES, "/input/*/tools/*/tools/*/format", "lossy", "no_counterpart"): ((MESSAGES, GENERATE), NO_GRAMMAR),
    (RESPONSES, "/parallel_tool_calls", "lossy", "no_counterpart"): (
        (GENERATE,),
        "generate_content may always ask for several calls",
    ),
    (RESPONSES, "/reasoning/context", "lossy", "no_counterpart"): (
        (CHAT, MESSAGES, GENERATE),
        "no other format chooses which earlier reasoning the model sees",
    ),
    (RESPONSES, "/reasoning/summary", "lossy", "no_counterpart"): ((CHAT,), NO_SUMMARY),
    (RESPONSES, "/text/verbosity", "lossy", "no_counterpart"): (
        (MESSAGES, GENERATE),
        "messages and generate_content have no verbosity",
    ),
    (RESPONSES, "/tools/*", "lossy", "namespace"): ((CHAT, MESSAGES, GENERATE), NAMESPACE),
    (RESPONSES, "/tools/*", "lossy", "wrapped"): ((MESSAGES, GENERATE), FREE_FORM),
    (RESPONSES, "/tools/*/format", "lossy", "no_counterpart"): ((MESSAGES, GENERATE), NO_GRAMMAR),
    (RESPONSES, "/tools/*/search_content_types", "lossy", "no_counterpart"): (
        (CHAT, MESSAGES, GENERATE),
        "no other search returns images",
    ),
}
"""Source, pointer (``*``: an index), severity and code of each loss above ``info``; its targets, and why it has no counterpart."""


@requires_agents
@every_direction
def test_an_agents_request_loses_exactly_what_has_no_counterpart(source: fb.Format, target: fb.Format) -> None:
    """An agent runs through a conversion that raises on a more severe loss; a row that no request needs any more is removed."""
    result = set()
    for sample in agents(source):
        for loss in sample.convert(sample.body, target).losses:
            if loss.severity != "info":
                result.add((source, re.sub(r"/\d+(?=/|$)", "/*", loss.path), loss.severity, loss.code))

    assert result == {row for row, (targets, _) in LOST.items() if row[0] == source and target in targets}


@requires_agents
def test_the_agents_use_every_format() -> None:
    """Each direction has a request to convert; otherwise the table would prove nothing."""
    assert [source for source in dict(DIRECTIONS) if not list(agents(source))] == []


@requires_agents
def test_the_tools_of_an_agent_are_in_the_request() -> None:
    """Codex CLI sends its tools and instructions as the first items; the beta for tools in mid-conversation is not needed."""
    for sample in agents(RESPONSES):
        converted: Any = fb.convert_request(sample.body, source=RESPONSES, target=MESSAGES).body

        assert "tool_addition" not in json.dumps(converted), sample.id
        assert converted["system"], sample.id
        assert converted["tools"], sample.id
        assert all(turn["role"] != "system" for turn in converted["messages"][:1]), sample.id
