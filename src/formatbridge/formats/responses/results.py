"""Results of tool calls in responses: items of their own, of the kind that the call has."""

from __future__ import annotations

from itertools import pairwise

from formatbridge import ir
from formatbridge.formats.responses.parts import decode_content, encode_content
from formatbridge.formats.responses.tools import decode_tool
from formatbridge.formats.shared.parts import weigh_unknown
from formatbridge.formats.shared.reasoning_tokens import drop_token
from formatbridge.formats.shared.unmodelled_fields import joined, rest
from formatbridge.jsontext.codec import dumps
from formatbridge.jsontext.types import JsonObject
from formatbridge.report.ledger import ITSELF, Ledger

_RESULT = frozenset({"type", "call_id", "name", "namespace", "output"})
_SEARCH = frozenset({"type", "call_id", "execution", "tools"})
_NAMED = frozenset({"type", "name"})


def decode_result(raw: JsonObject, src: str) -> ir.ToolResult:
    """Read what a tool of the caller's gave back. Without an id it is marked on itself: only a call without one may wait for it."""
    call_id, output, at = raw.get("call_id"), raw["output"], f"{src}/output"
    content: list[ir.Part] = [ir.Text(output, at)] if type(output) is str else weigh_unknown(decode_content(output, at))
    result = ir.ToolResult(call_id or f"call_{src.rpartition('/')[2]}", content, src)
    if raw["type"] == "custom_tool_call_output":
        result.kind = "custom"
    if len(raw) > 3 or not call_id:  # type and output are always there: with an id, three members are nothing else
        result.name, result.namespace = raw.get("name"), raw.get("namespace") or None
        result.extra, result.id_made = rest(raw, _RESULT), not call_id
    if not call_id:
        result.extra = joined({ITSELF: result.name or ""}, result.extra)
    return result


def decode_search_output(raw: JsonObject, src: str) -> tuple[ir.ToolResult, list[ir.Tool]]:
    """Read the output of a search for tools that the caller ran: a result that names the tools found, and these tools.

    The server offers them to the model from there on, as it does with ``additional_tools``.
    """
    call_id, at = raw.get("call_id"), f"{src}/tools"
    tools = [decode_tool(tool, f"{at}/{index}") for index, tool in enumerate(raw["tools"])]
    names = dumps({"tools": [name for tool in tools for name in _names_of(tool)]}).decode()
    result = ir.ToolResult(call_id or f"call_{src.rpartition('/')[2]}", [ir.Text(names, at)], src, kind="tool_search")
    result.extra, result.id_made = rest(raw, _SEARCH), not call_id
    if not call_id:
        result.extra = joined({ITSELF: ""}, result.extra)
    return result, tools


def leave_repeated_tools(request: ir.Request, body: JsonObject) -> None:
    """Leave a tool that a search found to the request where that has it, too: it stands there with its loading deferred."""
    known = {name for tool in request.tools for name in _names_of(tool)}
    emptied: list[ir.Message] = []
    for before, message in pairwise(request.messages):
        result = before.parts[0] if before.parts else None
        if not message.tools or not isinstance(result, ir.ToolResult) or result.kind != "tool_search":
            continue
        new = []
        for tool in message.tools:
            if known.issuperset(_names_of(tool)):
                _, _, item, _, place = tool.src.split("/")
                repeated = rest(body["input"][int(item)]["tools"][int(place)], _NAMED, f"tools/{place}/")
                result.extra = joined(result.extra, repeated)
            else:
                new.append(tool)
        message.tools = new
        emptied += [] if new else [message]
    if emptied:
        gone = set(map(id, emptied))
        request.messages = [message for message in request.messages if id(message) not in gone]


def _names_of(tool: ir.Tool) -> list[str]:
    """Return the names by which the model may call a tool."""
    if isinstance(tool, ir.Namespace):
        return [f"{tool.name}__{inner.name}" for inner in tool.tools]
    if isinstance(tool, ir.McpServer):
        return [tool.label]
    return [tool.name or tool.kind if isinstance(tool, ir.HostedTool) else tool.name]


def encode_result(result: ir.ToolResult, losses: Ledger, *, is_custom: bool) -> JsonObject:
    """Write a result as an item of its own, of the kind that its call has: some formats have one kind of result only."""
    if result.extra:
        losses.extras(result)
    if result.is_error:
        losses.dropped(result, "is_error")
    if result.cache:
        losses.dropped(result.cache, severity="info")
    if result.signature:
        drop_token(result.signature, "responses", losses)
    kind = "custom_tool_call_output" if is_custom else "function_call_output"
    return {"type": kind, "call_id": result.call_id, "output": encode_content(result.content, losses)}
