"""Stream events of messages and reasoning, and the fields that all events have in common.

Source, unless a model names another: official SDK types, 2026-11.
"""

from typing import Annotated, Literal

from formatbridge.formats.responses.wire.citations import Annotation, Logprob
from formatbridge.formats.responses.wire.content import OutputTextPart, ReasoningText, RefusalPart, SummaryPart
from formatbridge.validation.wire_base import Count, Int, Open, Unknown, Wire


class Event(Wire):
    """The fields that all events have in common."""

    sequence_number: Int | None = None
    """From 0, incremented by 1; absent on some servers."""


class ItemEvent(Event):
    """The fields that all events of an item have in common."""

    item_id: str | None = None
    """The item's ``id``. Some servers change it between events; ``output_index`` is reliable."""
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
        "response.content_part.added",
        "response.content_part.done",
        "response.reasoning_part.added",
        "response.reasoning_part.done",
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
