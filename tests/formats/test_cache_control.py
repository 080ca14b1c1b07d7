"""Cache marks in the notation of messages, which many servers accept in requests of chat_completions."""

from __future__ import annotations

from typing import Any

import pytest

import formatbridge as fb

MARK = {"type": "ephemeral"}
WORDS = [{"type": "text", "text": "w"}]
MARKED: dict[str, dict[str, Any]] = {
    "search result": {"type": "search_result", "title": "T", "source": "s", "content": WORDS, "cache_control": MARK},
    "document": {"type": "document", "source": {"type": "content", "content": WORDS}, "cache_control": MARK},
    "inside": {"type": "document", "source": {"type": "content", "content": [WORDS[0] | {"cache_control": MARK}]}},
}


def test_no_more_cache_marks_than_messages_accepts() -> None:
    """Its server rejects a fifth, and servers of chat_completions have no such limit."""
    part = {"type": "text", "text": "x", "cache_control": {"type": "ephemeral"}}
    request = {"model": "m", "messages": [{"role": "user", "content": [part] * 6}]}

    converted = fb.convert_request(request, source="chat_completions", target="messages")

    assert converted.json().count(b"cache_control") == 4
    assert {(loss.severity, loss.code) for loss in converted.losses} == {("info", "too_many")}


def test_a_cache_mark_in_chat_completions_is_written_as_in_messages() -> None:
    """The vendor's server has no other notation."""
    block = {"type": "text", "text": "x", "cache_control": {"type": "ephemeral"}}
    request = {"model": "m", "max_tokens": 99, "messages": [{"role": "user", "content": [block]}]}

    converted = fb.convert_request(request, source="messages", target="chat_completions")

    assert converted.body["messages"][0]["content"] == [
        {"type": "text", "text": "x", "prompt_cache_breakpoint": {"mode": "explicit"}}
    ]


def test_the_cache_mark_of_the_request_counts_and_has_the_nearest_ttl() -> None:
    """The server counts it among the four, and has two durations."""
    part = {"type": "text", "text": "x", "cache_control": {"type": "ephemeral"}}
    request = {
        "model": "m",
        "messages": [{"role": "user", "content": [part] * 4}],
        "cache_control": {"type": "ephemeral", "ttl": "24h"},
    }

    converted = fb.convert_request(request, source="chat_completions", target="messages")

    assert converted.body["cache_control"] == {"type": "ephemeral", "ttl": "1h"}
    assert converted.json().count(b"cache_control") == 4
    assert [(loss.path, loss.code) for loss in converted.losses] == [
        ("/messages/0/content/3/cache_control", "too_many"),
        ("/cache_control/ttl", "nearest_value"),
    ]


def test_a_cache_mark_without_a_type_is_accepted() -> None:
    """No specification requires it for these servers, and there is one type only."""
    part = {"type": "text", "text": "x", "cache_control": {"ttl": "1h"}}
    request = {"model": "m", "messages": [{"role": "user", "content": [part]}]}

    converted = fb.convert_request(request, source="chat_completions", target="messages")

    assert converted.body["messages"][0]["content"] == [
        {"type": "text", "text": "x", "cache_control": {"type": "ephemeral", "ttl": "1h"}}
    ]


@pytest.mark.parametrize("place", ["turn", "result"])
@pytest.mark.parametrize("block", MARKED.values(), ids=MARKED)
@pytest.mark.parametrize("target", ["chat_completions", "responses"])
def test_a_part_converted_to_text_keeps_its_cache_mark(block: dict[str, Any], target: fb.Format, place: str) -> None:
    """The text has the place of the block, and the prompt is as long."""
    result = _with_block(block, target, place)

    assert result.json().count(b'"prompt_cache_breakpoint":{"mode":"explicit"}') == 1
    assert {loss.code for loss in result.losses} == {"flattened"}


@pytest.mark.parametrize("place", ["turn", "result"])
@pytest.mark.parametrize("block", MARKED.values(), ids=MARKED)
def test_a_cache_mark_of_a_part_converted_to_text_is_lost_in_formats_without_marks(block: dict[str, Any], place: str) -> None:
    """These servers cache without marks, and the report has the loss."""
    result = _with_block(block, "generate_content", place)

    assert [loss.severity for loss in result.losses if loss.path.endswith("/cache_control")] == ["info"]


def test_a_cache_mark_on_a_block_without_text_is_reported() -> None:
    """No block remains that could have it."""
    block = {"type": "document", "source": {"type": "content", "content": ""}, "cache_control": MARK}

    result = _with_block(block, "responses", "turn")

    assert ("/messages/0/content/1/cache_control", "empty") in [(loss.path, loss.code) for loss in result.losses]


def _with_block(block: dict[str, Any], target: fb.Format, place: str) -> fb.Converted:
    """Convert a request of messages with a block, in a user turn or in a result."""
    content: list[dict[str, Any]] = [{"type": "text", "text": "q"}, block]
    turns: list[dict[str, Any]] = [{"role": "user", "content": content}]
    if place == "result":
        call = {"type": "tool_use", "id": "c", "name": "f", "input": {}}
        turns = [{"role": "user", "content": "q"}, {"role": "assistant", "content": [call]}]
        turns += [{"role": "user", "content": [{"type": "tool_result", "tool_use_id": "c", "content": [block]}]}]
    return fb.convert_request({"model": "m", "max_tokens": 99, "messages": turns}, source="messages", target=target)
