"""The text of a stream: complete, once, in order, as it arrives."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Iterable, Iterator
from functools import partial
from typing import Any

import httpx
import pytest

import formatbridge as fb
from formatbridge import formats, ir
from tests.fixtures import check
from tests.support.servers import KEY, body_of, stream_of
from tests.support.stream_laws import Stream, recorded, shipped

OTHER: dict[fb.Format, fb.Format] = dict(
    zip(fb.FORMATS, ("responses", "chat_completions", "chat_completions", "chat_completions"), strict=True)
)
"""The format to which another one's stream is converted; it has refusals too."""


def client_of(pieces: Iterable[bytes]) -> fb.Client:
    """Return a client with one answer, a stream in some pieces."""
    transport = httpx.MockTransport(lambda _: httpx.Response(200, content=iter(pieces)))
    return fb.Client("https://relay.test", KEY, retry=0, http_client=httpx.Client(transport=transport))


def text_and_answer(pieces: Iterable[bytes], format: fb.Format, via: fb.Format) -> tuple[str, dict[str, Any] | None]:
    """Return the text of a stream and the answer so far; None if the stream failed before it had one."""
    received: list[str] = []
    try:
        with client_of(pieces).stream(body_of("requests", format), format, via) as stream:
            received.extend(stream.text())
            answer = stream.response()
    except (fb.StreamError, fb.APIError) as error:
        partial = getattr(error, "partial", None)
        return "".join(received), partial and partial.body
    return "".join(received), answer.body


def text_of(body: dict[str, Any] | None, format: fb.Format) -> str:
    """Return the visible text of an answer, as ``Reply.text`` does."""
    if body is None:
        return ""
    choices = formats.load(format).decode_response(check(body, formats.load(format).name, "response")).choices[:1]
    return "".join(part.text for choice in choices for part in choice.parts if isinstance(part, ir.Text))


def _without_line_feeds(text: str) -> str:
    """Return a text without line feeds: chat_completions has blank lines in place of server tools between texts."""
    return text.replace("\n", "")


def _transcript(answer: dict[str, Any] | None) -> str:
    """Return the transcript of the audio in an answer of chat_completions."""
    choices = (answer or {}).get("choices") or [{}]
    audio = choices[0].get("message", {}).get("audio")
    return str(audio["transcript"]) if audio else ""


def every_stream(format: fb.Format) -> Iterator[Stream]:
    yield from shipped(format)
    yield from recorded(format)


@pytest.mark.parametrize("format", fb.FORMATS)
def test_the_text_of_a_stream_is_that_of_its_answer(format: fb.Format) -> None:
    """Relays send a text in parts, as a whole, or only at its end; the text must be complete in every case."""
    odd = []
    for stream in every_stream(format):
        text, body = text_and_answer([stream.data], format, format)
        if text != text_of(body, format):
            odd.append((stream.id, text[-60:]))

    assert odd == []


@pytest.mark.parametrize("format", fb.FORMATS)
def test_the_text_of_a_stream_is_the_same_in_another_format(format: fb.Format) -> None:
    """Users of both formats read the same answer. In a format without audio its transcript is a text."""
    odd = []
    for stream in every_stream(format):
        (text, answer), (other, _) = (text_and_answer([stream.data], caller, format) for caller in (format, OTHER[format]))
        if _without_line_feeds(text + _transcript(answer)) != _without_line_feeds(other):
            odd.append((stream.id, text[-60:], other[-60:]))

    assert odd == []


@pytest.mark.parametrize("format", fb.FORMATS)
def test_text_does_not_depend_on_chunks(format: fb.Format) -> None:
    """A network splits bytes anywhere."""
    odd = []
    for stream in shipped(format):
        in_pieces = [stream.data[at : at + 40] for at in range(0, len(stream.data), 40)]
        if text_and_answer(in_pieces, format, format)[0] != text_and_answer([stream.data], format, format)[0]:
            odd.append(stream.id)

    assert odd == []


@pytest.mark.parametrize("via", fb.FORMATS)
@pytest.mark.parametrize("format", fb.FORMATS)
def test_text_is_returned_as_it_arrives(format: fb.Format, via: fb.Format) -> None:
    """A user reads the words as they arrive."""
    sent: list[bytes] = []

    def pieces() -> Iterator[bytes]:
        for event in fb.replay_response(_long_answer(), source="messages", target=via):
            sent.append(event)
            yield event

    with client_of(pieces()).stream(body_of("requests", format), format, via) as stream:
        first = next(iter(stream.text()))
        count = len(sent)
        stream.response()

    assert first
    assert count < len(sent)


def _long_answer() -> dict[str, Any]:
    texts = [
        {"type": "text", "text": "one "},
        {"type": "tool_use", "id": "t", "name": "f", "input": {}},
        {"type": "text", "text": "two"},
    ]
    return {"id": "m", "type": "message", "role": "assistant", "model": "m", "content": texts, "stop_reason": "end_turn"}


@pytest.mark.parametrize("case", ["text_plain", "text_done_only"])
def test_async_text_equals_sync_text(case: str) -> None:
    """Code that is moved to ``asyncio`` shows its users the same text."""
    data = next(each.data for each in shipped("responses") if f"-{case}-" in each.id)

    async def pieces() -> AsyncIterator[bytes]:
        yield data

    async def follow() -> str:
        transport = httpx.MockTransport(lambda _: httpx.Response(200, content=pieces()))
        client = fb.AsyncClient("https://relay.test", KEY, http_client=httpx.AsyncClient(transport=transport))
        async with client.stream(body_of("requests", "responses"), "responses") as stream:
            return "".join([piece async for piece in stream.text()])

    assert asyncio.run(follow()) == text_and_answer([data], "responses", "responses")[0] == "Vinnufossen, at 865 metres."


def test_texts_of_one_chunk_are_returned_one_by_one() -> None:
    """Two messages of an answer may grow in turn; their texts are not mixed."""
    events = [
        {"type": "response.created", "response": _response("in_progress", [])},
        *(_of_item("response.output_item.added", at, item=_message(at, "")) for at in (0, 1)),
        *(_of_text("response.content_part.added", at, part=_part("")) for at in (0, 1)),
        *(_of_text("response.output_text.delta", at, delta=word) for at, word in enumerate(["One ", "two ", "and ", "two"])),
        *(_of_text("response.output_text.done", at, text=text) for at, text in enumerate(["One and ", "two two"])),
        *(_of_item("response.output_item.done", at, item=_message(at, text)) for at, text in enumerate(["One and ", "two two"])),
        {"type": "response.completed", "response": _response("completed", [_message(0, "One and "), _message(1, "two two")])},
    ]
    data = b"".join(b"data: %b\n\n" % json.dumps(event).encode() for event in events)

    text, body = text_and_answer([data], "responses", "responses")

    assert text == text_of(body, "responses") == "One and two two"


def _response(status: str, output: list[Any]) -> dict[str, Any]:
    return {"id": "resp_1", "object": "response", "created_at": 1, "model": "m", "status": status, "output": output}


def _part(text: str) -> dict[str, Any]:
    return {"type": "output_text", "text": text, "annotations": []}


def _message(at: int, text: str) -> dict[str, Any]:
    content = [_part(text)] if text else []
    return {"id": f"msg_{at % 2}", "type": "message", "role": "assistant", "status": "completed", "content": content}


def _of_item(kind: str, at: int, **reported: Any) -> dict[str, Any]:
    return {"type": kind, "output_index": at % 2, **reported}


def _of_text(kind: str, at: int, **reported: Any) -> dict[str, Any]:
    return _of_item(kind, at, item_id=f"msg_{at % 2}", content_index=0, **reported)


def test_the_first_choice_may_have_another_index_than_zero() -> None:
    """A relay may leave out choice 0; the text of the first choice that it sends is not lost."""
    chunk = {"id": "c", "object": "chat.completion.chunk", "created": 1, "model": "m"}
    choices = [{"index": 1, "delta": {"content": "Hi"}}, {"index": 1, "delta": {}, "finish_reason": "stop"}]
    data = b"".join(b"data: %b\n\n" % json.dumps(chunk | {"choices": [choice]}).encode() for choice in choices)

    text, body = text_and_answer([data, b"data: [DONE]\n\n"], "chat_completions", "chat_completions")

    assert text == text_of(body, "chat_completions") == "Hi"


@pytest.mark.parametrize("via", fb.FORMATS)
def test_text_after_reading_an_event_raises(via: fb.Format) -> None:
    """The text of that event would appear twice or never."""
    with client_of([stream_of(via)]).stream(body_of("requests", via), via) as stream:
        next(stream)
        read = partial(next, stream.text())

        with pytest.raises(fb.ConfigurationError, match="was read before"):
            read()
