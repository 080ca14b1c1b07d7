"""The exceptions of this library, and what each means.

FormatBridgeError
├─ UnknownFormatError      a format name that does not exist
├─ InvalidPayloadError     a body that does not match its format; also a ValueError
├─ LossyConversionError    a conversion lost more than ``Options(raise_on=...)`` allows
├─ ConfigurationError      invalid arguments or options, a closed stream or client; also a ValueError
├─ StreamError             a stream that did not complete
│  ├─ TruncatedStreamError the bytes ended before the stream did
│  ├─ StreamDecodeError    an event that does not match its format
│  ├─ EventTooLargeError   an event longer than the reader's limit
│  └─ StreamFailedError    the stream contained an error event
└─ APIError                an error from the relay, or from the connection to it
   ├─ APIConnectionError   no complete answer arrived
   │  └─ APITimeoutError   a time limit passed
   └─ APIStatusError       an error answer; its subclasses depend on the status and the error code
      ├─ BadRequestError 400, 422     AuthenticationError 401     PermissionDeniedError 403
      ├─ QuotaExceededError 402, or 401 and 403 by code           NotFoundError 404
      ├─ RequestTooLargeError 413     RateLimitError 429          OverloadedError 503, 529
      ├─ InternalServerError          any other 5xx
      └─ UnexpectedResponseError      a success whose body is an error, HTML or not JSON
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Literal, Protocol

from formatbridge import ir
from formatbridge.arguments import suggestion
from formatbridge.base_errors import ConfigurationError as ConfigurationError  # noqa: PLC0414  # a public name of this module
from formatbridge.base_errors import FormatBridgeError as FormatBridgeError  # noqa: PLC0414  # a public name of this module
from formatbridge.base_errors import append_to_message as append_to_message  # noqa: PLC0414  # a public name of this module
from formatbridge.jsontext.types import JsonObject
from formatbridge.report.losses import Addition, Loss

_MAX_SNIPPET_BYTES = 200
_MAX_LISTED = 5
FORMATS_OF_VENDORS: Mapping[str, tuple[ir.Format, ...]] = {
    "openai": ("chat_completions", "responses"),
    "openai-responses": ("responses",),
    "anthropic": ("messages",),
    "claude": ("messages",),
    "gemini": ("generate_content",),
    "google": ("generate_content",),
}
"""Names of vendors, which users pass in place of a format, and the formats of each. The command line accepts some of them."""


class PartialAnswer(Protocol):
    """The part of an answer that arrived before its stream failed: a ``Converted`` of kind ``response`` in the target format."""

    body: JsonObject

    @property
    def losses(self) -> tuple[Loss, ...]:
        """Values that the target format cannot represent, or only with changes."""

    @property
    def additions(self) -> tuple[Addition, ...]:
        """Values that the target requires and the source lacks."""

    def json(self) -> bytes:
        """Write the body as JSON in UTF-8, without spaces."""


def with_offset(error: StreamDecodeError, offset: int) -> StreamDecodeError:
    """Return a copy of a decoder's error with the position of its event, which a decoder does not have."""
    return StreamDecodeError(error._message, offset=offset, snippet=error.snippet, partial=error.partial)


def _suggest_format(name: object, known: Sequence[str]) -> str:
    """Return a phrase with the formats of a vendor, or with a similar known name; empty if there is none.

    For a name with a dialect, as the command line has it, the phrase has the ``Target`` for it.
    """
    vendor, at, dialect = name.lower().partition("@") if isinstance(name, str) else ("", "", "")
    if at:
        format = FORMATS_OF_VENDORS.get(vendor, (vendor,))[0]
        return f"use formatbridge.Target({format!r}, dialect={dialect!r}); " if format in known else suggestion(name, known)
    return f"perhaps {' or '.join(FORMATS_OF_VENDORS[vendor])}; " if vendor in FORMATS_OF_VENDORS else suggestion(name, known)


class UnknownFormatError(FormatBridgeError):
    """A format name that does not exist."""

    def __init__(self, name: object, known: Sequence[str]) -> None:
        super().__init__(f"unknown format {name!r}: {_suggest_format(name, known)}expected one of {', '.join(known)}")
        self.name = name
        """The name that was passed."""
        self.known = tuple(known)
        """The names that exist."""


class InvalidPayloadError(FormatBridgeError, ValueError):
    """A body that does not match its format. Nothing was converted."""

    def __init__(self, format: str, kind: str, problems: Sequence[tuple[str, str]]) -> None:
        details = "; ".join(f"{pointer or 'body'} {message}" for pointer, message in problems[:_MAX_LISTED])
        more = f"; and {len(problems) - _MAX_LISTED} more" if len(problems) > _MAX_LISTED else ""
        super().__init__(f"{format} {kind.replace('_', ' ')}: {details}{more}")
        self.format = format
        """The expected format; ``unknown`` if it was to be detected."""
        self.kind = kind
        """``request``, ``response``, ``error`` or ``models``; ``payload`` if it was to be detected."""
        self.problems = tuple(problems)
        """Pairs of a JSON pointer into the body and a description of the problem; never empty."""


class LossyConversionError(FormatBridgeError):
    """A conversion lost more than the caller allows. No body was sent or returned; a stream has no normal end."""

    partial: PartialAnswer | None = None
    """The complete answer, with its losses, if it was streamed; else None."""
    tail: bytes = b""
    """The error event for the reader of a stream, as in ``StreamError``."""

    def __init__(self, losses: Sequence[Loss]) -> None:
        details = "; ".join(f"{loss.path or 'body'} {loss.kind}: {loss.why}" for loss in losses[:_MAX_LISTED])
        more = f"; and {len(losses) - _MAX_LISTED} more" if len(losses) > _MAX_LISTED else ""
        super().__init__(f"conversion loses {details}{more} (raise_on sets the lowest severity that raises)")
        self.losses = tuple(losses)
        """The losses at or above the severity in ``raise_on``."""


class StreamError(FormatBridgeError):
    """A stream that did not complete. The events before the error were returned and stay valid."""

    def __init__(self, text: str, *, partial: PartialAnswer | None = None, tail: bytes = b"") -> None:
        super().__init__(text)
        self.tail = tail
        """An error event in the target format for the reader of the stream. Empty if no stream is written or it has an error already."""
        self.partial = partial
        """The partial answer, in the target format; None if it was not accumulated, as in a reader of bytes."""


class TruncatedStreamError(StreamError):
    """The bytes ended before the stream did: the connection broke, or the server stopped without an error event.

    ``expected`` is None if the answer was complete, and only the connection broke.
    """

    def __init__(self, expected: str | None, *, partial: PartialAnswer | None = None, tail: bytes = b"") -> None:
        if expected is None:
            message = "the connection broke after the end of the answer"
        else:
            message = f"the bytes ended before the stream did, expected {expected}"
        super().__init__(message, partial=partial, tail=tail)


class StreamDecodeError(StreamError):
    """An event that does not match its format."""

    def __init__(self, message: str, *, offset: int, snippet: bytes, partial: PartialAnswer | None = None) -> None:
        super().__init__(f"event at byte {offset} of the stream {message}", partial=partial)
        self._message = message
        self.offset = offset
        """Position of the event's data in the stream, in bytes from 0."""
        self.snippet = bytes(snippet[:_MAX_SNIPPET_BYTES])
        """The beginning of the event's data, at most 200 bytes."""


class EventTooLargeError(StreamError):
    """An event, or a line without an end, that is longer than the reader allows. The rest of it was not kept."""

    def __init__(self, limit: int, *, partial: PartialAnswer | None = None) -> None:
        super().__init__(f"an event is longer than {limit} bytes, the limit", partial=partial)
        self.limit = limit
        """The maximum size of an event, in bytes."""


class StreamFailedError(StreamError):
    """The stream contained an error event."""

    def __init__(self, error: ir.Error, *, partial: PartialAnswer | None = None) -> None:
        super().__init__(f"the stream failed, {error.kind}: {error.message}", partial=partial)
        self.error = error
        """The error in the event."""


Phase = Literal["pool", "connect", "tls", "write", "headers", "body", "redirect"]
"""The phase of a call in which it failed."""
TimeoutKind = Literal["connect", "write", "read", "idle", "total"]
"""The limit of ``Timeout`` that passed."""


class APIError(FormatBridgeError):
    """An error from the relay, or from the connection to it."""


class APIConnectionError(APIError):
    """No complete answer arrived: the connection failed or broke, or the relay redirected to another origin."""

    def __init__(self, text: str, *, phase: Phase, can_retry: bool = True, partial: PartialAnswer | None = None) -> None:
        super().__init__(text)
        self.phase: Phase = phase
        """The phase in which the call failed: ``pool``, ``connect``, ``tls``, ``write``, ``headers``, ``body`` or ``redirect``."""
        self.can_retry = can_retry
        """Whether the same call may succeed later."""
        self.partial = partial
        """The partial answer, in the caller's format; None before the first event of a stream and for whole answers."""


class APITimeoutError(APIConnectionError):
    """A limit of ``Timeout`` passed before the answer was complete."""

    def __init__(self, text: str, *, kind: TimeoutKind, phase: Phase, partial: PartialAnswer | None = None) -> None:
        super().__init__(text, phase=phase, partial=partial)
        self.kind: TimeoutKind = kind
        """The limit: ``connect`` (which includes waiting for a free connection), ``write``, ``read``, ``idle`` or ``total``."""


class APIStatusError(APIError):
    """An error answer. Its details are attributes; the key is masked in all of them."""

    def __init__(
        self,
        text: str,
        *,
        status: int,
        code: str | int | None = None,
        type: str | None = None,
        param: str | None = None,
        request_id: str | None = None,
        retry_after: float | None = None,
        body: bytes = b"",
        kind: ir.ErrorKind = "server",
        rewrite: Callable[[APIStatusError, ir.FormatName], tuple[int, JsonObject]] | None = None,
    ) -> None:
        super().__init__(text)
        self.status = status
        """The HTTP status; 200 for an error in the body of a success."""
        self.code = code
        """The error code in the body, if any; an open set."""
        self.type = type
        """The error type in the body, if any; an open set."""
        self.param = param
        """The field of the request that caused the error, if the body names it."""
        self.request_id = request_id
        """The id of the call in the logs of the relay."""
        self.retry_after = retry_after
        """The delay before a retry that the relay requests, in seconds; None: it requests none."""
        self.body = body
        """The body, at most 64 KiB of it."""
        self.kind: ir.ErrorKind = kind
        """The canonical kind of the error, which is the same in all formats."""
        self._rewrite = rewrite

    def as_format(self, format: ir.FormatName) -> tuple[int, JsonObject]:
        """Return the error in any format, for a gateway: HTTP status and body."""
        if self._rewrite is None:
            raise ConfigurationError("the error was not raised by a client: only such an error can be written in a format")
        return self._rewrite(self, format)


class BadRequestError(APIStatusError):
    """400 or 422: the request is invalid."""


class AuthenticationError(APIStatusError):
    """401: the key is missing, unknown or revoked."""


class PermissionDeniedError(APIStatusError):
    """403: the key does not have this permission."""


class QuotaExceededError(APIStatusError):
    """402, or 401 and 403 with a quota code: the account has no credit left."""


class NotFoundError(APIStatusError):
    """404: the path or model does not exist."""


class RequestTooLargeError(APIStatusError):
    """413: the body is too large for the relay."""


class RateLimitError(APIStatusError):
    """429: too many calls."""


class OverloadedError(APIStatusError):
    """503 or 529: the server is overloaded."""


class InternalServerError(APIStatusError):
    """Any other 5xx."""


class UnexpectedResponseError(APIStatusError):
    """A success whose body is an error, HTML, not JSON, too large, or not an answer in its format."""
