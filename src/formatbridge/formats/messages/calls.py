"""Tool calls of messages: an id, a name and an object of arguments."""

from __future__ import annotations

from formatbridge import ir
from formatbridge.formats.messages.parts import decode_cache, encode_cache
from formatbridge.formats.shared.parts import note_beside
from formatbridge.formats.shared.reasoning_tokens import drop_token
from formatbridge.formats.shared.tool_arguments import NOT_READ, Objects, encode_arguments_object, wrap_text
from formatbridge.formats.shared.unmodelled_fields import rest
from formatbridge.jsontext.types import JsonObject
from formatbridge.report.ledger import Ledger, nowhere

_CALL = frozenset({"type", "id", "name", "input", "cache_control"})


def decode_call(raw: JsonObject, src: str) -> ir.ToolCall:
    """Read one call of a tool of the caller's."""
    call = ir.ToolCall(raw["id"], raw["name"], raw["input"], src)
    if len(raw) > 4:  # more than its type and these three, which are required
        call.cache, call.extra = decode_cache(raw, src), rest(raw, _CALL)
    return call


def encode_call(call: ir.ToolCall, losses: Ledger, objects: Objects) -> JsonObject:
    """Write one tool call of a request's history; it has no slot for a token."""
    if call.extra:
        losses.extras(call)
    if call.item_id is not None:
        losses.dropped(call, "item_id", "diagnostic", severity="info")
    if call.signature:
        drop_token(call.signature, "messages", losses)
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
    if call.extra or call.cache or call.item_id is not None:
        note_beside(call, losses)
    name = _encode_name(call, losses)
    if call.kind == "custom":
        given: JsonObject = dict(wrap_text(str(call.arguments)))
        losses.changed(call, "", {"type": "tool_use", "name": name}, "wrapped")
    else:
        given = encode_arguments_object(call, losses, objects)
    return {"type": "tool_use", "id": call.id, "name": name, "input": given}


def encode_opening(call: ir.ToolCall) -> JsonObject:
    """Write what a stream tells of a call first: all but its arguments."""
    return {"type": "tool_use", "id": call.id, "name": _encode_name(call, nowhere()), "input": {}}


def _encode_name(call: ir.ToolCall, losses: Ledger) -> str:
    if call.namespace is None:
        return call.name
    name = f"{call.namespace}__{call.name}"
    losses.changed(call, "namespace", name, "renamed")
    return name
