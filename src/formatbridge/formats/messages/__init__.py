"""messages: turns made of blocks, a system prompt of its own, a required limit, and reasoning that is signed.

Sources: the relay's specification, "POST /v1/messages"; the official SDK's types of 2026-11, stable and beta; recorded traffic. Two
dated dialects are read alike: that of 2023-06-01 has sampling parameters, the newer one has none.
"""

from __future__ import annotations

import re
from typing import Any

from formatbridge import ir
from formatbridge.formats._error_shapes import ERROR_OWN, ERROR_PLACES
from formatbridge.formats._protocol import ToolRules
from formatbridge.formats.messages.errors import decode_error, encode_error
from formatbridge.formats.messages.finish import unfinished
from formatbridge.formats.messages.hosted_tools import SERVER_NAMES
from formatbridge.formats.messages.models import decode_models, encode_models
from formatbridge.formats.messages.request import decode_request, encode_request, settle_history
from formatbridge.formats.messages.response import FINISH, decode_response, encode_response, failure_of
from formatbridge.formats.messages.settings import SETTINGS
from formatbridge.formats.messages.stream import StreamDecoder
from formatbridge.formats.messages.stream_encoder import StreamEncoder
from formatbridge.formats.messages.stream_fold import fold_stream, unfold_stream
from formatbridge.losses import Own, Spelling
from formatbridge.streaming.sse import encode_event as frame_event

NAME: ir.Format = "messages"
ID_FIELD = "id"
IN_URL: frozenset[str] = frozenset()
HOLDS_FAILURES = False
STREAMED: tuple[type[ir.Part], ...] = (ir.Text, ir.Reasoning, ir.Refusal, ir.ToolCall)
CITES_LAST = False
END_OF_STREAM = b""
NAMES_EVENTS = True
_WORD = re.compile(r"[A-Za-z0-9_-]+")
TOOL_RULES = ToolRules(
    name=_WORD,
    longest_name=128,
    call_id=_WORD,
    distinct=True,
    distinct_ids=True,
    servers=frozenset({*SERVER_NAMES, "mcp"}),
    governs_servers=True,
    server_names=SERVER_NAMES,
)

_BINDING = Own(neutral=({"prefix_mismatch_behavior": "error"},))
_ALL = {"type": "all"}

SPELLING = Spelling(
    places={
        **{f"Request.{name}": (wire,) for name, wire in SETTINGS.wire.items()},
        "Request.tier": ("speed", "service_tier"),
        "Request.tier_beside": ("service_tier",),
        "Request.user": ("metadata/user_id",),
        "Request.parallel_tool_calls": ("tool_choice/disable_parallel_tool_use",),
        "Request.compact_at": ("context_management",),
        "Message.effort": ("output_config/effort",),
        "Message.tools": ("content",),
        "ReasoningConfig.mode": ("thinking/type", "thinking"),
        "ReasoningConfig.budget": ("thinking/budget_tokens",),
        "ReasoningConfig.effort": ("output_config/effort",),
        "ReasoningConfig.show": ("thinking/display",),
        "ToolChoice.mode": ("type",),
        "FunctionTool.parameters": ("input_schema",),
        "FunctionTool.callers": ("allowed_callers",),
        "McpServer.label": ("name",),
        "McpServer.token": ("authorization_token",),
        "McpServer.allowed": ("tool_configuration/allowed_tools", "@/configs", "@/default_config/enabled"),
        "McpServer.allowed.default": ("@/default_config/enabled",),
        "McpServer.defer_loading": ("@/default_config/defer_loading",),
        "Media.data": ("source/data",),
        "Media.mime": ("source/media_type",),
        "Media.url": ("source/url",),
        "Media.file_id": ("source/file_id",),
        "Media.filename": ("title",),
        "Citation.title": ("title", "document_title"),
        "Citation.url": ("url", "source"),
        "Reasoning.text": ("thinking",),
        "ToolCall.arguments": ("input",),
        "ToolResult.call_id": ("tool_use_id",),
        "Hosted.id": ("id", "tool_use_id"),
        "Hosted.server": ("server_name",),
        "Hosted.arguments": ("input",),
        "Hosted.output": ("content/stdout", "content"),
        "Hosted.error": ("content/error_code", "content/stderr", "is_error"),
        "Hosted.status": ("content/return_code",),
        "Finish.reason": ("stop_reason",),
        "Finish.message": ("stop_details/explanation",),
        "Finish.category": ("stop_details/category",),
        "Usage.input": ("input_tokens",),
        "Usage.output": ("output_tokens",),
        "Usage.cache_read": ("cache_read_input_tokens",),
        "Usage.cache_write": ("cache_creation_input_tokens",),
        "Usage.cache_write_ttl": ("cache_creation",),
        "Usage.reasoning": ("output_tokens_details/thinking_tokens",),
        "Usage.server_tools": ("server_tool_use",),
        **ERROR_PLACES,
        "Error.code": ("error/details/error_code", "error/code"),
        "Model.created": ("created_at",),
        "Model.input_limit": ("max_input_tokens",),
        "Model.output_limit": ("max_tokens",),
        "Model.retires": ("retires_at",),
        "ModelList.more": ("has_more",),
    },
    # Which tools of a server are on also says whether it is there at all.
    shared=frozenset({"McpServer.allowed", "McpServer.allowed.default"}),
    own={
        "Request.anthropic_beta": Own("info"),
        "Request.anthropic_version": Own("info"),
        "Request.billing_policy": Own(neutral=({"type": "billing_policy"}, {"type": "billing_policy", "bill_to": "self"})),
        "Request.compaction": Own("impossible"),
        "Request.container": Own("impossible", "not_portable"),
        "Request.context_management/edits/*": Own(),
        "Request.context_management/edits/*/instructions": Own(),
        "Request.context_management/edits/*/pause_after_compaction": Own(neutral=(False,)),
        "Request.diagnostics": Own("info", "diagnostic"),
        "Request.fallback_credit_token": Own(),
        "Request.fallbacks": Own(),
        "Request.inference_geo": Own(),
        "Request.output_config/effort": Own(),
        "Request.output_config/task_budget": Own(),
        "Request.speed": Own(neutral=("standard",)),
        "Request.thinking/block_binding": _BINDING,
        "Request.thread": Own("impossible", "not_portable"),
        "ReasoningConfig.thinking/block_binding": _BINDING,
        "ReasoningConfig.thinking/budget_tokens": Own(neutral=(0,)),
        "Message.clear_at": Own(neutral=("never",)),
        "Media.citations": Own(neutral=({"enabled": False},)),
        "Media.context": Own(),
        "Media.source/media_type": Own("info"),
        "Media.transformations": Own(neutral=({"oversized_image": "downsize"},)),
        "Text.parsed_output": Own("info", "unknown_field", restates="text"),
        "ToolCall.caller": Own(neutral=({"type": "direct"},)),
        "ToolCall.toolset_name": Own(),
        "ToolResult.toolset_name": Own(),
        "Hosted.caller": Own("info", neutral=({"type": "direct"},)),
        "Hosted.cache_control": Own("info"),
        "FunctionTool.eager_input_streaming": Own(neutral=(False,)),
        "FunctionTool.input_examples": Own(),
        "HostedTool.allowed_callers": Own(neutral=(["direct"],)),
        "HostedTool.citations": Own(neutral=({"enabled": False},)),
        "HostedTool.defer_loading": Own(neutral=(False,)),
        "HostedTool.max_content_tokens": Own(),
        "HostedTool.name": Own(),
        "HostedTool.response_inclusion": Own(neutral=("full",)),
        "HostedTool.strict": Own(neutral=(False,)),
        "HostedTool.url_sources": Own(neutral=(dict.fromkeys(("user_input", "client_tool_results", "server_tool_results"), _ALL),)),
        "HostedTool.use_cache": Own(neutral=(True,)),
        "Citation.encrypted_index": Own("info"),
        "Response.content/*": Own("info", "weaker_carrier", kind="changed", after="the model that answered"),
        "Response.container": Own("info", "not_portable"),
        "Response.context_management": Own("info", "diagnostic"),
        "Response.diagnostics": Own("info", "diagnostic"),
        "Response.input_transformations": Own("info", "diagnostic"),
        "Response.model": Own("info"),
        "Finish.stop_details/fallback_credit_token": Own("info"),
        "Finish.stop_details/fallback_has_prefill_claim": Own("info"),
        "Finish.stop_details/recommended_model": Own("info"),
        "Usage.fallback_credit": Own("info", "accounting"),
        "Usage.inference_geo": Own("info", "diagnostic"),
        "Usage.iterations": Own("info", "accounting"),
        "Usage.service_tier": Own("info", "diagnostic"),
        "Usage.speed": Own("info", "diagnostic"),
        **ERROR_OWN,
        "Model.capabilities": Own("info"),
        "Model.deprecated_at": Own("info"),
        "Model.line": Own("info"),
    },
)


def is_own_event(event: dict[str, Any]) -> bool:
    """Say whether an event of a stream has what those of no other format have."""
    kind = event.get("type")
    return isinstance(kind, str) and kind.startswith(("message_", "content_block_"))


def is_own_error(event: dict[str, Any], name: str) -> bool:
    """Say whether an event that tells an error does so as the format does, so that its official client sees one."""
    del event  # the client looks at the name alone
    return name == "error"


__all__ = [
    "CITES_LAST",
    "END_OF_STREAM",
    "FINISH",
    "HOLDS_FAILURES",
    "ID_FIELD",
    "IN_URL",
    "NAME",
    "NAMES_EVENTS",
    "SETTINGS",
    "SPELLING",
    "STREAMED",
    "TOOL_RULES",
    "StreamDecoder",
    "StreamEncoder",
    "decode_error",
    "decode_models",
    "decode_request",
    "decode_response",
    "encode_error",
    "encode_models",
    "encode_request",
    "encode_response",
    "failure_of",
    "fold_stream",
    "frame_event",
    "is_own_error",
    "is_own_event",
    "settle_history",
    "unfinished",
    "unfold_stream",
]
