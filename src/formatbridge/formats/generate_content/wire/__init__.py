"""Wire models of the generate_content format: one class per JSON object, with the vendor's field names."""

from typing import TYPE_CHECKING

from formatbridge.validation.wire_base import lazy_names

if TYPE_CHECKING:
    from formatbridge.formats.generate_content.wire._proto import *
    from formatbridge.formats.generate_content.wire.content import *
    from formatbridge.formats.generate_content.wire.counts import *
    from formatbridge.formats.generate_content.wire.error import *
    from formatbridge.formats.generate_content.wire.grounding import *
    from formatbridge.formats.generate_content.wire.models import *
    from formatbridge.formats.generate_content.wire.request import *
    from formatbridge.formats.generate_content.wire.response import *
    from formatbridge.formats.generate_content.wire.stream import *
    from formatbridge.formats.generate_content.wire.tools import *
else:
    __getattr__, __dir__, __all__ = lazy_names(
        __name__,
        {
            "._proto": "Double EnumValue Int64 Proto Repeated",
            ".content": """
                AudioMetadata Blob CodeExecutionResult Content DocumentMetadata ExecutableCode FileData FunctionCall
                FunctionResponse FunctionResponsePart MediaResolution Part PartialArg SpeechMetadata SpreadsheetMetadata
                ToolCall ToolResponse Transcription VideoMetadata WordInfo
            """,
            ".counts": "CountRequest CountResponse",
            ".error": "Error ErrorDetail Status",
            ".grounding": """
                AuthorAttribution Citation CitationMetadata CustomMetadata Date GroundingChunk GroundingMetadata
                GroundingSupport ImageChunk MapsChunk PageSpan PlaceAnswerSources RagChunk RetrievalMetadata RetrievedContext
                ReviewSnippet Route SearchEntryPoint Segment SourceFlaggingUri StringList WebChunk
            """,
            ".models": "Checkpoint DeployedModel Model ModelList",
            ".request": """
                AudioFormat AudioTranscriptionConfig AutoRouting GenerationConfig ImageConfig ImageFormat ImageOutputOptions
                LanguageAuto LanguageHints ManualRouting ModelArmorConfig ModelSelectionConfig MultiSpeakerVoiceConfig
                OutputConfig Penalty PrebuiltVoiceConfig ReplicatedVoiceConfig Request ResponseFormat RoutingConfig
                SafetySetting SpeakerVoiceConfig SpeechConfig TextFormat ThinkingConfig TranslationConfig VideoFormat
                VoiceConfig VoiceConsentSignature
            """,
            ".response": """
                Candidate LogprobsCandidate LogprobsResult ModalityTokenCount ModelStatus Piece PromptFeedback Response
                SafetyRating TopCandidates UrlContextMetadata UrlMetadata Usage
            """,
            ".stream": "StreamEvent",
            ".tools": """
                ApiAuth ApiKeyConfig AuthConfig BasicAuthConfig CodeExecution ComputerUse DataStoreSearch DataStoreSpec
                DynamicRetrievalConfig ElasticSearchParams ExternalApi FileSearch FunctionCallingConfig FunctionDeclaration
                HybridSearch ImageSearch Interval LatLng Maps MapsGroundingTypes MapsPlaces MapsRouting McpServer OauthConfig
                OidcConfig PartnerSearch RagFilter RagRanking RagResource RagRetrievalConfig RagStore Ranker RetentionSearch
                Retrieval RetrievalConfig Schema Search SearchRetrieval SearchTypes SecretKey ServiceAccountConfig
                SimpleSearchParams StreamableHttpTransport Tool ToolConfig UrlContext WebSearch WebSearchFilter
            """,
        },
    )
