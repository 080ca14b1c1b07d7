"""The error body.

Source, unless a model names another: official SDK types, 2026-11.
"""

from typing import Any

from formatbridge.validation.wire_base import AT_ONCE, Wire


class Steer(Wire):
    """The instructions to the model after a misalignment."""

    message: str | None = None


class Misalignment(Wire):
    """Why the server stopped a model that acted against the user's interests."""

    detailed_explanation: str | None = None
    error_type: str | None = None
    """``potentially_unintended_data_transfer``, ``other`` and others."""
    review_target: str | None = None
    steer: Steer | None = None


class ErrorDetail(Wire):
    """The error object, which is the same in error bodies, failed responses and some error events.

    Source: specification, "Error object"; ``misalignment``: official SDK types, 2026-11; ``metadata``: relays.
    """

    code: str | int | None = None
    """A stable code, such as ``model_not_found``; relays also send a number."""
    message: str | None = None
    """A message for people; it may be in any language."""
    misalignment: Misalignment | None = None
    param: str | None = None
    """The place in the request, such as ``input[3].output``."""
    type: str | None = None
    """An error type, such as ``invalid_request_error``; relays have additional types."""
    metadata: Any = None


class Error(Wire):
    """An error body; a relay may send it with status 200.

    Source: specification, "Error object"; ``success`` and ``message``: relays.
    """

    model_config = AT_ONCE

    error: ErrorDetail | str | None = None
    success: bool | None = None
    """False in error bodies of relays, which then have ``message`` and no ``error``."""
    message: str | None = None
