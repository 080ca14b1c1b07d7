"""Errors of generate_content: a number, a word for its class, and details of several kinds."""

from __future__ import annotations

from collections.abc import Mapping

from formatbridge import ir
from formatbridge.formats.generate_content.holds import drop_unheld_in_answer
from formatbridge.formats.shared.errors import decode_error_body, kept_status, note_type, note_unread
from formatbridge.jsontext.types import JsonObject
from formatbridge.report.ledger import Ledger

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

_RETRY = "type.googleapis.com/google.rpc.RetryInfo"


def decode_error(body: JsonObject, *, status: int | None) -> ir.Error:
    """Read an error body; relays send those of chat_completions here, too."""
    return decode_error_body(body, status=status, otherwise="status")


def encode_error(error: ir.Error, losses: Ledger) -> tuple[int, JsonObject]:
    """Write an error: the HTTP status and the body."""
    note_unread(error, losses)
    status, word = STATUSES[error.kind]
    status = kept_status(error, status)
    note_type(error, word, losses, status=status)
    if error.code not in (None, ""):
        losses.changed(error, "code", word, "diagnostic", severity="info")
    drop_unheld_in_answer(error, losses)
    detail: JsonObject = {"code": status, "message": error.message, "status": word}
    if error.retry_after is not None:
        detail["details"] = [{"@type": _RETRY, "retryDelay": f"{error.retry_after:.9g}s"}]
    return status, {"error": detail}
