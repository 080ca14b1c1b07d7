"""Streams between formats: the same for any split of the bytes, and never complete if the source was not."""

from __future__ import annotations

import asyncio
import gc
import json
import weakref
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import suppress
from typing import Any

import pytest
from pydantic import BaseModel

import formatbridge as fb
from formatbridge import formats
from formatbridge.errors import FormatBridgeError
from formatbridge.jsontext.codec import dumps
from formatbridge.streaming.sse import DONE, StreamReader, encode_event
from tests import corpus, fixtures
from tests.fixtures import check
from tests.support.directions import DIRECTIONS, PAIRS
from tests.support.normal_form import normal_form


def _answer(format: fb.Format, stem: str = "tools_parallel") -> dict[str, Any]:
    return next(each.body for each in fixtures.fixtures("response", format) if each.stem == stem)


def _stream(format: fb.Format, stem: str = "tools_parallel") -> bytes:
    return b"".join(fb.replay_response(_answer(format, stem), source=format))


def _pieces(stream: bytes, size: int) -> list[bytes]:
    return [stream[at : at + size] for at in range(0, len(stream), size)]


def _convert(chunks: list[bytes], source: fb.Format, target: fb.Format) -> bytes:
    return b"".join(fb.convert_stream(chunks, source=source, target=target))


def _meaning(body: Any, format: fb.Format) -> Any:
    return normal_form(formats.load(format).decode_response(check(body, format, "response")))


@pytest.mark.parametrize(("source", "target"), PAIRS)
def test_a_converted_stream_is_the_same_for_any_chunks(source: fb.Format, target: fb.Format) -> None:
    """Networks split bytes anywhere: inside an event, a line or a character."""
    stream = _stream(source)

    whole = _convert([stream], source, target)

    assert all(_convert(_pieces(stream, size), source, target) == whole for size in (1, 7, 64))


@pytest.mark.parametrize(("source", "target"), PAIRS)
def test_a_converted_stream_collects_to_the_converted_answer(source: fb.Format, target: fb.Format) -> None:
    """A user who streams and a user who waits for the whole answer get the same."""
    streamed = fb.collect_stream([_convert([_stream(source)], source, target)], source=target)

    whole = fb.convert_response(_answer(source), source=source, target=target)

    assert _meaning(streamed.body, target) == _meaning(whole.body, target)


@pytest.mark.parametrize(("source", "target"), DIRECTIONS)
def test_parallel_calls_keep_their_arguments(source: fb.Format, target: fb.Format) -> None:
    """The arguments of two calls that stream in turn are never mixed."""
    collected = fb.collect_stream([_stream(source)], source=source, target=target)

    whole = fb.convert_response(_answer(source), source=source, target=target)

    assert _arguments(collected.body, target) == _arguments(whole.body, target)
    assert len(_arguments(collected.body, target)) > 1


def _arguments(body: Any, format: fb.Format) -> list[str]:
    answer = formats.load(format).decode_response(check(body, format, "response"))
    return [str(part.arguments) for choice in answer.choices for part in choice.parts if hasattr(part, "arguments")]


@pytest.mark.parametrize(("source", "target"), DIRECTIONS)
def test_a_truncated_stream_raises_with_its_partial_answer(source: fb.Format, target: fb.Format) -> None:
    """A connection that breaks in the middle raises, with the part that arrived and an error event for the target's reader."""
    stream = _stream(source)
    converter = fb.StreamConverter(source=source, target=target)
    converted = converter.feed(stream[: len(stream) // 2])

    with pytest.raises(fb.TruncatedStreamError) as caught:
        converter.finish()

    assert caught.value.partial is not None
    reader = fb.StreamConverter(source=target, target=source)
    reader.feed(converted + caught.value.tail)
    assert reader.error is not None


@pytest.mark.parametrize(("source", "target"), PAIRS)
def test_an_async_stream_gives_the_bytes_of_a_sync_one(source: fb.Format, target: fb.Format) -> None:
    """Both kinds of applications get the same behaviour."""
    stream = _stream(source)

    async def chunks() -> AsyncIterator[bytes]:
        for piece in _pieces(stream, 50):
            yield piece

    async def gather() -> tuple[bytes, fb.Converted, list[BaseModel]]:
        result = b"".join([piece async for piece in fb.convert_stream(chunks(), source=source, target=target)])
        collected = await fb.collect_stream(chunks(), source=source, target=target)
        return result, collected, [event async for event in fb.iter_events(chunks(), format=source)]

    result, collected, read = asyncio.run(gather())

    assert result == _convert([stream], source, target)
    assert collected.body == fb.collect_stream([stream], source=source, target=target).body
    assert read == list(fb.iter_events([stream], format=source))


@pytest.mark.parametrize("format", fb.FORMATS)
def test_events_are_typed_in_their_format(format: fb.Format) -> None:
    """A service that reads one format gets pydantic models of its events."""
    events = list(fb.iter_events(_pieces(_stream(format), 40), format=format))

    assert events
    assert all(isinstance(event, BaseModel) for event in events)


def _fault(read: Callable[[], object]) -> tuple[type, str, Any] | None:
    """Return the error of reading a stream and the partial answer; None if there is none."""
    try:
        read()
    except fb.StreamError as error:
        return type(error), str(error), error.partial and error.partial.body
    return None


@pytest.mark.parametrize("format", fb.FORMATS)
def test_typed_events_of_a_truncated_stream_end_in_an_error(format: fb.Format) -> None:
    """A user who reads events only must not take half an answer for one: a truncated stream ends as a collected one does."""
    stream = _stream(format, "text_plain")
    whole = list(fb.iter_events([stream], format=format))
    for cut in range(len(stream)):
        came: list[BaseModel] = []

        raised = _fault(lambda: came.extend(fb.iter_events([stream[:cut]], format=format)))  # noqa: B023  # called at once

        assert raised == _fault(lambda: fb.collect_stream([stream[:cut]], source=format))  # noqa: B023
        assert (raised is None) or raised[0] is fb.TruncatedStreamError
        assert came == whole[: len(came)]


@pytest.mark.parametrize("format", fb.FORMATS)
def test_typed_events_are_returned_before_truncation_raises(format: fb.Format) -> None:
    """A reader shows the part that arrived, and then the error."""
    events = fb.iter_events(_pieces(_stream(format)[:-90], 40), format=format)

    assert isinstance(next(events), BaseModel)
    with pytest.raises(fb.TruncatedStreamError, match="the bytes ended before the stream did"):
        list(events)


@pytest.mark.parametrize("format", fb.FORMATS)
@pytest.mark.parametrize("chunks", [[], [b""], [b"<html>502</html>"], [b": ping\n\n"]])
def test_a_body_that_is_no_stream_has_no_typed_events(chunks: list[bytes], format: fb.Format) -> None:
    """A proxy's page, or an empty body, in place of a stream."""
    with pytest.raises(fb.TruncatedStreamError, match=f"no event of {format} arrived"):
        list(fb.iter_events(chunks, format=format))


@pytest.mark.parametrize("error", ["busy", {"message": "busy"}, {"message": {"busy": True}}, ["busy"], {"code": ["busy"]}])
@pytest.mark.parametrize("format", fb.FORMATS)
def test_an_error_is_the_last_typed_event_whatever_its_shape(format: fb.Format, error: Any) -> None:
    """Relays write errors of any shape into streams; an unknown one is an event with a message, and the end."""
    stream = b"data: " + json.dumps({"error": error}).encode() + b"\n\n"

    events = list(fb.iter_events([stream], format=format))

    assert ["busy" in event.model_dump_json() for event in events] == [True]


@pytest.mark.parametrize("format", fb.FORMATS)
def test_an_event_that_is_no_json_names_its_place(format: fb.Format) -> None:
    """A proxy's page in the middle of a stream is rejected with its offset and its beginning, typed or converted."""
    stream = b"data: <html>\n\n"

    with pytest.raises(fb.StreamDecodeError) as typed:
        list(fb.iter_events([stream, b"data: {}\n\n"], format=format))
    with pytest.raises(fb.StreamDecodeError) as converted:
        _convert([stream, b"data: {}\n\n"], format, "messages")

    assert typed.value.snippet == converted.value.snippet == b"<html>"
    assert typed.value.offset == converted.value.offset
    assert str(typed.value) == str(converted.value)
    assert str(typed.value).startswith(f"event at byte 6 of the stream is not of {format}: is not JSON")


def test_a_replay_loses_no_more_than_the_caller_allows() -> None:
    """A cached answer is replayed to a caller of another format; ``raise_on`` holds as in a conversion."""
    answer = _answer("messages", "reasoning_signed")
    options = fb.Options(raise_on="lossy", carry_reasoning=False)

    with pytest.raises(fb.LossyConversionError):
        fb.replay_response(answer, source="messages", target="generate_content", options=options)


@pytest.mark.parametrize("target", [format for format in fb.FORMATS if format != "responses"])
def test_a_replay_of_a_failed_answer_keeps_its_error(target: fb.Format) -> None:
    """The part before the failure is in the stream, so its loss raises no error; the failure is the only end."""
    answer = _answer("responses", "finish_failed")
    call = {"type": "function_call", "id": "fc_1", "call_id": "call_1", "name": "f", "arguments": "{}", "status": "completed"}
    answer = answer | {"output": [*answer["output"], call]}

    stream = b"".join(fb.replay_response(answer, source="responses", target=target, options=fb.Options(raise_on="lossy")))

    converter = fb.StreamConverter(source="responses", target=target)
    live = converter.feed(b"".join(fb.replay_response(answer, source="responses"))) + converter.finish()
    assert (b"Vinnu" in stream, b"call_1" in stream, b"The server had an error." in stream) == (True, True, True)
    assert stream == live
    with pytest.raises(fb.StreamFailedError):
        fb.collect_stream([stream], source=target)


def test_an_error_event_ends_the_stream_and_stays_readable() -> None:
    """A model that fails in the middle of an answer is an error of the target's kind, and no complete answer."""
    error = json.dumps({"type": "error", "error": {"type": "overloaded_error", "message": "busy"}})
    converter = fb.StreamConverter(source="messages", target="chat_completions")

    converted = converter.feed(f"event: error\ndata: {error}\n\n".encode()) + converter.finish()

    assert b"busy" in converted
    assert converter.error is not None
    assert converter.error.message == "busy"


@pytest.mark.skipif(not list(corpus.entries(None, "stream")), reason="the recorded traffic is not here")
@pytest.mark.parametrize(("source", "target"), PAIRS)
def test_every_recorded_stream_is_converted_or_refused_by_name(source: fb.Format, target: fb.Format) -> None:
    """Real servers send unusual streams; none raises an exception of another library, and the output of a complete one can be read back."""
    for entry in corpus.entries(source, "stream"):
        try:
            converted = _convert([entry.bytes()], source, target)
        except FormatBridgeError:
            continue
        reader = fb.StreamConverter(source=target, target=target)
        reader.feed(converted)
        reader.finish()


def test_a_stream_collected_in_its_format_keeps_unknown_fields() -> None:
    """A service that stores streamed answers keeps the server's fingerprint and fields of future versions."""
    chunk = {
        "id": "c",
        "object": "chat.completion.chunk",
        "created": 1,
        "model": "m",
        "system_fingerprint": "fp",
        "x/new": {"a": [1]},
    }
    first = chunk | {"choices": [{"index": 0, "delta": {"role": "assistant", "content": "A", "zz": 1}, "finish_reason": None}]}
    last = chunk | {"choices": [{"index": 0, "delta": {}, "finish_reason": "stop", "native": "STOP"}]}
    usage = {"prompt_tokens": 1, "completion_tokens": 2, "total_tokens": 3, "cost": 4}
    events = [first, last, chunk | {"choices": [], "usage": usage}]
    stream = b"".join(b"data: " + json.dumps(event).encode() + b"\n\n" for event in events) + b"data: [DONE]\n\n"

    collected = fb.collect_stream([stream], source="chat_completions")

    assert collected.losses == ()
    assert collected.body["id"] == "c"
    assert (collected.body["system_fingerprint"], collected.body["x/new"], collected.body["usage"]["cost"]) == ("fp", {"a": [1]}, 4)
    assert (collected.body["choices"][0]["message"]["zz"], collected.body["choices"][0]["native"]) == (1, "STOP")


WRONG: tuple[Any, ...] = (None, True, 5, -1, "", [], [None], {}, {"a": 1}, [[]])
"""Values of every JSON type, which a leaf may have by mistake."""


def _spoilt(value: Any) -> Iterator[Any]:
    """Yield a JSON value with each of its nodes in turn replaced by each wrong value."""
    for key in value if isinstance(value, dict) else range(len(value)) if isinstance(value, list) else ():
        copy = dict(value) if isinstance(value, dict) else list(value)
        for wrong in (*WRONG, *_spoilt(value[key])):
            copy[key] = wrong
            yield copy


@pytest.mark.parametrize("source", fb.FORMATS)
def test_an_event_with_a_wrong_leaf_is_read_or_refused_by_name(source: fb.Format) -> None:
    """Law 13: servers send null in place of a text, a number for a type, a list for an object; none of it raises another exception."""
    reader = StreamReader()
    read = [*reader.feed(_stream(source)), *reader.finish()]
    for at, event in enumerate(read):
        if event.data == DONE:
            continue
        for spoilt in _spoilt(json.loads(event.data)):
            events = [encode_event(each.data, each.event or None) for each in read]
            events[at] = encode_event(dumps(spoilt), event.event or None)
            converter = fb.StreamConverter(source=source, target="messages" if source != "messages" else "responses")
            with suppress(FormatBridgeError):
                converter.feed(b"".join(events))
                converter.finish()
            converter.response().json()


@pytest.mark.parametrize("source", fb.FORMATS)
def test_events_before_an_invalid_event_are_returned(source: fb.Format) -> None:
    """The events before an invalid one are returned for any split of the bytes; then it is reported, and reported again."""
    other: fb.Format = "messages" if source != "messages" else "responses"
    stream, broken = _stream(source, "text_plain"), b"data: <html>\n\n"
    head = stream[: stream.index(b"\n", len(stream) // 2) + 1]
    head = head[: max(head.rfind(b"\n\n") + 2, head.rfind(b"\r\n\r\n") + 4)]
    converter = fb.StreamConverter(source=source, target=other)

    converted = converter.feed(head + broken)

    assert converted == fb.StreamConverter(source=source, target=other).feed(head)
    for _ in range(2):
        with pytest.raises(fb.StreamDecodeError) as caught:
            converter.feed(b"")
    assert caught.value.partial is not None
    assert caught.value.snippet == b"<html>"


@pytest.mark.parametrize(("source", "target"), DIRECTIONS)
@pytest.mark.parametrize("broken", [b"data: <html>\n\n", b"data: " + b"x" * 200])
def test_an_invalid_event_becomes_an_error_event_of_the_target(source: fb.Format, target: fb.Format, broken: bytes) -> None:
    """A gateway that copies a stream has no other message for its reader."""
    stream = _stream(source, "text_plain")
    head = stream[: stream.index(b"\n", len(stream) // 2) + 1]
    head = head[: max(head.rfind(b"\n\n") + 2, head.rfind(b"\r\n\r\n") + 4)]
    converter = fb.StreamConverter(source=source, target=target)
    converted = converter.feed(head)

    with pytest.raises((fb.StreamDecodeError, fb.TruncatedStreamError)) as caught:
        converted += converter.feed(broken) + converter.finish()

    reader = fb.StreamConverter(source=target, target=source)
    reader.feed(converted + caught.value.tail)
    assert reader.error is not None


@pytest.mark.parametrize("format", ["chat_completions", "generate_content"])
def test_a_message_field_is_an_error_only_as_text_and_outside_ping_events(format: fb.Format) -> None:
    """Relays send errors as a message only, and pings with one; the message object of another format is no error text."""
    message = {b'{"message":"gone"}': True, b'{"type":"ping","message":"alive"}': False, b'{"message":{"id":"m"}}': False}
    for data, is_error in message.items():
        converter = fb.StreamConverter(source=format, target="messages")
        converter.feed(b"data: " + data + b"\n\n")
        assert (converter.error is not None) == is_error


@pytest.mark.parametrize("format", fb.FORMATS)
def test_a_truncated_same_format_stream_ends_in_an_error_after_complete_events(format: fb.Format) -> None:
    """The events that were passed on stay readable, and the tail reports that the answer is incomplete."""
    stream = _stream(format, "text_plain")
    converter = fb.StreamConverter(source=format, target=format)
    converted = converter.feed(stream[: len(stream) // 2])

    with pytest.raises(fb.TruncatedStreamError) as caught:
        converter.finish()

    assert stream.startswith(converted)
    reader = fb.StreamConverter(source=format, target="messages" if format != "messages" else "responses")
    reader.feed(converted + caught.value.tail)
    assert reader.error is not None


def _words(body: dict[str, Any]) -> str:
    items = [part["text"] for item in body["output"] for part in item.get("content", ())]
    return "".join([*items, *(item["arguments"] for item in body["output"] if "arguments" in item)])


@pytest.mark.parametrize("stem", ["text_plain", "tools_parallel"])
def test_a_truncated_stream_of_responses_fails_with_its_partial_answer(stem: str) -> None:
    """The reader of a stream that was passed on gets what a converted one has:

    finished items, the whole text, sequence numbers that continue.
    """
    stream = next(each.data for each in fixtures.streams("responses") if each.stem == stem)
    events = [json.loads(event.data) for event in StreamReader().feed(stream)]
    done = next(at for at, event in enumerate(events) if event["type"] == "response.completed")
    for count in range(2, done):
        converter = fb.StreamConverter(source="responses", target="responses")
        converter.feed(b"".join(encode_event(json.dumps(event).encode(), event["type"]) for event in events[:count]))

        with pytest.raises(fb.TruncatedStreamError) as caught:
            converter.finish()

        tail = [json.loads(event.data) for event in StreamReader().feed(caught.value.tail)]
        assert [event["sequence_number"] for event in tail] == list(range(count, count + len(tail)))
        assert tail[-1]["response"]["status"] == "failed"
        assert _words(tail[-1]["response"]) == "".join(event["delta"] for event in events[:count] if "delta" in event)
        closed = {event["item"]["id"] for event in events[:count] if event["type"] == "response.output_item.done"}
        ended = {event["item"]["id"]: event["item"]["status"] for event in tail if event["type"] == "response.output_item.done"}
        longer = {event["item_id"] for event in events[:count] if event["type"].endswith(".delta")}
        assert ended == dict.fromkeys(longer - closed, "incomplete")


def test_a_stream_restores_custom_tools() -> None:
    """A free-form tool that was sent as a function returns as itself, streamed and whole."""
    request = fb.convert_request(
        {
            "model": "m",
            "messages": [{"role": "user", "content": "hi"}],
            "tools": [{"type": "custom", "custom": {"name": "write"}}, {"type": "function", "function": {"name": "0 bad"}}],
        },
        source="chat_completions",
        target="messages",
    )
    renamed = request.body["tools"][1]["name"]
    content = [
        {"type": "tool_use", "id": "toolu_1", "name": "write", "input": {"input": 'x "y"'}},
        {"type": "tool_use", "id": "toolu_2", "name": renamed, "input": {"a": 1}},
    ]
    usage = {"input_tokens": 1, "output_tokens": 1}
    answer = {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": "m",
        "content": content,
        "stop_reason": "tool_use",
        "stop_sequence": None,
        "usage": usage,
    }
    stream = [*fb.replay_response(answer, source="messages")]
    arguments: dict[str, Any] = {"source": "messages", "target": "chat_completions", "request": request}

    output = fb.convert_stream(stream, **arguments)

    calls = fb.collect_stream(output, source="chat_completions").body["choices"][0]["message"]["tool_calls"]
    assert fb.collect_stream(stream, **arguments).body["choices"][0]["message"]["tool_calls"] == calls
    assert fb.convert_response(answer, **arguments).body["choices"][0]["message"]["tool_calls"] == calls
    replayed = fb.collect_stream(fb.replay_response(answer, **arguments), source="chat_completions")
    assert replayed.body["choices"][0]["message"]["tool_calls"] == calls
    assert calls[0] == {"id": "toolu_1", "type": "custom", "custom": {"name": "write", "input": 'x "y"'}}
    assert calls[1]["function"] == {"name": "0 bad", "arguments": '{"a":1}'}
    whole = fb.convert_response(answer, source="messages", target="chat_completions", request=request)
    assert whole.body["choices"][0]["message"]["tool_calls"] == calls


@pytest.mark.parametrize("source", ["messages", "generate_content"])
def test_arguments_that_are_an_object_are_replayed_whole(source: fb.Format) -> None:
    """Two formats have arguments as objects; a replay writes them as the text that the others stream."""
    answer = _answer(source)

    collected = fb.collect_stream(fb.replay_response(answer, source=source, target="chat_completions"), source="chat_completions")

    whole = fb.convert_response(answer, source=source, target="chat_completions")
    assert collected.body["choices"][0]["message"]["tool_calls"] == whole.body["choices"][0]["message"]["tool_calls"]


FINISHES: dict[str, Callable[[dict[str, Any]], Any]] = {
    "chat_completions": lambda body: body["choices"][0]["finish_reason"],
    "messages": lambda body: body["stop_reason"],
    "responses": lambda body: None if body["status"] == "in_progress" else body["status"],
    "generate_content": lambda body: body["candidates"][0].get("finishReason"),
}
"""Format to the field with the finish reason of its answer."""


@pytest.mark.parametrize(("source", "target"), PAIRS)
def test_a_partial_answer_is_marked_as_incomplete(source: fb.Format, target: fb.Format) -> None:
    """A user who stores the part before a truncation stores an answer without an end."""
    stream = _stream(source, "text_plain")
    converter = fb.StreamConverter(source=source, target=target)
    converter.feed(stream[: len(stream) // 2])

    with pytest.raises(fb.TruncatedStreamError) as caught:
        converter.finish()

    assert caught.value.partial is not None
    assert FINISHES[target](caught.value.partial.body) is None


@pytest.mark.parametrize(
    ("source", "target", "events"),
    [
        (
            "chat_completions",
            "chat_completions",
            [
                {"choices": [{"index": 0, "delta": {"content": "A"}, "logprobs": {"own": 1}}]},
                {"choices": [{"index": 0, "delta": {}}]},
            ],
        ),
        (
            "responses",
            "generate_content",
            [
                {"type": "response.output_item.added", "output_index": 0, "item": {"type": "", "id": "i", "content": []}},
                {
                    "type": "response.output_item.done",
                    "output_index": 0,
                    "item": {"type": "message", "id": "i", "role": "assistant", "content": [{"type": "output_text", "text": "A"}]},
                },
            ],
        ),
    ],
)
def test_unusual_events_raise_errors_of_this_library_only(source: fb.Format, target: fb.Format, events: list[Any]) -> None:
    """Examples from fuzzing: other fields in place of log probabilities, an item that is a message at its end."""
    converter = fb.StreamConverter(source=source, target=target)

    converter.feed(b"".join(encode_event(dumps(event)) for event in events))

    assert "A" in converter.response().json().decode()


@pytest.mark.parametrize(("source", "target"), PAIRS)
def test_a_finished_stream_rejects_further_calls(source: fb.Format, target: fb.Format) -> None:
    """A second end would be a second ``[DONE]``, and bytes after it would belong to another stream."""
    converter = fb.StreamConverter(source=source, target=target)
    converter.feed(_stream(source))
    converter.finish()

    with pytest.raises(fb.ConfigurationError, match="finished"):
        converter.finish()
    with pytest.raises(fb.ConfigurationError, match="finished"):
        converter.feed(b"data: {}\n\n")
    assert converter.response().body


@pytest.mark.parametrize(("source", "target"), [pair for pair in PAIRS if pair[0] != "generate_content"])
def test_the_end_is_emitted_as_soon_as_it_arrives(source: fb.Format, target: fb.Format) -> None:
    """A server may keep its connection open after ``[DONE]`` or the last event; the caller's client must not wait."""
    converter = fb.StreamConverter(source=source, target=target)

    converted = converter.feed(_stream(source))

    assert converter.feed(_stream(source)) == b"" or source == target
    assert source == target or converter.finish() == b""
    collected = fb.collect_stream([_stream(source)], source=source, target=target)
    assert _meaning(fb.collect_stream([converted], source=target).body, target) == _meaning(collected.body, target)


@pytest.mark.parametrize(("source", "target"), PAIRS)
def test_a_partial_answer_reports_no_added_end(source: fb.Format, target: fb.Format) -> None:
    """A truncated answer has no finish reason, so the report has no addition of one."""
    converter = fb.StreamConverter(source=source, target=target)
    converter.feed(_stream(source)[:-200])

    answer = converter.response()

    assert [each.path for each in answer.additions if "finish" in each.path.lower() or "stop_reason" in each.path] == []


_OPENED = (
    b"d",
    b"data",
    b"data:",
    b"data: ",
    b"data:\n",
    b"data: {",
    b"e",
    b"event: err",
    b"event: error\n",
    b"event: error\ndata: ",
)
"""Beginnings of an event: of a field name, of a field, of the JSON."""
_NOTHING = (b"\n", b":", b": ping", b": ping\n\n", b"i", b"id: 7\n", b"retry: 1", b"data:\n\n", b"event: error\n\n", b"database: x")
"""Bytes that begin no event: blank lines, comments, fields without an effect, an empty event."""


@pytest.mark.parametrize("target", fb.FORMATS)
def test_a_stream_that_breaks_within_an_event_is_truncated(target: fb.Format) -> None:
    """After a finish reason that event may have been an error, wherever its bytes end."""
    ended = {"id": "c", "model": "m", "choices": [{"index": 0, "delta": {"content": "A"}, "finish_reason": "stop"}]}
    result = {}
    for rest in (*_OPENED, *_NOTHING, b"data: [DONE]"):
        converter = fb.StreamConverter(source="chat_completions", target=target)
        converter.feed(encode_event(dumps(ended)) + rest)
        result[rest] = _fault(converter.finish)

    assert [rest for rest, fault in result.items() if fault is not None] == [*_OPENED]


def test_bytes_after_the_end_are_no_truncation() -> None:
    """A server that has sent the end may close the connection at any time."""
    for rest in _OPENED:
        assert fb.collect_stream([_stream("chat_completions") + rest], source="chat_completions").body


@pytest.mark.parametrize(("source", "target"), PAIRS)
def test_an_unreferenced_converter_is_freed_at_once(source: fb.Format, target: fb.Format) -> None:
    """It holds the answer. A reference cycle would hold it until the garbage collector runs, which slows down every stream."""
    converter = fb.StreamConverter(source=source, target=target)
    converter.feed(_stream(source))
    converter.finish()
    kept = weakref.ref(converter)

    gc.disable()
    del converter
    gc.enable()

    assert kept() is None
