"""A body is detected from its keys and values, with reasons."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import replace
from itertools import chain
from time import perf_counter
from typing import Any, cast, get_args

import pytest

import formatbridge as fb
from formatbridge import formats
from formatbridge.formats.format import Kind
from tests.corpus import requires_corpus
from tests.fixtures import Fixture, convert, fixtures
from tests.laws.test_vendor_rules import agents, requires_agents
from tests.support.for_each import for_each
from tests.support.laws import Sample, recorded, shipped

FOREIGN_SHAPES = {
    "error-messages_shape-chat_completions",
    "error-messages_shape-responses",
    "error-status_shape-chat_completions",
    "error-status_shape-responses",
}
"""Errors that a relay sends in the exact shape of another format. Detection names that shape."""
MAX_UNSURE = 0.05


def outcomes(samples: Iterable[Sample]) -> tuple[list[str], float]:
    """Return the ids of bodies with a wrong detection, and the share of bodies without one."""
    detected = [(fb.detect_format(sample.body), sample) for sample in samples]
    wrong = [
        sample.id
        for detection, sample in detected
        if detection.is_sure and (detection.format, detection.kind) != (sample.format, sample.kind)
    ]
    return wrong, sum(not detection.is_sure for detection, _ in detected) / len(detected)


@for_each("fixture", fixtures("response"))
def test_a_response_is_detected(fixture: Fixture) -> None:
    """Bodies of each format name it, or have keys that no other format has."""
    detected = fb.detect_format(fixture.body)

    assert (detected.format, detected.kind) == (fixture.format, "response")
    assert detected.confidence > 0
    assert detected.reasons


def test_no_sure_detection_of_a_fixture_is_wrong() -> None:
    """Most unsure fixtures are errors and lists of models that chat_completions and responses share.

    The others are requests that two formats accept with the same meaning, so the limit counts requests and responses alone.
    """
    wrong, _ = outcomes(sample for sample in shipped() if sample.id not in FOREIGN_SHAPES)
    _, unsure = outcomes(sample for sample in shipped() if sample.kind in ("request", "response"))

    assert wrong == []
    assert unsure <= MAX_UNSURE


@requires_corpus
def test_no_sure_detection_of_a_recorded_body_is_wrong() -> None:
    """Automatic conversion depends on it."""
    wrong, unsure = outcomes(recorded())

    assert wrong == []
    assert unsure <= MAX_UNSURE


@requires_agents
def test_every_request_of_an_agent_is_detected() -> None:
    """Such requests have tools, which have another form in each format."""
    assert outcomes(chain.from_iterable(agents(format) for format in fb.FORMATS)) == ([], 0.0)


@requires_corpus
@requires_agents
def test_few_bodies_are_ambiguous() -> None:
    """The limit counts all kinds of documents, in fixtures, recorded bodies and requests of agents."""
    _, unsure = outcomes(chain(shipped(), recorded(), *map(agents, fb.FORMATS)))

    assert unsure <= MAX_UNSURE


def test_detection_costs_less_than_conversion() -> None:
    """A gateway detects the format of each body. The limit is one conversion; the measured total is a third of it."""
    bodies = [(json.dumps(fixture.body).encode(), fixture) for fixture in fixtures("request")]
    started = perf_counter()
    for body, _ in bodies:
        fb.detect_format(body)
    detected = perf_counter()
    for body, fixture in bodies:
        convert(body, fixture, "messages" if fixture.format != "messages" else "responses")
    converted = perf_counter()

    assert detected - started <= converted - detected


AMBIGUOUS: dict[str, Any] = {"model": "m", "max_tokens": 5, "messages": [{"role": "user", "content": "hi"}]}
"""A request that is valid in messages and in chat_completions."""


def test_an_ambiguous_body_has_candidates_and_no_format() -> None:
    """A caller can show the candidates to a user."""
    detection = fb.detect_format(AMBIGUOUS)

    assert (detection.format, detection.kind, detection.is_sure) == (None, "request", False)
    assert {candidate.format for candidate in detection.candidates} == {"messages", "chat_completions"}
    assert all(candidate.reasons for candidate in detection.candidates)


@for_each("fixture", fixtures("request"))
def test_a_missing_source_is_detected_or_refused(fixture: Fixture) -> None:
    """The result is that of the right source, or an error that names the formats."""
    sources = fb.detect_format(fixture.body)

    if sources.is_sure:
        detection = fb.convert_request(json.dumps(fixture.body), target="messages", model=fixture.model)
        assert detection.source == fixture.format
    else:
        with pytest.raises(fb.ConfigurationError, match=r"may be .* or .*: pass source="):
            fb.convert_request(fixture.body, target="messages", model=fixture.model)


def test_each_conversion_detects_the_kind_that_it_converts() -> None:
    """A body of another kind is no evidence for a response, an error or a list."""
    response = {"type": "message", "role": "assistant", "content": [{"type": "text", "text": "hi"}], "stop_reason": "end_turn"}
    error = {"error": {"code": 429, "message": "slow down", "status": "RESOURCE_EXHAUSTED"}}
    models = {"models": [{"name": "models/m"}]}

    assert fb.convert_response(response, target="responses").source == "messages"
    assert fb.convert_error(error, target="messages", status=429).source == "generate_content"
    assert fb.convert_error([error], target="messages", status=429).source == "generate_content"
    assert fb.convert_models(models, target="messages").source == "generate_content"
    with pytest.raises(fb.ConfigurationError, match="the request matches no format: pass source="):
        fb.convert_request(response, target="responses")
    with pytest.raises(fb.ConfigurationError, match="the error is no JSON object"):
        fb.convert_error(b"Bad gateway", target="messages", status=502)


CONTENT = {(name, kind): field for name in fb.FORMATS for kind, field in formats.load(name).content_fields.items()}


@pytest.mark.parametrize("kind", get_args(Kind))
def test_a_body_without_the_content_field_of_its_stated_source_is_rejected(kind: Kind) -> None:
    """A body without the content field of the stated format, but with that of another one, is rejected."""
    for fixture in fixtures(kind):
        content_field = CONTENT.get((cast(fb.Format, fixture.format), kind))
        for source in fb.FORMATS:
            field = CONTENT.get((source, kind))
            if content_field is None or field in fixture.body or not fixture.body.get(content_field):
                continue
            with pytest.raises(fb.InvalidPayloadError, match=f"looks like a {kind} of .*{fixture.format}"):
                convert(fixture.body, replace(fixture, format=source, model="m"), "messages")


def test_a_body_without_evidence_has_no_format() -> None:
    """A body of no format has no format."""
    detected = fb.detect_format({"hello": 1})

    assert detected == fb.Detection(None, None, 0.0, ())


@pytest.mark.parametrize(
    "body", [{"text": "hello"}, {"prompt": "hello"}, {"reasoning": "because"}, {"thinking": "hm"}, {"messages": 5}]
)
def test_a_key_with_a_value_of_another_type_is_no_evidence(body: dict[str, object]) -> None:
    """Automatic conversion must not fail for a format that the body does not have."""
    assert fb.detect_format(body).format is None


USER = {"role": "user", "content": "hi"}
CHAT: dict[str, dict[str, object]] = {
    "a choice that is a word": {"messages": [USER], "tool_choice": "required", "thinking": {"type": "enabled"}},
    "reasoning in the history": {
        "messages": [
            {"role": "system", "content": "s"},
            USER,
            {"role": "assistant", "content": "a", "reasoning_content": "b"},
            USER,
        ],
        "thinking": {"type": "enabled"},
    },
    "reasoning as blocks in the history": {
        "messages": [USER, {"role": "assistant", "content": "a", "thinking_blocks": [{"type": "thinking", "thinking": "b"}]}, USER]
    },
    "a system message first": {
        "messages": [{"role": "system", "content": [{"type": "text", "text": "s", "cache_control": {"type": "ephemeral"}}]}, USER]
    },
    "a refusal in the history": {"messages": [USER, {"role": "assistant", "content": None, "refusal": "no"}]},
    "audio in the history": {"messages": [USER, {"role": "assistant", "audio": {"id": "a"}}]},
    "a switch of Z.ai next to a budget": {
        "messages": [USER],
        "thinking": {"type": "enabled", "budget_tokens": 4096, "clear_thinking": False},
    },
    "a custom tool": {"messages": [USER], "tools": [{"type": "custom", "custom": {"name": "f"}}]},
    "storing": {"messages": [USER], "store": True},
    "a tier": {"messages": [USER], "service_tier": "flex"},
}


@pytest.mark.parametrize("body", CHAT.values(), ids=CHAT)
def test_evidence_of_chat_completions_outweighs_max_tokens(body: dict[str, object]) -> None:
    """Most of its servers accept ``max_tokens``, which messages requires, and some accept ``thinking``."""
    assert fb.detect_format({"model": "m", "max_tokens": 5, **body}).format == "chat_completions"


@pytest.mark.parametrize(
    "more",
    [
        {"thinking": {"type": "enabled", "budget_tokens": 1024}},
        {"thinking": {"type": "adaptive"}},
        {"messages": [USER, {"role": "system", "content": "s"}], "system": "s"},
        {"service_tier": "auto", "tool_choice": {"type": "auto"}},
        {"thinking": {"type": "between_tools"}},
        {"max_tokens": 0},
        {"messages": [USER, {"role": "system", "output_config": {"effort": "high"}}]},
        {"messages": [USER, {"role": "system", "content": [{"type": "tool_addition", "tool": {}}]}]},
    ],
)
def test_evidence_of_messages_only_detects_messages(more: dict[str, object]) -> None:
    """Clues of the other format must not outweigh them."""
    assert fb.detect_format({"model": "m", "max_tokens": 5, "messages": [USER], **more}).format == "messages"


def test_formats_of_bytes_and_typed_models_are_detected() -> None:
    """A gateway has bytes; a service has a typed model, whose format is certain."""
    from formatbridge.formats.messages import wire

    body = {"model": "m", "max_tokens": 5, "messages": [{"role": "user", "content": "hi"}], "system": "s"}

    assert fb.detect_format(json.dumps(body).encode()).format == "messages"
    assert fb.detect_format(wire.Request.model_validate(body)).confidence == 1.0


@pytest.mark.parametrize("text", [b"{", b"[1, 2]", b"5"])
def test_other_values_than_objects_are_rejected(text: bytes) -> None:
    """The error has no format and no kind."""
    with pytest.raises(fb.InvalidPayloadError) as caught:
        fb.detect_format(text)

    assert (caught.value.format, caught.value.kind) == ("unknown", "payload")


def test_a_detection_can_be_written_as_json() -> None:
    """Logs and notebooks keep the evidence; what is not sure shows the formats among which a caller decides."""
    body = {"model": "m", "max_tokens": 3, "messages": [{"role": "user", "content": "x"}]}

    detection = fb.detect_format(body)

    facts = json.loads(json.dumps(detection.to_dict()))
    assert facts["format"] is None
    assert {each["format"] for each in facts["candidates"]} >= {"messages", "chat_completions"}
    assert "not sure: " in detection._repr_html_()
    assert "messages (request" in detection._repr_html_()
