"""Connection faults: a call that fails, stalls or is truncated, by call number, phase and byte; for any transport, without sockets.

A request or a response is ``Any``: it is of httpx or of httpx2, whose classes have no common base.
"""

from __future__ import annotations

import threading
from collections.abc import AsyncIterable, AsyncIterator, Container, Iterable, Iterator
from dataclasses import dataclass
from itertools import chain
from typing import Any, Literal, NamedTuple

from formatbridge.client.http_libraries import (
    AsyncTransport,
    SyncTransport,
    build_async_stream,
    build_response,
    build_stream,
    library_of,
)
from formatbridge.client.settings import Clock
from formatbridge.errors import ConfigurationError
from formatbridge.testing.in_memory import InMemoryTransport

Phase = Literal["pool", "connect", "tls", "write", "read", "protocol"]

_ERRORS: dict[str, str] = {
    "pool": "PoolTimeout", "connect": "ConnectError", "tls": "ConnectError", "write": "WriteError", "read": "ReadError",
    "protocol": "RemoteProtocolError",
}  # fmt: skip
_TIMEOUTS: dict[str, str] = {"pool": "PoolTimeout", "connect": "ConnectTimeout", "write": "WriteTimeout", "read": "ReadTimeout"}
_BEFORE_SENDING = ("pool", "connect", "tls", "write")
_ENDINGS = {"chunked": "incomplete chunked read", "length": "fewer bytes than its content-length"}


def _check_byte(at: object) -> None:
    if at is not None and (isinstance(at, bool) or not isinstance(at, int) or at < 0):
        raise ConfigurationError(f"at is {at!r}, expected a byte of the body, 0 or more")


class FaultEffect(NamedTuple):
    """The effect of a fault: wait ``seconds``, then raise ``error`` or, if ``is_end``, end the body."""

    seconds: float = 0.0
    error: Exception | None = None
    is_end: bool = False


@dataclass(frozen=True, slots=True)
class Fail:
    """The call fails in a phase, with the exception of the HTTP library for that phase.

    ``at``: after so many bytes of the body; None: before the answer. In the phases ``pool``, ``connect``, ``tls`` and ``write`` the server
    does not get the request. ``timeout``: the phase has a timeout instead of an error.
    """

    phase: Phase = "connect"
    """The phase of the call that fails."""
    at: int | None = None
    """The number of bytes of the body before the failure; None: before the answer."""
    timeout: bool = False
    """Whether the phase has a timeout instead of an error."""
    calls: int | Container[int] | None = None
    """The numbers of the calls with the fault, from 1; None: all calls."""

    def __post_init__(self) -> None:
        names = _TIMEOUTS if self.timeout else _ERRORS
        if self.phase not in names:
            raise ConfigurationError(f"phase is {self.phase!r}, expected one of {', '.join(names)}")
        _check_byte(self.at)
        if self.at is not None and self.phase in _BEFORE_SENDING:
            raise ConfigurationError(f"at is {self.at} in the phase {self.phase!r}, expected the phase 'read' or 'protocol'")

    def effect(self, library: Any, request: Any) -> FaultEffect:
        """Return the error of the phase."""
        name = (_TIMEOUTS if self.timeout else _ERRORS)[self.phase]
        return FaultEffect(error=getattr(library, name)(f"scripted fault in the phase {self.phase!r}", request=request))


@dataclass(frozen=True, slots=True)
class Stall:
    """No bytes arrive for some ``seconds``: before the answer (``at`` is None) or after so many bytes of its body.

    A call with a shorter read timeout ends with the HTTP library's ``ReadTimeout``, as on a socket.
    """

    seconds: float
    """How long no bytes arrive, in seconds."""
    at: int | None = None
    """The number of bytes of the body before the wait; None: before the answer."""
    calls: int | Container[int] | None = None
    """The numbers of the calls with the fault, from 1; None: all calls."""
    phase: Phase = "read"
    """The phase of the call in which the fault occurs."""

    def __post_init__(self) -> None:
        _check_byte(self.at)
        if isinstance(self.seconds, bool) or not isinstance(self.seconds, int | float) or not self.seconds >= 0:
            raise ConfigurationError(f"seconds is {self.seconds!r}, expected 0 or more")

    def effect(self, library: Any, request: Any) -> FaultEffect:
        """Return the waiting time, and the timeout of a call that does not wait so long."""
        limit = request.extensions.get("timeout", {}).get("read")
        if limit is None or limit >= self.seconds:
            return FaultEffect(self.seconds)
        return FaultEffect(limit, library.ReadTimeout(f"nothing came for {limit} seconds", request=request))


@dataclass(frozen=True, slots=True)
class Cut:
    """The body ends after ``at`` bytes.

    ``framing``: how HTTP marks the end of the body. ``close``: by closing the connection, so that a truncated body looks complete.
    ``chunked`` and ``length``: the HTTP library recognises the truncation and raises its ``RemoteProtocolError``.
    """

    at: int
    """The number of bytes after which the body ends."""
    framing: Literal["close", "chunked", "length"] = "close"
    """How HTTP marks the end of the body."""
    calls: int | Container[int] | None = None
    """The numbers of the calls with the fault, from 1; None: all calls."""
    phase: Phase = "read"
    """The phase of the call in which the fault occurs."""

    def __post_init__(self) -> None:
        if self.at is None:
            raise ConfigurationError("at is None, expected a byte of the body, 0 or more")
        _check_byte(self.at)
        if self.framing not in ("close", *_ENDINGS):
            raise ConfigurationError(f"framing is {self.framing!r}, expected one of close, {', '.join(_ENDINGS)}")

    def effect(self, library: Any, request: Any) -> FaultEffect:
        """Return the end of the body, with an error for framings that mark the end."""
        if self.framing == "close":
            return FaultEffect(is_end=True)
        reason = f"peer closed connection without sending complete message body ({_ENDINGS[self.framing]})"
        return FaultEffect(error=library.RemoteProtocolError(reason, request=request))


Fault = Fail | Stall | Cut

_SYSTEM_CLOCK = Clock()


class FaultTransport(InMemoryTransport):
    """A transport around another one, with scripted faults.

    ``inner``: any transport of httpx or httpx2, sync or async, or a ``FakeRelay``. ``calls`` of a fault is a number from 1, a container of
    numbers, or None for every call. The first fault for the number of a call applies. ``clock``: the clock for stalls; None: the system
    clock.

    >>> from formatbridge.testing import FakeRelay, FaultTransport, Fail
    >>> broken = FaultTransport(FakeRelay("Hello"), Fail("connect", calls=1))
    """

    def __init__(self, inner: SyncTransport | AsyncTransport, *faults: Fault, clock: Clock | None = None) -> None:
        self._inner: Any = inner
        self._faults = faults
        self._clock = clock
        self._lock = threading.Lock()
        self.calls = 0
        """The number of calls."""

    def __enter__(self) -> FaultTransport:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    async def __aenter__(self) -> FaultTransport:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()

    def close(self) -> None:
        """Close the inner transport."""
        self._inner.close()

    async def aclose(self) -> None:
        """Close the inner transport."""
        await self._inner.aclose()

    def handle_request(self, request: Any) -> Any:
        """Handle a request of a sync client."""
        fault = self._next_fault()
        if fault is None:
            return self._inner.handle_request(request)
        if fault.at is None and fault.phase in _BEFORE_SENDING:
            apply_fault(fault, request, self._clock)
        response = self._inner.handle_request(request)
        if fault.at is None:
            try:
                apply_fault(fault, request, self._clock)
            except BaseException:
                response.close()
                raise
            return response
        library = library_of(request)
        stream = build_stream(library, with_fault(response.stream, fault, request, self._clock), response.close)
        return build_response(library, response.status_code, response.headers, stream, response.extensions)

    async def handle_async_request(self, request: Any) -> Any:
        """Handle a request of an async client."""
        fault = self._next_fault()
        if fault is None:
            return await self._inner.handle_async_request(request)
        if fault.at is None and fault.phase in _BEFORE_SENDING:
            await apply_fault_async(fault, request, self._clock)
        response = await self._inner.handle_async_request(request)
        if fault.at is None:
            try:
                await apply_fault_async(fault, request, self._clock)
            except BaseException:
                await response.aclose()
                raise
            return response
        library = library_of(request)
        stream = build_async_stream(library, with_fault_async(response.stream, fault, request, self._clock), response.aclose)
        return build_response(library, response.status_code, response.headers, stream, response.extensions)

    def _next_fault(self) -> Fault | None:
        with self._lock:
            self.calls += 1
            return next((fault for fault in self._faults if _applies(fault, self.calls)), None)


def _applies(fault: Fault, call: int) -> bool:
    if fault.calls is None:
        return True
    return fault.calls == call if isinstance(fault.calls, int) else call in fault.calls


def apply_fault(fault: Fault, request: Any, clock: Clock | None = None) -> bool:
    """Wait or raise the error of a fault; return whether the body ends here."""
    effect = fault.effect(library_of(request), request)
    if effect.seconds:
        (clock or _SYSTEM_CLOCK).sleep(effect.seconds)
    if effect.error is not None:
        raise effect.error
    return effect.is_end


async def apply_fault_async(fault: Fault, request: Any, clock: Clock | None = None) -> bool:
    """Do the same without blocking the event loop of asyncio or trio."""
    effect = fault.effect(library_of(request), request)
    if effect.seconds:
        await (clock or _SYSTEM_CLOCK).sleep_async(effect.seconds)
    if effect.error is not None:
        raise effect.error
    return effect.is_end


def with_fault(chunks: Iterable[bytes], fault: Fault, request: Any, clock: Clock | None = None) -> Iterator[bytes]:
    """Yield the chunks of a body, and apply a fault at its byte offset."""
    split = _Split(fault)
    for chunk in chain((b"",), chunks):
        for piece in split.pieces(chunk):
            if piece is not None:
                yield piece
            elif apply_fault(fault, request, clock):
                return


async def with_fault_async(
    chunks: AsyncIterable[bytes], fault: Fault, request: Any, clock: Clock | None = None
) -> AsyncIterator[bytes]:
    """Yield the chunks of a body, and apply a fault at its byte offset."""
    split = _Split(fault)
    async for chunk in _from_start(chunks):
        for piece in split.pieces(chunk):
            if piece is not None:
                yield piece
            elif await apply_fault_async(fault, request, clock):
                return


async def _from_start(chunks: AsyncIterable[bytes]) -> AsyncIterator[bytes]:
    """Yield an empty chunk before the chunks: a fault may be before the first one."""
    yield b""
    async for chunk in chunks:
        yield chunk


class _Split:
    """The chunks of a body with a fault at a byte offset."""

    def __init__(self, fault: Fault) -> None:
        self._remaining: int | None = fault.at  # bytes before the fault; None: no fault follows

    def pieces(self, chunk: bytes) -> list[bytes | None]:
        """Return the pieces of the next chunk that are not empty; None between them is the place of the fault."""
        before, is_here, after = chunk, False, b""
        if self._remaining is not None and len(chunk) >= self._remaining:
            before, is_here, after = chunk[: self._remaining], True, chunk[self._remaining :]
            self._remaining = None
        elif self._remaining is not None:
            self._remaining -= len(chunk)
        return [piece for piece in (before, None if is_here else b"", after) if piece != b""]
