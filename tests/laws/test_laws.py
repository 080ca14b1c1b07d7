"""The laws hold for every recorded body and every fixture, in all directions."""

from __future__ import annotations

import json
import socket
from collections.abc import Iterator
from contextlib import suppress
from functools import cache
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import formatbridge as fb
from formatbridge import formats, ir
from tests.fixtures import check
from tests.support.directions import DIRECTIONS
from tests.support.judges import problems
from tests.support.laws import (
    Breach,
    Sample,
    changed,
    nothing_added_is_silent,
    nothing_is_silent,
    once,
    recorded,
    report_is_precise,
    shipped,
    there_and_back,
    unchanged_in_its_format,
)
from tests.support.pointers import leaves, with_value

KINDS = ("request", "response", "error", "models")


@cache
def _samples(format: fb.Format, kind: str) -> tuple[Sample, ...]:
    """Return the recorded bodies, if they are present, and the fixtures."""
    return (*shipped(format, kind), *recorded(format, kind))


ONE_VALUE = {
    "request-settings_prewarm-messages": "no answer at all (max_tokens 0) cannot be expressed there; any other limit can",
    "response-reasoning_carried-generate_content": "the tag of a carried token repeats that its part is reasoning",
    "request-tool_choice_hosted-messages": "a server's tool cannot be forced there; any other name is a function's",
}
"""Fixtures whose loss depends on their value."""


def _breaches(source: fb.Format, target: fb.Format, kind: str) -> Iterator[str]:
    for sample in _samples(source, kind):
        if sample.id in ONE_VALUE:
            continue
        convert = once(sample.convert, sample.body)
        result: list[Breach] = [
            *nothing_is_silent(sample.body, target, convert, per_place=3 if kind == "models" else 1),
            *report_is_precise(sample.body, target, convert),
            *there_and_back(sample.body, sample, target, convert),
        ]
        yield from (f"{sample}: {breach}" for breach in result)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("source", "target"), DIRECTIONS)
def test_every_loss_is_reported_every_report_is_true_and_round_trips_agree(source: fb.Format, target: fb.Format, kind: str) -> None:
    """Laws 1, 2 and 4: a change of any leaf is visible; a reported value has no effect; a round trip restores the meaning."""
    assert list(_breaches(source, target, kind))[:10] == []


@pytest.mark.parametrize("kind", ["request", "response"])
@pytest.mark.parametrize(("source", "target"), DIRECTIONS)
def test_the_loss_of_an_unknown_key_is_reported(source: fb.Format, target: fb.Format, kind: str) -> None:
    """Law 1 for future fields: a new key in any object of a fixture is in the output or the report, or is rejected."""
    results = []
    for sample in shipped(source, kind):
        results += [f"{sample}: {breach}" for breach in nothing_added_is_silent(sample.body, target, sample.convert)]

    assert results[:10] == []


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("format", formats.FORMATS)
def test_a_body_in_the_same_format_stays_as_it_is(format: fb.Format, kind: str) -> None:
    """Law 3: unknown fields, nulls and unknown blocks included; no losses, no additions."""
    assert [
        breach for sample in _samples(format, kind) for breach in unchanged_in_its_format(sample.body, format, sample.convert)
    ] == []


@pytest.mark.parametrize("kind", ["request", "response", "models"])
@pytest.mark.parametrize(("source", "target"), DIRECTIONS)
def test_the_vendors_types_accept_every_conversion(source: fb.Format, target: fb.Format, kind: str) -> None:
    """Law 5: the official SDK must accept the output."""
    results = []
    for sample in _samples(source, kind):
        converted = sample.convert(sample.body, target)
        results += [f"{sample}: {problem}" for problem in problems(target, converted.kind, converted.body)]

    assert results[:10] == []


@pytest.mark.parametrize(("source", "target"), DIRECTIONS)
def test_the_same_input_gives_the_same_bytes_and_is_not_changed(source: fb.Format, target: fb.Format) -> None:
    """Law 14: prompt caches and tests depend on it."""
    for kind in KINDS:
        for sample in _samples(source, kind)[:40]:
            before = json.dumps(sample.body)

            first, second = sample.convert(sample.body, target), sample.convert(sample.body, target)

            assert first.json() == second.json()
            assert first.losses == second.losses
            assert json.dumps(sample.body) == before


@pytest.mark.parametrize(("source", "target"), DIRECTIONS)
def test_the_total_of_usage_is_the_sum_of_its_counts(source: fb.Format, target: fb.Format) -> None:
    """Law 11: no count is negative, parts are within their whole, and the total is the sum."""
    for sample in _samples(source, "response"):
        converted = sample.convert(sample.body, target)
        if converted.kind != "response":
            continue
        usage = formats.load(target).decode_response(converted.body).usage
        if usage is None:
            continue
        counts = [
            value
            for _, value in leaves(converted.body.get("usage") or converted.body.get("usageMetadata"))
            if isinstance(value, int)
        ]
        raw = formats.load(source).decode_response(check(sample.body, source, "response")).usage

        assert all(count >= 0 for count in counts)
        has_valid_cache_counts = raw is not None and (raw.cache_read or 0) + (raw.cache_write or 0) <= raw.input
        if raw is not None and has_valid_cache_counts and (raw.reasoning or 0) <= raw.output:
            assert usage.input == raw.input
            assert usage.output == raw.output
        if raw is not None:
            assert parts_of_usage(usage, target) == parts_of_usage(raw, target), sample


def _refuse(*_: Any, **__: Any) -> Any:
    raise AssertionError("changed, or reached out")


_CHANGES = ("__setitem__", "__delitem__", "__ior__", "__iadd__", "__imul__", "pop", "popitem", "clear", "update", "setdefault",
            "append", "extend", "insert", "remove", "reverse", "sort")  # fmt: skip
FrozenDict = type("FrozenDict", (dict,), {name: _refuse for name in _CHANGES if hasattr(dict, name)})
FrozenList = type("FrozenList", (list,), {name: _refuse for name in _CHANGES if hasattr(list, name)})


def _frozen(value: Any) -> Any:
    """Return a JSON value that cannot be changed, at any depth."""
    if isinstance(value, dict):
        return FrozenDict({key: _frozen(item) for key, item in value.items()})
    return FrozenList(map(_frozen, value)) if isinstance(value, list) else value


@pytest.mark.parametrize("source", formats.FORMATS)
def test_a_conversion_changes_no_input_and_does_no_io(source: fb.Format, monkeypatch: pytest.MonkeyPatch) -> None:
    """Law 14: callers share and cache bodies, and a URL in a body is not fetched."""
    for name in ("socket", "create_connection", "getaddrinfo"):
        monkeypatch.setattr(socket, name, _refuse)
    for kind in KINDS:
        for sample in _samples(source, kind)[:60]:
            for target in formats.FORMATS:
                assert sample.convert(_frozen(sample.body), target).json() == sample.convert(sample.body, target).json(), sample
    for sample in _samples(source, "response")[:60]:
        assert list(fb.replay_response(_frozen(sample.body), source=source)) == list(fb.replay_response(sample.body, source=source))


def parts_of_usage(usage: ir.Usage, target: fb.Format) -> tuple[int, ...]:
    """Return the counts that are parts of others; one format has no count of cache writes, and reports it."""
    parts = (usage.cache_read or 0, usage.reasoning or 0)
    return parts if target == "generate_content" else (*parts, usage.cache_write or 0)


SCALARS = st.none() | st.booleans() | st.integers(-(2**70), 2**70) | st.floats() | st.text(max_size=20)
JSON_VALUES = st.recursive(
    SCALARS, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4)
)


@settings(max_examples=60)
@given(data=st.data())
def test_any_body_gives_a_report_or_an_error_of_this_library(data: st.DataObject) -> None:
    """Law 13: any value gives a result with a report, or an error of this library, and every output is strict JSON."""
    samples = [sample for format in formats.FORMATS for kind in KINDS for sample in _samples(format, kind)[:60]]
    sample = data.draw(st.sampled_from(samples))
    places = [path for path, _ in leaves(sample.body)] or [""]
    body = with_value(sample.body, data.draw(st.sampled_from(places)), data.draw(JSON_VALUES))

    for target in formats.FORMATS:
        try:
            converted = sample.convert(body, target)
        except fb.FormatBridgeError:
            continue
        assert json.loads(converted.json(), parse_constant=_no_constant) == converted.body


def _no_constant(name: str) -> Any:
    raise AssertionError(f"{name} in an output")


@settings(max_examples=100)
@given(st.binary(max_size=200) | st.text(max_size=200) | JSON_VALUES)
def test_any_value_is_converted_or_raises_an_error_of_this_library(body: Any) -> None:
    """Law 13: no exception of another library, for any argument."""
    for target in formats.FORMATS:
        for convert in (fb.convert_request, fb.convert_response, fb.convert_models):
            with suppress(fb.FormatBridgeError):
                convert(body, source="messages", target=target)
        with suppress(fb.FormatBridgeError):
            fb.convert_error(body, source="messages", target=target, status=500)
        with suppress(fb.FormatBridgeError):
            fb.detect_format(body)


def test_arguments_keep_their_notation_between_formats_with_text_arguments() -> None:
    """Law 12: key order, big integers and number notation survive between the formats with arguments as text."""
    text = '{"z": 12345678901234567890, "a": 1.10, "b": 1e5,  "\\u00e9": "\\u2028"}'
    call = {"id": "a", "type": "function", "function": {"name": "f", "arguments": text}}
    messages = [{"role": "user", "content": "hi"}, {"role": "assistant", "content": None, "tool_calls": [call]}]

    converted = fb.convert_request({"model": "m", "messages": messages}, source="chat_completions", target="responses")
    returned = fb.convert_request(converted.body, source="responses", target="chat_completions")

    assert converted.body["input"][1]["arguments"] == text
    assert returned.body["messages"][1]["tool_calls"][0]["function"]["arguments"] == text


def test_the_laws_detect_an_unreported_loss() -> None:
    """The test of the law: it detects an output that ignores a leaf."""

    def forgetful(body: Any, target: fb.Format) -> fb.Converted:
        return fb.convert_request(
            {**body, "messages": [{"role": "user", "content": "x"}]}, source="chat_completions", target=target
        )

    body = {"model": "m", "messages": [{"role": "user", "content": "hello"}], "temperature": 1.0}

    result = [breach.path for breach in nothing_is_silent(body, "messages", forgetful)]

    assert result == ["/messages/0/content"]
    assert changed(True) is False
