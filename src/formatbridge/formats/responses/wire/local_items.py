"""Calls of tools that may run on the caller's computer (computer, shells, patches), their outputs, and the caller of a tool.

Source, unless a model names another: official SDK types, 2026-11.
"""

from typing import Annotated, Literal

from formatbridge.formats.responses.wire.tools import Environment
from formatbridge.validation.wire_base import Int, Open, Unknown, Wire


class Point(Wire):
    """A position on the screen, in pixels."""

    x: Int
    y: Int


class ClickAction(Wire):
    """A click."""

    button: str
    """``left``, ``right``, ``wheel``, ``back`` or ``forward``."""
    type: Literal["click"]
    x: Int
    y: Int
    keys: list[str] | None = None
    """Keys that are held down during the action; other actions have the same field."""


class DoubleClickAction(Wire):
    """A double click."""

    keys: list[str] | None = None
    type: Literal["double_click"]
    x: Int
    y: Int


class DragAction(Wire):
    """A drag along a path."""

    path: list[Point]
    type: Literal["drag"]
    keys: list[str] | None = None


class KeypressAction(Wire):
    """A press of several keys at the same time."""

    keys: list[str]
    type: Literal["keypress"]


class MoveAction(Wire):
    """A move of the mouse pointer."""

    type: Literal["move"]
    x: Int
    y: Int
    keys: list[str] | None = None


class ScreenshotAction(Wire):
    """A screenshot."""

    type: Literal["screenshot"]


class ScrollAction(Wire):
    """A scroll at a position."""

    scroll_x: Int
    scroll_y: Int
    type: Literal["scroll"]
    x: Int
    y: Int
    keys: list[str] | None = None


class TypeAction(Wire):
    """Text input."""

    text: str
    type: Literal["type"]


class WaitAction(Wire):
    """A wait."""

    type: Literal["wait"]


ComputerAction = Annotated[
    ClickAction
    | DoubleClickAction
    | DragAction
    | KeypressAction
    | MoveAction
    | ScreenshotAction
    | ScrollAction
    | TypeAction
    | WaitAction
    | Unknown,
    Open("type"),
]
"""An action on the computer."""


class SafetyCheck(Wire):
    """A safety check that the caller must acknowledge."""

    id: str
    code: str | None = None
    message: str | None = None


class ComputerCall(Wire):
    """A call of the computer tool."""

    id: str | None = None
    call_id: str
    pending_safety_checks: list[SafetyCheck] | None = None
    status: str | None = None
    """``in_progress``, ``completed`` or ``incomplete``."""
    type: Literal["computer_call"]
    action: ComputerAction | None = None
    """The single action of the preview tool."""
    actions: list[ComputerAction] | None = None
    """The actions of the computer tool, in order."""


class ComputerScreenshot(Wire):
    """A screenshot of the computer."""

    type: Literal["computer_screenshot"]
    file_id: str | None = None
    image_url: str | None = None


ComputerOutput = Annotated[ComputerScreenshot | Unknown, Open("type")]
"""The content of a computer call's output."""


class ComputerCallOutput(Wire):
    """The output of a call of the computer tool."""

    call_id: str
    output: ComputerOutput
    type: Literal["computer_call_output"]
    id: str | None = None
    acknowledged_safety_checks: list[SafetyCheck] | None = None
    status: str | None = None
    """``in_progress``, ``completed`` or ``incomplete``; in responses also ``failed``."""
    created_by: str | None = None
    """Responses only."""


class DirectCaller(Wire):
    """The caller type of a call by the model itself."""

    type: Literal["direct"]


class ProgramCaller(Wire):
    """The caller type of a call by a program of the model."""

    caller_id: str
    """The ``call_id`` of a ``Program``."""
    type: Literal["program"]


Caller = Annotated[DirectCaller | ProgramCaller | Unknown, Open("type")]
"""The caller of a tool: the model or a program."""


class ExecAction(Wire):
    """A command for the local shell."""

    command: list[str]
    env: dict[str, str] | None = None
    type: Literal["exec"]
    timeout_ms: Int | None = None
    """Milliseconds."""
    user: str | None = None
    working_directory: str | None = None


LocalShellAction = Annotated[ExecAction | Unknown, Open("type")]
"""An action of the local shell."""


class LocalShellCall(Wire):
    """A call of the local shell."""

    id: str | None = None
    action: LocalShellAction
    call_id: str
    status: str | None = None
    """``in_progress``, ``completed`` or ``incomplete``."""
    type: Literal["local_shell_call"]


class LocalShellCallOutput(Wire):
    """The output of the local shell; its ``id`` is that of the call."""

    id: str
    output: str
    """JSON text."""
    type: Literal["local_shell_call_output"]
    status: str | None = None
    """``in_progress``, ``completed`` or ``incomplete``."""


class ShellAction(Wire):
    """Commands for the shell tool."""

    commands: list[str]
    max_output_length: Int | None = None
    """Maximum number of characters of the output."""
    timeout_ms: Int | None = None
    """Milliseconds."""


class ShellCall(Wire):
    """A call of the shell tool."""

    action: ShellAction
    call_id: str
    type: Literal["shell_call"]
    id: str | None = None
    caller: Caller | None = None
    environment: Environment | None = None
    status: str | None = None
    """``in_progress``, ``completed`` or ``incomplete``."""
    created_by: str | None = None
    """Responses only."""


class TimeoutOutcome(Wire):
    """The outcome of a command that exceeded its timeout."""

    type: Literal["timeout"]


class ExitOutcome(Wire):
    """The outcome of a command that ended."""

    exit_code: Int
    type: Literal["exit"]


ShellOutcome = Annotated[TimeoutOutcome | ExitOutcome | Unknown, Open("type")]
"""The outcome of a command."""


class ShellOutput(Wire):
    """The output and outcome of one command."""

    outcome: ShellOutcome | None = None
    stderr: str | None = None
    stdout: str | None = None
    created_by: str | None = None
    """Responses only."""


class ShellCallOutput(Wire):
    """The outputs of the commands of a shell call, in order."""

    call_id: str
    output: list[ShellOutput]
    type: Literal["shell_call_output"]
    id: str | None = None
    caller: Caller | None = None
    max_output_length: Int | None = None
    """Maximum number of characters of the output."""
    status: str | None = None
    """``in_progress``, ``completed`` or ``incomplete``."""
    created_by: str | None = None
    """Responses only."""


class CreateFile(Wire):
    """A patch that creates a file."""

    diff: str
    path: str
    type: Literal["create_file"]


class DeleteFile(Wire):
    """A patch that deletes a file."""

    path: str
    type: Literal["delete_file"]


class UpdateFile(Wire):
    """A patch that updates a file."""

    diff: str
    path: str
    type: Literal["update_file"]


PatchOperation = Annotated[CreateFile | DeleteFile | UpdateFile | Unknown, Open("type")]
"""One edit of a file."""


class ApplyPatchCall(Wire):
    """A call of the patch tool."""

    call_id: str
    operation: PatchOperation
    status: str | None = None
    """``in_progress`` or ``completed``."""
    type: Literal["apply_patch_call"]
    id: str | None = None
    caller: Caller | None = None
    created_by: str | None = None
    """Responses only."""


class ApplyPatchCallOutput(Wire):
    """The output of a call of the patch tool."""

    call_id: str
    status: str | None = None
    """``completed`` or ``failed``."""
    type: Literal["apply_patch_call_output"]
    id: str | None = None
    caller: Caller | None = None
    output: str | None = None
    created_by: str | None = None
    """Responses only."""
