"""What the servers of chat_completions reject. There are few rules, because the format has few fields that a server could verify."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import takewhile
from typing import Any

from formatbridge.jsontext.types import JsonObject
from formatbridge.testing.script import Failure
from formatbridge.testing.vendor_rules import openai
from formatbridge.testing.vendor_rules.rule import Facts, Rule, is_tagged, objects

_TOKEN_KEYS = ("signature", "data", "thought_signature")


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
)  # fmt: skip
