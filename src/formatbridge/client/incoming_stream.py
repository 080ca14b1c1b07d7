"""A stream as it arrives: bytes from the endpoint to typed events of the caller's format, without I/O."""

from __future__ import annotations

import re
from typing import TypeVar

from pydantic import BaseModel

from formatbridge.client import errors
from formatbridge.client.calls import WHITESPACE, BodyStart, Call, Head, invalid_answer, is_markup, read_json
from formatbridge.client.decompression import Decompressor, UnreadableBodyError
from formatbridge.client.flow import CallDeadline, CallSettings, Flow, read_body, read_remaining, truncated_body
from formatbridge.convert.bodies import Converted
from formatbridge.convert.bridge import Exchange
from formatbridge.convert.collect import EventReader
from formatbridge.convert.masking import Mask
from formatbridge.convert.replay import replay_response
from formatbridge.errors import APIConnectionError, APIError, APITimeoutError, InvalidPayloadError, StreamError, StreamFailedError
from formatbridge.jsontext import codec
from formatbridge.telemetry.spans import CallSpan

Failure = APIError | StreamError
T = TypeVar("T")
_SSE_FIELD = re.compile(rb"^(?:(?:data|event|id|retry)?:|(?:da?t?a?|ev?e?n?t?|id?|re?t?r?y?)\Z)", re.MULTILINE)
"""A field or comment of server-sent events, or a field name that may be truncated at the end of the bytes."""
_MAX_READ_SECONDS = 0.1
"""Seconds to read the bytes after the last event; the caller already has the whole answer."""


class IncomingStream:
    """One stream as it arrives; each attempt has a new one.

    ``open`` reads up to the first event, ``step`` reads the next chunk. Events are queued until they are taken; an error is raised after
    them.
    """

    def __init__(self, exchange: Exchange, mask: Mask, settings: CallSettings, deadline: CallDeadline) -> None:
        request = exchange.request
        self._mask, self._settings, self._deadline = mask, settings, deadline
        self._source_format = request.source_format
        self._target_format = request.target_format
        self._converter = exchange.stream()
        self._typed = EventReader(request.source_format)
        self._decompressor = Decompressor("", settings.limits.max_response_bytes)
        self._events: list[BaseModel] = []  # in reverse order
        self._text: list[str] = []  # visible text, in reverse order
        self._failure: Failure | None = None
        self._is_over = False
        self._is_complete = False  # whether the body ended without an error of the connection
        self._before_first_event = b""  # the body before its first event
        self._span: CallSpan | None = None

    @property
    def is_over(self) -> bool:
        """Whether no more events will arrive; some may be queued."""
        return self._is_over

    def next_event(self) -> BaseModel | None:
        """Return the next queued event; None if there is none. After the last, raise the error that ended the stream."""
        return self._pop(self._events)

    def _pop(self, pending: list[T]) -> T | None:
        if pending:
            self._deadline.pause_idle()
            return pending.pop()
        if self._failure is not None:
            raise self._failure
        return None

    def next_text(self) -> str | None:
        """Return the next queued visible text; None if there is none. After the last, raise the error that ended the stream.

        In a stream that is not converted, text may have forms that ``text_of`` does not know; there the converter's decoded text is used.
        """
        if self._target_format is not self._source_format:
            events = iter(self.next_event, None)
            return next((piece for event in events if (piece := self._source_format.event_text(event))), None)
        self._text = self._text or self._converter.new_text()[::-1]
        self._events.clear()
        return self._pop(self._text)

    def response(self) -> Converted:
        """Return the partial answer, in the caller's format."""
        return self._converter.response()

    def open(self, head: Head, call: Call) -> Flow[IncomingStream]:
        """Read up to the first event. Errors before it are raised here, because they can be retried."""
        try:
            self._decompressor = Decompressor(head.headers.get("content-encoding", ""), self._settings.limits.max_response_bytes)
            start = yield from self._read_start()
        except UnreadableBodyError as error:
            raise self._unexpected(head, error.reason, b"") from None
        if "text/html" in head.headers.get("content-type", "") or is_markup(start.content):
            raise self._unexpected(head, "is HTML or XML", start.read)
        if start.content[:1] == b"{":
            yield from self._open_whole_body(head, call, start.content)
        elif start.read:
            self._feed(start.read)
        while not self._events and not self._is_over:
            yield from self.step()
        self._raise_first_error(head)
        self._raise_if_no_stream(head, call)
        if not self._events and self._failure is not None:
            raise self._failure
        self._deadline.pause_idle()
        return self

    def record(self, span: CallSpan) -> None:
        """Record the first event of the stream, now, and its end."""
        self._span = span
        span.first_chunk()
        if self._is_over:
            self._end_span()

    def _end_span(self) -> None:
        """Record the end of the stream, or that its caller closed it before."""
        if self._span is None:
            return
        answer = self._converter.source_response()
        if self._is_over and self._failure is None:
            self._span.succeed(answer)
        else:
            self._span.fail(self._failure, answer)

    def _read_start(self) -> Flow[BodyStart]:
        """Read until the body can be recognised."""
        start = BodyStart()
        while start.is_undecided and not self._is_over:
            try:
                chunk = yield self._deadline.read()
            except APITimeoutError:
                raise
            except APIConnectionError as error:
                self._break_off(error)
                continue
            if chunk is None:
                self._feed(start.read.lstrip(WHITESPACE))
                self._stop()
            else:
                start.feed(self._decompressor.feed(chunk))
                self._deadline.check()
        return start

    def _unexpected(self, head: Head, problem: str, body: bytes) -> APIError:
        return errors.unexpected_body(
            problem, status=head.status, body=body[: errors.MAX_KEPT_BYTES], id=head.request_id, mask=self._mask
        )

    def _open_whole_body(self, head: Head, call: Call, start: bytes) -> Flow[None]:
        """Read a whole answer, or an error, instead of a stream."""
        body = yield from read_body(head, self._settings, self._deadline, call, self._decompressor, start)
        # Nothing would report replaced surrogates here, so they are an error.
        answer = read_json(head, body, call, allows_lone_surrogates=False)
        try:
            stream = b"".join(replay_response(answer.text, source=self._target_format))
        except InvalidPayloadError as error:
            raise invalid_answer(error, head, answer.value, call) from None
        self._feed(stream)
        self._end()

    def _raise_first_error(self, head: Head) -> None:
        """Raise an error event in the place of the first event."""
        if self._converter.error is not None and self._converter.event_count <= 1:
            raise errors.error_in_answer(
                self._converter.error, head.status, head.headers, id=head.request_id, mask=self._mask, now=head.received_at
            )

    def _raise_if_no_stream(self, head: Head, call: Call) -> None:
        """Raise ``UnexpectedResponseError`` for a complete body without an event: empty, JSON or text. A retry would have the same result.

        A stream with comments only is a truncated stream: its events were still to come.
        """
        if not self._is_complete or self._converter.event_count or _SSE_FIELD.search(self._before_first_event):
            return
        if head.is_framed or _is_json(self._before_first_event):
            read_json(head, self._before_first_event, call, allows_lone_surrogates=False)

    def step(self) -> Flow[None]:
        """Read a chunk and convert it to events."""
        self._deadline.resume_idle()
        try:
            chunk = yield self._deadline.read()
        except APITimeoutError as error:
            self._fail(error)
        except APIConnectionError as error:
            self._break_off(error)
        else:
            if chunk is None:
                self._stop()
            else:
                self._feed(self._decompressed(chunk))
                self._check_time()

    def _stop(self) -> None:
        """Handle the end of the bytes. A compressed body shows whether it is complete."""
        if self._decompressor.is_truncated:
            self._break_off(truncated_body())
        else:
            self._is_complete = True
            self._end()

    def _decompressed(self, chunk: bytes) -> bytes:
        try:
            return self._decompressor.feed(chunk)
        except UnreadableBodyError as error:
            self._fail(StreamError(f"the stream {error.reason}"))
            return b""

    def finish(self) -> Flow[None]:
        """Read the bytes after the last event, so that the connection can be used again."""
        self._end_span()
        if self._is_over and self._failure is None:
            yield from read_remaining(self._settings.clock, self._deadline.at_most(_MAX_READ_SECONDS))

    def _check_time(self) -> None:
        try:
            self._deadline.check()
        except APITimeoutError as error:
            if not self._is_over:
                self._fail(error)

    def _feed(self, chunk: bytes) -> None:
        if self._is_over:
            return
        events_before = self._converter.event_count
        if not events_before and len(self._before_first_event) < errors.MAX_KEPT_BYTES:
            self._before_first_event += chunk
        try:
            self._queue(self._typed.feed(self._converter.feed(chunk)))
        except StreamError as error:
            self._fail(error)
            return
        if self._converter.event_count > events_before:
            self._deadline.restart_idle()
        if self._converter.error is not None:
            self._fail(StreamFailedError(errors.with_request_id(self._converter.error)))
        elif self._converter.has_ended:
            self._end()

    def _queue(self, events: list[BaseModel]) -> None:
        """Queue events. The queue is nearly always empty before."""
        self._events = [*reversed(events), *self._events]

    def _end(self) -> None:
        """Handle the end of the bytes, of a complete or a truncated stream."""
        if self._is_over:
            return
        try:
            self._queue(self._typed.feed(self._converter.finish()) + self._typed.finish())
        except StreamError as error:
            self._fail(error)
        else:
            if self._converter.error is not None:
                self._fail(StreamFailedError(errors.with_request_id(self._converter.error)))
        self._is_over = True
        self._end_span()

    def _break_off(self, cause: APIConnectionError) -> None:
        """Handle a broken connection. The stream is truncated even if the answer looks complete: its last event is missing."""
        self._feed(b"")  # raises a decoding error of earlier bytes, which the break did not cause
        if self._is_over:
            return
        truncated = self._converter.abort(cause)
        if self._converter.is_over:  # ``on_truncated="close"``
            self._queue(self._typed.feed(truncated.tail))
        self._fail(None if self._converter.is_over else truncated)

    def _fail(self, failure: Failure | None) -> None:
        """Set the error that ended the stream, with the partial answer; None: no error for the caller."""
        self._is_over = True
        if isinstance(failure, StreamError | APIConnectionError) and failure.partial is None and self._converter.event_count:
            failure.partial = self._converter.response()
        self._failure = self._mask.error(failure) if failure is not None else None
        self._end_span()


def _is_json(body: bytes) -> bool:
    try:
        codec.loads(body)
    except codec.NotJsonError:
        return False
    return True
