"""What moderation said about a request and its answer."""

from typing import Annotated, Literal

from formatbridge.validation.wire_base import Number, Open, Unknown, Wire


class ModerationResult(Wire):
    """The verdict on one text.

    Source: official SDK types, 2026-11.
    """

    categories: dict[str, bool | None] | None = None
    """Category to whether the text is of it."""
    category_applied_input_types: dict[str, list[str] | None] | None = None
    """Category to what was looked at. Known: text, image."""
    category_scores: dict[str, Number | None] | None = None
    """Category to the model's confidence, 0 to 1."""
    flagged: bool | None = None
    model: str | None = None
    type: Literal["moderation_result"] | None = None


class ModerationResults(Wire):
    """The verdicts on all texts of one side.

    Source: official SDK types, 2026-11.
    """

    model: str | None = None
    results: list[ModerationResult]
    type: Literal["moderation_results"]


class ModerationError(Wire):
    """Why one side could not be checked.

    Source: official SDK types, 2026-11.
    """

    code: str | None = None
    message: str | None = None
    type: Literal["error"]


ModerationOutcome = Annotated[ModerationResults | ModerationError | Unknown, Open("type")]
"""The outcome for one side."""


class Moderation(Wire):
    """The outcome of ``moderation`` in the request, for what went in and what came out.

    Source: official SDK types, 2026-11.
    """

    input: ModerationOutcome | None = None
    output: ModerationOutcome | None = None
