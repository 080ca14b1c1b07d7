"""Why an answer of chat_completions ended: five words, and what servers say besides."""

from __future__ import annotations

from collections.abc import Mapping

from formatbridge import ir
from formatbridge.formats.shared.parts import note_finish
from formatbridge.jsontext.types import JsonObject
from formatbridge.report.ledger import Ledger

FINISH: Mapping[str, ir.FinishReason] = {
    "stop": "stop",
    "length": "length",
    "tool_calls": "tool_calls",
    "function_call": "tool_calls",
    "content_filter": "content_filter",
    "error": "error",
}
"""The wire's words to ours, one of them of relays; any other is ``other``, none at all is inferred from the content."""

_PLAIN = frozenset({"length", "tool_calls", "function_call", "content_filter"})

WORDS: Mapping[ir.FinishReason, tuple[str, bool]] = {
    "stop": ("stop", True),
    "stop_sequence": ("stop", False),
    "length": ("length", True),
    "context_length": ("length", False),
    "tool_calls": ("tool_calls", True),
    "content_filter": ("content_filter", True),
    "refusal": ("content_filter", True),
    "pause": ("stop", False),
    "compaction": ("length", False),
    "error": ("stop", False),
    "cancelled": ("stop", False),
    "other": ("stop", False),
}
"""Our words to the wire's, and whether nothing is lost by that."""


def decode_finish(raw: JsonObject, parts: list[ir.Part], src: str) -> ir.Finish:
    """Read why a choice ended. What it holds beats what it says: with calls it ended for calls, with a refusal it refused."""
    word: str = raw.get("finish_reason") or ""
    if word in _PLAIN:  # which nothing else can contradict
        return ir.Finish(FINISH[word], word, False, src)
    reason = FINISH.get(word, "other") if word else "stop"
    stop, kinds = raw.get("stop_reason"), set(map(type, parts))
    if reason in ("stop", "other") and ir.ToolCall in kinds:
        reason = "tool_calls"
    elif reason == "stop" and ir.Refusal in kinds:
        reason = "refusal"
    elif reason == "stop" and isinstance(stop, str):
        reason = "stop_sequence"
    return ir.Finish(
        reason=reason,
        raw=word or None,
        finer=bool(word) and (word not in FINISH or FINISH[word] != reason) and reason not in ("refusal", "stop_sequence"),
        stop_sequence=stop if isinstance(stop, str) and reason == "stop_sequence" else None,
        src=src,
    )


def encode_finish(finish: ir.Finish | None, has_calls: bool, has_refusal: bool, at: str, losses: Ledger) -> str:
    """Write why a choice ended; ``at`` is its pointer in the target. ``tool_calls`` and calls come together or not at all."""
    if finish is None:
        made = "tool_calls" if has_calls else "stop"
        return str(losses.added(f"{at}/finish_reason", made))
    word, is_exact = WORDS[finish.reason]
    if finish.reason == "refusal" and has_refusal:
        word = "stop"
    if has_calls and word == "stop":  # whatever that stands for: clients run calls for the other word alone
        word = "tool_calls"
    elif finish.reason == "tool_calls" and not has_calls:  # they were of a kind that cannot be said here
        word, is_exact = "stop", False
    note_finish(finish, word, is_exact, losses)
    return word if finish.raw is not None else str(losses.added(f"{at}/finish_reason", word))


def unfinished(body: JsonObject) -> JsonObject:
    """Return an answer as one that has not ended: it may still, or it was cut."""
    for choice in body["choices"]:
        choice["finish_reason"] = None
    return body
