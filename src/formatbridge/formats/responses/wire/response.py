"""The body of an answer, whole or as a stream's events repeat it."""

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
    """Why an answer stopped early.

    Source: official SDK types, 2026-11.
    """

    reason: str | None = None
    """``max_output_tokens``, ``max_messages``, ``content_filter`` or ``steered``."""


class InputTransformation(Wire):
    """An item of the input that the server left out.

    Source: official SDK types, 2026-11.
    """

    id: str | None = None
    action: str | None = None
    """Today only ``removed``."""
    reason: str | None = None
    """``organization_mismatch``, ``model_mismatch``, ``turn_boundary`` and others."""
    type: str | None = None
    """The item's type; today only ``reasoning``."""


class ModerationResult(Wire):
    """What moderation found in one side of the exchange.

    Source: official SDK types, 2026-11.
    """

    categories: dict[str, bool] | None = None
    category_applied_input_types: dict[str, list[str]] | None = None
    category_scores: dict[str, Number] | None = None
    """0 to 1 each."""
    flagged: bool | None = None
    model: str | None = None
    type: Literal["moderation_result"]


class ModerationError(Wire):
    """Why moderation found nothing.

    Source: official SDK types, 2026-11.
    """

    code: str | None = None
    message: str | None = None
    type: Literal["error"]


ModerationOutcome = Annotated[ModerationResult | ModerationError | Unknown, Open("type")]
"""What came of moderating one side of the exchange."""


class ModerationReport(Wire):
    """What moderation found in the input and in the output.

    Source: official SDK types, 2026-11.
    """

    input: ModerationOutcome | None = None
    output: ModerationOutcome | None = None


class CacheMiss(Wire):
    """The cache of the compared response could not be used in full.

    Source: official SDK types, 2026-11.
    """

    cache_missed_tokens: Count | None = None
    reason: str | None = None
    """``model_changed``, ``tools_changed``, ``input_changed`` and others."""
    type: Literal["cache_miss"]
    comparison_reusable_tokens: Count | None = None


class CacheVerdict(Wire):
    """The outcome of a cache comparison that needs no more words than its type.

    Source: official SDK types, 2026-11.
    """

    type: Literal["cache_hit", "comparison_response_not_found", "unavailable"]


CacheDiagnostics = Annotated[CacheMiss | CacheVerdict | Unknown, Open("type")]
"""How the cache compares with that of an earlier response."""


class Billing(Wire):
    """Who pays.

    Seen: recorded answers.
    """

    payer: str | None = None
    """``developer`` has been seen."""


class Snapshot(Wire):
    """An answer as it stands at one moment of a stream; anything may be missing.

    Source: official SDK types, 2026-11; specification, "Responses-format response". From ``billing`` on: seen in
    recorded answers.
    """

    id: str | None = None
    access_programs: AccessPrograms | None = None
    created_at: Number | None = None
    """Unix time in seconds; some servers send fractions."""
    error: ErrorDetail | None = None
    """Set when ``status`` is ``failed``."""
    incomplete_details: IncompleteDetails | None = None
    instructions: str | list[Item] | None = None
    """Items when a prompt template supplied them."""
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
    """The tier that served; not always the one asked for."""
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
    """What one host's filters found, per side of the exchange."""
    frequency_penalty: Number | None = None
    """Always 0: requests cannot set it."""
    presence_penalty: Number | None = None
    """Always 0: requests cannot set it."""
    store: bool | None = None
    input: str | list[Item] | None = None
    """The request's own input, repeated by some servers."""


class Response(Snapshot):
    """A whole answer; it has an id and its output.

    Source: official SDK types, 2026-11; specification, "Responses-format response".
    """

    model_config = AT_ONCE

    ESSENTIAL = ("output",)

    id: str
    output: list[OutputItem]
