"""The events of a stream.

One class models all events with the same fields; ``type`` distinguishes them. All fields but the payload are optional, because servers
other than the vendor's leave out sequence numbers, item ids and log probabilities.

Source, unless a model names another: official SDK types, 2026-11.
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
    """The new state of the response; ``completed``, ``failed`` and ``incomplete`` end the stream."""

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
    """The cost of the response. Seen: one host."""


class ErrorEvent(Event):
    """An error in the middle of a stream: flat from the vendor, nested in recorded traffic.

    Source: official SDK types, 2026-11. Seen: ``error``.
    """

    type: Literal["error"]
    code: str | int | None = None
    message: str | None = None
    param: str | None = None
    error: ErrorDetail | None = None


class OutputItemEvent(Event):
    """The start of an item, almost empty, or its end, with the whole item."""

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
"""Any event; one without ``type``, or with a type that is not listed here, is ``Unknown``."""
