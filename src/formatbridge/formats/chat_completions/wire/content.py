"""Content parts of messages of all roles, their cache marks, citations and audio, and fields with reasoning.

No official SDK has the fields with reasoning, and several of them may repeat the same reasoning. Source of the rest, unless a model
names another: official SDK types, 2026-11.
"""

from typing import Annotated, Any, Literal

from formatbridge.validation.wire_base import Int, Open, Unknown, Wire


class ReasoningEntry(Wire):
    """The fields that all entries of ``reasoning_details`` have in common.

    Seen: recorded traffic.
    """

    id: str | None = None
    format: str | None = None
    """The vendor and version of the tokens. Known: anthropic-claude-v1, google-gemini-v1, openai-responses-v1, xai-responses-v1."""
    index: Int | None = None
    """Index in the list, from 0; stream deltas with the same index belong together."""


class ReasoningText(ReasoningEntry):
    """Reasoning text; without ``text`` where only the signature is sent.

    Seen: recorded traffic.
    """

    type: Literal["reasoning.text"]
    text: str | None = None
    signature: str | None = None


class ReasoningSummary(ReasoningEntry):
    """A summary of the reasoning.

    Seen: recorded traffic.
    """

    type: Literal["reasoning.summary"]
    summary: str | None = None


class ReasoningEncrypted(ReasoningEntry):
    """Encrypted reasoning, which only its vendor can read.

    Seen: recorded traffic.
    """

    type: Literal["reasoning.encrypted"]
    data: str | None = None


ReasoningDetail = Annotated[ReasoningText | ReasoningSummary | ReasoningEncrypted | Unknown, Open("type")]
"""One entry of ``reasoning_details``."""


class SignedThinking(Wire):
    """Reasoning as a block of the messages format.

    Source: proxies' documentation; not in recorded traffic.
    """

    type: Literal["thinking"]
    thinking: str | None = None
    signature: str | None = None


class RedactedThinking(Wire):
    """Redacted reasoning as a block of the messages format.

    Source: proxies' documentation; not in recorded traffic.
    """

    type: Literal["redacted_thinking"]
    data: str | None = None


ThinkingBlock = Annotated[SignedThinking | RedactedThinking | Unknown, Open("type")]
"""One entry of ``thinking_blocks``."""


class Thought(Wire):
    """Fields of a generate_content model on a message or a tool call.

    Seen: recorded traffic.
    """

    thought: bool | None = None
    """True: the content of the message is reasoning, not answer."""
    thought_signature: str | None = None
    """Base64; to be sent back with the same message or call."""


class ExtraContent(Wire):
    """Additional fields by vendor; only one vendor is known, with two servers.

    Seen: recorded traffic; ``vertex`` in earendil-works/pi#6733.
    """

    google: Thought | None = None
    vertex: Thought | None = None
    """The same fields from the server of Vertex AI."""


class PromptCacheBreakpoint(Wire):
    """The end of a prompt prefix that the server caches."""

    mode: str
    """Known: explicit."""
    ttl: str | None = None
    """Known: 30m, 12h. None: the value of ``prompt_cache_options.ttl`` in the request."""


class CacheControl(Wire):
    """A cache mark in the syntax of the messages format, on parts, tools, calls, results or the request.

    Gateways to several vendors accept it.

    Source: documentation of these gateways; recorded traffic.
    """

    type: str | None = None
    """Currently always ephemeral."""
    ttl: str | None = None
    """Known: 5m, 1h."""


class TextPart(Wire):
    """A text part.

    Source: specification, Content part.
    """

    text: str
    type: Literal["text"]
    prompt_cache_breakpoint: PromptCacheBreakpoint | None = None
    cache_control: CacheControl | None = None


class ImageUrl(Wire):
    """The URL of an image, and the level of detail with which the model reads it.

    Source: specification, Content part.
    """

    url: str
    """An http(s) URL or a data URL."""
    detail: str | None = None
    """Known: auto, low, high, original. None: auto."""


class ImagePart(Wire):
    """An image as a URL or data URL.

    Servers that return images put these parts into ``images`` of the answer.
    Source: specification, Content part; the bare string as ``image_url``: recorded traffic.
    """

    image_url: ImageUrl | str
    type: Literal["image_url"]
    prompt_cache_breakpoint: PromptCacheBreakpoint | None = None
    cache_control: CacheControl | None = None
    index: Int | None = None
    """Index among the images of the answer, from 0."""
    extra_content: ExtraContent | None = None
    """In answers: the reasoning token of a vendor whose tokens are on parts of the answer."""


class InputAudio(Wire):
    """Audio data.

    Source: specification, Content part.
    """

    data: str
    """Base64, without the prefix of a data URL."""
    format: str | None = None
    """Known: wav, mp3."""


class AudioPart(Wire):
    """Audio input for the model.

    Source: specification, Content part.
    """

    input_audio: InputAudio | str
    """A string without an object (base64, a data URL or a URL) occurs in recorded traffic."""
    type: Literal["input_audio"]
    prompt_cache_breakpoint: PromptCacheBreakpoint | None = None
    cache_control: CacheControl | None = None


class FileSource(Wire):
    """A document: its data, or the id of an uploaded file.

    Source: specification, Content part.
    """

    file_data: str | None = None
    """A data URL or base64."""
    file_id: str | None = None
    filename: str | None = None


class FilePart(Wire):
    """A document part, such as a PDF.

    Source: specification, Content part.
    """

    file: FileSource
    type: Literal["file"]
    prompt_cache_breakpoint: PromptCacheBreakpoint | None = None
    cache_control: CacheControl | None = None


class DocumentUrlPart(Wire):
    """A document part of Mistral.

    Source: mistralai/client-python, ``DocumentURLChunk``; recorded traffic.
    """

    document_url: str
    """An http(s) URL or a data URL."""
    type: Literal["document_url"]
    document_name: str | None = None


class FileUrl(Wire):
    """The URL or the base64 data of a document.

    Source: perplexityai, ``chat_message_input.py``; recorded traffic.
    """

    url: str


class FileUrlPart(Wire):
    """A document part of Perplexity.

    Source: perplexityai, ``chat_message_input.py``; recorded traffic.
    """

    file_url: FileUrl | str
    type: Literal["file_url"]
    file_name: str | None = None


class VideoUrl(Wire):
    """The URL of a video.

    Source: specification, Content part.
    """

    url: str
    """An http(s) URL or a data URL."""


class VideoPart(Wire):
    """A video part; the official SDK types do not have it.

    Source: specification, Content part.
    """

    type: Literal["video_url"]
    video_url: VideoUrl
    cache_control: CacheControl | None = None


class RefusalPart(Wire):
    """A refusal of the model; in assistant messages only."""

    refusal: str
    type: Literal["refusal"]


class ThinkingPart(Wire):
    """Reasoning of the model before the text that follows; in assistant messages only.

    Source: recorded traffic, where the reasoning is a list of text parts.
    """

    thinking: str | list[Annotated[TextPart | Unknown, Open("type")]]
    type: Literal["thinking"]
    closed: bool | None = None
    """True in every recording, also in each delta of a stream."""


Part = Annotated[
    TextPart | ImagePart | AudioPart | FilePart | DocumentUrlPart | FileUrlPart | VideoPart | RefusalPart | ThinkingPart | Unknown,
    Open("type"),
]
"""A content part of any kind. The server decides which role may have which part; no type is rejected here."""

Content = str | list[Part]
"""The content of a message: a string, or a list of parts."""


class UrlCitation(Wire):
    """A web page that a span of the answer cites.

    Source: official SDK types, 2026-11; ``content``: recorded traffic.
    """

    end_index: Int | None = None
    """Index in the message's content after the last character. OpenRouter sends 0 (recorded traffic)."""
    start_index: Int | None = None
    """Index of the first character in the message's content, from 0."""
    title: str | None = None
    url: str
    content: str | None = None
    """The cited text of the web page."""


class UrlCitationAnnotation(Wire):
    """An annotation of the answer that cites a web page."""

    type: Literal["url_citation"]
    url_citation: UrlCitation


class FileAnnotation(Wire):
    """A document as parsed by the server; the caller can send it back in place of the document.

    Source: recorded traffic.
    """

    file: dict[str, Any]
    """Known keys: hash, name, content (a list of content parts)."""
    type: Literal["file"]


Annotation = Annotated[UrlCitationAnnotation | FileAnnotation | Unknown, Open("type")]
"""An annotation of the answer or of a span of it."""


class Audio(Wire):
    """Audio output: whole in an answer, by id alone in later requests, in chunks in a stream."""

    id: str | None = None
    data: str | None = None
    """Base64, in the audio format of the request."""
    expires_at: Int | None = None
    """Unix time in seconds after which the id is invalid."""
    transcript: str | None = None
