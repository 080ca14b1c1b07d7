"""How servers read requests of Messages."""

from __future__ import annotations

from collections.abc import Mapping

from formatbridge.dialect import DialectRules, MediaSource

_DATA: frozenset[MediaSource] = frozenset({"image_data", "document_data"})
_SYSTEM = "BerriAI/litellm#33807, BerriAI/litellm#32831: models before Claude Sonnet 5"

MESSAGES: Mapping[str, DialectRules] = {
    "anthropic": DialectRules(server="Anthropic"),
    "bedrock": DialectRules(
        server="Amazon Bedrock",
        later_instructions=False,
        server_tools=frozenset(),
        media=_DATA,
        sources={
            "later_instructions": _SYSTEM,
            "server_tools": "clauder-navi.com/articles/bedrock-claude-web",
            "media": "anomalyco/opencode#46430",
        },
    ),
    "deepseek": DialectRules(
        server="DeepSeek",
        later_instructions=False,
        ignores=frozenset({"container", "mcp_servers", "service_tier", "top_k"}),
        forced_call_excludes_reasoning=True,
        media=frozenset(),
        cache_marks="none",
        sources={
            "later_instructions": "deepseek-ai/awesome-deepseek-integration#639, deepseek-ai/DeepSeek-V3#1370",
            "forced_call_excludes_reasoning": "deepseek-ai/awesome-deepseek-integration#598, deepseek-ai/DeepSeek-V3#1376",
            "ignores": "api-docs.deepseek.com/guides/anthropic_api, Anthropic API Compatibility Details",
            "media": "api-docs.deepseek.com/guides/anthropic_api, Message Fields",
            "cache_marks": "api-docs.deepseek.com/guides/anthropic_api, Message Fields",
        },
    ),
    "minimax": DialectRules(
        server="MiniMax",
        later_instructions=False,
        ignores=frozenset({"top_k", "stop_sequences", "service_tier", "mcp_servers", "context_management", "container"}),
        media=frozenset(),
        output_formats=frozenset(),
        sources={
            "later_instructions": "codexu/note-gen#918",
            "output_formats": "decolua/9router#817",
            "ignores": "platform.minimax.io/docs/api-reference/text-anthropic-api, Supported Parameters",
            "media": "platform.minimax.io/docs/api-reference/text-anthropic-api, Messages Field Support",
        },
    ),
    "moonshot": DialectRules(server="Moonshot"),
    "openrouter": DialectRules(server="OpenRouter"),
    "vertex": DialectRules(
        server="Vertex AI",
        later_instructions=False,
        media=_DATA,
        sources={"later_instructions": _SYSTEM, "media": "anthropics/anthropic-sdk-typescript#1038"},
    ),
    "zhipu": DialectRules(server="Zhipu"),
}
"""Name of a dialect to its rules."""
