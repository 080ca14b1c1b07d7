"""Lines of Gemini's batch files.

The Gemini API has ``key`` and ``request``, and in results ``response`` or ``error``. Vertex AI has no key, and in results ``status``,
``processed_time`` and a copy of the request. Sources: Google, "Batch API"; Vertex AI, "Batch inference from Cloud Storage"; the official
SDK's type ``JobError``.
"""

from __future__ import annotations

from collections.abc import Mapping

from formatbridge.formats.shared.batch_lines import BatchItem, BatchLayout, Unprocessed
from formatbridge.jsontext.types import JsonObject, JsonValue

_HTTP_STATUSES: Mapping[int, int] = {
    1: 499, 3: 400, 4: 504, 5: 404, 6: 409, 7: 403, 8: 429, 9: 400, 10: 409, 11: 400, 12: 501, 13: 500, 14: 503, 15: 500, 16: 401,
}  # fmt: skip
"""Numbers of ``google.rpc.Code`` to HTTP statuses. Source: googleapis, ``google/rpc/code.proto``."""
_CANCELLED, _DEADLINE_EXCEEDED, _UNKNOWN = 1, 4, 2
_REASONS: Mapping[int, Unprocessed] = {_CANCELLED: "canceled", 499: "canceled", _DEADLINE_EXCEEDED: "expired", 504: "expired"}
_CODES: Mapping[Unprocessed, int] = {"canceled": _CANCELLED, "expired": _DEADLINE_EXCEEDED, "failed": _UNKNOWN}


def decode_batch_line(raw: JsonObject) -> BatchItem | None:
    """Decode a line of a request file or of a result file."""
    id = raw["key"] if isinstance(raw.get("key"), str) else None
    response, error, status, request = raw.get("response"), raw.get("error"), raw.get("status"), raw.get("request")
    known = frozenset({"/key", "/request", "/response", "/error"}) | ({"/status"} if status in ("", None) else set())
    if isinstance(response, dict) and response:
        return BatchItem(kind="response", id=id, at="/response", body=response, known=known)
    if isinstance(error, dict):
        return _decode_failure(id, error, "/error", known)
    if isinstance(status, dict):
        return _decode_failure(id, status, "/status", known | {"/status"})
    if isinstance(status, str) and status:  # Vertex AI
        return BatchItem(kind="unprocessed", id=id, at="/status", message=status, message_at="/status", known=known | {"/status"})
    if isinstance(request, dict):
        return BatchItem(kind="request", id=id, at="/request", body=request, known=known)
    return None


def _decode_failure(id: str | None, error: JsonObject, at: str, known: frozenset[str]) -> BatchItem:
    """Decode an error. One with a code of cancellation or of a deadline means that the request was not processed."""
    code = error.get("code")
    number = code if isinstance(code, int) else 0
    if number in _REASONS and not error.get("details"):
        return BatchItem(
            kind="unprocessed",
            id=id,
            at=f"{at}/message",
            reason=_REASONS[number],
            message=str(error.get("message") or ""),
            message_at=f"{at}/message",
            known=(known - {at}) | {f"{at}/code", f"{at}/status", f"{at}/message"},
        )
    status = number if 400 <= number <= 599 else _HTTP_STATUSES.get(number, 500)
    body: JsonValue = {"error": error | {"code": status}}
    return BatchItem(kind="error", id=id, at=at, body=body, outer="/error", status=status, known=known)


def encode_batch_request(id: str, body: JsonObject) -> JsonObject:
    """Encode a request. The model is an argument of the batch, not of a line."""
    return {"key": id, "request": body}


def encode_batch_response(id: str, body: JsonObject) -> JsonObject:
    """Encode an answer."""
    return {"key": id, "response": body}


def encode_batch_error(id: str, status: int, body: JsonObject) -> JsonObject:
    """Encode an error; its code is the HTTP status."""
    return {"key": id, "error": body["error"] | {"code": status}}


def encode_batch_unprocessed(id: str, reason: Unprocessed, message: str) -> JsonObject:
    """Encode the result of a request that was not processed."""
    return {"key": id, "error": {"code": _CODES[reason], "message": message or f"The request was not processed: {reason}."}}


BATCH = BatchLayout(
    id_field="key",
    read=decode_batch_line,
    write_request=encode_batch_request,
    write_response=encode_batch_response,
    write_error=encode_batch_error,
    write_unprocessed=encode_batch_unprocessed,
    request_at="/request",
    response_at="/response",
    error_at="",
)
"""The layout of the lines."""
