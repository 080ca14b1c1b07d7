"""The field paths of Chat Completions, and the loss rules of its fields."""

from __future__ import annotations

from formatbridge.formats.chat_completions.reasoning import TEXT_FIELDS
from formatbridge.formats.chat_completions.reasoning_control import CONFIG_PLACES
from formatbridge.formats.chat_completions.settings import SETTINGS
from formatbridge.formats.chat_completions.usage import ALIASES, DETAILS
from formatbridge.formats.shared.errors import ERROR_PLACES, ERROR_RULES
from formatbridge.formats.shared.model_lists import INPUT_LIMITS, OUTPUT_LIMITS
from formatbridge.report.ledger import WHOLE_NODE, FieldPaths, LossRule

_DOCUMENTS = ("document_url", "file_url/url", "file_url")
"""The places of a document in the parts of Mistral and Perplexity."""
FIELD_PATHS = FieldPaths(
    content=frozenset({"choices"}),
    places={
        **{f"Request.{name}": (wire,) for name, wire in SETTINGS.wire.items()},
        "Request.max_tokens": ("max_completion_tokens", "max_tokens"),
        "Request.automatic_cache": ("cache_control",),
        "Request.tier": ("service_tier",),
        "Request.usage_in_stream": ("stream_options/include_usage",),
        "Request.top_logprobs": ("top_logprobs", "logprobs"),
        "Request.seed": ("seed", "random_seed"),
        **CONFIG_PLACES,
        "OutputFormat.name": ("json_schema/name", "name"),
        "OutputFormat.description": ("json_schema/description", "description"),
        "OutputFormat.schema": ("json_schema/schema", "schema"),
        "OutputFormat.strict": ("json_schema/strict", "strict"),
        "OutputFormat.type": ("type",),
        "FunctionTool.name": ("function/name", "name"),
        "FunctionTool.description": ("function/description", "description"),
        "FunctionTool.parameters": ("function/parameters", "parameters"),
        "FunctionTool.strict": ("function/strict", "strict"),
        "CustomTool.name": ("custom/name",),
        "CustomTool.description": ("custom/description",),
        "CustomTool.format": ("custom/format",),
        "ToolChoice.allowed_mode": ("allowed_tools/mode",),
        "HostedTool.allowed_domains": ("parameters/allowed_domains", "^search_domain_filter"),
        "HostedTool.blocked_domains": ("parameters/excluded_domains", "^search_domain_filter"),
        "HostedTool.max_uses": ("parameters/max_uses",),
        "HostedTool.context_size": ("search_context_size", "parameters/search_context_size"),
        "HostedTool.user_location": ("user_location", "parameters/user_location"),
        "ToolCall.name": ("function/name", "custom/name", "name"),
        "ToolCall.arguments": ("function/arguments", "custom/input", "arguments"),
        "ToolResult.call_id": ("tool_call_id",),
        "Reasoning.text": ("text", "summary", "thinking"),
        "Media.detail": ("image_url/detail",),
        "Media.url": ("image_url/url", "video_url/url", "file/file_data", "input_audio", *_DOCUMENTS),
        "Media.data": ("image_url/url", "input_audio/data", "input_audio", "file/file_data", "video_url/url", *_DOCUMENTS),
        "Media.mime": ("image_url/url", "input_audio/format", "file/file_data", "video_url/url", *_DOCUMENTS),
        "Media.file_id": ("file/file_id",),
        "Media.filename": ("file/filename", "document_name", "file_name"),
        "Media.transcript": ("transcript",),
        "Citation.url": ("url_citation/url",),
        "Citation.title": ("url_citation/title",),
        "Citation.cited_text": ("url_citation/content",),
        "Citation.start": ("url_citation/start_index",),
        "Citation.end": ("url_citation/end_index",),
        "TokenLogprob.top_logprobs": ("top_logprobs",),
        "Choice.logprobs": ("logprobs",),
        "Choice.refusal_logprobs": ("logprobs/refusal",),
        "Finish.reason": ("finish_reason",),
        "Finish.stop_sequence": ("stop_reason",),
        "Usage.input": ("prompt_tokens", "input_tokens"),
        "Usage.output": ("completion_tokens", "output_tokens"),
        "Usage.total": ("total_tokens",),
        "Usage.cache_read": (
            *(f"{at}/cached_tokens" for at in DETAILS[0]), "cached_tokens", "prompt_cache_hit_tokens", "cache_read_input_tokens",
        ),
        "Usage.cache_write": (*(f"{at}/cache_write_tokens" for at in DETAILS[0]), "cache_creation_input_tokens"),
        "Usage.reasoning": tuple(f"{at}/reasoning_tokens" for at in DETAILS[1]),
        "Usage.accepted_prediction": tuple(f"{at}/accepted_prediction_tokens" for at in DETAILS[1]),
        "Usage.rejected_prediction": tuple(f"{at}/rejected_prediction_tokens" for at in DETAILS[1]),
        **{
            f"Usage.{kind}_modality.{modality}": tuple(f"{at}/{modality}_tokens" for at in names)
            for kind, names in zip(("input", "output"), DETAILS, strict=True)
            for modality in ("text", "audio", "image", "video")
        },
        **ERROR_PLACES,
        "Model.display_name": ("name",),
        "Model.owner": ("owned_by",),
        "Model.input_limit": INPUT_LIMITS,
        "Model.output_limit": OUTPUT_LIMITS,
        "Model.retires_at": ("shutdown_date",),
    },
    rules={
        **{f"{kind}.cache_control": LossRule("info") for kind in ("Media", "Refusal", "Text")},
        "CacheMark.mode": LossRule("info", neutral=("explicit",)),
        **ERROR_RULES,
        **{
            f"Choice.{name}": LossRule("info", "diagnostic")
            for name in (
                "content_filter_offsets", "content_filter_results", "finish_details", "matched_stop", "message/index", "message/token_id",
                "native_finish_reason", "seed", "stop_reason",
            )
        },
        **{f"Choice.{name}": LossRule("info", "repeated") for name in ("delta", "message", "text")},
        "Choice.message/name": LossRule("info"),
        "Choice.message/parsed": LossRule("info", "unknown_field", restates="content"),
        **{f"{place}expires_at": LossRule("info", "diagnostic", neutral=(0,)) for place in ("Media.", "Choice.message/audio/")},
        **{f"Request.{pointer}": LossRule("info") for pointer in ("provider", "usage")},
        **{f"{kind}.prompt_cache_breakpoint": LossRule("info") for kind in ("Media", "Text")},
        "FunctionTool.eager_input_streaming": LossRule("info"),
        "Message.annotations": LossRule("info"),
        "Message.audio": LossRule("impossible", "foreign_id"),
        "Message.cache_control": LossRule("info"),
        "Message.name": LossRule("info"),
        "Message.parsed": LossRule("info", "unknown_field", restates="content"),
        "Message.function_call": LossRule(code="unknown_field", neutral=({"name": "", "arguments": ""},)),
        **{f"Message.{name}": LossRule(code="unknown_field", neutral=("",)) for name in (*TEXT_FIELDS, "refusal")},
        "Message.tool_call_id": LossRule("info", neutral=("",)),
        "Reasoning.closed": LossRule("info", "diagnostic", neutral=(True,)),
        **{
            f"{place}{name}": LossRule("info", "diagnostic")
            for name in ("format", "provider")
            for place in (
                "Reasoning.", "Reasoning./messages/*/reasoning_details/*/", "Reasoning./choices/*/message/reasoning_details/*/",
                "Choice.message/reasoning_details/*/",
            )
        },
        "Request.function_call": LossRule(code="excluded"),
        "Request.max_tokens": LossRule(code="excluded"),
        "Request.random_seed": LossRule(code="excluded"),
        "Request.reasoning_effort": LossRule(code="out_of_range"),
        **{
            f"Request.{pointer}": LossRule(code="excluded")
            for pointer in (
                "reasoning/effort", "reasoning/max_tokens", "reasoning/enabled", "thinking/type", "thinking/budget_tokens",
                "thinking_budget", "reasoning_budget_tokens", "thinking_budget_tokens", "thinking_token_budget", "enable_thinking",
                "chat_template_kwargs/enable_thinking", "chat_template_kwargs/thinking",
            )
        },
        **{
            f"Request.{pointer}": LossRule("info", "weaker_form", kind="changed", after="what the target shows by itself")
            for pointer in ("reasoning/exclude", "include_reasoning", "reasoning_format")
        },
        "Request.logit_bias": LossRule(code="no_counterpart", neutral=()),
        "Request.prediction": LossRule(),
        **{f"Response.{name}": LossRule() for name in ("citations", "search_results")},
        **{f"Response.{name}": LossRule("info", "diagnostic") for name in ("moderation", "service_tier", "system_fingerprint")},
        **{f"Usage.{pointer}": LossRule("info", "accounting") for pointer in ALIASES},
        **{f"Text.{name}": LossRule("info") for name in ("annotations", "logprobs")},
        "ToolCall.custom": LossRule(code="unknown_field", neutral=({"name": "", "input": ""},)),
        "ToolCall.function/parsed_arguments": LossRule("info", "unknown_field", restates="arguments"),
        f"ToolResult.{WHOLE_NODE}": LossRule("impossible", "orphan", kind="changed", after="the result of a call that has another id"),
    },
)  # fmt: skip
