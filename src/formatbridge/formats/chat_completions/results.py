"""Results of tool calls in chat_completions: messages of their own, which hold text only."""

from __future__ import annotations

from formatbridge import ir
from formatbridge.formats.chat_completions.ids import position_of
from formatbridge.formats.chat_completions.parts import decode_content, encode_content, encode_part
from formatbridge.formats.shared.parts import weigh_unknown
from formatbridge.formats.shared.reasoning_tokens import drop_token
from formatbridge.jsontext.types import JsonObject
from formatbridge.report.ledger import ITSELF, Ledger


def decode_result(raw: JsonObject, src: str) -> ir.ToolResult:
    """Read a message that answers a call; a legacy one names the function instead of the call.

    Without either it is marked on itself: it answers no call, unless one without an id waits for it. Nothing holds the id that a legacy
    one may have to a type.
    """
    given, name = raw.get("tool_call_id"), raw.get("name")
    given = given if isinstance(given, str) else None
    content = weigh_unknown(decode_content(raw.get("content"), f"{src}/content"))
    result = ir.ToolResult(given or name or f"call_{position_of(src)}", content, src)
    if not given:
        result.id_made = True
        result.name = name or None
        result.extra = None if name else {ITSELF: ""}
    elif raw["role"] == "function":
        result.name = name
    return result


def encode_result(result: ir.ToolResult, losses: Ledger) -> JsonObject:
    """Write a result as a message of its own; it takes text only."""
    if result.extra:
        losses.extras(result)
    if result.is_error:
        losses.dropped(result, "is_error")
    if result.cache:
        losses.dropped(result.cache, severity="info")
    drop_token(result.signature, "chat_completions", losses)
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
