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
    from formatbridge.client.batch_files import convert_batch
    from formatbridge.client.calls import Prepared
    from formatbridge.client.clients import AsyncClient, AsyncStream, Client, Stream
    from formatbridge.client.flow import Attempt
    from formatbridge.client.gateway import Gateway
    from formatbridge.client.gateway_memory import InMemoryStore, ResponseStore
    from formatbridge.client.profile import PROFILES, RelayProfile
    from formatbridge.client.reply import CountReply, Reply
    from formatbridge.client.settings import Clock, Limits, Retry, RetryCause, Timeout
    from formatbridge.client.transport import transport
    from formatbridge.convert.batch import BatchLine
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
    from formatbridge.convert.input import Body
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
    from formatbridge.formats.format import FormatSpec
    from formatbridge.formats.model_facts import ModelFacts
    from formatbridge.formats.registry import FORMATS
    from formatbridge.formats.target import Target
    from formatbridge.ir import ErrorKind, Format, RegisteredName
    from formatbridge.options import Options
    from formatbridge.report.losses import Addition, Loss, Severity
    from formatbridge.report.summary import LossGroup, LossTotals, summarize

__all__ = [
    "FORMATS", "PROFILES", "APIConnectionError", "APIError", "APIStatusError", "APITimeoutError", "Addition", "AsyncClient",
    "AsyncStream", "Attempt", "AuthenticationError", "BadRequestError", "BatchLine", "Body", "Bridge", "Client", "Clock", "Column",
    "ConfigurationError", "Converted", "ConvertedError", "ConvertedRequest", "CountReply", "Detection", "Dialect", "DialectRules",
    "ErrorKind", "EventTooLargeError", "Exchange", "Explanation", "Format", "FormatBridgeError", "FormatCandidate", "FormatSpec",
    "Gateway", "InMemoryStore", "InternalServerError", "InvalidPayloadError", "Limits", "Loss", "LossGroup", "LossTotals",
    "LossyConversionError", "ModelFacts", "NotFoundError", "Options", "OverloadedError", "PermissionDeniedError", "Phase",
    "Prepared", "QuotaExceededError", "RateLimitError", "RegisteredName", "RelayProfile", "Reply", "RequestTooLargeError",
    "ResponseStore", "Retry", "RetryCause", "Severity", "Stream", "StreamConverter", "StreamDecodeError", "StreamError",
    "StreamFailedError", "Target", "Timeout", "TimeoutKind", "TruncatedStreamError", "UnexpectedResponseError",
    "UnknownFormatError", "collect_stream", "convert_batch", "convert_count_request", "convert_count_response", "convert_error",
    "convert_models", "convert_request", "convert_response", "convert_stream", "convert_table", "detect_format", "dialects",
    "explain", "iter_events", "load_model_facts", "preload", "replay_response", "summarize", "telemetry", "transport",
]  # fmt: skip

_NAMES = {
    "client.batch_files": "convert_batch",
    "client.calls": "Prepared",
    "client.clients": "AsyncClient AsyncStream Client Stream",
    "client.flow": "Attempt",
    "client.gateway": "Gateway",
    "client.gateway_memory": "InMemoryStore ResponseStore",
    "client.profile": "PROFILES RelayProfile",
    "client.reply": "CountReply Reply",
    "client.settings": "Clock Limits Retry RetryCause Timeout",
    "client.transport": "transport",
    "convert.batch": "BatchLine",
    "convert.bodies": "Converted ConvertedError ConvertedRequest convert_error convert_models convert_request convert_response",
    "convert.bridge": "Bridge Exchange",
    "convert.collect": "collect_stream iter_events",
    "convert.counts": "convert_count_request convert_count_response",
    "convert.detect": "Detection detect_format",
    "convert.evidence": "FormatCandidate",
    "convert.explain": "Explanation explain",
    "convert.input": "Body",
    "convert.model_tables": "load_model_facts",
    "convert.preload": "preload",
    "convert.replay": "replay_response",
    "convert.streams": "StreamConverter convert_stream",
    "convert.tables": "Column convert_table",
    "dialect": "Dialect DialectRules",
    "errors": """
        APIConnectionError APIError APIStatusError APITimeoutError AuthenticationError BadRequestError
        ConfigurationError EventTooLargeError FormatBridgeError InternalServerError InvalidPayloadError
        LossyConversionError NotFoundError OverloadedError PermissionDeniedError Phase QuotaExceededError
        RateLimitError RequestTooLargeError StreamDecodeError StreamError StreamFailedError TimeoutKind
        TruncatedStreamError UnexpectedResponseError UnknownFormatError
    """,
    "formats.format": "FormatSpec",
    "formats.model_facts": "ModelFacts",
    "formats.registry": "FORMATS",
    "formats.target": "Target",
    "ir": "ErrorKind Format RegisteredName",
    "options": "Options",
    "report.losses": "Addition Loss Severity",
    "report.summary": "LossGroup LossTotals summarize",
}
"""A module to its public names."""
_SUBMODULES = {"dialects": "formats.dialects", "telemetry": "telemetry"}
"""Public names that are modules."""
_MODULES = _SUBMODULES | {name: module for module, names in _NAMES.items() for name in names.split()}


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
