"""Wire models of the chat completions format: one class per JSON object, with the vendor's field names."""

from typing import TYPE_CHECKING

from formatbridge.validation.wire_base import lazy_names

if TYPE_CHECKING:
    from formatbridge.formats.chat_completions.wire.content import *
    from formatbridge.formats.chat_completions.wire.error import *
    from formatbridge.formats.chat_completions.wire.message import *
    from formatbridge.formats.chat_completions.wire.models import *
    from formatbridge.formats.chat_completions.wire.request import *
    from formatbridge.formats.chat_completions.wire.response import *
    from formatbridge.formats.chat_completions.wire.stream import *
    from formatbridge.formats.chat_completions.wire.tools import *
    from formatbridge.validation.wire_base import Unknown as Unknown
else:
    __getattr__, __dir__, __all__ = lazy_names(
        __name__,
        {
            ".content": """
                Annotation Audio AudioPart CacheControl Content DocumentUrlPart ExtraContent FileAnnotation FilePart FileSource
                FileUrl FileUrlPart ImagePart ImageUrl InputAudio Part PromptCacheBreakpoint ReasoningDetail ReasoningEncrypted
                ReasoningEntry ReasoningSummary ReasoningText RedactedThinking RefusalPart SignedThinking TextPart ThinkingBlock
                ThinkingPart Thought UrlCitation UrlCitationAnnotation VideoPart VideoUrl
            """,
            ".error": "Error ErrorDetail Misalignment Steer",
            ".message": """
                Answer AssistantMessage DeveloperMessage FunctionMessage Message SystemMessage ToolMessage UserMessage Utterance
            """,
            ".models": "Model ModelList",
            ".request": """
                ApproximateLocation AudioOptions JsonObjectFormat JsonSchema JsonSchemaFormat ModerationOptions ModerationPolicy
                ModerationRule Prediction PromptCacheOptions ReasoningOptions Request ResponseFormat StreamOptions TextFormat
                ThinkingOptions UserLocation VoiceId WebSearchOptions
            """,
            ".response": """
                Choice CompletionTokensDetails Envelope Logprobs Moderation ModerationError ModerationOutcome ModerationResult
                ModerationResults Outcome PromptTokensDetails Response TokenLogprob TopLogprob Usage
            """,
            ".stream": "Chunk ChunkChoice CustomCallDelta Delta FunctionCallDelta StreamEvent ToolCallDelta",
            ".tools": """
                AllowedTools AllowedToolsChoice Custom CustomCall CustomChoice CustomTool CustomToolCall Function FunctionCall
                FunctionChoice FunctionTool FunctionToolCall Grammar GrammarInput SearchLocation SearchParameters SearchTool
                TextInput Tool ToolCall ToolChoice ToolName
            """,
            "formatbridge.validation.wire_base": "Unknown",
        },
    )
