"""The body of an answer."""

from typing import Annotated, Literal

from formatbridge.formats.messages.wire.cache import Diagnostics
from formatbridge.formats.messages.wire.context_management import ContextManagement
from formatbridge.formats.messages.wire.messages import Block, RefusalTrigger
from formatbridge.validation.wire_base import AT_ONCE, Count, Open, Unknown, Wire


class Skill(Wire):
    """A skill to load, or loaded, in a container.

    Source: official SDK types, 2026-11. Seen: recorded traffic.
    """

    skill_id: str
    type: str | None = None
    """``anthropic`` or ``custom``."""
    version: str | None = None
    """A version, or ``latest``."""


class Container(Wire):
    """The container where code runs.

    Source: official SDK types, 2026-11. Seen: recorded traffic.
    """

    id: str | None = None
    """Always set in answers; in a request it asks for a container used before."""
    expires_at: str | None = None
    """A time in RFC 3339; set in answers only."""
    skills: list[Skill] | None = None


class RefusalDetails(RefusalTrigger):
    """Why the model refused.

    Source: official SDK types, 2026-11; the fallback fields are beta. Seen: recorded traffic.
    """

    explanation: str | None = None
    fallback_credit_token: str | None = None
    """A voucher to send with the next attempt."""
    fallback_has_prefill_claim: bool | None = None
    recommended_model: str | None = None


StopDetails = Annotated[RefusalDetails | Unknown, Open("type")]
"""More about a stop reason."""


class CacheCreation(Wire):
    """Tokens written to the cache, by how long they stay.

    Source: official SDK types, 2026-11. Seen: recorded traffic.
    """

    ephemeral_1h_input_tokens: Count | None = None
    ephemeral_5m_input_tokens: Count | None = None


class OutputTokensDetails(Wire):
    """What the output tokens went into.

    Source: official SDK types, 2026-11. Seen: recorded traffic.
    """

    thinking_tokens: Count | None = None
    """Counted in ``output_tokens`` too."""


class ServerToolUsage(Wire):
    """How often hosted tools ran.

    Source: official SDK types, 2026-11. Seen: recorded traffic.
    """

    web_fetch_requests: Count | None = None
    web_search_requests: Count | None = None


class CreditRedeemed(Wire):
    """Tells that a fallback credit was used.

    Source: official SDK types (beta), 2026-11.
    """

    type: Literal["redeemed"]


class CreditNotApplied(Wire):
    """Tells why a fallback credit was not used.

    Source: official SDK types (beta), 2026-11.
    """

    reason: str | None = None
    """Such as ``body_mismatch``, ``expired``, ``invalid_target_model``, ``not_enabled``, ``wrong_organization``."""
    type: Literal["not_applied"]
    remove_to_redeem: list[str] | None = None
    """Request fields in the way."""


class FallbackCredit(Wire):
    """What became of a fallback credit.

    Source: official SDK types (beta), 2026-11.
    """

    status: Annotated[CreditRedeemed | CreditNotApplied | Unknown, Open("type")]


class TokenCounts(Wire):
    """Tokens of one run of a model.

    ``input_tokens`` leaves out tokens read from and written to the cache; the three add up to the prompt.
    Source: specification, Messages-format response; official SDK types, 2026-11.
    """

    cache_creation: CacheCreation | None = None
    """Splits ``cache_creation_input_tokens``."""
    cache_creation_input_tokens: Count | None = None
    """Tokens written to the cache. None: the server did not say."""
    cache_read_input_tokens: Count | None = None
    """Tokens read from the cache. None: the server did not say."""
    input_tokens: Count | None = None
    output_tokens: Count | None = None


class Iteration(TokenCounts):
    """Tokens of one of several runs behind an answer.

    Source: official SDK types (beta), 2026-11; one type per kind there. Seen: recorded traffic.
    """

    model: str | None = None
    type: Literal["message", "compaction", "advisor_message", "fallback_message"]


class Usage(TokenCounts):
    """Tokens and other costs of one answer; of a stream, the counts so far.

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
    """Tells that the server changed or tolerated a reasoning block of the request.

    Source: official SDK types (beta), 2026-11.
    """

    path: str | None = None
    """Where in the request."""
    reason: str | None = None
    """``model_binding_mismatch``, ``prefix_binding_mismatch``, ``organization_binding_mismatch``,
    ``end_user_binding_mismatch``."""
    type: Literal["thinking_dropped", "thinking_mismatch_allowed"]


class Response(Wire):
    """The body of an answer, and of ``message_start``, where content and stop reason are still empty.

    Source: specification, Messages-format response; official SDK types, 2026-11. Seen: recorded traffic.
    """

    model_config = AT_ONCE

    ESSENTIAL = ("content",)

    id: str | None = None
    """``msg_...``; clouds add their own prefix."""
    container: Container | None = None
    content: list[Block]
    diagnostics: Diagnostics | None = None
    model: str | None = None
    """The model that answered, also under another name than the one asked for."""
    role: Literal["assistant"] | None = None
    stop_details: StopDetails | None = None
    stop_reason: str | None = None
    """``end_turn``, ``max_tokens``, ``stop_sequence``, ``tool_use``, ``pause_turn``, ``refusal``,
    ``model_context_window_exceeded``, ``compaction`` (beta)."""
    stop_sequence: str | None = None
    """The sequence that was met."""
    type: Literal["message"]
    usage: Usage | None = None
    context_management: ContextManagement | None = None
    input_transformations: list[Annotated[InputTransformation | Unknown, Open("type")]] | None = None
