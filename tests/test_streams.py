"""Streams between formats: the same at any cut of the bytes, and never complete where the source was not."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from itertools import product
from typing import Any

import pytest
from pydantic import BaseModel

import formatbridge as fb
from formatbridge import formats
from formatbridge.convert import check
from formatbridge.errors import FormatBridgeError
from tests import corpus, fixtures
from tests.normal import normal_form

PAIRS = list(product(fb.FORMATS, fb.FORMATS))
CROSSINGS = [(source, target) for source, target in PAIRS if source != target]


def _answer(format: str, stem: str = "tools_parallel") -> dict[str, Any]:
    return next(each.body for each in fixtures.fixtures("response", format) if each.stem == stem)


def _stream(format: str, stem: str = "tools_parallel") -> bytes:
    return b"".join(fb.replay_response(_answer(format, stem), source=format))


def _pieces(stream: bytes, size: int) -> list[bytes]:
    return [stream[at : at + size] for at in range(0, len(stream), size)]


def _convert(chunks: list[bytes], source: str, target: str) -> bytes:
    return b"".join(fb.convert_stream(chunks, source=source, target=target))


def _meaning(body: Any, format: str) -> Any:
    return normal_form(formats.load(format).decode_response(check(body, format, "response")))


@pytest.mark.parametrize(("source", "target"), PAIRS)
def test_a_stream_is_the_same_at_any_cut_of_its_bytes(source: str, target: str) -> None:
    """Networks cut where they like: inside an event, a line, a character."""
    stream = _stream(source)

    whole = _convert([stream], source, target)

    assert all(_convert(_pieces(stream, size), source, target) == whole for size in (1, 7, 64))


@pytest.mark.parametrize(("source", "target"), PAIRS)
def test_a_stream_adds_up_to_the_converted_answer(source: str, target: str) -> None:
    """Whoever streams and whoever waits for the whole get the same answer."""
    streamed = fb.collect_stream([_convert([_stream(source)], source, target)], source=target)

    whole = fb.convert_response(_answer(source), source=source, target=target)

    assert _meaning(streamed.body, target) == _meaning(whole.body, target)


@pytest.mark.parametrize(("source", "target"), CROSSINGS)
def test_parallel_calls_keep_their_own_arguments(source: str, target: str) -> None:
    """The arguments of two calls that stream at once are never run together."""
    made = fb.collect_stream([_stream(source)], source=source, target=target)

    whole = fb.convert_response(_answer(source), source=source, target=target)

    assert _arguments(made.body, target) == _arguments(whole.body, target)
    assert len(_arguments(made.body, target)) > 1


def _arguments(body: Any, format: str) -> list[str]:
    answer = formats.load(format).decode_response(check(body, format, "response"))
    return [str(part.arguments) for choice in answer.choices for part in choice.parts if hasattr(part, "arguments")]


@pytest.mark.parametrize(("source", "target"), CROSSINGS)
def test_a_cut_stream_is_never_a_success(source: str, target: str) -> None:
    """A connection that breaks in the middle raises, with the part that came and the bytes that tell the target's reader so."""
    stream = _stream(source)
    converter = fb.StreamConverter(source=source, target=target)
    made = converter.feed(stream[: len(stream) // 2])

    with pytest.raises(fb.TruncatedStreamError) as caught:
        converter.finish()

    assert caught.value.partial is not None
    reader = fb.StreamConverter(source=target, target=source)
    reader.feed(made + caught.value.tail)
    assert reader.error is not None


@pytest.mark.parametrize(("source", "target"), CROSSINGS)
def test_a_cut_stream_is_closed_where_the_caller_asks_for_it(source: str, target: str) -> None:
    """``on_truncated="close"`` ends the answer as one that ran out of tokens."""
    stream = _stream(source, "text_plain")
    options = fb.Options(on_truncated="close")

    made = b"".join(fb.convert_stream([stream[: len(stream) // 2]], source=source, target=target, options=options))

    read = fb.StreamConverter(source=target, target=target)
    read.feed(made)
    read.finish()


@pytest.mark.parametrize(("source", "target"), PAIRS)
def test_an_async_stream_gives_the_bytes_of_a_sync_one(source: str, target: str) -> None:
    """The two kinds of applications get one behaviour."""
    stream = _stream(source)

    async def chunks() -> AsyncIterator[bytes]:
        for piece in _pieces(stream, 50):
            yield piece

    async def gather() -> tuple[bytes, fb.Converted]:
        made = b"".join([piece async for piece in fb.convert_stream(chunks(), source=source, target=target)])
        return made, await fb.collect_stream(chunks(), source=source, target=target)

    made, collected = asyncio.run(gather())

    assert made == _convert([stream], source, target)
    assert collected.body == fb.collect_stream([stream], source=source, target=target).body


@pytest.mark.parametrize("format", fb.FORMATS)
def test_events_are_typed_in_their_own_format(format: str) -> None:
    """A service that reads one format gets pydantic models of its events."""
    events = list(fb.iter_events(_pieces(_stream(format), 40), format=format))

    assert events
    assert all(isinstance(event, BaseModel) for event in events)


@pytest.mark.parametrize("format", fb.FORMATS)
def test_an_event_that_is_no_json_names_its_place(format: str) -> None:
    """A proxy's page in the middle of a stream is refused with its offset and its beginning, typed or converted."""
    stream = b"data: <html>\n\n"

    with pytest.raises(fb.StreamDecodeError) as typed:
        list(fb.iter_events([stream, b"data: {}\n\n"], format=format))
    with pytest.raises(fb.StreamDecodeError) as converted:
        _convert([stream, b"data: {}\n\n"], format, "messages")

    assert typed.value.snippet == converted.value.snippet == b"<html>"
    assert typed.value.offset == converted.value.offset


def test_a_replay_loses_no_more_than_the_caller_allows() -> None:
    """A cached answer is replayed to a caller of another format; ``raise_on`` guards it as it guards a conversion."""
    answer = _answer("messages", "reasoning_signed")
    options = fb.Options(raise_on="lossy", carry_reasoning=False)

    with pytest.raises(fb.LossyConversionError):
        fb.replay_response(answer, source="messages", target="generate_content", options=options)


def test_an_error_event_ends_the_stream_and_stays_readable() -> None:
    """A model that breaks down in mid-answer is an error of the target's kind, and no complete answer."""
    error = json.dumps({"type": "error", "error": {"type": "overloaded_error", "message": "busy"}})
    converter = fb.StreamConverter(source="messages", target="chat_completions")

    made = converter.feed(f"event: error\ndata: {error}\n\n".encode()) + converter.finish()

    assert b"busy" in made
    assert converter.error is not None
    assert converter.error.message == "busy"


@pytest.mark.skipif(not list(corpus.entries(None, "stream")), reason="the recorded traffic is not here")
@pytest.mark.parametrize(("source", "target"), PAIRS)
def test_every_recorded_stream_is_converted_or_refused_by_name(source: str, target: str) -> None:
    """Real servers send odd streams; none raises anything but the library's own errors, and what ends well can be read back."""
    for entry in corpus.entries(source, "stream"):
        try:
            made = _convert([entry.bytes()], source, target)
        except FormatBridgeError:
            continue
        reader = fb.StreamConverter(source=target, target=target)
        reader.feed(made)
        reader.finish()


def test_a_stream_collected_in_its_own_format_keeps_fields_that_nobody_knows() -> None:
    """A service that stores streamed answers keeps the server's fingerprint and whatever fields come tomorrow."""
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

    made = fb.collect_stream([stream], source="chat_completions")

    assert made.losses == ()
    assert made.body["id"] == "c"
    assert (made.body["system_fingerprint"], made.body["x/new"], made.body["usage"]["cost"]) == ("fp", {"a": [1]}, 4)
    assert (made.body["choices"][0]["message"]["zz"], made.body["choices"][0]["native"]) == (1, "STOP")
