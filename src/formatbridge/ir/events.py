"""The canonical events of a stream: the start, parts that open, receive deltas and close, usage, the end, or a failure.

Order: ``Start`` is first. A part opens, receives deltas, then closes. Parts are numbered per choice in the order in which they open;
several may be open at once. ``ChoiceEnd`` follows the end of every part of its choice. Exactly one of ``End`` and ``Failed`` is last.
Accumulating the events of a stream gives the ``ir.Response`` of the whole answer.
"""

from __future__ import annotations

from dataclasses import dataclass

from formatbridge.ir.parts import Citation, Number, Part, Signature
from formatbridge.ir.response import Error, Finish, TokenLogprob, Usage
from formatbridge.jsontext.types import JsonObject


@dataclass(slots=True)
class Start:
    """The answer begins. ``extra`` is that of ``ir.Response``; ``usage`` holds the counts that the stream sends at its start."""

    id: str | None
    model: str | None
    created: Number | None = None
    usage: Usage | None = None
    extra: JsonObject | None = None


@dataclass(slots=True)
class StartUpdate:
    """Fields of the answer that its start lacked; None: unchanged. Encoders ignore them, because they have already written the start."""

    id: str | None = None
    model: str | None = None
    created: Number | None = None


@dataclass(slots=True)
class PartStart:
    """A part opens. ``part`` holds its kind, names and ids, without the text that deltas add.

    ``position``: where it is in the whole answer, if the source names that; parts with the same position keep the order in which they open.
    """

    choice: int
    index: int
    part: Part
    position: tuple[int, int] = (0, 0)


@dataclass(slots=True)
class Delta:
    """Text to append to a part: visible text, reasoning, a refusal, arguments, code, or base64 data.

    ``text`` is empty only where the event has log probabilities.
    """

    choice: int
    index: int
    text: str
    logprobs: list[TokenLogprob] | None = None


@dataclass(slots=True)
class PartUpdate:
    """An addition to a part other than its text: a signature, a citation, or a transcript.

    ``extra``: unmodelled fields of a part that never closes; for one that closes they are on its ``PartEnd``.
    """

    choice: int
    index: int
    signature: Signature | None = None
    citation: Citation | None = None
    transcript: str | None = None
    extra: JsonObject | None = None


@dataclass(slots=True)
class CitationUpdate:
    """A citation that arrives after the texts of its choice have closed; its span identifies the text."""

    choice: int
    citation: Citation


@dataclass(slots=True)
class SignatureUpdate:
    """A signature that arrives after its reasoning part has closed."""

    choice: int
    index: int
    signature: Signature


@dataclass(slots=True)
class PartEnd:
    """A part closes. ``extra``: unmodelled fields of the part; ``part``: the whole part, where the source repeats it; None: unchanged."""

    choice: int
    index: int
    part: Part | None = None
    extra: JsonObject | None = None


@dataclass(slots=True)
class ChoiceEnd:
    """A choice ends; all its parts are closed."""

    choice: int
    finish: Finish


@dataclass(slots=True)
class UsageUpdate:
    """The usage so far: it replaces all earlier usage."""

    usage: Usage


@dataclass(slots=True)
class FieldsUpdate:
    """Unmodelled fields of the answer, or of one ``choice``: the ``extra`` of ``ir.Response`` or ``ir.Choice``."""

    extra: JsonObject
    choice: int | None = None


@dataclass(slots=True)
class Failed:
    """The server reported an error; nothing follows."""

    error: Error


@dataclass(slots=True)
class End:
    """The answer is complete; nothing follows."""


PartEvent = PartStart | Delta | PartUpdate | CitationUpdate | SignatureUpdate | PartEnd | ChoiceEnd
"""The events of one choice."""
Event = Start | StartUpdate | PartEvent | UsageUpdate | FieldsUpdate | Failed | End
"""Every event of a stream."""
