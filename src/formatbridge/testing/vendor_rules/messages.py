"""What the server of messages rejects."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from formatbridge.jsontext.pointers import unescape, value_at
from formatbridge.jsontext.types import JsonObject
from formatbridge.testing.script import Failure
from formatbridge.testing.vendor_rules.rule import Facts, Rule

_PROPERTY_NAME = re.compile(r"[a-zA-Z0-9_.-]{1,64}")
_UNIONS = ("oneOf", "allOf", "anyOf")
_WITHOUT_CODE_CALLERS = "claude-haiku-4-5"
"""The beginning of the ids of the model that cannot call tools from code."""
_TOKEN_SLOTS = {"thinking": "signature", "redacted_thinking": "data"}


def _failure(message: str, **details: Any) -> Failure:
    """Return an error with the vendor's error body."""
    error = {"type": "invalid_request_error", "message": message} | ({"details": details} if details else {})
    return Failure(400, message, body={"type": "error", "error": error})


def _check_model(body: JsonObject, _facts: Facts) -> Failure | None:
    if body.get("model"):
        return None
    return _failure("model: String should have at least 1 character" if "model" in body else "model: Field required")


def _check_messages(body: JsonObject, _facts: Facts) -> Failure | None:
    return None if body["messages"] else _failure("messages: at least one message is required")


def _check_token_limit(body: JsonObject, _facts: Facts) -> Failure | None:
    return _failure("max_tokens: Field required") if body.get("max_tokens") is None else None


def _check_schemas(body: JsonObject, _facts: Facts) -> Failure | None:
    """Reject the first tool whose schema has a union at its root."""
    for index, tool in enumerate(body.get("tools") or ()):
        schema = tool.get("input_schema")
        if isinstance(schema, dict) and not schema.keys().isdisjoint(_UNIONS):
            reason = "input_schema does not support oneOf, allOf, or anyOf at the top level"
            return _failure(f"tools.{index}.custom.input_schema: {reason}")
    return None


def _check_property_names(body: JsonObject, _facts: Facts) -> Failure | None:
    """Reject the first tool with an illegal name of a property. The server does not check the objects inside."""
    for index, tool in enumerate(body.get("tools") or ()):
        properties = (tool.get("input_schema") or {}).get("properties")
        if isinstance(properties, dict) and not all(map(_PROPERTY_NAME.fullmatch, properties)):
            reason = f"Property keys should match pattern '^{_PROPERTY_NAME.pattern}$'"
            return _failure(f"tools.{index}.custom.input_schema.properties: {reason}")
    return None


def _check_recursion(body: JsonObject, _facts: Facts) -> Failure | None:
    """Reject the first recursive schema that the server must enforce: of a strict tool, or of the output format."""
    schemas = {
        f"tools.{index}.custom.input_schema": tool.get("input_schema")
        for index, tool in enumerate(body.get("tools") or ())
        if tool.get("strict")
    }
    schemas["output_format.schema"] = ((body.get("output_config") or {}).get("format") or body.get("output_format") or {}).get(
        "schema"
    )
    for path, schema in schemas.items():
        if isinstance(schema, dict) and (name := _recursive_reference(schema, schema, ("#",), set())):
            reason = "Self-referencing or mutually-referencing definitions are not supported."
            return _failure(f"{path}: Circular reference detected in schema definitions: {name} -> {name}. {reason}")
    return None


def _recursive_reference(root: JsonObject, node: Any, followed: tuple[str, ...], harmless: set[str]) -> str | None:
    """Return the name of a reference that leads back to itself, else None.

    ``followed``: the references that lead to this node. ``harmless``: the references that were already followed to their end.
    """
    if isinstance(node, dict) and isinstance(reference := node.get("$ref"), str) and reference not in harmless:
        if reference in followed:
            return reference.rpartition("/")[2]
        steps = reference.split("/")[1:] if reference.startswith("#/") else []
        target = value_at(root, tuple(map(unescape, steps))) if steps else None
        if name := _recursive_reference(root, target, (*followed, reference), harmless):
            return name
        harmless.add(reference)
    for value in node.values() if isinstance(node, dict) else node if isinstance(node, list) else ():
        if name := _recursive_reference(root, value, followed, harmless):
            return name
    return None


def _check_tokens(body: JsonObject, facts: Facts) -> Failure | None:
    """Reject the first reasoning block that this server did not sign."""
    for place, message in enumerate(body["messages"]):
        content = message.get("content")
        for index, block in enumerate(content if isinstance(content, list) else ()):
            slot = _TOKEN_SLOTS.get(block.get("type"))
            if slot is not None and not facts.accepts_token("messages", block.get(slot)):
                return _failure(f"messages.{place}.content.{index}: Invalid `{slot}` in `{block['type']}` block")
    return None


def _check_thread(body: JsonObject, _facts: Facts) -> Failure | None:
    """Reject a request for a thread; the client then sends the whole conversation instead."""
    if body.get("thread") is None:
        return None
    message = "thread: this server does not keep threads, send the full conversation without `thread`"
    return _failure(message, error_code="thread_unsupported_request")


def _check_callers(body: JsonObject, facts: Facts) -> Failure | None:
    """Reject the tools that code may call, if the model cannot call tools from code."""
    if not facts.model.startswith(_WITHOUT_CODE_CALLERS):
        return None
    names = [tool["name"] for tool in body.get("tools") or () if "name" in tool and _may_be_called_by_code(tool)]
    if not names:
        return None
    advice = f"The following tools have `allowed_callers` that require it: {', '.join(names)}"
    return _failure(f"'{facts.model}' does not support programmatic tool calling. {advice}")


def _may_be_called_by_code(tool: JsonObject) -> bool:
    """Return whether code may call a tool. It may call search and fetch by default, since the versions that filter pages."""
    filters = str(tool.get("type")).startswith(("web_search_2026", "web_fetch_2026"))
    return (tool.get("allowed_callers") or ["code" if filters else "direct"]) != ["direct"]


def _check_cache_durations(body: JsonObject, _facts: Facts) -> Failure | None:
    """Reject the first cache mark of an hour that comes after one of five minutes."""
    has_short = False
    for path, mark in _cache_marks(body):
        if mark.get("ttl") != "1h":
            has_short = True
        elif has_short:
            order = "Note that blocks are processed in the following order: `tools`, `system`, `messages`."
            reason = "a ttl='1h' cache_control block must not come after a ttl='5m' cache_control block."
            return _failure(f"{path}.cache_control.ttl: {reason} {order}")
    return None


def _cache_marks(body: JsonObject) -> Iterator[tuple[str, JsonObject]]:
    """Yield the cache marks of a request and the paths of their blocks, in the order of the server."""
    for name in ("tools", "system", "messages"):
        yield from _marks_within(name, body.get(name))


def _marks_within(path: str, node: Any) -> Iterator[tuple[str, JsonObject]]:
    """Yield the cache marks of a block and of the blocks in its content, which come before it."""
    if isinstance(node, list):
        for index, item in enumerate(node):
            yield from _marks_within(f"{path}.{index}", item)
    elif isinstance(node, dict):
        yield from _marks_within(f"{path}.content", node.get("content"))
        if isinstance(node.get("cache_control"), dict):
            yield path, node["cache_control"]


def _check_deferred(body: JsonObject, _facts: Facts) -> Failure | None:
    """Reject tools that are all deferred."""
    tools = body.get("tools") or []
    if not tools or not all(tool.get("defer_loading") for tool in tools):
        return None
    return _failure("At least one tool must have defer_loading=false. All tools cannot be deferred.")


def _check_calls(body: JsonObject, _facts: Facts) -> Failure | None:
    """Reject the first call without a result in the next message."""
    messages = body["messages"]
    for index, message in enumerate(messages):
        results = _ids_in(messages[index + 1], "tool_result", "tool_use_id") if index + 1 < len(messages) else {}
        unanswered = [id for id in _ids_in(message, "tool_use", "id") if id not in results]
        if unanswered:
            required = "Each `tool_use` block must have a corresponding `tool_result` block in the next message."
            reason = f"`tool_use` ids were found without `tool_result` blocks immediately after: {', '.join(unanswered)}"
            return _failure(f"messages.{index}: {reason}. {required}")
    return None


def _check_results(body: JsonObject, _facts: Facts) -> Failure | None:
    """Reject the first result without a call in the message before."""
    messages = body["messages"]
    for index, message in enumerate(messages):
        calls = _ids_in(messages[index - 1], "tool_use", "id") if index else {}
        for id, at in _ids_in(message, "tool_result", "tool_use_id").items():
            if id not in calls:
                required = "Each `tool_result` block must have a corresponding `tool_use` block in the previous message."
                reason = f"unexpected `tool_use_id` found in `tool_result` blocks: {id}"
                return _failure(f"messages.{index}.content.{at}: {reason}. {required}")
    return None


def _ids_in(message: JsonObject, kind: str, key: str) -> dict[str, int]:
    """Return the ids in the blocks of one kind, and the indexes of these blocks."""
    content = message.get("content")
    blocks = content if isinstance(content, list) else []
    return {block[key]: at for at, block in enumerate(blocks) if block.get("type") == kind and isinstance(block.get(key), str)}


RULES = (
    Rule("no_model", "`model` is missing or empty", "docs, Create a Message", _check_model),
    Rule("no_messages", "`messages` is empty", "Helicone/helicone#5257, langgenius/dify#1893", _check_messages),
    Rule("no_token_limit", "`max_tokens` is missing",
         "tickernelz/opencode-mem#50, testomatio/app#1194, microsoft/foundry-dev-tools#385", _check_token_limit),
    Rule("unanswered_call", "a `tool_use` block has no `tool_result` in the next message",
         "anthropics/claude-code#5060, Kilo-Org/kilocode#5163, langchain-ai/langgraph#5109", _check_calls),
    Rule("orphan_result", "a `tool_result` has no `tool_use` block in the message before",
         "decocms/studio#1803, router-for-me/CLIProxyAPI#497", _check_results),
    Rule("union_at_root", "the root of an `input_schema` has `oneOf`, `anyOf` or `allOf`",
         "anomalyco/opencode#46628, langchain-ai/langchain#39271, anthropics/claude-code#40075", _check_schemas),
    Rule("property_name", "a property of an `input_schema` has an illegal name",
         "ComposioHQ/composio#3500, decocms/studio#6874, anthropics/claude-code#79418", _check_property_names),
    Rule("recursive_schema", "the schema of a `strict` tool or of the output format refers to itself",
         "egonSchiele/agency-lang#487, experientiallabs/experiential#804", _check_recursion),
    Rule("unknown_signature", "the `signature` of a thinking block, or the `data` of a redacted one, is not this server's",
         "anthropics/claude-code#10627 and #56708, anthropics/anthropic-sdk-python#1598", _check_tokens),
    Rule("thread", "`thread` asks for a conversation that the server keeps (`thread_unsupported_request`)",
         "anthropic SDK, thread_unsupported_request_error.py", _check_thread),
    Rule("all_deferred", "all tools have `defer_loading`", "nearai/ironclaw#7274", _check_deferred),
    Rule("cache_durations", "a `cache_control` of 1h comes after one of 5m, in the order of `tools`, `system` and `messages`",
         "vellum-ai/vellum-assistant#22191, cnighswonger/claude-code-cache-fix#44, headroomlabs-ai/headroom#2939",
         _check_cache_durations),
    Rule("code_callers", "code may call a tool, by `allowed_callers` or by default, and the model is Claude Haiku 4.5",
         "mangowhoiscloud/geode#632", _check_callers),
)  # fmt: skip
