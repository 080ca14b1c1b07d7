"""The reading half of streams: bytes to checked events of a format, to canonical events, which are collected as they pass."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import cache
from importlib import import_module
from typing import Any

from pydantic import BaseModel, TypeAdapter, ValidationError
from pydantic_core import SchemaValidator

from formatbridge import _codec, formats, ir
from formatbridge.convert import Converted, check_error
from formatbridge.errors import StreamDecodeError, TruncatedStreamError
from formatbridge.formats._problems import problems_of
from formatbridge.formats._protocol import Format
from formatbridge.formats._wire import checker
from formatbridge.ir import events
from formatbridge.streaming.collect import Collector
from formatbridge.streaming.sse import DONE, ServerSentEvent, StreamReader

JsonObject = dict[str, Any]

_SNIPPET = 200
_SHOWN = 3


class StreamSource:
    """The reading half: bytes to canonical events, which are collected as they pass."""

    def __init__(self, near: Format, *, keeps_events: bool = False) -> None:
        self.near = near
        self._reader = StreamReader()
        self._decoder = near.StreamDecoder()
        self._collector = Collector(near.NAME)
        self._head = b""
        self._has_begun = False
        self._kept: list[JsonObject] | None = [] if keeps_events else None
        self.is_over = False
        self.error: ir.Error | None = None

    def read(self, chunk: bytes) -> Iterator[tuple[ServerSentEvent, list[events.Event]]]:
        """Yield each event that a chunk completes, and what happened by it."""
        if not self._has_begun:
            self._head = (self._head + chunk)[:_SNIPPET]
        for event in self._reader.feed(chunk):
            yield event, self._decode(event)

    def end(self) -> Iterator[tuple[ServerSentEvent | None, list[events.Event]]]:
        """Take the end of the bytes. An event that they cut in two is none; the last pair stands for the end itself."""
        for event in self._reader.finish():
            if _is_json(event.data):
                yield event, self._decode(event)
        yield None, self.collect(self._decoder.finish())

    @property
    def is_complete(self) -> bool:
        """Whether the answer came to its end, or to an error."""
        return self._decoder.is_complete or self.is_over

    @property
    def can_close(self) -> bool:
        """Whether there is anything that could be closed."""
        return self._has_begun

    def close(self) -> list[events.Event]:
        """End an answer that was cut, as one that ran out of tokens."""
        return self.collect([*self._collector.unfinished(), events.End()])

    def answer(self) -> ir.Response:
        """Return the answer so far."""
        return self._collector.response()

    def body(self) -> JsonObject | None:
        """Return the whole answer in its own format, as the vendor's client would add it up; None where nobody can say."""
        return self.near.fold_stream(self._kept) if self._kept is not None and self.is_complete and not self.error else None

    def truncated(self, partial: Converted, tail: bytes = b"") -> TruncatedStreamError:
        """Return the error for a stream that was cut."""
        expected = self._decoder.END
        if not self._has_begun:
            began = f"; it begins with {self._head.decode(errors='replace')!r}" if self._head else ""
            expected += f"; not one event of {self.near.NAME} came{began}"
        return TruncatedStreamError(expected, partial=partial, tail=tail)

    def collect(self, happened: list[events.Event]) -> list[events.Event]:
        """Keep what happened and hand it on."""
        for event in happened:
            self._collector.feed(event)
            if isinstance(event, events.Failed):
                self.error = event.error
            if isinstance(event, events.Failed | events.End):
                self.is_over = True
        return happened

    def _decode(self, event: ServerSentEvent) -> list[events.Event]:
        if self.is_over or not event.data.strip():
            return []
        if event.data == DONE:
            return self.collect(self._decoder.done())
        raw = _check_event(event, self.near.NAME)
        if self._kept is not None:
            self._kept.append(raw)
        self._has_begun = True
        try:
            return self.collect(self._decoder.feed(raw))
        except StreamDecodeError as error:
            error.offset = event.offset
            raise


def _is_json(data: bytes) -> bool:
    try:
        _codec.loads(data)
    except _codec.NotJsonError:
        return data == DONE
    return True


@cache
def _event_checker(format: ir.Format) -> SchemaValidator:
    return checker(_event_of(format))


def _event_of(format: ir.Format) -> Any:
    """Return the type of a format's events."""
    return import_module(f"formatbridge.formats.{format}.wire").StreamEvent


def _check_event(event: ServerSentEvent, format: ir.Format) -> JsonObject:
    """Read an event and validate it by its wire model; an error is understood whatever its shape."""
    raw = _object_of(event)
    try:
        checked: JsonObject = _event_checker(format).validate_python(raw)
    except ValidationError as error:
        if raw.get("error"):
            return check_error({"error": raw["error"]}, format)[0]
        raise _refusal(event, format, problems_of(error, raw)) from None
    return checked


def _object_of(event: ServerSentEvent) -> JsonObject:
    try:
        value = _codec.loads(event.data)
    except _codec.NotJsonError as error:
        raise StreamDecodeError(f"{error.pointer} {error.message}".strip(), offset=event.offset, snippet=event.data) from None
    if not isinstance(value, dict):
        raise StreamDecodeError(f"is {_codec.describe(value)}, expected an object", offset=event.offset, snippet=event.data)
    return value


def _refusal(event: ServerSentEvent, format: ir.Format, problems: list[tuple[str, str]]) -> StreamDecodeError:
    told = "; ".join(f"{pointer} {message}".strip() for pointer, message in problems[:_SHOWN])
    return StreamDecodeError(f"is not of {format}: {told}", offset=event.offset, snippet=event.data)


def iter_events(chunks: Iterable[bytes], *, format: str) -> Iterator[BaseModel]:
    """Yield the typed events of a stream in its own format; ``[DONE]`` and empty events are left out."""
    name, reader = formats.load(format).NAME, StreamReader()
    for chunk in chunks:
        yield from _typed(reader.feed(chunk), name)
    yield from _typed(reader.finish(), name)


@cache
def _events_of(format: ir.Format) -> TypeAdapter[BaseModel]:
    return TypeAdapter(_event_of(format))


def _typed(read: list[ServerSentEvent], format: ir.Format) -> Iterator[BaseModel]:
    for event in read:
        if event.data == DONE or not event.data.strip():
            continue
        raw = _object_of(event)
        try:
            yield _events_of(format).validate_python(raw)
        except ValidationError as error:
            raise _refusal(event, format, problems_of(error, raw)) from None
