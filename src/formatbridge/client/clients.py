"""The two clients: drivers of one flow. ``await`` is all in which they differ."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from typing import Any, Self, TypeVar, assert_never

from pydantic import BaseModel

from formatbridge import ir
from formatbridge.client.base_client import Caller
from formatbridge.client.clock import Clock
from formatbridge.client.flow import Flow
from formatbridge.client.flow_steps import Close, Read, Send, Sleep, Step
from formatbridge.client.http_exchange import AsyncLine, Line
from formatbridge.client.reply import Reply
from formatbridge.client.streams import StreamCall
from formatbridge.convert.bodies import Converted
from formatbridge.errors import APIError, FormatBridgeError
from formatbridge.formats.format import FormatOrName

T = TypeVar("T")


class Client(Caller):
    """Any format through any endpoint of one relay. Threads may share it."""

    _IS_ASYNC = False

    def send(
        self, request: Any, format: FormatOrName | None = None, via: FormatOrName | None = None, *, model: str | None = None
    ) -> Reply:
        """Send a request and return the whole answer in the caller's format.

        ``request``: a dict, JSON text or a typed model; whether it asks for a stream does not matter. ``format``: the caller's; may be left
        out for a typed model. ``via``: the endpoint's format; None: the caller's, and the body goes out as it came. ``model``: in place of
        the body's. Raises ``InvalidPayloadError`` and ``LossyConversionError`` before anything is sent, ``APIError`` afterwards.
        """
        return self._drive(self._whole(self._plan(request, format, via, model, stream=False)))

    def stream(
        self, request: Any, format: FormatOrName | None = None, via: FormatOrName | None = None, *, model: str | None = None
    ) -> Stream:
        """Return the stream of an answer, to be opened with ``with``; the arguments are those of ``send``."""
        plan = self._plan(request, format, via, model, stream=True)
        return Stream(plan, self._opened(plan), self._pool, self._clock, self._profile.request_id_headers)

    def models(self) -> list[ir.Model]:
        """Return the relay's models, all pages of them, with ids as requests name them."""
        return self._drive(self._listed())

    def chat_completions(self, *, via: FormatOrName | None = None, **fields: Any) -> Reply:
        """Send a request of that format, given by its fields."""
        return self.send(fields, "chat_completions", via)

    def messages(self, *, via: FormatOrName | None = None, **fields: Any) -> Reply:
        """Send a request of that format, given by its fields."""
        return self.send(fields, "messages", via)

    def responses(self, *, via: FormatOrName | None = None, **fields: Any) -> Reply:
        """Send a request of that format, given by its fields."""
        return self.send(fields, "responses", via)

    def generate_content(self, model: str, *, via: FormatOrName | None = None, **fields: Any) -> Reply:
        """Send a request of that format, given by its fields."""
        return self.send(fields, "generate_content", via, model=model)

    def close(self) -> None:
        """Close the connections; more than once does no harm. An injected client stays open."""
        if self._owns_pool:
            self._pool.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *raised: object) -> None:
        self.close()

    def _drive(self, flow: Flow[T]) -> T:
        line = Line(self._pool, self._clock)
        try:
            return drive(flow, line, self._clock)
        finally:
            line.close()


class Stream(StreamCall):
    """The stream of one answer: typed events of the caller's format, its text, and the answer that they add up to.

    ``with`` opens it, up to the first event; an error until then can be tried again and is raised there. One iteration, then it is read.
    A stream that breaks off raises ``TruncatedStreamError``, a late one ``APITimeoutError``, one that ends in an error
    ``StreamFailedError``, each after the last good event and with the answer so far in ``partial``.
    """

    _line: Line | None = None

    def __enter__(self) -> Self:
        flow, self._line = self._opening(), Line(self._pool, self._clock)
        self._note(drive(flow, self._line, self._clock))
        return self

    def __exit__(self, *raised: object) -> None:
        self.close()

    def __iter__(self) -> Iterator[BaseModel]:
        self._begin_reading()
        return self

    def __next__(self) -> BaseModel:
        event = self._drive(self._next())
        if event is None:
            raise StopIteration
        return event

    def text(self) -> Iterator[str]:
        """Yield the visible text of the first choice as it comes, without reasoning; never an empty piece."""
        self._begin_text()
        while (piece := self._drive(self._next_text())) is not None:
            yield piece

    def response(self) -> Converted:
        """Read what is left and return the whole answer in the caller's format."""
        self._drive(self._rest())
        return self._incoming.response()

    def close(self) -> None:
        """Let the connection go; more than once does no harm."""
        if self._line is not None:
            drive(self._closing(), self._line, self._clock)

    def _drive(self, flow: Flow[T]) -> T:
        return drive(flow, self._readable(), self._clock)


class AsyncClient(Caller):
    """Any format through any endpoint of one relay. Tasks may share it, and event loops, one after the other or side by side."""

    _IS_ASYNC = True

    async def send(
        self, request: Any, format: FormatOrName | None = None, via: FormatOrName | None = None, *, model: str | None = None
    ) -> Reply:
        """Send a request and return the whole answer in the caller's format; as ``Client.send``."""
        return await self._drive(self._whole(self._plan(request, format, via, model, stream=False)))

    def stream(
        self, request: Any, format: FormatOrName | None = None, via: FormatOrName | None = None, *, model: str | None = None
    ) -> AsyncStream:
        """Return the stream of an answer, to be opened with ``async with``; the arguments are those of ``send``."""
        plan = self._plan(request, format, via, model, stream=True)
        return AsyncStream(plan, self._opened(plan), self._pool, self._clock, self._profile.request_id_headers)

    async def models(self) -> list[ir.Model]:
        """Return the relay's models, all pages of them, with ids as requests name them."""
        return await self._drive(self._listed())

    async def chat_completions(self, *, via: FormatOrName | None = None, **fields: Any) -> Reply:
        """Send a request of that format, given by its fields."""
        return await self.send(fields, "chat_completions", via)

    async def messages(self, *, via: FormatOrName | None = None, **fields: Any) -> Reply:
        """Send a request of that format, given by its fields."""
        return await self.send(fields, "messages", via)

    async def responses(self, *, via: FormatOrName | None = None, **fields: Any) -> Reply:
        """Send a request of that format, given by its fields."""
        return await self.send(fields, "responses", via)

    async def generate_content(self, model: str, *, via: FormatOrName | None = None, **fields: Any) -> Reply:
        """Send a request of that format, given by its fields."""
        return await self.send(fields, "generate_content", via, model=model)

    async def close(self) -> None:
        """Close the connections of this event loop; more than once does no harm. An injected client stays open."""
        if self._owns_pool:
            await self._pool.close_async()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *raised: object) -> None:
        await self.close()

    async def _drive(self, flow: Flow[T]) -> T:
        line = AsyncLine(self._pool, self._clock)
        try:
            return await drive_async(flow, line, self._clock)
        finally:
            await line.close()


class AsyncStream(StreamCall):
    """The stream of one answer, as ``Stream``, with ``async with`` and ``async for``."""

    _line: AsyncLine | None = None

    async def __aenter__(self) -> Self:
        flow, self._line = self._opening(), AsyncLine(self._pool, self._clock)
        self._note(await drive_async(flow, self._line, self._clock))
        return self

    async def __aexit__(self, *raised: object) -> None:
        await self.close()

    def __aiter__(self) -> AsyncIterator[BaseModel]:
        self._begin_reading()
        return self

    async def __anext__(self) -> BaseModel:
        event = await self._drive(self._next())
        if event is None:
            raise StopAsyncIteration
        return event

    async def text(self) -> AsyncIterator[str]:
        """Yield the visible text of the first choice as it comes, without reasoning; never an empty piece."""
        self._begin_text()
        while (piece := await self._drive(self._next_text())) is not None:
            yield piece

    async def response(self) -> Converted:
        """Read what is left and return the whole answer in the caller's format."""
        await self._drive(self._rest())
        return self._incoming.response()

    async def close(self) -> None:
        """Let the connection go, whatever cancels the caller meanwhile; more than once does no harm."""
        if self._line is not None:
            await drive_async(self._closing(), self._line, self._clock)

    async def _drive(self, flow: Flow[T]) -> T:
        return await drive_async(flow, self._readable(), self._clock)


def drive(flow: Flow[T], line: Line, clock: Clock) -> T:
    """Do what a flow asks for until it returns; close the line where it raises."""
    told: object = None
    failure: APIError | None = None
    try:
        while True:
            step = flow.send(told) if failure is None else flow.throw(failure)
            told = failure = None
            try:
                told = _do(step, line, clock)
            except APIError as error:
                failure = error
    except StopIteration as end:
        made: T = end.value
        return made
    except FormatBridgeError as error:
        refused = error
    except BaseException:
        line.close()
        raise
    line.close()
    told = None  # this frame shows in tracebacks, where what the relay sent has no place
    raise refused.with_traceback(None)


def _do(step: Step, line: Line, clock: Clock) -> object:
    match step:
        case Read():
            return line.read(step)
        case Send():
            return line.send(step)
        case Sleep():
            clock.sleep(step.seconds)
        case Close():
            line.close()
        case _:
            assert_never(step)
    return None


async def drive_async(flow: Flow[T], line: AsyncLine, clock: Clock) -> T:
    """Do what a flow asks for until it returns; close the line where it raises."""
    told: object = None
    failure: APIError | None = None
    try:
        while True:
            step = flow.send(told) if failure is None else flow.throw(failure)
            told = failure = None
            try:
                told = await _do_async(step, line, clock)
            except APIError as error:
                failure = error
    except StopIteration as end:
        made: T = end.value
        return made
    except FormatBridgeError as error:
        refused = error
    except BaseException:
        await line.close()
        raise
    await line.close()
    told = None  # this frame shows in tracebacks, where what the relay sent has no place
    raise refused.with_traceback(None)


async def _do_async(step: Step, line: AsyncLine, clock: Clock) -> object:
    match step:
        case Read():
            return await line.read(step)
        case Send():
            return await line.send(step)
        case Sleep():
            await clock.sleep_async(step.seconds)
        case Close():
            await line.close()
        case _:
            assert_never(step)
    return None
