"""Error answers, read by their shape and not by the endpoint that sent them: relays mix the shapes."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from email.utils import parsedate_to_datetime

from formatbridge import ir
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
from formatbridge.formats.format import FormatOrName
from formatbridge.formats.shared.errors import (
    BY_WORD,
    FORBIDDEN,
    QUOTA_CODES,
    WORDINGS,
    classify,
    is_error_body,
    reason_in,
    retry_delay,
    says_error,
)
from formatbridge.jsontext import codec
from formatbridge.jsontext.types import JsonObject
from formatbridge.streaming.sse import without_comments

CLASSES: Mapping[int, type[APIStatusError]] = {
    400: BadRequestError, 401: AuthenticationError, 402: QuotaExceededError, 403: PermissionDeniedError, 404: NotFoundError,
    413: RequestTooLargeError, 422: BadRequestError, 429: RateLimitError, 503: OverloadedError, 529: OverloadedError,
}  # fmt: skip

_REQUEST_ID = re.compile(r"\s*\(request id: ([^()\s]{1,200})\)\s*$")
_LONGEST_PLAIN = 500
_LONGEST_WORD = 200
KEPT = 64 * 1024
MOST_READ = 1024 * 1024
"""Bytes of an error body that are read for what it says; fewer are kept."""
_PASSING = frozenset({"rate_limit", "overloaded", "timeout"})
"""Kinds of errors that pass by themselves."""


@dataclass(frozen=True, slots=True)
class Fault:
    """What an error body says. ``shape``: the format whose error it looks like; ``reason``: a code that its details tell."""

    message: str
    shape: ir.Format = "chat_completions"
    code: str | int | None = None
    reason: str | None = None
    type: str | None = None
    param: str | None = None
    request_id: str | None = None
    retry_after: float | None = None


def is_fault(value: object) -> bool:
    """Say whether a whole body that came as a success is an error."""
    if isinstance(value, list):
        return len(value) == 1 and is_fault(value[0])
    if not isinstance(value, dict) or value.get("object") == "response":
        return False
    return says_error(value)


def read_fault(body: bytes) -> Fault:
    """Read an error body of any shape; one that is no JSON object is its own message."""
    try:
        value = codec.loads(without_comments(body))
    except codec.NotJsonError:
        return Fault(_plain(body))
    if isinstance(value, list) and len(value) == 1:
        value = value[0]
    if not isinstance(value, dict):
        return Fault(_plain(body))
    detail = value.get("error")
    if not isinstance(detail, dict):
        words = next((value[key] for key in ("error", "message", "detail") if value.get(key)), "")
        detail = {"message": words, "code": value.get("code")} if not isinstance(words, dict) else words
    return _fault(value, detail)


def _fault(outer: JsonObject, detail: JsonObject) -> Fault:
    message = detail.get("message") or outer  # what says nothing in a place that is known is told as it is
    message = message if isinstance(message, str) else codec.dumps(message).decode()
    found = _REQUEST_ID.search(message)
    given = outer.get("request_id")
    details = detail.get("details")
    return Fault(
        message=message[: found.start()] if found else message,
        shape=_shape(outer, detail),
        code=_word(detail.get("code")) if not isinstance(detail.get("code"), int) else detail["code"],
        reason=reason_in(details),
        type=_word(detail.get("type") or detail.get("status")),
        param=_word(detail.get("param")),
        request_id=given if isinstance(given, str) and given else found and found[1],
        retry_after=retry_delay(details),
    )


def _shape(outer: JsonObject, detail: JsonObject) -> ir.Format:
    if outer.get("type") == "error":
        return "messages"
    return "generate_content" if "status" in detail or isinstance(detail.get("details"), list) else "chat_completions"


def _word(value: object) -> str | None:
    """Return a word of an open set; ``<nil>`` is what some relays write for none."""
    return value[:_LONGEST_WORD] if isinstance(value, str) and value not in ("", "<nil>") else None


def _plain(body: bytes) -> str:
    text = body[: _LONGEST_PLAIN * 4].decode("utf-8", "replace")
    if text.lstrip("\ufeff \t\r\n")[:1] == "<":
        return "the body is HTML or XML, expected JSON"
    return " ".join(text.split())[:_LONGEST_PLAIN] or "the body is empty"


def retry_after(headers: Mapping[str, str], now: float) -> float | None:
    """Read how long a relay asks to wait, in seconds: told in milliseconds, in seconds or as a date. ``now``: since the epoch."""
    for name, unit in (("retry-after-ms", 1000), ("retry-after", 1)):
        text = headers.get(name, "").strip()
        if re.fullmatch(r"[0-9]{1,300}(\.[0-9]{0,9})?", text):
            return float(text) / unit
    try:
        return max(0.0, parsedate_to_datetime(headers["retry-after"]).timestamp() - now)
    except (KeyError, ValueError, TypeError, OverflowError):
        return None


def request_id(headers: Mapping[str, str], names: tuple[str, ...]) -> str | None:
    """Return what an answer calls itself."""
    return next((headers[name] for name in names if headers.get(name)), None)


def status_error(
    status: int,
    body: bytes,
    headers: Mapping[str, str],
    *,
    id: str | None,
    mask: Mask,
    now: float,
    most: int = KEPT,
    unread: str = "",
) -> APIStatusError:
    """Turn an answer that is an error into the exception that it deserves; below 400 that is ``UnexpectedResponseError``.

    ``most``: bytes of the body to keep. ``unread``: why nothing came of it, where that is known.
    """
    body = mask.body(body)
    fault = Fault(f"the body could not be read: {unread}") if unread else read_fault(body)
    number = status if status >= 400 else fault.code if isinstance(fault.code, int) else None
    kind = classify(number, code=fault.reason or fault.code, word=fault.type)
    wait = retry_after(headers, now)
    id = id or fault.request_id
    word = fault.type if fault.code in (None, "", status) else fault.code  # some formats say the status again as a code
    words = f"{status} {word}" if word else str(status)
    return _class_of(status, fault)(
        mask.text(f"{words}: {fault.message}" + (f" (request id: {id})" if id else "")),
        status=status,
        code=fault.code,
        type=fault.type,
        param=fault.param,
        request_id=id,
        retry_after=wait if wait is not None else fault.retry_after,
        body=body[:most],
        kind=kind,
        rewrite=_rewritten,
    )


def exposed(error: ir.Error) -> ir.Error:
    """Return an error that a stream told with the request id beside its words, not at their end, as ``read_fault`` does."""
    found = _REQUEST_ID.search(error.message)
    return replace(error, message=error.message[: found.start()], request_id=error.request_id or found[1]) if found else error


def told_error(
    error: ir.Error, status: int, headers: Mapping[str, str], *, id: str | None, mask: Mask, now: float
) -> UnexpectedResponseError:
    """Return the error for one that a stream brought in the place of its first event, or that an answer holds."""
    error = exposed(error)
    detail = {"message": error.message, "type": error.type, "param": error.param, "code": error.code}
    id = id or error.request_id
    word = error.code or error.type or error.kind
    wait = retry_after(headers, now)
    return UnexpectedResponseError(
        mask.text(f"{status} {word}: {error.message}" + (f" (request id: {id})" if id else "")),
        status=status,
        code=mask.value(error.code),
        type=mask.value(error.type),
        param=mask.value(error.param),
        request_id=id,
        retry_after=wait if wait is not None else error.retry_after,
        body=mask.body(codec.dumps({"error": detail})),
        kind=error.kind,
        rewrite=_rewritten,
    )


def unexpected(found: str, *, status: int, body: bytes, id: str | None, mask: Mask) -> UnexpectedResponseError:
    """Return the error for a success whose body is no answer; ``found`` says what it is instead."""
    text = f"{status}: the body {found}, expected an answer" + (f" (request id: {id})" if id else "")
    return UnexpectedResponseError(
        mask.text(text), status=status, request_id=id, body=mask.body(body), kind="server", rewrite=_rewritten
    )


def may_pass(error: UnexpectedResponseError) -> bool:
    """Say whether an error within a success may be gone at the next attempt, going by its words."""
    return error.kind in _PASSING or BY_WORD.get(error.type or "") == "server"


def _class_of(status: int, fault: Fault) -> type[APIStatusError]:
    if status < 400:
        return UnexpectedResponseError
    if status in FORBIDDEN and {fault.code, fault.type} & QUOTA_CODES:
        return QuotaExceededError
    return CLASSES.get(status, InternalServerError if status >= 500 else APIStatusError)


def deserved_status(status: int, kind: ir.ErrorKind) -> int:
    """Return the status of an error; one that came as a success, or with a number that is no status, gets that of its kind."""
    return status if 400 <= status <= 599 else max(WORDINGS[kind].status, 400)


def _rewritten(error: APIStatusError, format: FormatOrName) -> tuple[int, JsonObject]:
    made = rewritten(error, format)
    return made.status, made.body


def rewritten(
    error: APIStatusError, format: FormatOrName, *, no_answer: str = "no usable answer came from upstream"
) -> ConvertedError:
    """Write a client's error in a format. A request id that its words hold stands beside them instead.

    ``no_answer``: what to say of a success that was none; the error's own words are for whoever runs the gateway.
    """
    status = deserved_status(error.status, error.kind)
    value = _value(error.body)
    whole = value[0] if isinstance(value, list) and len(value) == 1 else value
    outer: JsonObject = whole if isinstance(whole, dict) else {}
    if error.status < 400 and not is_error_body(outer):
        return _worded(error, no_answer, format, 502)
    if value is None and error.body[:1] in (b"{", b"["):  # JSON of which not all was kept
        return _worded(error, str(error), format, status)
    fault = read_fault(error.body)
    if _is_of_a_format(outer):
        told = outer | {"error": outer["error"] | {"message": fault.message}}
        made = convert_error(told, source=fault.shape, target=format, status=status)
    else:
        made = _worded(error, fault.message, format, status)
    if fault.request_id:
        made.body.setdefault("request_id", fault.request_id)
    return made


def _worded(error: APIStatusError, message: str, format: FormatOrName, status: int) -> ConvertedError:
    word = error.type or WORDINGS[error.kind].type
    body = {"error": {"message": message, "type": word, "code": error.code, "param": error.param}}
    return convert_error(body, source="chat_completions", target=format, status=status)


def _is_of_a_format(outer: JsonObject) -> bool:
    """Say whether an error has its words where all formats have them; relays and what stands before them have more places."""
    detail = outer.get("error")
    message = detail.get("message") if isinstance(detail, dict) else None
    return isinstance(message, str) and bool(message)


def _value(body: bytes) -> object:
    try:
        return codec.loads(body)
    except codec.NotJsonError:
        return None
