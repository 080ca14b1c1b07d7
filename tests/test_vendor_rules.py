"""What servers refuse for reasons that no type states is never written, and what it costs is in the report."""

from __future__ import annotations

from typing import Any

import pytest

import formatbridge as fb
from tests.laws import recorded, shipped
from tests.vendor_rules import broken_rules

PAIRS = [(source, target) for source in fb.FORMATS for target in fb.FORMATS if source != target]
ASKED = [{"role": "user", "content": "x"}]


def _told(made: fb.Converted) -> list[tuple[str, str, str, str]]:
    return [(loss.path, loss.kind, loss.severity, loss.code) for loss in made.losses]


@pytest.mark.parametrize(("source", "target"), PAIRS)
def test_no_converted_request_breaks_a_rule_behind_the_types(source: str, target: str) -> None:
    """Law 5: an output that the types accept and the server refuses is of no use to anybody."""
    found = []
    for sample in (*shipped(source, "request"), *recorded(source, "request")):
        found += [f"{sample}: {rule}" for rule in broken_rules(target, sample.convert(sample.body, target).body)]

    assert found == []


# Sampling beside thinking.


def _thinking(**settings: Any) -> fb.ConvertedRequest:
    config = {"thinkingConfig": {"thinkingLevel": "HIGH"}} | settings
    body = {"contents": [{"parts": [{"text": "x"}]}], "generationConfig": config}
    return fb.convert_request(body, source="generate_content", target="messages", model="m")


@pytest.mark.parametrize(
    ("name", "value", "wire"), [("temperature", 0, "temperature"), ("topP", 0.9, "top_p"), ("topK", 5, "top_k")]
)
def test_sampling_that_the_server_refuses_beside_thinking_is_dropped_and_told(name: str, value: float, wire: str) -> None:
    """Such a request is answered with 400, whatever else it says."""
    made = _thinking(**{name: value})

    assert wire not in made.body
    assert _told(made) == [(f"/generationConfig/{name}", "dropped", "lossy", "excluded")]


def test_sampling_that_the_server_takes_beside_thinking_is_no_loss() -> None:
    """A temperature of 1 is what happens anyway."""
    made = _thinking(temperature=1.0, topP=0.97)

    assert made.body["top_p"] == 0.97
    assert "temperature" not in made.body
    assert not made.losses


def test_sampling_stays_where_thinking_is_off() -> None:
    """Only thinking excludes it."""
    body = {"model": "m", "messages": ASKED, "temperature": 0.2, "top_p": 0.5, "reasoning_effort": "none"}

    made = fb.convert_request(body, source="chat_completions", target="messages")

    assert (made.body["temperature"], made.body["top_p"], made.body["thinking"]) == (0.2, 0.5, {"type": "disabled"})


def test_sampling_beside_thinking_goes_to_its_own_format_as_it_came() -> None:
    """Whoever asks for it in the server's own words gets the server's own refusal."""
    body = {"model": "m", "max_tokens": 2000, "messages": ASKED, "thinking": {"type": "adaptive"}, "temperature": 0.2}

    made = fb.convert_request(body, source="messages", target="messages")

    assert made.body == body
    assert not made.losses
