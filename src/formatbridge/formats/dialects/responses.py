"""How servers read requests of Responses."""

from __future__ import annotations

from collections.abc import Mapping

from formatbridge.dialect import DialectRules

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
        sources={
            "efforts": "github.com/ollama/ollama openai/responses.go",
            "output_formats": "github.com/ollama/ollama openai/responses.go",
            "media": "github.com/ollama/ollama openai/responses.go",
            "refusals": "github.com/ollama/ollama openai/responses.go",
            "cache_marks": "github.com/ollama/ollama openai/responses.go",
            "generated_images": "github.com/ollama/ollama openai/responses.go",
            "rejects": "github.com/ollama/ollama openai/responses.go",
            "ignores": "github.com/ollama/ollama openai/responses.go",
            "later_configuration": "github.com/ollama/ollama openai/responses.go",
            "item_types": "github.com/ollama/ollama openai/responses.go",
            "custom_tools": "ollama/ollama#17673",
            "namespaces": "ollama/ollama#17618, #18284",
            "tool_search": "github.com/ollama/ollama openai/responses.go",
            "server_tools": "github.com/ollama/ollama openai/responses.go",
        },
    ),
    "openrouter": DialectRules(
        server="OpenRouter",
        rejects=frozenset({"previous_response_id"}),
        namespaces=False,
        sources={
            "rejects": "openrouter.ai/docs/api_reference/responses/error-handling",
            "namespaces": "openai/codex#18307, awsl-project/maxx#537",
        },
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
        sources={
            "cache_marks": "github.com/vllm-project/vllm vllm/entrypoints/openai/responses/protocol.py",
            "ignores": "github.com/vllm-project/vllm vllm/entrypoints/openai/responses/protocol.py",
            "later_configuration": "vllm-project/vllm#42475",
            "custom_tools": "github.com/vllm-project/vllm vllm/entrypoints/openai/responses/utils.py",
            "namespaces": "vllm-project/vllm#46737, #49493",
            "tool_search": "vllm-project/vllm#42475",
            "server_tools": "vllm-project/vllm#42475",
            "unsigned_reasoning": "github.com/vllm-project/vllm vllm/entrypoints/openai/responses/protocol.py",
            "encrypted_reasoning": "github.com/vllm-project/vllm vllm/entrypoints/openai/responses/utils.py",
        },
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
        sources={
            "cache_marks": "reference.langchain.com, XAIResponsesCreateParams",
            "ignores": "reference.langchain.com, XAIResponsesCreateParams",
            "later_configuration": "router-for-me/CLIProxyAPI#4434",
            "custom_tools": "james-6-23/codex2api#516",
            "namespaces": "maximhq/bifrost#5428",
            "tool_search": "maximhq/bifrost#5428",
            "server_tools": "maximhq/bifrost#5428",
            "tool_types": "maximhq/bifrost#5428",
            "rejects_in_tools": "NOirBRight/CodexHub#517",
        },
    ),
}
"""Name of a dialect to its rules."""
