"""How servers read requests of Responses."""

from __future__ import annotations

from collections.abc import Mapping

from formatbridge.dialect import DialectRules
from formatbridge.formats.dialects.sources import sources_of_fields

_VLLM_TOOLS = frozenset({
    "web_search", "code", "image_generation", "mcp", "file_search", "local_shell", "shell", "apply_patch", "computer_use_preview",
})  # fmt: skip
_XAI_TOOLS = frozenset({
    "web_search", "code", "image_generation", "mcp", "x_search", "collections_search", "file_search", "code_execution", "shell",
})  # fmt: skip

RESPONSES: Mapping[str, DialectRules] = {
    "openai": DialectRules(server="OpenAI"),
    "azure": DialectRules(server="Azure OpenAI"),
    "ollama": DialectRules(
        server="Ollama",
        rejects=frozenset({"previous_response_id"}),
        ignores=frozenset({"background", "conversation", "include", "tool_choice"}),
        later_configuration=False,
        item_types=frozenset({"message", "function_call", "function_call_output", "reasoning"}),
        custom_tools=False,
        namespaces=False,
        tool_search=False,
        server_tools=frozenset(),
        efforts=frozenset({"none", "low", "medium", "high", "max"}),
        output_formats=frozenset({"json_schema"}),
        media=frozenset({"image_data"}),
        generated_images=False,
        refusals=False,
        cache_marks="none",
        sources=sources_of_fields(
            {
                "github.com/ollama/ollama openai/responses.go": (
                    "efforts output_formats media refusals cache_marks generated_images rejects ignores "
                    "later_configuration item_types tool_search server_tools"
                ),
                "ollama/ollama#17673": "custom_tools",
                "ollama/ollama#17618, #18284": "namespaces",
            }
        ),
    ),
    "openrouter": DialectRules(
        server="OpenRouter",
        rejects=frozenset({"previous_response_id"}),
        namespaces=False,
        sources=sources_of_fields(
            {
                "openrouter.ai/docs/api_reference/responses/error-handling": "rejects",
                "openai/codex#18307, awsl-project/maxx#537": "namespaces",
            }
        ),
    ),
    "vllm": DialectRules(
        server="vLLM",
        ignores=frozenset({"prompt_cache_key", "safety_identifier"}),
        later_configuration=False,
        custom_tools=False,
        namespaces=False,
        tool_search=False,
        server_tools=_VLLM_TOOLS,
        unsigned_reasoning=True,
        encrypted_reasoning=False,
        cache_marks="none",
        sources=sources_of_fields(
            {
                "github.com/vllm-project/vllm vllm/entrypoints/openai/responses/protocol.py": "cache_marks ignores unsigned_reasoning",
                "vllm-project/vllm#42475": "later_configuration tool_search server_tools",
                "github.com/vllm-project/vllm vllm/entrypoints/openai/responses/utils.py": "custom_tools encrypted_reasoning",
                "vllm-project/vllm#46737, #49493": "namespaces",
            }
        ),
    ),
    "xai": DialectRules(
        server="xAI",
        ignores=frozenset({"background", "metadata", "service_tier", "truncation"}),
        later_configuration=False,
        custom_tools=False,
        namespaces=False,
        tool_search=False,
        server_tools=_XAI_TOOLS,
        tool_types=dict.fromkeys(("web_search_preview", "web_search_preview_2025_03_11", "web_search_2025_08_26"), "web_search"),
        rejects_in_tools=frozenset({"external_web_access"}),
        cache_marks="none",
        sources=sources_of_fields(
            {
                "reference.langchain.com, XAIResponsesCreateParams": "cache_marks ignores",
                "router-for-me/CLIProxyAPI#4434": "later_configuration",
                "james-6-23/codex2api#516": "custom_tools",
                "maximhq/bifrost#5428": "namespaces tool_search server_tools tool_types",
                "NOirBRight/CodexHub#517": "rejects_in_tools",
            }
        ),
    ),
}
"""Name of a dialect to its rules."""
