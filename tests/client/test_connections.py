"""Connections of a client: shared, cancelled, inherited by a child process, and unreferenced."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import os
import threading
import time
import weakref
from collections.abc import AsyncIterator, Callable, Iterator
from types import ModuleType
from typing import Any

import httpx
import httpx2
import pytest

import formatbridge as fb
from tests.support.servers import KEY, Peer, Received, Server, body_of, events_of, head, read, relay, stream_of, whole

LIMIT, SLACK = 0.3, 0.2
REQUEST = body_of("requests", "messages")


@pytest.mark.parametrize("library", [httpx, httpx2], ids=lambda library: library.__name__)
def test_a_deadline_applies_to_a_connection_that_was_already_open(library: ModuleType) -> None:
    """Its connection was opened before the client could set a deadline on it; a server that sends slowly must still be stopped."""

    def answer(peer: Peer, request: Received) -> bool:
        if request.method == "GET":
            peer.send(whole(b"{}"))
            return True
        peer.send(head(200, "text/event-stream", Transfer_Encoding="chunked") + b"5;")
        peer.drip(b"a=b;" * 10, 0.05)  # bytes come, and no byte of the body does
        return False

    taken: list[float] = []
    with Server(answer) as server, library.Client(timeout=30) as http_client:
        client = fb.Client(server.url, KEY, retry=0, timeout=fb.Timeout(total=LIMIT, idle=30), http_client=http_client)
        while len(taken) < 3 and min(taken, default=9) > LIMIT + SLACK:
            http_client.get(server.url)
            begun = time.monotonic()
            with pytest.raises(fb.APITimeoutError):
                read(client)
            taken.append(time.monotonic() - begun)

    assert server.connections == len(taken)
    assert min(taken) <= LIMIT + SLACK


@pytest.mark.parametrize("cancels", [1, 2])
def test_cancelling_close_still_closes(cancels: int) -> None:
    """A request that is cancelled twice, by a framework and by a timeout, must not leave a broken connection in the pool."""
    steps: list[str] = []

    class Held(httpx.AsyncByteStream):
        def __init__(self) -> None:
            self.is_closing, self.may_close = asyncio.Event(), asyncio.Event()

        async def __aiter__(self) -> AsyncIterator[bytes]:
            yield next(events_of(stream_of("messages")))
            await asyncio.sleep(60)

        async def aclose(self) -> None:
            self.is_closing.set()
            await self.may_close.wait()
            steps.append("closed")

    async def call() -> None:
        held = Held()
        http_client = httpx.AsyncClient(transport=httpx.MockTransport(lambda _: httpx.Response(200, stream=held)))
        stream = await fb.AsyncClient("https://relay.test", KEY, http_client=http_client).stream(REQUEST, "messages").__aenter__()
        task = asyncio.ensure_future(stream.close())
        await held.is_closing.wait()
        for _ in range(cancels):
            task.cancel()
            await asyncio.sleep(0)
        held.may_close.set()
        with pytest.raises(asyncio.CancelledError):
            await task
        steps.append("cancelled")

    asyncio.run(asyncio.wait_for(call(), 5))

    assert steps == ["closed", "cancelled"]


def test_closing_in_a_child_process_keeps_the_connections_of_its_parent(monkeypatch: pytest.MonkeyPatch) -> None:
    """A child process that ends leaves its ``with`` blocks, with sockets that belong to its parent."""
    with Server(relay) as server:
        transport = fb.transport(server.url, KEY, via="messages")
        client = httpx.Client(transport=transport)
        client.post("https://vendor.test/v1/messages", json=REQUEST)
        with monkeypatch.context() as child:
            child.setattr(os, "getpid", lambda: -1)
            transport.close()
        answer = client.post("https://vendor.test/v1/messages", json=REQUEST)
        client.close()

    assert answer.status_code == 200
    assert server.connections == 1


WRONG_ENVIRONMENTS = {
    "a proxy whose library is missing": ("ALL_PROXY", "socks5://127.0.0.1:1", "socksio"),
    "a proxy of an unknown kind": ("ALL_PROXY", "foo://user:pass-word@proxy.test", "URL of a proxy"),
    "a proxy that is no URL": ("ALL_PROXY", "http://user:pass/word@proxy.test", "URL of a proxy"),
    "certificates that are not there": ("SSL_CERT_FILE", "/nowhere.pem", "FileNotFoundError"),
    "certificates that are none": ("SSL_CERT_FILE", __file__, "SSLError"),
}


CALLS: dict[str, Callable[[], object]] = {
    "send": lambda: fb.Client("https://relay.test", KEY).send(REQUEST, "messages"),
    "stream": lambda: read(fb.Client("https://relay.test", KEY)),
    "async": lambda: asyncio.run(fb.AsyncClient("https://relay.test", KEY).send(REQUEST, "messages")),
}


@pytest.mark.parametrize("call", CALLS)
@pytest.mark.parametrize("case", WRONG_ENVIRONMENTS)
def test_an_invalid_environment_raises(case: str, call: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A shell, a container or a company sets proxies and certificates; a user can repair an error that names the invalid one."""
    name, value, reason = WRONG_ENVIRONMENTS[case]
    monkeypatch.setenv(name, value)

    with pytest.raises(fb.ConfigurationError, match=f"{name}.*{reason}") as caught:
        CALLS[call]()

    assert "word" not in str(caught.value)
    assert caught.value.__context__ is None


def test_a_client_works_after_its_environment_was_repaired(monkeypatch: pytest.MonkeyPatch) -> None:
    """The failed attempt leaves no state."""
    with Server(relay) as server, fb.Client(server.url, KEY) as client:
        with monkeypatch.context() as wrong:
            wrong.setenv("ALL_PROXY", "foo://proxy.test")
            with pytest.raises(fb.ConfigurationError):
                client.send(REQUEST, "messages")

        assert client.send(REQUEST, "messages").status == 200


@pytest.mark.parametrize("library", [httpx, httpx2], ids=lambda library: library.__name__)
def test_a_transport_raises_on_an_invalid_environment(library: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its connections are opened at the first request, with the certificates of that moment."""
    client = library.Client(transport=fb.transport("https://relay.test", KEY, via="messages"))
    monkeypatch.setenv("SSL_CERT_FILE", "/nowhere.pem")

    with pytest.raises(fb.ConfigurationError, match="SSL_CERT_FILE"):
        client.post("https://vendor.test/v1/messages", json=REQUEST)


class Answering(httpx.BaseTransport):
    """Answers with a stream that stays open.

    Its lock guards its open streams, as that of a pool does; ``meanwhile`` is called while it is held.
    """

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.meanwhile: Callable[[], object] = list
        self.closed: list[bool] = []  # whether each close could have the lock

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        del request  # all are answered alike
        with self.lock:
            self.meanwhile()
        return httpx.Response(200, headers={"content-type": "text/event-stream"}, stream=_Opened(self))


class _Opened(httpx.SyncByteStream):
    """A stream that closes itself when it is dropped before its end, as those of a pool do."""

    def __init__(self, transport: Answering) -> None:
        self._transport = transport
        self._is_open = True

    def __iter__(self) -> Iterator[bytes]:
        try:
            yield from events_of(stream_of("messages"))
        except GeneratorExit:
            self.close()
            raise

    def close(self) -> None:
        if self._is_open:
            self._is_open = False
            is_free = self._transport.lock.acquire(blocking=False)
            self._transport.closed.append(is_free)
            if is_free:
                self._transport.lock.release()


class _Job:
    """A job and the stream that it reads refer to each other, so only the garbage collector ends them."""

    def __init__(self, client: fb.Client) -> None:
        self.stream = client.stream(REQUEST, "messages").__enter__()
        next(iter(self.stream))
        self.itself = self


@pytest.mark.filterwarnings("ignore:a stream created at:ResourceWarning")
def test_the_collector_closes_no_stream_while_a_pool_holds_its_lock() -> None:
    """The collector may run at any allocation, also in the pool itself; a thread that then waits for its lock would wait for ever."""
    transport = Answering()
    with httpx.Client(transport=transport) as http_client:
        client = fb.Client("https://relay.test", KEY, http_client=http_client)
        gc.disable()
        try:
            _Job(client)
            transport.meanwhile = gc.collect
            for _ in range(2):
                client.stream(REQUEST, "messages").__enter__().close()
        finally:
            gc.enable()

    assert transport.closed == [True] * 3


@pytest.mark.parametrize("ends", [fb.Client.close, lambda client: client.models()], ids=["close", "call"])
@pytest.mark.filterwarnings("ignore:a stream created at:ResourceWarning")
def test_an_unreferenced_stream_is_closed_by_the_next_call_or_with_the_client(ends: Callable[[fb.Client], object]) -> None:
    """Its connection is missing in the pool of a user who passed the client."""
    transport = Answering()
    with httpx.Client(transport=transport) as http_client:
        client = fb.Client("https://relay.test", KEY, http_client=http_client, retry=0)
        client.stream(REQUEST, "messages").__enter__()
        assert transport.closed == []

        with contextlib.suppress(fb.APIError):
            ends(client)

    assert transport.closed[:1] == [True]


@pytest.mark.filterwarnings("ignore:a stream created at:ResourceWarning")
def test_an_unclosed_stream_does_not_keep_its_closed_event_loop_in_memory() -> None:
    """Its end can no longer be awaited; a client that serves other loops must not keep it."""
    http_client = httpx.AsyncClient(transport=httpx.MockTransport(_answered))
    client = fb.AsyncClient("https://relay.test", KEY, http_client=http_client)

    async def leave_open() -> tuple[fb.AsyncStream, weakref.ref[asyncio.AbstractEventLoop]]:
        stream = await client.stream(REQUEST, "messages").__aenter__()
        return stream, weakref.ref(asyncio.get_running_loop())

    stream, loop = asyncio.run(leave_open())
    del stream
    gc.collect()

    assert loop() is None


MANY = 70


def _answered(_: httpx.Request) -> httpx.Response:
    return httpx.Response(200, headers={"content-type": "text/event-stream"}, content=stream_of("messages"))


def _in_memory(kind: type, result: list[httpx.Client | httpx.AsyncClient]) -> Callable[..., Any]:
    """Return a function that creates clients of the library without a socket and records them."""

    def make(**settings: Any) -> Any:
        result.append(kind(transport=httpx.MockTransport(_answered), **settings))
        return result[-1]

    return make


def _open_many(client: fb.Client) -> None:
    with contextlib.ExitStack() as streams:
        for _ in range(MANY):
            streams.enter_context(client.stream(REQUEST, "messages"))


async def _open_many_async(client: fb.AsyncClient) -> None:
    async with contextlib.AsyncExitStack() as streams:
        for _ in range(MANY):
            await streams.enter_async_context(client.stream(REQUEST, "messages"))


def test_after_many_calls_at_once_few_connections_stay(monkeypatch: pytest.MonkeyPatch) -> None:
    """Most connections of a burst are not used again, and the server closes them: the sockets would stay half closed."""
    results: list[httpx.Client | httpx.AsyncClient] = []
    monkeypatch.setattr(httpx, "Client", _in_memory(httpx.Client, results))

    _open_many(fb.Client("https://relay.test", KEY))

    assert [http_client.is_closed for http_client in results] == [False, True, True]


def test_after_many_calls_at_once_few_connections_of_a_loop_stay(monkeypatch: pytest.MonkeyPatch) -> None:
    """The same in an event loop, in which closing must be awaited."""
    results: list[httpx.Client | httpx.AsyncClient] = []
    monkeypatch.setattr(httpx, "AsyncClient", _in_memory(httpx.AsyncClient, results))

    asyncio.run(_open_many_async(fb.AsyncClient("https://relay.test", KEY)))

    assert [http_client.is_closed for http_client in results] == [False, True, True]


def test_the_http_client_of_the_caller_stays_open_after_many_calls() -> None:
    """Its owner closes it, however many calls it has served at once."""
    with httpx.Client(transport=httpx.MockTransport(_answered)) as http_client:
        client = fb.Client("https://relay.test", KEY, http_client=http_client)

        _open_many(client)

        assert not http_client.is_closed
