"""Grounding in the customer's data, and authentication for it. Only the vendor's cloud platform accepts this.

Source, unless a model names another: official SDK types, 2026-11.
"""

from formatbridge.formats.generate_content.wire._proto import EnumValue, Int64, Proto
from formatbridge.validation.wire_base import Count, Number


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
