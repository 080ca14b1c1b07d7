"""Requests of Anthropic Messages.

``repair_history`` is here alone, because the server demands the thinking of earlier turns (anomalyco/opencode#3077).
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from formatbridge import ir
from formatbridge.formats.messages.content import SYSTEM_BLOCK_KINDS, decode_content, encode_part, simplify_content, supported_ttl
from formatbridge.formats.messages.conversation import TurnEncoder, decode_message, encode_instruction
from formatbridge.formats.messages.holds import drop_unheld
from formatbridge.formats.messages.hosted_tools import decode_server
from formatbridge.formats.messages.reasoning import decode_reasoning_config, encode_reasoning_config, excludes_settings, has_budgets
from formatbridge.formats.messages.schema import decode_format, encode_format, encode_json_mode
from formatbridge.formats.messages.settings import SETTINGS, decode_nested_settings, encode_limit, encode_settings
from formatbridge.formats.messages.tools import decode_tool, decode_tool_choice, encode_tool_choice, encode_tools, server_tools_of
from formatbridge.formats.shared.settings import (
    add_reasoning_off,
    decode_flat_settings,
    forced_call_excludes_reasoning,
    is_reasoning_off,
)
from formatbridge.formats.shared.tool_selection import adds_tools, forces_call
from formatbridge.formats.shared.tools import drop_choice
from formatbridge.formats.shared.turns import leading_instructions, note_no_turns
from formatbridge.formats.shared.unmodelled_fields import merge_extra, read_extra
from formatbridge.jsontext.types import JsonObject
from formatbridge.options import Options
from formatbridge.report.ledger import Ledger, null_ledger, resolve

_MAX_CACHE_MARKS = 4
"""The number of cache marks in a request that the server accepts.

Source: its message "A maximum of 4 blocks with cache_control may be provided" (tghamm/Anthropic.SDK#50).
"""
_LONG, _SHORT = "1h", "5m"
"""The cache durations of the server. The shorter one is the default.

A mark with the longer one "must not come after" one with the shorter one, in the order of tools, system and messages
(vellum-ai/vellum-assistant#22191, cnighswonger/claude-code-cache-fix#44).
"""

_COMMON = frozenset({"model", "messages", "stream", "system"})
"""Keys of most requests besides the flat settings."""
_KNOWN = SETTINGS.canonical.keys() | {
    "model", "messages", "stream", "system", "tools", "tool_choice", "mcp_servers", "thinking", "output_config", "output_format",
    "metadata", "service_tier", "speed", "context_management",
}  # fmt: skip
_OUTPUT_CONFIG = frozenset({"effort", "format"})
_OFF = {"type": "disabled"}


_MarkedPart = tuple[Any, ir.Role, int]
"""A part with a cache mark, the role of its message, and the index of that."""


def decode_request(body: JsonObject, *, model: str | None, stream: bool | None) -> ir.Request:
    """Decode the body of a request."""
    messages = _decode_messages(body)
    stream = bool(body.get("stream") if stream is None else stream)
    # "If the final message uses the `assistant` role, the response content will continue immediately from the content in that message"
    # (official SDK, ``messages``).
    request = ir.Request("messages", model or body.get("model"), stream, messages, continues_last_turn=True)
    if not decode_flat_settings(body, SETTINGS, request, _COMMON):
        _decode_nested_options(body, request)
    settings = request.settings
    for name in ("top_p", "top_k"):
        if settings.get(name) == -1:  # a setting without a value (fixture sampling_unset_only)
            del settings[name]  # type: ignore[misc]  # one of the two names
    return request


def encode_request(request: ir.Request, losses: Ledger, options: Options) -> JsonObject:
    """Encode the body of a request."""
    drop_unheld(request, losses)
    marked = _marked_nodes(request)
    if marked is not None:
        request = _with_allowed_cache_marks(request, *marked, options, losses)
    # ``model`` is required. Bedrock and Vertex have it in the URL, so a body from there has none (recorded traffic).
    model = request.model if request.model is not None else losses.added("/model", "")
    conversation = _encode_conversation(request, losses, options)
    settings, reasoning = request.settings, request.reasoning
    has_tools = bool(request.tools or request.tool_choice or "parallel_tool_calls" in settings)
    tools, is_forced = _encode_tools(request, conversation, losses) if has_tools else ({}, False)
    # "Thinking may not be enabled when tool_choice forces tool use" (mastra-ai/mastra#7507). The forced call stays: it decides the answer.
    budget = excluded_by = None
    if reasoning or is_forced:
        budget, excluded_by = _budget_of(reasoning, conversation["messages"], losses, is_forced=is_forced)
    limit = encode_limit(request, budget, losses, options)
    body: JsonObject = {"model": model, "max_tokens": limit, **conversation, **tools}
    if reasoning or request.output_format:
        body |= _encode_output(request, limit, excluded_by, losses)
    if is_forced and forced_call_excludes_reasoning(losses) and "thinking" not in body:
        body |= add_reasoning_off({"thinking": dict(_OFF)}, losses)
    if settings:
        has_thinking = reasoning is not None and body.get("thinking", _OFF) != _OFF
        encode_settings(request, body, has_thinking and excludes_settings(losses), losses, options)
    if request.stream:
        body["stream"] = True
    return body


def _budget_of(
    reasoning: ir.ReasoningConfig | None, messages: list[JsonObject], losses: Ledger, *, is_forced: bool
) -> tuple[int | None, str | None]:
    """Return the budget for reasoning, and the code of what the server rejects with reasoning: a forced call, or these messages."""
    if is_forced and (excludes_settings(losses) or forced_call_excludes_reasoning(losses)):
        return None, "with_forced_call"
    if reasoning is None or reasoning.budget is None or is_reasoning_off(reasoning):
        return None, None
    # With a budget, the last turn with calls "must start with a thinking block" (anomalyco/opencode#3077). Other formats have none to give.
    lacks_thinking = has_budgets(losses) and _lacks_thinking(messages)
    return (None, "lacks_reasoning") if lacks_thinking else (reasoning.budget, None)


def _decode_messages(body: JsonObject) -> list[ir.Message]:
    messages: list[ir.Message] = []
    system = body.get("system")
    if system:
        messages.append(ir.Message("system", decode_content(system, "/system", SYSTEM_BLOCK_KINDS), "/system"))
    for index, raw in enumerate(body["messages"]):
        messages.append(decode_message(raw, f"/messages/{index}"))
    return messages


def _encode_conversation(request: ir.Request, losses: Ledger, options: Options) -> JsonObject:
    """Encode the system prompt and the turns."""
    messages = request.messages
    leading = leading_instructions(messages)
    system = _encode_system_prompt(messages[:leading], losses) if leading else []
    # Only recent models accept system messages among the turns (BerriAI/litellm#33807). For others, their texts become part of ``system``.
    keeps_system_messages = options.mid_system == "native"
    server_tools = server_tools_of(request.tools, losses) if request.has_added_tools else set()
    has_thinking = request.reasoning is not None and not is_reasoning_off(request.reasoning)
    encoder = TurnEncoder(losses, keeps_system_messages, server_tools, has_thinking, continues_answers=request.format == "messages")
    turns = encoder.encode(messages[leading:] if leading else messages, has_calls=request.has_calls)
    system += encoder.moved_to_system
    if request.output_format:
        system = encode_json_mode(request.output_format, system, losses, options)
    if not turns:
        note_no_turns(request, losses)
    conversation: JsonObject = {"system": simplify_content(system), "messages": turns} if system else {"messages": turns}
    return conversation | {"mcp_servers": encoder.mcp_servers} if encoder.mcp_servers else conversation


def _added_tools(turns: list[JsonObject]) -> list[JsonObject]:
    """Return the definitions of the tools that mid-conversation system messages add."""
    contents = [turn.get("content") for turn in turns if turn["role"] == "system"]
    blocks = [block for content in contents if isinstance(content, list) for block in content]
    return [
        block["tool"]["definition"] for block in blocks if block.get("type") == "tool_addition" and "definition" in block["tool"]
    ]


def _lacks_thinking(turns: list[JsonObject]) -> bool:
    """Return whether the current reply lacks the thinking at its start that the server demands with a thinking budget.

    The current reply is that to the last user text. It includes tool calls and their results. Source: anomalyco/opencode#3077.
    """
    has_reply = False
    for turn in reversed(turns):
        content = turn.get("content") or ()
        kinds = [block["type"] for block in content] if isinstance(content, list) else ["text"]
        if turn["role"] == "assistant":
            if kinds[:1] in (["thinking"], ["redacted_thinking"]):
                return False
            has_reply = True
        elif turn["role"] == "user" and "tool_result" not in kinds:
            break
    return has_reply


def _decode_servers(body: JsonObject, request: ir.Request) -> JsonObject | None:
    """Replace each MCP toolset of the request and of its messages by its MCP server; return the unread fields."""
    unread: JsonObject = {}
    unused: dict[str, tuple[int, JsonObject]] = {}
    for index, raw in enumerate(body["mcp_servers"]):
        if raw.get("type") == "url" and raw["name"] not in unused:
            unused[raw["name"]] = (index, raw)
        else:
            unread[f"mcp_servers/{index}"] = raw

    def with_server(tool: ir.Tool) -> ir.Tool:
        if not isinstance(tool, ir.HostedTool) or tool.kind != "mcp_toolset":
            return tool
        toolset = resolve(body, tool.src)[1]
        entry = unused.pop(toolset.get("mcp_server_name"), None)
        return tool if entry is None else decode_server(entry[1], entry[0], toolset, tool.src, unread)

    request.tools = list(map(with_server, request.tools))
    for message in request.messages:
        if message.tools:
            message.tools = list(map(with_server, message.tools))
    request.tools += [decode_server(raw, index, {}, "", unread) for index, raw in unused.values()]
    return unread or None


def _decode_nested_options(body: JsonObject, request: ir.Request) -> None:
    """Decode the fields that are objects or lists."""
    tools, choice, config = body.get("tools"), body.get("tool_choice"), body.get("output_config")
    unread_servers = unread_reasoning = unread_format = None
    if tools:
        request.tools = [decode_tool(raw, f"/tools/{index}") for index, raw in enumerate(tools)]
    if body.get("mcp_servers"):
        unread_servers = _decode_servers(body, request)
    unread_settings = decode_nested_settings(body, request.settings)  # type: ignore[arg-type]  # built key by key
    if choice:
        request.tool_choice = decode_tool_choice(choice, request.tools, "/tool_choice")
    if config or "thinking" in body:
        request.reasoning, unread_reasoning = decode_reasoning_config(body)
    if config or "output_format" in body:
        request.output_format, unread_format = decode_format(body)
    unread_config = read_extra(config, _OUTPUT_CONFIG, "output_config/") if config else None
    request.extra = merge_extra(
        read_extra(body, _KNOWN), unread_config, unread_servers, unread_settings, unread_reasoning, unread_format
    )


def repair_history(body: JsonObject, losses: Ledger) -> JsonObject:
    """Return the request without a thinking budget, if its history lost the thinking that the server demands with one.

    Tokens of other issuers are removed from the history before. Source of the demand: anomalyco/opencode#3077.
    """
    thinking = body.get("thinking") or {}
    if thinking.get("type") == "enabled" and _lacks_thinking(body["messages"]):
        losses.dropped_at("/thinking", "lacks_reasoning")
        return {key: value for key, value in body.items() if key != "thinking"}
    return body


def _encode_system_prompt(messages: list[ir.Message], losses: Ledger) -> list[JsonObject]:
    """Encode the instructions before the first turn."""
    blocks: list[JsonObject] = []
    for message in messages:
        drop_unheld(message, losses)
        blocks += encode_instruction(message.parts, losses)
    return blocks


def _encode_tools(request: ir.Request, conversation: JsonObject, losses: Ledger) -> tuple[JsonObject, bool]:
    """Encode the tools and the tool choice, which the server rejects without tools. Also return whether the model must call a tool.

    Tools that system messages add count too. Source: microsoft/autogen, ``_anthropic_client.py``.
    """
    body = encode_tools(request.tools, losses)
    tools: list[JsonObject] = body.get("tools", [])
    if adds_tools(request):
        tools = tools + _added_tools(conversation["messages"])
    if "mcp_servers" in body:
        body["mcp_servers"] += conversation.get("mcp_servers", [])
    if not tools:
        drop_choice(request, losses)
        return body, False
    choice = encode_tool_choice(request.tool_choice, tools, losses) if request.tool_choice else None
    is_forced = choice is not None and forces_call(request)
    if request.settings.get("parallel_tool_calls") is False:
        choice = _without_parallel_calls(choice, request, losses)
    return body | {"tool_choice": choice} if choice else body, is_forced


def _without_parallel_calls(choice: JsonObject | None, request: ir.Request, losses: Ledger) -> JsonObject:
    """Return a tool choice that also disables parallel tool calls."""
    # ``none`` has no such field (official SDK, ``ToolChoiceNoneParam``), and needs none.
    if choice and choice["type"] == "none":
        losses.dropped(request, "parallel_tool_calls", "excluded", severity="info")
        return choice
    return (choice or {"type": "auto"}) | {"disable_parallel_tool_use": True}


def _with_allowed_cache_marks(
    request: ir.Request, parts: list[_MarkedPart], tools: list[Any], options: Options, losses: Ledger
) -> ir.Request:
    """Return the request with only as many cache marks as the server accepts, and with their durations in the order that it accepts.

    ``parts`` and ``tools``: those with a cache mark.
    """
    # The marks of tools count and stay. The automatic mark takes one of the places, too.
    room = max(0, _MAX_CACHE_MARKS - len(tools) - bool(request.settings.get("automatic_cache")))
    is_mixed = len({_is_long(node) for node in (*tools, *(part for part, _, _ in parts))}) > 1
    if len(parts) <= room and not is_mixed:
        return request
    if is_mixed:
        places = _places_of(request.messages, options.mid_system == "native")
        parts.sort(key=lambda marked: places[marked[2]])
    marked = [part for part, role, _ in parts if _is_encoded(part, role)]
    # The first marks stay: they cover the beginning of the prompt, which later requests repeat.
    changes: dict[int, ir.CacheMark | None] = dict.fromkeys(map(id, marked[room:]))
    for part in marked[room:]:
        losses.dropped(part.cache, code="too_many", severity="info")
    has_short = False
    for node in (*tools, *marked[:room]):
        if not _is_long(node):
            has_short = True
        elif has_short:
            losses.changed(node.cache, "ttl", _SHORT, "excluded", severity="info")
            changes[id(node)] = replace(node.cache, ttl=_SHORT)
    return _with_cache_marks(request, changes) if changes else request


def _marked_nodes(request: ir.Request) -> tuple[list[_MarkedPart], list[Any]] | None:
    """Return the parts and the tools with a cache mark; None if there are none. This runs for every request, so it must be fast."""
    marked: list[_MarkedPart] = []
    for index, message in enumerate(request.messages):
        for part in message.parts:
            if type(part) is ir.ToolResult:
                for inner in part.content:
                    if inner.cache is not None:
                        marked.append((inner, "tool", index))
            if part.cache is not None:
                marked.append((part, message.role, index))
    tools: list[Any] = []
    for tool in request.tools:
        if not isinstance(tool, ir.Namespace) and tool.cache is not None:
            tools.append(tool)
    return (marked, tools) if marked or tools else None


def _places_of(messages: list[ir.Message], keeps_system_messages: bool) -> list[int]:
    """Return numbers for the messages that have the order of the target.

    An instruction among the turns is moved as ``TurnEncoder`` moves it: after the next user turn, or to the end of the system prompt.
    """
    places = [0] * len(messages)
    pending: list[int] = []
    leading, is_after_user = leading_instructions(messages), False
    for index, message in enumerate(messages):
        if message.role in ("system", "developer"):
            if keeps_system_messages and index >= leading:
                pending.append(index)
            continue
        if is_after_user and message.role == "assistant":
            for at in pending:
                places[at] = 2 * index
            pending = []
        places[index] = 2 * index + 1
        is_after_user = message.role != "assistant"
    for at in pending:
        places[at] = 2 * len(messages) if is_after_user else 0
    return places


def _is_long(node: Any) -> bool:
    """Return whether a tool or a part is cached for an hour."""
    return supported_ttl(node.cache.ttl) == _LONG


def _is_encoded(part: ir.Part, role: ir.Role) -> bool:
    """Return whether a part of a turn is encoded, and its cache mark with it."""
    # Media of other roles are dropped together with their mark, which then does not count.
    if isinstance(part, ir.Media) and role not in ("user", "tool"):
        return False
    return not isinstance(part, ir.Text | ir.Media) or encode_part(part, null_ledger()) is not None


def _with_cache_marks(request: ir.Request, changes: dict[int, ir.CacheMark | None]) -> ir.Request:
    """Return the request with other cache marks. ``changes``: the new mark of a tool or a part, by its ``id()``."""
    tools = [
        replace(tool, cache=changes[id(tool)]) if id(tool) in changes and not isinstance(tool, ir.Namespace) else tool
        for tool in request.tools
    ]
    messages = [replace(message, parts=[_with_cache_mark(part, changes) for part in message.parts]) for message in request.messages]
    return replace(request, tools=tools, messages=messages)


def _with_cache_mark(part: ir.Part, changes: dict[int, ir.CacheMark | None]) -> ir.Part:
    key = id(part)
    if isinstance(part, ir.ToolResult):
        part = replace(part, content=[_with_cache_mark(inner, changes) for inner in part.content])
    if key in changes and isinstance(part, ir.Text | ir.Media | ir.ToolCall | ir.ToolResult):
        return replace(part, cache=changes[key])
    return part


def _encode_output(request: ir.Request, limit: int, excluded_by: str | None, losses: Ledger) -> JsonObject:
    """Encode ``thinking`` and ``output_config``, which holds the effort and the output format."""
    body = encode_reasoning_config(request.reasoning, limit, excluded_by, losses) if request.reasoning else {}
    format = encode_format(request.output_format, losses) if request.output_format else None
    if format:
        body["output_config"] = body.get("output_config", {}) | format
    return body
