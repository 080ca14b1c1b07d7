"""Lines of Anthropic's message batches: members of ``requests``, and results.

Source: Anthropic, "Batch processing"; the official SDK's types ``MessageBatchIndividualResponse`` and ``MessageBatchResult``.

Results are read here and not in ``shared``, because they have a type in place of an HTTP status.
"""

from __future__ import annotations

import re
from typing import get_args

from formatbridge.formats.shared.batch_lines import BatchItem, BatchLayout, Unprocessed
from formatbridge.jsontext.types import JsonObject


def _decode_batch_line(raw: JsonObject) -> BatchItem | None:
    """Decode a member of ``requests``, or a result."""
    result = raw.get("result")
    if "params" in raw:
        return BatchItem(kind="request", pointer="/params", body=raw["params"])
    if not isinstance(result, dict):
        return None
    known = frozenset({"/result/type"})
    match result.get("type"):
        case "succeeded":
            return BatchItem(kind="response", pointer="/result/message", body=result.get("message"), known=known)
        case "errored":
            return BatchItem(kind="error", pointer="/result/error", body=result.get("error"), known=known)
        case "canceled" | "expired" as reason:
            return BatchItem(kind="unprocessed", pointer="/result/type", reason=reason)
        case _:
            return None


def _encode_batch_request(id: str, body: JsonObject) -> JsonObject:
    """Encode a request as a member of ``requests``."""
    return {"custom_id": id, "params": body}


def _encode_batch_response(id: str, body: JsonObject) -> JsonObject:
    """Encode an answer as a result."""
    return {"custom_id": id, "result": {"type": "succeeded", "message": body}}


def _encode_batch_error(id: str, status: int, body: JsonObject) -> JsonObject:
    """Encode an error as a result. The HTTP status follows from the type of the error."""
    del status
    return {"custom_id": id, "result": {"type": "errored", "error": body}}


def _encode_batch_unprocessed(id: str, reason: Unprocessed, message: str) -> JsonObject:
    """Encode the result of a request that was not processed. Only a failure has a message."""
    if reason == "failed":
        error = {"type": "error", "error": {"type": "api_error", "message": message or "This request was not processed."}}
        return {"custom_id": id, "result": {"type": "errored", "error": error}}
    assert reason in get_args(Unprocessed)
    return {"custom_id": id, "result": {"type": reason}}


BATCH = BatchLayout(
    id_field="custom_id",
    read=_decode_batch_line,
    write_request=_encode_batch_request,
    write_response=_encode_batch_response,
    write_error=_encode_batch_error,
    write_unprocessed=_encode_batch_unprocessed,
    request_pointer="/params",
    response_pointer="/result/message",
    error_pointer="/result/error",
    has_status=False,
    # Source: Anthropic, API reference of message batches; the limit also in anthropics/anthropic-sdk-python#984.
    id_pattern=re.compile(r"[a-zA-Z0-9_-]{1,64}"),
    longest_id=64,
)
"""The layout of the lines."""
