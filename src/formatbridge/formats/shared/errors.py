"""Errors of all formats: one kind for each class of failure, with the type, the code and the status of each format.

A stable code decides first, then the HTTP status, then the type: OpenAI uses ``invalid_request_error`` for the
statuses 400, 401 and 404 (recorded traffic).
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from formatbridge import ir
from formatbridge.formats.shared.held_fields import DropUnheld
from formatbridge.formats.shared.unmodelled_fields import merge_extra, read_extra
from formatbridge.jsontext.codec import dumps
from formatbridge.jsontext.types import JsonObject
from formatbridge.report.ledger import Ledger, LossRule

BY_STATUS: Mapping[int, ir.ErrorKind] = {
    400: "invalid_request", 401: "authentication", 402: "billing", 403: "permission", 404: "not_found", 408: "timeout", 409: "conflict",
    413: "too_large", 422: "invalid_request", 429: "rate_limit", 499: "cancelled", 500: "server", 503: "overloaded", 504: "timeout",
    529: "overloaded",
}  # fmt: skip

BY_TYPE: Mapping[str, ir.ErrorKind] = {
    "invalid_request_error": "invalid_request", "authentication_error": "authentication", "billing_error": "billing",
    "insufficient_quota": "billing", "permission_error": "permission", "not_found_error": "not_found", "conflict_error": "conflict",
    "request_too_large": "too_large", "rate_limit_error": "rate_limit", "timeout_error": "timeout", "api_error": "server",
    "server_error": "server", "overloaded_error": "overloaded", "timeout": "timeout", "cancelled": "cancelled",
    "INVALID_ARGUMENT": "invalid_request", "FAILED_PRECONDITION": "invalid_request", "OUT_OF_RANGE": "invalid_request",
    "UNAUTHENTICATED": "authentication", "PERMISSION_DENIED": "permission", "NOT_FOUND": "not_found", "ABORTED": "conflict",
    "ALREADY_EXISTS": "conflict",
    "RESOURCE_EXHAUSTED": "rate_limit", "CANCELLED": "cancelled", "INTERNAL": "server", "UNKNOWN": "server", "UNAVAILABLE": "overloaded",
    "DEADLINE_EXCEEDED": "timeout",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class _KindFields:
    """The HTTP status, the type, and the code if it is fixed, of a kind of error in chat_completions and responses."""

    status: int
    type: str
    code: str | None = None


KIND_FIELDS: Mapping[ir.ErrorKind, _KindFields] = {
    "invalid_request": _KindFields(400, "invalid_request_error"),
    "authentication": _KindFields(401, "authentication_error", "invalid_api_key"),
    "billing": _KindFields(402, "insufficient_quota", "insufficient_quota"),
    "permission": _KindFields(403, "permission_error"),
    "not_found": _KindFields(404, "invalid_request_error", "model_not_found"),
    "conflict": _KindFields(409, "conflict_error"),
    "too_large": _KindFields(413, "invalid_request_error", "request_too_large"),
    "rate_limit": _KindFields(429, "rate_limit_error", "rate_limit_exceeded"),
    "cancelled": _KindFields(499, "server_error", "cancelled"),
    "server": _KindFields(500, "server_error"),
    "overloaded": _KindFields(503, "server_error", "overloaded_error"),
    "timeout": _KindFields(504, "server_error", "timeout"),
}

QUOTA_CODES = frozenset({
    "insufficient_user_quota", "pre_consume_token_quota_failed", "insufficient_quota", "quota_exceeded", "billing_error",
    "billing_hard_limit_reached", "credit_balance_too_low",
})  # fmt: skip
"""Codes and types of an account without credit."""

FORBIDDEN = (401, 403)
"""Statuses that relays also send for an account without credit (fixture billing_forbidden); then only the type identifies it."""

BY_CODE: Mapping[str, ir.ErrorKind] = {
    "API_KEY_INVALID": "authentication",
    "context_length_exceeded": "invalid_request",
    **dict.fromkeys(QUOTA_CODES, "billing"),
    **{fields.code: kind for kind, fields in KIND_FIELDS.items() if fields.code},
}
"""Codes with the same meaning at every status."""

FAULTS = frozenset({
    "invalid_prompt", "data_residency_mismatch", "bio_policy", "misalignment_policy_violation", "invalid_image", "invalid_image_format",
    "invalid_base64_image", "invalid_image_url", "image_too_large", "image_too_small", "image_parse_error",
    "image_content_policy_violation", "invalid_image_mode", "image_file_too_large", "unsupported_image_media_type", "empty_image_file",
    "failed_to_download_image", "image_file_not_found",
})  # fmt: skip
"""Codes of a failed answer whose cause is the request."""

_BY_CODE_ALONE: Mapping[str, ir.ErrorKind] = {"vector_store_timeout": "timeout", **dict.fromkeys(FAULTS, "invalid_request")}
"""Codes that decide the kind if there is no status: in a stream, and in a failed answer."""


def classify(status: int | None, *, code: object = None, word: object = None) -> ir.ErrorKind:
    """Return the kind of an error. A 429 is always a rate limit, because clients retry by status (openai-python, ``_should_retry``).

    ``code``: the error code; in a stream, which has no status, it may be the status (fixture error_on_chunk). ``word``: the error type or
    status name.
    """
    if status is None and isinstance(code, int):
        status = code
    code_text, type_text = (value if isinstance(value, str) else "" for value in (code, word))
    if code_text in BY_CODE and status != 429:
        return BY_CODE[code_text]
    kind = BY_TYPE.get(type_text, "server")
    if status is None:
        return _BY_CODE_ALONE.get(code_text, kind)
    if status in FORBIDDEN and type_text in QUOTA_CODES:
        return "billing"
    if status in BY_STATUS:
        return BY_STATUS[status]
    if 500 <= status < 600:
        return "server"
    is_of_client = 400 <= status < 500
    return "invalid_request" if is_of_client and KIND_FIELDS[kind].status >= 500 else kind


def error_text(body: JsonObject) -> tuple[str, str]:
    """Return the message of an error body without an error object, and its key. A value that is no text is returned as JSON text.

    In ``{"error": "Bad Request", "message": …}``, the first member only names the class (fastify.dev/docs/latest/Reference/Reply).
    """
    keys = [key for key in ("message", "detail") if body.get(key) and isinstance(body[key], str | list)]
    for key in (*keys, "error", "message", "detail"):
        value = body.get(key)
        if value is not None and (value != "" or key == "error"):
            return value if isinstance(value, str) else dumps(value).decode(), key
    return "", "message"


def is_bare_error(event: JsonObject) -> bool:
    """Return whether an event without fields of its format is an error message, and not a ping or a message of another format."""
    return event.get("type") != "ping" and (isinstance(event.get("message"), str) or event.get("detail") is not None)


def has_error(body: JsonObject) -> bool:
    """Return whether a whole body is certainly an error of some format: it has an error, or its type is error."""
    return bool(body.get("error")) or body.get("success") is False or body.get("type") == "error"


def is_error_body(body: JsonObject) -> bool:
    """Return whether a whole body that is no answer of its format is an error of any shape."""
    return has_error(body) or is_bare_error(body)


_COMMON_STATUSES = frozenset({400, 401, 402, 403, 404, 409, 413, 429, 499, 500, 503, 504, 529})
"""Statuses that a format uses for a kind."""


def kept_status(error: ir.Error, default: int) -> int:
    """Return the HTTP status of an error: the target's ``default`` for its kind, or a more specific status of the source.

    Formats differ in the status of a kind (an overload is 503 or 529). 422, 502 and others are more specific than all of them.
    """
    raw = error.status
    if raw is None or raw in _COMMON_STATUSES:
        return default
    kind = BY_STATUS.get(raw)
    return raw if kind == error.kind or (kind is None and raw // 100 == default // 100) else default


def note_unread(error: ir.Error, losses: Ledger) -> None:
    """Note the unmodelled fields of an error. Of the details of a ``status`` error, only the reason and the retry delay are read."""
    if not error.extra:
        return
    if error.family == "status" and isinstance(error.extra.get("error/details"), list):
        losses.changed(error, "details", None, "diagnostic")
    losses.extras(error)


def note_type(error: ir.Error, word: str | None, losses: Ledger, *, code: object = None, status: int | None = None) -> None:
    """Note that ``word``, a type or status name, replaces the type of an error, unless the target has the same information.

    The ``code`` and ``status`` of the target also identify the kind. Some formats have one type for two kinds.
    """
    is_finer = error.type not in (None, "", word) and not _restates(error.type, error.kind)
    by_status = "type" if error.family == "status" else None  # in other families the HTTP status alone may identify the kind
    name = next((name for name in ("type", "code") if getattr(error, name) not in (None, "")), by_status)
    if is_finer or (name and classify(status, code=code, word=word) != error.kind):
        losses.weakened(error, name or "type", word, "diagnostic")


def _restates(error_type: object, kind: ir.ErrorKind) -> bool:
    """Return whether the kind of an error already implies its type or status name. In a stream a type may be any value."""
    if not isinstance(error_type, str):
        return False
    status_name = error_type.upper()
    kinds = (BY_TYPE.get(error_type), BY_TYPE.get(status_name))
    return kind in kinds or error_type == KIND_FIELDS[kind].type or status_name == _LESS_SPECIFIC.get(kind)


def encode_error_object(error: ir.Error, drop_unheld: DropUnheld, losses: Ledger) -> tuple[int, JsonObject]:
    """Encode the error body that chat_completions and responses share, and its HTTP status.

    Type and code of the ``detail`` family are kept, and so is a code of the ``status`` family.
    """
    is_same_family = error.family == "detail"
    note_unread(error, losses)
    drop_unheld(error, losses)
    kind_fields = KIND_FIELDS[error.kind]
    error_type = (error.type if is_same_family else None) or kind_fields.type
    keeps_code = is_same_family or (error.family == "status" and error.code)
    code: object = error.code if keeps_code else kind_fields.code
    status = kept_status(error, kind_fields.status)
    note_type(error, error_type, losses, code=code, status=error.status and status)
    if not keeps_code:
        losses.dropped(error, "code", "diagnostic")
    detail = {"message": error.message, "type": error_type, "param": error.param, "code": code}
    return status, {"error": detail}


ERROR_PLACES: Mapping[str, tuple[str, ...]] = {
    "Error.message": ("error/message", "message", "detail", "error"),
    "Error.type": ("error/type", "error/status", "error/code"),
    "Error.code": ("error/code", "error/details/error_code", "code"),
    "Error.param": ("error/param",),
    "Error.details": ("error/details",),
    "Error.status": ("error/code",),
    "Error.retry_after": ("error/details",),
}
"""Pointers of the fields of an error in all shapes. A format puts its pointer first."""

_DIAGNOSTIC = LossRule("info", "diagnostic")
ERROR_RULES: Mapping[str, LossRule] = {
    "Error.error": _DIAGNOSTIC,
    "Error.error/code": _DIAGNOSTIC,
    "Error.error/details": _DIAGNOSTIC,
    "Error.error/metadata": _DIAGNOSTIC,
    "Error.error/misalignment": _DIAGNOSTIC,
    "Error.error/status": _DIAGNOSTIC,
    "Error.error/type": LossRule("info", "diagnostic", kind="changed"),
    "Error.success": LossRule("info", "diagnostic", neutral=(False,)),
}
"""Loss rules of fields that one shape of error has."""

_NIL = "<nil>"
"""The text that some relays write for no type (fixture error_nil)."""
_TYPED_FIELDS = frozenset({"message", "type", "param", "code"})
_STATUS = frozenset({"message", "param", "code", "status", "details"})
_DURATION = re.compile(r"([0-9]{1,9}(?:\.[0-9]{1,9})?)s")
_LESS_SPECIFIC = {"billing": "PERMISSION_DENIED", "too_large": "INVALID_ARGUMENT"}
"""Kinds that have no separate status name, to the nearest status name."""


def decode_error_body(body: JsonObject, *, status: int | None, otherwise: ir.ErrorFamily) -> ir.Error:
    """Decode an error body. ``otherwise``: the family to assume if the body does not show it."""
    detail = body.get("error")
    if not isinstance(detail, dict):
        error = _decode_bare(body, status)
    elif (family := error_family(body, detail, otherwise)) == "status":
        error = _decode_status(body, detail, status)
    else:
        error = _decode_typed(body, detail, family, status)
    raw = body.get("request_id")
    error.request_id = raw if isinstance(raw, str) else None
    return error


def error_family(body: JsonObject, detail: JsonObject, otherwise: ir.ErrorFamily) -> ir.ErrorFamily:
    """Return the family of an error body with the error object ``detail``; ``otherwise`` if the body does not show it."""
    if detail.get("type") is None and (isinstance(detail.get("status"), str) or _has_only_details(detail)):
        return "status"
    if body.get("type") == "error" and detail.keys().isdisjoint(("code", "param")):
        return "messages"
    return "detail" if otherwise == "status" and "type" in detail else otherwise


def _has_only_details(detail: JsonObject) -> bool:
    """Return whether an error has a list of objects as details, but no text as code and no parameter, which the other shapes have."""
    details = detail.get("details")
    is_listed = isinstance(details, list) and any(isinstance(item, dict) for item in details)
    return is_listed and detail.get("param") is None and not isinstance(detail.get("code"), str)


def _decode_bare(body: JsonObject, status: int | None) -> ir.Error:
    """Decode an error without an error object: a message, perhaps a code."""
    message, key = error_text(body)
    code = body.get("code")
    error = ir.Error(kind=classify(status, code=code), message=message, status=status, extra=_outer(body, key))
    if isinstance(code, str | int) and error.extra:
        del error.extra["code"]
        error.code = None if code == status else code
    return error


def _outer(body: JsonObject, key: str) -> JsonObject | None:
    """Return the members next to ``error`` that are not part of the envelope."""
    known = {
        key,
        *(["type"] if body.get("type") == "error" else ()),
        *(["request_id"] if isinstance(body.get("request_id"), str) else ()),
    }
    return read_extra(body, known)


def _decode_typed(body: JsonObject, detail: JsonObject, family: ir.ErrorFamily, status: int | None) -> ir.Error:
    """Decode an error of the ``detail`` or ``messages`` family: with a type, and perhaps a more specific code."""
    details, error_type = detail.get("details") if family == "messages" else None, detail.get("type")
    finer = details.get("error_code") if isinstance(details, dict) else None
    code = detail.get("code") if finer is None else finer
    unread = read_extra(detail, _TYPED_FIELDS, "error/") or {}
    if isinstance(details, dict):
        del unread["error/details"]
        unread |= read_extra(details, {"error_code"}, "error/details/") or {}
    if finer is not None and detail.get("code") is not None:
        unread["error/code"] = detail["code"]
    if error_type == _NIL:
        unread["error/type"] = error_type
    return ir.Error(
        kind=classify(status, code=code, word=error_type or detail.get("status")),
        message=_text(detail.get("message")),
        family=family,
        status=status,
        code=None if code == status or (code == "" and family == "messages") else code,
        type=None if error_type == _NIL else error_type,
        param=detail.get("param"),
        extra=merge_extra(_outer(body, "error"), unread),
    )


def _decode_status(body: JsonObject, detail: JsonObject, status: int | None) -> ir.Error:
    """Decode an error of the ``status`` family: with an HTTP status as code, a status name, and details of several types."""
    code, name = detail.get("code"), detail.get("status")
    status = status if status is not None else code if isinstance(code, int) else None
    details = detail.get("details") or []
    kind = classify(status, code=_reason_in(details) or code, word=name.upper() if isinstance(name, str) else None)
    return ir.Error(
        kind=kind,
        message=_text(detail.get("message")),
        family="status",
        status=status,
        code=code if isinstance(code, str) else None,
        type=name if isinstance(name, str) else None,
        param=detail.get("param"),
        retry_after=_retry_delay(details),
        extra=merge_extra(
            _outer(body, "error"),
            read_extra(detail, _STATUS, "error/"),
            {"error/code": code} if code != status and not isinstance(code, str | None) else None,
            {"error/status": name} if name is not None and not isinstance(name, str) else None,
            {"error/details": details} if details else None,
        ),
    )


def _text(message: object) -> str:
    """Return the message of an error. In a stream it may have any type."""
    return message if isinstance(message, str) else dumps(message).decode() if message else ""


def _reason_in(details: object) -> str | None:
    """Return the code in the details of an error, such as ``API_KEY_INVALID``, else None."""
    reasons = (item.get("reason") for item in _objects(details))
    return next((reason for reason in reasons if isinstance(reason, str) and reason), None)


def _retry_delay(details: object) -> float | None:
    """Return the retry delay in the details of an error, such as ``17s`` or ``0.5s``, in seconds, else None."""
    texts = (item.get("retryDelay") for item in _objects(details))
    matches = (_DURATION.fullmatch(text) for text in texts if isinstance(text, str))
    return next((float(match[1]) for match in matches if match), None)


def _objects(details: object) -> list[JsonObject]:
    return [item for item in details if isinstance(item, dict)] if isinstance(details, list) else []
