"""What the server of a dialect rejects, besides the rules of its format. Each rule has the status and the words of that server.

The rules are written from reported refusals and from the types of the servers. They do not read the tables of ``formatbridge.dialects``,
so that these tests detect a mistake there.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from itertools import pairwise
from typing import Any

import formatbridge as fb
from formatbridge.jsontext.types import JsonObject
from formatbridge.testing.script import Failure
from formatbridge.testing.vendor_rules.openai import openai_failure
from formatbridge.testing.vendor_rules.rule import Facts, Rule

Words = Callable[[str, str], Failure]
"""A pointer and a message to the error of a server."""


# The errors of single servers.


def _openai(param: str, message: str) -> Failure:
    return openai_failure(400, message, param=param)


def _mistral(param: str, message: str) -> Failure:
    detail = [{"type": "extra_forbidden", "loc": ["body", *param.split(".")], "msg": message}]
    error = {"type": "invalid_request_error", "param": None, "code": None}
    return Failure(422, message, body={"object": "error", "message": {"detail": detail}, **error})


def _cerebras(param: str, message: str) -> Failure:
    error = {"message": f"{param}: {message}", "type": "invalid_request_error", "param": "validation_error"}
    return Failure(400, message, body={**error, "code": "wrong_api_format"})


def _xai(param: str, message: str) -> Failure:
    return Failure(400, message, body={"code": "Client specified an invalid argument", "error": f"{param}: {message}"})


def _perplexity(_param: str, message: str) -> Failure:
    return Failure(400, message, body={"error": {"message": message, "type": "invalid_message", "code": 400}})


def _anthropic(param: str, message: str) -> Failure:
    error = {"type": "invalid_request_error", "message": f"{param}: {message}"}
    return Failure(400, message, body={"type": "error", "error": error})


def _google(_param: str, message: str) -> Failure:
    return Failure(400, message, body={"error": {"code": 400, "message": message, "status": "INVALID_ARGUMENT"}})


# Rules. ``words``: the error of the server.


def _no_fields(source: str, *fields: str, words: Words = _openai, message: str = "Unrecognized request argument supplied") -> Rule:
    def check(body: JsonObject, _facts: Facts) -> Failure | None:
        return next((words(field, f"{message}: {field}") for field in fields if body.get(field) is not None), None)

    return Rule("field", f"a field of {', '.join(fields)}", source, check)


def _no_keys(source: str, *keys: str, roles: tuple[str, ...] = ("assistant",), words: Words = _openai) -> Rule:
    def check(body: JsonObject, _facts: Facts) -> Failure | None:
        for index, message in enumerate(body["messages"]):
            for key in keys if message["role"] in roles else ():
                if message.get(key) is not None:
                    return words(f"messages.{index}.{message['role']}.{key}", f"property '{key}' is unsupported")
        return None

    return Rule("field_of_message", f"{', '.join(keys)} in a message with the role {', '.join(roles)}", source, check)


def _roles(source: str, words: Words = _openai) -> Rule:
    def check(body: JsonObject, _facts: Facts) -> Failure | None:
        for index, message in enumerate(body["messages"]):
            if message["role"] not in ("system", "user", "assistant", "tool"):
                expected = "expected one of `system`, `user`, `assistant`, `tool`"
                return words(f"messages.{index}.role", f"messages[{index}].role: unknown variant `{message['role']}`, {expected}")
        return None

    return Rule("role", "a message with the role `developer`", source, check)


def _part_types(source: str, *types: str, words: Words = _openai) -> Rule:
    def check(body: JsonObject, _facts: Facts) -> Failure | None:
        for index, part in _parts(body):
            if part.get("type") not in types:
                return words(f"messages.{index}.content", f"unsupported content[].type: {part.get('type')}")
        return None

    return Rule("part_type", f"a part of another type than {', '.join(types)}", source, check)


def _data_only(source: str, words: Words = _openai) -> Rule:
    def check(body: JsonObject, _facts: Facts) -> Failure | None:
        for index, part in _parts(body):
            image = part.get("image_url") if part.get("type") == "image_url" else None
            url = image.get("url") if isinstance(image, dict) else image
            if isinstance(url, str) and not url.startswith(("data:", "ms://")):
                return words(f"messages.{index}.content", "invalid image input")
        return None

    return Rule("image_url", "an image whose URL is not a `data:` URL", source, check)


def _functions_only(source: str, words: Words = _openai, prefix: str | None = None) -> Rule:
    """Return a rule for servers with functions only. ``prefix``: of the types of tools that the server runs itself.

    A tool without a type is a function: recorded traffic has such requests that Mistral accepted.
    """

    def check(body: JsonObject, _facts: Facts) -> Failure | None:
        for index, tool in enumerate(body.get("tools") or ()):
            kind = tool.get("type") or "function"
            if kind != "function" and not (prefix and kind.startswith(prefix)):
                return words(f"tools.{index}.type", f"Input should be 'function', got {kind!r}")
        return None

    return Rule("tool_type", "a tool that is no function", source, check)


def _choices(source: str, *choices: str, named: bool = True, words: Words = _openai) -> Rule:
    def check(body: JsonObject, _facts: Facts) -> Failure | None:
        choice = body.get("tool_choice")
        is_known = choice is None or (isinstance(choice, str) and choice in choices)
        is_named = isinstance(choice, dict) and choice.get("type") == "function"
        return None if is_known or (named and is_named) else words("tool_choice", f"Invalid tool_choice: {choice!r}")

    return Rule("tool_choice", f"a tool choice other than {', '.join(choices)}{' or a function' if named else ''}", source, check)


def _outputs(source: str, *types: str, words: Words = _openai) -> Rule:
    def check(body: JsonObject, _facts: Facts) -> Failure | None:
        kind = (body.get("response_format") or {}).get("type", "text")
        return None if kind in types else words("response_format", "This response_format type is unavailable now")

    return Rule("response_format", f"a `response_format` other than {', '.join(types)}", source, check)


def _most(source: str, field: str, most: int, words: Words = _openai) -> Rule:
    def check(body: JsonObject, _facts: Facts) -> Failure | None:
        value = body.get(field)
        too_many = isinstance(value, list) and len(value) > most
        return words(field, f"{field}: at most {most} are allowed") if too_many else None

    return Rule("most", f"more than {most} values in `{field}`", source, check)


def _efforts(source: str, *efforts: str, words: Words = _openai) -> Rule:
    def check(body: JsonObject, _facts: Facts) -> Failure | None:
        effort = body.get("reasoning_effort")
        return None if effort in (None, *efforts) else words("reasoning_effort", f"invalid reasoning value: {effort!r}")

    return Rule("effort", f"a `reasoning_effort` other than {', '.join(efforts)}", source, check)


def _not_both(source: str, first: str, second: str, words: Words = _openai) -> Rule:
    def check(body: JsonObject, _facts: Facts) -> Failure | None:
        return words(first, f"{first} and {second} cannot be used together") if {first, second} <= body.keys() else None

    return Rule("excluded_field", f"both `{first}` and `{second}`", source, check)


def _reasoning_required(source: str, message: str) -> Rule:
    def check(body: JsonObject, _facts: Facts) -> Failure | None:
        for each in body["messages"]:
            if each["role"] == "assistant" and each.get("tool_calls") and not each.get("reasoning_content"):
                return openai_failure(400, message)
        return None

    return Rule("reasoning_required", "a message with tool calls and without `reasoning_content`", source, check)


def _parts(body: JsonObject) -> Iterator[tuple[int, JsonObject]]:
    for index, message in enumerate(body["messages"]):
        content = message.get("content")
        yield from ((index, part) for part in content if isinstance(part, dict)) if isinstance(content, list) else ()


# Rules of one server.


def _check_mistral_ids(body: JsonObject, _facts: Facts) -> Failure | None:
    for message in body["messages"]:
        ids = [call.get("id") for call in message.get("tool_calls") or ()] + [message.get("tool_call_id")]
        for call_id in filter(None, ids):
            if not re.fullmatch("[a-zA-Z0-9]{9}", call_id):
                words = f"Tool call id was {call_id} but must be a-z, A-Z, 0-9, with a length of 9."
                error = {"object": "error", "message": words, "type": "invalid_function_call", "param": None, "code": None}
                return Failure(400, words, body=error)
    return None


def _check_turns(body: JsonObject, _facts: Facts) -> Failure | None:
    roles = [message["role"] for message in body["messages"]]
    while roles and roles[0] in ("system", "developer"):
        del roles[0]
    for role, next_role in pairwise(roles):
        if role == next_role != "tool":
            return _perplexity("", "After the (optional) system message(s), user and assistant roles should be alternating.")
    return None


def _check_instructions_first(body: JsonObject, _facts: Facts) -> Failure | None:
    roles = [message["role"] for message in body["messages"]]
    first = next((index for index, role in enumerate(roles) if role != "system"), len(roles))
    return _openai("messages", "System message must be at the beginning.") if "system" in roles[first:] else None


def _check_openrouter_reasoning(body: JsonObject, _facts: Facts) -> Failure | None:
    reasoning = body.get("reasoning") or {}
    if {"effort", "max_tokens"} <= reasoning.keys():
        return openai_failure(400, 'Only one of "reasoning.effort" and "reasoning.max_tokens" can be specified')
    return None


def _check_integer_logprobs(body: JsonObject, _facts: Facts) -> Failure | None:
    return _openai("logprobs", "Expected an integer") if isinstance(body.get("logprobs"), bool) else None


def _blocks(value: Any) -> Iterator[JsonObject]:
    """Yield the content blocks of a messages request, and those in results."""
    for block in value if isinstance(value, list) else ():
        if isinstance(block, dict):
            yield block
            yield from _blocks(block.get("content"))


def _block_rule(source: str, about: str, message: str, is_refused: Callable[[JsonObject], bool]) -> Rule:
    def check(body: JsonObject, _facts: Facts) -> Failure | None:
        for index, each in enumerate(body["messages"]):
            if any(is_refused(block) for block in _blocks(each.get("content"))):
                return _anthropic(f"messages.{index}.content", message)
        return None

    return Rule("block", about, source, check)


def _has_remote_source(block: JsonObject) -> bool:
    source = block.get("source")
    return isinstance(source, dict) and source.get("type") == "url"


def _is_media(block: JsonObject) -> bool:
    return block.get("type") in ("image", "document")


def _check_bedrock_tools(body: JsonObject, _facts: Facts) -> Failure | None:
    for index, tool in enumerate(body.get("tools") or ()):
        if str(tool.get("type") or "").startswith(("web_search", "web_fetch", "code_execution")):
            return _anthropic(f"tools.{index}", f"tool type '{tool['type']}' is not supported")
    return None


def _is_object(value: object) -> bool:
    return isinstance(value, dict)


def _check_call_ids(body: JsonObject, _facts: Facts) -> Failure | None:
    contents = body.get("contents")
    for index, content in enumerate(contents if isinstance(contents, list) else [contents]):
        if not isinstance(content, dict):  # text alone
            continue
        parts = content.get("parts")
        for number, part in enumerate(filter(_is_object, parts if isinstance(parts, list) else [parts])):
            for key, name in (("functionCall", "function_call"), ("functionResponse", "function_response")):
                if "id" in (part.get(key) or {}):
                    place = f"contents[{index}].parts[{number}].{name}"
                    return _google("", f"Invalid JSON payload received. Unknown name \"id\" at '{place}': Cannot find field.")
    return None


def _check_labels(body: JsonObject, _facts: Facts) -> Failure | None:
    message = 'Invalid JSON payload received. Unknown name "labels": Cannot find field.'
    return _google("labels", message) if "labels" in body else None


def _check_item_types(body: JsonObject, _facts: Facts) -> Failure | None:
    known = ("message", "function_call", "function_call_output", "reasoning")
    for item in body["input"] if isinstance(body.get("input"), list) else ():
        if item.get("type", "message") not in known:
            return _openai("input", f"unknown input item type: {item.get('type')}")
    return None


_FOREIGN = ("top_k", "enable_thinking", "thinking", "thinking_budget", "reasoning", "chat_template_kwargs")
_ANTHROPIC_GUIDE = "api-docs.deepseek.com/guides/anthropic_api"
_MINIMAX_GUIDE = "platform.minimax.io/docs/api-reference/text-anthropic-api"
_CHAT = "chat_completions"

SERVER_RULES: Mapping[str, Mapping[fb.FormatName, tuple[Rule, ...]]] = {
    "openai": {
        _CHAT: (
            _no_fields("CherryHQ/cherry-studio#6155, nashsu/llm_wiki#336, teabranch/open-responses-server#41", *_FOREIGN),
            _part_types(
                "openai/openai-python, chat_completion_content_part_param.py", "text", "image_url", "input_audio", "file", "refusal"
            ),
        ),
        "responses": (),
    },
    "azure": {
        _CHAT: (
            _no_fields("quarkiverse/quarkus-langchain4j#285, openai/openai-python#1469", *_FOREIGN),
            _part_types(
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
                _check_openrouter_reasoning,
            ),
            _functions_only("openrouter.ai/docs/client-sdks/typescript, ChatFunctionTool", prefix="openrouter:"),
            _choices("openrouter.ai/docs/client-sdks/typescript, ChatToolChoice", "none", "auto", "required"),
        ),
        "messages": (),
        "responses": (_no_fields("openrouter.ai/docs/api_reference/responses/error-handling", "previous_response_id"),),
    },
    "deepseek": {
        _CHAT: (
            _roles("earendil-works/pi#1048"),
            _outputs("llm-exe/llm-exe#662", "text", "json_object"),
            _reasoning_required(
                "anomalyco/opencode#24722", "The `reasoning_content` in the thinking mode must be passed back to the API."
            ),
            _functions_only("earendil-works/pi, detectCompat"),
        ),
        "messages": (
            _block_rule(
                _ANTHROPIC_GUIDE,
                "an image or a document",
                "unknown variant `image`, expected one of `text`, `tool_use`, `tool_result`, `thinking`",
                _is_media,
            ),
        ),
    },
    "mistral": {
        _CHAT: (
            _no_fields(
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
                words=_mistral,
                message="Extra inputs are not permitted",
            ),
            _no_keys("nomtek/mistralai_client_dart#44", "name", roles=("system", "user", "assistant"), words=_mistral),
            _no_keys(
                "mistralai/client-python, AssistantMessage", "reasoning_content", "reasoning", "refusal", "audio", words=_mistral
            ),
            _roles("mistralai/client-python, ChatCompletionRequest", _mistral),
            _choices("kyaukyuai/gpt-all-star#670", "auto", "none", "any", words=_mistral),
            _functions_only("mistralai/client-python, Tool", _mistral),
            _part_types(
                "mistralai/client-python, ContentChunk",
                "text",
                "image_url",
                "document_url",
                "reference",
                "file",
                "thinking",
                "input_audio",
                words=_mistral,
            ),
            Rule(
                "call_id",
                "an id of a tool call that has not nine letters and digits",
                "langchain-ai/langchain#24668",
                _check_mistral_ids,
            ),
        )
    },
    "groq": {
        _CHAT: (
            _no_fields("console.groq.com/docs/openai", "logprobs", "top_logprobs", "logit_bias"),
            _no_keys("console.groq.com/docs/openai", "name", roles=("system", "developer", "user", "assistant")),
            _no_keys("janhq/jan#8136", "reasoning_content"),
            _functions_only("groq/groq-python, completion_create_params.py"),
            _most("groq/groq-python, completion_create_params.py", "tools", 128),
        )
    },
    "xai": {
        _CHAT: (
            _no_fields(
                "docs.x.ai/docs/guides/reasoning",
                "presence_penalty",
                "frequency_penalty",
                "stop",
                words=_xai,
                message="Argument not supported on this model",
            ),
            _roles("earendil-works/pi, detectCompat", _xai),
            _part_types("hexdocs.pm/req_llm/xai.html", "text", "image_url", "refusal", words=_xai),
        ),
        "responses": (),
    },
    "cerebras": {
        _CHAT: (
            _no_fields(
                "inference-docs.cerebras.ai/resources/openai",
                "frequency_penalty",
                "presence_penalty",
                "logit_bias",
                "parallel_tool_calls",
                "service_tier",
                words=_cerebras,
                message="property is unsupported",
            ),
            _roles("inference-docs.cerebras.ai/resources/openai", _cerebras),
            _no_keys("QwenLM/qwen-code#11045, proxysoul/Empryo#209", "reasoning_content", words=_cerebras),
            _efforts(
                "Cerebras/cerebras-cloud-sdk-python, completion_create_params.py", "none", "low", "medium", "high", words=_cerebras
            ),
            _functions_only("Cerebras/cerebras-cloud-sdk-python, completion_create_params.py", _cerebras),
        )
    },
    "together": {
        _CHAT: (
            _roles("togethercomputer/together-py, completion_create_params.py"),
            _no_fields("togethercomputer/together-py, completion_create_params.py", "max_completion_tokens"),
            _efforts("togethercomputer/together-py, completion_create_params.py", "low", "medium", "high"),
            _functions_only("togethercomputer/together-py, completion_create_params.py"),
            Rule(
                "logprobs",
                "`logprobs` that is no integer",
                "togethercomputer/together-py, completion_create_params.py",
                _check_integer_logprobs,
            ),
        )
    },
    "fireworks": {
        _CHAT: (
            _not_both("fireworks-ai, completion_create_params.py", "thinking", "reasoning_effort"),
            _functions_only("fireworks-ai, completion_create_params.py"),
        )
    },
    "perplexity": {
        _CHAT: (
            Rule("turns", "two turns of the user, or of the model, in sequence", "perplexityai/api-discussion#265", _check_turns),
            _choices("perplexityai, completion_create_params.py", "none", "auto", "required", named=False),
        )
    },
    "moonshot": {
        _CHAT: (
            _roles("earendil-works/pi, detectCompat"),
            _not_both("HKUDS/nanobot#3939", "thinking", "reasoning_effort"),
            _choices("can1357/oh-my-pi#827", "auto", "none", named=False),
            _data_only("platform.kimi.ai/docs/api/chat"),
            _reasoning_required(
                "continuedev/continue#11600", "thinking is enabled but reasoning_content is missing in assistant tool call message"
            ),
        ),
        "messages": (),
    },
    "zhipu": {
        _CHAT: (
            _roles("mcowger/plexus#77"),
            _choices("docs.z.ai/api-reference/llm/chat-completion", "auto", named=False),
            _outputs("docs.z.ai/api-reference/llm/chat-completion", "text", "json_object"),
            _most("docs.z.ai/api-reference/llm/chat-completion", "stop", 1),
            _no_fields(
                "java.agentscope.io/v2/en/integration/model/glm", "frequency_penalty", "presence_penalty", "thinking_budget"
            ),
            _no_keys("java.agentscope.io/v2/en/integration/model/glm", "name", roles=("system", "user", "assistant", "tool")),
        ),
        "messages": (),
    },
    "qwen": {
        _CHAT: (
            _roles("mcowger/plexus#77"),
            _choices("docs.instructorphp.com, Qwen driver", "auto", "none"),
            _part_types("QwenLM/qwen-code#1888", "text", "image_url", "video_url", "video", "refusal"),
            Rule(
                "instructions",
                "a system message after the first turn",
                "docs.qwencloud.com/api-reference/chat/openai-chat",
                _check_instructions_first,
            ),
        )
    },
    "minimax": {
        _CHAT: (_outputs("docs.agno.com, MiniMax", "text"),),
        "messages": (_block_rule(_MINIMAX_GUIDE, "an image or a document", "content type is not supported", _is_media),),
    },
    "huggingface": {
        _CHAT: (
            _functions_only("huggingface_hub, ChatCompletionInput"),
            _most("huggingface_hub, ChatCompletionInput", "stop", 4),
            _part_types("huggingface_hub, ChatCompletionInputMessageChunkType", "text", "image_url", "refusal"),
        )
    },
    "vllm": {
        _CHAT: (
            _functions_only("vllm-project/vllm, ChatCompletionRequest"),
            _choices("vllm-project/vllm, ChatCompletionRequest", "none", "auto", "required"),
        ),
        "responses": (),
    },
    "sglang": {
        _CHAT: (
            _functions_only("sgl-project/sglang, ChatCompletionRequest"),
            _choices("sgl-project/sglang, ChatCompletionRequest", "none", "auto", "required"),
        )
    },
    "ollama": {
        _CHAT: (
            _functions_only("ollama/ollama, openai/openai.go"),
            _part_types("ollama/ollama, openai/openai.go", "text", "image_url", "refusal"),
            _data_only("ollama/ollama, openai/openai.go"),
            _efforts("ollama/ollama, openai/openai.go", "none", "low", "medium", "high", "max"),
        ),
        "responses": (
            Rule(
                "item_type",
                "an item that is no message, function call, result or reasoning",
                "ollama/ollama, openai/responses.go",
                _check_item_types,
            ),
            _functions_only("ollama/ollama, openai/responses.go"),
        ),
    },
    "llamacpp": {_CHAT: (_part_types("ggml-org/llama.cpp#17700", "text", "image_url", "input_audio", "refusal"),)},
    "lmstudio": {
        _CHAT: (
            _choices("lmstudio-ai/lmstudio-bug-tracker#670", "none", "auto", "required", named=False),
            _outputs("lmstudio-ai/lmstudio-bug-tracker#189", "text", "json_schema"),
        )
    },
    "litellm": {_CHAT: (_not_both("docs.litellm.ai/docs/reasoning_content", "thinking", "reasoning_effort"),)},
    "vercel_gateway": {_CHAT: ()},
    "anthropic": {"messages": ()},
    "bedrock": {
        "messages": (
            Rule(
                "tool_type",
                "a tool that the server of the vendor runs",
                "clauder-navi.com/articles/bedrock-claude-web",
                _check_bedrock_tools,
            ),
            _block_rule(
                "anomalyco/opencode#46430", "a URL of an image or a document", "URL sources are not supported", _has_remote_source
            ),
        )
    },
    "vertex": {
        "messages": (
            _block_rule(
                "anthropics/anthropic-sdk-typescript#1038",
                "a URL of an image or a document",
                "URL sources are not supported",
                _has_remote_source,
            ),
        ),
        "generate_content": (
            Rule("call_id", "an `id` of a call or of a result", "vercel/ai#15664, pydantic/pydantic-ai#5081", _check_call_ids),
        ),
    },
    "gemini": {"generate_content": (Rule("labels", "`labels`", "Portkey-AI/gateway#984", _check_labels),)},
}
"""The rules by the name of a dialect and by format. A format without rules is read as its vendor reads it."""

ACCEPTED: Mapping[tuple[str | None, fb.FormatName], frozenset[str]] = {
    ("vertex", "generate_content"): frozenset({"labels"}),
    ("vllm", "responses"): frozenset({"reasoning_not_stored"}),
}
"""Rules of a format that the server of a dialect does not have."""
