"""The flow of a call as a generator: it yields steps, is sent their results, and returns the outcome; and its two drivers.

A flow does no I/O and never waits, so that one flow serves both clients. A driver, sync or async, runs each step (send, read, sleep,
close) and sends its result to the flow. Failures of a step are thrown into the flow as errors of this library. There are two
drivers because a sync function cannot have ``await``; nothing else differs.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from dataclasses import dataclass, field, replace
from itertools import count
from typing import Any, Generic, Protocol, TypeVar, assert_never

from formatbridge import ir
from formatbridge.client import errors
from formatbridge.client.calls import Call, Head, follow_redirects
from formatbridge.client.decompression import Decompressor, UnreadableBodyError
from formatbridge.client.settings import Clock, Limits, Retry, Timeout
from formatbridge.errors import (
    APIConnectionError,
    APIError,
    APIStatusError,
    APITimeoutError,
    FormatBridgeError,
    StreamError,
    TimeoutKind,
    TruncatedStreamError,
    UnexpectedResponseError,
    append_to_message,
)
from formatbridge.formats.shared.errors import QUOTA_CODES


@dataclass(frozen=True, slots=True)
class Send:
    """Send the call and read the head of the answer. ``phases``: timeouts in seconds to connect, read, write and get a free connection.

    ``seconds``: the limit for the whole step, None: no limit; ``kind``: the name of that limit.
    """

    call: Call
    phases: tuple[float | None, float | None, float | None, float | None] = (None, None, None, None)
    seconds: float | None = None
    kind: TimeoutKind = "total"


@dataclass(frozen=True, slots=True)
class Read:
    """Read a chunk of the body; the result is None at its end."""

    seconds: float | None = None
    kind: TimeoutKind = "total"


@dataclass(frozen=True, slots=True)
class Sleep:
    """Sleep for ``seconds``."""

    seconds: float


@dataclass(frozen=True, slots=True)
class Close:
    """Close the answer. Its connection can be used again if the body was read to the end."""


Step = Send | Read | Sleep | Close


@dataclass(frozen=True, slots=True)
class Attempt:
    """The result of one attempt, for ``on_attempt``."""

    number: int
    """The number of the attempt, from 1."""
    method: str
    """The HTTP method."""
    url: str
    """The URL, without secrets."""
    format: ir.FormatName
    """The caller's format."""
    via: ir.FormatName
    """The format of the endpoint."""
    model: str
    """The model of the request."""
    stream: bool
    """Whether the request asks for a stream."""
    status: int | None
    """The HTTP status; None if no answer arrived."""
    request_id: str | None
    """The id of the answer; None if it has none."""
    seconds: float
    """The duration in seconds, up to the first event of a stream."""
    error: Exception | None
    """The failure, if any."""
    pause: float | None
    """Seconds until the next attempt; None if it was the last."""


@dataclass(frozen=True, slots=True)
class CallSettings:
    """The settings that hold for every call of a client."""

    timeout: Timeout
    retry: Retry
    limits: Limits
    clock: Clock
    request_id_headers: tuple[str, ...]
    report_attempt: Callable[[Attempt], None] = field(repr=False)


class CallDeadline:
    """The time limits of one call: total, and idle for streams."""

    def __init__(self, settings: CallSettings, *, is_stream: bool) -> None:
        self._timeout, self._clock = settings.timeout, settings.clock
        self._idle = settings.timeout.idle if is_stream else None
        self._total_ends = None if settings.timeout.total is None else self._clock.now() + settings.timeout.total
        self._idle_paused_at: float | None = None
        self.restart_idle()

    def restart_idle(self) -> None:
        """Start the idle time again, for the next event."""
        self._idle_ends = None if self._idle is None else self._clock.now() + self._idle

    def pause_idle(self) -> None:
        """Pause the idle time while the caller uses an event."""
        if self._idle_paused_at is None and self._idle is not None:
            self._idle_paused_at = self._clock.now()

    def resume_idle(self) -> None:
        """Resume the idle time: its end moves by the duration of the pause."""
        if self._idle_paused_at is not None and self._idle_ends is not None:
            self._idle_ends += self._clock.now() - self._idle_paused_at
        self._idle_paused_at = None

    def remaining(self) -> tuple[float | None, TimeoutKind]:
        """Return the remaining seconds, None for no limit, and the name of the nearest limit."""
        limits: tuple[tuple[float | None, TimeoutKind], ...] = ((self._total_ends, "total"), (self._idle_ends, "idle"))
        ends = [(end, kind) for end, kind in limits if end is not None]
        if not ends:
            return None, "total"
        end, kind = min(ends)
        return max(0.0, end - self._clock.now()), kind

    def at_most(self, max_seconds: float) -> float:
        """Return ``max_seconds``, or the seconds until the total limit if they are fewer."""
        return max_seconds if self._total_ends is None else min(max_seconds, self._total_ends - self._clock.now())

    def check(self) -> None:
        """Raise ``APITimeoutError`` if a limit has passed."""
        seconds, kind = self.remaining()
        if seconds is not None and seconds <= 0:
            raise timeout_error(kind, "body")

    def may_wait(self, pause: float) -> bool:
        """Return whether time remains after a pause."""
        return self._total_ends is None or self._clock.now() + pause < self._total_ends

    def send(self, call: Call) -> Send:
        """Return the step that sends a call, with its timeouts."""
        seconds, kind = self.remaining()
        timeout = self._timeout
        connect, read, write, pool = (
            _shorter(limit, seconds) for limit in (timeout.connect, timeout.read, timeout.write, timeout.pool)
        )
        return Send(call, (connect, read, write, pool), seconds, kind)

    def read(self) -> Read:
        """Return the step that reads the next chunk, with its timeout."""
        return Read(*self.remaining())


def _shorter(limit: float | None, seconds: float | None) -> float | None:
    if seconds is None:
        return limit
    minimum = 0.001  # 0 means "do not wait" in the libraries
    return max(minimum, seconds if limit is None else min(limit, seconds))


def timeout_error(kind: TimeoutKind, phase: Any) -> APITimeoutError:
    """Return the error for a limit that passed."""
    waited = {
        "connect": "no connection within the connect or pool timeout",
        "write": "the request was not sent within the write timeout",
        "read": "no byte within the read timeout",
        "idle": "no event within the idle timeout",
        "total": "no end of the call within the total timeout",
    }
    return APITimeoutError(waited[kind], kind=kind, phase=phase)


T = TypeVar("T")
Flow = Generator[Step, Any, T]


@dataclass(frozen=True, slots=True)
class Outcome(Generic[T]):
    """The result of a call: what was received, the head of the answer, and the number of attempts."""

    received: T
    head: Head
    attempts: int


def attempts(call: Call, settings: CallSettings, deadline: CallDeadline, receive: Callable[[Head], Flow[T]]) -> Flow[Outcome[T]]:
    """Send a call until an answer is received or a retry would not help; ``receive`` reads the answer after its head.

    The answer stays open; the caller closes it. Raises the error of the last attempt.
    """
    started = settings.clock.now()
    for number in count(1):
        attempt_started = settings.clock.now()
        deadline.restart_idle()
        head: Head | None = None
        try:
            head = yield from _send(call, settings, deadline)
            if head.status >= 400:
                raise (yield from _read_error(head, call, settings, deadline))
            received = yield from receive(head)
        except (APIError, StreamError) as error:
            failure = _with_short_body(call.mask.error(error), settings.limits.max_error_body)
        else:
            settings.report_attempt(_attempt(call, number, head, settings.clock.now() - attempt_started, None, None))
            return Outcome(received, head, number)
        yield Close()
        pause = _pause(failure, head, number, settings, settings.clock.now() - started)
        if pause is not None and not deadline.may_wait(pause):
            pause = None
        settings.report_attempt(_attempt(call, number, head, settings.clock.now() - attempt_started, failure, pause))
        if pause is None:
            raise failure
        yield Sleep(pause)
    raise AssertionError("count() is infinite")


def _with_short_body(error: APIError | StreamError, max_bytes: int) -> APIError | StreamError:
    """Truncate the body of an error to the limit of the settings."""
    if isinstance(error, APIStatusError):
        error.body = error.body[:max_bytes]
    return error


def _send(call: Call, settings: CallSettings, deadline: CallDeadline) -> Flow[Head]:
    """Send a call and follow its redirects."""
    head = yield from follow_redirects(call, settings.limits, settings.request_id_headers, deadline.send)
    return replace(head, received_at=settings.clock.time())


def _read_error(head: Head, call: Call, settings: CallSettings, deadline: CallDeadline) -> Flow[APIStatusError]:
    """Read the body of an error answer. If the connection breaks, the error still has its status."""
    limit = max(settings.limits.max_error_body, errors.MAX_READ_BYTES) if settings.limits.max_error_body else 0
    content, read_error = bytearray(), ""
    try:
        decompressor = Decompressor(head.headers.get("content-encoding", ""), settings.limits.max_response_bytes)
        while len(content) < limit:
            chunk = yield deadline.read()
            if chunk is None:
                break
            content += decompressor.feed(chunk)
            deadline.check()
    except APIConnectionError as broken:
        read_error = str(broken) if not content else ""
    except UnreadableBodyError:
        pass
    max_kept = settings.limits.max_error_body
    error = errors.status_error(
        head.status,
        bytes(content[:limit]),
        head.headers,
        id=head.request_id,
        mask=call.mask,
        now=head.received_at,
        max_bytes=max_kept,
        failure=read_error,
    )
    if head.status == 404 and "/v1/v1" in call.url:
        append_to_message(error, "; the URL has /v1 twice, expected a base_url without it")
    return error


def truncated_body() -> APIConnectionError:
    """Return the error for a compressed body that ends too early."""
    return APIConnectionError("the body ended before its compression did", phase="body")


def read_body(
    head: Head,
    settings: CallSettings,
    deadline: CallDeadline,
    call: Call,
    decompressor: Decompressor | None = None,
    start: bytes = b"",
) -> Flow[bytes]:
    """Read a whole body; raise ``UnexpectedResponseError`` beyond the limits. ``start``: bytes already decompressed."""
    pieces = [start]
    try:
        decompressor = decompressor or Decompressor(head.headers.get("content-encoding", ""), settings.limits.max_response_bytes)
        while True:
            chunk = yield deadline.read()
            if chunk is None:
                if decompressor.is_truncated:
                    raise truncated_body()
                return b"".join(pieces)
            pieces.append(decompressor.feed(chunk))
            deadline.check()
    except UnreadableBodyError as error:
        reason = error.reason
    raise errors.unexpected_body(reason, status=head.status, body=b"", id=head.request_id, mask=call.mask)


_MAX_REMAINING_BYTES = 64 * 1024


def read_remaining(clock: Clock, seconds: float) -> Flow[None]:
    """Read the bytes after the last event, up to a limit of size and time, so that the connection can be used again."""
    size, ends = 0, clock.now() + seconds
    while size < _MAX_REMAINING_BYTES and (remaining := ends - clock.now()) > 0:
        try:
            chunk = yield Read(remaining, "idle")
        except (APIError, StreamError):
            return
        if chunk is None:
            return
        size += len(chunk)


_NEVER_RETRIED = QUOTA_CODES | {"model_not_found", "access_denied"}


def _pause(failure: Exception, head: Head | None, number: int, settings: CallSettings, elapsed: float) -> float | None:
    """Return the seconds until the next attempt; None for no retry."""
    retry = settings.retry
    if number > retry.max or not _may_retry(failure, head, retry):
        return None
    pause = retry.pause(number, settings.clock.jitter())
    requested = failure.retry_after if isinstance(failure, APIStatusError) else None
    if requested is not None:
        if requested > retry.max_retry_after:
            return None
        pause = requested
    return pause if elapsed + pause <= retry.budget else None


def _may_retry(failure: Exception, head: Head | None, retry: Retry) -> bool:
    if isinstance(failure, APIStatusError):
        return "status" in retry.on and _may_retry_status(failure, head, retry)
    if isinstance(failure, APITimeoutError):
        return failure.kind != "total" and ("connection" if failure.kind == "connect" else "timeout") in retry.on
    if isinstance(failure, APIConnectionError):
        return failure.can_retry and "connection" in retry.on
    return isinstance(failure, TruncatedStreamError) and "connection" in retry.on


def _may_retry_status(failure: APIStatusError, head: Head | None, retry: Retry) -> bool:
    """Return whether to retry an error answer. The header ``x-should-retry`` decides first, then the error code, then the status."""
    header = head.headers.get("x-should-retry") if head else None
    if header in ("true", "false"):
        return header == "true"
    for word in (failure.code, failure.type):
        if isinstance(word, str) and (word in _NEVER_RETRIED or (word.startswith("invalid_") and word == failure.code)):
            return False
    if isinstance(failure, UnexpectedResponseError):
        return errors.is_transient(failure)
    return failure.status in retry.statuses


def _attempt(call: Call, number: int, head: Head | None, seconds: float, error: Exception | None, pause: float | None) -> Attempt:
    status = head.status if head else getattr(error, "status", None)
    id = (head.request_id if head else None) or getattr(error, "request_id", None)
    source, target = call.source_format.name, call.target_format.name
    return Attempt(number, call.method, call.url, source, target, call.model, call.stream, status, id, seconds, error, pause)


class SyncExchange(Protocol):
    """One HTTP exchange at a time. A step that fails may raise ``APIError``, which the flow handles."""

    def send(self, step: Send, /) -> Head:
        """Close the last answer, send a call, and return the head of its answer."""

    def read(self, step: Read, /) -> bytes | None:
        """Return the next chunk of the body; None at its end."""

    def close(self) -> None:
        """Close the answer."""


class AsyncExchange(Protocol):
    """The same for an async driver."""

    async def send(self, step: Send, /) -> Head:
        """Close the last answer, send a call, and return the head of its answer."""

    async def read(self, step: Read, /) -> bytes | None:
        """Return the next chunk of the body; None at its end."""

    async def close(self) -> None:
        """Close the answer."""


def drive(flow: Flow[T], http: SyncExchange, clock: Clock) -> T:
    """Run the steps of a flow until it returns; close the HTTP exchange if it raises."""
    result: object = None
    failure: APIError | None = None
    try:
        while True:
            step = flow.send(result) if failure is None else flow.throw(failure)
            result = failure = None
            try:
                result = _run_step(step, http, clock)
            except APIError as error:
                failure = error
    except StopIteration as end:
        returned: T = end.value
        return returned
    except FormatBridgeError as error:
        failed = error
    except BaseException:
        flow.close()  # the exception of a step does not reach the flow otherwise
        http.close()
        raise
    http.close()
    result = None  # tracebacks show this frame, and must not show data from the relay
    raise failed.with_traceback(None)


def _run_step(step: Step, http: SyncExchange, clock: Clock) -> object:
    match step:
        case Read():
            return http.read(step)
        case Send():
            return http.send(step)
        case Sleep():
            clock.sleep(step.seconds)
        case Close():
            http.close()
        case _:
            assert_never(step)
    return None


async def drive_async(flow: Flow[T], http: AsyncExchange, clock: Clock) -> T:
    """The same for async clients."""
    result: object = None
    failure: APIError | None = None
    try:
        while True:
            step = flow.send(result) if failure is None else flow.throw(failure)
            result = failure = None
            try:
                result = await _run_step_async(step, http, clock)
            except APIError as error:
                failure = error
    except StopIteration as end:
        returned: T = end.value
        return returned
    except FormatBridgeError as error:
        failed = error
    except BaseException:
        flow.close()  # the exception of a step does not reach the flow otherwise
        await http.close()
        raise
    await http.close()
    result = None  # tracebacks show this frame, and must not show data from the relay
    raise failed.with_traceback(None)


async def _run_step_async(step: Step, http: AsyncExchange, clock: Clock) -> object:
    match step:
        case Read():
            return await http.read(step)
        case Send():
            return await http.send(step)
        case Sleep():
            await clock.sleep_async(step.seconds)
        case Close():
            await http.close()
        case _:
            assert_never(step)
    return None
