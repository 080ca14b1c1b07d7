"""Answers with malformed details are read: what the wire model refuses is left out, reported, and unchanged in its own format."""

from __future__ import annotations

import json
from copy import deepcopy
from typing import Any

import pytest

import formatbridge as fb
from formatbridge.convert.collect import EventReader
from tests.directions import CROSSINGS
from tests.fixtures import Fixture, StreamFixture, fixtures, streams

Body = dict[str, Any]

MALFORMED = [each for each in fixtures() if each.is_malformed]
STREAMS = [each for each in streams() if each.stem.startswith("malformed_")]
FLAT: Body = {"type": "url_citation", "url": "https://falls.example", "title": "Falls"}
CITED: Body = {
    "type": "url_citation",
    "url_citation": {"url": "https://falls.example", "title": "Falls", "start_index": 0, "end_index": 1},
}


def _chat(**message: Any) -> Body:
    said = {"role": "assistant", "content": "hi"} | message
    return {
        "id": "c",
        "object": "chat.completion",
        "created": 1,
        "model": "m",
        "choices": [{"message": said, "finish_reason": "stop"}],
    }


def _losses(made: fb.Converted, code: str = "malformed") -> list[tuple[str, str, str]]:
    return [(loss.path, loss.kind, loss.severity) for loss in made.losses if loss.code == code]


@pytest.mark.parametrize("fixture", MALFORMED, ids=str)
def test_a_malformed_answer_stays_as_it_is_in_its_own_format(fixture: Fixture) -> None:
    """The caller's own client may read what this library does not."""
    given = deepcopy(fixture.body)

    made = fixture.convert(fixture.format)

    assert (made.body, made.losses, made.additions) == (given, (), ())
    assert fixture.body == given


@pytest.mark.parametrize("target", fb.FORMATS)
def test_losses_behind_a_removed_item_point_into_the_body_as_it_came(target: str) -> None:
    """Removing a list item moves the items behind it; the report is about the body that the caller has."""
    body = _chat(
        annotations=[FLAT, CITED | {"url_citation": CITED["url_citation"] | {"mood": "calm"}}, 5, CITED | {"mood": "calm"}]
    )
    if target == "chat_completions":
        return

    made = fb.convert_response(body, source="chat_completions", target=target)

    at = "/choices/0/message/annotations"
    assert _losses(made) == [(f"{at}/0", "dropped", "lossy"), (f"{at}/2", "dropped", "lossy")]
    assert {f"{at}/1/url_citation/mood", f"{at}/3/mood"} <= {loss.path for loss in made.losses}


def test_the_smallest_part_that_may_be_left_out_is_removed() -> None:
    """A member that may be absent goes alone; a member that is required takes its object with it, and no more."""
    call = {"id": "c1", "type": "function", "function": {"name": "f", "arguments": "{}"}}
    body = _chat(
        refusal=5,
        tool_calls=[call | {"function": {"name": 5}}, call | {"id": 7}, call | {"id": "c3"}],
        reasoning_details=[{"type": "reasoning.text", "text": "why", "index": "first"}],
    )

    made = fb.convert_response(body, source="chat_completions", target="messages")

    at = "/choices/0/message"
    assert {path for path, _, _ in _losses(made)} == {
        f"{at}/refusal",
        f"{at}/tool_calls/0",
        f"{at}/tool_calls/1/id",
        f"{at}/reasoning_details/0/index",
    }
    assert [block["type"] for block in made.body["content"]] == ["thinking", "text", "tool_use", "tool_use"]


@pytest.mark.parametrize(
    ("source", "body"),
    [
        ("chat_completions", {"id": "c", "choices": "hi"}),
        ("chat_completions", {"id": "c", "choices": [5]}),
        ("chat_completions", {"id": "c", "choices": [{"message": "hi"}]}),
        ("chat_completions", {"id": "c", "choices": [{"delta": {"content": "hi"}}]}),
        ("messages", {"id": "m", "type": "message", "content": "hi"}),
        ("messages", {"id": "m", "type": "message"}),
        ("responses", {"id": "r", "output": None}),
        ("responses", {"id": "r", "output": {"type": "message"}}),
        ("generate_content", {"candidates": {"content": 5}}),
        ("generate_content", {"candidates": [{"content": "hi"}]}),
        ("generate_content", {"unknown": 1}),
    ],
)
@pytest.mark.parametrize("target", fb.FORMATS)
def test_an_answer_without_usable_content_is_refused(source: str, body: Body, target: str) -> None:
    """What cannot be told from something else entirely is no answer, not even for its own format."""
    with pytest.raises(fb.InvalidPayloadError):
        fb.convert_response(body, source=source, target=target)


@pytest.mark.parametrize("target", ["messages", "chat_completions"])
def test_an_error_in_the_place_of_a_malformed_answer_is_an_error(target: str) -> None:
    """A failure is told as one, whatever else is wrong beside it."""
    made = fb.convert_response({"id": "r", "output": [], "error": "boom"}, source="responses", target=target)

    assert isinstance(made, fb.ConvertedError)
    assert "boom" in json.dumps(made.body)


def test_a_number_that_no_json_can_hold_is_refused_all_the_same() -> None:
    """The JSON itself is unusable, wherever the number stands."""
    text = json.dumps(_chat(annotations=[FLAT])).replace('"created": 1', '"created": 1, "score": 1e999')

    with pytest.raises(fb.InvalidPayloadError, match="score"):
        fb.convert_response(text, source="chat_completions", target="messages")


def test_required_fields_that_are_missing_are_added_by_the_target() -> None:
    """The id and the type of an answer are no content; its place says what it is."""
    text = {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "hi", "annotations": []}]}
    made = fb.convert_response({"output": [text]}, source="responses", target="messages")

    assert made.body["content"] == [{"type": "text", "text": "hi"}]
    assert not _losses(made)
    assert {"/id", "/model"} <= {addition.path for addition in made.additions}


def test_a_malformed_detail_counts_for_the_policy_by_its_place() -> None:
    """Whoever runs with ``raise_on="lossy"`` loses no content, and no answer to a broken count."""
    options = fb.Options(raise_on="lossy")

    fb.convert_response(_chat() | {"usage": {"prompt_tokens": "1"}}, source="chat_completions", target="messages", options=options)
    with pytest.raises(fb.LossyConversionError, match="annotations"):
        fb.convert_response(_chat(annotations=[FLAT]), source="chat_completions", target="messages", options=options)


@pytest.mark.parametrize("fixture", STREAMS, ids=str)
def test_a_malformed_event_passes_unchanged_in_its_own_format(fixture: StreamFixture) -> None:
    """Law 3: of a stream that is passed on nothing is left out."""
    converter = fb.StreamConverter(source=fixture.format, target=fixture.format)

    made = converter.feed(fixture.data) + converter.finish()

    assert [event for event in _data(made) if event] == _data(fixture.data)


@pytest.mark.parametrize("fixture", STREAMS, ids=str)
@pytest.mark.parametrize("target", fb.FORMATS)
def test_a_malformed_stream_and_its_whole_answer_come_to_the_same(fixture: StreamFixture, target: str) -> None:
    """Law 6: the collected answer has the details in their places, so that converting it loses the same."""
    whole = fb.collect_stream([fixture.data], source=fixture.format)
    streamed = fb.collect_stream([fixture.data], source=fixture.format, target=target)

    made = fb.convert_response(whole.body, source=fixture.format, target=target)

    assert made.body == streamed.body
    if target != fixture.format and not whole.losses:
        lost = [{loss.path for loss in each.losses} for each in (made, streamed)]
        assert lost[0] == lost[1]


@pytest.mark.parametrize("fixture", STREAMS, ids=str)
def test_typed_events_of_a_malformed_stream_are_all_told(fixture: StreamFixture) -> None:
    """A typed event has no malformed details; one of which nothing is left keeps all its fields as an unknown one."""
    told = list(fb.iter_events([fixture.data], format=fixture.format))
    again = EventReader(fixture.format)

    assert len(told) == len(_data(fixture.data))
    assert [type(each) for each in [*again.feed(fixture.data), *again.finish()]] == [type(each) for each in told]


def _data(stream: bytes) -> list[Any]:
    lines = [line[6:] for line in stream.splitlines() if line.startswith(b"data: ") and line != b"data: [DONE]"]
    return [json.loads(line) for line in lines]


@pytest.mark.parametrize(("source", "target"), CROSSINGS)
def test_an_event_that_is_no_event_still_ends_the_stream(source: str, target: str) -> None:
    """Leniency is for details: text that is no JSON, or another format's event, is a broken stream."""
    other = {"type": "response.created", "response": {}} if source != "responses" else {"type": "message_start", "message": {}}
    for broken in (b"data: <html>\n\n", b"data: " + json.dumps(other).encode() + b"\n\n"):
        converter = fb.StreamConverter(source=source, target=target)

        with pytest.raises(fb.StreamDecodeError):
            converter.feed(broken)


def test_a_whole_malformed_answer_in_the_place_of_a_stream_is_read() -> None:
    """Servers that do not stream answer at once, with the same faults."""
    body = {
        "id": "m",
        "role": "assistant",
        "model": "m",
        "content": [{"type": "text", "text": "hi"}],
        "stop_reason": "end_turn",
        "usage": 5,
    }

    made = fb.collect_stream([json.dumps(body).encode()], source="messages", target="chat_completions")

    assert made.body["choices"][0]["message"]["content"] == "hi"
    assert _losses(made) == [("/usage", "dropped", "info")]


@pytest.mark.parametrize("target", fb.FORMATS)
def test_a_replayed_answer_leaves_its_malformed_details_behind(target: str) -> None:
    """A stream is made of what was read; whoever wants to refuse that does."""
    replayed = b"".join(fb.replay_response(_chat(annotations=[FLAT]), source="chat_completions", target=target))

    made = fb.collect_stream([replayed], source=target, target="chat_completions")

    assert made.body["choices"][0]["message"]["content"] == "hi"
    with pytest.raises(fb.LossyConversionError, match="annotations"):
        fb.replay_response(
            _chat(annotations=[FLAT]), source="chat_completions", target=target, options=fb.Options(raise_on="lossy")
        )
