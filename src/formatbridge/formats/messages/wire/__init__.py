"""Wire models of the messages format: requests, responses, stream events, errors and model lists."""

from typing import TYPE_CHECKING

from formatbridge.validation.wire_base import lazy_names

if TYPE_CHECKING:
    from formatbridge.formats.messages.wire.content import *
    from formatbridge.formats.messages.wire.context_management import *
    from formatbridge.formats.messages.wire.counts import *
    from formatbridge.formats.messages.wire.error import *
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
            ".content": """
                Base64Source BrowserStateBlock BrowserTab CacheControl Caller CharLocation Citation CitationOptions CodeCaller
                ContentBlockLocation ContentSource DirectCaller DocumentBlock DocumentLocation Download FileSource ImageBlock
                ImageTransformations PageLocation RedactedThinkingBlock ResultBlock SearchResultBlock SearchResultLocation
                TabOpened TextBlock TextSource ThinkingBlock ToolReferenceBlock ToolResultBlock ToolUseBlock UrlSource
                WebSearchLocation
            """,
            ".context_management": """
                Amount ClearThinking ClearToolUses ClearedThinking ClearedToolUses Compact ContextManagement
                ContextManagementOptions
            """,
            ".counts": "CountRequest CountResponse CountedContext",
            ".error": "Error ErrorDetails ErrorObject",
            ".messages": """
                Advice AdvisorResultBlock AssistantMessage Block CodeExecutionResultBlock CodeOutput CodeResult CompactionBlock
                ContainerUploadBlock EncryptedCodeResult FallbackBlock FallbackModel FileCreation FileReplacement FileView
                HostedError HostedResultBlock McpToolListingBlock McpToolReference McpToolResultBlock McpToolUseBlock
                McpToolsetReference Message RedactedAdvice RefusalTrigger ServerToolUseBlock SystemBlock SystemMessage
                SystemOutputConfig TextEditorResultBlock ToolAdditionBlock ToolDefinition ToolRemovalBlock ToolSearchResult
                ToolSearchResultBlock UserMessage WebFetchResult WebFetchResultBlock WebSearchResult WebSearchResultBlock
            """,
            ".models": """
                Capabilities Capability CompactionCapability ContextManagementCapability EffortCapability Model ModelList
                ServerToolsCapability ThinkingCapability ThinkingTypes
            """,
            ".request": """
                AdaptiveThinking BetweenToolsThinking BillingPolicy BlockBinding CompactionOptions ContinuedThread
                DiagnosticsOptions DisabledThinking EnabledThinking Fallback FallbackCreditToken JsonSchemaFormat McpServer
                McpToolOptions Metadata NewThread OutputConfig OutputFormat Request TaskBudget Thinking
            """,
            ".response": """
                CacheCreation CacheMiss Container CreditNotApplied CreditRedeemed Diagnostics FallbackCredit InputTransformation
                Iteration OutputTokensDetails RefusalDetails Response ServerToolUsage Skill StopDetails TokenCounts Usage
            """,
            ".stream": """
                BlockDelta CitationsDelta CompactionDelta ContentBlockDelta ContentBlockStart ContentBlockStop ErrorEvent
                InputJsonDelta MessageDelta MessageStart MessageStop Ping SignatureDelta StopDelta StreamEvent TextDelta
                ThinkingDelta
            """,
            ".tools": """
                AdvisorTool AnyChoice AutoChoice BashTool BrowserActions BrowserToolset CodeExecutionTool ComputerActions
                ComputerTool ComputerToolset FunctionTool McpTool McpToolset MemoryTool NamedChoice NamedTool NoChoice
                TextEditorTool Tool ToolChoice ToolReference ToolSearchTool ToolSwitch UrlRule UrlSources UserLocation
                WebFetchTool WebSearchTool
            """,
            "formatbridge.validation.wire_base": "Unknown",
        },
    )
