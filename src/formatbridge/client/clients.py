"""The sync and the async client. Both drive the same flow, and differ only in ``await``."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from typing import TYPE_CHECKING, Generic, Literal, Self, TypeAlias, cast, overload

from pydantic import BaseModel
from typing_extensions import TypeVar

from formatbridge import ir
from formatbridge.client.base_client import BaseClient, BaseStream
from formatbridge.client.flow import Flow, drive, drive_async
from formatbridge.client.http_exchange import AsyncHTTPExchange, HTTPExchange
from formatbridge.client.reply import CountReply, Reply
from formatbridge.convert.bodies import Converted, ModelT_co
from formatbridge.convert.input import Body
from formatbridge.formats.target import FormatOrName
from formatbridge.jsontext.types import JsonArgument

if TYPE_CHECKING:
    from formatbridge.formats import typed_models as wires

T = TypeVar("T")
EventT_co = TypeVar("EventT_co", default=BaseModel, covariant=True)
"""The typed events of a stream."""

Via: TypeAlias = FormatOrName | None
"""The format of the endpoint; None: that of the request."""


class Client(BaseClient):
    """Sends requests of any format to any endpoint of one relay. Threads may share it."""

    _IS_ASYNC = False

    @overload
    def send(
        self, request: wires.chat_completions.Request, format: None = None, via: Via = None, *, model: str | None = None
    ) -> Reply[wires.chat_completions.Response]: ...

    @overload
    def send(
        self, request: Body, format: Literal["chat_completions"], via: Via = None, *, model: str | None = None
    ) -> Reply[wires.chat_completions.Response]: ...

    @overload
    def send(
        self, request: wires.messages.Request, format: None = None, via: Via = None, *, model: str | None = None
    ) -> Reply[wires.messages.Response]: ...

    @overload
    def send(
        self, request: Body, format: Literal["messages"], via: Via = None, *, model: str | None = None
    ) -> Reply[wires.messages.Response]: ...

    @overload
    def send(
        self, request: wires.responses.Request, format: None = None, via: Via = None, *, model: str | None = None
    ) -> Reply[wires.responses.Response]: ...

    @overload
    def send(
        self, request: Body, format: Literal["responses"], via: Via = None, *, model: str | None = None
    ) -> Reply[wires.responses.Response]: ...

    @overload
    def send(
        self, request: wires.generate_content.Request, format: None = None, via: Via = None, *, model: str | None = None
    ) -> Reply[wires.generate_content.Response]: ...

    @overload
    def send(
        self, request: Body, format: Literal["generate_content"], via: Via = None, *, model: str | None = None
    ) -> Reply[wires.generate_content.Response]: ...

    @overload
    def send(self, request: Body, format: FormatOrName | None = None, via: Via = None, *, model: str | None = None) -> Reply: ...

    def send(self, request: Body, format: FormatOrName | None = None, via: Via = None, *, model: str | None = None) -> Reply:
        """Send a request and return the whole answer in the caller's format.

        ``request``: a dict, JSON text or a typed model; its field for streaming is ignored.
        ``format``: the caller's format; optional for a typed model.
        ``via``: the endpoint's format; None: the caller's, and the body is sent unchanged.
        ``model``: replaces the model of the body.

        Raises ``InvalidPayloadError`` and ``LossyConversionError`` before anything is sent, ``APIError`` afterwards.
        """
        return self._drive(self._send_flow(self._plan_call(request, format, via, model, stream=False)))

    @overload
    def stream(
        self, request: wires.chat_completions.Request, format: None = None, via: Via = None, *, model: str | None = None
    ) -> Stream[wires.chat_completions.StreamEvent, wires.chat_completions.Response]: ...

    @overload
    def stream(
        self, request: Body, format: Literal["chat_completions"], via: Via = None, *, model: str | None = None
    ) -> Stream[wires.chat_completions.StreamEvent, wires.chat_completions.Response]: ...

    @overload
    def stream(
        self, request: wires.messages.Request, format: None = None, via: Via = None, *, model: str | None = None
    ) -> Stream[wires.messages.StreamEvent, wires.messages.Response]: ...

    @overload
    def stream(
        self, request: Body, format: Literal["messages"], via: Via = None, *, model: str | None = None
    ) -> Stream[wires.messages.StreamEvent, wires.messages.Response]: ...

    @overload
    def stream(
        self, request: wires.responses.Request, format: None = None, via: Via = None, *, model: str | None = None
    ) -> Stream[wires.responses.StreamEvent, wires.responses.Response]: ...

    @overload
    def stream(
        self, request: Body, format: Literal["responses"], via: Via = None, *, model: str | None = None
    ) -> Stream[wires.responses.StreamEvent, wires.responses.Response]: ...

    @overload
    def stream(
        self, request: wires.generate_content.Request, format: None = None, via: Via = None, *, model: str | None = None
    ) -> Stream[wires.generate_content.StreamEvent, wires.generate_content.Response]: ...

    @overload
    def stream(
        self, request: Body, format: Literal["generate_content"], via: Via = None, *, model: str | None = None
    ) -> Stream[wires.generate_content.StreamEvent, wires.generate_content.Response]: ...

    @overload
    def stream(self, request: Body, format: FormatOrName | None = None, via: Via = None, *, model: str | None = None) -> Stream: ...

    def stream(self, request: Body, format: FormatOrName | None = None, via: Via = None, *, model: str | None = None) -> Stream:
        """Return the stream of an answer; open it with ``with``. The arguments are those of ``send``."""
        planned = self._plan_call(request, format, via, model, stream=True)
        return Stream(planned, self._stream_flow(planned), self._pool, self._clock)

    @overload
    def count_tokens(
        self,
        request: wires.messages.CountRequest | wires.messages.Request,
        format: None = None,
        via: Via = None,
        *,
        model: str | None = None,
    ) -> CountReply[wires.messages.CountResponse]: ...

    @overload
    def count_tokens(
        self, request: Body, format: Literal["messages"], via: Via = None, *, model: str | None = None
    ) -> CountReply[wires.messages.CountResponse]: ...

    @overload
    def count_tokens(
        self,
        request: wires.responses.CountRequest | wires.responses.Request,
        format: None = None,
        via: Via = None,
        *,
        model: str | None = None,
    ) -> CountReply[wires.responses.CountResponse]: ...

    @overload
    def count_tokens(
        self, request: Body, format: Literal["responses"], via: Via = None, *, model: str | None = None
    ) -> CountReply[wires.responses.CountResponse]: ...

    @overload
    def count_tokens(
        self,
        request: wires.generate_content.CountRequest | wires.generate_content.Request,
        format: None = None,
        via: Via = None,
        *,
        model: str | None = None,
    ) -> CountReply[wires.generate_content.CountResponse]: ...

    @overload
    def count_tokens(
        self, request: Body, format: Literal["generate_content"], via: Via = None, *, model: str | None = None
    ) -> CountReply[wires.generate_content.CountResponse]: ...

    @overload
    def count_tokens(
        self, request: Body, format: FormatOrName | None = None, via: Via = None, *, model: str | None = None
    ) -> CountReply: ...

    def count_tokens(
        self, request: Body, format: FormatOrName | None = None, via: Via = None, *, model: str | None = None
    ) -> CountReply:
        """Return the number of input tokens of a request, as the endpoint counts them, in the caller's format.

        ``request``: a request, or the body of the format's endpoint for token counts. The other arguments are those of ``send``.

        A chat_completions request gets the answer of the endpoint's format, because chat_completions has none. If the endpoint cannot count
        tokens, ``count_tokens=`` of the client does; without it ``ConfigurationError`` is raised. Raises the same as ``send``.
        """
        return self._drive(self._count_flow(self._open_count(request, format, via, model)))

    def models(self) -> list[ir.Model]:
        """Return the relay's models from all pages, with the ids that requests use."""
        return self._drive(self._models_flow())

    def chat_completions(self, *, via: Via = None, **fields: JsonArgument) -> Reply[wires.chat_completions.Response]:
        """Send a chat_completions request with these fields."""
        return self.send(fields, "chat_completions", via)

    def messages(self, *, via: Via = None, **fields: JsonArgument) -> Reply[wires.messages.Response]:
        """Send a messages request with these fields."""
        return self.send(fields, "messages", via)

    def responses(self, *, via: Via = None, **fields: JsonArgument) -> Reply[wires.responses.Response]:
        """Send a responses request with these fields."""
        return self.send(fields, "responses", via)

    def generate_content(self, model: str, *, via: Via = None, **fields: JsonArgument) -> Reply[wires.generate_content.Response]:
        """Send a generate_content request with these fields."""
        return self.send(fields, "generate_content", via, model=model)

    def close(self) -> None:
        """Close the connections. An injected client stays open. Further calls of ``close`` have no effect."""
        if self._closes_pool:
            self._pool.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc_info: object) -> None:
        self.close()

    def _drive(self, flow: Flow[T]) -> T:
        http = HTTPExchange(self._pool, self._clock)
        try:
            return drive(flow, http, self._clock)
        finally:
            http.close()


class Stream(BaseStream, Generic[EventT_co, ModelT_co]):
    """The stream of one answer: typed events of the caller's format, its text, and the accumulated answer.

    ``with`` opens it and reads up to the first event. Errors until then are retried, and ``with`` raises the last one. The stream can be
    iterated once. A truncated stream raises ``TruncatedStreamError``, a time limit ``APITimeoutError``, an error event
    ``StreamFailedError``. They are raised after the last valid event and have the partial answer in ``partial``.
    """

    _http: HTTPExchange | None = None

    def __enter__(self) -> Self:
        flow, self._http = self._open_flow(), HTTPExchange(self._pool, self._clock)
        self._set_opened(drive(flow, self._http, self._clock))
        return self

    def __exit__(self, *exc_info: object) -> None:
        self.close()

    def __iter__(self) -> Iterator[EventT_co]:
        self._begin_reading()
        return self

    def __next__(self) -> EventT_co:
        event = self._drive(self._next_event_flow())
        if event is None:
            raise StopIteration
        return cast(EventT_co, event)

    def text(self) -> Iterator[str]:
        """Yield the visible text of the first choice as it arrives, without reasoning; never an empty string."""
        self._begin_text()
        while (piece := self._drive(self._next_text_flow())) is not None:
            yield piece

    def response(self) -> Converted[ModelT_co]:
        """Read the rest and return the whole answer in the caller's format."""
        self._drive(self._read_rest_flow())
        return cast("Converted[ModelT_co]", self._incoming.response())

    def close(self) -> None:
        """Close the stream. Further calls have no effect."""
        if self._http is not None:
            drive(self._close_flow(), self._http, self._clock)

    def _drive(self, flow: Flow[T]) -> T:
        return drive(flow, self._open_http(), self._clock)


class AsyncClient(BaseClient):
    """Sends requests of any format to any endpoint of one relay. Tasks and event loops may share it."""

    _IS_ASYNC = True

    @overload
    async def send(
        self, request: wires.chat_completions.Request, format: None = None, via: Via = None, *, model: str | None = None
    ) -> Reply[wires.chat_completions.Response]: ...

    @overload
    async def send(
        self, request: Body, format: Literal["chat_completions"], via: Via = None, *, model: str | None = None
    ) -> Reply[wires.chat_completions.Response]: ...

    @overload
    async def send(
        self, request: wires.messages.Request, format: None = None, via: Via = None, *, model: str | None = None
    ) -> Reply[wires.messages.Response]: ...

    @overload
    async def send(
        self, request: Body, format: Literal["messages"], via: Via = None, *, model: str | None = None
    ) -> Reply[wires.messages.Response]: ...

    @overload
    async def send(
        self, request: wires.responses.Request, format: None = None, via: Via = None, *, model: str | None = None
    ) -> Reply[wires.responses.Response]: ...

    @overload
    async def send(
        self, request: Body, format: Literal["responses"], via: Via = None, *, model: str | None = None
    ) -> Reply[wires.responses.Response]: ...

    @overload
    async def send(
        self, request: wires.generate_content.Request, format: None = None, via: Via = None, *, model: str | None = None
    ) -> Reply[wires.generate_content.Response]: ...

    @overload
    async def send(
        self, request: Body, format: Literal["generate_content"], via: Via = None, *, model: str | None = None
    ) -> Reply[wires.generate_content.Response]: ...

    @overload
    async def send(
        self, request: Body, format: FormatOrName | None = None, via: Via = None, *, model: str | None = None
    ) -> Reply: ...

    async def send(self, request: Body, format: FormatOrName | None = None, via: Via = None, *, model: str | None = None) -> Reply:
        """Send a request and return the whole answer in the caller's format, as ``Client.send``."""
        return await self._drive(self._send_flow(self._plan_call(request, format, via, model, stream=False)))

    @overload
    def stream(
        self, request: wires.chat_completions.Request, format: None = None, via: Via = None, *, model: str | None = None
    ) -> AsyncStream[wires.chat_completions.StreamEvent, wires.chat_completions.Response]: ...

    @overload
    def stream(
        self, request: Body, format: Literal["chat_completions"], via: Via = None, *, model: str | None = None
    ) -> AsyncStream[wires.chat_completions.StreamEvent, wires.chat_completions.Response]: ...

    @overload
    def stream(
        self, request: wires.messages.Request, format: None = None, via: Via = None, *, model: str | None = None
    ) -> AsyncStream[wires.messages.StreamEvent, wires.messages.Response]: ...

    @overload
    def stream(
        self, request: Body, format: Literal["messages"], via: Via = None, *, model: str | None = None
    ) -> AsyncStream[wires.messages.StreamEvent, wires.messages.Response]: ...

    @overload
    def stream(
        self, request: wires.responses.Request, format: None = None, via: Via = None, *, model: str | None = None
    ) -> AsyncStream[wires.responses.StreamEvent, wires.responses.Response]: ...

    @overload
    def stream(
        self, request: Body, format: Literal["responses"], via: Via = None, *, model: str | None = None
    ) -> AsyncStream[wires.responses.StreamEvent, wires.responses.Response]: ...

    @overload
    def stream(
        self, request: wires.generate_content.Request, format: None = None, via: Via = None, *, model: str | None = None
    ) -> AsyncStream[wires.generate_content.StreamEvent, wires.generate_content.Response]: ...

    @overload
    def stream(
        self, request: Body, format: Literal["generate_content"], via: Via = None, *, model: str | None = None
    ) -> AsyncStream[wires.generate_content.StreamEvent, wires.generate_content.Response]: ...

    @overload
    def stream(
        self, request: Body, format: FormatOrName | None = None, via: Via = None, *, model: str | None = None
    ) -> AsyncStream: ...

    def stream(
        self, request: Body, format: FormatOrName | None = None, via: Via = None, *, model: str | None = None
    ) -> AsyncStream:
        """Return the stream of an answer; open it with ``async with``. The arguments are those of ``send``."""
        planned = self._plan_call(request, format, via, model, stream=True)
        return AsyncStream(planned, self._stream_flow(planned), self._pool, self._clock)

    @overload
    async def count_tokens(
        self,
        request: wires.messages.CountRequest | wires.messages.Request,
        format: None = None,
        via: Via = None,
        *,
        model: str | None = None,
    ) -> CountReply[wires.messages.CountResponse]: ...

    @overload
    async def count_tokens(
        self, request: Body, format: Literal["messages"], via: Via = None, *, model: str | None = None
    ) -> CountReply[wires.messages.CountResponse]: ...

    @overload
    async def count_tokens(
        self,
        request: wires.responses.CountRequest | wires.responses.Request,
        format: None = None,
        via: Via = None,
        *,
        model: str | None = None,
    ) -> CountReply[wires.responses.CountResponse]: ...

    @overload
    async def count_tokens(
        self, request: Body, format: Literal["responses"], via: Via = None, *, model: str | None = None
    ) -> CountReply[wires.responses.CountResponse]: ...

    @overload
    async def count_tokens(
        self,
        request: wires.generate_content.CountRequest | wires.generate_content.Request,
        format: None = None,
        via: Via = None,
        *,
        model: str | None = None,
    ) -> CountReply[wires.generate_content.CountResponse]: ...

    @overload
    async def count_tokens(
        self, request: Body, format: Literal["generate_content"], via: Via = None, *, model: str | None = None
    ) -> CountReply[wires.generate_content.CountResponse]: ...

    @overload
    async def count_tokens(
        self, request: Body, format: FormatOrName | None = None, via: Via = None, *, model: str | None = None
    ) -> CountReply: ...

    async def count_tokens(
        self, request: Body, format: FormatOrName | None = None, via: Via = None, *, model: str | None = None
    ) -> CountReply:
        """Return the number of input tokens of a request, as ``Client.count_tokens``."""
        return await self._drive(self._count_flow(self._open_count(request, format, via, model)))

    async def models(self) -> list[ir.Model]:
        """Return the relay's models from all pages, with the ids that requests use."""
        return await self._drive(self._models_flow())

    async def chat_completions(self, *, via: Via = None, **fields: JsonArgument) -> Reply[wires.chat_completions.Response]:
        """Send a chat_completions request with these fields."""
        return await self.send(fields, "chat_completions", via)

    async def messages(self, *, via: Via = None, **fields: JsonArgument) -> Reply[wires.messages.Response]:
        """Send a messages request with these fields."""
        return await self.send(fields, "messages", via)

    async def responses(self, *, via: Via = None, **fields: JsonArgument) -> Reply[wires.responses.Response]:
        """Send a responses request with these fields."""
        return await self.send(fields, "responses", via)

    async def generate_content(
        self, model: str, *, via: Via = None, **fields: JsonArgument
    ) -> Reply[wires.generate_content.Response]:
        """Send a generate_content request with these fields."""
        return await self.send(fields, "generate_content", via, model=model)

    async def close(self) -> None:
        """Close the connections of this event loop. An injected client stays open. Further calls have no effect."""
        if self._closes_pool:
            await self._pool.close_async()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *exc_info: object) -> None:
        await self.close()

    async def _drive(self, flow: Flow[T]) -> T:
        http = AsyncHTTPExchange(self._pool, self._clock)
        try:
            return await drive_async(flow, http, self._clock)
        finally:
            await http.close()


class AsyncStream(BaseStream, Generic[EventT_co, ModelT_co]):
    """The stream of one answer, as ``Stream``, with ``async with`` and ``async for``."""

    _http: AsyncHTTPExchange | None = None

    async def __aenter__(self) -> Self:
        flow, self._http = self._open_flow(), AsyncHTTPExchange(self._pool, self._clock)
        self._set_opened(await drive_async(flow, self._http, self._clock))
        return self

    async def __aexit__(self, *exc_info: object) -> None:
        await self.close()

    def __aiter__(self) -> AsyncIterator[EventT_co]:
        self._begin_reading()
        return self

    async def __anext__(self) -> EventT_co:
        event = await self._drive(self._next_event_flow())
        if event is None:
            raise StopAsyncIteration
        return cast(EventT_co, event)

    async def text(self) -> AsyncIterator[str]:
        """Yield the visible text of the first choice as it arrives, without reasoning; never an empty string."""
        self._begin_text()
        while (piece := await self._drive(self._next_text_flow())) is not None:
            yield piece

    async def response(self) -> Converted[ModelT_co]:
        """Read the rest and return the whole answer in the caller's format."""
        await self._drive(self._read_rest_flow())
        return cast("Converted[ModelT_co]", self._incoming.response())

    async def close(self) -> None:
        """Close the stream, even if the caller is cancelled meanwhile. Further calls have no effect."""
        if self._http is not None:
            await drive_async(self._close_flow(), self._http, self._clock)

    async def _drive(self, flow: Flow[T]) -> T:
        return await drive_async(flow, self._open_http(), self._clock)
