"""Connection errors have the phase of the call, and are retried where that may help."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Callable, Iterator
from types import ModuleType
from typing import Any

import httpx
import httpx2
import pytest

import formatbridge as fb
from formatbridge.testing import VirtualClock
from tests.support.servers import KEY, body_of, stream_of

REQUEST = body_of("requests", "messages")
libraries = pytest.mark.parametrize("library", [httpx, httpx2], ids=lambda library: library.__name__)


def _client(library: ModuleType, serve: Any, **settings: Any) -> fb.Client:
    http_client = library.Client(transport=library.MockTransport(serve))
    return fb.Client("https://relay.test", KEY, http_client=http_client, clock=VirtualClock(), **settings)


def _caused(error: Exception, cause: Exception) -> Exception:
    """Return an error as both libraries raise it, with the error of the socket as its cause."""
    error.__cause__ = cause
    return error


class _FloodError(Exception):
    """Stands for the HTTP parser, whose error has the status that it suggests."""

    error_status_hint = 431


BROKEN: list[tuple[str, Exception | None, str, int]] = [
    ("ConnectError", None, "connect", 3),
    ("ConnectError", ssl.SSLError("handshake"), "tls", 3),
    ("ConnectError", ssl.SSLCertVerificationError("self-signed"), "tls", 1),
    ("ProxyError", None, "connect", 3),
    ("ConnectTimeout", None, "connect", 3),
    ("PoolTimeout", None, "pool", 3),
    ("WriteError", None, "write", 3),
    ("WriteTimeout", None, "write", 3),
    ("LocalProtocolError", None, "write", 1),
    ("ReadError", None, "headers", 3),
    ("ReadTimeout", None, "headers", 3),
    ("CloseError", None, "headers", 3),
    ("RemoteProtocolError", None, "headers", 3),
    ("RemoteProtocolError", _FloodError(), "headers", 1),
    ("InvalidURL", None, "connect", 1),
    ("UnsupportedProtocol", None, "connect", 1),
]


@libraries
@pytest.mark.parametrize(("name", "cause", "phase", "count"), BROKEN)
def test_a_connection_error_has_its_phase(name: str, cause: Exception | None, phase: str, count: int, library: ModuleType) -> None:
    """An operator must know whether the network, the certificate or the relay failed."""
    calls: list[Any] = []

    def serve(request: Any) -> Any:
        calls.append(request)
        error: Exception = getattr(library, name)("x")
        raise error if cause is None else _caused(error, cause)

    with pytest.raises(fb.APIConnectionError) as caught:
        _client(library, serve).send(REQUEST, "messages")

    assert (caught.value.phase, len(calls)) == (phase, count)
    assert caught.value.can_retry is (count > 1)
    assert isinstance(caught.value, fb.APITimeoutError) is name.endswith("Timeout")


@libraries
def test_a_closed_http_client_raises_without_retry(library: ModuleType) -> None:
    """A second attempt would find it closed too."""
    http_client = library.Client()
    http_client.close()
    events: list[fb.Attempt] = []
    client = fb.Client("https://relay.test", KEY, http_client=http_client, on_attempt=events.append)

    with pytest.raises(fb.APIConnectionError, match="cannot be used"):
        client.send(REQUEST, "messages")

    assert len(events) == 1


@libraries
@pytest.mark.parametrize("name", ["ReadError", "ReadTimeout", "RemoteProtocolError"])
def test_a_truncated_body_is_reported(name: str, library: ModuleType) -> None:
    """The headers arrived: the relay may have billed the call."""

    class Broken(library.SyncByteStream):  # type: ignore[name-defined,misc]  # either library's
        def __iter__(self) -> Iterator[bytes]:
            yield b'{"type": "mess'
            raise getattr(library, name)("x")

    client = _client(library, lambda _: library.Response(200, stream=Broken()), retry=0)

    with pytest.raises(fb.APIConnectionError) as caught:
        client.send(REQUEST, "messages")

    assert caught.value.phase == "body"


@pytest.mark.parametrize(
    ("on", "count"),
    [({"connection"}, 3), ({"timeout", "status"}, 1), (set(), 1), ({"connection", "timeout", "status"}, 3)],
    ids=lambda value: "+".join(sorted(value)) or "none" if isinstance(value, set) else str(value),
)
@pytest.mark.parametrize("via", fb.FORMATS)
def test_a_stream_truncated_before_its_first_event_is_a_connection_error(
    via: fb.Format, on: set[fb.RetryCause], count: int
) -> None:
    """A setting against double billing also holds for a truncated stream."""
    calls: list[Any] = []

    def serve(request: httpx.Request) -> httpx.Response:
        calls.append(request)
        return httpx.Response(200, content=stream_of(via)[:5], headers={"content-type": "text/event-stream"})

    client = _client(httpx, serve, retry=fb.Retry(on=on))

    with pytest.raises(fb.TruncatedStreamError):
        client.stream(REQUEST, "messages", via).__enter__()

    assert len(calls) == count


@pytest.mark.parametrize("via", fb.FORMATS)
def test_a_stream_that_cannot_be_read_is_not_tried_again(via: fb.Format) -> None:
    """It has been paid for, and another attempt would get the same bytes."""
    calls: list[Any] = []

    def serve(request: httpx.Request) -> httpx.Response:
        calls.append(request)
        return httpx.Response(200, content=b"data: hello\n\n", headers={"content-type": "text/event-stream"})

    with pytest.raises(fb.StreamDecodeError):
        _client(httpx, serve).stream(REQUEST, "messages", via).__enter__()

    assert len(calls) == 1


@pytest.mark.parametrize(
    ("status", "error", "count"),
    [
        (503, {"type": "invalid_request_error"}, 3),
        (503, {"code": "invalid_request_error"}, 1),
        (503, {"type": "invalid_request_error", "code": "get_channel_failed"}, 3),
        (503, {"type": "model_not_found"}, 1),
        (503, {"type": "insufficient_quota", "code": "busy"}, 1),
        (500, {"type": "invalid_request_error", "code": "invalid_request_error"}, 1),
    ],
    ids=str,
)
def test_an_error_code_has_precedence_over_its_type(status: int, error: dict[str, str], count: int) -> None:
    """Relays use the type ``invalid_request_error`` for any failure; a code is specific."""
    calls: list[Any] = []

    def serve(request: httpx.Request) -> httpx.Response:
        calls.append(request)
        return httpx.Response(status, json={"error": {"message": "no"} | error})

    with pytest.raises(fb.APIStatusError):
        _client(httpx, serve).send(REQUEST, "messages")

    assert len(calls) == count


def _hooked(library: ModuleType, serve: Any, hook: Callable[[Any], object], *, is_async: bool) -> Any:
    """Return the error of a call with a client that has a hook for answers."""

    async def hook_async(response: Any) -> None:
        hook(response)

    def call() -> object:
        http_client = library.Client(transport=library.MockTransport(serve), event_hooks={"response": [hook]})
        return fb.Client("https://relay.test", KEY, http_client=http_client, retry=0).send(REQUEST, "messages")

    def call_async() -> object:
        http_client = library.AsyncClient(transport=library.MockTransport(serve), event_hooks={"response": [hook_async]})
        return asyncio.run(fb.AsyncClient("https://relay.test", KEY, http_client=http_client, retry=0).send(REQUEST, "messages"))

    with pytest.raises(fb.APIError) as caught:
        call_async() if is_async else call()
    return caught.value


@libraries
@pytest.mark.parametrize("is_async", [False, True], ids=["sync", "async"])
def test_a_hook_that_raises_for_a_status_changes_no_error(is_async: bool, library: ModuleType) -> None:
    """Many clients raise for every error status; the exception of the library refers to the request, and the request has the key."""

    def serve(_request: Any) -> Any:
        message = {"error": {"message": f"slow down, {KEY}"}}
        return library.Response(429, json=message, headers={"x-request-id": "r-1", "retry-after": "7"})

    error = _hooked(library, serve, lambda response: response.raise_for_status(), is_async=is_async)

    assert type(error) is fb.RateLimitError
    assert str(error) == "429: slow down, *** (request id: r-1)"
    assert error.retry_after == 7
    assert error.__context__ is None


def _streamed(library: ModuleType, status: int, message: bytes, **more: Any) -> Callable[[Any], Any]:
    """Return a function that answers every request with an unread body."""

    class Streamed(library.SyncByteStream):  # type: ignore[name-defined,misc]  # either library's
        def __iter__(self) -> Iterator[bytes]:
            yield message

    return lambda _request: library.Response(status, stream=Streamed(), **more)


@libraries
def test_a_hook_that_raises_for_an_unread_status_keeps_the_status(library: ModuleType) -> None:
    """The library closes the answer when a hook raises, so its body is lost."""
    serve = _streamed(library, 529, b'{"error": {"message": "slow down"}}')

    error = _hooked(library, serve, lambda response: response.raise_for_status(), is_async=False)

    assert type(error) is fb.OverloadedError
    assert error.status == 529
    assert str(error) == "529: the body could not be read: a hook of the HTTP client closed the response before it was read"


@libraries
def test_a_body_read_by_a_hook_that_raises_is_reported(library: ModuleType) -> None:
    """A hook that reads the body first keeps the message of the relay."""
    serve = _streamed(library, 529, b'{"error": {"message": "slow down"}}')

    def hook(response: Any) -> None:
        response.read()
        response.raise_for_status()

    assert str(_hooked(library, serve, hook, is_async=False)) == "529: slow down"


@libraries
def test_an_error_within_a_hook_is_not_the_answer_of_the_relay(library: ModuleType) -> None:
    """A hook that fetches a token elsewhere may be refused there; that is no answer of the relay."""

    def hook(_response: Any) -> None:
        library.Response(401, request=library.Request("GET", "https://tokens.test")).raise_for_status()

    error = _hooked(library, lambda _: library.Response(200, json={}), hook, is_async=False)

    assert type(error) is fb.APIConnectionError
    assert "tokens.test" in str(error)


@libraries
def test_a_body_that_a_hook_cannot_decompress_is_reported_once(library: ModuleType) -> None:
    """Hooks that log bodies decompress them with the library; another attempt gets the same bytes."""
    serve = _streamed(library, 200, b"no gzip", headers={"content-encoding": "gzip"})

    error = _hooked(library, serve, lambda response: response.read(), is_async=False)

    assert type(error) is fb.APIConnectionError
    assert (error.phase, error.can_retry) == ("body", False)
    assert error.__context__ is None
