"""Comments before a body that is no stream. Some relays send them to keep the connection open."""

from __future__ import annotations

import json
from typing import Any

import httpx
import pytest

import formatbridge as fb
from tests.client.test_text import text_of
from tests.support.servers import KEY, answer_of, body_of

COMMENTS = {
    "a comment": b": PROCESSING\n\n",
    "comments": b": PROCESSING\n\n" * 3,
    "CRLF": b":\r\n\r\n: PROCESSING\r\n",
    "a mark": b"\xef\xbb\xbf: PROCESSING\n\n",
    "blanks": b"\n \n: PROCESSING\n\n  ",
    "many": b": PROCESSING\n\n" * 6000,
    "no comment": b"",
}
TYPES = ("text/event-stream", "application/json")
every_comment = pytest.mark.parametrize("comments", COMMENTS.values(), ids=COMMENTS)
every_format = pytest.mark.parametrize("format", fb.FORMATS)


def client_of(body: bytes, kind: str = TYPES[0], status: int = 200, size: int = 7) -> fb.Client:
    """Return a client with one answer, in pieces."""

    def answer(_: httpx.Request) -> httpx.Response:
        pieces = iter([body[at : at + size] for at in range(0, len(body), size)])
        return httpx.Response(status, headers={"content-type": kind}, content=pieces)

    return fb.Client("https://relay.test", KEY, retry=0, http_client=httpx.Client(transport=httpx.MockTransport(answer)))


def whole(format: fb.Format) -> bytes:
    return json.dumps(answer_of(format)).encode()


@every_format
@every_comment
def test_a_whole_answer_after_comments_is_the_answer(comments: bytes, format: fb.Format) -> None:
    """The answer is complete and has been paid for."""
    reply = client_of(comments + whole(format), "application/json", size=999).send(body_of("requests", format), format)

    assert reply.body == reply.native == answer_of(format)


@every_format
@every_comment
@pytest.mark.parametrize("kind", TYPES)
def test_a_whole_answer_after_comments_is_streamed(kind: str, comments: bytes, format: fb.Format) -> None:
    """A caller that requested a stream reads events."""
    client = client_of(comments + whole(format), kind, size=999)

    with client.stream(body_of("requests", "messages"), "messages", format) as stream:
        text = "".join(stream.text())

    assert text == text_of(answer_of(format), format) != ""


@every_format
@every_comment
def test_a_whole_answer_in_place_of_a_stream_is_collected(comments: bytes, format: fb.Format) -> None:
    """The same without a client, in pieces of any size."""
    body = comments + whole(format)

    collected = fb.collect_stream([body[at : at + 64] for at in range(0, len(body), 64)], source=format)

    assert text_of(collected.body, format) == text_of(answer_of(format), format) != ""


@pytest.mark.parametrize("target", fb.FORMATS)
@every_format
def test_a_whole_answer_in_place_of_a_stream_is_converted(format: fb.Format, target: fb.Format) -> None:
    """The reader gets events and an end."""
    output = b"".join(fb.convert_stream([b": PROCESSING\n\n" + whole(format)], source=format, target=target))

    assert list(fb.iter_events([output], format=target))
    assert text_of(fb.collect_stream([output], source=target).body, target) == text_of(answer_of(format), format)


ERROR: dict[str, Any] = {"error": {"message": "The provider is down", "code": "provider_down", "type": "server_error"}}


@every_comment
@pytest.mark.parametrize("status", [200, 502])
@pytest.mark.parametrize("is_stream", [False, True], ids=["whole", "stream"])
@every_format
def test_an_error_after_comments_keeps_its_message(format: fb.Format, is_stream: bool, status: int, comments: bytes) -> None:
    """The error decides whether another attempt can help."""
    client = client_of(comments + json.dumps(ERROR).encode(), TYPES[not is_stream], status, size=999)

    def call() -> None:
        if not is_stream:
            client.send(body_of("requests", format), format)
        with client.stream(body_of("requests", format), format):
            raise AssertionError("an error is no stream")

    with pytest.raises(fb.APIStatusError, match="The provider is down") as caught:
        call()

    assert (caught.value.status, caught.value.code) == (status, "provider_down")


@pytest.mark.parametrize("body", [b": only a comment", b": PROCESSING\n\n", b": PROCESSING\n\n \n"])
@every_format
def test_comments_without_an_answer_are_a_truncated_stream(format: fb.Format, body: bytes) -> None:
    """A relay that gave up sends no answer; this is a truncation, not an empty answer."""
    stream = client_of(body).stream(body_of("requests", format), format)

    with pytest.raises(fb.TruncatedStreamError, match=r"no event of \w+ arrived"):
        stream.__enter__()


def test_comments_are_skipped_at_any_chunk_boundary() -> None:
    """They arrive every few seconds while a model works; nothing after them is lost."""
    client = client_of(b": a\n\n:b\n\n" + whole("messages"), size=1)

    with client.stream(body_of("requests", "messages"), "messages") as stream:
        text = "".join(stream.text())

    assert text == text_of(answer_of("messages"), "messages")
