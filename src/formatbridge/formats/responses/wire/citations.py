"""What accompanies generated text: annotations and token probabilities."""

from typing import Annotated, Literal

from formatbridge.validation.wire_base import Int, Number, Open, Unknown, Wire


class FileCitation(Wire):
    """A reference to a file that the text rests on.

    Source: official SDK types, 2026-11.
    """

    file_id: str
    filename: str | None = None
    index: Int | None = None
    """Place in the text, in characters."""
    type: Literal["file_citation"]


class UrlCitation(Wire):
    """A reference to a web page that a span of the text rests on.

    Source: official SDK types, 2026-11.
    """

    end_index: Int | None = None
    """Past the last character of the span."""
    start_index: Int | None = None
    """First character of the span, from 0."""
    title: str | None = None
    type: Literal["url_citation"]
    url: str


class ContainerFileCitation(Wire):
    """A reference to a file that the model made in a container.

    Source: official SDK types, 2026-11.
    """

    container_id: str
    end_index: Int | None = None
    file_id: str
    filename: str | None = None
    start_index: Int | None = None
    type: Literal["container_file_citation"]


class FilePath(Wire):
    """A path in the text that stands for a file.

    Source: official SDK types, 2026-11.
    """

    file_id: str
    index: Int | None = None
    type: Literal["file_path"]


Annotation = Annotated[FileCitation | UrlCitation | ContainerFileCitation | FilePath | Unknown, Open("type")]
"""A remark on a span or a place of generated text."""


class TopLogprob(Wire):
    """One likely token at a place, and how likely it was.

    Source: official SDK types, 2026-11; stream events leave ``bytes`` out and may leave the rest out.
    """

    token: str | None = None
    bytes: list[Int] | None = None
    """The token's UTF-8 bytes; a token may be a part of a character."""
    logprob: Number | None = None


class Logprob(TopLogprob):
    """One token of the text, how likely it was, and the likeliest others.

    Source: official SDK types, 2026-11.
    """

    top_logprobs: list[TopLogprob] | None = None
