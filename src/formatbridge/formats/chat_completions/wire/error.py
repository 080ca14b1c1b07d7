"""The body of an error, whatever the endpoint."""

from typing import Any

from formatbridge.validation.wire_base import AT_ONCE, Int, Wire


class Steer(Wire):
    """How the conversation may go on after a block.

    Source: official SDK types, 2026-11.
    """

    message: str | None = None


class Misalignment(Wire):
    """Why a safety review blocked the request.

    Source: official SDK types, 2026-11.
    """

    detailed_explanation: str | None = None
    error_type: str | None = None
    """Known: potentially_unintended_data_transfer, potentially_unintended_data_access,
    potentially_unintended_destructive_activity, other."""
    review_target: str | None = None
    """Opaque; names the review when the caller asks to go on."""
    steer: Steer | None = None


class ErrorDetail(Wire):
    """What went wrong.

    Source: specification, Error object; ``misalignment``: official SDK types, 2026-11; the rest: recorded traffic.
    """

    message: str | None = None
    """May be in the user's language; relays end it with ``(request id: ...)``."""
    type: str | None = None
    param: str | None = None
    """The request's field at fault; "" for none from some relays."""
    code: str | Int | None = None
    """A word, or a status as a number or its digits."""
    misalignment: Misalignment | None = None
    metadata: Any = None
    """What the server behind said; an object from those that send it."""
    failed_generation: str | None = None
    """The text that could not be read as a tool call."""
    status_code: Int | None = None
    """HTTP status, where an error is told inside a stream."""


class Error(Wire):
    """The whole body of an error; a model for whatever object a server sends, so nothing in it is required.

    Source: specification, Errors; without ``error``: recorded traffic and relays.
    """

    model_config = AT_ONCE

    error: ErrorDetail | str | None = None
    detail: Any = None
    """Text or a list of problems, from servers that send no ``error``."""
    message: str | None = None
    success: bool | None = None
    """False, with ``message``, from relays that answer 200."""
