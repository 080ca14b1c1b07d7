"""Wire models of the responses format: requests, responses, errors, model lists and stream events."""

from typing import TYPE_CHECKING

from formatbridge.validation.wire_base import lazy_names

if TYPE_CHECKING:
    from formatbridge.formats.responses.wire.citations import *
    from formatbridge.formats.responses.wire.computer_items import *
    from formatbridge.formats.responses.wire.containers import *
    from formatbridge.formats.responses.wire.content import *
    from formatbridge.formats.responses.wire.counts import *
    from formatbridge.formats.responses.wire.error import *
    from formatbridge.formats.responses.wire.hosted_items import *
    from formatbridge.formats.responses.wire.hosted_tools import *
    from formatbridge.formats.responses.wire.items import *
    from formatbridge.formats.responses.wire.local_items import *
    from formatbridge.formats.responses.wire.models import *
    from formatbridge.formats.responses.wire.request import *
    from formatbridge.formats.responses.wire.response import *
    from formatbridge.formats.responses.wire.settings import *
    from formatbridge.formats.responses.wire.stream import *
    from formatbridge.formats.responses.wire.tools import *
    from formatbridge.formats.responses.wire.usage import *
    from formatbridge.validation.wire_base import Unknown as Unknown
else:
    __getattr__, __dir__, __all__ = lazy_names(
        __name__,
        {
            ".citations": "Annotation ContainerFileCitation FileCitation FilePath Logprob TopLogprob UrlCitation",
            ".computer_items": """
                ClickAction ComputerAction ComputerCall ComputerCallOutput ComputerOutput ComputerScreenshot DoubleClickAction
                DragAction KeypressAction MoveAction Point SafetyCheck ScreenshotAction ScrollAction TypeAction WaitAction
            """,
            ".containers": """
                AutoContainer CodeContainer ContainerReference DomainSecret Environment InlineSkill LocalEnvironment LocalSkill
                NetworkAllowlist NetworkDisabled NetworkPolicy ShellContainer Skill SkillArchive SkillReference
            """,
            ".content": """
                Audio AudioPart CacheBreakpoint FilePart ImagePart InputPart OutputTextPart Part ReasoningPart ReasoningText
                RefusalPart SummaryPart SummaryText TextPart
            """,
            ".counts": "CountRequest CountResponse",
            ".error": "Error ErrorDetail Misalignment Steer",
            ".hosted_items": """
                CodeImage CodeInterpreterCall CodeLogs CodeOutput FileSearchCall FileSearchResult FindAction ImageError
                ImageGenerationCall McpApprovalRequest McpApprovalResponse McpCall McpError McpExecutionError McpHttpError
                McpListTools McpProtocolError McpToolInfo ModerationDetails OpenPageAction SearchAction SearchSource SearchStep
                SvgUsage UrlSource WebSearchCall
            """,
            ".hosted_tools": """
                ApplyPatchTool CodeInterpreterTool ComparisonFilter CompoundFilter ComputerPreviewTool ComputerTool FileFilter
                FileSearchTool HybridSearch ImageGenerationTool ImageMask LocalShellTool McpApprovalFilter McpTool McpToolFilter
                ProgrammaticTool RankingOptions SearchFilters ShellTool SvgAuthor UserLocation WebSearchPreviewTool
                WebSearchTool
            """,
            ".items": """
                AdditionalTools Compaction CompactionTrigger ConfigurationUpdate CustomToolCall CustomToolCallOutput
                FunctionCall FunctionCallOutput Item ItemReference Message OutputItem Program ProgramOutput ReasoningItem
                ToolSearchCall ToolSearchOutput
            """,
            ".local_items": """
                ApplyPatchCall ApplyPatchCallOutput Caller CreateFile DeleteFile DirectCaller ExecAction ExitOutcome
                LocalShellAction LocalShellCall LocalShellCallOutput PatchOperation ProgramCaller ShellAction ShellCall
                ShellCallOutput ShellOutcome ShellOutput TimeoutOutcome UpdateFile
            """,
            ".models": "Model ModelList",
            ".request": "Request",
            ".response": """
                Billing CacheDiagnostics CacheMiss CacheVerdict IncompleteDetails InputTransformation ModerationError
                ModerationOutcome ModerationReport ModerationResult Response Snapshot
            """,
            ".settings": """
                AccessPrograms BackgroundOptions CacheControl CacheOptions ContextManagement Conversation ImageConfig JsonObjectFormat
                JsonSchemaFormat Moderation ModerationMode ModerationPolicy OutputFormat Prompt Reasoning StreamOptions
                TextConfig TextFormat
            """,
            ".stream": """
                AnnotationAdded ArgumentsDelta ArgumentsDone AudioDelta AudioDone CodeDelta CodeDone CommandDelta CommandEvent
                ContentEvent ErrorEvent Event InputDelta InputDone ItemEvent LifecycleEvent OutputItemEvent OutputPart PartEvent
                PartialImage ProgressEvent ReasoningTextDelta ReasoningTextDone RefusalDelta RefusalDone ShellDelta
                ShellOutputDelta ShellOutputDone StreamEvent SummaryEvent SummaryPartEvent SummaryTextDelta SummaryTextDone
                TextDelta TextDone
            """,
            ".tools": """
                AllowedTools CustomChoice CustomFormat CustomTool FunctionChoice FunctionTool Grammar HostedChoice McpChoice
                NamespaceMember NamespaceTool Tool ToolChoice ToolSearchTool
            """,
            ".usage": """
                CacheWriteDetails CachedImageTokenDetails ContextDetails ImageTokenDetails ImageUsage InputTokenDetails
                OutputTokenDetails ToolUsage Usage WebSearchUsage
            """,
            "formatbridge.validation.wire_base": "Unknown",
        },
    )
