"""Tool calls of chat_completions: functions with the text of their arguments, free text, and the one call of old."""

from __future__ import annotations

from hashlib import sha256

from formatbridge import ir
from formatbridge.formats.chat_completions.content import decode_cache_control, decode_content, encode_content, encode_part
from formatbridge.formats.chat_completions.holds import drop_unheld, drop_unheld_in_answer
from formatbridge.formats.chat_completions.reasoning import decode_outer_token, encode_call_token, encode_outer_token
from formatbridge.formats.shared.parts import set_unknown_severity
from formatbridge.formats.shared.reasoning_tokens import native_token
from formatbridge.formats.shared.tool_arguments import encode_arguments_text
from formatbridge.formats.shared.unmodelled_fields import joined, rest
from formatbridge.jsontext.types import JsonObject
from formatbridge.options import Options
from formatbridge.report.ledger import WHOLE_NODE, Ledger

_FUNCTION = frozenset({"name", "arguments"})
_CALL = frozenset({"id", "type", "function", "extra_content", "index", "cache_control"})
_CUSTOM_CALL = frozenset({"id", "type", "custom", "extra_content", "index", "cache_control"})


def decode_call(raw: JsonObject, src: str, answer_id: str | None) -> ir.Part:
    """Read one tool call, a function's or a custom tool's; any other kind stays as it is."""
    function, call_id, kind = raw.get("function"), raw.get("id"), raw.get("type")
    if function is None or kind not in ("function", None):
        if kind == "custom":
            return _decode_custom_call(raw, src, answer_id)
        return ir.Opaque(format="chat_completions", raw=raw, label=str(kind), severity="impossible", src=src)
    name, arguments = function.get("name"), function.get("arguments")
    if call_id and name and arguments and kind and len(raw) == 3 and len(function) == 2:  # these are all that there is
        return ir.ToolCall(call_id, name, arguments, src)
    call = ir.ToolCall(call_id or made_id_at(src, answer_id), name or "", arguments or "", src)
    call.has_generated_id, call.cache = not call_id, decode_cache_control(raw, src)
    call.signature, extra = _decode_call_extra(raw, src, _CALL)
    call.extra = joined(extra, rest(function, _FUNCTION, "function/"))
    return call


def _decode_custom_call(raw: JsonObject, src: str, answer_id: str | None) -> ir.ToolCall:
    custom = raw["custom"]
    signature, extra = _decode_call_extra(raw, src, _CUSTOM_CALL)
    return ir.ToolCall(
        id=raw.get("id") or made_id_at(src, answer_id),
        has_generated_id=not raw.get("id"),
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
        has_generated_id=True,
        name=raw["name"],
        arguments=raw.get("arguments") or "",
        src=src,
        extra=rest(raw, _FUNCTION),
    )


def encode_call(call: ir.ToolCall, losses: Ledger) -> JsonObject:
    """Write one tool call; a token on it is only its own vendor's to read, which this format names."""
    drop_unheld(call, losses)
    token = native_token(call.signature, "chat_completions", losses)
    made = _encode_bare_call(call)
    return made if token is None else made | encode_outer_token(token)


def encode_answer_call(call: ir.ToolCall, losses: Ledger, options: Options) -> JsonObject:
    """Write a tool call of an answer, with any token."""
    drop_unheld_in_answer(call, losses)
    made = _encode_bare_call(call)
    return made | encode_call_token(call.signature, losses, options) if call.signature else made


def _encode_bare_call(call: ir.ToolCall) -> JsonObject:
    """Write what calls have in requests and answers alike."""
    text = call.arguments if isinstance(call.arguments, str) else encode_arguments_text(call)
    if call.kind == "custom":
        return {"id": call.id, "type": "custom", "custom": {"name": call.name, "input": text}}
    return {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": text}}


def decode_result(raw: JsonObject, src: str) -> ir.ToolResult:
    """Read a message that answers a call; a legacy one names the function instead of the call.

    Without either it is marked on itself: it answers no call, unless one without an id waits for it. Nothing holds the id that a legacy
    one may have to a type.
    """
    given, name = raw.get("tool_call_id"), raw.get("name")
    given = given if isinstance(given, str) else None
    content = set_unknown_severity(decode_content(raw.get("content"), f"{src}/content"))
    result = ir.ToolResult(given or name or f"call_{position_of(src)}", content, src)
    if not given:
        result.has_generated_id = True
        result.name = name or None
        result.extra = None if name else {WHOLE_NODE: ""}
    elif raw["role"] == "function":
        result.name = name
    return result


def encode_result(result: ir.ToolResult, losses: Ledger) -> JsonObject:
    """Write a result as a message of its own; it takes text only."""
    drop_unheld(result, losses)
    words = [part for part in result.content if not isinstance(part, ir.Media)]
    return {"role": "tool", "tool_call_id": result.call_id, "content": encode_content(words, losses)}


def encode_result_media(result: ir.ToolResult, losses: Ledger) -> list[JsonObject]:
    """Move the media of a result behind a label that says whose they are."""
    media = [part for part in result.content if isinstance(part, ir.Media)]
    made = []
    for part in media:
        encoded = encode_part(part, losses)
        if encoded is not None:
            made.append(losses.changed(part, "", encoded, "moved"))
    return [{"type": "text", "text": f"[tool result {result.call_id}]"}, *made] if made else []


def flush_media(media: list[JsonObject]) -> list[JsonObject]:
    """Return the user message of the media that wait; none where there are none."""
    made, media[:] = list(media), []
    return [{"role": "user", "content": made}] if made else []


def call_stem(answer_id: str, position: int | str) -> str:
    """Return what the ids begin with that are made for the calls of a choice."""
    return f"call_{sha256(answer_id.encode()).hexdigest()[:16]}_{position}"


def stem_at(src: str, answer_id: str | None) -> str:
    """Return what the ids begin with that are made for the calls of a message."""
    return f"call_{position_of(src)}" if answer_id is None else call_stem(answer_id, position_of(src))


def made_id_at(src: str, answer_id: str | None) -> str:
    """Make the id of a call at a pointer."""
    return f"{stem_at(src, answer_id)}_{src.rpartition('/')[2]}"


def position_of(src: str) -> str:
    """Return the index of the message that a pointer is in."""
    return src.split("/")[2] if src.count("/") >= 2 else "0"
