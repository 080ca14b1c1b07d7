"""Token counts: which of several names has precedence, and the pointers of the report."""

from __future__ import annotations

from typing import Any

import pytest

import formatbridge as fb

ANSWERS: dict[str, dict[str, Any]] = {
    "chat_completions": {
        "id": "chatcmpl-1",
        "object": "chat.completion",
        "created": 1,
        "choices": [{"index": 0, "message": {"role": "assistant", "content": "x"}, "finish_reason": "stop"}],
    },
    "responses": {
        "id": "resp_1",
        "object": "response",
        "created_at": 1,
        "status": "completed",
        "output": [],
        "tools": [],
        "tool_choice": "auto",
        "parallel_tool_calls": True,
    },
}
TOTALS = {"messages": "", "generate_content": "totalTokenCount", "chat_completions": "total_tokens", "responses": "total_tokens"}


def convert(source: fb.Format, target: fb.Format, usage: dict[str, Any]) -> fb.Converted:
    return fb.convert_response({**ANSWERS[source], "model": "m", "usage": usage}, source=source, target=target)


SENT = {"prompt_tokens": 30, "completion_tokens": 5, "total_tokens": 35}
USAGE = {"input_tokens": 30, "output_tokens": 5, "total_tokens": 35}


@pytest.mark.parametrize(
    ("source", "target", "usage", "lost"),
    [
        (
            "chat_completions",
            "generate_content",
            {**SENT, "prompt_tokens_details": {"cache_write_tokens": 0}, "cache_creation_input_tokens": 11},
            ("/usage/cache_creation_input_tokens", 11),
        ),
        (
            "chat_completions",
            "messages",
            {**SENT, "completion_tokens_details": {"audio_tokens": 0}, "output_tokens_details": {"audio_tokens": 3}},
            ("/usage/output_tokens_details/audio_tokens", 3),
        ),
        (
            "responses",
            "messages",
            {**USAGE, "output_tokens_details": {"audio_tokens": 0}, "completion_tokens_details": {"audio_tokens": 3}},
            ("/usage/completion_tokens_details/audio_tokens", 3),
        ),
        (
            "responses",
            "generate_content",
            {**USAGE, "input_tokens_details": {"cache_write_tokens": 0}, "prompt_tokens_details": {"cache_write_tokens": 7}},
            ("/usage/prompt_tokens_details/cache_write_tokens", 7),
        ),
    ],
)
def test_the_loss_of_a_count_points_at_the_name_that_has_it(
    source: fb.Format, target: fb.Format, usage: dict[str, Any], lost: tuple[str, int]
) -> None:
    """Relays send the other names with zeros; a user who adds up lost counts needs the number."""
    reported = [(loss.path, loss.before) for loss in convert(source, target, usage).losses if loss.path.startswith("/usage")]

    assert reported == [lost]


@pytest.mark.parametrize(
    "counts",
    [
        {"prompt_tokens": 0, "completion_tokens": 0, "input_tokens": 30, "output_tokens": 5},
        {"prompt_tokens": 30, "completion_tokens": 5, "input_tokens": 0, "output_tokens": 0},
        {"prompt_tokens": 30, "completion_tokens": 5},
        {"input_tokens": 30, "output_tokens": 5},
    ],
    ids=repr,
)
@pytest.mark.parametrize(("source", "target"), [(source, target) for source in ANSWERS for target in TOTALS if source != target])
def test_a_total_of_zero_is_absent(source: fb.Format, target: fb.Format, counts: dict[str, int]) -> None:
    """A user who bills by the total would bill nothing."""
    result, bare = convert(source, target, {**counts, "total_tokens": 0}), convert(source, target, counts)

    usage = result.body["usageMetadata" if target == "generate_content" else "usage"]
    assert (result.body, result.losses) == (bare.body, bare.losses)
    assert target == "messages" or usage[TOTALS[target]] == 35


def test_cache_writes_are_no_count_in_formats_without_them() -> None:
    """The count of the whole prompt, which includes it, is not its replacement."""
    usage = {
        "input_tokens": 6,
        "output_tokens": 1,
        "cache_creation_input_tokens": 574,
        "cache_creation": {"ephemeral_5m_input_tokens": 574, "ephemeral_1h_input_tokens": 0},
    }
    body = {"id": "msg_1", "type": "message", "role": "assistant", "model": "m", "content": [], "stop_reason": "end_turn"}

    converted = fb.convert_response(body | {"stop_sequence": None, "usage": usage}, source="messages", target="generate_content")

    written = {loss.path: (loss.kind, loss.after) for loss in converted.losses if "cache_creation" in loss.path}
    assert written == {"/usage/cache_creation": ("changed", None), "/usage/cache_creation_input_tokens": ("changed", None)}


USAGES: dict[str, tuple[str, dict[str, Any]]] = {
    "chat_completions": (
        "usage",
        {"choices": [{"index": 0, "message": {"role": "assistant", "content": "x"}, "finish_reason": "stop"}]},
    ),
    "messages": (
        "usage",
        {"type": "message", "role": "assistant", "content": [], "stop_reason": "end_turn", "stop_sequence": None},
    ),
    "responses": ("usage", {"object": "response", "output": [], "tools": [], "tool_choice": "auto", "parallel_tool_calls": True}),
    "generate_content": ("usageMetadata", {"candidates": [{"content": {"role": "model", "parts": []}, "finishReason": "STOP"}]}),
}


@pytest.mark.parametrize(("source", "target"), [(source, target) for source in USAGES for target in USAGES if source != target])
def test_an_unknown_usage_count_is_reported_unless_it_is_zero(source: fb.Format, target: fb.Format) -> None:
    """Relays send zeros for all counts that their servers may have."""
    place, rest = USAGES[source]
    counts = {"claude_cache_creation_5_m_tokens": 0, "seconds": 0.0, "new_tokens": 7, "new_word": "x"}
    body = {"id": "a", "model": "m", "created": 1, "status": "completed", "created_at": 1, **rest, place: counts}

    losses = fb.convert_response(body, source=source, target=target).losses

    reported = [(loss.path, loss.severity, loss.code) for loss in losses if loss.path.startswith(f"/{place}/")]
    assert reported == [(f"/{place}/new_tokens", "info", "accounting"), (f"/{place}/new_word", "info", "accounting")]
