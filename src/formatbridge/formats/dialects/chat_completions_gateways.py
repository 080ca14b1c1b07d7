"""Rules of the gateways that accept Chat Completions requests for the servers of several vendors."""

from __future__ import annotations

from collections.abc import Mapping

from formatbridge.dialect import DialectRules
from formatbridge.formats.dialects.common import FILES_OF_OPENAI, IMAGES, MAX_TOKENS, WHY_NO_CACHE_MARKS, sources_of_fields

_OTHER_AUDIO = frozenset({"audio/flac", "audio/m4a", "audio/ogg", "audio/aiff", "audio/aac", "audio/pcm16", "audio/pcm24"})
"""The types of audio that OpenRouter reads besides those of OpenAI (its typescript-sdk, ``ChatContentAudioInputAudio``)."""

GATEWAYS: Mapping[str, DialectRules] = {
    "huggingface": DialectRules(
        server="Hugging Face",
        cache_marks="none",
        names=MAX_TOKENS,
        ignores=frozenset({"logit_bias", "n", "web_search_options"}),
        has_custom_tools=False,
        server_tools=frozenset(),
        accepts_allowed_tools=False,
        ranges={"top_logprobs": (0, 5)},
        most_stops=4,
        media=IMAGES,
        accepts_refusals=False,
        sources=sources_of_fields({
            WHY_NO_CACHE_MARKS: "cache_marks",
            "github.com/huggingface/huggingface_hub src/huggingface_hub/inference/_generated/types/chat_completion.py": (
                "names ignores has_custom_tools server_tools accepts_allowed_tools ranges most_stops media accepts_refusals"
            ),
        }),
    ),
    "litellm": DialectRules(
        server="LiteLLM",
        cache_marks="cache_control",
        reads=frozenset({"top_k"}),
        reasoning_control="thinking_or_effort",
        controls_of_models={"effort": "reasoning_effort"},
        sources=sources_of_fields({
            "docs.litellm.ai/docs/completion/prompt_caching": "cache_marks",
            "docs.litellm.ai/docs/reasoning_content": "reasoning_control",
            "BerriAI/litellm#30218, #9380": "controls_of_models",
            "docs.litellm.ai/docs/completion/provider_specific_params": "reads",
        }),
    ),
    "openrouter": DialectRules(
        server="OpenRouter",
        ignores=frozenset({"n"}),
        reads=frozenset({"automatic_cache", "top_k"}),
        has_custom_tools=False,
        filtering_tool="openrouter:web_search",
        document_part="file",
        file_types=FILES_OF_OPENAI | _OTHER_AUDIO,
        accepts_allowed_tools=False,
        cache_marks="cache_control",
        reasoning_control="reasoning",
        reasoning_history="reasoning",
        sources=sources_of_fields({
            "OpenRouterArchived/openrouter-runner#99, cosmicoptima/loom#21": "ignores",
            "pydantic/pydantic-ai#2599": "file_types",
            "openrouter.ai/docs/guides/overview/multimodal/pdfs": "document_part",
            "openrouter.ai/docs/api-reference/parameters, Top K": "reads",
            "openrouter.ai/docs/sdks/python/api-reference/components/chatrequest, cache_control": "reads.automatic_cache",
            "openrouter.ai/docs/client-sdks/typescript, ChatFunctionTool, ChatToolChoice": "has_custom_tools accepts_allowed_tools",
            "openrouter.ai/docs/guides/features/server-tools/web-search; "
            "github.com/OpenRouterTeam/typescript-sdk src/models/websearchservertoolconfig.ts": "filtering_tool",
            "openrouter.ai/docs/client-sdks/typescript/models/anthropiccachecontroldirective": "cache_marks",
            "openrouter.ai/docs/use-cases/reasoning-tokens, Controlling Reasoning Tokens": "reasoning_control",
            "openrouter.ai/docs/client-sdks/typescript, ChatAssistantMessage": "reasoning_history",
        }),
    ),
    "vercel_gateway": DialectRules(
        server="Vercel AI Gateway",
        cache_marks="cache_control",
        reasoning_control="reasoning",
        sources=sources_of_fields({
            "vercel.com/docs/ai-gateway/models-and-providers/automatic-caching": "cache_marks",
            "vercel.com/docs/ai-gateway/openai-compat/advanced": "reasoning_control",
        }),
    ),
}  # fmt: skip
