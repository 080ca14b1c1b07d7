"""One conversation, four wire formats: typed models and exact conversion, with a report of whatever the target cannot hold.

Everything public is here and loads on first use; ``import formatbridge`` alone loads neither an HTTP library nor the wire models.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from formatbridge._version import __version__ as __version__

if TYPE_CHECKING:
    from formatbridge.convert.bodies import (
        Converted,
        ConvertedError,
        ConvertedRequest,
        convert_error,
        convert_models,
        convert_request,
        convert_response,
    )
    from formatbridge.convert.bridge import Bridge, Exchange
    from formatbridge.convert.collect import collect_stream, iter_events
    from formatbridge.convert.detect import Detection, detect_format
    from formatbridge.convert.replay import replay_response
    from formatbridge.convert.streams import StreamConverter, convert_stream
    from formatbridge.errors import (
        APIConnectionError,
        APIError,
        APIStatusError,
        APITimeoutError,
        AuthenticationError,
        BadRequestError,
        ConfigurationError,
        EventTooLargeError,
        FormatBridgeError,
        InternalServerError,
        InvalidPayloadError,
        LossyConversionError,
        NotFoundError,
        OverloadedError,
        PermissionDeniedError,
        Phase,
        QuotaExceededError,
        RateLimitError,
        RequestTooLargeError,
        StreamDecodeError,
        StreamError,
        StreamFailedError,
        TimeoutKind,
        TruncatedStreamError,
        UnexpectedResponseError,
        UnknownFormatError,
    )
    from formatbridge.formats import FORMATS
    from formatbridge.ir import ErrorKind, Format
    from formatbridge.options import Options, Severity
    from formatbridge.relay.calls import Prepared
    from formatbridge.relay.client import AsyncClient, AsyncStream, Client, Stream
    from formatbridge.relay.clock import Clock
    from formatbridge.relay.profile import PROFILES, RelayProfile
    from formatbridge.relay.reply import Reply
    from formatbridge.relay.settings import Limits, Retry, RetryCause, Timeout
    from formatbridge.relay.steps import Attempt
    from formatbridge.relay.transport import transport
    from formatbridge.report.ledger import Addition, Loss

__all__ = [
    "FORMATS",
    "PROFILES",
    "APIConnectionError",
    "APIError",
    "APIStatusError",
    "APITimeoutError",
    "Addition",
    "AsyncClient",
    "AsyncStream",
    "Attempt",
    "AuthenticationError",
    "BadRequestError",
    "Bridge",
    "Client",
    "Clock",
    "ConfigurationError",
    "Converted",
    "ConvertedError",
    "ConvertedRequest",
    "Detection",
    "ErrorKind",
    "EventTooLargeError",
    "Exchange",
    "Format",
    "FormatBridgeError",
    "InternalServerError",
    "InvalidPayloadError",
    "Limits",
    "Loss",
    "LossyConversionError",
    "NotFoundError",
    "Options",
    "OverloadedError",
    "PermissionDeniedError",
    "Phase",
    "Prepared",
    "QuotaExceededError",
    "RateLimitError",
    "RelayProfile",
    "Reply",
    "RequestTooLargeError",
    "Retry",
    "RetryCause",
    "Severity",
    "Stream",
    "StreamConverter",
    "StreamDecodeError",
    "StreamError",
    "StreamFailedError",
    "Timeout",
    "TimeoutKind",
    "TruncatedStreamError",
    "UnexpectedResponseError",
    "UnknownFormatError",
    "collect_stream",
    "convert_error",
    "convert_models",
    "convert_request",
    "convert_response",
    "convert_stream",
    "detect_format",
    "iter_events",
    "replay_response",
    "transport",
]

_HOMES = {
    "FORMATS": "formats",
    "PROFILES": "relay.profile",
    "APIConnectionError": "errors",
    "APIError": "errors",
    "APIStatusError": "errors",
    "APITimeoutError": "errors",
    "Addition": "report.ledger",
    "AsyncClient": "relay.client",
    "AsyncStream": "relay.client",
    "Attempt": "relay.steps",
    "AuthenticationError": "errors",
    "BadRequestError": "errors",
    "Bridge": "convert.bridge",
    "Client": "relay.client",
    "Clock": "relay.clock",
    "ConfigurationError": "errors",
    "Converted": "convert.bodies",
    "ConvertedError": "convert.bodies",
    "ConvertedRequest": "convert.bodies",
    "Detection": "convert.detect",
    "ErrorKind": "ir",
    "EventTooLargeError": "errors",
    "Exchange": "convert.bridge",
    "Format": "ir",
    "FormatBridgeError": "errors",
    "InternalServerError": "errors",
    "InvalidPayloadError": "errors",
    "Limits": "relay.settings",
    "Loss": "report.ledger",
    "LossyConversionError": "errors",
    "NotFoundError": "errors",
    "Options": "options",
    "OverloadedError": "errors",
    "PermissionDeniedError": "errors",
    "Phase": "errors",
    "Prepared": "relay.calls",
    "QuotaExceededError": "errors",
    "RateLimitError": "errors",
    "RelayProfile": "relay.profile",
    "Reply": "relay.reply",
    "RequestTooLargeError": "errors",
    "Retry": "relay.settings",
    "RetryCause": "relay.settings",
    "Severity": "options",
    "Stream": "relay.client",
    "StreamConverter": "convert.streams",
    "StreamDecodeError": "errors",
    "StreamError": "errors",
    "StreamFailedError": "errors",
    "Timeout": "relay.settings",
    "TimeoutKind": "errors",
    "TruncatedStreamError": "errors",
    "UnexpectedResponseError": "errors",
    "UnknownFormatError": "errors",
    "collect_stream": "convert.collect",
    "convert_error": "convert.bodies",
    "convert_models": "convert.bodies",
    "convert_request": "convert.bodies",
    "convert_response": "convert.bodies",
    "convert_stream": "convert.streams",
    "detect_format": "convert.detect",
    "iter_events": "convert.collect",
    "replay_response": "convert.replay",
    "transport": "relay.transport",
}


def __getattr__(name: str) -> Any:
    """Load a public name from the module that defines it (PEP 562)."""
    if name not in _HOMES:
        raise AttributeError(f"module 'formatbridge' has no attribute {name!r}")
    value = getattr(import_module(f"formatbridge.{_HOMES[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    """List the public names, loaded or not, and those that every module has."""
    return sorted([*__all__, *(name for name in globals() if name.startswith("__"))])
