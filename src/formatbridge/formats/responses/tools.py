"""Tool definitions and tool choice of responses."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Literal, assert_never

from formatbridge import ir
from formatbridge.formats.responses.content import decode_cache
from formatbridge.formats.responses.holds import drop_unheld
from formatbridge.formats.responses.hosted_tools import (
    ALLOWED,
    FAMILIES,
    HOSTED,
    decode_hosted_tool,
    decode_server,
    encode_hosted_tool,
    encode_server,
)
from formatbridge.formats.shared.held_fields import drop_field
from formatbridge.formats.shared.tools import encode_parameters
from formatbridge.formats.shared.unmodelled_fields import joined, rest
from formatbridge.jsontext.types import JsonObject
from formatbridge.report.ledger import WHOLE_NODE, Ledger

_COMMON = frozenset({"type", "name", "description", "allowed_callers", "defer_loading"})
_FUNCTION = _COMMON | {"parameters", "strict", "output_schema"}
_PLAIN_FUNCTION = frozenset({"type", "name", "description", "parameters", "strict"})
_CUSTOM = _COMMON | {"format"}
_SEARCH = frozenset({"type", "execution", "description", "parameters"})
_GRAMMAR = frozenset({"type", "syntax", "definition"})
_PLAIN = frozenset({"type"})


def decode_tool(raw: JsonObject, src: str) -> ir.Tool:
    """Read one tool; a kind that is not known is the server's own."""
    kind = raw.get("type")
    if kind == "function":
        return decode_function(raw, src)
    if kind == "custom":
        return _decode_custom(raw, src)
    if kind == "tool_search" and raw.get("execution") == "client":
        return _decode_search(raw, src)
    if kind == "namespace":
        return _decode_namespace(raw, src)
    if kind == "mcp":
        return decode_server(raw, src)
    return decode_hosted_tool(raw, src)


def encode_tools(tools: list[ir.Tool], losses: Ledger, beside: Sequence[ir.Tool] = ()) -> JsonObject:
    """Write tools, and the limit on their calls that one of them may bring. ``beside``: those that the request has already."""
    made, body = [], JsonObject()
    has_code = any(type(tool) is ir.HostedTool and tool.family == "code" for tool in (*beside, *tools))
    for tool in tools:
        encoded = _encode_tool(tool, has_code, losses)
        if encoded is not None:
            made.append(encoded)
        if type(tool) is ir.HostedTool and tool.max_uses is not None and encoded is not None:
            uses: int = body.get("max_tool_calls", 0) + tool.max_uses
            body |= losses.changed(tool, "max_uses", {"max_tool_calls": uses}, "weaker_carrier")
    return ({"tools": made} if made else {}) | body


def _encode_tool(tool: ir.Tool, has_code: bool, losses: Ledger) -> JsonObject | None:
    """Write a tool; None where the target has none like it. ``has_code``: there is a server tool whose code may call it."""
    match tool:
        case ir.FunctionTool():
            return encode_function(tool, has_code, losses)
        case ir.CustomTool():
            return _encode_custom(tool, has_code, losses)
        case ir.Namespace():
            return _encode_namespace(tool, has_code, losses)
        case ir.HostedTool():
            return encode_hosted_tool(tool, losses)
        case ir.McpServer():
            return encode_server(tool, losses)
        case _:
            assert_never(tool)


def decode_function(raw: JsonObject, src: str) -> ir.FunctionTool:
    """Read a function."""
    get = raw.get
    tool = ir.FunctionTool(raw["name"], get("description"), get("parameters"), get("strict"), src)
    if not _PLAIN_FUNCTION.issuperset(raw):
        tool.output_schema, tool.defer_loading = raw.get("output_schema"), raw.get("defer_loading")
        tool.callers, tool.cache = raw.get("allowed_callers"), decode_cache(raw, src)
        tool.extra = rest(raw, _FUNCTION | {"cache_control"} if tool.cache else _FUNCTION)
    return tool


def encode_function(tool: ir.FunctionTool, has_code: bool, losses: Ledger) -> JsonObject:
    """Write a function. ``has_code``: there is a server tool whose code may call it."""
    if tool.kind == "tool_search":
        return _encode_search(tool, losses)
    made: JsonObject = {"type": "function", "name": tool.name}
    if tool.description is not None:
        made["description"] = tool.description
    if tool.extra or tool.cache or tool.callers or tool.defer_loading is not None:
        made |= _encode_common(tool, has_code, losses)
    # Absent counts as true here and as false everywhere else.
    made["parameters"], made["strict"] = encode_parameters(tool, losses), tool.strict or False
    if tool.output_schema is not None:
        made["output_schema"] = tool.output_schema
    return made


def _decode_search(raw: JsonObject, src: str) -> ir.FunctionTool:
    """Read the search for tools that the caller runs: a function in all but its type."""
    made = ir.FunctionTool(SEARCH, raw.get("description"), raw.get("parameters"), src=src, kind="tool_search")
    made.extra = rest(raw, _SEARCH)
    return made


def _encode_search(tool: ir.FunctionTool, losses: Ledger) -> JsonObject:
    drop_unheld(tool, losses)
    made: JsonObject = {"type": "tool_search", "execution": "client"}
    if tool.description is not None:
        made["description"] = tool.description
    return made | {"parameters": encode_parameters(tool, losses)}


def _decode_custom(raw: JsonObject, src: str) -> ir.CustomTool:
    format = raw.get("format") or {}
    kind = format.get("type", "text")
    grammar = format if kind == "grammar" else {}
    left = rest(format, _GRAMMAR if grammar else _PLAIN, "format/") if kind in ("text", "grammar") else {"format": format}
    return ir.CustomTool(
        name=raw["name"],
        description=raw.get("description"),
        syntax=grammar.get("syntax"),
        definition=grammar.get("definition"),
        defer_loading=raw.get("defer_loading"),
        callers=raw.get("allowed_callers"),
        src=src,
        extra=joined(rest(raw, _CUSTOM), left),
    )


def _encode_custom(tool: ir.CustomTool, has_code: bool, losses: Ledger) -> JsonObject:
    made: JsonObject = {"type": "custom", "name": tool.name}
    if tool.description is not None:
        made["description"] = tool.description
    made |= _encode_common(tool, has_code, losses)
    if tool.definition is not None:
        made["format"] = {"type": "grammar", "syntax": tool.syntax or "lark", "definition": tool.definition}
    return made


def _encode_common(tool: ir.FunctionTool | ir.CustomTool, has_code: bool, losses: Ledger) -> JsonObject:
    """Write who may call a tool and when it is loaded."""
    drop_unheld(tool, losses)
    made: JsonObject = {}
    if tool.defer_loading is not None:
        made["defer_loading"] = tool.defer_loading
    if tool.callers:
        kept = [word for word in tool.callers if word == "direct" or (word == "programmatic" and has_code)]
        if not kept:
            drop_field(tool, "callers", losses)
        elif kept != tool.callers:
            losses.changed(tool, "callers", kept)
        if kept:
            made["allowed_callers"] = kept
    return made


def _decode_namespace(raw: JsonObject, src: str) -> ir.Namespace:
    tools: list[ir.FunctionTool | ir.CustomTool] = []
    leftover: JsonObject = {}
    for index, inner in enumerate(raw["tools"]):
        tool = decode_tool(inner, f"{src}/tools/{index}")
        if isinstance(tool, ir.FunctionTool | ir.CustomTool):
            tools.append(tool)
        else:
            leftover[f"tools/{index}"] = inner
    extra = rest(raw, frozenset({"type", "name", "description", "tools"}))
    return ir.Namespace(name=raw["name"], tools=tools, description=raw.get("description"), src=src, extra=joined(extra, leftover))


def _encode_namespace(tool: ir.Namespace, has_code: bool, losses: Ledger) -> JsonObject:
    drop_unheld(tool, losses)
    tools = [_encode_tool(inner, has_code, losses) for inner in tool.tools]
    return {"type": "namespace", "name": tool.name, "description": tool.description or "", "tools": tools}


# Choice.


def decode_tool_choice(raw: str | JsonObject, src: str, tools: Sequence[ir.Tool] = ()) -> ir.ToolChoice:
    """Read ``tool_choice``: a word, one tool, or a set of allowed tools. A word of some server's own means what it says.

    ``tools``: those of the request, among which a search for tools may be the caller's.
    """
    choice = _decode_choice(raw, src)
    if SEARCH in choice.names + choice.hosted and any(isinstance(tool, ir.FunctionTool) and tool.kind == SEARCH for tool in tools):
        return _with_search(choice)
    return choice


def _with_search(choice: ir.ToolChoice) -> ir.ToolChoice:
    """Return a choice in which the search for tools is a function, not a tool that the server runs."""
    if choice.mode == "hosted":
        return replace(choice, mode="named", names=[SEARCH], hosted=[])
    spaces = None if choice.namespaces is None else [*choice.namespaces, None]
    hosted = [name for name in choice.hosted if name != SEARCH]
    return replace(choice, names=[*choice.names, SEARCH], namespaces=spaces, hosted=hosted)


def _decode_choice(raw: str | JsonObject, src: str) -> ir.ToolChoice:
    if isinstance(raw, str):
        if raw in ("none", "auto", "required"):
            return ir.ToolChoice(mode=raw, src=src)  # type: ignore[arg-type]  # one of the three words
        return ir.ToolChoice(mode="auto", src=src, extra={WHOLE_NODE: raw})
    kind = str(raw.get("type"))
    if kind == "allowed_tools":
        return _decode_allowed(raw, src)
    if kind in ("function", "custom"):
        space = [raw["namespace"] or None] if isinstance(raw.get("namespace"), str) else None
        known = frozenset({"type", "name", "namespace"} if space else {"type", "name"})
        return ir.ToolChoice(mode="named", names=[raw["name"]], namespaces=space, src=src, extra=rest(raw, known))
    return ir.ToolChoice(mode="hosted", names=[FAMILIES.get(kind, kind)], src=src, extra=rest(raw, frozenset({"type"})))


def _decode_allowed(raw: JsonObject, src: str) -> ir.ToolChoice:
    names, spaces, hosted, leftover = [], [], [], JsonObject()
    for index, tool in enumerate(raw["tools"]):
        kind, name, space = tool.get("type"), tool.get("name"), tool.get("namespace")
        if kind in ("function", "custom") and isinstance(name, str) and isinstance(space, str | None):
            names.append(name)
            spaces.append(space)
            leftover |= rest(tool, frozenset({"type", "name", "namespace"}), f"tools/{index}/") or {}
        elif kind in ("function", "custom") or not isinstance(kind, str):
            leftover[f"tools/{index}"] = tool
        else:
            label = tool.get("server_label")
            is_server = kind == "mcp" and isinstance(label, str)
            hosted.append(label if is_server else FAMILIES.get(kind, kind))
            leftover |= rest(tool, {"type", "server_label"} if is_server else {"type"}, f"tools/{index}/") or {}
    known = frozenset({"type", "mode", "tools"} if raw["mode"] in ("auto", "required") else {"type", "tools"})
    extra = joined(rest(raw, known), leftover)
    inner: Literal["auto", "required"] = "required" if raw["mode"] == "required" else "auto"
    if inner == "required" and len(raw["tools"]) == len(hosted) == 1 and hosted[0] in ALLOWED:  # this one is forced
        return ir.ToolChoice(mode="hosted", names=hosted, hosted=hosted, src=src, extra=extra)
    return ir.ToolChoice(
        mode="allowed",
        names=names,
        namespaces=spaces if any(spaces) else None,
        hosted=hosted,
        inner=inner,
        src=src,
        extra=extra,
    )


def encode_tool_choice(choice: ir.ToolChoice, tools: list[ir.Tool], losses: Ledger) -> str | JsonObject | None:
    """Write which tools may or must be called; None where the target cannot say it."""
    drop_unheld(choice, losses)
    match choice.mode:
        case "auto" | "none" | "required":
            return choice.mode
        case "named":
            return _encode_named(choice.names, tools)[0]
        case "allowed":
            return _encode_allowed(choice, tools, losses)
        case "validated":  # told as a free choice before it comes here
            return "auto"
        case "hosted":
            made = _encode_hosted(tools).get(choice.names[0])
            if made is None:
                losses.dropped(choice, code="server_tool", severity="impossible")
            elif made["type"] in ALLOWED:
                return {"type": "allowed_tools", "mode": "required", "tools": [made]}
            return made
        case _:
            assert_never(choice.mode)


def _encode_allowed(choice: ir.ToolChoice, tools: list[ir.Tool], losses: Ledger) -> JsonObject:
    """Write a set of allowed tools. What was free beside a list of functions must stand in this one, and then may be what is called."""
    servers = _encode_hosted(tools)
    hosted = [servers.get(name) or {"type": name} for name in choice.hosted]
    free = [servers[name] for name in dict.fromkeys(choice.free) if name in servers and name not in choice.hosted]
    made = {"type": "allowed_tools", "mode": choice.inner, "tools": _encode_named(choice.names, tools) + hosted + free}
    if free and choice.inner == "required":
        losses.changed(choice, "", made)
    return made


def _encode_named(names: list[str], tools: list[ir.Tool]) -> list[JsonObject]:
    custom = {tool.name for tool in tools if isinstance(tool, ir.CustomTool)}
    searches = {tool.name for tool in tools if isinstance(tool, ir.FunctionTool) and tool.kind == SEARCH}
    return [
        {"type": "tool_search"} if name in searches else {"type": "custom" if name in custom else "function", "name": name}
        for name in names
    ]


def _encode_hosted(tools: list[ir.Tool]) -> dict[str, JsonObject]:
    """Write the choice of each of the servers' tools, under its kind, its name, its family or its server's label; the first counts."""
    made: dict[str, JsonObject] = {}
    for tool in tools:
        if isinstance(tool, ir.HostedTool) and tool.family in HOSTED:
            for name in (tool.kind, tool.name, tool.family):
                if name is not None:
                    made.setdefault(name, {"type": HOSTED[tool.family]})
        elif isinstance(tool, ir.McpServer):
            made.setdefault(tool.label, {"type": "mcp", "server_label": tool.label})
    return made


SEARCH = "tool_search"
"""The name that a search for tools has as a function; its own type has none."""
