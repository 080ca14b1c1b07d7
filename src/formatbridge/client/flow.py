"""How a call goes, as a generator: it says what it wants done, is told what happened, and returns the outcome.

It does no I/O and never waits, so that one flow serves both clients: a driver sends, reads, waits and closes as the steps say, hands back
what came of it, and throws in what failed, as an error of this library.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from dataclasses import dataclass, replace
from itertools import count
from typing import Any, Generic, TypeVar

from formatbridge.client import errors
from formatbridge.client.calls import Call, Head, followed
from formatbridge.client.clock import Clock
from formatbridge.client.decompression import BodyTooLargeError, Opener
from formatbridge.client.flow_steps import Attempt, Close, Patience, Read, Rules, Sleep, Step
from formatbridge.client.settings import Retry
from formatbridge.errors import (
    APIConnectionError,
    APIError,
    APIStatusError,
    APITimeoutError,
    StreamError,
    TruncatedStreamError,
    UnexpectedResponseError,
    tell_more,
)
from formatbridge.formats.shared.errors import QUOTA_CODES

T = TypeVar("T")
Flow = Generator[Step, Any, T]


@dataclass(frozen=True, slots=True)
class Outcome(Generic[T]):
    """What a call came to: what was received, the head of the answer, and how many attempts it took."""

    received: T
    head: Head
    attempts: int


def attempts(call: Call, rules: Rules, patience: Patience, receive: Callable[[Head], Flow[T]]) -> Flow[Outcome[T]]:
    """Send a call until an answer is received or another attempt would not help; ``receive`` takes it from the head on.

    The answer stays open: whoever wants no more of it closes it. Raises what the last attempt raised.
    """
    started = rules.clock.now()
    for number in count(1):
        begun = rules.clock.now()
        patience.renew()
        head: Head | None = None
        failure: APIError | StreamError | None = None
        try:
            head = yield from _send(call, rules, patience)
            if head.status >= 400:
                raise (yield from _refusal(head, call, rules, patience))
            received = yield from receive(head)
        except (APIError, StreamError) as error:
            failure = _kept(call.mask.error(error), rules.limits.max_error_body)
        pause = None
        if failure is not None:
            yield Close()
            pause = _pause(failure, head, number, rules, rules.clock.now() - started)
            pause = pause if pause is None or patience.may_wait(pause) else None
        rules.observe(_attempt(call, number, head, rules, rules.clock.now() - begun, failure, pause))
        if failure is None and head is not None:
            return Outcome(received, head, number)
        if pause is None:
            assert failure is not None
            raise failure
        yield Sleep(pause)
    raise AssertionError("counting never ends")


def _kept(error: APIError | StreamError, most: int) -> APIError | StreamError:
    """Let go of what of an error's body the caller does not want to keep."""
    if isinstance(error, APIStatusError):
        error.body = error.body[:most]
    return error


def _send(call: Call, rules: Rules, patience: Patience) -> Flow[Head]:
    """Send a call and follow its redirects; a line lets go of one answer before it sends for another."""
    head = yield from followed(call, rules.limits, patience.send)
    return replace(head, came=rules.clock.time())


def _refusal(head: Head, call: Call, rules: Rules, patience: Patience) -> Flow[APIStatusError]:
    """Read the error that the status announces, as far as it is kept; one that breaks off is still an error with a status."""
    limit = max(rules.limits.max_error_body, errors.MOST_READ) if rules.limits.max_error_body else 0
    held, unread = bytearray(), ""
    try:
        opener = Opener(head.headers.get("content-encoding", ""), rules.limits.max_response_bytes)
        while len(held) < limit:
            chunk = yield patience.read()
            if chunk is None:
                break
            held += opener.feed(chunk)
            patience.check()
    except APIConnectionError as broken:
        unread = str(broken) if not held else ""
    except BodyTooLargeError:
        pass
    id = errors.request_id(head.headers, rules.request_id_headers)
    kept = rules.limits.max_error_body
    error = errors.status_error(
        head.status, bytes(held[:limit]), head.headers, id=id, mask=call.mask, now=head.came, most=kept, unread=unread
    )
    if head.status == 404 and "/v1/v1" in call.url:
        tell_more(error, "; the URL has /v1 twice, expected a base_url without it")
    return error


def cut_short() -> APIConnectionError:
    """Return the error for packed bytes that end before their packing does."""
    return APIConnectionError("the body ended before its compression did", phase="body")


def read_body(
    head: Head, rules: Rules, patience: Patience, call: Call, opener: Opener | None = None, begun: bytes = b""
) -> Flow[bytes]:
    """Read a whole body, of which ``begun`` has come through ``opener``; raise ``UnexpectedResponseError`` beyond the limits."""
    pieces = [begun]
    try:
        opener = opener or Opener(head.headers.get("content-encoding", ""), rules.limits.max_response_bytes)
        while True:
            chunk = yield patience.read()
            if chunk is None:
                if opener.is_cut:
                    raise cut_short()
                return b"".join(pieces)
            pieces.append(opener.feed(chunk))
            patience.check()
    except BodyTooLargeError as error:
        reason = error.reason
    id = errors.request_id(head.headers, rules.request_id_headers)
    raise errors.unexpected(reason, status=head.status, body=b"", id=id, mask=call.mask)


_MOST_DRAINED = 64 * 1024


def drain(clock: Clock, seconds: float) -> Flow[None]:
    """Read what is left behind the last event, so that the connection can be used again; not much, and not longer than that in all."""
    taken, ends = 0, clock.now() + seconds
    while taken < _MOST_DRAINED and (left := ends - clock.now()) > 0:
        try:
            chunk = yield Read(left, "idle")
        except (APIError, StreamError):
            return
        if chunk is None:
            return
        taken += len(chunk)


_NEVER = QUOTA_CODES | {"model_not_found", "access_denied"}


def _pause(failure: Exception, head: Head | None, number: int, rules: Rules, elapsed: float) -> float | None:
    """Return the seconds until another attempt; None where there is to be none."""
    retry = rules.retry
    if number > retry.max or not _may_retry(failure, head, retry):
        return None
    pause = retry.pause(number, rules.clock.jitter())
    asked = failure.retry_after if isinstance(failure, APIStatusError) else None
    if asked is not None:
        if asked > retry.max_retry_after:
            return None
        pause = asked
    return pause if elapsed + pause <= retry.budget else None


def _may_retry(failure: Exception, head: Head | None, retry: Retry) -> bool:
    if isinstance(failure, APIStatusError):
        return "status" in retry.on and _status_may_pass(failure, head, retry)
    if isinstance(failure, APITimeoutError):
        return failure.kind != "total" and ("connection" if failure.kind == "connect" else "timeout") in retry.on
    if isinstance(failure, APIConnectionError):
        return failure.can_retry and "connection" in retry.on
    return isinstance(failure, TruncatedStreamError) and "connection" in retry.on


def _status_may_pass(failure: APIStatusError, head: Head | None, retry: Retry) -> bool:
    """Judge an error answer: the relay's own word first, then its code, then its status."""
    told = head.headers.get("x-should-retry") if head else None
    if told in ("true", "false"):
        return told == "true"
    for word in (failure.code, failure.type):
        if isinstance(word, str) and (word in _NEVER or (word.startswith("invalid_") and word == failure.code)):
            return False
    if isinstance(failure, UnexpectedResponseError):
        return errors.may_pass(failure)
    return failure.status in retry.statuses


def _attempt(
    call: Call, number: int, head: Head | None, rules: Rules, seconds: float, error: Exception | None, pause: float | None
) -> Attempt:
    status = head.status if head else getattr(error, "status", None)
    id = (errors.request_id(head.headers, rules.request_id_headers) if head else None) or getattr(error, "request_id", None)
    return Attempt(
        number,
        call.method,
        call.url,
        call.source_format.name,
        call.target_format.name,
        call.model,
        call.stream,
        status,
        id,
        seconds,
        error,
        pause,
    )
