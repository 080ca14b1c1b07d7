"""Settings of speech: voices, transcription, translation."""

from formatbridge.formats.generate_content.wire._proto import Proto, Word


class VoiceConsentSignature(Proto):
    """The server's proof that consent was checked before.

    Source: official SDK types, 2026-11.
    """

    signature: str | None = None


class ReplicatedVoiceConfig(Proto):
    """A voice copied from a sample.

    Source: official SDK types, 2026-11.
    """

    mimeType: str | None = None
    """audio/wav: 16-bit little-endian at 24 kHz."""
    voiceSampleAudio: str | None = None
    """Base64."""
    consentAudio: str | None = None
    """Base64; the speaker agreeing."""
    voiceConsentSignature: VoiceConsentSignature | None = None


class PrebuiltVoiceConfig(Proto):
    """One of the server's voices.

    Source: official SDK types, 2026-11. Seen: recorded traffic.
    """

    voiceName: str | None = None


class VoiceConfig(Proto):
    """The voice to speak with: one member set.

    Source: official SDK types, 2026-11.
    """

    replicatedVoiceConfig: ReplicatedVoiceConfig | None = None
    prebuiltVoiceConfig: PrebuiltVoiceConfig | None = None
    voice: str | None = None


class SpeakerVoiceConfig(Proto):
    """The voice of one speaker.

    Source: official SDK types, 2026-11.
    """

    speaker: str | None = None
    """The name by which the prompt calls the speaker."""
    voiceConfig: VoiceConfig | None = None


class MultiSpeakerVoiceConfig(Proto):
    """The voices of a dialogue.

    Source: official SDK types, 2026-11.
    """

    speakerVoiceConfigs: list[SpeakerVoiceConfig] | None = None
    """Exactly two, for the vendor."""


class SpeechConfig(Proto):
    """How to speak: one voice, or several.

    Source: official SDK types, 2026-11. Seen: recorded traffic.
    """

    voiceConfig: VoiceConfig | None = None
    languageCode: str | None = None
    multiSpeakerVoiceConfig: MultiSpeakerVoiceConfig | None = None


class TranslationConfig(Proto):
    """Into what language to translate speech.

    Source: official SDK types, 2026-11.
    """

    echoTargetLanguage: bool | None = None
    """True: speech already in the target language is repeated."""
    targetLanguageCode: str | None = None
    """A BCP-47 code."""


class LanguageAuto(Proto):
    """Asks for the language to be found out, which is the default by now; has no settings.

    Source: official SDK types, 2026-11.
    """


class LanguageHints(Proto):
    """Likely languages, the older form of ``languageCodes``.

    Source: official SDK types, 2026-11.
    """

    languageCodes: list[str] | None = None


class AudioTranscriptionConfig(Proto):
    """How to write down what is said.

    Source: official SDK types, 2026-11.
    """

    languageCodes: list[str] | None = None
    """BCP-47 codes; None or [] means finding it out."""
    languageAuto: LanguageAuto | None = None
    languageHints: LanguageHints | None = None
    customVocabulary: list[str] | None = None
    adaptationPhrases: list[str] | None = None
    """Replaced by ``customVocabulary``."""
    wordTimestamp: bool | None = None
    diarization: bool | None = None
    """True: tell the speakers apart."""
    mode: Word | None = None
    """VERBATIM (the default) or SMART."""
    sourceText: str | None = None
    """The text that a spoken instruction edits; for SMART."""
