"""Tools that the server runs."""

from typing import Any

from formatbridge.formats.generate_content.wire._proto import Proto, Word
from formatbridge.formats.generate_content.wire.retrieval import AuthConfig
from formatbridge.validation.wire_base import Count, Number


class ComputerUse(Proto):
    """A computer tool: the server declares functions with which the model controls a computer.

    Source: official SDK types, 2026-11.
    """

    environment: Word | None = None
    """ENVIRONMENT_BROWSER, ENVIRONMENT_MOBILE or ENVIRONMENT_DESKTOP."""
    excludedPredefinedFunctions: list[str] | None = None
    enablePromptInjectionDetection: bool | None = None
    disabledSafetyPolicies: list[Word] | None = None
    """FINANCIAL_TRANSACTIONS, ACCOUNT_CREATION, LEGAL_TERMS_AND_AGREEMENTS and others."""


class FileSearch(Proto):
    """A search in the account's file search stores.

    Source: official SDK types, 2026-11.
    """

    fileSearchStoreNames: list[str] | None = None
    """``fileSearchStores/...``; the vendor requires at least one."""
    topK: Count | None = None
    """Maximum number of chunks to retrieve."""
    metadataFilter: str | None = None


class WebSearch(Proto):
    """Enables the search of web pages; it has no options.

    Source: official SDK types, 2026-11.
    """


class ImageSearch(Proto):
    """Enables the search of images; it has no options.

    Source: official SDK types, 2026-11.
    """


class SearchTypes(Proto):
    """The kinds of search to run; with none set, the web search.

    Source: official SDK types, 2026-11.
    """

    webSearch: WebSearch | None = None
    imageSearch: ImageSearch | None = None


class Interval(Proto):
    """A time interval, RFC 3339; start and end are set together.

    Source: official SDK types, 2026-11.
    """

    endTime: str | None = None
    """Exclusive."""
    startTime: str | None = None
    """Inclusive."""


class WebSearchFilter(Proto):
    """Exclusions from the results of a web search; as a tool of its own, the enterprise web search.

    Source: official SDK types, 2026-11.
    """

    blockingConfidence: Word | None = None
    """Excludes sites with this or a higher likelihood of phishing: BLOCK_LOW_AND_ABOVE up to BLOCK_ONLY_EXTREMELY_HIGH."""
    excludeDomains: list[str] | None = None


class Search(WebSearchFilter):
    """A web search tool.

    Source: official SDK types, 2026-11. Seen: recorded traffic.
    """

    searchTypes: SearchTypes | None = None
    timeRangeFilter: Interval | None = None


class MapsPlaces(Proto):
    """Enables places; it has no options.

    Source: official SDK types, 2026-11.
    """


class MapsRouting(Proto):
    """Enables routes; it has no options.

    Source: official SDK types, 2026-11.
    """


class MapsGroundingTypes(Proto):
    """The kinds of map data to use; with none set, places.

    Source: official SDK types, 2026-11.
    """

    places: MapsPlaces | None = None
    routing: MapsRouting | None = None


class Maps(Proto):
    """A tool for questions about places and routes on a map.

    Source: official SDK types, 2026-11.
    """

    authConfig: AuthConfig | None = None
    enableWidget: bool | None = None
    """No longer has an effect."""
    groundingTypes: MapsGroundingTypes | None = None


class CodeExecution(Proto):
    """Code execution: the model writes code and the server runs it; it has no options.

    Source: official SDK types, 2026-11. Seen: recorded traffic.
    """


class DynamicRetrievalConfig(Proto):
    """The condition under which the older search tool searches.

    Source: official SDK types, 2026-11.
    """

    dynamicThreshold: Number | None = None
    """0 to 1; the tool searches if the predicted score is higher."""
    mode: Word | None = None
    """Known: MODE_DYNAMIC."""


class SearchRetrieval(Proto):
    """A web search for models of the first generations.

    Source: official SDK types, 2026-11.
    """

    dynamicRetrievalConfig: DynamicRetrievalConfig | None = None


class PartnerSearch(Proto):
    """A search with the service of another company.

    Source: official SDK types, 2026-11.
    """

    apiKey: str | None = None
    """A secret."""
    customConfigs: dict[str, Any] | None = None
    """Options of that service's search."""


class RetentionSearch(PartnerSearch):
    """A search with the service of another company, with an option to store no data.

    Source: official SDK types, 2026-11.
    """

    enableDataRetention: bool | None = None
    """Replaced by the next field."""
    enableZeroDataRetention: bool | None = None


class UrlContext(Proto):
    """Reads web pages whose URLs are in the prompt; it has no options.

    Source: official SDK types, 2026-11. Seen: recorded traffic.
    """


class StreamableHttpTransport(Proto):
    """The URL of an MCP server, its headers and timeouts.

    Source: official SDK types, 2026-11.
    """

    headers: dict[str, str] | None = None
    """May hold secrets."""
    sseReadTimeout: str | None = None
    """Seconds with the suffix s."""
    terminateOnClose: bool | None = None
    timeout: str | None = None
    """Seconds with the suffix s."""
    url: str | None = None


class McpServer(Proto):
    """An MCP server whose tools the model may call.

    Source: official SDK types, 2026-11.
    """

    name: str | None = None
    streamableHttpTransport: StreamableHttpTransport | None = None
