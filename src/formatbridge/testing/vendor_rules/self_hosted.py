"""What the servers reject that users run themselves, besides the rules of their formats."""

from __future__ import annotations

from collections.abc import Mapping

import formatbridge as fb
from formatbridge.jsontext.types import JsonObject
from formatbridge.testing.script import Failure
from formatbridge.testing.vendor_rules import combination_checks as combinations
from formatbridge.testing.vendor_rules import responses_checks
from formatbridge.testing.vendor_rules import server_checks as checks
from formatbridge.testing.vendor_rules.openai import openai_failure
from formatbridge.testing.vendor_rules.rule import Facts, Rule, items_of, objects

_VLLM_PROTOCOL = "vllm-project/vllm, vllm/entrypoints/openai/responses/protocol.py"
_VLLM_UTILS = "vllm-project/vllm, vllm/entrypoints/openai/responses/utils.py"
_VLLM_INCLUDES = (
    "code_interpreter_call.outputs", "computer_call_output.output.image_url", "file_search_call.results",
    "message.input_image.image_url", "message.output_text.logprobs", "reasoning.encrypted_content",
)  # fmt: skip


def _check_vllm_files(body: JsonObject, _facts: Facts) -> Failure | None:
    """Reject a file in a message or in a result."""
    is_refused = any(node.get("type") == "input_file" for node in objects(body.get("input")))
    return openai_failure(400, "Unknown part type: input_file", param="type") if is_refused else None


def _check_vllm_refusals(body: JsonObject, _facts: Facts) -> Failure | None:
    """Reject a message of the model whose first part is a refusal, which has no text."""
    items = items_of(body)
    contents = [item.get("content") for item in items if item.get("role") == "assistant"]
    is_refused = any(isinstance(content, list) and content and content[0].get("type") == "refusal" for content in contents)
    return openai_failure(500, "'ResponseOutputRefusal' object has no attribute 'text'") if is_refused else None


def _check_vllm_nulls(body: JsonObject, _facts: Facts) -> Failure | None:
    """Reject a null in a field that has a default, and as the id of reasoning or of an answer."""
    items = items_of(body)
    ids = [f"input.{index}.id" for index, item in enumerate(items) if item.get("id", "") is None and _is_of_model(item)]
    fields = [name for name in ("service_tier", "tool_choice", "tools") if body.get(name, "") is None]
    return openai_failure(400, "Input should be a valid value", param=(ids + fields)[0]) if ids or fields else None


def _is_of_model(item: JsonObject) -> bool:
    return item.get("type") == "reasoning" or item.get("role") == "assistant"


def _check_vllm_encrypted_content(body: JsonObject, _facts: Facts) -> Failure | None:
    """Reject reasoning with encrypted content, which vLLM cannot read."""
    is_refused = any(node.get("type") == "reasoning" and node.get("encrypted_content") for node in objects(body.get("input")))
    return openai_failure(400, "Encrypted content is not supported.", param="input") if is_refused else None


_VLLM_RESPONSES = (
    checks.no_fields(_VLLM_PROTOCOL, "prompt", message="prompt template is not supported"),
    responses_checks.common_items("vllm-project/vllm#55974, #55701", "Unsupported input item type"),
    responses_checks.known_includes(_VLLM_PROTOCOL, *_VLLM_INCLUDES),
    Rule(
        "null",
        "`service_tier`, `tool_choice`, `tools` or the id of an item of the model is null",
        f"vllm-project/vllm#54224, {_VLLM_PROTOCOL}",
        _check_vllm_nulls,
    ),
    Rule("part_type", "a file", "vllm-project/vllm#46562", _check_vllm_files),
    Rule("refusal", "a message of the model that begins with a refusal", _VLLM_UTILS, _check_vllm_refusals),
    Rule("encrypted_content", "a reasoning item with `encrypted_content`", _VLLM_UTILS, _check_vllm_encrypted_content),
    responses_checks.tool_types(
        "vllm-project/vllm#42475, #49493",
        400,
        "function",
        "web_search",
        "web_search_preview",
        "web_search_2025_08_26",
        "web_search_preview_2025_03_11",
        "code_interpreter",
        "image_generation",
        "mcp",
        "file_search",
        "local_shell",
        "shell",
        "apply_patch",
        "computer_use_preview",
    ),
)
"""The rules of vLLM for responses."""


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
            responses_checks.common_items(_OLLAMA_RESPONSES, "unknown input item type"),
            responses_checks.arguments_of_items(_OLLAMA_RESPONSES, "failed to parse function call arguments"),
            Rule(
                "part_type",
                "a file, a refusal, or an image whose URL is not a `data:` URL",
                _OLLAMA_RESPONSES,
                responses_checks.check_ollama_parts,
            ),
            checks.image_types(_OLLAMA_IMAGES, *_STILL_IMAGES, message="invalid image input"),
            responses_checks.known_efforts_of_reasoning(_OLLAMA_RESPONSES, "none", "low", "medium", "high", "max"),
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
        "responses": _VLLM_RESPONSES,
    },
}
"""The rules by the name of a dialect and by format."""
