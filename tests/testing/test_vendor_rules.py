"""The strict fake relay rejects what vendors reject, with their status and message."""

from __future__ import annotations

import base64
import re
from pathlib import Path
from typing import Any

import httpx
import pytest

import formatbridge as fb
from formatbridge.testing import Answer, Body, FakeRelay, ToolCall
from formatbridge.testing.vendor_rules import RULES
from tests.testing.test_fake_relay import FORMATS, post

SUMMARY = "Your organization must be verified to generate reasoning summaries."
CALL = {"functionCall": {"name": "now", "args": {}}}
RESULT: dict[str, Any] = {"role": "user", "parts": [{"functionResponse": {"name": "now", "response": {"at": "12:00"}}}]}
TAGGED = "fb1|messages|thinking|c2lnbmVk"
TREE = {
    "type": "object",
    "properties": {"root": {"$ref": "#/$defs/Node"}},
    "$defs": {"Node": {"type": "object", "properties": {"children": {"type": "array", "items": {"$ref": "#/$defs/Node"}}}}},
}
_NOW = {"tools": [{"type": "function", "function": {"name": "now", "parameters": {"type": "object", "properties": {}}}}]}
HAIKU = "claude-haiku-4-5"
ANSWER = Answer(reasoning="It is noon.", signature="c2lnbmVk", text="Noon.")


def _message(answer: httpx.Response) -> str:
    """Return the message of an error, after a check of its shape."""
    body = answer.json()
    error = body["error"]
    if "status" in error:
        assert (error["code"], error["status"]) == (answer.status_code, "INVALID_ARGUMENT")
    else:
        assert error["type"] == "invalid_request_error"
        assert ("param" in error) is (body.get("type") != "error")
    message: str = error["message"]
    return message


def _functions(format: fb.Format, schema: dict[str, Any]) -> dict[str, Any]:
    """Return the tools of a request with one function of a schema."""
    match format:
        case "chat_completions":
            return {"tools": [{"type": "function", "function": {"name": "now", "parameters": schema}}]}
        case "messages":
            return {"tools": [{"name": "now", "input_schema": schema}]}
        case "responses":
            return {"tools": [{"type": "function", "name": "now", "parameters": schema}]}
        case _:
            return {"tools": [{"functionDeclarations": [{"name": "now", "parametersJsonSchema": schema}]}]}


def _called(*parts: dict[str, Any]) -> dict[str, Any]:
    """Return contents whose current turn has the model's parts and the results of its calls."""
    results = RESULT["parts"] * sum("functionCall" in part or "function_call" in part for part in parts)
    return {"contents": [
        {"role": "user", "parts": [{"text": "hi"}]},
        {"role": "model", "parts": [*parts]},
        {**RESULT, "parts": results},
    ]}  # fmt: skip


def _media(mime: str) -> dict[str, Any]:
    """Return contents with a file of a type."""
    return {"contents": [{"role": "user", "parts": [{"inlineData": {"mimeType": mime, "data": ""}}]}]}


def _thought(**block: Any) -> dict[str, Any]:
    """Return messages with a block of an earlier answer."""
    return {
        "messages": [
            {"role": "user", "content": "hi"},
            {"role": "assistant", "content": [block]},
            {"role": "user", "content": "hi"},
        ]
    }


def _marked(*marks: dict[str, Any]) -> dict[str, Any]:
    """Return messages with one text for each cache mark."""
    content = [{"type": "text", "text": "hi", "cache_control": {"type": "ephemeral", **mark}} for mark in marks]
    return {"messages": [{"role": "user", "content": content}]}


# One row for each violation of a rule, and one for a similar request that keeps it.

DEFERRED = {
    "type": "function",
    "name": "now",
    "parameters": {"type": "object", "properties": {}},
    "strict": False,
    "defer_loading": True,
}
_CHAT_CALL = {"role": "assistant", "tool_calls": [{"id": "c1", "type": "function", "function": {"name": "f", "arguments": "{}"}}]}
_CHAT_RESULT = {"role": "tool", "tool_call_id": "c1", "content": "12:00"}
_MESSAGES_CALL = {"role": "assistant", "content": [{"type": "tool_use", "id": "c1", "name": "f", "input": {}}]}
_MESSAGES_RESULT = {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "c1", "content": "12:00"}]}
_RESPONSES_CALL = {"type": "function_call", "call_id": "c1", "name": "f", "arguments": "{}"}
_RESPONSES_RESULT = {"type": "function_call_output", "call_id": "c1", "output": "12:00"}
_CUSTOM_CALL = {"type": "custom_tool_call", "call_id": "c1", "name": "f", "input": "now"}
_CUSTOM_RESULT = {"type": "custom_tool_call_output", "call_id": "c1", "output": "12:00"}
_USER = {"role": "user", "content": "hi"}
PDF = "data:application/pdf;base64,JVBERi0="
_THINKING = {"type": "thinking", "thinking": "Hm.", "signature": "c2lnbmVk"}
_ADAPTIVE = {"max_tokens": 2000, "thinking": {"type": "adaptive"}}
_CLOCK = {"tools": [{"name": "now", "input_schema": {"type": "object"}}]}


def _called_as(call_id: str) -> dict[str, Any]:
    """Return messages with a call of an id, and its result."""
    return {"messages": [
        _USER,
        {"role": "assistant", "content": [{"type": "tool_use", "id": call_id, "name": "f", "input": {}}]},
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": call_id, "content": "12:00"}]},
    ]}  # fmt: skip


def _failed(*content: dict[str, Any]) -> dict[str, Any]:
    """Return messages with a call whose result is an error with this content."""
    result = {"type": "tool_result", "tool_use_id": "c1", "is_error": True, "content": [*content]}
    return {"messages": [_USER, _MESSAGES_CALL, {"role": "user", "content": [result]}]}


def _asked_with(*content: dict[str, Any]) -> dict[str, Any]:
    """Return messages whose only turn has this content."""
    return {"messages": [{"role": "user", "content": [*content]}]}


def _output(item_id: str) -> dict[str, Any]:
    """Return a message of an earlier response with an id."""
    text = {"type": "output_text", "text": "hi", "annotations": []}
    return {"type": "message", "id": item_id, "role": "assistant", "status": "completed", "content": [text]}


REFUSED: list[tuple[str, str, dict[str, Any], int, str]] = [
    ("chat_completions", "unanswered_call", {"messages": [_USER, _CHAT_CALL, _USER]}, 400,
     "An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'."),
    ("chat_completions", "orphan_result", {"messages": [_USER, _CHAT_CALL, _CHAT_RESULT, _USER, _CHAT_RESULT]}, 400,
     "Invalid parameter: messages with role 'tool' must be a response to a preceeding message with 'tool_calls'."),
    ("messages", "unanswered_call", {"messages": [_USER, _MESSAGES_CALL, _USER, _MESSAGES_RESULT]}, 400,
     "messages.1: `tool_use` ids were found without `tool_result` blocks immediately after: c1."),
    ("messages", "orphan_result", {"messages": [_MESSAGES_RESULT]}, 400,
     "messages.0.content.0: unexpected `tool_use_id` found in `tool_result` blocks: c1."),
    ("responses", "unanswered_call", {"input": [_USER, _RESPONSES_CALL]}, 400, "No tool output found for function call c1."),
    ("responses", "orphan_result", {"input": [_RESPONSES_RESULT, _RESPONSES_CALL]}, 400,
     "No tool call found for function call output with call_id c1."),
    ("chat_completions", "functions_with_reasoning", {"model": "excluder", "reasoning_effort": "low", **_NOW}, 400,
     "Function tools with reasoning_effort are not supported for excluder in /v1/chat/completions."),
    ("chat_completions", "functions_with_reasoning", {"model": "excluder", **_NOW}, 400,
     "To use function tools, use /v1/responses or set reasoning_effort to 'none'."),
    ("chat_completions", "no_model", {"model": ""}, 400, "you must provide a model parameter"),
    ("chat_completions", "no_messages", {"messages": []}, 400, "Invalid 'messages': empty array."),
    ("messages", "no_model", {"model": ""}, 400, "model: String should have at least 1 character"),
    ("messages", "no_messages", {"messages": []}, 400, "messages: at least one message is required"),
    ("messages", "no_token_limit", {"max_tokens": None}, 400, "max_tokens: Field required"),
    ("responses", "server_label", {"tools": [{"type": "mcp", "server_label": "my docs", "server_url": "https://example.com"}]}, 400,
     "Invalid 'tools[0].server_label': string does not match pattern."),
    ("responses", "no_model", {"model": ""}, 400, "Missing required parameter: 'model'."),
    ("responses", "no_input", {"input": None}, 400, "Missing required parameter: 'input'."),
    ("responses", "no_input", {"input": ""}, 400, "One of \"input\" or \"previous_response_id\" or 'prompt'"),
    ("responses", "no_input", {"input": []}, 400, "One of \"input\" or \"previous_response_id\" or 'prompt'"),
    ("generate_content", "no_contents", {"contents": []}, 400, "GenerateContentRequest.contents: contents is not specified"),
    ("chat_completions", "json_mode", {"response_format": {"type": "json_object"}}, 400,
     "'messages' must contain the word 'json' in some form, to use 'response_format' of type 'json_object'."),
    ("chat_completions", "metadata_not_stored", {"metadata": {"team": "maps"}}, 400,
     "The 'metadata' parameter is only allowed when 'store' is enabled."),
    ("chat_completions", "schema_without_properties", _functions("chat_completions", {"type": "object"}), 400,
     "Invalid schema for function 'now': In context=(), object schema missing properties."),
    ("chat_completions", "image_type",
     {"messages": [{"role": "user", "content": [{"type": "image_url", "image_url": {"url": "data:image/heic;base64,AAAA"}}]}]}, 400,
     "You uploaded an unsupported image."),
    ("responses", "image_type",
     {"input": [{"role": "user", "content": [{"type": "input_image", "detail": "auto", "image_url": "data:image/bmp;base64,AAAA"}]}]},
     400, "You uploaded an unsupported image."),
    ("chat_completions", "strict_schema", {"response_format": {"type": "json_schema", "json_schema":
     {"name": "a", "strict": True, "schema": {"type": "object", "properties": {"b": {"type": "null"}}, "additionalProperties": False}}}},
     400, "'required' is required to be supplied and to be an array including every key in properties. Missing 'b'."),
    ("responses", "strict_schema", {"text": {"format": {"type": "json_schema", "name": "a", "strict": True,
     "schema": {"type": "object", "properties": {}}}}}, 400, "'additionalProperties' is required to be supplied and to be false."),
    ("chat_completions", "foreign_token",
     {"messages": [{"role": "assistant", "content": "x", "reasoning_details": [{"type": "reasoning.encrypted", "data": TAGGED}]}]},
     400, "holds a reasoning token of another format"),
    ("messages", "union_at_root", _functions("messages", {"type": "object", "anyOf": [{"required": ["a"]}]}), 400,
     "tools.0.custom.input_schema: input_schema does not support oneOf, allOf, or anyOf at the top level"),
    ("messages", "property_name", _functions("messages", {"type": "object", "properties": {"filter[id]": {}}}), 400,
     "tools.0.custom.input_schema.properties: Property keys should match pattern '^[a-zA-Z0-9_.-]{1,64}$'"),
    ("messages", "recursive_schema", {"tools": [{"name": "now", "input_schema": TREE, "strict": True}]}, 400,
     "tools.0.custom.input_schema: Circular reference detected in schema definitions: Node -> Node."),
    ("messages", "recursive_schema",
     {"output_config": {"format": {"type": "json_schema", "schema": {"type": "object", "properties": {"inner": {"$ref": "#"}}}}}}, 400,
     "output_format.schema: Circular reference detected in schema definitions"),
    ("messages", "unknown_signature", _thought(type="thinking", thinking="Hm.", signature="c2lnbmVk"), 400,
     "messages.1.content.0: Invalid `signature` in `thinking` block"),
    ("messages", "unknown_signature", _thought(type="thinking", thinking="Hm.", signature=""), 400,
     "messages.1.content.0: Invalid `signature` in `thinking` block"),
    ("messages", "unknown_signature", _thought(type="redacted_thinking", data=TAGGED), 400,
     "messages.1.content.0: Invalid `data` in `redacted_thinking` block"),
    ("messages", "thread", {"thread": {"type": "create"}}, 400, "thread"),
    ("messages", "all_deferred", {"tools": [{"name": "now", "input_schema": {"type": "object"}, "defer_loading": True}]}, 400,
     "At least one tool must have defer_loading=false."),
    ("messages", "cache_durations", _marked({}, {"ttl": "1h"}), 400,
     "messages.0.content.1.cache_control.ttl: a ttl='1h' cache_control block must not come after a ttl='5m' cache_control block."),
    ("messages", "cache_durations",
     {"tools": [{"type": "web_search_20250305", "name": "web_search", "cache_control": {"type": "ephemeral"}}],
      "system": [{"type": "text", "text": "Be brief.", "cache_control": {"type": "ephemeral", "ttl": "1h"}}]}, 400,
     "system.0.cache_control.ttl"),
    ("messages", "code_callers", {"model": HAIKU, "tools": [{"type": "web_search_20260318", "name": "web_search"}]}, 400,
     "'claude-haiku-4-5' does not support programmatic tool calling."),
    ("messages", "code_callers",
     {"model": HAIKU, "tools": [{"name": "now", "input_schema": {"type": "object"}, "allowed_callers": ["code_execution_20260521"]}]},
     400, "`allowed_callers` that require it: now"),
    ("responses", "reasoning_not_stored", {"input": [{"type": "reasoning", "id": "rs_0", "summary": []}]}, 404,
     "Item with id 'rs_0' not found."),
    ("responses", "unknown_token",
     {"input": [{"type": "reasoning", "id": "rs_0", "summary": [], "encrypted_content": "gAAAAABwQ=="}]}, 400,
     "The encrypted content gAAA...wQ== could not be verified."),
    ("responses", "unknown_token", {"input": [{"type": "compaction", "id": "c", "encrypted_content": TAGGED}]}, 400,
     "could not be verified"),
    ("responses", "token_without_reasoning", {"include": ["reasoning.encrypted_content"]}, 400,
     "Encrypted content is not supported with this model."),
    ("responses", "summary_unverified", {"reasoning": {"summary": "auto"}}, 400, SUMMARY),
    ("responses", "json_mode", {"instructions": "Write JSON.", "text": {"format": {"type": "json_object"}}}, 400,
     "Response input messages must contain the word 'json' in some form to use 'text.format' of type 'json_object'."),
    ("responses", "limit_below_16", {"max_output_tokens": 15}, 400,
     "Invalid 'max_output_tokens': integer below minimum value. Expected a value >= 16, but got 15 instead."),
    ("responses", "deferred_tools", {"tools": [DEFERRED]}, 400, "Deferred tools require tools.tool_search."),
    ("responses", "deferred_tools", {"tools": [{"type": "namespace", "name": "n", "description": "d", "tools": [DEFERRED]}]}, 400,
     "Deferred tools require tools.tool_search."),
    ("responses", "deferred_tools", {"tools": [{"type": "tool_search"}]}, 400, "tools.tool_search requires at least one deferred tool."),
    ("responses", "reference_not_stored", {"input": [{"type": "item_reference", "id": "msg_1"}]}, 404,
     "Item with id 'msg_1' not found."),
    ("responses", "reference_not_stored", {"input": [{"id": "msg_1"}]}, 404, "Item with id 'msg_1' not found."),
    ("responses", "previous_response_not_stored", {"previous_response_id": "resp_1"}, 400,
     "Previous response with id 'resp_1' not found."),
    ("responses", "conversation_not_stored", {"conversation": "conv_1"}, 404, "Conversation with id 'conv_1' not found."),
    ("responses", "conversation_not_stored", {"conversation": {"id": "conv_1"}}, 404, "Conversation with id 'conv_1' not found."),
    ("responses", "schema_without_properties", _functions("responses", {"type": "object"}), 400,
     "Invalid schema for function 'now': In context=(), object schema missing properties."),
    ("chat_completions", "no_content", {"messages": [_USER, {"role": "assistant", "content": None}]}, 400,
     "Invalid value for 'content': expected a string, got null."),
    ("chat_completions", "empty_list", {"tools": []}, 400, "Invalid 'tools': empty array."),
    ("chat_completions", "empty_list", {"messages": [_USER, {"role": "assistant", "content": "hi", "tool_calls": []}]}, 400,
     "Invalid 'messages[1].tool_calls': empty array."),
    ("chat_completions", "choice_without_tools", {"tool_choice": "none"}, 400,
     "Invalid value for 'tool_choice': 'tool_choice' is only allowed when 'tools' are specified."),
    ("chat_completions", "choice_without_tools", {"parallel_tool_calls": False}, 400,
     "'parallel_tool_calls' is only allowed when 'tools' are specified."),
    ("chat_completions", "two_limits", {"max_tokens": 9, "max_completion_tokens": 9}, 400,
     "Setting 'max_tokens' and 'max_completion_tokens' at the same time is not supported."),
    ("chat_completions", "stop_count", {"stop": ["a", "b", "c", "d", "e"]}, 400,
     "Invalid 'stop': array too long. Expected an array with maximum length 4, but got an array with length 5 instead."),
    ("chat_completions", "top_logprobs", {"top_logprobs": 2}, 400, "only allowed when 'logprobs' is enabled."),
    ("chat_completions", "participant_name", {"messages": [{"role": "user", "name": "Ann B", "content": "hi"}]}, 400,
     "Invalid 'messages[0].name': string does not match pattern."),
    ("chat_completions", "function_name", {"tools": [{"type": "function", "function": {"name": "get.time"}}]}, 400,
     "Invalid 'tools[0].function.name': string does not match pattern."),
    ("chat_completions", "function_name", {"tools": [{"type": "function", "function": {"name": "f" * 65}}]}, 400,
     "Invalid 'tools[0].function.name': string too long. Expected a string with maximum length 64"),
    ("chat_completions", "file_name", {"messages": [{"role": "user", "content": [{"type": "file", "file": {"file_data": PDF}}]}]}, 400,
     "Missing required parameter"),
    ("chat_completions", "metadata_size", {"store": True, "metadata": {str(number): "a" for number in range(17)}}, 400,
     "Invalid 'metadata': too many properties. Expected an object with at most 16 properties"),
    ("chat_completions", "metadata_size", {"store": True, "metadata": {"a": "b" * 513}}, 400,
     "Invalid 'metadata.a': string too long. Expected a string with maximum length 512"),
    ("chat_completions", "cache_retention", {"prompt_cache_retention": "in-memory"}, 400,
     "Invalid value: 'in-memory'. Supported values are: 'in_memory' and '24h'."),
    ("chat_completions", "end_user", {"user": "u" * 65}, 400, "Invalid 'user': string too long."),
    ("messages", "second_result",
     {"messages": [_USER, _MESSAGES_CALL, {**_MESSAGES_RESULT, "content": [*_MESSAGES_RESULT["content"]] * 2}]}, 400,
     "messages.2.content.1: each tool_use must have a single result. Found multiple `tool_result` blocks with id: c1"),
    ("messages", "call_id", _called_as("functions.f:0"), 400,
     "messages.1.content.0.tool_use.id: String should match pattern '^[a-zA-Z0-9_-]+$'"),
    ("messages", "call_id", {"messages": [_USER, _MESSAGES_CALL, _MESSAGES_RESULT, _MESSAGES_CALL, _MESSAGES_RESULT]}, 400,
     "messages.3.content.0: `tool_use` ids must be unique"),
    ("messages", "failed_result_media", _failed({"type": "image", "source": {"type": "url", "url": "https://example.com/a.png"}}), 400,
     "messages.2.content.0.tool_result: all content must be type `text` if `is_error` is true"),
    ("messages", "blank_text", _asked_with({"type": "text", "text": ""}), 400, "messages: text content blocks must be non-empty"),
    ("messages", "blank_text", _asked_with({"type": "text", "text": " "}), 400,
     "messages: text content blocks must contain non-whitespace text"),
    ("messages", "blank_text", _asked_with({"type": "text", "text": "", "cache_control": {"type": "ephemeral"}}), 400,
     "messages.0.content.0.text: cache_control cannot be set for empty text blocks"),
    ("messages", "empty_content", {"messages": [_USER, {"role": "assistant", "content": []}, _USER]}, 400,
     "messages.1: all messages must have non-empty content except for the optional final assistant message"),
    ("messages", "prefill", {"messages": [_USER, {"role": "assistant", "content": "So "}]}, 400,
     "messages: final assistant content cannot end with trailing whitespace"),
    ("messages", "prefill", {"messages": [_USER, {"role": "assistant", "content": [_THINKING]}]}, 400,
     "messages.1: The final block in an assistant message cannot be `thinking`."),
    ("messages", "prefill", {"messages": [_USER, {"role": "assistant", "content": [_THINKING, {"type": "text", "text": "So"}]}]}, 400,
     "messages.1.content.0: When thinking is disabled, an `assistant` message in the final position cannot contain `thinking`."),
    ("messages", "thinking_budget", {"max_tokens": 2000, "thinking": {"type": "enabled", "budget_tokens": 1023}}, 400,
     "thinking.enabled.budget_tokens: Input should be greater than or equal to 1024"),
    ("messages", "thinking_budget", {"max_tokens": 1024, "thinking": {"type": "enabled", "budget_tokens": 1024}}, 400,
     "`max_tokens` must be greater than `thinking.budget_tokens`."),
    ("messages", "thinking_excludes", {**_ADAPTIVE, **_CLOCK, "tool_choice": {"type": "any"}}, 400,
     "Thinking may not be enabled when tool_choice forces tool use."),
    ("messages", "thinking_excludes", {**_ADAPTIVE, "temperature": 0.5}, 400, "`temperature` may only be set to 1"),
    ("messages", "thinking_excludes", {**_ADAPTIVE, "top_k": 5}, 400, "`top_k` must be unset when thinking is enabled."),
    ("messages", "thinking_excludes", {**_ADAPTIVE, "top_p": 0.9}, 400, "`top_p` must be greater than or equal to 0.95"),
    ("messages", "thinking_first",
     {"max_tokens": 2000, "thinking": {"type": "enabled", "budget_tokens": 1024}, "messages": [_USER, _MESSAGES_CALL, _MESSAGES_RESULT]},
     400, "messages.1.content.0.type: Expected `thinking` or `redacted_thinking`, but found `tool_use`."),
    ("messages", "choice_without_tools", {"tool_choice": {"type": "auto"}}, 400,
     "tool_choice may only be specified while providing tools."),
    ("messages", "tool_names", {"tools": _CLOCK["tools"] * 2}, 400, "tools: Tool names must be unique."),
    ("messages", "cache_marks", _marked({}, {}, {}, {}, {}), 400, "A maximum of 4 blocks with cache_control may be provided. Found 5."),
    ("messages", "user_id", {"metadata": {"user_id": "ann@example.com"}}, 400,
     "metadata.user_id: user_id appears to contain an email address."),
    ("messages", "user_id", {"metadata": {"user_id": "u" * 257}}, 400, "metadata.user_id: String should have at most 256 characters"),
    ("messages", "blank_stop", {"stop_sequences": ["\n"]}, 400, "stop_sequences: each stop sequence must contain non-whitespace"),
    ("messages", "sampling", {"model": HAIKU, "temperature": 0.5, "top_p": 1}, 400,
     "`temperature` and `top_p` cannot both be specified for this model."),
    ("messages", "media_url", _asked_with({"type": "document", "source": {"type": "url", "url": "https://example.com/a.docx"}}), 400,
     "Unable to download the file."),
    ("responses", "unknown_choice", {"tool_choice": "required"}, 400,
     "Tool choice 'required' must be specified with 'tools' parameter."),
    ("responses", "unknown_choice", {"tool_choice": {"type": "function", "name": "now"}}, 400,
     "Tool choice 'function' not found in 'tools' parameter."),
    ("responses", "item_id", {"input": [_output("msg_1"), _output("msg_1")]}, 400, "Duplicate item found with id msg_1."),
    ("responses", "item_id", {"input": [_output("item_1")]}, 400,
     "Invalid 'input[0].id': 'item_1'. Expected an ID that begins with 'msg'."),
    ("responses", "item_id", {"input": [{**_CUSTOM_CALL, "id": "fc_1"}, _CUSTOM_RESULT]}, 400,
     "Invalid 'input[0].id': 'fc_1'. Expected an ID that begins with 'ctc'."),
    ("responses", "call_id_length", {"input": [{**item, "call_id": "c" * 65} for item in (_RESPONSES_CALL, _RESPONSES_RESULT)]}, 400,
     "Invalid 'input[0].call_id': string too long. Expected a string with maximum length 64"),
    ("responses", "function_name", {"input": [{**_RESPONSES_CALL, "name": "get.time"}, _RESPONSES_RESULT]}, 400,
     "Invalid 'input[0].name': string does not match pattern."),
    ("responses", "file_name", {"input": [{"role": "user", "content": [{"type": "input_file", "file_data": PDF}]}]}, 400,
     "Missing required parameter"),
    ("responses", "metadata_size", {"metadata": {"a" * 65: "b"}}, 400, "Invalid 'metadata': string too long."),
    ("responses", "cache_retention", {"prompt_cache_retention": "in-memory"}, 400,
     "Invalid value: 'in-memory'. Supported values are: 'in_memory' and '24h'."),
    ("responses", "end_user", {"safety_identifier": "u" * 129}, 400, "Invalid 'safety_identifier': string too long."),
    ("generate_content", "empty_parts", {"contents": [{"role": "user", "parts": []}]}, 400,
     "GenerateContentRequest.contents[0].parts: contents.parts must not be empty."),
    ("generate_content", "empty_parts", {"contents": [{"role": "user", "parts": [{"thought": True}]}]}, 400,
     "required oneof field 'data' must have one initialized field"),
    ("generate_content", "call_turn", {"contents": [{"role": "model", "parts": [CALL]}, RESULT]}, 400,
     "Please ensure that function call turn comes immediately after a user turn or after a function response turn."),
    ("generate_content", "call_turn", {"contents": [*_called(CALL, CALL)["contents"][:2], RESULT]}, 400,
     "Please ensure that the number of function response parts is equal to the number of function call parts"),
    ("generate_content", "function_name", {"tools": [{"functionDeclarations": [{"name": "1st"}]}]}, 400,
     "tools[0].function_declarations[0].name: Invalid function name."),
    ("generate_content", "function_name", {"tools": [{"functionDeclarations": [{"name": "now"}, {"name": "now"}]}]}, 400,
     "Duplicate function declaration found: now"),
    ("generate_content", "config_without_functions", {"toolConfig": {"functionCallingConfig": {"mode": "AUTO"}}}, 400,
     "Function calling config is set without function_declarations."),
    ("generate_content", "generation", {"generationConfig": {"stopSequences": ["a", "b", "c", "d", "e", "f"]}}, 400,
     "The number of stop sequences must not exceed 5."),
    ("generate_content", "generation", {"generationConfig": {"logprobs": 2}}, 400, "logprobs is only allowed"),
    ("generate_content", "generation", {"generationConfig": {"thinkingConfig": {"thinkingBudget": 1, "thinkingLevel": "LOW"}}}, 400,
     "You can only set one of thinking_budget and thinking_level."),
    ("generate_content", "call_without_signature", _called(CALL), 400,
     "Function call is missing a thought_signature in functionCall parts."),
    ("generate_content", "unknown_signature", _called({**CALL, "thoughtSignature": "c2lnbmVk"}), 400, "Corrupted thought signature."),
    ("generate_content", "unknown_signature",
     _called({**CALL, "thoughtSignature": base64.urlsafe_b64encode(TAGGED.encode()).decode()}), 400, "Corrupted thought signature."),
    ("generate_content", "media_type", _media("application/vnd.openxmlformats-officedocument.wordprocessingml.document"), 400,
     "Unsupported MIME type: application/vnd.openxmlformats-officedocument.wordprocessingml.document"),
    ("generate_content", "media_type",
     _called({**CALL, "functionResponse": {"name": "now", "parts": [{"inlineData": {"mimeType": "image/svg+xml", "data": ""}}]}}), 400,
     "Unsupported MIME type: image/svg+xml"),
    ("generate_content", "combined_tools", {"tools": [{"functionDeclarations": [{"name": "now"}]}, {"googleSearch": {}}]}, 400,
     "Please enable tool_config.include_server_side_tool_invocations to use Built-in tools with Function calling."),
    ("generate_content", "labels", {"labels": {"team": "a"}}, 400, 'Unknown name "labels": Cannot find field.'),
]  # fmt: skip
ACCEPTED: list[tuple[str, str, dict[str, Any]]] = [
    ("chat_completions", "functions_with_reasoning", {"model": "excluder", "reasoning_effort": "none", **_NOW}),
    ("chat_completions", "functions_with_reasoning", {"model": "excluder", "reasoning_effort": "low"}),
    ("chat_completions", "functions_with_reasoning", {"reasoning_effort": "low", **_NOW}),
    ("chat_completions", "unanswered_call", {"messages": [_USER, _CHAT_CALL, _CHAT_RESULT]}),
    ("chat_completions", "orphan_result", {"messages": [_USER, _CHAT_CALL, _CHAT_RESULT, _USER, _CHAT_CALL, _CHAT_RESULT]}),
    ("messages", "unanswered_call", {"messages": [_USER, _MESSAGES_CALL, _MESSAGES_RESULT]}),
    ("messages", "orphan_result", {"messages": [_USER, _MESSAGES_CALL, _MESSAGES_RESULT, _USER]}),
    ("responses", "unanswered_call", {"input": [_RESPONSES_CALL, _USER, _RESPONSES_RESULT]}),
    ("responses", "orphan_result", {"input": [_RESPONSES_CALL, _RESPONSES_RESULT, _USER]}),
    ("chat_completions", "no_model", {"model": "any"}),
    ("chat_completions", "no_messages", {"messages": [{"role": "user", "content": ""}]}),
    ("messages", "no_model", {"model": "any"}),
    ("messages", "no_messages", {"messages": [{"role": "user", "content": "hi"}]}),
    ("messages", "no_token_limit", {"max_tokens": 0}),
    ("responses", "server_label", {"tools": [{"type": "mcp", "server_label": "my-docs_2", "server_url": "https://example.com"}]}),
    ("responses", "no_model", {"model": None, "prompt": {"id": "pmpt_1"}}),
    ("responses", "no_input", {"input": None, "prompt": {"id": "pmpt_1"}}),
    ("generate_content", "no_contents", {"contents": [{"role": "user", "parts": [{"text": ""}]}]}),
    ("chat_completions", "json_mode",
     {"messages": [{"role": "user", "content": "Write JSON."}], "response_format": {"type": "json_object"}}),
    ("chat_completions", "metadata_not_stored", {"metadata": {"team": "maps"}, "store": True}),
    ("chat_completions", "schema_without_properties", _functions("chat_completions", {"type": "object", "properties": {}})),
    ("chat_completions", "image_type",
     {"messages": [{"role": "user", "content": [{"type": "image_url", "image_url": {"url": "data:image/webp;base64,AAAA"}}]}]}),
    ("responses", "image_type",
     {"input": [{"role": "user", "content": [{"type": "input_image", "detail": "auto", "image_url": "data:image/png;base64,AAAA"}]}]}),
    ("chat_completions", "strict_schema", {"response_format": {"type": "json_schema", "json_schema":
     {"name": "a", "strict": False, "schema": {"type": "object", "properties": {"b": {"type": "null"}}}}}}),
    ("responses", "strict_schema", {"text": {"format": {"type": "json_schema", "name": "a", "strict": True,
     "schema": {"type": "object", "properties": {"b": {"type": "null"}}, "required": ["b"], "additionalProperties": False}}}}),
    ("chat_completions", "foreign_token",
     {"messages": [{"role": "assistant", "content": "x", "reasoning_details": [{"type": "reasoning.encrypted", "data": "x"}]}]}),
    ("messages", "union_at_root", _functions("messages", {"type": "object", "properties": {"a": {"anyOf": [{"type": "null"}]}}})),
    ("messages", "property_name",
     _functions("messages", {"type": "object", "properties": {"a.b-c": {"type": "object", "properties": {"filter[id]": {}}}}})),
    ("messages", "recursive_schema", {"tools": [{"name": "now", "input_schema": TREE}]}),
    ("messages", "recursive_schema", {"tools": [{"name": "now", "strict": True, "input_schema": {
        "type": "object",
        "properties": {"a": {"$ref": "#/$defs/A"}, "b": {"$ref": "#/$defs/B"}},
        "$defs": {"A": {"$ref": "#/$defs/B"}, "B": {"type": "string"}},
    }}]}),
    ("messages", "unknown_signature", _thought(type="text", text="Hm.")),
    ("messages", "thread", {"thread": None}),
    ("messages", "all_deferred", {"tools": [
        {"name": "now", "input_schema": {"type": "object"}, "defer_loading": True},
        {"type": "tool_search_tool_bm25_20251119", "name": "tool_search_tool_bm25"},
    ]}),
    ("messages", "cache_durations", _marked({"ttl": "1h"}, {"ttl": "1h"}, {"ttl": "5m"}, {})),
    ("messages", "code_callers", {"model": HAIKU, "tools": [
        {"type": "web_search_20250305", "name": "web_search"},
        {"type": "web_fetch_20260318", "name": "web_fetch", "allowed_callers": ["direct"]},
    ]}),
    ("responses", "reasoning_not_stored", {"input": [{"type": "message", "id": "msg_1", "role": "user", "content": "hi"}]}),
    ("responses", "unknown_token", {"input": [{"type": "compaction", "id": "c", "encrypted_content": "gAAA"}]}),
    ("responses", "token_without_reasoning", {"include": ["file_search_call.results"]}),
    ("responses", "summary_unverified", {"reasoning": {"summary": None, "effort": "low"}}),
    ("responses", "json_mode", {"input": "Write JSON.", "text": {"format": {"type": "json_object"}}}),
    ("responses", "limit_below_16", {"max_output_tokens": 16}),
    ("responses", "deferred_tools", {"tools": [DEFERRED, {"type": "tool_search"}]}),
    ("responses", "deferred_tools", {"tools": [{"type": "tool_search", "execution": "client"}]}),
    ("responses", "reference_not_stored", {"input": [{"role": "user", "content": "hi"}]}),
    ("responses", "previous_response_not_stored", {"previous_response_id": None}),
    ("responses", "conversation_not_stored", {"conversation": None}),
    ("responses", "schema_without_properties", _functions("responses", {"type": "object", "properties": {}})),
    ("chat_completions", "no_content", {"messages": [_USER, _CHAT_CALL, _CHAT_RESULT, {"role": "assistant", "content": ""}]}),
    ("chat_completions", "empty_list", {"tools": None}),
    ("chat_completions", "choice_without_tools",
     {**_functions("chat_completions", {"type": "object", "properties": {}}), "tool_choice": "none", "parallel_tool_calls": False}),
    ("chat_completions", "two_limits", {"max_tokens": None, "max_completion_tokens": 9}),
    ("chat_completions", "stop_count", {"stop": ["a", "b", "c", "d"]}),
    ("chat_completions", "top_logprobs", {"logprobs": True, "top_logprobs": 2}),
    ("chat_completions", "participant_name", {"messages": [{"role": "user", "name": "Ann_B.", "content": "hi"}]}),
    ("chat_completions", "function_name", {"tools": [{"type": "function", "function": {"name": "f" * 64}}]}),
    ("chat_completions", "file_name",
     {"messages": [{"role": "user", "content": [{"type": "file", "file": {"file_data": PDF, "filename": "a.pdf"}}]}]}),
    ("chat_completions", "metadata_size", {"store": True, "metadata": {str(number): "a" * 512 for number in range(16)}}),
    ("chat_completions", "cache_retention", {"prompt_cache_retention": "in_memory"}),
    ("chat_completions", "end_user", {"user": "u" * 64, "safety_identifier": "u" * 128}),
    ("messages", "second_result", {"messages": [_USER, _MESSAGES_CALL, _MESSAGES_RESULT]}),
    ("messages", "call_id", _called_as("functions_f-0")),
    ("messages", "failed_result_media", _failed({"type": "text", "text": "no"})),
    ("messages", "blank_text", _asked_with({"type": "text", "text": " hi "})),
    ("messages", "empty_content", {"messages": [_USER, {"role": "assistant", "content": []}]}),
    ("messages", "prefill", {"messages": [_USER, {"role": "assistant", "content": "So"}]}),
    ("messages", "thinking_budget", {"max_tokens": 1025, "thinking": {"type": "enabled", "budget_tokens": 1024}}),
    ("messages", "thinking_excludes", {**_ADAPTIVE, "temperature": 1, "top_p": 0.95, "tool_choice": {"type": "auto"}, **_CLOCK}),
    ("messages", "thinking_first", {**_ADAPTIVE, "messages": [_USER, _MESSAGES_CALL, _MESSAGES_RESULT]}),
    ("messages", "choice_without_tools", {**_CLOCK, "tool_choice": {"type": "any"}}),
    ("messages", "tool_names", _CLOCK),
    ("messages", "cache_marks", _marked({}, {}, {}, {})),
    ("messages", "user_id", {"metadata": {"user_id": "u" * 256}}),
    ("messages", "blank_stop", {"stop_sequences": ["\nEND"]}),
    ("messages", "sampling", {"model": "claude-opus-4-0", "temperature": 0.5, "top_p": 0.5}),
    ("messages", "media_url", _asked_with({"type": "document", "source": {"type": "url", "url": "https://example.com/a"}})),
    ("responses", "unknown_choice", {**_functions("responses", {"type": "object", "properties": {}}),
                                     "tool_choice": {"type": "function", "name": "now"}}),
    ("responses", "item_id", {"input": [_output("msg_1"), _output("msg_2")]}),
    ("responses", "item_id", {"input": [{**_CUSTOM_CALL, "id": "ctc_1"}, _CUSTOM_RESULT]}),
    ("responses", "call_id_length", {"input": [{**item, "call_id": "c" * 64} for item in (_RESPONSES_CALL, _RESPONSES_RESULT)]}),
    ("responses", "function_name", {"input": [{**_RESPONSES_CALL, "name": "get_time"}, _RESPONSES_RESULT]}),
    ("responses", "file_name",
     {"input": [{"role": "user", "content": [{"type": "input_file", "file_data": PDF, "filename": "a.pdf"}]}]}),
    ("responses", "metadata_size", {"metadata": {"a" * 64: "b" * 512}}),
    ("responses", "cache_retention", {"prompt_cache_retention": "in_memory"}),
    ("responses", "end_user", {"safety_identifier": "u" * 128}),
    ("generate_content", "empty_parts", {"contents": [{"role": "user", "parts": [{"text": ""}]}]}),
    ("generate_content", "call_turn", _called(CALL, CALL)),
    ("generate_content", "function_name", {"tools": [{"functionDeclarations": [{"name": "_get.time:2"}]}]}),
    ("generate_content", "config_without_functions",
     {**_functions("generate_content", {"type": "object"}), "toolConfig": {"functionCallingConfig": {"mode": "AUTO"}}}),
    ("generate_content", "generation", {"generationConfig": {"stopSequences": ["a", "b", "c", "d", "e"], "responseLogprobs": True,
                                                             "logprobs": 2, "thinkingConfig": {"thinkingBudget": 1}}}),
    ("generate_content", "call_without_signature", _called({**CALL, "thoughtSignature": "skip_thought_signature_validator"}, CALL)),
    ("generate_content", "unknown_signature",
     _called({**CALL, "thoughtSignature": base64.b64encode(b"skip_thought_signature_validator").decode()})),
    ("generate_content", "media_type", _media("text/csv")),
    ("generate_content", "combined_tools",
     {"tools": [{"functionDeclarations": [{"name": "now"}], "codeExecution": {}}],
      "toolConfig": {"includeServerSideToolInvocations": True}}),
    ("generate_content", "labels", {}),
]  # fmt: skip

NAMES = [f"{format}-{rule}" for format, rule, *_ in REFUSED]


def _relay(answer: Any = "Hello", **settings: Any) -> FakeRelay:
    """Return a relay whose only model does not reason, of an organisation that is not verified."""
    models = {"reasoning_models": ["thinker"], "models_excluding_functions": ["excluder"]}
    return FakeRelay([answer], **{**models, "verified": False, **settings})


def _ask(relay: FakeRelay, format: fb.Format, body: dict[str, Any], model: str = "m") -> httpx.Response:
    """Send a request; only the rule about calls without a signature concerns models that reason."""
    if format == "generate_content":
        return post(relay, format, body=body, url=f"{relay.base_url}/v1beta/models/{model}:generateContent")
    return post(relay, format, body={"model": model, **body})


@pytest.mark.parametrize(("format", "rule", "body", "status", "message"), REFUSED, ids=NAMES)
def test_a_request_that_breaks_a_rule_gets_the_answer_of_the_vendor(
    format: fb.Format, rule: str, body: dict[str, Any], status: int, message: str
) -> None:
    """A relay that accepts it hides the failure until production. The script is not used up."""
    relay = _relay()

    answer = _ask(relay, format, body, "thinker" if rule == "call_without_signature" else "m")

    assert (answer.status_code, message in _message(answer)) == (status, True)
    assert relay.steps_left == 1


@pytest.mark.parametrize(("format", "rule", "body"), ACCEPTED, ids=[f"{format}-{rule}" for format, rule, _ in ACCEPTED])
def test_a_request_close_to_a_rejected_one_is_accepted(format: fb.Format, rule: str, body: dict[str, Any]) -> None:
    """Users turn off a relay that rejects too much."""
    answer = _ask(_relay(), format, body, "thinker" if rule == "call_without_signature" else "m")

    assert answer.status_code == 200, answer.text


@pytest.mark.parametrize(("format", "body"), [row[::2][:2] for row in REFUSED], ids=NAMES)
def test_a_relay_that_is_not_strict_accepts_it(format: fb.Format, body: dict[str, Any]) -> None:
    """Relays of other servers accept it, and some tests concern something else."""
    assert _ask(_relay(strict=False), format, body, "thinker").status_code == 200


def test_every_rule_has_a_refused_request_and_an_accepted_one() -> None:
    """A new rule gets both."""
    rules = {(format, rule.name) for format in RULES for rule in RULES[format]}

    assert {(format, rule) for format, rule, *_ in REFUSED} == rules
    assert {(format, rule) for format, rule, _ in ACCEPTED} == rules


def test_the_page_about_testing_lists_every_rule() -> None:
    """A user must be able to look up each rejection."""
    page = (Path(__file__).parents[2] / "docs" / "testing.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| (\w+) \| `(\w+)` \| (.*) \|$", page, re.MULTILINE)

    assert rows == [(format, rule.name, rule.about) for format in RULES for rule in RULES[format]]


# Codes that clients act on.


@pytest.mark.parametrize(
    ("body", "param", "code"),
    [
        ({"max_output_tokens": 1}, "max_output_tokens", "integer_below_min_value"),
        ({"previous_response_id": "resp_1"}, "previous_response_id", "previous_response_not_found"),
        ({"include": ["reasoning.encrypted_content"]}, "include", None),
        ({"reasoning": {"summary": "auto"}}, "reasoning.summary", "unsupported_value"),
        ({"input": [{"type": "reasoning", "id": "rs_0", "summary": []}]}, "input", None),
        ({"input": [{"type": "reasoning", "summary": []}]}, "input[0].id", "missing_required_parameter"),
        (_functions("responses", {"type": "object"}), "tools[0].parameters", "invalid_function_parameters"),
    ],
)
def test_a_refusal_of_responses_has_the_param_and_the_code_of_the_vendor(
    body: dict[str, Any], param: str, code: str | None
) -> None:
    """Clients decide by them whether to try again with another request."""
    error = _ask(_relay(), "responses", body).json()["error"]

    assert (error["param"], error["code"]) == (param, code)


def test_a_thread_is_refused_with_the_code_that_the_official_client_reads() -> None:
    """Its tool runner then sends the whole conversation."""
    for thread in ({"type": "create"}, {"type": "continue", "previous_message_id": "msg_1"}):
        error = _ask(_relay(), "messages", {"thread": thread}).json()["error"]

        assert error["details"] == {"error_code": "thread_unsupported_request"}


@pytest.mark.parametrize("holder", ["namespace", "additional_tools"])
def test_a_function_inside_another_holder_needs_properties_too(holder: str) -> None:
    """Codex sends its tools in both."""
    function = {"type": "function", "name": "now", "parameters": {"type": "object"}}
    if holder == "namespace":
        body: dict[str, Any] = {"tools": [{"type": "namespace", "name": "clock", "description": "Time.", "tools": [function]}]}
    else:
        body = {
            "input": [{"type": "additional_tools", "role": "developer", "tools": [function]}, {"role": "user", "content": "hi"}]
        }

    answer = _ask(_relay(), "responses", body)

    assert answer.status_code == 400
    assert answer.json()["error"]["code"] == "invalid_function_parameters"


# Which call of a model needs its signature.


@pytest.mark.parametrize("model", ["gemini-2.5-flash", "google/gemini-2.0-pro", "models/gemini-1.5-pro"])
def test_models_of_the_second_generation_do_not_need_a_signature(model: str) -> None:
    """The vendor checks it from Gemini 3 on."""
    assert _ask(FakeRelay("Hello"), "generate_content", _called(CALL), model).status_code == 200


def test_a_call_of_an_earlier_turn_does_not_need_a_signature() -> None:
    """The vendor checks the current turn only: the contents after the last user input that is no result."""
    body = _called(CALL)
    body["contents"] += [{"role": "model", "parts": [{"text": "Noon."}]}, {"role": "user", "parts": [{"text": "And now?"}]}]

    assert _ask(FakeRelay("Hello"), "generate_content", body).status_code == 200


def test_each_step_of_the_current_turn_needs_its_signature() -> None:
    """The error has the index of the content without it, and its function."""
    signed = {**CALL, "thoughtSignature": "skip_thought_signature_validator"}
    body = _called(signed, CALL)
    body["contents"] += [{"role": "model", "parts": [CALL]}, RESULT]

    message = _message(_ask(FakeRelay("Hello"), "generate_content", body))

    assert "function call `default_api:now` , position 4." in message


def test_camel_case_and_snake_case_fields_are_checked() -> None:
    """Proto3 JSON has two notations, and users send either."""
    call = {"function_call": {"name": "now", "args": {}}}

    assert _ask(FakeRelay("Hello"), "generate_content", _called(call)).status_code == 400
    placeholder = {"thought_signature": "context_engineering_is_the_way_to_go"}
    assert _ask(FakeRelay("Hello"), "generate_content", _called(call | placeholder)).status_code == 200


# What the relay has issued comes back.


def _items(answer: httpx.Response) -> list[dict[str, Any]]:
    items: list[dict[str, Any]] = answer.json()["output"]
    return items


@pytest.mark.parametrize("is_streaming", [False, True], ids=["whole", "streamed"])
def test_a_token_of_responses_is_sent_if_included_and_accepted_again(is_streaming: bool) -> None:
    """The vendor sends none without the request for it."""
    relay = FakeRelay(ANSWER)
    include = {"include": ["reasoning.encrypted_content"], "store": False}

    without = post(relay, "responses", is_streaming=is_streaming)
    request = post(relay, "responses", is_streaming=is_streaming, body=include)
    collected = fb.collect_stream([request.content], source="responses").body if is_streaming else request.json()
    again = post(relay, "responses", body={**include, "input": [*collected["output"], {"role": "user", "content": "hi"}]})

    assert "encrypted_content" not in without.text
    assert collected["output"][0]["encrypted_content"] == "c2lnbmVk"
    assert again.status_code == 200


def test_a_relay_that_is_not_strict_sends_the_token_unasked() -> None:
    """Some servers do."""
    assert "c2lnbmVk" in post(FakeRelay(ANSWER, strict=False), "responses").text


@pytest.mark.parametrize(("store", "status"), [(None, 200), (True, 200), (False, 404)])
def test_items_of_a_stored_answer_can_be_referenced(store: bool | None, status: int) -> None:
    """Reasoning items, references to items and the response itself; the vendor stores unless the request has ``store: false``."""
    relay = FakeRelay(ANSWER)
    first = post(relay, "responses", body={"store": store})
    reasoning = _items(first)[0]

    again = post(relay, "responses", body={"input": [reasoning, {"role": "user", "content": "hi"}]})
    referred = post(relay, "responses", body={"input": [{"type": "item_reference", "id": reasoning["id"]}]})
    followed = post(relay, "responses", body={"previous_response_id": first.json()["id"]})

    assert (again.status_code, referred.status_code) == (status, status)
    assert followed.status_code == (200 if status == 200 else 400)


def test_a_signature_of_a_messages_stream_is_accepted_in_the_next_request() -> None:
    """The signature is in a separate event."""
    relay = FakeRelay(ANSWER)
    collected = fb.collect_stream([post(relay, "messages", is_streaming=True).content], source="messages").body

    answer = {"role": "assistant", "content": collected["content"]}
    assert post(relay, "messages", body={"messages": [_USER, answer, _USER]}).status_code == 200


def test_every_call_of_generate_content_has_a_signature_that_is_accepted_again() -> None:
    """The vendor's client decodes it and writes it again in the URL-safe alphabet."""
    relay = FakeRelay(
        [Answer(tool_calls=[ToolCall("now"), ToolCall("now")], signature=signature) for signature in (None, "c2l+bm/k")]
    )

    for _ in range(2):
        parts = post(relay, "generate_content").json()["candidates"][0]["content"]["parts"]
        token = parts[0]["thoughtSignature"]
        parts[0]["thoughtSignature"] = token.replace("+", "-").replace("/", "_")
        relay.play("Noon.") if relay.steps_left == 0 else None
        assert "thoughtSignature" not in parts[1]
        assert post(FakeRelay("x"), "generate_content", body=_called(*parts)).status_code == 400
        assert _accepts(relay, parts)


def _accepts(relay: FakeRelay, parts: list[dict[str, Any]]) -> bool:
    """Return whether a relay accepts the parts of an answer in the next request, without a step of its script."""
    answer = post(relay, "generate_content", body=_called(*parts) | {"labels": {}})
    return "labels" in _message(answer)


def test_a_token_of_another_relay_is_refused() -> None:
    """Each vendor, and each account, has different ones."""
    response = post(FakeRelay(ANSWER), "messages").json()

    answer = post(FakeRelay(ANSWER), "messages", body={"messages": [{"role": "assistant", "content": response["content"]}]})

    assert answer.status_code == 400


def test_a_tagged_token_of_another_format_is_rejected() -> None:
    """The relay sends the token of another vendor with a tag; a caller must remove it before the next request."""
    body = {"id": "m", "type": "message", "role": "assistant", "model": "m", "stop_reason": "end_turn", "stop_sequence": None,
            "content": [{"type": "thinking", "thinking": "Hm.", "signature": "c2ln"}, {"type": "text", "text": "Hi."}],
            "usage": {"input_tokens": 1, "output_tokens": 1}}  # fmt: skip
    relay = FakeRelay(Body(body, "messages"))
    include = {"include": ["reasoning.encrypted_content"]}
    items = _items(post(relay, "responses", body=include))

    assert items[0]["encrypted_content"] == "fb1|messages|thinking|c2ln"
    assert post(relay, "responses", body={**include, "input": items}).status_code == 400


@pytest.mark.parametrize("models", [{"thinker"}, lambda model: model == "thinker"], ids=["names", "function"])
def test_models_that_reason_are_a_set_of_names_or_a_function(models: Any) -> None:
    """None means all of them."""
    include = {"include": ["reasoning.encrypted_content"]}
    relay = FakeRelay("Hello", reasoning_models=models)

    assert _ask(relay, "responses", include, "thinker").status_code == 200
    assert _ask(relay, "responses", include, "m").status_code == 400
    assert _ask(FakeRelay("Hello"), "responses", include, "m").status_code == 200


def test_reasoning_summaries_are_accepted_by_default() -> None:
    """This is the default, because a test must not fail for a user who asks for one."""
    assert _ask(FakeRelay("Hello"), "responses", {"reasoning": {"summary": "auto"}}).status_code == 200


@pytest.mark.parametrize("format", FORMATS)
def test_a_rejected_stream_request_has_the_same_error(format: fb.Format) -> None:
    """It comes before the first event, with its status."""
    broken = next(body for each, rule, body, *_ in REFUSED if each == format and rule != "call_without_signature")

    whole, streamed = (post(_relay(), format, is_streaming=flag, body=broken) for flag in (False, True))

    assert (streamed.status_code, streamed.json()) == (whole.status_code, whole.json())
