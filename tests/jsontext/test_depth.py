"""A body may be nested up to the documented limit in any field, and no code exceeds the stack."""

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


def _deep_stream(leaves: list[JsonValue]) -> bytes:
    """Return a stream whose deltas have an unknown field of maximum depth, with these leaves."""
    levels = MAX_DEPTH - len(("choices", 0, "delta", "novel", "a"))
    deltas: list[JsonValue] = [{"delta": {"content": "x", "novel": _deep(levels, leaf)}} for leaf in leaves]
    events = [{"id": "a", "choices": [{"index": 0, **each}]} for each in (*deltas, {"delta": {}, "finish_reason": "stop"})]
    return b"".join(f"data: {json.dumps(event)}\n\n".encode() for event in events)


@pytest.mark.parametrize(("leaves", "whole"), [([1, 2], 2), (["a", "b"], "ab"), (["a", "a"], "a")], ids=["last", "joined", "again"])
def test_an_unknown_field_is_accumulated_at_any_depth(leaves: list[JsonValue], whole: JsonValue) -> None:
    """A server may stream a tree in an unknown field; its deltas are merged at all levels."""
    collected = fb.collect_stream([_deep_stream(leaves)], source="chat_completions", target="chat_completions")

    assert _leaf(collected.body["choices"][0]["message"]["novel"]) == whole


@pytest.mark.parametrize("target", fb.FORMATS)
def test_an_unknown_field_is_reported_at_any_depth(target: fb.Format) -> None:
    """The report of a stream is computed after its end, when an error cannot be returned any more."""
    collected = fb.collect_stream([_deep_stream([1, 2])], source="chat_completions", target=target)

    is_same_format = target == "chat_completions"
    assert [loss.path for loss in collected.losses if "novel" in loss.path] == (
        [] if is_same_format else ["/choices/0/message/novel"]
    )


def test_a_repeated_key_is_reported_at_any_depth() -> None:
    """The report shows the overridden value, which is computed only when it is read."""
    lost = _deep(MAX_DEPTH - 1, 1)
    body = f'{{"model": "m", "metadata": {json.dumps(lost)}, "metadata": null, "messages": [{{"role": "user", "content": "x"}}]}}'

    converted = fb.convert_request(body, source="chat_completions", target="messages")

    assert [_leaf(loss.before) for loss in converted.losses if loss.path == "/metadata"] == [1]


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


def _call_deeply(calls: int, act: Callable[[], JsonValue]) -> JsonValue:
    return act() if not calls else _call_deeply(calls - 1, act)


@pytest.mark.parametrize("levels", [128, 250, 500])
@pytest.mark.parametrize("target", fb.FORMATS)
@pytest.mark.parametrize("source", fb.FORMATS)
@pytest.mark.parametrize("written", [lambda body: body, json.dumps], ids=["dict", "text"])
def test_the_stack_depth_of_the_caller_has_no_effect(
    written: Callable[[JsonValue], JsonValue], source: fb.Format, target: fb.Format, levels: int
) -> None:
    """A web framework calls from deep in the stack, so a body that passes in a test could fail there."""
    body = written(SCHEMAS[source](_deep(levels, {"type": "string"})))

    def act() -> JsonValue:
        converted = fb.convert_request(body, source=source, target=target, model="m")
        return converted.json(), converted.losses

    shallow = act()  # and everything that is created once

    assert _call_deeply(sys.getrecursionlimit() - 250, act) == shallow


def test_a_deep_caller_may_convert_a_body_of_the_maximum_depth() -> None:
    """The limit depends on the body alone."""

    def levels(count: int) -> bool:
        text = '{"a": ' * count + '"\\ud83d"' + "}" * count
        try:
            loads(text, [])
        except NotJsonError:
            return False
        return True

    counts = range(MAX_DEPTH - 2, MAX_DEPTH + 3)

    assert _call_deeply(sys.getrecursionlimit() - 250, lambda: list(map(levels, counts))) == list(map(levels, counts))


@given(JSON, st.booleans())
def test_deep_values_are_written_like_all_others(value: JsonValue, is_sorted: bool) -> None:
    """Separate code writes them, so the results could differ."""
    assert write(value, sort_keys=is_sorted) == json.dumps(value, ensure_ascii=False, separators=(",", ":"), sort_keys=is_sorted)


@given(JSON, st.data())
def test_deep_values_are_read_like_all_others(value: JsonValue, data: st.DataObject) -> None:
    """Separate code reads them; its errors must be the same as well."""
    text = json.dumps(value, indent=data.draw(st.sampled_from([None, 1])))
    at = data.draw(st.integers(0, len(text)))
    text = text[:at] + data.draw(st.sampled_from(["", ",", ":", "[", "}", '"', " "])) + text[at + data.draw(st.integers(0, 1)) :]

    def error_of(read: Callable[[str, json.JSONDecoder], JsonValue]) -> JsonValue:
        try:
            return read(text, json.JSONDecoder(object_pairs_hook=list))
        except json.JSONDecodeError as error:
            return error.msg, error.pos

    assert error_of(read_in_steps) == error_of(lambda text, decoder: decoder.decode(text))
