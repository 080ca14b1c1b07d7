"""Requests of messages."""

from __future__ import annotations

from dataclasses import replace

from formatbridge import ir
from formatbridge.formats.messages.content import INSTRUCTION_KINDS, as_blocks, collapse, decode_content, encode_part
from formatbridge.formats.messages.conversation import (
    TurnEncoder,
    decode_message,
    encode_instruction,
    lacks_thinking,
    sole_text,
    tools_in,
)
from formatbridge.formats.messages.holds import drop_unheld
from formatbridge.formats.messages.hosted_tools import decode_servers
from formatbridge.formats.messages.reasoning import decode_reasoning_config, encode_reasoning_config, tokens_of, turns_off
from formatbridge.formats.messages.schema import decode_format, encode_format, encode_json_mode
from formatbridge.formats.messages.settings import (
    SETTINGS,
    decode_shaped_settings,
    encode_limit,
    encode_settings,
)
from formatbridge.formats.messages.tools import (
    decode_tool,
    decode_tool_choice,
    encode_tool_choice,
    encode_tools,
    servers_of,
)
from formatbridge.formats.shared.settings import decode_flat_settings
from formatbridge.formats.shared.tool_selection import brings_tools
from formatbridge.formats.shared.tools import drop_choice
from formatbridge.formats.shared.turns import leading_instructions, note_no_turns
from formatbridge.formats.shared.unmodelled_fields import joined, rest
from formatbridge.jsontext.types import JsonObject
from formatbridge.options import Options
from formatbridge.report.ledger import Ledger, null_ledger

_MOST_MARKS = 4

_BESIDE = frozenset({"model", "messages", "stream", "system"})
_KNOWN = SETTINGS.canonical.keys() | {
    "model", "messages", "stream", "system", "tools", "tool_choice", "mcp_servers", "thinking", "output_config", "output_format",
    "metadata", "service_tier", "speed", "context_management",
}  # fmt: skip
_OUTPUT_CONFIG = frozenset({"effort", "format"})
_OFF = {"type": "disabled"}


def decode_request(body: JsonObject, *, model: str | None, stream: bool | None) -> ir.Request:
    """Read a request."""
    messages = _decode_messages(body)
    stream = bool(body.get("stream") if stream is None else stream)
    request = ir.Request("messages", model or body.get("model"), stream, messages)
    if not decode_flat_settings(body, SETTINGS, request, _BESIDE):
        _decode_shaped_options(body, request)
    settings = request.settings
    if settings.get("top_p") == -1:  # which some clients send for what is not set
        del settings["top_p"]
    if settings.get("top_k") == -1:
        del settings["top_k"]
    return request


def _decode_messages(body: JsonObject) -> list[ir.Message]:
    messages: list[ir.Message] = []
    system = body.get("system")
    if system:
        words: list[ir.Part] = (
            [ir.Text(system, "/system")] if type(system) is str else decode_content(system, "/system", INSTRUCTION_KINDS)
        )
        messages.append(ir.Message("system", words, "/system"))
    for index, raw in enumerate(body["messages"]):
        content, role = raw.get("content"), raw["role"]
        src = f"/messages/{index}"
        if len(raw) == 2 and type(content) is str and role != "system":  # text and nothing else
            messages.append(ir.Message(role, [ir.Text(content, f"{src}/content")], src))
        else:
            messages.append(decode_message(raw, src))
    return messages


def _decode_shaped_options(body: JsonObject, request: ir.Request) -> None:
    """Read what is more than a name and a value."""
    tools, choice, config = body.get("tools"), body.get("tool_choice"), body.get("output_config")
    unpaired = unread_reasoning = unread_format = None
    if tools:
        request.tools = [decode_tool(raw, f"/tools/{index}") for index, raw in enumerate(tools)]
    if body.get("mcp_servers"):
        unpaired = decode_servers(body, request)
    unread_settings = decode_shaped_settings(body, request.settings)  # type: ignore[arg-type]  # built key by key
    if choice:
        request.tool_choice = decode_tool_choice(choice, request.tools, "/tool_choice")
    if config or "thinking" in body:
        request.reasoning, unread_reasoning = decode_reasoning_config(body)
    if config or "output_format" in body:
        request.output_format, unread_format = decode_format(body)
    unread_config = rest(config, _OUTPUT_CONFIG, "output_config/") if config else None
    request.extra = joined(rest(body, _KNOWN), unread_config, unpaired, unread_settings, unread_reasoning, unread_format)


def encode_request(request: ir.Request, losses: Ledger, options: Options) -> JsonObject:
    """Write a request."""
    drop_unheld(request, losses)
    model = request.model if request.model is not None else losses.added("/model", "")
    conversation = _encode_conversation(request, losses, options)
    settings, reasoning = request.settings, request.reasoning
    has_tools = bool(request.tools or request.tool_choice or "parallel_tool_calls" in settings)
    tools = _encode_tools(request, conversation, losses) if has_tools else None
    barred = tools is not None and tools.get("tool_choice", {}).get("type") in ("any", "tool")
    budget = reasoning.budget if reasoning and not turns_off(reasoning) and not barred else None
    if budget is not None and lacks_thinking(conversation["messages"]):
        barred, budget = True, None
    limit = encode_limit(request, tokens_of(budget), losses, options)
    body: JsonObject = {"model": model, "max_tokens": limit, **conversation}
    if tools:
        body |= tools
    if reasoning or request.output_format:
        body |= _encode_output(request, limit, barred, losses)
    if settings:
        thinks = reasoning is not None and body.get("thinking", _OFF) != _OFF
        encode_settings(request, body, thinks, losses, options)
    if request.stream:
        body["stream"] = True
    return body


def repair_history(body: JsonObject, losses: Ledger) -> JsonObject:
    """Return a request whose history lost reasoning, as the server accepts it: without thinking, where earlier thinking is missing."""
    thinking = body.get("thinking") or {}
    if thinking.get("type") == "enabled" and lacks_thinking(body["messages"]):
        losses.dropped(ir.ReasoningConfig(src="/thinking"), code="excluded")
        return {key: value for key, value in body.items() if key != "thinking"}
    return body


def _encode_conversation(request: ir.Request, losses: Ledger, options: Options) -> JsonObject:
    """Write the system prompt and the turns behind it."""
    messages = _with_few_marks(request, losses)
    leading = leading_instructions(messages)
    system = _encode_leading(messages[:leading], losses) if leading else []
    turns = TurnEncoder(losses, options.mid_system == "native", servers_of(request.tools) if brings_tools(request) else set())
    made = turns.encode(messages[leading:] if leading else messages)
    if turns.hoisted:
        system = [*as_blocks(system), *turns.hoisted]
    system = collapse(system)
    if request.output_format:
        system = encode_json_mode(request.output_format, system, losses, options)
    if not made:
        note_no_turns(request, losses)
    conversation: JsonObject = {"system": system, "messages": made} if system else {"messages": made}
    return conversation | {"mcp_servers": turns.servers} if turns.servers else conversation


def _encode_leading(messages: list[ir.Message], losses: Ledger) -> str | list[JsonObject]:
    """Write the instructions that stand before all turns."""
    blocks: list[JsonObject] = []
    for message in messages:
        drop_unheld(message, losses)
        text = sole_text(message.parts)
        if text is not None and len(messages) == 1:
            return text
        blocks += encode_instruction(message.parts, losses)
    return blocks


def _encode_tools(request: ir.Request, conversation: JsonObject, losses: Ledger) -> JsonObject:
    """Write the tools and the choice among them, which the server takes beside tools only; those that turns bring count."""
    body = encode_tools(request.tools, losses)
    written: list[JsonObject] = body.get("tools", [])
    if brings_tools(request):
        written = written + tools_in(conversation["messages"])
    if "mcp_servers" in body:
        body["mcp_servers"] += conversation.get("mcp_servers", [])
    if not written:
        drop_choice(request, losses)
        return body
    choice = _encode_choice(request, written, losses)
    return body | {"tool_choice": choice} if choice else body


def _encode_choice(request: ir.Request, tools: list[JsonObject], losses: Ledger) -> JsonObject | None:
    """Write the choice among tools, which also says whether calls come one at a time."""
    choice = encode_tool_choice(request.tool_choice, tools, losses) if request.tool_choice else None
    parallel = request.settings.get("parallel_tool_calls")
    if parallel is not False:
        return choice
    if choice and choice["type"] == "none":
        losses.dropped(request, "parallel_tool_calls", "excluded", severity="info")
        return choice
    return (choice or {"type": "auto"}) | {"disable_parallel_tool_use": True}


def _with_few_marks(request: ir.Request, losses: Ledger) -> list[ir.Message]:
    """Return the messages without the cache marks of turns and of results beyond the fourth, which the server refuses."""
    marked: list[tuple[ir.Part, ir.Role]] = []
    for message in request.messages:
        for part in message.parts:
            if type(part) is ir.ToolResult:
                for inner in part.content:
                    if inner.cache is not None:
                        marked.append((inner, "tool"))
            if part.cache is not None:
                marked.append((part, message.role))
    if not marked:
        return request.messages
    room = _MOST_MARKS - sum(tool.cache is not None for tool in request.tools if not isinstance(tool, ir.Namespace))
    room -= bool(request.settings.get("automatic_cache"))
    excess = [part for part, role in marked if _is_written(part, role)][max(0, room) :] if len(marked) > room else []
    if not excess:
        return request.messages
    for part in excess:
        losses.dropped(part.cache, code="too_many", severity="info")
    gone = {id(part) for part in excess}
    return [replace(message, parts=[_without_mark(part, gone) for part in message.parts]) for message in request.messages]


def _is_written(part: ir.Part, role: ir.Role) -> bool:
    """Say whether a part of a turn will be there, and so its mark."""
    if isinstance(part, ir.Media) and role not in ("user", "tool"):
        return False
    return not isinstance(part, ir.Text | ir.Media) or encode_part(part, null_ledger()) is not None


def _without_mark(part: ir.Part, gone: set[int]) -> ir.Part:
    is_gone = id(part) in gone
    if isinstance(part, ir.ToolResult):
        part = replace(part, content=[_without_mark(inner, gone) for inner in part.content])
    if is_gone and isinstance(part, ir.Text | ir.Media | ir.ToolCall | ir.ToolResult):
        return replace(part, cache=None)
    return part


# How much to think, and the shape of the answer.


def _encode_output(request: ir.Request, limit: int, barred: bool, losses: Ledger) -> JsonObject:
    """Write ``thinking`` and ``output_config``, where an effort stands beside the shape of the answer."""
    body = encode_reasoning_config(request.reasoning, limit, barred, losses) if request.reasoning else {}
    format = encode_format(request.output_format, losses) if request.output_format else None
    if format:
        body["output_config"] = body.get("output_config", {}) | format
    return body
