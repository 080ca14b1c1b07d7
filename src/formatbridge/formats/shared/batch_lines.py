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
    id: str | None
    """The id that the caller gave to the request; None: the line has none."""
    at: str
    """JSON pointer of the body in the line."""
    body: JsonValue = None
    """The request, the answer or the error body."""
    outer: str = ""
    """The beginning of pointers into the body that the line does not have, because it holds the error without its outer object."""
    status: int | None = None
    """The HTTP status of an error; None: unknown."""
    reason: Unprocessed = "failed"
    """Why a request was not processed."""
    message: str = ""
    """The text of that reason."""
    message_at: str = ""
    """JSON pointer of that text."""
    known: frozenset[str] = frozenset()
    """The pointers of envelope fields that the conversion carries, or that mean nothing else."""


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
    request_at: str
    """JSON pointer of the body in a line with a request."""
    response_at: str
    """JSON pointer of the body in a line with an answer."""
    error_at: str
    """JSON pointer of the body in a line with an error."""
    id_pattern: re.Pattern[str] | None = None
    """The ids that the server accepts; None: any text."""
    longest_id: int | None = None
    """The maximum length of an id in characters; None: no limit."""


# OpenAI has one layout for all endpoints: the URL distinguishes them.

_MESSAGES: Mapping[Unprocessed, tuple[str, str]] = {
    "canceled": ("batch_cancelled", "This request was not executed because the batch was cancelled."),
    "expired": ("batch_expired", "This request could not be executed before the completion window expired."),
    "failed": ("batch_failed", "This request was not executed."),
}
"""Codes and messages of errors in OpenAI's error files. Source: OpenAI, "Batch API", guide, section "Batch expiration"."""
_REASONS: Mapping[str, Unprocessed] = {code: reason for reason, (code, _) in _MESSAGES.items()}


def openai_layout(url: str) -> BatchLayout:
    """Return the layout of OpenAI's batch files for one endpoint. Source: OpenAI, "Batch API", guide and reference."""

    def write_request(id: str, body: JsonObject) -> JsonObject:
        return {"custom_id": id, "method": "POST", "url": url, "body": body}

    def read(raw: JsonObject) -> BatchItem | None:
        return _read_openai(raw, url)

    return BatchLayout(
        id_field="custom_id",
        read=read,
        write_request=write_request,
        write_response=lambda id, body: _openai_result(id, 200, body),
        write_error=_openai_result,
        write_unprocessed=_openai_unprocessed,
        request_at="/body",
        response_at="/response/body",
        error_at="/response/body",
    )


def _read_openai(raw: JsonObject, url: str) -> BatchItem | None:
    """Read a line of an input file, an output file or an error file; None for a line of another endpoint."""
    id = _text(raw.get("custom_id"))
    body, response, error = raw.get("body"), raw.get("response"), raw.get("error")
    if isinstance(body, dict):
        address = raw.get("url")
        if isinstance(address, str) and not address.endswith(url.removeprefix("/v1")):  # Azure has no version in it
            return None
        known = {"/custom_id", "/body"} | {
            f"/{name}" for name, value in (("method", "POST"), ("url", url)) if raw.get(name) == value
        }
        return BatchItem(kind="request", id=id, at="/body", body=body, known=frozenset(known))
    known_fields = frozenset({"/custom_id", "/error", "/response/body", "/response/status_code"})
    if isinstance(response, dict) and response.get("body") is not None:
        status = response.get("status_code")
        is_error = isinstance(status, int) and status >= 400
        return BatchItem(
            kind="error" if is_error else "response",
            id=id,
            at="/response/body",
            body=response["body"],
            status=status if is_error else None,
            known=known_fields,
        )
    if isinstance(error, dict):
        code, message = str(error.get("code") or ""), str(error.get("message") or "")
        known_fields = frozenset({"/custom_id", "/response", "/error/message"} | ({"/error/code"} if code in _REASONS else set()))
        return BatchItem(
            kind="unprocessed",
            id=id,
            at="/error/message",
            reason=_REASONS.get(code, "failed"),
            message=message,
            message_at="/error/message",
            known=known_fields,
        )
    return None


def _openai_result(id: str, status: int, body: JsonObject) -> JsonObject:
    return {"id": f"batch_req_{id}", "custom_id": id, "response": {"status_code": status, "body": body}, "error": None}


def _openai_unprocessed(id: str, reason: Unprocessed, message: str) -> JsonObject:
    code, text = _MESSAGES[reason]
    return {"id": f"batch_req_{id}", "custom_id": id, "response": None, "error": {"code": code, "message": message or text}}


def _text(value: JsonValue) -> str | None:
    return value if isinstance(value, str) else None
