"""Server tools and MCP servers of Anthropic Messages: definitions, calls and results.

Calls and results are separate blocks, and those of each tool have their types. So there is a decoder for each.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Literal

from formatbridge import ir
from formatbridge.formats.messages.content import decode_unknown, encode_cache
from formatbridge.formats.messages.holds import drop_unheld, drop_unheld_in_answer
from formatbridge.formats.shared.held_fields import drop_field
from formatbridge.formats.shared.parts import decode_cache_control, encode_opaque, encode_outcome_text
from formatbridge.formats.shared.tool_arguments import read_object
from formatbridge.formats.shared.unmodelled_fields import merge_extra, read_extra
from formatbridge.jsontext.codec import dumps
from formatbridge.jsontext.pointers import escape
from formatbridge.jsontext.types import JsonObject
from formatbridge.report.ledger import Ledger
from formatbridge.report.reasons import WITHOUT_CODE

_VERSION = re.compile(r"_\d{8}$")
"""The version at the end of the type of a tool search. The type without it names the same tool."""
_Family = Literal["web_search", "web_fetch", "code", "image_generation", "tool_search", "other"]

FAMILIES: tuple[tuple[str, _Family], ...] = (
    ("web_search_", "web_search"),
    ("web_fetch_", "web_fetch"),
    ("code_execution_", "code"),
    ("tool_search_tool_", "tool_search"),
)
"""Prefixes of tool types to families. The types end with a version."""

# Source of the types: the official SDK, ``ToolUnionParam``.
HOSTED: dict[str, tuple[str, str]] = {
    "web_search": ("web_search_20260318", "web_search"),
    "web_fetch": ("web_fetch_20260318", "web_fetch"),
    "code": ("code_execution_20260521", "code_execution"),
    "tool_search": ("tool_search_tool_bm25", "tool_search_tool_bm25"),
}
"""Families of server tools to the type that is written, and their name."""

_SEARCHES = frozenset({"tool_search_tool_bm25", "tool_search_tool_regex"})
"""The types of searches of tools, without a version."""

SERVER_NAMES = {family: name for family, (_, name) in HOSTED.items()}
"""Families of server tools to their names, which must be unique among all tools of a request."""

_CHOICES = {"web_search_preview": "web_search", "code_interpreter": "code", "code_execution": "code"}
"""Names of server tools in a tool choice of another format to the families."""

_TOOL = frozenset({"type", "name", "cache_control"})
_WEB_OPTIONS: dict[str, type] = {"allowed_domains": list, "blocked_domains": list, "max_uses": int}
_OPTIONS: dict[str, dict[str, type]] = {"web_search": _WEB_OPTIONS | {"user_location": dict}, "web_fetch": _WEB_OPTIONS}
"""Families to the options of their tools and the types of the values. Tools of an unknown version may have other types."""

_SERVER = frozenset({"type", "name", "url", "authorization_token", "tool_configuration"})
_TOOLSET = frozenset({"type", "mcp_server_name", "cache_control", "default_config", "configs"})
_SWITCHES = {"enabled": True, "defer_loading": False}
"""The defaults of a tool of an MCP server, without ``configs`` and ``default_config``."""


def decode_hosted_tool(raw: JsonObject, src: str) -> ir.HostedTool:
    """Decode a tool that Anthropic defines. One that the caller runs, such as ``bash``, has the family ``other``."""
    kind = str(raw.get("type"))
    if not _is_valid(raw):
        return ir.HostedTool(family="other", kind=kind, src=src)
    family: _Family = next((family for prefix, family in FAMILIES if kind.startswith(prefix)), "other")
    options = {key: raw[key] for key, option_type in _OPTIONS.get(family, {}).items() if type(raw.get(key)) is option_type}
    location, name = options.get("user_location"), raw.get("name")
    return ir.HostedTool(
        family=family,
        kind=kind,
        name=name,
        allowed_domains=options.get("allowed_domains"),
        blocked_domains=options.get("blocked_domains"),
        user_location={key: value for key, value in location.items() if key != "type" and value is not None} if location else None,
        max_uses=options.get("max_uses"),
        cache=decode_cache_control(raw, src),
        src=src,
        extra=merge_extra(
            read_extra(raw, _TOOL | options.keys()), None if name is None or kind.startswith(name) else {"name": name}
        ),
    )


def _is_valid(raw: JsonObject) -> bool:
    """Return whether the fields of all versions have the right types. Tools of an unknown version are not validated before."""
    mark = raw.get("cache_control") or {}
    return isinstance(raw.get("name"), str | None) and isinstance(mark, dict) and isinstance(mark.get("ttl"), str | None)


def hosted_type(tool: ir.HostedTool, losses: Ledger) -> tuple[str, str]:
    """Return the type that is written for a server tool of a known family, and its name. The name must be unique in a request."""
    default, name = HOSTED[tool.family]
    kind = tool.kind if _VERSION.sub("", tool.kind) in _SEARCHES else default
    if losses.dialect is not None:
        types = losses.dialect.tool_types
        kind = types.get(kind) or types.get(default, kind)
    return kind, _VERSION.sub("", kind) if tool.family == "tool_search" else name


def encode_hosted_tool(tool: ir.HostedTool, losses: Ledger) -> JsonObject | None:
    """Encode a server tool; None if this format has no such tool."""
    if tool.family not in HOSTED:
        losses.dropped(tool, code="server_tool")
        return None
    drop_unheld(tool, losses)
    kind, name = hosted_type(tool, losses)
    body: JsonObject = {"type": kind, "name": name}
    # The server has two searches of tools (official SDK, ``ToolUnionParam``). That of Responses has no kind (OpenAI's SDK).
    if tool.family == "tool_search" and _VERSION.sub("", tool.kind) != name:
        losses.changed(tool, "", body)
    elif tool.family != "tool_search" and losses.dialect is not None and tool.kind in losses.dialect.tool_types:
        losses.changed(tool, "kind", kind, "unsupported_by_server")
    is_web = tool.family in ("web_search", "web_fetch")
    for option in ("allowed_domains", "blocked_domains", "max_uses"):
        value = getattr(tool, option)
        if value is None:
            continue
        # "Cannot be used alongside `blocked_domains`" (official SDK, ``WebSearchTool20250305Param.allowed_domains``).
        if is_web and not (option == "blocked_domains" and tool.allowed_domains):
            body[option] = value
        else:
            losses.dropped(tool, option, "excluded" if is_web else "no_counterpart")
    if tool.user_location:
        if tool.family == "web_search":
            # ``type`` is required and has one value (official SDK, ``UserLocationParam``).
            body["user_location"] = {"type": "approximate", **tool.user_location}
        else:
            drop_field(tool, "user_location", losses)
    if is_web:
        # By default these versions let code filter pages, which Claude Haiku 4.5 rejects (mangowhoiscloud/geode#632).
        losses.added_in(body, "allowed_callers", ["direct"], WITHOUT_CODE)
    return _with_cache(body, tool.cache, losses)


def _with_cache(encoded: JsonObject, mark: ir.CacheMark | None, losses: Ledger) -> JsonObject:
    """Add a cache mark to an encoded tool and return the same object, in which the ledger finds added fields."""
    if mark is not None:
        encoded |= encode_cache(mark, losses)
    return encoded


def hosted_name(kind: str) -> str | None:
    """Return the name of the server tool that a tool choice may force. ``kind``: its family, or its name in another format."""
    family = _CHOICES.get(kind, kind)
    if family.startswith("web_search_preview"):
        family = "web_search"
    return HOSTED[family][1] if family in HOSTED and family != "tool_search" else None


# MCP servers: an entry in ``mcp_servers`` and a toolset in ``tools``.


def _allowed_by_both(allowed: list[str] | None, enabled: list[str] | None, denied: list[str]) -> list[str] | None:
    """Return the tools that neither ``tool_configuration`` nor the toolset forbids; None if neither has a list of allowed tools."""
    if allowed is None:
        return enabled
    forbidden, permitted = set(denied), set(allowed if enabled is None else enabled)
    return [name for name in dict.fromkeys(allowed) if name in permitted and name not in forbidden]


def _decode_switches(
    defaults: JsonObject, configs: JsonObject, pointer: str, unread: JsonObject
) -> tuple[list[str] | None, list[str]]:
    """Return the list of the only enabled tools, None if there is none, and the list of disabled tools.

    Any other use of the switches is unread.
    """
    is_list = defaults.get("enabled") is False
    names: list[str] = []
    default_values = _SWITCHES | {key: value for key, value in defaults.items() if value is not None}
    for name, config in configs.items():
        changes = {key: value for key, value in (config or {}).items() if value != default_values.get(key)}
        if changes.get("enabled") is is_list:
            del changes["enabled"]
            names.append(name)
        unread |= read_extra(changes, frozenset(), f"{pointer}/{escape(name)}/") or {}
    return (names, []) if is_list else (None, names)


def decode_server(raw: JsonObject, index: int, toolset: JsonObject, toolset_src: str, unread: JsonObject) -> ir.McpServer:
    """Decode an entry of ``mcp_servers`` with its toolset. The older API has ``tool_configuration`` instead."""
    # Beta mcp-client-2025-04-04 has allowed tools in the server, mcp-client-2025-11-20 in a toolset (fixture tools_mcp_switched).
    older = raw.get("tool_configuration") or {}
    is_off = older.get("enabled") is False
    defaults, configs = toolset.get("default_config") or {}, toolset.get("configs") or {}
    allowed: list[str] | None = [] if is_off else older.get("allowed_tools")
    denied: list[str] = []
    extra = merge_extra(
        read_extra(raw, _SERVER), read_extra(older, {"enabled"} if is_off else {"enabled", "allowed_tools"}, "tool_configuration/")
    )
    if toolset_src:
        pointer = toolset_src[1:]
        unread |= read_extra(toolset, _TOOLSET, f"{pointer}/") or {}
        unread |= read_extra(defaults, frozenset({"enabled", "defer_loading"}), f"{pointer}/default_config/") or {}
        enabled, denied = _decode_switches(defaults, configs, f"{pointer}/configs", unread)
        # Both places are set and disagree (fixture tools_mcp_listed_twice). A tool must be allowed in both.
        if allowed is not None and (denied or (enabled is not None and set(enabled) != set(allowed))):
            extra = merge_extra(extra, {"tool_configuration/allowed_tools": allowed, f"{toolset_src}/configs": configs})
        allowed = _allowed_by_both(allowed, enabled, denied)
    return ir.McpServer(
        label=raw["name"],
        url=raw["url"],
        authorization_token=raw.get("authorization_token"),
        allowed_tools=allowed,
        denied_tools=denied if denied and allowed is None else None,
        defer_loading=defaults.get("defer_loading"),
        cache=decode_cache_control(toolset, toolset_src),
        src=f"/mcp_servers/{index}",
        second_src=toolset_src,
        extra=extra,
    )


def encode_server(server: ir.McpServer, losses: Ledger) -> tuple[JsonObject, JsonObject] | None:
    """Encode an MCP server as an entry of ``mcp_servers`` and a toolset; None if it has no URL."""
    # A connector of OpenAI has an id and no URL (OpenAI's SDK, ``Mcp.connector_id``).
    if server.url is None:
        losses.dropped(server, code="not_portable")
        return None
    drop_unheld(server, losses)
    entry: JsonObject = {"type": "url", "name": server.label, "url": server.url}
    token = _read_authorization_token(server, losses)
    if token is not None:
        entry["authorization_token"] = token
    toolset: JsonObject = {"type": "mcp_toolset", "mcp_server_name": server.label}
    defaults: JsonObject = {} if server.allowed_tools is None else {"enabled": False}
    if server.defer_loading is not None:
        defaults["defer_loading"] = server.defer_loading
    if defaults:
        toolset["default_config"] = defaults
    switched = server.denied_tools if server.allowed_tools is None else server.allowed_tools
    if switched:
        toolset["configs"] = {name: {"enabled": server.allowed_tools is not None} for name in switched}
    return entry, _with_cache(toolset, server.cache, losses)


def _read_authorization_token(server: ir.McpServer, losses: Ledger) -> str | None:
    """Return the authorization token, which may be in the headers. This format has no field for other headers."""
    token = server.authorization_token
    for name, value in (server.headers or {}).items():
        scheme, _, credentials = value.partition(" ")
        # Responses has headers "for authentication or other purposes" (OpenAI's SDK, ``Mcp.headers``).
        is_bearer = name.lower() == "authorization" and scheme.lower() == "bearer"
        if not is_bearer:
            losses.dropped(server, f"headers/{escape(name)}")
        elif token is None:
            token = credentials
        else:
            losses.dropped(server, f"headers/{escape(name)}", "too_many", severity="info" if credentials == token else "lossy")
    return token


_ResultFamily = Literal["web_search", "web_fetch", "code", "mcp"]

_FAMILIES: dict[str, _ResultFamily] = {"web_search": "web_search", "web_fetch": "web_fetch", "code_execution": "code"}
"""Names of server tools to the families that have a canonical call."""
_ARGUMENT: dict[str, str] = {"web_search": "query", "web_fetch": "url", "code": "code"}
"""Families to the argument that the canonical call holds as text."""

_CALL = frozenset({"type", "id", "name", "input"})
_MCP_CALL = _CALL | {"server_name"}
_RESULT = frozenset({"type", "tool_use_id", "content"})
_MCP_RESULT = _RESULT | {"is_error"}
_CODE = frozenset({"type", "stdout", "stderr", "return_code"})
_ERROR = frozenset({"type", "error_code"})
_WEB_CONTENT = ("web_fetch_result", "web_fetch_tool_result_error", "web_search_tool_result_error")
_CODE_CONTENT = ("code_execution_result", "encrypted_code_execution_result", "code_execution_tool_result_error")


def _decode_hosted_call(raw: JsonObject, src: str) -> ir.Part:
    """Decode a ``server_tool_use`` block. A call of a tool without a shared family becomes an opaque part."""
    name, arguments = raw["name"], raw["input"]
    family = _FAMILIES.get(name)
    if family is None:
        return decode_unknown(raw, src)
    key = _ARGUMENT[family]
    text = arguments.get(key)
    has_text = isinstance(text, str)
    return ir.Hosted(
        family=family,
        role="call",
        id=raw["id"],
        name=name,
        arguments=text if has_text else dumps(arguments).decode(),
        src=src,
        raw=raw,
        extra=merge_extra(read_extra(raw, _CALL), read_extra(arguments, frozenset({key}), "input/") if has_text else None),
    )


def _encode_code_call(part: ir.Hosted) -> JsonObject:
    return {"type": "server_tool_use", "id": part.id, "name": "code_execution", "input": {"code": part.arguments or ""}}


def _decode_mcp_call(raw: JsonObject, src: str) -> ir.Part:
    """Decode an ``mcp_tool_use`` block."""
    return ir.Hosted(
        family="mcp",
        role="call",
        id=raw["id"],
        name=raw["name"],
        server=raw["server_name"],
        arguments=dumps(raw["input"]).decode(),
        src=src,
        raw=raw,
        extra=read_extra(raw, _MCP_CALL),
    )


def _encode_mcp_call(part: ir.Hosted, losses: Ledger) -> JsonObject:
    text = part.arguments or ""
    arguments = read_object(text) if text.strip() else {}
    if arguments is None:
        arguments = losses.changed(part, "arguments", {"raw_arguments": text}, "invalid_arguments")
    return {"type": "mcp_tool_use", "id": part.id, "name": part.name or "", "server_name": part.server or "", "input": arguments}


def _decode_web_result(raw: JsonObject, src: str) -> ir.Part:
    """Decode the result of a web search or a web fetch: an error, or pages that only Anthropic's server can read."""
    content = raw["content"]
    # A successful search is a list, a fetched page an object, and an error an object too (recorded traffic).
    if isinstance(content, dict) and content.get("type") not in _WEB_CONTENT:
        return decode_unknown(raw, src)
    # Pages are encrypted for the server (official SDK, ``WebSearchResultBlock.encrypted_content``), so they are unread.
    error = content.get("error_code") if isinstance(content, dict) else None
    unread = read_extra(content, _ERROR, "content/") if error is not None else {"content": content} if content else None
    return ir.Hosted(
        family="web_search" if raw["type"] == "web_search_tool_result" else "web_fetch",
        role="result",
        id=raw["tool_use_id"],
        error=error,
        status=None if error is None else "failed",
        src=src,
        raw=raw,
        extra=merge_extra(read_extra(raw, _RESULT), unread),
    )


def _decode_code_result(raw: JsonObject, src: str) -> ir.Part:
    """Decode the result of a code execution."""
    content = raw["content"]
    if content.get("type") not in _CODE_CONTENT:
        return decode_unknown(raw, src)
    error = content.get("error_code")
    status = content.get("return_code")
    known = _CODE if error is None else _ERROR
    return ir.Hosted(
        family="code",
        role="result",
        id=raw["tool_use_id"],
        output=content.get("stdout"),
        error=error if error is not None else content.get("stderr") or None,
        status="failed" if status or error is not None else None if status is None else "completed",
        src=src,
        raw=raw,
        extra=merge_extra(
            read_extra(raw, _RESULT),
            {f"content/{key}": value for key, value in (read_extra(content, known) or {}).items() if value != []} or None,
            {"content/return_code": status} if status not in (None, 0, 1) else None,
        ),
    )


def _encode_code_result(part: ir.Hosted) -> JsonObject:
    failed = part.error is not None or part.status not in (None, "completed")
    result: JsonObject = {
        "type": "code_execution_result",
        "stdout": part.output or "",
        "stderr": part.error or "",
        # OpenAI reports no exit status (its SDK, ``ResponseCodeInterpreterToolCall``).
        "return_code": 1 if failed else 0,
        "content": [],
    }
    return {"type": "code_execution_tool_result", "tool_use_id": part.id, "content": result}


def _decode_mcp_result(raw: JsonObject, src: str) -> ir.Part:
    """Decode an ``mcp_tool_result`` block."""
    content = raw.get("content") or []
    unread: JsonObject = {}
    texts = [content] if isinstance(content, str) else []
    for index, block in enumerate(content if isinstance(content, list) else ()):
        if block.get("type") == "text":
            texts.append(block["text"])
            unread |= read_extra(block, frozenset({"type", "text"}), f"content/{index}/") or {}
        else:
            unread[f"content/{index}"] = block
    text = "\n".join(texts)
    return ir.Hosted(
        family="mcp",
        role="result",
        id=raw["tool_use_id"],
        output=None if raw.get("is_error") else text,
        error=text if raw.get("is_error") else None,
        src=src,
        raw=raw,
        extra=merge_extra(read_extra(raw, _MCP_RESULT), unread),
    )


def _encode_mcp_result(part: ir.Hosted, losses: Ledger) -> JsonObject:
    text = encode_outcome_text(part, losses)
    return {
        "type": "mcp_tool_result",
        "tool_use_id": part.id,
        "is_error": part.error is not None,
        "content": [{"type": "text", "text": text}] if text else [],
    }


_DECODE_HOSTED: dict[str, Callable[[JsonObject, str], ir.Part]] = {
    "server_tool_use": _decode_hosted_call,
    "mcp_tool_use": _decode_mcp_call,
    "mcp_tool_result": _decode_mcp_result,
    "web_search_tool_result": _decode_web_result,
    "web_fetch_tool_result": _decode_web_result,
    "code_execution_tool_result": _decode_code_result,
}
"""Types of blocks to their decoders."""


def decode_hosted(raw: JsonObject, src: str) -> ir.Part:
    """Decode a call of a server tool, or its result. A block of any other type becomes an opaque part."""
    kind = raw.get("type")
    decode = _DECODE_HOSTED.get(kind, decode_unknown) if isinstance(kind, str) else decode_unknown
    return decode(raw, src)


def encode_hosted(part: ir.Hosted, losses: Ledger) -> list[JsonObject]:
    """Encode a call of a server tool, its result, or both for a response. This format cannot express results of foreign searches."""
    # A search without its encrypted results would be rejected in the next request.
    if part.family not in ("mcp", "code"):
        encode_opaque(part, losses)
        return []
    drop_unheld_in_answer(part, losses)
    blocks = []
    if part.role in ("call", "both"):
        blocks.append(_encode_mcp_call(part, losses) if part.family == "mcp" else _encode_code_call(part))
    # OpenAI includes the output of code only on request (its SDK, ``include``: ``code_interpreter_call.outputs``).
    # So a call that is complete may have no result.
    has_result = part.family == "mcp" or part.output is not None or part.error is not None or part.status == "failed"
    if part.role == "result" or (part.role == "both" and has_result):
        blocks.append(_encode_mcp_result(part, losses) if part.family == "mcp" else _encode_code_result(part))
    return blocks
