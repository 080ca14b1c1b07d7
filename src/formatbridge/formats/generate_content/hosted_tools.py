"""Tools that the server runs, code executions, and remote MCP servers: decode and encode side by side.

Code and its result are the only calls of server tools that other formats have, so only they have functions.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from formatbridge import ir
from formatbridge.formats.generate_content.holds import drop_unheld, drop_unheld_in_answer
from formatbridge.formats.generate_content.reasoning import decode_signature, encode_signature, enum_name
from formatbridge.formats.shared.held_fields import drop_field
from formatbridge.formats.shared.parts import encode_outcome_text
from formatbridge.formats.shared.unmodelled_fields import merge_extra, read_extra
from formatbridge.jsontext.pointers import escape
from formatbridge.jsontext.types import JsonObject
from formatbridge.report.ledger import WHOLE_NODE, Ledger

# Source: the official SDK, ``Tool``, whose fields are the tools. ``googleSearchRetrieval`` is the older name of the search.
FAMILIES: dict[str, Any] = {
    "googleSearch": "web_search",
    "googleSearchRetrieval": "web_search",
    "enterpriseWebSearch": "web_search",
    "urlContext": "web_fetch",
    "codeExecution": "code",
}
"""Fields of a tool to the families that other formats have too."""

HOSTED = {"web_search": "googleSearch", "web_fetch": "urlContext", "code": "codeExecution"}
"""Families that a request can have, and the field of each."""

_WITHOUT_FAMILY = frozenset({"computerUse", "exaAiSearch", "fileSearch", "googleMaps", "parallelAiSearch", "retrieval"})
"""Fields of tools that only this format has. A request of the format has them unchanged."""
_EXCLUDED_DOMAINS = "tools/*/googleSearch/excludeDomains"

_SERVER = frozenset({"name", "streamableHttpTransport"})
_TRANSPORT = frozenset({"url", "headers"})


def decode_hosted_tool(field: str, raw: Any, src: str) -> ir.HostedTool:
    """Decode one server tool; one that no other format has is of the family ``other`` and keeps its field name."""
    # {"googleSearch": {"excludeDomains": ["a.example"]}}, {"codeExecution": {}}, {"urlContext": {}}
    family = FAMILIES.get(field, "other")
    options = raw if isinstance(raw, dict) else {}
    extra = read_extra(options, frozenset({"excludeDomains"})) if family == "web_search" else read_extra(options, frozenset())
    # "Powered by Vertex AI Search and Sec4 compliance" (official SDK, ``EnterpriseWebSearch``).
    # So the search of another vendor is only similar.
    if field == "enterpriseWebSearch":
        extra = merge_extra(extra, {WHOLE_NODE: field})
    return ir.HostedTool(
        family=family,
        kind=field,
        blocked_domains=options.get("excludeDomains") if family == "web_search" else None,
        src=f"{src}/{escape(field)}",
        extra=extra,
    )


def _accepted(options: JsonObject, place: str, pointer: str, losses: Ledger) -> JsonObject:
    """Return the options of a tool that the server accepts; note the others. ``place``: their path, as in ``rejects_nested``."""
    rejected = losses.dialect.rejects_nested if losses.dialect is not None else ()
    kept: JsonObject = {}
    for key, value in options.items():
        if f"{place}/{key}" in rejected:
            losses.dropped_at(f"{pointer}/{escape(key)}", "rejected_by_server")
        else:
            is_object = isinstance(value, dict)
            kept[key] = _accepted(value, f"{place}/{key}", f"{pointer}/{escape(key)}", losses) if is_object else value
    return kept


def encode_hosted_tool(tool: ir.HostedTool, losses: Ledger) -> JsonObject | None:
    """Encode one server tool; None if the vendor has no tool of its family."""
    rejected = losses.dialect.rejects_nested if losses.dialect is not None else ()
    is_kept = FAMILIES.get(tool.kind) == tool.family and f"tools/*/{tool.kind}" not in rejected
    field = tool.kind if is_kept else HOSTED.get(tool.family)
    if tool.kind in _WITHOUT_FAMILY and f"tools/*/{tool.kind}" not in rejected:
        return {tool.kind: _accepted(tool.extra or {}, f"tools/*/{tool.kind}", tool.src, losses)}
    if field is None:
        losses.dropped(tool, code="server_tool")
        return None
    drop_unheld(tool, losses)
    if not tool.blocked_domains:
        return {field: {}}
    if tool.family != "web_search":
        drop_field(tool, "blocked_domains", losses)
        return {field: {}}
    if _EXCLUDED_DOMAINS in rejected:
        losses.dropped(tool, "blocked_domains", "rejected_by_server")
        return {field: {}}
    return {field: {"excludeDomains": tool.blocked_domains}}


def decode_server(raw: JsonObject, src: str) -> ir.McpServer:
    """Decode one MCP server; a bearer token in its headers becomes ``token``."""
    # {"name": "docs", "streamableHttpTransport": {"url": "https://mcp.example", "headers": {"Authorization": "Bearer k"}}}
    transport = raw.get("streamableHttpTransport") or {}
    headers = dict(transport.get("headers") or {})
    key = next((name for name in headers if name.lower() == "authorization"), None)
    # Other formats have the token in a field; a header has ``Bearer`` before it (RFC 6750).
    token = headers.pop(key)[7:] if key is not None and headers[key][:7].lower() == "bearer " else None
    return ir.McpServer(
        label=raw.get("name") or "",
        url=transport.get("url"),
        authorization_token=token,
        headers=headers or None,
        src=src,
        extra=merge_extra(read_extra(raw, _SERVER), read_extra(transport, _TRANSPORT, "streamableHttpTransport/")),
    )


def encode_server(server: ir.McpServer, losses: Ledger) -> JsonObject | None:
    """Encode one MCP server; None if it has no URL or no allowed tool."""
    if server.allowed_tools == []:  # no tool of the server is allowed
        losses.changed(server, "", None, "not_allowed")  # the report shows which value excludes the server
        return None
    if server.url is None:
        losses.dropped(server, code="server_tool")
        return None
    drop_unheld(server, losses)
    # The format has no list of allowed tools (official SDK, ``McpServer``), so all tools of the server are allowed.
    if server.allowed_tools:
        losses.dropped(server, "allowed_tools")
        losses.dropped(server, "allowed_tools.default")
    for name in server.denied_tools or ():
        losses.dropped(server, f"denied_tools/{escape(name)}/enabled")
    headers = _encode_headers(server, losses)
    transport: JsonObject = {"url": server.url} | ({"headers": headers} if headers else {})
    return {"name": server.label, "streamableHttpTransport": transport}


def _encode_headers(server: ir.McpServer, losses: Ledger) -> dict[str, str]:
    """Encode the headers with the token; another ``Authorization`` header is dropped, because the name is taken."""
    headers = {}
    for name, value in (server.headers or {}).items():
        if server.authorization_token is None or name.lower() != "authorization":
            headers[name] = value
        else:
            is_same = value[:7].lower() == "bearer " and value[7:] == server.authorization_token
            losses.dropped(server, f"headers/{escape(name)}", "too_many", severity="info" if is_same else "lossy")
    return headers if server.authorization_token is None else headers | {"Authorization": f"Bearer {server.authorization_token}"}


_CODE = frozenset({"executableCode", "thoughtSignature"})
_CODE_RESULT = frozenset({"codeExecutionResult", "thoughtSignature"})
_INTERPRETERS = (None, "code_execution", "code_interpreter")


def decode_hosted(raw: JsonObject, src: str, code_id: Callable[[str | None], str]) -> ir.Part:
    """Decode code that the server ran, its result, or another call of a server tool or its result.

    ``code_id``: returns the id of the code at a pointer, or of the code that the next result belongs to, for parts without an id.
    """
    # Only the order pairs a result with its code if neither has an id.
    if raw.get("executableCode") is not None:
        return _decode_code(raw, src, code_id(src))
    if raw.get("codeExecutionResult") is not None:
        return _decode_code_result(raw, src, code_id(None))
    return _decode_server_tool(raw, src)


def encode_hosted(part: ir.Hosted, losses: Ledger, *, carries_tokens: bool) -> list[JsonObject]:
    """Encode a code execution in a response: the code, its result, or both."""
    drop_unheld_in_answer(part, losses)
    encoded: list[JsonObject] = []
    # The only language is Python (official SDK, ``Language``). ``python_runs`` has left out code in others.
    if part.role != "result":
        encoded.append({"executableCode": {"id": part.id, "language": "PYTHON", "code": part.arguments or ""}})
    if part.role == "result" or (
        part.role == "both" and (part.output is not None or part.error is not None or part.status == "failed")
    ):
        encoded.append({"codeExecutionResult": {"id": part.id} | _encode_code_result(part, losses)})
    if encoded:
        encoded[0] |= encode_signature(part.signature, losses, carries_tokens=carries_tokens)
    return encoded


def python_runs(parts: list[ir.Part]) -> frozenset[str]:
    """Return the ids of the code executions in a response that this format can express; shells and editors are not among them."""
    return frozenset(
        part.id
        for part in parts
        if isinstance(part, ir.Hosted) and part.family == "code" and part.role != "result" and part.name in _INTERPRETERS
    )


def _decode_code(raw: JsonObject, src: str, generated_id: str) -> ir.Hosted:
    """Decode code that the server ran."""
    # {"executableCode": {"id": "1", "language": "PYTHON", "code": "print(1)"}}
    code = raw["executableCode"]
    return ir.Hosted(
        family="code",
        role="call",
        id=code.get("id") or generated_id,
        arguments=code.get("code") or "",
        signature=decode_signature(raw, src) if "thoughtSignature" in raw else None,
        src=src,
        raw=raw,
        extra=merge_extra(read_extra(raw, _CODE), read_extra(code, frozenset({"id", "code"}), "executableCode/")),
    )


def _decode_code_result(raw: JsonObject, src: str, generated_id: str) -> ir.Hosted:
    """Decode the result of a code execution."""
    # {"codeExecutionResult": {"id": "1", "outcome": "OUTCOME_OK", "output": "1"}}
    result = raw["codeExecutionResult"]
    outcome = enum_name(result.get("outcome"), ("OUTCOME_UNSPECIFIED", "OUTCOME_OK", "OUTCOME_FAILED", "OUTCOME_DEADLINE_EXCEEDED"))
    failed = outcome in ("OUTCOME_FAILED", "OUTCOME_DEADLINE_EXCEEDED")
    is_known = outcome in ("", "OUTCOME_OK", "OUTCOME_FAILED")
    known = frozenset({"id", "output", "outcome"}) if is_known else frozenset({"id", "output"})
    return ir.Hosted(
        family="code",
        role="result",
        id=result.get("id") or generated_id,
        output=None if failed else result.get("output") or "",
        error=result.get("output") or "" if failed else None,
        status="failed" if failed else "completed",
        signature=decode_signature(raw, src) if "thoughtSignature" in raw else None,
        src=src,
        raw=raw,
        extra=merge_extra(read_extra(raw, _CODE_RESULT), read_extra(result, known, "codeExecutionResult/")),
    )


def _encode_code_result(part: ir.Hosted, losses: Ledger) -> JsonObject:
    """Encode the result of a code execution.

    There is one text. A successful execution loses its error output, and a failed one loses its standard output.
    """
    # "Contains stdout when code execution is successful, stderr or other description otherwise" (official SDK).
    has_failed = part.status not in (None, "completed") or (part.error is not None and part.status is None)
    if not has_failed:
        if part.error:
            losses.dropped(part, "error")
        return {"outcome": "OUTCOME_OK", "output": part.output or ""}
    return {"outcome": "OUTCOME_FAILED", "output": encode_outcome_text(part, losses)}


def _decode_server_tool(raw: JsonObject, src: str) -> ir.Opaque:
    """Decode a call or a result of one of the vendor's server tools."""
    # {"toolCall": {"id": "1", "toolType": "GOOGLE_SEARCH_WEB", "args": {"queries": ["weather"]}}}
    # "The client is expected to echo this message back" (official SDK, ``Part.tool_call``), so the part stays as a whole.
    field = "toolCall" if raw.get("toolCall") is not None else "toolResponse"
    return ir.Opaque(
        format="generate_content",
        raw=raw,
        label=field,
        signature=decode_signature(raw, src) if "thoughtSignature" in raw else None,
        src=src,
    )
