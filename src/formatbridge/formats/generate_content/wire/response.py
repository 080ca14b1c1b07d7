"""The response body, which is also the shape of each stream event."""

from typing import Any

from pydantic import ConfigDict, GetCoreSchemaHandler
from pydantic.alias_generators import to_snake
from pydantic_core import CoreSchema, PydanticCustomError, core_schema

from formatbridge.formats.generate_content.wire._proto import Double, Proto, Word
from formatbridge.formats.generate_content.wire.content import Content
from formatbridge.formats.generate_content.wire.grounding import CitationMetadata, GroundingMetadata
from formatbridge.validation.wire_base import Count, Int


class LogprobsCandidate(Proto):
    """A token and its log probability.

    Source: official SDK types, 2026-11. Seen: recorded traffic.
    """

    logProbability: Double | None = None
    """Natural logarithm."""
    token: str | None = None
    tokenId: Int | None = None


class TopCandidates(Proto):
    """The most likely tokens of one step, in descending order.

    Source: official SDK types, 2026-11. Seen: recorded traffic.
    """

    candidates: list[LogprobsCandidate] | None = None


class LogprobsResult(Proto):
    """The chosen token and the alternatives of each step.

    Source: official SDK types, 2026-11. Seen: recorded traffic.
    """

    chosenCandidates: list[LogprobsCandidate] | None = None
    topCandidates: list[TopCandidates] | None = None
    logProbabilitySum: Double | None = None


class SafetyRating(Proto):
    """The safety rating of a text in one category.

    Source: specification, Generate-content response; official SDK types, 2026-11. Seen: recorded traffic.
    """

    blocked: bool | None = None
    category: Word | None = None
    """The same values as in a safety setting."""
    overwrittenThreshold: Word | None = None
    probability: Word | None = None
    """NEGLIGIBLE, LOW, MEDIUM or HIGH."""
    probabilityScore: Double | None = None
    severity: Word | None = None
    """HARM_SEVERITY_NEGLIGIBLE, _LOW, _MEDIUM or _HIGH."""
    severityScore: Double | None = None


class UrlMetadata(Proto):
    """The retrieval status of one URL.

    Source: official SDK types, 2026-11. Seen: recorded traffic.
    """

    retrievedUrl: str | None = None
    urlRetrievalStatus: Word | None = None
    """URL_RETRIEVAL_STATUS_SUCCESS, _ERROR, _PAYWALL or _UNSAFE."""


class UrlContextMetadata(Proto):
    """The URLs that the URL context tool retrieved.

    Source: official SDK types, 2026-11. Seen: recorded traffic.
    """

    urlMetadata: list[UrlMetadata] | None = None


class Candidate(Proto):
    """One of the answers, or a chunk of it in a stream.

    Source: specification, Generate-content response; official SDK types, 2026-11. Seen: recorded traffic.
    """

    content: Content | None = None
    citationMetadata: CitationMetadata | None = None
    finishMessage: str | None = None
    """An explanation of the finish reason; it also occurs with STOP."""
    tokenCount: Count | None = None
    finishReason: Word | None = None
    """STOP (with function calls, too), MAX_TOKENS, SAFETY, RECITATION and twenty more; None in a stream: not finished."""
    groundingMetadata: GroundingMetadata | None = None
    avgLogprobs: Double | None = None
    index: Count | None = None
    """None is 0."""
    logprobsResult: LogprobsResult | None = None
    safetyRatings: list[SafetyRating] | None = None
    urlContextMetadata: UrlContextMetadata | None = None
    continuationToken: str | None = None
    """Base64; to be sent with the next request if the finish reason is CONTINUATION."""


class PromptFeedback(Proto):
    """Why the prompt was blocked; the response then has no candidates.

    Source: official SDK types, 2026-11. Seen: recorded traffic.
    """

    blockReason: Word | None = None
    """SAFETY, OTHER, BLOCKLIST, PROHIBITED_CONTENT, IMAGE_SAFETY, MODEL_ARMOR or JAILBREAK."""
    blockReasonMessage: str | None = None
    safetyRatings: list[SafetyRating] | None = None


class ModalityTokenCount(Proto):
    """The token count of one modality.

    Source: official SDK types, 2026-11. Seen: recorded traffic.
    """

    modality: Word | None = None
    """TEXT, IMAGE, VIDEO, AUDIO or DOCUMENT."""
    tokenCount: Count | None = None


class Usage(Proto):
    """Token counts of a request and its response; an absent count is 0 or unknown.

    ``candidatesTokenCount`` excludes reasoning. In a stream every event may have counts; the last ones are valid.
    Source: specification, Generate-content response; official SDK types, 2026-11. Seen: recorded traffic.
    """

    cacheTokensDetails: list[ModalityTokenCount] | None = None
    cachedContentTokenCount: Count | None = None
    """Part of ``promptTokenCount``."""
    candidatesTokenCount: Count | None = None
    candidatesTokensDetails: list[ModalityTokenCount] | None = None
    """Without the text tokens if the answer has an image."""
    promptTokenCount: Count | None = None
    promptTokensDetails: list[ModalityTokenCount] | None = None
    thoughtsTokenCount: Count | None = None
    toolUsePromptTokenCount: Count | None = None
    """Results of server tools as input of the model; not part of ``promptTokenCount``."""
    toolUsePromptTokensDetails: list[ModalityTokenCount] | None = None
    totalTokenCount: Count | None = None
    trafficType: Word | None = None
    """ON_DEMAND, ON_DEMAND_PRIORITY, ON_DEMAND_FLEX, ON_DEMAND_OFFPEAK or PROVISIONED_THROUGHPUT."""
    serviceTier: Word | None = None
    """standard and others. Seen: recorded traffic; not in the SDK types."""


class ModelStatus(Proto):
    """The lifecycle stage of a model.

    Source: official SDK types, 2026-11.
    """

    message: str | None = None
    modelStage: Word | None = None
    """EXPERIMENTAL, PREVIEW, STABLE, LEGACY, DEPRECATED, RETIRED and others."""
    retirementTime: str | None = None
    """RFC 3339."""


class Piece(Proto):
    """A response, or a chunk of it in a stream.

    Source: specification, Generate-content response; official SDK types, 2026-11. Seen: recorded traffic.
    """

    candidates: list[Candidate] | None = None
    """None or [] if the prompt was blocked, and in events with usage only."""
    createTime: str | None = None
    """RFC 3339."""
    modelVersion: str | None = None
    promptFeedback: PromptFeedback | None = None
    responseId: str | None = None
    usageMetadata: Usage | None = None
    modelStatus: ModelStatus | None = None


_RESPONSE_FIELDS = ("candidates", "promptFeedback", "usageMetadata", "responseId", "modelVersion")
_RESPONSE_KEYS = (*_RESPONSE_FIELDS, *map(to_snake, _RESPONSE_FIELDS))


def _check_response_keys(value: Any) -> Any:
    """Reject other objects: unknown fields are allowed and no known field is required, so one of five fields must be present."""
    if not isinstance(value, dict) or value.get("candidates") is not None:  # the common case
        return value
    if all(value.get(name) is None for name in _RESPONSE_KEYS):
        raise PydanticCustomError("no_answer", f"one that has {', '.join(_RESPONSE_FIELDS[:-1])} or {_RESPONSE_FIELDS[-1]}")
    return value


class Response(Piece):
    """A response: an object with at least one of the five fields that identify a response.

    Source: specification, Generate-content response; official SDK types, 2026-11. Seen: recorded traffic.
    """

    model_config = ConfigDict(
        defer_build=False,
        json_schema_extra={
            "anyOf": [
                {"required": [name], "properties": {name: {"not": {"type": "null"}}}} for name in dict.fromkeys(_RESPONSE_KEYS)
            ]
        },
    )

    ESSENTIAL = ("candidates/*/content",)

    @classmethod
    def __get_pydantic_core_schema__(cls, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        return core_schema.no_info_before_validator_function(_check_response_keys, handler(source))
