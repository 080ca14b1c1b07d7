"""Options and metadata of media parts: clip ranges, page ranges, resolution, transcripts.

Source, unless a model names another: official SDK types, 2026-11.
"""

from formatbridge.formats.generate_content.wire._proto import EnumValue, Proto
from formatbridge.validation.wire_base import Count, Int, Number


class MediaResolution(Proto):
    """The resolution with which a media part is tokenized."""

    level: EnumValue | None = None
    """MEDIA_RESOLUTION_LOW, _MEDIUM, _HIGH or _ULTRA_HIGH."""
    numTokens: Count | None = None
    """Exact number of tokens, instead of a level."""


class VideoMetadata(Proto):
    """The clip of a video that the model sees, and its frame rate.

    Source: official SDK types, 2026-11. Seen: recorded traffic.
    """

    endOffset: str | None = None
    """Seconds with the suffix s, ``"5.5s"``."""
    fps: Number | None = None
    """Frames per second, over 0 and up to 24; the server's default is 1."""
    startOffset: str | None = None
    """Seconds with the suffix s, ``"1.5s"``."""
    contentLayers: list[EnumValue] | None = None
    """FRAMES, AUDIO, TRANSCRIPT; empty: the first two."""


class AudioMetadata(Proto):
    """The clip of an audio recording that the model receives."""

    startOffset: str | None = None
    """Seconds with the suffix s."""
    endOffset: str | None = None
    """Seconds with the suffix s."""


class DocumentMetadata(Proto):
    """The pages of a document that the model reads."""

    startPage: Int | None = None
    """First page, counted from 1."""
    endPage: Int | None = None
    """Last page, counted from 1, inclusive."""
    contentLayers: list[EnumValue] | None = None
    """PAGE_IMAGE, PAGE_TEXT; empty: the first."""


class SpreadsheetMetadata(Proto):
    """The cells of a spreadsheet that the model reads."""

    visibleCells: str | None = None
    """A range in A1 notation; None: all cells with content."""
    sheetIndex: Int | None = None
    """Counted from 1; None: the first sheet."""
    contentLayers: list[EnumValue] | None = None
    """DATA, FORMULAS, VISUAL; empty: the first two."""


class SpeechMetadata(Proto):
    """The speaker of a text part and the manner of speech, for audio output."""

    speaker: str | None = None
    """The name of a speaker in ``multiSpeakerVoiceConfig``."""
    style: str | None = None


class WordInfo(Proto):
    """A word of a transcript, with its times."""

    word: str | None = None
    startOffset: str | None = None
    """Seconds with the suffix s, from the start of the audio."""
    endOffset: str | None = None
    """Seconds with the suffix s, from the start of the audio."""


class Transcription(Proto):
    """The transcript of an audio part."""

    text: str | None = None
    finished: bool | None = None
    languageCode: str | None = None
    """A BCP-47 code."""
    speakerLabel: str | None = None
    words: list[WordInfo] | None = None
    startOffset: str | None = None
    """Seconds with the suffix s, from the start of the audio."""
    endOffset: str | None = None
    """Seconds with the suffix s, from the start of the audio."""
