"""Tools that the server runs: shared families, remote tool servers, and kinds that only this format has."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from formatbridge import ir
from formatbridge.formats.responses.holds import drop_unheld, drop_unheld_in_answer
from formatbridge.formats.responses.item_ids import ItemIds
from formatbridge.formats.shared.media import bare_mime
from formatbridge.formats.shared.parts import encode_mime
from formatbridge.formats.shared.unmodelled_fields import joined, rest
from formatbridge.jsontext.codec import dumps
from formatbridge.jsontext.pointers import escape
from formatbridge.jsontext.types import JsonObject
from formatbridge.report.ledger import WHOLE_NODE, Ledger
from formatbridge.report.losses import Severity

HOSTED: Mapping[str, str] = {
    "web_search": "web_search",
    "code": "code_interpreter",
    "image_generation": "image_generation",
    "tool_search": "tool_search",
}
"""Families that this format can be asked for, and its word for each."""

ALLOWED = frozenset({"web_search"})
"""Tools that are forced as the only allowed one: a choice of one tool has but an older word for them, and the server compares it with what
is offered. Among allowed tools any word may stand."""

FAMILIES = {
    "web_search": "web_search",
    "web_search_2025_08_26": "web_search",
    "web_search_preview": "web_search",
    "web_search_preview_2025_03_11": "web_search",
    "code_interpreter": "code",
    "image_generation": "image_generation",
    "tool_search": "tool_search",
}
"""Words of this format to the families that others have too."""

_PREVIEW = frozenset({"type", "search_context_size", "user_location"})
_SEARCH = _PREVIEW | {"filters"}
_SERVER = frozenset({
    "type", "server_label", "server_url", "authorization", "headers", "allowed_tools", "require_approval", "server_description",
    "defer_loading",
})  # fmt: skip
_TYPE = frozenset({"type"})


def decode_hosted_tool(raw: JsonObject, src: str) -> ir.HostedTool:
    """Read a tool that the server runs; a kind that is not known is its own."""
    kind = str(raw.get("type"))
    family = FAMILIES.get(kind, "other")
    if family == "web_search":
        return _decode_search(raw, kind, src)
    extra = _decode_code(raw) if family == "code" else rest(raw, _TYPE)
    return ir.HostedTool(family=family, kind=kind, src=src, extra=extra)  # type: ignore[arg-type]  # a value of the table


def encode_hosted_tool(tool: ir.HostedTool, losses: Ledger) -> JsonObject | None:
    """Write a tool that the server runs; None where the target has no such tool."""
    if tool.family not in HOSTED:
        losses.dropped(tool, code="server_tool", severity="impossible")
        return None
    drop_unheld(tool, losses)
    made: JsonObject = {"type": HOSTED[tool.family]}
    if tool.family == "tool_search" and tool.kind != made["type"]:
        losses.changed(tool, "", made)
    if tool.family == "code":
        return made | {"container": {"type": "auto"}}
    return made | _encode_search(tool) if tool.family == "web_search" else made


def _decode_search(raw: JsonObject, kind: str, src: str) -> ir.HostedTool:
    known = _PREVIEW if kind.startswith("web_search_preview") else _SEARCH
    filters, place = raw.get("filters") or {} if "filters" in known else {}, raw.get("user_location")
    return ir.HostedTool(
        family="web_search",
        kind=kind,
        allowed_domains=filters.get("allowed_domains"),
        user_location={key: value for key, value in place.items() if key != "type" and value is not None} if place else None,
        context_size=raw.get("search_context_size"),
        src=src,
        extra=joined(rest(raw, known), rest(filters, frozenset({"allowed_domains"}), "filters/")),
    )


def _encode_search(tool: ir.HostedTool) -> JsonObject:
    made: JsonObject = {}
    if tool.allowed_domains is not None:
        made["filters"] = {"allowed_domains": tool.allowed_domains}
    if tool.user_location is not None:
        made["user_location"] = {"type": "approximate"} | tool.user_location
    if tool.context_size is not None:
        made["search_context_size"] = tool.context_size
    return made


def _decode_code(raw: JsonObject) -> JsonObject | None:
    """Return what a code interpreter asks for beside running code; a container of its own is what happens anyway."""
    container = raw.get("container")
    if not isinstance(container, dict) or container.get("type") != "auto":
        return rest(raw, _TYPE)
    return joined(rest(raw, frozenset({"type", "container"})), rest(container, _TYPE, "container/"))


# Remote tool servers.


def decode_server(raw: JsonObject, src: str) -> ir.McpServer:
    """Read a remote tool server. Absent, its approval counts as required for every call, which is left over as a fact of its own."""
    allowed, approval = raw.get("allowed_tools"), raw.get("require_approval")
    filters = allowed if isinstance(allowed, dict) else {}
    return ir.McpServer(
        label=raw["server_label"],
        url=raw.get("server_url"),
        token=raw.get("authorization"),
        headers=raw.get("headers"),
        allowed=filters.get("tool_names") if filters else allowed,
        approval=approval,
        description=raw.get("server_description"),
        defer_loading=raw.get("defer_loading"),
        src=src,
        extra=joined(
            rest(raw, _SERVER),
            rest(filters, frozenset({"tool_names"}), "allowed_tools/"),
            {WHOLE_NODE: {"require_approval": "always"}} if approval is None else None,
        ),
    )


def encode_server(server: ir.McpServer, losses: Ledger) -> JsonObject:
    """Write a remote tool server; other formats never ask for approval."""
    drop_unheld(server, losses)
    for name in server.denied or ():
        losses.dropped(server, f"denied/{escape(name)}/enabled")
    made: JsonObject = {"type": "mcp", "server_label": server.label}
    rows = {
        "server_url": server.url,
        "authorization": server.token,
        "headers": server.headers,
        "allowed_tools": server.allowed,
        "server_description": server.description,
        "defer_loading": server.defer_loading,
        "require_approval": "never" if server.approval is None else server.approval,
    }
    return made | {key: value for key, value in rows.items() if value is not None}


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
"""How grave it is to lose an item that other formats have no counterpart of; one without a row changes what the conversation means."""

_MEDIA_TYPES = {"jpeg": "image/jpeg", "svg": "image/svg+xml"}
_FORMATS = {"image/png": "png", "image/webp": "webp", "image/jpeg": "jpeg", "image/gif": "gif", "image/svg+xml": "svg"}

_IMAGE = frozenset({"type", "id", "result", "output_format"})
_CODE = frozenset({"type", "id", "code", "outputs", "status"})
_LOGS = frozenset({"type", "logs"})
_MCP = frozenset({"type", "id", "arguments", "name", "server_label", "output", "error", "status"})
_ERROR = frozenset({"type", "content"})
_FAILED_TOOL = "mcp_tool_execution_error"
"""The type of an error that a remote tool told itself, as every format tells one."""
_WORDS = frozenset({"type", "text"})
_SEARCH_ITEMS = frozenset({"type", "id", "action", "status"})


def decode_hosted(raw: JsonObject, src: str) -> ir.Part:
    """Read an item that is neither words nor a call of the caller's tools; most stay as they are."""
    kind = raw.get("type")
    decode = _DECODE_HOSTED.get(kind) if isinstance(kind, str) else None
    return (decode(raw, src) if decode else None) or _keep(raw, src)


def _keep(raw: JsonObject, src: str) -> ir.Opaque:
    kind = str(raw.get("type") or "item_reference")  # the one kind without a type that comes here
    severity = _SEVERITY.get(kind, "impossible")
    code = "stored_state" if kind == "item_reference" else "no_counterpart"
    return ir.Opaque(format="responses", raw=raw, label=kind, severity=severity, code=code, src=src)


def _odd_status(raw: JsonObject, *, failed: bool) -> JsonObject | None:
    """Return a state that is no end. ``failed``: whether other formats can say that."""
    status = raw.get("status")
    return None if status in (None, "completed") or (failed and status == "failed") else {"status": status}


def _is_cut(raw: JsonObject, *told: object) -> bool:
    """Say whether a run broke off before anything came of it, as a call without its result says elsewhere."""
    return raw.get("status") == "incomplete" and all(value is None for value in told)


def _status(call: ir.Hosted, result: ir.Hosted | None, otherwise: str = "completed") -> str:
    """Return how a run ended; one whose result never came did not, as far as anybody knows."""
    status = (result or call).status
    if status in ("completed", "incomplete", "failed"):
        return status
    return "incomplete" if result is None and call.role == "call" else otherwise


# Images that the model drew.


def _decode_generated_image(raw: JsonObject, src: str) -> ir.Media | None:
    data, word = raw.get("result"), raw.get("output_format")
    if not data:
        return None
    mime = _MEDIA_TYPES.get(word, f"image/{word}") if word else None
    return ir.Media(kind="image", mime=mime, data=data, id=raw.get("id"), src=src, extra=rest(raw, _IMAGE))


def encode_generated_image(part: ir.Media, index: int, ids: ItemIds, losses: Ledger) -> JsonObject | None:
    """Write an image of the model's; it must be there in full. Other media have no place in an answer."""
    if part.kind != "image" or part.data is None:
        losses.dropped(part, code="unsupported_media", severity="impossible")
        return None
    drop_unheld_in_answer(part, losses)
    if part.detail not in (None, "auto"):
        losses.dropped(part, "detail", severity="info")
    item: JsonObject = {
        "type": "image_generation_call",
        "id": part.id or ids.make("ig", index),
        "status": "completed",
        "result": part.data,
    }
    word = _FORMATS.get(bare_mime(part.mime or ""))
    if word is not None:
        encode_mime(part, losses)
    elif part.mime is not None:
        losses.dropped(part, "mime", severity="info")
    return item | {"output_format": word} if word else item


# Code.


def _decode_code_item(raw: JsonObject, src: str) -> ir.Hosted:
    told = raw.get("outputs")
    is_cut, outputs = _is_cut(raw, told), told or []
    logs = [output["logs"] for output in outputs if output.get("type") == "logs"]
    return ir.Hosted(
        family="code",
        role="call" if is_cut else "both",
        id=raw.get("id") or f"ci_{src.rpartition('/')[2]}",
        arguments=raw.get("code") or "",
        output=None if told is None else "".join(logs),
        status=raw.get("status"),
        src=src,
        raw=raw,
        extra=joined(
            rest(raw, _CODE),
            None if is_cut else _odd_status(raw, failed=True),
            *(
                rest(output, _LOGS, f"outputs/{index}/") if output.get("type") == "logs" else {f"outputs/{index}": output}
                for index, output in enumerate(outputs)
            ),
        ),
    )


def _encode_code_item(call: ir.Hosted, result: ir.Hosted | None, index: int, ids: ItemIds, losses: Ledger) -> JsonObject:
    """Write a run of code with what it printed; the code counts as Python here."""
    end = result or call
    if call.name not in (None, "code_execution"):
        losses.changed(call, "name", "code_interpreter_call")
    printed = [text for text in (end.output, end.error) if text is not None]
    return {
        "type": "code_interpreter_call",
        "id": call.id or ids.make("ci", index),
        "status": _status(call, result),
        "code": call.arguments or "",
        "container_id": losses.added(f"/output/{index}/container_id", ""),
        "outputs": [{"type": "logs", "logs": text} for text in printed] or None,
    }


# Remote tool servers.


def _decode_mcp(raw: JsonObject, src: str) -> ir.Hosted:
    error = raw.get("error")
    said, unread = _error_text(error) if error is not None else (None, None)
    is_cut = _is_cut(raw, raw.get("output"), error)
    return ir.Hosted(
        family="mcp",
        role="call" if is_cut else "both",
        id=raw.get("id") or f"mcp_{src.rpartition('/')[2]}",
        name=raw["name"],
        server=raw["server_label"],
        arguments=raw["arguments"],
        output=raw.get("output"),
        error=said,
        status=raw.get("status"),
        src=src,
        raw=raw,
        extra=joined(rest(raw, _MCP), None if is_cut else _odd_status(raw, failed=error is not None), unread),
    )


def _error_text(error: str | JsonObject) -> tuple[str, JsonObject | None]:
    """Put the error of a remote tool in words: its message, its text, or the whole of it; and return what the words do not say."""
    if isinstance(error, str):
        return error, None
    word, content = error.get("type"), error.get("content")
    unread = joined(rest(error, _ERROR, "error/"), {"error/type": word} if word not in (None, _FAILED_TOOL) else None)
    if isinstance(content, list) and len(content) == 1 and isinstance(content[0], dict) and isinstance(content[0].get("text"), str):
        return content[0]["text"], joined(unread, rest(content[0], _WORDS, "error/content/0/"))
    if isinstance(content, str):
        return content, unread
    return dumps(error).decode(), None


def _encode_mcp(call: ir.Hosted, result: ir.Hosted | None, index: int, ids: ItemIds, losses: Ledger) -> JsonObject:
    del losses  # nothing is added or lost
    end = result or call
    error = end.error
    failure = {"type": _FAILED_TOOL, "content": [{"type": "text", "text": error}]} if error is not None else None
    return {
        "type": "mcp_call",
        "id": call.id or ids.make("mcp", index),
        "status": _status(call, result, "completed" if error is None else "failed"),
        "server_label": call.server or "",
        "name": call.name or "",
        "arguments": call.arguments or "",
        "output": end.output,
        "error": failure,
    }


# Searches of the web.


def _decode_search_item(raw: JsonObject, src: str) -> ir.Hosted:
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
        extra=joined(rest(raw, _SEARCH_ITEMS), _odd_status(raw, failed=True), _unread_action(action, query)),
    )


def _query_of(action: JsonObject) -> str | None:
    """Return what an action looks for; those of a kind that is not known may have anything in the place of it."""
    queries = action.get("queries")
    given = (action.get("query"), action.get("url"), *(queries[:1] if isinstance(queries, list) else ()))
    return next((query for query in given if query and isinstance(query, str)), None)


def _unread_action(action: JsonObject, query: str | None) -> JsonObject | None:
    """Return what an action says beside its query."""
    repeats = ([query], query)
    return {
        f"action/{key}": value for key, value in action.items() if key != "type" and value is not None and value not in repeats
    } or None


def _encode_search_item(call: ir.Hosted, result: ir.Hosted | None, index: int, ids: ItemIds, losses: Ledger) -> JsonObject:
    if result is not None:
        losses.dropped(result, "error" if result.error else "", "server_history")  # that it failed is told
    if call.output is not None:
        losses.dropped(call, "output", "server_history")
    query = call.arguments or ""
    return {
        "type": "web_search_call",
        "id": call.id or ids.make("ws", index),
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


def has_item(part: ir.Part) -> bool:
    """Say whether a part has an item of its own here: a result of the server's stands in that of its call, other media have none."""
    if isinstance(part, ir.Hosted):
        return part.role != "result" and part.family in _ENCODE_HOSTED
    if isinstance(part, ir.Media):
        return part.kind == "image" and part.url is None and part.file_id is None
    return not isinstance(part, ir.Opaque | ir.Refusal | ir.ToolResult)


def encode_hosted(call: ir.Hosted, result: ir.Hosted | None, index: int, ids: ItemIds, losses: Ledger) -> JsonObject:
    """Write a call that ``has_item``, with its result where that stands apart.

    The token of the call stands before the item; that of a result would, too, and mean the call there.
    """
    for part in (call, result):
        if part:
            drop_unheld_in_answer(part, losses)
    if result and result.signature:
        losses.dropped(result.signature, code="foreign_signature")
    return _ENCODE_HOSTED[call.family](call, result, index, ids, losses)
