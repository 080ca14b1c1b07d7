"""How servers read requests of Responses."""

from __future__ import annotations

from collections.abc import Mapping

from formatbridge.dialect import DialectRules

RESPONSES: Mapping[str, DialectRules] = {
    "openai": DialectRules(server="OpenAI"),
    "azure": DialectRules(server="Azure OpenAI"),
    "ollama": DialectRules(
        server="Ollama",
        rejects=frozenset({"previous_response_id"}),
        ignores=frozenset({"background", "conversation", "include", "tool_choice"}),
        custom_tools=False,
        server_tools=frozenset(),
        generated_images=False,
        cache_marks="none",
        sources={
            "cache_marks": "github.com/ollama/ollama openai/responses.go",
            "generated_images": "github.com/ollama/ollama openai/responses.go",
            "rejects": "github.com/ollama/ollama openai/responses.go",
            "ignores": "github.com/ollama/ollama openai/responses.go",
            "custom_tools": "github.com/ollama/ollama openai/responses.go",
            "server_tools": "github.com/ollama/ollama openai/responses.go",
        },
    ),
    "openrouter": DialectRules(
        server="OpenRouter",
        rejects=frozenset({"previous_response_id"}),
        sources={"rejects": "openrouter.ai/docs/api_reference/responses/error-handling"},
    ),
    "vllm": DialectRules(
        server="vLLM",
        ignores=frozenset({"prompt_cache_key", "safety_identifier"}),
        unsigned_reasoning=True,
        cache_marks="none",
        sources={
            "cache_marks": "github.com/vllm-project/vllm vllm/entrypoints/openai/responses/protocol.py",
            "ignores": "github.com/vllm-project/vllm vllm/entrypoints/openai/responses/protocol.py",
            "unsigned_reasoning": "github.com/vllm-project/vllm vllm/entrypoints/openai/responses/protocol.py",
        },
    ),
    "xai": DialectRules(
        server="xAI",
        ignores=frozenset({"background", "metadata", "service_tier", "truncation"}),
        cache_marks="none",
        sources={
            "cache_marks": "reference.langchain.com, XAIResponsesCreateParams",
            "ignores": "reference.langchain.com, XAIResponsesCreateParams",
        },
    ),
}
"""Name of a dialect to its rules."""
