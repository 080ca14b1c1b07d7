"""The request body, with the generation settings: sampling, limits, modalities, reasoning, speech, images and the output format.

The model and the choice of streaming are in the URL. Source, unless a model names another: official SDK types, 2026-11.
"""

import warnings
from typing import Annotated, Any

from pydantic import AliasChoices, Field

from formatbridge.formats.generate_content.wire._proto import EnumValue, Proto, Repeated
from formatbridge.formats.generate_content.wire.content import Content
from formatbridge.formats.generate_content.wire.tools import Schema, Tool, ToolConfig
from formatbridge.validation.wire_base import AT_ONCE, Count, Int, Numeric


class VoiceConsentSignature(Proto):
    """A consent signature of the server for a replicated voice."""

    signature: str | None = None


class ReplicatedVoiceConfig(Proto):
    """A voice that is replicated from a sample."""

    mimeType: str | None = None
    """audio/wav: 16-bit little-endian at 24 kHz."""
    voiceSampleAudio: str | None = None
    """Base64."""
    consentAudio: str | None = None
    """Base64; a recording of the speaker's consent."""
    voiceConsentSignature: VoiceConsentSignature | None = None


class PrebuiltVoiceConfig(Proto):
    """A prebuilt voice of the server.

    Source: official SDK types, 2026-11. Seen: recorded traffic.
    """

    voiceName: str | None = None


class VoiceConfig(Proto):
    """The voice to use: one field is set."""

    replicatedVoiceConfig: ReplicatedVoiceConfig | None = None
    prebuiltVoiceConfig: PrebuiltVoiceConfig | None = None
    voice: str | None = None


class SpeakerVoiceConfig(Proto):
    """The voice of one speaker."""

    speaker: str | None = None
    """The name of the speaker in the prompt."""
    voiceConfig: VoiceConfig | None = None


class MultiSpeakerVoiceConfig(Proto):
    """The voices of a dialogue."""

    speakerVoiceConfigs: list[SpeakerVoiceConfig] | None = None
    """Exactly two on the vendor's servers."""


class SpeechConfig(Proto):
    """Speech output: one voice, or several.

    Source: official SDK types, 2026-11. Seen: recorded traffic.
    """

    voiceConfig: VoiceConfig | None = None
    languageCode: str | None = None
    multiSpeakerVoiceConfig: MultiSpeakerVoiceConfig | None = None


class TranslationConfig(Proto):
    """The target language of speech translation."""

    echoTargetLanguage: bool | None = None
    """True: speech in the target language is repeated."""
    targetLanguageCode: str | None = None
    """A BCP-47 code."""


class LanguageAuto(Proto):
    """Enables language detection, which is now the default; it has no options."""


class LanguageHints(Proto):
    """Probable languages, the older form of ``languageCodes``."""

    languageCodes: list[str] | None = None


class AudioTranscriptionConfig(Proto):
    """Options of the transcription."""

    languageCodes: list[str] | None = None
    """BCP-47 codes; None or []: automatic detection."""
    languageAuto: LanguageAuto | None = None
    languageHints: LanguageHints | None = None
    customVocabulary: list[str] | None = None
    adaptationPhrases: list[str] | None = None
    """Replaced by ``customVocabulary``."""
    wordTimestamp: bool | None = None
    diarization: bool | None = None
    """True: the transcript distinguishes speakers."""
    mode: EnumValue | None = None
    """VERBATIM (the default) or SMART."""
    sourceText: str | None = None
    """The text that an audio instruction edits; for the mode SMART."""


Penalty = Annotated[float, Numeric(-2, 2)]
"""A finite number from -2 to 2."""


class ModelSelectionConfig(Proto):
    """The preference for the server's selection of a model."""

    featureSelectionPreference: EnumValue | None = None
    """PRIORITIZE_QUALITY, BALANCED or PRIORITIZE_COST."""


class AutoRouting(Proto):
    """Lets the server select the model by the prompt."""

    modelRoutingPreference: EnumValue | None = None
    """UNKNOWN, PRIORITIZE_QUALITY, BALANCED or PRIORITIZE_COST."""


class ManualRouting(Proto):
    """Selects a model by name."""

    modelName: str | None = None


class RoutingConfig(Proto):
    """The selection of the model: one of the two fields is set."""

    autoMode: AutoRouting | None = None
    manualMode: ManualRouting | None = None


class ThinkingConfig(Proto):
    """How much the model reasons; budget and level are mutually exclusive.

    Source: official SDK types, 2026-11. Seen: recorded traffic.
    """

    includeThoughts: bool | None = None
    """True: the response contains ``thought`` parts."""
    thinkingBudget: Int | None = None
    """Tokens; 0 disables reasoning, -1 leaves the budget to the model."""
    thinkingLevel: EnumValue | None = None
    """MINIMAL, LOW, MEDIUM, HIGH or XHIGH."""


class ImageOutputOptions(Proto):
    """The file format of generated images.

    Source: official SDK types, 2026-11. Seen: recorded traffic.
    """

    compressionQuality: Count | None = None
    """0 to 100; for JPEG."""
    mimeType: str | None = None


class ImageConfig(Proto):
    """Size and content options of generated images.

    Source: specification, POST generateContent; official SDK types, 2026-11.
    """

    aspectRatio: str | None = None
    """Width to height: 1:1, 2:3, 3:2, 3:4, 4:3, 9:16, 16:9, 21:9 and, for some models, others."""
    imageSize: str | None = None
    """512, 1K (the default), 2K or 4K."""
    personGeneration: EnumValue | None = None
    """ALLOW_ALL, ALLOW_ADULT or ALLOW_NONE."""
    prominentPeople: EnumValue | None = None
    """ALLOW_PROMINENT_PEOPLE or BLOCK_PROMINENT_PEOPLE."""
    outputMimeType: str | None = None
    """An SDK option that the SDK sends as ``imageOutputOptions.mimeType``."""
    outputCompressionQuality: Count | None = None
    """An SDK option that the SDK sends as ``imageOutputOptions.compressionQuality``."""
    imageOutputOptions: ImageOutputOptions | None = None


class AudioFormat(Proto):
    """The format and delivery of generated audio."""

    bitRate: Count | None = None
    """Bits per second; for compressed formats."""
    delivery: EnumValue | None = None
    """INLINE or URI."""
    mimeType: str | None = None
    sampleRate: Count | None = None
    """Hertz."""


class ImageFormat(Proto):
    """The format and delivery of generated images."""

    aspectRatio: EnumValue | None = None
    """ASPECT_RATIO_ONE_BY_ONE and others; not 1:1 as in ``ImageConfig``."""
    delivery: EnumValue | None = None
    """INLINE or URI."""
    imageSize: EnumValue | None = None
    """IMAGE_SIZE_FIVE_TWELVE, IMAGE_SIZE_ONE_K, IMAGE_SIZE_TWO_K or IMAGE_SIZE_FOUR_K."""
    mimeType: str | None = None


class VideoFormat(Proto):
    """The format and delivery of generated video."""

    aspectRatio: EnumValue | None = None
    """ASPECT_RATIO_SIXTEEN_BY_NINE and others."""
    delivery: EnumValue | None = None
    """INLINE or URI."""
    duration: str | None = None
    """Seconds with the suffix s."""
    gcsUri: str | None = None
    """The destination for delivery by URI."""
    resolution: str | None = None
    """360p, 720p, 1080p or 4k."""


# BaseModel has a deprecated method ``schema``. The JSON key is needed here, because validators build dicts with field names as keys.
with warnings.catch_warnings():
    warnings.filterwarnings("ignore", message='Field name "schema"', category=UserWarning)

    class TextFormat(Proto):
        """What generated text is to look like.

        Source: official SDK types, 2026-11.
        """

        mimeType: str | None = None
        schema: Any = None
        """A JSON Schema; for JSON output only."""


class ResponseFormat(Proto):
    """The format of one kind of output: one field is set."""

    audio: AudioFormat | None = None
    image: ImageFormat | None = None
    text: TextFormat | None = None
    video: VideoFormat | None = None


class GenerationConfig(Proto):
    """The generation settings of a request.

    ``temperature`` has no bound here: a recorded request has 1000, which the server rejected.
    Source: specification, POST generateContent; official SDK types, 2026-11.
    """

    modelConfig: ModelSelectionConfig | None = Field(
        default=None, validation_alias=AliasChoices("modelConfig", "model_config", "modelSelectionConfig", "model_selection_config")
    )
    """``modelSelectionConfig`` in the SDK, which sends ``modelConfig``."""
    responseJsonSchema: dict[str, Any] | bool | None = None
    """Requires ``responseMimeType``; mutually exclusive with ``responseSchema``."""
    audioTimestamp: bool | None = None
    candidateCount: Annotated[Int, Field(ge=1)] | None = None
    enableAffectiveDialog: bool | None = None
    frequencyPenalty: Penalty | None = None
    logprobs: Annotated[Int, Field(ge=0, le=20)] | None = None
    """Number of alternatives per token; requires ``responseLogprobs``."""
    maxOutputTokens: Annotated[Int, Field(ge=1)] | None = None
    mediaResolution: EnumValue | None = None
    """MEDIA_RESOLUTION_LOW, _MEDIUM or _HIGH, for all media."""
    presencePenalty: Penalty | None = None
    responseLogprobs: bool | None = None
    responseMimeType: str | None = None
    """text/plain (the default), application/json or text/x.enum."""
    responseModalities: list[EnumValue] | None = None
    """TEXT, IMAGE, AUDIO, VIDEO."""
    responseSchema: Schema | None = None
    """Requires ``responseMimeType``; mutually exclusive with ``responseJsonSchema``."""
    routingConfig: RoutingConfig | None = None
    seed: Int | None = None
    """32 bits (discovery document of v1beta)."""
    speechConfig: SpeechConfig | None = None
    stopSequences: list[str] | None = None
    """At most 5."""
    temperature: Annotated[float, Numeric(0)] | None = None
    """The server accepts 0 to 2 (ai.google.dev/api/generate-content)."""
    thinkingConfig: ThinkingConfig | None = None
    topK: Annotated[float, Numeric(0)] | None = None
    """An integer (ai.google.dev/api/generate-content); a float in the official SDK."""
    topP: Annotated[float, Numeric(0, 1)] | None = None
    enableEnhancedCivicAnswers: bool | None = None
    responseFormat: list[ResponseFormat] | None = None
    """A planned replacement of ``responseMimeType`` and the schemas."""
    translationConfig: TranslationConfig | None = None
    audioTranscriptionConfig: AudioTranscriptionConfig | None = None
    imageConfig: ImageConfig | None = None


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
