"""The error body of the vendor and of relays."""

from typing import Any

from formatbridge.validation.wire_base import AT_ONCE, Wire


class ErrorDetails(Wire):
    """A more specific reason than the error's type.

    Source: official SDK types, 2026-11.
    """

    error_code: str | None = None
    """About a hundred values, such as ``ramp_limit_exceeded`` or ``tool_name_conflict``."""


class ErrorObject(Wire):
    """The error object: type and message.

    Source: official SDK types, 2026-11. Seen: recorded traffic. ``code``, ``param``, ``status`` and a list of details
    come from relays and clouds that send errors in another format.
    """

    message: str | None = None
    type: str | None = None
    """``invalid_request_error``, ``authentication_error``, ``billing_error``, ``permission_error``,
    ``not_found_error``, ``rate_limit_error``, ``timeout_error``, ``api_error``, ``overloaded_error``,
    ``request_too_large`` and more. Relays send other values, even ``<nil>`` (fixture error_nil)."""
    details: ErrorDetails | list[Any] | str | None = None
    code: str | int | None = None
    param: str | None = None
    status: str | None = None


class Error(Wire):
    """An error body; no field is required.

    Source: official SDK types, 2026-11. Seen: recorded traffic. ``success`` and ``message`` at the top level: relays.
    """

    model_config = AT_ONCE

    type: str | None = None
    """``error`` from the vendor; relays leave it out when they reject a request themselves."""
    error: ErrorObject | str | None = None
    request_id: str | None = None
    message: str | None = None
    success: bool | None = None
    """False in an error body with status 200."""
