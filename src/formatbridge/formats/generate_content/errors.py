"""Errors of Gemini: an HTTP status, a status name, and details of several kinds."""

from __future__ import annotations

from collections.abc import Mapping

from formatbridge import ir
from formatbridge.formats.generate_content.holds import drop_unheld_in_answer
from formatbridge.formats.shared.errors import decode_error_body, kept_status, note_type, note_unread
from formatbridge.jsontext.types import JsonObject
from formatbridge.report.ledger import Ledger

# Source: googleapis, ``google/rpc/code.proto``, whose comments map each name to an HTTP status. It has none for billing and size.
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
"""Error kinds to the HTTP status and the status name of ``google.rpc.Code``."""

_RETRY = "type.googleapis.com/google.rpc.RetryInfo"


def decode_error(body: JsonObject, *, status: int | None) -> ir.Error:
    """Decode an error body, also one of Chat Completions from a relay (fixture foreign_shape)."""
    # {"error": {"code": 429, "message": "...", "status": "RESOURCE_EXHAUSTED", "details": [{"@type": "...RetryInfo", ...}]}}
    return decode_error_body(body, status=status, otherwise="status")


def encode_error(error: ir.Error, losses: Ledger) -> tuple[int, JsonObject]:
    """Encode an error as its HTTP status and its body."""
    note_unread(error, losses)
    status, status_name = STATUSES[error.kind]
    status = kept_status(error, status)
    note_type(error, status_name, losses, status=status)
    # ``code`` is the HTTP status here, so a code in words has no field.
    if error.code not in (None, ""):
        losses.changed(error, "code", status_name, "diagnostic")
    drop_unheld_in_answer(error, losses)
    detail: JsonObject = {"code": status, "message": error.message, "status": status_name}
    # ``google.rpc.RetryInfo`` has the delay as a duration in proto3 JSON, "17s" (fixture rate_limit).
    if error.retry_after is not None:
        detail["details"] = [{"@type": _RETRY, "retryDelay": f"{error.retry_after:.9g}s"}]
    return status, {"error": detail}
