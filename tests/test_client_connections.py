"""Connections that somebody else opened, cancels while they are closed, or inherits."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import AsyncIterator
from types import ModuleType

import httpx
import httpx2
import pytest

import formatbridge as fb
from tests.servers import KEY, Peer, Received, Server, body_of, events_of, head, read, relay, stream_of, whole

LIMIT, SLACK = 0.3, 0.2
REQUEST = body_of("requests", "messages")


@pytest.mark.parametrize("library", [httpx, httpx2], ids=lambda library: library.__name__)
def test_a_connection_that_its_owner_opened_ends_in_time(library: ModuleType) -> None:
    """It was made before anybody could set a deadline on it; a server that drips is late on it all the same."""

    def answer(peer: Peer, request: Received) -> bool:
        if request.method == "GET":
            peer.send(whole(b"{}"))
            return True
        peer.send(head(200, "text/event-stream", Transfer_Encoding="chunked") + b"5;")
        peer.drip(b"a=b;" * 10, 0.05)  # bytes come, and no byte of the body does
        return False

    taken: list[float] = []
    with Server(answer) as server, library.Client(timeout=30) as own:
        client = fb.Client(server.url, KEY, retry=0, timeout=fb.Timeout(total=LIMIT, idle=30), http_client=own)
        while len(taken) < 3 and min(taken, default=9) > LIMIT + SLACK:
            own.get(server.url)
            begun = time.monotonic()
            with pytest.raises(fb.APITimeoutError):
                read(client)
            taken.append(time.monotonic() - begun)

    assert server.connections == len(taken)
    assert min(taken) <= LIMIT + SLACK


@pytest.mark.parametrize("cancels", [1, 2])
def test_who_is_cancelled_while_closing_has_closed(cancels: int) -> None:
    """A request that is cancelled twice, as by a framework and a timeout, must not leave half a connection in the pool."""
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
        own = httpx.AsyncClient(transport=httpx.MockTransport(lambda _: httpx.Response(200, stream=held)))
        stream = await fb.AsyncClient("https://relay.test", KEY, http_client=own).stream(REQUEST, "messages").__aenter__()
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


def test_a_child_process_that_closes_takes_nothing_from_its_parent(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever ends in a child runs its ``with`` to the end there, on sockets that are its parent's."""
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
