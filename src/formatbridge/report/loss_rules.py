"""The loss rules of canonical fields that a target cannot express, and the severities of codes: one table each for all formats."""

from __future__ import annotations

from collections.abc import Mapping

from formatbridge.report.field_paths import LossRule
from formatbridge.report.losses import Severity

_DIAGNOSTIC = LossRule("info", "diagnostic")
_INFO = LossRule("info")
_LOSSY = LossRule()
_COUNT = LossRule("info", "accounting", neutral=(0,))
_CALLERS = LossRule(neutral=(["direct"],))

LOSS_RULES: Mapping[str, LossRule] = {
    "Request.tool_choice": LossRule(neutral=("auto", {"type": "auto"})),
    "Request.reasoning": _LOSSY,
    "Request.output_format": LossRule("impossible"),
    "Request.audio": _LOSSY,
    "Request.image": _LOSSY,
    "Message.effort": LossRule("impossible"),
    "Message.tools": LossRule("impossible"),
    "Text.id": _DIAGNOSTIC,
    "Text.citations": _INFO,  # in a request the model hardly sees them
    "Text.cache": _INFO,
    "Text.signature": _LOSSY,
    "Media.cache": _INFO,
    "Media.filename": _INFO,
    "Media.detail": LossRule(neutral=("auto",)),
    "Media.transcript": LossRule(neutral=("",)),
    "Media.id": _DIAGNOSTIC,
    "Media.signature": _LOSSY,
    "Reasoning.id": _DIAGNOSTIC,
    "Refusal.id": _DIAGNOSTIC,
    "ToolCall.cache": _INFO,
    "ToolCall.item_id": _DIAGNOSTIC,
    "ToolCall.namespace": _LOSSY,
    "ToolCall.signature": _LOSSY,
    "ToolResult.is_error": LossRule(neutral=(False,)),
    "ToolResult.cache": _INFO,
    "ToolResult.signature": _LOSSY,
    "FunctionTool.output_schema": _LOSSY,
    "FunctionTool.cache": _INFO,
    "FunctionTool.strict": LossRule(neutral=(False,)),
    "FunctionTool.defer_loading": LossRule(neutral=(False,)),
    "FunctionTool.callers": _CALLERS,
    "CustomTool.cache": _INFO,
    "CustomTool.defer_loading": LossRule(neutral=(False,)),
    "CustomTool.callers": _CALLERS,
    "HostedTool.cache": _INFO,
    "HostedTool.allowed_domains": _LOSSY,
    "HostedTool.blocked_domains": _LOSSY,
    "HostedTool.user_location": _LOSSY,
    "HostedTool.context_size": LossRule(neutral=("medium",)),  # the default of the servers that have the option
    "HostedTool.max_uses": _LOSSY,
    "McpServer.cache": _INFO,
    "McpServer.approval": LossRule("impossible", neutral=("never",)),
    "McpServer.description": LossRule(neutral=("",)),
    "McpServer.defer_loading": LossRule(neutral=(False,)),
    "ReasoningConfig.visibility": LossRule(neutral=("hide",)),
    "OutputFormat.name": _INFO,
    "OutputFormat.description": _LOSSY,
    "AudioOutput.format": _LOSSY,
    "AudioOutput.language": _LOSSY,
    "Response.created": _INFO,
    "Choice.logprobs": _LOSSY,
    "Choice.refusal_logprobs": _LOSSY,
    "Citation.cited_text": _INFO,
    "Citation.file_id": _INFO,
    "Finish.stop_sequence": _INFO,
    "Finish.category": _INFO,
    "Finish.message": _INFO,
    "Usage.cache_read": LossRule("info", "accounting", neutral=(0,), kind="changed", counted_in="input"),
    "Usage.cache_write": LossRule("info", "accounting", neutral=(0,), kind="changed", counted_in="input"),
    "Usage.reasoning": LossRule("info", "accounting", neutral=(0,), kind="changed", counted_in="output"),
    "Usage.input_modality": _COUNT,
    "Usage.output_modality": _COUNT,
    "Usage.cached_modality": _COUNT,
    "Usage.tool_prompt": LossRule("info", "accounting", neutral=(0,), kind="changed", counted_in="input"),
    "Usage.server_tools": _COUNT,
    "Usage.accepted_prediction": _COUNT,
    "Usage.rejected_prediction": _COUNT,
    "Usage.cache_write_ttl": LossRule("info", "accounting", kind="changed", counted_in="cache_write"),
    "Error.code": LossRule("info", "diagnostic", neutral=("",)),
    "Error.param": LossRule("info", "diagnostic", neutral=("",)),
    "Error.request_id": LossRule("info", "diagnostic", neutral=("",)),
    "Error.retry_after": _DIAGNOSTIC,
    **{
        f"Model.{name}": LossRule("info", neutral=("",))
        for name in (
            "display_name", "description", "version", "owner", "created", "input_limit", "output_limit", "methods", "lifecycle",
            "retires_at",
        )
    },
    **{f"ModelList.{name}": LossRule("info", neutral=(False, "")) for name in ("has_more", "first_id", "last_id", "next_page")},
}  # fmt: skip
"""``Class.field`` of the canonical model to the severity and reason of its loss. Rows are in the order in which a report has them."""

NO_LOSS: frozenset[str] = frozenset({
    "Request.format",
    "Request.continues_last_turn",  # ``note_prefill`` reports it where there is such a turn
    "Request.has_calls",  # the next two repeat what the messages have
    "Request.has_added_tools",
    "AudioOutput.voice_vendor",
    "Media.vendor",  # whose storage has the file
    "Reasoning.is_summary",  # only distinguishes summaries from other reasoning; the text stays
    "FunctionTool.property_names",  # each new name was reported
    "ToolCall.has_generated_id",
    "ToolResult.has_generated_id",
    "ToolResult.kind",  # the call has it too, as the next two
    "ToolResult.name",
    "ToolResult.namespace",
    "Hosted.raw",  # the whole item, from which the other fields are decoded
    "Response.format",
    "Response.fields_after_start",  # the next three are reported by the encoders of streams
    "Response.revised_parts",
    "Response.citations_after_text",
    "ModelList.format",
})  # fmt: skip
"""Fields that hold nothing that could be lost, apart from the pointers that every node has."""

SETTING_RULES: Mapping[str, LossRule] = {
    "seed": _LOSSY,
    "presence_penalty": LossRule(neutral=(0, 0.0)),
    "frequency_penalty": LossRule(neutral=(0, 0.0)),
    "logprobs": LossRule(neutral=(False,)),
    "top_logprobs": LossRule(neutral=(0,)),
    "n": LossRule("impossible", "single_answer", (1,)),
    "parallel_tool_calls": LossRule(neutral=(True,)),
    "modalities": LossRule("impossible", "unsupported_media", neutral=("text",), by_member=True),
    "tier": LossRule(neutral=("auto", "standard")),
    "additional_tier": LossRule(neutral=("auto",)),
    "user": _INFO,
    "safety_identifier": _INFO,
    "metadata": _INFO,
    "store": LossRule("info", neutral=(False,)),
    "verbosity": LossRule(neutral=("medium",)),
    "prompt_cache_key": _INFO,
    "prompt_cache_options": LossRule(neutral=("implicit", "30m", False), by_member=True),
    "prompt_cache_retention": _INFO,
    "automatic_cache": LossRule("info", "weaker_form", kind="changed", after="automatic caching of the server"),
    "stream_options": LossRule("info", by_member=True),
    "usage_in_stream": LossRule("info", neutral=(True,)),
}
"""Setting of a request to the severity and reason of its loss. A setting without a row is lossy."""


def rule_of_setting(name: str) -> LossRule:
    """Return the loss rule of a setting."""
    return SETTING_RULES.get(name, _LOSSY)


CODE_SEVERITIES: Mapping[str, Severity] = {
    "foreign_id": "impossible",
    "unsupported_media": "impossible",
    "unsupported_by_model": "impossible",
    "single_answer": "impossible",
    "server_tool": "impossible",
    "no_turns": "impossible",
    "no_content": "impossible",
    "not_portable": "impossible",
    "repeated_id": "info",
    "empty": "info",
    "not_counted": "info",
    "diagnostic": "info",
    "accounting": "info",
    "span_lost": "info",
    "not_stored": "info",
    "not_allowed": "info",
    "billing_header": "info",
    "without_deferred": "info",
    "all_deferred": "info",
    "output_limit": "info",
}
"""Code to the severity of its losses, unless a note or a loss rule states another. A code without a row is lossy."""


def severity_of_code(code: str) -> Severity:
    """Return the severity of a loss with this code."""
    return CODE_SEVERITIES.get(code, "lossy")
