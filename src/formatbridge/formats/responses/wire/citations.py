"""Annotations and log probabilities of output text.

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
