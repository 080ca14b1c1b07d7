"""Tool calls and results of Responses: function calls, custom tool calls, and tool searches that the caller runs.

There is a function for each type of call, because each type is a separate item. Only this format has tool searches.
"""

from __future__ import annotations

from itertools import pairwise

from formatbridge import ir
from formatbridge.formats.responses.content import decode_content, encode_content
from formatbridge.formats.responses.holds import drop_unheld, drop_unheld_in_answer
from formatbridge.formats.responses.item_ids import ItemIds
from formatbridge.formats.responses.tools import TOOL_SEARCH, decode_tool
from formatbridge.formats.shared.held_fields import drop_field
from formatbridge.formats.shared.parts import set_unknown_severity
from formatbridge.formats.shared.tool_arguments import encode_arguments_object, encode_arguments_text
from formatbridge.formats.shared.unmodelled_fields import merge_extra, read_extra
from formatbridge.jsontext.codec import dumps
from formatbridge.jsontext.types import JsonObject
from formatbridge.report.ledger import WHOLE_NODE, Ledger

# Keys that the decoder reads in each type of call; it keeps all others in ``extra``, for the report and for the same format.
_CALL = frozenset({"type", "id", "call_id", "name", "arguments", "namespace"})
_COMPLETED_CALL = _CALL | {"status"}
_CUSTOM_CALL = frozenset({"type", "id", "call_id", "name", "input", "namespace"})
_SEARCH_CALL = frozenset({"type", "id", "call_id", "execution", "arguments"})


_ITEM_ID_PREFIXES = {"function": "fc_", "custom": "ctc_", "tool_search": "tsc_"}
"""Kinds of calls to the beginning of the ids of their items. OpenAI's server rejects the id of another type (can1357/oh-my-pi#977)."""
_PREFIXES_OF_OTHER_ITEMS = {
    kind: tuple(other for other in _ITEM_ID_PREFIXES.values() if other != prefix) for kind, prefix in _ITEM_ID_PREFIXES.items()
}
"""Kinds of calls to the beginnings of the ids of other items. A call has such an id if a conversion has changed its kind, for example
from a custom tool call to a function call."""


def decode_call(raw: JsonObject, src: str) -> ir.ToolCall:
    """Decode a function call, a custom tool call, or a tool search call that the caller runs."""
    if raw["type"] != "function_call":
        return _decode_custom_call(raw, src) if raw["type"] == "custom_tool_call" else _decode_search_call(raw, src)
    # {"type": "function_call", "id": "fc_1", "call_id": "call_1", "name": "f", "arguments": "{\"a\": 1}", "status": "completed"}
    # ``id`` names the item, and ``call_id`` pairs the call with its result. Only the latter exists in other formats.
    call = ir.ToolCall(raw["call_id"], raw["name"], raw["arguments"], src)
    if not call.id:
        _generate_id(call, raw)
    call.item_id, call.namespace = raw.get("id"), raw.get("namespace") or None
    # The status ``completed`` is a neutral value.
    call.extra = read_extra(raw, _COMPLETED_CALL if raw.get("status") == "completed" else _CALL)
    return call


def encode_call(call: ir.ToolCall, losses: Ledger) -> JsonObject:
    """Encode a tool call as an input item."""
    drop_unheld(call, losses)
    item = _encode_any_call(call, losses)
    if call.item_id is not None and call.item_id.startswith(_PREFIXES_OF_OTHER_ITEMS[call.kind]):
        drop_field(call, "item_id", losses)
        del item["id"]
    return item


def _encode_any_call(call: ir.ToolCall, losses: Ledger) -> JsonObject:
    """Encode the fields that a call has in requests and responses."""
    arguments = call.arguments
    text = arguments if type(arguments) is str else encode_arguments_text(call)
    if call.kind == "tool_search":
        query = encode_arguments_object(call, losses)
        item: JsonObject = {"type": "tool_search_call", "call_id": call.id, "execution": "client", "arguments": query}
    elif call.kind == "custom":
        item = {"type": "custom_tool_call", "call_id": call.id, "name": call.name, "input": text}
    else:
        item = {"type": "function_call", "call_id": call.id, "name": call.name, "arguments": text}
    if call.item_id is not None:
        item["id"] = call.item_id
    if call.namespace:
        item["namespace"] = call.namespace
    return item


def encode_answer_call(call: ir.ToolCall, index: int, ids: ItemIds, losses: Ledger) -> JsonObject:
    """Encode a tool call as an output item, which has an id and, except a custom tool call, a status."""
    drop_unheld_in_answer(call, losses)
    item = _encode_any_call(call, losses)
    # Events of a stream name their item by its id (``item_id``), so each output item has one.
    if call.has_generated_id or call.kind == "custom":
        ids.note_call(call, index)
    prefix, other_prefixes, item_id = _ITEM_ID_PREFIXES[call.kind], _PREFIXES_OF_OTHER_ITEMS[call.kind], call.item_id
    if item_id is not None and item_id.startswith(other_prefixes):  # the server called a function for this tool of the caller
        item_id = prefix + item_id.partition("_")[2]
    item["id"] = item_id or ids.generate(prefix[:-1], index)
    if call.kind != "custom":  # the official type has no status
        item["status"] = "completed"
    return item


def _decode_custom_call(raw: JsonObject, src: str) -> ir.ToolCall:
    """Decode a custom tool call, whose input is free text."""
    # {"type": "custom_tool_call", "id": "ctc_1", "call_id": "call_1", "name": "sql", "input": "SELECT 1"}
    call = ir.ToolCall(
        id=raw["call_id"],
        name=raw["name"],
        arguments=raw["input"],
        kind="custom",
        namespace=raw.get("namespace") or None,
        item_id=raw.get("id"),
        src=src,
        extra=read_extra(raw, _CUSTOM_CALL),
    )
    if not call.id:
        _generate_id(call, raw)
    return call


def _decode_search_call(raw: JsonObject, src: str) -> ir.ToolCall:
    """Decode a tool search call that the caller runs. Its arguments become JSON text, as in other tool calls."""
    # {"type": "tool_search_call", "id": "tsc_1", "call_id": "call_1", "execution": "client", "arguments": {"query": "mail"}}
    # Its arguments are a value here, but text in a function call (official SDK, ``ResponseToolSearchCall``).
    arguments = raw.get("arguments")
    call = ir.ToolCall(
        id=raw.get("call_id") or "",
        name=TOOL_SEARCH,
        arguments=arguments if isinstance(arguments, str) else dumps({} if arguments is None else arguments).decode(),
        kind="tool_search",
        item_id=raw.get("id"),
        src=src,
        extra=read_extra(raw, _SEARCH_CALL),
    )
    if not call.id:  # the official type allows null; the id of the item replaces it
        _generate_id(call, raw)
        call.item_id = None
    return call


def _generate_id(call: ir.ToolCall, raw: JsonObject) -> None:
    """Set the id of a call without one: the id of its item, or else an id from its index."""
    call.id, call.has_generated_id = raw.get("id") or f"call_{call.src.rpartition('/')[2]}", True


# Keys that the decoder reads in results; it keeps all others in ``extra``, for the report and for the same format.
_RESULT = frozenset({"type", "call_id", "name", "namespace", "output"})
_SEARCH_OUTPUT = frozenset({"type", "call_id", "execution", "tools"})
_IDENTITY = frozenset({"type", "name"})


def decode_result(raw: JsonObject, src: str) -> ir.ToolResult:
    """Decode a tool result. One without a call id is marked in its fields, because only a call without an id may match it."""
    # {"type": "function_call_output", "call_id": "call_1", "output": "12 degrees"}, or a list of content parts as its output
    # ``call_id`` is optional, so a result may name its tool instead (official SDK, ``FunctionCallOutput``).
    call_id, output, output_src = raw.get("call_id"), raw["output"], f"{src}/output"
    content: list[ir.Part] = (
        [ir.Text(output, output_src)] if type(output) is str else set_unknown_severity(decode_content(output, output_src))
    )
    result = ir.ToolResult(call_id or f"call_{src.rpartition('/')[2]}", content, src)
    if raw["type"] == "custom_tool_call_output":
        result.kind = "custom"
    result.name, result.namespace = raw.get("name"), raw.get("namespace") or None
    result.extra, result.has_generated_id = read_extra(raw, _RESULT), not call_id
    # ``pair_results_without_ids`` finds the call later. Until then the mark reports the whole result as an orphan.
    if not call_id:
        result.extra = merge_extra({WHOLE_NODE: result.name or ""}, result.extra)
    return result


def encode_result(result: ir.ToolResult, losses: Ledger, kind: str) -> JsonObject:
    """Encode a tool result as an item. ``kind``: that of its call, because some formats have only one type of result.

    The tools that a search returned are in the next message.
    """
    drop_unheld(result, losses)
    if kind == "tool_search" and result.kind == "tool_search":
        return {"type": "tool_search_output", "call_id": result.call_id, "execution": "client", "tools": []}
    type = "custom_tool_call_output" if kind == "custom" else "function_call_output"
    return {"type": type, "call_id": result.call_id, "output": encode_content(result.content, losses)}


def decode_search_output(raw: JsonObject, src: str) -> tuple[ir.ToolResult, list[ir.Tool]]:
    """Decode the output of a tool search that the caller ran: a result with the names of the tools, and the tools.

    From this item on, the model can call these tools, like ``additional_tools``.
    """
    # {"type": "tool_search_output", "call_id": "call_1", "execution": "client", "tools": [{"type": "function", "name": "f"}]}
    # Other formats have no such item: there its tools become tools of the conversation, and the model reads their names.
    call_id, tools_src = raw.get("call_id"), f"{src}/tools"
    tools = [decode_tool(tool, f"{tools_src}/{index}") for index, tool in enumerate(raw["tools"])]
    names = dumps({"tools": [name for tool in tools for name in _callable_names(tool)]}).decode()
    result = ir.ToolResult(call_id or f"call_{src.rpartition('/')[2]}", [ir.Text(names, tools_src)], src, kind="tool_search")
    result.extra, result.has_generated_id = read_extra(raw, _SEARCH_OUTPUT), not call_id
    if not call_id:
        result.extra = merge_extra({WHOLE_NODE: ""}, result.extra)
    return result, tools


def remove_repeated_tools(request: ir.Request, body: JsonObject) -> None:
    """Remove the tools of search outputs that the request also defines, with ``defer_loading``.

    Their other fields become unmodelled fields of the search result.
    """
    # Callers send a deferred tool in the request as well as in the output of its search (fixture tools_search_client_repeated).
    request_names = {name for tool in request.tools for name in _callable_names(tool)}
    removed: list[ir.Message] = []
    for previous, message in pairwise(request.messages):
        result = previous.parts[0] if previous.parts else None
        if not message.tools or not isinstance(result, ir.ToolResult) or result.kind != "tool_search":
            continue
        kept = []
        for tool in message.tools:
            if request_names.issuperset(_callable_names(tool)):
                _, _, item_index, _, tool_index = tool.src.split("/")
                fields = read_extra(body["input"][int(item_index)]["tools"][int(tool_index)], _IDENTITY, f"tools/{tool_index}/")
                result.extra = merge_extra(result.extra, fields)
            else:
                kept.append(tool)
        message.tools = kept
        removed += [] if kept else [message]
    if removed:
        removed_ids = set(map(id, removed))
        request.messages = [message for message in request.messages if id(message) not in removed_ids]


def _callable_names(tool: ir.Tool) -> list[str]:
    """Return the names by which the model can call a tool."""
    # Formats without namespaces have the name of the namespace as a prefix, as the encoders write it.
    if isinstance(tool, ir.Namespace):
        return [f"{tool.name}__{inner.name}" for inner in tool.tools]
    if isinstance(tool, ir.McpServer):
        return [tool.label]
    return [tool.name or tool.kind if isinstance(tool, ir.HostedTool) else tool.name]
