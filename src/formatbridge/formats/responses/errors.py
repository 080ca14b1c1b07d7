"""Errors of responses: the body of a failed call, and the error inside an answer that failed."""

from __future__ import annotations

from collections.abc import Mapping

from formatbridge import ir
from formatbridge.formats.responses.holds import drop_unheld_in_answer
from formatbridge.formats.shared.errors import (
    FAULTS,
    WORDINGS,
    classify,
    decode_error_body,
    encode_error_object,
    note_type,
    note_unread,
)
from formatbridge.jsontext.codec import dumps
from formatbridge.jsontext.types import JsonObject
from formatbridge.report.ledger import Ledger, null_ledger
from formatbridge.streaming.sse import encode_event

_CODES = FAULTS | {"server_error", "rate_limit_exceeded", "vector_store_timeout"}
"""The codes inside a failed answer; there are no others."""
_WORDS: Mapping[ir.ErrorKind, str] = {
    "rate_limit": "rate_limit_exceeded",
    "timeout": "vector_store_timeout",
    "invalid_request": "invalid_prompt",
}
_TYPES: Mapping[ir.ErrorKind, str] = {kind: wording.type for kind, wording in WORDINGS.items()} | {
    "not_found": "not_found_error",
    "too_large": "request_too_large",
    "cancelled": "cancelled",
    "overloaded": "overloaded_error",
}
"""Types that say the kind of a failure without the code that the format has no room for."""


def decode_error(body: JsonObject, *, status: int | None) -> ir.Error:
    """Read an error body."""
    return decode_error_body(body, status=status, otherwise="detail")


def encode_error(error: ir.Error, losses: Ledger) -> tuple[int, JsonObject]:
    """Write an error: the HTTP status and the body."""
    return encode_error_object(error, drop_unheld_in_answer, losses)


def encode_error_event(error: ir.Error) -> JsonObject:
    """Write the fields of the event that reports an error in a stream, but for its type and number.

    The error stands there twice: the official clients for Python and JavaScript raise on a nested ``error`` object, and hand on an event
    without one, or ``response.failed``, as any other (openai-python ``_streaming.py``, openai-node ``core/streaming.ts``). The fields
    beside it are those of the vendor's ``ResponseErrorEvent``, whose code is a string.
    """
    detail: JsonObject = encode_error_object(error, drop_unheld_in_answer, null_ledger())[1]["error"]
    code = detail["code"]
    return {
        "code": code if code is None else str(code),
        "message": detail["message"],
        "param": detail["param"],
        "error": detail,
    }


def decode_failure(raw: JsonObject) -> ir.Error:
    """Read the error inside an answer that failed; it has no HTTP status."""
    return decode_error({"error": raw}, status=None)


def failure_in(event: JsonObject) -> ir.Error:
    """Read the error that an event of any kind brings, also flat; one of another shape is put in words."""
    detail = event.get("error") or {key: event.get(key) for key in ("code", "message", "param")}
    if not isinstance(detail, dict) or not _is_sound(detail):
        detail = {"message": detail if isinstance(detail, str) else dumps(detail).decode()}
    return decode_failure(detail)


def take_request_id(error: ir.Error, fields: JsonObject | None) -> None:
    """Give an error the id of its request, which stands among the fields of the answer that nobody knows."""
    if error.request_id is None and fields and isinstance(fields.get("request_id"), str):
        error.request_id = fields.pop("request_id")


def _is_sound(detail: JsonObject) -> bool:
    words = (detail.get("message"), detail.get("type"), detail.get("param"))
    return all(isinstance(word, str | None) for word in words) and isinstance(detail.get("code"), str | int | None)


def encode_failure(error: ir.Error, losses: Ledger) -> JsonObject:
    """Write the error inside an answer that failed; its codes are a closed set, and what they cannot say the type does."""
    note_unread(error, losses)
    drop_unheld_in_answer(error, losses)
    if isinstance(error.code, str) and error.code in _CODES:
        code = error.code
    else:
        code = _WORDS.get(error.kind, "server_error")
        if error.code is not None:
            losses.changed(error, "code", code, severity="info")
    word = error.type if classify(None, code=code, word=error.type) == error.kind else _TYPES[error.kind]
    note_type(error, word, losses, code=code)
    made: JsonObject = {"code": code, "message": error.message}
    return made | {key: value for key, value in (("param", error.param), ("type", word)) if value is not None}


def says_cancelled(error: ir.Error) -> bool:
    """Say whether an error says nothing but that the answer was cancelled, which has a status of its own."""
    is_bare = not (error.param or error.request_id or error.retry_after or error.extra)
    is_plain = error.type in (None, WORDINGS["cancelled"].type) and all(
        word in (None, "", "cancelled") for word in (error.message, error.code)
    )
    return error.kind == "cancelled" and is_bare and is_plain


def encode_sdk_error(error: ir.Error) -> bytes:
    """Encode an error as an event on which the SDK raises, whatever the error was in the stream."""
    return encode_event(dumps({"type": "error", **encode_error_event(error)}), "error")
