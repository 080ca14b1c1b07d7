"""The response body, whole or one event of a stream."""

from typing import Any

from pydantic import ConfigDict, GetCoreSchemaHandler
from pydantic.alias_generators import to_snake
from pydantic_core import CoreSchema, PydanticCustomError, core_schema

from formatbridge.formats.generate_content.wire._proto import Double, Proto, Word
from formatbridge.formats.generate_content.wire.content import Content
from formatbridge.formats.generate_content.wire.grounding import CitationMetadata, GroundingMetadata
from formatbridge.validation.wire_base import Count, Int


class LogprobsCandidate(Proto):
    """A token and how likely it was.

    Source: official SDK types, 2026-11. Seen: recorded traffic.
    """

    logProbability: Double | None = None
    """Natural logarithm."""
    token: str | None = None
    tokenId: Int | None = None


class TopCandidates(Proto):
    """The likeliest tokens of one step, likeliest first.

    Source: official SDK types, 2026-11. Seen: recorded traffic.
    """

    candidates: list[LogprobsCandidate] | None = None


class LogprobsResult(Proto):
    """Per step, the token taken and the alternatives.

    Source: official SDK types, 2026-11. Seen: recorded traffic.
    """

    chosenCandidates: list[LogprobsCandidate] | None = None
    topCandidates: list[TopCandidates] | None = None
    logProbabilitySum: Double | None = None


class SafetyRating(Proto):
    """How harmful a text was found to be, in one category.

    Source: specification, Generate-content response; official SDK types, 2026-11. Seen: recorded traffic.
    """

    blocked: bool | None = None
    category: Word | None = None
    """As in a safety setting."""
    overwrittenThreshold: Word | None = None
    probability: Word | None = None
    """NEGLIGIBLE, LOW, MEDIUM or HIGH."""
    probabilityScore: Double | None = None
    severity: Word | None = None
    """HARM_SEVERITY_NEGLIGIBLE, _LOW, _MEDIUM or _HIGH."""
    severityScore: Double | None = None


class UrlMetadata(Proto):
    """Whether one page could be read.

    Source: official SDK types, 2026-11. Seen: recorded traffic.
    """

    retrievedUrl: str | None = None
    urlRetrievalStatus: Word | None = None
    """URL_RETRIEVAL_STATUS_SUCCESS, _ERROR, _PAYWALL or _UNSAFE."""


class UrlContextMetadata(Proto):
    """Which pages were read.

    Source: official SDK types, 2026-11. Seen: recorded traffic.
    """

    urlMetadata: list[UrlMetadata] | None = None


class Candidate(Proto):
    """One answer, or the next piece of it in a stream.

    Source: specification, Generate-content response; official SDK types, 2026-11. Seen: recorded traffic.
    """

    content: Content | None = None
    citationMetadata: CitationMetadata | None = None
    finishMessage: str | None = None
    """Words about the finish reason; comes with STOP, too."""
    tokenCount: Count | None = None
    finishReason: Word | None = None
    """STOP (with function calls, too), MAX_TOKENS, SAFETY, RECITATION and twenty more; None in a stream: not yet."""
    groundingMetadata: GroundingMetadata | None = None
    avgLogprobs: Double | None = None
    index: Count | None = None
    """None is 0."""
    logprobsResult: LogprobsResult | None = None
    safetyRatings: list[SafetyRating] | None = None
    urlContextMetadata: UrlContextMetadata | None = None
    continuationToken: str | None = None
    """Base64; for the next request, when the finish reason is CONTINUATION."""


class PromptFeedback(Proto):
    """Why the prompt was not answered; then there are no candidates.

    Source: official SDK types, 2026-11. Seen: recorded traffic.
    """

    blockReason: Word | None = None
    """SAFETY, OTHER, BLOCKLIST, PROHIBITED_CONTENT, IMAGE_SAFETY, MODEL_ARMOR or JAILBREAK."""
    blockReasonMessage: str | None = None
    safetyRatings: list[SafetyRating] | None = None


class ModalityTokenCount(Proto):
    """Tokens of one modality.

    Source: official SDK types, 2026-11. Seen: recorded traffic.
    """

    modality: Word | None = None
    """TEXT, IMAGE, VIDEO, AUDIO or DOCUMENT."""
    tokenCount: Count | None = None


class Usage(Proto):
    """Tokens of a request and its answer; a count that is missing was 0 or not known.

    ``candidatesTokenCount`` leaves out reasoning. In a stream every event may have counts; the last ones hold.
    Source: specification, Generate-content response; official SDK types, 2026-11. Seen: recorded traffic.
    """

    cacheTokensDetails: list[ModalityTokenCount] | None = None
    cachedContentTokenCount: Count | None = None
    """Part of ``promptTokenCount``."""
    candidatesTokenCount: Count | None = None
    candidatesTokensDetails: list[ModalityTokenCount] | None = None
    """Leaves out text when there is an image."""
    promptTokenCount: Count | None = None
    promptTokensDetails: list[ModalityTokenCount] | None = None
    thoughtsTokenCount: Count | None = None
    toolUsePromptTokenCount: Count | None = None
    """Results of the server's tools, read by the model; not part of ``promptTokenCount``."""
    toolUsePromptTokensDetails: list[ModalityTokenCount] | None = None
    totalTokenCount: Count | None = None
    trafficType: Word | None = None
    """ON_DEMAND, ON_DEMAND_PRIORITY, ON_DEMAND_FLEX, ON_DEMAND_OFFPEAK or PROVISIONED_THROUGHPUT."""
    serviceTier: Word | None = None
    """standard and the like. Seen: recorded traffic; not in the SDK types."""


class ModelStatus(Proto):
    """Where the model stands in its life.

    Source: official SDK types, 2026-11.
    """

    message: str | None = None
    modelStage: Word | None = None
    """EXPERIMENTAL, PREVIEW, STABLE, LEGACY, DEPRECATED, RETIRED and others."""
    retirementTime: str | None = None
    """RFC 3339."""


class Piece(Proto):
    """What the model generated, or the next piece of it in a stream.

    Source: specification, Generate-content response; official SDK types, 2026-11. Seen: recorded traffic.
    """

    candidates: list[Candidate] | None = None
    """None or [] when the prompt was blocked, and in events that only count tokens."""
    createTime: str | None = None
    """RFC 3339."""
    modelVersion: str | None = None
    promptFeedback: PromptFeedback | None = None
    responseId: str | None = None
    usageMetadata: Usage | None = None
    modelStatus: ModelStatus | None = None


_TELLING = ("candidates", "promptFeedback", "usageMetadata", "responseId", "modelVersion")
_TOLD_BY = (*_TELLING, *map(to_snake, _TELLING))


def _telling(value: Any) -> Any:
    """Refuse the object of something else: unknown fields are kept, and none of the known ones must be there."""
    if not isinstance(value, dict) or value.get("candidates") is not None:  # nearly always
        return value
    if all(value.get(name) is None for name in _TOLD_BY):
        raise PydanticCustomError("no_answer", f"one that has {', '.join(_TELLING[:-1])} or {_TELLING[-1]}")
    return value


class Response(Piece):
    """What the model generated: any object in which at least one of five fields tells that it is an answer.

    Source: specification, Generate-content response; official SDK types, 2026-11. Seen: recorded traffic.
    """

    model_config = ConfigDict(
        defer_build=False,
        json_schema_extra={
            "anyOf": [{"required": [name], "properties": {name: {"not": {"type": "null"}}}} for name in dict.fromkeys(_TOLD_BY)]
        },
    )

    ESSENTIAL = ("candidates/*/content",)

    @classmethod
    def __get_pydantic_core_schema__(cls, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        return core_schema.no_info_before_validator_function(_telling, handler(source))
