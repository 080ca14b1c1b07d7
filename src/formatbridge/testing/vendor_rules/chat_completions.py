"""What the servers of chat_completions reject. There are few rules, because the format has few fields that a server could verify."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import takewhile
from typing import Any

from formatbridge.jsontext.types import JsonObject
from formatbridge.testing.script import Failure
from formatbridge.testing.vendor_rules import openai
from formatbridge.testing.vendor_rules.rule import Facts, Rule, is_tagged, objects

_TOKEN_KEYS = ("signature", "data", "thought_signature")
_INSTEAD_OF_CONTENT = ("tool_calls", "function_call", "refusal", "audio")
_MOST_STOPS = 4
_PARTICIPANT = re.compile(r"[^\s<|\\/>]+")


def _check_schemas(body: JsonObject, _facts: Facts) -> Failure | None:
    """Reject the first function whose parameters lack ``properties``."""
    for index, tool in enumerate(body.get("tools") or ()):
        failure = openai.check_parameters(tool.get("function"), f"tools[{index}].function.parameters")
        if failure is not None:
            return failure
    return None


def _check_tokens(body: JsonObject, _facts: Facts) -> Failure | None:
    """Reject a reasoning token of another format. Other tokens pass, because the servers of this format have no common kind of token."""
    for index, message in enumerate(body["messages"]):
        slots = [message.get("reasoning_details"), message.get("thinking_blocks"), message.get("extra_content")]
        slots += [call.get("extra_content") for call in message.get("tool_calls") or ()]
        for node in objects(slots):
            if any(isinstance(node.get(key), str) and is_tagged(node[key]) for key in _TOKEN_KEYS):
                param = f"messages[{index}]"
                return openai.openai_failure(
                    400, f"Invalid value: {param!r} holds a reasoning token of another format.", param=param
                )
    return None


def _check_strict(body: JsonObject, _facts: Facts) -> Failure | None:
    """Reject the first schema with ``strict`` that the server cannot enforce."""
    failures = [
        openai.check_strict_tool(tool.get("function"), f"tools[{index}].function")
        for index, tool in enumerate(body.get("tools") or ())
    ]
    failures.append(openai.check_strict_format((body.get("response_format") or {}).get("json_schema"), "response_format"))
    return next((failure for failure in failures if failure is not None), None)


def _check_images(body: JsonObject, _facts: Facts) -> Failure | None:
    return openai.check_images(body["messages"], "messages")


def _check_json_mode(body: JsonObject, _facts: Facts) -> Failure | None:
    if (body.get("response_format") or {}).get("type") != "json_object" or openai.mentions_json(body["messages"]):
        return None
    words = "'messages' must contain the word 'json' in some form, to use 'response_format' of type 'json_object'."
    return openai.openai_failure(400, words, param="messages")


def _check_metadata(body: JsonObject, _facts: Facts) -> Failure | None:
    if not body.get("metadata") or body.get("store"):
        return None
    return openai.openai_failure(400, "The 'metadata' parameter is only allowed when 'store' is enabled.", param="metadata")


def _check_model(body: JsonObject, _facts: Facts) -> Failure | None:
    return None if body.get("model") else openai.openai_failure(400, "you must provide a model parameter")


def _check_messages(body: JsonObject, _facts: Facts) -> Failure | None:
    if body["messages"]:
        return None
    words = "Invalid 'messages': empty array. Expected an array with minimum length 1, but got an empty array instead."
    return openai.openai_failure(400, words, param="messages", code="empty_array")


def _check_calls(body: JsonObject, _facts: Facts) -> Failure | None:
    """Reject the first call without a result in the messages with the role ``tool`` that follow it directly."""
    for index, ids, results in _tool_turns(body["messages"]):
        unanswered = [id for id in ids if id not in results]
        if unanswered:
            reason = "An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'."
            names = ", ".join(map(str, unanswered))
            words = f"{reason} The following tool_call_ids did not have response messages: {names}"
            return openai.openai_failure(400, words, param=f"messages.[{index + 1 + len(results)}].role")
    return None


def _check_results(body: JsonObject, _facts: Facts) -> Failure | None:
    """Reject the first result that does not follow the message with its call."""
    answers = {
        index + 1 + at for index, ids, results in _tool_turns(body["messages"]) for at, id in enumerate(results) if id in ids
    }
    for index, message in enumerate(body["messages"]):
        if message.get("role") == "tool" and index not in answers:
            words = "messages with role 'tool' must be a response to a preceeding message with 'tool_calls'."
            return openai.openai_failure(400, f"Invalid parameter: {words}", param=f"messages.[{index}].role")
    return None


def _check_content(body: JsonObject, _facts: Facts) -> Failure | None:
    """Reject the first message that has no content, and nothing else in its place."""
    for index, message in enumerate(body["messages"]):
        if message.get("content") is None and not any(message.get(name) for name in _INSTEAD_OF_CONTENT):
            words = "Invalid value for 'content': expected a string, got null."
            return openai.openai_failure(400, words, param=f"messages.[{index}].content")
    return None


def _check_lists(body: JsonObject, _facts: Facts) -> Failure | None:
    """Reject empty lists of tools and of tool calls."""
    lists = {"tools": body.get("tools")}
    lists |= {f"messages[{index}].tool_calls": message.get("tool_calls") for index, message in enumerate(body["messages"])}
    for param, value in lists.items():
        if value == []:
            words = f"Invalid '{param}': empty array. Expected an array with minimum length 1, but got an empty array instead."
            return openai.openai_failure(400, words, param=param, code="empty_array")
    return None


def _check_choice(body: JsonObject, _facts: Facts) -> Failure | None:
    """Reject settings of tools without tools."""
    for name in ("tool_choice", "parallel_tool_calls"):
        if body.get(name) is not None and not body.get("tools"):
            words = f"Invalid value for '{name}': '{name}' is only allowed when 'tools' are specified."
            return openai.openai_failure(400, words, param=name)
    return None


def _check_functions(body: JsonObject, facts: Facts) -> Failure | None:
    """Reject functions unless reasoning is off. Models that reason by default reject them without an effort, too."""
    if not facts.excludes_functions or body.get("reasoning_effort") == "none":
        return None
    if not any(tool.get("type") == "function" for tool in body.get("tools") or ()):
        return None
    refusal = f"Function tools with reasoning_effort are not supported for {facts.model} in /v1/chat/completions."
    words = f"{refusal} To use function tools, use /v1/responses or set reasoning_effort to 'none'."
    return openai.openai_failure(400, words, param="reasoning_effort")


def _check_limits(body: JsonObject, _facts: Facts) -> Failure | None:
    if body.get("max_tokens") is None or body.get("max_completion_tokens") is None:
        return None
    words = "Setting 'max_tokens' and 'max_completion_tokens' at the same time is not supported."
    return openai.openai_failure(400, words, param="max_tokens", code="invalid_parameter_combination")


def _check_stops(body: JsonObject, _facts: Facts) -> Failure | None:
    stop = body.get("stop")
    if not isinstance(stop, list) or len(stop) <= _MOST_STOPS:
        return None
    reason = f"Expected an array with maximum length {_MOST_STOPS}, but got an array with length {len(stop)} instead."
    return openai.openai_failure(400, f"Invalid 'stop': array too long. {reason}", param="stop", code="array_above_max_length")


def _check_log_probabilities(body: JsonObject, _facts: Facts) -> Failure | None:
    # Together has a number in place of the flag (fixture logprobs_counted_only).
    if not body.get("top_logprobs") or body.get("logprobs"):
        return None
    words = "The 'top_logprobs' parameter is only allowed when 'logprobs' is enabled."
    return openai.openai_failure(400, words, param="top_logprobs")


def _check_participants(body: JsonObject, _facts: Facts) -> Failure | None:
    """Reject the first name of a participant with white space or a character that marks the messages of a prompt."""
    for index, message in enumerate(body["messages"]):
        name = message.get("name")
        if isinstance(name, str) and not _PARTICIPANT.fullmatch(name):
            param = f"messages[{index}].name"
            expected = f"Expected a string that matches the pattern '^{_PARTICIPANT.pattern}$'."
            words = f"Invalid '{param}': string does not match pattern. {expected}"
            return openai.openai_failure(400, words, param=param, code="invalid_value")
    return None


def _check_names(body: JsonObject, _facts: Facts) -> Failure | None:
    # A server's tools have other names, such as ``$web_search`` of Moonshot in a tool of type ``builtin_function``.
    tools = enumerate(body.get("tools") or ())
    functions = {f"tools[{index}].function": tool.get("function") for index, tool in tools if tool.get("type") == "function"}
    for index, message in enumerate(body["messages"]):
        for at, call in enumerate(message.get("tool_calls") or ()):
            functions[f"messages[{index}].tool_calls[{at}].function"] = call.get("function")
    return openai.check_names((f"{path}.name", (function or {}).get("name")) for path, function in functions.items())


def _check_files(body: JsonObject, _facts: Facts) -> Failure | None:
    return openai.check_files(body["messages"], "messages")


def _tool_turns(messages: list[JsonObject]) -> Iterator[tuple[int, list[Any], list[Any]]]:
    """Yield the index of each message with tool calls, the ids of its calls, and those of the results that follow it directly."""
    for index, message in enumerate(messages):
        if message.get("role") == "assistant" and message.get("tool_calls"):
            results = takewhile(lambda each: each.get("role") == "tool", messages[index + 1 :])
            yield index, [call.get("id") for call in message["tool_calls"]], [each.get("tool_call_id") for each in results]


RULES = (
    Rule("no_model", "`model` is missing or empty", openai.MODEL_SOURCE, _check_model),
    Rule("no_messages", "`messages` is empty", "CopilotKit/CopilotKit#529, microsoft/agent-framework#2384", _check_messages),
    Rule("unanswered_call", "a tool call has no result in the messages that follow it directly",
         "aliasrobotics/cai#111, BerriAI/litellm#10083, langgenius/dify#32222", _check_calls),
    Rule("orphan_result", "a result does not follow the message with its call", "badgeir/llmio#14, lace-ai/gai#49", _check_results),
    Rule("strict_schema", "a schema with `strict` has an optional property, an open object or a keyword that is not supported",
         openai.STRICT_SOURCE, _check_strict),
    Rule("image_type", "the data of an image is not of type PNG, JPEG, GIF or WebP", openai.IMAGE_SOURCE, _check_images),
    Rule("json_mode", "JSON mode without the word `json` in `messages`", openai.JSON_SOURCE, _check_json_mode),
    Rule("metadata_not_stored", "`metadata` without `store: true`",
         "spiceai/spiceai#5231, tmc/langchaingo#1484, BerriAI/litellm#23087", _check_metadata),
    Rule("schema_without_properties", "the root of a function's `parameters` is no object with `properties`, or has a union",
         openai.SCHEMA_SOURCE, _check_schemas),
    Rule("foreign_token", "a reasoning token carries the tag `fb1|` of another format",
         "formats/shared/reasoning_tokens.py", _check_tokens),
    Rule("no_content", "a message has no content, and no tool calls, refusal or audio in its place",
         "langchain-ai/langchainjs#4153, docker/docker-agent#63, vercel/ai#13744", _check_content),
    Rule("empty_list", "`tools` or `tool_calls` is an empty list",
         "openai/openai-node#1341, chatboxai/chatbox#2079, vllm-project/vllm#39780, scottleibrand/slackAskBot#9", _check_lists),
    Rule("choice_without_tools", "`tool_choice` or `parallel_tool_calls` without `tools`",
         "patterns-ai-core/langchainrb#442, vllm-project/vllm#40311, Upsonic/Upsonic#323", _check_choice),
    Rule("functions_with_reasoning", "functions without `reasoning_effort: none`, if the model rejects both together",
         "pipecat-ai/pipecat#4043, GoogleChromeLabs/webmcp-tools#417, BerriAI/litellm#34569", _check_functions),
    Rule("two_limits", "both `max_tokens` and `max_completion_tokens`",
         "langchain-ai/langgraph#5943, yaroslavyaroslav/OpenAI-sublime-text#65", _check_limits),
    Rule("stop_count", "more than 4 stop sequences", "continuedev/continue#1572", _check_stops),
    Rule("top_logprobs", "`top_logprobs` without `logprobs`",
         "official SDK, ``CompletionCreateParams.top_logprobs``", _check_log_probabilities),
    Rule("participant_name", "the `name` of a message has white space or one of the characters `<`, `>`, `/` and `\\`",
         "danny-avila/LibreChat#1075, jekalmin/extended_openai_conversation#251, moltis-org/moltis#915", _check_participants),
    Rule("function_name", "the name of a function has other characters than letters, digits, hyphens and underscores, or over 64",
         openai.NAME_SOURCE, _check_names),
    Rule("file_name", "the data of a file have no `filename`", openai.FILE_SOURCE, _check_files),
    *openai.SETTINGS_RULES,
)  # fmt: skip
