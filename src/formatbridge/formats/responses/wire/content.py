"""Content parts: what stands inside messages, tool outputs and reasoning."""

from typing import Annotated, Literal

from formatbridge.formats.responses.wire.citations import Annotation, Logprob
from formatbridge.validation.wire_base import Open, Unknown, Wire


class CacheBreakpoint(Wire):
    """A mark that ends the prefix which is to be cached.

    Source: official SDK types, 2026-11.
    """

    mode: str | None = None
    """Today only ``explicit``."""
    ttl: str | None = None
    """``30m`` or ``12h``."""


class TextPart(Wire):
    """Text given to the model.

    Source: official SDK types, 2026-11.
    """

    text: str
    type: Literal["input_text"]
    prompt_cache_breakpoint: CacheBreakpoint | None = None


class ImagePart(Wire):
    """An image given to the model, by URL, data URL or file id.

    The vendor requires ``detail`` in a message and not in a tool output; recorded messages leave it out too.
    Source: official SDK types, 2026-11.
    """

    detail: str | None = None
    """``auto``, ``low``, ``high`` or ``original``."""
    type: Literal["input_image"]
    file_id: str | None = None
    image_url: str | None = None
    """A URL or a ``data:`` URL; a plain string here, no object as in chat completions."""
    prompt_cache_breakpoint: CacheBreakpoint | None = None


class FilePart(Wire):
    """A file given to the model, by content, URL or file id.

    Source: official SDK types, 2026-11.
    """

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
    """The sound of an ``AudioPart``.

    Source: official SDK types, 2026-11.
    """

    data: str
    """Base64."""
    format: str
    """``mp3`` or ``wav``."""


class AudioPart(Wire):
    """Sound given to the model.

    The vendor's types declare the part and put it into no union, so its own servers refuse it; others may not.
    Source: official SDK types, 2026-11.
    """

    input_audio: Audio
    type: Literal["input_audio"]


class OutputTextPart(Wire):
    """Text that the model wrote.

    Source: official SDK types, 2026-11. Seen: recorded requests and answers without ``annotations`` and ``logprobs``.
    """

    annotations: list[Annotation] | None = None
    text: str
    type: Literal["output_text"]
    logprobs: list[Logprob] | None = None


class RefusalPart(Wire):
    """The model's words for declining.

    Source: official SDK types, 2026-11.
    """

    refusal: str
    type: Literal["refusal"]


class SummaryText(Wire):
    """One paragraph of a summary of the model's reasoning.

    Source: official SDK types, 2026-11.
    """

    text: str
    type: Literal["summary_text"]


class ReasoningText(Wire):
    """Reasoning as the model wrote it.

    Source: official SDK types, 2026-11.
    """

    text: str
    type: Literal["reasoning_text"]


InputPart = Annotated[TextPart | ImagePart | FilePart | AudioPart | Unknown, Open("type")]
"""A part of a tool's output or of a prompt template's variable."""

Part = Annotated[
    TextPart | ImagePart | FilePart | AudioPart | OutputTextPart | RefusalPart | Unknown,
    Open("type"),
]
"""A part of a message, whoever wrote it."""

SummaryPart = Annotated[SummaryText | Unknown, Open("type")]
"""A part of a reasoning summary."""

ReasoningPart = Annotated[ReasoningText | Unknown, Open("type")]
"""A part of the reasoning itself."""
