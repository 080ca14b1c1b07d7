"""What the server of responses rejects."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from formatbridge.jsontext.types import JsonObject
from formatbridge.testing.script import Failure
from formatbridge.testing.vendor_rules import openai
from formatbridge.testing.vendor_rules.rule import Facts, Rule, is_tagged, items_of

_LEAST_TOKENS = 16
_TOKEN = "reasoning.encrypted_content"


def asks_for_token(body: Any) -> bool:
    """Return whether a request includes ``reasoning.encrypted_content``; without it no answer has such a token."""
    return isinstance(body, dict) and _TOKEN in (body.get("include") or ())


def stores_answer(body: Any) -> bool:
    """Return whether the server stores the answer to a request. This is the default."""
    return not isinstance(body, dict) or body.get("store") is not False


def _not_found(id_: object) -> Failure:
    hint = "Items are not persisted when `store` is set to false. Try again with `store` set to true, or remove this item from your input."
    return openai.openai_failure(404, f"Item with id '{id_}' not found. {hint}", param="input")


def _check_items(body: JsonObject, facts: Facts) -> Failure | None:
    """Reject a reasoning item without a token that the server has not stored."""
    for index, item in enumerate(items_of(body)):
        if item.get("type") != "reasoning" or item.get("encrypted_content") or facts.stores(item.get("id")):
            continue
        if item.get("id"):
            return _not_found(item["id"])
        param = f"input[{index}].id"
        return openai.openai_failure(400, f"Missing required parameter: '{param}'.", param=param, code="missing_required_parameter")
    return None


def _check_tokens(body: JsonObject, facts: Facts) -> Failure | None:
    """Reject a token of another server. Only reasoning tokens are recorded; for other items, tagged tokens are rejected."""
    for item in items_of(body):
        token = item.get("encrypted_content")
        if not isinstance(token, str) or not token:
            continue
        is_known = facts.accepts_token("responses", token) if item.get("type") == "reasoning" else not is_tagged(token)
        if not is_known:
            shown = token if len(token) <= 8 else f"{token[:4]}...{token[-4:]}"
            reason = "Encrypted content could not be decrypted or parsed."
            message = f"The encrypted content {shown} could not be verified. Reason: {reason}"
            return openai.openai_failure(400, message, code="invalid_encrypted_content")
    return None


def _check_include(body: JsonObject, facts: Facts) -> Failure | None:
    """Reject ``include`` of reasoning tokens for a model that does not reason."""
    if facts.can_reason or not asks_for_token(body):
        return None
    return openai.openai_failure(400, "Encrypted content is not supported with this model.", param="include")


def _check_summary(body: JsonObject, facts: Facts) -> Failure | None:
    """Reject a summary of reasoning for an organisation that is not verified."""
    reasoning = body.get("reasoning") or {}
    if facts.is_verified or (reasoning.get("summary") is None and reasoning.get("generate_summary") is None):
        return None
    message = (
        "Your organization must be verified to generate reasoning summaries. Please go to:"
        " https://platform.openai.com/settings/organization/general and click on Verify Organization."
        " If you just verified, it can take up to 15 minutes for access to propagate."
    )
    return openai.openai_failure(400, message, param="reasoning.summary", code="unsupported_value")


def _check_limit(body: JsonObject, _facts: Facts) -> Failure | None:
    """Reject a token limit below the minimum."""
    limit = body.get("max_output_tokens")
    if limit is None or limit >= _LEAST_TOKENS:
        return None
    message = (
        f"Invalid 'max_output_tokens': integer below minimum value. Expected a value >= {_LEAST_TOKENS}, but got {limit} instead."
    )
    return openai.openai_failure(400, message, param="max_output_tokens", code="integer_below_min_value")


def _check_deferred(body: JsonObject, _facts: Facts) -> Failure | None:
    """Reject deferred tools without a tool search, and a tool search of the server without deferred tools."""
    tools = [tool for each in _tool_lists(body) for tool in each]
    inner = [each for tool in tools for each in tool.get("tools") or () if tool.get("type") == "namespace"]
    is_deferred = any(tool.get("defer_loading") for tool in (*tools, *inner))
    searches = [tool for tool in tools if tool.get("type") == "tool_search"]
    if is_deferred and not searches:
        return openai.openai_failure(
            400, "Invalid Value: 'tools.defer_loading'. Deferred tools require tools.tool_search.", param="tools"
        )
    if not is_deferred and any(tool.get("execution") != "client" for tool in searches):
        message = "Invalid Value: 'tools.tool_search'. tools.tool_search requires at least one deferred tool."
        return openai.openai_failure(400, message, param="tools")
    return None


def _tool_lists(body: JsonObject) -> Iterator[list[JsonObject]]:
    yield body.get("tools") or []
    yield from (item.get("tools") or [] for item in items_of(body) if item.get("type") == "additional_tools")


def _check_reference(body: JsonObject, facts: Facts) -> Failure | None:
    """Reject a reference to an item that is not stored. The type of such an item is optional."""
    for item in items_of(body):
        is_reference = item.get("type") == "item_reference" or item.keys() == {"id"}
        if is_reference and not facts.stores(item.get("id")):
            return _not_found(item.get("id"))
    return None


def _check_previous(body: JsonObject, facts: Facts) -> Failure | None:
    """Reject ``previous_response_id`` of a response that is not stored."""
    id_ = body.get("previous_response_id")
    if id_ is None or facts.stores(id_):
        return None
    message = f"Previous response with id '{id_}' not found."
    return openai.openai_failure(400, message, param="previous_response_id", code="previous_response_not_found")


def _check_conversation(body: JsonObject, _facts: Facts) -> Failure | None:
    """Reject a conversation: this server cannot create one."""
    conversation = body.get("conversation")
    if conversation is None:
        return None
    id_ = conversation.get("id") if isinstance(conversation, dict) else conversation
    return openai.openai_failure(404, f"Conversation with id '{id_}' not found.", param="conversation")


def _check_schemas(body: JsonObject, _facts: Facts) -> Failure | None:
    """Reject the first function whose parameters lack ``properties``."""
    failures = (openai.check_parameters(tool, f"{path}.parameters") for path, tool in _functions(body))
    return next((failure for failure in failures if failure is not None), None)


def _functions(body: JsonObject) -> Iterator[tuple[str, JsonObject]]:
    """Yield the functions of a request with their paths: in its tools, in namespaces, and in ``additional_tools`` items."""
    holders: list[tuple[str, Any]] = [("", body)]
    holders += [(f"input[{index}].", item) for index, item in enumerate(items_of(body)) if item.get("type") == "additional_tools"]
    for path, holder in holders:  # grows while it is read
        for index, tool in enumerate(holder.get("tools") or ()):
            place = f"{path}tools[{index}]"
            if tool.get("type") == "function":
                yield place, tool
            elif tool.get("type") == "namespace":
                holders.append((f"{place}.", tool))


def _check_strict(body: JsonObject, _facts: Facts) -> Failure | None:
    """Reject the first schema with ``strict`` that the server cannot enforce."""
    failures = [openai.check_strict_tool(tool, f"{path}.parameters") for path, tool in _functions(body)]
    failures.append(openai.check_strict_format((body.get("text") or {}).get("format"), "text.format.schema"))
    return next((failure for failure in failures if failure is not None), None)


def _check_images(body: JsonObject, _facts: Facts) -> Failure | None:
    return openai.check_images(body.get("input"), "input")


def _check_json_mode(body: JsonObject, _facts: Facts) -> Failure | None:
    """Reject JSON mode without the word in the input. The instructions do not count; an earlier response may have the word."""
    kind = ((body.get("text") or {}).get("format") or {}).get("type")
    if (
        kind != "json_object"
        or body.get("previous_response_id")
        or body.get("conversation")
        or openai.mentions_json(body.get("input"))
    ):
        return None
    words = "Response input messages must contain the word 'json' in some form to use 'text.format' of type 'json_object'."
    return openai.openai_failure(400, words, param="input")


def _check_model(body: JsonObject, _facts: Facts) -> Failure | None:
    """Reject a request without a model. A stored prompt may have one."""
    if body.get("model") or body.get("prompt"):
        return None
    return openai.openai_failure(400, "Missing required parameter: 'model'.", param="model", code="missing_required_parameter")


def _check_input(body: JsonObject, _facts: Facts) -> Failure | None:
    """Reject a request that neither has an input nor continues something that the server stores."""
    if body.get("input") or any(body.get(name) for name in ("previous_response_id", "prompt", "conversation")):
        return None
    code = "missing_required_parameter"
    if body.get("input") is None:
        return openai.openai_failure(400, "Missing required parameter: 'input'.", param="input", code=code)
    words = "One of \"input\" or \"previous_response_id\" or 'prompt' or 'conversation' must be provided."
    return openai.openai_failure(400, words, code=code)


def _check_labels(body: JsonObject, _facts: Facts) -> Failure | None:
    """Reject the label of an MCP server with other characters than letters, digits, hyphens and underscores."""
    for index, tool in enumerate(body.get("tools") or ()):
        label = tool.get("server_label") if tool.get("type") == "mcp" else None
        if isinstance(label, str) and not _LABEL.fullmatch(label):
            param = f"tools[{index}].server_label"
            expected = "Expected a string that matches the pattern '^[a-zA-Z0-9_-]+$'."
            return openai.openai_failure(400, f"Invalid '{param}': string does not match pattern. {expected}", param=param)
    return None


def _check_calls(body: JsonObject, _facts: Facts) -> Failure | None:
    """Reject the first call without an output."""
    items = items_of(body)
    outputs = {item.get("call_id") for item in items if item.get("type") in _OUTPUTS}
    for item in items:
        if item.get("type") in _CALLS and item.get("call_id") not in outputs:
            return openai.openai_failure(400, f"No tool output found for function call {item.get('call_id')}.", param="input")
    return None


def _check_outputs(body: JsonObject, _facts: Facts) -> Failure | None:
    """Reject the first output without a call. A call may be in what the server stores."""
    items = items_of(body)
    if any(body.get(name) for name in ("previous_response_id", "prompt", "conversation")):
        return None
    if any(item.get("type") == "item_reference" for item in items):
        return None
    calls: set[object] = set()
    for item in items:
        if item.get("type") in _CALLS:
            calls.add(item.get("call_id"))
        elif item.get("type") in _OUTPUTS and item.get("call_id") not in calls:
            words = f"No tool call found for function call output with call_id {item.get('call_id')}."
            return openai.openai_failure(400, words, param="input")
    return None


def _check_choice(body: JsonObject, _facts: Facts) -> Failure | None:
    """Reject a choice of tools that the request does not have."""
    choice = body.get("tool_choice")
    tools = [tool for each in _tool_lists(body) for tool in each]
    tools += [inner for tool in tools if tool.get("type") == "namespace" for inner in tool.get("tools") or ()]
    if choice == "required" and not tools:
        words = "Tool choice 'required' must be specified with 'tools' parameter."
        return openai.openai_failure(400, words, param="tool_choice")
    known = {(tool.get("type"), tool.get("name") if tool.get("type") in _NAMED else None) for tool in tools}
    for each in choice.get("tools") or [choice] if isinstance(choice, dict) else ():
        kind = each.get("type")
        if (kind, each.get("name") if kind in _NAMED else None) not in known:
            return openai.openai_failure(400, f"Tool choice '{kind}' not found in 'tools' parameter.", param="tool_choice")
    return None


def _check_item_ids(body: JsonObject, _facts: Facts) -> Failure | None:
    """Reject the first id that an earlier item has, or that has the prefix of another type."""
    ids: set[object] = set()
    for index, item in enumerate(items_of(body)):
        id_, prefix, param = item.get("id"), _PREFIXES.get(item.get("type", "message")), f"input[{index}].id"
        if not isinstance(id_, str) or item.get("type") == "item_reference" or item.keys() == {"id"}:
            continue
        if prefix is not None and not id_.startswith(prefix):
            words = f"Invalid '{param}': '{id_}'. Expected an ID that begins with '{prefix}'."
            return openai.openai_failure(400, words, param=param, code="invalid_value")
        if id_ in ids:
            words = f"Duplicate item found with id {id_}. Remove duplicate items from your input and try again."
            return openai.openai_failure(400, words, param="input")
        ids.add(id_)
    return None


def _check_call_ids(body: JsonObject, _facts: Facts) -> Failure | None:
    """Reject the first id of a call that is too long."""
    for index, item in enumerate(items_of(body)):
        call_id = item.get("call_id")
        if isinstance(call_id, str) and len(call_id) > _LONGEST_CALL_ID:
            return openai.too_long(f"input[{index}].call_id", call_id, _LONGEST_CALL_ID)
    return None


def _check_names(body: JsonObject, _facts: Facts) -> Failure | None:
    calls = (
        (f"input[{index}].name", item.get("name"))
        for index, item in enumerate(items_of(body))
        if item.get("type") == "function_call"
    )
    return openai.check_names((*((f"{path}.name", tool.get("name")) for path, tool in _functions(body)), *calls))


def _check_files(body: JsonObject, _facts: Facts) -> Failure | None:
    return openai.check_files(body.get("input"), "input")


_CALLS = frozenset({"function_call", "custom_tool_call"})
_OUTPUTS = frozenset({"function_call_output", "custom_tool_call_output"})
_LABEL = re.compile("[a-zA-Z0-9_-]+")
_NAMED = frozenset({"function", "custom"})
_PREFIXES = {"message": "msg", "function_call": "fc", "custom_tool_call": "ctc", "reasoning": "rs"}
"""Types of items to the beginning of their ids, where a report quotes it."""
_LONGEST_CALL_ID = 64

RULES = (
    Rule("server_label", "the label of an MCP server has other characters than letters, digits, hyphens and underscores",
         "pomerium/mcp-app-demo#18", _check_labels),
    Rule("no_model", "`model` is missing or empty, and there is no `prompt`", "docs, Create a model response", _check_model),
    Rule("no_input", "`input` is missing or empty, and there is no `previous_response_id`, `prompt` or `conversation`",
         "docs, Create a model response; the message as OpenAI answers an empty list", _check_input),
    Rule("unanswered_call", "a call of a function or a custom tool has no output",
         "anomalyco/opencode#16717, jlcodes99/cockpit-tools#1234", _check_calls),
    Rule("orphan_result", "an output of a function or a custom tool has no call before it",
         "microsoft/vscode#320060, continuedev/continue#10092, 0xPlaygrounds/rig#1588", _check_outputs),
    Rule("strict_schema", "a schema with `strict` has an optional property, an open object or a keyword that is not supported",
         openai.STRICT_SOURCE, _check_strict),
    Rule("image_type", "the data of an image is not of type PNG, JPEG, GIF or WebP", openai.IMAGE_SOURCE, _check_images),
    Rule("json_mode", "JSON mode without the word `json` in `input`", openai.JSON_SOURCE, _check_json_mode),
    Rule("reasoning_not_stored", "a reasoning item has no `encrypted_content`, and its id is not of an answer that this server stored",
         "vercel/ai#7543, openai/openai-agents-python#919, earendil-works/pi#5059", _check_items),
    Rule("unknown_token", "an `encrypted_content` is not this server's", "openai/codex#8128", _check_tokens),
    Rule("token_without_reasoning", "`include` asks for `reasoning.encrypted_content`, and the model does not reason",
         "pydantic/pydantic-ai#2865 and #3326", _check_include),
    Rule("summary_unverified", "`reasoning.summary` is set, and the organisation is not verified (`verified=False`)",
         "continuedev/continue#9607", _check_summary),
    Rule("limit_below_16", "`max_output_tokens` is below 16", "vectorize-io/hindsight#58, braintrustdata/lingua#186", _check_limit),
    Rule("deferred_tools", "a deferred tool without a tool search, or a tool search of the server without a deferred tool",
         "pydantic/pydantic-ai#6080, Wei-Shaw/sub2api#5942, justrach/codegraff#746", _check_deferred),
    Rule("reference_not_stored", "an `item_reference` names an item that is not stored", "home-assistant/core#175363", _check_reference),
    Rule("previous_response_not_stored", "`previous_response_id` names a response that is not stored",
         "maximhq/bifrost#2441", _check_previous),
    Rule("conversation_not_stored", "`conversation` names a conversation, of which the server has none",
         "docs, Conversations", _check_conversation),
    Rule("schema_without_properties", "the root of a function's `parameters` is no object with `properties`, or has a union",
         openai.SCHEMA_SOURCE, _check_schemas),
    Rule("unknown_choice", "`tool_choice` requires a call or names a tool, and the request does not have such a tool",
         "vllm-project/vllm#40399", _check_choice),
    Rule("item_id", "the id of an item is repeated, or does not begin with `msg` (messages), `fc` (function calls), `ctc` (custom tool "
         "calls) or `rs` (reasoning)",
         "microsoft/vscode#321977, OpenRouterTeam/ai-sdk-provider#254, openai/codex#33176, Wei-Shaw/sub2api#3981, can1357/oh-my-pi#977",
         _check_item_ids),
    Rule("call_id_length", "a `call_id` has over 64 characters", "AnswerDotAI/fastllm#45, openclaw/openclaw#875", _check_call_ids),
    Rule("function_name", "the name of a function has other characters than letters, digits, hyphens and underscores, or over 64",
         openai.NAME_SOURCE, _check_names),
    Rule("file_name", "the data of a file have no `filename`", openai.FILE_SOURCE, _check_files),
    *openai.SETTINGS_RULES,
)  # fmt: skip
