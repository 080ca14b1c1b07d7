"""Wire models of the generate_content format: one class per JSON object, with the vendor's field names."""

from typing import TYPE_CHECKING

from formatbridge.validation.wire_base import lazy_names

if TYPE_CHECKING:
    from formatbridge.formats.generate_content.wire._proto import *
    from formatbridge.formats.generate_content.wire.content import *
    from formatbridge.formats.generate_content.wire.counts import *
    from formatbridge.formats.generate_content.wire.error import *
    from formatbridge.formats.generate_content.wire.generation import *
    from formatbridge.formats.generate_content.wire.grounding import *
    from formatbridge.formats.generate_content.wire.hosted_tools import *
    from formatbridge.formats.generate_content.wire.media import *
    from formatbridge.formats.generate_content.wire.models import *
    from formatbridge.formats.generate_content.wire.request import *
    from formatbridge.formats.generate_content.wire.response import *
    from formatbridge.formats.generate_content.wire.retrieval import *
    from formatbridge.formats.generate_content.wire.schema import *
    from formatbridge.formats.generate_content.wire.speech import *
    from formatbridge.formats.generate_content.wire.stream import *
    from formatbridge.formats.generate_content.wire.tools import *
else:
    __getattr__, __dir__, __all__ = lazy_names(
        __name__,
        {
            "._proto": "Double EnumValue Int64 Proto Repeated",
            ".content": """
                Blob CodeExecutionResult Content ExecutableCode FileData FunctionCall FunctionResponse FunctionResponsePart Part
                PartialArg ToolCall ToolResponse
            """,
            ".counts": "CountRequest CountResponse",
            ".error": "Error ErrorDetail Status",
            ".generation": """
                AudioFormat AutoRouting GenerationConfig ImageConfig ImageFormat ImageOutputOptions ManualRouting
                ModelSelectionConfig Penalty ResponseFormat RoutingConfig TextFormat ThinkingConfig VideoFormat
            """,
            ".grounding": """
                AuthorAttribution Citation CitationMetadata CustomMetadata Date GroundingChunk GroundingMetadata
                GroundingSupport ImageChunk MapsChunk PageSpan PlaceAnswerSources RagChunk RetrievalMetadata RetrievedContext
                ReviewSnippet Route SearchEntryPoint Segment SourceFlaggingUri StringList WebChunk
            """,
            ".hosted_tools": """
                CodeExecution ComputerUse DynamicRetrievalConfig FileSearch ImageSearch Interval Maps MapsGroundingTypes
                MapsPlaces MapsRouting McpServer PartnerSearch RetentionSearch Search SearchRetrieval SearchTypes
                StreamableHttpTransport UrlContext WebSearch WebSearchFilter
            """,
            ".media": """
                AudioMetadata DocumentMetadata MediaResolution SpeechMetadata SpreadsheetMetadata Transcription VideoMetadata
                WordInfo
            """,
            ".models": "Checkpoint DeployedModel Model ModelList",
            ".request": "ModelArmorConfig OutputConfig Request SafetySetting",
            ".response": """
                Candidate LogprobsCandidate LogprobsResult ModalityTokenCount ModelStatus Piece PromptFeedback Response
                SafetyRating TopCandidates UrlContextMetadata UrlMetadata Usage
            """,
            ".retrieval": """
                ApiAuth ApiKeyConfig AuthConfig BasicAuthConfig DataStoreSearch DataStoreSpec ElasticSearchParams ExternalApi
                HybridSearch OauthConfig OidcConfig RagFilter RagRanking RagResource RagRetrievalConfig RagStore Ranker
                Retrieval SecretKey ServiceAccountConfig SimpleSearchParams
            """,
            ".schema": "Schema",
            ".speech": """
                AudioTranscriptionConfig LanguageAuto LanguageHints MultiSpeakerVoiceConfig PrebuiltVoiceConfig
                ReplicatedVoiceConfig SpeakerVoiceConfig SpeechConfig TranslationConfig VoiceConfig VoiceConsentSignature
            """,
            ".stream": "StreamEvent",
            ".tools": "FunctionCallingConfig FunctionDeclaration LatLng RetrievalConfig Tool ToolConfig",
        },
    )
