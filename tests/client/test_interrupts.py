"""Interrupts at any moment: a broken connection is an error of this library, or is not noticeable."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from types import FrameType
from typing import Any

import h11
import httpx
import httpx2
import pytest

import formatbridge as fb
from tests.support.servers import KEY, Peer, Received, Server, body_of, framed, stream_of

REQUEST = body_of("requests", "messages")
libraries = pytest.mark.parametrize("library", [httpx, httpx2], ids=lambda library: library.__name__)


def _protocol_error() -> None:
    """Raise as a connection does that was interrupted between writing its request and recording that."""
    h11.Connection(h11.CLIENT).send(h11.EndOfMessage())


def _assertion_error() -> None:
    """Raise as a connection does that was interrupted within ``h11``, between two of its fields."""
    connection = h11.Connection(h11.CLIENT)
    connection._writer = None
    connection.send(h11.Request(method="GET", target="/", headers=[("host", "relay.test")]))


BREAKS: list[Callable[[], None]] = [_protocol_error, _assertion_error]
breaks = pytest.mark.parametrize("fail", BREAKS, ids=["LocalProtocolError", "AssertionError"])


@breaks
@libraries
def test_an_interrupted_connection_raises_a_connection_error(library: Any, fail: Callable[[], None]) -> None:
    """The next call gets the connection that was interrupted; another attempt gets a new one."""

    def serve(_request: Any) -> Any:
        fail()

    client = fb.Client("https://relay.test", KEY, retry=0, http_client=library.Client(transport=library.MockTransport(serve)))

    for call in (lambda: client.send(REQUEST, "messages"), lambda: client.stream(REQUEST, "messages").__enter__()):
        with pytest.raises(fb.APIConnectionError) as caught:
            call()
        assert caught.value.can_retry
        assert caught.value.__cause__ is caught.value.__context__ is None


def _in_disorder(library: Any, fail: Callable[[], None], *, at: str) -> Any:
    """Return the body of a stream that fails when it is read, or when it is closed."""

    class Body(library.SyncByteStream):  # type: ignore[misc]  # a class of either library
        def __iter__(self) -> Iterator[bytes]:
            yield stream_of("messages")[:400]
            if at == "read":
                fail()

        def close(self) -> None:
            if at == "close":
                fail()

    return Body()


@breaks
@libraries
def test_an_interrupted_stream_is_truncated(library: Any, fail: Callable[[], None]) -> None:
    """The part that arrived is valid, and the error has it."""
    transport = library.MockTransport(lambda _: library.Response(200, stream=_in_disorder(library, fail, at="read")))
    client = fb.Client("https://relay.test", KEY, retry=0, http_client=library.Client(transport=transport))

    with client.stream(REQUEST, "messages") as stream, pytest.raises(fb.TruncatedStreamError) as caught:
        stream.response()

    assert caught.value.partial is not None


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")  # of the library's generator, which closes as well
@breaks
@libraries
def test_an_interrupted_stream_closes_without_an_error(library: Any, fail: Callable[[], None]) -> None:
    """A user who leaves a stream does not read the rest."""
    transport = library.MockTransport(lambda _: library.Response(200, stream=_in_disorder(library, fail, at="close")))
    client = fb.Client("https://relay.test", KEY, retry=0, http_client=library.Client(transport=transport))

    with client.stream(REQUEST, "messages") as stream:
        next(iter(stream))

    assert stream.status == 200


@breaks
def test_an_sdk_gets_an_error_event_for_an_interrupted_stream(fail: Callable[[], None]) -> None:
    """The SDK gets an error event of its format."""
    inner = httpx2.MockTransport(
        lambda _: httpx2.Response(200, headers={"content-type": "text/event-stream"}, stream=_in_disorder(httpx2, fail, at="read"))
    )
    transport = fb.transport("https://relay.test", KEY, via="messages", inner=inner)

    with httpx2.Client(transport=transport) as client:
        reported = client.post("https://vendor.test/v1/messages", json={**REQUEST, "stream": True}).content

    assert b"event: error" in reported


class _Interrupt:
    """Raises ``KeyboardInterrupt`` at one line of the HTTP library's connections, counted from the first that runs."""

    def __init__(self, at: int) -> None:
        self.left = at

    def __call__(self, frame: FrameType, event: str, _argument: object) -> Any:
        name = frame.f_globals.get("__name__", "")
        is_connection = name.startswith(("h11.", "httpcore._sync.http11", "httpcore._sync.connection"))
        return self._line if event == "call" and is_connection and not name.endswith("connection_pool") else None

    def _line(self, _frame: FrameType, event: str, _argument: object) -> Any:
        if event == "line":
            self.left -= 1
            if self.left == 0:
                raise KeyboardInterrupt
        return self._line


def _read(client: fb.Client) -> bool:
    with client.stream(REQUEST, "messages") as stream:
        return bool("".join(stream.text()))


def _read_interrupted(client: fb.Client, at: int) -> None:
    sys.settrace(_Interrupt(at))
    try:
        with suppress(KeyboardInterrupt):
            _read(client)
    finally:
        sys.settrace(None)


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")  # of sockets whose close was interrupted
@pytest.mark.parametrize("first", range(0, 37, 4))
def test_a_call_after_an_interrupt_succeeds_or_raises_an_error_of_this_library(first: int) -> None:
    """A program that catches Ctrl-C goes on, with connections that were interrupted between any two lines of the HTTP library."""
    raw: list[tuple[int, str]] = []

    def answer(peer: Peer, _request: Received) -> bool:
        peer.send(framed(stream_of("messages"), "chunked"))
        return True

    with Server(answer) as server, fb.Client(server.url, KEY, retry=0, timeout=5) as client:
        _read(client)
        for at in range(first + 1, 2400, 37):
            # CPython 3.12 and 3.13 keep the exception that was handled where a trace function raised, until the thread ends.
            with ThreadPoolExecutor(1) as thread:
                thread.submit(_read_interrupted, client, at).result()
            for _ in range(2):
                try:
                    _read(client)
                except fb.FormatBridgeError:
                    continue
                except Exception as error:
                    raw.append((at, repr(error)))
        assert _read(client)

    assert raw == []
