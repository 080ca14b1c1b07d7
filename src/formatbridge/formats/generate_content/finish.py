"""Why an answer of generate_content ended, or why there is none: two dozen words, more to come."""

from __future__ import annotations

from collections.abc import Mapping

from formatbridge import ir
from formatbridge.formats.generate_content.words import word_of
from formatbridge.formats.shared.parts import OVERRULED, note_finish
from formatbridge.jsontext.types import JsonObject
from formatbridge.report.ledger import Ledger

FINISH: Mapping[str, ir.FinishReason] = {
    "FINISH_REASON_UNSPECIFIED": "other",
    "STOP": "stop",
    "MAX_TOKENS": "length",
    "CONTINUATION": "pause",
    "TOO_MANY_TOOL_CALLS": "pause",
    "SAFETY": "content_filter",
    "RECITATION": "content_filter",
    "LANGUAGE": "content_filter",
    "OTHER": "content_filter",
    "BLOCKLIST": "content_filter",
    "PROHIBITED_CONTENT": "content_filter",
    "SPII": "content_filter",
    "IMAGE_SAFETY": "content_filter",
    "IMAGE_PROHIBITED_CONTENT": "content_filter",
    "IMAGE_OTHER": "content_filter",
    "IMAGE_RECITATION": "content_filter",
    "NO_IMAGE": "content_filter",
    "ESCALATION": "content_filter",
    "PUP_LIMITED_DISABLED": "content_filter",
    "MODEL_ARMOR": "content_filter",
    "MALFORMED_FUNCTION_CALL": "error",
    "MALFORMED_RESPONSE": "error",
    "MISSING_THOUGHT_SIGNATURE": "error",
    "UNEXPECTED_TOOL_CALL": "error",
}
"""The wire's words to ours; any other is ``other``, none at all is inferred from the content."""

UNSAID = (None, "", 0, "FINISH_REASON_UNSPECIFIED")
"""What stands where an answer has not said why it ended."""

WORDS: Mapping[ir.FinishReason, tuple[str, bool]] = {
    "stop": ("STOP", True),
    "stop_sequence": ("STOP", False),
    "length": ("MAX_TOKENS", True),
    "context_length": ("MAX_TOKENS", False),
    "tool_calls": ("STOP", True),
    "content_filter": ("SAFETY", True),
    "refusal": ("SAFETY", True),
    "pause": ("TOO_MANY_TOOL_CALLS", False),
    "compaction": ("MAX_TOKENS", False),
    "error": ("MALFORMED_RESPONSE", True),
    "cancelled": ("OTHER", False),
    "other": ("OTHER", True),
}
"""Our words to the wire's, and whether nothing is lost by that. CONTINUATION is never written: it makes clients ask again by themselves."""

_NUMBERED = (
    "FINISH_REASON_UNSPECIFIED", "STOP", "MAX_TOKENS", "SAFETY", "RECITATION", "OTHER", "LANGUAGE", "BLOCKLIST", "PROHIBITED_CONTENT",
    "SPII", "MALFORMED_FUNCTION_CALL", "IMAGE_SAFETY", "UNEXPECTED_TOOL_CALL",
)  # fmt: skip
"""By number, as in the vendor's public protocol definitions (google.ai.generativelanguage.v1beta)."""

_PLAIN = frozenset({"", "STOP", "MAX_TOKENS"})
_UPGRADED = frozenset({"stop", "other", "error"})


def decode_finish(raw: JsonObject, parts: list[ir.Part], src: str) -> ir.Finish:
    """Read why a candidate ended. What it holds beats what it says: with calls it ended for calls, unless it was cut or blocked."""
    given = raw.get("finishReason")
    word = given if given in FINISH else word_of(given, _NUMBERED)
    reason: ir.FinishReason = FINISH.get(word, "other") if word else "stop"
    if reason in _UPGRADED and ir.ToolCall in map(type, parts):
        reason = "tool_calls"
    finish = ir.Finish(reason, given, word not in _PLAIN, src)
    finish.message = raw.get("finishMessage") or None
    return finish


def decode_blocked(feedback: JsonObject) -> ir.Finish:
    """Read why a prompt was not answered at all, or an answer broke off; a server may send the message of a block without its reason."""
    return ir.Finish(
        reason="content_filter",
        raw=feedback.get("blockReason"),
        finer=True,
        message=feedback.get("blockReasonMessage") or None,
        src="/promptFeedback",
    )


def encode_finish(finish: ir.Finish | None, has_calls: bool, at: str, losses: Ledger) -> JsonObject:
    """Write why a candidate ended; ``at`` is its pointer in the target."""
    if finish is None:
        return {"finishReason": losses.added(f"{at}/finishReason", "STOP")}
    word, is_exact = WORDS[finish.reason]
    if has_calls and finish.reason in OVERRULED:
        word = "STOP"
    note_finish(finish, word, is_exact, losses)
    if finish.raw is None:
        losses.added(f"{at}/finishReason", word)
    return {"finishReason": word} if finish.message is None else {"finishReason": word, "finishMessage": finish.message}


def unfinished(body: JsonObject) -> JsonObject:
    """Return an answer as one that has not ended: it may still, or it was cut."""
    for candidate in body.get("candidates") or ():
        candidate.pop("finishReason", None)
    return body
