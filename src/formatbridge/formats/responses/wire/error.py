"""The body of a failed call."""

from typing import Any

from formatbridge.validation.wire_base import AT_ONCE, Wire


class Steer(Wire):
    """What the model is told after a misalignment.

    Source: official SDK types, 2026-11.
    """

    message: str | None = None


class Misalignment(Wire):
    """Why the server stopped a model that acted against its user.

    Source: official SDK types, 2026-11.
    """

    detailed_explanation: str | None = None
    error_type: str | None = None
    """``potentially_unintended_data_transfer``, ``other`` and others."""
    review_target: str | None = None
    steer: Steer | None = None


class ErrorDetail(Wire):
    """What went wrong; the same object in a failed call, in a failed response and in some error events.

    Source: specification, "Error object"; ``misalignment``: official SDK types, 2026-11; ``metadata``: relays.
    """

    code: str | int | None = None
    """A stable word, such as ``model_not_found``; relays also send a number."""
    message: str | None = None
    """For humans; may be in any language."""
    misalignment: Misalignment | None = None
    param: str | None = None
    """Where in the request, such as ``input[3].output``."""
    type: str | None = None
    """A class of errors, such as ``invalid_request_error``; relays add their own."""
    metadata: Any = None


class Error(Wire):
    """The body of a failed call; a relay may send it with status 200.

    Source: specification, "Error object"; ``success`` and ``message``: relays.
    """

    model_config = AT_ONCE

    error: ErrorDetail | str | None = None
    success: bool | None = None
    """False in a relay's own error body, which then has ``message`` and no ``error``."""
    message: str | None = None
