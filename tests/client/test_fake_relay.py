"""The client with the fake relay: every pair of formats, both HTTP libraries, and every quirk."""

from __future__ import annotations

import asyncio
from itertools import combinations
from typing import Any

import pytest

import formatbridge as fb
from formatbridge.testing import QUIRKS, Answer, Cut, Fail, Failure, FakeRelay, Stall, Step, ToolCall, Usage, VirtualClock
from tests.support.exchanges import every_pair, send

ANSWER = Answer(
    reasoning="The user wants the weather.",
    signature="c2lnbmVk",
    text="Rome is sunny, and so is everything around it.",
    tool_calls=[ToolCall("get_weather", {"city": "Rome", "days": 3}), ToolCall("now")],
    usage=Usage(input=20, output=9, cache_read=5),
)
REQUESTS: dict[str, dict[str, Any]] = {
    "chat_completions": {
        "model": "m-large",
        "messages": [{"role": "user", "content": "hi"}],
        "stream_options": {"include_usage": True},
    },
    "messages": {"model": "m-large", "max_tokens": 9, "messages": [{"role": "user", "content": "hi"}]},
    "responses": {"model": "m-large", "input": "hi"},
    "generate_content": {"model": "m-large", "contents": [{"role": "user", "parts": [{"text": "hi"}]}]},
}
Summary = tuple[str, list[tuple[str, Any]], int, int]
EXPECTED: Summary = (ANSWER.text, [("get_weather", {"city": "Rome", "days": 3}), ("now", {})], 20, 9)


def summary_of(answer: Any, format: fb.Format) -> Summary:
    """Return the text, the calls and the tokens of an answer of any format."""
    body = fb.convert_response(answer, source=format, target="messages").body
    text = "".join(block["text"] for block in body["content"] if block["type"] == "text")
    calls = [(block["name"], block["input"]) for block in body["content"] if block["type"] == "tool_use"]
    usage = body["usage"]
    return text, calls, usage["input_tokens"] + (usage.get("cache_read_input_tokens") or 0), usage["output_tokens"]


def request_of(format: fb.Format, *, is_streaming: bool) -> dict[str, Any]:
    result = dict(REQUESTS[format])
    if not is_streaming:
        result.pop("stream_options", None)
    return result


@pytest.mark.parametrize("library", ["httpx", "httpx2"])
@every_pair
def test_a_client_gets_the_scripted_answer(format: fb.Format, via: fb.Format, library: Any) -> None:
    """The answer and the stream have the same content."""
    relay = FakeRelay(ANSWER)
    with fb.Client(relay.base_url, relay.api_key, http_client=relay.http_client(library)) as client:
        whole = client.send(request_of(format, is_streaming=False), format, via)
        with client.stream(request_of(format, is_streaming=True), format, via) as stream:
            streamed = stream.response()

    assert summary_of(whole.body, format) == summary_of(streamed.body, format) == EXPECTED
    assert [request.format for request in relay.requests] == [via, via]
    assert relay.leaks("sk-fake") == []


@pytest.mark.parametrize("library", ["httpx", "httpx2"])
@every_pair
def test_an_async_client_gets_the_scripted_answer(format: fb.Format, via: fb.Format, library: Any) -> None:
    """The async driver of the same flow."""
    relay = FakeRelay(ANSWER)

    async def exchange() -> tuple[Summary, Summary]:
        async with fb.AsyncClient(relay.base_url, relay.api_key, http_client=relay.async_http_client(library)) as client:
            whole = await client.send(request_of(format, is_streaming=False), format, via)
            async with client.stream(request_of(format, is_streaming=True), format, via) as stream:
                return summary_of(whole.body, format), summary_of((await stream.response()).body, format)

    assert asyncio.run(exchange()) == (EXPECTED, EXPECTED)


@every_pair
def test_no_quirk_and_no_pair_of_quirks_changes_the_answer(format: fb.Format, via: fb.Format) -> None:
    """The content arrives; a failure raises; a stream without its end is never an answer."""
    for quirks in [*((quirk,) for quirk in QUIRKS), *combinations(QUIRKS, 2)]:
        relay = FakeRelay([ANSWER, ANSWER, Failure(400, "broken"), Failure(400, "broken")], quirks=quirks)
        with fb.Client(relay.base_url, relay.api_key, retry=0, http_client=relay.http_client()) as client:
            assert summary_of(client.send(request_of(format, is_streaming=False), format, via).body, format)[:2] == EXPECTED[:2]
            if "eof_without_terminal" in quirks:
                with pytest.raises(fb.TruncatedStreamError):
                    _streamed(client, format, via)
            else:
                assert summary_of(_streamed(client, format, via).body, format)[:2] == EXPECTED[:2]
            with pytest.raises(fb.APIStatusError):
                client.send(request_of(format, is_streaming=False), format, via)
            with pytest.raises(fb.APIStatusError):
                _streamed(client, format, via)
            assert [model.id for model in client.models()] == ["m-large", "m-small"]


def _streamed(client: fb.Client, format: fb.Format, via: fb.Format) -> fb.Converted:
    with client.stream(request_of(format, is_streaming=True), format, via) as stream:
        return stream.response()


def test_the_client_waits_for_retry_after_on_a_virtual_clock() -> None:
    """Minutes of waiting pass at once, with the same number of seconds."""
    clock = VirtualClock()
    script: list[Step] = [Failure(429, retry_after=40), Fail("connect"), (Cut(30), ANSWER), ANSWER]
    relay = FakeRelay(script, clock=clock)
    request = request_of("messages", is_streaming=True)

    with (
        fb.Client(relay.base_url, relay.api_key, retry=3, http_client=relay.http_client(), clock=clock) as client,
        client.stream(request, "messages", "responses") as stream,
    ):
        answer = stream.response()

    assert summary_of(answer.body, "messages") == EXPECTED
    assert stream.attempts == 4
    assert clock.sleeps == [40, 1, 2]


@pytest.mark.parametrize("at", [None, 0, 300])
def test_a_stall_on_a_virtual_clock_times_out_after_the_limit_of_the_client(at: int | None) -> None:
    """Before the headers, before the body and in the middle of a stream."""
    clock = VirtualClock()
    relay = FakeRelay((Stall(1000, at=at), ANSWER), clock=clock)
    settings: dict[str, Any] = {"retry": 0, "timeout": fb.Timeout(read=50), "clock": clock}

    with (
        fb.Client(relay.base_url, relay.api_key, http_client=relay.http_client(), **settings) as client,
        pytest.raises(fb.APITimeoutError) as raised,
    ):
        _streamed(client, "messages", "chat_completions")

    assert raised.value.kind == "read"
    assert clock.sleeps == [50]


@pytest.mark.parametrize("is_stream", [False, True], ids=["whole", "stream"])
@pytest.mark.parametrize(("format", "field"), [("chat_completions", "created"), ("responses", "created_at")])
def test_an_answer_without_a_time_gets_that_of_now(format: fb.Format, field: str, is_stream: bool) -> None:
    """Applications sort and expire answers by it, and 0 is the year 1970; a time of the caller takes precedence."""
    relay = FakeRelay(["Hi.", "Hi."])
    client = fb.Client(relay.base_url, relay.api_key, http_client=relay.http_client(), clock=VirtualClock(start=1_800_000_000.5))
    clients = client, client.with_options(options=fb.Options(created=7))

    times = [send(each, REQUESTS[format], format, "messages", is_streaming=is_stream)[field] for each in clients]

    assert times == [1_800_000_000, 7]
