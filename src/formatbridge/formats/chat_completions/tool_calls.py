"""Tool calls and results of Chat Completions.

A result is a message with text only, so its media go into a user message: ``encode_result_media`` and ``flush_media``.
"""

from __future__ import annotations

from dataclasses import replace
from hashlib import sha256

from formatbridge import ir
from formatbridge.formats.chat_completions.content import decode_content, encode_content, encode_part
from formatbridge.formats.chat_completions.holds import drop_unheld, drop_unheld_in_answer
from formatbridge.formats.chat_completions.reasoning import decode_extra_content, encode_answer_signature, encode_extra_content
from formatbridge.formats.shared.parts import decode_cache_control, set_unknown_severity
from formatbridge.formats.shared.reasoning_tokens import native_token
from formatbridge.formats.shared.tool_arguments import encode_arguments_text
from formatbridge.formats.shared.unmodelled_fields import merge_extra, read_extra
from formatbridge.jsontext.types import JsonObject
from formatbridge.options import Options
from formatbridge.report.ledger import WHOLE_NODE, Ledger
from formatbridge.report.reasons import NAMES_RESULT

ARGUMENTS = {"function": "arguments", "custom": "input"}
"""Types of calls, which are also the keys of their bodies, to the field of the body with the arguments."""
_CALLS = {kind: frozenset({"id", "type", kind, "extra_content", "index", "cache_control"}) for kind in ARGUMENTS}
_BODIES = {kind: frozenset({"name", field}) for kind, field in ARGUMENTS.items()}
"""Types of calls to the keys that the decoder reads, in the call and in its body."""


def decode_call(raw: JsonObject, src: str, answer_id: str | None) -> ir.Part:
    """Decode a tool call. A call of an unknown type becomes an opaque part. ``answer_id``: as in ``_generate_id``."""
    call_id, kind = raw.get("id"), "function" if raw.get("type") is None else raw["type"]
    body = raw.get(kind) if kind in ("function", "custom") else None
    if body is None:
        return ir.Opaque(format="chat_completions", raw=raw, label=str(raw.get("type")), severity="impossible", src=src)
    # Google's compatible server sends an empty id, and OpenRouter leaves out empty arguments (recorded traffic).
    call = ir.ToolCall(call_id or _generate_id(src, answer_id), body.get("name") or "", body.get(ARGUMENTS[kind]) or "", src)
    call.kind = "custom" if kind == "custom" else "function"
    call.has_generated_id, call.cache = not call_id, decode_cache_control(raw, src)
    call.signature, extra = decode_extra_content(raw, src)
    call.extra = merge_extra(read_extra(raw, _CALLS[kind]), extra, read_extra(body, _BODIES[kind], f"{kind}/"))
    return call


def decode_legacy_call(raw: JsonObject, src: str, answer_id: str | None) -> ir.ToolCall:
    """Decode the deprecated ``function_call`` of a message."""
    return ir.ToolCall(
        id=_generate_id(src, answer_id),
        has_generated_id=True,
        name=raw["name"],
        arguments=raw.get("arguments") or "",
        src=src,
        extra=read_extra(raw, _BODIES["function"]),
    )


def encode_call(call: ir.ToolCall, losses: Ledger) -> JsonObject:
    """Encode a tool call of a request, with its signature if that came in a body of this format."""
    drop_unheld(call, losses)
    token = native_token(call.signature, "chat_completions", losses)
    encoded = _encode_unsigned_call(call)
    return (
        encoded if token is None or call.signature is None else encoded | encode_extra_content(token, call.signature.received_key)
    )


def encode_answer_call(call: ir.ToolCall, losses: Ledger, options: Options) -> JsonObject:
    """Encode a tool call of a response, with the signature of any issuer."""
    drop_unheld_in_answer(call, losses)
    encoded = _encode_unsigned_call(call)
    return encoded | encode_answer_signature(call.signature, losses, options) if call.signature else encoded


def _encode_unsigned_call(call: ir.ToolCall) -> JsonObject:
    text = call.arguments if isinstance(call.arguments, str) else encode_arguments_text(call)
    kind = "custom" if call.kind == "custom" else "function"
    return {"id": call.id, "type": kind, kind: {"name": call.name, ARGUMENTS[kind]: text}}


def decode_result(raw: JsonObject, src: str) -> ir.ToolResult:
    """Decode a message with a tool result. A deprecated ``function`` message has the name of the function in place of the id.

    A result with neither has the extra field ``WHOLE_NODE``, until it is paired with a call without an id. The wire types do not check
    the id of a ``function`` message.
    """
    call_id, name = raw.get("tool_call_id"), raw.get("name")
    call_id = call_id if isinstance(call_id, str) else None
    content = set_unknown_severity(decode_content(raw.get("content"), f"{src}/content"))
    result = ir.ToolResult(call_id or name or f"call_{_message_index(src)}", content, src)
    if not call_id:
        result.has_generated_id = True
        result.name = name or None
        result.extra = None if name else {WHOLE_NODE: ""}
    elif raw["role"] == "function":
        result.name = name
    return result


def encode_result(result: ir.ToolResult, losses: Ledger) -> JsonObject:
    """Encode a tool result as a message. Such a message has text only, so media are encoded separately."""
    drop_unheld(result, losses)
    # "Image URLs are only allowed for messages with role 'user'" (OpenHands/OpenHands#7700).
    texts = [part for part in result.content if not isinstance(part, ir.Media)]
    # Whether the server reads ``cache_control``, on a part of the content, is in ``docs/dialects.md``, ``cache_marks``.
    if result.cache is not None and "ToolResult.cache" in losses.also_holds:
        if texts and type(texts[-1]) is ir.Text:
            texts[-1] = replace(texts[-1], cache=result.cache)
        else:
            losses.dropped(result.cache, code="unsupported_by_server", severity="info")
    return {"role": "tool", "tool_call_id": result.call_id, "content": encode_content(texts, losses)}


def encode_result_media(result: ir.ToolResult, losses: Ledger) -> list[JsonObject]:
    """Encode the media of a tool result for a user message, after a text with the id of the call."""
    media = [part for part in result.content if isinstance(part, ir.Media)]
    content = []
    for part in media:
        encoded = encode_part(part, losses)
        if encoded is not None:
            content.append(losses.changed(part, "", encoded, "moved"))
    if not content:
        return []
    # The text names the call, because one user message has the media of all results before it.
    text: JsonObject = {"type": "text"}
    losses.added_in(text, "text", f"[tool result {result.call_id}]", NAMES_RESULT)
    return [text, *content]


def flush_media(media: list[JsonObject]) -> list[JsonObject]:
    """Return the user message with the media of results, if there are any, and empty their list."""
    content, media[:] = list(media), []
    return [{"role": "user", "content": content}] if content else []


def generated_id_prefix(answer_id: str, position: int | str) -> str:
    """Return the prefix of the generated ids of a choice's calls. With the id of the response, ids of two responses differ."""
    return f"call_{sha256(answer_id.encode()).hexdigest()[:16]}_{position}"


def _generate_id(src: str, answer_id: str | None) -> str:
    """Generate the id of the call at a pointer. ``answer_id``: the id of the response; None for a call of a request."""
    message, number = _message_index(src), src.rpartition("/")[2]
    # The id follows from the pointer. With random ids, a history would differ in each request, and no prompt cache would match.
    prefix = f"call_{message}" if answer_id is None else generated_id_prefix(answer_id, message)
    return f"{prefix}_{0 if number == 'function_call' else number}"


def _message_index(src: str) -> str:
    """Return the index of the message or choice at or above a pointer."""
    return src.split("/")[2] if src.count("/") >= 2 else "0"
