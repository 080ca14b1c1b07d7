"""Content parts of messages, tool outputs and reasoning items, with the annotations and log probabilities of output text.

Source, unless a model names another: official SDK types, 2026-11.
"""

from typing import Annotated, Literal

from formatbridge.validation.wire_base import Int, Number, Open, Unknown, Wire


class FileCitation(Wire):
    """A citation of a file."""

    file_id: str
    filename: str | None = None
    index: Int | None = None
    """Index in the text, in characters."""
    type: Literal["file_citation"]


class UrlCitation(Wire):
    """A citation of a web page for a span of the text."""

    end_index: Int | None = None
    """Index after the last character of the span."""
    start_index: Int | None = None
    """Index of the first character of the span, from 0."""
    title: str | None = None
    type: Literal["url_citation"]
    url: str


class ContainerFileCitation(Wire):
    """A citation of a file that the model created in a container."""

    container_id: str
    end_index: Int | None = None
    file_id: str
    filename: str | None = None
    start_index: Int | None = None
    type: Literal["container_file_citation"]


class FilePath(Wire):
    """A path in the text that refers to a file."""

    file_id: str
    index: Int | None = None
    type: Literal["file_path"]


Annotation = Annotated[FileCitation | UrlCitation | ContainerFileCitation | FilePath | Unknown, Open("type")]
"""An annotation of a span or a position of output text."""


class TopLogprob(Wire):
    """A likely token at a position, with its log probability.

    Source: official SDK types, 2026-11; stream events have no ``bytes``, and other fields may be absent.
    """

    token: str | None = None
    bytes: list[Int] | None = None
    """The token's UTF-8 bytes; several tokens may share the bytes of one character."""
    logprob: Number | None = None


class Logprob(TopLogprob):
    """A token of the text with its log probability, and the most likely alternatives."""

    top_logprobs: list[TopLogprob] | None = None


class CacheBreakpoint(Wire):
    """A cache mark: the end of the prompt prefix to cache."""

    mode: str | None = None
    """Currently only ``explicit``."""
    ttl: str | None = None
    """``30m`` or ``12h``."""


class TextPart(Wire):
    """Text input."""

    text: str
    type: Literal["input_text"]
    prompt_cache_breakpoint: CacheBreakpoint | None = None


class ImagePart(Wire):
    """An image input, by URL, data URL or file id.

    The vendor requires ``detail`` in a message and not in a tool output; recorded messages leave it out too.
    """

    detail: str | None = None
    """``auto``, ``low``, ``high`` or ``original``."""
    type: Literal["input_image"]
    file_id: str | None = None
    image_url: str | None = None
    """A URL or a ``data:`` URL; a string here, an object in chat completions."""
    prompt_cache_breakpoint: CacheBreakpoint | None = None


class FilePart(Wire):
    """A file input, by content, URL or file id."""

    type: Literal["input_file"]
    detail: str | None = None
    """``auto``, ``low`` or ``high``."""
    file_data: str | None = None
    """A base64 ``data:`` URL."""
    file_id: str | None = None
    file_url: str | None = None
    filename: str | None = None
    prompt_cache_breakpoint: CacheBreakpoint | None = None


class Audio(Wire):
    """The audio data of an ``AudioPart``."""

    data: str
    """Base64."""
    format: str
    """``mp3`` or ``wav``."""


class AudioPart(Wire):
    """An audio input.

    Source: official SDK types, 2026-11, ``ResponseInputAudio``, which no union contains; other servers may accept it.
    """

    input_audio: Audio
    type: Literal["input_audio"]


class OutputTextPart(Wire):
    """Output text of the model.

    Source: official SDK types, 2026-11. Seen: recorded requests and answers without ``annotations`` and ``logprobs``.
    """

    annotations: list[Annotation] | None = None
    text: str
    type: Literal["output_text"]
    logprobs: list[Logprob] | None = None


class RefusalPart(Wire):
    """A refusal of the model."""

    refusal: str
    type: Literal["refusal"]


class SummaryText(Wire):
    """A paragraph of a reasoning summary."""

    text: str
    type: Literal["summary_text"]


class ReasoningText(Wire):
    """The reasoning text of the model."""

    text: str
    type: Literal["reasoning_text"]


InputPart = Annotated[TextPart | ImagePart | FilePart | AudioPart | Unknown, Open("type")]
"""A part of a tool's output or of a variable of a prompt template."""

Part = Annotated[TextPart | ImagePart | FilePart | AudioPart | OutputTextPart | RefusalPart | Unknown, Open("type")]
"""A content part of a message, for all roles."""

SummaryPart = Annotated[SummaryText | Unknown, Open("type")]
"""A part of a reasoning summary."""

ReasoningPart = Annotated[ReasoningText | Unknown, Open("type")]
"""A part of the reasoning text."""
