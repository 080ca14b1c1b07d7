"""The tools which the server runs by itself."""

from typing import Any

from formatbridge.formats.generate_content.wire._proto import Proto, Word
from formatbridge.formats.generate_content.wire.retrieval import AuthConfig
from formatbridge.validation.wire_base import Count, Number


class ComputerUse(Proto):
    """Lets the model drive a computer, by functions that the server declares for it.

    Source: official SDK types, 2026-11.
    """

    environment: Word | None = None
    """ENVIRONMENT_BROWSER, ENVIRONMENT_MOBILE or ENVIRONMENT_DESKTOP."""
    excludedPredefinedFunctions: list[str] | None = None
    enablePromptInjectionDetection: bool | None = None
    disabledSafetyPolicies: list[Word] | None = None
    """FINANCIAL_TRANSACTIONS, ACCOUNT_CREATION, LEGAL_TERMS_AND_AGREEMENTS and others."""


class FileSearch(Proto):
    """Looks things up in the account's file stores.

    Source: official SDK types, 2026-11.
    """

    fileSearchStoreNames: list[str] | None = None
    """``fileSearchStores/...``; the vendor requires at least one."""
    topK: Count | None = None
    """How many chunks to fetch."""
    metadataFilter: str | None = None


class WebSearch(Proto):
    """Turns searching of web pages on; has no settings.

    Source: official SDK types, 2026-11.
    """


class ImageSearch(Proto):
    """Turns searching of images on; has no settings.

    Source: official SDK types, 2026-11.
    """


class SearchTypes(Proto):
    """Which kinds of search to run; none means the web's.

    Source: official SDK types, 2026-11.
    """

    webSearch: WebSearch | None = None
    imageSearch: ImageSearch | None = None


class Interval(Proto):
    """A stretch of time, RFC 3339; start and end come together.

    Source: official SDK types, 2026-11.
    """

    endTime: str | None = None
    """Exclusive."""
    startTime: str | None = None
    """Inclusive."""


class WebSearchFilter(Proto):
    """What to leave out of the results of a web search; by itself the search for enterprises.

    Source: official SDK types, 2026-11.
    """

    blockingConfidence: Word | None = None
    """Sites this likely to be phishing are left out: BLOCK_LOW_AND_ABOVE up to BLOCK_ONLY_EXTREMELY_HIGH."""
    excludeDomains: list[str] | None = None


class Search(WebSearchFilter):
    """Searches the web.

    Source: official SDK types, 2026-11. Seen: recorded traffic.
    """

    searchTypes: SearchTypes | None = None
    timeRangeFilter: Interval | None = None


class MapsPlaces(Proto):
    """Turns places on; has no settings.

    Source: official SDK types, 2026-11.
    """


class MapsRouting(Proto):
    """Turns routes on; has no settings.

    Source: official SDK types, 2026-11.
    """


class MapsGroundingTypes(Proto):
    """What to ask the map for; none means places.

    Source: official SDK types, 2026-11.
    """

    places: MapsPlaces | None = None
    routing: MapsRouting | None = None


class Maps(Proto):
    """Asks a map about places and routes.

    Source: official SDK types, 2026-11.
    """

    authConfig: AuthConfig | None = None
    enableWidget: bool | None = None
    """Without effect by now."""
    groundingTypes: MapsGroundingTypes | None = None


class CodeExecution(Proto):
    """Lets the model write code that the server runs; has no settings.

    Source: official SDK types, 2026-11. Seen: recorded traffic.
    """


class DynamicRetrievalConfig(Proto):
    """When the older search tool is to search at all.

    Source: official SDK types, 2026-11.
    """

    dynamicThreshold: Number | None = None
    """0 to 1; a prediction above it means a search."""
    mode: Word | None = None
    """MODE_DYNAMIC."""


class SearchRetrieval(Proto):
    """Searches the web, for models of the first generations.

    Source: official SDK types, 2026-11.
    """

    dynamicRetrievalConfig: DynamicRetrievalConfig | None = None


class PartnerSearch(Proto):
    """Searches with another company's service.

    Source: official SDK types, 2026-11.
    """

    apiKey: str | None = None
    """A secret."""
    customConfigs: dict[str, Any] | None = None
    """Whatever that service's search takes."""


class RetentionSearch(PartnerSearch):
    """Searches with another company's service that can be told to keep nothing.

    Source: official SDK types, 2026-11.
    """

    enableDataRetention: bool | None = None
    """Replaced by the next."""
    enableZeroDataRetention: bool | None = None


class UrlContext(Proto):
    """Reads the pages whose addresses stand in the prompt; has no settings.

    Source: official SDK types, 2026-11. Seen: recorded traffic.
    """


class StreamableHttpTransport(Proto):
    """Where an MCP server answers, and with what patience.

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
    """An MCP server that the model may call by itself.

    Source: official SDK types, 2026-11.
    """

    name: str | None = None
    streamableHttpTransport: StreamableHttpTransport | None = None
