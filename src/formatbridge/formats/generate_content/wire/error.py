"""The error body."""

from typing import Any

from formatbridge.formats.generate_content.wire._proto import Proto, Repeated, Word
from formatbridge.validation.wire_base import AT_ONCE, Int


class ErrorDetail(Proto):
    """One fact about an error; the key ``@type`` says of which kind, and the kinds share these fields.

    Source: recorded traffic; the names are those of the vendor's common error messages.
    """

    reason: str | None = None
    """A stable code such as API_KEY_INVALID or SERVICE_DISABLED."""
    domain: str | None = None
    metadata: dict[str, Any] | None = None
    retryDelay: str | None = None
    """How long to wait, seconds with the suffix s."""
    violations: list[dict[str, Any]] | None = None
    """Which quota ran out."""
    fieldViolations: list[dict[str, Any]] | None = None
    """Which fields of the request were wrong."""
    links: list[dict[str, Any]] | None = None
    locale: str | None = None
    message: str | None = None
    detail: str | None = None


class Status(Proto):
    """What went wrong.

    Source: recorded traffic. A relay's own errors may come in another format's shape, hence the optional fields.
    """

    code: Int | str | None = None
    """The HTTP status."""
    message: str | None = None
    status: Word | None = None
    """INVALID_ARGUMENT, UNAUTHENTICATED, PERMISSION_DENIED, NOT_FOUND, RESOURCE_EXHAUSTED, UNAVAILABLE and others."""
    details: Repeated[ErrorDetail] | None = None


class Error(Proto):
    """An error body.

    A stream asked for without SSE wraps it into a list of one, which this model does not read.
    Source: recorded traffic; the specification does not show it.
    """

    model_config = AT_ONCE

    error: Status | str | None = None
    """Text only where a server in between answers."""
