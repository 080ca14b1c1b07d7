"""The error body."""

from typing import Any

from formatbridge.formats.generate_content.wire._proto import EnumValue, Proto, Repeated
from formatbridge.validation.wire_base import AT_ONCE, Int


class ErrorDetail(Proto):
    """A detail of an error. The key ``@type`` names its kind; all kinds share these fields.

    Source: recorded traffic; the field names are those of the vendor's common error messages.
    """

    reason: str | None = None
    """A stable code such as API_KEY_INVALID or SERVICE_DISABLED."""
    domain: str | None = None
    metadata: dict[str, Any] | None = None
    retryDelay: str | None = None
    """The delay before a retry, in seconds with the suffix s."""
    violations: list[dict[str, Any]] | None = None
    """The exceeded quotas."""
    fieldViolations: list[dict[str, Any]] | None = None
    """The invalid fields of the request."""
    links: list[dict[str, Any]] | None = None
    locale: str | None = None
    message: str | None = None
    detail: str | None = None


class Status(Proto):
    """The error object: code, status and message.

    Source: recorded traffic. Errors of relays may have the shape of another format, so all fields are optional.
    """

    code: Int | str | None = None
    """The HTTP status."""
    message: str | None = None
    status: EnumValue | None = None
    """INVALID_ARGUMENT, UNAUTHENTICATED, PERMISSION_DENIED, ``NOT_FOUND``, RESOURCE_EXHAUSTED, UNAVAILABLE and others."""
    details: Repeated[ErrorDetail] | None = None


class Error(Proto):
    """An error body.

    Without ``alt=sse`` a stream sends the body as an array with one element, which this model does not accept.
    Source: recorded traffic; the specification does not show it.
    """

    model_config = AT_ONCE

    error: Status | str | None = None
    """A string if a proxy sent the error."""
