"""Errors of Responses: error bodies, error events, and the error in a failed response.

An event and a failed response have errors of other shapes than an error body, so each has its functions.
"""

from __future__ import annotations

from collections.abc import Mapping

from formatbridge import ir
from formatbridge.formats.responses.holds import drop_unheld_in_answer
from formatbridge.formats.shared.errors import (
    FAULTS,
    KIND_FIELDS,
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

# Source: the official SDK, ``ResponseError.code``. ``FAULTS`` has the codes that name a fault in the request.
_CODES = FAULTS | {"server_error", "rate_limit_exceeded", "vector_store_timeout"}
"""The codes in a failed response; the set is closed."""
_CODES_BY_KIND: Mapping[ir.ErrorKind, str] = {
    "rate_limit": "rate_limit_exceeded",
    "timeout": "vector_store_timeout",
    "invalid_request": "invalid_prompt",
}
# ``ResponseError`` has an optional ``type`` (official SDK). It distinguishes kinds of errors that have the same code.
_TYPES: Mapping[ir.ErrorKind, str] = {kind: wording.type for kind, wording in KIND_FIELDS.items()} | {
    "not_found": "not_found_error",
    "too_large": "request_too_large",
    "cancelled": "cancelled",
    "overloaded": "overloaded_error",
}
"""Error types that identify the kind of an error whose code is not in ``_CODES``."""


def decode_error(body: JsonObject, *, status: int | None) -> ir.Error:
    """Decode an error body."""
    # {"error": {"message": "...", "type": "invalid_request_error", "param": "input", "code": null}}
    # ``detail``: type and code are OpenAI's words, unless the body has the shape of another vendor.
    return decode_error_body(body, status=status, otherwise="detail")


def encode_error(error: ir.Error, losses: Ledger) -> tuple[int, JsonObject]:
    """Encode an error: the HTTP status and the body."""
    return encode_error_object(error, drop_unheld_in_answer, losses)


def decode_error_event(event: JsonObject) -> ir.Error:
    """Decode the error of an event of any type: nested, or in the fields of the event.

    An error of another shape becomes the message, as JSON.
    """
    # The official type has these fields at its top level; recorded servers nest them in ``error`` (fixture error_nested).
    detail = event.get("error") or {key: event.get(key) for key in ("code", "message", "param")}
    if not isinstance(detail, dict) or not _is_valid(detail):
        detail = {"message": detail if isinstance(detail, str) else dumps(detail).decode()}
    return decode_failure(detail)


def decode_failure(raw: JsonObject) -> ir.Error:
    """Decode the error in a failed response; it has no HTTP status."""
    return decode_error({"error": raw}, status=None)


def encode_error_event(error: ir.Error) -> JsonObject:
    """Encode the fields of an ``error`` event, without its type and sequence number.

    The event has the error twice. The official clients for Python and JavaScript raise on a nested ``error`` object. They return an event
    without it, or ``response.failed``, like any other (openai-python ``_streaming.py``, openai-node ``core/streaming.ts``). The other
    fields are those of OpenAI's ``ResponseErrorEvent``, whose code is a string.
    """
    detail: JsonObject = encode_error_object(error, drop_unheld_in_answer, null_ledger())[1]["error"]
    code = detail["code"]
    return {"code": code if code is None else str(code), "message": detail["message"], "param": detail["param"], "error": detail}


def move_request_id(error: ir.Error, fields: JsonObject | None) -> None:
    """Move the request id from the unmodelled fields of a response to its error."""
    if error.request_id is None and fields and isinstance(fields.get("request_id"), str):
        error.request_id = fields.pop("request_id")


def _is_valid(detail: JsonObject) -> bool:
    texts = (detail.get("message"), detail.get("type"), detail.get("param"))
    return all(isinstance(text, str | None) for text in texts) and isinstance(detail.get("code"), str | int | None)


def encode_failure(error: ir.Error, losses: Ledger) -> JsonObject:
    """Encode the error in a failed response. The codes are a closed set, so the type identifies any other kind of error."""
    note_unread(error, losses)
    drop_unheld_in_answer(error, losses)
    if isinstance(error.code, str) and error.code in _CODES:
        code = error.code
    else:
        code = _CODES_BY_KIND.get(error.kind, "server_error")
        if error.code is not None:
            losses.changed(error, "code", code, severity="info")
    word = None if error.family == "status" else error.type  # a status name is no type of this format
    error_type = word if classify(None, code=code, word=word) == error.kind else _TYPES[error.kind]
    note_type(error, error_type, losses, code=code)
    failure: JsonObject = {"code": code, "message": error.message}
    return failure | {key: value for key, value in (("param", error.param), ("type", error_type)) if value is not None}


def is_bare_cancellation(error: ir.Error) -> bool:
    """Return whether the status ``cancelled`` of a response expresses all of an error."""
    # A cancelled response has no error object. With more than its kind to report, it becomes a failed one, which has.
    is_bare = not (error.param or error.request_id or error.retry_after or error.extra)
    is_default = error.type in (None, "CANCELLED", KIND_FIELDS["cancelled"].type) and all(
        value in (None, "", "cancelled") for value in (error.message, error.code)
    )
    return error.kind == "cancelled" and is_bare and is_default


def encode_sdk_error(error: ir.Error) -> bytes:
    """Encode an error as an event on which the official SDK raises, for any error event of the source."""
    return encode_event(dumps({"type": "error", **encode_error_event(error)}), "error")
