"""Tools that the server of messages runs, and the remote tool servers that it calls: decode and encode side by side."""

from __future__ import annotations

from typing import Literal

from formatbridge import ir
from formatbridge.formats.messages.content import decode_cache, decode_opaque, encode_cache
from formatbridge.formats.messages.holds import drop_unheld, drop_unheld_in_answer
from formatbridge.formats.shared.held_fields import drop_field
from formatbridge.formats.shared.parts import encode_opaque
from formatbridge.formats.shared.tool_arguments import read_object
from formatbridge.formats.shared.unmodelled_fields import joined, rest
from formatbridge.jsontext.codec import dumps
from formatbridge.jsontext.pointers import escape
from formatbridge.jsontext.types import JsonObject
from formatbridge.report.ledger import Ledger, resolve

_Family = Literal["web_search", "web_fetch", "code", "image_generation", "tool_search", "other"]

FAMILIES: tuple[tuple[str, _Family], ...] = (
    ("web_search_", "web_search"),
    ("web_fetch_", "web_fetch"),
    ("code_execution_", "code"),
    ("tool_search_tool_", "tool_search"),
)
"""Beginnings of this format's words, before the version, to the families that others have too."""

HOSTED: dict[str, tuple[str, str]] = {
    "web_search": ("web_search_20260318", "web_search"),
    "web_fetch": ("web_fetch_20260318", "web_fetch"),
    "code": ("code_execution_20260521", "code_execution"),
    "tool_search": ("tool_search_tool_bm25", "tool_search_tool_bm25"),
}
"""Families that this format can be asked for, and the latest version and the name of each."""

SERVER_NAMES = {family: name for family, (_, name) in HOSTED.items()}
"""Families of server tools to the names under which they stand among the others."""

_CHOICES = {"web_search_preview": "web_search", "code_interpreter": "code", "code_execution": "code"}

_TOOL = frozenset({"type", "name", "cache_control"})
_FETCHING: dict[str, type] = {"allowed_domains": list, "blocked_domains": list, "max_uses": int}
_OPTIONS: dict[str, dict[str, type]] = {"web_search": _FETCHING | {"user_location": dict}, "web_fetch": _FETCHING}
"""Families to what their tools can be told, and the types of that: nothing holds versions that nobody here knows yet to them."""

_SERVER = frozenset({"type", "name", "url", "authorization_token", "tool_configuration"})
_TOOLSET = frozenset({"type", "mcp_server_name", "cache_control", "default_config", "configs"})
_SWITCHES = {"enabled": True, "defer_loading": False}
"""What counts for a tool where neither its own switches nor those of all say anything."""


def decode_hosted_tool(raw: JsonObject, src: str) -> ir.HostedTool:
    """Read a tool that the vendor defined; what the caller must run itself has no counterpart anywhere."""
    kind = str(raw.get("type"))
    if not _is_sound(raw):
        return ir.HostedTool(family="other", kind=kind, src=src)
    family: _Family = next((family for prefix, family in FAMILIES if kind.startswith(prefix)), "other")
    options = {key: raw[key] for key, shape in _OPTIONS.get(family, {}).items() if type(raw.get(key)) is shape}
    location, name = options.get("user_location"), raw.get("name")
    return ir.HostedTool(
        family=family,
        kind=kind,
        name=name,
        allowed_domains=options.get("allowed_domains"),
        blocked_domains=options.get("blocked_domains"),
        user_location={key: value for key, value in location.items() if key != "type" and value is not None} if location else None,
        max_uses=options.get("max_uses"),
        cache=decode_cache(raw, src),
        src=src,
        extra=joined(rest(raw, _TOOL | options.keys()), None if name is None or kind.startswith(name) else {"name": name}),
    )


def _is_sound(raw: JsonObject) -> bool:
    """Say whether a tool of a version that nobody here knows yet has the shape of its elders."""
    mark = raw.get("cache_control") or {}
    return isinstance(raw.get("name"), str | None) and isinstance(mark, dict) and isinstance(mark.get("ttl"), str | None)


def encode_hosted_tool(tool: ir.HostedTool, losses: Ledger) -> JsonObject | None:
    """Write a server tool in its latest version; None where the target has none like it."""
    if tool.family not in HOSTED:
        losses.dropped(tool, code="server_tool", severity="impossible")
        return None
    drop_unheld(tool, losses)
    kind, name = HOSTED[tool.family]
    made: JsonObject = {"type": kind, "name": name}
    if tool.family == "tool_search" and tool.kind != kind:
        losses.changed(tool, "", made)
    searches = tool.family in ("web_search", "web_fetch")
    for option in ("allowed_domains", "blocked_domains", "max_uses"):
        value = getattr(tool, option)
        if value is None:
            continue
        if searches and not (option == "blocked_domains" and tool.allowed_domains):
            made[option] = value
        else:
            losses.dropped(tool, option, "excluded" if searches else "no_counterpart")
    if tool.user_location:
        if tool.family == "web_search":
            made["user_location"] = {"type": "approximate", **tool.user_location}
        else:
            drop_field(tool, "user_location", losses)
    return made | encode_cache(tool.cache, losses)


def hosted_name(kind: str) -> str | None:
    """Return the name of the server tool that a choice may force, by family or by another format's word."""
    family = _CHOICES.get(kind, kind)
    if family.startswith("web_search_preview"):
        family = "web_search"
    return HOSTED[family][1] if family in HOSTED and family != "tool_search" else None


# Remote tool servers: an entry in ``mcp_servers`` and a toolset among the tools.


def decode_servers(body: JsonObject, request: ir.Request) -> JsonObject | None:
    """Join servers with their toolsets, which stand among the tools of the request and of its turns; return what is left of both."""
    left: JsonObject = {}
    known: dict[str, tuple[int, JsonObject]] = {}
    for index, raw in enumerate(body["mcp_servers"]):
        if raw.get("type") == "url" and raw["name"] not in known:
            known[raw["name"]] = (index, raw)
        else:
            left[f"mcp_servers/{index}"] = raw

    def joined_up(tool: ir.Tool) -> ir.Tool:
        if not isinstance(tool, ir.HostedTool) or tool.kind != "mcp_toolset":
            return tool
        toolset = resolve(body, tool.src)[1]
        found = known.pop(toolset.get("mcp_server_name"), None)
        return tool if found is None else _decode_server(found[1], found[0], toolset, tool.src, left)

    request.tools = list(map(joined_up, request.tools))
    for message in request.messages:
        if message.tools:
            message.tools = list(map(joined_up, message.tools))
    request.tools += [_decode_server(raw, index, {}, "", left) for index, raw in known.values()]
    return left or None


def _decode_server(raw: JsonObject, index: int, toolset: JsonObject, aside: str, left: JsonObject) -> ir.McpServer:
    older = raw.get("tool_configuration") or {}
    is_off = older.get("enabled") is False
    defaults, configs = toolset.get("default_config") or {}, toolset.get("configs") or {}
    allowed: list[str] | None = [] if is_off else older.get("allowed_tools")
    denied: list[str] = []
    extra = joined(rest(raw, _SERVER), rest(older, {"enabled"} if is_off else {"enabled", "allowed_tools"}, "tool_configuration/"))
    if aside:
        left |= rest(toolset, _TOOLSET, f"{aside[1:]}/") or {}
        left |= rest(defaults, frozenset({"enabled", "defer_loading"}), f"{aside[1:]}/default_config/") or {}
        on, denied = _decode_switches(defaults, configs, f"{aside[1:]}/configs", left)
        if allowed is not None and (denied or (on is not None and set(on) != set(allowed))):
            extra = joined(extra, {"tool_configuration/allowed_tools": allowed, f"{aside}/configs": configs})
        allowed = _both(allowed, on, denied)
    return ir.McpServer(
        label=raw["name"],
        url=raw["url"],
        token=raw.get("authorization_token"),
        allowed=allowed,
        denied=denied if denied and allowed is None else None,
        defer_loading=defaults.get("defer_loading"),
        cache=decode_cache(toolset, aside),
        src=f"/mcp_servers/{index}",
        second_src=aside,
        extra=extra,
    )


def _both(allowed: list[str] | None, on: list[str] | None, denied: list[str]) -> list[str] | None:
    """Return the only tools that may be used where two places say which those are: what one of them forbids is forbidden."""
    if allowed is None:
        return on
    forbidden, permitted = set(denied), set(allowed if on is None else on)
    return [name for name in dict.fromkeys(allowed) if name in permitted and name not in forbidden]


def _decode_switches(defaults: JsonObject, configs: JsonObject, at: str, left: JsonObject) -> tuple[list[str] | None, list[str]]:
    """Return the tools that are on where all others are off, else None, and those that are off where all others are on.

    Any other use of the switches is left over.
    """
    is_list = defaults.get("enabled") is False
    names: list[str] = []
    usual = _SWITCHES | {key: value for key, value in defaults.items() if value is not None}
    for name, switch in configs.items():
        other = {key: value for key, value in (switch or {}).items() if value != usual.get(key)}
        if other.get("enabled") is is_list:  # not what counts for all
            del other["enabled"]
            names.append(name)
        left |= rest(other, frozenset(), f"{at}/{escape(name)}/") or {}
    return (names, []) if is_list else (None, names)


def encode_server(server: ir.McpServer, losses: Ledger) -> tuple[JsonObject, JsonObject] | None:
    """Write a remote tool server as an entry and a toolset; None where it has no address."""
    if server.url is None:
        losses.dropped(server, code="not_portable", severity="impossible")
        return None
    drop_unheld(server, losses)
    entry: JsonObject = {"type": "url", "name": server.label, "url": server.url}
    token = _encode_headers(server, losses)
    if token is not None:
        entry["authorization_token"] = token
    toolset: JsonObject = {"type": "mcp_toolset", "mcp_server_name": server.label}
    defaults: JsonObject = {} if server.allowed is None else {"enabled": False}
    if server.defer_loading is not None:
        defaults["defer_loading"] = server.defer_loading
    if defaults:
        toolset["default_config"] = defaults
    switched = server.denied if server.allowed is None else server.allowed
    if switched:
        toolset["configs"] = {name: {"enabled": server.allowed is not None} for name in switched}
    return entry, toolset | encode_cache(server.cache, losses)


def _encode_headers(server: ir.McpServer, losses: Ledger) -> str | None:
    """Return the token, which may stand among the headers, for which there is no other place."""
    token = server.token
    for name, value in (server.headers or {}).items():
        scheme, _, given = value.partition(" ")
        is_bearer = name.lower() == "authorization" and scheme.lower() == "bearer"
        if not is_bearer:
            losses.dropped(server, f"headers/{escape(name)}")
        elif token is None:
            token = given
        else:
            losses.dropped(server, f"headers/{escape(name)}", "too_many", severity="info" if given == token else "lossy")
    return token


_ResultFamily = Literal["web_search", "web_fetch", "code", "mcp"]

_FAMILIES: dict[str, _ResultFamily] = {
    "web_search": "web_search",
    "web_fetch": "web_fetch",
    "code_execution": "code",
}
_ARGUMENT: dict[str, str] = {"web_search": "query", "web_fetch": "url", "code": "code"}
"""Family to the member of the input that says it all."""

_CALL = frozenset({"type", "id", "name", "input"})
_MCP_CALL = _CALL | {"server_name"}
_RESULT = frozenset({"type", "tool_use_id", "content"})
_MCP_RESULT = _RESULT | {"is_error"}
_CODE = frozenset({"type", "stdout", "stderr", "return_code"})
_ERROR = frozenset({"type", "error_code"})
_WEB_CONTENT = ("web_fetch_result", "web_fetch_tool_result_error", "web_search_tool_result_error")
_CODE_CONTENT = ("code_execution_result", "encrypted_code_execution_result", "code_execution_tool_result_error")


def decode_hosted_call(raw: JsonObject, src: str) -> ir.Part:
    """Read a call of a server tool; one of no shared family stays as it is."""
    name, given = raw["name"], raw["input"]
    family = _FAMILIES.get(name)
    if family is None:
        return decode_opaque(raw, src)
    key = _ARGUMENT[family]
    text = given.get(key)
    is_plain = isinstance(text, str)
    return ir.Hosted(
        family=family,
        role="call",
        id=raw["id"],
        name=name,
        arguments=text if is_plain else dumps(given).decode(),
        src=src,
        raw=raw,
        extra=joined(rest(raw, _CALL), rest(given, frozenset({key}), "input/") if is_plain else None),
    )


def decode_mcp_call(raw: JsonObject, src: str) -> ir.Part:
    """Read a call of a remote tool."""
    return ir.Hosted(
        family="mcp",
        role="call",
        id=raw["id"],
        name=raw["name"],
        server=raw["server_name"],
        arguments=dumps(raw["input"]).decode(),
        src=src,
        raw=raw,
        extra=rest(raw, _MCP_CALL),
    )


def decode_web_result(raw: JsonObject, src: str) -> ir.Part:
    """Read what a web search or fetch found: pages that only this server can read, or an error."""
    content = raw["content"]
    if isinstance(content, dict) and content.get("type") not in _WEB_CONTENT:
        return decode_opaque(raw, src)
    error = content.get("error_code") if isinstance(content, dict) else None
    left = rest(content, _ERROR, "content/") if error is not None else {"content": content} if content else None
    return ir.Hosted(
        family="web_search" if raw["type"] == "web_search_tool_result" else "web_fetch",
        role="result",
        id=raw["tool_use_id"],
        error=error,
        status=None if error is None else "failed",
        src=src,
        raw=raw,
        extra=joined(rest(raw, _RESULT), left),
    )


def decode_code_result(raw: JsonObject, src: str) -> ir.Part:
    """Read what a run of code left behind."""
    content = raw["content"]
    if content.get("type") not in _CODE_CONTENT:
        return decode_opaque(raw, src)
    error = content.get("error_code")
    status = content.get("return_code")
    kept = frozenset(_ERROR if error is not None else _CODE)
    return ir.Hosted(
        family="code",
        role="result",
        id=raw["tool_use_id"],
        output=content.get("stdout"),
        error=error if error is not None else content.get("stderr") or None,
        status="failed" if status or error is not None else None if status is None else "completed",
        src=src,
        raw=raw,
        extra=joined(
            rest(raw, _RESULT),
            {f"content/{key}": value for key, value in (rest(content, kept) or {}).items() if value != []} or None,
            {"content/return_code": status} if status not in (None, 0, 1) else None,
        ),
    )


def decode_mcp_result(raw: JsonObject, src: str) -> ir.Part:
    """Read what a remote tool answered."""
    content = raw.get("content") or []
    left: JsonObject = {}
    texts = [content] if isinstance(content, str) else []
    for index, block in enumerate(content if isinstance(content, list) else ()):
        if block.get("type") == "text":
            texts.append(block["text"])
            left |= rest(block, frozenset({"type", "text"}), f"content/{index}/") or {}
        else:
            left[f"content/{index}"] = block
    text = "\n".join(texts)
    return ir.Hosted(
        family="mcp",
        role="result",
        id=raw["tool_use_id"],
        output=None if raw.get("is_error") else text,
        error=text if raw.get("is_error") else None,
        src=src,
        raw=raw,
        extra=joined(rest(raw, _MCP_RESULT), left),
    )


def encode_hosted(part: ir.Hosted, losses: Ledger) -> list[JsonObject]:
    """Write a server tool's call, result or both into an answer; searches have no result that this format could hold."""
    if part.family not in ("mcp", "code"):
        encode_opaque(part, losses)
        return []
    drop_unheld_in_answer(part, losses)
    made = []
    if part.role in ("call", "both"):
        made.append(_encode_mcp_call(part, losses) if part.family == "mcp" else _encode_code_call(part))
    if part.role == "result" or (part.role == "both" and _is_told(part)):
        made.append(_encode_mcp_result(part, losses) if part.family == "mcp" else _encode_code_result(part))
    return made


def _is_told(run: ir.Hosted) -> bool:
    """Say whether it is known what became of a call; servers tell what code printed only where they are asked to."""
    return run.family == "mcp" or run.output is not None or run.error is not None or run.status == "failed"


def _encode_mcp_call(part: ir.Hosted, losses: Ledger) -> JsonObject:
    text = part.arguments or ""
    given = read_object(text) if text.strip() else {}
    if given is None:
        given = losses.changed(part, "arguments", {"raw_arguments": text}, "invalid_arguments")
    return {
        "type": "mcp_tool_use",
        "id": part.id,
        "name": part.name or "",
        "server_name": part.server or "",
        "input": given,
    }


def _encode_mcp_result(part: ir.Hosted, losses: Ledger) -> JsonObject:
    if part.error is not None and part.output:  # there is room for one of them
        losses.dropped(part, "output")
    text = part.error if part.error is not None else part.output
    return {
        "type": "mcp_tool_result",
        "tool_use_id": part.id,
        "is_error": part.error is not None,
        "content": [{"type": "text", "text": text}] if text else [],
    }


def _encode_code_call(part: ir.Hosted) -> JsonObject:
    return {"type": "server_tool_use", "id": part.id, "name": "code_execution", "input": {"code": part.arguments or ""}}


def _encode_code_result(part: ir.Hosted) -> JsonObject:
    failed = part.error is not None or part.status not in (None, "completed")
    result: JsonObject = {
        "type": "code_execution_result",
        "stdout": part.output or "",
        "stderr": part.error or "",
        "return_code": 1 if failed else 0,
        "content": [],
    }
    return {"type": "code_execution_tool_result", "tool_use_id": part.id, "content": result}
