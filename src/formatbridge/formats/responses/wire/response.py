"""The response body, whole or in stream events.

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
from formatbridge.formats.responses.wire.usage import ToolUsage, Usage
from formatbridge.validation.wire_base import AT_ONCE, Count, Number, Open, Unknown, Wire


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
