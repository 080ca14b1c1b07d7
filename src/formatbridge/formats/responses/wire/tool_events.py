"""Stream events of tool calls and audio.

Source, unless a model names another: official SDK types, 2026-11.
"""

from typing import Literal

from formatbridge.formats.responses.wire.events import Event, ItemEvent
from formatbridge.formats.responses.wire.local_items import ShellOutput
from formatbridge.validation.wire_base import Count, Wire


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
