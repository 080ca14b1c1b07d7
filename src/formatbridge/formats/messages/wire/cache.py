"""Prompt caching: the marks a request sets, and what an answer tells about a cache that was missed."""

from typing import Annotated, Literal

from formatbridge.validation.wire_base import Count, Open, Unknown, Wire


class CacheControl(Wire):
    """A mark that the prompt up to and including the object it sits on may be cached.

    Source: specification, ``cache_control``; official SDK types, 2026-11.
    """

    type: str
    """Today always ``ephemeral``."""
    ttl: str | None = None
    """``5m`` (what None means) or ``1h``."""


class DiagnosticsOptions(Wire):
    """Asks why the prompt cache was missed, compared with an earlier answer.

    Source: official SDK types, 2026-11.
    """

    previous_message_id: str | None = None
    """Id of the answer to compare with; null on the first turn."""


class CacheMiss(Wire):
    """The reason for a cache miss.

    Source: official SDK types, 2026-11; one type per reason there.
    """

    cache_missed_input_tokens: Count | None = None
    """Tokens, estimated; the last two reasons come without it."""
    type: Literal[
        "model_changed",
        "system_changed",
        "tools_changed",
        "messages_changed",
        "previous_message_not_found",
        "unavailable",
    ]


class Diagnostics(Wire):
    """What the server found out about this request.

    Source: official SDK types, 2026-11.
    """

    cache_miss_reason: Annotated[CacheMiss | Unknown, Open("type")] | None = None
    """None: nothing was missed, or the comparison is not finished."""
