"""One HTTP exchange through an HTTP library: it runs the steps of a flow.

Exceptions of the library become errors of this library, without a reference to the request, which holds the key.
"""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any
from urllib.parse import urlsplit

from formatbridge.client import deadlines
from formatbridge.client.calls import Call, Head
from formatbridge.client.connection_pool import ClientPool, ConnectionPool, PooledClient
from formatbridge.client.event_loops import running_loop
from formatbridge.client.flow import Read, Send, timeout_error
from formatbridge.client.http_libraries import header_size
from formatbridge.client.settings import Clock
from formatbridge.errors import APIConnectionError, APIError, Phase, TimeoutKind


def _build_request(client: Any, step: Send, extensions: dict[str, Any]) -> tuple[Any, dict[str, Any]]:
    """Build the library's request and the arguments for sending it.

    The secrets are set last, as the authentication, so that no frame holds them in plain text. This also replaces the authentication of an
    injected client, whose key is not sent.
    """
    call = step.call
    request = client.build_request(
        call.method, call.url, headers=list(call.headers.items()), content=call.body, timeout=step.phases, extensions=extensions
    )
    for name in call.other_key_headers:
        request.headers.pop(name, None)
    options: dict[str, Any] = {"stream": True, "follow_redirects": False}
    return request, options | ({"auth": _key_auth(call)} if call.secrets else {})


def _key_auth(call: Call) -> Callable[[Any], Any]:
    def set_secrets(request: Any) -> Any:
        for name, secret in call.secrets.items():
            request.headers[name] = secret.reveal()
        return request

    return set_secrets


_FRAMING = frozenset({"content-length", "transfer-encoding"})
"""Headers that mark the end of a body; HTTP/2 always marks it (RFC 9113, 8.1)."""


def _head(response: Any) -> Head:
    headers = {name.lower(): value for name, value in response.headers.items()}
    is_framed = response.is_stream_consumed or response.http_version == "HTTP/2" or bool(_FRAMING & headers.keys())
    if response.is_stream_consumed:  # by a transport in memory, which has decompressed the body
        headers.pop("content-encoding", None)
    return Head(response.status_code, headers, header_size(response.headers), is_framed=is_framed)


def _send_request(pooled: PooledClient, request: Any, options: dict[str, Any]) -> Any:
    """Return the response to a request, also if a hook of an injected client raised an error for its status."""
    try:
        return pooled.client.send(request, **options)
    except pooled.module.HTTPStatusError as error:
        return _response_of_error(error, request)


async def _send_request_async(pooled: PooledClient, request: Any, options: dict[str, Any]) -> Any:
    try:
        return await pooled.client.send(request, **options)
    except pooled.module.HTTPStatusError as error:
        return _response_of_error(error, request)


def _response_of_error(error: Any, request: Any) -> Any:
    if error.response.request is not request:  # of another request that the hook sent, for example to get a token
        raise error
    return error.response


class _BaseHTTPExchange:
    """The connection of a call, with the parts that sync and async code share."""

    def __init__(self, pool: ConnectionPool, clock: Clock) -> None:
        self._pool = pool
        self._clock = clock
        self._clients: ClientPool | None = None
        self._client: Any = None
        self._response: Any = None

    @property
    def is_open(self) -> bool:
        """Whether a response is open."""
        return self._response is not None

    def _acquire(self) -> PooledClient:
        clients = self._pool.clients()
        clients.close_pending()
        self._client = pooled = clients.acquire(self)
        self._clients = clients  # set only after a client was acquired
        return pooled

    def _release(self) -> list[Any]:
        """Release the client. Return the objects to close: a response that was not read to its end, and a client without calls."""
        response, self._response = self._response, None
        clients, self._clients = self._clients, None
        closables = [] if response is None or response.is_closed else [response]
        unused = clients.release(self._client, self) if clients is not None else None
        return closables if unused is None else [*closables, unused.client]

    def _used_all_time(self, step: Send | Read, started: float) -> bool:
        """Return whether a step used its whole time limit. The timeout of the HTTP library may end a moment earlier."""
        return step.seconds is not None and self._clock.now() - started >= step.seconds - 0.01

    @contextmanager
    def _close_errors_ignored(self) -> Iterator[None]:
        """Ignore connection errors while something is closed."""
        module = self._client.module
        try:
            yield
        except Exception as error:
            if not isinstance(error, OSError | module.TransportError | module.StreamError) and not is_from_connection_code(error):
                raise


class HTTPExchange(_BaseHTTPExchange):
    """One call at a time through a sync client: sends it, reads the response, closes it."""

    def __init__(self, pool: ConnectionPool, clock: Clock) -> None:
        super().__init__(pool, clock)
        self._chunks: Iterator[bytes] = iter(())

    def send(self, step: Send) -> Head:
        """Send a call and return the head of the response."""
        self.close()
        pooled = self._acquire()
        started, deadlines.DEADLINES.exchange = self._clock.now(), deadlines.deadline_after(step.seconds)
        try:
            request, options = _build_request(pooled.client, step, {"trace": deadlines.deadline_trace(step.phases[0])})
            self._response = response = _send_request(pooled, request, options)
            deadlines.apply_deadlines(response.extensions.get("network_stream"))
            head = _head(response)
            self._chunks = iter((response.content,)) if response.is_stream_consumed else response.iter_raw()
            return head
        except Exception as error:
            failure = library_error(error, pooled.module, step, self._used_all_time(step, started), "headers")
        except BaseException:
            self._retire_client()
            raise
        finally:
            deadlines.DEADLINES.exchange = deadlines.DEADLINES.handshake = None
        raise failure

    def read(self, step: Read) -> bytes | None:
        """Return the next chunk of the body; None at its end."""
        started, deadlines.DEADLINES.exchange = self._clock.now(), deadlines.deadline_after(step.seconds)
        try:
            return next(self._chunks, None)
        except Exception as error:
            failure = library_error(error, self._client.module, step, self._used_all_time(step, started), "body")
        except BaseException:
            self._retire_client()
            raise
        finally:
            deadlines.DEADLINES.exchange = None
        raise failure

    def close(self) -> None:
        """Close the response. Its connection stays open if the body was read to the end."""
        closables = self._release()
        self._chunks = iter(())
        for closable in closables:
            with self._close_errors_ignored():
                closable.close()

    def _retire_client(self) -> None:
        """Close the HTTP client of this call with the call, so that no other call uses it after an interrupt."""
        if self._clients is not None:
            self._clients.retire(self._client)

    def close_later(self) -> None:
        """Close before the next call; for an exchange without an owner, from any thread."""
        if self._clients is not None:
            self._clients.close_later(self.close)


class AsyncHTTPExchange(_BaseHTTPExchange):
    """One call at a time through an async client."""

    def __init__(self, pool: ConnectionPool, clock: Clock) -> None:
        super().__init__(pool, clock)
        self._chunks: AsyncIterator[bytes] = _no_chunks()
        self._deadline = deadlines.AsyncDeadline()
        self._loop: asyncio.AbstractEventLoop | None = None

    async def send(self, step: Send) -> Head:
        """Send a call and return the head of the response."""
        await self.close()
        self._loop = running_loop()
        pooled = self._acquire()
        started = self._clock.now()
        try:
            request, options = _build_request(pooled.client, step, {"trace": deadlines.deadline_trace_async(step.phases[0])})
            self._response = response = await self._deadline.within(step.seconds, _send_request_async(pooled, request, options))
            head = _head(response)
            self._chunks = _single_chunk(response.content) if response.is_stream_consumed else response.aiter_raw()
            return head
        except Exception as error:
            failure = library_error(error, pooled.module, step, self._used_all_time(step, started), "headers")
        raise failure

    async def read(self, step: Read) -> bytes | None:
        """Return the next chunk of the body; None at its end."""
        started = self._clock.now()
        try:
            chunk: bytes | None = await self._deadline.within(step.seconds, anext(self._chunks, None))
            return chunk
        except Exception as error:
            failure = library_error(error, self._client.module, step, self._used_all_time(step, started), "body")
        raise failure

    async def close(self) -> None:
        """Close the response, even if the caller is cancelled meanwhile."""
        self._deadline.stop()
        closables = self._release()
        self._chunks = _no_chunks()
        if closables:
            await _shielded(lambda: self._close_all(closables))

    async def _close_all(self, closables: list[Any]) -> None:
        for closable in closables:
            with self._close_errors_ignored():
                await closable.aclose()

    def close_later(self) -> None:
        """Close as soon as the event loop can; for an exchange without an owner, from any thread."""
        if self._loop is not None and not self._loop.is_closed():
            self._loop.call_soon_threadsafe(lambda: asyncio.ensure_future(self.close()))
        else:
            self._release()  # without an event loop nothing can be awaited


async def _no_chunks() -> AsyncIterator[bytes]:
    return
    yield b""


async def _single_chunk(body: bytes) -> AsyncIterator[bytes]:
    yield body


async def _shielded(close: Callable[[], Any]) -> None:
    """Run a coroutine function to its end. The scope shields it from cancel scopes, a separate task from task cancellation."""
    import anyio

    with anyio.CancelScope(shield=True):
        if running_loop() is None:
            await close()
            return
        task = asyncio.ensure_future(close())
        cancelled: asyncio.CancelledError | None = None
        while not task.done():
            try:
                await asyncio.shield(task)
            except asyncio.CancelledError as error:
                if task.done():
                    raise
                cancelled = error
        task.result()
    if cancelled is not None:
        raise cancelled


_TIMEOUTS: Mapping[str, tuple[TimeoutKind, Phase]] = {
    "ConnectTimeout": ("connect", "connect"),
    "PoolTimeout": ("connect", "pool"),
    "WriteTimeout": ("write", "write"),
}
"""Timeout exceptions of the HTTP libraries, and the limit and phase of each."""


_CONNECTION_PACKAGES = frozenset({"h11", "h2", "hpack", "hyperframe", "httpcore", "httpcore2"})
"""Packages below both HTTP libraries that keep the state of a connection."""


def is_from_connection_code(error: BaseException) -> bool:
    """Return whether an exception was raised by the code that keeps the state of a connection.

    An interrupt between two lines of that code leaves an invalid state. The next call then raises an ``AssertionError`` or a
    ``LocalProtocolError``, which the HTTP libraries do not translate.
    """
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    raised_in = trace.tb_frame.f_globals.get("__name__", "") if trace is not None else ""
    return not _CONNECTION_PACKAGES.isdisjoint((raised_in.partition(".")[0], type(error).__module__.partition(".")[0]))


def library_error(error: Exception, module: Any, step: Send | Read, used_all_time: bool, phase: Phase) -> APIError:
    """Return this library's error for an exception of an HTTP library or a socket; raise any other exception.

    ``used_all_time``: the step used its whole time limit, so the limit of the call passed, and not one of the library.
    """
    if isinstance(error, APIError):
        return error
    if isinstance(error, deadlines.HandshakeTimeoutError):
        return timeout_error("connect", "connect")
    if isinstance(error, deadlines.DeadlineError) or (isinstance(error, module.TimeoutException) and used_all_time):
        return timeout_error(step.kind, phase)
    if isinstance(error, module.TimeoutException):
        name = type(error).__name__
        kind, timeout_phase = _TIMEOUTS.get(name, ("read", phase))
        return timeout_error(kind, timeout_phase)
    if isinstance(error, module.InvalidURL | module.UnsupportedProtocol):
        return APIConnectionError("the URL cannot be called, expected http:// or https://", phase="connect", can_retry=False)
    if isinstance(error, module.HTTPError | module.StreamError | OSError):
        return _connection_error(error, module, phase, step)
    if is_from_connection_code(error):
        return APIConnectionError(f"the connection had an invalid state, {type(error).__name__}: {error}"[:500], phase=phase)
    if isinstance(error, RuntimeError) and ("closed" in str(error) or "event loop" in str(error)):
        return APIConnectionError(f"the HTTP client cannot be used: {error}", phase="connect", can_retry=False)
    raise error


def _connection_error(error: Exception, module: Any, phase: Phase, step: Send | Read) -> APIConnectionError:
    causes = _causes(error)
    is_tls = any(isinstance(cause, ssl.SSLError) for cause in causes)
    is_certificate = any(isinstance(cause, ssl.SSLCertVerificationError) for cause in causes)
    has_large_headers = any(getattr(cause, "error_status_hint", None) == 431 for cause in causes)
    is_local = isinstance(error, module.LocalProtocolError)
    has_bad_encoding = isinstance(error, module.DecodingError)  # raised in a hook; this library decompresses bodies itself
    if isinstance(error, module.ConnectError | module.ProxyError):
        phase = "tls" if is_tls else "connect"
    elif isinstance(error, module.WriteError | module.LocalProtocolError):
        phase = "write"
    elif has_bad_encoding:
        phase = "body"
    text = "the request violates the HTTP protocol" if is_local else f"{type(error).__name__}: {error}"[:500]
    if isinstance(error, module.StreamClosed):  # raised by the library when a hook raised; an exchange does not close what it reads
        text = "a hook of the HTTP client closed the response before it was read"
    if isinstance(step, Send):
        url = urlsplit(step.call.url)
        text = f"{url.scheme}://{url.netloc} cannot be called: {text}"
    return APIConnectionError(
        text, phase=phase, can_retry=not (is_certificate or has_large_headers or is_local or has_bad_encoding)
    )


def _causes(error: BaseException | None) -> list[BaseException]:
    chain: list[BaseException] = []
    while error is not None and error not in chain:
        chain.append(error)
        error = error.__cause__ or error.__context__
    return chain
