"""Truncated and failed streams: the partial answer and its report have everything that arrived."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

import pytest

import formatbridge as fb
from formatbridge.errors import PartialAnswer
from formatbridge.streaming.sse import DONE, ServerSentEvent
from tests.fixtures import StreamFixture, streams
from tests.support.directions import DIRECTIONS, PAIRS
from tests.support.pointers import objects, with_value
from tests.support.stream_laws import read, write

JsonObject = dict[str, Any]

_ITEM = {"type": "message", "id": "msg_1", "role": "assistant", "content": [], "status": "completed", "x_choice": 1}
_HEAD = {"id": "r", "object": "response", "created_at": 1, "model": "m", "status": "in_progress", "output": []}
_LAST_EVENTS: dict[str, list[JsonObject]] = {
    "chat_completions": [
        {
            "id": "c",
            "model": "m",
            "choices": [{"index": 0, "delta": {"content": "Hello"}, "x_choice": 1}],
            "usage": {"prompt_tokens": 7, "completion_tokens": 3, "total_tokens": 10},
            "x_answer": 1,
        }
    ],
    "messages": [
        {
            "type": "message_start",
            "message": {
                "id": "msg_1",
                "type": "message",
                "role": "assistant",
                "model": "m",
                "content": [],
                "usage": {"input_tokens": 7, "output_tokens": 3},
            },
        },
        {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": "Hello"}, "x_answer": 1},
    ],
    "responses": [
        {"type": "response.created", "response": _HEAD},
        {
            "type": "response.output_text.delta",
            "item_id": "msg_1",
            "output_index": 0,
            "content_index": 0,
            "delta": "Hello",
            "x_answer": 1,
        },
        {
            "type": "response.output_item.done",
            "output_index": 0,
            "item": _ITEM | {"content": [{"type": "output_text", "text": "Hello", "annotations": []}]},
        },
    ],
    "generate_content": [
        {
            "candidates": [{"content": {"role": "model", "parts": [{"text": "Hello"}]}, "index": 0, "x_choice": 1}],
            "usageMetadata": {"promptTokenCount": 7, "candidatesTokenCount": 3, "totalTokenCount": 10},
            "x_answer": 1,
        }
    ],
}
"""The first events of an answer, with an unknown field in the answer, and in its choice if that is a separate object."""
_ERRORS: dict[str, JsonObject] = {
    "chat_completions": {"error": {"message": "out of luck", "type": "server_error"}},
    "messages": {"type": "error", "error": {"type": "api_error", "message": "out of luck"}},
    "responses": {"type": "error", "code": "server_error", "message": "out of luck"},
    "generate_content": {"error": {"code": 500, "message": "out of luck", "status": "INTERNAL"}},
}
_COUNTED = ("chat_completions", "messages", "generate_content")
"""The formats that may send the usage before the end."""


def _partial_of(source: fb.Format, target: fb.Format, last: list[JsonObject]) -> PartialAnswer:
    """Return the partial answer of a stream without a good end."""
    data = b"".join(b"data: " + json.dumps(event).encode() + b"\n\n" for event in [*_LAST_EVENTS[source], *last])
    with pytest.raises(fb.StreamError) as raised:
        fb.collect_stream([data], source=source, target=target)
    assert raised.value.partial is not None
    return raised.value.partial


@pytest.mark.parametrize("ends_in_error", [False, True], ids=["cut", "error"])
@pytest.mark.parametrize(("source", "target"), DIRECTIONS)
def test_unknown_fields_of_an_answer_without_an_end_are_reported(source: fb.Format, target: fb.Format, ends_in_error: bool) -> None:
    """Law 1: most such fields are reported at the end of a stream, and this one has no end."""
    partial = _partial_of(source, target, [_ERRORS[source]] if ends_in_error else [])

    lost = {loss.path.rpartition("/")[2] for loss in partial.losses}
    assert lost >= ({"x_answer"} if source == "messages" else {"x_answer", "x_choice"})


@pytest.mark.parametrize("ends_in_error", [False, True], ids=["cut", "error"])
@pytest.mark.parametrize("source", _COUNTED)
def test_an_answer_without_an_end_has_its_usage(source: fb.Format, ends_in_error: bool) -> None:
    """A user who pays for it needs the counts."""
    partial = _partial_of(source, "chat_completions", [_ERRORS[source]] if ends_in_error else [])

    counts = partial.body["usage"]
    assert (counts["prompt_tokens"], counts["completion_tokens"]) == (7, 3)


@pytest.mark.parametrize("source", _COUNTED)
def test_a_closed_answer_has_its_usage(source: fb.Format) -> None:
    """A truncated stream that the caller asked to close is an answer with its counts."""
    data = b"".join(b"data: " + json.dumps(event).encode() + b"\n\n" for event in _LAST_EVENTS[source])
    closing = fb.Options(on_truncated="close")

    collected = fb.collect_stream(fb.convert_stream([data], source=source, target="responses", options=closing), source="responses")

    assert (collected.body["usage"]["input_tokens"], collected.body["usage"]["output_tokens"]) == (7, 3)


@pytest.mark.parametrize(("first", "status"), [('{"path":"/', "incomplete"), ('{"path":"/"}', "completed"), ("", "completed")])
def test_an_incomplete_call_has_no_complete_status(first: str, status: str) -> None:
    """Parallel calls may each be incomplete; a user who runs completed items would run half of one."""
    calls = [
        {"index": at, "id": f"call_{at}", "type": "function", "function": {"name": "f", "arguments": text}}
        for at, text in enumerate((first, "{}"))
    ]
    choice = {"index": 0, "delta": {"tool_calls": calls}}
    chunk = {"id": "c1", "object": "chat.completion.chunk", "created": 0, "model": "m", "choices": [choice]}
    source = b"data: %b\n\n" % json.dumps(chunk).encode()
    closing = fb.StreamConverter(source="chat_completions", target="responses", options=fb.Options(on_truncated="close"))
    cut = fb.StreamConverter(source="chat_completions", target="responses")

    output = closing.feed(source) + closing.finish()
    cut.feed(source)
    with pytest.raises(fb.TruncatedStreamError) as caught:
        cut.finish()

    collected = fb.collect_stream([output], source="responses").body["output"]
    assert [item["status"] for item in collected] == [status, "incomplete"]
    assert [item["status"] for item in closing.response().body["output"]] == [status, "incomplete"]
    partial_status = "in_progress" if status == "incomplete" else "completed"
    assert caught.value.partial is not None
    assert [item["status"] for item in caught.value.partial.body["output"]] == [partial_status, "in_progress"]


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
"""Source, kind of event and pointer in it (a star is any number) to the node of the answer whose loss includes that field."""
_REPEATED = {
    ("responses", f"response.{kind}", f"{place}/logprobs/*{below}")
    for kind, place in (("output_text.done", ""), ("content_part.done", "/part"), ("output_item.done", "/item/content/*"))
    for below in ("", "/top_logprobs/*")
}
"""Places that are not decoded: they repeat the log probabilities of the deltas."""


def _cuts(stream: StreamFixture) -> Iterator[tuple[list[ServerSentEvent], JsonObject]]:
    """Yield each event of the answer, with those before it."""
    events = read(stream.data)
    converter = fb.StreamConverter(source=stream.format, target=stream.format)
    for at, event in enumerate(events):
        if converter.has_ended:
            return
        if event.data.strip() and event.data != DONE:
            yield events[:at], json.loads(event.data)
        converter.feed(write([event]))


def _partial(before: list[ServerSentEvent], last: JsonObject, source: fb.Format, target: fb.Format) -> PartialAnswer | None:
    """Return the partial answer of a stream that is truncated after an event; None where it is complete."""
    data = write([*before, ServerSentEvent(str(last.get("type") or ""), json.dumps(last).encode(), 0)])
    try:
        fb.collect_stream([data], source=source, target=target)
    except fb.StreamError as error:
        return error.partial
    return None


def _shows(result: PartialAnswer) -> bool:
    return "serene" in json.dumps(result.body) + json.dumps([(loss.path, loss.before) for loss in result.losses])


def _may_be_silent(result: PartialAnswer, place: tuple[str, str, str]) -> bool:
    return place in _REPEATED or _HELD_BY.get(place) in {re.sub(r"/\d+", "/*", loss.path) for loss in result.losses}


@pytest.mark.parametrize(("source", "target"), PAIRS)
def test_a_truncated_stream_loses_nothing_without_a_report(source: fb.Format, target: fb.Format) -> None:
    """Law 1: a field that is added to any object of any event is in the partial answer or its report."""
    silent = set()
    for stream in streams(source):
        for before, last in _cuts(stream):
            for at in objects(last):
                result = _partial(before, with_value(last, f"{at}/tomorrow", "serene"), source, target)
                place = (source, str(last.get("type") or ""), re.sub(r"/\d+", "/*", at))
                if result is not None and not _shows(result) and not _may_be_silent(result, place):
                    silent.add((*place, stream.stem))

    assert silent == set()


@pytest.mark.parametrize(("source", "target"), DIRECTIONS)
def test_a_report_in_the_middle_of_a_stream_changes_nothing(source: fb.Format, target: fb.Format) -> None:
    """``finish("truncated")`` does not change the decoder: output and report at the end are the same with and without it."""
    for stream in streams(source):
        request, left_alone = (fb.StreamConverter(source=source, target=target) for _ in range(2))
        results: list[list[bytes]] = [[], []]
        for event in read(stream.data):
            results[0].append(request.feed(write([event])))
            results[1].append(left_alone.feed(write([event])))
            assert request.response().losses == request.losses, stream
        results[0].append(request.finish())
        results[1].append(left_alone.finish())

        assert results[0] == results[1], stream
        assert (request.losses, request.response().body) == (left_alone.losses, left_alone.response().body), stream


def _candidate(*parts: JsonObject, **extra: Any) -> JsonObject:
    return {"candidates": [{"content": {"role": "model", "parts": list(parts)}, "index": 0, **extra}]}


@pytest.mark.parametrize("target", ["chat_completions", "messages", "responses"])
def test_an_incomplete_call_in_pieces_is_reported(target: fb.Format) -> None:
    """Half of its arguments are a valid object, so it must not become a call of the answer."""
    begun = {"functionCall": {"name": "move", "id": "call_1", "willContinue": True}}
    piece = {"functionCall": {"partialArgs": [{"jsonPath": "$.from", "stringValue": "here"}], "willContinue": True}}
    events = [ServerSentEvent("", json.dumps(_candidate(begun)).encode(), 0)]

    result = _partial(events, _candidate(piece), "generate_content", target)

    assert result is not None
    assert [(loss.path, loss.code) for loss in result.losses] == [("/candidates/0/content/parts/0", "unfinished")]
    assert "move" not in json.dumps(result.body)


def test_a_report_is_possible_after_an_unreadable_event() -> None:
    """The parts that such an event began do not exist, and pending events for them are skipped."""
    cited = {"groundingMetadata": {"groundingChunks": [{"web": {"uri": "https://a.example"}}]}, "tomorrow": "serene"}
    astray = {"functionCall": {"name": "move", "partialArgs": [{"jsonPath": "null_ledger", "stringValue": "x"}]}}
    events = [ServerSentEvent("", json.dumps(_candidate(**cited)).encode(), 0)]

    result = _partial(events, _candidate({"text": "Hi"}, astray), "generate_content", "messages")

    assert result is not None
    assert _shows(result)
