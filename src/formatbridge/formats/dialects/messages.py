"""How servers read requests of Messages."""

from __future__ import annotations

from collections.abc import Mapping

from formatbridge.dialect import DialectRules, MediaSource
from formatbridge.formats.dialects.common import IMAGES, IMAGES_AND_VIDEOS, sources_of_fields

_DATA: frozenset[MediaSource] = frozenset({"image_data", "document_data"})
_CLIENT_TOOLS = frozenset({
    "bash_20241022", "bash_20250124", "computer_20241022", "computer_20250124", "computer_20251124", "memory_20250818",
    "text_editor_20241022", "text_editor_20250124", "text_editor_20250429", "text_editor_20250728",
})  # fmt: skip
"""The types of tools that Anthropic defines and the caller runs."""
_SYSTEM = "BerriAI/litellm#33807, BerriAI/litellm#32831: models before Claude Sonnet 5"
_AVAILABILITY = "platform.claude.com/docs/en/build-with-claude/overview, Availability"
"""The table of the features that Anthropic's models have on each cloud."""
_SEARCH_OF_BEDROCK = "platform.claude.com/docs/en/agents-and-tools/tool-use/tool-search-tool, InvokeModel"
_ANTHROPICS_FIELDS = frozenset({"container", "fallbacks", "inference_geo", "mcp_servers"})
"""Fields of features that only Anthropic's servers have: code execution and skills, fallback models, data residency, MCP servers.

Source: ``_AVAILABILITY``.
"""
_ANTHROPICS_BLOCKS = frozenset({"container_upload"})

MESSAGES: Mapping[str, DialectRules] = {
    "anthropic": DialectRules(server="Anthropic"),
    "bedrock": DialectRules(
        server="Amazon Bedrock",
        accepts_later_instructions=False,
        rejects=_ANTHROPICS_FIELDS | {"cache_control", "speed"},
        rejects_nested=frozenset({"tools/*/eager_input_streaming"}),
        rejects_blocks=_ANTHROPICS_BLOCKS,
        server_tools=_CLIENT_TOOLS | {"tool_search"},
        tool_types=dict.fromkeys(
            ("tool_search_tool_bm25", "tool_search_tool_bm25_20251119", "tool_search_tool_regex_20251119"), "tool_search_tool_regex"
        ),
        media=_DATA,
        sources=sources_of_fields(
            {
                _SYSTEM: "accepts_later_instructions",
                f"{_AVAILABILITY}; {_SEARCH_OF_BEDROCK}; effect-ts.github.io/effect/ai/amazon-bedrock/AmazonBedrockTool.ts.html": (
                    "server_tools"
                ),
                "docs.litellm.ai/docs/providers/anthropic_tool_search; BerriAI/litellm#28209": "tool_types",
                "anomalyco/opencode#46430": "media",
                "anthropics/claude-agent-sdk-python#694, anthropics/claude-code#32820": "rejects_nested",
                f"{_AVAILABILITY}; anthropics/claude-cookbooks#311": "rejects rejects_blocks",
                "UKGovernmentBEIS/inspect_ai#3851; platform.claude.com/docs/en/build-with-claude/prompt-caching, Edge cases": (
                    "rejects.cache_control"
                ),
                "platform.claude.com/docs/en/build-with-claude/fast-mode, Availability": "rejects.speed",
            }
        ),
    ),
    "deepseek": DialectRules(
        server="DeepSeek",
        accepts_later_instructions=False,
        ignores=frozenset({"container", "mcp_servers", "service_tier", "top_k"}),
        ignores_while_reasoning=frozenset({"temperature"}),
        forced_call_excludes_reasoning=True,
        reasoning_excludes_settings=False,
        reasoning_history="required",
        accepts_unsigned_reasoning=True,
        media=IMAGES | {"image_file_id"},
        cache_marks="none",
        ignores_nested=frozenset(
            {
                "thinking/budget_tokens",
                "tool_choice/disable_parallel_tool_use",
                "messages/*/content/*/is_error",
                "messages/*/content/*/citations",
                "output_config/task_budget",
            }
        ),
        rejects_blocks=frozenset(
            {
                "bash_code_execution_tool_result",
                "code_execution_tool_result",
                "container_upload",
                "mcp_tool_result",
                "mcp_tool_use",
                "redacted_thinking",
                "search_result",
                "text_editor_code_execution_tool_result",
            }
        ),
        server_tools=_CLIENT_TOOLS | {"web_search"},
        output_formats=frozenset({"json_object"}),
        tool_modes=frozenset({"auto", "none", "named"}),
        efforts=frozenset({"none", "low", "high", "max"}),
        replaced_efforts={"medium": "high", "xhigh": "high"},
        sources=sources_of_fields(
            {
                "deepseek-ai/awesome-deepseek-integration#639, deepseek-ai/DeepSeek-V3#1370": "accepts_later_instructions",
                "deepseek-ai/awesome-deepseek-integration#598, deepseek-ai/DeepSeek-V3#1376": "forced_call_excludes_reasoning",
                "api-docs.deepseek.com/api/create-message, tool_choice; maximhq/bifrost#5176": "tool_modes",
                "api-docs.deepseek.com/guides/thinking_mode, Tool Calls; QwenLM/qwen-code#3788, "
                "musistudio/claude-code-router#1639": "reasoning_history",
                "NousResearch/hermes-agent#17510, can1357/oh-my-pi#908": "accepts_unsigned_reasoning",
                "api-docs.deepseek.com/guides/anthropic_api, Simple Fields": (
                    "ignores ignores_nested output_formats reasoning_excludes_settings"
                ),
                "api-docs.deepseek.com/guides/anthropic_api, Message Fields": "cache_marks rejects_blocks server_tools",
                "api-docs.deepseek.com/guides/thinking_mode": "efforts replaced_efforts ignores_while_reasoning",
                "api-docs.deepseek.com/api/create-message, Uploaded image file; Stack-Cairn/LiveAgent#795": "media",
            }
        ),
    ),
    "minimax": DialectRules(
        server="MiniMax",
        accepts_later_instructions=False,
        ignores=frozenset({"top_k", "stop_sequences", "service_tier", "mcp_servers", "context_management", "container"}),
        reasoning_control="thinking_adaptive",
        accepts_unsigned_reasoning=True,
        server_tools=frozenset(),
        media=IMAGES_AND_VIDEOS,
        ranges={"temperature": (0.01, 1), "top_p": (0.01, 1)},
        reasoning_excludes_settings=False,
        output_formats=frozenset({"json_object"}),
        sources=sources_of_fields(
            {
                "codexu/note-gen#918": "accepts_later_instructions",
                "earendil-works/pi#6658, HenriGrimm/Minnow#364, chaitin/MonkeyCode#1175, anomalyco/opencode#38149": "reasoning_control",
                "NousResearch/hermes-agent#75779, NousResearch/hermes-agent#75748": "accepts_unsigned_reasoning",
                "ding113/claude-code-hub#1262, MiniMax-AI/MiniMax-M3#23": "server_tools",
                "decolua/9router#817": "output_formats",
                "platform.minimax.io/docs/api-reference/text-anthropic-api, Supported Parameters": "ignores reasoning_excludes_settings",
                "platform.minimax.io/docs/api-reference/text-chat-anthropic": "media",
                "NousResearch/hermes-agent#37225, lobehub/lobehub#15380": "media.video_url media.video_data",
                "platform.minimax.io/docs/api-reference/text-chat; HKUDS/Vibe-Trading#33": "ranges",
            }
        ),
    ),
    "moonshot": DialectRules(
        server="Moonshot",
        reasoning_history="required_with_thinking",
        accepts_unsigned_reasoning=True,
        efforts=frozenset({"none", "low", "high", "max"}),
        replaced_efforts={"medium": "high", "xhigh": "max"},
        media=_DATA | {"file_id"},
        tool_types=dict.fromkeys(("web_search_20260209", "web_search_20260318"), "web_search_20250305"),
        sources=sources_of_fields(
            {
                "open-octo/octo-agent#1885": "tool_types",
                "NousResearch/hermes-agent#14018, NousResearch/hermes-agent#17057": "reasoning_history accepts_unsigned_reasoning",
                "anomalyco/models.dev#3310": "efforts",
                "NousResearch/hermes-agent#76427": "replaced_efforts",
                "platform.kimi.ai/docs/guide/use-kimi-vision-model; OpenHands/software-agent-sdk#3155, "
                "OpenHands/software-agent-sdk#3219": "media",
            }
        ),
    ),
    "openrouter": DialectRules(server="OpenRouter"),
    "vertex": DialectRules(
        server="Vertex AI",
        accepts_later_instructions=False,
        rejects=_ANTHROPICS_FIELDS,
        rejects_blocks=_ANTHROPICS_BLOCKS,
        server_tools=_CLIENT_TOOLS | {"browser_toolset_20260801", "computer_toolset_20260801", "tool_search", "web_search"},
        tool_types=dict.fromkeys(("web_search_20260209", "web_search_20260318"), "web_search_20250305"),
        rejects_nested=frozenset({"tools/*/response_inclusion"}),
        media=_DATA,
        sources=sources_of_fields(
            {
                _SYSTEM: "accepts_later_instructions",
                "anthropics/anthropic-sdk-typescript#1038": "media",
                f"{_AVAILABILITY}; anthropics/claude-cookbooks#311": "rejects rejects_blocks",
                f"{_AVAILABILITY}; coder/xum#2922": "server_tools",
                "platform.claude.com/docs/en/agents-and-tools/tool-use/web-search-tool, Dynamic filtering; coder/xum#2922": (
                    "tool_types rejects_nested"
                ),
            }
        ),
    ),
    "zhipu": DialectRules(
        server="Zhipu",
        accepts_later_instructions=False,
        budget_requires_effort=True,
        sources=sources_of_fields(
            {
                "zai-org/GLM-5#74, diegosouzapw/OmniRoute#1447": "accepts_later_instructions",
                "NousResearch/hermes-agent#91006, TriDefender/zcode-api#32: GLM-5": "budget_requires_effort",
            }
        ),
    ),
}
"""Name of a dialect to its rules."""
