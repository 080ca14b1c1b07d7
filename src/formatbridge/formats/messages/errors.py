"""Errors of messages, and what relays send in their place."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from formatbridge import ir
from formatbridge.formats._errors import classify, kept_status, note_type, plain_message
from formatbridge.formats._extra import joined, rest
from formatbridge.losses import Ledger

JsonObject = dict[str, Any]

ERRORS: Mapping[ir.ErrorKind, tuple[int, str]] = {
    "invalid_request": (400, "invalid_request_error"),
    "authentication": (401, "authentication_error"),
    "billing": (402, "billing_error"),
    "permission": (403, "permission_error"),
    "not_found": (404, "not_found_error"),
    "conflict": (409, "conflict_error"),
    "too_large": (413, "invalid_request_error"),
    "rate_limit": (429, "rate_limit_error"),
    "cancelled": (499, "api_error"),
    "server": (500, "api_error"),
    "overloaded": (529, "overloaded_error"),
    "timeout": (504, "timeout_error"),
}
"""Our kinds to the HTTP status and the type that this format gives them."""

_OUTER = frozenset({"type", "error", "request_id"})
_PLAIN = frozenset({"type", "request_id"})
_DETAIL = frozenset({"type", "message", "code", "param", "details"})


def decode_error(body: JsonObject, *, status: int | None) -> ir.Error:
    """Read an error body by its shape: the vendor's, another format's, or plain text."""
    detail = body.get("error")
    if not isinstance(detail, dict):
        message, key = plain_message(body)
        return ir.Error(
            kind=classify(status),
            message=message,
            status=status,
            request_id=body.get("request_id"),
            src="",
            extra=rest(body, _PLAIN | {key}),
        )
    details = detail.get("details")
    finer = details.get("error_code") if isinstance(details, dict) else None
    code = detail.get("code") if finer is None else finer
    word = detail.get("type") or detail.get("status")
    return ir.Error(
        kind=classify(status, code=code, word=word),
        message=detail.get("message") or "",
        family="messages",
        status=status,
        code=None if code in (status, "") else code,
        type=detail.get("type"),
        param=detail.get("param"),
        request_id=body.get("request_id"),
        src="",
        extra=joined(rest(body, _OUTER), rest(detail, _DETAIL, "error/"), _unread_details(detail, finer)),
    )


def _unread_details(detail: JsonObject, finer: str | None) -> JsonObject | None:
    """Return what is left of the details, and a code that another one hides."""
    details, left = detail.get("details"), JsonObject()
    if isinstance(details, dict):
        left |= rest(details, frozenset({"error_code"}), "error/details/") or {}
    elif details is not None:
        left["error/details"] = details
    if finer is not None and detail.get("code") is not None:
        left["error/code"] = detail["code"]
    return left or None


def encode_error(error: ir.Error, losses: Ledger) -> tuple[int, JsonObject]:
    """Write an error: the HTTP status and the body."""
    status, word = ERRORS[error.kind]
    if error.extra:
        losses.extras(error)
    note_type(error, word, losses)
    if error.code not in (None, "", word):
        losses.changed(error, "code", word, "diagnostic", severity="info")
    if error.param not in (None, ""):
        losses.dropped(error, "param", "diagnostic", severity="info")
    if error.retry_after is not None:
        losses.dropped(error, "retry_after", "diagnostic", severity="info")
    body: JsonObject = {"type": "error", "error": {"type": word, "message": error.message}}
    if error.request_id is not None:
        body["request_id"] = error.request_id
    return kept_status(error, status), body
