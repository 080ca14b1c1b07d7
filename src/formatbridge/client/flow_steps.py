"""What a flow may ask for, the rules it goes by, and how long all of it may take."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from formatbridge import ir
from formatbridge.client.calls import Call
from formatbridge.client.clock import Clock
from formatbridge.client.settings import Limits, Retry, Timeout
from formatbridge.errors import APITimeoutError, TimeoutKind


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
    format: ir.FormatName
    via: ir.FormatName
    model: str
    stream: bool
    status: int | None
    request_id: str | None
    seconds: float
    error: Exception | None
    pause: float | None


@dataclass(frozen=True, slots=True)
class Rules:
    """What every call of a client goes by."""

    timeout: Timeout
    retry: Retry
    limits: Limits
    clock: Clock
    request_id_headers: tuple[str, ...]
    observe: Callable[[Attempt], None] = field(repr=False)


class Patience:
    """How long one call may still take."""

    def __init__(self, rules: Rules, *, is_stream: bool) -> None:
        self._timeout, self._clock = rules.timeout, rules.clock
        self._idle = rules.timeout.idle if is_stream else None
        self._ends = None if rules.timeout.total is None else self._clock.now() + rules.timeout.total
        self._rests_since: float | None = None
        self.renew()

    def renew(self) -> None:
        """Begin to wait for the next event."""
        self._idle_ends = None if self._idle is None else self._clock.now() + self._idle

    def rest(self) -> None:
        """Let the idle time stand still: an event is being used, and nobody waits for another."""
        if self._rests_since is None and self._idle is not None:
            self._rests_since = self._clock.now()

    def resume(self) -> None:
        """Wait on where the waiting stopped."""
        if self._rests_since is not None and self._idle_ends is not None:
            self._idle_ends += self._clock.now() - self._rests_since
        self._rests_since = None

    def left(self) -> tuple[float | None, TimeoutKind]:
        """Return the seconds left, None for no limit, and the name of the limit that is nearest."""
        limits: tuple[tuple[float | None, TimeoutKind], ...] = ((self._ends, "total"), (self._idle_ends, "idle"))
        ends = [(end, kind) for end, kind in limits if end is not None]
        if not ends:
            return None, "total"
        end, kind = min(ends)
        return max(0.0, end - self._clock.now()), kind

    def spare(self, most: float) -> float:
        """Return so many seconds, or those until the total where they are fewer."""
        return most if self._ends is None else min(most, self._ends - self._clock.now())

    def check(self) -> None:
        """Raise ``APITimeoutError`` where a limit has passed."""
        seconds, kind = self.left()
        if seconds is not None and seconds <= 0:
            raise late(kind, "body")

    def may_wait(self, pause: float) -> bool:
        """Say whether there would be time left after a pause."""
        return self._ends is None or self._clock.now() + pause < self._ends

    def send(self, call: Call) -> Send:
        """Say how long sending may take."""
        seconds, kind = self.left()
        given = self._timeout
        connect, read, write, pool = (_least(limit, seconds) for limit in (given.connect, given.read, given.write, given.pool))
        return Send(call, (connect, read, write, pool), seconds, kind)

    def read(self) -> Read:
        """Say how long the next bytes may take."""
        return Read(*self.left())


def _least(limit: float | None, seconds: float | None) -> float | None:
    if seconds is None:
        return limit
    shortest = 0.001  # a library takes 0 for "do not wait at all"
    return max(shortest, seconds if limit is None else min(limit, seconds))


def late(kind: TimeoutKind, phase: Any) -> APITimeoutError:
    """Return the error for a limit that passed."""
    waited = {
        "connect": "no connection within the connect or pool timeout",
        "write": "the request was not taken within the write timeout",
        "read": "no byte within the read timeout",
        "idle": "no event within the idle timeout",
        "total": "no end of the call within the total timeout",
    }
    return APITimeoutError(waited[kind], kind=kind, phase=phase)
