"""Drivers of a flow for an SDK's request, sync and async, and its response stream. The transport and the gateway use them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from formatbridge.client.calls import Call, Head
from formatbridge.client.sdk_requests import ReadBody, SDKFlow, SDKResponse
from formatbridge.convert.bodies import Converted
from formatbridge.errors import APIError, StreamError, TruncatedStreamError


class SDKExchange(Protocol):
    """The HTTP exchanges of one request. A failure may raise ``APIError``, which the flow then handles."""

    def send(self, call: Call) -> Head:
        """Close the answer of the last call, send a call, and return the head of its answer."""

    def next_chunk(self) -> bytes | None:
        """Return the next decompressed chunk of the body; None at its end."""

    def close(self) -> None:
        """Close the answer."""


class AsyncSDKExchange(Protocol):
    """The HTTP exchanges of one request, for an async driver."""

    async def send(self, call: Call) -> Head:
        """Close the answer of the last call, send a call, and return the head of its answer."""

    async def next_chunk(self) -> bytes | None:
        """Return the next decompressed chunk of the body; None at its end."""

    async def close(self) -> None:
        """Close the answer."""


def run_flow(flow: SDKFlow, exchange: SDKExchange) -> SDKResponse:
    """Run a flow to its response. The exchange is closed, except for a stream, which the caller reads."""
    result: Head | bytes | None = None
    failure: APIError | None = None
    is_stream = False
    try:
        while True:
            try:
                step = flow.send(result) if failure is None else flow.throw(failure)
            except StopIteration as end:
                response: SDKResponse = end.value
                is_stream = response.converter is not None
                return response
            try:
                result = _read(exchange, step.max_bytes) if isinstance(step, ReadBody) else exchange.send(step)
                failure = None
            except APIError as error:
                failure = error
    finally:
        flow.close()  # after an exception of a step, the flow is still open
        if not is_stream:
            exchange.close()


async def run_flow_async(flow: SDKFlow, exchange: AsyncSDKExchange) -> SDKResponse:
    """Run a flow to its response with async I/O. The exchange is closed, except for a stream, which the caller reads."""
    result: Head | bytes | None = None
    failure: APIError | None = None
    is_stream = False
    try:
        while True:
            try:
                step = flow.send(result) if failure is None else flow.throw(failure)
            except StopIteration as end:
                response: SDKResponse = end.value
                is_stream = response.converter is not None
                return response
            try:
                result = await _read_async(exchange, step.max_bytes) if isinstance(step, ReadBody) else await exchange.send(step)
                failure = None
            except APIError as error:
                failure = error
    finally:
        flow.close()
        if not is_stream:
            await exchange.close()


def _read(exchange: SDKExchange, max_bytes: int) -> bytes:
    """Read a body to its end, or until it has more than ``max_bytes`` bytes."""
    pieces, remaining = [], max_bytes
    while remaining >= 0 and (piece := exchange.next_chunk()) is not None:
        pieces.append(piece)
        remaining -= len(piece)
    return b"".join(pieces)


async def _read_async(exchange: AsyncSDKExchange, max_bytes: int) -> bytes:
    pieces, remaining = [], max_bytes
    while remaining >= 0 and (piece := await exchange.next_chunk()) is not None:
        pieces.append(piece)
        remaining -= len(piece)
    return b"".join(pieces)


class ResponseStream:
    """Converts the endpoint's stream for an SDK. A truncated stream ends in an error event, for which the SDK raises an exception.

    ``report`` is called once with the answer.
    """

    def __init__(self, answer: SDKResponse, report: Callable[[Converted], object] | None) -> None:
        assert answer.converter is not None
        self._converter = answer.converter
        self._mask = answer.mask
        self._encode_error_event = answer.encode_error_event
        self._report = report
        self._span = answer.span
        self._failure: StreamError | APIError | None = None

    def feed(self, chunk: bytes) -> bytes:
        """Convert a chunk. From the first error on, mask the key. Raise ``StreamError`` on invalid data."""
        if self._span is not None and chunk:
            self._span.first_chunk()
        try:
            converted = self._converter.feed(chunk)
        except StreamError as error:
            self._failure = error
            raise
        return self._mask.body(converted) if self._converter.error is not None else converted

    def finish(self, *, is_broken: bool, cause: APIError | None = None) -> bytes:
        """Return the last bytes. Raise ``StreamError`` on invalid data.

        ``is_broken``: the connection broke, or a time limit passed, before the end of the bytes. ``cause``: the error, if it is known.
        """
        try:
            converted = self._end(is_broken=is_broken, cause=cause)
        except TruncatedStreamError as error:
            converted, self._failure = error.tail, cause or error
        except StreamError as error:
            self._failure = error
            raise
        self.report()
        if self._encode_error_event is not None and self._converter.error is not None:
            converted += self._encode_error_event(self._converter.error)
        return self._mask.body(converted)

    def _end(self, *, is_broken: bool, cause: APIError | None) -> bytes:
        """Return the last bytes of the converter; raise an error if the connection broke before the end of the stream."""
        if not is_broken:
            return self._converter.finish()
        self._converter.feed(b"")  # raises a decoding error of earlier bytes, which the break did not cause
        truncated = self._converter.abort(cause)
        if self._converter.is_over:
            return truncated.tail
        raise truncated

    def report(self) -> None:
        """Report the partial or whole answer, once. Some SDKs stop reading before the last byte."""
        self._end_span()
        report, self._report = self._report, None
        if report is not None:
            report(self._converter.response())

    def _end_span(self) -> None:
        """Record the end of the stream, once."""
        span, self._span = self._span, None
        if span is None:
            return
        failure = self._failure or self._converter.error
        if failure is None and self._converter.is_over:
            span.succeed(self._converter.source_response())
        else:
            span.fail(failure, self._converter.source_response())
