"""Hosted tools of Responses, MCP servers, and the items of their calls.

A call has its result as a field, so one function encodes both, and ``encode_generated_image`` is here because an image is an item.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from hashlib import sha256

from formatbridge import ir
from formatbridge.dialect import DialectRules
from formatbridge.formats.responses.holds import drop_unheld, drop_unheld_in_answer
from formatbridge.formats.responses.item_ids import ItemIds
from formatbridge.formats.shared.media import bare_mime
from formatbridge.formats.shared.names import with_legal_letters
from formatbridge.formats.shared.parts import encode_mime
from formatbridge.formats.shared.unmodelled_fields import merge_extra, read_extra
from formatbridge.jsontext.codec import dumps
from formatbridge.jsontext.pointers import escape
from formatbridge.jsontext.types import JsonObject
from formatbridge.report.ledger import WHOLE_NODE, Ledger
from formatbridge.report.loss_rules import LOSS_RULES
from formatbridge.report.losses import Severity

# Source of the types: the official SDK, ``WebSearchTool.type`` and ``WebSearchPreviewTool.type``, which have dated names, too.
FAMILIES = {
    "web_search": "web_search",
    "web_search_2025_08_26": "web_search",
    "web_search_preview": "web_search",
    "web_search_preview_2025_03_11": "web_search",
    "code_interpreter": "code",
    "image_generation": "image_generation",
    "tool_search": "tool_search",
}
"""Types of hosted tools, to the families that other formats have, too."""

HOSTED: Mapping[str, str] = {
    "web_search": "web_search",
    "code": "code_interpreter",
    "image_generation": "image_generation",
    "tool_search": "tool_search",
}
"""Families of hosted tools that this format has, to the type of the tool."""

# Source: the official SDK, ``ToolChoiceTypes.type``, which has ``web_search_preview`` and not ``web_search``.
FORCED_BY_ALLOWED_TOOLS = frozenset({"web_search"})
"""Tools that a choice of type ``allowed_tools`` forces, as its only tool.

A choice of one tool has only an older type for them, which must equal the type of a tool in the request. The server does not compare the
types of allowed tools.
"""

# Keys that the decoder reads in each type of tool; it keeps all others in ``extra``, for the report and for the same format.
_SEARCH_PREVIEW = frozenset({"type", "search_context_size", "user_location"})
_SEARCH = _SEARCH_PREVIEW | {"filters"}
_SERVER = frozenset({
    "type", "server_label", "server_url", "authorization", "headers", "allowed_tools", "require_approval", "server_description",
    "defer_loading",
})  # fmt: skip
_TYPE = frozenset({"type"})


def decode_hosted_tool(raw: JsonObject, src: str) -> ir.HostedTool:
    """Decode a hosted tool; one of an unknown type has the family ``other``."""
    # {"type": "web_search", "filters": {"allowed_domains": ["a.example"]}, "search_context_size": "low"}
    kind = str(raw.get("type"))
    family = FAMILIES.get(kind, "other")
    if family == "web_search":
        return _decode_search(raw, kind, src)
    extra = _decode_code(raw) if family == "code" else read_extra(raw, _TYPE)
    return ir.HostedTool(family=family, kind=kind, src=src, extra=extra)  # type: ignore[arg-type]  # a value of the table


def encode_hosted_tool(tool: ir.HostedTool, losses: Ledger) -> JsonObject | None:
    """Encode a hosted tool; None if the target has no such tool."""
    if tool.family not in HOSTED:
        losses.dropped(tool, code="server_tool")
        return None
    drop_unheld(tool, losses)
    encoded: JsonObject = {"type": HOSTED[tool.family]}
    if tool.family == "tool_search" and tool.kind != encoded["type"]:
        losses.changed(tool, "", encoded)
    # ``container`` is required (official SDK, ``CodeInterpreter``). The server creates one of the type ``auto`` for the response.
    if tool.family == "code":
        encoded["container"] = {"type": "auto"}
    elif tool.family == "web_search":
        encoded |= _encode_search(tool)
    rules = losses.dialect
    return encoded if rules is None or not rules.rejects_in_tools else _without_rejected(tool, encoded, rules, losses)


_CANONICAL = {"user_location": "user_location", "search_context_size": "context_size"}
"""Fields of encoded tools that a server may reject, to their canonical names. An automatic container is the default."""


def _without_rejected(tool: ir.HostedTool, encoded: JsonObject, rules: DialectRules, losses: Ledger) -> JsonObject:
    """Return an encoded tool without the fields that the server rejects."""
    rejected = [key for key in encoded if f"{encoded['type']}.{key}" in rules.rejects_in_tools]
    for name in (_CANONICAL[key] for key in rejected if key in _CANONICAL):
        is_default = LOSS_RULES[f"HostedTool.{name}"].is_neutral(getattr(tool, name))
        losses.dropped(tool, name, "rejected_by_server", severity="info" if is_default else None)
    return {key: value for key, value in encoded.items() if key not in rejected}


def _decode_search(raw: JsonObject, kind: str, src: str) -> ir.HostedTool:
    # The preview has no ``filters`` (official SDK, ``WebSearchPreviewTool``), so there they are an unknown field.
    known = _SEARCH_PREVIEW if kind.startswith("web_search_preview") else _SEARCH
    filters, location = raw.get("filters") or {} if "filters" in known else {}, raw.get("user_location")
    return ir.HostedTool(
        family="web_search",
        kind=kind,
        allowed_domains=filters.get("allowed_domains"),
        user_location={key: value for key, value in location.items() if key != "type" and value is not None} if location else None,
        context_size=raw.get("search_context_size"),
        src=src,
        extra=merge_extra(read_extra(raw, known), read_extra(filters, frozenset({"allowed_domains"}), "filters/")),
    )


def _encode_search(tool: ir.HostedTool) -> JsonObject:
    fields: JsonObject = {}
    if tool.allowed_domains is not None:
        fields["filters"] = {"allowed_domains": tool.allowed_domains}
    if tool.user_location is not None:
        # ``type`` is always ``approximate`` (official SDK, ``WebSearchToolParam.UserLocation``).
        fields["user_location"] = {"type": "approximate"} | tool.user_location
    if tool.context_size is not None:
        fields["search_context_size"] = tool.context_size
    return fields


def _decode_code(raw: JsonObject) -> JsonObject | None:
    """Return the unread fields of a code interpreter tool. An automatic container is the default."""
    # {"type": "code_interpreter", "container": {"type": "auto", "file_ids": ["file_1"]}}, or the id of a container
    container = raw.get("container")
    if not isinstance(container, dict) or container.get("type") != "auto":
        return read_extra(raw, _TYPE)
    return merge_extra(read_extra(raw, frozenset({"type", "container"})), read_extra(container, _TYPE, "container/"))


def decode_server(raw: JsonObject, src: str) -> ir.McpServer:
    """Decode an MCP server. Without ``require_approval``, every call requires approval, which is kept as an unmodelled field.

    Source: OpenAI, "MCP and Connectors", guide, section "Approvals".
    """
    # {"type": "mcp", "server_label": "docs", "server_url": "https://mcp.example", "allowed_tools": ["search"],
    #  "require_approval": "never"}; ``allowed_tools`` may be a filter: {"tool_names": ["search"], "read_only": true}
    allowed, approval = raw.get("allowed_tools"), raw.get("require_approval")
    filters = allowed if isinstance(allowed, dict) else {}
    return ir.McpServer(
        label=raw["server_label"],
        url=raw.get("server_url"),
        authorization_token=raw.get("authorization"),
        headers=raw.get("headers"),
        allowed_tools=filters.get("tool_names") if filters else allowed,
        approval=approval,
        description=raw.get("server_description"),
        defer_loading=raw.get("defer_loading"),
        src=src,
        extra=merge_extra(
            read_extra(raw, _SERVER),
            read_extra(filters, frozenset({"tool_names"}), "allowed_tools/"),
            {WHOLE_NODE: {"require_approval": "always"}} if approval is None else None,
        ),
    )


def encode_server(server: ir.McpServer, losses: Ledger) -> JsonObject:
    """Encode an MCP server; without an approval setting no call requires approval, as in other formats."""
    drop_unheld(server, losses)
    # Anthropic Messages can disable single tools (its SDK, ``BetaMCPToolConfig``); ``allowed_tools`` lists the allowed ones only.
    for name in server.denied_tools or ():
        losses.dropped(server, f"denied_tools/{escape(name)}/enabled")
    label = legal_label(server.label)
    losses.changed(server, "label", label, "renamed")
    encoded: JsonObject = {"type": "mcp", "server_label": label}
    fields = {
        "server_url": server.url,
        "authorization": server.authorization_token,
        "headers": server.headers,
        "allowed_tools": server.allowed_tools,
        "server_description": server.description,
        "defer_loading": server.defer_loading,
        # By default the server asks for approval (``decode_server``), which would stop a call that no other format stops.
        "require_approval": "never" if server.approval is None else server.approval,
    }
    return encoded | {key: value for key, value in fields.items() if value is not None}


_SEVERITY: Mapping[str, Severity] = {
    "file_search_call": "lossy",
    "mcp_list_tools": "lossy",
    "tool_search_call": "lossy",
    "tool_search_output": "lossy",
    "function_call_output": "lossy",
    "custom_tool_call_output": "lossy",
    "additional_tools": "lossy",
    "image_generation_call": "lossy",
}
"""The severity of losing an item that other formats do not have; ``impossible`` for any other type, because the meaning changes."""

# Source: the official SDK, ``ImageGenerationCall.output_format``. Other names are those of the media type.
_MEDIA_TYPES = {"jpeg": "image/jpeg", "svg": "image/svg+xml"}
_FORMATS = {"image/png": "png", "image/webp": "webp", "image/jpeg": "jpeg", "image/gif": "gif", "image/svg+xml": "svg"}

# Keys that the decoder reads in each type of item; it keeps all others in ``extra``, for the report and for the same format.
_IMAGE_KEYS = frozenset({"type", "id", "result", "output_format"})
_CODE = frozenset({"type", "id", "code", "outputs", "status"})
_LOGS = frozenset({"type", "logs"})
_MCP = frozenset({"type", "id", "arguments", "name", "server_label", "output", "error", "status"})
_ERROR = frozenset({"type", "content"})
# Source: the official SDK, ``McpToolCallError``, whose other types are errors of the protocol and of HTTP.
_TOOL_ERROR = "mcp_tool_execution_error"
"""The type of an error that the MCP tool itself returned; other formats have only this kind."""
_ERROR_CONTENT = frozenset({"type", "text"})
_SEARCH_ITEMS = frozenset({"type", "id", "action", "status"})


def legal_label(label: str) -> str:
    """Return the label of an MCP server in letters, digits, hyphens and underscores. A changed one ends in a hash, to stay unique."""
    legal = with_legal_letters(label, None)
    return label if legal == label and label else f"{legal}_{sha256(label.encode('utf-8', 'surrogatepass')).hexdigest()[:4]}"


def _unread_status(raw: JsonObject, *, can_express_failed: bool) -> JsonObject | None:
    """Return the status of an item if other formats cannot express it. ``can_express_failed``: whether they can express ``failed``."""
    status = raw.get("status")
    return None if status in (None, "completed") or (can_express_failed and status == "failed") else {"status": status}


def _is_incomplete(raw: JsonObject, *outputs: object) -> bool:
    """Return whether a call ended without any of its outputs; in other formats such a call has no result."""
    # Here the output is a field of the call. In other formats it is a separate block, whose absence means that the server paused
    # (fixture hosted_mcp_paused of Messages).
    return raw.get("status") == "incomplete" and all(value is None for value in outputs)


def _status(call: ir.Hosted, result: ir.Hosted | None, otherwise: str = "completed") -> str:
    """Return the status of a call. Without one, a call whose result is missing is incomplete; any other has ``otherwise``."""
    status = (result or call).status
    if status in ("completed", "incomplete", "failed"):
        return status
    return "incomplete" if result is None and call.role == "call" else otherwise


def _decode_generated_image(raw: JsonObject, src: str) -> ir.Media | None:
    # {"type": "image_generation_call", "id": "ig_1", "status": "completed", "result": "iVBORw0...", "output_format": "png"}
    data, format = raw.get("result"), raw.get("output_format")
    # ``result`` may be null (official SDK, ``ImageGenerationCall``). Such an item becomes an opaque part.
    if not data:
        return None
    mime = _MEDIA_TYPES.get(format, f"image/{format}") if format else None
    return ir.Media(kind="image", mime=mime, data=data, id=raw.get("id"), src=src, extra=read_extra(raw, _IMAGE_KEYS))


def encode_generated_image(part: ir.Media, index: int, ids: ItemIds, losses: Ledger) -> JsonObject | None:
    """Encode an image of the model as an item, which requires its data. Other media have no output item."""
    if part.kind != "image" or part.data is None:
        losses.dropped(part, code="unsupported_media")
        return None
    drop_unheld_in_answer(part, losses)
    # The detail controls how a model reads an image. An item of an output image has no such field.
    if part.detail not in (None, "auto"):
        losses.dropped(part, "detail", severity="info")
    item: JsonObject = {
        "type": "image_generation_call",
        "id": part.id or ids.generate("ig", index),
        "status": "completed",
        "result": part.data,
    }
    format = _FORMATS.get(bare_mime(part.mime or ""))
    if format is not None:
        encode_mime(part, losses)
    else:
        losses.dropped(part, "mime", severity="info")
    return item | {"output_format": format} if format else item


def _decode_code_item(raw: JsonObject, src: str) -> ir.Hosted:
    # {"type": "code_interpreter_call", "id": "ci_1", "code": "print(1)", "outputs": [{"type": "logs", "logs": "1"}],
    #  "container_id": "cntr_1", "status": "completed"}
    # ``outputs`` is null unless the request includes ``code_interpreter_call.outputs`` (fixture ``hosted_code_without_output_only``).
    raw_outputs = raw.get("outputs")
    is_incomplete, outputs = _is_incomplete(raw, raw_outputs), raw_outputs or []
    logs = [output["logs"] for output in outputs if output.get("type") == "logs"]
    return ir.Hosted(
        family="code",
        role="call" if is_incomplete else "both",
        id=raw.get("id") or f"ci_{src.rpartition('/')[2]}",
        arguments=raw.get("code") or "",
        output=None if raw_outputs is None else "".join(logs),
        status=raw.get("status"),
        src=src,
        raw=raw,
        extra=merge_extra(
            read_extra(raw, _CODE),
            None if is_incomplete else _unread_status(raw, can_express_failed=True),
            *(
                read_extra(output, _LOGS, f"outputs/{index}/") if output.get("type") == "logs" else {f"outputs/{index}": output}
                for index, output in enumerate(outputs)
            ),
        ),
    )


def _encode_code_item(call: ir.Hosted, result: ir.Hosted | None, index: int, ids: ItemIds, losses: Ledger) -> JsonObject:
    """Encode a code interpreter call with its logs. The item has no language, so the code counts as Python."""
    end = result or call
    if call.name not in (None, "code_execution"):
        losses.changed(call, "name", "code_interpreter_call")
    # The only text of an output is its logs, so standard output and the error of another format both go there.
    printed = [text for text in (end.output, end.error) if text is not None]
    return {
        "type": "code_interpreter_call",
        "id": call.id or ids.generate("ci", index),
        "status": _status(call, result),
        "code": call.arguments or "",
        "container_id": losses.added(f"/output/{index}/container_id", ""),
        "outputs": [{"type": "logs", "logs": text} for text in printed] or None,
    }


def _decode_mcp(raw: JsonObject, src: str) -> ir.Hosted:
    # {"type": "mcp_call", "id": "mcp_1", "server_label": "docs", "name": "search", "arguments": "{}", "output": "...",
    #  "error": {"type": "mcp_tool_execution_error", "content": [{"type": "text", "text": "..."}]}}
    error = raw.get("error")
    message, unread = _error_text(error) if error is not None else (None, None)
    is_incomplete = _is_incomplete(raw, raw.get("output"), error)
    return ir.Hosted(
        family="mcp",
        role="call" if is_incomplete else "both",
        id=raw.get("id") or f"mcp_{src.rpartition('/')[2]}",
        name=raw["name"],
        server=raw["server_label"],
        arguments=raw["arguments"],
        output=raw.get("output"),
        error=message,
        status=raw.get("status"),
        src=src,
        raw=raw,
        extra=merge_extra(
            read_extra(raw, _MCP), None if is_incomplete else _unread_status(raw, can_express_failed=error is not None), unread
        ),
    )


def _error_text(error: str | JsonObject) -> tuple[str, JsonObject | None]:
    """Return the error of an MCP call as text, and its unread fields. An error without a text is kept as JSON."""
    # Callers also send the text alone (fixture requests/responses/hosted_history_mcp).
    if isinstance(error, str):
        return error, None
    error_type, content = error.get("type"), error.get("content")
    unread = merge_extra(
        read_extra(error, _ERROR, "error/"), {"error/type": error_type} if error_type not in (None, _TOOL_ERROR) else None
    )
    if isinstance(content, list) and len(content) == 1 and isinstance(content[0], dict) and isinstance(content[0].get("text"), str):
        return content[0]["text"], merge_extra(unread, read_extra(content[0], _ERROR_CONTENT, "error/content/0/"))
    if isinstance(content, str):
        return content, unread
    return dumps(error).decode(), None


def _encode_mcp(call: ir.Hosted, result: ir.Hosted | None, index: int, ids: ItemIds, losses: Ledger) -> JsonObject:
    del losses  # nothing is added or lost
    end = result or call
    error = end.error
    failure = {"type": _TOOL_ERROR, "content": [{"type": "text", "text": error}]} if error is not None else None
    return {
        "type": "mcp_call",
        "id": call.id or ids.generate("mcp", index),
        "status": _status(call, result, "completed" if error is None else "failed"),
        "server_label": call.server or "",
        "name": call.name or "",
        "arguments": call.arguments or "",
        "output": end.output,
        "error": failure,
    }


def _decode_search_item(raw: JsonObject, src: str) -> ir.Hosted:
    # {"type": "web_search_call", "id": "ws_1", "status": "completed", "action": {"type": "search", "query": "weather"}}
    # ``action`` may be absent (recorded traffic). The results are not in the item: the model cites them in its text.
    action = raw.get("action") or {}
    query = _query_of(action)
    return ir.Hosted(
        family="web_search",
        role="call",
        id=raw.get("id") or f"ws_{src.rpartition('/')[2]}",
        name=action.get("type"),
        arguments=query,
        status=raw.get("status"),
        src=src,
        raw=raw,
        extra=merge_extra(
            read_extra(raw, _SEARCH_ITEMS), _unread_status(raw, can_express_failed=True), _unread_action(action, query)
        ),
    )


def _query_of(action: JsonObject) -> str | None:
    """Return the query or URL of a search action. The fields of an unknown action may have any type."""
    queries = action.get("queries")
    candidates = (action.get("query"), action.get("url"), *(queries[:1] if isinstance(queries, list) else ()))
    return next((query for query in candidates if query and isinstance(query, str)), None)


def _unread_action(action: JsonObject, query: str | None) -> JsonObject | None:
    """Return the fields of a search action that its query does not repeat."""
    repeats = ([query], query)
    return {
        f"action/{key}": value for key, value in action.items() if key != "type" and value is not None and value not in repeats
    } or None


def _encode_search_item(call: ir.Hosted, result: ir.Hosted | None, index: int, ids: ItemIds, losses: Ledger) -> JsonObject:
    if result is not None:
        losses.dropped(result, "error" if result.error else "", "server_history")  # the status already shows a failure
    losses.dropped(call, "output", "server_history")
    query = call.arguments or ""
    # Both fields are optional, and clients read either (official SDK, ``ActionSearch``).
    return {
        "type": "web_search_call",
        "id": call.id or ids.generate("ws", index),
        "status": _status(call, result),
        "action": {"type": "search", "query": query, "queries": [query]},
    }


_DECODE_HOSTED: dict[str, Callable[[JsonObject, str], ir.Part | None]] = {
    "image_generation_call": _decode_generated_image,
    "code_interpreter_call": _decode_code_item,
    "mcp_call": _decode_mcp,
    "web_search_call": _decode_search_item,
}
_ENCODE_HOSTED: dict[str, Callable[[ir.Hosted, ir.Hosted | None, int, ItemIds, Ledger], JsonObject]] = {
    "code": _encode_code_item,
    "mcp": _encode_mcp,
    "web_search": _encode_search_item,
}


def decode_hosted(raw: JsonObject, src: str) -> ir.Part:
    """Decode an item that is no message, reasoning or tool call of the caller; most types become opaque parts."""
    kind = raw.get("type")
    decode = _DECODE_HOSTED.get(kind) if isinstance(kind, str) else None
    return (decode(raw, src) if decode else None) or _decode_unknown(raw, src)


def encode_hosted(call: ir.Hosted, result: ir.Hosted | None, index: int, ids: ItemIds, losses: Ledger) -> JsonObject:
    """Encode a call for which ``has_output_item`` is true, with its result if that is a separate part.

    The caller writes the token of the call as a reasoning item before this one. There, a token of the result would belong to the call.
    """
    for part in (call, result):
        if part:
            drop_unheld_in_answer(part, losses)
    if result and result.signature:
        losses.dropped(result.signature, code="foreign_signature")
    return _ENCODE_HOSTED[call.family](call, result, index, ids, losses)


def _decode_unknown(raw: JsonObject, src: str) -> ir.Opaque:
    kind = str(raw.get("type") or "item_reference")  # messages without a type do not come here
    severity = _SEVERITY.get(kind, "impossible")
    # A reference names an item that only the server stores (fixture requests/responses/state_references).
    code = "stored_state" if kind == "item_reference" else "no_counterpart"
    return ir.Opaque(format="responses", raw=raw, label=kind, severity=severity, code=code, src=src)


def has_output_item(part: ir.Part) -> bool:
    """Return whether a part becomes a separate output item. The result of a hosted call is in the item of the call."""
    if isinstance(part, ir.Hosted):
        return part.role != "result" and part.family in _ENCODE_HOSTED
    if isinstance(part, ir.Media):
        return part.kind == "image" and part.url is None and part.file_id is None
    return not isinstance(part, ir.Opaque | ir.Refusal | ir.ToolResult)
