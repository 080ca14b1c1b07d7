"""The moderation results of a request and its answer.

Source, unless a model names another: official SDK types, 2026-11.
"""

from typing import Annotated, Literal

from formatbridge.validation.wire_base import Number, Open, Unknown, Wire


class ModerationResult(Wire):
    """The moderation result for one text."""

    categories: dict[str, bool | None] | None = None
    """Category to whether the text is in it."""
    category_applied_input_types: dict[str, list[str] | None] | None = None
    """Category to the examined kinds of input. Known: text, image."""
    category_scores: dict[str, Number | None] | None = None
    """Category to the score, 0 to 1."""
    flagged: bool | None = None
    model: str | None = None
    type: Literal["moderation_result"] | None = None


class ModerationResults(Wire):
    """The moderation results for all texts of the input or the output."""

    model: str | None = None
    results: list[ModerationResult]
    type: Literal["moderation_results"]


class ModerationError(Wire):
    """The error of a moderation that failed."""

    code: str | None = None
    message: str | None = None
    type: Literal["error"]


ModerationOutcome = Annotated[ModerationResults | ModerationError | Unknown, Open("type")]
"""The moderation outcome for the input or the output."""


class Moderation(Wire):
    """The outcome of ``moderation`` in the request, for input and output."""

    input: ModerationOutcome | None = None
    output: ModerationOutcome | None = None
