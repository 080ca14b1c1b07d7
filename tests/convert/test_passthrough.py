"""Same-format streams pass unchanged, in the lines that the official client reads; errors reach that client."""

from __future__ import annotations

import json
from itertools import product
from typing import Any

import httpx2
import pytest

import formatbridge as fb
from formatbridge.streaming.sse import DONE
from tests.client.test_transport import RELAY_KEY, SDK_ERRORS, VENDOR, VENDOR_KEY, Pieces
from tests.fixtures import streams
from tests.support import official_sdks
from tests.support.directions import PAIRS
from tests.support.sdk_clients import ClientRefusesError, content_of, read
from tests.support.stream_laws import read as events_of

ERRORS: dict[str, bytes] = {
    "chat": b'data: {"error":{"message":"slow down","type":"server_error","code":"rate_limit_exceeded"}}\n\n',
    "messages": b'event: error\ndata: {"type":"error","error":{"type":"overloaded_error","message":"slow down"}}\n\n',
    "messages, no name": b'data: {"type":"error","error":{"type":"overloaded_error","message":"slow down"}}\n\n',
    "messages, no type": b'event: error\ndata: {"error":{"type":"overloaded_error","message":"slow down"}}\n\n',
    "a status": b'data: {"error":{"code":429,"message":"slow down","status":"RESOURCE_EXHAUSTED"}}\n\n',
    "words": b'data: {"error":"slow down"}\n\n',
    "no success": b'data: {"success":false,"message":"slow down"}\n\n',
    "detail": b'data: {"detail":"slow down"}\n\n',
    "message": b'data: {"message":"slow down"}\n\n',
    "flat": b'data: {"type":"error","code":"server_error","message":"slow down"}\n\n',
    "plain lines": b'{\n "error": {\n  "message": "slow down"\n }\n}\n',
}
"""Lines that relays send in place of an event, of a dialect or of another format."""

FLAT = {("responses", "flat")}
"""Those of the vendor, which its client returns as an event to the reader."""


def _text(format: fb.Format) -> bytes:
    """Return a stream with a few words of text."""
    return next(each.data for each in streams(format) if each.stem.startswith("text") and each.data.count(b"data: ") > 1)


def _beginning(format: fb.Format) -> bytes:
    """Return its first events."""
    whole = _text(format)
    separator = b"\r\n\r\n" if b"\r\n\r\n" in whole else b"\n\n"
    return separator.join(whole.split(separator)[:3]) + separator


def _pass_on(stream: bytes, format: fb.Format) -> tuple[bytes, fb.StreamConverter]:
    converter = fb.StreamConverter(source=format, target=format)
    return converter.feed(stream) + converter.finish(), converter


@pytest.mark.parametrize("error", ERRORS)
@pytest.mark.parametrize("format", fb.FORMATS)
def test_the_official_client_raises_for_an_error_that_is_passed_on(format: fb.Format, error: str) -> None:
    """A client that ignores it takes half an answer for a whole one."""
    for begun in (b"", _beginning(format)):
        result, converter = _pass_on(begun + ERRORS[error] + (b"" if error == "plain lines" else b"data: [DONE]\n\n"), format)

        assert converter.error is not None
        assert result.endswith(b"data: [DONE]\n\n") == (error != "plain lines" and format != "generate_content")
        assert b"slow down" in result
        if (format, error) not in FLAT:
            with pytest.raises(ClientRefusesError, match=r"slow down|^APIError"):
                read(result, format)


@pytest.mark.parametrize(("format", "error"), [each for each in product(fb.FORMATS, ERRORS) if each not in FLAT])
def test_a_same_format_transport_hides_no_error(format: fb.Format, error: str) -> None:
    """A user who uses the transport for its key and its checks relies on it too."""
    body = Pieces(_beginning(format), ERRORS[error])
    inner = httpx2.MockTransport(lambda _: httpx2.Response(200, headers={"content-type": "text/event-stream"}, stream=body))
    http_client = httpx2.Client(transport=fb.transport("https://relay.test", RELAY_KEY, via=format, inner=inner))

    with pytest.raises(SDK_ERRORS):
        official_sdks.ask(format, official_sdks.sdk(format, VENDOR, VENDOR_KEY, http_client), is_streaming=True)


@pytest.mark.parametrize("code", [0, 200, 302, 700])
def test_an_error_without_an_error_status_is_followed_by_one_with_it(code: int) -> None:
    """The client of generate_content for JavaScript raises on codes from 400 to 599 only."""
    error = b'data: {"error":{"code":%d,"message":"slow down"}}\r\n\r\n' % code

    result, _ = _pass_on(_beginning("generate_content") + error, "generate_content")

    assert json.loads(events_of(result)[-1].data)["error"] == {"code": 500, "message": "slow down", "status": "INTERNAL"}


ERRORS_OF_THE_FORMAT = {
    "chat_completions": ERRORS["chat"].replace(b'"code"', b'"metadata":{"a":1},"code"'),
    "messages": ERRORS["messages"].replace(b'"message"', b'"details":{"a":1},"message"'),
    "responses": b'event: error\ndata: {"type":"error","code":"c","message":"slow down","param":null,"sequence_number":9}\n\n',
    "generate_content": ERRORS["a status"].replace(b"}}\n\n", b',"details":[{"a":1}]}}\r\n\r\n'),
}


@pytest.mark.parametrize("format", fb.FORMATS)
def test_an_error_in_the_format_of_the_stream_is_unchanged(format: fb.Format) -> None:
    """Law 3: it is the vendor's message, with details that have no canonical field, and all of them arrive."""
    result, converter = _pass_on(_beginning(format) + ERRORS_OF_THE_FORMAT[format], format)

    assert result.endswith(ERRORS_OF_THE_FORMAT[format])
    assert (converter.losses, converter.additions) == ((), ())


def test_a_rewritten_error_reports_its_omitted_fields() -> None:
    """Law 1: a rewritten error is a conversion like any other."""
    result, converter = _pass_on(b'data: {"error":{"message":"slow down","code":"busy"},"user_id":"u"}\n\n', "messages")

    assert b"busy" not in result
    assert [(loss.path, loss.before) for loss in converter.losses] == [("/user_id", "u"), ("/error/code", "busy")]


def test_the_content_of_a_chunk_precedes_the_error_in_it() -> None:
    """The client does not see an error inside a choice, and the text next to it is valid."""
    choice = {"index": 0, "delta": {"content": "Rome"}, "finish_reason": "error", "error": {"message": "slow down", "code": 502}}
    chunk = b"data: " + json.dumps({"id": "c", "object": "chat.completion.chunk", "choices": [choice]}).encode() + b"\n\n"

    result, _ = _pass_on(chunk, "chat_completions")

    assert result.startswith(chunk)
    with pytest.raises(ClientRefusesError, match="slow down"):
        read(result, "chat_completions")


@pytest.mark.parametrize("format", ["messages", "responses"])
def test_events_without_names_get_the_names_that_the_client_requires(format: fb.Format) -> None:
    """Proxies drop ``event:`` lines; the client of messages ignores events without one."""
    whole = _text(format)
    nameless = b"".join(b"data: %b\n\n" % event.data for event in events_of(whole))

    result, _ = _pass_on(nameless, format)

    assert [event.event for event in events_of(result)] == [json.loads(event.data)["type"] for event in events_of(whole)]
    assert content_of(read(result, format), format) == content_of(read(whole, format), format)


@pytest.mark.parametrize("format", ["messages", "responses", "generate_content"])
def test_done_is_passed_on_if_the_official_client_reads_it(format: fb.Format) -> None:
    """OpenRouter ends its streams of responses with it; the client of generate_content reads every event as JSON."""
    result, _ = _pass_on(_text(format) + b"data: [DONE]\n\n", format)

    assert [event.data for event in events_of(result) if event.data == DONE] == [DONE] * (format != "generate_content")
    assert read(result, format)


FAILED = (
    b'event: response.failed\ndata: {"type":"response.failed","sequence_number":10,"response":{"id":"resp_1","object":"response",'
    b'"created_at":1,"model":"m","status":"failed","error":{"code":"server_error","message":"slow down"},"output":[],'
    b'"usage":{"input_tokens":3,"output_tokens":0,"total_tokens":3}}}\n\n'
)
FOLLOWING = {
    "chat_completions": b"data: [DONE]\n\n",
    "messages": b'event: message_stop\ndata: {"type":"message_stop"}\n\n',
    "responses": FAILED,
    "generate_content": b'data: {"usageMetadata":{"promptTokenCount":3}}\r\n\r\n',
}
"""Events that servers send after an error: the end of the stream, and the usage."""


@pytest.mark.parametrize("error", ERRORS)
@pytest.mark.parametrize("format", fb.FORMATS)
def test_events_after_an_error_pass_unchanged(format: fb.Format, error: str) -> None:
    """Law 3: OpenAI sends ``error``, then ``response.failed`` with the usage; a program that reads the events needs both."""
    if error == "plain lines":  # from there on the stream is JSON
        return

    result, converter = _pass_on(_beginning(format) + ERRORS[error] + FOLLOWING[format] + FOLLOWING[format], format)

    assert converter.error is not None
    assert converter.error.message == "slow down"
    assert result.endswith(FOLLOWING[format] * 2)
    assert not result.endswith(FOLLOWING[format] * 3)


@pytest.mark.parametrize("format", ["messages", "responses"])
def test_events_after_an_error_get_their_names(format: fb.Format) -> None:
    """A client that reads the names of events ignores one without."""
    nameless = FOLLOWING[format].partition(b"\n")[2]

    result, _ = _pass_on(_beginning(format) + ERRORS["messages"] + nameless + b"data: bye\n\ndata: 5\n\n", format)

    assert result.endswith(FOLLOWING[format] + b"data: bye\n\ndata: 5\n\n")


@pytest.mark.parametrize("format", fb.FORMATS)
def test_a_stream_that_ends_after_an_error_is_not_truncated(format: fb.Format) -> None:
    """Its reader has the error; an incomplete event after it does not concern the answer."""
    converter = fb.StreamConverter(source=format, target=format)
    converted = converter.feed(_beginning(format) + ERRORS_OF_THE_FORMAT[format] + FOLLOWING[format][:-9])

    assert converter.finish() == b""
    assert converted.endswith(ERRORS_OF_THE_FORMAT[format])


def test_done_after_an_incomplete_answer_follows_the_error() -> None:
    """The client stops reading there, and would not see that the answer is incomplete."""
    converter = fb.StreamConverter(source="chat_completions", target="chat_completions")
    converted = converter.feed(
        _beginning("chat_completions").replace(b'"stop"', b"null")
        + b'data: {"choices":[{"index":0,"delta":'
        + b'{"tool_calls":[{"index":0,"id":"a","function":{"name":"f","arguments":"{"}}]}}]}\n\ndata: [DONE]\n\n'
    )

    with pytest.raises(fb.TruncatedStreamError) as raised:
        converter.finish()

    with pytest.raises(ClientRefusesError, match="ended before"):
        read(converted + raised.value.tail, "chat_completions")


@pytest.mark.parametrize(("format", "target"), PAIRS)
def test_invalid_data_is_emitted_as_an_error_event(format: fb.Format, target: fb.Format) -> None:
    """Nothing was truncated: a user must not look for the fault in the network."""
    converter = fb.StreamConverter(source=format, target=target)
    converter.feed(_beginning(format))

    with pytest.raises(fb.StreamDecodeError) as raised:
        converter.feed(b"data: {bad\n\n")

    assert b"the stream has an event that cannot be read" in raised.value.tail


def _losses_of(stream: bytes, format: fb.Format) -> tuple[Any, ...]:
    _, converter = _pass_on(stream, format)
    return (*converter.losses, *converter.additions)


def test_a_same_format_stream_that_cannot_be_folded_has_no_losses() -> None:
    """Law 3: the bytes have all of it, whatever the accumulated answer lacks."""
    twice = _text("messages").replace(b'"index":0', b'"index":7')

    assert _losses_of(twice, "messages") == ()
