"""The body of an error, from the vendor or from a relay."""

from typing import Any

from formatbridge.validation.wire_base import AT_ONCE, Wire


class ErrorDetails(Wire):
    """A finer reason than the type of an error.

    Source: official SDK types, 2026-11.
    """

    error_code: str | None = None
    """About a hundred words, such as ``ramp_limit_exceeded`` or ``tool_name_conflict``."""


class ErrorObject(Wire):
    """What went wrong.

    Source: official SDK types, 2026-11. Seen: recorded traffic. ``code``, ``param``, ``status`` and a list of details
    come from relays and clouds that answer in another format's shape.
    """

    message: str | None = None
    type: str | None = None
    """``invalid_request_error``, ``authentication_error``, ``billing_error``, ``permission_error``,
    ``not_found_error``, ``rate_limit_error``, ``timeout_error``, ``api_error``, ``overloaded_error``,
    ``request_too_large`` and more. Relays send their own words, even ``<nil>``."""
    details: ErrorDetails | list[Any] | str | None = None
    code: str | int | None = None
    param: str | None = None
    status: str | None = None


class Error(Wire):
    """The whole body of an error; nothing in it is sure to be there.

    Source: official SDK types, 2026-11. Seen: recorded traffic. ``success`` and ``message`` at the top are a relay's.
    """

    model_config = AT_ONCE

    type: str | None = None
    """``error`` from the vendor; relays leave it out when they fail before the request is read."""
    error: ErrorObject | str | None = None
    request_id: str | None = None
    message: str | None = None
    success: bool | None = None
    """False in an error that came with status 200."""
