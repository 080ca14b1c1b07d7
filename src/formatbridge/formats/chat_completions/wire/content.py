"""Content parts: what a message of any role may be made of."""

from typing import Annotated, Any, Literal

from formatbridge.formats.chat_completions.wire.reasoning import ExtraContent
from formatbridge.validation.wire_base import Int, Open, Unknown, Wire


class PromptCacheBreakpoint(Wire):
    """The end of a prompt prefix that the server shall keep in its cache.

    Source: official SDK types, 2026-11.
    """

    mode: str
    """Known: explicit."""
    ttl: str | None = None
    """Known: 30m, 12h. None: the request's own ``prompt_cache_options.ttl``."""


class CacheControl(Wire):
    """A cache mark as messages spells it, on parts, tools, calls, results or the request.

    Servers that pass requests on to many vendors take it.

    Source: those servers' documentation; recorded traffic.
    """

    type: str | None = None
    """Today always ephemeral."""
    ttl: str | None = None
    """Known: 5m, 1h."""


class TextPart(Wire):
    """A piece of text.

    Source: specification, Content part.
    """

    text: str
    type: Literal["text"]
    prompt_cache_breakpoint: PromptCacheBreakpoint | None = None
    cache_control: CacheControl | None = None


class ImageUrl(Wire):
    """Where an image is, and how closely the model shall look at it.

    Source: specification, Content part.
    """

    url: str
    """An http(s) URL or a data URL."""
    detail: str | None = None
    """Known: auto, low, high, original. None: auto."""


class ImagePart(Wire):
    """An image, given by its URL or as a data URL.

    Servers that return images list these parts in ``images`` of the answer.
    Source: specification, Content part; the bare string as ``image_url``: recorded traffic.
    """

    image_url: ImageUrl | str
    type: Literal["image_url"]
    prompt_cache_breakpoint: PromptCacheBreakpoint | None = None
    cache_control: CacheControl | None = None
    index: Int | None = None
    """Place among the answer's images, from 0."""
    extra_content: ExtraContent | None = None
    """Of an answer's image: the token of a vendor whose tokens are on the parts of its answers."""


class InputAudio(Wire):
    """Recorded sound.

    Source: specification, Content part.
    """

    data: str
    """Base64, without a data URL's head."""
    format: str | None = None
    """Known: wav, mp3."""


class AudioPart(Wire):
    """A piece of recorded sound that the model shall hear.

    Source: specification, Content part.
    """

    input_audio: InputAudio | str
    """A text: base64, a data URL or an address, as recorded traffic has it."""
    type: Literal["input_audio"]
    prompt_cache_breakpoint: PromptCacheBreakpoint | None = None
    cache_control: CacheControl | None = None


class FileSource(Wire):
    """A document: its bytes, or the id under which the server stores it.

    Source: specification, Content part.
    """

    file_data: str | None = None
    """A data URL or base64."""
    file_id: str | None = None
    filename: str | None = None


class FilePart(Wire):
    """A document, such as a PDF.

    Source: specification, Content part.
    """

    file: FileSource
    type: Literal["file"]
    prompt_cache_breakpoint: PromptCacheBreakpoint | None = None
    cache_control: CacheControl | None = None


class VideoUrl(Wire):
    """Where a video is.

    Source: specification, Content part.
    """

    url: str
    """An http(s) URL or a data URL."""


class VideoPart(Wire):
    """A video; the official SDK types do not have it.

    Source: specification, Content part.
    """

    type: Literal["video_url"]
    video_url: VideoUrl
    cache_control: CacheControl | None = None


class RefusalPart(Wire):
    """The model's own words for not answering; in assistant messages only.

    Source: official SDK types, 2026-11.
    """

    refusal: str
    type: Literal["refusal"]


class ThinkingPart(Wire):
    """What the model thought before the text that follows; in assistant messages only.

    Seen: recorded traffic, where the thoughts are a list of text parts.
    """

    thinking: str | list[Annotated[TextPart | Unknown, Open("type")]]
    type: Literal["thinking"]
    closed: bool | None = None
    """True in every recording, on each piece of a stream too."""


Part = Annotated[TextPart | ImagePart | AudioPart | FilePart | VideoPart | RefusalPart | ThinkingPart | Unknown, Open("type")]
"""A content part of any kind. Which role may carry which is the server's to say; no type is refused here."""

Content = str | list[Part]
"""Text alone, or parts."""


class UrlCitation(Wire):
    """A web page that a stretch of the answer rests on.

    Source: official SDK types, 2026-11; ``content``: recorded traffic.
    """

    end_index: Int | None = None
    """Characters from the start of the message's content, the end not included. 0 where a server does not know."""
    start_index: Int | None = None
    """Characters from the start of the message's content."""
    title: str | None = None
    url: str
    content: str | None = None
    """The cited text of the page."""


class UrlCitationAnnotation(Wire):
    """A note on the answer that names a web page.

    Source: official SDK types, 2026-11.
    """

    type: Literal["url_citation"]
    url_citation: UrlCitation


class FileAnnotation(Wire):
    """A document as the server has read it, for the caller to send back instead of the document.

    Seen: recorded traffic.
    """

    file: dict[str, Any]
    """Known keys: hash, name, content (a list of content parts)."""
    type: Literal["file"]


Annotation = Annotated[UrlCitationAnnotation | FileAnnotation | Unknown, Open("type")]
"""A note on the answer as a whole or on a stretch of it."""


class Audio(Wire):
    """Spoken output: whole in an answer, by its id alone in later requests, in pieces in a stream.

    Source: official SDK types, 2026-11.
    """

    id: str | None = None
    data: str | None = None
    """Base64, in the format that the request asked for."""
    expires_at: Int | None = None
    """Unix seconds from which on the id cannot be referred to."""
    transcript: str | None = None
