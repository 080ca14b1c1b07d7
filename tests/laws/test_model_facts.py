"""A request that is written for a model has only what the model accepts, whatever the source is."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

import formatbridge as fb
from formatbridge import formats, ir
from formatbridge.convert.input import check
from formatbridge.formats.model_facts import MediaKind
from formatbridge.testing.vendor_rules import Facts, broken_rules
from tests.corpus import requires_corpus
from tests.laws.test_vendor_rules import agents
from tests.support.laws import Sample, recorded, shipped
from tests.support.vendor_rules import is_omission

SAMPLING = frozenset({"temperature", "top_p", "top_k"})
WITHOUT_AUDIO: frozenset[MediaKind] = frozenset({"text", "image", "document"})
MODELS: dict[str, tuple[fb.Format, fb.ModelFacts]] = {
    "claude-sonnet-4-5": (
        "messages",
        fb.ModelFacts(output_limit=64_000, reasoning="budget", budgets=(1024, None), refuses=frozenset({"top_p"})),
    ),
    "claude-sonnet-4-0": (
        "messages",
        fb.ModelFacts(
            output_limit=64_000, reasoning="budget", budgets=(1024, None), refuses=frozenset({"json_schema", "later_instructions"})
        ),
    ),
    "claude-opus-4-6": (
        "messages",
        fb.ModelFacts(output_limit=128_000, reasoning="adaptive", efforts=("low", "medium", "high", "max")),
    ),
    "claude-fable-5": ("messages", fb.ModelFacts(reasoning="always", efforts=("low", "high", "max"), refuses=SAMPLING)),
    "gemini-2.5-pro": ("generate_content", fb.ModelFacts(output_limit=65_536, reasoning="always", budgets=(128, 32_768))),
    "gemini-2.5-flash": (
        "generate_content",
        fb.ModelFacts(
            output_limit=65_536, reasoning="budget", budgets=(1, 24_576), refuses=frozenset({"combined_tools", "json_schema"})
        ),
    ),
    "gemini-3-pro-preview": ("generate_content", fb.ModelFacts(output_limit=65_536, reasoning="level", efforts=("low", "high"))),
    "gpt-4.1": ("responses", fb.ModelFacts(output_limit=32_768, reasoning="none", inputs=WITHOUT_AUDIO)),
    "gpt-5.1": ("responses", fb.ModelFacts(reasoning="effort", efforts=("none", "low", "medium", "high"))),
    "a-small-model": ("responses", fb.ModelFacts(refuses=frozenset({"combined_tools", "json_schema", "later_instructions"}))),
    "gpt-5.6": (
        "chat_completions",
        fb.ModelFacts(
            reasoning="effort",
            efforts=("none", "low", "medium", "high", "xhigh"),
            refuses=frozenset({"reasoning_with_functions", "temperature", "top_p"}),
        ),
    ),
    "o3": (
        "chat_completions",
        fb.ModelFacts(
            output_limit=100_000, reasoning="effort", efforts=("low", "medium", "high"), refuses=SAMPLING | {"stop", "n"}
        ),
    ),
    "grok-4.20-0309-reasoning": (
        "chat_completions",
        fb.ModelFacts(reasoning="always", refuses=frozenset({"stop", "presence_penalty"})),
    ),
    "a-text-model": (
        "chat_completions",
        fb.ModelFacts(output_limit=10, reasoning="none", inputs=frozenset({"text"}), refuses=frozenset({"tools"})),
    ),
    "a-local-model": (
        "chat_completions",
        fb.ModelFacts(refuses=frozenset({"combined_tools", "json_schema", "later_instructions"})),
    ),
}
"""Models to the format of their vendor and the facts about them."""
every_model = pytest.mark.parametrize("name", MODELS)


def _media(request: ir.Request) -> Iterator[ir.Media]:
    for message in request.messages:
        for part in message.parts:
            parts = part.content if isinstance(part, ir.ToolResult) else [part]
            yield from (inner for inner in parts if isinstance(inner, ir.Media))


def _refused_features(request: ir.Request, refused: frozenset[str]) -> Iterator[str]:
    """Yield what a model does not accept although each of its parts is a setting that it does."""
    if "json_schema" in refused and request.output_format is not None and request.output_format.type == "json_schema":
        yield "an output format with a schema"
    built_in = [
        tool for tool in request.tools if isinstance(tool, ir.HostedTool) and tool.family in ("web_search", "web_fetch", "code")
    ]
    if "combined_tools" in refused and built_in and any(isinstance(tool, ir.FunctionTool) for tool in request.tools):
        yield "functions and tools that the server runs"
    if "later_instructions" in refused and _has_later_instructions(request):
        yield "instructions after the first turn"


def _has_later_instructions(request: ir.Request) -> bool:
    roles = [message.role in ("system", "developer") for message in request.messages]
    return roles != sorted(roles, reverse=True)


def _problems(request: ir.Request, facts: fb.ModelFacts, spec: fb.FormatSpec) -> Iterator[str]:
    """Yield what a model with these facts does not accept."""
    if refused := facts.refuses & request.settings.keys():
        yield f"refused settings {sorted(refused)}"
    if "tools" in facts.refuses and request.tools:
        yield "tools"
    yield from _refused_features(request, facts.refuses)
    if facts.output_limit is not None and request.settings.get("max_tokens", 0) > facts.output_limit:
        yield f"a limit of {request.settings['max_tokens']}"
    if facts.inputs is not None and (kinds := {part.kind for part in _media(request)} - facts.inputs):
        yield f"media {sorted(kinds)}"
    if request.reasoning is not None:
        yield from _reasoning_problems(request.reasoning, facts, spec)
    for message in request.messages:
        if message.effort is not None:
            yield from _effort_problems(message.effort, facts)


def _reasoning_problems(config: ir.ReasoningConfig, facts: fb.ModelFacts, spec: fb.FormatSpec) -> Iterator[str]:
    effort, budget = config.effort, config.budget
    is_off = config.mode == "off" or effort == "none"
    if facts.reasoning == "none" or (is_off and facts.reasoning in ("always", "level")):
        yield f"reasoning {config}"
    if is_off and facts.reasoning == "effort" and "none" not in facts.efforts:
        yield "reasoning turned off"
    if facts.efforts and effort not in (None, "none", *facts.efforts):
        yield f"effort {effort}"
    if budget is not None:
        smallest, largest = facts.budgets or (1, None)
        is_outside = budget < smallest or (largest is not None and budget > largest)
        if facts.reasoning in ("adaptive", "level", "effort") or is_outside:
            yield f"a budget of {budget}"
    # Google accepts a budget of -1, for which the model decides (ai.google.dev/gemini-api/docs/thinking, thinking budgets).
    if facts.reasoning == "budget" and config.mode == "adaptive" and not spec.has_automatic_budget:
        yield "adaptive reasoning"
    if facts.reasoning == "always" and not facts.efforts and facts.budgets is None and (effort or budget):
        yield f"an amount of reasoning {config}"


def _effort_problems(effort: ir.Effort, facts: fb.ModelFacts) -> Iterator[str]:
    """Yield what a model does not accept of the effort from a message on."""
    has_no_efforts = facts.reasoning in ("budget", "always") and not facts.efforts
    if facts.reasoning == "none" or has_no_efforts or (facts.efforts and effort not in facts.efforts):
        yield f"effort {effort} of a message"


def _converted(sample: Sample, name: str) -> fb.ConvertedRequest | None:
    format, facts = MODELS[name]
    target: Any = fb.Target(format, model=facts)
    try:
        return fb.convert_request(sample.body, source=sample.format, target=target, model=name)
    except fb.InvalidPayloadError:
        return None


def _breaches(samples: list[Sample], name: str) -> Iterator[str]:
    format, facts = MODELS[name]
    spec = formats.load(format)
    for sample in samples:
        converted = _converted(sample, name)
        if converted is None:
            continue
        body = check(converted.body, spec, "request")
        problems = list(_problems(spec.decode_request(body, model=name, stream=converted.stream), facts, spec))
        if sample.format != format:  # the body of a caller of the same format keeps errors that the facts do not concern
            excludes_functions = "reasoning_with_functions" in facts.refuses
            broken = broken_rules(format, converted.body, Facts(model=converted.model, excludes_functions=excludes_functions))
            problems += [rule.name for rule, _ in broken if not is_omission(rule.name, sample, converted.losses)]
        yield from (f"{sample}: {problem}" for problem in problems)


def _requests(is_recorded: bool) -> list[Sample]:
    if not is_recorded:
        return [sample for format in fb.FORMATS for sample in shipped(format, "request")]
    return [sample for format in fb.FORMATS for sample in (*list(recorded(format, "request"))[::7], *agents(format))]


@every_model
def test_a_fixture_that_is_written_for_a_model_has_only_what_it_accepts(name: str) -> None:
    """The server of the vendor answers each of these with 400."""
    assert list(_breaches(_requests(False), name)) == []


@requires_corpus
@every_model
def test_a_recording_that_is_written_for_a_model_has_only_what_it_accepts(name: str) -> None:
    """Recorded requests have combinations of settings that no fixture has."""
    assert list(_breaches(_requests(True), name)) == []


@every_model
def test_each_loss_for_a_model_names_a_value_of_the_source(name: str) -> None:
    """A change of a value that an earlier change created has no place in the source, and the report would name the whole body."""
    changes = [
        (str(sample), str(loss))
        for sample in _requests(False)
        if (converted := _converted(sample, name)) is not None
        for loss in converted.losses
        if loss.path == ""
    ]
    assert changes == []


@every_model
def test_a_second_conversion_for_the_same_model_changes_nothing(name: str) -> None:
    """Otherwise one of the two requests has something that the model does not accept, or lost too much."""
    format, facts = MODELS[name]
    target: Any = fb.Target(format, model=facts)
    problems = []
    for sample in _requests(False):
        once = _converted(sample, name)
        if once is None:
            continue
        again = fb.convert_request(once.body, source=format, target=target, model=name)
        if again.body != once.body or again.losses:
            problems.append((str(sample), [str(loss) for loss in again.losses]))

    assert problems == []


def test_empty_facts_change_nothing() -> None:
    """A table has models without facts that concern a request."""
    for target in fb.FORMATS:
        with_facts: Any = fb.Target(target, model=fb.ModelFacts())
        for sample in _requests(False):
            try:
                without_facts = fb.convert_request(sample.body, source=sample.format, target=target, model="m")
            except fb.InvalidPayloadError:
                continue
            converted = fb.convert_request(sample.body, source=sample.format, target=with_facts, model="m")
            assert converted.body == without_facts.body, sample
            assert converted.losses == without_facts.losses, sample
