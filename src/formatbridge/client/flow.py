"""What a flow may ask for, the rules it goes by, and how long all of it may take."""

from __future__ import annotations

from collections.abc import Callable, Generator
from dataclasses import dataclass, field, replace
from itertools import count
from typing import Any, Generic, TypeVar

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
    StreamError,
    TimeoutKind,
    TruncatedStreamError,
    UnexpectedResponseError,
    append_to_message,
)
from formatbridge.formats.shared.errors import QUOTA_CODES


@dataclass(frozen=True, slots=True)
class Send:
    """Send the call and read the head of the answer. ``phases``: seconds to connect, read, write and get a free connection.

    ``seconds``: until all that must be done, None: no limit; ``kind`` names that limit.
    """

    call: Call
    phases: tuple[float | None, float | None, float | None, float | None]
    seconds: float | None
    kind: TimeoutKind


@dataclass(frozen=True, slots=True)
class Read:
    """Read some bytes of the body; None at its end."""

    seconds: float | None
    kind: TimeoutKind


@dataclass(frozen=True, slots=True)
class Sleep:
    """Wait."""

    seconds: float


@dataclass(frozen=True, slots=True)
class Close:
    """Give the answer up, or back."""


Step = Send | Read | Sleep | Close


@dataclass(frozen=True, slots=True)
class Attempt:
    """What one attempt came to, for ``on_attempt``.

    ``number`` from 1. ``status``: None where no answer came. ``seconds``: how long it took, up to the first event of a stream.
    ``error``: what failed. ``pause``: seconds until the next attempt; None: it was the last.
    """

    number: int
    method: str
    url: str
    format: ir.Format
    via: ir.Format
    model: str
    stream: bool
    status: int | None
    request_id: str | None
    seconds: float
    error: Exception | None
    pause: float | None


@dataclass(frozen=True, slots=True)
class CallSettings:
    """What every call of a client goes by."""

    timeout: Timeout
    retry: Retry
    limits: Limits
    clock: Clock
    request_id_headers: tuple[str, ...]
    report_attempt: Callable[[Attempt], None] = field(repr=False)


class CallDeadline:
    """How long one call may still take."""

    def __init__(self, settings: CallSettings, *, is_stream: bool) -> None:
        self._timeout, self._clock = settings.timeout, settings.clock
        self._idle = settings.timeout.idle if is_stream else None
        self._total_ends = None if settings.timeout.total is None else self._clock.now() + settings.timeout.total
        self._idle_paused_at: float | None = None
        self.restart_idle()

    def restart_idle(self) -> None:
        """Begin to wait for the next event."""
        self._idle_ends = None if self._idle is None else self._clock.now() + self._idle

    def pause_idle(self) -> None:
        """Let the idle time stand still: an event is being used, and nobody waits for another."""
        if self._idle_paused_at is None and self._idle is not None:
            self._idle_paused_at = self._clock.now()

    def resume_idle(self) -> None:
        """Wait on where the waiting stopped."""
        if self._idle_paused_at is not None and self._idle_ends is not None:
            self._idle_ends += self._clock.now() - self._idle_paused_at
        self._idle_paused_at = None

    def remaining(self) -> tuple[float | None, TimeoutKind]:
        """Return the seconds left, None for no limit, and the name of the limit that is nearest."""
        limits: tuple[tuple[float | None, TimeoutKind], ...] = ((self._total_ends, "total"), (self._idle_ends, "idle"))
        ends = [(end, kind) for end, kind in limits if end is not None]
        if not ends:
            return None, "total"
        end, kind = min(ends)
        return max(0.0, end - self._clock.now()), kind

    def at_most(self, max_seconds: float) -> float:
        """Return so many seconds, or those until the total where they are fewer."""
        return max_seconds if self._total_ends is None else min(max_seconds, self._total_ends - self._clock.now())

    def check(self) -> None:
        """Raise ``APITimeoutError`` where a limit has passed."""
        seconds, kind = self.remaining()
        if seconds is not None and seconds <= 0:
            raise timeout_error(kind, "body")

    def may_wait(self, pause: float) -> bool:
        """Say whether there would be time left after a pause."""
        return self._total_ends is None or self._clock.now() + pause < self._total_ends

    def send(self, call: Call) -> Send:
        """Say how long sending may take."""
        seconds, kind = self.remaining()
        timeout = self._timeout
        connect, read, write, pool = (
            _shorter(limit, seconds) for limit in (timeout.connect, timeout.read, timeout.write, timeout.pool)
        )
        return Send(call, (connect, read, write, pool), seconds, kind)

    def read(self) -> Read:
        """Say how long the next bytes may take."""
        return Read(*self.remaining())


def _shorter(limit: float | None, seconds: float | None) -> float | None:
    if seconds is None:
        return limit
    shortest = 0.001  # a library takes 0 for "do not wait at all"
    return max(shortest, seconds if limit is None else min(limit, seconds))


def timeout_error(kind: TimeoutKind, phase: Any) -> APITimeoutError:
    """Return the error for a limit that passed."""
    waited = {
        "connect": "no connection within the connect or pool timeout",
        "write": "the request was not taken within the write timeout",
        "read": "no byte within the read timeout",
        "idle": "no event within the idle timeout",
        "total": "no end of the call within the total timeout",
    }
    return APITimeoutError(waited[kind], kind=kind, phase=phase)


T = TypeVar("T")
Flow = Generator[Step, Any, T]


@dataclass(frozen=True, slots=True)
class Outcome(Generic[T]):
    """What a call came to: what was received, the head of the answer, and how many attempts it took."""

    received: T
    head: Head
    attempts: int


def attempts(call: Call, settings: CallSettings, deadline: CallDeadline, receive: Callable[[Head], Flow[T]]) -> Flow[Outcome[T]]:
    """Send a call until an answer is received or another attempt would not help; ``receive`` takes it from the head on.

    The answer stays open: whoever wants no more of it closes it. Raises what the last attempt raised.
    """
    started = settings.clock.now()
    for number in count(1):
        attempt_started = settings.clock.now()
        deadline.restart_idle()
        head: Head | None = None
        failure: APIError | StreamError | None = None
        try:
            head = yield from _send(call, settings, deadline)
            if head.status >= 400:
                raise (yield from _read_error(head, call, settings, deadline))
            received = yield from receive(head)
        except (APIError, StreamError) as error:
            failure = _with_short_body(call.mask.error(error), settings.limits.max_error_body)
        pause = None
        if failure is not None:
            yield Close()
            pause = _pause(failure, head, number, settings, settings.clock.now() - started)
            pause = pause if pause is None or deadline.may_wait(pause) else None
        settings.report_attempt(_attempt(call, number, head, settings, settings.clock.now() - attempt_started, failure, pause))
        if failure is None and head is not None:
            return Outcome(received, head, number)
        if pause is None:
            assert failure is not None
            raise failure
        yield Sleep(pause)
    raise AssertionError("counting never ends")


def _with_short_body(error: APIError | StreamError, max_bytes: int) -> APIError | StreamError:
    """Let go of what of an error's body the caller does not want to keep."""
    if isinstance(error, APIStatusError):
        error.body = error.body[:max_bytes]
    return error


def _send(call: Call, settings: CallSettings, deadline: CallDeadline) -> Flow[Head]:
    """Send a call and follow its redirects; a line lets go of one answer before it sends for another."""
    head = yield from follow_redirects(call, settings.limits, deadline.send)
    return replace(head, received_at=settings.clock.time())


def _read_error(head: Head, call: Call, settings: CallSettings, deadline: CallDeadline) -> Flow[APIStatusError]:
    """Read the error that the status announces, as far as it is kept; one that breaks off is still an error with a status."""
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
    id = errors.request_id(head.headers, settings.request_id_headers)
    max_kept = settings.limits.max_error_body
    error = errors.status_error(
        head.status,
        bytes(content[:limit]),
        head.headers,
        id=id,
        mask=call.mask,
        now=head.received_at,
        max_bytes=max_kept,
        read_error=read_error,
    )
    if head.status == 404 and "/v1/v1" in call.url:
        append_to_message(error, "; the URL has /v1 twice, expected a base_url without it")
    return error


def truncated_body() -> APIConnectionError:
    """Return the error for packed bytes that end before their packing does."""
    return APIConnectionError("the body ended before its compression did", phase="body")


def read_body(
    head: Head,
    settings: CallSettings,
    deadline: CallDeadline,
    call: Call,
    decompressor: Decompressor | None = None,
    start: bytes = b"",
) -> Flow[bytes]:
    """Read a whole body, of which ``begun`` has come through ``opener``; raise ``UnexpectedResponseError`` beyond the limits."""
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
    id = errors.request_id(head.headers, settings.request_id_headers)
    raise errors.unexpected_body(reason, status=head.status, body=b"", id=id, mask=call.mask)


_MAX_REMAINING_BYTES = 64 * 1024


def read_remaining(clock: Clock, seconds: float) -> Flow[None]:
    """Read what is left behind the last event, so that the connection can be used again; not much, and not longer than that in all."""
    count, ends = 0, clock.now() + seconds
    while count < _MAX_REMAINING_BYTES and (remaining := ends - clock.now()) > 0:
        try:
            chunk = yield Read(remaining, "idle")
        except (APIError, StreamError):
            return
        if chunk is None:
            return
        count += len(chunk)


_NEVER_RETRIED = QUOTA_CODES | {"model_not_found", "access_denied"}


def _pause(failure: Exception, head: Head | None, number: int, settings: CallSettings, elapsed: float) -> float | None:
    """Return the seconds until another attempt; None where there is to be none."""
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
    """Judge an error answer: the relay's own word first, then its code, then its status."""
    header = head.headers.get("x-should-retry") if head else None
    if header in ("true", "false"):
        return header == "true"
    for word in (failure.code, failure.type):
        if isinstance(word, str) and (word in _NEVER_RETRIED or (word.startswith("invalid_") and word == failure.code)):
            return False
    if isinstance(failure, UnexpectedResponseError):
        return errors.is_transient(failure)
    return failure.status in retry.statuses


def _attempt(
    call: Call, number: int, head: Head | None, settings: CallSettings, seconds: float, error: Exception | None, pause: float | None
) -> Attempt:
    status = head.status if head else getattr(error, "status", None)
    id = (errors.request_id(head.headers, settings.request_id_headers) if head else None) or getattr(error, "request_id", None)
    return Attempt(number, call.method, call.url, call.format, call.via, call.model, call.stream, status, id, seconds, error, pause)
