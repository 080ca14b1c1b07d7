"""The response body."""

from typing import Annotated, Literal

from formatbridge.formats.messages.wire.context_management import ContextManagement
from formatbridge.formats.messages.wire.messages import Block, RefusalTrigger
from formatbridge.validation.wire_base import AT_ONCE, Count, Open, Unknown, Wire


class Skill(Wire):
    """A skill to load into a container, or a loaded one.

    Source: official SDK types, 2026-11. Seen: recorded traffic.
    """

    skill_id: str
    type: str | None = None
    """``anthropic`` or ``custom``."""
    version: str | None = None
    """A version, or ``latest``."""


class Container(Wire):
    """The container for code execution.

    Source: official SDK types, 2026-11. Seen: recorded traffic.
    """

    id: str | None = None
    """Always set in responses; in a request it selects an existing container."""
    expires_at: str | None = None
    """A time in RFC 3339; in responses only."""
    skills: list[Skill] | None = None


class RefusalDetails(RefusalTrigger):
    """The reason of a refusal.

    Source: official SDK types, 2026-11; the fallback fields are beta. Seen: recorded traffic.
    """

    explanation: str | None = None
    fallback_credit_token: str | None = None
    """A credit token to send with the next attempt."""
    fallback_has_prefill_claim: bool | None = None
    recommended_model: str | None = None


StopDetails = Annotated[RefusalDetails | Unknown, Open("type")]
"""Details of a stop reason."""


class CacheCreation(Wire):
    """Tokens written to the cache, by lifetime.

    Source: official SDK types, 2026-11. Seen: recorded traffic.
    """

    ephemeral_1h_input_tokens: Count | None = None
    ephemeral_5m_input_tokens: Count | None = None


class OutputTokensDetails(Wire):
    """Details of the output tokens.

    Source: official SDK types, 2026-11. Seen: recorded traffic.
    """

    thinking_tokens: Count | None = None
    """Also counted in ``output_tokens``."""


class ServerToolUsage(Wire):
    """Numbers of server tool calls.

    Source: official SDK types, 2026-11. Seen: recorded traffic.
    """

    web_fetch_requests: Count | None = None
    web_search_requests: Count | None = None


class CreditRedeemed(Wire):
    """A fallback credit that was applied.

    Source: official SDK types (beta), 2026-11.
    """

    type: Literal["redeemed"]


class CreditNotApplied(Wire):
    """A fallback credit that was not applied, with the reason.

    Source: official SDK types (beta), 2026-11.
    """

    reason: str | None = None
    """Such as ``body_mismatch``, ``expired``, ``invalid_target_model``, ``not_enabled``, ``wrong_organization``."""
    type: Literal["not_applied"]
    remove_to_redeem: list[str] | None = None
    """Names of the request fields that caused it."""


class FallbackCredit(Wire):
    """The result of a fallback credit.

    Source: official SDK types (beta), 2026-11.
    """

    status: Annotated[CreditRedeemed | CreditNotApplied | Unknown, Open("type")]


class TokenCounts(Wire):
    """Token counts of one model run.

    ``input_tokens`` excludes tokens read from and written to the cache; the sum of all three is the prompt.
    Source: specification, Messages-format response; official SDK types, 2026-11.
    """

    cache_creation: CacheCreation | None = None
    """Details of ``cache_creation_input_tokens``."""
    cache_creation_input_tokens: Count | None = None
    """Tokens written to the cache. None: unknown."""
    cache_read_input_tokens: Count | None = None
    """Tokens read from the cache. None: unknown."""
    input_tokens: Count | None = None
    output_tokens: Count | None = None


class Iteration(TokenCounts):
    """Token counts of one of several model runs for a response.

    Source: official SDK types (beta), 2026-11; one type per kind there. Seen: recorded traffic.
    """

    model: str | None = None
    type: Literal["message", "compaction", "advisor_message", "fallback_message"]


class Usage(TokenCounts):
    """Token counts and other usage of a response; in a stream, the usage so far.

    Source: specification, Messages-format response; official SDK types, 2026-11. Seen: recorded traffic.
    """

    inference_geo: str | None = None
    output_tokens_details: OutputTokensDetails | None = None
    server_tool_use: ServerToolUsage | None = None
    service_tier: str | None = None
    """``standard``, ``priority``, ``batch``."""
    speed: str | None = None
    """``standard`` or ``fast``."""
    fallback_credit: FallbackCredit | None = None
    iterations: list[Annotated[Iteration | Unknown, Open("type")]] | None = None


class InputTransformation(Wire):
    """A reasoning block of the request that the server changed or tolerated.

    Source: official SDK types (beta), 2026-11.
    """

    path: str | None = None
    """The place in the request."""
    reason: str | None = None
    """``model_binding_mismatch``, ``prefix_binding_mismatch``, ``organization_binding_mismatch``,
    ``end_user_binding_mismatch``."""
    type: Literal["thinking_dropped", "thinking_mismatch_allowed"]


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
    """The cache diagnostics of this request.

    Source: official SDK types, 2026-11.
    """

    cache_miss_reason: Annotated[CacheMiss | Unknown, Open("type")] | None = None
    """None: no cache miss, or the comparison is not finished."""


class Response(Wire):
    """The response body, and the body of ``message_start``, where content and stop reason are empty.

    Source: specification, Messages-format response; official SDK types, 2026-11. Seen: recorded traffic.
    """

    model_config = AT_ONCE

    ESSENTIAL = ("content",)

    id: str | None = None
    """``msg_...``; clouds add another prefix."""
    container: Container | None = None
    content: list[Block]
    diagnostics: Diagnostics | None = None
    model: str | None = None
    """The model that generated the response; its name may differ from the requested one."""
    role: Literal["assistant"] | None = None
    stop_details: StopDetails | None = None
    stop_reason: str | None = None
    """``end_turn``, ``max_tokens``, ``stop_sequence``, ``tool_use``, ``pause_turn``, ``refusal``,
    ``model_context_window_exceeded``, ``compaction`` (beta)."""
    stop_sequence: str | None = None
    """The matched stop sequence."""
    type: Literal["message"]
    usage: Usage | None = None
    context_management: ContextManagement | None = None
    input_transformations: list[Annotated[InputTransformation | Unknown, Open("type")]] | None = None
