"""Errors of Anthropic Messages, and the bodies that relays send instead.

``encode_rejection`` is here alone, because only in this format the server may store a conversation as a ``thread`` (official
SDK, beta types, ``BetaMessageThreadParam``).
"""

from __future__ import annotations

from collections.abc import Mapping

from formatbridge import ir
from formatbridge.errors import LossyConversionError
from formatbridge.formats.messages.holds import drop_unheld_in_answer
from formatbridge.formats.shared.errors import decode_error_body, kept_status, note_type, note_unread
from formatbridge.jsontext.types import JsonObject
from formatbridge.report.ledger import Ledger

# Source: Anthropic, "Errors". The type ``request_too_large`` is not in ``ErrorType`` of the SDK, because a proxy before the API sends it.
ERRORS: Mapping[ir.ErrorKind, tuple[int, str]] = {
    "invalid_request": (400, "invalid_request_error"),
    "authentication": (401, "authentication_error"),
    "billing": (402, "billing_error"),
    "permission": (403, "permission_error"),
    "not_found": (404, "not_found_error"),
    "conflict": (409, "conflict_error"),
    "too_large": (413, "request_too_large"),
    "rate_limit": (429, "rate_limit_error"),
    "cancelled": (499, "api_error"),
    "server": (500, "api_error"),
    "overloaded": (529, "overloaded_error"),
    "timeout": (504, "timeout_error"),
}
"""Canonical kinds to the HTTP status and the error type."""


def decode_error(body: JsonObject, *, status: int | None) -> ir.Error:
    """Decode an error body: Anthropic's, that of another format, or plain text."""
    return decode_error_body(body, status=status, otherwise="messages")


def encode_error(error: ir.Error, losses: Ledger) -> tuple[int, JsonObject]:
    """Encode an error as an HTTP status and a body."""
    status, value = ERRORS[error.kind]
    note_unread(error, losses)
    status = kept_status(error, status)
    note_type(error, value, losses, status=error.status and status)
    # Anthropic's errors have a type only (official SDK, ``ErrorObject``).
    if error.code not in (None, "", value):
        losses.changed(error, "code", value, "diagnostic")
    drop_unheld_in_answer(error, losses)
    body: JsonObject = {"type": "error", "error": {"type": value, "message": error.message}}
    if error.request_id is not None:
        body["request_id"] = error.request_id
    return status, body


def encode_rejection(error: LossyConversionError, message: str) -> JsonObject | None:
    """Encode the rejection of a request with a ``thread``. After it, Anthropic's SDK (``lib/threads``) sends the whole conversation."""
    if not any(loss.path.startswith("/thread") and loss.severity == "impossible" for loss in error.losses):
        return None
    details = {"error_code": "thread_unsupported_request"}
    return {"type": "error", "error": {"type": "invalid_request_error", "message": message, "details": details}}
