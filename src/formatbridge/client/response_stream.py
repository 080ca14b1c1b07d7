"""The response stream to an SDK: it converts the endpoint's stream chunk by chunk, without I/O."""

from __future__ import annotations

from collections.abc import Callable

from formatbridge.client.sdk_requests import SDKResponse
from formatbridge.convert.bodies import Converted
from formatbridge.errors import APIError, StreamError, TruncatedStreamError


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
        """Report the partial or whole answer, once. OpenAI's SDK stops reading at ``[DONE]`` (openai-python, ``Stream``)."""
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
