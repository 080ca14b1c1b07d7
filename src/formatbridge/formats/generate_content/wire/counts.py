"""The request and the answer of the method that counts input tokens."""

from formatbridge.formats.generate_content.wire._proto import Proto, Repeated
from formatbridge.formats.generate_content.wire.content import Content
from formatbridge.formats.generate_content.wire.request import GenerationConfig, Request
from formatbridge.formats.generate_content.wire.response import ModalityTokenCount
from formatbridge.formats.generate_content.wire.tools import Tool
from formatbridge.validation.wire_base import AT_ONCE, Count


class CountRequest(Proto):
    """A request to count input tokens: contents alone, or a whole request in ``generateContentRequest``.

    Source: https://ai.google.dev/api/tokens. Vertex AI has no ``generateContentRequest``, but the other three fields: official SDK types,
    2026-11, ``CountTokensConfig``.
    """

    model_config = AT_ONCE

    contents: Repeated[Content] | None = None
    """The server ignores it if there is a whole request."""
    generateContentRequest: Request | None = None
    """Requires the field ``model``, as ``models/...``."""
    systemInstruction: Content | None = None
    """Vertex AI only."""
    tools: Repeated[Tool] | None = None
    """Vertex AI only."""
    generationConfig: GenerationConfig | None = None
    """Vertex AI only."""


class CountResponse(Proto):
    """The number of input tokens.

    Source: https://ai.google.dev/api/tokens; official SDK types, 2026-11, ``CountTokensResponse``.
    """

    model_config = AT_ONCE

    ESSENTIAL = ("totalTokens",)

    totalTokens: Count
    """All input tokens, cached ones included."""
    cachedContentTokenCount: Count | None = None
    """The tokens of ``cachedContent``."""
    promptTokensDetails: list[ModalityTokenCount] | None = None
    cacheTokensDetails: list[ModalityTokenCount] | None = None
    totalBillableCharacters: Count | None = None
    """Vertex AI only."""
