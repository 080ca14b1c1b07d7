"""Field paths of Responses, and loss rules for the fields that only this format has."""

from __future__ import annotations

from formatbridge.formats.responses.settings import LOGPROBS, SETTINGS
from formatbridge.formats.responses.usage import ALIASES
from formatbridge.formats.shared.errors import ERROR_PLACES, ERROR_RULES
from formatbridge.formats.shared.model_lists import INPUT_LIMITS, OUTPUT_LIMITS
from formatbridge.report.ledger import WHOLE_NODE, FieldPaths, LossRule

_ECHO = LossRule("info", "echo")
_DIAGNOSTIC = LossRule("info", "diagnostic")
_ACCOUNTING = LossRule("info", "accounting", neutral=(0, 0.0))
_NOT_PORTABLE = LossRule("impossible", "not_portable")
_STORED = LossRule("impossible", "stored_state")
"""State of earlier responses that only the server that stored it can read."""
_AFTER_CLOSE = LossRule("impossible", "position_lost")
"""Content that the last event of a stream adds to a call after the call was closed."""
_STATUS = LossRule("info", "diagnostic", neutral=("completed",))
# A program of the server is the other caller (official SDK, ``CallerProgram``). "direct" is what other formats always do.
_CALLER = LossRule(neutral=({"type": "direct"},))
_CALLERS = LossRule(neutral=(["direct"],))

_TEXT_DEFAULTS = ({"format": {"type": "text"}}, {"verbosity": "medium"}, {"format": {"type": "text"}, "verbosity": "medium"})
_DETAILS = ("input_tokens_details", "prompt_tokens_details")

FIELD_PATHS = FieldPaths(
    content=frozenset({"output", "status", "incomplete_details"}),
    places={
        **{f"Request.{name}": (wire,) for name, wire in SETTINGS.wire.items()},
        "Request.messages": ("input",),
        **{f"{kind}.place": ("^",) for kind in ("CustomTool", "FunctionTool", "HostedTool", "McpServer", "Namespace")},
        "Request.max_tokens": ("max_output_tokens", "prompt_cache_options/prewarm"),
        "Request.tier": ("service_tier",),
        "Request.automatic_cache": ("cache_control",),
        "Request.verbosity": ("text/verbosity",),
        "Request.logprobs": (f"include/{LOGPROBS}",),
        "Request.compact_at": ("context_management/0/compact_threshold", "context_management/0"),
        "ReasoningConfig.visibility": ("summary", "generate_summary"),
        "Message.effort": ("reasoning/effort",),
        "FunctionTool.callers": ("allowed_callers",),
        "CustomTool.callers": ("allowed_callers",),
        "CustomTool.definition": ("format/definition",),
        "CustomTool.syntax": ("format/syntax",),
        "HostedTool.allowed_domains": ("filters/allowed_domains",),
        "HostedTool.context_size": ("search_context_size",),
        "ToolChoice.allowed_mode": ("mode",),
        "McpServer.label": ("server_label",),
        "McpServer.url": ("server_url",),
        "McpServer.authorization_token": ("authorization",),
        "McpServer.allowed_tools": ("allowed_tools/tool_names", "allowed_tools"),
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
        "TokenLogprob.top_logprobs": ("top_logprobs",),
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
        **{f"Usage.input_modality.{kind}": tuple(f"{at}/{kind}_tokens" for at in _DETAILS) for kind in ("text", "audio", "image")},
        **{
            f"Usage.output_modality.{kind}": (
                f"output_tokens_details/{kind}_tokens",
                f"completion_tokens_details/{kind}_tokens",
            )
            for kind in ("text", "audio", "image")
        },
        **ERROR_PLACES,
        "Error.type": (*ERROR_PLACES["Error.type"], "type"),
        "Error.param": (*ERROR_PLACES["Error.param"], "param"),
        "Model.display_name": ("name",),
        "Model.owner": ("owned_by",),
        "Model.input_limit": INPUT_LIMITS,
        "Model.output_limit": OUTPUT_LIMITS,
        "Model.retires_at": ("shutdown_date",),
    },
    rules={
        # Requests. Neutral values are the defaults in the official SDK's ``ResponseCreateParams``.
        "Request.access_programs": LossRule(),
        "Request.cache_control": LossRule("info"),
        "Request.client_metadata": LossRule("info"),
        "Request.background": LossRule(neutral=(False,)),
        "Request.background_options": LossRule(neutral=({"completion_window": "soonest"},)),
        "Request.context_management/*": LossRule(),
        "Request.conversation": _STORED,
        "Request.image": LossRule(neutral=({"context_compression": "auto"},)),
        "Request.include/*": LossRule(),
        "Request.max_tool_calls": LossRule(),
        "Request.previous_response_id": _STORED,
        "Request.prompt": _NOT_PORTABLE,
        "Request.provider": LossRule(),
        "Request.truncation": LossRule(neutral=("disabled",)),
        "ReasoningConfig.context": LossRule(neutral=("auto",)),
        "ReasoningConfig.mode": LossRule(neutral=("standard",)),
        "OutputFormat.name": LossRule("info"),
        "OutputFormat.strict": LossRule("info"),
        # Items.
        "CacheMark.mode": LossRule("info", neutral=("explicit",)),
        "Message.id": LossRule("info", "diagnostic"),
        "Message.phase": LossRule(),
        "Message.status": _STATUS,
        "Message.text": LossRule("impossible"),
        "Message./input/*/phase": LossRule(),
        "Message./input/*/status": _STATUS,
        "Finish.status": LossRule("info", "finish_reason", neutral=("incomplete",)),
        "Choice./output/*": LossRule(code="unfinished"),
        "Choice./output/*/arguments": _AFTER_CLOSE,
        "Choice./output/*/input": _AFTER_CLOSE,
        "Choice./output/*/content": LossRule(),
        # "preserve and resend phase on all assistant messages — dropping it can degrade performance" (official SDK, ResponseOutputMessage).
        "Choice./output/*/phase": LossRule(),
        "Choice./output/*/status": _STATUS,
        "Text.logprobs": LossRule("info"),
        "Text.parsed": LossRule("info", "unknown_field", restates="text"),
        "Reasoning.format": _DIAGNOSTIC,
        "Reasoning.status": _STATUS,
        "Reasoning.summary": LossRule(),
        "ToolCall.async": LossRule(neutral=(False,)),
        "ToolCall.caller": _CALLER,
        "ToolCall.item_id": _DIAGNOSTIC,
        "ToolCall.output_index": _DIAGNOSTIC,
        # The SDK's ``responses.parse`` adds the parsed value to an item, and callers send that item back (fixture parsed_history).
        "ToolCall.parsed_arguments": LossRule("info", "unknown_field", restates="arguments"),
        "ToolCall.status": _STATUS,
        f"ToolResult.{WHOLE_NODE}": LossRule("impossible", "orphan", kind="changed", after="the result of a call that has another id"),
        "ToolResult.caller": _CALLER,
        "ToolResult.created_by": _DIAGNOSTIC,
        "ToolResult.id": _DIAGNOSTIC,
        "ToolResult.name": LossRule("info"),
        "ToolResult.namespace": LossRule("info"),
        "ToolResult.status": _STATUS,
        **{
            f"ToolResult.tools/*/{name}": _ECHO
            for name in ("allowed_callers", "defer_loading", "description", "format", "output_schema", "parameters", "strict", "tools")
        },
        "Media.action": LossRule("info"),
        "Media.background": LossRule("info"),
        "Media.file_id": LossRule("impossible", "foreign_id"),
        "Media.prompt": LossRule("info"),
        "Media.quality": LossRule("info"),
        "Media.revised_prompt": LossRule("info"),
        "Media.size": LossRule("info"),
        "Media.status": _STATUS,
        "Media.svg_usage": _ACCOUNTING,
        "Hosted.approval_request_id": _DIAGNOSTIC,
        "Hosted.status": LossRule("info", "diagnostic"),
        "Hosted.error/type": LossRule("info", "diagnostic"),
        "Hosted.container_id": LossRule("info", "foreign_id"),
        "Citation.container_id": LossRule("info", "foreign_id"),
        # Tools. Neutral values are the defaults of the tool in the official SDK.
        "FunctionTool.async": LossRule(neutral=(False,)),
        "CustomTool.async": LossRule(neutral=(False,)),
        "HostedTool.allowed_callers": _CALLERS,
        "HostedTool.container": LossRule("impossible", "foreign_id"),
        **{f"HostedTool.container/{name}": LossRule() for name in ("file_ids", "memory_limit", "network_policy")},
        "HostedTool.external_web_access": LossRule(neutral=(True,)),
        "HostedTool.return_token_budget": LossRule(neutral=("default",)),
        "HostedTool.search_content_types": LossRule(neutral=(["text"],)),
        **{f"HostedTool.{name}": LossRule(neutral=("auto",)) for name in ("action", "background", "moderation", "quality", "size")},
        **{f"HostedTool.{name}": LossRule() for name in ("complexity", "input_image_mask", "model", "svg")},
        "HostedTool.frame_count": LossRule(neutral=(9,)),
        "HostedTool.frame_duration_ms": LossRule(neutral=(200,)),
        "HostedTool.input_fidelity": LossRule(neutral=("low",)),
        "HostedTool.n": LossRule(neutral=(1,)),
        "HostedTool.output_compression": LossRule(neutral=(100,)),
        "HostedTool.output_format": LossRule(neutral=("png",)),
        "HostedTool.partial_images": LossRule(neutral=(0,)),
        "HostedTool.description": LossRule(),
        "HostedTool.execution": LossRule(neutral=("server",)),
        "HostedTool.parameters": LossRule(),
        f"McpServer.{WHOLE_NODE}": LossRule("impossible", kind="changed", after="calls run without approval"),
        "McpServer.allowed_callers": _CALLERS,
        "McpServer.connector_id": LossRule("impossible", "not_portable"),
        "McpServer.tunnel_id": LossRule("impossible", "not_portable"),
        # Responses: fields that repeat the request, and diagnostics of the server.
        **{
            f"Response.{name}": _ECHO
            for name in (
                "access_programs", "conversation", "image", "input", "instructions", "max_output_tokens", "max_tool_calls", "metadata",
                "previous_response_id", "prompt", "prompt_cache_key", "prompt_cache_options", "prompt_cache_retention",
                "safety_identifier", "tools", "user",
            )
        },
        "Response.background": LossRule("info", "echo", neutral=(False,)),
        "Response.parallel_tool_calls": LossRule("info", "echo", neutral=(True,)),
        "Response.output_text": LossRule("info", "repeated", neutral=("",)),
        "Response.reasoning": LossRule("info", "echo"),
        "Response.status": _DIAGNOSTIC,
        "Response.store": LossRule("info", "echo", neutral=(True,)),
        "Response.temperature": LossRule("info", "echo", neutral=(1.0, 1)),
        "Response.text": LossRule("info", "echo", neutral=_TEXT_DEFAULTS),
        "Response.tool_choice": LossRule("info", "echo", neutral=("auto",)),
        "Response.top_logprobs": LossRule("info", "echo", neutral=(0,)),
        "Response.top_p": LossRule("info", "echo", neutral=(1.0, 1)),
        "Response.truncation": LossRule("info", "echo", neutral=("disabled",)),
        **{
            f"Response.{name}": _DIAGNOSTIC
            for name in (
                "billing", "completed_at", "content_filters", "input_transformations", "moderation", "prompt_cache_diagnostics",
                "request_id",
            )
        },
        "Response.frequency_penalty": LossRule("info", "echo", neutral=(0.0, 0)),
        "Response.presence_penalty": LossRule("info", "echo", neutral=(0.0, 0)),
        "Response.service_tier": LossRule("info", "diagnostic", neutral=("default", "auto")),
        "Response.tool_usage": _ACCOUNTING,
        **{
            f"Usage.{name}": _ACCOUNTING
            for name in (
                *ALIASES,
                "context_details", "cost", "cost_details", "cost_in_usd_ticks", "is_byok", "num_server_side_tools_used",
                "num_sources_used", "server_side_tool_usage_details",
            )
        },
        # Errors.
        **ERROR_RULES,
        "Error.misalignment": _DIAGNOSTIC,
        "Error.metadata": _DIAGNOSTIC,
    },
)  # fmt: skip
