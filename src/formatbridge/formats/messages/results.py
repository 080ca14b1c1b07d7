"""Results of tool calls in messages: blocks of the turn after the calls."""

from __future__ import annotations

from formatbridge import ir
from formatbridge.formats.messages.parts import collapse, decode_cache, decode_content, encode_cache, encode_content, encode_text
from formatbridge.formats.shared.parts import weigh_unknown
from formatbridge.formats.shared.reasoning_tokens import drop_token
from formatbridge.formats.shared.unmodelled_fields import rest
from formatbridge.jsontext.types import JsonObject
from formatbridge.report.ledger import Ledger

_RESULT = frozenset({"type", "tool_use_id", "content", "is_error", "cache_control"})


def decode_result(raw: JsonObject, src: str) -> ir.ToolResult:
    """Read what a tool answered."""
    content, place = raw.get("content"), f"{src}/content"
    parts: list[ir.Part] = [ir.Text(content, place)] if isinstance(content, str) else weigh_unknown(decode_content(content, place))
    result = ir.ToolResult(raw["tool_use_id"], parts, src)
    if len(raw) > 3 or content is None:  # of three members with a content, the others are its type and its call
        result.is_error, result.cache, result.extra = raw.get("is_error"), decode_cache(raw, src), rest(raw, _RESULT)
    return result


def encode_result(result: ir.ToolResult, losses: Ledger) -> JsonObject:
    """Write what a tool answered: text, images and documents."""
    if result.extra:
        losses.extras(result)
    if result.signature:
        drop_token(result.signature, "messages", losses)
    made: JsonObject = {"type": "tool_result", "tool_use_id": result.call_id}
    parts = result.content
    if len(parts) == 1 and type(parts[0]) is ir.Text:  # the usual case, without a list to collapse
        block = encode_text(parts[0], losses)
        if block:
            made["content"] = block["text"] if len(block) == 2 else [block]
    elif content := encode_content(parts, losses):
        made["content"] = collapse(content)
    if result.is_error:
        made["is_error"] = True
    return made | encode_cache(result.cache, losses) if result.cache else made
