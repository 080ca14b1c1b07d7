"""Rules of the servers that accept Chat Completions requests."""

from __future__ import annotations

from collections.abc import Mapping

from formatbridge.dialect import DialectRules, MediaSource
from formatbridge.formats.dialects.sources import sources_of_fields

_FIELDS_OF_OTHER_SERVERS = frozenset({
    "top_k", "enable_thinking", "thinking", "thinking_budget", "reasoning", "chat_template_kwargs", "include_reasoning",
    "reasoning_format",
})  # fmt: skip
"""Fields of other servers, which OpenAI's server rejects."""
_MAX_TOKENS = {"max_completion_tokens": "max_tokens"}
_OPENAI_MEDIA: frozenset[MediaSource] = frozenset({"image_url", "image_data", "audio_data", "document_data", "file_id"})
_IMAGES: frozenset[MediaSource] = frozenset({"image_url", "image_data"})
_IMAGES_AND_VIDEOS: frozenset[MediaSource] = frozenset({"image_url", "image_data", "video_url", "video_data"})
_WEB_SEARCH = frozenset({"web_search_options"})
_OF_OPENAI = frozenset({
    "audio", "modalities", "moderation", "prediction", "prompt_cache_options", "prompt_cache_retention", "safety_identifier",
})  # fmt: skip
"""Fields of OpenAI's server that the types of other servers do not have."""
_WHY_NO_CACHE_MARKS = (
    "the server's documentation does not mention cache marks; "
    "prompt_cache_breakpoint is a field of OpenAI (openai-python, types/chat)"
)
_PI_AGENT = "earendil-works/pi packages/ai/src/api/openai-completions.ts, detectCompat"
"""What the coding agent pi sends to each server."""
_VLLM = "github.com/vllm-project/vllm vllm/entrypoints/openai/chat_completion/protocol.py, ChatCompletionRequest"
_SGLANG = "github.com/sgl-project/sglang python/sglang/srt/entrypoints/openai/protocol.py, ChatCompletionRequest"
_ZAI = "pypi.org/project/zai-sdk, api_resource/chat/completions.py, create"
_OLLAMA = "github.com/ollama/ollama openai/openai.go, ChatCompletionRequest"

CHAT_COMPLETIONS: Mapping[str, DialectRules] = {
    "openai": DialectRules(
        server="OpenAI",
        rejects=_FIELDS_OF_OTHER_SERVERS,
        media=_OPENAI_MEDIA,
        most_tools=128,
        sources=sources_of_fields({
            "teabranch/open-responses-server#41": "rejects",
            "xlinx/sd-webui-decadetw-auto-prompt-llm#29": "rejects.top_k",
            "CherryHQ/cherry-studio#6155": "rejects.enable_thinking",
            "nashsu/llm_wiki#336": "rejects.thinking",
            "anomalyco/opencode#4909, zed-industries/zed#42393, 0x4m4/hexstrike-ai#29": "most_tools",
            "github.com/openai/openai-python src/openai/types/chat/chat_completion_content_part_param.py": "media",
        }),
    ),
    "azure": DialectRules(
        server="Azure OpenAI",
        rejects=_FIELDS_OF_OTHER_SERVERS | {"web_search_options"},
        media=_OPENAI_MEDIA,
        most_tools=128,
        sources=sources_of_fields({
            "quarkiverse/quarkus-langchain4j#285, openai/openai-python#1469": "rejects",
            "microsoft/agent-framework#3629, microsoft/agent-framework#6225": "rejects.web_search_options",
            "anomalyco/opencode#4909, zed-industries/zed#42393": "most_tools",
            "github.com/openai/openai-python src/openai/types/chat/chat_completion_content_part_param.py": "media",
        }),
    ),
    "cerebras": DialectRules(
        server="Cerebras",
        cache_marks="none",
        rejects=frozenset({
            "frequency_penalty", "presence_penalty", "logit_bias", "parallel_tool_calls", "service_tier",
            "reasoning", "enable_thinking", "chat_template_kwargs", "web_search_options", "store", "prompt_cache_key", "verbosity",
            "metadata",
        }) | _OF_OPENAI,
        accepts_developer_role=False,
        accepts_legacy_functions=False,
        has_custom_tools=False,
        server_tools=frozenset(),
        efforts=frozenset({"none", "low", "medium", "high"}),
        reasoning_history="reasoning",
        rejects_in_messages=frozenset({"assistant.reasoning_content"}),
        accepts_allowed_tools=False,
        accepts_refusals=False,
        media=_IMAGES,
        sources=sources_of_fields({
            "github.com/Cerebras/cerebras-cloud-sdk-python, types/chat/completion_create_params.py": (
                "accepts_legacy_functions rejects.metadata rejects.audio accepts_allowed_tools "
                "accepts_refusals media rejects.prompt_cache_key "
                "rejects.verbosity rejects.web_search_options has_custom_tools server_tools efforts"
            ),
            _WHY_NO_CACHE_MARKS: "cache_marks",
            "QwenLM/qwen-code#11045": "rejects_in_messages rejects.reasoning rejects.enable_thinking",
            "inference-docs.cerebras.ai/resources/openai, Currently Unsupported OpenAI Features": "rejects",
            "huggingface/speech-to-speech#323": "rejects.chat_template_kwargs",
            "Gitlawb/openclaude#740": "rejects.store",
            "inference-docs.cerebras.ai/resources/openai, Developer role": "accepts_developer_role",
            "QwenLM/qwen-code#11045, proxysoul/Empryo#209": "reasoning_history",
        }),
    ),
    "deepseek": DialectRules(
        server="DeepSeek",
        cache_marks="none",
        names=_MAX_TOKENS,
        ignores=_WEB_SEARCH | _OF_OPENAI | {
            "logit_bias", "metadata", "n", "prompt_cache_key", "seed", "service_tier", "store", "verbosity",
        },
        accepts_developer_role=False,
        accepts_legacy_functions=False,
        has_custom_tools=False,
        server_tools=frozenset(),
        accepts_allowed_tools=False,
        forced_call_excludes_reasoning=True,
        reasoning_control="thinking_and_effort",
        reasoning_history="required",
        media=_IMAGES,
        output_formats=frozenset({"json_object"}),
        sources=sources_of_fields({
            "api-docs.deepseek.com/api/create-chat-completion, messages": "accepts_legacy_functions",
            _WHY_NO_CACHE_MARKS: "cache_marks",
            _PI_AGENT: "names has_custom_tools server_tools accepts_allowed_tools",
            "api-docs.deepseek.com/api/create-chat-completion; docs.rs/ds-api, raw/request/chat_completion.rs": "ignores",
            "earendil-works/pi#1048": "accepts_developer_role",
            "deepseek-ai/DeepSeek-V3#1376": "forced_call_excludes_reasoning",
            "api-docs.deepseek.com/guides/thinking_mode": "reasoning_control",
            "api-docs.deepseek.com/guides/thinking_mode, Tool Calls; anomalyco/opencode#24722": "reasoning_history",
            "api-docs.deepseek.com/guides/vision": "media",
            "llm-exe/llm-exe#662": "output_formats",
        }),
    ),
    "fireworks": DialectRules(
        server="Fireworks",
        cache_marks="none",
        reads=frozenset({"top_k"}),
        has_custom_tools=False,
        server_tools=frozenset(),
        reasoning_control="thinking_or_effort",
        efforts=frozenset({"none", "low", "medium", "high"}),
        media=_IMAGES_AND_VIDEOS,
        ignores=_WEB_SEARCH | _OF_OPENAI | {"store", "verbosity"},
        accepts_allowed_tools=False,
        accepts_refusals=False,
        tiers=frozenset({"auto", "default", "flex", "priority"}),
        sources=sources_of_fields({
            "pypi.org/project/fireworks-ai, types/chat/completion_create_params.py": (
                "accepts_refusals ignores accepts_allowed_tools tiers reads has_custom_tools server_tools reasoning_control efforts media"
            ),
            _WHY_NO_CACHE_MARKS: "cache_marks",
        }),
    ),
    "groq": DialectRules(
        server="Groq",
        cache_marks="none",
        rejects=frozenset({
            "logprobs", "top_logprobs", "logit_bias", "n", "web_search_options", "prompt_cache_key", "verbosity",
        }) | _OF_OPENAI,
        ignores=frozenset({"store", "metadata", "frequency_penalty", "presence_penalty"}),
        rejects_in_messages=frozenset({
            "system.name", "developer.name", "user.name", "assistant.name", "assistant.reasoning_content",
        }),
        has_custom_tools=False,
        server_tools=frozenset({"browser_search", "code_interpreter"}),
        most_tools=128,
        efforts=frozenset({"none", "default", "low", "medium", "high"}),
        reasoning_history="reasoning",
        accepts_allowed_tools=False,
        accepts_refusals=False,
        media=_IMAGES,
        tiers=frozenset({"auto", "on_demand", "flex", "performance"}),
        sources=sources_of_fields({
            "github.com/groq/groq-python src/groq/types/chat/completion_create_params.py": (
                "rejects.audio accepts_allowed_tools accepts_refusals media tiers efforts ignores has_custom_tools most_tools"
            ),
            "console.groq.com/docs/browser-search, console.groq.com/docs/tool-use/built-in-tools": "server_tools",
            _WHY_NO_CACHE_MARKS: "cache_marks",
            "console.groq.com/docs/openai, Currently Unsupported OpenAI Features": "rejects rejects_in_messages",
            "eigent-ai/eigent#1827, sipeed/picoclaw#1196": "rejects.prompt_cache_key",
            "CherryHQ/cherry-studio#11435": "rejects.verbosity",
            "github.com/groq/groq-python src/groq/types/chat/completion_create_params.py, search_settings": (
                "rejects.web_search_options"
            ),
            "janhq/jan#8136": "rejects_in_messages.assistant.reasoning_content",
            "janhq/jan#8136, vercel/ai#8057": "reasoning_history",
        }),
    ),
    "huggingface": DialectRules(
        server="Hugging Face",
        cache_marks="none",
        names=_MAX_TOKENS,
        ignores=frozenset({"logit_bias", "n", "web_search_options"}),
        has_custom_tools=False,
        server_tools=frozenset(),
        most_stops=4,
        media=_IMAGES,
        sources=sources_of_fields({
            _WHY_NO_CACHE_MARKS: "cache_marks",
            "github.com/huggingface/huggingface_hub src/huggingface_hub/inference/_generated/types/chat_completion.py": (
                "names ignores has_custom_tools server_tools most_stops media"
            ),
        }),
    ),
    "litellm": DialectRules(
        server="LiteLLM",
        cache_marks="cache_control",
        reasoning_control="thinking_or_effort",
        sources=sources_of_fields({
            "docs.litellm.ai/docs/completion/prompt_caching": "cache_marks",
            "docs.litellm.ai/docs/reasoning_content": "reasoning_control",
        }),
    ),
    "llamacpp": DialectRules(
        server="llama.cpp",
        cache_marks="none",
        ignores=_WEB_SEARCH,
        reads=frozenset({"top_k"}),
        has_custom_tools=False,
        server_tools=frozenset(),
        reasoning_control="enable_thinking_kwarg",
        media=frozenset({"image_url", "image_data", "audio_data"}),
        names=_MAX_TOKENS,
        accepts_developer_role=False,
        accepts_legacy_functions=False,
        accepts_allowed_tools=False,
        sources=sources_of_fields({
            "abetlen/llama-cpp-python llama_cpp/server/types.py, CreateChatCompletionRequest": "names",
            "abetlen/llama-cpp-python llama_cpp/llama_types.py, ChatCompletionRequestMessage": "accepts_developer_role",
            "abetlen/llama-cpp-python llama_cpp/llama_types.py, ChatCompletionToolChoiceOption": "accepts_allowed_tools",
            _WHY_NO_CACHE_MARKS: "cache_marks",
            "github.com/ggml-org/llama.cpp tools/server/README.md": "accepts_legacy_functions ignores reads",
            "github.com/ggml-org/llama.cpp common/chat.cpp, common_chat_tools_parse_oaicompat": "has_custom_tools server_tools",
            "huggingface/pi-llama#2": "reasoning_control",
            "ggml-org/llama.cpp#17700": "media",
        }),
    ),
    "lmstudio": DialectRules(
        server="LM Studio",
        cache_marks="none",
        names=_MAX_TOKENS,
        ignores=_WEB_SEARCH,
        reads=frozenset({"top_k"}),
        has_custom_tools=False,
        server_tools=frozenset(),
        accepts_allowed_tools=False,
        tool_modes=frozenset({"auto", "none", "required"}),
        media=frozenset({"image_data"}),
        output_formats=frozenset({"json_schema"}),
        sources=sources_of_fields({
            _WHY_NO_CACHE_MARKS: "cache_marks",
            "lmstudio.ai/docs/developer/openai-compat/chat-completions, Supported payload parameters": "names ignores reads",
            "lmstudio.ai/docs/developer/openai-compat/tools": "has_custom_tools server_tools",
            "lmstudio-ai/lmstudio-bug-tracker#670": "accepts_allowed_tools tool_modes",
            "lmstudio-ai/lmstudio-bug-tracker#1120, can1357/oh-my-pi#11933": "media",
            "lmstudio-ai/lmstudio-bug-tracker#189": "output_formats",
        }),
    ),
    "minimax": DialectRules(
        server="MiniMax",
        cache_marks="none",
        rejects=frozenset({"n"}),
        accepts_developer_role=False,
        accepts_legacy_functions=False,
        accepts_later_instructions=False,
        requires_single_instruction=True,
        has_custom_tools=False,
        ranges={"temperature": (0.01, 1), "top_p": (0.01, 1)},
        server_tools=frozenset({"web_search"}),
        reasoning_control="thinking_adaptive",
        output_formats=frozenset(),
        sources=sources_of_fields({
            "platform.minimax.io/docs/guides/text-function-call, Function Call Definition Format": "accepts_legacy_functions",
            _WHY_NO_CACHE_MARKS: "cache_marks",
            "platform.minimax.io/docs/api-reference/text-openai-api, Important Note": "rejects",
            "openclaw/openclaw#3022": "accepts_developer_role",
            "platform.minimax.io/docs/api-reference/text-chat; HKUDS/Vibe-Trading#33": "ranges",
            "MiniMax-AI/MiniMax-M2#27": "accepts_later_instructions",
            "openclaw/openclaw#19386, MiniMax-AI/MiniMax-M2#51": "requires_single_instruction",
            "platform.minimax.io/docs/api-reference/text-openai-api": "has_custom_tools server_tools",
            "CherryHQ/cherry-studio#15787, NousResearch/hermes-agent#46648": "reasoning_control",
            "MiniMax-AI/MiniMax-M2.5#4": "output_formats",
        }),
    ),
    "mistral": DialectRules(
        server="Mistral",
        cache_marks="none",
        names=_MAX_TOKENS | {"seed": "random_seed"},
        rejects=frozenset({
            "store", "logit_bias", "user", "safety_identifier", "stream_options", "modalities", "audio", "web_search_options",
            "verbosity", "moderation", "prompt_cache_options", "prompt_cache_retention", "reasoning", "thinking",
            "enable_thinking", "thinking_budget", "chat_template_kwargs", "include_reasoning", "reasoning_format",
        }),
        reads=frozenset({"top_k"}),
        rejects_in_messages=frozenset({
            "system.name", "user.name", "assistant.name", "assistant.audio", "assistant.refusal", "assistant.reasoning_content",
            "assistant.reasoning", "assistant.reasoning_details", "assistant.thinking_blocks", "assistant.annotations",
        }),
        accepts_developer_role=False,
        accepts_legacy_functions=False,
        has_custom_tools=False,
        server_tools=frozenset(),
        accepts_allowed_tools=False,
        required_word="any",
        accepts_user_after_result=False,
        accepts_empty_answers=False,
        prefill_field="prefix",
        call_id_length=9,
        reasoning_history="thinking_part",
        accepts_refusals=False,
        media=frozenset({"image_url", "image_data", "audio_url", "audio_data", "document_url", "document_data"}),
        document_part="document_url",
        required_in_functions=frozenset({"parameters"}),
        tiers=frozenset({"auto", "standard_only"}),
        efforts=frozenset({"none", "high"}),
        ranges={"temperature": (0, 1.5)},
        sources=sources_of_fields({
            "github.com/mistralai/client-python, Function": "required_in_functions",
            "github.com/mistralai/client-python, ChatCompletionRequest": (
                "tiers names "
                "reads accepts_developer_role accepts_legacy_functions"
            ),
            _WHY_NO_CACHE_MARKS: "cache_marks",
            "github.com/mistralai/client-python, DocumentURLChunk": "document_part",
            "github.com/mistralai/client-python, ChatCompletionRequest; editor-code-assistant/eca#231": "rejects",
            "Gitlawb/openclaude#739": "rejects.store",
            "scottyeager/Pal#28": "ranges",
            "architects-toolkit/SmartHopper#647, withceleste/celeste-python#311": "efforts",
            "posit-dev/chatlas#145": "rejects.stream_options",
            "nomtek/mistralai_client_dart#44; github.com/mistralai/client-python, AssistantMessage": "rejects_in_messages",
            "github.com/mistralai/client-python, Tool": "has_custom_tools server_tools",
            "github.com/mistralai/client-python, ToolChoice": "accepts_allowed_tools",
            "kyaukyuai/gpt-all-star#670": "required_word",
            "datapizza-labs/datapizza-ai#98, mistralai/mistral-vibe#578": "accepts_user_after_result",
            "OpenHands/OpenHands#8685, solbrowse/extension#16": "accepts_empty_answers",
            "github.com/mistralai/client-python, AssistantMessage; langchain-ai/langchain#28846": "prefill_field",
            "langchain-ai/langchain#24668": "call_id_length",
            "github.com/mistralai/client-python, ThinkChunk": "reasoning_history",
            "github.com/mistralai/client-python, AssistantMessage": "accepts_refusals",
            "github.com/mistralai/client-python, ContentChunk": "media",
        }),
    ),
    "moonshot": DialectRules(
        server="Moonshot",
        cache_marks="none",
        ignores=_WEB_SEARCH,
        accepts_developer_role=False,
        accepts_legacy_functions=False,
        has_custom_tools=False,
        server_tools=frozenset({"builtin_function"}),
        accepts_strict=False,
        requires_letter_first=True,
        accepts_allowed_tools=False,
        tool_modes=frozenset({"auto", "none"}),
        reasoning_control="thinking_type_or_effort",
        reasoning_history="required",
        media=frozenset({"image_data", "video_data"}),
        sources=sources_of_fields({
            "platform.kimi.ai/docs/api/chat, messages": "accepts_legacy_functions",
            _WHY_NO_CACHE_MARKS: "cache_marks",
            "platform.moonshot.cn/docs/guide/use-web-search": "ignores",
            _PI_AGENT: "accepts_developer_role accepts_strict",
            "platform.moonshot.cn/docs/guide/use-web-search, builtin_function": "has_custom_tools server_tools",
            "MoonshotAI/kimi-cli#1773, #2531": "requires_letter_first",
            "can1357/oh-my-pi#827": "accepts_allowed_tools",
            "can1357/oh-my-pi#827, UKGovernmentBEIS/inspect_ai#5152": "tool_modes",
            "HKUDS/nanobot#3939": "reasoning_control",
            "continuedev/continue#11600": "reasoning_history",
            "platform.kimi.ai/docs/api/chat": "media",
        }),
    ),
    "ollama": DialectRules(
        server="Ollama",
        cache_marks="none",
        names=_MAX_TOKENS,
        ignores=frozenset({"tool_choice", "logit_bias", "user", "n", "web_search_options"}),
        has_custom_tools=False,
        server_tools=frozenset(),
        efforts=frozenset({"none", "low", "medium", "high", "max"}),
        reasoning_history="reasoning",
        media=frozenset({"image_data"}),
        sources=sources_of_fields({
            _WHY_NO_CACHE_MARKS: "cache_marks",
            _OLLAMA: "names ignores.web_search_options has_custom_tools server_tools efforts reasoning_history media",
            "docs.ollama.com/api/openai-compatibility, Supported request fields": "ignores",
        }),
    ),
    "openrouter": DialectRules(
        server="OpenRouter",
        reads=frozenset({"top_k"}),
        has_custom_tools=False,
        accepts_allowed_tools=False,
        cache_marks="cache_control",
        reasoning_control="reasoning",
        reasoning_history="reasoning",
        sources=sources_of_fields({
            "openrouter.ai/docs/api-reference/parameters, Top K": "reads",
            "openrouter.ai/docs/client-sdks/typescript, ChatFunctionTool": "has_custom_tools",
            "openrouter.ai/docs/client-sdks/typescript, ChatToolChoice": "accepts_allowed_tools",
            "openrouter.ai/docs/client-sdks/typescript/models/anthropiccachecontroldirective": "cache_marks",
            "openrouter.ai/docs/use-cases/reasoning-tokens, Controlling Reasoning Tokens": "reasoning_control",
            "openrouter.ai/docs/client-sdks/typescript, ChatAssistantMessage": "reasoning_history",
        }),
    ),
    "perplexity": DialectRules(
        server="Perplexity",
        cache_marks="none",
        names=_MAX_TOKENS,
        accepts_developer_role=False,
        has_custom_tools=False,
        server_tools=frozenset({"web_search"}),
        efforts=frozenset({"minimal", "low", "medium", "high"}),
        reads=frozenset({"top_k"}),
        requires_alternating_turns=True,
        accepts_later_instructions=False,
        accepts_allowed_tools=False,
        accepts_refusals=False,
        tool_modes=frozenset({"auto", "none", "required"}),
        media=_IMAGES_AND_VIDEOS | {"document_url", "document_data"},
        document_part="file_url",
        ignores=_OF_OPENAI | {"metadata", "prompt_cache_key", "seed", "service_tier", "store", "user", "verbosity"},
        output_formats=frozenset({"json_schema"}),
        required_in_functions=frozenset({"description", "parameters"}),
        sources=sources_of_fields({
            "pypi.org/project/perplexityai, types/chat/completion_create_params.py": (
                "server_tools ignores output_formats required_in_functions names reads has_custom_tools efforts accepts_allowed_tools "
                "tool_modes"
            ),
            _WHY_NO_CACHE_MARKS: "cache_marks",
            "pypi.org/project/perplexityai, types/shared_params/chat_message_input.py": (
                "accepts_refusals document_part accepts_developer_role media"
            ),
            "perplexityai/api-discussion#265": "requires_alternating_turns",
            "edenai/edenai-apis#144": "accepts_later_instructions",
        }),
    ),
    "qwen": DialectRules(
        server="Qwen",
        cache_marks="cache_control",
        ignores=_WEB_SEARCH,
        reads=frozenset({"top_k"}),
        accepts_developer_role=False,
        accepts_legacy_functions=False,
        accepts_later_instructions=False,
        has_custom_tools=False,
        server_tools=frozenset(),
        tool_modes=frozenset({"auto", "none", "named"}),
        accepts_allowed_tools=False,
        forced_call_excludes_reasoning=True,
        reasoning_control="enable_thinking",
        media=_IMAGES_AND_VIDEOS,
        ranges={"temperature": (0, 1.99)},
        sources=sources_of_fields({
            "docs.qwencloud.com/api-reference/chat/openai-chat, messages": "accepts_legacy_functions",
            "alibabacloud.com/help/en/model-studio/context-cache": "cache_marks",
            "mnfst/modelparams.dev#232, #235": "ranges",
            "docs.qwencloud.com/api-reference/chat/openai-chat, enable_search": "ignores",
            "docs.qwencloud.com/api-reference/chat/openai-chat": "reads",
            "mcowger/plexus#77": "accepts_developer_role",
            "docs.qwencloud.com/api-reference/chat/openai-chat, System Message": "accepts_later_instructions",
            "alibabacloud.com/help/en/model-studio/qwen-api-via-openai-chat-completions, tools": "has_custom_tools server_tools",
            "pydantic/pydantic-ai#1265": "tool_modes",
            "docs.qwencloud.com/api-reference/chat/openai-chat, tool_choice": "accepts_allowed_tools",
            "QwenLM/qwen-code#7659, cloudwego/eino#994": "forced_call_excludes_reasoning",
            "help.aliyun.com/en/model-studio/deep-thinking": "reasoning_control",
            "QwenLM/qwen-code#1888": "media",
        }),
    ),
    "sglang": DialectRules(
        server="SGLang",
        cache_marks="none",
        ignores=_WEB_SEARCH | _OF_OPENAI | {"metadata", "prompt_cache_key", "service_tier", "store", "verbosity"},
        reads=frozenset({"top_k"}),
        accepts_developer_role=False,
        accepts_legacy_functions=False,
        has_custom_tools=False,
        server_tools=frozenset(),
        accepts_allowed_tools=False,
        reasoning_control="kwarg_or_effort",
        media=frozenset({"image_url", "image_data", "video_url", "video_data", "audio_url", "audio_data"}),
        accepts_refusals=False,
        accepts_nulls=False,
        efforts=frozenset({"none", "minimal", "low", "medium", "high", "xhigh", "max"}),
        sources=sources_of_fields({
            _WHY_NO_CACHE_MARKS: "cache_marks",
            "sgl-project/sglang#40082": "accepts_developer_role",
            f"docs.sglang.io/advanced_features/separate_reasoning; {_SGLANG}": (
                "reasoning_control"
            ),
            _SGLANG: (
                "accepts_legacy_functions ignores reads has_custom_tools server_tools "
                "accepts_allowed_tools media accepts_refusals accepts_nulls efforts"
            ),
        }),
    ),
    "together": DialectRules(
        server="Together",
        cache_marks="none",
        names=_MAX_TOKENS,
        ignores=_WEB_SEARCH | _OF_OPENAI | {
            "metadata", "parallel_tool_calls", "prompt_cache_key", "service_tier", "store", "user", "verbosity",
        },
        reads=frozenset({"top_k"}),
        accepts_developer_role=False,
        accepts_legacy_functions=False,
        has_custom_tools=False,
        server_tools=frozenset(),
        reasoning_control="reasoning_toggle",
        efforts=frozenset({"low", "medium", "high"}),
        counts_logprobs=True,
        media=frozenset({"image_url", "image_data", "video_url", "video_data", "audio_url", "audio_data"}),
        accepts_allowed_tools=False,
        accepts_strict=False,
        sources=sources_of_fields({
            "github.com/togethercomputer/together-py src/together/types/chat/completion_create_params.py": (
                "accepts_allowed_tools accepts_strict names ignores reads accepts_developer_role accepts_legacy_functions has_custom_tools "
                "server_tools reasoning_control efforts counts_logprobs media"
            ),
            _WHY_NO_CACHE_MARKS: "cache_marks",
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
    "vllm": DialectRules(
        server="vLLM",
        cache_marks="none",
        reads=frozenset({"top_k"}),
        ignores=frozenset({
            "store", "metadata", "service_tier", "verbosity", "prompt_cache_key", "web_search_options",
        }) | _OF_OPENAI,
        accepts_developer_role=False,
        accepts_legacy_functions=False,
        has_custom_tools=False,
        server_tools=frozenset(),
        accepts_allowed_tools=False,
        reasoning_control="kwarg_or_effort",
        reasoning_history="reasoning",
        media=_IMAGES_AND_VIDEOS | {"audio_url", "audio_data"},
        sources=sources_of_fields({
            _WHY_NO_CACHE_MARKS: "cache_marks",
            _VLLM: "accepts_legacy_functions reads ignores has_custom_tools server_tools accepts_allowed_tools",
            "vllm-project/vllm#42407, ogx-ai/ogx#6069": "accepts_developer_role",
            "vllm-project/vllm#57774, langchain-ai/openwiki#63": "media",
            "vllm-project/vllm#38488": "reasoning_history",
            f"{_VLLM}; vllm-project/vllm#43401": (
                "reasoning_control"
            ),
        }),
    ),
    "xai": DialectRules(
        server="xAI",
        cache_marks="none",
        rejects=frozenset({"presence_penalty", "frequency_penalty", "stop"}),
        ignores=frozenset({"store"}),
        accepts_developer_role=False,
        has_custom_tools=False,
        server_tools=frozenset({"live_search", "web_search"}),
        media=_IMAGES,
        sources=sources_of_fields({
            _WHY_NO_CACHE_MARKS: "cache_marks",
            "docs.x.ai/docs/guides/reasoning": "rejects",
            _PI_AGENT: "ignores accepts_developer_role",
            "docs.rs/xai-openapi src/tools.rs, Tool": "has_custom_tools server_tools",
            "hexdocs.pm/req_llm/xai.html": "media",
        }),
    ),
    "zhipu": DialectRules(
        server="Zhipu",
        cache_marks="none",
        names=_MAX_TOKENS,
        rejects=frozenset({"frequency_penalty", "presence_penalty", "thinking_budget"}),
        ignores=frozenset({"stream_options", "web_search_options"}),
        rejects_in_messages=frozenset({"system.name", "user.name", "assistant.name", "tool.name"}),
        accepts_developer_role=False,
        accepts_legacy_functions=False,
        has_custom_tools=False,
        server_tools=frozenset({"mcp", "retrieval", "web_search"}),
        accepts_allowed_tools=False,
        accepts_strict=False,
        tool_modes=frozenset({"auto"}),
        most_stops=1,
        ranges={"temperature": (0, 1)},
        media=_IMAGES_AND_VIDEOS | {"document_url"},
        document_part="file_url",
        reasoning_control="thinking_and_effort",
        output_formats=frozenset({"json_object"}),
        sources=sources_of_fields({
            _WHY_NO_CACHE_MARKS: "cache_marks",
            "docs.z.ai/api-reference/llm/chat-completion": (
                "accepts_legacy_functions server_tools names has_custom_tools accepts_allowed_tools tool_modes "
                "most_stops output_formats"
            ),
            "theopenco/llmgateway#3268": "ranges",
            "zai-org/GLM-V#200": "media document_part",
            _ZAI: "rejects ignores",
            "java.agentscope.io/v2/en/integration/model/glm": "rejects_in_messages accepts_strict",
            "mcowger/plexus#77": "accepts_developer_role",
            "pypi.org/project/zai-sdk, types/chat/chat_completion.py": "reasoning_control",
        }),
    ),
}  # fmt: skip
"""Name of a dialect to its rules."""
