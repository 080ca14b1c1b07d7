"""Contents and their parts, which are the same in requests and responses, with the options and metadata of media parts.

Source, unless a model names another: official SDK types, 2026-11.
"""

from typing import Any

from formatbridge.formats.generate_content.wire._proto import EnumValue, Proto, Repeated
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


class Blob(Proto):
    """Media as base64 data in the body."""

    data: str | None = None
    """Base64, standard or URL-safe alphabet. None: zero bytes, which proto3 JSON omits."""
    displayName: str | None = None
    mimeType: str | None = None


class FileData(Proto):
    """Media by URI."""

    displayName: str | None = None
    fileUri: str
    """The URI of an uploaded file, a ``gs://`` object, a video page or any public https URL."""
    mimeType: str | None = None


class PartialArg(Proto):
    """A piece of a function call's arguments, in a stream with ``streamFunctionCallArguments``."""

    boolValue: bool | None = None
    jsonPath: str | None = None
    """The argument of the piece, as an RFC 9535 path such as ``$.places[0].name``."""
    nullValue: EnumValue | None = None
    """NULL_VALUE: the argument is null. A JSON null means an absent field."""
    numberValue: Number | None = None
    stringValue: str | None = None
    """Text to append to earlier text of the same path."""
    willContinue: bool | None = None
    """True: more text for the same path follows."""


class FunctionCall(Proto):
    """A call of a declared function, which the client runs.

    Source: official SDK types, 2026-11. Seen: recorded traffic, mostly without id in responses.
    """

    id: str | None = None
    args: dict[str, Any] | None = None
    """None or {}: no arguments."""
    name: str | None = None
    """None only in the later pieces of a call that is streamed in pieces."""
    partialArgs: list[PartialArg] | None = None
    willContinue: bool | None = None
    """True: more pieces of this call follow."""


class FunctionResponsePart(Proto):
    """Media in a function result: ``inlineData`` or ``fileData``, and options for reading it.

    Source: official SDK types, 2026-11. Seen: recorded traffic.
    """

    inlineData: Blob | None = None
    fileData: FileData | None = None
    mediaProcessing: EnumValue | None = None
    """STATIC or AGENTIC; for video."""
    mediaResolution: MediaResolution | None = None
    videoMetadata: VideoMetadata | None = None
    documentMetadata: DocumentMetadata | None = None
    spreadsheetMetadata: SpreadsheetMetadata | None = None
    audioMetadata: AudioMetadata | None = None


class FunctionResponse(Proto):
    """The result of a function call, matched by id, or else by name and order."""

    willContinue: bool | None = None
    """True: a non-blocking function will return more results."""
    scheduling: EnumValue | None = None
    """SILENT, WHEN_IDLE (the default) or INTERRUPT; for non-blocking functions."""
    parts: Repeated[FunctionResponsePart] | None = None
    id: str | None = None
    name: str | None = None
    response: dict[str, Any] | None = None
    """The result under ``output``, an error under ``error``; without either key the whole object is the result."""


class ExecutableCode(Proto):
    """Code of the model that the server executes."""

    code: str | None = None
    language: EnumValue | None = None
    """Known: PYTHON."""
    id: str | None = None


class CodeExecutionResult(Proto):
    """The result of a code execution."""

    outcome: EnumValue | None = None
    """OUTCOME_OK, OUTCOME_FAILED or OUTCOME_DEADLINE_EXCEEDED."""
    output: str | None = None
    """The output of the code, or the error message."""
    id: str | None = None
    """The id of the ``executableCode`` part, if it has one."""


class ToolCall(Proto):
    """A call of a server tool; the client only sends it back in later requests.

    Source: official SDK types, 2026-11. Seen: recorded traffic.
    """

    id: str | None = None
    toolType: EnumValue | None = None
    """GOOGLE_SEARCH_WEB, GOOGLE_SEARCH_IMAGE, URL_CONTEXT, GOOGLE_MAPS, FILE_SEARCH or MEDIA_PROCESSING."""
    args: dict[str, Any] | None = None


class ToolResponse(Proto):
    """The result of a server tool; the client sends it back together with the call.

    Source: official SDK types, 2026-11. Seen: recorded traffic.
    """

    id: str | None = None
    toolType: EnumValue | None = None
    """The same value as in the call."""
    response: dict[str, Any] | None = None


class Part(Proto):
    """A part of a content: exactly one data field, and fields that qualify it.

    ``{}`` occurs and means nothing. A signature without content comes with the text ``""``.
    Source: specification, Generate-content response; official SDK types, 2026-11. Seen: recorded traffic.
    """

    text: str | None = None
    inlineData: Blob | None = None
    fileData: FileData | None = None
    functionCall: FunctionCall | None = None
    functionResponse: FunctionResponse | None = None
    executableCode: ExecutableCode | None = None
    codeExecutionResult: CodeExecutionResult | None = None
    toolCall: ToolCall | None = None
    toolResponse: ToolResponse | None = None
    thought: bool | None = None
    """True: the part is reasoning, not answer."""
    thoughtSignature: str | None = None
    """Opaque, base64; it can be on any part and must be sent back unchanged."""
    mediaResolution: MediaResolution | None = None
    videoMetadata: VideoMetadata | None = None
    partMetadata: dict[str, Any] | None = None
    """Metadata of the client; the model does not see it."""
    audioTranscription: Transcription | None = None
    mediaProcessing: EnumValue | None = None
    """STATIC or AGENTIC; for video."""
    speechMetadata: SpeechMetadata | None = None
    documentMetadata: DocumentMetadata | None = None
    spreadsheetMetadata: SpreadsheetMetadata | None = None
    audioMetadata: AudioMetadata | None = None


class Content(Proto):
    """A message of the conversation.

    In a response ``parts`` may be absent, or the object may be ``{}``.
    Source: specification, Generate-content response; official SDK types, 2026-11. Seen: recorded traffic.
    """

    parts: Repeated[Part] | None = None
    role: str | None = None
    """``user`` or ``model`` in the official SDK; any other is accepted, such as ``function``. None counts as user. In a
    system instruction it does not matter."""
