"""The call of a gateway to the relay: time limits, decompression, and errors without the address of the relay."""

from __future__ import annotations

import logging
from collections.abc import Mapping

from formatbridge.client.calls import Call, Head
from formatbridge.client.connection_pool import ConnectionPool
from formatbridge.client.decompression import Decompressor, UnreadableBodyError
from formatbridge.client.drivers import drive_async
from formatbridge.client.errors import unexpected_body
from formatbridge.client.flow import CallDeadline, CallSettings, Read, Send, read_remaining, truncated_body
from formatbridge.client.http_exchange import AsyncHTTPExchange
from formatbridge.client.sdk_requests import SDKRequestHandler
from formatbridge.convert.masking import Mask
from formatbridge.errors import APIConnectionError, APIError, APITimeoutError

_LOG = logging.getLogger("formatbridge")
_DRAIN_SECONDS = 0.1
"""Seconds to read the bytes after the end of a stream, so that its connection can be used again."""


class GatewayExchange:
    """The call of one request to the relay, with time limits and decompression."""

    def __init__(self, pool: ConnectionPool, settings: Mapping[bool, CallSettings], handler: SDKRequestHandler) -> None:
        self._http = AsyncHTTPExchange(pool, handler.clock)
        self._settings = settings
        self._clock = handler.clock
        self._max_bytes = handler.limits.max_response_bytes
        self._deadline: CallDeadline | None = None
        self._decompressor: Decompressor | None = None
        self._call: Call | None = None
        self._head: Head | None = None

    @property
    def mask(self) -> Mask:
        """Hides the key and the secret headers of the call; before the call it hides nothing."""
        return self._call.mask if self._call is not None else Mask(())

    async def send(self, step: Send) -> Head:
        """Send a call and return the head of its answer. An error does not show the address of the relay."""
        call = step.call
        if self._deadline is None:
            self._deadline = CallDeadline(self._settings[call.stream], is_stream=call.stream)
        self._call, self._decompressor = call, None
        try:
            self._head = head = await self._http.send(self._deadline.send(call))
        except APIConnectionError as error:
            failure = _public(error, "the relay cannot be reached", call)
        else:
            return head
        raise failure

    async def read(self, _step: Read) -> bytes | None:
        """Return the next decompressed chunk; None at the end of the body or, of an error's body, where it is unreadable."""
        assert self._deadline is not None
        assert self._call is not None
        assert self._head is not None
        failure: APIError
        try:
            if self._decompressor is None:
                self._decompressor = Decompressor(self._head.headers.get("content-encoding", ""), self._max_bytes)
            chunk = await self._http.read(self._deadline.read())
            if chunk is not None:
                return self._decompressor.feed(chunk)
            if self._decompressor.is_truncated and self._head.status < 300:
                raise truncated_body()
            return None
        except UnreadableBodyError as error:
            if self._head.status >= 300:
                return None
            failure = unexpected_body(error.reason, status=self._head.status, body=b"", id=None, mask=self._call.mask)
        except APIConnectionError as error:
            failure = _public(error, "the connection to the relay broke before the end of the answer", self._call)
        raise failure

    async def next_stream_chunk(self) -> tuple[bytes | None, APIError | None]:
        """Return the next chunk of a stream, or the error that ended it early."""
        try:
            return await self.read(Read()), None
        except APIError as error:
            return None, error

    def pause_idle(self) -> None:
        """Pause the idle time while the client reads."""
        if self._deadline is not None:
            self._deadline.pause_idle()

    def resume_idle(self) -> None:
        """Resume the idle time."""
        if self._deadline is not None:
            self._deadline.resume_idle()

    def restart_idle(self) -> None:
        """Start the idle time again after an event."""
        if self._deadline is not None:
            self._deadline.restart_idle()

    async def drain(self) -> None:
        """Read the bytes after the last event, so that the connection can be used again."""
        await drive_async(read_remaining(self._clock, _DRAIN_SECONDS), self._http, self._clock)

    async def close(self) -> None:
        """Close the answer."""
        await self._http.close()


def _public(error: APIConnectionError, text: str, call: Call) -> APIConnectionError:
    """Log an error of the connection, and return it with a text for callers: its text may have the address of the relay.

    A time limit is one of the gateway, so its error has no such text and is returned unchanged.
    """
    _LOG.warning("gateway: %s", call.mask.text(str(error)))
    if isinstance(error, APITimeoutError):
        return error
    return APIConnectionError(text, phase=error.phase, can_retry=error.can_retry)
