"""What can go wrong, and whose fault it is.

FormatBridgeError
├─ UnknownFormatError      a format name that nobody here knows
├─ InvalidPayloadError     a body that is not of its format; also a ValueError
├─ LossyConversionError    a conversion lost more than ``Options(raise_on=...)`` allows
├─ ConfigurationError      options that contradict themselves, a stream used out of its time; also a ValueError
├─ StreamError             a stream that did not come to its end
│  ├─ TruncatedStreamError the bytes ended before the stream did
│  ├─ StreamDecodeError    an event that is not of its format
│  ├─ EventTooLargeError   an event longer than the reader's limit
│  └─ StreamFailedError    the other side sent an error event
└─ APIError                the relay said no, or the way to it broke
   ├─ APIConnectionError   no whole answer came
   │  └─ APITimeoutError   nor within the time allowed
   └─ APIStatusError       an answer that is an error; its classes go by status, refined by code
      ├─ BadRequestError 400, 422     AuthenticationError 401     PermissionDeniedError 403
      ├─ QuotaExceededError 402, or 401 and 403 by code           NotFoundError 404
      ├─ RequestTooLargeError 413     RateLimitError 429          OverloadedError 503, 529
      ├─ InternalServerError          any other 5xx
      └─ UnexpectedResponseError      a success whose body is an error, HTML or no JSON
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Literal, Protocol

from formatbridge import ir
from formatbridge.jsontext.types import JsonObject
from formatbridge.report.losses import Addition, Loss

_LONGEST_TEXT = 2048
_LONGEST_SNIPPET = 200
_LONGEST_NAME = 64
_SHOWN = 5


class PartialAnswer(Protocol):
    """What had arrived of an answer when its stream failed: a ``Converted`` of kind ``response`` in the target format."""

    body: JsonObject

    @property
    def losses(self) -> tuple[Loss, ...]:
        """What the target could not hold as it was."""

    @property
    def additions(self) -> tuple[Addition, ...]:
        """Values that the target requires and the source lacked."""

    def json(self) -> bytes:
        """Write the body as JSON in UTF-8, without spaces."""


class FormatBridgeError(Exception):
    """Everything this library raises on purpose. The text is at most 2 KiB."""

    def __init__(self, text: str) -> None:
        super().__init__(_cut(text))

    def __reduce__(self) -> tuple[Any, ...]:
        return _rebuild, (type(self), self.args, self.__dict__)


def _cut(text: str, most: int = _LONGEST_TEXT) -> str:
    """Shorten a text to so many bytes of UTF-8."""
    if len(text) * 4 <= most:
        return text
    written = text.encode("utf-8", "replace")
    if len(written) <= most:
        return text
    return written[: most - 3].decode("utf-8", "ignore") + "…"


def tell_more(error: FormatBridgeError, more: str) -> None:
    """Add to the text of an error, which is shortened for it."""
    more = _cut(more, _LONGEST_TEXT // 2)
    error.args = (_cut(str(error), _LONGEST_TEXT - len(more.encode("utf-8", "replace"))) + more,)


def placed(error: StreamDecodeError, offset: int) -> StreamDecodeError:
    """Return the error of a decoder, which does not know where its event stands, with that place."""
    return StreamDecodeError(error._message, offset=offset, snippet=error.snippet, partial=error.partial)


def _rebuild(kind: type[FormatBridgeError], args: tuple[Any, ...], state: dict[str, Any]) -> FormatBridgeError:
    """Restore a pickled error without running its constructor, whose arguments it no longer has."""
    error = kind.__new__(kind, *args)
    error.args = args
    error.__dict__.update(state)
    return error


def _likeness(name: object, known: Sequence[str]) -> str:
    """Return which of the known names may be meant; nothing where none is alike, or where it would take long to say."""
    from difflib import get_close_matches  # whoever makes no mistake does not pay for it

    if not isinstance(name, str) or not name or len(name) >= _LONGEST_NAME:
        return ""
    near = [each for each in known if each.startswith(name.lower())] or get_close_matches(name.lower(), known, n=1)
    return f"perhaps {near[0]}; " if near else ""


class UnknownFormatError(FormatBridgeError):
    """A format name that is none of the known ones."""

    def __init__(self, name: object, known: Sequence[str]) -> None:
        super().__init__(f"unknown format {name!r}: {_likeness(name, known)}expected one of {', '.join(known)}")
        #: What was asked for.
        self.name = name
        #: The names that exist.
        self.known = tuple(known)


class InvalidPayloadError(FormatBridgeError, ValueError):
    """A body that is not of its format. Nothing was converted."""

    def __init__(self, format: str, kind: str, problems: Sequence[tuple[str, str]]) -> None:
        told = "; ".join(f"{pointer or 'body'} {message}" for pointer, message in problems[:_SHOWN])
        more = f"; and {len(problems) - _SHOWN} more" if len(problems) > _SHOWN else ""
        super().__init__(f"{format} {kind}: {told}{more}")
        #: The format that the body was to be of; ``unknown`` where that was to be found out.
        self.format = format
        #: ``request``, ``response``, ``error`` or ``models``; ``payload`` where that was to be found out.
        self.kind = kind
        #: Pairs of a JSON pointer into the body and what is wrong there; never empty.
        self.problems = tuple(problems)


class LossyConversionError(FormatBridgeError):
    """The target cannot hold what the caller will not lose. Nothing was sent or returned; of a stream, no end."""

    #: The whole answer, whatever it loses, where it came as a stream; None where nothing was streamed.
    partial: PartialAnswer | None = None
    #: What tells the reader of a stream so, as of ``StreamError``.
    tail: bytes = b""

    def __init__(self, losses: Sequence[Loss]) -> None:
        told = "; ".join(f"{loss.path or 'body'} {loss.kind}: {loss.why}" for loss in losses[:_SHOWN])
        more = f"; and {len(losses) - _SHOWN} more" if len(losses) > _SHOWN else ""
        super().__init__(f"conversion loses {told}{more}")
        #: The losses at or above the severity that ``raise_on`` names.
        self.losses = tuple(losses)


class ConfigurationError(FormatBridgeError, ValueError):
    """Options that do not exist or contradict each other, or a stream that is used out of its time. Another attempt mends neither."""


class StreamError(FormatBridgeError):
    """A stream that did not come to its end. What it brought until then was handed out and stays true."""

    def __init__(self, text: str, *, partial: PartialAnswer | None = None, tail: bytes = b"") -> None:
        super().__init__(text)
        #: What tells the reader of the target so: an error event in its format. Empty where no stream is written, or it has one already.
        self.tail = tail
        #: The answer so far, in the target format; None where nobody collects it, as in a reader of bytes.
        self.partial = partial


class TruncatedStreamError(StreamError):
    """The bytes ended before the stream did: the connection broke, or the other side gave up without a word.

    ``expected`` is None where the answer had ended by then, and only the connection was to go on.
    """

    def __init__(self, expected: str | None, *, partial: PartialAnswer | None = None, tail: bytes = b"") -> None:
        if expected is None:
            told = "the connection broke behind the end of the answer"
        else:
            told = f"the bytes ended before the stream did, expected {expected}"
        super().__init__(told, partial=partial, tail=tail)


class StreamDecodeError(StreamError):
    """An event that is not of its format."""

    def __init__(self, message: str, *, offset: int, snippet: bytes, partial: PartialAnswer | None = None) -> None:
        super().__init__(f"event at byte {offset} of the stream {message}", partial=partial)
        self._message = message
        #: Where the event's data begins in the stream, in bytes from 0.
        self.offset = offset
        #: How its data begins, at most 200 bytes.
        self.snippet = bytes(snippet[:_LONGEST_SNIPPET])


class EventTooLargeError(StreamError):
    """An event, or a line that never ends, longer than the reader allows. No more of it was kept."""

    def __init__(self, limit: int, *, partial: PartialAnswer | None = None) -> None:
        super().__init__(f"an event is longer than {limit} bytes, the limit", partial=partial)
        #: The most bytes that an event may have.
        self.limit = limit


class StreamFailedError(StreamError):
    """The other side sent an error event."""

    def __init__(self, error: ir.Error, *, partial: PartialAnswer | None = None) -> None:
        super().__init__(f"the other side failed, {error.kind}: {error.message}", partial=partial)
        #: What it said.
        self.error = error


Phase = Literal["pool", "connect", "tls", "write", "headers", "body", "redirect"]
"""How far a call had come."""
TimeoutKind = Literal["connect", "write", "read", "idle", "total"]
"""Which limit of ``Timeout`` passed."""


class APIError(FormatBridgeError):
    """The relay said no, or the way to it broke."""


class APIConnectionError(APIError):
    """No whole answer came: the connection failed or broke, or led elsewhere."""

    def __init__(self, text: str, *, phase: Phase, can_retry: bool = True, partial: PartialAnswer | None = None) -> None:
        super().__init__(text)
        #: How far the call had come: ``pool``, ``connect``, ``tls``, ``write``, ``headers``, ``body`` or ``redirect``.
        self.phase: Phase = phase
        #: Whether the same call may fare better at another time.
        self.can_retry = can_retry
        #: The answer so far, in the caller's format; None before the first event of a stream and for whole answers.
        self.partial = partial


class APITimeoutError(APIConnectionError):
    """A limit of ``Timeout`` passed first."""

    def __init__(self, text: str, *, kind: TimeoutKind, phase: Phase, partial: PartialAnswer | None = None) -> None:
        super().__init__(text, phase=phase, partial=partial)
        #: Which limit: ``connect`` (waiting for a free connection included), ``write``, ``read``, ``idle`` or ``total``.
        self.kind: TimeoutKind = kind


class APIStatusError(APIError):
    """An answer that is an error. What the relay said of it are attributes; the key is masked in all of them."""

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
        rewrite: Callable[[APIStatusError, str], tuple[int, dict[str, Any]]] | None = None,
    ) -> None:
        super().__init__(text)
        #: The HTTP status; 200 for an error in the place of an answer.
        self.status = status
        #: The relay's word for it, if any; an open set.
        self.code = code
        #: The relay's class of it, if any; an open set.
        self.type = type
        #: Which field of the request is at fault, if the relay says.
        self.param = param
        #: By which the relay's owner finds the call.
        self.request_id = request_id
        #: How long the relay asks to wait, in seconds.
        self.retry_after = retry_after
        #: The body, at most 64 KiB of it.
        self.body = body
        #: The class of failure that all formats share.
        self.kind: ir.ErrorKind = kind
        self._rewrite = rewrite

    def as_format(self, format: ir.FormatName) -> tuple[int, dict[str, Any]]:
        """Return the error in any format, for a gateway to hand on: HTTP status and body."""
        if self._rewrite is None:
            raise ConfigurationError("the error did not come from a client, expected one that did")
        return self._rewrite(self, format)


class BadRequestError(APIStatusError):
    """400 or 422: the request is at fault."""


class AuthenticationError(APIStatusError):
    """401: no key, or one that is unknown or revoked."""


class PermissionDeniedError(APIStatusError):
    """403: the key may not do this."""


class QuotaExceededError(APIStatusError):
    """402, or 401 and 403 with a code that says so: the account has no credit left."""


class NotFoundError(APIStatusError):
    """404: no such path or model."""


class RequestTooLargeError(APIStatusError):
    """413: the body is too large for the relay."""


class RateLimitError(APIStatusError):
    """429: too many calls at once."""


class OverloadedError(APIStatusError):
    """503 or 529: nobody is free to answer."""


class InternalServerError(APIStatusError):
    """Any other 5xx."""


class UnexpectedResponseError(APIStatusError):
    """A success whose body is an error, HTML, no JSON, too large, or no answer of its format."""
