"""Errors of generate_content: a number, a word for its class, and details of several kinds."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from formatbridge import ir
from formatbridge.formats._errors import BY_WORD, classify, decode_error_object, kept_status, note_type
from formatbridge.formats._extra import joined, rest
from formatbridge.formats.generate_content._words import word_of
from formatbridge.losses import Ledger

JsonObject = dict[str, Any]

STATUSES: Mapping[ir.ErrorKind, tuple[int, str]] = {
    "invalid_request": (400, "INVALID_ARGUMENT"),
    "authentication": (401, "UNAUTHENTICATED"),
    "billing": (403, "PERMISSION_DENIED"),
    "permission": (403, "PERMISSION_DENIED"),
    "not_found": (404, "NOT_FOUND"),
    "conflict": (409, "ABORTED"),
    "too_large": (400, "INVALID_ARGUMENT"),
    "rate_limit": (429, "RESOURCE_EXHAUSTED"),
    "cancelled": (499, "CANCELLED"),
    "server": (500, "INTERNAL"),
    "overloaded": (503, "UNAVAILABLE"),
    "timeout": (504, "DEADLINE_EXCEEDED"),
}
"""Kind of error to HTTP status and word."""

_STATUS = frozenset({"code", "message", "status", "details"})
_RETRY = "type.googleapis.com/google.rpc.RetryInfo"


def decode_error(body: JsonObject, *, status: int | None) -> ir.Error:
    """Read an error body; one of another shape, which relays send here, is read as chat_completions'."""
    detail = body.get("error")
    if not isinstance(detail, dict) or (detail.get("status") is None and detail.get("details") is None and "type" in detail):
        return decode_error_object(body, status=status)
    code, word, details = detail.get("code"), word_of(detail.get("status")), detail.get("details") or []
    status = status if status is not None else code if isinstance(code, int) else None
    reasons = [item["reason"] for item in details if item.get("reason")]
    kind = classify(status, code=reasons[0] if reasons else code, word=word)
    return ir.Error(
        kind=kind,
        message=detail.get("message") or "",
        family="status",
        status=status,
        code=code if isinstance(code, str) else None,
        retry_after=next((wait for item in details if (wait := _seconds(item.get("retryDelay"))) is not None), None),
        src="",
        extra=joined(
            rest(body, frozenset({"error"})),
            rest(detail, _STATUS, "error/"),
            {"error/code": code} if isinstance(code, int) and code != status else None,
            {"error/status": detail["status"]} if word and not _restates(word, kind) else None,
            {"error/details": details} if details else None,
        ),
    )


def _restates(word: str, kind: ir.ErrorKind) -> bool:
    return BY_WORD.get(word) == kind or STATUSES[kind][1] == word


def _seconds(duration: object) -> float | None:
    """Read a duration such as ``17s`` or ``0.5s``."""
    if not isinstance(duration, str) or not duration.endswith("s"):
        return None
    digits = duration[:-1]
    return float(digits) if digits.isascii() and digits.replace(".", "", 1).isdigit() else None


def encode_error(error: ir.Error, losses: Ledger) -> tuple[int, JsonObject]:
    """Write an error: the HTTP status and the body."""
    if error.extra:
        losses.extras(error)
    status, word = STATUSES[error.kind]
    note_type(error, word, losses)
    if error.code not in (None, ""):
        losses.changed(error, "code", word, "diagnostic", severity="info")
    for name in ("param", "request_id"):
        if getattr(error, name) not in (None, ""):
            losses.dropped(error, name, "diagnostic", severity="info")
    status = kept_status(error, status)
    detail: JsonObject = {"code": status, "message": error.message, "status": word}
    if error.retry_after is not None:
        detail["details"] = [{"@type": _RETRY, "retryDelay": f"{error.retry_after:.9g}s"}]
    return status, {"error": detail}
