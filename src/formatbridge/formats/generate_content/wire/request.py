"""The request body. The model and the choice of streaming are in the URL."""

from formatbridge.formats.generate_content.wire._proto import EnumValue, Proto, Repeated
from formatbridge.formats.generate_content.wire.content import Content
from formatbridge.formats.generate_content.wire.generation import GenerationConfig
from formatbridge.formats.generate_content.wire.tools import Tool, ToolConfig
from formatbridge.validation.wire_base import AT_ONCE


class SafetySetting(Proto):
    """The threshold from which one category of harm is blocked.

    Source: official SDK types, 2026-11. Seen: recorded traffic.
    """

    category: EnumValue | None = None
    """HARM_CATEGORY_ and HARASSMENT, HATE_SPEECH, SEXUALLY_EXPLICIT, DANGEROUS_CONTENT, CIVIC_INTEGRITY, JAILBREAK or
    an IMAGE_ kind."""
    method: EnumValue | None = None
    """SEVERITY or PROBABILITY (the default)."""
    threshold: EnumValue | None = None
    """BLOCK_LOW_AND_ABOVE, BLOCK_MEDIUM_AND_ABOVE, BLOCK_ONLY_HIGH, BLOCK_NONE or OFF."""


class ModelArmorConfig(Proto):
    """Templates that screen prompt and response; mutually exclusive with safety settings.

    Source: official SDK types, 2026-11. Seen: recorded traffic.
    """

    promptTemplateName: str | None = None
    responseTemplateName: str | None = None


class OutputConfig(Proto):
    """The storage location of generated media.

    Source: official SDK types, 2026-11, which call it GenerationOutputConfig.
    """

    outputUriPrefix: str | None = None
    """A ``gs://`` directory."""


class Request(Proto):
    """One request to generate content.

    Source: specification, POST generateContent; official SDK types, 2026-11. Seen: recorded traffic.
    """

    model_config = AT_ONCE

    model: str | None = None
    """Not part of the vendor's body; accepted, too."""
    stream: bool | None = None
    """Not part of the vendor's body; accepted, too."""
    contents: Repeated[Content]
    systemInstruction: Content | None = None
    """Text parts; the role is ignored."""
    tools: Repeated[Tool] | None = None
    toolConfig: ToolConfig | None = None
    safetySettings: Repeated[SafetySetting] | None = None
    generationConfig: GenerationConfig | None = None
    cachedContent: str | None = None
    """``cachedContents/...``: a prefix in the server's cache; mutually exclusive with a system instruction and tools."""
    labels: dict[str, str] | None = None
    modelArmorConfig: ModelArmorConfig | None = None
    serviceTier: EnumValue | None = None
    """unspecified, flex, standard or priority."""
    store: bool | None = None
    """Whether the server logs this request; it does not store a conversation."""
    continuationToken: str | None = None
    """Base64; from a candidate that ended with CONTINUATION."""
    outputConfig: OutputConfig | None = None
