"""Calls of tools that the server of messages runs itself, and their results: decode and encode side by side."""

from __future__ import annotations

from typing import Literal

from formatbridge import ir
from formatbridge.formats.messages.parts import decode_opaque
from formatbridge.formats.shared.parts import encode_opaque
from formatbridge.formats.shared.tool_arguments import read_object
from formatbridge.formats.shared.unmodelled_fields import joined, rest
from formatbridge.jsontext.codec import dumps
from formatbridge.jsontext.types import JsonObject
from formatbridge.report.ledger import Ledger

_Family = Literal["web_search", "web_fetch", "code", "mcp"]

_FAMILIES: dict[str, _Family] = {
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
    if part.extra:
        losses.extras(part)
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
