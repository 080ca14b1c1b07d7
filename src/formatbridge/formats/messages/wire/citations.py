"""Citations: the configuration in a request, and the five kinds of locations.

Citations have the same form in responses and in later requests.

Source, unless a model names another: official SDK types, 2026-11.
"""

from typing import Annotated, Literal

from formatbridge.validation.wire_base import Count, Open, Unknown, Wire


class CitationOptions(Wire):
    """The citation setting of one source."""

    enabled: bool | None = None


class DocumentLocation(Wire):
    """The fields that the three kinds of document locations have in common."""

    cited_text: str | None = None
    document_index: Count | None = None
    """Index among the documents of the whole request, from 0."""
    document_title: str | None = None
    file_id: str | None = None
    """In responses only."""


class CharLocation(DocumentLocation):
    """A range of characters in a plain-text document."""

    start_char_index: Count | None = None
    """From 0."""
    end_char_index: Count | None = None
    """Exclusive."""
    type: Literal["char_location"]


class PageLocation(DocumentLocation):
    """A range of pages in a PDF document."""

    start_page_number: Count | None = None
    """From 1."""
    end_page_number: Count | None = None
    """Exclusive."""
    type: Literal["page_location"]


class ContentBlockLocation(DocumentLocation):
    """A range of blocks in a document with block content."""

    start_block_index: Count | None = None
    """From 0."""
    end_block_index: Count | None = None
    """Exclusive."""
    type: Literal["content_block_location"]


class WebSearchLocation(Wire):
    """A web page from the hosted web search.

    Source: official SDK types, 2026-11. Seen: recorded traffic.
    """

    cited_text: str | None = None
    encrypted_index: str | None = None
    """Opaque; to be sent back unchanged in later requests."""
    title: str | None = None
    type: Literal["web_search_result_location"]
    url: str


class SearchResultLocation(Wire):
    """A range of blocks in a search result that the caller provided."""

    cited_text: str | None = None
    end_block_index: Count | None = None
    """Exclusive."""
    search_result_index: Count | None = None
    """Index among the search results of the whole request, from 0."""
    source: str
    start_block_index: Count | None = None
    """From 0."""
    title: str | None = None
    type: Literal["search_result_location"]


Citation = Annotated[
    CharLocation | PageLocation | ContentBlockLocation | WebSearchLocation | SearchResultLocation | Unknown, Open("type")
]
"""The location of the source of a text."""
