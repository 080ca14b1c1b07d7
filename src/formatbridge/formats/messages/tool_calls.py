"""Tool calls and results of Anthropic Messages.

``encode_call_start`` is here alone, because only here a call opens as a block of its type. A failed result has text only, so its media
go after the results: ``encode_result_media``.
"""

from __future__ import annotations

from formatbridge import ir
from formatbridge.formats.messages.content import decode_content, encode_cache, encode_content, encode_part, simplify_content
from formatbridge.formats.messages.holds import drop_unheld, drop_unheld_in_answer
from formatbridge.formats.shared.parts import decode_cache_control, set_unknown_severity
from formatbridge.formats.shared.tool_arguments import NOTHING_PARSED, ParsedArguments, encode_arguments_object, wrap_text
from formatbridge.formats.shared.unmodelled_fields import read_extra
from formatbridge.jsontext.types import JsonObject
from formatbridge.report.ledger import Ledger

_CALL = frozenset({"type", "id", "name", "input", "cache_control"})
_RESULT = frozenset({"type", "tool_use_id", "content", "is_error", "cache_control"})


def decode_call(raw: JsonObject, src: str) -> ir.ToolCall:
    """Decode a ``tool_use`` block."""
    call = ir.ToolCall(raw["id"], raw["name"], raw["input"], src)
    call.cache, call.extra = decode_cache_control(raw, src), read_extra(raw, _CALL)
    return call


def encode_call(call: ir.ToolCall, losses: Ledger, parsed: ParsedArguments) -> JsonObject:
    """Encode a tool call of a request as a ``tool_use`` block, which has no field for a signature."""
    drop_unheld(call, losses)
    block = _encode_tool_use(call, losses, parsed)
    return block | encode_cache(call.cache, losses) if call.cache else block


def encode_answer_call(call: ir.ToolCall, losses: Ledger, parsed: ParsedArguments = NOTHING_PARSED) -> JsonObject:
    """Encode a tool call of a response as a ``tool_use`` block. A separate block carries its signature."""
    drop_unheld_in_answer(call, losses)
    return _encode_tool_use(call, losses, parsed)


def encode_call_start(call: ir.ToolCall, losses: Ledger) -> JsonObject:
    """Encode a ``tool_use`` block without arguments, as a stream starts it."""
    name = call.name
    if call.namespace is not None:
        # Only Responses has namespaces. ``adapt_tools`` declares their functions with the same prefix.
        name = f"{call.namespace}__{name}"
        losses.changed(call, "namespace", name, "renamed")
    return {"type": "tool_use", "id": call.id, "name": name, "input": {}}


def _encode_tool_use(call: ir.ToolCall, losses: Ledger, parsed: ParsedArguments) -> JsonObject:
    """Encode a ``tool_use`` block. Free text of a custom tool becomes an object with one field."""
    block = encode_call_start(call, losses)
    if call.kind == "custom":
        block["input"] = wrap_text(str(call.arguments))
        # Custom tools of OpenAI take free text (its SDK). ``input`` is an object (official SDK, ``ToolUseBlockParam``).
        losses.changed(call, "", {"type": "tool_use", "name": block["name"]}, "wrapped")
    else:
        block["input"] = encode_arguments_object(call, losses, parsed)
    return block


def decode_result(raw: JsonObject, src: str) -> ir.ToolResult:
    """Decode a ``tool_result`` block."""
    content = raw.get("content")
    result = ir.ToolResult(raw["tool_use_id"], set_unknown_severity(decode_content(content, f"{src}/content")), src)
    result.is_error, result.cache, result.extra = raw.get("is_error"), decode_cache_control(raw, src), read_extra(raw, _RESULT)
    return result


def encode_result(result: ir.ToolResult, losses: Ledger) -> JsonObject:
    """Encode a tool result as a ``tool_result`` block with text, images and documents. The media of a failed one are encoded separately."""
    drop_unheld(result, losses)
    block: JsonObject = {"type": "tool_result", "tool_use_id": result.call_id}
    # "all content must be type `text` if `is_error` is true" (can1357/oh-my-pi#12809, vellum-ai/vellum-assistant#18387).
    parts = [part for part in result.content if type(part) is not ir.Media] if result.is_error else result.content
    if content := encode_content(parts, losses):
        block["content"] = simplify_content(content)
    if result.is_error:
        block["is_error"] = True
    return block | encode_cache(result.cache, losses) if result.cache else block


def encode_result_media(result: ir.ToolResult, losses: Ledger) -> list[JsonObject]:
    """Encode the media of a failed tool result for the turn of the user, after the results."""
    content = []
    for part in result.content if result.is_error else ():
        encoded = encode_part(part, losses) if type(part) is ir.Media else None
        if encoded is not None:
            content.append(losses.changed(part, "", encoded, "moved"))
    return content
