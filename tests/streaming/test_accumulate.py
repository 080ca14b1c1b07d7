"""Replaying an answer and accumulating its events returns the same answer."""

from __future__ import annotations

import json
from copy import deepcopy
from typing import Any

import pytest
from pydantic import TypeAdapter

from formatbridge import formats, ir
from formatbridge.ir import events
from formatbridge.jsontext.codec import dumps
from formatbridge.options import Options
from formatbridge.streaming.accumulate import Collector
from formatbridge.streaming.replay import events_of_response
from tests.fixtures import check
from tests.support.laws import Sample, recorded, shipped

SAMPLES = [*shipped(kind="response"), *recorded(kind="response")]


def _answer(sample: Sample) -> ir.Response:
    return formats.load(sample.format).decode_response(check(sample.body, sample.format, "response"))


def _write_arguments(part: dict[str, Any]) -> None:
    """Return arguments as text, as in streams."""
    if isinstance(part.get("arguments"), dict):
        part["arguments"] = dumps(part["arguments"]).decode()


@pytest.mark.parametrize("format", formats.FORMATS)
def test_a_replayed_answer_accumulates_to_itself(format: str) -> None:
    """Law 6: the stream and the whole answer are equal."""
    adapter = TypeAdapter(ir.Response)
    for sample in SAMPLES:
        if sample.format != format:
            continue
        answer = _answer(sample)
        collector = Collector(answer.format)

        for event in events_of_response(answer):
            collector.feed(event)

        result, wanted = (json.loads(adapter.dump_json(each)) for each in (collector.response(), answer))
        for choice in (*result["choices"], *wanted["choices"]):
            choice.pop("src")
            for part in choice["parts"]:
                _write_arguments(part)
        assert result == wanted, sample


@pytest.mark.parametrize("format", formats.FORMATS)
def test_replayed_events_are_in_order(format: str) -> None:
    """The start is first, one end or failure is last; each part opens before its deltas and closes before its choice ends."""
    for sample in SAMPLES:
        if sample.format != format:
            continue
        emitted = events_of_response(_answer(sample))
        opened: set[tuple[int, int]] = set()
        closed: set[tuple[int, int]] = set()

        assert isinstance(emitted[0], events.Start)
        assert isinstance(emitted[-1], events.End | events.Failed)
        for event in emitted:
            match event:
                case events.PartStart():
                    opened.add((event.choice, event.index))
                case events.Delta() | events.PartUpdate():
                    assert (event.choice, event.index) in opened - closed
                case events.PartEnd():
                    closed.add((event.choice, event.index))
                case events.ChoiceEnd():
                    assert {each for each in opened if each[0] == event.choice} <= closed


def test_deltas_may_be_split_anywhere() -> None:
    """Law 7: the same text in other deltas gives the same answer."""

    def collect(pieces: list[str]) -> ir.Response:
        collector = Collector("messages")
        collector.feed(events.Start("a", "m"))
        collector.feed(events.PartStart(0, 0, ir.ToolCall("c", "f", "")))
        for piece in pieces:
            collector.feed(events.Delta(0, 0, piece))
        collector.feed(events.PartEnd(0, 0))
        collector.feed(events.ChoiceEnd(0, ir.Finish("tool_calls")))
        return collector.response()

    assert collect(['{"a":', '"\ud83d\ude00"}']) == collect(list('{"a":"\ud83d\ude00"}'))


@pytest.mark.parametrize("format", formats.FORMATS)
def test_encoding_a_stream_does_not_change_its_events(format: str) -> None:
    """Law 14: the accumulator uses the same events; text that an encoder adds to a part would be there twice."""
    for sample in SAMPLES:
        emitted = events_of_response(_answer(sample))
        kept = deepcopy(emitted)
        encoder = formats.load(format).stream_encoder(Options(), None)

        for event in emitted:
            encoder.feed(event)

        assert emitted == kept, sample
