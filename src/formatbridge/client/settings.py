"""What a caller may set: how long to wait, when to try again, how much to take."""

from __future__ import annotations

import math
import os
import random
import time
from collections.abc import Callable, Iterable, Set
from dataclasses import dataclass, fields, replace
from functools import lru_cache
from typing import Literal, TypeVar

from formatbridge.arguments import type_name
from formatbridge.client.profile import RelayProfile, checked_url
from formatbridge.client.secrets import checked_key
from formatbridge.convert.masking import Secret
from formatbridge.errors import ConfigurationError
from formatbridge.options import DEFAULT_OPTIONS, Options, options_of

RetryCause = Literal["connection", "timeout", "status"]
"""What may be worth another attempt."""
RETRIED_STATUSES = frozenset({408, 409, 425, 429, 500, 502, 503, 504, 524, 529})
CAUSES: frozenset[RetryCause] = frozenset({"connection", "timeout", "status"})


@dataclass(frozen=True, slots=True)
class Timeout:
    """How long to wait, in seconds; None: for ever.

    ``connect``: for a connection. ``write``: for the other side to take a piece of the request. ``read``: for any byte. ``pool``: for a
    free connection. ``idle``: for the next event of a stream, the first counted from sending; pings do not count, nor does the time
    that the reader takes. ``total``: for the whole call with its retries; a client that is given no timeout at all has none for streams,
    whatever is given here holds for them too.
    """

    connect: float | None = 5
    write: float | None = 60
    read: float | None = 120
    pool: float | None = 10
    idle: float | None = 300
    total: float | None = 900

    def __post_init__(self) -> None:
        for field in fields(self):
            value = getattr(self, field.name)
            if value is not None and not _is_seconds(value, is_open=True):
                raise ConfigurationError(f"timeout {field.name} is {value!r}, expected seconds above 0 or None")


@dataclass(frozen=True, slots=True)
class Retry:
    """When to try again, before the first event of an answer only.

    ``max``: attempts beyond the first. ``base``, ``cap``: the pause before attempt n+1 is drawn from 0 to ``base * 2 ** (n - 1)``
    seconds, at most ``cap``. ``max_retry_after``: the longest pause asked for by the relay that is kept, in seconds; a longer one raises
    at once. ``budget``: seconds since the call began after which no other attempt begins: a read or idle
    timeout of ``Timeout()`` is as long, so that none follows it. ``statuses``: HTTP statuses worth another attempt. ``on``: what
    is: ``connection``, ``timeout`` (which after a request was sent may bill it twice) and ``status``.
    """

    max: int = 2
    base: float = 0.5
    cap: float = 8
    max_retry_after: float = 60
    budget: float = 120
    statuses: Set[int] = RETRIED_STATUSES
    on: Set[RetryCause] = CAUSES

    def __post_init__(self) -> None:
        if not isinstance(self.max, int) or isinstance(self.max, bool) or self.max < 0:
            raise ConfigurationError(f"retry max is {self.max!r}, expected an integer of 0 or more")
        for name in ("base", "cap", "max_retry_after", "budget"):
            if not _is_seconds(getattr(self, name)):
                raise ConfigurationError(f"retry {name} is {getattr(self, name)!r}, expected seconds of 0 or more")
        for name in ("statuses", "on"):
            given = getattr(self, name)
            if isinstance(given, str | bytes) or not isinstance(given, Iterable):
                raise ConfigurationError(f"retry {name} is {given!r}, expected a set")
            object.__setattr__(self, name, frozenset(given))
        if not all(isinstance(status, int) and not isinstance(status, bool) for status in self.statuses):
            raise ConfigurationError(f"retry statuses is {set(self.statuses)!r}, expected HTTP statuses, whole numbers")
        if not self.on <= CAUSES:
            raise ConfigurationError(f"retry on is {sorted(map(str, self.on))!r}, expected some of {', '.join(sorted(CAUSES))}")

    def pause(self, number: int, jitter: float) -> float:
        """Return the seconds to wait after attempt ``number``, from 1; ``jitter`` is drawn from 0 to 1."""
        return jitter * min(self.cap, self.base * 2.0 ** min(number - 1, 64))


@dataclass(frozen=True, slots=True)
class Limits:
    """How much to take from the other side, in bytes; a redirect counts as one."""

    max_response_bytes: int = 256 * 1024 * 1024
    max_error_body: int = 64 * 1024
    max_header_bytes: int = 64 * 1024
    max_redirects: int = 2

    def __post_init__(self) -> None:
        for field in fields(self):
            value = getattr(self, field.name)
            if not isinstance(value, int) or isinstance(value, bool) or value < 0:
                raise ConfigurationError(f"limit {field.name} is {value!r}, expected an integer of 0 or more")


NO_TIMEOUT = Timeout(None, None, None, None, None, None)


T = TypeVar("T")
C = TypeVar("C")
Key = str | Callable[[], str]


def base_url_of(given: str | None, profile: RelayProfile) -> str:
    """Return where the relay is: as given, else as the environment says, else as the profile does."""
    url = given if given is not None else os.environ.get("FORMATBRIDGE_BASE_URL") or profile.base_url
    if url is None:
        raise ConfigurationError("base_url is missing, expected an argument, FORMATBRIDGE_BASE_URL or a profile that has one")
    return checked_url(url)


def key_of(given: Key | Secret | None) -> Secret | Callable[[], str] | None:
    """Return the key, or what tells it before each call: as given, else as the environment says. None: there is none."""
    if callable(given):
        return given
    return checked_key(given if given is not None else os.environ.get("FORMATBRIDGE_API_KEY", ""))


def current_key(given: Secret | Callable[[], str] | None) -> Secret | None:
    """Return the key of now."""
    return checked_key(given()) if callable(given) else given


def options_for(given: Options | None, profile: RelayProfile) -> Options:
    """Return the options of calls. The dialect of messages is the profile's, where the options do not name another."""
    options = Options(raise_on="impossible") if given is None else options_of(given)
    if options.messages_version != DEFAULT_OPTIONS.messages_version:
        return options
    return replace(options, messages_version=profile.messages_version)


@lru_cache
def lenient(options: Options) -> Options:
    """Return options for answers, which are never refused for what they lose: they have been paid for."""
    return replace(options, raise_on=None)


def options_for_answer(options: Options, now: float) -> Options:
    """Return lenient options by which an answer that has no time of its own gets that of now, in seconds since the epoch."""
    return replace(lenient(options), created=int(now)) if options.created is None else lenient(options)


def checked(name: str, given: T | None, kind: type[T]) -> T | None:
    """Return a setting; raise ``ConfigurationError`` where it is not of its kind."""
    if given is not None and not isinstance(given, kind):
        raise ConfigurationError(f"{name} is {type_name(given)}, expected formatbridge.{kind.__name__}")
    return given


def checked_callable(name: str, given: C) -> C:
    """Return a setting that is called, or None."""
    if given is not None and not callable(given):
        raise ConfigurationError(f"{name} is {type_name(given)}, expected something to call")
    return given


def timeout_of(given: object) -> Timeout:
    """Read what a caller gives for ``timeout``: a ``Timeout``, the total seconds, or None."""
    if given is None:
        return NO_TIMEOUT
    if isinstance(given, Timeout):
        return given
    if isinstance(given, int | float) and not isinstance(given, bool):
        return Timeout(total=given)
    raise ConfigurationError(f"timeout is {type_name(given)}, expected formatbridge.Timeout, seconds or None")


def retry_of(given: object) -> Retry:
    """Read what a caller gives for ``retry``: a ``Retry`` or the number of attempts beyond the first."""
    if isinstance(given, Retry):
        return given
    if isinstance(given, int) and not isinstance(given, bool):
        return Retry(max=given)
    raise ConfigurationError(f"retry is {type_name(given)}, expected formatbridge.Retry or a count")


def _is_seconds(value: object, *, is_open: bool = False) -> bool:
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        return False
    return value > 0 if is_open else value >= 0


class Clock:
    """The machine's own time and chance. A subclass may tell others; deadlines of a real socket always go by the machine's."""

    def now(self) -> float:
        """Return seconds that only ever grow."""
        return time.monotonic()

    def time(self) -> float:
        """Return seconds since the epoch."""
        return time.time()

    def jitter(self) -> float:
        """Return a number from 0 to 1, evenly drawn."""
        return random.random()

    def sleep(self, seconds: float) -> None:
        """Wait."""
        time.sleep(seconds)

    async def sleep_async(self, seconds: float) -> None:
        """Wait, while others run."""
        import anyio

        await anyio.sleep(seconds)
