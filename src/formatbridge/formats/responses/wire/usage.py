"""What an answer cost."""

from typing import Any

from formatbridge.validation.wire_base import Count, Int, Number, Wire


class CacheWriteDetails(Wire):
    """Tokens written to the cache, by how long they live.

    Source: official SDK types, 2026-11.
    """

    ttl_12h_tokens: Count | None = None
    ttl_30m_tokens: Count | None = None


class InputTokenDetails(Wire):
    """Which kinds of input tokens there were.

    Source: official SDK types, 2026-11; the last three: specification, "Usage". A zero need not be known to be zero.
    """

    cache_write_tokens: Count | None = None
    """Required by the vendor's types and missing from most recordings."""
    cached_tokens: Count | None = None
    """Read from the cache; part of the input tokens."""
    cache_write_tokens_details: CacheWriteDetails | None = None
    text_tokens: Count | None = None
    audio_tokens: Count | None = None
    image_tokens: Count | None = None


class OutputTokenDetails(Wire):
    """Which kinds of output tokens there were.

    Source: official SDK types, 2026-11; the last two: specification, "Usage".
    """

    reasoning_tokens: Count | None = None
    """Part of the output tokens."""
    text_tokens: Count | None = None
    audio_tokens: Count | None = None


class ContextDetails(Wire):
    """Tokens of the context that the last step saw.

    Seen: recorded answers of one server.
    """

    input_tokens: Count | None = None
    output_tokens: Count | None = None


class Usage(Wire):
    """Tokens of one answer; cached and reasoning tokens are counted in.

    The relay's specification gives this object the names of chat completions, the vendor its own; relays send either
    or both. Source: official SDK types, 2026-11; specification, "Usage". Seen: what follows them.
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
    """Calls by kind of hosted tool."""
    cost: Number | None = None
    """US dollars."""
    cost_details: dict[str, Any] | None = None
    cost_in_usd_ticks: Int | None = None
    is_byok: bool | None = None
    """True: billed to the caller's own key at the model's maker."""


class ImageTokenDetails(Wire):
    """Tokens of an image generation, by kind.

    Source: official SDK types, 2026-11.
    """

    image_tokens: Count | None = None
    text_tokens: Count | None = None


class CachedImageTokenDetails(Wire):
    """Cached tokens of an image generation, by kind.

    Source: official SDK types, 2026-11.
    """

    cached_image_tokens: Count | None = None
    cached_text_tokens: Count | None = None


class ImageUsage(Wire):
    """Tokens of the image generations of an answer.

    Source: official SDK types, 2026-11.
    """

    input_tokens: Count | None = None
    input_tokens_details: ImageTokenDetails | None = None
    output_tokens: Count | None = None
    total_tokens: Count | None = None
    cached_tokens: Count | None = None
    cached_tokens_details: CachedImageTokenDetails | None = None
    output_tokens_details: ImageTokenDetails | None = None


class WebSearchUsage(Wire):
    """Web searches of an answer.

    Source: official SDK types, 2026-11.
    """

    num_requests: Count | None = None


class ToolUsage(Wire):
    """What hosted tools used; not part of ``Usage``.

    Source: official SDK types, 2026-11.
    """

    image_gen: ImageUsage | None = None
    web_search: WebSearchUsage | None = None
