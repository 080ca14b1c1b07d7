"""Token counts and other usage of a response.

Source, unless a model names another: official SDK types, 2026-11.
"""

from typing import Any

from formatbridge.validation.wire_base import Count, Int, Number, Wire


class CacheWriteDetails(Wire):
    """Tokens written to the cache, by lifetime."""

    ttl_12h_tokens: Count | None = None
    ttl_30m_tokens: Count | None = None


class InputTokenDetails(Wire):
    """Details of the input tokens.

    Source: official SDK types, 2026-11; the last three fields: specification, "Usage". A 0 may mean unknown.
    """

    cache_write_tokens: Count | None = None
    """Required by the vendor's types, missing in most recorded traffic."""
    cached_tokens: Count | None = None
    """Tokens read from the cache; part of the input tokens."""
    cache_write_tokens_details: CacheWriteDetails | None = None
    text_tokens: Count | None = None
    audio_tokens: Count | None = None
    image_tokens: Count | None = None


class OutputTokenDetails(Wire):
    """Details of the output tokens.

    Source: official SDK types, 2026-11; the last two fields: specification, "Usage".
    """

    reasoning_tokens: Count | None = None
    """Part of the output tokens."""
    text_tokens: Count | None = None
    audio_tokens: Count | None = None


class ContextDetails(Wire):
    """Token counts of the context of the last step.

    Source: recorded answers of one server.
    """

    input_tokens: Count | None = None
    output_tokens: Count | None = None


class Usage(Wire):
    """Token counts of a response, including cached and reasoning tokens.

    The relay specification uses the field names of chat completions here, the vendor has other names. Relays send either or both.
    Source: official SDK types, 2026-11; specification, "Usage". Seen: ``context_details`` and the fields after it.
    """

    input_tokens: Count | None = None
    input_tokens_details: InputTokenDetails | None = None
    output_tokens: Count | None = None
    output_tokens_details: OutputTokenDetails | None = None
    total_tokens: Count | None = None
    prompt_tokens: Count | None = None
    """``input_tokens`` in the specification."""
    completion_tokens: Count | None = None
    """``output_tokens`` in the specification."""
    prompt_tokens_details: InputTokenDetails | None = None
    completion_tokens_details: OutputTokenDetails | None = None
    context_details: ContextDetails | None = None
    num_sources_used: Count | None = None
    num_server_side_tools_used: Count | None = None
    server_side_tool_usage_details: dict[str, Any] | None = None
    """Number of calls by hosted tool."""
    cost: Number | None = None
    """US dollars."""
    cost_details: dict[str, Any] | None = None
    cost_in_usd_ticks: Int | None = None
    is_byok: bool | None = None
    """True: billed to the caller's API key at the provider of the model."""


class ImageTokenDetails(Wire):
    """Token counts of an image generation."""

    image_tokens: Count | None = None
    text_tokens: Count | None = None


class CachedImageTokenDetails(Wire):
    """Cached token counts of an image generation."""

    cached_image_tokens: Count | None = None
    cached_text_tokens: Count | None = None


class ImageUsage(Wire):
    """Token counts of the image generations of a response."""

    input_tokens: Count | None = None
    input_tokens_details: ImageTokenDetails | None = None
    output_tokens: Count | None = None
    total_tokens: Count | None = None
    cached_tokens: Count | None = None
    cached_tokens_details: CachedImageTokenDetails | None = None
    output_tokens_details: ImageTokenDetails | None = None


class WebSearchUsage(Wire):
    """Number of web searches of a response."""

    num_requests: Count | None = None


class ToolUsage(Wire):
    """Usage of hosted tools; it is not part of ``Usage``."""

    image_gen: ImageUsage | None = None
    web_search: WebSearchUsage | None = None
