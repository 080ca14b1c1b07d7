"""What Groq rejects in requests of Responses."""

from __future__ import annotations

from formatbridge.testing.vendor_rules import combination_checks as combinations
from formatbridge.testing.vendor_rules import item_checks
from formatbridge.testing.vendor_rules import server_checks as checks

_TYPES = "GroqCloud API specification 2.1, CreateResponseRequest"
_PAGE = "console.groq.com/docs/responses-api"

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
    combinations.store_is_false(_TYPES, "store currently only supports false or null values"),
    checks.service_tiers(_TYPES, "auto", "default", "flex"),
    checks.tool_choices(f"{_TYPES}, ResponseNamedToolChoice", "none", "auto", "required", accepts_functions=False),
    checks.at_most(_TYPES, "tools", 128),
    item_checks.tool_types(
        f"{_TYPES}, ResponseTool; {_PAGE}, Built-In Tools", 400, "function", "mcp", "code_interpreter", "browser_search"
    ),
    item_checks.known_efforts_of_reasoning(_TYPES, "low", "medium", "high"),
    item_checks.no_items_of_openai(f"{_TYPES}, ResponseInputItem", 400, "unknown input item type"),
    item_checks.part_types(f"{_PAGE}, Image Inputs; {_TYPES}, ResponseInputContent", "input_text", "output_text", "input_image"),
    combinations.format_without_tools(
        "console.groq.com/docs/structured-outputs", "tool use is not supported with structured outputs"
    ),
    combinations.schema_without_stream(
        "console.groq.com/docs/structured-outputs", "streaming is not supported with structured outputs"
    ),
)
"""The rules of Groq for responses."""
