"""Answers with malformed fields are read: malformed values are left out and reported; a same-format conversion keeps them."""

from __future__ import annotations

import json
from copy import deepcopy
from typing import Any

import pytest

import formatbridge as fb
from formatbridge.convert.collect import EventReader
from tests.fixtures import Fixture, StreamFixture, fixtures, streams
from tests.support.directions import DIRECTIONS

Body = dict[str, Any]

MALFORMED = [each for each in fixtures() if each.is_malformed]
STREAMS = [each for each in streams() if each.stem.startswith("malformed_")]
FLAT: Body = {"type": "url_citation", "url": "https://falls.example", "title": "Falls"}
CITED: Body = {
    "type": "url_citation",
    "url_citation": {"url": "https://falls.example", "title": "Falls", "start_index": 0, "end_index": 1},
}


def _chat(**message: Any) -> Body:
    text = {"role": "assistant", "content": "hi"} | message
    return {
        "id": "c",
        "object": "chat.completion",
        "created": 1,
        "model": "m",
        "choices": [{"message": text, "finish_reason": "stop"}],
    }


def _losses(converted: fb.Converted, code: str = "malformed") -> list[tuple[str, str, str]]:
    return [(loss.path, loss.kind, loss.severity) for loss in converted.losses if loss.code == code]


@pytest.mark.parametrize("fixture", MALFORMED, ids=str)
def test_a_malformed_answer_is_unchanged_in_its_format(fixture: Fixture) -> None:
    """The caller's client may read what this library cannot."""
    raw = deepcopy(fixture.body)

    converted = fixture.convert(fixture.format)

    assert (converted.body, converted.losses, converted.additions) == (raw, (), ())
    assert fixture.body == raw


@pytest.mark.parametrize("target", fb.FORMATS)
def test_losses_after_a_removed_item_point_into_the_original_body(target: fb.Format) -> None:
    """Removing a list item shifts later indexes; the report is about the caller's body."""
    body = _chat(
        annotations=[FLAT, CITED | {"url_citation": CITED["url_citation"] | {"mood": "calm"}}, 5, CITED | {"mood": "calm"}]
    )
    if target == "chat_completions":
        return

    converted = fb.convert_response(body, source="chat_completions", target=target)

    at = "/choices/0/message/annotations"
    assert _losses(converted) == [(f"{at}/0", "dropped", "lossy"), (f"{at}/2", "dropped", "lossy")]
    assert {f"{at}/1/url_citation/mood", f"{at}/3/mood"} <= {loss.path for loss in converted.losses}


def test_the_smallest_removable_value_is_removed() -> None:
    """An optional member is removed alone; a required member is removed together with its object."""
    call = {"id": "c1", "type": "function", "function": {"name": "f", "arguments": "{}"}}
    body = _chat(
        refusal=5,
        tool_calls=[call | {"function": {"name": 5}}, call | {"id": 7}, call | {"id": "c3"}],
        reasoning_details=[{"type": "reasoning.text", "text": "why", "index": "first"}],
    )

    converted = fb.convert_response(body, source="chat_completions", target="messages")

    at = "/choices/0/message"
    assert {path for path, _, _ in _losses(converted)} == {
        f"{at}/refusal",
        f"{at}/tool_calls/0",
        f"{at}/tool_calls/1/id",
        f"{at}/reasoning_details/0/index",
    }
    assert [block["type"] for block in converted.body["content"]] == ["thinking", "text", "tool_use", "tool_use"]


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
def test_an_answer_without_content_is_rejected(source: fb.Format, body: Body, target: fb.Format) -> None:
    """A body that cannot be recognized as an answer is rejected, also in a same-format conversion."""
    with pytest.raises(fb.InvalidPayloadError):
        fb.convert_response(body, source=source, target=target)


@pytest.mark.parametrize("target", ["messages", "chat_completions"])
def test_an_error_in_place_of_a_malformed_answer_is_an_error(target: fb.Format) -> None:
    """A failure is reported as an error, even if other fields are malformed."""
    converted = fb.convert_response({"id": "r", "output": [], "error": "boom"}, source="responses", target=target)

    assert isinstance(converted, fb.ConvertedError)
    assert "boom" in json.dumps(converted.body)


def test_an_infinity_in_a_malformed_answer_is_rejected() -> None:
    """The JSON itself is invalid, wherever the number is."""
    text = json.dumps(_chat(annotations=[FLAT])).replace('"created": 1', '"created": 1, "score": 1e999')

    with pytest.raises(fb.InvalidPayloadError, match="score"):
        fb.convert_response(text, source="chat_completions", target="messages")


def test_missing_required_fields_are_added_by_the_target() -> None:
    """The id and the type of an answer are no content; its position implies them."""
    text = {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "hi", "annotations": []}]}
    converted = fb.convert_response({"output": [text]}, source="responses", target="messages")

    assert converted.body["content"] == [{"type": "text", "text": "hi"}]
    assert not _losses(converted)
    assert {"/id", "/model"} <= {addition.path for addition in converted.additions}


def test_the_severity_of_a_malformed_field_depends_on_its_place() -> None:
    """With ``raise_on="lossy"`` lost content raises, and a malformed count does not."""
    options = fb.Options(raise_on="lossy")

    fb.convert_response(_chat() | {"usage": {"prompt_tokens": "1"}}, source="chat_completions", target="messages", options=options)
    with pytest.raises(fb.LossyConversionError, match="annotations"):
        fb.convert_response(_chat(annotations=[FLAT]), source="chat_completions", target="messages", options=options)


@pytest.mark.parametrize("fixture", STREAMS, ids=str)
def test_a_malformed_event_is_unchanged_in_its_format(fixture: StreamFixture) -> None:
    """Law 3: a same-format stream keeps all bytes."""
    converter = fb.StreamConverter(source=fixture.format, target=fixture.format)

    converted = converter.feed(fixture.data) + converter.finish()

    assert [event for event in _data(converted) if event] == _data(fixture.data)


@pytest.mark.parametrize("fixture", STREAMS, ids=str)
@pytest.mark.parametrize("target", fb.FORMATS)
def test_a_malformed_stream_and_its_answer_have_the_same_losses(fixture: StreamFixture, target: fb.Format) -> None:
    """Law 6: the accumulated answer contains the malformed fields, so its conversion has the same losses."""
    whole = fb.collect_stream([fixture.data], source=fixture.format)
    streamed = fb.collect_stream([fixture.data], source=fixture.format, target=target)

    converted = fb.convert_response(whole.body, source=fixture.format, target=target)

    assert converted.body == streamed.body
    if target != fixture.format and not whole.losses:
        lost = [{loss.path for loss in each.losses} for each in (converted, streamed)]
        assert lost[0] == lost[1]


@pytest.mark.parametrize("fixture", STREAMS, ids=str)
def test_typed_events_of_a_malformed_stream_are_complete(fixture: StreamFixture) -> None:
    """A typed event has no malformed fields; an event that is left empty keeps all its fields as an unknown one."""
    events = list(fb.iter_events([fixture.data], format=fixture.format))
    again = EventReader(fixture.format)

    assert len(events) == len(_data(fixture.data))
    assert [type(each) for each in [*again.feed(fixture.data), *again.finish()]] == [type(each) for each in events]


def _data(stream: bytes) -> list[Any]:
    lines = [line[6:] for line in stream.splitlines() if line.startswith(b"data: ") and line != b"data: [DONE]"]
    return [json.loads(line) for line in lines]


@pytest.mark.parametrize(("source", "target"), DIRECTIONS)
def test_an_invalid_event_ends_the_stream(source: fb.Format, target: fb.Format) -> None:
    """Invalid JSON, or an event of another format, is an error of the stream."""
    other = {"type": "response.created", "response": {}} if source != "responses" else {"type": "message_start", "message": {}}
    for broken in (b"data: <html>\n\n", b"data: " + json.dumps(other).encode() + b"\n\n"):
        converter = fb.StreamConverter(source=source, target=target)

        with pytest.raises(fb.StreamDecodeError):
            converter.feed(broken)


def test_a_malformed_answer_in_place_of_a_stream_is_read() -> None:
    """Servers without streaming send whole answers with the same errors."""
    body = {
        "id": "m",
        "role": "assistant",
        "model": "m",
        "content": [{"type": "text", "text": "hi"}],
        "stop_reason": "end_turn",
        "usage": 5,
    }

    collected = fb.collect_stream([json.dumps(body).encode()], source="messages", target="chat_completions")

    assert collected.body["choices"][0]["message"]["content"] == "hi"
    assert _losses(collected) == [("/usage", "dropped", "info")]


@pytest.mark.parametrize("target", fb.FORMATS)
def test_a_replayed_answer_omits_malformed_fields(target: fb.Format) -> None:
    """A replayed stream contains the valid fields; ``raise_on`` can reject the rest."""
    replayed = b"".join(fb.replay_response(_chat(annotations=[FLAT]), source="chat_completions", target=target))

    collected = fb.collect_stream([replayed], source=target, target="chat_completions")

    assert collected.body["choices"][0]["message"]["content"] == "hi"
    with pytest.raises(fb.LossyConversionError, match="annotations"):
        fb.replay_response(
            _chat(annotations=[FLAT]), source="chat_completions", target=target, options=fb.Options(raise_on="lossy")
        )
