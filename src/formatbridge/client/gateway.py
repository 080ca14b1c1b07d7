"""A gateway: an ASGI application that serves all formats over any endpoint of a relay, and its call to the relay."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import replace
from types import EllipsisType
from typing import NoReturn

from formatbridge import formats
from formatbridge.arguments import type_name
from formatbridge.client import asgi
from formatbridge.client.calls import Call, Head
from formatbridge.client.connection_pool import ConnectionPool, checked_client
from formatbridge.client.decompression import Decompressor, UnreadableBodyError
from formatbridge.client.errors import unexpected_body
from formatbridge.client.flow import Attempt, CallDeadline, CallSettings, Read, Send, drive_async, read_remaining, truncated_body
from formatbridge.client.gateway_memory import ResponseStore, Turn, checked_store
from formatbridge.client.http_exchange import AsyncHTTPExchange
from formatbridge.client.profile import PROFILES, RELAY, RelayProfile, profile_of
from formatbridge.client.response_stream import ResponseStream
from formatbridge.client.sdk_requests import (
    RejectedRequestError,
    SDKRequest,
    SDKRequestHandler,
    SDKResponse,
    failure_response,
    rejection,
)
from formatbridge.client.secrets import checked_headers
from formatbridge.client.settings import (
    Clock,
    Key,
    Limits,
    Retry,
    Timeout,
    base_url_of,
    checked,
    checked_callable,
    key_of,
    options_for,
    recorder_of,
    timeout_of,
)
from formatbridge.client.token_counts import TokenCounter
from formatbridge.convert.bodies import Converted
from formatbridge.convert.masking import Mask, as_secret
from formatbridge.errors import APIConnectionError, APIError, APITimeoutError, ConfigurationError, FormatBridgeError, StreamError
from formatbridge.formats.format import FormatSpec
from formatbridge.formats.registry import target_with_dialect
from formatbridge.formats.target import FormatOrName
from formatbridge.options import Options
from formatbridge.telemetry.spans import Tracer

_LOG = logging.getLogger("formatbridge")
_DRAIN_SECONDS = 0.1
"""Seconds to read the bytes after the end of a stream, so that its connection can be used again."""


class Gateway:
    """An ASGI application. Clients of all formats use any endpoint of a relay, over HTTP.

    Run it with any ASGI server, or mount it in Starlette or FastAPI.

    >>> app = Gateway("https://relay.example", via="chat_completions")
    """

    def __init__(
        self,
        profile_or_base_url: RelayProfile | str | None = None,
        api_key: Key | None = None,
        *,
        via: FormatOrName | None = None,
        headers: Mapping[str, str] | None = None,
        options: Options | None = None,
        timeout: Timeout | float | EllipsisType | None = ...,
        limits: Limits | None = None,
        http_client: object | None = None,
        on_losses: Callable[[Converted], object] | None = None,
        memory: ResponseStore | None = None,
        count_tokens: TokenCounter | None = None,
        clock: Clock | None = None,
        tracer: Tracer | None = None,
        trace_content: bool = False,
    ) -> None:
        """Set the options of the gateway; nothing is sent and no connection is opened. Raises ``ConfigurationError``.

        ``profile_or_base_url``: a base URL, a ``RelayProfile`` or the name of one in ``PROFILES``; None: ``FORMATBRIDGE_BASE_URL``.
        ``api_key``: a string (empty: no key), or a callable that returns it for each request; None: ``FORMATBRIDGE_API_KEY``, else the key
        of each caller is passed on. A gateway that has a key accepts every caller, so control who can reach it.
        ``via``: the format of the endpoint; None: the format of each caller, or the relay's first endpoint where it lacks that one.
        ``headers``: added to every request to the relay. ``limits``: maximum sizes of requests and answers.
        ``options``: None: raise on ``impossible`` losses. The caller then gets an error with status 400.
        ``timeout``: a ``Timeout``, the total seconds, or None for no limit; the default is ``Timeout()``, without a total limit for
        streams. ``read`` also limits the time between two chunks of a request, ``write`` the time in which a client reads nothing.
        ``http_client``: an async client of httpx or httpx2 to use; the caller closes it.
        ``on_losses``: is called with every conversion that has losses: of a request, of an answer, of a stream at its end.
        ``memory``: a store for ``previous_response_id`` and ``item_reference`` of responses requests to other endpoints.
        ``count_tokens``: returns the number of input tokens of a request body in the endpoint's format, for an endpoint that cannot count.
        ``tracer``, ``trace_content``: as for ``Client``; a span describes a call to the relay. ``clock``: the clock, for tests.
        """
        has_key, key = api_key is not None, key_of(as_secret(api_key))
        del api_key
        profile, base_url = _relay(profile_or_base_url)
        self._via = None if via is None else formats.load(via)
        self._endpoints = _endpoints(profile, self._via)
        self._timeout = None if isinstance(timeout, EllipsisType) else timeout_of(timeout)
        self._on_losses = checked_callable("on_losses", on_losses)
        self._memory = checked_store(memory)
        self._http_client = checked_client(http_client, is_async=True)
        self._pool = ConnectionPool(http_client, is_async=True)
        self._handler = SDKRequestHandler(
            base_url=base_url,
            via=self._endpoints[0],
            target=target_with_dialect(via),
            profile=profile,
            key=key,
            takes_sdk_key=not has_key and key is None,
            headers=checked_headers(headers),
            options=options_for(options, profile),
            report=None,
            token_counter=checked_callable("count_tokens", count_tokens),
            limits=checked("limits", limits, Limits) or Limits(),
            clock=checked("clock", clock, Clock) or Clock(),
            recorder=recorder_of(tracer, clock or Clock(), content=trace_content),
        )
        self._settings = {is_stream: self._call_settings(is_stream=is_stream) for is_stream in (False, True)}

    def __repr__(self) -> str:
        if not hasattr(self, "_settings"):  # in a traceback of an ``__init__`` that raised
            return "<Gateway, not initialized>"
        via = None if self._via is None else self._via.name
        key = "the caller's" if self._handler.takes_sdk_key else "none" if self._handler.key is None else "set"
        return f"Gateway({self._handler.base_url!r}, via={via!r}, key={key})"

    def __reduce__(self) -> NoReturn:
        raise TypeError("a Gateway has a key and connections and cannot be pickled: create one in each process")

    async def __aenter__(self) -> Gateway:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()

    async def aclose(self) -> None:
        """Close the connections of this event loop, as the end of the lifespan does. A mounted application gets no lifespan."""
        pool, self._pool = self._pool, ConnectionPool(self._http_client, is_async=True)
        await pool.close_async()

    async def __call__(self, scope: asgi.Scope, receive: asgi.Receive, send: asgi.Send) -> None:
        """Serve one connection of an ASGI server."""
        match scope["type"]:
            case "http":
                await self._serve(scope, receive, send)
            case "lifespan":
                await self._serve_lifespan(receive, send)
            case "websocket":
                request = asgi.request_of({**scope, "method": "GET"})
                rejected = RejectedRequestError(501, "formatbridge does not serve websockets, use HTTP")
                await asgi.reject_websocket(scope, receive, send, rejection(rejected, request.format))
            case kind:
                raise ValueError(f"the scope has type {kind!r}, expected http, lifespan or websocket")

    async def _serve_lifespan(self, receive: asgi.Receive, send: asgi.Send) -> None:
        """Load the formats at startup, so that the first request does not wait for them, and close the connections at shutdown."""
        from formatbridge.convert.preload import preload

        while True:
            message = await receive()
            if message["type"] == "lifespan.startup":
                preload()
                await send({"type": "lifespan.startup.complete"})
            else:
                await self.aclose()
                await send({"type": "lifespan.shutdown.complete"})
                return

    async def _serve(self, scope: asgi.Scope, receive: asgi.Receive, send: asgi.Send) -> None:
        """Serve one request. A response that cannot be completed after its start ends without its last message."""
        sender = asgi.ResponseSender(send, self._settings[False].timeout.write)
        request = asgi.request_of(scope)
        try:
            await self._receive_and_respond(request, receive, sender)
        except asgi.ClientDisconnectedError:
            _LOG.info("gateway: the client disconnected from %s %s", request.method, request.path)
        finally:
            sender.close()

    async def _receive_and_respond(self, request: SDKRequest, receive: asgi.Receive, sender: asgi.ResponseSender) -> None:
        """Read the body of a request and send the response; an exception that is no error of this library is raised after its response."""
        try:
            seconds = self._settings[False].timeout.read
            body = await asgi.read_body(request, receive, self._handler.limits.max_request_bytes, seconds)
            await _until_disconnect(receive, sender, lambda: self._respond(asgi.with_body(request, body), sender))
        except RejectedRequestError as error:
            await sender.send_whole(rejection(error, request.format))
        except FormatBridgeError as error:
            if sender.has_started:
                raise
            await sender.send_whole(failure_response(error, request.format, self._endpoint_for(request.format)))
        except asgi.ClientDisconnectedError:
            raise
        except Exception:
            if not sender.has_started:
                failed = RejectedRequestError(500, "the gateway has an internal error")
                await sender.send_whole(rejection(failed, request.format))
            raise

    async def _respond(self, request: SDKRequest, sender: asgi.ResponseSender) -> None:
        """Convert and send a request, and send its response."""
        source = request.format
        via, turn = self._endpoint_for(source), None
        if (
            self._memory is not None
            and source.stored_answers is not None
            and request.allowed_method == "POST"
            and via is not source
        ):
            turn = Turn(self._memory, request)
            request = await turn.resolve(request)
        exchange = _GatewayExchange(self._pool, self._settings, self._handler)
        answers: list[Converted] = []

        def report(converted: Converted) -> None:
            answers.append(converted)
            self._report_losses(converted, exchange.mask)

        handler = replace(self._handler, via=via, report=report if turn is not None or self._on_losses is not None else None)
        try:
            response = await drive_async(handler.handle(request), exchange, handler.clock)
            if response.converter is not None:
                await self._send_stream(response, exchange, sender, handler, turn)
                return
            if turn is not None and response.status < 300:
                await _save(turn, answers[-1])
            await sender.send_whole(response)
        finally:
            await exchange.close()

    async def _send_stream(
        self,
        response: SDKResponse,
        exchange: _GatewayExchange,
        sender: asgi.ResponseSender,
        handler: SDKRequestHandler,
        turn: Turn | None,
    ) -> None:
        """Send a stream as it arrives. An answer for the memory is stored before its last event is sent."""
        assert response.converter is not None
        stream = ResponseStream(response, handler.report)
        converter, mask = response.converter, response.answer_mask
        await sender.start_stream(response)
        failure: APIError | None = None
        tail = b""
        chunk: bytes | None = response.content
        try:
            while chunk is not None:
                events_before = converter.event_count
                converted = stream.feed(chunk)
                if converted:
                    if turn is not None and converter.has_ended:
                        await _save(turn, converter.response())
                    exchange.pause_idle()
                    await sender.send_chunk(asgi.without_key(converted, mask))
                    exchange.resume_idle()
                if converter.event_count > events_before:
                    exchange.restart_idle()
                if converter.has_ended:
                    break
                chunk, failure = await exchange.next_stream_chunk()
            tail = stream.finish(is_broken=failure is not None, cause=failure)
            if turn is not None and failure is None and converter.error is None:
                await _save(turn, converter.response())
        except StreamError as error:
            tail = response.mask.body(error.tail)
        finally:
            stream.report()
        await sender.send_chunk(asgi.without_key(tail, mask), is_last=True)
        await exchange.drain()

    def _endpoint_for(self, source: FormatSpec) -> FormatSpec:
        """Return the format of the endpoint for a caller's format."""
        return source if source in self._endpoints else self._endpoints[0]

    def _report_losses(self, converted: Converted, mask: Mask) -> None:
        """Call ``on_losses``, without a key that the relay sent back. Its exceptions are logged: the answer has been paid for."""
        if self._on_losses is None or not converted.losses:
            return
        try:
            self._on_losses(mask.reported(converted))
        except Exception:
            _LOG.exception("gateway: on_losses raised an exception")

    def _call_settings(self, *, is_stream: bool) -> CallSettings:
        default = Timeout(total=None) if is_stream else Timeout()
        timeout = self._timeout if self._timeout is not None else default
        handler = self._handler
        names = handler.profile.request_id_headers
        return CallSettings(timeout, Retry(max=0), handler.limits, handler.clock, names, _no_report)


class _GatewayExchange:
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
            failure = _without_address(error, "the relay cannot be reached", call)
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
            failure = _without_address(error, "the connection to the relay broke before the end of the answer", self._call)
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


def _without_address(error: APIConnectionError, text: str, call: Call) -> APIConnectionError:
    """Log an error of the connection, and return it with a text for callers: its text may have the address of the relay.

    A time limit is one of the gateway, so its error has no such text and is returned unchanged.
    """
    _LOG.warning("gateway: %s", call.mask.text(str(error)))
    if isinstance(error, APITimeoutError):
        return error
    return APIConnectionError(text, phase=error.phase, can_retry=error.can_retry)


async def _save(turn: Turn, answer: Converted) -> None:
    """Store an answer. Exceptions of the store are logged, because the answer has been paid for."""
    try:
        await turn.save(answer)
    except Exception:
        _LOG.exception("gateway: the memory raised an exception")


async def _until_disconnect(receive: asgi.Receive, sender: asgi.ResponseSender, respond: Callable[[], Awaitable[None]]) -> None:
    """Await a response, and cancel it when the client disconnects or reads nothing for too long."""
    import anyio

    raised: Exception | None = None
    is_done = False
    async with anyio.create_task_group() as group:

        async def cancel_on_disconnect() -> None:
            while (await receive())["type"] != "http.disconnect":
                pass
            group.cancel_scope.cancel()

        sender.scope = group.cancel_scope
        group.start_soon(cancel_on_disconnect)
        try:
            await respond()
            is_done = True
        except Exception as error:
            raised = error
        sender.scope = None
        group.cancel_scope.cancel()
    if raised is not None:
        raise raised
    if not is_done:
        raise asgi.ClientDisconnectedError


def _relay(value: RelayProfile | str | None) -> tuple[RelayProfile, str]:
    """Return the profile and the base URL for the argument ``profile_or_base_url``."""
    if value is None:
        return RELAY, base_url_of(None, RELAY)
    if isinstance(value, str) and value not in PROFILES:
        return RELAY, base_url_of(value, RELAY)
    if not isinstance(value, str | RelayProfile):
        raise ConfigurationError(f"profile_or_base_url is {type_name(value)}, expected a base URL or formatbridge.RelayProfile")
    profile = profile_of(value)
    return profile, base_url_of(profile.base_url, profile)


def _no_report(attempt: Attempt) -> None:
    """Report nothing: a gateway makes one attempt, and its caller decides about another."""
    del attempt


def _endpoints(profile: RelayProfile, via: FormatSpec | None) -> list[FormatSpec]:
    """Return the chosen format, or those whose endpoints a relay has; raise ``ConfigurationError`` if it has none."""
    endpoints = [via] if via is not None else [formats.load(name) for name in formats.FORMATS if name in profile.paths]
    for endpoint in endpoints:
        profile.path(endpoint, model="m")  # a profile without this endpoint raises here and not at the first request
    if not endpoints:
        raise ConfigurationError(f"profile {profile.name!r} has no endpoint of a built-in format: pass via=")
    return endpoints
