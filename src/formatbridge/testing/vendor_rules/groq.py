"""What Groq rejects, in requests of Chat Completions and of Responses."""

from __future__ import annotations

from formatbridge.testing.vendor_rules import combination_checks as combinations
from formatbridge.testing.vendor_rules import responses_checks, schema_checks
from formatbridge.testing.vendor_rules import server_checks as checks

_SDK = "groq/groq-python, completion_create_params.py"
_TYPES = "GroqCloud API specification 2.1, CreateResponseRequest"
_PAGE = "console.groq.com/docs/responses-api"

CHAT = (
    combinations.format_without_tools("agno-agi/agno#1065", "json mode cannot be combined with tool/function calling"),
    combinations.schema_without_stream(
        "console.groq.com/docs/structured-outputs, jgravelle/GroqApiLibrary#33", "response_format does not support streaming"
    ),
    schema_checks.no_schema_keywords("i-am-bee/beeai-framework#1215, presenton/presenton#165", "minItems", "maxItems"),
    combinations.raw_reasoning_alone("console.groq.com/docs/reasoning"),
    checks.not_both("console.groq.com/docs/reasoning", "include_reasoning", "reasoning_format"),
    checks.part_types(_SDK, "text", "image_url"),
    checks.tool_choices(_SDK, "none", "auto", "required"),
    checks.service_tiers(_SDK, "auto", "on_demand", "flex", "performance"),
    checks.no_fields(_SDK, "audio", "modalities", "moderation", "prompt_cache_options", "safety_identifier"),
    checks.no_fields(_SDK, "web_search_options"),
    checks.no_fields("eigent-ai/eigent#1827", "prompt_cache_key", message="property 'prompt_cache_key' is unsupported"),
    checks.no_fields("CherryHQ/cherry-studio#11435", "verbosity", message="property 'verbosity' is unsupported"),
    checks.no_fields(
        "immersive-translate/immersive-translate#3016",
        "chat_template_kwargs",
        message="property 'chat_template_kwargs' is unsupported",
    ),
    checks.no_fields("console.groq.com/docs/openai", "logprobs", "top_logprobs", "logit_bias"),
    checks.no_keys("console.groq.com/docs/openai", "name", roles=("system", "developer", "user", "assistant", "tool")),
    checks.no_keys(
        "janhq/jan#8136, NousResearch/hermes-agent#70233, groq/groq-python, chat_completion_assistant_message_param.py",
        *("reasoning_content", "reasoning_details", "thinking_blocks", "refusal", "annotations", "audio"),
    ),
    checks.functions_only(_SDK, prefix=("browser_search", "code_interpreter")),
    checks.at_most(_SDK, "tools", 128),
)
"""The rules of Groq for chat_completions."""

RESPONSES = (
    checks.no_fields(
        f"{_PAGE}, Unsupported Features; {_TYPES}",
        "background",
        "context_management",
        "conversation",
        "include",
        "max_tool_calls",
        "moderation",
        "previous_response_id",
        "prompt",
        "prompt_cache_key",
        "prompt_cache_options",
        "prompt_cache_retention",
        "safety_identifier",
        "stream_options",
        "top_logprobs",
        message="property is unsupported",
    ),
    responses_checks.store_is_false(_TYPES, "store currently only supports false or null values"),
    checks.service_tiers(_TYPES, "auto", "default", "flex"),
    checks.tool_choices(f"{_TYPES}, ResponseNamedToolChoice", "none", "auto", "required", accepts_functions=False),
    checks.at_most(_TYPES, "tools", 128),
    responses_checks.tool_types(
        f"{_TYPES}, ResponseTool; {_PAGE}, Built-In Tools", 400, "function", "mcp", "code_interpreter", "browser_search"
    ),
    responses_checks.known_efforts_of_reasoning(_TYPES, "low", "medium", "high"),
    responses_checks.no_items_of_openai(f"{_TYPES}, ResponseInputItem", 400, "unknown input item type"),
    responses_checks.part_types_of_items(
        f"{_PAGE}, Image Inputs; {_TYPES}, ResponseInputContent", "input_text", "output_text", "input_image"
    ),
    combinations.format_without_tools(
        "console.groq.com/docs/structured-outputs", "tool use is not supported with structured outputs"
    ),
    combinations.schema_without_stream(
        "console.groq.com/docs/structured-outputs", "streaming is not supported with structured outputs"
    ),
)
"""The rules of Groq for responses."""
