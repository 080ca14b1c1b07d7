"""What the servers reject that users run themselves, besides the rules of their formats."""

from __future__ import annotations

from collections.abc import Mapping

import formatbridge as fb
from formatbridge.testing.vendor_rules import combination_checks as combinations
from formatbridge.testing.vendor_rules import item_checks, vllm
from formatbridge.testing.vendor_rules import server_checks as checks
from formatbridge.testing.vendor_rules.rule import Rule

_OLLAMA_RESPONSES = "ollama/ollama, openai/responses.go"
_CHAT = "chat_completions"
_SGLANG = "sgl-project/sglang, ChatCompletionRequest"
_STILL_IMAGES = ("jpeg", "jpg", "png", "webp")
_OLLAMA_IMAGES = "ollama/ollama, openai/openai.go, decodeImageURL"

SELF_HOSTED: Mapping[str, Mapping[fb.FormatName, tuple[Rule, ...]]] = {
    "llamacpp": {
        _CHAT: (
            combinations.logprobs_without_streamed_tools(
                "ggml-org/llama.cpp, tools/server/server-common.cpp", "logprobs is not supported with tools + stream"
            ),
            combinations.prefill_without_reasoning(
                "ggml-org/llama.cpp#20861", "Assistant response prefill is incompatible with enable_thinking."
            ),
            checks.common_roles("abetlen/llama-cpp-python, llama_types.py", has_function_role=True),
            checks.tool_choices("abetlen/llama-cpp-python, llama_types.py", "none", "auto", "required"),
            checks.functions_only("ggml-org/llama.cpp, common/chat.cpp"),
            checks.no_fields("ggml-org/llama.cpp, tools/server/README.md", "web_search_options"),
            checks.part_types("ggml-org/llama.cpp#17700", "text", "image_url", "input_audio"),
        )
    },
    "lmstudio": {
        _CHAT: (
            checks.functions_only("lmstudio.ai/docs/developer/openai-compat/tools"),
            checks.common_roles("lmstudio-ai/lmstudio-bug-tracker#669"),
            checks.no_fields("lmstudio.ai/docs/developer/openai-compat/chat-completions", "web_search_options"),
            checks.tool_choices("lmstudio-ai/lmstudio-bug-tracker#670", "none", "auto", "required", accepts_functions=False),
            checks.part_types("lmstudio-ai/lmstudio-bug-tracker#1120", "text", "image_url"),
            checks.data_only("lmstudio-ai/lmstudio-bug-tracker#1120"),
            checks.response_formats("lmstudio-ai/lmstudio-bug-tracker#189", "text", "json_schema"),
            checks.known_efforts("yoy123/lmstudio-copilot-provider#35", "none", "low", "medium", "high"),
        )
    },
    "ollama": {
        _CHAT: (
            checks.no_fields("ollama/ollama, openai/openai.go", "web_search_options"),
            checks.functions_only("ollama/ollama, openai/openai.go"),
            checks.arguments_of_calls("ollama/ollama, openai/openai.go, FromCompletionToolCall", "invalid tool call arguments"),
            checks.part_types("ollama/ollama, openai/openai.go", "text", "image_url"),
            checks.data_only("ollama/ollama, openai/openai.go"),
            checks.image_types(_OLLAMA_IMAGES, *_STILL_IMAGES, message="invalid image input"),
            checks.known_efforts("ollama/ollama, openai/openai.go", "none", "low", "medium", "high", "max"),
        ),
        "responses": (
            item_checks.common_items(_OLLAMA_RESPONSES, "unknown input item type"),
            item_checks.arguments_of_calls(_OLLAMA_RESPONSES, "failed to parse function call arguments"),
            Rule(
                "part_type",
                "a file, a refusal, or an image whose URL is not a `data:` URL",
                _OLLAMA_RESPONSES,
                item_checks.check_ollama_parts,
            ),
            checks.image_types(_OLLAMA_IMAGES, *_STILL_IMAGES, message="invalid image input"),
            item_checks.known_efforts_of_reasoning(_OLLAMA_RESPONSES, "none", "low", "medium", "high", "max"),
            checks.functions_only(_OLLAMA_RESPONSES),
        ),
    },
    "sglang": {
        _CHAT: (
            checks.no_nulls(_SGLANG),
            checks.in_range("hiyouga/LlamaFactory#10710", "top_p", 1e-9, 1),
            checks.part_types(_SGLANG, "text", "image_url", "video_url", "audio_url", "input_audio", "thinking", "tool_reference"),
            checks.common_roles("sgl-project/sglang#40082", has_function_role=True),
            checks.no_fields(_SGLANG, "web_search_options"),
            checks.functions_only(_SGLANG),
            checks.arguments_of_calls("sgl-project/sglang#28035", "Assistant tool call function.arguments must be valid JSON."),
            checks.tool_choices(_SGLANG, "none", "auto", "required"),
        )
    },
    "vllm": {
        _CHAT: (
            checks.common_roles("vllm-project/vllm#42407"),
            checks.in_range("EvolvingLMMs-Lab/lmms-eval#1265", "top_p", 1e-9, 1),
            combinations.no_prompt_after_continuation("vllm-project/vllm, check_generation_prompt"),
            combinations.one_with_greedy_sampling("vllm-project/vllm, vllm/sampling_params.py, _verify_greedy_sampling", "n"),
            checks.no_fields("vllm-project/vllm, ChatCompletionRequest", "web_search_options"),
            checks.functions_only("vllm-project/vllm, ChatCompletionRequest"),
            checks.part_types(
                "vllm-project/vllm#57774",
                "text",
                "refusal",
                "image_url",
                "image_embeds",
                "audio_url",
                "input_audio",
                "video_url",
                "thinking",
                "tool_reference",
            ),
            checks.tool_choices("vllm-project/vllm, ChatCompletionRequest", "none", "auto", "required"),
        ),
        "responses": vllm.RESPONSES,
    },
}
"""The rules by the name of a dialect and by format."""
