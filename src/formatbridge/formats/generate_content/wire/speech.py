"""Settings of speech: voices, transcription, translation.

Source, unless a model names another: official SDK types, 2026-11.
"""

from formatbridge.formats.generate_content.wire._proto import EnumValue, Proto


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
