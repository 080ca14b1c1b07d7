"""Tool definitions and tool choice of Anthropic Messages.

``server_tools_of`` is here alone, because only this server requires unique names of its server tools
(tailcallhq/forgecode#892).
"""

from __future__ import annotations

from dataclasses import replace
from typing import assert_never

from formatbridge import ir
from formatbridge.formats.messages.content import encode_cache
from formatbridge.formats.messages.holds import drop_unheld
from formatbridge.formats.messages.hosted_tools import (
    SERVER_NAMES,
    decode_hosted_tool,
    encode_hosted_tool,
    encode_server,
    hosted_name,
    hosted_type,
)
from formatbridge.formats.messages.schema import encode_schema, is_recursive
from formatbridge.formats.shared.held_fields import drop_field
from formatbridge.formats.shared.names import rename_properties
from formatbridge.formats.shared.parts import decode_cache_control
from formatbridge.formats.shared.schemas import fold_parameters
from formatbridge.formats.shared.tool_selection import server_tool_name
from formatbridge.formats.shared.unmodelled_fields import merge_extra, read_extra
from formatbridge.jsontext.types import JsonObject
from formatbridge.report.ledger import WHOLE_NODE, Ledger

_FUNCTION = frozenset({
    "type", "name", "description", "input_schema", "strict", "defer_loading", "allowed_callers", "cache_control",
})  # fmt: skip
_CHOICE = frozenset({"type", "name", "disable_parallel_tool_use"})
_CHOICE_WITHOUT_PARALLEL = frozenset({"type", "name"})
# Versions of the code execution tool that may call functions. Source: the official SDK, ``ToolParam.allowed_callers``.
_CODE_CALLERS = ("code_execution_20250825", "code_execution_20260120", "code_execution_20260521")
_MODES = {"auto": "auto", "any": "required", "none": "none"}
_CHOICES = {"auto": "auto", "required": "any", "none": "none"}


def decode_tool(raw: JsonObject, src: str) -> ir.Tool:
    """Decode a tool. Only functions have no type or the type ``custom``."""
    # Source: the official SDK, ``ToolParam.type``. Types of server tools have a version, such as ``web_search_20260318``.
    if raw.get("type") not in (None, "custom"):
        return decode_hosted_tool(raw, src)
    return decode_function(raw, src)


def encode_tools(tools: list[ir.Tool], losses: Ledger) -> JsonObject:
    """Encode the tools of a request as the fields ``tools`` and ``mcp_servers``, without empty ones."""
    has_code = any(isinstance(tool, ir.HostedTool) and tool.family == "code" for tool in tools)
    definitions: list[JsonObject] = []
    servers: list[JsonObject] = []
    known: set[str] = set()
    # "At least one tool must have defer_loading=false. All tools cannot be deferred." (nearai/ironclaw#7274)
    deferred = [tool for tool in tools if isinstance(tool, ir.FunctionTool) and tool.defer_loading]
    if deferred and len(deferred) == len(tools):
        for function in deferred:
            losses.dropped(function, "defer_loading", "all_deferred")
        tools = [replace(tool, defer_loading=None) for tool in deferred]
    for tool in tools:
        definition = encode_tool(tool, f"/tools/{len(definitions)}", has_code, known, servers, losses)
        if definition is not None:
            definitions.append(definition)
    return ({"mcp_servers": servers} if servers else {}) | ({"tools": definitions} if definitions else {})


def server_tools_of(tools: list[ir.Tool], losses: Ledger) -> set[str]:
    """Return the keys of server tools and MCP servers, which must be unique in a request: the name, or ``mcp`` and the label."""
    hosted = [tool for tool in tools if isinstance(tool, ir.HostedTool) and tool.family in SERVER_NAMES]
    return {hosted_type(tool, losses)[1] for tool in hosted} | {
        f"mcp {tool.label}" for tool in tools if isinstance(tool, ir.McpServer)
    }


def encode_tool(
    tool: ir.Tool, pointer: str, has_code: bool, known: set[str], servers: list[JsonObject], losses: Ledger
) -> JsonObject | None:
    """Encode the definition of a tool; None if this format has no such tool, or the request already has it.

    ``pointer``: the pointer of the definition in the target. ``has_code``: the request has a server tool whose code may call functions.
    ``known``: the keys of the server tools that are already encoded; this function adds to them. ``servers``: receives the entries of
    ``mcp_servers``.
    """
    match tool:
        case ir.FunctionTool():
            return encode_function(tool, pointer, has_code, losses)
        case ir.HostedTool() | ir.McpServer() if server_tools_of([tool], losses) & known:
            # A second MCP server with the same name has other tools. A second search tool has the same effect as the first.
            losses.dropped(tool, code="too_many", severity="impossible" if isinstance(tool, ir.McpServer) else "lossy")
            return None
        case ir.HostedTool():
            hosted = encode_hosted_tool(tool, losses)
            known |= server_tools_of([tool], losses) if hosted else set()
            return hosted
        case ir.McpServer():
            pair = encode_server(tool, losses)
            known |= server_tools_of([tool], losses) if pair else set()
            servers += pair[:1] if pair else ()
            return pair[1] if pair else None
        case ir.CustomTool() | ir.Namespace():
            losses.dropped(tool, severity="impossible")
            return None
        case _:
            assert_never(tool)


def decode_function(raw: JsonObject, src: str) -> ir.FunctionTool:
    """Decode a function that the caller runs."""
    tool = ir.FunctionTool(raw["name"], raw.get("description"), raw["input_schema"], raw.get("strict") or False, src)
    callers = raw.get("allowed_callers")
    # Responses has the word ``programmatic`` for callers in code, without a version.
    tool.callers = ["programmatic" if caller in _CODE_CALLERS else caller for caller in callers] if callers else None
    tool.defer_loading, tool.cache, tool.extra = (
        raw.get("defer_loading"),
        decode_cache_control(raw, src),
        read_extra(raw, _FUNCTION),
    )
    return tool


def encode_function(tool: ir.FunctionTool, pointer: str, has_code: bool, losses: Ledger) -> JsonObject:
    """Encode a function. ``pointer`` and ``has_code`` are those of ``encode_tool``."""
    drop_unheld(tool, losses)
    if tool.strict and is_recursive(tool.parameters):
        losses.dropped(tool, "strict", "recursive_schema")
        tool = replace(tool, strict=False)
    definition: JsonObject = {"name": tool.name}
    if tool.description is not None:
        definition["description"] = tool.description
    definition["input_schema"] = _encode_parameters(tool, pointer, losses)
    if tool.strict:
        definition["strict"] = True
    if tool.defer_loading:
        definition["defer_loading"] = True
    if tool.callers:
        definition |= _encode_callers(tool, tool.callers, has_code, losses)
    return definition | encode_cache(tool.cache, losses) if tool.cache else definition


def _encode_parameters(tool: ir.FunctionTool, pointer: str, losses: Ledger) -> JsonObject:
    """Encode the schema of a function's arguments. Its type is ``object`` (official SDK, ``InputSchemaTyped``)."""
    schema = tool.parameters
    if not schema:
        # ``input_schema`` is required (official SDK, ``ToolParam``). A strict schema must also close its objects
        # (BerriAI/litellm#35808).
        empty: JsonObject = {"type": "object", "properties": {}} | ({"additionalProperties": False} if tool.strict else {})
        losses.added(f"{pointer}/input_schema", empty)
        return empty
    kind = schema.get("type")
    if kind not in (None, "object"):
        allows_object = isinstance(kind, list) and "object" in kind  # then nothing is lost, because arguments are always an object
        losses.changed(tool, "parameters/type", "object", severity="info" if allows_object else "lossy")
        schema = schema | {"type": "object"}
    schema = fold_parameters(tool, schema, losses)
    if tool.strict:
        schema = encode_schema(schema, tool, "parameters", f"{pointer}/input_schema", losses, tool.property_names or {})
    if tool.property_names:
        schema = rename_properties(schema, tool.property_names)
    if schema.get("type") == "object":
        return schema
    losses.added(f"{pointer}/input_schema/type", "object")
    return {"type": "object"} | schema | {"type": "object"}


def _encode_callers(tool: ir.FunctionTool, callers: list[str], has_code: bool, losses: Ledger) -> JsonObject:
    values = {"direct": "direct"} | ({"programmatic": _CODE_CALLERS[-1]} if has_code else {})
    kept = [values[caller] for caller in callers if caller in values]
    if len(kept) < len(callers):
        drop_field(tool, "callers", losses)
        return {}
    return {"allowed_callers": kept} if kept != ["direct"] else {}


def decode_tool_choice(raw: JsonObject, tools: list[ir.Tool], src: str) -> ir.ToolChoice:
    """Decode the tool choice. Its ``disable_parallel_tool_use`` is decoded with the settings."""
    kind = "tool" if raw.get("type") is None else raw["type"]
    has_parallel = isinstance(raw.get("disable_parallel_tool_use"), bool)
    extra = read_extra(raw, _CHOICE if has_parallel else _CHOICE_WITHOUT_PARALLEL, f"{src}/" if has_parallel else "")
    # ``disable_parallel_tool_use`` stays if the target does not have the choice.
    second_src = f"{src}/name" if has_parallel and kind == "tool" else ""
    at = f"{src}/type" if has_parallel and "type" in raw else second_src or src
    if kind == "tool":
        name = raw["name"]
        hosted = next((tool for tool in tools if isinstance(tool, ir.HostedTool) and tool.name == name), None)
        if hosted is None:
            return ir.ToolChoice(mode="named", names=[name], src=at, second_src=second_src, extra=extra)
        return ir.ToolChoice(mode="hosted", names=[server_tool_name(hosted)], src=at, second_src=second_src, extra=extra)
    if not isinstance(kind, str) or kind not in _MODES:
        return ir.ToolChoice(mode="auto", src=src, extra={WHOLE_NODE: raw})
    unread = {f"{src}/name" if has_parallel else "name": raw["name"]} if "name" in raw else None
    return ir.ToolChoice(mode=_MODES[kind], src=at, extra=merge_extra(extra, unread))  # type: ignore[arg-type]  # the values of the table


def encode_tool_choice(choice: ir.ToolChoice, tools: list[JsonObject], losses: Ledger) -> JsonObject | None:
    """Encode the tool choice; None if this format has no such choice. ``tools``: the encoded tools of the request."""
    drop_unheld(choice, losses)
    match choice.mode:
        case "auto" | "none" | "required":
            return {"type": _CHOICES[choice.mode]}
        case "named":
            if not any(tool.get("name") == choice.names[0] for tool in tools):
                losses.dropped(choice, code="without_tools")
                return None
            return {"type": "tool", "name": choice.names[0]}
        case "allowed":
            any_tool = {"type": _CHOICES[choice.allowed_mode]}
            losses.changed(choice, "", any_tool)
            return any_tool
        case "validated":  # tool selection has replaced it
            return {"type": "auto"}
        case "hosted":
            name = hosted_name(choice.names[0]) if choice.names else None
            # Only server tools are encoded with a type.
            if name is None or not any(tool.get("name") == name and "type" in tool for tool in tools):
                losses.dropped(choice, code="server_tool")
                return None
            return {"type": "tool", "name": name}
        case _:
            assert_never(choice.mode)
