"""Tool calls of chat_completions: functions with the text of their arguments, free text, and the one call of old."""

from __future__ import annotations

from formatbridge import ir
from formatbridge.formats.chat_completions.ids import made_id_at, stem_at
from formatbridge.formats.chat_completions.parts import decode_cache_control
from formatbridge.formats.chat_completions.tokens import decode_outer_token, encode_call_token, encode_outer_token
from formatbridge.formats.shared.parts import note_beside
from formatbridge.formats.shared.reasoning_tokens import native_token
from formatbridge.formats.shared.tool_arguments import encode_arguments_text
from formatbridge.formats.shared.unmodelled_fields import joined, rest
from formatbridge.jsontext.types import JsonObject
from formatbridge.options import Options
from formatbridge.report.ledger import Ledger

_FUNCTION = frozenset({"name", "arguments"})
_CALL = frozenset({"id", "type", "function", "extra_content", "index", "cache_control"})
_CUSTOM_CALL = frozenset({"id", "type", "custom", "extra_content", "index", "cache_control"})


def decode_call(raw: JsonObject, src: str, answer_id: str | None) -> ir.Part:
    """Read one tool call, a function's or a custom tool's; any other kind stays as it is."""
    function, call_id, kind = raw.get("function"), raw.get("id"), raw.get("type")
    if function is None or kind not in ("function", None):
        if kind == "custom":
            return _decode_custom_call(raw, src, answer_id)
        return ir.Opaque(format="chat_completions", raw=raw, what=str(kind), severity="impossible", src=src)
    name, arguments = function.get("name"), function.get("arguments")
    if call_id and name and arguments and kind and len(raw) == 3 and len(function) == 2:  # these are all that there is
        return ir.ToolCall(call_id, name, arguments, src)
    call = ir.ToolCall(call_id or made_id_at(src, answer_id), name or "", arguments or "", src)
    call.id_made, call.cache = not call_id, decode_cache_control(raw, src)
    call.signature, extra = _decode_call_extra(raw, src, _CALL)
    call.extra = joined(extra, rest(function, _FUNCTION, "function/"))
    return call


def _decode_custom_call(raw: JsonObject, src: str, answer_id: str | None) -> ir.ToolCall:
    custom = raw["custom"]
    signature, extra = _decode_call_extra(raw, src, _CUSTOM_CALL)
    return ir.ToolCall(
        id=raw.get("id") or made_id_at(src, answer_id),
        id_made=not raw.get("id"),
        name=custom.get("name") or "",
        arguments=custom.get("input") or "",
        kind="custom",
        signature=signature,
        cache=decode_cache_control(raw, src),
        src=src,
        extra=joined(extra, rest(custom, frozenset({"name", "input"}), "custom/")),
    )


def _decode_call_extra(raw: JsonObject, src: str, known: frozenset[str]) -> tuple[ir.Signature | None, JsonObject | None]:
    """Read the token of a call, and what it has besides what calls of its kind are known to have."""
    signature, extra = decode_outer_token(raw, src)
    return signature, joined(rest(raw, known), extra)


def decode_legacy_call(raw: JsonObject, src: str, answer_id: str | None) -> ir.ToolCall:
    """Read the call of a function that stands alone in its message."""
    return ir.ToolCall(
        id=f"{stem_at(src, answer_id)}_0",
        id_made=True,
        name=raw["name"],
        arguments=raw.get("arguments") or "",
        src=src,
        extra=rest(raw, _FUNCTION),
    )


def encode_call(call: ir.ToolCall, losses: Ledger) -> JsonObject:
    """Write one tool call; a token on it is only its own vendor's to read, which this format names."""
    note_call(call, losses)
    token = native_token(call.signature, "chat_completions", losses)
    made = _encode_bare_call(call)
    return made if token is None else made | encode_outer_token(token)


def encode_answer_call(call: ir.ToolCall, losses: Ledger, options: Options) -> JsonObject:
    """Write a tool call of an answer, with any token."""
    note_call(call, losses)
    made = _encode_bare_call(call)
    return made | encode_call_token(call.signature, losses, options) if call.signature else made


def note_call(call: ir.ToolCall, losses: Ledger) -> None:
    """Note what a call has besides its name and arguments."""
    if not (call.item_id is not None or call.namespace is not None or call.extra or call.cache):
        return
    note_beside(call, losses)
    if call.namespace is not None:
        losses.dropped(call, "namespace")


def _encode_bare_call(call: ir.ToolCall) -> JsonObject:
    """Write what calls have in requests and answers alike."""
    text = call.arguments if isinstance(call.arguments, str) else encode_arguments_text(call)
    if call.kind == "custom":
        return {"id": call.id, "type": "custom", "custom": {"name": call.name, "input": text}}
    return {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": text}}
