"""Tool definitions and tool choice of Responses."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Literal, assert_never

from formatbridge import ir
from formatbridge.formats.responses.holds import drop_unheld
from formatbridge.formats.responses.hosted_tools import (
    FAMILIES,
    FORCED_BY_ALLOWED_TOOLS,
    HOSTED,
    decode_hosted_tool,
    decode_server,
    encode_hosted_tool,
    encode_server,
    legal_label,
)
from formatbridge.formats.shared.held_fields import drop_field
from formatbridge.formats.shared.parts import decode_cache
from formatbridge.formats.shared.schemas import encode_strict
from formatbridge.formats.shared.tool_selection import is_deferred
from formatbridge.formats.shared.tools import encode_parameters
from formatbridge.formats.shared.unmodelled_fields import merge_extra, read_extra
from formatbridge.jsontext.types import JsonObject
from formatbridge.report.ledger import WHOLE_NODE, Ledger

TOOL_SEARCH = "tool_search"
"""The name of a tool search as a function; tools of the type ``tool_search`` have no name."""

# Keys that the decoder reads in each type of tool; it keeps all others in ``extra``, for the report and for the same format.
_COMMON = frozenset({"type", "name", "description", "allowed_callers", "defer_loading"})
_FUNCTION = _COMMON | {"parameters", "strict", "output_schema"}
_SIMPLE_FUNCTION = frozenset({"type", "name", "description", "parameters", "strict"})
_CUSTOM = _COMMON | {"format"}
_SEARCH_TOOL = frozenset({"type", "execution", "description", "parameters"})
_GRAMMAR = frozenset({"type", "syntax", "definition"})
_TYPE = frozenset({"type"})


def decode_tool(raw: JsonObject, src: str) -> ir.Tool:
    """Decode a tool; one of an unknown type becomes a hosted tool."""
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


def encode_tools(tools: list[ir.Tool], losses: Ledger, other_tools: Sequence[ir.Tool] = ()) -> JsonObject:
    """Encode tools, and the limit on hosted calls that they may have. ``other_tools``: the tools that the request already has."""
    # Anthropic limits each server tool (its SDK, ``max_uses``).
    # Here ``max_tool_calls`` limits all hosted tools of a response together (official SDK).
    encoded_tools, body = [], JsonObject()
    has_code = any(type(tool) is ir.HostedTool and tool.family == "code" for tool in (*other_tools, *tools))
    for tool in tools:
        encoded = _encode_tool(tool, has_code, losses)
        if encoded is not None:
            encoded_tools.append(encoded)
        if type(tool) is ir.HostedTool and tool.max_uses is not None and encoded is not None:
            limit: int = body.get("max_tool_calls", 0) + tool.max_uses
            body |= losses.changed(tool, "max_uses", {"max_tool_calls": limit}, "weaker_form")
    return ({"tools": encoded_tools} if encoded_tools else {}) | body


def adapt_tool_search(tools: list[ir.Tool], added: list[ir.Tool], losses: Ledger) -> tuple[list[ir.Tool], JsonObject | None]:
    """Return the tools of a request without a tool search that has nothing to search, and the search that its deferred tools require.

    ``added``: the tools that messages add. The server rejects deferred tools without a search ("Deferred tools require tools.tool_search",
    pydantic/pydantic-ai#6080, Wei-Shaw/sub2api#5942), and a search without deferred tools (justrach/codegraff#746).
    """
    if any(map(is_deferred, tools)) or any(map(is_deferred, added)):
        return tools, None if any(map(_is_tool_search, (*tools, *added))) else {"type": "tool_search"}
    kept = []
    for tool in tools:
        if isinstance(tool, ir.HostedTool) and _is_tool_search(tool):
            losses.dropped(tool, code="without_deferred")
        else:
            kept.append(tool)
    return kept, None


def _is_tool_search(tool: ir.Tool) -> bool:
    if isinstance(tool, ir.HostedTool):
        return tool.family == "tool_search"
    return isinstance(tool, ir.FunctionTool) and tool.kind == TOOL_SEARCH


def _encode_tool(tool: ir.Tool, has_code: bool, losses: Ledger) -> JsonObject | None:
    """Encode a tool; None if the target has no such tool. ``has_code``: a hosted code tool may call it."""
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
    """Decode a function."""
    # {"type": "function", "name": "f", "description": "...", "parameters": {"type": "object", ...}, "strict": false}
    get = raw.get
    tool = ir.FunctionTool(raw["name"], get("description"), get("parameters"), get("strict"), src)
    if not _SIMPLE_FUNCTION.issuperset(raw):
        tool.output_schema, tool.defer_loading = raw.get("output_schema"), raw.get("defer_loading")
        tool.callers, tool.cache = raw.get("allowed_callers"), decode_cache(raw, src)
        tool.extra = read_extra(raw, _FUNCTION | {"cache_control"} if tool.cache else _FUNCTION)
    return tool


def encode_function(tool: ir.FunctionTool, has_code: bool, losses: Ledger) -> JsonObject:
    """Encode a function. ``has_code``: a hosted code tool may call it."""
    if tool.kind == "tool_search":
        return _encode_search(tool, losses)
    encoded: JsonObject = {"type": "function", "name": tool.name}
    if tool.description is not None:
        encoded["description"] = tool.description
    if tool.extra or tool.cache or tool.callers or tool.defer_loading is not None:
        encoded |= _encode_common(tool, has_code, losses)
    # "If omitted, Responses attempts to use strict validation" (official SDK, ``NamespaceTool``); other formats do not.
    encoded["parameters"], encoded["strict"] = encode_parameters(tool, losses), False
    if tool.strict:
        encode_strict(tool, encoded, "parameters", losses)
    if tool.output_schema is not None:
        encoded["output_schema"] = tool.output_schema
    return encoded


def _decode_search(raw: JsonObject, src: str) -> ir.FunctionTool:
    """Decode a tool search that the caller runs, as a function of the kind ``tool_search``."""
    # {"type": "tool_search", "execution": "client", "description": "...", "parameters": {...}}, as Codex CLI sends it (recorded requests)
    tool = ir.FunctionTool(TOOL_SEARCH, raw.get("description"), raw.get("parameters"), src=src, kind="tool_search")
    tool.extra = read_extra(raw, _SEARCH_TOOL)
    return tool


def _encode_search(tool: ir.FunctionTool, losses: Ledger) -> JsonObject:
    drop_unheld(tool, losses)
    encoded: JsonObject = {"type": "tool_search", "execution": "client"}
    if tool.description is not None:
        encoded["description"] = tool.description
    return encoded | {"parameters": encode_parameters(tool, losses)}


def _decode_custom(raw: JsonObject, src: str) -> ir.CustomTool:
    # {"type": "custom", "name": "sql", "format": {"type": "grammar", "syntax": "lark", "definition": "start: ..."}}
    format = raw.get("format") or {}
    kind = format.get("type", "text")
    grammar = format if kind == "grammar" else {}
    unread = read_extra(format, _GRAMMAR if grammar else _TYPE, "format/") if kind in ("text", "grammar") else {"format": format}
    return ir.CustomTool(
        name=raw["name"],
        description=raw.get("description"),
        syntax=grammar.get("syntax"),
        definition=grammar.get("definition"),
        defer_loading=raw.get("defer_loading"),
        callers=raw.get("allowed_callers"),
        src=src,
        extra=merge_extra(read_extra(raw, _CUSTOM), unread),
    )


def _encode_custom(tool: ir.CustomTool, has_code: bool, losses: Ledger) -> JsonObject:
    encoded: JsonObject = {"type": "custom", "name": tool.name}
    if tool.description is not None:
        encoded["description"] = tool.description
    encoded |= _encode_common(tool, has_code, losses)
    if tool.definition is not None:
        encoded["format"] = {"type": "grammar", "syntax": tool.syntax or "lark", "definition": tool.definition}
    return encoded


def _encode_common(tool: ir.FunctionTool | ir.CustomTool, has_code: bool, losses: Ledger) -> JsonObject:
    """Encode the allowed callers of a tool and ``defer_loading``."""
    drop_unheld(tool, losses)
    encoded: JsonObject = {}
    if tool.defer_loading is not None:
        encoded["defer_loading"] = tool.defer_loading
    # ``programmatic`` means code of the hosted code tool (official SDK, ``FunctionTool.allowed_callers``).
    if tool.callers:
        kept = [caller for caller in tool.callers if caller == "direct" or (caller == "programmatic" and has_code)]
        if kept:
            encoded["allowed_callers"] = losses.changed(tool, "callers", kept)
        else:
            drop_field(tool, "callers", losses)
    return encoded


def _decode_namespace(raw: JsonObject, src: str) -> ir.Namespace:
    # {"type": "namespace", "name": "crm", "description": "...", "tools": [{"type": "function", ...}]}
    # Only functions and custom tools may be in it (official SDK, ``NamespaceTool.tools``).
    tools: list[ir.FunctionTool | ir.CustomTool] = []
    unread: JsonObject = {}
    for index, inner in enumerate(raw["tools"]):
        tool = decode_tool(inner, f"{src}/tools/{index}")
        if isinstance(tool, ir.FunctionTool | ir.CustomTool):
            tools.append(tool)
        else:
            unread[f"tools/{index}"] = inner
    extra = read_extra(raw, frozenset({"type", "name", "description", "tools"}))
    return ir.Namespace(
        name=raw["name"], tools=tools, description=raw.get("description"), src=src, extra=merge_extra(extra, unread)
    )


def _encode_namespace(tool: ir.Namespace, has_code: bool, losses: Ledger) -> JsonObject:
    drop_unheld(tool, losses)
    # The description is required (official SDK, ``NamespaceTool``).
    tools = [_encode_tool(inner, has_code, losses) for inner in tool.tools]
    return {"type": "namespace", "name": tool.name, "description": tool.description or "", "tools": tools}


def decode_tool_choice(raw: str | JsonObject, src: str, tools: Sequence[ir.Tool] = ()) -> ir.ToolChoice:
    """Decode ``tool_choice``: a mode, one tool, or a list of allowed tools. An unknown mode is kept as an unmodelled field.

    ``tools``: the tools of the request, which may include a tool search that the caller runs.
    """
    choice = _decode_choice(raw, src)
    # A choice names a tool search by its type, whether the server or the caller runs it. Only the tools show which.
    if TOOL_SEARCH in choice.names + choice.hosted and any(
        isinstance(tool, ir.FunctionTool) and tool.kind == TOOL_SEARCH for tool in tools
    ):
        return _with_search(choice)
    return choice


def encode_tool_choice(choice: ir.ToolChoice, tools: list[ir.Tool], losses: Ledger) -> str | JsonObject | None:
    """Encode the tool choice; None if the target cannot express it."""
    drop_unheld(choice, losses)
    match choice.mode:
        case "auto" | "none" | "required":
            return choice.mode
        case "named":
            return _encode_named(choice.names, tools)[0]
        case "allowed":
            return _encode_allowed(choice, tools, losses) if _reads_objects(losses) else choice.allowed_mode
        case "validated":  # an earlier step has noted the change to ``auto``
            return "auto"
        case "hosted":
            encoded = _encode_hosted_choices(tools).get(choice.names[0])
            if encoded is None:
                losses.dropped(choice, code="server_tool")
            elif not _reads_objects(losses):
                return "required" if len(tools) == 1 else losses.changed(choice, "", "auto", "unsupported_by_server")
            elif encoded["type"] in FORCED_BY_ALLOWED_TOOLS:
                return {"type": "allowed_tools", "mode": "required", "tools": [encoded]}
            return encoded
        case _:
            assert_never(choice.mode)


def _with_search(choice: ir.ToolChoice) -> ir.ToolChoice:
    """Return a choice in which the tool search is a function instead of a hosted tool."""
    if choice.mode == "hosted":
        return replace(choice, mode="named", names=[TOOL_SEARCH], hosted=[])
    spaces = None if choice.namespaces is None else [*choice.namespaces, None]
    hosted = [name for name in choice.hosted if name != TOOL_SEARCH]
    return replace(choice, names=[*choice.names, TOOL_SEARCH], namespaces=spaces, hosted=hosted)


def _decode_choice(raw: str | JsonObject, src: str) -> ir.ToolChoice:
    if isinstance(raw, str):
        if raw in ("none", "auto", "required"):
            return ir.ToolChoice(mode=raw, src=src)  # type: ignore[arg-type]  # one of the three modes
        return ir.ToolChoice(mode="auto", src=src, extra={WHOLE_NODE: raw})
    # {"type": "function", "name": "f"}, {"type": "image_generation"}, {"type": "mcp", "server_label": "docs"}
    kind = str(raw.get("type"))
    if kind == "allowed_tools":
        return _decode_allowed(raw, src)
    if kind in ("function", "custom"):
        space = [raw["namespace"] or None] if isinstance(raw.get("namespace"), str) else None
        known = frozenset({"type", "name", "namespace"} if space else {"type", "name"})
        return ir.ToolChoice(mode="named", names=[raw["name"]], namespaces=space, src=src, extra=read_extra(raw, known))
    if kind == "mcp" and isinstance(raw.get("server_label"), str):
        return ir.ToolChoice(mode="hosted", names=[raw["server_label"]], src=src, extra=read_extra(raw, {"type", "server_label"}))
    return ir.ToolChoice(mode="hosted", names=[FAMILIES.get(kind, kind)], src=src, extra=read_extra(raw, {"type"}))


def _decode_allowed(raw: JsonObject, src: str) -> ir.ToolChoice:
    # {"type": "allowed_tools", "mode": "auto", "tools": [{"type": "function", "name": "f"}, {"type": "web_search"}]}
    names, spaces, hosted, unread = [], [], [], JsonObject()
    for index, tool in enumerate(raw["tools"]):
        kind, name, space = tool.get("type"), tool.get("name"), tool.get("namespace")
        if not isinstance(kind, str):
            unread[f"tools/{index}"] = tool
        elif kind not in ("function", "custom"):
            label = tool.get("server_label")
            is_server = kind == "mcp" and isinstance(label, str)
            hosted.append(label if is_server else FAMILIES.get(kind, kind))
            unread |= read_extra(tool, {"type", "server_label"} if is_server else {"type"}, f"tools/{index}/") or {}
        elif isinstance(name, str) and isinstance(space, str | None):
            names.append(name)
            spaces.append(space)
            unread |= read_extra(tool, frozenset({"type", "name", "namespace"}), f"tools/{index}/") or {}
        else:
            unread[f"tools/{index}"] = tool
    known = frozenset({"type", "mode", "tools"} if raw["mode"] in ("auto", "required") else {"type", "tools"})
    extra = merge_extra(read_extra(raw, known), unread)
    allowed_mode: Literal["auto", "required"] = "required" if raw["mode"] == "required" else "auto"
    is_only_tool = len(raw["tools"]) == len(hosted) == 1 and hosted[0] in FORCED_BY_ALLOWED_TOOLS
    if allowed_mode == "required" and is_only_tool:  # the model must call it
        return ir.ToolChoice(mode="hosted", names=hosted, hosted=hosted, src=src, extra=extra)
    return ir.ToolChoice(
        mode="allowed",
        names=names,
        namespaces=spaces if any(spaces) else None,
        hosted=hosted,
        allowed_mode=allowed_mode,
        src=src,
        extra=extra,
    )


def _reads_objects(losses: Ledger) -> bool:
    """Return whether the server reads a choice of several tools or of a server tool. Otherwise the request has the allowed tools only."""
    return losses.dialect is None or losses.dialect.accepts_allowed_tools is not False


def _encode_allowed(choice: ir.ToolChoice, tools: list[ir.Tool], losses: Ledger) -> JsonObject:
    """Encode a list of allowed tools.

    Hosted tools that the source always allows must be in the list, too. If a call is required, it may then be theirs, which is noted.
    """
    # In Gemini the list concerns functions only (its SDK, ``FunctionCallingConfig``), and server tools are always allowed.
    servers = _encode_hosted_choices(tools)
    hosted = [servers.get(name) or {"type": name} for name in choice.hosted]
    free = [servers[name] for name in dict.fromkeys(choice.always_allowed) if name in servers and name not in choice.hosted]
    encoded = {"type": "allowed_tools", "mode": choice.allowed_mode, "tools": _encode_named(choice.names, tools) + hosted + free}
    if free and choice.allowed_mode == "required":
        losses.changed(choice, "", encoded)
    return encoded


def _encode_named(names: list[str], tools: list[ir.Tool]) -> list[JsonObject]:
    custom = {tool.name for tool in tools if isinstance(tool, ir.CustomTool)}
    searches = {tool.name for tool in tools if isinstance(tool, ir.FunctionTool) and tool.kind == TOOL_SEARCH}
    return [
        {"type": "tool_search"} if name in searches else {"type": "custom" if name in custom else "function", "name": name}
        for name in names
    ]


def _encode_hosted_choices(tools: list[ir.Tool]) -> dict[str, JsonObject]:
    """Return the choice for each hosted tool, by its type, name, family or server label; the first tool with a key wins."""
    choices: dict[str, JsonObject] = {}
    for tool in tools:
        if isinstance(tool, ir.HostedTool) and tool.family in HOSTED:
            for name in (tool.kind, tool.name, tool.family):
                if name is not None:
                    choices.setdefault(name, {"type": HOSTED[tool.family]})
        elif isinstance(tool, ir.McpServer):
            choices.setdefault(tool.label, {"type": "mcp", "server_label": legal_label(tool.label)})
    return choices
