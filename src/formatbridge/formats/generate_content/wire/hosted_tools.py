"""Tools that the server runs.

Source, unless a model names another: official SDK types, 2026-11.
"""

from typing import Any

from formatbridge.formats.generate_content.wire._proto import EnumValue, Proto
from formatbridge.formats.generate_content.wire.retrieval import AuthConfig
from formatbridge.validation.wire_base import Count, Number


class ComputerUse(Proto):
    """A computer tool: the server declares functions with which the model controls a computer."""

    environment: EnumValue | None = None
    """ENVIRONMENT_BROWSER, ENVIRONMENT_MOBILE or ENVIRONMENT_DESKTOP."""
    excludedPredefinedFunctions: list[str] | None = None
    enablePromptInjectionDetection: bool | None = None
    disabledSafetyPolicies: list[EnumValue] | None = None
    """FINANCIAL_TRANSACTIONS, ACCOUNT_CREATION, LEGAL_TERMS_AND_AGREEMENTS and others."""


class FileSearch(Proto):
    """A search in the account's file search stores."""

    fileSearchStoreNames: list[str] | None = None
    """``fileSearchStores/...``; the vendor requires at least one."""
    topK: Count | None = None
    """Maximum number of chunks to retrieve."""
    metadataFilter: str | None = None


class WebSearch(Proto):
    """Enables the search of web pages; it has no options."""


class ImageSearch(Proto):
    """Enables the search of images; it has no options."""


class SearchTypes(Proto):
    """The kinds of search to run; with none set, the web search."""

    webSearch: WebSearch | None = None
    imageSearch: ImageSearch | None = None


class Interval(Proto):
    """A time interval, RFC 3339; start and end are set together."""

    endTime: str | None = None
    """Exclusive."""
    startTime: str | None = None
    """Inclusive."""


class WebSearchFilter(Proto):
    """Exclusions from the results of a web search; as a separate tool, the enterprise web search."""

    blockingConfidence: EnumValue | None = None
    """Excludes sites with this or a higher likelihood of phishing: BLOCK_LOW_AND_ABOVE up to BLOCK_ONLY_EXTREMELY_HIGH."""
    excludeDomains: list[str] | None = None


class Search(WebSearchFilter):
    """A web search tool.

    Source: official SDK types, 2026-11. Seen: recorded traffic.
    """

    searchTypes: SearchTypes | None = None
    timeRangeFilter: Interval | None = None


class MapsPlaces(Proto):
    """Enables places; it has no options."""


class MapsRouting(Proto):
    """Enables routes; it has no options."""


class MapsGroundingTypes(Proto):
    """The kinds of map data to use; with none set, places."""

    places: MapsPlaces | None = None
    routing: MapsRouting | None = None


class Maps(Proto):
    """A tool for questions about places and routes on a map."""

    authConfig: AuthConfig | None = None
    enableWidget: bool | None = None
    """No longer has an effect."""
    groundingTypes: MapsGroundingTypes | None = None


class CodeExecution(Proto):
    """Code execution: the model writes code and the server runs it; it has no options.

    Source: official SDK types, 2026-11. Seen: recorded traffic.
    """


class DynamicRetrievalConfig(Proto):
    """The condition under which the older search tool searches."""

    dynamicThreshold: Number | None = None
    """0 to 1; the tool searches if the predicted score is higher."""
    mode: EnumValue | None = None
    """Known: MODE_DYNAMIC."""


class SearchRetrieval(Proto):
    """A web search for models of the first generations."""

    dynamicRetrievalConfig: DynamicRetrievalConfig | None = None


class PartnerSearch(Proto):
    """A search with the service of another company."""

    apiKey: str | None = None
    """A secret."""
    customConfigs: dict[str, Any] | None = None
    """Options of that service's search."""


class RetentionSearch(PartnerSearch):
    """A search with the service of another company, with an option to store no data."""

    enableDataRetention: bool | None = None
    """Replaced by the next field."""
    enableZeroDataRetention: bool | None = None


class UrlContext(Proto):
    """Reads web pages whose URLs are in the prompt; it has no options.

    Source: official SDK types, 2026-11. Seen: recorded traffic.
    """


class StreamableHttpTransport(Proto):
    """The URL of an MCP server, its headers and timeouts."""

    headers: dict[str, str] | None = None
    """May hold secrets."""
    sseReadTimeout: str | None = None
    """Seconds with the suffix s."""
    terminateOnClose: bool | None = None
    timeout: str | None = None
    """Seconds with the suffix s."""
    url: str | None = None


class McpServer(Proto):
    """An MCP server whose tools the model may call."""

    name: str | None = None
    streamableHttpTransport: StreamableHttpTransport | None = None
