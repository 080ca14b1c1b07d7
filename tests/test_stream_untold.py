"""What a stream said of its parts before it broke off is told, whichever event is its last: in the partial answer, or in the report."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

import pytest

import formatbridge as fb
from formatbridge.errors import PartialAnswer
from formatbridge.streaming.sse import DONE, ServerSentEvent
from tests.directions import CROSSINGS, PAIRS
from tests.fixtures import StreamFixture, streams
from tests.pointers import objects, with_value
from tests.stream_laws import read, write

JsonObject = dict[str, Any]

_HELD_BY: dict[tuple[str, str, str], str] = {
    ("chat_completions", "", "/choices/*/logprobs"): "/choices/*/logprobs",
    ("messages", "content_block_delta", "/delta"): "/content/*",
    ("generate_content", "", "/error/details/*"): "/error/details",
    ("responses", "response.output_text.annotation.added", "/annotation"): "/output/*/content/*/annotations/*",
    ("responses", "response.content_part.done", "/part/annotations/*"): "/output/*/content/*/annotations/*",
    ("responses", "response.output_item.done", "/item/content/*/annotations/*"): "/output/*/content/*/annotations/*",
    ("responses", "response.output_item.done", "/item"): "/output/*",
    ("responses", "response.output_text.delta", "/logprobs/*"): "/output/*/content/*/logprobs",
    ("responses", "response.output_text.delta", "/logprobs/*/top_logprobs/*"): "/output/*/content/*/logprobs",
}
"""Source, kind of event and pointer in it (a star is any number) to what holds it in the answer, and tells of a field by being gone."""
_SAID_AGAIN = {
    ("responses", f"response.{kind}", f"{place}/logprobs/*{below}")
    for kind, place in (("output_text.done", ""), ("content_part.done", "/part"), ("output_item.done", "/item/content/*"))
    for below in ("", "/top_logprobs/*")
}
"""Where nothing is read: the tokens were told with their deltas, and are only said again."""


def _cuts(stream: StreamFixture) -> Iterator[tuple[list[ServerSentEvent], JsonObject]]:
    """Yield each event that counts, with those before it."""
    told = read(stream.data)
    converter = fb.StreamConverter(source=stream.format, target=stream.format)
    for at, event in enumerate(told):
        if converter.has_ended:
            return
        if event.data.strip() and event.data != DONE:
            yield told[:at], json.loads(event.data)
        converter.feed(write([event]))


def _partial(before: list[ServerSentEvent], last: JsonObject, source: str, target: str) -> PartialAnswer | None:
    """Return the answer so far of a stream that breaks off behind an event; None where it is complete."""
    data = write([*before, ServerSentEvent(str(last.get("type") or ""), json.dumps(last).encode(), 0)])
    try:
        fb.collect_stream([data], source=source, target=target)
    except fb.StreamError as error:
        return error.partial
    return None


def _is_told(made: PartialAnswer) -> bool:
    return "serene" in json.dumps(made.body) + json.dumps([(loss.path, loss.before) for loss in made.losses])


def _may_be_silent(made: PartialAnswer, place: tuple[str, str, str]) -> bool:
    return place in _SAID_AGAIN or _HELD_BY.get(place) in {re.sub(r"/\d+", "/*", loss.path) for loss in made.losses}


@pytest.mark.parametrize(("source", "target"), PAIRS)
def test_nothing_is_lost_in_silence_where_a_stream_breaks_off(source: str, target: str) -> None:
    """Law 1: add a field to any object of any event and cut the stream behind it, and the field shows."""
    silent = set()
    for stream in streams(source):
        for before, last in _cuts(stream):
            for at in objects(last):
                made = _partial(before, with_value(last, f"{at}/tomorrow", "serene"), source, target)
                place = (source, str(last.get("type") or ""), re.sub(r"/\d+", "/*", at))
                if made is not None and not _is_told(made) and not _may_be_silent(made, place):
                    silent.add((*place, stream.stem))

    assert silent == set()


@pytest.mark.parametrize(("source", "target"), CROSSINGS)
def test_to_ask_midway_changes_nothing(source: str, target: str) -> None:
    """What waits to be told is told to whoever asks, and told again in its time: a report that is read early has no say in the last one."""
    for stream in streams(source):
        asked, left_alone = (fb.StreamConverter(source=source, target=target) for _ in range(2))
        made: list[list[bytes]] = [[], []]
        for event in read(stream.data):
            made[0].append(asked.feed(write([event])))
            made[1].append(left_alone.feed(write([event])))
            assert asked.response().losses == asked.losses, stream
        made[0].append(asked.finish())
        made[1].append(left_alone.finish())

        assert made[0] == made[1], stream
        assert (asked.losses, asked.response().body) == (left_alone.losses, left_alone.response().body), stream


def _candidate(*parts: JsonObject, **beside: Any) -> JsonObject:
    return {"candidates": [{"content": {"role": "model", "parts": list(parts)}, "index": 0, **beside}]}


@pytest.mark.parametrize("target", ["chat_completions", "messages", "responses"])
def test_a_call_in_pieces_that_broke_off_is_named(target: str) -> None:
    """Half of its arguments are an object like any other: it is no call of the answer, and the report says that there was one."""
    begun = {"functionCall": {"name": "move", "id": "call_1", "willContinue": True}}
    piece = {"functionCall": {"partialArgs": [{"jsonPath": "$.from", "stringValue": "here"}], "willContinue": True}}
    told = [ServerSentEvent("", json.dumps(_candidate(begun)).encode(), 0)]

    made = _partial(told, _candidate(piece), "generate_content", target)

    assert made is not None
    assert [(loss.path, loss.code) for loss in made.losses] == [("/candidates/0/content/parts/0", "unfinished")]
    assert "move" not in json.dumps(made.body)


def test_an_event_that_cannot_be_read_leaves_a_report_that_can() -> None:
    """What such an event began is told by nobody, and nothing is hung on it; nor does its call stop whoever reads the report."""
    cited = {"groundingMetadata": {"groundingChunks": [{"web": {"uri": "https://a.example"}}]}, "tomorrow": "serene"}
    astray = {"functionCall": {"name": "move", "partialArgs": [{"jsonPath": "null_ledger", "stringValue": "x"}]}}
    told = [ServerSentEvent("", json.dumps(_candidate(**cited)).encode(), 0)]

    made = _partial(told, _candidate({"text": "Hi"}, astray), "generate_content", "messages")

    assert made is not None
    assert _is_told(made)
