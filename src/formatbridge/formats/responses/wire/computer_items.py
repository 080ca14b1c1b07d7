"""Calls of the computer tool and their outputs: actions, and screenshots after them.

Source, unless a model names another: official SDK types, 2026-11.
"""

from typing import Annotated, Literal

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
