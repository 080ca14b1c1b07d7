"""What both streams have in common: how they are read, and what is known of them."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any, TypeVar

from pydantic import BaseModel

from formatbridge.arguments import caller
from formatbridge.client import errors
from formatbridge.client.base_client import Plan
from formatbridge.client.clock import Clock
from formatbridge.client.flow import Flow, Outcome
from formatbridge.client.flow_steps import Close
from formatbridge.client.http_clients import Pool
from formatbridge.client.incoming_stream import Incoming
from formatbridge.convert.bodies import Converted, ConvertedRequest
from formatbridge.errors import ConfigurationError
from formatbridge.report.losses import Addition, Loss

T = TypeVar("T")


class StreamCall:
    """A stream before, while and after it is open. It keeps its client's connections alive."""

    _line: Any = None

    def __init__(self, plan: Plan, flow: Flow[Outcome[Incoming]], pool: Pool, clock: Clock, names: tuple[str, ...]) -> None:
        #: The request as it went out; its losses point into what the caller sent, its additions into its own body.
        self.request: ConvertedRequest = plan.exchange.request
        self._flow: Flow[Outcome[Incoming]] | None = flow
        self._pool, self._clock = pool, clock
        self._names = names
        self._received: Incoming | None = None
        self._known: tuple[str | None, int, int] | None = None  # request id, status, attempts
        self._is_begun = self._is_read = False
        frame, _ = caller()
        self._made_at = frame.f_code.co_filename, frame.f_lineno

    @property
    def request_id(self) -> str | None:
        """By which the relay's owner finds the call; None where the answer did not say."""
        return self._opened[0]

    @property
    def status(self) -> int:
        """The HTTP status."""
        return self._opened[1]

    @property
    def attempts(self) -> int:
        """How often the call was sent, from 1."""
        return self._opened[2]

    @property
    def answer(self) -> Converted:
        """The answer so far in the caller's format; nothing is read for it. Its losses point into what the endpoint's stream adds up to."""
        return self._incoming.response()

    @property
    def losses(self) -> tuple[Loss, ...]:
        """What was lost of the request, and of the answer so far: ``request.losses``, then ``answer.losses``."""
        made = self.request.losses
        return made + self.answer.losses if self._received else made

    @property
    def additions(self) -> tuple[Addition, ...]:
        """What had to be added to the request, and to the answer so far: ``request.additions``, then ``answer.additions``."""
        made = self.request.additions
        return made + self.answer.additions if self._received else made

    @property
    def _opened(self) -> tuple[str | None, int, int]:
        if self._known is None:
            raise ConfigurationError("the stream is not open, expected it within with")
        return self._known

    @property
    def _incoming(self) -> Incoming:
        if self._received is None:
            raise ConfigurationError("the stream is not open, expected it within with")
        return self._received

    def _opening(self) -> Flow[Outcome[Incoming]]:
        flow, self._flow = self._flow, None
        if flow is None:
            raise ConfigurationError("the stream has been opened, expected to open it once")
        return flow

    def _note(self, outcome: Outcome[Incoming]) -> None:
        self._received = outcome.received
        self._known = errors.request_id(outcome.head.headers, self._names), outcome.head.status, outcome.attempts

    def _readable(self) -> Any:
        """Return the line to read from; raise where the stream was closed before its end."""
        if not self._incoming.is_over and not self._line.is_open:
            raise ConfigurationError("the stream was closed before its end, expected an open one")
        return self._line

    def _begin_reading(self) -> None:
        if self._is_read:
            raise ConfigurationError("the stream has been read, expected one iteration")
        self._is_read = self._incoming is not None

    def _begin_text(self) -> None:
        """Begin to read text, of which nobody has taken events before: these have it, too."""
        self._is_read = self._is_read or self._is_begun
        self._begin_reading()

    def _next(self) -> Flow[BaseModel | None]:
        """Bring the next event; None at the end."""
        self._is_begun = True
        return (yield from self._waited(self._incoming.take))

    def _next_text(self) -> Flow[str | None]:
        """Bring the next visible text; None at the end."""
        return (yield from self._waited(self._incoming.take_text))

    def _waited(self, take: Callable[[], T | None]) -> Flow[T | None]:
        """Read until there is something to take; None at the end."""
        while True:
            taken = take()
            if taken is not None:
                return taken
            if self._incoming.is_over:
                yield from self._closing()
                return None
            yield from self._incoming.step()

    def _rest(self) -> Flow[None]:
        """Read to the end; what ended the stream is raised."""
        self._is_read = True
        while (yield from self._next()) is not None:
            continue

    def _closing(self) -> Flow[None]:
        if self._received is not None:
            yield from self._incoming.finish()
        yield Close()

    def __repr__(self) -> str:
        """Show the two formats and how far it is; nothing is read for it."""
        if not hasattr(self, "_made_at"):  # a traceback shows a stream that could not be made, too
            return f"<{type(self).__name__}, not made>"
        state = (
            "not open"
            if self._received is None
            else "over"
            if self._received.is_over
            else "open"
            if self._line.is_open
            else "closed"
        )
        return f"<{type(self).__name__} {self.request.source} via {self.request.target}, {state}>"

    def __del__(self) -> None:
        if self._line is not None and self._line.is_open:
            self._line.drop()
            place = ":".join(map(str, self._made_at))
            message = f"a stream made at {place} was dropped open, expected it within with"
            warnings.warn(message, ResourceWarning, stacklevel=2, source=self)
