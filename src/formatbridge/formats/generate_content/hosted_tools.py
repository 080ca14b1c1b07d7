"""The tools that the server runs, and the servers that it may ask: decode and encode side by side."""

from __future__ import annotations

from typing import Any

from formatbridge import ir
from formatbridge.formats.generate_content.holds import drop_unheld, drop_unheld_in_answer
from formatbridge.formats.generate_content.reasoning import decode_signature, encode_signature, word_of
from formatbridge.formats.shared.held_fields import drop_field
from formatbridge.formats.shared.unmodelled_fields import joined, rest
from formatbridge.jsontext.pointers import escape
from formatbridge.jsontext.types import JsonObject
from formatbridge.report.ledger import WHOLE_NODE, Ledger

FAMILIES: dict[str, Any] = {
    "googleSearch": "web_search",
    "googleSearchRetrieval": "web_search",
    "enterpriseWebSearch": "web_search",
    "urlContext": "web_fetch",
    "codeExecution": "code",
}
"""Members of a tool to the families that others have too."""

HOSTED = {"web_search": "googleSearch", "web_fetch": "urlContext", "code": "codeExecution"}
"""Families that this format can be asked for, and its word for each."""

_SERVER = frozenset({"name", "streamableHttpTransport"})
_TRANSPORT = frozenset({"url", "headers"})
_DEFAULTS: tuple[Any, ...] = (None, [], {}, "medium")
"""Options that say no more than none: a search looks at a medium amount of text anyway."""


def decode_hosted_tool(member: str, raw: Any, src: str) -> ir.HostedTool:
    """Read one of the server's tools; one that no other format has is told by its name."""
    family = FAMILIES.get(member, "other")
    options = raw if isinstance(raw, dict) else {}
    extra = rest(options, frozenset({"excludeDomains"})) if family == "web_search" else rest(options, frozenset())
    if member == "enterpriseWebSearch":
        extra = joined(extra, {WHOLE_NODE: member})
    return ir.HostedTool(
        family=family,
        kind=member,
        blocked_domains=options.get("excludeDomains") if family == "web_search" else None,
        src=f"{src}/{escape(member)}",
        extra=extra,
    )


def encode_hosted_tool(tool: ir.HostedTool, losses: Ledger) -> JsonObject | None:
    """Write one of the server's tools; None where this server has none such."""
    member = HOSTED.get(tool.family)
    if member is None:
        losses.dropped(tool, code="server_tool", severity="impossible")
        return None
    drop_unheld(tool, losses)
    if not tool.blocked_domains:
        return {member: {}}
    if tool.family == "web_search":
        return {member: {"excludeDomains": tool.blocked_domains}}
    drop_field(tool, "blocked_domains", losses)
    return {member: {}}


def decode_server(raw: JsonObject, src: str) -> ir.McpServer:
    """Read one server; a bearer token among its headers is a field of its own."""
    transport = raw.get("streamableHttpTransport") or {}
    headers = dict(transport.get("headers") or {})
    key = next((name for name in headers if name.lower() == "authorization"), None)
    token = headers.pop(key)[7:] if key is not None and headers[key][:7].lower() == "bearer " else None
    return ir.McpServer(
        label=raw.get("name") or "",
        url=transport.get("url"),
        token=token,
        headers=headers or None,
        src=src,
        extra=joined(rest(raw, _SERVER), rest(transport, _TRANSPORT, "streamableHttpTransport/")),
    )


def encode_server(server: ir.McpServer, losses: Ledger) -> JsonObject | None:
    """Write one server; None where it has no address that this server could ask."""
    if server.allowed == []:  # none of its tools may be used
        losses.changed(server, "", None, "excluded", severity="info")  # which of its values says so matters
        return None
    if server.url is None:
        losses.dropped(server, code="server_tool", severity="impossible")
        return None
    drop_unheld(server, losses)
    if server.allowed:
        losses.dropped(server, "allowed")
        losses.dropped(server, "allowed.default")
    for name in server.denied or ():
        losses.dropped(server, f"denied/{escape(name)}/enabled")
    headers = _encode_headers(server, losses)
    transport: JsonObject = {"url": server.url} | ({"headers": headers} if headers else {})
    return {"name": server.label, "streamableHttpTransport": transport}


def _encode_headers(server: ir.McpServer, losses: Ledger) -> dict[str, str]:
    """Write the headers with the token among them; another of its kind has no place beside it."""
    headers = {}
    for name, value in (server.headers or {}).items():
        if server.token is None or name.lower() != "authorization":
            headers[name] = value
        else:
            is_same = value[:7].lower() == "bearer " and value[7:] == server.token
            losses.dropped(server, f"headers/{escape(name)}", "too_many", severity="info" if is_same else "lossy")
    return headers if server.token is None else headers | {"Authorization": f"Bearer {server.token}"}


_CODE = frozenset({"executableCode", "thoughtSignature"})
_CODE_RESULT = frozenset({"codeExecutionResult", "thoughtSignature"})
_INTERPRETERS = (None, "code_execution", "code_interpreter")


def decode_code(raw: JsonObject, src: str, made_id: str) -> ir.Hosted:
    """Read code that the server ran."""
    code = raw["executableCode"]
    return ir.Hosted(
        family="code",
        role="call",
        id=code.get("id") or made_id,
        arguments=code.get("code") or "",
        signature=decode_signature(raw, src) if "thoughtSignature" in raw else None,
        src=src,
        raw=raw,
        extra=joined(rest(raw, _CODE), rest(code, frozenset({"id", "code"}), "executableCode/")),
    )


def decode_code_result(raw: JsonObject, src: str, made_id: str) -> ir.Hosted:
    """Read how a run of code ended."""
    result = raw["codeExecutionResult"]
    outcome = word_of(result.get("outcome"), ("OUTCOME_UNSPECIFIED", "OUTCOME_OK", "OUTCOME_FAILED", "OUTCOME_DEADLINE_EXCEEDED"))
    failed = outcome in ("OUTCOME_FAILED", "OUTCOME_DEADLINE_EXCEEDED")
    plain = outcome in ("", "OUTCOME_OK", "OUTCOME_FAILED")
    known = frozenset({"id", "output", "outcome"}) if plain else frozenset({"id", "output"})
    return ir.Hosted(
        family="code",
        role="result",
        id=result.get("id") or made_id,
        output=None if failed else result.get("output") or "",
        error=result.get("output") or "" if failed else None,
        status="failed" if failed else "completed",
        signature=decode_signature(raw, src) if "thoughtSignature" in raw else None,
        src=src,
        raw=raw,
        extra=joined(rest(raw, _CODE_RESULT), rest(result, known, "codeExecutionResult/")),
    )


def python_runs(parts: list[ir.Part]) -> frozenset[str]:
    """Return the ids of the runs of code in an answer that this format has too: not those of a shell or an editor."""
    return frozenset(
        part.id
        for part in parts
        if isinstance(part, ir.Hosted) and part.family == "code" and part.role != "result" and part.name in _INTERPRETERS
    )


def encode_code(part: ir.Hosted, losses: Ledger, *, carry: bool) -> list[JsonObject]:
    """Write a run of code in an answer: the code, its result, or both."""
    drop_unheld_in_answer(part, losses)
    made: list[JsonObject] = []
    if part.role != "result":
        made.append({"executableCode": {"id": part.id, "language": "PYTHON", "code": part.arguments or ""}})
    if part.role == "result" or (
        part.role == "both" and (part.output is not None or part.error is not None or part.status == "failed")
    ):
        made.append({"codeExecutionResult": {"id": part.id} | _encode_outcome(part, losses)})
    if made:
        made[0] |= encode_signature(part.signature, losses, carry=carry)
    return made


def _encode_outcome(part: ir.Hosted, losses: Ledger) -> JsonObject:
    """Write how a run ended; there is one text, so a run that succeeded loses its warnings, and one that failed what it printed."""
    has_failed = part.status not in (None, "completed") or (part.error is not None and part.status is None)
    if not has_failed:
        if part.error:
            losses.dropped(part, "error")
        return {"outcome": "OUTCOME_OK", "output": part.output or ""}
    if part.error is not None and part.output:
        losses.dropped(part, "output")
    return {"outcome": "OUTCOME_FAILED", "output": part.error if part.error is not None else part.output or ""}


def decode_server_tool(raw: JsonObject, src: str) -> ir.Opaque:
    """Read a call of one of the vendor's own tools, or what it returned."""
    what = "toolCall" if raw.get("toolCall") is not None else "toolResponse"
    return ir.Opaque(
        format="generate_content",
        raw=raw,
        label=what,
        signature=decode_signature(raw, src) if "thoughtSignature" in raw else None,
        src=src,
    )
