"""Where generate_content keeps canonical fields, and what it means to lose the fields of its own."""

from __future__ import annotations

from formatbridge.formats._error_shapes import ERROR_OWN, ERROR_PLACES
from formatbridge.formats.generate_content.settings import SETTINGS
from formatbridge.losses import ITSELF, Own, Spelling

_CONFIG = "generationConfig"
_DIAGNOSTIC = Own("info", "diagnostic")
_ACCOUNTING = Own("info", "accounting")
_OUTCOME = Own(code="nearest_value", kind="changed", after="whether it failed")
_OFF = Own(neutral=(False,))
_STATE = Own("impossible", "not_portable")

_PARTS = ("Text", "Reasoning", "Media", "ToolCall", "ToolResult", "Hosted", "Opaque")

PLACES: dict[str, tuple[str, ...]] = {
    **{f"Request.{name}": (f"{_CONFIG}/{wire}",) for name, wire in SETTINGS.wire.items()},
    "Request.modalities": (f"{_CONFIG}/responseModalities",),
    "Request.messages": ("contents",),
    "Request.metadata": ("labels",),
    "Request.tier": ("serviceTier",),
    "Message.role": ("role",),
    "ReasoningConfig.effort": ("thinkingLevel",),
    "ReasoningConfig.budget": ("thinkingBudget",),
    "ReasoningConfig.mode": ("thinkingBudget",),
    "ReasoningConfig.show": ("includeThoughts",),
    "OutputFormat.schema": ("schema", ""),
    "OutputFormat.type": ("mimeType", ""),
    "AudioOutput.voice": ("voiceConfig/prebuiltVoiceConfig/voiceName", "voiceConfig/voice"),
    "AudioOutput.language": ("languageCode",),
    "ImageOutput.aspect_ratio": ("aspectRatio",),
    "ImageOutput.size": ("imageSize",),
    "ToolChoice.names": ("allowedFunctionNames",),
    "FunctionTool.parameters": ("parametersJsonSchema", "parameters"),
    "FunctionTool.output_schema": ("responseJsonSchema", "response"),
    "HostedTool.blocked_domains": ("excludeDomains",),
    "McpServer.label": ("name",),
    "McpServer.url": ("streamableHttpTransport/url",),
    "McpServer.token": ("streamableHttpTransport/headers/Authorization", "streamableHttpTransport/headers/authorization"),
    "McpServer.headers": ("streamableHttpTransport/headers",),
    "Media.data": ("inlineData/data",),
    "Media.mime": ("inlineData/mimeType", "fileData/mimeType"),
    "Media.url": ("fileData/fileUri",),
    "Media.file_id": ("fileData/fileUri",),
    "Media.filename": ("inlineData/displayName", "fileData/displayName"),
    "Media.detail": ("mediaResolution/level",),
    "Media.transcript": ("audioTranscription/text",),
    "ToolCall.id": ("functionCall/id",),
    "ToolCall.name": ("functionCall/name",),
    "ToolCall.arguments": ("functionCall/args",),
    "ToolResult.call_id": ("functionResponse/id",),
    "ToolResult.name": ("functionResponse/name",),
    "ToolResult.content": ("functionResponse/response",),
    "ToolResult.is_error": ("functionResponse/response/error",),
    "Hosted.id": ("executableCode/id", "codeExecutionResult/id"),
    "Hosted.arguments": ("executableCode/code",),
    "Hosted.output": ("codeExecutionResult/output",),
    "Hosted.error": ("codeExecutionResult/output",),
    "Hosted.status": ("codeExecutionResult/outcome",),
    "Response.id": ("responseId",),
    "Response.model": ("modelVersion",),
    "Response.created": ("createTime",),
    "Choice.logprobs": ("logprobsResult",),
    "Finish.reason": ("finishReason",),
    "Finish.raw": ("finishReason",),
    "Finish.message": ("finishMessage",),
    "Finish.reason@/promptFeedback": ("blockReason",),
    "Finish.raw@/promptFeedback": ("blockReason",),
    "Finish.message@/promptFeedback": ("blockReasonMessage",),
    "TokenLogprob.logprob": ("logProbability",),
    "Citation.url": ("uri", "web/uri", "maps/uri", "retrievedContext/uri", "image/sourceUri"),
    "Citation.title": ("title", "web/title", "maps/title", "retrievedContext/title", "image/title"),
    "Citation.cited_text": ("retrievedContext/text",),
    "Citation.start": ("startIndex", "@/segment/startIndex", "@/segment"),
    "Citation.end": ("endIndex", "@/segment/endIndex", "@/segment"),
    "Usage.input": ("promptTokenCount",),
    "Usage.output": ("candidatesTokenCount",),
    "Usage.total": ("totalTokenCount",),
    "Usage.cache_read": ("cachedContentTokenCount",),
    "Usage.reasoning": ("thoughtsTokenCount",),
    "Usage.tool_prompt": ("toolUsePromptTokenCount",),
    "Usage.input_modality": ("promptTokensDetails",),
    "Usage.output_modality": ("candidatesTokensDetails",),
    "Usage.cached_modality": ("cacheTokensDetails",),
    **ERROR_PLACES,
    "Model.id": ("name",),
    "Model.display_name": ("displayName",),
    "Model.input_limit": ("inputTokenLimit",),
    "Model.output_limit": ("outputTokenLimit",),
    "Model.methods": ("supportedGenerationMethods",),
    "Model.created": ("createTime",),
    "ModelList.next_page": ("nextPageToken",),
    "ModelList.more": ("nextPageToken",),
}

OWN: dict[str, Own] = {
    **{f"{part}.partMetadata": Own("info") for part in _PARTS},
    **{f"{part}.thought": Own("info", neutral=(False,)) for part in _PARTS},
    **{
        f"Media.{pointer}": Own()
        for pointer in ("audioMetadata", "documentMetadata", "spreadsheetMetadata")
    },
    "Media.mediaProcessing": Own(neutral=("MEDIA_PROCESSING_UNSPECIFIED", 0)),
    "Media.videoMetadata": Own(neutral=({"fps": 1.0},)),
    "Media.fileData/mimeType": Own("info", "weaker_carrier", kind="changed", after="what the address tells"),
    "Text.speechMetadata": Own(),
    "Media.mediaResolution/numTokens": Own(),
    "ToolCall.functionCall/willContinue": Own(neutral=(False,)),
    f"ToolResult.{ITSELF}": Own("impossible", "orphan", kind="changed"),
    "ToolResult.functionResponse/name": Own("info"),
    "ToolResult.functionResponse/scheduling": Own(neutral=("WHEN_IDLE", "when_idle", 2, "SCHEDULING_UNSPECIFIED", 0)),
    "ToolResult.functionResponse/willContinue": _OFF,
    "Hosted.executableCode/language": Own("info", neutral=("PYTHON", "python", 1)),
    "FunctionTool.parameters/nullable": Own("info"),
    "FunctionTool.parameters/type": Own("info", kind="changed", after="object"),
    "FunctionTool.behavior": Own(neutral=("BLOCKING", "blocking", 1, "UNSPECIFIED", 0)),
    "FunctionTool.parameters": Own("lossy", "too_many", kind="changed"),
    "FunctionTool.response": Own("lossy", "too_many", kind="changed"),
    "FunctionTool.parametersJsonSchema": Own(neutral=(True,)),
    "FunctionTool.responseJsonSchema": Own(neutral=(True,)),
    f"HostedTool.{ITSELF}": Own("lossy", "nearest_value", kind="changed"),
    "HostedTool.blockingConfidence": Own(neutral=("PHISH_BLOCK_THRESHOLD_UNSPECIFIED", 0)),
    "HostedTool.dynamicRetrievalConfig": Own(),
    "HostedTool.timeRangeFilter": Own(),
    "HostedTool.searchTypes": Own(neutral=({"webSearch": {}},)),
    "McpServer.streamableHttpTransport/terminateOnClose": Own("info"),
    "McpServer.streamableHttpTransport/timeout": Own("info"),
    "McpServer.streamableHttpTransport/sseReadTimeout": Own("info"),
    "ToolChoice.allowedFunctionNames": Own(),
    "ToolChoice.streamFunctionCallArguments": Own("info", neutral=(False,)),
    "ImageOutput.imageOutputOptions": Own(),
    "Request.toolConfig/includeServerSideToolInvocations": _OFF,
    "Request.toolConfig/retrievalConfig": Own(),
    "Request.safetySettings": Own(),
    "Request.cachedContent": _STATE,
    "Request.continuationToken": _STATE,
    "Request.modelArmorConfig": Own(),
    "Request.outputConfig": Own(),
    "Request.store": Own("info", neutral=(False,)),
    "Request.serviceTier": Own(),
    f"Request.{_CONFIG}/responseMimeType": Own(),
    f"Request.{_CONFIG}/responseSchema": Own(),
    f"Request.{_CONFIG}/responseJsonSchema": Own(neutral=(True,)),
    f"Request.{_CONFIG}/mediaResolution": Own(neutral=("MEDIA_RESOLUTION_UNSPECIFIED", 0)),
    f"Request.{_CONFIG}/modelConfig": Own(),
    f"Request.{_CONFIG}/routingConfig": Own(),
    f"Request.{_CONFIG}/translationConfig": Own(),
    f"Request.{_CONFIG}/audioTranscriptionConfig": Own(),
    f"Request.{_CONFIG}/audioTimestamp": _OFF,
    f"Request.{_CONFIG}/enableAffectiveDialog": _OFF,
    f"Request.{_CONFIG}/enableEnhancedCivicAnswers": _OFF,
    "Response.modelStatus": _DIAGNOSTIC,
    "Response.createTime": _DIAGNOSTIC,
    "Response.promptFeedback/safetyRatings": _DIAGNOSTIC,
    "Choice.content/parts/*": Own(code="unfinished"),
    "Choice.safetyRatings": _DIAGNOSTIC,
    "Choice.tokenCount": _ACCOUNTING,
    "Choice.avgLogprobs": _DIAGNOSTIC,
    "Choice.urlContextMetadata": _DIAGNOSTIC,
    "Choice.continuationToken": Own("lossy", "not_portable"),
    "Choice.logprobsResult/logProbabilitySum": _DIAGNOSTIC,
    "TokenLogprob.tokenId": _DIAGNOSTIC,
    "TokenLogprob.logProbability": Own("info", "nearest_value", kind="changed"),
    "Choice.groundingMetadata": Own("info"),
    "Choice.citationMetadata": Own("info"),
    "Choice.groundingMetadata/groundingSupports/*": Own("info"),
    "Choice.groundingMetadata/groundingSupports/*/confidenceScores": _DIAGNOSTIC,
    "Hosted.codeExecutionResult/outcome": _OUTCOME,
    "Choice.groundingMetadata/groundingSupports/*/renderedParts": _DIAGNOSTIC,
    "Choice.groundingMetadata/groundingSupports/*/segment/partIndex": _DIAGNOSTIC,
    "Choice.groundingMetadata/groundingSupports/*/segment/text": _DIAGNOSTIC,
    "Choice.groundingMetadata/groundingSupports/*/groundingChunkIndices/*": _DIAGNOSTIC,
    **{
        f"Choice.groundingMetadata/{pointer}": _DIAGNOSTIC
        for pointer in (
            "searchEntryPoint", "webSearchQueries", "imageSearchQueries", "retrievalQueries", "retrievalMetadata",
            "googleMapsWidgetContextToken", "sourceFlaggingUris",
        )
    },
    **{
        f"Citation.{pointer}": Own("info")
        for pointer in (
            "license", "publicationDate", "web/domain", "image/domain", "image/imageUri", "maps/placeId", "maps/text", "maps/route",
            "maps/placeAnswerSources", "retrievedContext/documentName", "retrievedContext/ragChunk", "retrievedContext/customMetadata",
            "retrievedContext/fileSearchStore", "retrievedContext/pageNumber", "retrievedContext/mediaId",
        )
    },
    "Usage.trafficType": _DIAGNOSTIC,
    "Usage.serviceTier": _DIAGNOSTIC,
    "Usage.toolUsePromptTokensDetails": _ACCOUNTING,
    "Usage.promptTokensDetails/*": _ACCOUNTING,
    "Usage.promptTokensDetails/*/modality": _ACCOUNTING,
    "Usage.candidatesTokensDetails/*": _ACCOUNTING,
    "Usage.candidatesTokensDetails/*/modality": _ACCOUNTING,
    "Usage.cacheTokensDetails/*": _ACCOUNTING,
    **ERROR_OWN,
    **{
        f"Model.{pointer}": _DIAGNOSTIC
        for pointer in (
            "baseModelId", "versionId", "temperature", "maxTemperature", "topP", "topK", "thinking", "deployedModels", "labels",
            "defaultCheckpointId", "checkpoints", "createTime", "updateTime",
        )
    },
}  # fmt: skip

SHARED = frozenset({"ToolResult.is_error"})
"""That a result is an error is said by the key of its text, which stays."""

KEYWORDS = {"$defs": "defs", "$ref": "ref", "examples": "example", "modelConfig": "modelSelectionConfig"}
"""Words of JSON Schema to those of the vendor's dialect, and one of the wire's to that of its official SDK."""

SPELLING = Spelling(places=PLACES, own=OWN, shared=SHARED, snake_case=True, keywords=KEYWORDS)
