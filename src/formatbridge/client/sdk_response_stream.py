"""A stream on its way from the wire to an official SDK, converted as it comes."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterator
from typing import Any

from formatbridge import ir
from formatbridge.client.connection_errors import is_of_connection
from formatbridge.convert.bodies import Converted
from formatbridge.convert.masking import Mask
from formatbridge.convert.streams import StreamConverter
from formatbridge.errors import StreamError, TruncatedStreamError


class Homecoming:
    """A stream on its way home. One that breaks ends in an error event; nonsense is an error of the HTTP library, which the SDKs know.

    ``encode_error_event``: encodes an event on which the SDK raises, which follows an error of the stream; None: the SDK needs none.
    """

    def __init__(
        self,
        library: Any,
        converter: StreamConverter,
        encode_error_event: Callable[[ir.Error], bytes] | None,
        mask: Mask,
        report: Callable[[Converted], object] | None,
    ) -> None:
        self._library = library
        self._converter = converter
        self._mask = mask
        self._encode_error_event = encode_error_event
        self._report = report
        self._breaks: tuple[type[Exception], ...] = (library.NetworkError, library.RemoteProtocolError)

    def convert(self, chunks: Iterator[bytes]) -> Iterator[bytes]:
        """Yield the SDK's bytes as soon as the wire's make them possible."""
        nonsense: Exception | None = None
        is_broken = False
        try:
            for chunk in chunks:
                if made := self._feed(chunk):
                    yield made
        except Exception as error:
            nonsense = self._nonsense_of(error)
            is_broken = nonsense is None
        chunk = b""  # this frame shows in tracebacks, where what the relay sent has no place
        if nonsense is not None:
            raise nonsense
        yield self._finish(is_broken=is_broken)

    async def convert_async(self, chunks: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
        """Do the same for an async client."""
        nonsense: Exception | None = None
        is_broken = False
        try:
            async for chunk in chunks:
                if made := self._feed(chunk):
                    yield made
        except Exception as error:
            nonsense = self._nonsense_of(error)
            is_broken = nonsense is None
        chunk = b""  # this frame shows in tracebacks, where what the relay sent has no place
        if nonsense is not None:
            raise nonsense
        yield self._finish(is_broken=is_broken)

    def _feed(self, chunk: bytes) -> bytes:
        """Convert a chunk; what the wire says of an error is told without the key."""
        made = self._converter.feed(chunk)
        return self._mask.body(made) if self._converter.error is not None else made

    def _nonsense_of(self, error: Exception) -> Exception | None:
        """Return what to raise for an exception of a stream; None where the connection broke. Raise what is of neither."""
        if isinstance(error, StreamError):
            return self._nonsense(error)
        if isinstance(error, self._breaks) or is_of_connection(error):
            return None
        raise error

    def _nonsense(self, error: StreamError) -> Exception:
        """Return the error that an SDK knows, to be raised behind the ``except``: what it would have for a context holds the key."""
        made: Exception = self._library.RemoteProtocolError(self._mask.text(str(error)))
        return made

    def _end(self, *, is_broken: bool) -> bytes:
        """Return what the converter writes at the end of the bytes; raise what it says of a break, unless nothing was missing."""
        if not is_broken:
            return self._converter.finish()
        self._converter.feed(b"")  # raises what could not be read before the break, which is not its cause
        cut = self._converter.abort()
        if self._converter.is_over:
            return cut.tail
        raise cut

    def _finish(self, *, is_broken: bool) -> bytes:
        """Take the end of the bytes; a truncated stream ends in an error event, upon which the SDK raises."""
        nonsense: Exception | None = None
        try:
            made = self._end(is_broken=is_broken)
        except TruncatedStreamError as error:
            made = error.tail
        except StreamError as error:
            made, nonsense = b"", self._nonsense(error)
        if nonsense is not None:
            raise nonsense
        self.tell()
        if self._encode_error_event is not None and self._converter.error is not None:
            made += self._encode_error_event(self._converter.error)
        return self._mask.body(made)

    def tell(self) -> None:
        """Report the answer as far as it came, once: some SDKs stop reading before the last byte."""
        report, self._report = self._report, None
        if report is not None:
            report(self._converter.response())
