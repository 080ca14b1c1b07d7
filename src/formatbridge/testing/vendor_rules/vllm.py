"""What vLLM rejects in requests of Responses."""

from __future__ import annotations

from formatbridge.jsontext.types import JsonObject
from formatbridge.testing.script import Failure
from formatbridge.testing.vendor_rules import item_checks
from formatbridge.testing.vendor_rules.openai import openai_failure
from formatbridge.testing.vendor_rules.rule import Facts, Rule, objects
from formatbridge.testing.vendor_rules.server_checks import no_fields

_PROTOCOL = "vllm-project/vllm, vllm/entrypoints/openai/responses/protocol.py"
_UTILS = "vllm-project/vllm, vllm/entrypoints/openai/responses/utils.py"
_INCLUDES = (
    "code_interpreter_call.outputs", "computer_call_output.output.image_url", "file_search_call.results",
    "message.input_image.image_url", "message.output_text.logprobs", "reasoning.encrypted_content",
)  # fmt: skip


def _check_files(body: JsonObject, _facts: Facts) -> Failure | None:
    """Reject a file in a message or in a result."""
    is_refused = any(node.get("type") == "input_file" for node in objects(body.get("input")))
    return openai_failure(400, "Unknown part type: input_file", param="type") if is_refused else None


def _check_refusals(body: JsonObject, _facts: Facts) -> Failure | None:
    """Reject a message of the model whose first part is a refusal, which has no text."""
    items = body["input"] if isinstance(body.get("input"), list) else []
    contents = [item.get("content") for item in items if item.get("role") == "assistant"]
    is_refused = any(isinstance(content, list) and content and content[0].get("type") == "refusal" for content in contents)
    return openai_failure(500, "'ResponseOutputRefusal' object has no attribute 'text'") if is_refused else None


def _check_nulls(body: JsonObject, _facts: Facts) -> Failure | None:
    """Reject a null in a field that has a default, and as the id of reasoning or of an answer."""
    items = body["input"] if isinstance(body.get("input"), list) else []
    ids = [f"input.{index}.id" for index, item in enumerate(items) if item.get("id", "") is None and _is_of_model(item)]
    fields = [name for name in ("service_tier", "tool_choice", "tools") if body.get(name, "") is None]
    return openai_failure(400, "Input should be a valid value", param=(ids + fields)[0]) if ids or fields else None


def _is_of_model(item: JsonObject) -> bool:
    return item.get("type") == "reasoning" or item.get("role") == "assistant"


def _check_encrypted_content(body: JsonObject, _facts: Facts) -> Failure | None:
    """Reject reasoning with encrypted content, which vLLM cannot read."""
    is_refused = any(node.get("type") == "reasoning" and node.get("encrypted_content") for node in objects(body.get("input")))
    return openai_failure(400, "Encrypted content is not supported.", param="input") if is_refused else None


RESPONSES = (
    no_fields(_PROTOCOL, "prompt", message="prompt template is not supported"),
    item_checks.common_items("vllm-project/vllm#55974, #55701", "Unsupported input item type"),
    item_checks.known_includes(_PROTOCOL, *_INCLUDES),
    Rule(
        "null",
        "`service_tier`, `tool_choice`, `tools` or the id of an item of the model is null",
        f"vllm-project/vllm#54224, {_PROTOCOL}",
        _check_nulls,
    ),
    Rule("part_type", "a file", "vllm-project/vllm#46562", _check_files),
    Rule("refusal", "a message of the model that begins with a refusal", _UTILS, _check_refusals),
    Rule("encrypted_content", "a reasoning item with `encrypted_content`", _UTILS, _check_encrypted_content),
    item_checks.tool_types(
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
