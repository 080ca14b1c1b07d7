"""Reading streams: collected to one whole answer, or as typed events one by one."""

from __future__ import annotations

from collections.abc import AsyncIterable, AsyncIterator, Coroutine, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any, TypedDict, Unpack, overload

from pydantic import BaseModel, TypeAdapter, ValidationError

from formatbridge import formats
from formatbridge.arguments import bytes_of, checked_chunks
from formatbridge.convert.bodies import Converted, ConvertedRequest, checked_request
from formatbridge.convert.event_parser import PARTS, event_type, read_chunks, read_chunks_async, read_event, refusal
from formatbridge.convert.input import check_error
from formatbridge.convert.stream_reader import StreamSource
from formatbridge.convert.streams import convert_accumulated
from formatbridge.errors import LossyConversionError, StreamError, StreamFailedError, TruncatedStreamError
from formatbridge.formats.format import FormatSpec
from formatbridge.formats.target import FormatOrName, ToChatCompletions, ToGenerateContent, ToMessages, ToResponses
from formatbridge.options import Options, options_of, without_raise_on
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
    chunks: Iterable[bytes], *, source: FormatOrName, target: ToChatCompletions, **arguments: Unpack[CollectArguments]
) -> Converted[wires.chat_completions.Response]: ...


@overload
def collect_stream(
    chunks: Iterable[bytes], *, source: ToChatCompletions, target: None = None, **arguments: Unpack[CollectArguments]
) -> Converted[wires.chat_completions.Response]: ...


@overload
def collect_stream(
    chunks: Iterable[bytes], *, source: FormatOrName, target: ToMessages, **arguments: Unpack[CollectArguments]
) -> Converted[wires.messages.Response]: ...


@overload
def collect_stream(
    chunks: Iterable[bytes], *, source: ToMessages, target: None = None, **arguments: Unpack[CollectArguments]
) -> Converted[wires.messages.Response]: ...


@overload
def collect_stream(
    chunks: Iterable[bytes], *, source: FormatOrName, target: ToResponses, **arguments: Unpack[CollectArguments]
) -> Converted[wires.responses.Response]: ...


@overload
def collect_stream(
    chunks: Iterable[bytes], *, source: ToResponses, target: None = None, **arguments: Unpack[CollectArguments]
) -> Converted[wires.responses.Response]: ...


@overload
def collect_stream(
    chunks: Iterable[bytes], *, source: FormatOrName, target: ToGenerateContent, **arguments: Unpack[CollectArguments]
) -> Converted[wires.generate_content.Response]: ...


@overload
def collect_stream(
    chunks: Iterable[bytes], *, source: ToGenerateContent, target: None = None, **arguments: Unpack[CollectArguments]
) -> Converted[wires.generate_content.Response]: ...


@overload
def collect_stream(
    chunks: Iterable[bytes], *, source: FormatOrName, target: FormatOrName | None = None, **arguments: Unpack[CollectArguments]
) -> Converted: ...


@overload
def collect_stream(
    chunks: AsyncIterable[bytes], *, source: FormatOrName, target: ToChatCompletions, **arguments: Unpack[CollectArguments]
) -> Coroutine[Any, Any, Converted[wires.chat_completions.Response]]: ...


@overload
def collect_stream(
    chunks: AsyncIterable[bytes], *, source: ToChatCompletions, target: None = None, **arguments: Unpack[CollectArguments]
) -> Coroutine[Any, Any, Converted[wires.chat_completions.Response]]: ...


@overload
def collect_stream(
    chunks: AsyncIterable[bytes], *, source: FormatOrName, target: ToMessages, **arguments: Unpack[CollectArguments]
) -> Coroutine[Any, Any, Converted[wires.messages.Response]]: ...


@overload
def collect_stream(
    chunks: AsyncIterable[bytes], *, source: ToMessages, target: None = None, **arguments: Unpack[CollectArguments]
) -> Coroutine[Any, Any, Converted[wires.messages.Response]]: ...


@overload
def collect_stream(
    chunks: AsyncIterable[bytes], *, source: FormatOrName, target: ToResponses, **arguments: Unpack[CollectArguments]
) -> Coroutine[Any, Any, Converted[wires.responses.Response]]: ...


@overload
def collect_stream(
    chunks: AsyncIterable[bytes], *, source: ToResponses, target: None = None, **arguments: Unpack[CollectArguments]
) -> Coroutine[Any, Any, Converted[wires.responses.Response]]: ...


@overload
def collect_stream(
    chunks: AsyncIterable[bytes], *, source: FormatOrName, target: ToGenerateContent, **arguments: Unpack[CollectArguments]
) -> Coroutine[Any, Any, Converted[wires.generate_content.Response]]: ...


@overload
def collect_stream(
    chunks: AsyncIterable[bytes], *, source: ToGenerateContent, target: None = None, **arguments: Unpack[CollectArguments]
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
    stream raises ``StreamFailedError``. Both have the partial answer in ``partial``. An exception of the iterable is the cause of a
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
        for chunk in read_chunks(chunks, reading.broken):
            reading.take(chunk)
    return reading.whole()


async def _collect_async(chunks: AsyncIterable[bytes], reading: _Reading) -> Converted:
    with reading.setting_partial():
        async for chunk in read_chunks_async(chunks, reading.broken):
            reading.take(chunk)
    return reading.whole()


@dataclass(frozen=True, slots=True)
class _Reading:
    """A stream that is read to its end and collected to one answer."""

    source: StreamSource
    target_format: FormatSpec
    request: ConvertedRequest | None
    options: Options

    @contextmanager
    def setting_partial(self) -> Iterator[None]:
        """Set ``partial`` of an error to the partial answer."""
        try:
            yield
        except (StreamError, LossyConversionError) as error:
            error.partial = self._partial()
            raise

    def broken(self, cause: Exception) -> TruncatedStreamError:
        """End the answer at a broken connection, and return the error for it."""
        self._end(is_break=True)
        return self.source.truncated(self._partial(), cause=cause)

    def take(self, chunk: bytes) -> None:
        """Read bytes."""
        for event in self.source.read(bytes_of(chunk)):
            self.source.decode(event)

    def whole(self) -> Converted:
        """Read the end of the bytes and return the answer."""
        with self.setting_partial():
            for event in self.source.read_rest():
                self.source.decode(event)
            self._end()
            if self.source.is_complete and not self.source.error:
                return convert_accumulated(self.source, self.target_format, self.request, self.options)
        partial = self._partial()
        raise StreamFailedError(self.source.error, partial=partial) if self.source.error else self.source.truncated(partial)

    def _end(self, *, is_break: bool = False) -> None:
        closes = self.options.on_truncated == "close"
        self.source.end(closes=closes, is_break=is_break and not closes)

    def _partial(self) -> Converted:
        return convert_accumulated(self.source, self.target_format, self.request, without_raise_on(self.options))


@overload
def iter_events(chunks: Iterable[bytes], *, format: ToChatCompletions) -> Iterator[wires.chat_completions.StreamEvent]: ...


@overload
def iter_events(chunks: Iterable[bytes], *, format: ToMessages) -> Iterator[wires.messages.StreamEvent]: ...


@overload
def iter_events(chunks: Iterable[bytes], *, format: ToResponses) -> Iterator[wires.responses.StreamEvent]: ...


@overload
def iter_events(chunks: Iterable[bytes], *, format: ToGenerateContent) -> Iterator[wires.generate_content.StreamEvent]: ...


@overload
def iter_events(chunks: Iterable[bytes], *, format: FormatOrName) -> Iterator[BaseModel]: ...


@overload
def iter_events(
    chunks: AsyncIterable[bytes], *, format: ToChatCompletions
) -> AsyncIterator[wires.chat_completions.StreamEvent]: ...


@overload
def iter_events(chunks: AsyncIterable[bytes], *, format: ToMessages) -> AsyncIterator[wires.messages.StreamEvent]: ...


@overload
def iter_events(chunks: AsyncIterable[bytes], *, format: ToResponses) -> AsyncIterator[wires.responses.StreamEvent]: ...


@overload
def iter_events(
    chunks: AsyncIterable[bytes], *, format: ToGenerateContent
) -> AsyncIterator[wires.generate_content.StreamEvent]: ...


@overload
def iter_events(chunks: AsyncIterable[bytes], *, format: FormatOrName) -> AsyncIterator[BaseModel]: ...


def iter_events(
    chunks: Iterable[bytes] | AsyncIterable[bytes], *, format: FormatOrName
) -> Iterator[BaseModel] | AsyncIterator[BaseModel]:
    """Yield the typed events of a stream: an async iterator for an async iterable.

    ``[DONE]`` and empty events are left out. An error in the stream is its last event. A truncated stream raises ``TruncatedStreamError``
    after its last whole event, with the partial answer in ``partial``. An exception of the iterable is its cause.
    """
    source_format = formats.load(format)
    reading = _Reading(StreamSource(source_format), source_format, None, Options())
    chunks = checked_chunks(chunks)
    if isinstance(chunks, AsyncIterable):
        return _typed_events_async(chunks, reading)
    return _typed_events(chunks, reading)


def _typed_events(chunks: Iterable[bytes], reading: _Reading) -> Iterator[BaseModel]:
    with reading.setting_partial():
        for chunk in read_chunks(chunks, reading.broken):
            yield from _typed(reading.source.read(bytes_of(chunk)), reading.source)
        yield from _typed(reading.source.read_rest(), reading.source)
    _check_end(reading)


async def _typed_events_async(chunks: AsyncIterable[bytes], reading: _Reading) -> AsyncIterator[BaseModel]:
    with reading.setting_partial():
        async for chunk in read_chunks_async(chunks, reading.broken):
            for event in _typed(reading.source.read(bytes_of(chunk)), reading.source):
                yield event
        for event in _typed(reading.source.read_rest(), reading.source):
            yield event
    _check_end(reading)


def _typed(read: list[ServerSentEvent], source: StreamSource) -> Iterator[BaseModel]:
    """Read each event twice: as a conversion does, to detect the end of the stream, and as the model for the caller."""
    for event in read:
        source.decode(event)
        if is_json_event(event):
            yield typed_event(source.as_read(event), source.source_format)


def _check_end(reading: _Reading) -> None:
    """Raise ``TruncatedStreamError`` if the stream has no end."""
    reading.source.end()
    if not reading.source.is_complete:
        raise reading.source.truncated(convert_accumulated(reading.source, reading.target_format, None, reading.options))


class EventReader:
    """Reads the bytes of a stream, in any pieces, as typed events; ``[DONE]`` is left out.

    It does not detect truncated streams: use it for streams that were checked before.
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

    The model lacks malformed fields. An event with nothing but malformed fields is an ``Unknown`` with all its fields.
    """
    # The steps are those of ``check_event``. The caller gets a model, which ``event_reader`` does not return: it returns dicts.
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
