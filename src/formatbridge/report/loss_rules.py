"""What it means that a target has no place for a canonical field: one table for all formats."""

from __future__ import annotations

from collections.abc import Mapping

from formatbridge.report.field_paths import Own

_DIAGNOSTIC = Own("info", "diagnostic")
_INFO = Own("info")
_LOSSY = Own()
_COUNT = Own("info", "accounting", neutral=(0,))
_CALLERS = Own(neutral=(["direct"],))

LOSS_RULES: Mapping[str, Own] = {
    "Request.audio": _LOSSY,
    "Request.image": _LOSSY,
    "Message.effort": Own("impossible"),
    "Text.id": _DIAGNOSTIC,
    "Text.citations": _INFO,  # in a request the model hardly sees them
    "Text.cache": _INFO,
    "Text.signature": _LOSSY,
    "Media.cache": _INFO,
    "Media.filename": _INFO,
    "Media.detail": Own(neutral=("auto",)),
    "Media.transcript": Own(neutral=("",)),
    "Media.id": _DIAGNOSTIC,
    "Media.signature": _LOSSY,
    "Reasoning.id": _DIAGNOSTIC,
    "Refusal.id": _DIAGNOSTIC,
    "ToolCall.cache": _INFO,
    "ToolCall.item_id": _DIAGNOSTIC,
    "ToolCall.namespace": _LOSSY,
    "ToolCall.signature": _LOSSY,
    "ToolResult.is_error": Own(neutral=(False,)),
    "ToolResult.cache": _INFO,
    "ToolResult.signature": _LOSSY,
    "FunctionTool.output_schema": _LOSSY,
    "FunctionTool.cache": _INFO,
    "FunctionTool.strict": Own(neutral=(False,)),
    "FunctionTool.defer_loading": Own(neutral=(False,)),
    "FunctionTool.callers": _CALLERS,
    "CustomTool.cache": _INFO,
    "CustomTool.defer_loading": Own(neutral=(False,)),
    "CustomTool.callers": _CALLERS,
    "HostedTool.cache": _INFO,
    "HostedTool.allowed_domains": _LOSSY,
    "HostedTool.blocked_domains": _LOSSY,
    "HostedTool.user_location": _LOSSY,
    "HostedTool.context_size": Own(neutral=("medium",)),  # the default of the servers that have the option
    "HostedTool.max_uses": _LOSSY,
    "McpServer.cache": _INFO,
    "McpServer.approval": Own("impossible", neutral=("never",)),
    "McpServer.description": Own(neutral=("",)),
    "McpServer.defer_loading": Own(neutral=(False,)),
    "ReasoningConfig.show": Own(neutral=("hide",)),
    "OutputFormat.name": _INFO,
    "OutputFormat.description": _LOSSY,
    "AudioOutput.format": _LOSSY,
    "AudioOutput.language": _LOSSY,
    "Response.created": _INFO,
    "Choice.refusal_logprobs": _LOSSY,
    "Citation.cited_text": _INFO,
    "Citation.file_id": _INFO,
    "Finish.stop_sequence": _INFO,
    "Finish.category": _INFO,
    "Usage.input_modality": _COUNT,
    "Usage.output_modality": _COUNT,
    "Usage.cached_modality": _COUNT,
    "Usage.tool_prompt": Own("info", "accounting", neutral=(0,), kind="changed", counted_in="input"),
    "Usage.server_tools": _COUNT,
    "Usage.accepted_prediction": _COUNT,
    "Usage.rejected_prediction": _COUNT,
    "Usage.cache_write_ttl": Own("info", "accounting", kind="changed", counted_in="cache_write"),
    "Error.param": Own("info", "diagnostic", neutral=("",)),
    "Error.request_id": Own("info", "diagnostic", neutral=("",)),
    "Error.retry_after": _DIAGNOSTIC,
    **{
        f"Model.{name}": Own("info", neutral=("",))
        for name in (
            "display_name", "description", "version", "owner", "created", "input_limit", "output_limit", "methods", "lifecycle",
            "retires",
        )
    },
    **{f"ModelList.{name}": Own("info", neutral=(False, "")) for name in ("more", "first_id", "last_id", "next_page")},
}  # fmt: skip
"""``Class.field`` of the canonical model to the severity and reason of its loss. Rows are in the order in which a report has them."""

NO_LOSS: frozenset[str] = frozenset({
    "Request.format",
    "Media.home",  # the issuer of a file id
    "Reasoning.summary",  # is text all the same
    "ToolCall.id_made",
    "ToolResult.id_made",
    "ToolResult.kind",  # that of its call, as the next two
    "ToolResult.name",
    "ToolResult.namespace",
    "Hosted.raw",  # the item itself, of which the other fields are read
    "Response.format",
    "Response.late",  # the next three are reported by the encoders of streams
    "Response.retold",
    "Response.cited",
    "ModelList.format",
})  # fmt: skip
"""Fields that hold nothing that could be lost, beside the pointers that every node has."""

_SETTING_RULES: Mapping[str, Own] = {
    "seed": _LOSSY,
    "presence_penalty": Own(neutral=(0, 0.0)),
    "frequency_penalty": Own(neutral=(0, 0.0)),
    "logprobs": Own(neutral=(False,)),
    "top_logprobs": Own(neutral=(0,)),
    "n": Own("impossible", "single_answer", (1,)),
    "parallel_tool_calls": Own(neutral=(True,)),
    "modalities": Own("impossible", "unsupported_media", neutral=("text",)),
    "tier": Own(neutral=("auto",)),
    "tier_beside": Own(neutral=("auto",)),
    "user": _INFO,
    "safety_identifier": _INFO,
    "metadata": _INFO,
    "store": Own("info", neutral=(False,)),
    "verbosity": Own(neutral=("medium",)),
    "prompt_cache_key": _INFO,
    "prompt_cache_retention": _INFO,
    "automatic_cache": Own("info", "weaker_carrier", kind="changed", after="the server's own caching"),
    "stream_options": _INFO,
    "usage_in_stream": Own("info", neutral=(True,)),
}
"""Setting of a request to the severity and reason of its loss. A setting without a row is lossy."""


def rule_of_setting(name: str) -> Own:
    """Return what the loss of a setting means."""
    return _SETTING_RULES.get(name, _LOSSY)
