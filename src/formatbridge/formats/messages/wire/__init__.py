"""Wire models of the messages format: requests, responses, stream events, errors and model lists."""

from typing import TYPE_CHECKING

from formatbridge.validation.wire_base import lazy_names

if TYPE_CHECKING:
    from formatbridge.formats.messages.wire.cache import *
    from formatbridge.formats.messages.wire.citations import *
    from formatbridge.formats.messages.wire.content import *
    from formatbridge.formats.messages.wire.context_management import *
    from formatbridge.formats.messages.wire.counts import *
    from formatbridge.formats.messages.wire.error import *
    from formatbridge.formats.messages.wire.hosted_content import *
    from formatbridge.formats.messages.wire.hosted_tools import *
    from formatbridge.formats.messages.wire.messages import *
    from formatbridge.formats.messages.wire.models import *
    from formatbridge.formats.messages.wire.request import *
    from formatbridge.formats.messages.wire.response import *
    from formatbridge.formats.messages.wire.stream import *
    from formatbridge.formats.messages.wire.tools import *
    from formatbridge.validation.wire_base import Unknown as Unknown
else:
    __getattr__, __dir__, __all__ = lazy_names(
        __name__,
        {
            ".cache": "CacheControl CacheMiss Diagnostics DiagnosticsOptions",
            ".citations": """
                CharLocation Citation CitationOptions ContentBlockLocation DocumentLocation PageLocation SearchResultLocation
                WebSearchLocation
            """,
            ".content": """
                Base64Source BrowserStateBlock BrowserTab Caller CodeCaller ContentSource DirectCaller DocumentBlock Download
                FileSource ImageBlock ImageTransformations RedactedThinkingBlock ResultBlock SearchResultBlock TabOpened
                TextBlock TextSource ThinkingBlock ToolReferenceBlock ToolResultBlock ToolUseBlock UrlSource
            """,
            ".context_management": """
                Amount ClearThinking ClearToolUses ClearedThinking ClearedToolUses Compact ContextManagement
                ContextManagementOptions
            """,
            ".counts": "CountRequest CountResponse CountedContext",
            ".error": "Error ErrorDetails ErrorObject",
            ".hosted_content": """
                Advice AdvisorResultBlock CodeExecutionResultBlock CodeOutput CodeResult ContainerUploadBlock
                EncryptedCodeResult FileCreation FileReplacement FileView HostedError HostedResultBlock McpToolListingBlock
                McpToolResultBlock McpToolUseBlock RedactedAdvice ServerToolUseBlock TextEditorResultBlock ToolSearchResult
                ToolSearchResultBlock WebFetchResult WebFetchResultBlock WebSearchResult WebSearchResultBlock
            """,
            ".hosted_tools": """
                AdvisorTool BashTool BrowserActions BrowserToolset CodeExecutionTool ComputerActions ComputerTool
                ComputerToolset McpTool McpToolset MemoryTool NamedTool TextEditorTool ToolReference ToolSearchTool ToolSwitch
                UrlRule UrlSources UserLocation WebFetchTool WebSearchTool
            """,
            ".messages": """
                AssistantMessage Block CompactionBlock FallbackBlock FallbackModel McpToolReference McpToolsetReference Message
                RefusalTrigger SystemBlock SystemMessage SystemOutputConfig ToolAdditionBlock ToolDefinition ToolRemovalBlock
                UserMessage
            """,
            ".models": """
                Capabilities Capability CompactionCapability ContextManagementCapability EffortCapability Model ModelList
                ServerToolsCapability ThinkingCapability ThinkingTypes
            """,
            ".request": """
                AdaptiveThinking BetweenToolsThinking BillingPolicy BlockBinding CompactionOptions ContinuedThread
                DisabledThinking EnabledThinking Fallback FallbackCreditToken JsonSchemaFormat McpServer McpToolOptions Metadata
                NewThread OutputConfig OutputFormat Request TaskBudget Thinking
            """,
            ".response": """
                CacheCreation Container CreditNotApplied CreditRedeemed FallbackCredit InputTransformation Iteration
                OutputTokensDetails RefusalDetails Response ServerToolUsage Skill StopDetails TokenCounts Usage
            """,
            ".stream": """
                BlockDelta CitationsDelta CompactionDelta ContentBlockDelta ContentBlockStart ContentBlockStop ErrorEvent
                InputJsonDelta MessageDelta MessageStart MessageStop Ping SignatureDelta StopDelta StreamEvent TextDelta
                ThinkingDelta
            """,
            ".tools": "AnyChoice AutoChoice FunctionTool NamedChoice NoChoice Tool ToolChoice",
            "formatbridge.validation.wire_base": "Unknown",
        },
    )
