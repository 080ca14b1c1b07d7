"""Answers of messages."""

from __future__ import annotations

from formatbridge import ir
from formatbridge.formats.format import Context
from formatbridge.formats.messages.answer import decode_answer, encode_answer
from formatbridge.formats.messages.finish import decode_finish, encode_finish
from formatbridge.formats.messages.usage import decode_usage, encode_usage
from formatbridge.formats.shared.logprobs import drop_all_tokens
from formatbridge.formats.shared.unique_names import encode_id
from formatbridge.formats.shared.unmodelled_fields import joined, rest
from formatbridge.jsontext.types import JsonObject
from formatbridge.options import Options
from formatbridge.report.ledger import Ledger

RESPONSE_FIELDS = frozenset({
    "id", "type", "role", "model", "content", "stop_reason", "stop_sequence", "stop_details", "usage",
})  # fmt: skip
NO_USAGE = {"input_tokens": 0, "cache_creation_input_tokens": 0, "cache_read_input_tokens": 0, "output_tokens": 0}


def decode_response(body: JsonObject) -> ir.Response:
    """Read a whole answer. Where another model took over, that one answered."""
    usage, model = body.get("usage"), body.get("model")
    extra = rest(body, RESPONSE_FIELDS)
    named = model
    parts, model, handovers = _take_handovers(decode_answer(body["content"], "/content"), named)
    if handovers:
        extra = joined(extra, handovers, {"model": named} if named is not None and named != model else None)
    choice = ir.Choice(parts, decode_finish(body))
    counts = decode_usage(usage, "/usage") if usage is not None else None
    return ir.Response("messages", body.get("id") or None, model, [choice], None, counts, extra)


def failure_of(body: JsonObject) -> ir.Error | None:
    """Return nothing: no answer of this format fails, it gives way to an error."""
    del body
    return None


def encode_response(response: ir.Response, losses: Ledger, options: Options, context: Context | None) -> JsonObject:
    """Write a whole answer."""
    del context  # nothing in an answer of this format repeats the request
    if response.extra:
        losses.extras(response)
    if response.created is not None:
        losses.dropped(response, "created", severity="info")
    choice = _only_choice(response, losses)
    kinds = set(map(type, choice.parts))
    body = _encode_head(response, losses)
    body["content"] = encode_answer(choice.parts, losses, options)
    body |= encode_finish(choice.finish, ir.ToolCall in kinds, ir.Refusal in kinds, losses)
    body["usage"] = _encode_counts(response, losses)
    return body


def encode_beginning(response: ir.Response, losses: Ledger) -> JsonObject:
    """Write an answer of which nothing has come but its head, as a stream begins with it."""
    nothing: JsonObject = {"content": [], "stop_reason": None, "stop_sequence": None}
    return {**_encode_head(response, losses), **nothing, "usage": _encode_counts(response, losses)}


def _encode_head(response: ir.Response, losses: Ledger) -> JsonObject:
    return {
        "id": encode_id(response.id, "msg_") or losses.added("/id", "msg_0"),
        "type": "message",
        "role": "assistant",
        "model": response.model if response.model is not None else losses.added("/model", ""),
    }


def _encode_counts(response: ir.Response, losses: Ledger) -> JsonObject:
    counts: JsonObject = encode_usage(response.usage, losses) if response.usage else losses.added("/usage", dict(NO_USAGE))
    return counts


def _only_choice(response: ir.Response, losses: Ledger) -> ir.Choice:
    """Return the first of several answers; this format gives one."""
    ordered = response.choices or [ir.Choice(parts=[])]
    if len(ordered) > 1:
        ordered = sorted(ordered, key=lambda choice: choice.index)
        for other in ordered[1:]:
            losses.dropped(other, code="single_answer", severity="impossible")
    choice = ordered[0]
    if choice.extra:
        losses.extras(choice)
    if choice.logprobs:
        drop_all_tokens(choice, losses)
    if choice.refusal_logprobs:
        losses.dropped(choice, "refusal_logprobs")
    return choice


def _take_handovers(parts: list[ir.Part], model: str | None) -> tuple[list[ir.Part], str | None, JsonObject | None]:
    """Read which model answered in the end from the blocks that say that another one took over; they are no content."""
    if ir.Opaque not in set(map(type, parts)):
        return parts, model, None
    kept: list[ir.Part] = []
    handovers: JsonObject = {}
    for part in parts:
        if isinstance(part, ir.Opaque) and part.what == "fallback":
            model = part.raw["to"]["model"]
            handovers[part.src[1:]] = part.raw
        else:
            kept.append(part)
    return kept, model, handovers or None
