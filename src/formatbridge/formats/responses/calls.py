"""Tool calls of responses: items with the text of their arguments, with free text, or with the query of a search for tools."""

from __future__ import annotations

from formatbridge import ir
from formatbridge.formats.responses.ids import ItemIds
from formatbridge.formats.shared.tool_arguments import encode_arguments_object, encode_arguments_text
from formatbridge.formats.shared.unmodelled_fields import rest
from formatbridge.jsontext.codec import dumps
from formatbridge.jsontext.types import JsonObject
from formatbridge.report.ledger import Ledger

_CALL = frozenset({"type", "id", "call_id", "name", "arguments", "namespace"})
_WHOLE_CALL = _CALL | {"status"}
_CUSTOM_CALL = frozenset({"type", "id", "call_id", "name", "input", "namespace"})
_SEARCH_CALL = frozenset({"type", "id", "call_id", "execution", "arguments"})

SEARCH = "tool_search"
"""The name that a search for tools has as a function; its own type has none."""


def decode_call(raw: JsonObject, src: str) -> ir.ToolCall:
    """Read a call of a function."""
    call = ir.ToolCall(raw["call_id"], raw["name"], raw["arguments"], src)
    if not call.id:
        _make_id(call, raw)
    if len(raw) > 4:  # more than what every call has: the type and these three
        call.item_id = raw.get("id")
        # That a call is whole is nothing to lose: the spelling calls it neutral. With the id those are six members, and there are no more.
        is_whole = raw.get("status") == "completed"
        if not is_whole or call.item_id is None or len(raw) != 6:
            call.namespace, call.extra = raw.get("namespace") or None, rest(raw, _WHOLE_CALL if is_whole else _CALL)
    return call


def decode_custom_call(raw: JsonObject, src: str) -> ir.ToolCall:
    """Read a call of a tool that takes free text."""
    call = ir.ToolCall(
        id=raw["call_id"],
        name=raw["name"],
        arguments=raw["input"],
        kind="custom",
        namespace=raw.get("namespace") or None,
        item_id=raw.get("id"),
        src=src,
        extra=rest(raw, _CUSTOM_CALL),
    )
    if not call.id:
        _make_id(call, raw)
    return call


def decode_search_call(raw: JsonObject, src: str) -> ir.ToolCall:
    """Read a call of the search for tools that the caller runs. Its arguments become text, as deltas bring them elsewhere."""
    arguments = raw.get("arguments")
    call = ir.ToolCall(
        id=raw.get("call_id") or "",
        name=SEARCH,
        arguments=arguments if isinstance(arguments, str) else dumps({} if arguments is None else arguments).decode(),
        kind="tool_search",
        item_id=raw.get("id"),
        src=src,
        extra=rest(raw, _SEARCH_CALL),
    )
    if not call.id:  # as the official type allows; the id of the item then stands for it
        _make_id(call, raw)
        call.item_id = None
    return call


def encode_call(call: ir.ToolCall, losses: Ledger) -> JsonObject:
    """Write one tool call as a request has it; an answer adds to that. A token on it is the caller's business."""
    if call.extra:
        losses.extras(call)
    if call.cache:
        losses.dropped(call.cache, severity="info")
    arguments = call.arguments
    text = arguments if type(arguments) is str else encode_arguments_text(call)
    if call.kind == "tool_search":
        query = encode_arguments_object(call, losses)
        made: JsonObject = {"type": "tool_search_call", "call_id": call.id, "execution": "client", "arguments": query}
    elif call.kind == "custom":
        made = {"type": "custom_tool_call", "call_id": call.id, "name": call.name, "input": text}
    else:
        made = {"type": "function_call", "call_id": call.id, "name": call.name, "arguments": text}
    if call.item_id is not None:
        made["id"] = call.item_id
    if call.namespace:
        made["namespace"] = call.namespace
    return made


def encode_answer_call(call: ir.ToolCall, at: int, ids: ItemIds, losses: Ledger) -> JsonObject:
    """Write a call of the caller's tools as an item of an answer, which has an id and, but for custom calls, a status."""
    made = encode_call(call, losses)
    if call.id_made or call.kind == "custom":
        ids.note_call(call, at)
    if call.kind == "tool_search":
        made["id"], made["status"] = call.item_id or ids.make("tsc", at), "completed"
    elif call.kind == "custom":  # whose official type has no status
        made["id"] = call.item_id or ids.make("ctc", at)
    else:
        made["id"], made["status"] = call.item_id or ids.make("fc", at), "completed"
    return made


def _make_id(call: ir.ToolCall, raw: JsonObject) -> None:
    """Give a call without an id that of its item, or else one that its place makes."""
    call.id, call.id_made = raw.get("id") or f"call_{call.src.rpartition('/')[2]}", True
