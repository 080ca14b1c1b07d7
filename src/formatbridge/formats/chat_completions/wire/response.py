"""The response of POST /v1/chat/completions.

Source, unless a model names another: official SDK types, 2026-11.
"""

from typing import Annotated, Any, Literal

from pydantic import ConfigDict, GetCoreSchemaHandler
from pydantic_core import CoreSchema, PydanticCustomError, core_schema

from formatbridge.formats.chat_completions.wire.message import Answer
from formatbridge.validation.wire_base import AT_ONCE, Count, Int, Number, Open, Unknown, Wire


class PromptTokensDetails(Wire):
    """Details of ``prompt_tokens``; an absent count is not zero.

    Source: specification, Usage; ``cache_write_tokens``: official SDK types, 2026-11; the last field: recorded traffic.
    """

    audio_tokens: Count | None = None
    cache_write_tokens: Count | None = None
    cached_tokens: Count | None = None
    """Tokens read from the cache."""
    image_tokens: Count | None = None
    text_tokens: Count | None = None
    video_tokens: Count | None = None


class CompletionTokensDetails(Wire):
    """Details of ``completion_tokens``; an absent count is not zero.

    Source: specification, Usage; prediction tokens: official SDK types, 2026-11; the last field: recorded traffic.
    """

    accepted_prediction_tokens: Count | None = None
    audio_tokens: Count | None = None
    reasoning_tokens: Count | None = None
    rejected_prediction_tokens: Count | None = None
    text_tokens: Count | None = None
    image_tokens: Count | None = None


class Usage(Wire):
    """Token counts of an answer, including cached and reasoning tokens.

    Source: specification, Usage; the last nine fields: recorded traffic and relays, other names of the same counts.
    """

    completion_tokens: Count | None = None
    prompt_tokens: Count | None = None
    total_tokens: Count | None = None
    """The server's total, which may differ from the sum."""
    completion_tokens_details: CompletionTokensDetails | None = None
    prompt_tokens_details: PromptTokensDetails | None = None
    cached_tokens: Count | None = None
    prompt_cache_hit_tokens: Count | None = None
    prompt_cache_miss_tokens: Count | None = None
    cache_read_input_tokens: Count | None = None
    cache_creation_input_tokens: Count | None = None
    input_tokens: Count | None = None
    """Relays send 0 here together with the correct ``prompt_tokens``."""
    output_tokens: Count | None = None
    """Relays send 0 here together with the correct ``completion_tokens``."""
    input_tokens_details: PromptTokensDetails | None = None
    output_tokens_details: CompletionTokensDetails | None = None


class TopLogprob(Wire):
    """A token and its log probability."""

    token: str
    bytes: list[Count] | None = None
    """The token in UTF-8; several tokens may share the bytes of one character."""
    logprob: Number
    """Natural logarithm of the probability; -9999 for a very unlikely token."""


class TokenLogprob(TopLogprob):
    """A token of the answer, and the most likely alternatives to it."""

    top_logprobs: list[TopLogprob] | None = None


class Logprobs(Wire):
    """The log probabilities of a choice: those of its content and those of its refusal."""

    content: list[TokenLogprob] | None = None
    refusal: list[TokenLogprob] | None = None


class Outcome(Wire):
    """The fields that whole choices and choices of a stream chunk have in common.

    Source: specification, Chat completion response; other fields: official SDK types, 2026-11, and recorded traffic.
    """

    finish_reason: str | None = None
    """Known: stop, length, tool_calls, content_filter, function_call (deprecated); relays: error, "" or nothing (recorded traffic)."""
    index: Int | None = None
    """From 0. None: 0."""
    logprobs: Logprobs | None = None
    native_finish_reason: str | None = None
    """The finish reason of the upstream server."""
    stop_reason: str | Int | None = None
    """The matched stop sequence, or the id of the stop token."""


def _reject_chunk(value: Any) -> Any:
    """Reject a stream chunk, which would become an empty answer; Perplexity sends one with a message (recorded traffic)."""
    if isinstance(value, dict) and value.get("message") is None and isinstance(value.get("delta"), dict):
        raise PydanticCustomError("stream_chunk", "one with a message; collect_stream joins the chunks of a stream")
    return value


class Choice(Outcome):
    """One of the choices of a response.

    Source: specification, Chat completion response.
    """

    model_config = ConfigDict(
        json_schema_extra={
            "anyOf": [
                {"required": ["message"], "properties": {"message": {"not": {"type": "null"}}}},
                {"properties": {"delta": {"not": {"type": "object"}}}},
            ]
        }
    )

    @classmethod
    def __get_pydantic_core_schema__(cls, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        schema = super().__get_pydantic_core_schema__(source, handler)
        return core_schema.no_info_before_validator_function(_reject_chunk, schema)

    message: Answer | None = None
    """None where a content filter removed it."""


class ModerationResult(Wire):
    """The moderation result for one text."""

    categories: dict[str, bool | None] | None = None
    """Category to whether the text is in it."""
    category_applied_input_types: dict[str, list[str] | None] | None = None
    """Category to the examined kinds of input. Known: text, image."""
    category_scores: dict[str, Number | None] | None = None
    """Category to the score, 0 to 1."""
    flagged: bool | None = None
    model: str | None = None
    type: Literal["moderation_result"] | None = None


class ModerationResults(Wire):
    """The moderation results for all texts of the input or the output."""

    model: str | None = None
    results: list[ModerationResult]
    type: Literal["moderation_results"]


class ModerationError(Wire):
    """The error of a moderation that failed."""

    code: str | None = None
    message: str | None = None
    type: Literal["error"]


ModerationOutcome = Annotated[ModerationResults | ModerationError | Unknown, Open("type")]
"""The moderation outcome for the input or the output."""


class Moderation(Wire):
    """The outcome of ``moderation`` in the request, for input and output."""

    input: ModerationOutcome | None = None
    output: ModerationOutcome | None = None


class Envelope(Wire):
    """The fields that a response and a stream chunk have in common.

    Source: specification, Chat completion response; other fields: official SDK types, 2026-11.
    """

    id: str | None = None
    created: Number | None = None
    """Unix time in seconds; some servers send 0 (recorded traffic)."""
    model: str | None = None
    object: str | None = None
    """chat.completion, in streams chat.completion.chunk; some servers send "" or other values (recorded traffic)."""
    moderation: Moderation | None = None
    service_tier: str | None = None
    """Known: auto, default, flex, scale, priority, fast; recorded traffic also has on_demand, provisioned and ""."""
    system_fingerprint: str | None = None
    usage: Usage | None = None


class Response(Envelope):
    """A whole response.

    Source: specification, Chat completion response; ``metadata``: official SDK types, 2026-11.
    """

    model_config = AT_ONCE

    ESSENTIAL = ("choices/*/message",)

    choices: list[Choice]
    metadata: dict[str, str] | None = None
