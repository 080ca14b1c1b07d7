"""A stream as it comes in: bytes of the wire to typed events of the caller, without I/O."""

from __future__ import annotations

import re
from typing import TypeVar

from pydantic import BaseModel

from formatbridge.client import errors
from formatbridge.client.calls import BLANK, Beginning, Call, Head, is_markup, no_answer, read_json
from formatbridge.client.decompression import BodyTooLargeError, Opener
from formatbridge.client.flow import Flow, cut_short, drain, read_body
from formatbridge.client.flow_steps import Patience, Rules
from formatbridge.convert.bodies import Converted
from formatbridge.convert.bridge import Exchange
from formatbridge.convert.collect import EventReader
from formatbridge.convert.masking import Mask
from formatbridge.convert.replay import replay_response
from formatbridge.errors import (
    APIConnectionError,
    APIError,
    APITimeoutError,
    InvalidPayloadError,
    StreamError,
    StreamFailedError,
)
from formatbridge.jsontext import codec

Failure = APIError | StreamError
T = TypeVar("T")
_SSE_FIELD = re.compile(rb"^(?:(?:data|event|id|retry)?:|(?:da?t?a?|ev?e?n?t?|id?|re?t?r?y?)\Z)", re.MULTILINE)
"""A field or a comment of a stream of events, or a field name that may be cut at the end of the bytes."""
_LONGEST_DRAIN = 0.1
"""Seconds behind the last event: who has the whole answer waits for nothing else."""


class Incoming:
    """One stream on its way in; a new one for each attempt.

    ``open`` reads up to the first event, ``step`` reads on. Events wait until they are taken; what failed is raised once they are.
    """

    def __init__(self, exchange: Exchange, mask: Mask, rules: Rules, patience: Patience) -> None:
        request = exchange.request
        self._mask, self._rules, self._patience = mask, rules, patience
        self._source_format = request.source_format
        self._target_format = request.target_format
        self._converter = exchange.stream()
        self._typed = EventReader(request.source_format)
        self._opener = Opener("", rules.limits.max_response_bytes)
        self._waiting: list[BaseModel] = []  # the next one last
        self._words: list[str] = []  # visible text that waits, in the same order
        self._failure: Failure | None = None
        self._is_over = False
        self._has_ended = False  # whether the body came to its end, as far as HTTP says
        self._eventless = b""  # the body before its first event

    @property
    def is_over(self) -> bool:
        """Whether no more events will come; some may be waiting."""
        return self._is_over

    def take(self) -> BaseModel | None:
        """Return the next event that waits; None where none does. Raise what ended the stream, once none waits."""
        return self._next_of(self._waiting)

    def _next_of(self, waiting: list[T]) -> T | None:
        if waiting:
            self._patience.rest()
            return waiting.pop()
        if self._failure is not None:
            raise self._failure
        return None

    def take_text(self) -> str | None:
        """Return the next visible text that waits; None where none does. Raise what ended the stream, once none waits.

        What passes in its own format tells its text in more ways than ours: there it is what the converter understood of it.
        """
        if self._target_format is not self._source_format:
            events = iter(self.take, None)
            return next((piece for event in events if (piece := self._source_format.event_text(event))), None)
        self._words = self._words or self._converter.new_text()[::-1]
        self._waiting.clear()
        return self._next_of(self._words)

    def response(self) -> Converted:
        """Return the answer so far, in the caller's format."""
        return self._converter.response()

    def open(self, head: Head, call: Call) -> Flow[Incoming]:
        """Read up to the first event. Raise here what went wrong before it: all of that can be tried again."""
        try:
            self._opener = Opener(head.headers.get("content-encoding", ""), self._rules.limits.max_response_bytes)
            begun = yield from self._begin()
        except BodyTooLargeError as error:
            raise self._unexpected(head, error.reason, b"") from None
        if "text/html" in head.headers.get("content-type", "") or is_markup(begun.shown):
            raise self._unexpected(head, "is HTML or XML", begun.read)
        if begun.shown[:1] == b"{":
            yield from self._open_plain(head, call, begun.shown)
        elif begun.read:
            self._feed(begun.read)
        while not self._waiting and not self._is_over:
            yield from self.step()
        self._refuse_at_once(head)
        self._refuse_other_body(head, call)
        if not self._waiting and self._failure is not None:
            raise self._failure
        self._patience.rest()
        return self

    def _begin(self) -> Flow[Beginning]:
        """Read until something is there that shows what comes."""
        begun = Beginning()
        while begun.is_unclear and not self._is_over:
            try:
                chunk = yield self._patience.read()
            except APITimeoutError:
                raise
            except APIConnectionError as error:
                self._break(error)
                continue
            if chunk is None:
                self._feed(begun.read.lstrip(BLANK))
                self._stop()
            else:
                begun.feed(self._opener.feed(chunk))
                self._patience.check()
        return begun

    def _unexpected(self, head: Head, found: str, body: bytes) -> APIError:
        id = errors.request_id(head.headers, self._rules.request_id_headers)
        return errors.unexpected(found, status=head.status, body=body[: errors.KEPT], id=id, mask=self._mask)

    def _open_plain(self, head: Head, call: Call, begun: bytes) -> Flow[None]:
        """Take a whole answer, or an error, where a stream was expected."""
        body = yield from read_body(head, self._rules, self._patience, call, self._opener, begun)
        answer = read_json(head, body, call, self._rules.request_id_headers, mends=False)  # for it would be told nowhere
        try:
            told = b"".join(replay_response(answer.text, source=self._target_format))
        except InvalidPayloadError as error:
            raise no_answer(error, head, answer.value, call, self._rules.request_id_headers) from None
        self._feed(told)
        self._end()

    def _refuse_at_once(self, head: Head) -> None:
        """Raise what came in the place of the first event."""
        if self._converter.error is not None and self._converter.heard <= 1:
            id = errors.request_id(head.headers, self._rules.request_id_headers)
            raise errors.told_error(self._converter.error, head.status, head.headers, id=id, mask=self._mask, now=head.came)

    def _refuse_other_body(self, head: Head, call: Call) -> None:
        """Raise ``UnexpectedResponseError`` where a whole body came that is no stream: empty, or JSON or text without an event.

        Another attempt would bring the same. A stream of comments alone is a truncated stream: it was to go on.
        """
        if not self._has_ended or self._converter.heard or _SSE_FIELD.search(self._eventless):
            return
        if head.is_framed or _is_json(self._eventless):
            read_json(head, self._eventless, call, self._rules.request_id_headers, mends=False)

    def step(self) -> Flow[None]:
        """Read some bytes and turn them into events."""
        self._patience.resume()
        try:
            chunk = yield self._patience.read()
        except APITimeoutError as error:
            self._fail(error)
        except APIConnectionError as error:
            self._break(error)
        else:
            if chunk is None:
                self._stop()
            else:
                self._feed(self._opened(chunk))
                self._check_time()

    def _stop(self) -> None:
        """Take the end of the bytes as they came; those that were packed say themselves whether they are all."""
        if self._opener.is_cut:
            self._break(cut_short())
        else:
            self._has_ended = True
            self._end()

    def _opened(self, chunk: bytes) -> bytes:
        try:
            return self._opener.feed(chunk)
        except BodyTooLargeError as error:
            self._fail(StreamError(f"the stream {error.reason}"))
            return b""

    def finish(self) -> Flow[None]:
        """Let the connection go: after the last event what is left is read, so that it can be used again."""
        if self._is_over and self._failure is None:
            yield from drain(self._rules.clock, self._patience.spare(_LONGEST_DRAIN))

    def _check_time(self) -> None:
        try:
            self._patience.check()
        except APITimeoutError as error:
            if not self._is_over:
                self._fail(error)

    def _feed(self, chunk: bytes) -> None:
        if self._is_over:
            return
        heard = self._converter.heard
        if not heard and len(self._eventless) < errors.KEPT:
            self._eventless += chunk
        try:
            self._wait(self._typed.feed(self._converter.feed(chunk)))
        except StreamError as error:
            self._fail(error)
            return
        if self._converter.heard > heard:
            self._patience.renew()
        if self._converter.error is not None:
            self._fail(StreamFailedError(errors.exposed(self._converter.error)))
        elif self._converter.has_ended:
            self._end()

    def _wait(self, read: list[BaseModel]) -> None:
        """Keep events until they are taken, which nearly always all before them have been."""
        self._waiting = [*reversed(read), *self._waiting]

    def _end(self) -> None:
        """Take the end of the bytes: of a complete answer, or of one that was cut."""
        if self._is_over:
            return
        try:
            self._wait(self._typed.feed(self._converter.finish()) + self._typed.finish())
        except StreamError as error:
            self._fail(error)
        else:
            if self._converter.error is not None:
                self._fail(StreamFailedError(errors.exposed(self._converter.error)))
        self._is_over = True

    def _break(self, cause: APIConnectionError) -> None:
        """Take a break of the connection. Even an answer that looks complete was to go on, for its last event has not been seen."""
        self._feed(b"")  # raises what could not be read before the break, which is not its cause
        if self._is_over:
            return
        cut = self._converter.abort(cause)
        if self._converter.is_over:  # it was closed, as the options say
            self._wait(self._typed.feed(cut.tail))
        self._fail(None if self._converter.is_over else cut)

    def _fail(self, failure: Failure | None) -> None:
        """Note what ended the stream, with what had come until then; None: nothing went wrong that the caller minds."""
        self._is_over = True
        if isinstance(failure, StreamError | APIConnectionError) and failure.partial is None and self._converter.heard:
            failure.partial = self._converter.response()
        self._failure = self._mask.error(failure) if failure is not None else None


def _is_json(body: bytes) -> bool:
    try:
        codec.loads(body)
    except codec.NotJsonError:
        return False
    return True
