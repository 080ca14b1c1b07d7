"""Content parts of messages, tool outputs and reasoning items.

Source, unless a model names another: official SDK types, 2026-11.
"""

from typing import Annotated, Literal

from formatbridge.formats.responses.wire.citations import Annotation, Logprob
from formatbridge.validation.wire_base import Open, Unknown, Wire


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
