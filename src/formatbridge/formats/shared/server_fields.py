"""Write the fields of a request under the names that one server reads."""

from __future__ import annotations

from typing import Any

from formatbridge import ir
from formatbridge.dialect import DialectRules
from formatbridge.formats.format import FormatSpec
from formatbridge.formats.shared.server_rules import code_of
from formatbridge.jsontext.types import JsonObject
from formatbridge.report.ledger import Ledger
from formatbridge.report.loss_rules import rule_of_setting


def rename_for_server(body: JsonObject, spec: FormatSpec, losses: Ledger) -> JsonObject:
    """Return an encoded body with the names and words of a server.

    The request was adapted before, so the only fields to leave out are additions of the encoder.
    """
    rules = spec.dialect
    assert rules is not None
    renamed = {rules.names.get(key, key): value for key, value in body.items() if not rules.omits(key, value)}
    if renamed.get("tool_choice") is not None:
        renamed["tool_choice"] = _server_tool_choice(renamed["tool_choice"], rules)
    # Together's ``logprobs`` is the number of alternatives, without a flag (recorded traffic).
    if rules.counted_logprobs and renamed.get("logprobs") is True:
        renamed["logprobs"] = renamed.pop("top_logprobs", 1)
    if rules.reasoning_history is not None and spec.server_requests is not None:
        renamed = spec.server_requests.messages(renamed, rules, losses)
    if rules.prefill_field is not None and renamed.get("messages"):
        renamed["messages"] = _with_prefill_field(renamed["messages"], rules.prefill_field, rules, losses)
    if rules.alternating_turns and "messages" in renamed:
        renamed["messages"] = _joined_turns(renamed["messages"])
    if not rules.call_ids:
        renamed["contents"] = [_without_call_ids(content) for content in renamed.get("contents") or ()]
    if len(renamed) < len(body):
        losses.withdraw(renamed)
    return renamed


def _with_prefill_field(messages: list[JsonObject], field: str, rules: DialectRules, losses: Ledger) -> list[JsonObject]:
    """Return messages with a field in a final assistant message, unless it ends with tool calls, which no server continues."""
    last = messages[-1]
    if last.get("role") != "assistant" or last.get("tool_calls"):
        return messages
    why = f"{rules.server} requires it in a final assistant message"
    return [*messages[:-1], last | {field: losses.added(f"/messages/{len(messages) - 1}/{field}", True, why)}]


def add_missing_messages(body: JsonObject, rules: DialectRules, losses: Ledger) -> JsonObject:
    """Return a body with an assistant message wherever the server requires one between a tool result and a message of the user."""
    messages = body.get("messages")
    if rules.user_after_result or not isinstance(messages, list):
        return body
    complete: list[JsonObject] = []
    for message in messages:
        if complete and complete[-1].get("role") == "tool" and message.get("role") in ("user", "system"):
            at, between = len(complete), {"role": "assistant", "content": _ACKNOWLEDGEMENT}
            losses.shift_additions("/messages", at)
            losses.added(f"/messages/{at}", between, f"{rules.server} requires it between a tool result and a message of the user")
            complete.append(between)
        complete.append(message)
    return body if len(complete) == len(messages) else body | {"messages": complete}


_ACKNOWLEDGEMENT = "OK."
"""The text of an assistant message that only a server requires. Mistral rejects an empty one."""


def _without_call_ids(content: JsonObject) -> JsonObject:
    """Return a content of generate_content without the ids of calls and results, which the server matches by name and order."""
    parts = [
        {key: _without_id(value) if key in _CALLS else value for key, value in part.items()} for part in content.get("parts") or ()
    ]
    return content | {"parts": parts} if parts else content


def _without_id(call: Any) -> Any:
    return {key: value for key, value in call.items() if key != "id"} if isinstance(call, dict) else call


_CALLS = frozenset({"functionCall", "functionResponse"})


def _joined_turns(messages: list[JsonObject]) -> list[JsonObject]:
    """Join consecutive messages of the user, and of the model."""
    joined: list[JsonObject] = []
    for message in messages:
        last = joined[-1] if joined else {}
        if last.get("role") != message.get("role") or message.get("role") not in ("user", "assistant"):
            joined.append(message)
            continue
        others = {
            key: _joined_values(last[key], value)
            for key, value in message.items()
            if last.get(key) and key not in ("role", "content")
        }
        joined[-1] = last | message | {"content": [*_parts_of(last), *_parts_of(message)] or None} | others
    return joined


def _joined_values(first: Any, second: Any) -> Any:
    """Join a field of two messages: calls, or texts of reasoning, between which is a blank line."""
    if isinstance(first, list) and isinstance(second, list):
        return [*first, *second]
    return f"{first}\n\n{second}" if isinstance(first, str) and isinstance(second, str) else second or first


def _parts_of(message: JsonObject) -> list[Any]:
    content = message.get("content") or []
    return [{"type": "text", "text": content}] if isinstance(content, str) else content


def _server_tool_choice(choice: Any, rules: DialectRules) -> Any:
    """Return a tool choice in the server's words. Tools that a list of allowed tools does not contain have been left out."""
    if rules.allowed_tools is False and isinstance(choice, dict) and choice.get("type") == "allowed_tools":
        choice = choice["allowed_tools"]["mode"]
    return rules.required_word if choice == "required" and rules.required_word is not None else choice


def drop_unread_fields(body: JsonObject, before: JsonObject, request: ir.Request, spec: FormatSpec, losses: Ledger) -> JsonObject:
    """Return a body of a caller in the same format without the fields that the server does not read. ``before``: the caller's body."""
    rules = spec.dialect
    assert rules is not None
    names = {key: field for field in rules.unread for key in spec.keys_of(field)}
    unread = {key for key in names.keys() & before.keys() if rules.omits(names[key], before[key])}
    if spec.server_requests is not None:
        unread -= spec.server_requests.reasoning_fields - body.keys()  # another field has their value
    result = {key: value for key, value in body.items() if key not in unread} if unread else body
    for field in sorted(unread):
        rule = rule_of_setting(field)
        if before[field] not in (None, [], {}) and not rule.is_neutral(before[field]):
            losses.dropped(request, field, code_of(names[field], rules), severity=rule.severity)
    if rules.counted_logprobs and result.get("logprobs") is False:
        result = {key: value for key, value in result.items() if key != "logprobs"}
    if rules.tiers is not None and result.get("service_tier") not in (None, *rules.tiers):
        losses.dropped(request, "tier", "unsupported_by_server", severity="info")
        result = {key: value for key, value in result.items() if key != "service_tier"}
    if not rules.nulls:
        result = {key: value for key, value in result.items() if value is not None}
    if rules.rejects_in_messages and isinstance(body.get("messages"), list):
        messages = [_without_unread(each, f"/messages/{index}", rules, losses) for index, each in enumerate(body["messages"])]
        if messages != body["messages"]:
            result = result | {"messages": messages}
    result = _with_tools_of_server(result, rules, losses) if rules.rejects_in_tools or rules.tool_types else result
    if rules.item_types is not None and isinstance(result.get("input"), list):
        result = result | {"input": _items_of_server(result["input"], rules.item_types, losses)}
    return result if rules.tool_combination_flag else _without_combination_flag(result, request, spec, losses)


def _without_combination_flag(body: JsonObject, request: ir.Request, spec: FormatSpec, losses: Ledger) -> JsonObject:
    """Return a body of generate_content without the flag for the combination of functions with tools that the server runs."""
    name = spec.key_in(body, "toolConfig")
    config = body.get(name) or {}
    flag = spec.key_in(config, "includeServerSideToolInvocations")
    if flag not in config:
        return body
    if config[flag]:
        losses.dropped(request, f"{name}/{flag}")
    kept = {key: value for key, value in config.items() if key != flag}
    return {key: value for key, value in body.items() if key != name} | ({name: kept} if kept else {})


def _without_unread(message: JsonObject, src: str, rules: DialectRules, losses: Ledger) -> JsonObject:
    """Return a message without the fields that the server rejects in its role."""
    unread = [key for key in message if f"{message.get('role')}.{key}" in rules.rejects_in_messages]
    node = ir.Message("user", [], src)
    for key in unread:
        if message[key] is not None and (key != "refusal" or rules.refusals):  # a refusal has become a text
            losses.dropped(node, key, "rejected_by_server", severity="info" if key == "name" else "lossy")
    return {key: value for key, value in message.items() if key not in unread} if unread else message


def _items_of_server(items: list[JsonObject], types: frozenset[str], losses: Ledger) -> list[JsonObject]:
    """Return the items of Responses that the server reads. One without a type is a message, or a reference if it has no role."""
    kept = []
    for index, item in enumerate(items):
        kind = item.get("type") or ("message" if "role" in item else "item_reference")
        if kind in types:
            kept.append(item)
        else:
            losses.dropped(ir.Opaque(format="responses", raw=item, src=f"/input/{index}"), code="unsupported_by_server")
    return items if len(kept) == len(items) else kept


def _with_tools_of_server(body: JsonObject, rules: DialectRules, losses: Ledger) -> JsonObject:
    """Return a body of Responses whose tools have the types of the server, without the fields that it rejects."""
    tools = [_adapt_tool(tool, f"/tools/{index}", rules, losses) for index, tool in enumerate(body.get("tools") or ())]
    choice = body.get("tool_choice")
    changed: JsonObject = {"tools": tools} if tools and tools != body["tools"] else {}
    if isinstance(choice, dict) and choice.get("type") in rules.tool_types:
        changed["tool_choice"] = choice | {"type": rules.tool_types[choice["type"]]}
    return body | changed if changed else body


def _adapt_tool(tool: JsonObject, src: str, rules: DialectRules, losses: Ledger) -> JsonObject:
    unread = tool.keys() & rules.rejects_in_tools
    if unread:
        losses.extras(ir.HostedTool(family="other", kind="", src=src, extra={key: tool[key] for key in unread}))
    tool = {key: value for key, value in tool.items() if key not in unread} if unread else tool
    kind = rules.tool_types.get(tool.get("type", ""))
    return tool if kind is None else tool | {"type": kind}
