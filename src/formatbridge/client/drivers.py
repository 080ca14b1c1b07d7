"""The drivers of flows, sync and async: they run the steps. They differ only in ``await``."""

from __future__ import annotations

from typing import Protocol, TypeVar, assert_never

from formatbridge.client.calls import Head
from formatbridge.client.flow import Close, Flow, Read, Send, Sleep, Step
from formatbridge.client.settings import Clock
from formatbridge.errors import APIError, FormatBridgeError

T = TypeVar("T")


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
    """Run the steps of a flow until it returns; close the HTTP exchange if it raises."""
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
        flow.close()
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
