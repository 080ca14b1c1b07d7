"""Tool definitions and tool choice of messages."""

from __future__ import annotations

from typing import assert_never

from formatbridge import ir
from formatbridge.formats.messages.content import decode_cache, encode_cache
from formatbridge.formats.messages.holds import drop_unheld
from formatbridge.formats.messages.hosted_tools import (
    SERVER_NAMES,
    decode_hosted_tool,
    encode_hosted_tool,
    encode_server,
    hosted_name,
)
from formatbridge.formats.messages.schema import encode_schema
from formatbridge.formats.shared.held_fields import drop_field
from formatbridge.formats.shared.schemas import fold_parameters, has_root_union
from formatbridge.formats.shared.tool_selection import server_word
from formatbridge.formats.shared.unmodelled_fields import joined, rest
from formatbridge.jsontext.types import JsonObject
from formatbridge.report.ledger import WHOLE_NODE, Ledger

_FUNCTION = frozenset({
    "type", "name", "description", "input_schema", "strict", "defer_loading", "allowed_callers", "cache_control",
})  # fmt: skip
_CHOICE = frozenset({"type", "name", "disable_parallel_tool_use"})
_ODD_CHOICE = frozenset({"type", "name"})
_CODE_CALLERS = ("code_execution_20250825", "code_execution_20260120", "code_execution_20260521")
_MODES = {"auto": "auto", "any": "required", "none": "none"}
_CHOICES = {"auto": "auto", "required": "any", "none": "none"}


def decode_tool(raw: JsonObject, src: str) -> ir.Tool:
    """Read one tool; whatever is not the caller's own function is the vendor's."""
    if raw.get("type") not in (None, "custom"):
        return decode_hosted_tool(raw, src)
    tool = ir.FunctionTool(raw["name"], raw.get("description"), raw["input_schema"], raw.get("strict") or False, src)
    if len(raw) > 3 or "description" not in raw:  # of three members with a description, the others are the required two
        callers = raw.get("allowed_callers")
        tool.callers = ["programmatic" if word in _CODE_CALLERS else word for word in callers] if callers else None
        tool.defer_loading, tool.cache, tool.extra = raw.get("defer_loading"), decode_cache(raw, src), rest(raw, _FUNCTION)
    return tool


def encode_tools(tools: list[ir.Tool], losses: Ledger) -> JsonObject:
    """Write the tools of a request: ``tools`` and ``mcp_servers``, each where there is any."""
    others = [tool for tool in tools if type(tool) is not ir.FunctionTool]  # most requests have none
    has_code = any(isinstance(tool, ir.HostedTool) and tool.family == "code" for tool in others)
    made: list[JsonObject] = []
    servers: list[JsonObject] = []
    known: set[str] = set()
    for tool in tools:
        definition = encode_tool(tool, f"/tools/{len(made)}", has_code, known, servers, losses)
        if definition is not None:
            made.append(definition)
    return ({"mcp_servers": servers} if servers else {}) | ({"tools": made} if made else {})


def servers_of(tools: list[ir.Tool]) -> set[str]:
    """Tell the server's tools by their families, of which there can be one each, and remote servers by the names that are theirs alone."""
    families = {tool.family for tool in tools if isinstance(tool, ir.HostedTool) and tool.family in SERVER_NAMES}
    return families | {f"mcp {tool.label}" for tool in tools if isinstance(tool, ir.McpServer)}


def encode_tool(
    tool: ir.Tool, at: str, has_code: bool, known: set[str], servers: list[JsonObject], losses: Ledger
) -> JsonObject | None:
    """Write the definition of a tool, at a pointer in the target; None where the target has none like it, or has it already.

    ``has_code``: there is a server tool whose code may call it. ``known``: what ``servers_of`` says of those that are there. ``servers``
    takes the remote ones.
    """
    match tool:
        case ir.FunctionTool():
            return encode_function(tool, at, has_code, losses)
        case ir.HostedTool() | ir.McpServer() if servers_of([tool]) & known:
            # Another server of the same name has other tools; a second search is the first.
            losses.dropped(tool, code="too_many", severity="impossible" if isinstance(tool, ir.McpServer) else "lossy")
            return None
        case ir.HostedTool():
            hosted = encode_hosted_tool(tool, losses)
            known |= servers_of([tool]) if hosted else set()
            return hosted
        case ir.McpServer():
            pair = encode_server(tool, losses)
            known |= servers_of([tool]) if pair else set()
            servers += pair[:1] if pair else ()
            return pair[1] if pair else None
        case ir.CustomTool() | ir.Namespace():
            losses.dropped(tool, severity="impossible")
            return None
        case _:
            assert_never(tool)


def encode_function(tool: ir.FunctionTool, at: str, has_code: bool, losses: Ledger) -> JsonObject:
    """Write a function, at a pointer in the target. ``has_code``: there is a server tool whose code may call it."""
    drop_unheld(tool, losses)
    schema = tool.parameters
    made: JsonObject = {"name": tool.name}
    if tool.description is not None:
        made["description"] = tool.description
    made["input_schema"] = (
        schema
        if schema and schema.get("type") == "object" and not tool.strict and not has_root_union(schema)
        else _encode_parameters(tool, at, losses)
    )
    if tool.strict:
        made["strict"] = True
    if tool.defer_loading:
        made["defer_loading"] = True
    if tool.callers:
        made |= _encode_callers(tool, tool.callers, has_code, losses)
    return made | encode_cache(tool.cache, losses) if tool.cache else made


def _encode_parameters(tool: ir.FunctionTool, at: str, losses: Ledger) -> JsonObject:
    """Write the schema of a function's arguments, which the server wants to be of one type, and to say so."""
    schema = tool.parameters
    if not schema:
        nothing: JsonObject = {"type": "object", "properties": {}} | ({"additionalProperties": False} if tool.strict else {})
        losses.added(f"{at}/input_schema", nothing)
        return nothing
    kind = schema.get("type")
    if kind not in (None, "object"):
        is_among = isinstance(kind, list) and "object" in kind  # arguments are an object, whatever else they could be
        losses.changed(tool, "parameters/type", "object", severity="info" if is_among else "lossy")
        schema = schema | {"type": "object"}
    schema = fold_parameters(tool, schema, losses)
    if tool.strict:
        schema = encode_schema(schema, tool, "parameters", f"{at}/input_schema", losses)
    if schema.get("type") == "object":
        return schema
    losses.added(f"{at}/input_schema/type", "object")
    return {"type": "object"} | schema | {"type": "object"}


def _encode_callers(tool: ir.FunctionTool, callers: list[str], has_code: bool, losses: Ledger) -> JsonObject:
    words = {"direct": "direct"} | ({"programmatic": _CODE_CALLERS[-1]} if has_code else {})
    kept = [words[word] for word in callers if word in words]
    if len(kept) < len(callers):
        drop_field(tool, "callers", losses)
        return {}
    return {"allowed_callers": kept} if kept != ["direct"] else {}


# The choice among tools.


def decode_tool_choice(raw: JsonObject, tools: list[ir.Tool], src: str) -> ir.ToolChoice:
    """Read which tools may or must be called; whether one at a time stands with the settings."""
    kind = "tool" if raw.get("type") is None else raw["type"]
    extra = rest(raw, _CHOICE if isinstance(raw.get("disable_parallel_tool_use"), bool) else _ODD_CHOICE)
    if kind == "tool":
        name = raw["name"]
        hosted = next((tool for tool in tools if isinstance(tool, ir.HostedTool) and tool.name == name), None)
        if hosted is None:
            return ir.ToolChoice(mode="named", names=[name], src=src, extra=extra)
        if raw.get("disable_parallel_tool_use"):  # which stays where no such tool can be forced
            src, extra = f"{src}/name", rest(raw, _CHOICE, f"{src}/")
        return ir.ToolChoice(mode="hosted", names=[server_word(hosted)], src=src, extra=extra)
    if not isinstance(kind, str) or kind not in _MODES:
        return ir.ToolChoice(mode="auto", src=src, extra={WHOLE_NODE: raw})
    left = {"name": raw["name"]} if "name" in raw else None
    return ir.ToolChoice(mode=_MODES[kind], src=src, extra=joined(extra, left))  # type: ignore[arg-type]  # the table's words


def encode_tool_choice(choice: ir.ToolChoice, tools: list[JsonObject], losses: Ledger) -> JsonObject | None:
    """Write which tools may or must be called; None where the target cannot say it. ``tools``: those that have been written."""
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
            made = {"type": _CHOICES[choice.inner]}
            losses.changed(choice, "", made)
            return made
        case "validated":  # told as a free choice before it comes here
            return {"type": "auto"}
        case "hosted":
            name = hosted_name(choice.names[0]) if choice.names else None
            if name is None or not any(
                tool.get("name") == name and "type" in tool for tool in tools
            ):  # no function has a type here
                losses.dropped(choice, code="server_tool", severity="impossible")
                return None
            return {"type": "tool", "name": name}
        case _:
            assert_never(choice.mode)
