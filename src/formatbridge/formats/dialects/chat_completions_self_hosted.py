"""Rules of the servers that accept Chat Completions requests and that users run themselves."""

from __future__ import annotations

from collections.abc import Mapping

from formatbridge.dialect import DialectRules
from formatbridge.formats.dialects.common import (
    IMAGES_AND_VIDEOS,
    MAX_TOKENS,
    OF_OPENAI,
    STILL_IMAGES,
    WEB_SEARCH,
    WHY_NO_CACHE_MARKS,
    sources_of_fields,
)

_VLLM = "github.com/vllm-project/vllm vllm/entrypoints/openai/chat_completion/protocol.py, ChatCompletionRequest"
_SGLANG = "github.com/sgl-project/sglang python/sglang/srt/entrypoints/openai/protocol.py, ChatCompletionRequest"
_OLLAMA = "github.com/ollama/ollama openai/openai.go, ChatCompletionRequest"

SELF_HOSTED: Mapping[str, DialectRules] = {
    "llamacpp": DialectRules(
        server="llama.cpp",
        cache_marks="none",
        ignores=WEB_SEARCH,
        reads=frozenset({"top_k"}),
        has_custom_tools=False,
        server_tools=frozenset(),
        reasoning_control="kwarg_or_budget_tokens",
        media=frozenset({"image_url", "image_data", "audio_data"}),
        names=MAX_TOKENS,
        accepts_developer_role=False,
        accepts_legacy_functions=False,
        accepts_allowed_tools=False,
        tool_modes=frozenset({"auto", "none", "required"}),
        accepts_refusals=False,
        prefill_excludes_reasoning=True,
        streamed_tools_exclude_logprobs=True,
        format_prevents_calls=True,
        limits_stops=False,
        sources=sources_of_fields({
            "abetlen/llama-cpp-python llama_cpp/server/types.py, CreateChatCompletionRequest": "names",
            "abetlen/llama-cpp-python llama_cpp/llama_types.py, ChatCompletionRequestMessage": "accepts_developer_role",
            "abetlen/llama-cpp-python llama_cpp/llama_types.py, ChatCompletionToolChoiceOption": "accepts_allowed_tools",
            WHY_NO_CACHE_MARKS: "cache_marks",
            "github.com/ggml-org/llama.cpp tools/server/README.md": "accepts_legacy_functions ignores reads",
            "github.com/ggml-org/llama.cpp common/chat.cpp, common_chat_tools_parse_oaicompat": "has_custom_tools server_tools",
            "huggingface/pi-llama#2; ggml-org/llama.cpp#26045, #26941, #28182; "
            "github.com/ggml-org/llama.cpp tools/server/server-common.cpp, oaicompat_chat_params_parse": "reasoning_control",
            "ggml-org/llama.cpp#17700": "media accepts_refusals",
            "github.com/ggml-org/llama.cpp tools/server/server-common.cpp, oaicompat_chat_params_parse": (
                "streamed_tools_exclude_logprobs limits_stops"
            ),
            "ggml-org/llama.cpp#15404, #20861, #21889": "prefill_excludes_reasoning",
            "ggml-org/llama.cpp#26535, #26849, #28806": "tool_modes",
            "ggml-org/llama.cpp#11847, #25454": "format_prevents_calls",
        }),
    ),
    "lmstudio": DialectRules(
        server="LM Studio",
        cache_marks="none",
        names=MAX_TOKENS,
        ignores=WEB_SEARCH | {"logprobs", "top_logprobs"},
        reads=frozenset({"top_k"}),
        accepts_developer_role=False,
        accepts_legacy_functions=False,
        has_custom_tools=False,
        server_tools=frozenset(),
        accepts_allowed_tools=False,
        tool_modes=frozenset({"auto", "none", "required"}),
        media=frozenset({"image_data"}),
        accepts_refusals=False,
        efforts=frozenset({"none", "low", "medium", "high"}),
        output_formats=frozenset({"json_schema"}),
        sources=sources_of_fields({
            WHY_NO_CACHE_MARKS: "cache_marks",
            "lmstudio.ai/docs/developer/openai-compat/chat-completions, Supported payload parameters": "names ignores reads",
            "lmstudio-ai/lmstudio-bug-tracker#669": "accepts_developer_role accepts_legacy_functions",
            "lmstudio-ai/lms#60": "ignores.logprobs ignores.top_logprobs",
            "lmstudio.ai/docs/developer/openai-compat/tools": "has_custom_tools server_tools",
            "lmstudio-ai/lmstudio-bug-tracker#670": "accepts_allowed_tools tool_modes",
            "lmstudio-ai/lmstudio-bug-tracker#1120, can1357/oh-my-pi#11933": "media accepts_refusals",
            "lmstudio-ai/lmstudio-bug-tracker#189": "output_formats",
            "yoy123/lmstudio-copilot-provider#35": "efforts",
        }),
    ),
    "ollama": DialectRules(
        server="Ollama",
        cache_marks="none",
        names=MAX_TOKENS,
        ignores=WEB_SEARCH | OF_OPENAI | {
            "tool_choice", "logit_bias", "user", "n", "parallel_tool_calls", "verbosity", "service_tier", "metadata", "store",
            "prompt_cache_key", "chat_template_kwargs",
        },
        accepts_developer_role=False,
        has_custom_tools=False,
        server_tools=frozenset(),
        efforts=frozenset({"none", "low", "medium", "high", "max"}),
        reasoning_history="reasoning",
        media=frozenset({"image_data"}),
        image_types=STILL_IMAGES,
        reads_image_detail=False,
        accepts_strict=False,
        requires_object_arguments=True,
        format_prevents_calls=True,
        reads_result_parts=False,
        accepts_refusals=False,
        limits_stops=False,
        sources=sources_of_fields({
            WHY_NO_CACHE_MARKS: "cache_marks",
            f"{_OLLAMA}, decodeImageURL": "image_types",
            "github.com/ollama/ollama openai/openai.go, FromChatRequest; ollama/ollama#17414": "reads_result_parts",
            "earendil-works/pi#140, ollama/ollama-python#453": "accepts_developer_role",
            _OLLAMA: (
                "limits_stops names ignores has_custom_tools server_tools efforts reasoning_history media "
                "accepts_refusals accepts_strict reads_image_detail"
            ),
            "github.com/ollama/ollama openai/openai.go, FromCompletionToolCall": "requires_object_arguments",
            "ollama/ollama#13750, #8095; ollama/ollama-python#546": "format_prevents_calls",
            "docs.ollama.com/api/openai-compatibility, Supported request fields": "ignores.tool_choice ignores.logit_bias ignores.n",
        }),
    ),
    "sglang": DialectRules(
        server="SGLang",
        cache_marks="none",
        ignores=WEB_SEARCH | OF_OPENAI | {"metadata", "prompt_cache_key", "service_tier", "store", "verbosity"},
        reads=frozenset({"top_k"}),
        accepts_developer_role=False,
        accepts_legacy_functions=False,
        has_custom_tools=False,
        server_tools=frozenset(),
        accepts_allowed_tools=False,
        requires_object_arguments=True,
        reasoning_control="kwarg_or_effort",
        media=frozenset({"image_url", "image_data", "video_url", "video_data", "audio_url", "audio_data"}),
        accepts_refusals=False,
        accepts_nulls=False,
        continuation_fields=frozenset({"continue_final_message"}),
        format_prevents_calls=True,
        limits_stops=False,
        ranges={"top_p": (0.001, 1)},
        efforts=frozenset({"none", "minimal", "low", "medium", "high", "xhigh", "max"}),
        sources=sources_of_fields({
            "hiyouga/LlamaFactory#10710, EvolvingLMMs-Lab/lmms-eval#1265": "ranges",
            WHY_NO_CACHE_MARKS: "cache_marks",
            "sgl-project/sglang#40082": "accepts_developer_role",
            "sgl-project/sglang#28035": "requires_object_arguments",
            f"{_SGLANG}, to_sampling_params": "format_prevents_calls",
            "github.com/sgl-project/sglang python/sglang/srt/entrypoints/openai/serving_chat.py, _handle_last_assistant_message": (
                "continuation_fields"
            ),
            f"docs.sglang.io/advanced_features/separate_reasoning; {_SGLANG}": (
                "reasoning_control"
            ),
            _SGLANG: (
                "accepts_legacy_functions ignores reads has_custom_tools server_tools "
                "accepts_allowed_tools media accepts_refusals accepts_nulls efforts limits_stops"
            ),
        }),
    ),
    "vllm": DialectRules(
        server="vLLM",
        cache_marks="none",
        reads=frozenset({"top_k"}),
        ignores=frozenset({
            "store", "metadata", "service_tier", "user", "verbosity", "prompt_cache_key", "web_search_options", "reasoning_format",
        }) | OF_OPENAI,
        accepts_developer_role=False,
        accepts_legacy_functions=False,
        has_custom_tools=False,
        server_tools=frozenset(),
        accepts_allowed_tools=False,
        reasoning_control="kwarg_or_effort",
        controls_of_models={"budget": "kwarg_or_token_budget"},
        reasoning_history="reasoning",
        continuation_fields=frozenset({"continue_final_message", "add_generation_prompt"}),
        format_prevents_calls=True,
        hiding_field="include_reasoning",
        media=IMAGES_AND_VIDEOS | {"audio_url", "audio_data"},
        limits_stops=False,
        accepts_empty_tools=False,
        excluded_by_greedy_sampling=frozenset({"n"}),
        ranges={"top_p": (0.001, 1)},
        sources=sources_of_fields({
            "docs.vllm.ai/en/latest/serving/openai_compatible_server, Chat Completions API": "ignores.user",
            "vllm-project/vllm#39929, #56086": "format_prevents_calls",
            "vllm-project/vllm#39780": "accepts_empty_tools",
            "github.com/vllm-project/vllm vllm/sampling_params.py, _verify_greedy_sampling": "excluded_by_greedy_sampling",
            "vllm-project/vllm#20859; github.com/vllm-project/vllm vllm/v1/engine/input_processor.py, _validate_params": (
                "controls_of_models"
            ),
            "hiyouga/LlamaFactory#10710, EvolvingLMMs-Lab/lmms-eval#1265": "ranges",
            WHY_NO_CACHE_MARKS: "cache_marks",
            f"{_VLLM}, check_generation_prompt": "continuation_fields",
            _VLLM: "hiding_field limits_stops accepts_legacy_functions reads ignores has_custom_tools server_tools accepts_allowed_tools",
            "vllm-project/vllm#42407, ogx-ai/ogx#6069": "accepts_developer_role",
            "vllm-project/vllm#57774, langchain-ai/openwiki#63": "media",
            "vllm-project/vllm#38488": "reasoning_history",
            f"{_VLLM}; vllm-project/vllm#43401": (
                "reasoning_control"
            ),
        }),
    ),
}  # fmt: skip
"""Name of a dialect to its rules."""
