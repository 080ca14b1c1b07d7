"""Deadlines on a socket: a slow server is stopped within 0.2 s of the limit."""

from __future__ import annotations

import asyncio
import itertools
import json
import socket
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any
from urllib.parse import urlsplit

import httpcore
import httpx
import httpx2
import pytest

import formatbridge as fb
from formatbridge.testing import Failure, FakeRelay, VirtualClock
from tests.support.servers import KEY, Peer, Received, Server, answer_of, body_of, events_of, head, read, relay, stream_of, whole

LIMIT = 0.5
SLACK = 0.2
REQUEST = body_of("requests", "messages")
STREAM = list(events_of(stream_of("messages")))


def _drip_headers(peer: Peer, _request: Received) -> bool:
    peer.send(b"HTTP/1.1 200 OK\r\n")
    peer.drip(itertools.cycle(b"X-A: b\r\n"), 0.05)
    return False


def _drip_body(peer: Peer, request: Received) -> bool:
    peer.send(head(200, "text/event-stream" if request.is_stream else "application/json"))
    peer.drip(itertools.cycle(b"           "), 0.05)
    return False


def _drip_chunk_sizes(peer: Peer, _request: Received) -> bool:
    """Bytes of chunk sizes arrive, and no byte of the body."""
    peer.send(head(200, "text/event-stream", Transfer_Encoding="chunked") + b"5;")
    peer.drip(itertools.cycle(b"a=b;"), 0.05)
    return False


def _drip_after_an_event(peer: Peer, _request: Received) -> bool:
    peer.send(head(200, "text/event-stream") + STREAM[0])
    peer.drip(itertools.cycle(b": ping\n\n"), 0.02)
    return False


def _ping_after_an_event(peer: Peer, _request: Received) -> bool:
    peer.send(head(200, "text/event-stream") + STREAM[0])
    for _ in range(200):
        peer.send(b'event: ping\ndata: {"type": "ping"}\n\n: PING\n\n')
        peer.wait(0.05)
    return False


def _silence(peer: Peer, _request: Received) -> bool:
    peer.wait(10)
    return False


def _silence_after_an_event(peer: Peer, _request: Received) -> bool:
    peer.send(head(200, "text/event-stream") + STREAM[0])
    peer.wait(10)
    return False


DRIPS = (_drip_headers, _drip_body, _silence)
STREAMED = (*DRIPS, _drip_chunk_sizes, _drip_after_an_event, _ping_after_an_event, _silence_after_an_event)
TOTAL = fb.Timeout(total=LIMIT, idle=30)
IDLE = fb.Timeout(total=30, idle=LIMIT)
Answering = Callable[[Peer, Received], bool]


def _timeout_of(act: Callable[[], object], *, tries: int = 3) -> tuple[fb.APITimeoutError, float]:
    """Return the error of an action that is too slow, and its seconds:

    the smallest of a few attempts, because a busy machine delays some.
    """
    taken: list[float] = []
    while True:
        begun = time.monotonic()
        with pytest.raises(fb.APITimeoutError) as caught:
            act()
        taken.append(time.monotonic() - begun)
        if taken[-1] <= LIMIT + SLACK or len(taken) == tries:
            return caught.value, min(taken)


async def _read_async(url: str, timeout: fb.Timeout) -> None:
    client = fb.AsyncClient(url, KEY, retry=0, timeout=timeout)
    async with client, client.stream(REQUEST, "messages") as stream:
        async for _ in stream:
            pass


@pytest.mark.parametrize("answer", DRIPS)
def test_a_whole_answer_ends_in_time(answer: Answering) -> None:
    """The total counts from the call to the last byte, whatever the server sends."""
    with Server(answer) as server, fb.Client(server.url, KEY, retry=0, timeout=LIMIT) as client:
        error, seconds = _timeout_of(lambda: client.send(REQUEST, "messages"))

    assert error.kind == "total"
    assert LIMIT - 0.02 <= seconds <= LIMIT + SLACK


@pytest.mark.parametrize("timeout", [TOTAL, IDLE], ids=["total", "idle"])
@pytest.mark.parametrize("answer", STREAMED)
def test_a_stream_ends_in_time(answer: Answering, timeout: fb.Timeout) -> None:
    """Single bytes and pings are no events."""
    with Server(answer) as server, fb.Client(server.url, KEY, retry=0, timeout=timeout) as client:
        error, seconds = _timeout_of(lambda: read(client))

    assert error.kind == ("total" if timeout is TOTAL else "idle")
    assert LIMIT - 0.02 <= seconds <= LIMIT + SLACK


@pytest.mark.parametrize("timeout", [TOTAL, IDLE], ids=["total", "idle"])
@pytest.mark.parametrize("answer", STREAMED)
def test_an_async_stream_ends_in_time(answer: Answering, timeout: fb.Timeout) -> None:
    """The same with the async client."""
    with Server(answer) as server:
        error, seconds = _timeout_of(lambda: asyncio.run(_read_async(server.url, timeout)))

    assert error.kind == ("total" if timeout is TOTAL else "idle")
    assert LIMIT - 0.02 <= seconds <= LIMIT + SLACK


@pytest.mark.parametrize("library", [httpx, httpx2], ids=lambda library: library.__name__)
@pytest.mark.parametrize("answer", [_drip_headers, _drip_chunk_sizes, _drip_after_an_event])
def test_deadlines_apply_to_the_http_client_of_the_caller(answer: Answering, library: Any) -> None:
    """The timeouts of its owner count from byte to byte; those of this library hold too."""
    with Server(answer) as server, library.Client(timeout=30) as http_client:
        client = fb.Client(server.url, KEY, retry=0, timeout=TOTAL, http_client=http_client)
        error, seconds = _timeout_of(lambda: read(client))

    assert error.kind == "total"
    assert seconds <= LIMIT + SLACK


def test_a_connection_used_again_ends_in_time() -> None:
    """The second call uses a connection that is open already."""
    answers = iter((relay, _drip_headers))

    def answer(peer: Peer, request: Received) -> bool:
        return next(answers)(peer, request)

    with Server(answer) as server, fb.Client(server.url, KEY, retry=0, timeout=LIMIT) as client:
        client.send(REQUEST, "messages")
        _, seconds = _timeout_of(lambda: client.send(REQUEST, "messages"), tries=1)

    assert server.connections == 1
    assert seconds <= LIMIT + SLACK


def test_an_idle_stream_and_a_slow_stream_raise_different_errors() -> None:
    """The read timeout counts from byte to byte, and the error states that."""
    with Server(_silence_after_an_event) as server:
        client = fb.Client(server.url, KEY, retry=0, timeout=fb.Timeout(read=LIMIT))
        error, seconds = _timeout_of(lambda: read(client))

    assert error.kind == "read"
    assert seconds <= LIMIT + SLACK


def test_events_keep_a_stream_alive() -> None:
    """A long answer is not idle."""

    def answer(peer: Peer, _request: Received) -> bool:
        peer.send(head(200, "text/event-stream"))
        for event in STREAM:
            peer.wait(LIMIT / 3)
            peer.send(event)
        return False

    with Server(answer) as server, fb.Client(server.url, KEY, retry=0, timeout=IDLE) as client:
        seen = read(client)

    assert len(seen) == len(STREAM) > 3


def _at_once(peer: Peer, _request: Received) -> bool:
    peer.send(head(200, "text/event-stream"))
    for event in STREAM:
        peer.send(event)
        peer.wait(0.02)
    return False


async def _use_slowly_async(url: str, pause: float) -> int:
    count = 0
    async with fb.AsyncClient(url, KEY, retry=0, timeout=IDLE) as client, client.stream(REQUEST, "messages") as stream:
        async for _ in stream:
            count += 1
            await asyncio.sleep(pause if count == 2 else 0)
    return count


def _use_slowly(url: str, pause: float) -> int:
    count = 0
    with fb.Client(url, KEY, retry=0, timeout=IDLE) as client, client.stream(REQUEST, "messages") as stream:
        for _ in stream:
            count += 1
            time.sleep(pause if count == 2 else 0)
    return count


@pytest.mark.parametrize("is_async", [False, True], ids=["sync", "async"])
def test_a_slow_reader_gets_all_events(is_async: bool) -> None:
    """A reader may write to a database between events; the server has sent all of them and is not slow."""
    with Server(_at_once) as server:
        seen = asyncio.run(_use_slowly_async(server.url, LIMIT * 1.5)) if is_async else _use_slowly(server.url, LIMIT * 1.5)

    assert seen == len(STREAM)


def _with_words_between(peer: Peer, _request: Received) -> bool:
    """Send events so fast that no limit passes, and so slowly that each is read alone."""
    peer.send(head(200, "text/event-stream"))
    for event in STREAM:
        peer.send(event)
        peer.wait(LIMIT / 5)
    return False


@pytest.mark.parametrize("is_async", [False, True], ids=["sync", "async"])
def test_a_reader_with_a_pause_before_the_first_event_gets_all_events(is_async: bool) -> None:
    """A reader may prepare a page between opening a stream and reading it; the server is not slow."""
    pause = LIMIT * 1.5

    async def use_async(url: str) -> int:
        async with fb.AsyncClient(url, KEY, retry=0, timeout=IDLE) as client, client.stream(REQUEST, "messages") as stream:
            await asyncio.sleep(pause)
            return len([event async for event in stream])

    def use(url: str) -> int:
        with fb.Client(url, KEY, retry=0, timeout=IDLE) as client, client.stream(REQUEST, "messages") as stream:
            time.sleep(pause)
            return len(list(stream))

    with Server(_with_words_between) as server:
        seen = asyncio.run(use_async(server.url)) if is_async else use(server.url)

    assert seen == len(STREAM)


@pytest.mark.parametrize("is_async", [False, True], ids=["sync", "async"])
def test_a_slow_reader_waits_for_a_silent_server_no_longer_than_others(is_async: bool) -> None:
    """The idle time counts from the request for the next event; comments do not interrupt it."""

    async def use_async(url: str) -> float:
        async with fb.AsyncClient(url, KEY, retry=0, timeout=IDLE) as client, client.stream(REQUEST, "messages") as stream:
            events = aiter(stream)
            await anext(events)
            await asyncio.sleep(LIMIT)
            begun = time.monotonic()
            with pytest.raises(fb.APITimeoutError, match="idle"):
                await anext(events)
            return time.monotonic() - begun

    def use(url: str) -> float:
        with fb.Client(url, KEY, retry=0, timeout=IDLE) as client, client.stream(REQUEST, "messages") as stream:
            events = iter(stream)
            next(events)
            time.sleep(LIMIT)
            begun = time.monotonic()
            with pytest.raises(fb.APITimeoutError, match="idle"):
                next(events)
            return time.monotonic() - begun

    with Server(_drip_after_an_event) as server:
        seconds = asyncio.run(use_async(server.url)) if is_async else use(server.url)

    assert LIMIT - 0.02 <= seconds <= LIMIT + 2 * SLACK


def test_events_before_a_deadline_are_kept() -> None:
    """The first half of an answer may be all that a user needs."""
    with Server(_silence_after_an_event) as server, fb.Client(server.url, KEY, retry=0, timeout=IDLE) as client:
        error, _ = _timeout_of(lambda: read(client))

    assert error.partial is not None
    assert error.partial.body["role"] == "assistant"


def test_retries_count_towards_the_total() -> None:
    """Three attempts of 0.4 s must not take longer than a total of 0.5 s."""

    def answer(peer: Peer, _request: Received) -> bool:
        peer.wait(0.2)
        peer.send(whole(b'{"error": {"message": "no"}}', 503))
        return True

    with Server(answer) as server, fb.Client(server.url, KEY, retry=fb.Retry(max=9, base=0.01), timeout=LIMIT) as client:
        begun = time.monotonic()
        with pytest.raises((fb.APITimeoutError, fb.OverloadedError)):
            client.send(REQUEST, "messages")
        seconds = time.monotonic() - begun

    assert seconds <= LIMIT + SLACK


def test_timeout_none_sets_no_deadline() -> None:
    """None means no limit."""

    def answer(peer: Peer, _request: Received) -> bool:
        peer.wait(0.3)
        peer.send(whole(json.dumps(answer_of("messages")).encode()))
        return True

    with Server(answer) as server, fb.Client(server.url, KEY, timeout=None) as client:
        reply = client.send(REQUEST, "messages")

    assert reply.status == 200


@pytest.mark.parametrize("is_async", [False, True], ids=["sync", "async"])
def test_a_deadline_applies_to_a_request_that_the_server_reads_slowly(is_async: bool) -> None:
    """The write timeout begins again with every piece that the server accepts; the total does not."""
    long = REQUEST | {"messages": [{"role": "user", "content": "a" * 40_000_000}]}

    async def send(url: str) -> None:
        async with fb.AsyncClient(url, KEY, retry=0, timeout=LIMIT) as client:
            await client.send(long, "messages")

    with Server(relay, pause=0.005) as server, fb.Client(server.url, KEY, retry=0, timeout=LIMIT) as client:
        error, seconds = _timeout_of(lambda: asyncio.run(send(server.url)) if is_async else client.send(long, "messages"))

    assert error.kind == "total"
    assert seconds <= LIMIT + 2 * SLACK


class _Slow(httpx.BaseTransport):
    """A fake relay that is slow: it advances a clock by ``seconds`` before each piece of an answer."""

    def __init__(self, relay: FakeRelay, clock: VirtualClock, seconds: float) -> None:
        self.relay, self.clock, self.seconds = relay, clock, seconds

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        answer = self.relay.handle_request(request)
        slow, pieces = self, answer.stream

        class Pieces(httpx.SyncByteStream):
            def __iter__(self) -> Iterator[bytes]:
                for piece in pieces:
                    slow.clock.sleep(slow.seconds)
                    yield piece

        if answer.status_code >= 400:
            self.clock.sleep(self.seconds)
        return httpx.Response(answer.status_code, headers=answer.headers, stream=Pieces())


def _slow_client(relay: FakeRelay, seconds: float, **settings: Any) -> fb.Client:
    clock = VirtualClock()
    http_client = httpx.Client(transport=_Slow(relay, clock, seconds))
    return fb.Client("https://relay.test", "sk-fake", http_client=http_client, clock=clock, **settings)


@pytest.mark.parametrize("via", fb.FORMATS)
@pytest.mark.parametrize("format", ["messages", "responses"])
def test_many_equal_events_keep_a_stream_alive(format: fb.Format, via: fb.Format) -> None:
    """An answer of an hour may have equal events only, and none of them is idle time."""
    words = "word " * 40
    client = _slow_client(FakeRelay(words, longest_delta=5), 1, timeout=fb.Timeout(total=None, idle=5))

    with client.stream(body_of("requests", format), format, via) as stream:
        text = "".join(stream.text())

    assert text == words


def test_idle_time_counts_from_the_last_attempt() -> None:
    """Three attempts that are refused after 4 s are not 12 s without an event."""
    client = _slow_client(
        FakeRelay([Failure(503), Failure(503), Failure(503), "Hello"]),
        4,
        retry=fb.Retry(max=3, base=0),
        timeout=fb.Timeout(idle=10),
    )

    with client.stream(REQUEST, "messages") as stream:
        assert "".join(stream.text()) == "Hello"

    assert stream.attempts == 4


@pytest.mark.parametrize("via", ["chat_completions", "messages", "responses"])
def test_slow_bytes_after_the_last_event_are_not_awaited(via: fb.Format) -> None:
    """The answer is complete; a connection that stays open is closed."""
    taken: list[int] = []

    class Dripping(httpx.SyncByteStream):
        def __iter__(self) -> Iterator[bytes]:
            yield stream_of(via)
            for number in range(1000):
                taken.append(number)
                yield b": still here\n" * 100
            raise AssertionError("read for ever")

    http_client = httpx.Client(transport=httpx.MockTransport(lambda _: httpx.Response(200, stream=Dripping())))
    with fb.Client("https://relay.test", http_client=http_client).stream(REQUEST, "messages", via) as stream:
        assert "".join(stream.text())

    assert len(taken) * 1300 <= 64 * 1024 + 1300


def _drip_after_the_end(peer: Peer, _request: Received) -> bool:
    peer.send(head(200, "text/event-stream") + b"".join(STREAM))
    for _ in range(100):
        peer.send(b": still here\n\n")
        peer.wait(0.04)
    return False


@pytest.mark.parametrize("is_async", [False, True], ids=["sync", "async"])
def test_comments_after_the_last_event_are_not_awaited(is_async: bool) -> None:
    """A relay may send comments to keep its connection open; a complete answer does not wait for its end."""

    async def use_async(url: str) -> float:
        async with fb.AsyncClient(url, KEY, retry=0) as client, client.stream(REQUEST, "messages") as stream:
            begun = time.monotonic()
            await stream.response()
            return time.monotonic() - begun

    def use(url: str) -> float:
        with fb.Client(url, KEY, retry=0) as client, client.stream(REQUEST, "messages") as stream:
            begun = time.monotonic()
            stream.response()
            return time.monotonic() - begun

    with Server(_drip_after_the_end) as server:
        seconds = min(asyncio.run(use_async(server.url)) if is_async else use(server.url) for _ in range(3))

    assert seconds <= 0.1 + SLACK / 2


@pytest.mark.parametrize(("total", "pieces"), [(None, 3), (1.05, 2)], ids=["no total", "total"])
def test_time_after_the_last_event_counts_towards_the_total(total: float | None, pieces: int) -> None:
    """A call with a total of a second cannot spend a tenth more on bytes that it does not need."""
    clock = VirtualClock()
    taken: list[float] = []

    class Dripping(httpx.SyncByteStream):
        def __iter__(self) -> Iterator[bytes]:
            clock.sleep(1)
            yield stream_of("messages")
            while True:
                clock.sleep(0.04)
                taken.append(clock.now())
                yield b": still here\n"

    http_client = httpx.Client(transport=httpx.MockTransport(lambda _: httpx.Response(200, stream=Dripping())))
    client = fb.Client("https://relay.test", http_client=http_client, clock=clock, timeout=fb.Timeout(total=total))
    with client.stream(REQUEST, "messages") as stream:
        assert "".join(stream.text())

    assert len(taken) == pieces


class _Socks5(httpx.BaseTransport, httpx.AsyncBaseTransport):
    """The handshake of httpcore with a SOCKS5 proxy, whose package this project does not install."""

    def __init__(self, url: str) -> None:
        self._host, self._port = urlsplit(url).hostname or "", urlsplit(url).port or 0

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        trace = request.extensions["trace"]
        stream = httpcore.SyncBackend().connect_tcp(self._host, self._port)
        trace("connection.connect_tcp.complete", {"return_value": stream})
        trace("socks.setup_socks5_connection.started", {"stream": stream})
        stream.write(b"\x05\x01\x00")
        stream.read(max_bytes=4096)
        trace("socks.setup_socks5_connection.complete", {"return_value": stream})
        stream.close()
        return httpx.Response(200, json=answer_of("messages"))

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        trace = request.extensions["trace"]
        stream = await httpcore.AnyIOBackend().connect_tcp(self._host, self._port)
        await trace("connection.connect_tcp.complete", {"return_value": stream})
        await trace("socks.setup_socks5_connection.started", {"stream": stream})
        await stream.write(b"\x05\x01\x00")
        await stream.read(max_bytes=4096)
        await trace("socks.setup_socks5_connection.complete", {"return_value": stream})
        await stream.aclose()
        return httpx.Response(200, json=answer_of("messages"))


def _through_proxy(reply: bytes, timeout: fb.Timeout, *, is_async: bool) -> None:
    """Send a request through a SOCKS5 proxy that sends only the first part of its handshake."""
    with socket.create_server(("127.0.0.1", 0)) as proxy:
        transport = _Socks5(f"socks5://127.0.0.1:{proxy.getsockname()[1]}")
        threading.Thread(target=lambda: proxy.accept()[0].sendall(reply) if reply else None, daemon=True).start()
        if not is_async:
            client = fb.Client("https://relay.test", KEY, retry=0, timeout=timeout, http_client=httpx.Client(transport=transport))
            client.send(REQUEST, "messages")
            return

        async def send() -> None:
            async with httpx.AsyncClient(transport=transport) as http_client:
                await fb.AsyncClient("https://relay.test", KEY, retry=0, timeout=timeout, http_client=http_client).send(
                    REQUEST, "messages"
                )

        asyncio.run(send())


@pytest.mark.parametrize("is_async", [False, True], ids=["sync", "async"])
def test_a_silent_proxy_ends_with_the_connect_timeout(is_async: bool) -> None:
    """The HTTP library waits for a SOCKS5 proxy without a separate limit."""
    timeout = fb.Timeout(connect=0.2, read=0.2, total=5)

    error, seconds = _timeout_of(lambda: _through_proxy(b"", timeout, is_async=is_async))

    assert (error.kind, error.phase) == ("connect", "connect")
    assert seconds < 2


@pytest.mark.parametrize("is_async", [False, True], ids=["sync", "async"])
def test_a_proxy_that_answers_raises_no_timeout(is_async: bool) -> None:
    """The limit ends with the handshake."""
    _through_proxy(b"\x05\x00", fb.Timeout(connect=5), is_async=is_async)
