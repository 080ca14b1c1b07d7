"""Options of streams: allowed losses, truncation, and partial answers."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from typing import Any

import pytest

import formatbridge as fb
from formatbridge.streaming.sse import StreamReader, encode_event
from tests.fixtures import fixtures
from tests.support.directions import DIRECTIONS, PAIRS
from tests.support.pointers import leaves
from tests.support.servers import answer_of, stream_of

CLOSING = fb.Options(on_truncated="close")

LOSSY = {
    "chat_completions": "finish_stop_sequence",
    "messages": "finish_stop_sequence",
    "responses": "citations_web",
    "generate_content": "citations_web",
}
"""An answer of each format that no other one can express without a loss."""

ENDS = {
    "chat_completions": b'"finish_reason":"',
    "messages": b"message_stop",
    "responses": b"response.completed",
    "generate_content": b'"finishReason"',
}
"""Format to the event that completes its answer."""

FAILURES = {
    "chat_completions": b'data: {"error":{"message":"busy","type":"server_error","code":"overloaded_error"}}\n\n',
    "messages": b'event: error\ndata: {"type":"error","error":{"type":"overloaded_error","message":"busy"}}\n\n',
    "responses": b'event: error\ndata: {"type":"error","code":"server_is_overloaded","message":"busy","param":null}\n\n',
    "generate_content": b'data: {"error":{"code":503,"message":"busy","status":"UNAVAILABLE"}}\r\n\r\n',
}


def _lossy(source: fb.Format) -> bytes:
    body = next(each.body for each in fixtures("response", source) if each.stem == LOSSY[source])
    return b"".join(fb.replay_response(body, source=source))


def _begun(format: fb.Format) -> bytes:
    """Return the events of a stream before the one with its finish reason."""
    data = stream_of(format)
    separator = b"\r\n\r\n" if format == "generate_content" else b"\n\n"
    last = {"messages": b"event: message_delta", "generate_content": b'"finishReason"'}.get(format, ENDS[format])
    return data[: data.rindex(separator, 0, data.index(last)) + len(separator)]


def _finish(body: Any, format: fb.Format) -> Any:
    """Return the finish reason of an answer in its format; None if it has none."""
    match format:
        case "chat_completions":
            return body["choices"][0]["finish_reason"]
        case "messages":
            return body["stop_reason"]
        case "responses":
            return (body.get("incomplete_details") or {}).get("reason")
        case _:
            return body["candidates"][0].get("finishReason")


TORN = (b"", b'data: {"id": "x')
LENGTH = {
    "chat_completions": "length",
    "messages": "max_tokens",
    "responses": "max_output_tokens",
    "generate_content": "MAX_TOKENS",
}


@pytest.mark.parametrize(("source", "target"), DIRECTIONS)
def test_a_stream_that_loses_too_much_raises_in_place_of_its_end(source: fb.Format, target: fb.Format) -> None:
    """A caller who forbids losses must not take a lossy answer for a good one because it was streamed."""
    strict = fb.Options(raise_on="info")
    results: list[bytes] = []

    with pytest.raises(fb.LossyConversionError) as caught:
        results.extend(fb.convert_stream([_lossy(source)], source=source, target=target, options=strict))

    assert caught.value.losses
    assert ENDS[target] not in b"".join(results)
    assert ENDS[target] in b"".join(fb.convert_stream([_lossy(source)], source=source, target=target))


@pytest.mark.parametrize(("source", "target"), DIRECTIONS)
def test_a_partial_answer_can_be_read_whatever_it_loses(source: fb.Format, target: fb.Format) -> None:
    """A caller who forbids losses still needs the losses and the part that arrived."""
    strict = fb.StreamConverter(source=source, target=target, options=fb.Options(raise_on="info"))
    with pytest.raises(fb.LossyConversionError) as caught:
        strict.feed(_lossy(source)) + strict.feed(b"") + strict.finish()
    lenient = fb.StreamConverter(source=source, target=target)
    lenient.feed(_lossy(source)) + lenient.finish()

    answer = strict.response()

    assert answer.body == lenient.response().body
    assert [loss for loss in caught.value.losses if loss not in answer.losses] == []


@pytest.mark.parametrize("junk", [b"", b": ping\n\n", b"data:\n\n"], ids=["nothing", "a comment", "no data"])
@pytest.mark.parametrize(("source", "target"), PAIRS)
def test_a_stream_without_events_is_not_closed(source: fb.Format, target: fb.Format, junk: bytes) -> None:
    """A relay that closed the connection at once gave no answer, not an empty one that reached its token limit."""
    with pytest.raises(fb.TruncatedStreamError, match=r"no event of \w+ arrived"):
        list(fb.convert_stream([junk], source=source, target=target, options=CLOSING))
    with pytest.raises(fb.TruncatedStreamError, match=r"no event of \w+ arrived"):
        fb.collect_stream([junk], source=source, target=target, options=CLOSING)


@pytest.mark.parametrize("torn", TORN, ids=["between events", "inside an event"])
@pytest.mark.parametrize(("source", "target"), DIRECTIONS)
def test_a_closed_stream_has_the_finish_reason_length(source: fb.Format, target: fb.Format, torn: bytes) -> None:
    """The target's reader gets an answer with an end, which shows that it is incomplete."""
    output = b"".join(fb.convert_stream([_begun(source) + torn], source=source, target=target, options=CLOSING))

    answer = fb.collect_stream([output], source=target).body
    assert _finish(answer, target) == LENGTH[target]


@pytest.mark.parametrize("torn", TORN, ids=["between events", "inside an event"])
@pytest.mark.parametrize(("source", "target"), PAIRS)
def test_a_closed_collected_answer_has_the_finish_reason_length(source: fb.Format, target: fb.Format, torn: bytes) -> None:
    """The same format too: a collected answer is written again, so it can have an end."""
    collected = fb.collect_stream([_begun(source) + torn], source=source, target=target, options=CLOSING)

    assert _finish(collected.body, target) == LENGTH[target]


@pytest.mark.parametrize(("source", "target"), PAIRS)
def test_a_partial_answer_of_a_failed_stream_is_never_complete(source: fb.Format, target: fb.Format) -> None:
    """A user who stores the part before an error stores an answer without an end, or one that failed."""
    converter = fb.StreamConverter(source=source, target=target)
    converter.feed(_begun(source) + FAILURES[source])

    converted = converter.response().body

    assert converter.error is not None
    assert _finish(converted, target) is None
    assert converted.get("status") in (("failed",) if target == "responses" else (None,))


def test_additions_of_a_stream_are_those_of_its_answer() -> None:
    """A report without additions is incomplete."""
    whole = fb.convert_response(answer_of("chat_completions"), source="chat_completions", target="responses")
    converter = fb.StreamConverter(source="chat_completions", target="responses")
    converter.feed(stream_of("chat_completions")) + converter.finish()

    assert converter.additions == whole.additions != ()


@pytest.mark.parametrize("format", fb.FORMATS)
def test_a_part_of_an_answer_keeps_the_id_of_the_whole(format: fb.Format) -> None:
    """The support of a relay finds the billed call by its id; relays use any form of ids."""
    name = "responseId" if format == "generate_content" else "id"
    converter = fb.StreamConverter(source=format, target=format)

    converter.feed(_begun(format).replace(answer_of(format)[name].encode(), b"0/own"))

    assert converter.response().body[name] == "0/own"


@pytest.mark.parametrize(
    ("ending", "error"),
    [(b"", fb.TruncatedStreamError), (b"data: <html>\n\n", fb.StreamDecodeError), (FAILURES["messages"], fb.StreamFailedError)],
    ids=["cut", "garbage", "failure"],
)
def test_a_collected_answer_before_an_error_is_kept(ending: bytes, error: type[fb.StreamError]) -> None:
    """The first half of an answer may be all that a user needs, sync or async."""

    async def chunks() -> AsyncIterator[bytes]:
        yield _begun("messages")
        yield ending

    with pytest.raises(error) as awaited:
        asyncio.run(fb.collect_stream(chunks(), source="messages", target="responses"))
    with pytest.raises(error) as waited:
        fb.collect_stream([_begun("messages"), ending], source="messages", target="responses")

    assert awaited.value.partial is not None
    assert waited.value.partial is not None
    assert awaited.value.partial.body == waited.value.partial.body
    assert answer_of("messages")["content"][0]["text"] in str(awaited.value.partial.body)


@pytest.mark.parametrize("junk", [b"data:\n\n", b"data: \n\n", b"event: x\n\n", b": ping\n\n", b"id: 1\n\n"])
@pytest.mark.parametrize(("source", "target"), PAIRS)
def test_lines_without_an_event_are_not_passed_on(source: fb.Format, target: fb.Format, junk: bytes) -> None:
    """Official clients fail on an event without data, and servers send such lines to keep a connection open."""
    events = [event.data for event in StreamReader().feed(stream_of(source))]
    lines = [encode_event(data, None) for data in events]

    output = b"".join(fb.convert_stream([junk, junk.join(lines), junk], source=source, target=target))

    assert output == b"".join(fb.convert_stream(lines, source=source, target=target))


@pytest.mark.parametrize("target", fb.FORMATS)
def test_reasoning_of_white_space_is_the_same_streamed_and_whole(target: fb.Format) -> None:
    """After another reasoning part it was taken for the blank line between the two."""
    reasoning = [{"type": "thinking", "thinking": text, "signature": ""} for text in ("0", "\r")]
    answer = answer_of("messages") | {"content": reasoning}
    stream = b"".join(fb.replay_response(answer, source="messages"))

    collected = fb.collect_stream(fb.convert_stream([stream], source="messages", target=target), source=target)

    assert "\r" in "".join(value for _, value in leaves(collected.body) if isinstance(value, str))


_STARTS = {
    "messages": {
        "type": "message_start",
        "message": {
            "id": "msg_7",
            "type": "message",
            "role": "assistant",
            "model": "m-7",
            "content": [],
            "usage": {"input_tokens": 9},
        },
    },
    "chat_completions": {"id": "", "model": "m-7", "choices": []},
}
"""First events after which the start is delayed, because the next event may have more fields of it."""


@pytest.mark.parametrize(("source", "target"), [pair for pair in DIRECTIONS if pair[0] in _STARTS])
def test_a_partial_answer_has_its_model_and_id(source: fb.Format, target: fb.Format) -> None:
    """A stream that ends after its first event has its model, and perhaps the id by which a user finds it."""
    data = encode_event(json.dumps(_STARTS[source]).encode())
    converter = fb.StreamConverter(source=source, target=target)
    early = converter.feed(data), converter.response().body

    with pytest.raises(fb.TruncatedStreamError) as cut:
        converter.finish()
    closed = fb.collect_stream(fb.convert_stream([data], source=source, target=target, options=CLOSING), source=target)

    assert cut.value.partial is not None
    for body in (early[1], cut.value.partial.body, closed.body):
        assert "m-7" in (body.get("model"), body.get("modelVersion"))
        assert source != "messages" or "msg_7" in str(body)
