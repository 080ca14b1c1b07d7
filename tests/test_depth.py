"""A body may be nested as deep as the library says, wherever its depths lie: nothing that reads them runs out of stack."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import formatbridge as fb
from formatbridge.jsontext.codec import NotJsonError, loads
from formatbridge.jsontext.depth import MAX_DEPTH, read_in_steps, write

JsonValue = Any

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
)


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


SCHEMAS: dict[str, Callable[[JsonValue], JsonValue]] = {
    "chat_completions": lambda schema: {
        "model": "m",
        "messages": [{"role": "user", "content": "x"}],
        "tools": [{"type": "function", "function": {"name": "f", "parameters": schema}}],
    },
    "messages": lambda schema: {
        "model": "m",
        "max_tokens": 5,
        "messages": [{"role": "user", "content": "x"}],
        "tools": [{"name": "f", "input_schema": schema}],
    },
    "responses": lambda schema: {
        "model": "m",
        "input": [
            {"role": "user", "content": "x"},
            {"type": "additional_tools", "role": "developer", "tools": [{"type": "function", "name": "f", "parameters": schema}]},
        ],
    },
    "generate_content": lambda schema: {
        "contents": [{"role": "user", "parts": [{"text": "x"}]}],
        "tools": [{"functionDeclarations": [{"name": "f", "parametersJsonSchema": schema}]}],
    },
}


def _far_down(calls: int, act: Callable[[], JsonValue]) -> JsonValue:
    return act() if not calls else _far_down(calls - 1, act)


@pytest.mark.parametrize("levels", [128, 250, 500])
@pytest.mark.parametrize("target", fb.FORMATS)
@pytest.mark.parametrize("source", fb.FORMATS)
@pytest.mark.parametrize("spelled", [lambda body: body, json.dumps], ids=["dict", "text"])
def test_how_much_stack_the_caller_has_left_decides_nothing(
    spelled: Callable[[JsonValue], JsonValue], source: str, target: str, levels: int
) -> None:
    """A web framework calls from deep down, and what was read in a test is refused there."""
    body = spelled(SCHEMAS[source](_deep(levels, {"type": "string"})))

    def act() -> JsonValue:
        made = fb.convert_request(body, source=source, target=target, model="m")
        return made.json(), made.losses

    shallow = act()  # and everything that is made once

    assert _far_down(sys.getrecursionlimit() - 250, act) == shallow


def test_a_body_may_have_as_many_levels_from_deep_down() -> None:
    """The limit is one of the body alone."""

    def levels(count: int) -> bool:
        text = '{"a": ' * count + '"\\ud83d"' + "}" * count
        try:
            loads(text, [])
        except NotJsonError:
            return False
        return True

    counts = range(MAX_DEPTH - 2, MAX_DEPTH + 3)

    assert _far_down(sys.getrecursionlimit() - 250, lambda: list(map(levels, counts))) == list(map(levels, counts))


@given(JSON, st.booleans())
def test_what_is_nested_deep_is_written_as_anything_else(value: JsonValue, is_sorted: bool) -> None:
    """The writer for it is another one than the usual, so the two may differ."""
    assert write(value, sort_keys=is_sorted) == json.dumps(value, ensure_ascii=False, separators=(",", ":"), sort_keys=is_sorted)


@given(JSON, st.data())
def test_what_is_nested_deep_is_read_as_anything_else(value: JsonValue, data: st.DataObject) -> None:
    """The reader for it is another one than the usual; what it refuses, it refuses in the same words."""
    text = json.dumps(value, indent=data.draw(st.sampled_from([None, 1])))
    at = data.draw(st.integers(0, len(text)))
    text = text[:at] + data.draw(st.sampled_from(["", ",", ":", "[", "}", '"', " "])) + text[at + data.draw(st.integers(0, 1)) :]

    def told(read: Callable[[str, json.JSONDecoder], JsonValue]) -> JsonValue:
        try:
            return read(text, json.JSONDecoder(object_pairs_hook=list))
        except json.JSONDecodeError as error:
            return error.msg, error.pos

    assert told(read_in_steps) == told(lambda text, decoder: decoder.decode(text))
