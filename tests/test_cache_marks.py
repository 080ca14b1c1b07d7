"""Cache marks in the spelling of messages, which servers of many vendors take in requests of chat_completions."""

from __future__ import annotations

import formatbridge as fb


def test_never_more_marks_than_messages_takes() -> None:
    """Its server refuses a fifth, and whoever marks parts of a chat has no such bound."""
    part = {"type": "text", "text": "x", "cache_control": {"type": "ephemeral"}}
    request = {"model": "m", "messages": [{"role": "user", "content": [part] * 6}]}

    made = fb.convert_request(request, source="chat_completions", target="messages")

    assert made.json().count(b"cache_control") == 4
    assert {(loss.severity, loss.code) for loss in made.losses} == {("info", "too_many")}


def test_towards_chat_a_mark_is_in_its_own_spelling() -> None:
    """The vendor's server knows no other."""
    block = {"type": "text", "text": "x", "cache_control": {"type": "ephemeral"}}
    request = {"model": "m", "max_tokens": 9, "messages": [{"role": "user", "content": [block]}]}

    made = fb.convert_request(request, source="messages", target="chat_completions")

    assert made.body["messages"][0]["content"] == [{"type": "text", "text": "x", "prompt_cache_breakpoint": {"mode": "explicit"}}]


def test_the_mark_of_the_whole_request_counts_and_lasts_as_the_others_do() -> None:
    """The server counts it among the four, and knows two durations."""
    part = {"type": "text", "text": "x", "cache_control": {"type": "ephemeral"}}
    request = {
        "model": "m",
        "messages": [{"role": "user", "content": [part] * 4}],
        "cache_control": {"type": "ephemeral", "ttl": "24h"},
    }

    made = fb.convert_request(request, source="chat_completions", target="messages")

    assert made.body["cache_control"] == {"type": "ephemeral", "ttl": "1h"}
    assert made.json().count(b"cache_control") == 4
    assert [(loss.path, loss.code) for loss in made.losses] == [
        ("/messages/0/content/3/cache_control", "too_many"),
        ("/cache_control/ttl", "nearest_value"),
    ]


def test_a_mark_without_a_type_is_one() -> None:
    """No specification says what those servers take; there is but one kind."""
    part = {"type": "text", "text": "x", "cache_control": {"ttl": "1h"}}
    request = {"model": "m", "messages": [{"role": "user", "content": [part]}]}

    made = fb.convert_request(request, source="chat_completions", target="messages")

    assert made.body["messages"][0]["content"] == [
        {"type": "text", "text": "x", "cache_control": {"type": "ephemeral", "ttl": "1h"}}
    ]
