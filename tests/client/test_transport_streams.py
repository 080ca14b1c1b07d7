"""The SDK transport: streams that break, fail or have invalid data raise one error of the SDK, without the key."""

from __future__ import annotations

import asyncio
import json
import traceback
from typing import Any

import httpx2
import pytest

import formatbridge as fb
from formatbridge.testing import Cut, Fail, FakeRelay, FaultTransport
from tests.client.test_transport import ENDS, RELAY_KEY, SDK_ERRORS, VENDOR, VENDOR_KEY, Pieces, relay_of
from tests.support import official_sdks
from tests.support.directions import PAIRS
from tests.testing.test_fake_relay import ANSWER

sync_and_async = pytest.mark.parametrize("is_async", [False, True], ids=["sync", "async"])
EVENTS = {"content-type": "text/event-stream"}


def _ask(format: fb.Format, via: fb.Format, inner: Any, *, is_async: bool, **settings: Any) -> official_sdks.SdkAnswer:
    """Read a stream to its end."""
    transport = fb.transport("https://relay.test", RELAY_KEY, via=via, inner=inner, **settings)

    async def ask() -> official_sdks.SdkAnswer:
        async with httpx2.AsyncClient(transport=transport) as http_client:
            return await official_sdks.ask_async(
                format, official_sdks.sdk(format, VENDOR, VENDOR_KEY, http_client), is_streaming=True
            )

    if is_async:
        return asyncio.run(ask())
    return official_sdks.ask(
        format, official_sdks.sdk(format, VENDOR, VENDOR_KEY, httpx2.Client(transport=transport)), is_streaming=True
    )


def _middle(via: fb.Format) -> int:
    """Return a position in the stream of an answer, before its finish reason."""
    whole = b"".join(fb.replay_response(ANSWER.body(via, "m", 1), source="messages", target=via))
    return whole.index(ENDS[via]) // 2


@sync_and_async
@pytest.mark.parametrize("fault", ["ReadError", "RemoteProtocolError", "chunked", "length", "close"])
@pytest.mark.parametrize(("format", "via"), PAIRS)
def test_a_connection_error_within_a_stream_is_an_sdk_error(format: fb.Format, via: fb.Format, fault: Any, is_async: bool) -> None:
    """Code that catches the vendor's errors catches this one, whatever the HTTP library raised."""
    at = _middle(via)
    fails = {"ReadError": Fail("read", at=at), "RemoteProtocolError": Fail("protocol", at=at)}
    trouble = fails[fault] if fault in fails else Cut(at, framing=fault)

    with pytest.raises(SDK_ERRORS, match="ended before"):
        _ask(format, via, FaultTransport(relay_of(), trouble), is_async=is_async)


@sync_and_async
@pytest.mark.parametrize("format", fb.FORMATS)
def test_a_connection_error_after_a_finish_reason_is_an_sdk_error(format: fb.Format, is_async: bool) -> None:
    """A finish reason is not the end of the stream: usage or an error may follow it."""
    events = fb.replay_response(ANSWER.body("chat_completions", "m", 1), source="messages", target="chat_completions")
    body = Pieces(b"".join(events).removesuffix(b"data: [DONE]\n\n"), httpx2.ReadError("reset"))
    inner = httpx2.MockTransport(lambda _: httpx2.Response(200, headers=EVENTS, stream=body))

    with pytest.raises(SDK_ERRORS, match="ended before"):
        _ask(format, "chat_completions", inner, is_async=is_async)


KINDS = ["Text/Event-Stream; charset=utf-8", "text/plain", "application/octet-stream", "application/json", None]
BEGINNINGS = {"at once": b"", "blank lines": b"\r\n\n\n", "a comment": b": ping\n\n", "a mark": b"\xef\xbb\xbf"}


@sync_and_async
@pytest.mark.parametrize("beginning", BEGINNINGS)
@pytest.mark.parametrize("kind", KINDS)
def test_a_stream_with_another_content_type_is_read(kind: str | None, beginning: str, is_async: bool) -> None:
    """Proxies change the content type or omit it; the client and the transport accept such a stream."""
    stream = b"".join(fb.replay_response(ANSWER.body("messages", "m", 1), source="messages"))
    pieces = [BEGINNINGS[beginning], *(stream[at : at + 50] for at in range(0, len(stream), 50))]
    headers = {"content-type": kind} if kind else {}
    inner = httpx2.MockTransport(lambda _: httpx2.Response(200, headers=headers, stream=Pieces(*pieces)))

    received = _ask("chat_completions", "messages", inner, is_async=is_async)

    assert received == _ask("chat_completions", "messages", relay_of(), is_async=is_async)


@sync_and_async
@pytest.mark.parametrize("kind", KINDS)
def test_a_whole_answer_instead_of_a_stream_is_replayed(kind: str | None, is_async: bool) -> None:
    """A relay without streaming sends a whole answer with any content type; the SDK gets a stream."""
    whole = json.dumps(ANSWER.body("messages", "m", 1)).encode()
    headers = {"content-type": kind} if kind and "vent" not in kind else {}
    inner = httpx2.MockTransport(lambda _: httpx2.Response(200, headers=headers, stream=Pieces(b"\n", whole[:9], whole[9:])))

    received = _ask("chat_completions", "messages", inner, is_async=is_async)

    assert received == _ask("chat_completions", "messages", relay_of(), is_async=is_async)


@sync_and_async
@pytest.mark.parametrize(("page", "text"), [(b"\n<html>", "is HTML or XML"), (b"", "is empty"), (b"\n" * 70_000, "is empty")])
def test_a_web_page_in_place_of_a_stream_is_an_error(page: bytes, text: str, is_async: bool) -> None:
    """A proxy whose relay is down answers with status 200 and a page."""
    inner = httpx2.MockTransport(lambda _: httpx2.Response(200, stream=Pieces(page)))

    with pytest.raises(SDK_ERRORS, match=text):
        _ask("chat_completions", "messages", inner, is_async=is_async)


BEGUN = json.dumps({"id": "c", "object": "chat.completion.chunk", "created": 1, "model": "m", "choices": [
    {"index": 0, "delta": {"content": "Hi"}, "finish_reason": None}]}).encode()  # fmt: skip
NONSENSE = {"no JSON": f"data: {RELAY_KEY}\n\n", "no object": f'data: "{RELAY_KEY}"\n\n', "the last of all": f'data: "{RELAY_KEY}"'}
MALFORMED = {
    "a wrong index": f'data: {{"choices": [{{"index": "{RELAY_KEY}", "delta": {{}}}}]}}\n\n',
    "a wrong member": f'data: {{"choices": [{{"index": 0, "delta": "{RELAY_KEY}"}}]}}\n\n',
}
DETAILS = ("a wrong index", "a wrong member")
"""Invalid data that is removed from its event; then the stream ends too early."""


@sync_and_async
@pytest.mark.parametrize("nonsense", NONSENSE)
@pytest.mark.parametrize("format", fb.FORMATS)
def test_invalid_data_in_a_stream_is_reported_without_the_key(format: fb.Format, nonsense: str, is_async: bool) -> None:
    """A relay that writes its log into the stream must not write the key into that of the caller."""
    lines = _lines_of_error(format, NONSENSE[nonsense], is_async)

    assert [line for line in lines if RELAY_KEY in line and "test_transport" not in line] == []
    assert "event at byte" in " ".join(lines)


@sync_and_async
@pytest.mark.parametrize("detail", MALFORMED)
@pytest.mark.parametrize("format", [format for format in fb.FORMATS if format != "chat_completions"])
def test_a_malformed_detail_of_a_stream_does_not_reach_another_format(format: fb.Format, detail: str, is_async: bool) -> None:
    """The event is read without it; the stream is reported as truncated."""
    lines = _lines_of_error(format, MALFORMED[detail], is_async)

    assert [line for line in lines if RELAY_KEY in line and "test_transport" not in line] == []
    assert "the stream ended before its answer was complete" in " ".join(lines)


def _lines_of_error(format: fb.Format, event: str, is_async: bool) -> list[str]:
    """Return the lines of the error, with all variables, that an SDK raises for a stream of chat_completions with such an event."""
    body = Pieces(b"data: " + BEGUN + b"\n\n", event.encode())
    inner = httpx2.MockTransport(lambda _: httpx2.Response(200, headers=EVENTS, stream=body))
    with pytest.raises((*SDK_ERRORS, httpx2.RemoteProtocolError)) as raised:
        _ask(format, "chat_completions", inner, is_async=is_async)
    error: BaseException | None = raised.value
    lines = []
    while error is not None:
        lines.append(f"{error!r} {error}")
        error = error.__cause__ or error.__context__
    return [*lines, *traceback.TracebackException.from_exception(raised.value, capture_locals=True).format()]


@sync_and_async
@pytest.mark.parametrize("via", fb.FORMATS)
def test_on_convert_is_called_once_per_answer(via: fb.Format, is_async: bool) -> None:
    """A user may bill by the reports; a stream has an end and is also closed."""
    converted: list[fb.Converted] = []

    _ask("messages", via, relay_of(), is_async=is_async, on_convert=converted.append)

    assert [result.kind for result in converted] == ["request", "response"]


@sync_and_async
def test_on_convert_is_called_once_for_a_truncated_answer(is_async: bool) -> None:
    """The part that arrived was billed too."""
    converted: list[fb.Converted] = []
    inner = FaultTransport(FakeRelay("Hello there.", api_key=RELAY_KEY, longest_delta=5), Fail("read", at=900))

    with pytest.raises(SDK_ERRORS):
        _ask("chat_completions", "responses", inner, is_async=is_async, on_convert=converted.append)

    assert [result.kind for result in converted] == ["request", "response"]
    assert converted[1].body["choices"][0]["finish_reason"] is None
