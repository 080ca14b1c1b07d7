"""Calls of vendor-defined tools that may run on the caller's machine: shells and patches; and who called."""

from typing import Annotated, Literal

from formatbridge.formats.responses.wire.containers import Environment
from formatbridge.validation.wire_base import Int, Open, Unknown, Wire


class DirectCaller(Wire):
    """The model itself called.

    Source: official SDK types, 2026-11.
    """

    type: Literal["direct"]


class ProgramCaller(Wire):
    """A program that the model wrote called.

    Source: official SDK types, 2026-11.
    """

    caller_id: str
    """The ``call_id`` of a ``Program``."""
    type: Literal["program"]


Caller = Annotated[DirectCaller | ProgramCaller | Unknown, Open("type")]
"""Who called a tool."""


class ExecAction(Wire):
    """A command for the local shell.

    Source: official SDK types, 2026-11.
    """

    command: list[str]
    env: dict[str, str] | None = None
    type: Literal["exec"]
    timeout_ms: Int | None = None
    """Milliseconds."""
    user: str | None = None
    working_directory: str | None = None


LocalShellAction = Annotated[ExecAction | Unknown, Open("type")]
"""What the local shell is to do."""


class LocalShellCall(Wire):
    """A command that the model wants run by the local shell.

    Source: official SDK types, 2026-11.
    """

    id: str | None = None
    action: LocalShellAction
    call_id: str
    status: str | None = None
    """``in_progress``, ``completed`` or ``incomplete``."""
    type: Literal["local_shell_call"]


class LocalShellCallOutput(Wire):
    """What the local shell gave back; its ``id`` is the call's.

    Source: official SDK types, 2026-11.
    """

    id: str
    output: str
    """JSON as text."""
    type: Literal["local_shell_call_output"]
    status: str | None = None
    """``in_progress``, ``completed`` or ``incomplete``."""


class ShellAction(Wire):
    """Commands for the shell.

    Source: official SDK types, 2026-11.
    """

    commands: list[str]
    max_output_length: Int | None = None
    """Characters kept of the output."""
    timeout_ms: Int | None = None
    """Milliseconds."""


class ShellCall(Wire):
    """Commands that the model wants run by the shell.

    Source: official SDK types, 2026-11.
    """

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
    """The command took too long.

    Source: official SDK types, 2026-11.
    """

    type: Literal["timeout"]


class ExitOutcome(Wire):
    """The command ended.

    Source: official SDK types, 2026-11.
    """

    exit_code: Int
    type: Literal["exit"]


ShellOutcome = Annotated[TimeoutOutcome | ExitOutcome | Unknown, Open("type")]
"""How a command ended."""


class ShellOutput(Wire):
    """What one command printed, and how it ended.

    Source: official SDK types, 2026-11.
    """

    outcome: ShellOutcome | None = None
    stderr: str | None = None
    stdout: str | None = None
    created_by: str | None = None
    """Responses only."""


class ShellCallOutput(Wire):
    """What the commands of a call gave back, in order.

    Source: official SDK types, 2026-11.
    """

    call_id: str
    output: list[ShellOutput]
    type: Literal["shell_call_output"]
    id: str | None = None
    caller: Caller | None = None
    max_output_length: Int | None = None
    """Characters kept of the output."""
    status: str | None = None
    """``in_progress``, ``completed`` or ``incomplete``."""
    created_by: str | None = None
    """Responses only."""


class CreateFile(Wire):
    """A patch that makes a file.

    Source: official SDK types, 2026-11.
    """

    diff: str
    path: str
    type: Literal["create_file"]


class DeleteFile(Wire):
    """A patch that removes a file.

    Source: official SDK types, 2026-11.
    """

    path: str
    type: Literal["delete_file"]


class UpdateFile(Wire):
    """A patch that changes a file.

    Source: official SDK types, 2026-11.
    """

    diff: str
    path: str
    type: Literal["update_file"]


PatchOperation = Annotated[CreateFile | DeleteFile | UpdateFile | Unknown, Open("type")]
"""One edit of one file."""


class ApplyPatchCall(Wire):
    """An edit that the model wants applied.

    Source: official SDK types, 2026-11.
    """

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
    """What came of an edit.

    Source: official SDK types, 2026-11.
    """

    call_id: str
    status: str | None = None
    """``completed`` or ``failed``."""
    type: Literal["apply_patch_call_output"]
    id: str | None = None
    caller: Caller | None = None
    output: str | None = None
    created_by: str | None = None
    """Responses only."""
