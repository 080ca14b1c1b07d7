"""Tool calls of messages: an id, a name and an object of arguments."""

from __future__ import annotations

from formatbridge import ir
from formatbridge.formats.messages.content import collapse, decode_cache, decode_content, encode_cache, encode_content, encode_text
from formatbridge.formats.messages.holds import drop_unheld, drop_unheld_in_answer
from formatbridge.formats.shared.parts import set_unknown_severity
from formatbridge.formats.shared.tool_arguments import NOT_READ, Objects, encode_arguments_object, wrap_text
from formatbridge.formats.shared.unmodelled_fields import rest
from formatbridge.jsontext.types import JsonObject
from formatbridge.report.ledger import Ledger, null_ledger

_CALL = frozenset({"type", "id", "name", "input", "cache_control"})


def decode_call(raw: JsonObject, src: str) -> ir.ToolCall:
    """Read one call of a tool of the caller's."""
    call = ir.ToolCall(raw["id"], raw["name"], raw["input"], src)
    if len(raw) > 4:  # more than its type and these three, which are required
        call.cache, call.extra = decode_cache(raw, src), rest(raw, _CALL)
    return call


def encode_call(call: ir.ToolCall, losses: Ledger, objects: Objects) -> JsonObject:
    """Write one tool call of a request's history; it has no slot for a token."""
    drop_unheld(call, losses)
    given = call.arguments
    made = {
        "type": "tool_use",
        "id": call.id,
        "name": call.name,
        "input": encode_arguments_object(call, losses, objects) if isinstance(given, str) else given,
    }
    return made | encode_cache(call.cache, losses) if call.cache else made


def encode_answer_call(call: ir.ToolCall, losses: Ledger, objects: Objects = NOT_READ) -> JsonObject:
    """Write a tool call of an answer without its token."""
    drop_unheld_in_answer(call, losses)
    name = _encode_name(call, losses)
    if call.kind == "custom":
        given: JsonObject = dict(wrap_text(str(call.arguments)))
        losses.changed(call, "", {"type": "tool_use", "name": name}, "wrapped")
    else:
        given = encode_arguments_object(call, losses, objects)
    return {"type": "tool_use", "id": call.id, "name": name, "input": given}


def encode_opening(call: ir.ToolCall) -> JsonObject:
    """Write what a stream tells of a call first: all but its arguments."""
    return {"type": "tool_use", "id": call.id, "name": _encode_name(call, null_ledger()), "input": {}}


def _encode_name(call: ir.ToolCall, losses: Ledger) -> str:
    if call.namespace is None:
        return call.name
    name = f"{call.namespace}__{call.name}"
    losses.changed(call, "namespace", name, "renamed")
    return name


_RESULT = frozenset({"type", "tool_use_id", "content", "is_error", "cache_control"})


def decode_result(raw: JsonObject, src: str) -> ir.ToolResult:
    """Read what a tool answered."""
    content, place = raw.get("content"), f"{src}/content"
    parts: list[ir.Part] = (
        [ir.Text(content, place)] if isinstance(content, str) else set_unknown_severity(decode_content(content, place))
    )
    result = ir.ToolResult(raw["tool_use_id"], parts, src)
    if len(raw) > 3 or content is None:  # of three members with a content, the others are its type and its call
        result.is_error, result.cache, result.extra = raw.get("is_error"), decode_cache(raw, src), rest(raw, _RESULT)
    return result


def encode_result(result: ir.ToolResult, losses: Ledger) -> JsonObject:
    """Write what a tool answered: text, images and documents."""
    drop_unheld(result, losses)
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
