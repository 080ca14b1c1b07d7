"""What an answer rests on: search results, documents, places, quoted works."""

from formatbridge.formats.generate_content.wire._proto import Double, Proto
from formatbridge.validation.wire_base import Count, Int


class Date(Proto):
    """A calendar date; 0 stands for a part that is not known.

    Source: official SDK types, 2026-11. Seen: recorded traffic.
    """

    day: Count | None = None
    month: Count | None = None
    year: Count | None = None


class Citation(Proto):
    """A stretch of the answer that quotes something.

    Source: official SDK types, 2026-11. Seen: recorded traffic.
    """

    endIndex: Int | None = None
    """Exclusive, in bytes."""
    license: str | None = None
    publicationDate: Date | None = None
    startIndex: Int | None = None
    """In bytes; None is 0."""
    title: str | None = None
    uri: str | None = None


class CitationMetadata(Proto):
    """What the answer quotes, under one name or the other, by server.

    Source: official SDK types, 2026-11. Seen: recorded traffic, both names.
    """

    citations: list[Citation] | None = None
    citationSources: list[Citation] | None = None


class ImageChunk(Proto):
    """An image that was found.

    Source: official SDK types, 2026-11.
    """

    sourceUri: str | None = None
    imageUri: str | None = None
    title: str | None = None
    domain: str | None = None


class AuthorAttribution(Proto):
    """Who wrote a review.

    Source: official SDK types, 2026-11.
    """

    displayName: str | None = None
    photoUri: str | None = None
    uri: str | None = None


class ReviewSnippet(Proto):
    """A piece of a review of a place.

    Source: official SDK types, 2026-11.
    """

    authorAttribution: AuthorAttribution | None = None
    flagContentUri: str | None = None
    googleMapsUri: str | None = None
    relativePublishTimeDescription: str | None = None
    """How long ago, in words."""
    review: str | None = None
    reviewId: str | None = None
    title: str | None = None


class PlaceAnswerSources(Proto):
    """The reviews behind an answer about a place.

    Source: official SDK types, 2026-11.
    """

    reviewSnippet: list[ReviewSnippet] | None = None
    flagContentUri: str | None = None
    reviewSnippets: list[ReviewSnippet] | None = None


class Route(Proto):
    """A route on the map.

    Source: official SDK types, 2026-11.
    """

    distanceMeters: Count | None = None
    duration: str | None = None
    """Seconds with the suffix s."""
    encodedPolyline: str | None = None


class MapsChunk(Proto):
    """A place or route that was found.

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
    """From which page to which, counted from 1, inclusive.

    Source: official SDK types, 2026-11.
    """

    firstPage: Int | None = None
    lastPage: Int | None = None


class RagChunk(Proto):
    """A chunk of a file in a corpus.

    Source: official SDK types, 2026-11.
    """

    pageSpan: PageSpan | None = None
    text: str | None = None
    chunkId: str | None = None
    fileId: str | None = None


class StringList(Proto):
    """A list of text, as proto3 JSON wraps it.

    Source: official SDK types, 2026-11.
    """

    values: list[str] | None = None


class CustomMetadata(Proto):
    """A note that the user put on a document: one value set.

    Source: official SDK types, 2026-11.
    """

    key: str | None = None
    numericValue: Double | None = None
    stringListValue: StringList | None = None
    stringValue: str | None = None


class RetrievedContext(Proto):
    """A document that was found in the customer's data.

    Source: official SDK types, 2026-11.
    """

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
    """A web page that was found.

    Source: official SDK types, 2026-11. Seen: recorded traffic.
    """

    domain: str | None = None
    title: str | None = None
    uri: str | None = None
    """Often a redirect that expires."""


class GroundingChunk(Proto):
    """One source: one member set.

    Source: official SDK types, 2026-11. Seen: recorded traffic.
    """

    image: ImageChunk | None = None
    maps: MapsChunk | None = None
    retrievedContext: RetrievedContext | None = None
    web: WebChunk | None = None


class Segment(Proto):
    """A stretch of the answer.

    Source: official SDK types, 2026-11. Seen: recorded traffic.
    """

    startIndex: Int | None = None
    """In bytes of UTF-8, not characters; None is 0."""
    endIndex: Int | None = None
    """Exclusive, in bytes of UTF-8."""
    partIndex: Int | None = None
    """Which part of the content; None is 0."""
    text: str | None = None


class GroundingSupport(Proto):
    """Which sources carry which stretch of the answer.

    Source: official SDK types, 2026-11. Seen: recorded traffic.
    """

    confidenceScores: list[Double] | None = None
    """0 to 1, one for each index; newer models send none."""
    groundingChunkIndices: list[Int] | None = None
    segment: Segment | None = None
    renderedParts: list[Int] | None = None


class RetrievalMetadata(Proto):
    """How likely a search was to help.

    Source: official SDK types, 2026-11. Seen: recorded traffic, as ``{}``.
    """

    googleSearchDynamicRetrievalScore: Double | None = None
    """0 to 1."""


class SearchEntryPoint(Proto):
    """What the vendor wants shown beside an answer that was searched for.

    Source: official SDK types, 2026-11. Seen: recorded traffic.
    """

    renderedContent: str | None = None
    """HTML."""
    sdkBlob: str | None = None
    """Base64 of JSON: queries and their addresses."""


class SourceFlaggingUri(Proto):
    """Where to complain about a place or review.

    Source: official SDK types, 2026-11.
    """

    flagContentUri: str | None = None
    sourceId: str | None = None


class GroundingMetadata(Proto):
    """What was searched, what was found and where it was used; may be ``{}``.

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
