"""What the server of a dialect rejects, besides the rules of its format. Each rule has the status and the words of that server.

The rules are written from reported refusals and from the types of the servers. They do not read the tables of ``formatbridge.dialects``,
so that these tests detect a mistake there.
"""

from __future__ import annotations

from collections.abc import Mapping

import formatbridge as fb
from formatbridge.testing.vendor_rules import clouds, groq, responses_checks, schema_checks
from formatbridge.testing.vendor_rules import combination_checks as combinations
from formatbridge.testing.vendor_rules import server_checks as checks
from formatbridge.testing.vendor_rules.rule import Rule
from formatbridge.testing.vendor_rules.self_hosted import SELF_HOSTED

_FOREIGN = (
    "top_k",
    "enable_thinking",
    "thinking",
    "thinking_budget",
    "reasoning",
    "chat_template_kwargs",
    "include_reasoning",
    "reasoning_format",
)
_OF_OTHER_ANSWERS = ("reasoning_details", "thinking_blocks", "refusal", "annotations", "audio")
"""Fields of assistant messages that the types of some servers do not have."""
_OF_ANSWERS = ("reasoning_content", "reasoning", *_OF_OTHER_ANSWERS)
"""Those fields, with the texts of reasoning."""
_ANTHROPIC_GUIDE = "api-docs.deepseek.com/guides/anthropic_api"
_MINIMAX_GUIDE = "platform.minimax.io/docs/api-reference/text-anthropic-api"
_CHAT = "chat_completions"
_CEREBRAS = "Cerebras/cerebras-cloud-sdk-python, completion_create_params.py"
_MISTRAL = "mistralai/client-python, ChatCompletionRequest"
_STILL_IMAGES = ("jpeg", "jpg", "png", "webp")
_XAI_IMAGES = "docs.x.ai/developers/model-capabilities/images/understanding, cline/cline#5278, chenyme/grok2api#944"
_XAI_TYPES = "xAI's OpenAPI (api-evangelist/xai openapi/xai-responses-api-openapi.yml)"
_NO_ITEM_OF_XAI = (
    "Failed to deserialize the JSON body into the target type: data did not match any variant of untagged enum ModelInput"
)
_NOT_OF_XAI = "Downloaded response does not contain a valid JPG, PNG, WebP, or ICO image"
_XAI_EFFORTS = "docs.x.ai/developers/model-capabilities/text/reasoning, chenyme/grok2api#901"

SERVER_RULES: Mapping[str, Mapping[fb.FormatName, tuple[Rule, ...]]] = {
    "openai": {
        _CHAT: (
            checks.no_fields("nadeko-bot/nadekobot#34", "cache_control", message="Unknown parameter"),
            checks.no_fields("CherryHQ/cherry-studio#6155, nashsu/llm_wiki#336, teabranch/open-responses-server#41", *_FOREIGN),
            checks.at_most("anomalyco/opencode#4909, zed-industries/zed#42393, 0x4m4/hexstrike-ai#29", "tools", 128),
            checks.functions_only("langchain-ai/langchain-litellm#197, sipeed/picoclaw#2951", prefix="custom"),
            combinations.search_without_functions("pydantic/pydantic-ai#2822, BerriAI/litellm#12311"),
            checks.pdf_only("trpc-group/trpc-agent-go#1816, openai/openai-dotnet#613"),
            checks.part_types(
                "openai/openai-python, chat_completion_content_part_param.py", "text", "image_url", "input_audio", "file", "refusal"
            ),
        ),
        "responses": (),
    },
    "azure": {
        _CHAT: (
            checks.no_fields("gethnet/litellm-connector-copilot#138", "cache_control"),
            checks.no_fields("quarkiverse/quarkus-langchain4j#285, openai/openai-python#1469", *_FOREIGN),
            checks.functions_only("langchain-ai/langchain-litellm#197, sipeed/picoclaw#2951", prefix="custom"),
            checks.no_fields("microsoft/agent-framework#3629", "web_search_options", message="Unknown parameter"),
            checks.at_most("anomalyco/opencode#4909, zed-industries/zed#42393", "tools", 128),
            checks.part_types(
                "openai/openai-python, chat_completion_content_part_param.py", "text", "image_url", "input_audio", "file", "refusal"
            ),
        ),
        "responses": (),
    },
    "openrouter": {
        _CHAT: (
            Rule(
                "excluded_field",
                "both an effort and a budget in `reasoning`",
                "openrouter.ai/docs/use-cases/reasoning-tokens",
                checks.check_openrouter_reasoning,
            ),
            checks.functions_only("openrouter.ai/docs/client-sdks/typescript, ChatFunctionTool", prefix="openrouter:"),
            checks.pdf_only("pydantic/pydantic-ai#2599"),
            checks.tool_choices("openrouter.ai/docs/client-sdks/typescript, ChatToolChoice", "none", "auto", "required"),
        ),
        "messages": (),
        "responses": (
            checks.no_fields("openrouter.ai/docs/api_reference/responses/error-handling", "previous_response_id"),
            responses_checks.store_is_false("BerriAI/litellm#30851", "Invalid input: expected false"),
            responses_checks.known_includes(
                "OpenRouterTeam/typescript-sdk, src/models/responseincludesenum.ts",
                *("code_interpreter_call.outputs", "computer_call_output.output.image_url", "file_search_call.results"),
                *("message.input_image.image_url", "reasoning.encrypted_content"),
                *("web_search_call.action.sources", "web_search_call.results"),
            ),
            responses_checks.no_tool_types(
                "openai/codex#18307, awsl-project/maxx#537", "Invalid Responses API request", "namespace"
            ),
        ),
    },
    "deepseek": {
        _CHAT: (
            checks.no_fields("api-docs.deepseek.com/api/create-chat-completion", "web_search_options"),
            checks.at_most("api-docs.deepseek.com/api/create-chat-completion", "stop", 16),
            combinations.uniform_strict("vercel/ai#19387", "All functions must have the same value of strict."),
            checks.common_roles("earendil-works/pi#1048"),
            checks.in_range("chatboxai/chatbox#2483", "top_p", 1e-9, 1),
            checks.response_formats("llm-exe/llm-exe#662", "text", "json_object"),
            checks.reasoning_required(
                "anomalyco/opencode#24722", "The `reasoning_content` in the thinking mode must be passed back to the API."
            ),
            checks.part_types("api-docs.deepseek.com/guides/vision", "text", "image_url"),
            checks.functions_only("earendil-works/pi, detectCompat"),
            combinations.final_answer_without_reasoning(
                "gptme/gptme#467, BerriAI/litellm#8090",
                "prefix",
                "The last message of deepseek-reasoner must be a user message, or an assistant message with prefix mode on",
            ),
            checks.reasoning_off(
                "deepseek-ai/DeepSeek-V3#1376", "thinking", {"type": "disabled"}, "Thinking mode does not support this tool_choice"
            ),
        ),
        "messages": (
            checks.signatures_of_server("NousResearch/hermes-agent#17510, can1357/oh-my-pi#908"),
            checks.thinking_required(
                "decolua/9router#2397, esengine/DeepSeek-Reasonix#8927",
                "The `content[].thinking` in the thinking mode must be passed back to the API.",
            ),
            checks.no_system_turns("deepseek-ai/DeepSeek-V3#1370", "unknown variant `system`, expected `user` or `assistant`"),
            checks.reasoning_off(
                "deepseek-ai/awesome-deepseek-integration#598",
                "thinking",
                {"type": "disabled"},
                "deepseek-reasoner does not support this tool_choice",
            ),
            checks.block_rule(
                _ANTHROPIC_GUIDE,
                "a block of a type that is not supported",
                "unknown variant, expected one of `text`, `image`, `tool_use`, `tool_result`, `thinking`",
                checks.of_types(
                    "document",
                    "search_result",
                    "redacted_thinking",
                    "code_execution_tool_result",
                    "bash_code_execution_tool_result",
                    "text_editor_code_execution_tool_result",
                    "mcp_tool_use",
                    "mcp_tool_result",
                    "container_upload",
                ),
            ),
        ),
    },
    "mistral": {
        _CHAT: (
            checks.service_tiers(_MISTRAL, "auto", "standard_only", words=checks.mistral_error),
            checks.complete_functions("mistralai/client-python, Function", "parameters", words=checks.mistral_error),
            checks.in_range("mnfst/modelparams.dev#231", "top_p", 1e-9, 1, checks.mistral_error),
            checks.no_fields(
                "Gitlawb/openclaude#739, posit-dev/chatlas#145, editor-code-assistant/eca#231",
                "store",
                "logit_bias",
                "user",
                "seed",
                "max_completion_tokens",
                "safety_identifier",
                "stream_options",
                "modalities",
                "audio",
                "web_search_options",
                "verbosity",
                "moderation",
                "prompt_cache_options",
                "prompt_cache_retention",
                "reasoning",
                "thinking",
                "enable_thinking",
                "chat_template_kwargs",
                "include_reasoning",
                "reasoning_format",
                words=checks.mistral_error,
                message="Extra inputs are not permitted",
            ),
            checks.no_keys(
                "nomtek/mistralai_client_dart#44", "name", roles=("system", "user", "assistant"), words=checks.mistral_error
            ),
            checks.no_keys("mistralai/client-python, AssistantMessage", *_OF_ANSWERS, words=checks.mistral_error),
            checks.in_range("scottyeager/Pal#28", "temperature", 0, 1.5, checks.mistral_error),
            combinations.one_with_greedy_sampling("devoxx/DevoxxGenieIDEAPlugin#338", "top_p"),
            checks.common_roles(_MISTRAL, checks.mistral_error),
            checks.known_efforts("architects-toolkit/SmartHopper#647", "none", "high", words=checks.mistral_error),
            checks.tool_choices("kyaukyuai/gpt-all-star#670", "auto", "none", "any", words=checks.mistral_error),
            checks.functions_only("mistralai/client-python, Tool", checks.mistral_error),
            checks.part_types(
                "mistralai/client-python, ContentChunk",
                "text",
                "image_url",
                "document_url",
                "reference",
                "file",
                "thinking",
                "input_audio",
                words=checks.mistral_error,
            ),
            Rule(
                "call_id",
                "an id of a tool call that has not nine letters and digits",
                "langchain-ai/langchain#24668",
                checks.check_mistral_ids,
            ),
            Rule(
                "order",
                "a message of the user after a tool result, or a system message after it or after an answer",
                "datapizza-labs/datapizza-ai#98, mistralai/mistral-vibe#578, swarmauri/swarmauri-sdk#162",
                checks.check_mistral_order,
            ),
            Rule(
                "no_content",
                "an assistant message without content and tool calls",
                "OpenHands/OpenHands#8685, solbrowse/extension#16",
                checks.check_mistral_content,
            ),
            Rule(
                "last_message",
                "a final assistant message without `prefix: true`",
                "langchain-ai/langchain#28846, NEKOparapa/AiNiee#641",
                checks.check_mistral_end,
            ),
        )
    },
    "groq": {_CHAT: groq.CHAT, "responses": groq.RESPONSES},
    "xai": {
        _CHAT: (
            checks.functions_only("docs.rs/xai-openapi, src/tools.rs, TWhidden/grok#18", checks.xai_error),
            checks.no_fields("AstrBotDevs/AstrBot#7697", "web_search_options", words=checks.xai_error),
            combinations.no_live_search("vercel/ai#15713"),
            checks.no_fields(
                "lobehub/lobehub#13332, miaoxworld/NativeTavern#83",
                *("presence_penalty", "frequency_penalty"),
                words=checks.xai_error,
                message="Model does not support parameter",
            ),
            combinations.while_reasoning(
                checks.no_fields(
                    "docs.x.ai/docs/guides/reasoning",
                    "stop",
                    words=checks.xai_error,
                    message="Argument not supported on this model",
                )
            ),
            checks.common_roles("earendil-works/pi, detectCompat", checks.xai_error, has_function_role=True),
            checks.no_keys("BerriAI/litellm#9720", "name", roles=("system", "assistant", "tool"), words=checks.xai_error),
            checks.arguments_of_calls(
                "spiceai/spiceai#4734",
                "The arguments to a tool_call are not a valid JSON string",
                objects_only=False,
                words=checks.xai_error,
            ),
            checks.image_types(_XAI_IMAGES, *_STILL_IMAGES, message=_NOT_OF_XAI, words=checks.xai_error),
            checks.part_types("hexdocs.pm/req_llm/xai.html", "text", "image_url", "refusal", words=checks.xai_error),
            checks.known_efforts(_XAI_EFFORTS, "none", "low", "medium", "high", "xhigh", words=checks.xai_error),
        ),
        "responses": (
            checks.tool_choices(
                "router-for-me/CLIProxyAPI#4718, router-for-me/CLIProxyAPI#5916", "none", "auto", "required", words=checks.xai_error
            ),
            responses_checks.no_instructions_in_continuation(
                "holon-run/holon#2158", "Argument not supported: instructions and previous_response_id together"
            ),
            responses_checks.no_items_of_openai("router-for-me/CLIProxyAPI#4434", 422, _NO_ITEM_OF_XAI),
            responses_checks.no_null_in_items("Wei-Shaw/sub2api#4237, lidge-jun/opencodex#2239", "content", 422, _NO_ITEM_OF_XAI),
            responses_checks.tool_types(
                "maximhq/bifrost#5428",
                422,
                "function",
                "web_search",
                "x_search",
                "image_generation",
                "collections_search",
                "file_search",
                "code_execution",
                "code_interpreter",
                "mcp",
                "shell",
            ),
            responses_checks.no_keys_of_tools(
                f"NOirBRight/CodexHub#517, {_XAI_TYPES}, ModelTool",
                *("web_search.external_web_access", "web_search.search_context_size", "web_search.user_location"),
                *("file_search.filters", "file_search.ranking_options", "code_interpreter.container"),
                message="Argument not supported",
            ),
            checks.at_most(f"{_XAI_TYPES}, ModelResponse.tools", "tools", 128),
            checks.in_range(f"{_XAI_TYPES}, ModelRequest.top_logprobs", "top_logprobs", 0, 8),
            checks.image_types(_XAI_IMAGES, *_STILL_IMAGES, message=_NOT_OF_XAI),
            responses_checks.known_efforts_of_reasoning(_XAI_EFFORTS, "none", "low", "medium", "high", "xhigh"),
        ),
    },
    "cerebras": {
        _CHAT: (
            combinations.format_without_tools(
                "BerriAI/litellm#31333", '"tools" is incompatible with "response_format"', code="wrong_api_format"
            ),
            schema_checks.no_keywords_in_strict_schemas(
                "inference-docs.cerebras.ai/capabilities/structured-outputs, musistudio/claude-code-router#338",
                *("minItems", "maxItems", "pattern", "format"),
            ),
            combinations.uniform_strict("RooCodeInc/Roo-Code#10334", "Tools with mixed values for 'strict' are not allowed."),
            checks.part_types(_CEREBRAS, "text", "image_url", words=checks.cerebras_error),
            checks.tool_choices(_CEREBRAS, "none", "auto", "required", words=checks.cerebras_error),
            checks.no_fields(
                _CEREBRAS, "audio", "modalities", "moderation", "metadata", "safety_identifier", words=checks.cerebras_error
            ),
            checks.no_fields(_CEREBRAS, "web_search_options", "include_reasoning", words=checks.cerebras_error),
            checks.no_fields(
                "Gitlawb/openclaude#740", "store", words=checks.cerebras_error, message="property 'body.store' is unsupported"
            ),
            checks.service_tiers("pydantic/pydantic-ai#7653", "auto", "default", "flex", "priority", words=checks.cerebras_error),
            checks.common_roles("inference-docs.cerebras.ai/resources/openai", checks.cerebras_error),
            checks.no_keys(
                f"QwenLM/qwen-code#11045, proxysoul/Empryo#209, {_CEREBRAS}",
                *("reasoning_content", "function_call", *_OF_OTHER_ANSWERS),
                words=checks.cerebras_error,
            ),
            checks.known_efforts(_CEREBRAS, "none", "low", "medium", "high", words=checks.cerebras_error),
            checks.functions_only(_CEREBRAS, checks.cerebras_error),
        )
    },
    "together": {
        _CHAT: (
            checks.no_fields("togethercomputer/together-py, completion_create_params.py", "web_search_options"),
            checks.common_roles("togethercomputer/together-py, completion_create_params.py"),
            checks.no_fields("togethercomputer/together-py, completion_create_params.py", "max_completion_tokens"),
            checks.known_efforts("togethercomputer/together-py, completion_create_params.py", "low", "medium", "high"),
            checks.functions_only("togethercomputer/together-py, completion_create_params.py"),
            Rule(
                "logprobs",
                "`logprobs` that is no integer",
                "togethercomputer/together-py, completion_create_params.py",
                checks.check_integer_logprobs,
            ),
        )
    },
    "fireworks": {
        _CHAT: (
            checks.service_tiers("fireworks-ai, completion_create_params.py", "auto", "default", "flex", "priority"),
            checks.tool_choices("fireworks-ai, completion_create_params.py", "none", "auto", "any", "required"),
            checks.not_both("fireworks-ai, completion_create_params.py", "thinking", "reasoning_effort"),
            checks.budgets_from("fireworks-ai, completion_create_params.py", 1024),
            checks.in_range("fireworks-ai, completion_create_params.py", "top_logprobs", 0, 5),
            checks.functions_only("fireworks-ai, completion_create_params.py"),
            checks.no_keys("fireworks-ai, chat_message.py", "name", roles=("system", "developer", "user", "assistant")),
            checks.no_keys("web-infra-dev/midscene#1322, fireworks-ai, chat_message.py", "reasoning", *_OF_OTHER_ANSWERS),
        )
    },
    "perplexity": {
        _CHAT: (
            checks.response_formats("perplexityai, completion_create_params.py", "text", "json_schema"),
            schema_checks.no_any_object("docs.perplexity.ai/guides/structured-outputs"),
            combinations.one_kind_of_domains("docs.perplexity.ai/docs/sonar/filters"),
            checks.complete_functions("perplexityai, completion_create_params.py", "description", "parameters"),
            Rule(
                "turns",
                "two turns of the user, or of the model, in sequence, or instructions after the first turn",
                "perplexityai/api-discussion#265, edenai/edenai-apis#144",
                checks.check_turns,
            ),
            checks.no_keys("BerriAI/litellm#2373", "name", roles=("system", "user", "assistant", "tool")),
            checks.no_keys("perplexityai, chat_message_input.py", *_OF_ANSWERS),
            checks.max_tokens_from("langgenius/dify-official-plugins#3255, NetSendo/NetSendo#27", 16),
            combinations.no_final_answer("BerriAI/litellm#3918", "Last message must have role `user`."),
            checks.tool_choices("perplexityai, completion_create_params.py", "none", "auto", "required", accepts_functions=False),
        )
    },
    "moonshot": {
        _CHAT: (
            checks.functions_only("platform.moonshot.cn/docs/guide/use-web-search", prefix="builtin_function"),
            checks.no_fields("platform.moonshot.cn/docs/guide/use-web-search", "web_search_options"),
            checks.common_roles("earendil-works/pi, detectCompat"),
            checks.no_fields(
                "UKGovernmentBEIS/inspect_ai#5156, QuantumNous/new-api#5372",
                *("frequency_penalty", "presence_penalty", "temperature", "top_p"),
                message="only one value is allowed for this model",
            ),
            checks.in_range("platform.kimi.ai/docs/api/models-overview", "n", 1, 1),
            checks.not_both("HKUDS/nanobot#3939", "thinking", "reasoning_effort"),
            checks.reasoning_off(
                "can1357/oh-my-pi#1077",
                "thinking",
                {"type": "disabled"},
                "tool_choice 'specified' is incompatible with thinking enabled",
            ),
            checks.letter_first("MoonshotAI/kimi-cli#1773"),
            checks.data_only("platform.kimi.ai/docs/api/chat"),
            Rule("empty_answer", "an empty message of the model", "Toloka/tolokaforge#1284", checks.check_moonshot_content),
            checks.reasoning_required(
                "continuedev/continue#11600", "thinking is enabled but reasoning_content is missing in assistant tool call message"
            ),
        ),
        "messages": (
            checks.signatures_of_server("NousResearch/hermes-agent#14018"),
            checks.thinking_required(
                "NousResearch/hermes-agent#14018, NousResearch/hermes-agent#17057, borawong/AiMaMi#10",
                "thinking is enabled but reasoning_content is missing in assistant tool call message",
                is_on_by_default=False,
            ),
            checks.block_rule(
                "OpenHands/software-agent-sdk#3155, OpenHands/software-agent-sdk#3219",
                "an image by URL",
                "Invalid request: unsupported image url",
                checks.is_remote_image,
            ),
        ),
    },
    "zhipu": {
        _CHAT: (
            checks.no_fields("zai-sdk, api_resource/chat/completions.py", "web_search_options"),
            checks.common_roles("mcowger/plexus#77"),
            checks.tool_choices("docs.z.ai/api-reference/llm/chat-completion", "auto", accepts_functions=False),
            checks.response_formats("docs.z.ai/api-reference/llm/chat-completion", "text", "json_object"),
            checks.in_range("theopenco/llmgateway#3268", "temperature", 0, 1),
            Rule("empty_text", "a part that is an empty text", "zed-industries/zed#37751", checks.check_empty_texts),
            checks.part_types("zai-org/GLM-V#200", "text", "image_url", "video_url", "file_url"),
            checks.at_most("docs.z.ai/api-reference/llm/chat-completion", "stop", 1),
            checks.no_fields(
                "zai-sdk, api_resource/chat/completions.py", "frequency_penalty", "presence_penalty", "thinking_budget"
            ),
            checks.no_keys("java.agentscope.io/v2/en/integration/model/glm", "name", roles=("system", "user", "assistant", "tool")),
        ),
        "messages": (
            checks.no_system_turns(
                "zai-org/GLM-5#74, diegosouzapw/OmniRoute#1447", "Input should be 'user' or 'assistant'", words=checks.zhipu_error
            ),
        ),
    },
    "qwen": {
        _CHAT: (
            checks.functions_only("alibabacloud.com/help/en/model-studio/qwen-api-via-openai-chat-completions"),
            checks.no_fields("docs.qwencloud.com/api-reference/chat/openai-chat", "web_search_options"),
            checks.in_range("mnfst/modelparams.dev#232", "temperature", 0, 1.9999),
            checks.in_range("netease-youdao/QAnything#360", "top_p", 1e-9, 1),
            checks.common_roles("mcowger/plexus#77"),
            checks.tool_choices("pydantic/pydantic-ai#1265", "auto", "none"),
            combinations.single_answer_with_tools(
                "help.aliyun.com/zh/model-studio/qwen-api-via-openai-chat-completions", "n must be 1 when tools is set"
            ),
            checks.arguments_of_calls(
                "HKUDS/nanobot#1487", 'The "function.arguments" parameter of the code model must be in JSON format.'
            ),
            checks.part_types("QwenLM/qwen-code#1888", "text", "image_url", "video_url", "video", "input_audio"),
            Rule("audio", "audio whose data are base64, without a URL", "AAswordman/Operit#601", checks.check_audio_urls),
            checks.not_both("QwenLM/qwen-code#8525, lobehub/lobehub#17863", "thinking_budget", "reasoning_effort"),
            checks.known_efforts("earendil-works/pi#6951", "minimal", "low", "medium", "high", "xhigh", "max"),
            checks.reasoning_off(
                "QwenLM/qwen-code#7659, cloudwego/eino#994",
                "enable_thinking",
                False,
                "The tool_choice parameter does not support being set to required or object in thinking mode",
            ),
            combinations.format_without_reasoning(
                "presenton/presenton#184", "Json mode response is not supported when enable_thinking is true"
            ),
            Rule(
                "instructions",
                "a system message after the first turn",
                "docs.qwencloud.com/api-reference/chat/openai-chat",
                checks.check_instructions_first,
            ),
        )
    },
    "minimax": {
        _CHAT: (
            checks.common_roles("openclaw/openclaw#3022"),
            checks.tool_choices("platform.minimax.io/docs/api-reference/text-post", "auto", "none", accepts_functions=False),
            checks.functions_only("platform.minimax.io/docs/api-reference/text-openai-api", prefix="web_search"),
            checks.no_fields("platform.minimax.io/docs/api-reference/text-openai-api", "web_search_options"),
            checks.in_range("HKUDS/Vibe-Trading#33", "temperature", 0.01, 1),
            checks.response_formats("MiniMax-AI/MiniMax-M2.5#4", "text"),
            checks.complete_functions("QwenLM/qwen-code#11834, QwenLM/qwen-code#11905", "parameters"),
            checks.arguments_of_calls("can1357/oh-my-pi#181", "invalid params, invalid function arguments json string (2013)"),
            Rule(
                "instructions",
                "a second message with instructions, or one after the first turn",
                "openclaw/openclaw#19386, MiniMax-AI/MiniMax-M2#27",
                checks.check_minimax_instructions,
            ),
        ),
        "messages": (
            checks.signatures_of_server("NousResearch/hermes-agent#75779"),
            checks.no_system_turns("codexu/note-gen#918", "invalid message role: system (2013)"),
            checks.functions_of_caller(
                "ding113/claude-code-hub#1262, MiniMax-AI/MiniMax-M3#23",
                "invalid params, function name or parameters is empty (2013)",
            ),
            Rule("output_format", "`output_config.format`", "decolua/9router#817", checks.check_output_format),
            Rule(
                "thinking",
                "`thinking` of a type other than `adaptive` and `disabled`",
                "earendil-works/pi#6658, HenriGrimm/Minnow#364, chaitin/MonkeyCode#1175",
                checks.check_minimax_thinking,
            ),
            checks.in_range("HKUDS/Vibe-Trading#33", "temperature", 0.01, 1, checks.anthropic_error),
            checks.block_rule(_MINIMAX_GUIDE, "a document", "content type is not supported", checks.of_types("document")),
        ),
    },
    "huggingface": {
        _CHAT: (
            checks.no_fields("huggingface_hub, ChatCompletionInput", "web_search_options"),
            checks.functions_only("huggingface_hub, ChatCompletionInput"),
            checks.tool_choices("huggingface_hub, ChatCompletionInputToolChoiceEnum", "auto", "none", "required"),
            checks.in_range("huggingface_hub, ChatCompletionInput", "top_logprobs", 0, 5),
            checks.at_most("huggingface_hub, ChatCompletionInput", "stop", 4),
            checks.part_types("huggingface_hub, ChatCompletionInputMessageChunkType", "text", "image_url"),
        )
    },
    "litellm": {_CHAT: (checks.not_both("docs.litellm.ai/docs/reasoning_content", "thinking", "reasoning_effort"),)},
    "vercel_gateway": {_CHAT: ()},
    "anthropic": {"messages": ()},
    "bedrock": {"messages": clouds.BEDROCK},
    "vertex": {"messages": clouds.VERTEX, "generate_content": clouds.VERTEX_GEMINI},
    "gemini": {"generate_content": clouds.GEMINI},
    **SELF_HOSTED,
}
"""The rules by the name of a dialect and by format. A format without rules is read as its vendor reads it."""

RULES_NOT_ENFORCED: Mapping[tuple[str | None, fb.FormatName], frozenset[str]] = {
    ("cerebras", "chat_completions"): frozenset({"metadata_not_stored"}),
    ("deepseek", "chat_completions"): frozenset({"stop_count"}),
    ("deepseek", "messages"): frozenset({"thinking_excludes", "unknown_signature"}),
    ("fireworks", "chat_completions"): frozenset({"metadata_not_stored"}),
    ("groq", "responses"): frozenset({"reasoning_not_stored", "limit_below_16"}),
    ("huggingface", "chat_completions"): frozenset({"empty_list"}),
    ("llamacpp", "chat_completions"): frozenset({"stop_count"}),
    ("minimax", "messages"): frozenset({"thinking_excludes", "unknown_signature"}),
    ("mistral", "chat_completions"): frozenset({"metadata_not_stored", "empty_list"}),
    ("moonshot", "messages"): frozenset({"unknown_signature"}),
    ("ollama", "chat_completions"): frozenset({"stop_count"}),
    ("ollama", "responses"): frozenset({"reasoning_not_stored", "unknown_token", "limit_below_16"}),
    ("sglang", "chat_completions"): frozenset({"stop_count"}),
    ("xai", "chat_completions"): frozenset({"metadata_not_stored"}),
    ("xai", "responses"): frozenset({"item_id", "reasoning_not_stored", "limit_below_16"}),
    ("vertex", "generate_content"): frozenset({"labels", "combined_tools", "config_without_functions"}),
    ("vllm", "chat_completions"): frozenset({"stop_count"}),
    ("vllm", "responses"): frozenset({"reasoning_not_stored", "limit_below_16"}),
}
"""Rules of a format that the server of a dialect does not enforce."""
