"""Streams from one format to another: bytes in, bytes out, at any cut.

The losses of a stream are those of its whole answer: the events are collected as they pass, and the report is worked out on what they add
up to, when somebody asks.
"""

from __future__ import annotations

from collections.abc import AsyncIterable, AsyncIterator, Iterable, Iterator
from dataclasses import replace
from functools import cache
from importlib import import_module
from typing import Any, cast

from pydantic import BaseModel, TypeAdapter, ValidationError

from formatbridge import formats, ir
from formatbridge.convert import Converted, ConvertedRequest, check, encode_answer, options_of, read_body, source_of
from formatbridge.errors import ConfigurationError, StreamDecodeError, TruncatedStreamError
from formatbridge.formats import _codec
from formatbridge.ir import events
from formatbridge.losses import UNSEEN, Addition, Ledger, Loss, unescape
from formatbridge.options import Options
from formatbridge.streaming.collect import Collector, replay
from formatbridge.streaming.sse import DONE, ServerSentEvent, StreamReader, encode_crlf_event, encode_event

JsonObject = dict[str, Any]

_SNIPPET = 200
_TRUNCATED = ir.Error(
    kind="server", message="the stream ended before its answer was complete", code="stream_truncated", family="detail"
)


class StreamConverter:
    """Turns the stream of one format into that of another; sans-IO.

    ``feed`` takes any piece of the source's bytes and returns server-sent events of the target. ``finish`` says that no more bytes will
    come; it raises ``TruncatedStreamError`` where the source had not ended (or closes the answer with finish reason ``length``, where
    ``Options(on_truncated="close")`` says so). An error event of the source becomes the target's, ends the stream and stays in ``error``.
    """

    def __init__(
        self, *, source: str, target: str, request: ConvertedRequest | None = None, options: Options | None = None
    ) -> None:
        if request is not None and not isinstance(request, ConvertedRequest):
            raise ConfigurationError(f"request is a {type(request).__name__}, expected what convert_request returned")
        self._near, self._far = formats.load(source), formats.load(target)
        self._request = request
        self._options = options_of(options)
        self._reader = StreamReader()
        self._decoder = self._near.StreamDecoder()
        self._encoder = self._far.StreamEncoder(self._options, request.context if request else None)
        self._collector = Collector(self._near.NAME)
        self._is_over = False
        #: The error that the source's stream brought; None: none yet.
        self.error: ir.Error | None = None

    def feed(self, chunk: bytes) -> bytes:
        """Take bytes of the source and return those of the target that they make possible; perhaps none."""
        return b"".join([self._convert(event) for event in self._reader.feed(chunk)])

    def finish(self) -> bytes:
        """Take the end of the bytes."""
        made = b"".join([self._convert(event, is_last=True) for event in self._reader.finish()])
        made += self._encode(self._decoder.finish())
        if self._decoder.is_complete or self._is_over:
            return made
        if self._options.on_truncated == "close":
            return made + self._close()
        tail = self._encoder.fail(_TRUNCATED)
        raise TruncatedStreamError(self._near.NAME, partial=self.response(), tail=made + tail)

    @property
    def losses(self) -> tuple[Loss, ...]:
        """What the target could not hold of the answer so far."""
        return self.response().losses

    @property
    def additions(self) -> tuple[Addition, ...]:
        """What the target demanded and the answer so far lacks."""
        return self.response().additions

    def response(self) -> Converted:
        """Return the whole answer so far, in the target format."""
        return _whole(self._collector.response(), self._near.NAME, self._far.NAME, self._request, self._options)

    def _convert(self, event: ServerSentEvent, *, is_last: bool = False) -> bytes:
        if self._is_over:
            return b""
        if event.data == DONE:
            happened = self._decoder.done()
        elif not event.data.strip():
            return b""
        else:
            happened = self._decode(event, is_last)
        if self._near is self._far:
            self._collect(happened)
            return _again(event, self._near.NAME)
        return self._encode(happened)

    def _decode(self, event: ServerSentEvent, is_last: bool) -> list[events.Event]:
        try:
            return self._decoder.feed(self._parse(event, is_last))
        except StreamDecodeError as error:
            error.offset = event.offset
            raise

    def _parse(self, event: ServerSentEvent, is_last: bool) -> dict[str, Any]:
        try:
            value = _codec.loads(event.data)
        except _codec.NotJsonError as error:
            if is_last:  # the bytes were cut inside an event
                return {}
            raise StreamDecodeError(error.message, offset=event.offset, snippet=event.data[:_SNIPPET]) from None
        if not isinstance(value, dict):
            message = f"is {_codec.describe(value)}, expected an object"
            raise StreamDecodeError(message, offset=event.offset, snippet=event.data[:_SNIPPET])
        return value

    def _collect(self, happened: list[events.Event]) -> None:
        for event in happened:
            self._collector.feed(event)
            if isinstance(event, events.Failed):
                self.error = event.error
            if isinstance(event, events.Failed | events.End):
                self._is_over = self._near is not self._far

    def _encode(self, happened: list[events.Event]) -> bytes:
        self._collect(happened)
        if self._near is self._far:
            return b""
        return b"".join([self._encoder.feed(event) for event in happened])

    def _close(self) -> bytes:
        """End an answer that was cut, as one that ran out of tokens."""
        held = self._collector.response()
        happened: list[events.Event] = [
            events.PartEnd(choice.index, number) for choice in held.choices for number, _ in enumerate(choice.parts)
        ]
        happened += [events.Finished(choice.index, ir.Finish("length")) for choice in held.choices]
        return self._encode([*happened, events.End()])


def _again(event: ServerSentEvent, format: ir.Format) -> bytes:
    """Write an event of the same format again."""
    if format == "generate_content":
        return encode_crlf_event(event.data)
    return encode_event(event.data, event.event or None)


def _whole(
    answer: ir.Response, source: ir.Format, target: ir.Format, request: ConvertedRequest | None, options: Options
) -> Converted:
    """Convert a collected answer as if it had come whole; the report points into the body that it would have been."""
    losses = Ledger(UNSEEN, formats.load(source).SPELLING)
    context = request.context if request else None
    if source != target:
        return encode_answer(answer, formats.load(target), losses, options, context)
    bare, own = _without_own_fields(answer)
    made = encode_answer(bare, formats.load(target), losses, options, context)
    for pointer, value in own.items():
        _put(made.body, pointer, value)
    return made


def _without_own_fields(answer: ir.Response) -> tuple[ir.Response, JsonObject]:
    """Take from an answer its id and the fields that only its own format knows, by their pointers; what stands in a list stays."""
    own: JsonObject = {}
    if answer.id:
        own["/responseId" if answer.format == "generate_content" else "/id"] = answer.id

    def bare(node: Any) -> Any:
        kept: JsonObject = {}
        for name, value in (node.extra or {}).items():
            if any(step.isdigit() or not step for step in name.split("/")):
                kept[name] = value
            else:
                own[f"{node.src}/{name}"] = value
        return replace(node, extra=kept or None)

    made = replace(bare(answer), choices=[bare(choice) for choice in answer.choices], usage=answer.usage and bare(answer.usage))
    return made, own


def _put(body: Any, pointer: str, value: Any) -> None:
    """Set a value in a body; objects on the way that are not there are made."""
    *way, last = [unescape(step) for step in pointer.split("/")[1:]]
    for step in way:
        body = body[int(step)] if isinstance(body, list) else body.setdefault(step, {})
    body[last] = value


def convert_stream(
    chunks: Any,
    *,
    source: str,
    target: str,
    request: ConvertedRequest | None = None,
    options: Options | None = None,
) -> Any:
    """Convert a stream of bytes: an iterator for an iterable, an async iterator for an async iterable."""
    converter = StreamConverter(source=source, target=target, request=request, options=options)
    if isinstance(chunks, AsyncIterable):
        return _convert_async(chunks, converter)
    return _convert_sync(chunks, converter)


def _convert_sync(chunks: Iterable[bytes], converter: StreamConverter) -> Iterator[bytes]:
    for chunk in chunks:
        made = converter.feed(chunk)
        if made:
            yield made
    made = converter.finish()
    if made:
        yield made


async def _convert_async(chunks: AsyncIterable[bytes], converter: StreamConverter) -> AsyncIterator[bytes]:
    async for chunk in chunks:
        made = converter.feed(chunk)
        if made:
            yield made
    made = converter.finish()
    if made:
        yield made


def collect_stream(chunks: Any, *, source: str, target: str | None = None, options: Options | None = None) -> Any:
    """Collect a stream to one answer; await it for an async iterable."""
    converter = StreamConverter(source=source, target=target or source, options=options)
    if isinstance(chunks, AsyncIterable):
        return _collect_async(chunks, converter)
    for chunk in chunks:
        converter.feed(chunk)
    converter.finish()
    return converter.response()


async def _collect_async(chunks: AsyncIterable[bytes], converter: StreamConverter) -> Converted:
    async for chunk in chunks:
        converter.feed(chunk)
    converter.finish()
    return converter.response()


def replay_response(
    body: Any, *, source: str | None = None, target: str | None = None, options: Options | None = None
) -> Iterator[bytes]:
    """Turn a whole answer into a stream of the target format, one event per part of it.

    What the target cannot hold is what ``convert_response`` reports of the same body; ``Options(raise_on=...)`` raises here.
    """
    near = formats.load(source_of(body, source))
    far = formats.load(target) if target is not None else near
    chosen = options_of(options)
    raw = read_body(body, near.NAME, "response")
    answer = near.decode_response(check(raw, near.NAME, "response"))
    encode_answer(answer, far, Ledger(raw, near.SPELLING), chosen, None, body)
    encoder = cast(Any, far).StreamEncoder(chosen, None)
    return (made for event in replay(answer) if (made := encoder.feed(event)))


def iter_events(chunks: Iterable[bytes], *, format: str) -> Iterator[BaseModel]:
    """Yield the typed events of a stream in its own format; ``[DONE]`` and empty events are left out."""
    adapter = _events_of(formats.load(format).NAME)
    reader = StreamReader()
    for chunk in chunks:
        yield from _typed(reader.feed(chunk), adapter)
    yield from _typed(reader.finish(), adapter)


@cache
def _events_of(format: ir.Format) -> TypeAdapter[BaseModel]:
    wire = import_module(f"formatbridge.formats.{format}.wire")
    return TypeAdapter(wire.StreamEvent)


def _typed(read: list[ServerSentEvent], adapter: TypeAdapter[BaseModel]) -> Iterator[BaseModel]:
    for event in read:
        if event.data == DONE or not event.data.strip():
            continue
        try:
            yield adapter.validate_python(_codec.loads(event.data))
        except (_codec.NotJsonError, ValidationError) as error:
            message = (
                error.message
                if isinstance(error, _codec.NotJsonError)
                else f"is no event of the format: {error.errors()[0]['msg']}"
            )
            raise StreamDecodeError(message, offset=event.offset, snippet=event.data[:_SNIPPET]) from None
