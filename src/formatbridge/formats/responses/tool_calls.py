"""Tool calls of responses: items with the text of their arguments, with free text, or with the query of a search for tools."""

from __future__ import annotations

from itertools import pairwise

from formatbridge import ir
from formatbridge.formats.responses.content import decode_content, encode_content
from formatbridge.formats.responses.holds import drop_unheld, drop_unheld_in_answer
from formatbridge.formats.responses.item_ids import ItemIds
from formatbridge.formats.responses.tools import SEARCH, decode_tool
from formatbridge.formats.shared.parts import set_unknown_severity
from formatbridge.formats.shared.tool_arguments import encode_arguments_object, encode_arguments_text
from formatbridge.formats.shared.unmodelled_fields import joined, rest
from formatbridge.jsontext.codec import dumps
from formatbridge.jsontext.types import JsonObject
from formatbridge.report.ledger import WHOLE_NODE, Ledger

_CALL = frozenset({"type", "id", "call_id", "name", "arguments", "namespace"})
_WHOLE_CALL = _CALL | {"status"}
_CUSTOM_CALL = frozenset({"type", "id", "call_id", "name", "input", "namespace"})
_SEARCH_CALL = frozenset({"type", "id", "call_id", "execution", "arguments"})


def decode_call(raw: JsonObject, src: str) -> ir.ToolCall:
    """Read a call of a function."""
    call = ir.ToolCall(raw["call_id"], raw["name"], raw["arguments"], src)
    if not call.id:
        _make_id(call, raw)
    if len(raw) > 4:  # more than what every call has: the type and these three
        call.item_id = raw.get("id")
        # That a call is whole is nothing to lose: the spelling calls it neutral. With the id those are six members, and there are no more.
        is_whole = raw.get("status") == "completed"
        if not is_whole or call.item_id is None or len(raw) != 6:
            call.namespace, call.extra = raw.get("namespace") or None, rest(raw, _WHOLE_CALL if is_whole else _CALL)
    return call


def decode_custom_call(raw: JsonObject, src: str) -> ir.ToolCall:
    """Read a call of a tool that takes free text."""
    call = ir.ToolCall(
        id=raw["call_id"],
        name=raw["name"],
        arguments=raw["input"],
        kind="custom",
        namespace=raw.get("namespace") or None,
        item_id=raw.get("id"),
        src=src,
        extra=rest(raw, _CUSTOM_CALL),
    )
    if not call.id:
        _make_id(call, raw)
    return call


def decode_search_call(raw: JsonObject, src: str) -> ir.ToolCall:
    """Read a call of the search for tools that the caller runs. Its arguments become text, as deltas bring them elsewhere."""
    arguments = raw.get("arguments")
    call = ir.ToolCall(
        id=raw.get("call_id") or "",
        name=SEARCH,
        arguments=arguments if isinstance(arguments, str) else dumps({} if arguments is None else arguments).decode(),
        kind="tool_search",
        item_id=raw.get("id"),
        src=src,
        extra=rest(raw, _SEARCH_CALL),
    )
    if not call.id:  # as the official type allows; the id of the item then stands for it
        _make_id(call, raw)
        call.item_id = None
    return call


def encode_call(call: ir.ToolCall, losses: Ledger) -> JsonObject:
    """Write one tool call of a request's history."""
    drop_unheld(call, losses)
    return _encode_bare_call(call, losses)


def _encode_bare_call(call: ir.ToolCall, losses: Ledger) -> JsonObject:
    """Write what calls have in requests and answers alike."""
    arguments = call.arguments
    text = arguments if type(arguments) is str else encode_arguments_text(call)
    if call.kind == "tool_search":
        query = encode_arguments_object(call, losses)
        made: JsonObject = {"type": "tool_search_call", "call_id": call.id, "execution": "client", "arguments": query}
    elif call.kind == "custom":
        made = {"type": "custom_tool_call", "call_id": call.id, "name": call.name, "input": text}
    else:
        made = {"type": "function_call", "call_id": call.id, "name": call.name, "arguments": text}
    if call.item_id is not None:
        made["id"] = call.item_id
    if call.namespace:
        made["namespace"] = call.namespace
    return made


def encode_answer_call(call: ir.ToolCall, at: int, ids: ItemIds, losses: Ledger) -> JsonObject:
    """Write a call of the caller's tools as an item of an answer, which has an id and, but for custom calls, a status."""
    drop_unheld_in_answer(call, losses)
    made = _encode_bare_call(call, losses)
    if call.has_generated_id or call.kind == "custom":
        ids.note_call(call, at)
    if call.kind == "tool_search":
        made["id"], made["status"] = call.item_id or ids.make("tsc", at), "completed"
    elif call.kind == "custom":  # whose official type has no status
        made["id"] = call.item_id or ids.make("ctc", at)
    else:
        made["id"], made["status"] = call.item_id or ids.make("fc", at), "completed"
    return made


def _make_id(call: ir.ToolCall, raw: JsonObject) -> None:
    """Give a call without an id that of its item, or else one that its place makes."""
    call.id, call.has_generated_id = raw.get("id") or f"call_{call.src.rpartition('/')[2]}", True


_RESULT = frozenset({"type", "call_id", "name", "namespace", "output"})
_SEARCH = frozenset({"type", "call_id", "execution", "tools"})
_NAMED = frozenset({"type", "name"})


def decode_result(raw: JsonObject, src: str) -> ir.ToolResult:
    """Read what a tool of the caller's gave back. Without an id it is marked on itself: only a call without one may wait for it."""
    call_id, output, at = raw.get("call_id"), raw["output"], f"{src}/output"
    content: list[ir.Part] = [ir.Text(output, at)] if type(output) is str else set_unknown_severity(decode_content(output, at))
    result = ir.ToolResult(call_id or f"call_{src.rpartition('/')[2]}", content, src)
    if raw["type"] == "custom_tool_call_output":
        result.kind = "custom"
    if len(raw) > 3 or not call_id:  # type and output are always there: with an id, three members are nothing else
        result.name, result.namespace = raw.get("name"), raw.get("namespace") or None
        result.extra, result.has_generated_id = rest(raw, _RESULT), not call_id
    if not call_id:
        result.extra = joined({WHOLE_NODE: result.name or ""}, result.extra)
    return result


def decode_search_output(raw: JsonObject, src: str) -> tuple[ir.ToolResult, list[ir.Tool]]:
    """Read the output of a search for tools that the caller ran: a result that names the tools found, and these tools.

    The server offers them to the model from there on, as it does with ``additional_tools``.
    """
    call_id, at = raw.get("call_id"), f"{src}/tools"
    tools = [decode_tool(tool, f"{at}/{index}") for index, tool in enumerate(raw["tools"])]
    names = dumps({"tools": [name for tool in tools for name in _names_of(tool)]}).decode()
    result = ir.ToolResult(call_id or f"call_{src.rpartition('/')[2]}", [ir.Text(names, at)], src, kind="tool_search")
    result.extra, result.has_generated_id = rest(raw, _SEARCH), not call_id
    if not call_id:
        result.extra = joined({WHOLE_NODE: ""}, result.extra)
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
    drop_unheld(result, losses)
    kind = "custom_tool_call_output" if is_custom else "function_call_output"
    return {"type": kind, "call_id": result.call_id, "output": encode_content(result.content, losses)}
