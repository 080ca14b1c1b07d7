"""Wire models of the responses format: requests, responses, errors, model lists and stream events."""

from typing import TYPE_CHECKING

from formatbridge.validation.wire_base import lazy_names

if TYPE_CHECKING:
    from formatbridge.formats.responses.wire.content import *
    from formatbridge.formats.responses.wire.counts import *
    from formatbridge.formats.responses.wire.error import *
    from formatbridge.formats.responses.wire.items import *
    from formatbridge.formats.responses.wire.local_items import *
    from formatbridge.formats.responses.wire.models import *
    from formatbridge.formats.responses.wire.request import *
    from formatbridge.formats.responses.wire.response import *
    from formatbridge.formats.responses.wire.settings import *
    from formatbridge.formats.responses.wire.stream import *
    from formatbridge.formats.responses.wire.tools import *
    from formatbridge.validation.wire_base import Unknown as Unknown
else:
    __getattr__, __dir__, __all__ = lazy_names(
        __name__,
        {
            ".content": """
                Annotation Audio AudioPart CacheBreakpoint ContainerFileCitation FileCitation FilePart FilePath ImagePart
                InputPart Logprob OutputTextPart Part ReasoningPart ReasoningText RefusalPart SummaryPart SummaryText TextPart
                TopLogprob UrlCitation
            """,
            ".counts": "CountRequest CountResponse",
            ".error": "Error ErrorDetail Misalignment Steer",
            ".items": """
                AdditionalTools CodeImage CodeInterpreterCall CodeLogs CodeOutput Compaction CompactionTrigger
                ConfigurationUpdate CustomToolCall CustomToolCallOutput FileSearchCall FileSearchResult FindAction FunctionCall
                FunctionCallOutput ImageError ImageGenerationCall Item ItemReference McpApprovalRequest McpApprovalResponse
                McpCall McpError McpExecutionError McpHttpError McpListTools McpProtocolError McpToolInfo Message
                ModerationDetails OpenPageAction OutputItem Program ProgramOutput ReasoningItem SearchAction SearchSource
                SearchStep SvgUsage ToolSearchCall ToolSearchOutput UrlSource WebSearchCall
            """,
            ".local_items": """
                ApplyPatchCall ApplyPatchCallOutput Caller ClickAction ComputerAction ComputerCall ComputerCallOutput
                ComputerOutput ComputerScreenshot CreateFile DeleteFile DirectCaller DoubleClickAction DragAction ExecAction
                ExitOutcome KeypressAction LocalShellAction LocalShellCall LocalShellCallOutput MoveAction PatchOperation Point
                ProgramCaller SafetyCheck ScreenshotAction ScrollAction ShellAction ShellCall ShellCallOutput ShellOutcome
                ShellOutput TimeoutOutcome TypeAction UpdateFile WaitAction
            """,
            ".models": "Model ModelList",
            ".request": "Request",
            ".response": """
                Billing CacheDiagnostics CacheMiss CacheVerdict CacheWriteDetails CachedImageTokenDetails ContextDetails
                ImageTokenDetails ImageUsage IncompleteDetails InputTokenDetails InputTransformation ModerationError
                ModerationOutcome ModerationReport ModerationResult OutputTokenDetails Response Snapshot ToolUsage Usage
                WebSearchUsage
            """,
            ".settings": """
                AccessPrograms BackgroundOptions CacheControl CacheOptions ContextManagement Conversation ImageConfig
                JsonObjectFormat JsonSchemaFormat Moderation ModerationMode ModerationPolicy OutputFormat Prompt Reasoning
                StreamOptions TextConfig TextFormat
            """,
            ".stream": """
                AnnotationAdded ArgumentsDelta ArgumentsDone AudioDelta AudioDone CodeDelta CodeDone CommandDelta CommandEvent
                ContentEvent ErrorEvent Event InputDelta InputDone ItemEvent LifecycleEvent OutputItemEvent OutputPart PartEvent
                PartialImage ProgressEvent ReasoningTextDelta ReasoningTextDone RefusalDelta RefusalDone ShellDelta
                ShellOutputDelta ShellOutputDone StreamEvent SummaryEvent SummaryPartEvent SummaryTextDelta SummaryTextDone
                TextDelta TextDone
            """,
            ".tools": """
                AllowedTools ApplyPatchTool AutoContainer CodeContainer CodeInterpreterTool ComparisonFilter CompoundFilter
                ComputerPreviewTool ComputerTool ContainerReference CustomChoice CustomFormat CustomTool DomainSecret
                Environment FileFilter FileSearchTool FunctionChoice FunctionTool Grammar HostedChoice HybridSearch
                ImageGenerationTool ImageMask InlineSkill LocalEnvironment LocalShellTool LocalSkill McpApprovalFilter McpChoice
                McpTool McpToolFilter NamespaceMember NamespaceTool NetworkAllowlist NetworkDisabled NetworkPolicy
                ProgrammaticTool RankingOptions SearchFilters ShellContainer ShellTool Skill SkillArchive SkillReference
                SvgAuthor Tool ToolChoice ToolSearchTool UserLocation WebSearchPreviewTool WebSearchTool
            """,
            "formatbridge.validation.wire_base": "Unknown",
        },
    )
