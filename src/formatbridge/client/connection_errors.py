"""What an HTTP library raises, in words of ours. The library is a value here, for there are two that are spelled alike."""

from __future__ import annotations

import ssl
from collections.abc import Mapping
from typing import Any
from urllib.parse import urlsplit

from formatbridge.client.deadlines import DueError, HandshakeDueError
from formatbridge.client.flow_steps import Read, Send, late
from formatbridge.errors import APIConnectionError, APIError, Phase, TimeoutKind

_LIMITS: Mapping[str, tuple[TimeoutKind, Phase]] = {
    "ConnectTimeout": ("connect", "connect"),
    "PoolTimeout": ("connect", "pool"),
    "WriteTimeout": ("write", "write"),
}
"""A library's word for a limit that passed, to ours, and to how far the call had come."""


_STACK = frozenset({"h11", "h2", "hpack", "hyperframe", "httpcore", "httpcore2"})
"""Packages that keep the state of a connection, below both HTTP libraries."""


def is_of_connection(error: BaseException) -> bool:
    """Say whether an exception was raised by the code that keeps the state of a connection.

    An interrupt between two of its lines leaves a state that it asserts never to be in; the call after it then raises its
    ``AssertionError`` or ``LocalProtocolError``, which the HTTP libraries do not translate.
    """
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    raised_in = trace.tb_frame.f_globals.get("__name__", "") if trace is not None else ""
    return not _STACK.isdisjoint((raised_in.partition(".")[0], type(error).__module__.partition(".")[0]))


def explained(error: Exception, module: Any, step: Send | Read, is_due: bool, phase: Phase) -> APIError:
    """Turn what an HTTP library or a socket raised into an error of ours; raise what is none of theirs.

    ``is_due``: the step took all the time that it had, so that its own limit passed, and not one of the library's.
    """
    if isinstance(error, APIError):
        return error
    if isinstance(error, HandshakeDueError):
        return late("connect", "connect")
    if isinstance(error, DueError) or (isinstance(error, module.TimeoutException) and is_due):
        return late(step.kind, phase)
    if isinstance(error, module.TimeoutException):
        name = type(error).__name__
        kind, found = _LIMITS.get(name, ("read", phase))
        return late(kind, found)
    if isinstance(error, module.InvalidURL | module.UnsupportedProtocol):
        return APIConnectionError("the URL cannot be called", phase="connect", can_retry=False)
    if isinstance(error, module.HTTPError | module.StreamError | OSError):
        return _broken(error, module, phase, step)
    if is_of_connection(error):
        return APIConnectionError(f"the connection was in disorder, {type(error).__name__}: {error}"[:500], phase=phase)
    if isinstance(error, RuntimeError) and ("closed" in str(error) or "event loop" in str(error)):
        return APIConnectionError(f"the HTTP client cannot be used: {error}", phase="connect", can_retry=False)
    raise error


def _broken(error: Exception, module: Any, phase: Phase, step: Send | Read) -> APIConnectionError:
    causes = _causes(error)
    is_tls = any(isinstance(cause, ssl.SSLError) for cause in causes)
    is_certificate = any(isinstance(cause, ssl.SSLCertVerificationError) for cause in causes)
    is_flood = any(getattr(cause, "error_status_hint", None) == 431 for cause in causes)
    is_ours = isinstance(error, module.LocalProtocolError)
    is_unreadable = isinstance(error, module.DecodingError)  # for a hook; this library opens bodies by itself
    if isinstance(error, module.ConnectError | module.ProxyError):
        phase = "tls" if is_tls else "connect"
    elif isinstance(error, module.WriteError | module.LocalProtocolError):
        phase = "write"
    elif is_unreadable:
        phase = "body"
    text = "the request breaks the protocol" if is_ours else f"{type(error).__name__}: {error}"[:500]
    if isinstance(error, module.StreamClosed):  # by the library, when a hook raises; a line closes nothing that it reads
        text = "a hook of the HTTP client closed the answer before it was read"
    if isinstance(step, Send):
        url = urlsplit(step.call.url)
        text = f"{url.scheme}://{url.netloc} cannot be called: {text}"
    return APIConnectionError(text, phase=phase, can_retry=not (is_certificate or is_flood or is_ours or is_unreadable))


def _causes(error: BaseException | None) -> list[BaseException]:
    found: list[BaseException] = []
    while error is not None and error not in found:
        found.append(error)
        error = error.__cause__ or error.__context__
    return found
