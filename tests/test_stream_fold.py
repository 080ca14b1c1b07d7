"""A stream in its own format adds up to the whole answer in that format, and back: nothing is lost, for nothing is translated."""

from __future__ import annotations

import json
import time
from typing import Any

import pytest

import formatbridge as fb
from formatbridge import formats
from formatbridge.convert import check
from tests.laws import Sample, recorded, shipped
from tests.normal import normal_form

SAMPLES = [*shipped(kind="response"), *recorded(kind="response")]
RESTATED = ("index", "object", "delta")
"""Members of whole choices and calls that a stream says by other means; recorded servers also leave a stray delta in whole answers."""


def _told(value: Any) -> Any:
    """Return a body without what a stream says by other means."""
    if isinstance(value, dict):
        return {key: _told(item) for key, item in value.items() if key not in RESTATED}
    return [_told(item) for item in value] if isinstance(value, list) else value


def _meaning(body: Any, format: str) -> Any:
    return normal_form(formats.load(format).decode_response(check(body, format, "response")))


def _ends(sample: Sample) -> bool:
    """Say whether an answer says how it ended: a stream that does not is none that is complete."""
    if sample.format == "responses":
        return bool(sample.body.get("status") != "failed")
    choices = sample.body.get("candidates", ()) if sample.format == "generate_content" else ()
    return all("finishReason" in choice for choice in choices)


@pytest.mark.parametrize("format", fb.FORMATS)
def test_a_replayed_answer_is_collected_as_it_was(format: str) -> None:
    """Law 6: a cache that stores answers and replays them as streams loses nothing, unknown blocks and fields included."""
    for sample in SAMPLES:
        if sample.format != format or not _ends(sample):
            continue
        if format == "chat_completions" and any("message" not in choice for choice in sample.body["choices"]):
            continue  # a server that filtered the whole message away; a stream has an empty one in its place

        made = fb.collect_stream(fb.replay_response(sample.body, source=format), source=format)

        assert (_told(made.body), made.losses, made.additions) == (_told(sample.body), (), ()), sample


@pytest.mark.parametrize("format", fb.FORMATS)
def test_an_answer_and_its_replay_mean_the_same_to_others(format: str) -> None:
    """Law 6: what is told event by event is read as what is told whole."""
    other = "messages" if format != "messages" else "responses"
    for sample in SAMPLES:
        if sample.format != format or not _ends(sample):
            continue

        replayed = fb.collect_stream(fb.replay_response(sample.body, source=format), source=format, target=other)

        whole = fb.convert_response(sample.body, source=format, target=other)
        assert _meaning(replayed.body, other) == _meaning(whole.body, other), sample


def test_a_fold_leaves_what_bends_the_rules_to_the_reader_of_all_streams() -> None:
    """Two calls at one index are two calls; nobody can say so in the vendor's own terms, and nothing is merged."""
    near = formats.load("chat_completions")
    calls = [{"index": 0, "id": name, "type": "function", "function": {"name": "f", "arguments": "{}"}} for name in "ab"]
    chunks: list[dict[str, Any]] = [{"choices": [{"index": 0, "delta": {"tool_calls": [call]}}]} for call in calls]
    chunks.append({"choices": [{"index": 0, "delta": {}, "finish_reason": "tool_calls"}]})

    made = fb.collect_stream((b"data: " + json.dumps(chunk).encode() + b"\n\n" for chunk in chunks), source=near.NAME)

    assert near.fold_stream(chunks) is None
    assert [call["id"] for call in made.body["choices"][0]["message"]["tool_calls"]] == ["a", "b"]


def test_a_fold_takes_time_in_proportion() -> None:
    """Pieces are joined once: forty thousand deltas are no forty thousand copies, and eight times as many take eight times as long."""
    start = {"type": "message_start", "message": {"id": "m", "type": "message", "role": "assistant", "content": [], "model": "m"}}
    block = {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}}
    delta = {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "word "}}

    def fold(count: int) -> tuple[float, Any]:
        begun = time.process_time()
        made = formats.load("messages").fold_stream([start, block, *[delta] * count])
        return time.process_time() - begun, made

    few = min(fold(5_000)[0] for _ in range(3))
    many, body = min((fold(40_000) for _ in range(3)), key=lambda made: made[0])

    assert many < 8 * few * 3

    assert body is not None
    assert body["content"] == [{"type": "text", "text": "word " * 40_000}]
    assert check(
        body | {"stop_reason": None, "stop_sequence": None, "usage": {"input_tokens": 1, "output_tokens": 1}},
        "messages",
        "response",
    )
