"""Lines of vendors' batch files: the envelope around one request or one result."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Literal

from formatbridge.jsontext.types import JsonObject, JsonValue

BatchLineKind = Literal["request", "response", "error", "unprocessed"]
"""What a line holds: a request, an answer, the error of a server, or why the request was not processed."""
Unprocessed = Literal["canceled", "expired", "failed"]
"""Why a request of a batch was not processed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchItem:
    """One line without its envelope."""

    kind: BatchLineKind
    pointer: str
    """JSON pointer of the body in the line."""
    body: JsonValue = None
    """The request, the answer or the error body."""
    outer: str = ""
    """The beginning of pointers into the body that the line does not have, because it holds the error without its outer object."""
    status: int | None = None
    """The HTTP status of an error; None: unknown."""
    status_pointer: str = ""
    """JSON pointer of the value that it comes from."""
    reason: Unprocessed = "failed"
    """Why a request was not processed."""
    message: str = ""
    """The text of that reason."""
    message_pointer: str = ""
    """JSON pointer of that text."""
    known: frozenset[str] = frozenset()
    """The pointers of envelope fields that the conversion carries or that only repeat it, besides the id and the body."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchLayout:
    """The lines of the batch files of one format.

    ``read`` returns None for a line of another shape. The functions that write a line get the id, and return the line.
    """

    id_field: str
    """The field of a line with the id of its request."""
    read: Callable[[JsonObject], BatchItem | None]
    """Read a line of a request file or of a result file."""
    write_request: Callable[[str, JsonObject], JsonObject]
    """Write a line with a request body."""
    write_response: Callable[[str, JsonObject], JsonObject]
    """Write a line with an answer."""
    write_error: Callable[[str, int, JsonObject], JsonObject]
    """Write a line with the error of a server: its HTTP status and its body."""
    write_unprocessed: Callable[[str, Unprocessed, str], JsonObject]
    """Write a line for a request that was not processed: why, and a message."""
    request_pointer: str
    """JSON pointer of the body in a line with a request."""
    response_pointer: str
    """JSON pointer of the body in a line with an answer."""
    error_pointer: str
    """JSON pointer of the body in a line with an error."""
    has_status: bool = True
    """Whether a line with an error has the HTTP status."""
    url: str | None = None
    """The value of ``url`` in a line with a request; None: lines have no URL."""
    stream_options: tuple[str, ...] = ()
    """The fields of a body with options of its stream, which a batch does not have."""
    generated_ids: tuple[str, ...] = ()
    """Pointers of ids that a result of the vendor has besides the id of the caller, from which they are derived."""
    id_pattern: re.Pattern[str] | None = None
    """The ids that the server accepts; None: any text."""
    longest_id: int | None = None
    """The maximum length of an id in characters; None: no limit."""


# OpenAI has one layout for all endpoints: the URL distinguishes them ("Batch API", guide).

_MESSAGES: Mapping[Unprocessed, tuple[str, str]] = {
    "canceled": ("batch_cancelled", "This request was not executed because the batch was cancelled."),
    "expired": ("batch_expired", "This request could not be executed before the completion window expired."),
    "failed": ("batch_failed", "This request was not executed."),
}
"""Codes and messages of errors in OpenAI's error files. Source: OpenAI, "Batch API", guide, section "Batch expiration"."""
_REASONS: Mapping[str, Unprocessed] = {code: reason for reason, (code, _) in _MESSAGES.items()}


def openai_layout(url: str) -> BatchLayout:
    """Return the layout of OpenAI's batch files for one endpoint.

    Sources: OpenAI, "Batch API", guide; ``BatchRequestInput`` and ``BatchRequestOutput`` of OpenAI's OpenAPI document.
    """

    def write_request(id: str, body: JsonObject) -> JsonObject:
        return {"custom_id": id, "method": "POST", "url": url, "body": body}

    return BatchLayout(
        id_field="custom_id",
        read=_read_openai,
        write_request=write_request,
        write_response=_openai_response,
        write_error=_openai_result,
        write_unprocessed=_openai_unprocessed,
        request_pointer="/body",
        response_pointer="/response/body",
        error_pointer="/response/body",
        url=url,
        stream_options=("stream_options",),
        generated_ids=("/id", "/response/request_id"),
    )


def _read_openai(raw: JsonObject) -> BatchItem | None:
    """Read a line of an input file, an output file or an error file."""
    # {"custom_id": "a", "method": "POST", "url": "/v1/responses", "body": {...}} is a request, and a result is
    # {"id": "batch_req_1", "custom_id": "a", "response": {"status_code": 200, "request_id": "r", "body": {...}}, "error": null}
    response, error = raw.get("response"), raw.get("error")
    if "body" in raw:
        method = {"/method"} if raw.get("method") == "POST" else set()
        return BatchItem(kind="request", pointer="/body", body=raw["body"], known=frozenset({"/url"} | method))
    if isinstance(response, dict) and (response.get("body") is not None or not isinstance(error, dict)):
        status = response.get("status_code")
        is_error = type(status) is int and 400 <= status <= 599
        return BatchItem(
            kind="error" if is_error else "response",
            pointer="/response/body",
            body=response.get("body"),
            status=status if is_error else None,
            status_pointer="/response/status_code",
            known=frozenset({"/response/status_code"} if is_error or status == 200 else ()),
        )
    return _read_openai_error(error) if isinstance(error, dict) else None


def _read_openai_error(error: JsonObject) -> BatchItem:
    """Read the reason why a request was not processed."""
    code, message = error.get("code"), error.get("message")
    reason = _REASONS.get(code) if isinstance(code, str) else None
    return BatchItem(
        kind="unprocessed",
        pointer="/error/message",
        reason=reason or "failed",
        message=message if isinstance(message, str) else "",
        message_pointer="/error/message",
        known=frozenset({"/error/code"} if reason else ()),
    )


def _openai_response(id: str, body: JsonObject) -> JsonObject:
    return _openai_result(id, 200, body)


def _openai_result(id: str, status: int, body: JsonObject) -> JsonObject:
    response = {"status_code": status, "request_id": f"req_{id}", "body": body}
    return {"id": f"batch_req_{id}", "custom_id": id, "response": response, "error": None}


def _openai_unprocessed(id: str, reason: Unprocessed, message: str) -> JsonObject:
    code, text = _MESSAGES[reason]
    return {"id": f"batch_req_{id}", "custom_id": id, "response": None, "error": {"code": code, "message": message or text}}
