"""Responses of Anthropic Messages.

``encode_head`` is here because ``message_start`` of a stream has the same fields.
"""

from __future__ import annotations

from collections.abc import Mapping

from formatbridge import ir
from formatbridge.formats.format import Context
from formatbridge.formats.messages.citations import encode_cited_text, set_citation_spans
from formatbridge.formats.messages.conversation import decode_parts
from formatbridge.formats.messages.holds import drop_unheld_in_answer
from formatbridge.formats.messages.hosted_tools import encode_hosted
from formatbridge.formats.messages.reasoning import encode_answer_reasoning, encode_carried_token
from formatbridge.formats.messages.tool_calls import encode_answer_call
from formatbridge.formats.messages.usage import decode_usage, encode_usage
from formatbridge.formats.shared.finish_reasons import OVERRULED, note_finish
from formatbridge.formats.shared.held_fields import drop_field
from formatbridge.formats.shared.names import encode_id
from formatbridge.formats.shared.parts import encode_opaque, encode_transcript
from formatbridge.formats.shared.tool_arguments import NOTHING_PARSED, parse_arguments_of
from formatbridge.formats.shared.unmodelled_fields import merge_extra, read_extra
from formatbridge.ir import events
from formatbridge.jsontext.types import JsonObject
from formatbridge.options import Options
from formatbridge.report.ledger import Ledger

RESPONSE_FIELDS = frozenset({
    "id", "type", "role", "model", "content", "stop_reason", "stop_sequence", "stop_details", "usage",
})  # fmt: skip
NO_USAGE = {"input_tokens": 0, "cache_creation_input_tokens": 0, "cache_read_input_tokens": 0, "output_tokens": 0}


def decode_response(body: JsonObject) -> ir.Response:
    """Decode the body of a response. After a fallback, its model is the one that generated the last blocks."""
    usage, body_model = body.get("usage"), body.get("model")
    extra = read_extra(body, RESPONSE_FIELDS)
    parts, model, fallbacks = _remove_fallbacks(decode_answer(body["content"], "/content"), body_model)
    if fallbacks:
        extra = merge_extra(extra, fallbacks, {"model": body_model} if body_model not in (None, model) else None)
    choice = ir.Choice(parts, decode_finish(body))
    counts = decode_usage(usage, "/usage") if usage is not None else None
    return ir.Response("messages", body.get("id") or None, model, [choice], None, counts, extra)


def failure_of(body: JsonObject) -> ir.Error | None:
    """Return None: a failed request has an error body in this format, never a response."""
    del body
    return None


def encode_response(response: ir.Response, losses: Ledger, options: Options, context: Context | None) -> JsonObject:
    """Encode the body of a response."""
    drop_unheld_in_answer(response, losses)
    # ``n`` exists in other formats only.
    choice = _only_choice(response, losses)
    kinds = set(map(type, choice.parts))
    body = encode_head(response, losses, context)
    body["content"] = encode_answer(choice.parts, losses, options)
    body |= encode_finish(choice.finish, ir.ToolCall in kinds, ir.Refusal in kinds, losses)
    body["usage"] = encode_usage(response.usage, losses) if response.usage else losses.added("/usage", dict(NO_USAGE))
    return body


def encode_head(response: ir.Response | events.Start, losses: Ledger, context: Context | None) -> JsonObject:
    """Encode the first fields of a response, which ``message_start`` has too."""
    return {
        "id": encode_id(response.id, "msg_", context) or losses.added("/id", "msg_0"),
        "type": "message",
        "role": "assistant",
        "model": response.model if response.model is not None else losses.added("/model", ""),
    }


def _only_choice(response: ir.Response, losses: Ledger) -> ir.Choice:
    """Return the first choice and drop the others, because a response of this format has only one."""
    choices = response.choices or [ir.Choice(parts=[])]
    if len(choices) > 1:
        choices = sorted(choices, key=lambda choice: choice.index)
        for other in choices[1:]:
            losses.dropped(other, code="single_answer")
    choice = choices[0]
    drop_unheld_in_answer(choice, losses)
    if choice.logprobs:
        _drop_all_tokens(choice, losses)
    return choice


def _remove_fallbacks(parts: list[ir.Part], model: str | None) -> tuple[list[ir.Part], str | None, JsonObject | None]:
    """Return the parts without ``fallback`` blocks, the model that these blocks name last, and the blocks as unmodelled fields."""
    if ir.Opaque not in set(map(type, parts)):
        return parts, model, None
    kept: list[ir.Part] = []
    fallbacks: JsonObject = {}
    for part in parts:
        if isinstance(part, ir.Opaque) and part.label == "fallback":
            # The server changes the model after a refusal (beta types of the official SDK, ``BetaFallbackBlock``).
            model = part.raw["to"]["model"]
            fallbacks[part.src[1:]] = part.raw
        else:
            kept.append(part)
    return kept, model, fallbacks or None


def decode_answer(content: list[JsonObject], src: str) -> list[ir.Part]:
    """Decode the content blocks of a response, with the spans of the citations."""
    parts = decode_parts(content, src)
    set_citation_spans(parts)
    return parts


def encode_answer(parts: list[ir.Part], losses: Ledger, options: Options) -> list[JsonObject]:
    """Encode the parts of a response as content blocks."""
    parsed = parse_arguments_of(parts) if ir.ToolCall in map(type, parts) else NOTHING_PARSED
    blocks: list[JsonObject] = []
    offset = 0
    for part in parts:
        if isinstance(part, ir.Text):
            # An empty text block would make the next request invalid: "text content blocks must be non-empty".
            blocks += _encode_text(part, offset, len(blocks), losses, options)
            offset += len(part.text)
        elif isinstance(part, ir.ToolCall):
            call = encode_answer_call(part, losses, parsed)
            carried = encode_carried_token(part.signature, losses, options) if part.signature else None
            if carried:
                blocks.append(carried)
            # ``id`` is required in a ``tool_use`` block, and results refer to it (official SDK, ``ToolUseBlock.id``).
            if part.has_generated_id:
                losses.added(f"/content/{len(blocks)}/id", part.id)
            blocks.append(call)
        elif isinstance(part, ir.Reasoning):
            block = encode_answer_reasoning(part, losses, options)
            blocks += [block] if block else []
        elif isinstance(part, ir.Hosted):
            hosted = encode_hosted(part, losses)
            carried = encode_carried_token(part.signature, losses, options) if hosted else None
            blocks += [carried, *hosted] if carried else hosted
        else:
            blocks += _encode_foreign(part, losses)
    return blocks


def _encode_text(part: ir.Text, offset: int, at: int, losses: Ledger, options: Options) -> list[JsonObject]:
    drop_unheld_in_answer(part, losses)
    carried = encode_carried_token(part.signature, losses, options)
    blocks = [carried] if carried else []
    if part.citations and part.text:
        return blocks + encode_cited_text(part, offset, at + len(blocks), losses)
    for citation in part.citations or ():
        losses.dropped(citation)
    return [*blocks, {"type": "text", "text": part.text}] if part.text else blocks


def _encode_foreign(part: ir.Media | ir.Refusal | ir.ToolResult | ir.Opaque, losses: Ledger) -> list[JsonObject]:
    """Encode a part as a ``text`` block if it has a text, else drop it."""
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
            text = encode_transcript(part, losses)
            return [{"type": "text", "text": text.text}] if text else []
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
"""Values of ``stop_reason`` to canonical finish reasons. Any other value becomes ``other``."""

_VALUE_OF_FINISH: Mapping[ir.FinishReason, tuple[str, bool]] = {
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
"""Canonical finish reasons to the value of ``stop_reason``, and whether it is exact."""

_DETAILS = frozenset({"type", "explanation", "category"})


def decode_finish(body: JsonObject) -> ir.Finish | None:
    """Decode the finish reason of a response; None if it has none."""
    value, details, sequence = body.get("stop_reason"), body.get("stop_details"), body.get("stop_sequence")
    if value is None and not details and sequence is None:
        return None
    # A response with a stop sequence or details and without a reason has ended normally.
    reason = FINISH.get(value) if value is not None else "stop"
    finish = ir.Finish(reason or "other", value, reason is None)
    finish.stop_sequence = sequence
    if details:
        is_refusal = details.get("type") == "refusal"
        if is_refusal:
            finish.message, finish.category = details.get("explanation"), details.get("category")
        finish.extra = read_extra(details, _DETAILS if is_refusal else frozenset(), "stop_details/")
    return finish


def encode_finish(finish: ir.Finish | None, has_calls: bool, has_refusal: bool, losses: Ledger) -> JsonObject:
    """Encode the finish reason of a response. It is ``tool_use`` if and only if the response has tool calls."""
    value = _stop_reason(finish.reason if finish else "stop", has_calls, has_refusal)
    body: JsonObject = {"stop_reason": value, "stop_sequence": None}
    if finish is None or finish.raw is None:
        losses.added("/stop_reason", value)
    if finish is None:
        return body
    is_exact = _VALUE_OF_FINISH[finish.reason][1] and (has_calls or finish.reason != "tool_calls")
    # "You may provide the response back as-is" after ``pause_turn`` (official SDK, ``Message.stop_reason``). Other pauses differ.
    if finish.is_specific and finish.reason == "pause":
        is_exact = False
    note_finish(finish, value, is_exact, losses)
    drop_unheld_in_answer(finish, losses)
    if finish.stop_sequence is not None:
        if value == "stop_sequence":
            body["stop_sequence"] = finish.stop_sequence
        else:
            drop_field(finish, "stop_sequence", losses)
    if finish.message is not None or finish.category is not None:
        body |= _encode_details(finish, value, losses)
    return body


def _stop_reason(reason: ir.FinishReason, has_calls: bool, has_refusal: bool) -> str:
    # SDKs run tools only after ``tool_use`` (official SDK, ``lib/tools/_beta_runner.py``).
    if has_calls and reason in OVERRULED:
        reason = "tool_calls"
    elif reason == "tool_calls" and not has_calls:  # the calls were dropped
        reason = "stop"
    # OpenAI ends a refusal with ``stop``. Here it has a separate reason (official SDK, ``StopReason``).
    elif has_refusal and reason == "stop":
        reason = "refusal"
    return _VALUE_OF_FINISH[reason][0]


def _encode_details(finish: ir.Finish, value: str, losses: Ledger) -> JsonObject:
    """Encode the explanation of a refusal. No other stop reason has one."""
    if value != "refusal":
        for name in ("message", "category"):
            losses.dropped(finish, name, "diagnostic")
        return {}
    return {"stop_details": {"type": "refusal", "category": finish.category, "explanation": finish.message}}


def mark_unfinished(body: JsonObject) -> JsonObject:
    """Return a response without a stop reason, as a truncated stream leaves it."""
    return body | {"stop_reason": None, "stop_sequence": None}


def _drop_all_tokens(choice: ir.Choice, losses: Ledger) -> None:
    """Note that all tokens of a choice are dropped: one loss for each list of tokens, if the source has one for each text."""
    lists = dict.fromkeys(token.src.rpartition("/")[0] for token in choice.logprobs or ())
    of_texts = [src for src in lists if src.endswith("/logprobs")]
    for src in of_texts:
        losses.dropped_at(src)
    if not of_texts:
        losses.dropped(choice, "logprobs")
