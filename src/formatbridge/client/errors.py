"""Error answers. They are read by their shape and not by the endpoint, because relays mix the shapes."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from email.utils import parsedate_to_datetime
from typing import TypeVar

from formatbridge import formats, ir
from formatbridge.convert.bodies import ConvertedError, convert_error
from formatbridge.convert.masking import Mask
from formatbridge.errors import (
    APIStatusError,
    AuthenticationError,
    BadRequestError,
    InternalServerError,
    NotFoundError,
    OverloadedError,
    PermissionDeniedError,
    QuotaExceededError,
    RateLimitError,
    RequestTooLargeError,
    UnexpectedResponseError,
)
from formatbridge.formats.shared.errors import (
    BY_TYPE,
    FORBIDDEN,
    KIND_FIELDS,
    classify,
    decode_error_body,
    has_error,
    is_error_body,
)
from formatbridge.formats.target import FormatOrName
from formatbridge.jsontext import codec
from formatbridge.jsontext.types import JsonObject
from formatbridge.streaming.sse import without_comments

CLASSES: Mapping[int, type[APIStatusError]] = {
    400: BadRequestError, 401: AuthenticationError, 402: QuotaExceededError, 403: PermissionDeniedError, 404: NotFoundError,
    413: RequestTooLargeError, 422: BadRequestError, 429: RateLimitError, 503: OverloadedError, 529: OverloadedError,
}  # fmt: skip

_REQUEST_ID = re.compile(r"\s*\(request id: ([^()\s]{1,200})\)\s*$")
_MAX_TEXT_LENGTH = 500
_MAX_WORD_LENGTH = 200
MAX_KEPT_BYTES = 64 * 1024
MAX_READ_BYTES = 1024 * 1024
"""Bytes of an error body that are read; ``MAX_KEPT_BYTES`` of them are kept."""
_TRANSIENT = frozenset({"rate_limit", "overloaded", "timeout"})
"""Kinds of errors that may be gone at the next attempt."""


def is_error_answer(value: object) -> bool:
    """Return whether the whole body of a success is an error."""
    if isinstance(value, list):
        return len(value) == 1 and is_error_answer(value[0])
    if not isinstance(value, dict) or value.get("object") == "response":
        return False
    return has_error(value)


def read_error(body: bytes, status: int | None) -> ir.Error:
    """Decode an error body of any shape. A body that is not a JSON object becomes the message. ``status``: 400 or more, or None."""
    try:
        value = codec.loads(without_comments(body))
    except codec.NotJsonError:
        return _error_of_text(_text_of(body), status)
    if isinstance(value, list) and len(value) == 1:
        value = value[0]
    if not isinstance(value, dict):
        return _error_of_text(_text_of(body), status)
    envelope = _with_error_object(value)
    error = decode_error_body(envelope, status=status, otherwise="detail")
    if isinstance(envelope.get("error"), dict) and envelope["error"].get("code") == status:
        error.code = status  # a conversion omits a code that only repeats the status; an exception shows the code of the body
    if not error.message:
        error.message = codec.dumps(value).decode()  # without a known message field, show the whole body
    return with_request_id(error)


def _with_error_object(body: JsonObject) -> JsonObject:
    """Return an error body whose error object is ``error``. Web frameworks write it as ``message`` or ``detail``."""
    nested = next((body[key] for key in ("error", "message", "detail") if body.get(key)), None)
    return body | {"error": nested} if isinstance(nested, dict) else body


def _error_of_text(message: str, status: int | None) -> ir.Error:
    return ir.Error(kind=classify(status), message=message, status=status)


def _text_of(body: bytes) -> str:
    text = body[: _MAX_TEXT_LENGTH * 4].decode("utf-8", "replace")
    if text.lstrip("\ufeff \t\r\n")[:1] == "<":
        return "the body is HTML or XML, expected JSON"
    return " ".join(text.split())[:_MAX_TEXT_LENGTH] or "the body is empty"


def retry_after(headers: Mapping[str, str], now: float) -> float | None:
    """Return how long a relay asks to wait, in seconds. Headers have milliseconds, seconds or a date. ``now``: seconds since the epoch."""
    for name, unit in (("retry-after-ms", 1000), ("retry-after", 1)):
        text = headers.get(name, "").strip()
        if re.fullmatch(r"[0-9]{1,300}(\.[0-9]{0,9})?", text):
            return float(text) / unit
    try:
        return max(0.0, parsedate_to_datetime(headers["retry-after"]).timestamp() - now)
    except (KeyError, ValueError, TypeError, OverflowError):
        return None


def request_id(headers: Mapping[str, str], names: tuple[str, ...]) -> str | None:
    """Return the request id in the headers of an answer."""
    return next((headers[name] for name in names if headers.get(name)), None)


def status_error(
    status: int,
    body: bytes,
    headers: Mapping[str, str],
    *,
    id: str | None,
    mask: Mask,
    now: float,
    max_bytes: int = MAX_KEPT_BYTES,
    failure: str = "",
) -> APIStatusError:
    """Return the exception for an error answer; for a status below 400 it is ``UnexpectedResponseError``.

    ``max_bytes``: bytes of the body to keep. ``failure``: why the body could not be read, if it could not.
    """
    body = mask.body(body)
    number = status if status >= 400 else None
    error = _error_of_text(f"the body could not be read: {failure}", number) if failure else read_error(body, number)
    return _exception(_class_of(status, error.kind), error, status, headers, id=id, mask=mask, now=now, body=body[:max_bytes])


def with_request_id(error: ir.Error) -> ir.Error:
    """Return an error of a stream with the request id as an attribute, and not at the end of the message."""
    match = _REQUEST_ID.search(error.message)
    return replace(error, message=error.message[: match.start()], request_id=error.request_id or match[1]) if match else error


def error_in_answer(
    error: ir.Error, status: int, headers: Mapping[str, str], *, id: str | None, mask: Mask, now: float
) -> UnexpectedResponseError:
    """Return the exception for an error instead of the first event of a stream, or for an error in an answer."""
    error = with_request_id(error)
    detail = {"message": error.message, "type": error.type, "param": error.param, "code": error.code}
    body = mask.body(codec.dumps({"error": detail}))
    return _exception(UnexpectedResponseError, error, status, headers, id=id, mask=mask, now=now, body=body)


_Raised = TypeVar("_Raised", bound=APIStatusError)


def _exception(
    kind: type[_Raised],
    error: ir.Error,
    status: int,
    headers: Mapping[str, str],
    *,
    id: str | None,
    mask: Mask,
    now: float,
    body: bytes,
) -> _Raised:
    """Return the exception of class ``kind`` for a decoded error. ``body``: the bytes to keep, without secrets."""
    id = id or error.request_id
    code = error.code if isinstance(error.code, int) else _word(error.code)
    label = (code if code != status else None) or _word(error.type) or ""  # some formats repeat the status as the code
    wait = retry_after(headers, now)
    return kind(
        mask.text(f"{status} {label}".rstrip() + f": {error.message}" + (f" (request id: {id})" if id else "")),
        status=status,
        code=mask.value(code),
        type=mask.value(_word(error.type)),
        param=mask.value(_word(error.param)),
        request_id=id,
        retry_after=wait if wait is not None else error.retry_after,
        body=body,
        kind=error.kind,
        rewrite=_as_format,
    )


def _word(value: object) -> str | None:
    """Return a non-empty string, truncated; some relays write ``<nil>`` for an empty one (fixture error_nil)."""
    return value[:_MAX_WORD_LENGTH] if isinstance(value, str) and value not in ("", "<nil>") else None


def unexpected_body(problem: str, *, status: int, body: bytes, id: str | None, mask: Mask) -> UnexpectedResponseError:
    """Return the exception for a success whose body is not an answer; ``problem`` completes "the body ..."."""
    text = f"{status}: the body {problem}, expected an answer" + (f" (request id: {id})" if id else "")
    return UnexpectedResponseError(
        mask.text(text), status=status, request_id=id, body=mask.body(body), kind="server", rewrite=_as_format
    )


def is_transient(error: UnexpectedResponseError) -> bool:
    """Return whether an error in a success may be gone at the next attempt, by its kind and type."""
    return error.kind in _TRANSIENT or BY_TYPE.get(error.type or "") == "server"


def _class_of(status: int, kind: ir.ErrorKind) -> type[APIStatusError]:
    if status < 400:
        return UnexpectedResponseError
    if status in FORBIDDEN and kind == "billing":
        return QuotaExceededError
    return CLASSES.get(status, InternalServerError if status >= 500 else APIStatusError)


def http_status_of(status: int, kind: ir.ErrorKind) -> int:
    """Return the status of an error. An error in a success, or with an invalid status, gets the status of its kind."""
    return status if 400 <= status <= 599 else max(KIND_FIELDS[kind].status, 400)


def _as_format(error: APIStatusError, format: FormatOrName) -> tuple[int, JsonObject]:
    converted = convert_status_error(error, format)
    return converted.status, converted.body


def convert_status_error(
    error: APIStatusError, format: FormatOrName, *, default_message: str = "no usable answer came from upstream"
) -> ConvertedError:
    """Convert a client's error to a format. A request id in the message becomes a field of the body.

    ``default_message``: the message for a success without an answer; the message of the error is for the operator of the gateway.
    """
    status = http_status_of(error.status, error.kind)
    value = _parsed(error.body)
    whole = value[0] if isinstance(value, list) and len(value) == 1 else value
    outer: JsonObject = whole if isinstance(whole, dict) else {}
    if error.status < 400 and not is_error_body(outer):
        return _from_message(error, default_message, format, 502)
    if value is None and error.body[:1] in (b"{", b"["):  # JSON that was truncated
        return _from_message(error, str(error), format, status)
    parsed = read_error(error.body, status)
    if _has_standard_message(outer):
        body = outer | {"error": outer["error"] | {"message": parsed.message}}
        source = next(name for name in formats.FORMATS if formats.load(name).error_family == parsed.family)
        converted = convert_error(body, source=source, target=format, status=status)
    else:
        converted = _from_message(error, parsed.message, format, status)
    if parsed.request_id:
        converted.body.setdefault("request_id", parsed.request_id)
    return converted


def _from_message(error: APIStatusError, message: str, format: FormatOrName, status: int) -> ConvertedError:
    word = error.type or KIND_FIELDS[error.kind].type
    body = {"error": {"message": message, "type": word, "code": error.code, "param": error.param}}
    return convert_error(body, source="chat_completions", target=format, status=status)


def _has_standard_message(body: JsonObject) -> bool:
    """Return whether the message of an error is where all formats have it; relays and proxies use other places too."""
    detail = body.get("error")
    message = detail.get("message") if isinstance(detail, dict) else None
    return isinstance(message, str) and bool(message)


def _parsed(body: bytes) -> object:
    try:
        return codec.loads(body)
    except codec.NotJsonError:
        return None
