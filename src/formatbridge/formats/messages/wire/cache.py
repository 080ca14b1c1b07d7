"""Prompt caching: cache marks in requests, and cache diagnostics in responses.

Source, unless a model names another: official SDK types, 2026-11.
"""

from typing import Annotated, Literal

from formatbridge.validation.wire_base import Count, Open, Unknown, Wire


class CacheControl(Wire):
    """A mark that the server may cache the prompt up to and including its object.

    Source: specification, ``cache_control``; official SDK types, 2026-11.
    """

    type: str
    """Currently always ``ephemeral``."""
    ttl: str | None = None
    """``5m`` or ``1h``; None: ``5m``."""


class DiagnosticsOptions(Wire):
    """A request for the reason of a cache miss, compared with an earlier response."""

    previous_message_id: str | None = None
    """Id of the response to compare with; null for the first request."""


class CacheMiss(Wire):
    """The reason for a cache miss.

    Source: official SDK types, 2026-11; one type per reason there.
    """

    cache_missed_input_tokens: Count | None = None
    """Estimated number of tokens; the last two reasons do not have it."""
    type: Literal[
        "model_changed", "system_changed", "tools_changed", "messages_changed", "previous_message_not_found", "unavailable"
    ]


class Diagnostics(Wire):
    """The cache diagnostics of this request."""

    cache_miss_reason: Annotated[CacheMiss | Unknown, Open("type")] | None = None
    """None: no cache miss, or the comparison is not finished."""
