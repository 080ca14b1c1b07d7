"""The events of a stream.

One class models all events with the same fields; ``type`` distinguishes them. All fields but the payload are optional, because servers
other than the vendor's leave out sequence numbers, item ids and log probabilities.

Source, unless a model names another: official SDK types, 2026-11.
"""

from typing import Annotated, Any, Literal

from formatbridge.formats.responses.wire.content import Annotation, Logprob, OutputTextPart, ReasoningText, RefusalPart, SummaryPart
from formatbridge.formats.responses.wire.error import ErrorDetail
from formatbridge.formats.responses.wire.items import OutputItem
from formatbridge.formats.responses.wire.local_items import ShellOutput
from formatbridge.formats.responses.wire.response import Snapshot
from formatbridge.validation.wire_base import Count, Int, Open, Unknown, Wire


class Event(Wire):
    """The fields that all events have in common."""

    sequence_number: Int | None = None
    """From 0, incremented by 1; absent on some servers (recorded traffic)."""


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


class ItemEvent(Event):
    """The fields that all events of an item have in common."""

    item_id: str | None = None
    """The item's ``id``. Some servers change it between events (fixture text_ids_rotate); ``output_index`` is reliable."""
    output_index: Count | None = None
    """Index of the item in ``output``."""


class ContentEvent(ItemEvent):
    """The fields that all events of a part have in common."""

    content_index: Count | None = None
    """Index of the part in the item's ``content``."""


OutputPart = Annotated[OutputTextPart | RefusalPart | ReasoningText | Unknown, Open("type")]
"""A part of a message or of a reasoning item, in a stream."""


class PartEvent(ContentEvent):
    """The start of a part, almost empty, or its end, with the whole part.

    Source: official SDK types, 2026-11. Seen: the ``reasoning_part`` types.
    """

    type: Literal[
        "response.content_part.added", "response.content_part.done", "response.reasoning_part.added", "response.reasoning_part.done"
    ]
    part: OutputPart


class TextDelta(ContentEvent):
    """A delta of text.

    Source: official SDK types, 2026-11. Seen: ``obfuscation``.
    """

    type: Literal["response.output_text.delta"]
    delta: str
    logprobs: list[Logprob] | None = None
    obfuscation: str | None = None
    """Random padding; other deltas have the same field."""


class TextDone(ContentEvent):
    """The whole text of a part."""

    type: Literal["response.output_text.done"]
    text: str
    logprobs: list[Logprob] | None = None


class AnnotationAdded(ContentEvent):
    """An annotation of the text so far."""

    type: Literal["response.output_text.annotation.added"]
    annotation: Annotation | None = None
    annotation_index: Count | None = None


class RefusalDelta(ContentEvent):
    """A delta of a refusal."""

    type: Literal["response.refusal.delta"]
    delta: str
    obfuscation: str | None = None


class RefusalDone(ContentEvent):
    """The whole text of a refusal."""

    type: Literal["response.refusal.done"]
    refusal: str


class ReasoningTextDelta(ContentEvent):
    """A delta of reasoning text."""

    type: Literal["response.reasoning_text.delta"]
    delta: str
    obfuscation: str | None = None


class ReasoningTextDone(ContentEvent):
    """The whole reasoning text of a part."""

    type: Literal["response.reasoning_text.done"]
    text: str


class SummaryEvent(ItemEvent):
    """The fields that all events of a part of a reasoning summary have in common."""

    summary_index: Count | None = None
    """Index of the part in the item's ``summary``."""


class SummaryPartEvent(SummaryEvent):
    """The start or end of a part of a reasoning summary."""

    type: Literal["response.reasoning_summary_part.added", "response.reasoning_summary_part.done"]
    part: SummaryPart
    status: str | None = None
    """``incomplete`` if the part was truncated; only at the end."""


class SummaryTextDelta(SummaryEvent):
    """A delta of a reasoning summary."""

    type: Literal["response.reasoning_summary_text.delta"]
    delta: str
    obfuscation: str | None = None


class SummaryTextDone(SummaryEvent):
    """The whole text of a part of a reasoning summary."""

    type: Literal["response.reasoning_summary_text.done"]
    text: str


class ProgressEvent(ItemEvent):
    """The progress of a hosted tool call; the type is its state."""

    type: Literal[
        "response.code_interpreter_call.in_progress",
        "response.code_interpreter_call.interpreting",
        "response.code_interpreter_call.completed",
        "response.compaction.compacting",
        "response.file_search_call.in_progress",
        "response.file_search_call.searching",
        "response.file_search_call.completed",
        "response.image_generation_call.in_progress",
        "response.image_generation_call.generating",
        "response.image_generation_call.completed",
        "response.mcp_call.in_progress",
        "response.mcp_call.completed",
        "response.mcp_call.failed",
        "response.mcp_list_tools.in_progress",
        "response.mcp_list_tools.completed",
        "response.mcp_list_tools.failed",
        "response.web_search_call.in_progress",
        "response.web_search_call.searching",
        "response.web_search_call.completed",
    ]


class ArgumentsDelta(ItemEvent):
    """A delta of a call's arguments, as JSON text."""

    type: Literal["response.function_call_arguments.delta", "response.mcp_call_arguments.delta"]
    delta: str
    obfuscation: str | None = None


class ArgumentsDone(ItemEvent):
    """The whole arguments of a call.

    Source: official SDK types, 2026-11. Seen: ``name``, once.
    """

    type: Literal["response.function_call_arguments.done", "response.mcp_call_arguments.done"]
    arguments: str
    name: str | None = None


class InputDelta(ItemEvent):
    """A delta of a custom tool's input."""

    type: Literal["response.custom_tool_call_input.delta"]
    delta: str
    obfuscation: str | None = None


class InputDone(ItemEvent):
    """The whole input of a custom tool."""

    type: Literal["response.custom_tool_call_input.done"]
    input: str


class CodeDelta(ItemEvent):
    """A delta of the code interpreter's code."""

    type: Literal["response.code_interpreter_call_code.delta"]
    delta: str
    obfuscation: str | None = None


class CodeDone(ItemEvent):
    """The whole code of the code interpreter."""

    type: Literal["response.code_interpreter_call_code.done"]
    code: str


class PartialImage(ItemEvent):
    """A partial image."""

    type: Literal["response.image_generation_call.partial_image"]
    partial_image_b64: str
    """The partial image, in base64."""
    partial_image_index: Count | None = None
    """From 0."""
    background: str | None = None
    output_format: str | None = None
    quality: str | None = None
    size: str | None = None


class CommandEvent(Event):
    """The start of a shell command, or the whole command."""

    type: Literal["response.shell_call_command.added", "response.shell_call_command.done"]
    command: str
    command_index: Count | None = None
    """Index of the command in the action's ``commands``."""
    output_index: Count | None = None


class CommandDelta(Event):
    """A delta of a shell command."""

    type: Literal["response.shell_call_command.delta"]
    command_index: Count | None = None
    delta: str
    output_index: Count | None = None
    obfuscation: str | None = None


class ShellDelta(Wire):
    """Deltas of the output of a command."""

    stderr: str | None = None
    stdout: str | None = None


class ShellOutputDelta(ItemEvent):
    """Output of a command."""

    type: Literal["response.shell_call_output_content.delta"]
    command_index: Count | None = None
    delta: ShellDelta


class ShellOutputDone(ItemEvent):
    """The end of a command."""

    type: Literal["response.shell_call_output_content.done"]
    command_index: Count | None = None
    output: list[ShellOutput]


class AudioDelta(Event):
    """A delta of audio, in base64, or of its transcript."""

    type: Literal["response.audio.delta", "response.audio.transcript.delta"]
    delta: str


class AudioDone(Event):
    """The end of audio or of its transcript."""

    type: Literal["response.audio.done", "response.audio.transcript.done"]


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
