"""Tools that the server runs: shared families, remote tool servers, and kinds that only this format has."""

from __future__ import annotations

from collections.abc import Mapping

from formatbridge import ir
from formatbridge.formats.shared.unmodelled_fields import joined, rest
from formatbridge.jsontext.pointers import escape
from formatbridge.jsontext.types import JsonObject
from formatbridge.report.ledger import ITSELF, Ledger

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
    if tool.extra:
        losses.extras(tool)
    if tool.cache:
        losses.dropped(tool.cache, severity="info")
    if tool.blocked_domains is not None:
        losses.dropped(tool, "blocked_domains")
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
            {ITSELF: {"require_approval": "always"}} if approval is None else None,
        ),
    )


def encode_server(server: ir.McpServer, losses: Ledger) -> JsonObject:
    """Write a remote tool server; other formats never ask for approval."""
    if server.extra:
        losses.extras(server)
    if server.cache:
        losses.dropped(server.cache, severity="info")
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
