"""One conversation, four wire formats: typed models and exact conversion, with a report of whatever the target cannot hold.

Everything public is here and loads on first use; ``import formatbridge`` alone loads neither an HTTP library nor the wire models.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from formatbridge.convert import (
        Converted,
        ConvertedError,
        ConvertedRequest,
        convert_error,
        convert_models,
        convert_request,
        convert_response,
    )
    from formatbridge.detect import Detection, detect_format
    from formatbridge.errors import (
        ConfigurationError,
        EventTooLargeError,
        FormatBridgeError,
        InvalidPayloadError,
        LossyConversionError,
        StreamDecodeError,
        StreamError,
        StreamFailedError,
        TruncatedStreamError,
        UnknownFormatError,
    )
    from formatbridge.formats import FORMATS
    from formatbridge.ir import Format
    from formatbridge.losses import Addition, Loss
    from formatbridge.options import Options
    from formatbridge.stream_source import iter_events
    from formatbridge.streams import StreamConverter, collect_stream, convert_stream, replay_response

__version__ = "0.1.0"

__all__ = [
    "FORMATS",
    "Addition",
    "ConfigurationError",
    "Converted",
    "ConvertedError",
    "ConvertedRequest",
    "Detection",
    "EventTooLargeError",
    "Format",
    "FormatBridgeError",
    "InvalidPayloadError",
    "Loss",
    "LossyConversionError",
    "Options",
    "StreamConverter",
    "StreamDecodeError",
    "StreamError",
    "StreamFailedError",
    "TruncatedStreamError",
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
]

_HOMES = {
    "FORMATS": "formats",
    "Addition": "losses",
    "ConfigurationError": "errors",
    "Converted": "convert",
    "ConvertedError": "convert",
    "ConvertedRequest": "convert",
    "Detection": "detect",
    "EventTooLargeError": "errors",
    "Format": "ir",
    "FormatBridgeError": "errors",
    "InvalidPayloadError": "errors",
    "Loss": "losses",
    "LossyConversionError": "errors",
    "Options": "options",
    "StreamConverter": "streams",
    "StreamDecodeError": "errors",
    "StreamError": "errors",
    "StreamFailedError": "errors",
    "TruncatedStreamError": "errors",
    "UnknownFormatError": "errors",
    "collect_stream": "streams",
    "convert_error": "convert",
    "convert_models": "convert",
    "convert_request": "convert",
    "convert_response": "convert",
    "convert_stream": "streams",
    "detect_format": "detect",
    "iter_events": "stream_source",
    "replay_response": "streams",
}


def __getattr__(name: str) -> Any:
    """Load a public name from the module that defines it (PEP 562)."""
    if name not in _HOMES:
        raise AttributeError(f"module 'formatbridge' has no attribute {name!r}")
    value = getattr(import_module(f"formatbridge.{_HOMES[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    """List the public names, loaded or not."""
    return sorted({*globals(), *__all__})
