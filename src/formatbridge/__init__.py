"""Convert LLM requests, responses, streams and errors between four wire formats, with a report of all losses.

This module has all public names and loads each at its first use. ``import formatbridge`` alone loads neither an HTTP library nor the wire
models.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from formatbridge._version import __version__ as __version__

if TYPE_CHECKING:
    from formatbridge import telemetry
    from formatbridge.client.calls import Prepared
    from formatbridge.client.clients import AsyncClient, AsyncStream, Client, Stream
    from formatbridge.client.flow import Attempt
    from formatbridge.client.gateway import Gateway
    from formatbridge.client.gateway_memory import InMemoryStore, ResponseStore
    from formatbridge.client.profile import PROFILES, RelayProfile
    from formatbridge.client.reply import CountReply, Reply
    from formatbridge.client.settings import Clock, Limits, Retry, RetryCause, Timeout
    from formatbridge.client.transport import transport
    from formatbridge.convert.batch import BatchLine, convert_batch
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
    from formatbridge.convert.counts import convert_count_request, convert_count_response
    from formatbridge.convert.detect import Detection, detect_format
    from formatbridge.convert.evidence import FormatCandidate
    from formatbridge.convert.explain import Explanation, explain
    from formatbridge.convert.model_tables import load_model_facts
    from formatbridge.convert.preload import preload
    from formatbridge.convert.replay import replay_response
    from formatbridge.convert.streams import StreamConverter, convert_stream
    from formatbridge.convert.tables import Column, convert_table
    from formatbridge.dialect import Dialect, DialectRules
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
    from formatbridge.formats import dialects
    from formatbridge.formats.format import FormatSpec, Target
    from formatbridge.formats.model_facts import ModelFacts
    from formatbridge.formats.registry import FORMATS
    from formatbridge.ir import ErrorKind, Format, RegisteredName
    from formatbridge.options import Options
    from formatbridge.report.losses import Addition, Loss, Severity
    from formatbridge.report.summary import LossGroup, LossTotals, summarize

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
    "BatchLine",
    "Bridge",
    "Client",
    "Clock",
    "Column",
    "ConfigurationError",
    "Converted",
    "ConvertedError",
    "ConvertedRequest",
    "CountReply",
    "Detection",
    "Dialect",
    "DialectRules",
    "ErrorKind",
    "EventTooLargeError",
    "Exchange",
    "Explanation",
    "Format",
    "FormatBridgeError",
    "FormatCandidate",
    "FormatSpec",
    "Gateway",
    "InMemoryStore",
    "InternalServerError",
    "InvalidPayloadError",
    "Limits",
    "Loss",
    "LossGroup",
    "LossTotals",
    "LossyConversionError",
    "ModelFacts",
    "NotFoundError",
    "Options",
    "OverloadedError",
    "PermissionDeniedError",
    "Phase",
    "Prepared",
    "QuotaExceededError",
    "RateLimitError",
    "RegisteredName",
    "RelayProfile",
    "Reply",
    "RequestTooLargeError",
    "ResponseStore",
    "Retry",
    "RetryCause",
    "Severity",
    "Stream",
    "StreamConverter",
    "StreamDecodeError",
    "StreamError",
    "StreamFailedError",
    "Target",
    "Timeout",
    "TimeoutKind",
    "TruncatedStreamError",
    "UnexpectedResponseError",
    "UnknownFormatError",
    "collect_stream",
    "convert_batch",
    "convert_count_request",
    "convert_count_response",
    "convert_error",
    "convert_models",
    "convert_request",
    "convert_response",
    "convert_stream",
    "convert_table",
    "detect_format",
    "dialects",
    "explain",
    "iter_events",
    "load_model_facts",
    "preload",
    "replay_response",
    "summarize",
    "telemetry",
    "transport",
]

_MODULES = {
    "FORMATS": "formats",
    "PROFILES": "client.profile",
    "APIConnectionError": "errors",
    "APIError": "errors",
    "APIStatusError": "errors",
    "APITimeoutError": "errors",
    "Addition": "report.ledger",
    "AsyncClient": "client.clients",
    "AsyncStream": "client.clients",
    "Attempt": "client.flow",
    "AuthenticationError": "errors",
    "BadRequestError": "errors",
    "BatchLine": "convert.batch",
    "Bridge": "convert.bridge",
    "Client": "client.clients",
    "Clock": "client.settings",
    "Column": "convert.tables",
    "ConfigurationError": "errors",
    "Converted": "convert.bodies",
    "ConvertedError": "convert.bodies",
    "ConvertedRequest": "convert.bodies",
    "CountReply": "client.reply",
    "Detection": "convert.detect",
    "Dialect": "dialect",
    "DialectRules": "dialect",
    "ErrorKind": "ir",
    "EventTooLargeError": "errors",
    "Exchange": "convert.bridge",
    "Explanation": "convert.explain",
    "Format": "ir",
    "FormatBridgeError": "errors",
    "FormatCandidate": "convert.evidence",
    "FormatSpec": "formats.format",
    "Gateway": "client.gateway",
    "InMemoryStore": "client.gateway_memory",
    "InternalServerError": "errors",
    "InvalidPayloadError": "errors",
    "Limits": "client.settings",
    "Loss": "report.ledger",
    "LossGroup": "report.summary",
    "LossTotals": "report.summary",
    "LossyConversionError": "errors",
    "ModelFacts": "formats.model_facts",
    "NotFoundError": "errors",
    "Options": "options",
    "OverloadedError": "errors",
    "PermissionDeniedError": "errors",
    "Phase": "errors",
    "Prepared": "client.calls",
    "QuotaExceededError": "errors",
    "RateLimitError": "errors",
    "RegisteredName": "ir",
    "RelayProfile": "client.profile",
    "Reply": "client.reply",
    "RequestTooLargeError": "errors",
    "ResponseStore": "client.gateway_memory",
    "Retry": "client.settings",
    "RetryCause": "client.settings",
    "Severity": "options",
    "Stream": "client.clients",
    "StreamConverter": "convert.streams",
    "StreamDecodeError": "errors",
    "StreamError": "errors",
    "StreamFailedError": "errors",
    "Target": "formats.format",
    "Timeout": "client.settings",
    "TimeoutKind": "errors",
    "TruncatedStreamError": "errors",
    "UnexpectedResponseError": "errors",
    "UnknownFormatError": "errors",
    "collect_stream": "convert.collect",
    "convert_batch": "convert.batch",
    "convert_count_request": "convert.counts",
    "convert_count_response": "convert.counts",
    "convert_error": "convert.bodies",
    "convert_models": "convert.bodies",
    "convert_request": "convert.bodies",
    "convert_response": "convert.bodies",
    "convert_stream": "convert.streams",
    "convert_table": "convert.tables",
    "detect_format": "convert.detect",
    "explain": "convert.explain",
    "dialects": "formats.dialects",
    "iter_events": "convert.collect",
    "load_model_facts": "convert.model_tables",
    "preload": "convert.preload",
    "replay_response": "convert.replay",
    "summarize": "report.summary",
    "telemetry": "telemetry",
    "transport": "client.transport",
}

_SUBMODULES = ("dialects", "telemetry")
"""Public names that are modules."""


def __getattr__(name: str) -> Any:
    """Load a public name from the module that defines it (PEP 562)."""
    if name not in _MODULES:
        raise AttributeError(f"module 'formatbridge' has no attribute {name!r}")
    module = import_module(f"formatbridge.{_MODULES[name]}")
    value = module if name in _SUBMODULES else getattr(module, name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    """List the public names, loaded or not, and those that every module has."""
    return sorted([*__all__, *(name for name in globals() if name.startswith("__"))])
