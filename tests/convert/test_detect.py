"""A body is detected from its keys and values, with reasons."""

from __future__ import annotations

import json

import pytest

import formatbridge as fb
from tests.corpus import requires_corpus
from tests.fixtures import Fixture, fixtures
from tests.support.laws import recorded

TWINS = {("responses", "error")}
"""Documents that also match chat_completions, which is the result in this case."""


@pytest.mark.parametrize("fixture", fixtures("response"), ids=str)
def test_a_fixture_is_detected(fixture: Fixture) -> None:
    """Bodies of each format name it, or have keys that no other format has."""
    detected = fb.detect_format(fixture.body)

    assert (detected.format, detected.kind) == (fixture.format, "response")
    assert detected.confidence > 0
    assert detected.reasons


@requires_corpus
def test_recorded_bodies_are_detected() -> None:
    """At least 98 % of real bodies; the rest are requests that are valid in two formats, or unusual errors."""
    samples = [sample for sample in recorded() if (sample.format, sample.kind) not in TWINS]

    detected = [(fb.detect_format(sample.body), sample) for sample in samples]
    right = [(event.format, event.kind) == (sample.format, sample.kind) for event, sample in detected]

    assert sum(right) / len(right) >= 0.98


def test_a_body_without_clues_has_no_format() -> None:
    """A body of no format has no format."""
    detected = fb.detect_format({"hello": 1})

    assert detected == fb.Detection(None, None, 0.0, ())


@pytest.mark.parametrize(
    "body", [{"text": "hello"}, {"prompt": "hello"}, {"reasoning": "because"}, {"thinking": "hm"}, {"messages": 5}]
)
def test_a_common_key_of_another_type_is_no_clue(body: dict[str, object]) -> None:
    """Automatic conversion must not fail for a format that the body does not have."""
    assert fb.detect_format(body).format is None


USER = {"role": "user", "content": "hi"}
CHAT: dict[str, dict[str, object]] = {
    "a choice that is a word": {"messages": [USER], "tool_choice": "required", "thinking": {"type": "enabled"}},
    "thoughts in the history": {
        "messages": [
            {"role": "system", "content": "s"},
            USER,
            {"role": "assistant", "content": "a", "reasoning_content": "b"},
            USER,
        ],
        "thinking": {"type": "enabled"},
    },
    "thoughts as blocks in the history": {
        "messages": [USER, {"role": "assistant", "content": "a", "thinking_blocks": [{"type": "thinking", "thinking": "b"}]}, USER],
    },
    "thinking without a budget": {"messages": [USER], "thinking": {"type": "enabled"}},
    "a system message first": {
        "messages": [{"role": "system", "content": [{"type": "text", "text": "s", "cache_control": {"type": "ephemeral"}}]}, USER]
    },
    "a refusal in the history": {"messages": [USER, {"role": "assistant", "content": None, "refusal": "no"}]},
    "sound in the history": {"messages": [USER, {"role": "assistant", "audio": {"id": "a"}}]},
    "a custom tool": {"messages": [USER], "tools": [{"type": "custom", "custom": {"name": "f"}}]},
    "storing": {"messages": [USER], "store": True},
    "a tier": {"messages": [USER], "service_tier": "flex"},
}


@pytest.mark.parametrize("body", CHAT.values(), ids=CHAT)
def test_clues_of_chat_completions_outweigh_a_limit(body: dict[str, object]) -> None:
    """Most of its servers accept ``max_tokens``, which messages requires, and some accept ``thinking``."""
    assert fb.detect_format({"model": "m", "max_tokens": 5, **body}).format == "chat_completions"


@pytest.mark.parametrize(
    "more",
    [
        {"thinking": {"type": "enabled", "budget_tokens": 1024}},
        {"thinking": {"type": "adaptive"}},
        {"messages": [USER, {"role": "system", "content": "s"}], "system": "s"},
        {"service_tier": "auto", "tool_choice": {"type": "auto"}},
    ],
)
def test_clues_of_messages_alone_are_enough(more: dict[str, object]) -> None:
    """Clues of the other format must not outweigh them."""
    assert fb.detect_format({"model": "m", "max_tokens": 5, "messages": [USER], **more}).format == "messages"


def test_text_and_models_are_detected() -> None:
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
