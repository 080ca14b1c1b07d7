"""A fault occurs at its call, in its phase, at its byte, in both HTTP libraries, sync and async."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Callable
from typing import Any

import httpx
import httpx2
import pytest

import formatbridge as fb
from formatbridge.testing import Cut, Fail, Failure, FakeRelay, FaultTransport, Stall, VirtualClock

LIBRARIES = {"httpx": httpx, "httpx2": httpx2}
BODY = {"model": "m", "input": "hi"}
KEY = {"authorization": "Bearer sk-fake"}
URL = "https://relay.test/v1/responses"


def get(transport: Any, library: str, *, is_async: bool, **settings: Any) -> bytes:
    """Read an answer to its end and return its body."""

    async def read() -> bytes:
        async with LIBRARIES[library].AsyncClient(transport=transport) as client:
            body: bytes = (await client.post(URL, json=BODY, headers=KEY, **settings)).content
            return body

    if is_async:
        return asyncio.run(read())
    with LIBRARIES[library].Client(transport=transport) as client:
        answer: bytes = client.post(URL, json=BODY, headers=KEY, **settings).content
        return answer


WHOLE = get(FakeRelay("Hello"), "httpx", is_async=False)

both_libraries = pytest.mark.parametrize("library", LIBRARIES)
sync_and_async = pytest.mark.parametrize("is_async", [False, True], ids=["sync", "async"])


@sync_and_async
@both_libraries
@pytest.mark.parametrize(
    ("fault", "error", "was_sent"),
    [
        (Fail("pool"), "PoolTimeout", False),
        (Fail("connect"), "ConnectError", False),
        (Fail("connect", timeout=True), "ConnectTimeout", False),
        (Fail("tls"), "ConnectError", False),
        (Fail("write"), "WriteError", False),
        (Fail("write", timeout=True), "WriteTimeout", False),
        (Fail("read"), "ReadError", True),
        (Fail("read", timeout=True), "ReadTimeout", True),
        (Fail("read", at=0), "ReadError", True),
        (Fail("read", at=9), "ReadError", True),
        (Fail("protocol"), "RemoteProtocolError", True),
        (Fail("protocol", at=9), "RemoteProtocolError", True),
        (Cut(9, framing="chunked"), "RemoteProtocolError", True),
        (Cut(9, framing="length"), "RemoteProtocolError", True),
    ],
)
def test_a_call_fails_in_its_phase_with_the_error_of_the_library(
    fault: Any, error: str, was_sent: bool, library: str, is_async: bool
) -> None:
    """Code that decides about another attempt must know whether the server got the request."""
    relay = FakeRelay("Hello")

    with pytest.raises(getattr(LIBRARIES[library], error)):
        get(FaultTransport(relay, fault), library, is_async=is_async)

    assert bool(relay.requests) is was_sent


@sync_and_async
@both_libraries
def test_a_body_can_be_truncated_at_each_byte(library: str, is_async: bool) -> None:
    """Some servers end an answer by closing the connection only."""
    for at in range(len(WHOLE) + 2):
        assert get(FaultTransport(FakeRelay("Hello", chunks=5), Cut(at)), library, is_async=is_async) == WHOLE[:at]


@pytest.mark.parametrize(("calls", "struck"), [(2, [2]), (range(2, 4), [2, 3]), ({1, 4}, [1, 4]), (None, [1, 2, 3, 4])], ids=str)
@sync_and_async
def test_a_fault_occurs_at_the_listed_calls(calls: Any, struck: list[int], is_async: bool) -> None:
    """The second attempt succeeds, or the third."""
    transport = FaultTransport(FakeRelay("Hello"), Cut(0, calls=calls))

    bodies = [get(transport, "httpx", is_async=is_async) for _ in range(4)]

    assert [number for number, body in enumerate(bodies, 1) if not body] == struck
    assert transport.calls == 4


@sync_and_async
@both_libraries
@pytest.mark.parametrize("at", [None, 0, 9])
def test_a_stall_waits_and_continues(at: int | None, library: str, is_async: bool) -> None:
    """A slow server is not broken."""
    clock = VirtualClock()
    transport = FaultTransport(FakeRelay("Hello"), Stall(30, at=at), clock=clock)

    body = get(transport, library, is_async=is_async, timeout=60)

    assert body == WHOLE
    assert clock.sleeps == [30]


@sync_and_async
@both_libraries
def test_a_stall_longer_than_the_read_timeout_ends_there(library: str, is_async: bool) -> None:
    """The timeout of the HTTP library would have ended the call."""
    clock = VirtualClock()
    transport = FaultTransport(FakeRelay("Hello"), Stall(30, at=9), clock=clock)

    with pytest.raises(LIBRARIES[library].ReadTimeout, match="nothing came for 5 seconds"):
        get(transport, library, is_async=is_async, timeout=5)

    assert clock.sleeps == [5]


@sync_and_async
def test_a_stall_takes_real_time_without_a_virtual_clock(is_async: bool) -> None:
    """A deadline is measured in real time."""
    begun = time.monotonic()

    get(FaultTransport(FakeRelay("Hello"), Stall(0.05)), "httpx", is_async=is_async)

    assert time.monotonic() - begun >= 0.05


@sync_and_async
@both_libraries
def test_a_fault_can_be_a_step_of_a_script(library: str, is_async: bool) -> None:
    """First no connection, then half an answer, then all of it."""
    relay = FakeRelay([Fail("connect"), (Cut(9), "Hello"), (Fail("read", at=9), "Hello"), "Hello"])
    errors = LIBRARIES[library].ConnectError, LIBRARIES[library].ReadError

    with pytest.raises(errors[0]):
        get(relay, library, is_async=is_async)
    cut = get(relay, library, is_async=is_async)
    with pytest.raises(errors[1]):
        get(relay, library, is_async=is_async)

    assert cut == WHOLE[:9]
    assert fb.convert_response(get(relay, library, is_async=is_async), source="responses", target="messages").body["content"]


@sync_and_async
@both_libraries
def test_a_fault_transport_wraps_any_transport(library: str, is_async: bool) -> None:
    """Faults concern the connection, not the relay."""
    module = LIBRARIES[library]
    inner = module.MockTransport(lambda _: module.Response(200, content=b"x" * 1000))

    assert get(FaultTransport(inner, Cut(10)), library, is_async=is_async) == b"x" * 10


@pytest.mark.parametrize("wrong", [{"phase": "lunch"}, {"phase": "tls", "timeout": True}, {"phase": "connect", "at": 3}])
def test_a_failure_with_an_invalid_phase_is_rejected(wrong: dict[str, Any]) -> None:
    """There is no byte of an answer before there is a connection."""
    with pytest.raises(fb.ConfigurationError, match="expected"):
        Fail(**wrong)


@pytest.mark.parametrize(
    "make",
    [
        lambda: Cut(-1), lambda: Cut("a"), lambda: Cut(1, framing="x"), lambda: Stall(-5), lambda: Stall(1, at=-1),  # type: ignore[arg-type]  # that is the point
        lambda: Failure(after=-1), lambda: FakeRelay(chunks=0), lambda: FakeRelay(chunks=[4, 0]), lambda: Fail("read", at=-1),
    ],
)  # fmt: skip
def test_a_fault_with_a_negative_or_invalid_position_is_rejected(make: Callable[[], object]) -> None:
    """A test with it would pass whatever the code does."""
    with pytest.raises(fb.ConfigurationError, match="expected"):
        make()


@sync_and_async
@pytest.mark.parametrize(
    "fault", [Fail("read"), Fail("read", at=9), Cut(9), Cut(9, framing="chunked"), Stall(9), Stall(9, at=9)], ids=str
)
def test_a_call_that_fails_closes_its_answer(fault: Any, is_async: bool) -> None:
    """A transport that keeps connections open would hide, or cause, the leak that a test looks for."""
    closed: list[bool] = []

    class Held(httpx.SyncByteStream, httpx.AsyncByteStream):
        def __iter__(self) -> Any:
            return iter([WHOLE])

        async def __aiter__(self) -> Any:
            yield WHOLE

        def close(self) -> None:
            closed.append(True)

        async def aclose(self) -> None:
            closed.append(True)

    inner = httpx.MockTransport(lambda _: httpx.Response(200, stream=Held()))
    transport = FaultTransport(inner, fault, clock=VirtualClock())

    with contextlib.suppress(httpx.TransportError):
        get(transport, "httpx", is_async=is_async, timeout=5)

    assert closed == [True]


@both_libraries
@sync_and_async
def test_a_fault_transport_creates_clients_as_a_relay_does(library: str, is_async: bool) -> None:
    """No type of a transport is valid for both libraries: a user of a type checker creates a client instead."""
    broken = FaultTransport(FakeRelay("Hello"), Fail("connect", calls=2))
    chosen: Any = library

    client = broken.async_http_client(chosen) if is_async else broken.http_client(chosen, timeout=5)

    assert isinstance(client, LIBRARIES[library].AsyncClient if is_async else LIBRARIES[library].Client)
    assert get(broken.transport(), library, is_async=is_async) == WHOLE


@sync_and_async
@pytest.mark.parametrize(
    ("timeout", "kind"), [(fb.Timeout(total=5), "total"), (fb.Timeout(idle=5), "idle"), (fb.Timeout(read=5), "read")]
)
def test_a_limit_that_passes_on_a_virtual_clock_has_its_name(timeout: fb.Timeout, kind: str, is_async: bool) -> None:
    """Otherwise a test with a virtual clock would prove another limit than the one it set."""
    clock = VirtualClock()
    relay = FakeRelay((Stall(60, at=300), "Hello dear all of you"), clock=clock)
    settings: dict[str, Any] = {"clock": clock, "timeout": timeout, "retry": 0}

    def read() -> None:
        client = fb.Client(relay.base_url, relay.api_key, http_client=relay.http_client(), **settings)
        with client.stream(BODY, "responses") as stream:
            stream.response()

    async def read_async() -> None:
        client = fb.AsyncClient(relay.base_url, relay.api_key, http_client=relay.async_http_client(), **settings)
        async with client.stream(BODY, "responses") as stream:
            await stream.response()

    with pytest.raises(fb.APITimeoutError) as caught:
        asyncio.run(read_async()) if is_async else read()

    assert caught.value.kind == kind
    assert clock.now() == 5
