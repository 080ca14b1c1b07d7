"""Sources of an answer: search results, documents, places, quoted works.

Source, unless a model names another: official SDK types, 2026-11.
"""

from formatbridge.formats.generate_content.wire._proto import Double, Proto
from formatbridge.validation.wire_base import Count, Int


class Date(Proto):
    """A calendar date; 0 means that a component is unknown.

    Source: official SDK types, 2026-11. Seen: recorded traffic.
    """

    day: Count | None = None
    month: Count | None = None
    year: Count | None = None


class Citation(Proto):
    """A span of the answer that quotes a source.

    Source: official SDK types, 2026-11. Seen: recorded traffic.
    """

    endIndex: Int | None = None
    """Index after the last byte."""
    license: str | None = None
    publicationDate: Date | None = None
    startIndex: Int | None = None
    """Index of the first byte; None is 0."""
    title: str | None = None
    uri: str | None = None


class CitationMetadata(Proto):
    """The sources that the answer quotes; the field name differs between servers.

    Source: official SDK types, 2026-11. Seen: recorded traffic, both names.
    """

    citations: list[Citation] | None = None
    citationSources: list[Citation] | None = None


class ImageChunk(Proto):
    """An image from a search."""

    sourceUri: str | None = None
    imageUri: str | None = None
    title: str | None = None
    domain: str | None = None


class AuthorAttribution(Proto):
    """The author of a review."""

    displayName: str | None = None
    photoUri: str | None = None
    uri: str | None = None


class ReviewSnippet(Proto):
    """An excerpt of a review of a place."""

    authorAttribution: AuthorAttribution | None = None
    flagContentUri: str | None = None
    googleMapsUri: str | None = None
    relativePublishTimeDescription: str | None = None
    """The relative time of the review, as text."""
    review: str | None = None
    reviewId: str | None = None
    title: str | None = None


class PlaceAnswerSources(Proto):
    """The reviews that an answer about a place uses."""

    reviewSnippet: list[ReviewSnippet] | None = None
    flagContentUri: str | None = None
    reviewSnippets: list[ReviewSnippet] | None = None


class Route(Proto):
    """A route on a map."""

    distanceMeters: Count | None = None
    duration: str | None = None
    """Seconds with the suffix s."""
    encodedPolyline: str | None = None


class MapsChunk(Proto):
    """A place or route from a search.

    Source: official SDK types, 2026-11. Seen: recorded traffic.
    """

    placeAnswerSources: PlaceAnswerSources | None = None
    placeId: str | None = None
    """``places/...``."""
    text: str | None = None
    title: str | None = None
    uri: str | None = None
    route: Route | None = None


class PageSpan(Proto):
    """A range of pages, counted from 1, inclusive."""

    firstPage: Int | None = None
    lastPage: Int | None = None


class RagChunk(Proto):
    """A chunk of a file in a RAG corpus."""

    pageSpan: PageSpan | None = None
    text: str | None = None
    chunkId: str | None = None
    fileId: str | None = None


class StringList(Proto):
    """A list of strings, in the form of proto3 JSON."""

    values: list[str] | None = None


class CustomMetadata(Proto):
    """A custom metadata entry of a document: one value is set."""

    key: str | None = None
    numericValue: Double | None = None
    stringListValue: StringList | None = None
    stringValue: str | None = None


class RetrievedContext(Proto):
    """A document from the customer's data."""

    documentName: str | None = None
    ragChunk: RagChunk | None = None
    text: str | None = None
    title: str | None = None
    uri: str | None = None
    customMetadata: list[CustomMetadata] | None = None
    fileSearchStore: str | None = None
    pageNumber: Int | None = None
    mediaId: str | None = None


class WebChunk(Proto):
    """A web page from a search.

    Source: official SDK types, 2026-11. Seen: recorded traffic.
    """

    domain: str | None = None
    title: str | None = None
    uri: str | None = None
    """Often a redirect that expires."""


class GroundingChunk(Proto):
    """A source: one field is set.

    Source: official SDK types, 2026-11. Seen: recorded traffic.
    """

    image: ImageChunk | None = None
    maps: MapsChunk | None = None
    retrievedContext: RetrievedContext | None = None
    web: WebChunk | None = None


class Segment(Proto):
    """A span of the answer.

    Source: official SDK types, 2026-11. Seen: recorded traffic.
    """

    startIndex: Int | None = None
    """Index of the first byte of UTF-8, not of a character; None is 0."""
    endIndex: Int | None = None
    """Index after the last byte of UTF-8."""
    partIndex: Int | None = None
    """Index of the part in the content; None is 0."""
    text: str | None = None


class GroundingSupport(Proto):
    """The sources that support a span of the answer.

    Source: official SDK types, 2026-11. Seen: recorded traffic.
    """

    confidenceScores: list[Double] | None = None
    """0 to 1, one per index; newer models send none."""
    groundingChunkIndices: list[Int] | None = None
    segment: Segment | None = None
    renderedParts: list[Int] | None = None


class RetrievalMetadata(Proto):
    """The probability that a search is useful.

    Source: official SDK types, 2026-11. Seen: recorded traffic, as ``{}``.
    """

    googleSearchDynamicRetrievalScore: Double | None = None
    """0 to 1."""


class SearchEntryPoint(Proto):
    """The search suggestions that the vendor requires applications to show.

    Source: official SDK types, 2026-11. Seen: recorded traffic.
    """

    renderedContent: str | None = None
    """HTML."""
    sdkBlob: str | None = None
    """Base64 of JSON: queries and their URLs."""


class SourceFlaggingUri(Proto):
    """The URL for complaints about a place or review."""

    flagContentUri: str | None = None
    sourceId: str | None = None


class GroundingMetadata(Proto):
    """Grounding metadata: queries, results, and where the answer uses them; may be ``{}``.

    Source: official SDK types, 2026-11. Seen: recorded traffic.
    """

    imageSearchQueries: list[str] | None = None
    groundingChunks: list[GroundingChunk] | None = None
    groundingSupports: list[GroundingSupport] | None = None
    retrievalMetadata: RetrievalMetadata | None = None
    searchEntryPoint: SearchEntryPoint | None = None
    webSearchQueries: list[str] | None = None
    googleMapsWidgetContextToken: str | None = None
    retrievalQueries: list[str] | None = None
    sourceFlaggingUris: list[SourceFlaggingUri] | None = None
