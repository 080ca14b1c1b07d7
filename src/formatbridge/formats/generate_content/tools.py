"""Tool definitions and the tool choice of Gemini.

One entry of ``tools`` holds many functions and several server tools, so ``decode_tool`` returns a list.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain
from typing import assert_never

from formatbridge import ir
from formatbridge.formats.generate_content.holds import drop_unheld
from formatbridge.formats.generate_content.hosted_tools import decode_hosted_tool, decode_server, encode_hosted_tool, encode_server
from formatbridge.formats.generate_content.reasoning import enum_name
from formatbridge.formats.generate_content.schema import decode_schema
from formatbridge.formats.shared.tool_selection import note_excess, server_tool_name
from formatbridge.formats.shared.unmodelled_fields import merge_extra, read_extra
from formatbridge.jsontext.types import JsonObject
from formatbridge.report.ledger import Ledger

_FUNCTION = frozenset({"name", "description", "parameters", "parametersJsonSchema", "response", "responseJsonSchema"})
_OBJECT = frozenset({"object", "null"})
_CHOICE = frozenset({"mode", "allowedFunctionNames"})
_MOST_FUNCTIONS = 512
"""The server rejects more: "At most 512 function declarations can be specified" (google-gemini/gemini-cli#25440)."""
COMBINATION_FLAG = "includeServerSideToolInvocations"
"""The field of ``toolConfig`` for functions next to tools that the server runs.

Source: the official SDK, ``ToolConfig``; ai.google.dev/gemini-api/docs/tool-combination.
"""
_NOT_BUILT_IN = frozenset({"functionDeclarations", "mcpServers", "computerUse"})
# Source: the official SDK, ``FunctionCallingConfigMode``, and the numbers of the vendor's protocol definitions.
_MODES = ("MODE_UNSPECIFIED", "AUTO", "ANY", "NONE", "VALIDATED")


def decode_tool(raw: JsonObject, src: str) -> list[ir.Tool]:
    """Decode one entry of ``tools``, which may hold many functions and several server tools."""
    # {"functionDeclarations": [{"name": "f", "parameters": {...}}], "googleSearch": {}}
    tools: list[ir.Tool] = []
    for field, value in raw.items():
        if value is None:
            continue
        if field == "functionDeclarations":
            tools += [decode_function(item, f"{src}/functionDeclarations/{index}") for index, item in enumerate(value)]
        elif field == "mcpServers":
            tools += [decode_server(item, f"{src}/mcpServers/{index}") for index, item in enumerate(value)]
        else:
            tools.append(decode_hosted_tool(field, value, src))
    return tools


def encode_tools(tools: list[ir.Tool], losses: Ledger) -> JsonObject:
    """Encode the tools of a request: all functions in the first entry, all MCP servers in the last."""
    # All functions are in one entry. A server tool that is defined twice, such as under two names of another format, is sent once.
    functions: list[JsonObject] = []
    hosted: dict[str, JsonObject] = {}
    servers: list[JsonObject] = []
    for tool in tools:
        match tool:
            case ir.FunctionTool():
                functions.append(encode_function(tool, losses))
            case ir.HostedTool():
                entry = encode_hosted_tool(tool, losses)
                if entry is not None:
                    hosted.setdefault(str(entry), entry)
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


def combines_tools(entries: Sequence[JsonObject]) -> bool:
    """Return whether encoded tools have functions and tools that the server runs.

    "Please enable tool_config.include_server_side_tool_invocations to use Built-in tools with Function calling." (cloudwego/eino-ext#761,
    ag2ai/ag2#3145). Models before Gemini 3 reject this combination with and without the flag (prism-php/prism#972).
    """
    return len(entries) > 1 and "functionDeclarations" in entries[0] and not _NOT_BUILT_IN.issuperset(chain.from_iterable(entries))


def decode_function(raw: JsonObject, src: str) -> ir.FunctionTool:
    """Decode one function declaration; of two schemas for the same value the JSON Schema has priority."""
    # ``parametersJsonSchema`` "is mutually exclusive with `parameters`" (official SDK, ``FunctionDeclaration``).
    parameters, unread_fields = _decode_one_of(raw, "parameters", "parametersJsonSchema")
    output, unread_response = _decode_one_of(raw, "response", "responseJsonSchema")
    return ir.FunctionTool(
        name=raw["name"],
        description=raw.get("description"),
        parameters=parameters,
        output_schema=output,
        strict=False,
        src=src,
        extra=merge_extra(unread_fields, unread_response, read_extra(raw, _FUNCTION)),
    )


def _decode_one_of(raw: JsonObject, dialect: str, json_schema_field: str) -> tuple[JsonObject | None, JsonObject | None]:
    """Decode a schema that two fields can hold; the second value is the unread fields."""
    schema, raw_schema = raw.get(json_schema_field), raw.get(dialect)
    if isinstance(schema, dict):
        return schema, {dialect: raw_schema} if raw_schema is not None else None
    unread = {json_schema_field: schema} if schema is not None else None
    if raw_schema is None:
        return None, unread
    is_nullable = dialect == "parameters" and raw_schema.get("nullable") is True  # arguments are always an object
    decoded, is_complete = decode_schema(
        {key: value for key, value in raw_schema.items() if key != "nullable"} if is_nullable else raw_schema
    )
    if not is_complete:
        unread = merge_extra(unread, {dialect: raw_schema})
    types = decoded.get("type")
    if dialect == "parameters" and isinstance(types, list) and _OBJECT.issuperset(types):
        decoded["type"] = "object"
        unread = merge_extra(unread, {"parameters/type": raw_schema["type"]} if "null" in types else None)
    if is_nullable:
        unread = merge_extra(unread, {"parameters/nullable": True})
    return decoded, unread


def encode_function(tool: ir.FunctionTool, losses: Ledger) -> JsonObject:
    """Encode one function declaration; its schemas do not change."""
    drop_unheld(tool, losses)
    # The fields for JSON Schema accept more keywords than ``parameters`` (official SDK, ``FunctionDeclaration``, ``Schema``).
    # So nothing must be converted.
    declaration: JsonObject = {"name": tool.name}
    if tool.description is not None:
        declaration["description"] = tool.description
    if tool.parameters is not None:
        declaration["parametersJsonSchema"] = tool.parameters
    if tool.output_schema is not None:
        declaration["responseJsonSchema"] = tool.output_schema
    return declaration


def decode_tool_choice(raw: JsonObject, tools: list[ir.Tool], src: str) -> ir.ToolChoice | None:
    """Decode ``functionCallingConfig``, which applies to functions only; an unknown mode is decoded as AUTO."""
    # {"mode": "ANY", "allowedFunctionNames": ["f"]}
    mode, names = enum_name(raw.get("mode"), _MODES) or "MODE_UNSPECIFIED", raw.get("allowedFunctionNames") or []
    extra = read_extra(raw, _CHOICE)
    free = [server_tool_name(tool) for tool in tools if isinstance(tool, ir.HostedTool | ir.McpServer)]
    if mode == "ANY" and names:
        if len(names) == 1:
            return ir.ToolChoice(mode="named", names=names, src=src, extra=extra)
        return ir.ToolChoice(mode="allowed", names=names, always_allowed=free, allowed_mode="required", src=src, extra=extra)
    if mode == "VALIDATED":
        return ir.ToolChoice(mode="validated", names=names, always_allowed=free, src=src, extra=extra)
    unread: JsonObject = {"allowedFunctionNames": names} if names else {}
    if mode not in _MODES:
        unread["mode"] = raw["mode"]
    elif mode == "MODE_UNSPECIFIED" and not names and not extra:
        return None
    extra = merge_extra(extra, unread or None)
    if mode in ("ANY", "NONE"):
        return ir.ToolChoice(mode="required" if mode == "ANY" else "none", always_allowed=free, src=src, extra=extra)
    return ir.ToolChoice(mode="auto", src=src, extra=extra)


def encode_tool_choice(choice: ir.ToolChoice, losses: Ledger, *, is_combined: bool = False) -> JsonObject | None:
    """Encode the tool choice; None if the format cannot express it.

    ``is_combined``: the request has functions and tools that the server runs. Their default is VALIDATED, and AUTO is not supported (docs,
    "Combine built-in tools and function calling"; vercel/ai#13920). Both let the model decide, so ``auto`` is omitted.
    """
    drop_unheld(choice, losses)
    if choice.mode == "hosted":
        losses.dropped(choice, code="server_tool")
        return None
    match choice.mode:
        case "auto":
            return None if is_combined else {"mode": "AUTO"}
        case "none":
            return {"mode": "NONE"}
        # ANY: "Model is constrained to always predicting function calls only" (official SDK, ``FunctionCallingConfigMode``).
        case "required":
            return {"mode": "ANY"}
        case "named":
            return {"mode": "ANY", "allowedFunctionNames": choice.names}
        case "allowed":
            if choice.allowed_mode == "required":
                return {"mode": "ANY", "allowedFunctionNames": choice.names}
            config: JsonObject = losses.changed(choice, "", {"mode": "VALIDATED" if is_combined else "AUTO"})
            return config
        case "validated":
            return {"mode": "VALIDATED"} | ({"allowedFunctionNames": choice.names} if choice.names else {})
        case _:
            assert_never(choice.mode)
