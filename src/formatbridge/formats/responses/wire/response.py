"""The response body, whole or in stream events, with token counts and other usage.

Source, unless a model names another: official SDK types, 2026-11.
"""

from typing import Annotated, Any, Literal

from formatbridge.formats.responses.wire.error import ErrorDetail
from formatbridge.formats.responses.wire.items import Item, OutputItem
from formatbridge.formats.responses.wire.settings import (
    AccessPrograms,
    CacheOptions,
    Conversation,
    ImageConfig,
    Prompt,
    Reasoning,
    TextConfig,
)
from formatbridge.formats.responses.wire.tools import Tool, ToolChoice
from formatbridge.validation.wire_base import AT_ONCE, Count, Int, Number, Open, Unknown, Wire


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


class IncompleteDetails(Wire):
    """Why a response ended early."""

    reason: str | None = None
    """``max_output_tokens``, ``max_messages``, ``content_filter`` or ``steered``."""


class InputTransformation(Wire):
    """An input item that the server left out."""

    id: str | None = None
    action: str | None = None
    """Currently only ``removed``."""
    reason: str | None = None
    """``organization_mismatch``, ``model_mismatch``, ``turn_boundary`` and others."""
    type: str | None = None
    """The item's type; currently only ``reasoning``."""


class ModerationResult(Wire):
    """The moderation result for the input or the output."""

    categories: dict[str, bool] | None = None
    category_applied_input_types: dict[str, list[str]] | None = None
    category_scores: dict[str, Number] | None = None
    """0 to 1 each."""
    flagged: bool | None = None
    model: str | None = None
    type: Literal["moderation_result"]


class ModerationError(Wire):
    """Why moderation has no result."""

    code: str | None = None
    message: str | None = None
    type: Literal["error"]


ModerationOutcome = Annotated[ModerationResult | ModerationError | Unknown, Open("type")]
"""The moderation outcome for the input or the output."""


class ModerationReport(Wire):
    """The moderation outcomes for the input and the output."""

    input: ModerationOutcome | None = None
    output: ModerationOutcome | None = None


class CacheMiss(Wire):
    """A cache comparison in which the cache of the compared response could not be used in full."""

    cache_missed_tokens: Count | None = None
    reason: str | None = None
    """``model_changed``, ``tools_changed``, ``input_changed`` and others."""
    type: Literal["cache_miss"]
    comparison_reusable_tokens: Count | None = None


class CacheVerdict(Wire):
    """A cache comparison whose result is its type alone."""

    type: Literal["cache_hit", "comparison_response_not_found", "unavailable"]


CacheDiagnostics = Annotated[CacheMiss | CacheVerdict | Unknown, Open("type")]
"""The result of a comparison of cache use with an earlier response."""


class Billing(Wire):
    """Who is billed for the response.

    Source: recorded responses.
    """

    payer: str | None = None
    """Seen: ``developer``."""


class Snapshot(Wire):
    """A response at one moment of a stream; any field may be absent.

    Source: official SDK types, 2026-11; specification, "Responses-format response". From ``billing`` on: seen in
    recorded answers.
    """

    id: str | None = None
    access_programs: AccessPrograms | None = None
    created_at: Number | None = None
    """Unix time in seconds; some servers send fractions (fixture text_no_sequence)."""
    error: ErrorDetail | None = None
    """Set when ``status`` is ``failed``."""
    incomplete_details: IncompleteDetails | None = None
    instructions: str | list[Item] | None = None
    """Items, if a prompt template supplied the instructions."""
    metadata: dict[str, Any] | None = None
    model: str | None = None
    object: Literal["response"] | None = None
    output: list[OutputItem] | None = None
    parallel_tool_calls: bool | None = None
    temperature: Number | None = None
    tool_choice: str | ToolChoice | None = None
    tools: list[Tool] | None = None
    top_p: Number | None = None
    background: bool | None = None
    completed_at: Number | None = None
    """Unix time in seconds."""
    conversation: Conversation | None = None
    image: ImageConfig | None = None
    input_transformations: list[InputTransformation] | None = None
    max_output_tokens: Count | None = None
    max_tool_calls: Count | None = None
    moderation: ModerationReport | None = None
    previous_response_id: str | None = None
    prompt: Prompt | None = None
    prompt_cache_diagnostics: CacheDiagnostics | None = None
    prompt_cache_key: str | None = None
    prompt_cache_options: CacheOptions | None = None
    prompt_cache_retention: str | None = None
    reasoning: Reasoning | None = None
    safety_identifier: str | None = None
    service_tier: str | None = None
    """The service tier that processed the request; it may differ from the requested one."""
    status: str | None = None
    """``completed``, ``failed``, ``in_progress``, ``cancelled``, ``queued`` or ``incomplete``."""
    text: TextConfig | None = None
    tool_usage: ToolUsage | None = None
    top_logprobs: Count | None = None
    truncation: str | None = None
    usage: Usage | None = None
    user: str | None = None
    billing: Billing | None = None
    content_filters: list[dict[str, Any]] | None = None
    """The results of the content filters of one host, for input and output."""
    frequency_penalty: Number | None = None
    """Always 0: requests have no such setting."""
    presence_penalty: Number | None = None
    """Always 0: requests have no such setting."""
    store: bool | None = None
    input: str | list[Item] | None = None
    """The input of the request, in some recorded responses."""


class Response(Snapshot):
    """A whole response, with an id and output.

    Source: official SDK types, 2026-11; specification, "Responses-format response".
    """

    model_config = AT_ONCE

    ESSENTIAL = ("output",)

    id: str
    output: list[OutputItem]
