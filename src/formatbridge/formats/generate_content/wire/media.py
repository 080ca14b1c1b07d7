"""What may be said about the media of a part: clip ranges, page ranges, resolution, transcripts."""

from formatbridge.formats.generate_content.wire._proto import Proto, Word
from formatbridge.validation.wire_base import Count, Int, Number


class MediaResolution(Proto):
    """How finely one media part is tokenised.

    Source: official SDK types, 2026-11.
    """

    level: Word | None = None
    """MEDIA_RESOLUTION_LOW, _MEDIUM, _HIGH or _ULTRA_HIGH."""
    numTokens: Count | None = None
    """Exact number of tokens to spend, instead of a level."""


class VideoMetadata(Proto):
    """Which clip of a video to look at, and how often.

    Source: official SDK types, 2026-11. Seen: recorded traffic.
    """

    endOffset: str | None = None
    """Seconds with the suffix s, ``"5.5s"``."""
    fps: Number | None = None
    """Frames per second, over 0 and up to 24; the server takes 1."""
    startOffset: str | None = None
    """Seconds with the suffix s, ``"1.5s"``."""
    contentLayers: list[Word] | None = None
    """FRAMES, AUDIO, TRANSCRIPT; empty means the first two."""


class AudioMetadata(Proto):
    """Which clip of an audio recording to listen to.

    Source: official SDK types, 2026-11.
    """

    startOffset: str | None = None
    """Seconds with the suffix s."""
    endOffset: str | None = None
    """Seconds with the suffix s."""


class DocumentMetadata(Proto):
    """Which pages of a document to read.

    Source: official SDK types, 2026-11.
    """

    startPage: Int | None = None
    """First page, counted from 1."""
    endPage: Int | None = None
    """Last page, counted from 1, inclusive."""
    contentLayers: list[Word] | None = None
    """PAGE_IMAGE, PAGE_TEXT; empty means the first."""


class SpreadsheetMetadata(Proto):
    """Which cells of a spreadsheet to read.

    Source: official SDK types, 2026-11.
    """

    visibleCells: str | None = None
    """A range in A1 notation; None means all that is filled."""
    sheetIndex: Int | None = None
    """Counted from 1; None means the first sheet."""
    contentLayers: list[Word] | None = None
    """DATA, FORMULAS, VISUAL; empty means the first two."""


class SpeechMetadata(Proto):
    """Who speaks a text part, and how, when speech is asked for.

    Source: official SDK types, 2026-11.
    """

    speaker: str | None = None
    """A speaker named in ``multiSpeakerVoiceConfig``."""
    style: str | None = None


class SpokenWord(Proto):
    """One recognised word of a transcript and when it was said.

    Source: official SDK types, 2026-11.
    """

    word: str | None = None
    startOffset: str | None = None
    """Seconds with the suffix s, from the start of the audio."""
    endOffset: str | None = None
    """Seconds with the suffix s, from the start of the audio."""


class Transcription(Proto):
    """What was said in an audio part.

    Source: official SDK types, 2026-11.
    """

    text: str | None = None
    finished: bool | None = None
    languageCode: str | None = None
    """A BCP-47 code."""
    speakerLabel: str | None = None
    words: list[SpokenWord] | None = None
    startOffset: str | None = None
    """Seconds with the suffix s, from the start of the audio."""
    endOffset: str | None = None
    """Seconds with the suffix s, from the start of the audio."""
