"""The error body of all endpoints.

Source, unless a model names another: official SDK types, 2026-11.
"""

from typing import Any

from formatbridge.validation.wire_base import AT_ONCE, Int, Wire


class Steer(Wire):
    """How the conversation can continue after a block."""

    message: str | None = None


class Misalignment(Wire):
    """Why a safety review blocked the request."""

    detailed_explanation: str | None = None
    error_type: str | None = None
    """Known: potentially_unintended_data_transfer, potentially_unintended_data_access,
    potentially_unintended_destructive_activity, other."""
    review_target: str | None = None
    """Opaque id of the review, to be sent when the caller asks to continue."""
    steer: Steer | None = None


class ErrorDetail(Wire):
    """The error object: message, type, code and parameter.

    Source: specification, Error object; ``misalignment``: official SDK types, 2026-11; the rest: recorded traffic.
    """

    message: str | None = None
    """It may be in the user's language; relays append ``(request id: ...)`` (langbot-app/LangBot#867)."""
    type: str | None = None
    param: str | None = None
    """The request field that caused the error; some relays send "" for none."""
    code: str | Int | None = None
    """A string, or an HTTP status as a number or digits."""
    misalignment: Misalignment | None = None
    metadata: Any = None
    """The error of the upstream server; some servers send an object."""
    failed_generation: str | None = None
    """The model output that could not be parsed as a tool call."""
    status_code: Int | None = None
    """The HTTP status of an error inside a stream."""


class Error(Wire):
    """An error body. No field is required, because servers send objects of many shapes.

    Source: specification, Errors; without ``error``: recorded traffic and relays.
    """

    model_config = AT_ONCE

    error: ErrorDetail | str | None = None
    detail: Any = None
    """A string or a list of problems, from servers that send no ``error``."""
    message: str | None = None
    success: bool | None = None
    """False, with ``message``, from relays that send errors with status 200."""
