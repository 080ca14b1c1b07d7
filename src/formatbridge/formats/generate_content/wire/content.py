"""Turns and their parts, the same in requests and responses."""

from typing import Any

from formatbridge.formats.generate_content.wire._proto import Proto, Repeated, Word
from formatbridge.formats.generate_content.wire.media import (
    AudioMetadata,
    DocumentMetadata,
    MediaResolution,
    SpeechMetadata,
    SpreadsheetMetadata,
    Transcription,
    VideoMetadata,
)
from formatbridge.validation.wire_base import Number


class Blob(Proto):
    """Media carried in the body.

    Source: official SDK types, 2026-11.
    """

    data: str | None = None
    """Base64, standard or URL-safe alphabet. None: zero bytes, which proto3 JSON leaves out."""
    displayName: str | None = None
    mimeType: str | None = None


class FileData(Proto):
    """Media named by an address.

    Source: official SDK types, 2026-11.
    """

    displayName: str | None = None
    fileUri: str
    """An uploaded file's URI, a ``gs://`` object, a video page or any public https address."""
    mimeType: str | None = None


class PartialArg(Proto):
    """A piece of a function call's arguments, in a stream that was asked to cut them up.

    Source: official SDK types, 2026-11.
    """

    boolValue: bool | None = None
    jsonPath: str | None = None
    """Which argument the piece belongs to, an RFC 9535 path such as ``$.places[0].name``."""
    nullValue: Word | None = None
    """NULL_VALUE: the argument is null. Plain null is the same as no field."""
    numberValue: Number | None = None
    stringValue: str | None = None
    """Text to be added to what came before for the same path."""
    willContinue: bool | None = None
    """True: more text for the same path follows."""


class FunctionCall(Proto):
    """A call of a declared function, which the client is to carry out.

    Source: official SDK types, 2026-11. Seen: recorded traffic, in responses mostly without id.
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
    """Media that a function returned: ``inlineData`` or ``fileData``, the rest says how to read it.

    Source: official SDK types, 2026-11. Seen: recorded traffic.
    """

    inlineData: Blob | None = None
    fileData: FileData | None = None
    mediaProcessing: Word | None = None
    """STATIC or AGENTIC; for video."""
    mediaResolution: MediaResolution | None = None
    videoMetadata: VideoMetadata | None = None
    documentMetadata: DocumentMetadata | None = None
    spreadsheetMetadata: SpreadsheetMetadata | None = None
    audioMetadata: AudioMetadata | None = None


class FunctionResponse(Proto):
    """What a function returned; belongs to the call of the same id, or else of the same name and order.

    Source: official SDK types, 2026-11.
    """

    willContinue: bool | None = None
    """True: a function that does not block will return more."""
    scheduling: Word | None = None
    """SILENT, WHEN_IDLE (the default) or INTERRUPT; for functions that do not block."""
    parts: Repeated[FunctionResponsePart] | None = None
    id: str | None = None
    name: str | None = None
    response: dict[str, Any] | None = None
    """The result under ``output``, a failure under ``error``; with neither key the whole object is the result."""


class ExecutableCode(Proto):
    """Code that the model wrote and the server runs.

    Source: official SDK types, 2026-11.
    """

    code: str | None = None
    language: Word | None = None
    """PYTHON."""
    id: str | None = None


class CodeExecutionResult(Proto):
    """How the server's run of the code ended.

    Source: official SDK types, 2026-11.
    """

    outcome: Word | None = None
    """OUTCOME_OK, OUTCOME_FAILED or OUTCOME_DEADLINE_EXCEEDED."""
    output: str | None = None
    """What the code printed, or what went wrong."""
    id: str | None = None
    """The id of the ``executableCode`` part, if that has one."""


class ToolCall(Proto):
    """A call of one of the server's own tools, which the client only sends back in later turns.

    Source: official SDK types, 2026-11. Seen: recorded traffic.
    """

    id: str | None = None
    toolType: Word | None = None
    """GOOGLE_SEARCH_WEB, GOOGLE_SEARCH_IMAGE, URL_CONTEXT, GOOGLE_MAPS, FILE_SEARCH or MEDIA_PROCESSING."""
    args: dict[str, Any] | None = None


class ToolResponse(Proto):
    """What one of the server's own tools returned; sent back like the call.

    Source: official SDK types, 2026-11. Seen: recorded traffic.
    """

    id: str | None = None
    toolType: Word | None = None
    """As in the call."""
    response: dict[str, Any] | None = None


class Part(Proto):
    """One piece of a turn: exactly one data member, and what qualifies it.

    ``{}`` occurs and says nothing. Text comes with a signature and ``""`` when only the signature matters.
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
    """Opaque, base64; may sit on any part and must go back unchanged."""
    mediaResolution: MediaResolution | None = None
    videoMetadata: VideoMetadata | None = None
    partMetadata: dict[str, Any] | None = None
    """The client's own notes; the model does not see them."""
    audioTranscription: Transcription | None = None
    mediaProcessing: Word | None = None
    """STATIC or AGENTIC; for video."""
    speechMetadata: SpeechMetadata | None = None
    documentMetadata: DocumentMetadata | None = None
    spreadsheetMetadata: SpreadsheetMetadata | None = None
    audioMetadata: AudioMetadata | None = None


class Content(Proto):
    """One turn of a conversation.

    A response's may lack ``parts`` or be ``{}``.
    Source: specification, Generate-content response; official SDK types, 2026-11. Seen: recorded traffic.
    """

    parts: Repeated[Part] | None = None
    role: str | None = None
    """``user``, ``model``, of old ``function``; None counts as user. Open here, though the server refuses others; in a
    system instruction it does not matter."""
