"""A body may be nested as deep as the library says, wherever its depths lie: nothing that reads them runs out of stack."""

from __future__ import annotations

import json
from typing import Any

import pytest

import formatbridge as fb
from formatbridge._codec import MAX_DEPTH

JsonValue = Any


def _deep(levels: int, leaf: JsonValue) -> JsonValue:
    for _ in range(levels):
        leaf = {"a": leaf}
    return leaf


def _leaf(value: JsonValue) -> JsonValue:
    while isinstance(value, dict):
        value = value["a"]
    return value


def _told(leaves: list[JsonValue]) -> bytes:
    """Return a stream whose deltas have a field that nobody knows, as deep as it may be, with such leaves."""
    levels = MAX_DEPTH - len(("choices", 0, "delta", "novel", "a"))
    deltas: list[JsonValue] = [{"delta": {"content": "x", "novel": _deep(levels, leaf)}} for leaf in leaves]
    told = [{"id": "a", "choices": [{"index": 0, **each}]} for each in (*deltas, {"delta": {}, "finish_reason": "stop"})]
    return b"".join(f"data: {json.dumps(event)}\n\n".encode() for event in told)


@pytest.mark.parametrize(("leaves", "whole"), [([1, 2], 2), (["a", "b"], "ab"), (["a", "a"], "a")], ids=["last", "joined", "again"])
def test_a_field_that_nobody_knows_goes_on_at_any_depth(leaves: list[JsonValue], whole: JsonValue) -> None:
    """A server may stream a tree of its own; its pieces are put together down to the last level."""
    made = fb.collect_stream([_told(leaves)], source="chat_completions", target="chat_completions")

    assert _leaf(made.body["choices"][0]["message"]["novel"]) == whole


@pytest.mark.parametrize("target", fb.FORMATS)
def test_a_field_that_nobody_knows_is_reported_at_any_depth(target: str) -> None:
    """The report of a stream is asked for when it is over: too late to fail."""
    made = fb.collect_stream([_told([1, 2])], source="chat_completions", target=target)

    at_home = target == "chat_completions"
    assert [loss.path for loss in made.losses if "novel" in loss.path] == ([] if at_home else ["/choices/0/message/novel"])


def test_a_key_that_stands_twice_is_reported_at_any_depth() -> None:
    """The value that does not count is shown as it was, which is read only when somebody asks."""
    lost = _deep(MAX_DEPTH - 1, 1)
    body = f'{{"model": "m", "metadata": {json.dumps(lost)}, "metadata": null, "messages": [{{"role": "user", "content": "x"}}]}}'

    made = fb.convert_request(body, source="chat_completions", target="messages")

    assert [_leaf(loss.before) for loss in made.losses if loss.path == "/metadata"] == [1]
