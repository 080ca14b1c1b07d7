"""Reading streams: collected to one whole answer, or as typed events one by one."""

from __future__ import annotations

from collections.abc import AsyncIterable, AsyncIterator, Coroutine, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cache
from typing import TYPE_CHECKING, Any, Literal, TypedDict, Unpack, overload

from pydantic import BaseModel, TypeAdapter, ValidationError

from formatbridge import formats
from formatbridge.arguments import bytes_of, checked_chunks
from formatbridge.convert.bodies import Converted, ConvertedRequest, checked_request
from formatbridge.convert.event_validation import PARTS, event_type, read_event, refusal
from formatbridge.convert.input import check_error
from formatbridge.convert.stream_reader import StreamSource, unbroken, unbroken_async
from formatbridge.convert.streams import whole_of
from formatbridge.errors import LossyConversionError, StreamError, StreamFailedError, TruncatedStreamError
from formatbridge.formats.format import FormatOrName, FormatSpec
from formatbridge.options import Options, options_of
from formatbridge.streaming.sse import ServerSentEvent, StreamReader, is_json_event
from formatbridge.validation.error_messages import problems_of
from formatbridge.validation.malformed_fields import repair
from formatbridge.validation.wire_base import Unknown

if TYPE_CHECKING:
    from formatbridge.formats import typed_models as wires


class CollectArguments(TypedDict, total=False):
    """The optional arguments of ``collect_stream``."""

    request: ConvertedRequest | None
    options: Options | None


@overload
def collect_stream(
    chunks: Iterable[bytes], *, source: FormatOrName, target: Literal["chat_completions"], **arguments: Unpack[CollectArguments]
) -> Converted[wires.chat_completions.Response]: ...


@overload
def collect_stream(
    chunks: Iterable[bytes], *, source: Literal["chat_completions"], target: None = None, **arguments: Unpack[CollectArguments]
) -> Converted[wires.chat_completions.Response]: ...


@overload
def collect_stream(
    chunks: Iterable[bytes], *, source: FormatOrName, target: Literal["messages"], **arguments: Unpack[CollectArguments]
) -> Converted[wires.messages.Response]: ...


@overload
def collect_stream(
    chunks: Iterable[bytes], *, source: Literal["messages"], target: None = None, **arguments: Unpack[CollectArguments]
) -> Converted[wires.messages.Response]: ...


@overload
def collect_stream(
    chunks: Iterable[bytes], *, source: FormatOrName, target: Literal["responses"], **arguments: Unpack[CollectArguments]
) -> Converted[wires.responses.Response]: ...


@overload
def collect_stream(
    chunks: Iterable[bytes], *, source: Literal["responses"], target: None = None, **arguments: Unpack[CollectArguments]
) -> Converted[wires.responses.Response]: ...


@overload
def collect_stream(
    chunks: Iterable[bytes], *, source: FormatOrName, target: Literal["generate_content"], **arguments: Unpack[CollectArguments]
) -> Converted[wires.generate_content.Response]: ...


@overload
def collect_stream(
    chunks: Iterable[bytes], *, source: Literal["generate_content"], target: None = None, **arguments: Unpack[CollectArguments]
) -> Converted[wires.generate_content.Response]: ...


@overload
def collect_stream(
    chunks: Iterable[bytes], *, source: FormatOrName, target: FormatOrName | None = None, **arguments: Unpack[CollectArguments]
) -> Converted: ...


@overload
def collect_stream(
    chunks: AsyncIterable[bytes],
    *,
    source: FormatOrName,
    target: Literal["chat_completions"],
    **arguments: Unpack[CollectArguments],
) -> Coroutine[Any, Any, Converted[wires.chat_completions.Response]]: ...


@overload
def collect_stream(
    chunks: AsyncIterable[bytes], *, source: Literal["chat_completions"], target: None = None, **arguments: Unpack[CollectArguments]
) -> Coroutine[Any, Any, Converted[wires.chat_completions.Response]]: ...


@overload
def collect_stream(
    chunks: AsyncIterable[bytes], *, source: FormatOrName, target: Literal["messages"], **arguments: Unpack[CollectArguments]
) -> Coroutine[Any, Any, Converted[wires.messages.Response]]: ...


@overload
def collect_stream(
    chunks: AsyncIterable[bytes], *, source: Literal["messages"], target: None = None, **arguments: Unpack[CollectArguments]
) -> Coroutine[Any, Any, Converted[wires.messages.Response]]: ...


@overload
def collect_stream(
    chunks: AsyncIterable[bytes], *, source: FormatOrName, target: Literal["responses"], **arguments: Unpack[CollectArguments]
) -> Coroutine[Any, Any, Converted[wires.responses.Response]]: ...


@overload
def collect_stream(
    chunks: AsyncIterable[bytes], *, source: Literal["responses"], target: None = None, **arguments: Unpack[CollectArguments]
) -> Coroutine[Any, Any, Converted[wires.responses.Response]]: ...


@overload
def collect_stream(
    chunks: AsyncIterable[bytes],
    *,
    source: FormatOrName,
    target: Literal["generate_content"],
    **arguments: Unpack[CollectArguments],
) -> Coroutine[Any, Any, Converted[wires.generate_content.Response]]: ...


@overload
def collect_stream(
    chunks: AsyncIterable[bytes], *, source: Literal["generate_content"], target: None = None, **arguments: Unpack[CollectArguments]
) -> Coroutine[Any, Any, Converted[wires.generate_content.Response]]: ...


@overload
def collect_stream(
    chunks: AsyncIterable[bytes], *, source: FormatOrName, target: FormatOrName | None = None, **arguments: Unpack[CollectArguments]
) -> Coroutine[Any, Any, Converted]: ...


def collect_stream(
    chunks: Iterable[bytes] | AsyncIterable[bytes],
    *,
    source: FormatOrName,
    target: FormatOrName | None = None,
    request: ConvertedRequest | None = None,
    options: Options | None = None,
) -> Converted | Coroutine[Any, Any, Converted]:
    """Collect a stream to one answer; await it for an async iterable.

    ``request`` is the converted request that the stream answers: tool names are restored as in ``convert_response``.
    A truncated stream raises ``TruncatedStreamError``, or ends with finish reason ``length`` with ``on_truncated="close"``. An error in the
    stream raises ``StreamFailedError``. Both have the answer so far in ``partial``. An exception of the iterable is the cause of a
    ``TruncatedStreamError``; with ``on_truncated="close"`` its ``partial`` has an end.
    """
    source_format = formats.load(source)
    target_format = formats.load(target) if target is not None else source_format
    reading = _Reading(
        StreamSource(source_format), target_format, checked_request(request, source_format, target_format), options_of(options)
    )
    chunks = checked_chunks(chunks)
    if isinstance(chunks, AsyncIterable):
        return _collect_async(chunks, reading)
    with reading.setting_partial():
        for chunk in unbroken(chunks, reading.broken):
            reading.take(chunk)
    return reading.whole()


async def _collect_async(chunks: AsyncIterable[bytes], reading: _Reading) -> Converted:
    with reading.setting_partial():
        async for chunk in unbroken_async(chunks, reading.broken):
            reading.take(chunk)
    return reading.whole()


@dataclass(frozen=True, slots=True)
class _Reading:
    """A stream that is read to its end and collected to one answer."""

    held: StreamSource
    target_format: FormatSpec
    request: ConvertedRequest | None
    options: Options

    @contextmanager
    def setting_partial(self) -> Iterator[None]:
        """Set ``partial`` of an error to the answer so far."""
        try:
            yield
        except (StreamError, LossyConversionError) as error:
            error.partial = self._so_far()
            raise

    def broken(self, cause: Exception) -> TruncatedStreamError:
        """End the answer at a broken connection, and return the error for it."""
        self._end(is_break=True)
        return self.held.truncated(self._so_far(), cause=cause)

    def take(self, chunk: bytes) -> None:
        """Read bytes."""
        for event in self.held.read(bytes_of(chunk)):
            self.held.decode(event)

    def whole(self) -> Converted:
        """Read the end of the bytes and return the answer."""
        with self.setting_partial():
            for event in self.held.read_rest():
                self.held.decode(event)
            self._end()
            if self.held.is_complete and not self.held.error:
                return whole_of(self.held, self.target_format, self.request, self.options)
        partial = self._so_far()
        raise StreamFailedError(self.held.error, partial=partial) if self.held.error else self.held.truncated(partial)

    def _end(self, *, is_break: bool = False) -> None:
        closes = self.options.on_truncated == "close"
        self.held.end(closes=closes, is_break=is_break and not closes)

    def _so_far(self) -> Converted:
        return whole_of(self.held, self.target_format, self.request, replace(self.options, raise_on=None))


@overload
def iter_events(
    chunks: Iterable[bytes], *, format: Literal["chat_completions"]
) -> Iterator[wires.chat_completions.StreamEvent]: ...


@overload
def iter_events(chunks: Iterable[bytes], *, format: Literal["messages"]) -> Iterator[wires.messages.StreamEvent]: ...


@overload
def iter_events(chunks: Iterable[bytes], *, format: Literal["responses"]) -> Iterator[wires.responses.StreamEvent]: ...


@overload
def iter_events(
    chunks: Iterable[bytes], *, format: Literal["generate_content"]
) -> Iterator[wires.generate_content.StreamEvent]: ...


@overload
def iter_events(chunks: Iterable[bytes], *, format: FormatOrName) -> Iterator[BaseModel]: ...


@overload
def iter_events(
    chunks: AsyncIterable[bytes], *, format: Literal["chat_completions"]
) -> AsyncIterator[wires.chat_completions.StreamEvent]: ...


@overload
def iter_events(chunks: AsyncIterable[bytes], *, format: Literal["messages"]) -> AsyncIterator[wires.messages.StreamEvent]: ...


@overload
def iter_events(chunks: AsyncIterable[bytes], *, format: Literal["responses"]) -> AsyncIterator[wires.responses.StreamEvent]: ...


@overload
def iter_events(
    chunks: AsyncIterable[bytes], *, format: Literal["generate_content"]
) -> AsyncIterator[wires.generate_content.StreamEvent]: ...


@overload
def iter_events(chunks: AsyncIterable[bytes], *, format: FormatOrName) -> AsyncIterator[BaseModel]: ...


def iter_events(
    chunks: Iterable[bytes] | AsyncIterable[bytes], *, format: FormatOrName
) -> Iterator[BaseModel] | AsyncIterator[BaseModel]:
    """Yield the typed events of a stream in its own format: an async iterator for an async iterable.

    ``[DONE]`` and empty events are left out. An error in the stream is its last event. A truncated stream raises ``TruncatedStreamError``
    after its last whole event, with the answer so far in ``partial``. An exception of the iterable is its cause.
    """
    source_format = formats.load(format)
    reading = _Reading(StreamSource(source_format), source_format, None, Options())
    chunks = checked_chunks(chunks)
    if isinstance(chunks, AsyncIterable):
        return _typed_events_async(chunks, reading)
    return _typed_events(chunks, reading)


def _typed_events(chunks: Iterable[bytes], reading: _Reading) -> Iterator[BaseModel]:
    with reading.setting_partial():
        for chunk in unbroken(chunks, reading.broken):
            yield from _typed(reading.held.read(bytes_of(chunk)), reading.held)
        yield from _typed(reading.held.read_rest(), reading.held)
    _check_end(reading)


async def _typed_events_async(chunks: AsyncIterable[bytes], reading: _Reading) -> AsyncIterator[BaseModel]:
    with reading.setting_partial():
        async for chunk in unbroken_async(chunks, reading.broken):
            for event in _typed(reading.held.read(bytes_of(chunk)), reading.held):
                yield event
        for event in _typed(reading.held.read_rest(), reading.held):
            yield event
    _check_end(reading)


def _typed(read: list[ServerSentEvent], held: StreamSource) -> Iterator[BaseModel]:
    """Read each event twice: as a conversion does, to detect the end of the stream, and as the model for the caller."""
    for event in read:
        held.decode(event)
        if is_json_event(event):
            yield typed_event(held.as_read(event), held.near)


def _check_end(reading: _Reading) -> None:
    """Raise ``TruncatedStreamError`` where the stream has no end."""
    reading.held.end()
    if not reading.held.is_complete:
        raise reading.held.truncated(whole_of(reading.held, reading.target_format, None, reading.options))


class EventReader:
    """Reads the bytes of a stream in its own format, in any pieces, as typed events; ``[DONE]`` is left out.

    It does not detect truncated streams: it is for streams that were checked before.
    """

    def __init__(self, format: FormatOrName) -> None:
        self._format = formats.load(format)
        self._reader = StreamReader()

    def feed(self, chunk: bytes) -> list[BaseModel]:
        """Read bytes and return the events that they complete."""
        return [typed_event(event, self._format) for event in self._reader.feed(chunk) if is_json_event(event)]

    def finish(self) -> list[BaseModel]:
        """Read the end of the bytes and return the last events."""
        return [typed_event(event, self._format) for event in self._reader.finish() if is_json_event(event)]


def typed_event(event: ServerSentEvent, format: FormatSpec) -> BaseModel:
    """Return an event as the model of its format, also for an error of another shape; raise ``StreamDecodeError`` for any other event.

    The model has no malformed details. An event with nothing but malformed details is an ``Unknown`` with all its fields.
    """
    _, raw = read_event(event, format)
    validate = _events_of(format).validate_python
    try:
        return validate(raw)
    except ValidationError:
        if raw.get("error"):
            return validate(check_error({"error": raw["error"]}, format)[0])
        repaired = repair(event_type(format), raw, parts=PARTS)
        if repaired is None and not format.recognizes_event(raw):
            raise refusal(event, format.name, problems_of(event_type(format), raw)) from None
    try:
        return validate(raw if repaired is None else repaired.body)
    except ValidationError:
        return Unknown.model_validate(raw)


@cache
def _events_of(format: FormatSpec) -> TypeAdapter[BaseModel]:
    return TypeAdapter(event_type(format))
