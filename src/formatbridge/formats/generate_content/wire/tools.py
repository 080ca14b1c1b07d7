"""Tools of a request: function declarations and their schemas, server tools, and the tool configuration.

The schemas are the vendor's subset of OpenAPI 3. Only the vendor's cloud platform accepts grounding in the customer's data.
Source, unless a model names another: official SDK types, 2026-11.
"""

from typing import Any

from formatbridge.formats.generate_content.wire._proto import EnumValue, Int64, Proto, Repeated
from formatbridge.validation.wire_base import Count, Number


class Schema(Proto):
    """The schema of a value; keys of JSON Schema that are unknown here, such as ``$ref``, are kept unchanged.

    The vendor rejects ``oneOf``, ``allOf``, ``not``, ``const`` and ``$ref``; ``parametersJsonSchema`` accepts some of them.
    Source: official SDK types, 2026-11. Seen: recorded traffic, types in either case.
    """

    additionalProperties: "bool | Schema | None" = None
    defs: "dict[str, Schema] | None" = None
    """At the root only."""
    ref: str | None = None
    """A reference to a child of ``defs``."""
    anyOf: "list[Schema] | None" = None
    default: Any = None
    description: str | None = None
    enum: list[Any] | None = None
    """Strings on the vendor's servers; numbers and null occur where clients send a JSON Schema."""
    example: Any = None
    format: str | None = None
    """float, double, int32, int64, enum, date-time and others."""
    items: "Schema | None" = None
    maxItems: Int64 | None = None
    maxLength: Int64 | None = None
    maxProperties: Int64 | None = None
    maximum: Number | None = None
    minItems: Int64 | None = None
    minLength: Int64 | None = None
    minProperties: Int64 | None = None
    minimum: Number | None = None
    nullable: bool | None = None
    pattern: str | None = None
    properties: "dict[str, Schema] | None" = None
    propertyOrdering: list[str] | None = None
    required: list[str] | None = None
    title: str | None = None
    type: EnumValue | list[str] | None = None
    """STRING, NUMBER, INTEGER, BOOLEAN, ARRAY, OBJECT or NULL, in any case. A list, as in JSON Schema, is rejected
    by the server."""


class SecretKey(Proto):
    """An API key, or the name of the secret that holds it."""

    apiKeySecretVersion: str | None = None
    apiKeyString: str | None = None
    """A secret."""


class ApiAuth(Proto):
    """Authentication for an external API, the older form."""

    apiKeyConfig: SecretKey | None = None


class ApiKeyConfig(Proto):
    """An API key and its location in the HTTP request."""

    apiKeySecret: str | None = None
    """The name of the secret that holds the key."""
    apiKeyString: str | None = None
    """A secret."""
    httpElementLocation: EnumValue | None = None
    """HTTP_IN_QUERY, HTTP_IN_HEADER, HTTP_IN_PATH, HTTP_IN_BODY or HTTP_IN_COOKIE."""
    name: str | None = None


class ServiceAccountConfig(Proto):
    """The service account to use."""

    serviceAccount: str | None = None


class BasicAuthConfig(Proto):
    """The name of the secret that contains user and password."""

    credentialSecret: str | None = None


class OauthConfig(Proto):
    """An OAuth token, or the account that obtains one."""

    accessToken: str | None = None
    """A secret."""
    serviceAccount: str | None = None


class OidcConfig(Proto):
    """An OpenID Connect token, or the account that obtains one."""

    idToken: str | None = None
    """A secret."""
    serviceAccount: str | None = None


class AuthConfig(Proto):
    """Authentication for an external API."""

    apiKey: str | None = None
    """A secret."""
    apiKeyConfig: ApiKeyConfig | None = None
    authType: EnumValue | None = None
    """NO_AUTH, API_KEY_AUTH, HTTP_BASIC_AUTH, GOOGLE_SERVICE_ACCOUNT_AUTH, OAUTH or OIDC_AUTH."""
    googleServiceAccountConfig: ServiceAccountConfig | None = None
    httpBasicAuthConfig: BasicAuthConfig | None = None
    oauthConfig: OauthConfig | None = None
    oidcConfig: OidcConfig | None = None


class ElasticSearchParams(Proto):
    """A query of an Elasticsearch server."""

    index: str | None = None
    numHits: Count | None = None
    searchTemplate: str | None = None


class SimpleSearchParams(Proto):
    """Selects the simple search protocol of the external API; it has no options."""


class ExternalApi(Proto):
    """A search API of the customer."""

    apiAuth: ApiAuth | None = None
    """Replaced by ``authConfig``."""
    apiSpec: EnumValue | None = None
    """SIMPLE_SEARCH or ELASTIC_SEARCH."""
    authConfig: AuthConfig | None = None
    elasticSearchParams: ElasticSearchParams | None = None
    endpoint: str | None = None
    simpleSearchParams: SimpleSearchParams | None = None


class DataStoreSpec(Proto):
    """A data store of a search engine, and a filter on it."""

    dataStore: str | None = None
    filter: str | None = None


class DataStoreSearch(Proto):
    """A search in the customer's data stores: either ``datastore`` or ``engine`` is set."""

    dataStoreSpecs: list[DataStoreSpec] | None = None
    datastore: str | None = None
    engine: str | None = None
    filter: str | None = None
    maxResults: Count | None = None
    """At most 10, which is the default."""


class RagResource(Proto):
    """A RAG corpus, or files of it."""

    ragCorpus: str | None = None
    ragFileIds: list[str] | None = None


class RagFilter(Proto):
    """A filter of retrieved contexts."""

    metadataFilter: str | None = None
    vectorDistanceThreshold: Number | None = None
    """Only contexts with a smaller vector distance."""
    vectorSimilarityThreshold: Number | None = None
    """Only contexts with a higher vector similarity."""


class HybridSearch(Proto):
    """The ratio of dense and ``sparse`` vectors."""

    alpha: Number | None = None
    """1: only dense vectors; 0: only ``sparse`` ones."""


class Ranker(Proto):
    """A model or service that ranks the contexts."""

    modelName: str | None = None


class RagRanking(Proto):
    """The ranking of contexts: one field is set."""

    llmRanker: Ranker | None = None
    rankService: Ranker | None = None


class RagRetrievalConfig(Proto):
    """The retrieval options of a corpus."""

    filter: RagFilter | None = None
    hybridSearch: HybridSearch | None = None
    ranking: RagRanking | None = None
    topK: Count | None = None
    """Maximum number of contexts to retrieve."""


class RagStore(Proto):
    """A search in the customer's corpora."""

    ragCorpora: list[str] | None = None
    """Replaced by ``ragResources``."""
    ragResources: list[RagResource] | None = None
    ragRetrievalConfig: RagRetrievalConfig | None = None
    similarityTopK: Int64 | None = None
    storeContext: bool | None = None
    vectorDistanceThreshold: Number | None = None


class Retrieval(Proto):
    """A search in the customer's data, of one of three kinds."""

    disableAttribution: bool | None = None
    """No longer has an effect."""
    externalApi: ExternalApi | None = None
    vertexAiSearch: DataStoreSearch | None = None
    vertexRagStore: RagStore | None = None


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


class FunctionDeclaration(Proto):
    """A function that the client runs.

    Either ``parameters`` or ``parametersJsonSchema`` is set, and either ``response`` or ``responseJsonSchema``.
    """

    description: str | None = None
    name: str
    """A letter or underscore, then letters, digits and ``_.:-``; up to 128 characters."""
    parameters: Schema | None = None
    """None: the function takes no arguments."""
    parametersJsonSchema: dict[str, Any] | bool | None = None
    response: Schema | None = None
    responseJsonSchema: dict[str, Any] | bool | None = None
    behavior: EnumValue | None = None
    """BLOCKING or NON_BLOCKING; for live sessions."""


class Tool(Proto):
    """A list of functions or a server tool; several fields may be set in one object."""

    retrieval: Retrieval | None = None
    computerUse: ComputerUse | None = None
    fileSearch: FileSearch | None = None
    googleSearch: Search | None = None
    googleMaps: Maps | None = None
    codeExecution: CodeExecution | None = None
    enterpriseWebSearch: WebSearchFilter | None = None
    functionDeclarations: Repeated[FunctionDeclaration] | None = None
    googleSearchRetrieval: SearchRetrieval | None = None
    parallelAiSearch: RetentionSearch | None = None
    urlContext: UrlContext | None = None
    mcpServers: Repeated[McpServer] | None = None
    exaAiSearch: PartnerSearch | None = None


class FunctionCallingConfig(Proto):
    """Whether the model must call functions, and which ones.

    Source: official SDK types, 2026-11. Seen: recorded traffic, modes in either case.
    """

    allowedFunctionNames: list[str] | None = None
    """For ANY and VALIDATED; None or []: all functions."""
    mode: EnumValue | None = None
    """AUTO (the default), ANY (the model must call a function), NONE, or VALIDATED (arguments follow their schema)."""
    streamFunctionCallArguments: bool | None = None
    """True: arguments may be sent in pieces, as ``partialArgs``."""


class LatLng(Proto):
    """A geographic position, in degrees."""

    latitude: Number | None = None
    """-90 to 90."""
    longitude: Number | None = None
    """-180 to 180."""


class RetrievalConfig(Proto):
    """The user's location and language, for searches."""

    latLng: LatLng | None = None
    languageCode: str | None = None


class ToolConfig(Proto):
    """The configuration of the tools."""

    retrievalConfig: RetrievalConfig | None = None
    functionCallingConfig: FunctionCallingConfig | None = None
    includeServerSideToolInvocations: bool | None = None
    """True: the response contains ``toolCall`` and ``toolResponse`` parts."""
