"""Why an answer of messages ended."""

from __future__ import annotations

from collections.abc import Mapping

from formatbridge import ir
from formatbridge.formats.shared.parts import OVERRULED
from formatbridge.formats.shared.unmodelled_fields import rest
from formatbridge.jsontext.types import JsonObject
from formatbridge.report.ledger import Ledger

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
    if finish.finer and finish.reason == "pause":  # a pause here is to be sent back, and no other is
        is_exact = False
    if finish.finer or not is_exact:
        losses.changed(finish, "reason", word, "finish_reason", severity="info" if is_exact else "lossy")
    if finish.extra:
        losses.extras(finish)
    if finish.stop_sequence is not None:
        if word == "stop_sequence":
            body["stop_sequence"] = finish.stop_sequence
        else:
            losses.dropped(finish, "stop_sequence", severity="info")
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
