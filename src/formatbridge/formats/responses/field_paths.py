"""Where responses keeps canonical fields, and how grave it is to lose the fields of its own."""

from __future__ import annotations

from formatbridge.formats.responses.settings import LOGPROBS, SETTINGS
from formatbridge.formats.responses.usage import ALIASES
from formatbridge.formats.shared.errors import ERROR_OWN, ERROR_PLACES
from formatbridge.formats.shared.model_lists import INPUT_LIMITS, OUTPUT_LIMITS
from formatbridge.report.ledger import ITSELF, Own, Spelling

_ECHO = Own("info", "echo")
_DIAGNOSTIC = Own("info", "diagnostic")
_COUNTED = Own("info", "accounting", neutral=(0, 0.0))
_STATE = Own("impossible", "not_portable")
_STORED = Own("impossible", "stored_state")
"""What the server keeps of earlier answers: only it can look that up."""
_LATE = Own("impossible", "position_lost")
"""What the last event adds to a call that has left."""
_STATUS = Own("info", "diagnostic", neutral=("completed",))
_CALLER = Own(neutral=({"type": "direct"},))
_CALLERS = Own(neutral=(["direct"],))

_TEXT_DEFAULTS = ({"format": {"type": "text"}}, {"verbosity": "medium"}, {"format": {"type": "text"}, "verbosity": "medium"})
_DETAILS = ("input_tokens_details", "prompt_tokens_details")

SPELLING = Spelling(
    content=frozenset({"output", "status", "incomplete_details"}),
    places={
        **{f"Request.{name}": (wire,) for name, wire in SETTINGS.wire.items()},
        "Request.messages": ("input",),
        **{f"{kind}.place": ("^",) for kind in ("CustomTool", "FunctionTool", "HostedTool", "McpServer", "Namespace")},
        "Request.max_tokens": ("max_output_tokens", "prompt_cache_options/prewarm"),
        "Request.tier": ("service_tier",),
        "Request.verbosity": ("text/verbosity",),
        "Request.logprobs": (f"include/{LOGPROBS}",),
        "Request.compact_at": ("context_management/0/compact_threshold", "context_management/0"),
        "ReasoningConfig.show": ("summary", "generate_summary"),
        "Message.effort": ("reasoning/effort",),
        "FunctionTool.callers": ("allowed_callers",),
        "CustomTool.callers": ("allowed_callers",),
        "CustomTool.definition": ("format/definition",),
        "CustomTool.syntax": ("format/syntax",),
        "HostedTool.allowed_domains": ("filters/allowed_domains",),
        "HostedTool.context_size": ("search_context_size",),
        "ToolChoice.inner": ("mode",),
        "McpServer.label": ("server_label",),
        "McpServer.url": ("server_url",),
        "McpServer.token": ("authorization",),
        "McpServer.allowed": ("allowed_tools/tool_names", "allowed_tools"),
        "McpServer.approval": ("require_approval",),
        "McpServer.description": ("server_description",),
        "ToolCall.id": ("call_id",),
        "ToolCall.item_id": ("id",),
        "ToolCall.arguments": ("arguments", "input"),
        "ToolResult.content": ("output",),
        "Text.citations": ("annotations",),
        "Text.id": ("^^id", "^id"),
        "Refusal.id": ("^^id",),
        "Citation.title": ("title", "filename"),
        "Citation.start": ("start_index", "index"),
        "Citation.end": ("end_index",),
        "Reasoning.text": ("content", "summary"),
        "Refusal.text": ("refusal",),
        "Media.url": ("image_url", "file_url", "file_data"),
        "Media.data": ("image_url", "file_data", "input_audio/data", "result"),
        "Media.mime": ("image_url", "file_data", "input_audio/format", "output_format"),
        "Hosted.server": ("server_label",),
        "Hosted.arguments": ("arguments", "code", "action/query", "action/url", "action/queries"),
        "Hosted.output": ("output", "outputs"),
        "TokenLogprob.top": ("top_logprobs",),
        "Finish.reason": ("incomplete_details/reason", "status"),
        "Finish.raw": ("incomplete_details/reason", "status"),
        "Response.created": ("created_at",),
        "Usage.input": ("input_tokens", "prompt_tokens"),
        "Usage.output": ("output_tokens", "completion_tokens"),
        "Usage.total": ("total_tokens",),
        "Usage.cache_read": tuple(f"{at}/cached_tokens" for at in _DETAILS),
        "Usage.cache_write": tuple(f"{at}/{name}" for name in ("cache_write_tokens", "cache_write_tokens_details") for at in _DETAILS),
        "Usage.cache_write_ttl": tuple(f"{at}/cache_write_tokens_details" for at in _DETAILS),
        "Usage.reasoning": ("output_tokens_details/reasoning_tokens", "completion_tokens_details/reasoning_tokens"),
        "Usage.input_modality": _DETAILS,
        "Usage.output_modality": ("output_tokens_details", "completion_tokens_details"),
        **{f"Usage.input_modality.{word}": tuple(f"{at}/{word}_tokens" for at in _DETAILS) for word in ("text", "audio", "image")},
        **{
            f"Usage.output_modality.{word}": (
                f"output_tokens_details/{word}_tokens",
                f"completion_tokens_details/{word}_tokens",
            )
            for word in ("text", "audio", "image")
        },
        **ERROR_PLACES,
        "Error.code": (*ERROR_PLACES["Error.code"], "code"),
        "Error.type": (*ERROR_PLACES["Error.type"], "type"),
        "Error.param": (*ERROR_PLACES["Error.param"], "param"),
        "Model.display_name": ("name",),
        "Model.owner": ("owned_by",),
        "Model.input_limit": INPUT_LIMITS,
        "Model.output_limit": OUTPUT_LIMITS,
        "Model.retires": ("shutdown_date",),
    },
    own={
        # Requests.
        "Request.access_programs": Own(),
        "Request.client_metadata": Own("info"),
        "Request.background": Own(neutral=(False,)),
        "Request.background_options": Own(neutral=({"completion_window": "soonest"},)),
        "Request.context_management/*": Own(),
        "Request.conversation": _STORED,
        "Request.image": Own(neutral=({"context_compression": "auto"},)),
        "Request.include/*": Own(),
        "Request.max_tool_calls": Own(),
        "Request.previous_response_id": _STORED,
        "Request.prompt": _STATE,
        "Request.provider": Own(),
        "Request.truncation": Own(neutral=("disabled",)),
        "ReasoningConfig.context": Own(neutral=("auto",)),
        "ReasoningConfig.mode": Own(neutral=("standard",)),
        "OutputFormat.name": Own("info"),
        "OutputFormat.strict": Own("info"),
        # Items.
        "CacheMark.mode": Own("info", neutral=("explicit",)),
        "Message.id": Own("info", "diagnostic"),
        "Message.phase": Own(),
        "Message.status": _STATUS,
        "Message.text": Own("impossible"),
        "Message./input/*/phase": Own(),
        "Message./input/*/status": _STATUS,
        "Finish.status": Own("info", "finish_reason", neutral=("incomplete",)),
        "Choice./output/*": Own(code="unfinished"),
        "Choice./output/*/arguments": _LATE,
        "Choice./output/*/input": _LATE,
        "Choice./output/*/content": Own(),
        "Choice./output/*/phase": Own("info"),
        "Choice./output/*/status": _STATUS,
        "Text.logprobs": Own("info"),
        "Text.parsed": Own("info", "unknown_field", restates="text"),
        "Reasoning.format": _DIAGNOSTIC,
        "Reasoning.status": _STATUS,
        "Reasoning.summary": Own(),
        "ToolCall.async": Own(neutral=(False,)),
        "ToolCall.caller": _CALLER,
        "ToolCall.item_id": _DIAGNOSTIC,
        "ToolCall.output_index": _DIAGNOSTIC,
        "ToolCall.parsed_arguments": Own("info", "unknown_field", restates="arguments"),
        "ToolCall.status": _STATUS,
        f"ToolResult.{ITSELF}": Own("impossible", "orphan", kind="changed", after="the result of a call that has another id"),
        "ToolResult.caller": _CALLER,
        "ToolResult.created_by": _DIAGNOSTIC,
        "ToolResult.id": _DIAGNOSTIC,
        "ToolResult.name": Own("info"),
        "ToolResult.namespace": Own("info"),
        "ToolResult.status": _STATUS,
        **{
            f"ToolResult.tools/*/{name}": _ECHO
            for name in ("allowed_callers", "defer_loading", "description", "format", "output_schema", "parameters", "strict", "tools")
        },
        "Media.action": Own("info"),
        "Media.background": Own("info"),
        "Media.file_id": Own("impossible", "foreign_id"),
        "Media.prompt": Own("info"),
        "Media.quality": Own("info"),
        "Media.revised_prompt": Own("info"),
        "Media.size": Own("info"),
        "Media.status": _STATUS,
        "Media.svg_usage": _COUNTED,
        "Hosted.approval_request_id": _DIAGNOSTIC,
        "Hosted.status": Own("info", "diagnostic"),
        "Hosted.error/type": Own("info", "diagnostic"),
        "Hosted.container_id": Own("info", "foreign_id"),
        "Citation.container_id": Own("info", "foreign_id"),
        # Tools.
        "FunctionTool.async": Own(neutral=(False,)),
        "CustomTool.async": Own(neutral=(False,)),
        "HostedTool.allowed_callers": _CALLERS,
        "HostedTool.container": Own("impossible", "foreign_id"),
        **{f"HostedTool.container/{name}": Own() for name in ("file_ids", "memory_limit", "network_policy")},
        "HostedTool.external_web_access": Own(neutral=(True,)),
        "HostedTool.return_token_budget": Own(neutral=("default",)),
        "HostedTool.search_content_types": Own(neutral=(["text"],)),
        **{f"HostedTool.{name}": Own(neutral=("auto",)) for name in ("action", "background", "moderation", "quality", "size")},
        **{f"HostedTool.{name}": Own() for name in ("complexity", "input_image_mask", "model", "svg")},
        "HostedTool.frame_count": Own(neutral=(9,)),
        "HostedTool.frame_duration_ms": Own(neutral=(200,)),
        "HostedTool.input_fidelity": Own(neutral=("low",)),
        "HostedTool.n": Own(neutral=(1,)),
        "HostedTool.output_compression": Own(neutral=(100,)),
        "HostedTool.output_format": Own(neutral=("png",)),
        "HostedTool.partial_images": Own(neutral=(0,)),
        "HostedTool.description": Own(),
        "HostedTool.execution": Own(neutral=("server",)),
        "HostedTool.parameters": Own(),
        f"McpServer.{ITSELF}": Own("impossible", kind="changed", after="calls run without approval"),
        "McpServer.allowed_callers": _CALLERS,
        "McpServer.connector_id": Own("impossible", "not_portable"),
        "McpServer.tunnel_id": Own("impossible", "not_portable"),
        # Answers: what repeats the request, and what tells about the server.
        **{
            f"Response.{name}": _ECHO
            for name in (
                "access_programs", "conversation", "image", "input", "instructions", "max_output_tokens", "max_tool_calls", "metadata",
                "previous_response_id", "prompt", "prompt_cache_key", "prompt_cache_options", "prompt_cache_retention",
                "safety_identifier", "tools", "user",
            )
        },
        "Response.background": Own("info", "echo", neutral=(False,)),
        "Response.parallel_tool_calls": Own("info", "echo", neutral=(True,)),
        "Response.output_text": Own("info", "repeated", neutral=("",)),
        "Response.reasoning": Own("info", "echo"),
        "Response.status": _DIAGNOSTIC,
        "Response.store": Own("info", "echo", neutral=(True,)),
        "Response.temperature": Own("info", "echo", neutral=(1.0, 1)),
        "Response.text": Own("info", "echo", neutral=_TEXT_DEFAULTS),
        "Response.tool_choice": Own("info", "echo", neutral=("auto",)),
        "Response.top_logprobs": Own("info", "echo", neutral=(0,)),
        "Response.top_p": Own("info", "echo", neutral=(1.0, 1)),
        "Response.truncation": Own("info", "echo", neutral=("disabled",)),
        **{
            f"Response.{name}": _DIAGNOSTIC
            for name in (
                "billing", "completed_at", "content_filters", "input_transformations", "moderation", "prompt_cache_diagnostics",
                "request_id",
            )
        },
        "Response.frequency_penalty": Own("info", "echo", neutral=(0.0, 0)),
        "Response.presence_penalty": Own("info", "echo", neutral=(0.0, 0)),
        "Response.service_tier": Own("info", "diagnostic", neutral=("default", "auto")),
        "Response.tool_usage": _COUNTED,
        **{
            f"Usage.{name}": _COUNTED
            for name in (
                *ALIASES,
                "context_details", "cost", "cost_details", "cost_in_usd_ticks", "is_byok", "num_server_side_tools_used",
                "num_sources_used", "server_side_tool_usage_details",
            )
        },
        # Errors.
        **ERROR_OWN,
        "Error.misalignment": _DIAGNOSTIC,
        "Error.metadata": _DIAGNOSTIC,
    },
)  # fmt: skip
