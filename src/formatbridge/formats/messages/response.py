"""Answers of messages."""

from __future__ import annotations

from collections.abc import Mapping

from formatbridge import ir
from formatbridge.formats.format import Context
from formatbridge.formats.messages.citations import encode_cited_text, place_citations
from formatbridge.formats.messages.conversation import decode_blocks
from formatbridge.formats.messages.holds import drop_unheld_in_answer
from formatbridge.formats.messages.hosted_tools import encode_hosted
from formatbridge.formats.messages.reasoning import encode_answer_reasoning, encode_carrier
from formatbridge.formats.messages.tool_calls import encode_answer_call
from formatbridge.formats.messages.usage import decode_usage, encode_usage
from formatbridge.formats.shared.held_fields import drop_field
from formatbridge.formats.shared.logprobs import drop_all_tokens
from formatbridge.formats.shared.parts import OVERRULED, encode_opaque, is_only_text
from formatbridge.formats.shared.tool_arguments import NOT_READ, read_objects
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
    drop_unheld_in_answer(response, losses)
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
    drop_unheld_in_answer(choice, losses)
    if choice.logprobs:
        drop_all_tokens(choice, losses)
    return choice


def _take_handovers(parts: list[ir.Part], model: str | None) -> tuple[list[ir.Part], str | None, JsonObject | None]:
    """Read which model answered in the end from the blocks that say that another one took over; they are no content."""
    if ir.Opaque not in set(map(type, parts)):
        return parts, model, None
    kept: list[ir.Part] = []
    handovers: JsonObject = {}
    for part in parts:
        if isinstance(part, ir.Opaque) and part.label == "fallback":
            model = part.raw["to"]["model"]
            handovers[part.src[1:]] = part.raw
        else:
            kept.append(part)
    return kept, model, handovers or None


def decode_answer(content: list[JsonObject], src: str) -> list[ir.Part]:
    """Read the blocks of an answer."""
    parts = decode_blocks(content, src)
    place_citations(parts)
    return parts


def encode_answer(parts: list[ir.Part], losses: Ledger, options: Options) -> list[JsonObject]:
    """Write the parts of an answer as blocks."""
    objects = read_objects(parts) if ir.ToolCall in map(type, parts) else NOT_READ
    blocks: list[JsonObject] = []
    offset = 0
    for part in parts:
        if isinstance(part, ir.Text):
            if not is_only_text(part):
                blocks += _encode_text(part, offset, len(blocks), losses, options)
            elif part.text:
                blocks.append({"type": "text", "text": part.text})
            offset += len(part.text)
        elif isinstance(part, ir.ToolCall):
            call = encode_answer_call(part, losses, objects)
            carrier = encode_carrier(part.signature, losses, options) if part.signature else None
            if carrier:  # the token that the call came with goes before it
                blocks.append(carrier)
            if part.has_generated_id:
                losses.added(f"/content/{len(blocks)}/id", part.id)
            blocks.append(call)
        elif isinstance(part, ir.Reasoning):
            thought = encode_answer_reasoning(part, losses, options)
            blocks += [thought] if thought else []
        elif isinstance(part, ir.Hosted):
            hosted = encode_hosted(part, losses)
            carrier = encode_carrier(part.signature, losses, options) if hosted else None
            blocks += [carrier, *hosted] if carrier else hosted
        else:
            blocks += _encode_other(part, losses)
    return blocks


def _encode_text(part: ir.Text, offset: int, at: int, losses: Ledger, options: Options) -> list[JsonObject]:
    drop_unheld_in_answer(part, losses)
    carrier = encode_carrier(part.signature, losses, options)
    blocks = [carrier] if carrier else []
    if part.citations and part.text:
        return blocks + encode_cited_text(part, offset, at + len(blocks), losses)
    for citation in part.citations or ():
        losses.dropped(citation)
    return [*blocks, {"type": "text", "text": part.text}] if part.text else blocks


def _encode_other(part: ir.Media | ir.Refusal | ir.ToolResult | ir.Opaque, losses: Ledger) -> list[JsonObject]:
    """Write what a block of text can stand for."""
    match part:
        case ir.Refusal():
            drop_unheld_in_answer(part, losses)
            block = {"type": "text", "text": part.text}
            losses.changed(part, "", block, "flattened", severity="info")
            return [block] if part.text else []
        case ir.Opaque():
            text = encode_opaque(part, losses)
            return [{"type": "text", "text": text.text}] if text and text.text else []
        case ir.Media():
            losses.dropped(part, code="unsupported_media", severity="impossible")
        case ir.ToolResult():
            losses.dropped(part, code="orphan")
    return []


FINISH: Mapping[str, ir.FinishReason] = {
    "end_turn": "stop",
    "max_tokens": "length",
    "stop_sequence": "stop_sequence",
    "tool_use": "tool_calls",
    "pause_turn": "pause",
    "refusal": "refusal",
    "model_context_window_exceeded": "context_length",
    "compaction": "compaction",
}
"""The wire's words to ours; any other is ``other``."""

WORDS: Mapping[ir.FinishReason, tuple[str, bool]] = {
    "stop": ("end_turn", True),
    "stop_sequence": ("stop_sequence", True),
    "length": ("max_tokens", True),
    "context_length": ("model_context_window_exceeded", True),
    "tool_calls": ("tool_use", True),
    "content_filter": ("refusal", True),
    "refusal": ("refusal", True),
    "pause": ("pause_turn", True),
    "compaction": ("compaction", True),
    "error": ("end_turn", False),
    "cancelled": ("end_turn", False),
    "other": ("end_turn", False),
}
"""Our words to the wire's, and whether nothing is lost by that."""

_DETAILS = frozenset({"type", "explanation", "category"})


def decode_finish(body: JsonObject) -> ir.Finish | None:
    """Read why an answer ended; None where it does not say."""
    word, details, sequence = body.get("stop_reason"), body.get("stop_details"), body.get("stop_sequence")
    if word is None and not details and sequence is None:
        return None
    reason = FINISH.get(word) if word is not None else "stop"
    finish = ir.Finish(reason or "other", word, reason is None)
    finish.stop_sequence = sequence
    if details:
        is_refusal = details.get("type") == "refusal"
        if is_refusal:
            finish.message, finish.category = details.get("explanation"), details.get("category")
        finish.extra = rest(details, _DETAILS if is_refusal else frozenset(), "stop_details/")
    return finish


def encode_finish(finish: ir.Finish | None, has_calls: bool, has_refusal: bool, losses: Ledger) -> JsonObject:
    """Write why an answer ended. The word for calls and calls come together or not at all."""
    word = _word_for(finish.reason if finish else "stop", has_calls, has_refusal)
    body: JsonObject = {"stop_reason": word, "stop_sequence": None}
    if finish is None or finish.raw is None:
        losses.added("/stop_reason", word)
    if finish is None:
        return body
    is_exact = WORDS[finish.reason][1] and (has_calls or finish.reason != "tool_calls")
    if finish.is_specific and finish.reason == "pause":  # a pause here is to be sent back, and no other is
        is_exact = False
    if finish.is_specific or not is_exact:
        losses.changed(finish, "reason", word, "finish_reason", severity="info" if is_exact else "lossy")
    drop_unheld_in_answer(finish, losses)
    if finish.stop_sequence is not None:
        if word == "stop_sequence":
            body["stop_sequence"] = finish.stop_sequence
        else:
            drop_field(finish, "stop_sequence", losses)
    if finish.message is not None or finish.category is not None:
        body |= _encode_details(finish, word, losses)
    return body


def _word_for(reason: ir.FinishReason, has_calls: bool, has_refusal: bool) -> str:
    if has_calls and reason in OVERRULED:
        reason = "tool_calls"
    elif reason == "tool_calls" and not has_calls:  # they were of a kind that cannot be said here
        reason = "stop"
    elif has_refusal and reason == "stop":
        reason = "refusal"
    return WORDS[reason][0]


def _encode_details(finish: ir.Finish, word: str, losses: Ledger) -> JsonObject:
    """Write the explanation of a refusal; no other end has a place for one."""
    if word != "refusal":
        for name in ("message", "category"):
            if getattr(finish, name) is not None:
                losses.dropped(finish, name, "diagnostic", severity="info")
        return {}
    return {"stop_details": {"type": "refusal", "category": finish.category, "explanation": finish.message}}


def unfinished(body: JsonObject) -> JsonObject:
    """Return an answer as one that has not ended: it may still, or it was cut."""
    return body | {"stop_reason": None, "stop_sequence": None}
