"""Tool definitions and tool choice of generate_content."""

from __future__ import annotations

from typing import assert_never

from formatbridge import ir
from formatbridge.formats.generate_content.holds import drop_unheld
from formatbridge.formats.generate_content.hosted_tools import decode_hosted_tool, decode_server, encode_hosted_tool, encode_server
from formatbridge.formats.generate_content.reasoning import word_of
from formatbridge.formats.generate_content.schema import decode_schema
from formatbridge.formats.shared.tool_selection import note_excess, server_word
from formatbridge.formats.shared.unmodelled_fields import joined, rest
from formatbridge.jsontext.types import JsonObject
from formatbridge.report.ledger import Ledger

_FUNCTION = frozenset({"name", "description", "parameters", "parametersJsonSchema", "response", "responseJsonSchema"})
_OBJECT = frozenset({"object", "null"})
_PLAIN_FUNCTION = frozenset({"name", "description", "parameters"})
_CHOICE = frozenset({"mode", "allowedFunctionNames"})
_MOST_FUNCTIONS = 512
_MODES = ("MODE_UNSPECIFIED", "AUTO", "ANY", "NONE", "VALIDATED")


def decode_tools(raw: JsonObject, src: str) -> list[ir.Tool]:
    """Read one entry of ``tools``, which may hold many functions and several of the server's tools."""
    tools: list[ir.Tool] = []
    for member, value in raw.items():
        if value is None:
            continue
        if member == "functionDeclarations":
            tools += [decode_function(item, f"{src}/functionDeclarations/{index}") for index, item in enumerate(value)]
        elif member == "mcpServers":
            tools += [decode_server(item, f"{src}/mcpServers/{index}") for index, item in enumerate(value)]
        else:
            tools.append(decode_hosted_tool(member, value, src))
    return tools


def encode_tools(tools: list[ir.Tool], losses: Ledger) -> JsonObject:
    """Write the tools of a request, where there is any: all functions in one entry, first; all remote servers in another, last."""
    functions: list[JsonObject] = []
    hosted: dict[str, JsonObject] = {}
    servers: list[JsonObject] = []
    for tool in tools:
        match tool:
            case ir.FunctionTool():
                functions.append(encode_function(tool, losses))
            case ir.HostedTool():
                made = encode_hosted_tool(tool, losses)
                if made is not None:
                    hosted.setdefault(str(made), made)
            case ir.McpServer():
                server = encode_server(tool, losses)
                servers += [server] if server else []
            case ir.CustomTool() | ir.Namespace():
                losses.dropped(tool, severity="impossible")
            case _:
                assert_never(tool)
    if len(functions) > _MOST_FUNCTIONS:
        note_excess(tools, _MOST_FUNCTIONS, losses)
    first = [{"functionDeclarations": functions}] if functions else []
    entries = [*first, *hosted.values(), *([{"mcpServers": servers}] if servers else [])]
    return {"tools": entries} if entries else {}


def decode_function(raw: JsonObject, src: str) -> ir.FunctionTool:
    """Read one function; of two schemas for the same thing the JSON Schema counts."""
    schema = raw.get("parametersJsonSchema")
    if len(raw) == 3 and isinstance(schema, dict) and "description" in raw:  # with the name, which is required, this is all
        return ir.FunctionTool(raw["name"], raw["description"], schema, False, src)
    parameters, leftover = _decode_either(raw, "parameters", "parametersJsonSchema")
    if _PLAIN_FUNCTION.issuperset(raw):
        return ir.FunctionTool(raw["name"], raw.get("description"), parameters, False, src, leftover)
    output, unread = _decode_either(raw, "response", "responseJsonSchema")
    return ir.FunctionTool(
        name=raw["name"],
        description=raw.get("description"),
        parameters=parameters,
        output_schema=output,
        strict=False,
        src=src,
        extra=joined(leftover, unread, rest(raw, _FUNCTION)),
    )


def _decode_either(raw: JsonObject, dialect: str, plain: str) -> tuple[JsonObject | None, JsonObject | None]:
    """Read a schema that may stand under two names; the second value is what was left unread."""
    schema, given = raw.get(plain), raw.get(dialect)
    if isinstance(schema, dict):
        return schema, {dialect: given} if given is not None else None
    leftover = {plain: schema} if schema is not None else None
    if given is None:
        return None, leftover
    is_nullable = dialect == "parameters" and given.get("nullable") is True  # arguments are an object, whatever their schema allows
    made, is_whole = decode_schema({key: value for key, value in given.items() if key != "nullable"} if is_nullable else given)
    if not is_whole:
        leftover = joined(leftover, {dialect: given})
    kinds = made.get("type")
    if dialect == "parameters" and isinstance(kinds, list) and _OBJECT.issuperset(kinds):
        made["type"] = "object"
        leftover = joined(leftover, {"parameters/type": given["type"]} if "null" in kinds else None)
    if is_nullable:
        leftover = joined(leftover, {"parameters/nullable": True})
    return made, leftover


def encode_function(tool: ir.FunctionTool, losses: Ledger) -> JsonObject:
    """Write one function; its schemas stay as they are."""
    drop_unheld(tool, losses)
    made: JsonObject = {"name": tool.name}
    if tool.description is not None:
        made["description"] = tool.description
    if tool.parameters is not None:
        made["parametersJsonSchema"] = tool.parameters
    if tool.output_schema is not None:
        made["responseJsonSchema"] = tool.output_schema
    return made


def decode_tool_choice(raw: JsonObject, tools: list[ir.Tool], src: str) -> ir.ToolChoice | None:
    """Read ``functionCallingConfig``, which is about functions only; an unknown mode counts as AUTO."""
    word, names = word_of(raw.get("mode"), _MODES) or "MODE_UNSPECIFIED", raw.get("allowedFunctionNames") or []
    extra = rest(raw, _CHOICE)
    free = [server_word(tool) for tool in tools if isinstance(tool, ir.HostedTool | ir.McpServer)]
    if word == "ANY" and names:
        if len(names) == 1:
            return ir.ToolChoice(mode="named", names=names, src=src, extra=extra)
        return ir.ToolChoice(mode="allowed", names=names, free=free, inner="required", src=src, extra=extra)
    if word == "VALIDATED":
        return ir.ToolChoice(mode="validated", names=names, free=free, src=src, extra=extra)
    unread: JsonObject = {"allowedFunctionNames": names} if names else {}
    if word not in _MODES:
        unread["mode"] = raw["mode"]
    elif word == "MODE_UNSPECIFIED" and not names and not extra:
        return None
    extra = joined(extra, unread or None)
    if word in ("ANY", "NONE"):
        return ir.ToolChoice(mode="required" if word == "ANY" else "none", free=free, src=src, extra=extra)
    return ir.ToolChoice(mode="auto", src=src, extra=extra)


def encode_tool_choice(choice: ir.ToolChoice, losses: Ledger) -> JsonObject | None:
    """Write which tools may or must be called; None where the target cannot say it."""
    drop_unheld(choice, losses)
    if choice.mode == "hosted":
        losses.dropped(choice, code="server_tool", severity="impossible")
        return None
    match choice.mode:
        case "auto":
            return {"mode": "AUTO"}
        case "none":
            return {"mode": "NONE"}
        case "required":
            return {"mode": "ANY"}
        case "named":
            return {"mode": "ANY", "allowedFunctionNames": choice.names}
        case "allowed":
            if choice.inner == "required":
                return {"mode": "ANY", "allowedFunctionNames": choice.names}
            made: JsonObject = losses.changed(choice, "", {"mode": "AUTO"})
            return made
        case "validated":
            return {"mode": "VALIDATED"} | ({"allowedFunctionNames": choice.names} if choice.names else {})
        case _:
            assert_never(choice.mode)
