"""Lines of Gemini's batch files.

The Gemini API has ``key`` and ``request``, and in results ``response`` or ``error``. Vertex AI has no key, and in results ``status``,
``processed_time`` and a copy of the request. Sources: Google, "Batch API"; Vertex AI, "Batch inference from Cloud Storage"; the official
SDK's type ``JobError``.

Lines are read here and not in ``shared``, because errors have numbers of ``google.rpc.Code`` in place of HTTP statuses.
"""

from __future__ import annotations

from collections.abc import Mapping

from formatbridge.formats.shared.batch_lines import BatchItem, BatchLayout, Unprocessed
from formatbridge.jsontext.types import JsonObject

_HTTP_STATUSES: Mapping[int, int] = {
    1: 499, 3: 400, 4: 504, 5: 404, 6: 409, 7: 403, 8: 429, 9: 400, 10: 409, 11: 400, 12: 501, 13: 500, 14: 503, 15: 500, 16: 401,
}  # fmt: skip
"""Numbers of ``google.rpc.Code`` to HTTP statuses. Source: googleapis, ``google/rpc/code.proto``."""
_CANCELLED, _DEADLINE_EXCEEDED, _UNKNOWN = 1, 4, 2
_REASONS: Mapping[int, Unprocessed] = {_CANCELLED: "canceled", 499: "canceled", _DEADLINE_EXCEEDED: "expired", 504: "expired"}
_STATUSES: Mapping[Unprocessed, str] = {"canceled": "CANCELLED", "expired": "DEADLINE_EXCEEDED"}
_CODES: Mapping[Unprocessed, int] = {"canceled": _CANCELLED, "expired": _DEADLINE_EXCEEDED, "failed": _UNKNOWN}


def _decode_batch_line(raw: JsonObject) -> BatchItem | None:
    """Decode a line of a request file or of a result file. A result of Vertex AI repeats its request."""
    response, error, status = raw.get("response"), raw.get("error"), raw.get("status")
    if response or (response is not None and not error and not status):
        return BatchItem(kind="response", pointer="/response", body=response)
    if isinstance(error, dict):
        return _decode_failure(error, "/error")
    if isinstance(status, dict) and status:
        return _decode_failure(status, "/status")
    if isinstance(status, str) and status:  # Vertex AI
        return BatchItem(kind="unprocessed", pointer="/status", message=status, message_pointer="/status")
    return BatchItem(kind="request", pointer="/request", body=raw["request"]) if "request" in raw else None


def _decode_failure(error: JsonObject, pointer: str) -> BatchItem:
    """Decode an error. One with a code of cancellation or of a deadline means that the request was not processed."""
    code, message = error.get("code"), error.get("message")
    number = code if type(code) is int else 0
    if number in _REASONS and not error.get("details"):
        reason = _REASONS[number]
        status = {f"{pointer}/status"} if error.get("status") == _STATUSES[reason] else set()
        return BatchItem(
            kind="unprocessed",
            pointer=f"{pointer}/message",
            reason=reason,
            message=message if isinstance(message, str) else "",
            message_pointer=f"{pointer}/message",
            known=frozenset({f"{pointer}/code"} | status),
        )
    http_status = number if 400 <= number <= 599 else _HTTP_STATUSES.get(number, 500)
    body: JsonObject = {"error": error | {"code": http_status}}
    return BatchItem(kind="error", pointer=pointer, body=body, outer="/error", status=http_status, status_pointer=f"{pointer}/code")


def _encode_batch_request(id: str, body: JsonObject) -> JsonObject:
    """Encode a request. The model is an argument of the batch, not of a line."""
    return {"key": id, "request": body}


def _encode_batch_response(id: str, body: JsonObject) -> JsonObject:
    """Encode an answer."""
    return {"key": id, "response": body}


def _encode_batch_error(id: str, status: int, body: JsonObject) -> JsonObject:
    """Encode an error; its code is the HTTP status."""
    return {"key": id, "error": body["error"] | {"code": status}}


def _encode_batch_unprocessed(id: str, reason: Unprocessed, message: str) -> JsonObject:
    """Encode the result of a request that was not processed."""
    return {"key": id, "error": {"code": _CODES[reason], "message": message or f"The request was not processed: {reason}."}}


BATCH = BatchLayout(
    id_field="key",
    read=_decode_batch_line,
    write_request=_encode_batch_request,
    write_response=_encode_batch_response,
    write_error=_encode_batch_error,
    write_unprocessed=_encode_batch_unprocessed,
    request_pointer="/request",
    response_pointer="/response",
    error_pointer="",  # the line has the member "error" of the error body
)
"""The layout of the lines."""
