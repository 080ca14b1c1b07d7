"""Tool definitions and tool choice of Chat Completions."""

from __future__ import annotations

from dataclasses import replace
from typing import Literal, assert_never

from formatbridge import ir
from formatbridge.dialect import MOST_TOOLS_OF_OPENAI, DialectRules
from formatbridge.formats.chat_completions.content import encode_cache_mark_of_messages
from formatbridge.formats.chat_completions.holds import drop_unheld
from formatbridge.formats.chat_completions.hosted_tools import SEARCH_TOOL, decode_search_tool, encode_hosted_tool
from formatbridge.formats.shared.parts import decode_cache_control
from formatbridge.formats.shared.schemas import encode_strict
from formatbridge.formats.shared.tool_selection import note_excess, server_tool_name
from formatbridge.formats.shared.tools import encode_parameters
from formatbridge.formats.shared.unmodelled_fields import merge_extra, read_extra
from formatbridge.jsontext.pointers import unescape
from formatbridge.jsontext.types import JsonObject
from formatbridge.report.ledger import WHOLE_NODE, Ledger

_TOOL = frozenset({"type", "function", "cache_control"})
_FUNCTION = frozenset({"name", "description", "parameters", "strict"})
_CUSTOM = frozenset({"name", "description", "format"})
_NAME = frozenset({"name"})


def decode_tool(raw: JsonObject, src: str) -> ir.Tool:
    """Decode a tool. A tool of an unknown type is a hosted tool."""
    kind = raw.get("type")
    function = raw.get("function")
    if function is not None and kind in ("function", None):
        tool: ir.FunctionTool | ir.CustomTool = decode_function(function, src, "function/", read_extra(raw, _TOOL))
    elif kind == "custom":
        tool = _decode_custom(raw["custom"], src, read_extra(raw, frozenset({"type", "custom", "cache_control"})))
    elif kind == SEARCH_TOOL:
        return decode_search_tool(raw, src)
    else:  # only the server knows what a tool of another type does, so it is reported as a tool of that server
        return ir.HostedTool(family="other", kind=str(kind), src=src)
    tool.cache = decode_cache_control(raw, src)
    return tool


def encode_tools(tools: list[ir.Tool], losses: Ledger) -> JsonObject:
    """Encode the tools of a request as ``tools`` and ``web_search_options``, without empty ones."""
    encoded, search = [], JsonObject()
    for tool in tools:
        match tool:
            case ir.FunctionTool():
                encoded.append(encode_function(tool, losses))
            case ir.CustomTool():
                encoded.append(_encode_custom(tool, losses))
            case ir.HostedTool(family="web_search") if filtering := _encode_filtering_tool(tool, losses):
                encoded.append(filtering)
            case ir.HostedTool(family="web_search") if search:
                losses.dropped(tool, code="too_many")
            case ir.HostedTool(family="web_search"):
                search = {"web_search_options": encode_hosted_tool(tool, losses), **_encode_domains(tool, losses)}
            case ir.HostedTool() | ir.McpServer() | ir.Namespace():
                _note_dropped(tool, losses)
            case _:
                assert_never(tool)
    if len(encoded) > MOST_TOOLS_OF_OPENAI:
        note_excess(tools, MOST_TOOLS_OF_OPENAI, losses)
    return ({"tools": encoded} if encoded else {}) | search


def _note_dropped(tool: ir.HostedTool | ir.McpServer | ir.Namespace, losses: Ledger) -> None:
    """Note a tool that the format does not have."""
    if isinstance(tool, ir.McpServer) and tool.allowed_tools == []:  # none of its tools may be used
        losses.dropped(tool, code="not_allowed")
    elif isinstance(tool, ir.Namespace):
        losses.dropped(tool, severity="impossible")
    else:
        losses.dropped(tool, code="server_tool")


def _encode_filtering_tool(tool: ir.HostedTool, losses: Ledger) -> JsonObject | None:
    """Encode a web search in some domains, or a limited number of times, as a tool. None: it is another search, or the server has none."""
    type = losses.dialect.filtering_tool if losses.dialect is not None else None
    if type is None or not (tool.allowed_domains or tool.blocked_domains or tool.max_uses or tool.kind == type):
        return None
    # In the format of its server, the fields that only this server has stay.
    inner, outer = _unmodelled_fields(tool) if tool.kind == type else ({}, {})
    drop_unheld(replace(tool, extra=None) if tool.kind == type else tool, losses)
    parameters = {
        "allowed_domains": tool.allowed_domains,
        "excluded_domains": tool.blocked_domains,
        "max_uses": tool.max_uses,
        "search_context_size": tool.context_size,
        "user_location": {"type": "approximate", **tool.user_location} if tool.user_location else None,
        **inner,
    }
    written = {name: value for name, value in parameters.items() if value is not None}
    return {"type": type} | ({"parameters": written} if written else {}) | outer


def _unmodelled_fields(tool: ir.HostedTool) -> tuple[JsonObject, JsonObject]:
    """Return the unmodelled parameters of a tool, and its other unmodelled fields."""
    fields = [(pointer.rpartition("/"), value) for pointer, value in (tool.extra or {}).items()]
    inner, outer = (
        {unescape(name): value for (above, _, name), value in fields if bool(above) == nested} for nested in (True, False)
    )
    return inner, outer


def _encode_domains(tool: ir.HostedTool, losses: Ledger) -> JsonObject:
    """Encode the domains of a web search, for servers that have a field for them. It has either allowed or blocked domains."""
    rules = losses.dialect
    if rules is None or rules.domain_filter is None or not (tool.allowed_domains or tool.blocked_domains):
        return {}
    name, prefix = ("allowed_domains", "") if tool.allowed_domains else ("blocked_domains", "-")
    if tool.allowed_domains and tool.blocked_domains:
        losses.dropped(tool, "blocked_domains", "rejected_combination")
    domains = tool.allowed_domains or tool.blocked_domains or []
    if rules.most_domains is not None and len(domains) > rules.most_domains:
        domains = domains[: rules.most_domains]
        losses.changed(tool, name, [*domains], "server_limit")
    return {rules.domain_filter: [f"{prefix}{domain}" for domain in domains]}


def decode_function(raw: JsonObject, src: str, prefix: str, outer: JsonObject | None) -> ir.FunctionTool:
    """Decode the function of a tool, or of the deprecated field ``functions``.

    ``prefix``: its pointer in the tool, with a slash; ``outer``: the unmodelled fields of the tool.
    """
    extra = outer if raw.keys() <= _FUNCTION else merge_extra(outer, read_extra(raw, _FUNCTION, prefix))
    return ir.FunctionTool(raw["name"], raw.get("description"), raw.get("parameters"), raw.get("strict") or False, src, extra)


def encode_function(tool: ir.FunctionTool, losses: Ledger) -> JsonObject:
    """Encode a function tool."""
    drop_unheld(tool, losses)
    function: JsonObject = {"name": tool.name}
    if tool.description is not None:
        function["description"] = tool.description
    if tool.parameters is not None:
        function["parameters"] = encode_parameters(tool, losses)
    if tool.strict:
        encode_strict(tool, function, "parameters", losses)
    if losses.dialect is not None and losses.dialect.required_in_functions:
        _add_required(function, losses.dialect, losses)
    return {"type": "function", "function": function, **_encode_cache(tool, losses)}


def _encode_cache(tool: ir.FunctionTool | ir.CustomTool, losses: Ledger) -> JsonObject:
    """Encode the cache mark of a tool, for servers that accept it."""
    return encode_cache_mark_of_messages(tool.cache, losses) if tool.cache and "FunctionTool.cache" in losses.also_holds else {}


def _add_required(function: JsonObject, rules: DialectRules, losses: Ledger) -> None:
    """Add the fields of a function without which the server rejects it."""
    values: JsonObject = {"parameters": {"type": "object", "properties": {}}, "description": ""}
    for name in sorted(rules.required_in_functions - function.keys()):
        losses.added_in(function, name, values[name], f"{rules.server} requires it in each function")


def _decode_custom(raw: JsonObject, src: str, outer: JsonObject | None) -> ir.CustomTool:
    format = raw.get("format") or {}
    kind = format.get("type", "text")
    grammar = format["grammar"] if kind == "grammar" else {}
    # A format without a grammar is free text, which is the default (official SDK, ``CustomFormatText``).
    known = {"type", kind} if grammar else {"type"}
    return ir.CustomTool(
        name=raw["name"],
        description=raw.get("description"),
        syntax=grammar.get("syntax"),
        definition=grammar.get("definition"),
        src=src,
        extra=merge_extra(
            outer,
            read_extra(raw, _CUSTOM, "custom/"),
            read_extra(format, known, "custom/format/") if kind in ("text", "grammar") else {"custom/format": format},
            read_extra(grammar, frozenset({"syntax", "definition"}), "custom/format/grammar/"),
        ),
    )


def _encode_custom(tool: ir.CustomTool, losses: Ledger) -> JsonObject:
    drop_unheld(tool, losses)
    custom: JsonObject = {"name": tool.name}
    if tool.description is not None:
        custom["description"] = tool.description
    if tool.definition is not None:
        # Both fields are required (official SDK, ``CustomFormatGrammarGrammar``).
        grammar = {"definition": tool.definition, "syntax": tool.syntax or "lark"}
        custom["format"] = {"type": "grammar", "grammar": grammar}
    return {"type": "custom", "custom": custom, **_encode_cache(tool, losses)}


def decode_tool_choice(raw: str | JsonObject, tools: list[ir.Tool], src: str) -> ir.ToolChoice | None:
    """Decode a tool choice: a mode, one tool, or a set of allowed tools. ``any`` is ``required`` of compatible servers."""
    if isinstance(raw, str):
        # ``any`` is the word of Mistral's servers (Mistral API reference, chat completions).
        mode = {"any": "required"}.get(raw, raw)
        if mode in ("none", "auto", "required"):
            free = _unaffected_tools(tools) if mode != "auto" else []
            return ir.ToolChoice(mode=mode, always_allowed=free, src=src)  # type: ignore[arg-type]  # one of the three modes
        return ir.ToolChoice(mode="auto", src=src, extra={WHOLE_NODE: raw})
    if raw.get("type") == "allowed_tools":
        return _decode_allowed(raw, tools, src)
    name, extra = _decode_chosen(raw, "")
    return ir.ToolChoice(mode="named" if name else "hosted", names=[name or str(raw.get("type"))], src=src, extra=extra)


def encode_tool_choice(choice: ir.ToolChoice, tools: list[ir.Tool], losses: Ledger) -> str | JsonObject | None:
    """Encode a tool choice. Return None if the format cannot express it."""
    drop_unheld(choice, losses)
    match choice.mode:
        case "auto" | "none" | "required":
            return choice.mode
        case "named":
            return _encode_named(choice.names, tools)[0]
        case "allowed":
            named = _encode_named(choice.names, tools)
            return {"type": "allowed_tools", "allowed_tools": {"mode": choice.allowed_mode, "tools": named}}
        case "validated":  # ``tool_selection`` has replaced it before
            return "auto"
        case "hosted":
            losses.dropped(choice, code="server_tool")
            return None
        case _:
            assert_never(choice.mode)


def _decode_allowed(raw: JsonObject, tools: list[ir.Tool], src: str) -> ir.ToolChoice:
    """Decode a set of allowed tools. The wire types do not check its tools."""
    allowed = raw["allowed_tools"]
    names, hosted, unread = [], [], []
    for index, tool in enumerate(allowed["tools"]):
        kind, pointer = tool.get("type"), f"allowed_tools/tools/{index}"
        name, extra = _decode_chosen(tool, f"{pointer}/")
        if name:
            names.append(name)
        elif isinstance(kind, str) and kind not in ("function", "custom"):
            hosted.append(kind)
        else:
            extra = {pointer: tool}
        unread.append(extra)
    known = frozenset({"mode", "tools"} if allowed["mode"] in ("auto", "required") else {"tools"})
    extra = merge_extra(
        read_extra(raw, frozenset({"type", "allowed_tools"})), read_extra(allowed, known, "allowed_tools/"), *unread
    )
    allowed_mode: Literal["auto", "required"] = "required" if allowed["mode"] == "required" else "auto"
    return ir.ToolChoice(
        mode="allowed",
        names=names,
        hosted=hosted,
        always_allowed=_unaffected_tools(tools),
        allowed_mode=allowed_mode,
        src=src,
        extra=extra,
    )


def _unaffected_tools(tools: list[ir.Tool]) -> list[str]:
    """Return the names of web search tools, which no tool choice affects, because ``web_search_options`` is no tool."""
    return [server_tool_name(tool) for tool in tools if isinstance(tool, ir.HostedTool) and tool.family == "web_search"]


def _decode_chosen(raw: JsonObject, prefix: str) -> tuple[str | None, JsonObject | None]:
    """Decode a chosen tool: its name, or None if it is no function or custom tool, and its unmodelled fields.

    The name may be next to the type, as in the deprecated ``function_call``.
    """
    kind = next((kind for kind in ("function", "custom") if isinstance(raw.get(kind), dict)), None)
    inner = raw if kind is None else raw[kind]
    name = inner.get("name") if raw.get("type") in ("function", "custom", None) else None
    if not isinstance(name, str) or not name:
        return None, read_extra(raw, frozenset({"type"}), prefix)
    return name, merge_extra(
        read_extra(raw, {"type", kind or "name"}, prefix), read_extra(inner, _NAME, f"{prefix}{kind}/") if kind else None
    )


def _encode_named(names: list[str], tools: list[ir.Tool]) -> list[JsonObject]:
    custom = {tool.name for tool in tools if isinstance(tool, ir.CustomTool)}
    kinds = ["custom" if name in custom else "function" for name in names]
    return [{"type": kind, kind: {"name": name}} for kind, name in zip(kinds, names, strict=True)]
