"""Error bodies, read by their shape and not by the endpoint that sent them: relays and the servers behind them mix the shapes."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Literal

from formatbridge import ir
from formatbridge._codec import dumps
from formatbridge._json import JsonObject
from formatbridge.formats._errors import BY_WORD, classify, plain_message
from formatbridge.formats._extra import joined, rest
from formatbridge.losses import Own

Family = Literal["detail", "messages", "status"]

ERROR_PLACES: Mapping[str, tuple[str, ...]] = {
    "Error.message": ("error/message", "message", "detail", "error"),
    "Error.type": ("error/type",),
    "Error.word": ("error/status", "error/code"),
    "Error.code": ("error/code", "error/details/error_code"),
    "Error.param": ("error/param",),
    "Error.details": ("error/details",),
    "Error.status": ("error/code",),
    "Error.retry_after": ("error/details",),
}
"""Where all shapes keep what an error says; a format puts its own place first."""

_DIAGNOSTIC = Own("info", "diagnostic")
ERROR_OWN: Mapping[str, Own] = {
    "Error.error": _DIAGNOSTIC,
    "Error.error/code": _DIAGNOSTIC,
    "Error.error/details": _DIAGNOSTIC,
    "Error.error/metadata": _DIAGNOSTIC,
    "Error.error/misalignment": _DIAGNOSTIC,
    "Error.error/status": _DIAGNOSTIC,
    "Error.error/type": Own("info", "diagnostic", kind="changed"),
    "Error.success": Own("info", "diagnostic", neutral=(False,)),
}
"""How grave it is to lose what one shape alone has."""

_NIL = "<nil>"
"""What some relays write for no type."""
_WORDED = frozenset({"message", "type", "param", "code"})
_STATUS = frozenset({"message", "param", "code", "status", "details"})
_DURATION = re.compile(r"([0-9]{1,9}(?:\.[0-9]{1,9})?)s")
_COARSER = {"billing": "PERMISSION_DENIED", "too_large": "INVALID_ARGUMENT"}
"""Words for kinds of which they say less."""


def decode_error_body(body: JsonObject, *, status: int | None, otherwise: Family) -> ir.Error:
    """Read an error body. ``otherwise``: the shape of one that does not show which it has."""
    detail = body.get("error")
    if not isinstance(detail, dict):
        message, key = plain_message(body)
        error = ir.Error(kind=classify(status), message=message, status=status, extra=_outer(body, key))
    elif (family := _family(body, detail, otherwise)) == "status":
        error = _decode_status(body, detail, status)
    else:
        error = _decode_worded(body, detail, family, status)
    given = body.get("request_id")
    error.request_id = given if isinstance(given, str) else None
    return error


def _family(body: JsonObject, detail: JsonObject, otherwise: Family) -> Family:
    if detail.get("type") is None and (isinstance(detail.get("status"), str) or _has_plain_details(detail)):
        return "status"
    if body.get("type") == "error" and detail.keys().isdisjoint(("code", "param")):
        return "messages"
    return "detail" if otherwise == "status" and "type" in detail else otherwise


def _has_plain_details(detail: JsonObject) -> bool:
    """Say whether an error has a list of objects for details, and neither a word for its code nor a parameter: those others have."""
    details = detail.get("details")
    is_listed = isinstance(details, list) and any(isinstance(item, dict) for item in details)
    return is_listed and detail.get("param") is None and not isinstance(detail.get("code"), str)


def _outer(body: JsonObject, key: str) -> JsonObject | None:
    """Return what stands beside the error, but for the envelope's own."""
    known = {
        key,
        *(["type"] if body.get("type") == "error" else ()),
        *(["request_id"] if isinstance(body.get("request_id"), str) else ()),
    }
    return rest(body, known)


def _decode_worded(body: JsonObject, detail: JsonObject, family: Family, status: int | None) -> ir.Error:
    """Read an error with a word for its class, and perhaps a finer code."""
    details, word = detail.get("details") if family == "messages" else None, detail.get("type")
    finer = details.get("error_code") if isinstance(details, dict) else None
    code = detail.get("code") if finer is None else finer
    unread = rest(detail, _WORDED, "error/") or {}
    if isinstance(details, dict):
        del unread["error/details"]
        unread |= rest(details, {"error_code"}, "error/details/") or {}
    if finer is not None and detail.get("code") is not None:
        unread["error/code"] = detail["code"]
    if word == _NIL:
        unread["error/type"] = word
    return ir.Error(
        kind=classify(status, code=code, word=word or detail.get("status")),
        message=_text(detail.get("message")),
        family=family,
        status=status,
        code=None if code == status or (code == "" and family == "messages") else code,
        type=None if word == _NIL else word,
        param=detail.get("param"),
        extra=joined(_outer(body, "error"), unread),
    )


def _decode_status(body: JsonObject, detail: JsonObject, status: int | None) -> ir.Error:
    """Read an error with a number and a word for its class, and details of several kinds."""
    code, word = detail.get("code"), detail.get("status")
    status = status if status is not None else code if isinstance(code, int) else None
    details = detail.get("details") or []
    kind = classify(status, code=reason_in(details) or code, word=word.upper() if isinstance(word, str) else None)
    return ir.Error(
        kind=kind,
        message=_text(detail.get("message")),
        family="status",
        status=status,
        code=code if isinstance(code, str) else None,
        param=detail.get("param"),
        retry_after=retry_delay(details),
        extra=joined(
            _outer(body, "error"),
            rest(detail, _STATUS, "error/"),
            {"error/code": code} if code != status and not isinstance(code, str | None) else None,
            {"error/status": word} if word not in (None, "") and not _restates(word, kind) else None,
            {"error/details": details} if details else None,
        ),
    )


def _restates(word: object, kind: ir.ErrorKind) -> bool:
    return isinstance(word, str) and (BY_WORD.get(word.upper()) == kind or _COARSER.get(kind) == word.upper())


def _text(message: object) -> str:
    """Return the words of an error; in a stream anything may stand there."""
    return message if isinstance(message, str) else dumps(message).decode() if message else ""


def reason_in(details: object) -> str | None:
    """Return the code that the details of an error tell, such as ``API_KEY_INVALID``; None where none does."""
    told = (item.get("reason") for item in _objects(details))
    return next((reason for reason in told if isinstance(reason, str) and reason), None)


def retry_delay(details: object) -> float | None:
    """Return the seconds to wait that the details of an error tell, such as ``17s`` or ``0.5s``; None where none does."""
    told = (item.get("retryDelay") for item in _objects(details))
    found = (_DURATION.fullmatch(text) for text in told if isinstance(text, str))
    return next((float(match[1]) for match in found if match), None)


def _objects(details: object) -> list[JsonObject]:
    return [item for item in details if isinstance(item, dict)] if isinstance(details, list) else []
