"""A gateway limits sizes and times, hides keys, and stops the call to the relay when its client disconnects."""

from __future__ import annotations

import asyncio
import gc
import gzip
import json
import logging
import tracemalloc
import zlib
from collections.abc import Callable
from typing import Any

import httpx
import pytest

import formatbridge as fb
from formatbridge.testing import Failure, FakeRelay
from tests.client.test_gateway import every_pair, post, relay_of, request_of, whole_and_streamed
from tests.support.directions import PAIRS
from tests.support.gateway_server import CALLER_KEY, RELAY_KEY, Reply, call, gateway_over, scope_of, until
from tests.support.servers import FRAMINGS, KEY, Framing, Peer, Received, Server, framed, head, stream_of, whole
from tests.testing.test_fake_relay import ANSWER, FORMATS

CALLER_HEADERS = {"authorization": f"Bearer {CALLER_KEY}"}


def through(
    answer: Callable[[Peer, Received], bool], format: fb.Format, via: fb.Format, *, is_streaming: bool = False, **settings: Any
) -> Reply:
    """Post a request to a gateway whose relay is a server of the client's tests."""
    path, query, body = request_of(format, is_streaming=is_streaming)

    async def exchange(url: str) -> Reply:
        async with fb.Gateway(url, KEY, via=via, **settings) as app:
            return await asyncio.wait_for(call(app, path, body, query=query), 20)

    with Server(answer) as server:
        return asyncio.run(exchange(server.url))


def answer_of(format: fb.Format) -> dict[str, Any]:
    """Return the body of an answer in a format."""
    return fb.convert_response(ANSWER.body("messages", "m", 1), source="messages", target=format).body


# The request.


LIMITS = fb.Limits(max_request_bytes=1000)


@pytest.mark.parametrize("format", FORMATS)
@pytest.mark.parametrize("shape", ["declared", "undeclared", "compressed"])
def test_a_body_over_the_limit_is_refused(format: fb.Format, shape: str) -> None:
    """One request must not fill the memory of the gateway."""
    relay = relay_of()
    path, _, body = request_of(format)
    body += b" " * 2000
    headers = {"declared": {"content-length": str(len(body))}, "compressed": {"content-encoding": "gzip"}}.get(shape, {})
    body = gzip.compress(body, mtime=0) if shape == "compressed" else body

    reply = asyncio.run(call(gateway_over(relay, via="messages", limits=LIMITS), path, [body[:90], body[90:]], headers=headers))

    assert (reply.status, relay.requests) == (413, [])
    assert "1000 bytes" in json.loads(reply.content)["error"]["message"]


def test_a_body_at_the_limit_is_sent() -> None:
    """The limit is inclusive."""
    path, _, body = request_of("messages")

    assert asyncio.run(call(gateway_over(relay_of(), limits=LIMITS), path, body.ljust(1000))).status == 200


@pytest.mark.parametrize(("encoding", "compress"), [("gzip", gzip.compress), ("deflate", zlib.compress)])
def test_a_compressed_body_is_read(encoding: str, compress: Callable[[bytes], bytes]) -> None:
    """Agents compress long conversations."""
    relay = relay_of()
    path, _, body = request_of("messages")

    reply = asyncio.run(call(gateway_over(relay, via="responses"), path, compress(body), headers={"content-encoding": encoding}))

    assert (reply.status, relay.requests[0].body["input"][0]["content"]) == (200, "hi")


@pytest.mark.parametrize(
    ("encoding", "body", "status"),
    [
        ("br", b"x", 415),
        ("gzip", b"no gzip", 400),
        ("gzip", gzip.compress(b"{}" * 999, mtime=0)[:-9], 400),
        ("", b"no JSON", 400),
        ("", b"", 400),
    ],
)
def test_an_unreadable_body_is_refused(encoding: str, body: bytes, status: int) -> None:
    """The caller can repair it, if the error names the reason."""
    headers = {"content-encoding": encoding} if encoding else {}

    reply = asyncio.run(call(gateway_over(relay_of(), via="responses"), "/v1/messages", body, headers=headers))

    assert reply.status == status
    assert json.loads(reply.content)["type"] == "error"


def test_a_client_that_stops_sending_is_refused() -> None:
    """Open connections would fill the server."""
    sent: list[Any] = []

    async def receive() -> Any:
        await asyncio.sleep(60)

    async def send(message: Any) -> None:
        sent.append(message)

    app = gateway_over(relay_of(), timeout=fb.Timeout(read=0.05))
    asyncio.run(app(scope_of("POST", "/v1/messages", {}), receive, send))

    assert sent[0]["status"] == 408


def test_a_client_that_stops_reading_ends_the_call() -> None:
    """An answer without a reader must not stay open."""
    path, query, body = request_of("messages", is_streaming=True)

    async def read_nothing(_: bytes) -> None:
        await asyncio.sleep(60)

    app = gateway_over(relay_of(), timeout=fb.Timeout(write=0.05))
    reply = asyncio.run(call(app, path, body, query=query, on_chunk=read_nothing))

    assert (len(reply.chunks), reply.is_complete) == (1, False)


# The relay.


@pytest.mark.parametrize("format", FORMATS)
def test_a_relay_that_cannot_be_reached_is_a_502(format: fb.Format) -> None:
    """The SDK repeats the request, and the caller does not learn the relay's address."""
    path, _, body = request_of(format)

    async def exchange() -> Reply:
        async with fb.Gateway("http://127.0.0.1:9", KEY, via="messages") as app:
            return await call(app, path, body)

    reply = asyncio.run(exchange())

    assert reply.status == 502
    assert b"the relay cannot be reached" in reply.content
    assert b"127.0.0.1" not in reply.content
    assert "x-should-retry" not in reply.headers


def test_a_relay_that_does_not_answer_is_a_504() -> None:
    """The time limit is that of the gateway, and not of the caller."""

    def wait(peer: Peer, _: Received) -> bool:
        peer.wait(10)
        return False

    reply = through(wait, "messages", "responses", timeout=fb.Timeout(read=0.1))

    assert reply.status == 504
    assert b"read timeout" in reply.content


@pytest.mark.parametrize("limit", ["read", "idle", "total"])
@every_pair
def test_a_stream_that_stalls_ends_in_the_error_of_a_timeout(format: fb.Format, via: fb.Format, limit: str) -> None:
    """A caller that sees a truncated stream looks for a broken connection."""

    def stall(peer: Peer, _: Received) -> bool:
        data = stream_of(via)
        peer.send(framed(data, "chunked", len(data) // 2))
        peer.wait(10)
        return False

    reply = through(stall, format, via, is_streaming=True, timeout=fb.Timeout(**{limit: 0.2}))

    assert (reply.status, reply.is_complete) == (200, True)
    with pytest.raises(fb.StreamFailedError, match="a time limit passed") as failed:
        fb.collect_stream([reply.content], source=format)
    assert failed.value.error.kind == "timeout"


@pytest.mark.parametrize("status", [200, 500])
@every_pair
def test_an_answer_that_breaks_off_is_a_502_without_the_words_of_the_http_library(
    format: fb.Format, via: fb.Format, status: int, caplog: pytest.LogCaptureFixture
) -> None:
    """The text of the library may name the relay; the log has it."""

    def cut(peer: Peer, _: Received) -> bool:
        peer.send(whole(json.dumps(answer_of(via)).encode(), status)[:-5])
        return False

    reply = through(cut, format, via)

    assert reply.status == 502
    assert json.loads(reply.content)["error"]["message"] == "the connection to the relay broke before the end of the answer"
    assert "RemoteProtocolError" in caplog.text


@pytest.mark.parametrize("framing", FRAMINGS)
@every_pair
def test_a_truncated_stream_is_never_a_complete_answer(format: fb.Format, via: fb.Format, framing: Framing) -> None:
    """A broken connection looks like the end of the answer."""

    def cut(peer: Peer, _: Received) -> bool:
        data = stream_of(via)
        peer.send(framed(data, framing, len(data) // 2))
        return False

    reply = through(cut, format, via, is_streaming=True)

    assert reply.is_complete
    with pytest.raises(fb.StreamError):
        fb.collect_stream([reply.content], source=format)


@pytest.mark.parametrize(
    ("body", "kind", "status"),
    [
        (b"<html>Sign in</html>", "text/html", 502),
        (b"", "application/json", 502),
        (b"[]", "application/json", 502),
        (b'{"error": {"message": "quota"}}', "application/json", 500),
        (b"{" * 90_000, "application/json", 502),
    ],
    ids=["page", "empty", "list", "error", "deep"],
)
@whole_and_streamed
def test_a_success_without_an_answer_is_an_error(body: bytes, kind: str, status: int, is_streaming: bool) -> None:
    """Login pages of proxies have the status 200."""

    def answer(peer: Peer, _: Received) -> bool:
        peer.send(whole(body, kind=kind))
        return True

    reply = through(answer, "messages", "chat_completions", is_streaming=is_streaming)

    if is_streaming and body == b"[]":  # a list may be the beginning of a stream in an unknown form
        assert reply.content.count(b"event: error") == 1
    else:
        assert reply.status >= status
        assert json.loads(reply.content)["type"] == "error"


def test_invalid_data_in_a_stream_is_an_error_event() -> None:
    """The status was sent before the garbage arrived."""

    def answer(peer: Peer, _: Received) -> bool:
        peer.send(framed(stream_of("chat_completions")[:200] + b"\n\ndata: {broken\n\n", "close"))
        return False

    reply = through(answer, "messages", "chat_completions", is_streaming=True)

    assert (reply.status, reply.is_complete) == (200, True)
    assert reply.content.count(b"event: error") == 1


def test_a_body_above_the_decompression_limit_is_refused() -> None:
    """A few kilobytes may become gigabytes."""
    bomb = gzip.compress(b" " * 20_000_000, mtime=0)

    def answer(peer: Peer, _: Received) -> bool:
        peer.send(whole(bomb, Content_Encoding="gzip"))
        return True

    reply = through(answer, "messages", "responses", limits=fb.Limits(max_response_bytes=1_000_000))

    assert reply.status == 502


def test_an_answer_with_headers_above_the_limit_is_refused() -> None:
    """They would be copied into the answer."""

    def answer(peer: Peer, _: Received) -> bool:
        peer.send(whole(b"{}", x_flood="a" * 5000))
        return True

    assert through(answer, "messages", "responses", limits=fb.Limits(max_header_bytes=4000)).status == 502


def test_headers_about_the_server_of_the_relay_are_not_returned() -> None:
    """They would hold for the server of the gateway."""

    def answer(peer: Peer, _: Received) -> bool:
        body = json.dumps(ANSWER.body("messages", "m", 1)).encode()
        peer.send(whole(body, server="x", strict_transport_security="max-age=9", set_cookie="a=b", x_kept="yes"))
        return True

    reply = through(answer, "chat_completions", "messages")

    assert (reply.status, reply.headers["x-kept"]) == (200, "yes")
    assert reply.headers.keys().isdisjoint({"server", "strict-transport-security", "set-cookie", "transfer-encoding"})


def test_headers_about_the_caller_are_not_sent_to_the_relay() -> None:
    """The relay learns neither addresses nor cookies."""
    relay = relay_of()
    private = {
        "x-forwarded-for": "10.0.0.1",
        "forwarded": "for=x",
        "cookie": "a=b",
        "origin": "https://x",
        "connection": "x-hop",
        "x-hop": "1",
    }

    post(gateway_over(relay, via="messages"), "messages", headers={**private, "x-team": "search"})

    assert relay.requests[0].headers["x-team"] == "search"
    assert relay.requests[0].headers.keys().isdisjoint({"x-forwarded-for", "forwarded", "cookie", "origin", "x-hop"})


# Disconnects.


@pytest.mark.parametrize("moment", ["headers", "stream"])
def test_a_disconnect_aborts_the_call(moment: str) -> None:
    """An answer without a reader is billed."""
    aborted: list[bool] = []
    disconnect: list[Callable[[], object]] = []
    path, query, body = request_of("responses", is_streaming=True)

    async def exchange(url: str) -> Reply:
        disconnects, loop = asyncio.Event(), asyncio.get_running_loop()
        disconnect.append(lambda: loop.call_soon_threadsafe(disconnects.set))

        async def disconnect_now(_: bytes) -> None:
            disconnects.set()

        async with fb.Gateway(url, KEY, via="messages") as app:
            reply = call(app, path, body, query=query, disconnects=disconnects, on_chunk=disconnect_now)
            return await asyncio.wait_for(reply, 10)

    def answer(peer: Peer, _: Received) -> bool:
        if moment == "stream":
            peer.send(framed(stream_of("messages"), "chunked", 400))
        else:
            disconnect[0]()
        try:
            aborted.append(peer.receive() is None)
        except OSError:
            aborted.append(True)
        return False

    with Server(answer) as server:
        reply = asyncio.run(exchange(server.url))
        until(lambda: bool(aborted))

    assert not reply.is_complete
    assert aborted == [True]


def test_a_disconnect_during_the_request_sends_nothing() -> None:
    """Half a request is no request."""
    relay = relay_of()
    messages = iter([{"type": "http.request", "body": b"{", "more_body": True}, {"type": "http.disconnect"}])

    async def receive() -> Any:
        return next(messages)

    async def send(message: Any) -> None:
        raise AssertionError(message)

    asyncio.run(gateway_over(relay)(scope_of("POST", "/v1/messages", {}), receive, send))

    assert relay.requests == []


def test_a_server_that_raises_after_a_disconnect_ends_the_call() -> None:
    """ASGI 2.4 lets servers raise an OSError."""
    path, query, body = request_of("messages", is_streaming=True)

    async def raise_error(_: bytes) -> None:
        raise OSError("gone")

    reply = asyncio.run(call(gateway_over(relay_of()), path, body, query=query, on_chunk=raise_error))

    assert not reply.is_complete


# Keys.


@pytest.mark.parametrize("header", ["authorization", "x-api-key", "x-goog-api-key", "api-key", "query"])
def test_the_key_of_the_caller_is_passed_on(header: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each caller pays for its requests."""
    monkeypatch.delenv("FORMATBRIDGE_API_KEY", raising=False)
    relay = FakeRelay(ANSWER, api_key=CALLER_KEY)
    path, _, body = request_of("messages")
    headers = {header: f"Bearer {CALLER_KEY}" if header == "authorization" else CALLER_KEY} if header != "query" else {}
    query = f"key={CALLER_KEY}" if header == "query" else ""

    reply = asyncio.run(call(gateway_over(relay, None, via="responses"), path, body, headers=headers, query=query))

    assert (reply.status, relay.leaks(CALLER_KEY)) == (200, [])


def test_the_key_of_the_gateway_replaces_that_of_the_caller() -> None:
    """A relay must not see keys that are not for it."""
    relay = relay_of()
    keys = iter([RELAY_KEY, RELAY_KEY])

    for _ in range(2):
        assert post(gateway_over(relay, lambda: next(keys), via="responses"), "messages", headers=CALLER_HEADERS).status == 200

    assert relay.leaks(CALLER_KEY) == []


def test_no_key_is_an_error_of_the_relay() -> None:
    """The gateway has no key to use."""
    assert post(gateway_over(relay_of(), "", via="responses"), "messages", headers=CALLER_HEADERS).status == 401


def _echo_answer(peer: Peer, key: str, is_stream: bool, size: int) -> None:
    """Send an answer that repeats the key in its text, a field and a header."""
    body = ANSWER.body("messages", "m", 1)
    body["content"] = [{"type": "text", "text": f"Your key is {key}."}]
    body["x_debug"] = key
    if not is_stream:
        peer.send(whole(json.dumps(body).encode(), x_debug=key, x_request_id=key))
        return
    data = b"".join(fb.replay_response(body, source="messages"))
    peer.send(head(200, "text/event-stream", x_debug=key, Connection="close"))
    for start in range(0, len(data), size):
        peer.send(data[start : start + size])


@pytest.mark.parametrize("shape", ["whole", "streamed", "in pieces"])
@pytest.mark.parametrize("format", FORMATS)
@pytest.mark.parametrize("has_key", [True, False], ids=["gateway's key", "caller's key"])
def test_an_echo_of_the_key_in_an_answer_is_masked(
    format: fb.Format, shape: str, has_key: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Relays log requests into their answers for debugging."""
    monkeypatch.delenv("FORMATBRIDGE_API_KEY", raising=False)
    key = RELAY_KEY if has_key else CALLER_KEY

    def answer(peer: Peer, request: Received) -> bool:
        assert request.headers["authorization"] == f"Bearer {key}"
        _echo_answer(peer, key, request.is_stream, 7 if shape == "in pieces" else 100_000)
        return False

    path, query, body = request_of(format, is_streaming=shape != "whole")

    async def exchange(url: str) -> Reply:
        async with fb.Gateway(url, RELAY_KEY if has_key else None, via="messages") as app:
            return await call(app, path, body, query=query, headers=CALLER_HEADERS)

    with Server(answer) as server:
        reply = asyncio.run(exchange(server.url))

    assert (reply.status, reply.is_complete) == (200, True)
    assert b"Your key is ***." in reply.content
    assert key.encode() not in reply.content + str(reply.headers).encode()


@whole_and_streamed
@pytest.mark.parametrize(("format", "via"), PAIRS)
def test_an_echo_of_the_key_is_masked_in_a_report(format: fb.Format, via: fb.Format, is_streaming: bool) -> None:
    """A log of losses is read by more people than the configuration; an echo may be the name of a field."""
    reported: list[fb.Converted] = []
    body = answer_of(via) | {f"echo {RELAY_KEY}": 1, "debug": {"key": [RELAY_KEY]}}
    events = b"".join(fb.replay_response(body, source=via))
    answer = httpx.Response(200, content=events, headers={"content-type": "text/event-stream"})
    app = fb.Gateway(
        "https://relay.test",
        RELAY_KEY,
        via=via,
        http_client=httpx.AsyncClient(
            transport=httpx.MockTransport(lambda _: answer if is_streaming else httpx.Response(200, json=body))
        ),
        on_losses=reported.append,
    )

    assert post(app, format, is_streaming=is_streaming).status == 200

    shown = [str((each.to_dict(), each.source_body, each.losses)) for each in reported]
    assert RELAY_KEY not in "".join(shown)
    assert format == via or "echo ***" in "".join(shown)


@pytest.mark.parametrize("escape", ["unicode", "slash", "in arguments"])
@whole_and_streamed
@pytest.mark.parametrize("format", FORMATS)
def test_an_echo_of_the_key_in_json_escapes_is_masked(format: fb.Format, is_streaming: bool, escape: str) -> None:
    """Servers in other languages escape other characters, and a stream in the format of the caller passes unchanged."""
    key = "sk-canary/relay+key=="
    escaped = {
        "unicode": "".join(f"\\u{ord(character):04X}" for character in key),
        "slash": key.replace("/", "\\/"),
        "in arguments": json.dumps(json.dumps({"key": key}).replace("/", "\\/"))[1:-1],
    }[escape]
    body = json.dumps(answer_of(format) | {"debug": "ECHO"})
    content = b"".join(fb.replay_response(body, source=format)) if is_streaming else body.encode()
    content = content.replace(b"sunny", escaped.encode()).replace(b"ECHO", escaped.encode())
    headers = {"content-type": "text/event-stream" if is_streaming else "application/json"}
    client = httpx.AsyncClient(transport=httpx.MockTransport(lambda _: httpx.Response(200, content=content, headers=headers)))

    reply = post(fb.Gateway("https://relay.test", key, via=format, http_client=client), format, is_streaming=is_streaming)

    assert (reply.status, b"***" in reply.content) == (200, True)
    assert escaped.encode() not in reply.content
    assert key.encode() not in reply.content


@pytest.mark.parametrize("status", [200, 401, 500])
@whole_and_streamed
@pytest.mark.parametrize(("format", "via"), PAIRS)
def test_an_echo_of_the_key_in_an_error_is_masked(
    format: fb.Format, via: fb.Format, status: int, is_streaming: bool, caplog: pytest.LogCaptureFixture
) -> None:
    """Relays repeat keys in their errors, and a gateway passes errors on to other people."""
    caplog.set_level(logging.DEBUG)
    error = json.dumps({"error": {"message": f"bad key {RELAY_KEY}", "code": RELAY_KEY}}).encode()
    answer = httpx.Response(status, content=error, headers={"content-type": "application/json", "x-debug": RELAY_KEY})
    app = fb.Gateway(
        "https://relay.test", RELAY_KEY, via=via, http_client=httpx.AsyncClient(transport=httpx.MockTransport(lambda _: answer))
    )

    reply = post(app, format, is_streaming=is_streaming, headers=CALLER_HEADERS)

    assert reply.status >= 400
    assert b"bad key ***" in reply.content
    assert RELAY_KEY.encode() not in reply.content + str(reply.headers).encode()
    assert RELAY_KEY not in caplog.text + repr(app)


def test_a_short_key_does_not_change_an_answer() -> None:
    """Local relays take any key, and the word may be part of the text."""
    body = ANSWER.body("messages", "m", 1) | {"content": [{"type": "text", "text": "The variable is unused."}]}
    client = httpx.AsyncClient(transport=httpx.MockTransport(lambda _: httpx.Response(200, json=body)))

    reply = post(fb.Gateway("https://relay.test", "unused", via="messages", http_client=client), "messages")

    assert b"The variable is unused." in reply.content


NEUTRAL = "the gateway has an internal error"
RAISED = [RuntimeError("no, sk-1"), ValueError("no, sk-1"), fb.ConfigurationError("no, sk-1")]
RAISED += [fb.InvalidPayloadError("messages", "request", [("", "no, sk-1")]), fb.APIConnectionError("no, sk-1", phase="connect")]


@pytest.mark.parametrize("error", RAISED, ids=lambda error: type(error).__name__)
@pytest.mark.parametrize("function", ["api_key", "count_tokens"])
@pytest.mark.parametrize("format", ["messages", "responses", "generate_content"])
def test_an_exception_of_a_function_of_the_operator_is_a_500_without_details(
    format: fb.Format, function: str, error: Exception
) -> None:
    """A secret manager fails; the caller gets an error of its format, and the server's log the traceback."""

    def fail(*_: object) -> Any:
        raise error

    relay, reply = relay_of(), Reply()
    path, body = {
        "messages": ("/v1/messages/count_tokens", {"model": "m", "messages": [{"role": "user", "content": "x"}]}),
        "responses": ("/v1/responses/input_tokens", {"model": "m", "input": "x"}),
        "generate_content": ("/v1beta/models/m:countTokens", {"contents": [{"parts": [{"text": "x"}]}]}),
    }[format]
    via = "chat_completions" if function == "count_tokens" else "messages"

    with pytest.raises(Exception, match="no, sk-1"):
        asyncio.run(call(gateway_over(relay, via=via, **{function: fail}), path, json.dumps(body).encode(), reply=reply))

    shown = json.loads(reply.content)
    assert (reply.status, shown["error"]["message"], relay.requests) == (500, NEUTRAL, [])
    assert ("type" in shown, "status" in shown["error"]) == (format == "messages", format == "generate_content")


@pytest.mark.parametrize(
    "settings", [{"api_key": lambda: 5, "via": "messages"}, {"count_tokens": lambda _: -1, "via": "chat_completions"}]
)
def test_an_invalid_result_of_a_function_of_the_operator_is_a_500(settings: dict[str, Any]) -> None:
    """No caller can repair it."""
    reply = Reply()
    body = json.dumps({"model": "m", "messages": [{"role": "user", "content": "x"}]}).encode()

    with pytest.raises(Exception, match="expected a"):
        asyncio.run(call(gateway_over(relay_of(), **settings), "/v1/messages/count_tokens", body, reply=reply))

    assert (reply.status, json.loads(reply.content)["error"]["message"]) == (500, NEUTRAL)


def test_a_gateway_cannot_be_pickled() -> None:
    """A pickle would show the key."""
    import pickle

    with pytest.raises(TypeError, match="Gateway has a key"):
        pickle.dumps(gateway_over(relay_of()))


# Memory.


@pytest.mark.parametrize("is_streaming", [False, True], ids=["whole", "streamed"])
def test_memory_is_flat_over_many_requests(is_streaming: bool) -> None:
    """A gateway runs for months."""
    path, query, body = request_of("messages", is_streaming=is_streaming)
    events = b"".join(fb.replay_response(ANSWER.body("messages", "m", 1), source="messages"))
    events = b"".join(fb.convert_stream([events], source="messages", target="chat_completions"))
    answer = fb.convert_response(ANSWER.body("messages", "m", 1), source="messages", target="chat_completions").json()

    def reply_to(_: httpx.Request) -> httpx.Response:
        if is_streaming:
            return httpx.Response(200, content=events, headers={"content-type": "text/event-stream"})
        return httpx.Response(200, content=answer, headers={"content-type": "application/json"})

    async def run() -> list[int]:
        client = httpx.AsyncClient(transport=httpx.MockTransport(reply_to))
        app = fb.Gateway("https://relay.test", KEY, via="chat_completions", http_client=client)
        sizes = []
        for count in (100, 150, 150):
            for _ in range(count):
                assert (await call(app, path, body, query=query)).is_complete
            gc.collect()
            sizes.append(tracemalloc.get_traced_memory()[0])
        return sizes

    tracemalloc.start()
    try:
        _, before, after = asyncio.run(run())
    finally:
        tracemalloc.stop()

    assert after - before < 150 * 500  # a request with its answer has several thousand bytes


def test_many_errors_leave_the_memory_flat() -> None:
    """Exceptions refer to frames, and frames to bodies."""
    app = gateway_over(FakeRelay(Failure(500, "no"), api_key=None), "", via="messages")

    async def run() -> list[int]:
        sizes = []
        path, query, body = request_of("responses", input="x" * 10_000)
        client_requests: list[Any] = []
        for count in (20, 50, 50):
            for _ in range(count):
                client_requests.append((await call(app, path, body, query=query)).status)
            sizes.append(len(gc.get_objects()))
        assert set(client_requests) == {500}
        return sizes

    _, before, after = asyncio.run(run())
    assert after - before < 50 * 40  # the fake relay records 50 requests
