"""Settings of a caller: timeouts, retries, limits and the clock."""

from __future__ import annotations

import math
import os
import random
import time
from collections.abc import Callable, Iterable, Set
from dataclasses import dataclass, fields, replace
from typing import Literal, TypeVar

from formatbridge.arguments import type_name
from formatbridge.client.profile import RelayProfile, checked_url
from formatbridge.client.secrets import checked_key
from formatbridge.convert.masking import Secret
from formatbridge.errors import ConfigurationError
from formatbridge.options import DEFAULT_OPTIONS, Options, options_of, without_raise_on
from formatbridge.telemetry.spans import Recorder, Tracer

RetryCause = Literal["connection", "timeout", "status"]
"""Kinds of failures that a retry may fix."""
RETRIED_STATUSES = frozenset({408, 409, 425, 429, 500, 502, 503, 504, 524, 529})
CAUSES: frozenset[RetryCause] = frozenset({"connection", "timeout", "status"})


@dataclass(frozen=True, slots=True)
class Timeout:
    """Time limits in seconds; None: no limit."""

    connect: float | None = 5
    """To open a connection."""
    write: float | None = 60
    """To send a chunk of the request."""
    read: float | None = 120
    """Between two chunks of the answer."""
    pool: float | None = 10
    """To get a free connection."""
    idle: float | None = 300
    """Until the next event of a stream, and from sending to the first.

    Pings do not count as events. Time that the caller needs for an event is not counted.
    """
    total: float | None = 900
    """For the whole call with its retries.

    A client without a ``timeout`` argument has no total limit for streams; the values of a ``Timeout`` hold for streams too.
    """

    def __post_init__(self) -> None:
        for field in fields(self):
            value = getattr(self, field.name)
            if value is not None and not _is_seconds(value, is_positive=True):
                raise ConfigurationError(f"timeout {field.name} is {value!r}, expected seconds above 0 or None")


@dataclass(frozen=True, slots=True)
class Retry:
    """When to send a call again. Only failures before the first event of an answer are retried."""

    max: int = 2
    """Retries after the first attempt."""
    base: float = 0.5
    """The pause before attempt n+1 is random, from 0 to ``base * 2 ** (n - 1)`` seconds, at most ``cap``."""
    cap: float = 8
    """The pause before attempt n+1 is random, from 0 to ``base * 2 ** (n - 1)`` seconds, at most ``cap``."""
    max_retry_after: float = 60
    """The longest pause in seconds that the relay may ask for; a longer one raises the error at once."""
    budget: float = 120
    """No retry starts later than this many seconds after the call began.

    A read or idle timeout of ``Timeout()`` is as long, so no retry follows it.
    """
    statuses: Set[int] = RETRIED_STATUSES
    """HTTP statuses to retry."""
    on: Set[RetryCause] = CAUSES
    """Kinds of failures to retry: ``connection``, ``timeout`` and ``status``. A timeout after the request was sent may be billed twice."""

    def __post_init__(self) -> None:
        if not isinstance(self.max, int) or isinstance(self.max, bool) or self.max < 0:
            raise ConfigurationError(f"retry max is {self.max!r}, expected an integer of 0 or more")
        for name in ("base", "cap", "max_retry_after", "budget"):
            if not _is_seconds(getattr(self, name)):
                raise ConfigurationError(f"retry {name} is {getattr(self, name)!r}, expected seconds of 0 or more")
        for name in ("statuses", "on"):
            value = getattr(self, name)
            if isinstance(value, str | bytes) or not isinstance(value, Iterable):
                raise ConfigurationError(f"retry {name} is {value!r}, expected a set")
            object.__setattr__(self, name, frozenset(value))
        if not all(isinstance(status, int) and not isinstance(status, bool) for status in self.statuses):
            raise ConfigurationError(f"retry statuses is {set(self.statuses)!r}, expected HTTP statuses as integers")
        if not self.on <= CAUSES:
            raise ConfigurationError(f"retry on is {sorted(map(str, self.on))!r}, expected a subset of {', '.join(sorted(CAUSES))}")

    def pause(self, number: int, jitter: float) -> float:
        """Return the seconds to wait after attempt ``number``, from 1; ``jitter`` is a random number from 0 to 1."""
        return jitter * min(self.cap, self.base * 2.0 ** min(number - 1, 64))


@dataclass(frozen=True, slots=True)
class Limits:
    """Maximum sizes in bytes, and the maximum number of redirects.

    ``max_response_bytes``, ``max_error_body``, ``max_header_bytes``: of what the relay sends.
    ``max_request_bytes``: of the body of a request to a gateway, compressed or not.
    """

    max_response_bytes: int = 256 * 1024 * 1024
    """The decompressed body of an answer, or of a whole stream."""
    max_error_body: int = 64 * 1024
    """The part of an error body that is read."""
    max_header_bytes: int = 64 * 1024
    """All headers of an answer."""
    max_redirects: int = 2
    """The number of redirects of one attempt."""
    max_request_bytes: int = 64 * 1024 * 1024
    """The body of a request to a gateway, compressed or not, in bytes."""

    def __post_init__(self) -> None:
        for field in fields(self):
            value = getattr(self, field.name)
            if not isinstance(value, int) or isinstance(value, bool) or value < 0:
                raise ConfigurationError(f"limit {field.name} is {value!r}, expected an integer of 0 or more")


NO_TIMEOUT = Timeout(None, None, None, None, None, None)


T = TypeVar("T")
C = TypeVar("C")
Key = str | Callable[[], str]


def base_url_of(argument: str | None, profile: RelayProfile) -> str:
    """Return the base URL: the argument, else the environment variable, else the profile's."""
    url = argument if argument is not None else os.environ.get("FORMATBRIDGE_BASE_URL") or profile.base_url
    if url is None:
        raise ConfigurationError("base_url is missing, expected an argument, FORMATBRIDGE_BASE_URL or a profile that has one")
    return checked_url(url)


def key_of(value: Key | Secret | None) -> Secret | Callable[[], str] | None:
    """Return the key, or the callable that returns it before each call: the argument, else the environment variable. None: no key."""
    if callable(value):
        return value
    return checked_key(value if value is not None else os.environ.get("FORMATBRIDGE_API_KEY", ""))


def current_key(value: Secret | Callable[[], str] | None) -> Secret | None:
    """Return the key for this call."""
    return checked_key(value()) if callable(value) else value


def options_for(value: Options | None, profile: RelayProfile) -> Options:
    """Return the options of calls. The API version of messages is the profile's, unless the options have another one."""
    options = Options(raise_on="impossible") if value is None else options_of(value)
    if options.messages_version != DEFAULT_OPTIONS.messages_version:
        return options
    return replace(options, messages_version=profile.messages_version)


def options_for_answer(options: Options, now: float) -> Options:
    """Return options for an answer. It never raises ``LossyConversionError``, because the answer has been paid for.

    ``now``: the current time in seconds since the epoch, for an answer without a creation time.
    """
    return replace(without_raise_on(options), created=int(now)) if options.created is None else without_raise_on(options)


def checked(name: str, value: T | None, kind: type[T]) -> T | None:
    """Return a setting; raise ``ConfigurationError`` on a wrong type."""
    if value is not None and not isinstance(value, kind):
        raise ConfigurationError(f"{name} is {type_name(value)}, expected formatbridge.{kind.__name__}")
    return value


def checked_callable(name: str, value: C) -> C:
    """Return a callable setting or None; raise ``ConfigurationError`` on anything else."""
    if value is not None and not callable(value):
        raise ConfigurationError(f"{name} is {type_name(value)}, expected a callable")
    return value


def recorder_of(tracer: Tracer | None, clock: Clock, *, content: bool) -> Recorder | None:
    """Return what records spans; None without a tracer."""
    if not isinstance(content, bool):
        raise ConfigurationError(f"trace_content is {type_name(content)}, expected True or False")
    return None if tracer is None else Recorder(tracer, clock.now, content=content)


def timeout_of(value: object) -> Timeout:
    """Return the argument ``timeout`` as a ``Timeout``; it may be one, the total seconds, or None."""
    if value is None:
        return NO_TIMEOUT
    if isinstance(value, Timeout):
        return value
    if isinstance(value, int | float) and not isinstance(value, bool):
        return Timeout(total=value)
    raise ConfigurationError(f"timeout is {type_name(value)}, expected formatbridge.Timeout, seconds or None")


def retry_of(value: object) -> Retry:
    """Return the argument ``retry`` as a ``Retry``; it may be one, or the number of retries."""
    if isinstance(value, Retry):
        return value
    if isinstance(value, int) and not isinstance(value, bool):
        return Retry(max=value)
    raise ConfigurationError(f"retry is {type_name(value)}, expected formatbridge.Retry or a number of retries")


def _is_seconds(value: object, *, is_positive: bool = False) -> bool:
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        return False
    return value > 0 if is_positive else value >= 0


class Clock:
    """The clock and random numbers of a client, which tests can replace. Deadlines of real sockets always use the system clock."""

    def now(self) -> float:
        """Return seconds of a monotonic clock."""
        return time.monotonic()

    def time(self) -> float:
        """Return seconds since the epoch."""
        return time.time()

    def jitter(self) -> float:
        """Return a random number from 0 to 1, uniformly distributed."""
        return random.random()

    def sleep(self, seconds: float) -> None:
        """Sleep for some seconds."""
        time.sleep(seconds)

    async def sleep_async(self, seconds: float) -> None:
        """Sleep for some seconds without blocking the event loop."""
        import anyio

        await anyio.sleep(seconds)
