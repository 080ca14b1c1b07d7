"""Stream events of messages and reasoning, and what all events have."""

from typing import Annotated, Literal

from formatbridge.formats.responses.wire.citations import Annotation, Logprob
from formatbridge.formats.responses.wire.content import OutputTextPart, ReasoningText, RefusalPart, SummaryPart
from formatbridge.validation.wire_base import Count, Int, Open, Unknown, Wire


class Event(Wire):
    """What all events have.

    Source: official SDK types, 2026-11.
    """

    sequence_number: Int | None = None
    """From 0, growing by 1; absent at some servers."""


class ItemEvent(Event):
    """What all events about one item have.

    Source: official SDK types, 2026-11.
    """

    item_id: str | None = None
    """The item's ``id``; some servers change it between events, ``output_index`` holds."""
    output_index: Count | None = None
    """The item's place in ``output``."""


class ContentEvent(ItemEvent):
    """What all events about one part of an item have.

    Source: official SDK types, 2026-11.
    """

    content_index: Count | None = None
    """The part's place in the item's ``content``."""


OutputPart = Annotated[OutputTextPart | RefusalPart | ReasoningText | Unknown, Open("type")]
"""A part of a message or of a reasoning item, while it is written."""


class PartEvent(ContentEvent):
    """A part begins, nearly empty, or is done, and whole.

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
    """A piece of text.

    Source: official SDK types, 2026-11. Seen: ``obfuscation``.
    """

    type: Literal["response.output_text.delta"]
    delta: str
    logprobs: list[Logprob] | None = None
    obfuscation: str | None = None
    """Random padding; so in the other deltas."""


class TextDone(ContentEvent):
    """The whole text of a part.

    Source: official SDK types, 2026-11.
    """

    type: Literal["response.output_text.done"]
    text: str
    logprobs: list[Logprob] | None = None


class AnnotationAdded(ContentEvent):
    """A remark on the text written so far.

    Source: official SDK types, 2026-11.
    """

    type: Literal["response.output_text.annotation.added"]
    annotation: Annotation | None = None
    annotation_index: Count | None = None


class RefusalDelta(ContentEvent):
    """A piece of a refusal.

    Source: official SDK types, 2026-11.
    """

    type: Literal["response.refusal.delta"]
    delta: str
    obfuscation: str | None = None


class RefusalDone(ContentEvent):
    """The whole refusal.

    Source: official SDK types, 2026-11.
    """

    type: Literal["response.refusal.done"]
    refusal: str


class ReasoningTextDelta(ContentEvent):
    """A piece of the model's reasoning.

    Source: official SDK types, 2026-11.
    """

    type: Literal["response.reasoning_text.delta"]
    delta: str
    obfuscation: str | None = None


class ReasoningTextDone(ContentEvent):
    """The whole reasoning of a part.

    Source: official SDK types, 2026-11.
    """

    type: Literal["response.reasoning_text.done"]
    text: str


class SummaryEvent(ItemEvent):
    """What all events about one part of a reasoning summary have.

    Source: official SDK types, 2026-11.
    """

    summary_index: Count | None = None
    """The part's place in the item's ``summary``."""


class SummaryPartEvent(SummaryEvent):
    """A part of a reasoning summary begins or is done.

    Source: official SDK types, 2026-11.
    """

    type: Literal["response.reasoning_summary_part.added", "response.reasoning_summary_part.done"]
    part: SummaryPart
    status: str | None = None
    """``incomplete`` when the part was cut short; only when done."""


class SummaryTextDelta(SummaryEvent):
    """A piece of a reasoning summary.

    Source: official SDK types, 2026-11.
    """

    type: Literal["response.reasoning_summary_text.delta"]
    delta: str
    obfuscation: str | None = None


class SummaryTextDone(SummaryEvent):
    """The whole text of a part of a reasoning summary.

    Source: official SDK types, 2026-11.
    """

    type: Literal["response.reasoning_summary_text.done"]
    text: str
