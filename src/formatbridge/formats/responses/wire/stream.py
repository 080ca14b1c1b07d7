"""The events of a stream.

Events of one shape are one class; ``type`` tells them apart. Every field but the payload may be missing, since servers
other than the vendor's leave out sequence numbers, item ids and log probabilities.
"""

from typing import Annotated, Any, Literal

from formatbridge.formats.responses.wire.error import ErrorDetail
from formatbridge.formats.responses.wire.events import (
    AnnotationAdded,
    Event,
    PartEvent,
    ReasoningTextDelta,
    ReasoningTextDone,
    RefusalDelta,
    RefusalDone,
    SummaryPartEvent,
    SummaryTextDelta,
    SummaryTextDone,
    TextDelta,
    TextDone,
)
from formatbridge.formats.responses.wire.items import OutputItem
from formatbridge.formats.responses.wire.response import Snapshot
from formatbridge.formats.responses.wire.tool_events import (
    ArgumentsDelta,
    ArgumentsDone,
    AudioDelta,
    AudioDone,
    CodeDelta,
    CodeDone,
    CommandDelta,
    CommandEvent,
    InputDelta,
    InputDone,
    PartialImage,
    ProgressEvent,
    ShellOutputDelta,
    ShellOutputDone,
)
from formatbridge.validation.wire_base import Count, Open, Unknown


class LifecycleEvent(Event):
    """A new state of the response; ``completed``, ``failed`` and ``incomplete`` end the stream.

    Source: official SDK types, 2026-11.
    """

    type: Literal[
        "response.created",
        "response.queued",
        "response.in_progress",
        "response.completed",
        "response.failed",
        "response.incomplete",
    ]
    response: Snapshot
    copilot_usage: dict[str, Any] | None = None
    """Seen: one host's bill."""


class ErrorEvent(Event):
    """An error in the middle of a stream: flat at the vendor, nested in recorded traffic.

    Source: official SDK types, 2026-11. Seen: ``error``.
    """

    type: Literal["error"]
    code: str | int | None = None
    message: str | None = None
    param: str | None = None
    error: ErrorDetail | None = None


class OutputItemEvent(Event):
    """An item begins, nearly empty, or is done, and whole.

    Source: official SDK types, 2026-11.
    """

    type: Literal["response.output_item.added", "response.output_item.done"]
    item: OutputItem
    output_index: Count | None = None


StreamEvent = Annotated[
    LifecycleEvent
    | ErrorEvent
    | OutputItemEvent
    | ProgressEvent
    | PartEvent
    | TextDelta
    | TextDone
    | AnnotationAdded
    | RefusalDelta
    | RefusalDone
    | ReasoningTextDelta
    | ReasoningTextDone
    | SummaryPartEvent
    | SummaryTextDelta
    | SummaryTextDone
    | ArgumentsDelta
    | ArgumentsDone
    | InputDelta
    | InputDone
    | CodeDelta
    | CodeDone
    | PartialImage
    | CommandEvent
    | CommandDelta
    | ShellOutputDelta
    | ShellOutputDone
    | AudioDelta
    | AudioDone
    | Unknown,
    Open("type"),
]
"""Any event; one without ``type``, or of a type not listed here, is ``Unknown``."""
