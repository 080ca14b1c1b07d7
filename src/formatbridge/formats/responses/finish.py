"""Why an answer of responses ended: a status, a reason where it stopped early, and what its output holds."""

from __future__ import annotations

from collections.abc import Mapping

from formatbridge import ir
from formatbridge.formats.responses.content import kind_of
from formatbridge.formats.shared.parts import note_finish
from formatbridge.formats.shared.parts import refusal_of as explanation_of
from formatbridge.formats.shared.tool_arguments import is_whole
from formatbridge.formats.shared.unmodelled_fields import joined, rest
from formatbridge.jsontext.types import JsonObject
from formatbridge.report.ledger import Ledger

FINISH: Mapping[str, ir.FinishReason] = {
    "max_output_tokens": "length",
    "max_messages": "pause",
    "content_filter": "content_filter",
    "steered": "stop",
}
"""Reasons of an incomplete answer to ours; any other is ``other``."""

STATUSES: Mapping[str, ir.FinishReason] = {
    "completed": "stop",
    "complete": "stop",
    "incomplete": "pause",
    "in_progress": "pause",
    "queued": "pause",
    "cancelled": "cancelled",
    "failed": "error",
}
"""Statuses to our reasons, where no reason is given."""

WORDS: Mapping[ir.FinishReason, tuple[str, str | None, bool]] = {
    "stop": ("completed", None, True),
    "stop_sequence": ("completed", None, False),
    "length": ("incomplete", "max_output_tokens", True),
    "context_length": ("incomplete", "max_output_tokens", False),
    "tool_calls": ("completed", None, True),
    "content_filter": ("incomplete", "content_filter", True),
    "refusal": ("incomplete", "content_filter", True),
    "pause": ("incomplete", None, False),
    "compaction": ("incomplete", "max_output_tokens", False),
    "error": ("failed", None, True),
    "cancelled": ("cancelled", None, True),
    "other": ("completed", None, False),
}
"""Our reasons to the status and its reason, and whether nothing is lost by that."""

_DETAILS = frozenset({"reason"})
_CUTS = frozenset({"length", "context_length", "content_filter", "refusal", "error", "cancelled"})
"""Our reasons that leave the last item as far as it came; a refusal in words does not."""
_UNFINISHED = frozenset({"queued", "in_progress"})
"""Statuses of an answer that is still to come: for all others that is no end, only the nearest word they have."""

_WAITING = frozenset({
    "function_call", "custom_tool_call", "computer_call", "local_shell_call", "shell_call", "apply_patch_call", "mcp_approval_request",
})  # fmt: skip
"""Items that wait for the caller; so does a search for tools that is the caller's to run."""


def decode_finish(body: JsonObject) -> ir.Finish:
    """Read why an answer ended. A complete one that waits for the caller ended for calls, one with a refusal refused."""
    status: str = body.get("status") or "completed"
    details = body.get("incomplete_details")
    word = details.get("reason") if details else None
    extra = rest(details, _DETAILS, "incomplete_details/") if details else None
    if word:
        told = {"status": status} if "status" in body else None
        reason = FINISH.get(word, "other")
        return ir.Finish(reason, word, word == "steered" or word not in FINISH, extra=joined(told, extra))
    reason = STATUSES.get(status, "stop")
    if reason == "stop":
        reason = _reason_of_output(body["output"])
    return ir.Finish(reason, body.get("status"), status not in STATUSES or status in _UNFINISHED, extra=extra)


def encode_finish(finish: ir.Finish | None, parts: list[ir.Part], losses: Ledger) -> JsonObject:
    """Write why an answer ended: its status, and for the unfinished and the failed what happened."""
    if finish is None:
        return {"status": "completed", "error": None, "incomplete_details": None}
    status, reason, is_exact = WORDS[finish.reason]
    if _is_refused_in_words(finish, parts):
        status, reason = "completed", None
    note_finish(finish, reason or status, is_exact, losses)
    return {
        "status": status,
        "error": {"code": "server_error", "message": finish.message or str(finish.raw or "")} if status == "failed" else None,
        "incomplete_details": {"reason": reason} if reason else None,
    }


def _is_refused_in_words(finish: ir.Finish, parts: list[ir.Part]) -> bool:
    """Say whether the model refused in words of its own: such an answer is complete, where a block breaks one off."""
    return finish.reason == "refusal" and any(isinstance(part, ir.Refusal) for part in parts)


def refusal_of(finish: ir.Finish | None, parts: list[ir.Part], losses: Ledger) -> ir.Refusal | None:
    """Return the explanation of a blocked answer as its refusal; in a failed one it is the error."""
    if finish is None or finish.reason == "error":
        return None
    text = explanation_of(finish, parts, losses)
    return None if text is None else ir.Refusal(text=text, src=finish.src)


def _reason_of_output(output: list[JsonObject]) -> ir.FinishReason:
    """Tell from the items of a complete answer why it ended."""
    reason: ir.FinishReason = "stop"
    for item in output:
        kind = item.get("type")
        if type(kind) is not str:
            kind = kind_of(item)
        if kind in _WAITING or (kind == "tool_search_call" and item.get("execution") == "client"):
            return "tool_calls"
        if kind == "message":
            content = item["content"]
            for part in content if isinstance(content, list) else ():
                if part.get("type") == "refusal":
                    reason = "refusal"
    return reason


def unfinished(body: JsonObject) -> JsonObject:
    """Return an answer as one that has not ended: it may still, or it was cut."""
    output = _with_last(body["output"], "in_progress")
    return body | {"status": "in_progress", "incomplete_details": None, "output": output}


def as_ended(items: list[JsonObject], status: str) -> list[JsonObject]:
    """Return the items of an answer with the status that its end gives to those that it broke off in."""
    return items if status == "completed" else _with_last(items, status)


def status_of_last(finish: ir.Finish | None, parts: list[ir.Part]) -> str:
    """Return the status of the last item, and of calls that came by half: an answer that ran out or was stopped broke off in these."""
    is_cut = finish is not None and finish.reason in _CUTS and not _is_refused_in_words(finish, parts)
    return "incomplete" if is_cut else "completed"


def _with_last(items: list[JsonObject], status: str) -> list[JsonObject]:
    """Return the items of an answer with the status of the last one, if its type has any, and of calls whose arguments are not whole.

    Calls come side by side, and whoever runs them by their status would run half a call.
    """
    last = len(items) - 1
    return [
        item | {"status": status}
        if (index == last and item.get("type") in ("message", "function_call", "tool_search_call")) or _is_half(item)
        else item
        for index, item in enumerate(items)
    ]


def _is_half(item: JsonObject) -> bool:
    arguments = item.get("arguments")
    if item.get("type") == "tool_search_call":
        return isinstance(arguments, dict) and arguments.keys() == {"raw_arguments"}
    return item.get("type") == "function_call" and isinstance(arguments, str) and not is_whole(arguments)
