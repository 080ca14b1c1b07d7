"""How servers read requests of Responses."""

from __future__ import annotations

from collections.abc import Mapping

from formatbridge.dialect import DialectRules
from formatbridge.formats.dialects.common import IMAGES, IMAGES_OF_XAI, STILL_IMAGES, sources_of_fields

_VLLM_TOOLS = frozenset({
    "web_search", "code", "image_generation", "mcp", "file_search", "local_shell", "shell", "apply_patch", "computer_use_preview",
})  # fmt: skip
_VLLM_INCLUDES = frozenset({
    "code_interpreter_call.outputs", "computer_call_output.output.image_url", "file_search_call.results",
    "message.input_image.image_url", "message.output_text.logprobs", "reasoning.encrypted_content",
})  # fmt: skip
_OPENROUTER_INCLUDES = frozenset({
    "code_interpreter_call.outputs", "computer_call_output.output.image_url", "file_search_call.results",
    "message.input_image.image_url", "reasoning.encrypted_content", "web_search_call.action.sources", "web_search_call.results",
})  # fmt: skip
_IGNORED_BY_VLLM = frozenset({
    "context_management", "conversation", "moderation", "prompt_cache_key", "prompt_cache_options", "prompt_cache_retention",
    "safety_identifier", "stream_options",
})  # fmt: skip
_ITEMS_OF_OPENAI = frozenset({
    "additional_tools", "configuration_update", "custom_tool_call", "custom_tool_call_output", "tool_search_call", "tool_search_output",
})  # fmt: skip
"""Types of items of custom tools, of tool searches and of changes of the configuration."""
_COMMON_ITEMS = frozenset({"message", "function_call", "function_call_output", "reasoning"})
"""The types of items that servers of open models read."""
_IGNORED_BY_OLLAMA = frozenset({
    "background", "context_management", "conversation", "include", "max_tool_calls", "metadata", "moderation", "parallel_tool_calls",
    "prompt", "prompt_cache_key", "prompt_cache_options", "prompt_cache_retention", "safety_identifier", "service_tier", "store",
    "stream_options", "tool_choice", "top_logprobs", "truncation", "user",
})  # fmt: skip
_REJECTED_BY_GROQ = frozenset({
    "background", "context_management", "conversation", "include", "max_tool_calls", "moderation", "previous_response_id", "prompt",
    "prompt_cache_key", "prompt_cache_options", "prompt_cache_retention", "safety_identifier", "stream_options", "top_logprobs",
})  # fmt: skip
_GROQ_PAGE = "console.groq.com/docs/responses-api"
_GROQ_TYPES = "GroqCloud API specification 2.1 (tryAGI/AutoSDK specs/groq.yaml), CreateResponseRequest"
_XAI_TYPES = "xAI's OpenAPI (api-evangelist/xai openapi/xai-responses-api-openapi.yml)"
_XAI_TOOLS = frozenset({
    "web_search", "code", "image_generation", "mcp", "x_search", "collections_search", "file_search", "code_execution", "shell",
})  # fmt: skip
_REJECTED_IN_TOOLS_OF_XAI = frozenset({
    "web_search.external_web_access", "web_search.search_context_size", "web_search.user_location", "file_search.filters",
    "file_search.ranking_options", "code_interpreter.container",
})  # fmt: skip

RESPONSES: Mapping[str, DialectRules] = {
    "openai": DialectRules(server="OpenAI"),
    "azure": DialectRules(server="Azure OpenAI"),
    "groq": DialectRules(
        server="Groq",
        rejects=_REJECTED_BY_GROQ,
        ignores=frozenset({"truncation"}),
        ignores_nested=frozenset({"text/verbosity", "reasoning/summary"}),
        stores_responses=False,
        reads_result_parts=False,
        rejects_items=_ITEMS_OF_OPENAI,
        accepts_later_configuration=False,
        has_custom_tools=False,
        has_namespaces=False,
        has_tool_search=False,
        server_tools=frozenset({"browser_search", "code", "mcp"}),
        search_tool="browser_search",
        tool_modes=frozenset({"auto", "none", "required"}),
        accepts_allowed_tools=False,
        most_tools=128,
        smallest_max_tokens=1,
        tiers=frozenset({"auto", "default", "flex"}),
        efforts=frozenset({"low", "medium", "high"}),
        format_excludes_tools=True,
        schema_excludes_stream=True,
        accepts_unsigned_reasoning=True,
        reads_encrypted_reasoning=False,
        summary_is_reasoning=False,
        media=IMAGES,
        accepts_generated_images=False,
        accepts_refusals=False,
        cache_marks="none",
        sources=sources_of_fields(
            {
                f"{_GROQ_PAGE}, Unsupported Features; {_GROQ_TYPES}": "rejects",
                f"{_GROQ_PAGE}, Unsupported Features": "ignores",
                f"{_GROQ_PAGE}, Built-In Tools, Model Context Protocol": "server_tools search_tool",
                f"{_GROQ_PAGE}, Multi-turn Conversations, Reasoning: an answer with reasoning text is sent back as input": (
                    "accepts_unsigned_reasoning reads_encrypted_reasoning summary_is_reasoning"
                ),
                f"{_GROQ_PAGE}, Image Inputs; {_GROQ_TYPES}, ResponseInputContent": "media accepts_refusals cache_marks",
                _GROQ_TYPES: "ignores_nested stores_responses most_tools smallest_max_tokens tiers efforts",
                f"{_GROQ_TYPES}, ResponseInputItem": "rejects_items accepts_later_configuration accepts_generated_images",
                f"{_GROQ_TYPES}, ResponseFunctionCallOutput": "reads_result_parts",
                f"{_GROQ_TYPES}, ResponseTool": "has_custom_tools has_namespaces has_tool_search",
                f"{_GROQ_TYPES}, ResponseNamedToolChoice: a function in another form than OpenAI's": "tool_modes accepts_allowed_tools",
                "console.groq.com/docs/structured-outputs: no streaming, no tools": "format_excludes_tools schema_excludes_stream",
            }
        ),
    ),
    "ollama": DialectRules(
        server="Ollama",
        rejects=frozenset({"previous_response_id"}),
        ignores=_IGNORED_BY_OLLAMA,
        ignores_nested=frozenset({"text/verbosity"}),
        accepts_strict=False,
        requires_object_arguments=True,
        accepts_developer_role=False,
        accepts_later_configuration=False,
        item_types=_COMMON_ITEMS,
        has_custom_tools=False,
        has_namespaces=False,
        has_tool_search=False,
        server_tools=frozenset(),
        efforts=frozenset({"none", "low", "medium", "high", "max"}),
        smallest_max_tokens=1,
        output_formats=frozenset({"json_schema"}),
        media=frozenset({"image_data"}),
        image_types=STILL_IMAGES,
        reads_image_detail=False,
        encrypted_reasoning_is_text=True,
        reads_last_reasoning=True,
        accepts_generated_images=False,
        accepts_refusals=False,
        cache_marks="none",
        sources=sources_of_fields(
            {
                "github.com/ollama/ollama openai/responses.go": (
                    "efforts smallest_max_tokens output_formats media accepts_refusals cache_marks accepts_generated_images rejects "
                    "accepts_strict ignores ignores_nested accepts_later_configuration "
                    "item_types has_tool_search server_tools"
                ),
                "github.com/ollama/ollama openai/responses.go, FromResponsesRequest": (
                    "reads_image_detail encrypted_reasoning_is_text reads_last_reasoning requires_object_arguments"
                ),
                "github.com/ollama/ollama openai/openai.go, decodeImageURL": "image_types",
                "ollama/ollama#17673": "has_custom_tools",
                "ollama/ollama#18305, NVIDIA/NemoClaw#1932": "accepts_developer_role",
                "ollama/ollama#17618, #18284": "has_namespaces",
            }
        ),
    ),
    "openrouter": DialectRules(
        server="OpenRouter",
        rejects=frozenset({"previous_response_id"}),
        reads=frozenset({"automatic_cache", "frequency_penalty", "presence_penalty", "stop", "top_k"}),
        most_stops=4,
        stores_responses=False,
        has_namespaces=False,
        includes=_OPENROUTER_INCLUDES,
        reasoning_control="reasoning",
        sources=sources_of_fields(
            {
                "openrouter.ai/docs/sdks/python/api-reference/components/responsesrequest": "reads most_stops",
                "openrouter.ai/docs/api_reference/responses/error-handling; BerriAI/litellm#30851": "rejects stores_responses",
                "openai/codex#18307, awsl-project/maxx#537; openai/codex#32318: only some models have them": "has_namespaces",
                "github.com/OpenRouterTeam/typescript-sdk src/models/responseincludesenum.ts": "includes",
                "github.com/OpenRouterTeam/python-sdk src/openrouter/components/reasoningconfig.py": "reasoning_control",
            }
        ),
    ),
    "vllm": DialectRules(
        server="vLLM",
        item_types=_COMMON_ITEMS,
        rejects=frozenset({"prompt"}),
        ignores=_IGNORED_BY_VLLM,
        reads=frozenset({"frequency_penalty", "logit_bias", "presence_penalty", "seed", "stop", "top_k"}),
        smallest_max_tokens=1,
        accepts_later_configuration=False,
        has_custom_tools=False,
        has_namespaces=False,
        has_tool_search=False,
        includes=_VLLM_INCLUDES,
        output_formats=frozenset({"json_schema"}),
        server_tools=_VLLM_TOOLS,
        media=IMAGES | {"audio_data"},
        accepts_unsigned_reasoning=True,
        reads_encrypted_reasoning=False,
        reads_first_part=True,
        summary_is_reasoning=False,
        accepts_generated_images=False,
        accepts_refusals=False,
        accepts_nulls=False,
        rejects_null_in_items=frozenset({"id"}),
        cache_marks="none",
        sources=sources_of_fields(
            {
                "github.com/vllm-project/vllm vllm/entrypoints/openai/responses/protocol.py": (
                    "cache_marks rejects ignores reads smallest_max_tokens includes accepts_unsigned_reasoning"
                ),
                "vllm-project/vllm#38613": "reads.frequency_penalty reads.presence_penalty",
                "vllm-project/vllm#47831: versions before this change accept json_object, but do not apply it": "output_formats",
                "vllm-project/vllm#42475": "accepts_later_configuration has_tool_search server_tools",
                "github.com/vllm-project/vllm vllm/entrypoints/openai/responses/utils.py": "has_custom_tools reads_encrypted_reasoning",
                "github.com/vllm-project/vllm vllm/entrypoints/openai/responses/utils.py, _construct_message_from_response_item": (
                    "reads_first_part accepts_refusals"
                ),
                "github.com/vllm-project/vllm vllm/entrypoints/openai/responses/harmony.py, response_input_to_harmony": (
                    "summary_is_reasoning"
                ),
                "vllm-project/vllm#55974, #55701": "item_types accepts_generated_images",
                "vllm-project/vllm#46737, #49493": "has_namespaces",
                "vllm-project/vllm#54224; vllm/entrypoints/openai/responses/protocol.py, service_tier, tool_choice, tools": (
                    "accepts_nulls rejects_null_in_items"
                ),
                "vllm-project/vllm#46562; github.com/vllm-project/vllm vllm/entrypoints/chat_utils.py, MM_PARSER_MAP": "media",
            }
        ),
    ),
    "xai": DialectRules(
        server="xAI",
        rejects_items=_ITEMS_OF_OPENAI,
        ignores=frozenset({"background", "metadata", "service_tier", "truncation"}),
        continuation_excludes_instructions=True,
        reads_result_parts=False,
        accepts_later_configuration=False,
        has_custom_tools=False,
        has_namespaces=False,
        has_tool_search=False,
        accepts_allowed_tools=False,
        server_tools=_XAI_TOOLS,
        tool_types=dict.fromkeys(("web_search_preview", "web_search_preview_2025_03_11", "web_search_2025_08_26"), "web_search"),
        rejects_in_tools=_REJECTED_IN_TOOLS_OF_XAI,
        rejects_null_in_items=frozenset({"content"}),
        most_tools=128,
        smallest_max_tokens=1,
        has_logprobs_flag=True,
        ranges={"top_logprobs": (0, 8)},
        cache_marks="none",
        efforts=frozenset({"none", "low", "medium", "high", "xhigh"}),
        image_types=STILL_IMAGES,
        sources=sources_of_fields(
            {
                "reference.langchain.com, XAIResponsesCreateParams": "cache_marks ignores",
                "reference.langchain.com, XAIResponsesCreateParams; holon-run/holon#2158": "continuation_excludes_instructions",
                "router-for-me/CLIProxyAPI#4434": "accepts_later_configuration rejects_items",
                "james-6-23/codex2api#516": "has_custom_tools",
                "maximhq/bifrost#5428": "has_namespaces has_tool_search server_tools tool_types",
                "NOirBRight/CodexHub#517": "rejects_in_tools.web_search.external_web_access",
                f"{_XAI_TYPES}, ModelTool": "rejects_in_tools",
                f"{_XAI_TYPES}, FunctionToolCallOutput": "reads_result_parts",
                f"{_XAI_TYPES}, ModelResponse.tools": "most_tools",
                f"{_XAI_TYPES}, ModelRequest.max_output_tokens": "smallest_max_tokens",
                f"{_XAI_TYPES}, ModelRequest.logprobs, ModelRequest.top_logprobs": "has_logprobs_flag ranges",
                "Wei-Shaw/sub2api#4237, lidge-jun/opencodex#2239": "rejects_null_in_items",
                "router-for-me/CLIProxyAPI#4718, router-for-me/CLIProxyAPI#5916": "accepts_allowed_tools",
                IMAGES_OF_XAI: "image_types",
                "docs.x.ai/developers/model-capabilities/text/reasoning; chenyme/grok2api#901": "efforts",
            }
        ),
    ),
}
"""Name of a dialect to its rules."""
