"""What happens in a stream, in no format's framing: parts that open, grow and close, an end, usage, or a failure.

Order: ``Start`` first; a part opens before it grows and grows before it closes; parts are numbered per choice in the order in which they
open; several may be open at once; ``Finished`` after every part of its choice has closed; exactly one of ``End`` and ``Failed``, last.
Folding the events of a stream gives the ``ir.Response`` of the whole answer.
"""

from __future__ import annotations

from dataclasses import dataclass

from formatbridge.ir.parts import Citation, Number, Part, Signature
from formatbridge.ir.response import Error, Finish, TokenLogprob, Usage
from formatbridge.jsontext.types import JsonObject


@dataclass(slots=True)
class Start:
    """The answer begins. ``extra`` is that of ``ir.Response``; ``usage`` is what is known of it already."""

    id: str | None
    model: str | None
    created: Number | None = None
    usage: Usage | None = None
    extra: JsonObject | None = None


@dataclass(slots=True)
class Named:
    """The answer says of itself what its start left out; None: nothing new. A stream that is written has begun and cannot say it."""

    id: str | None = None
    model: str | None = None
    created: Number | None = None


@dataclass(slots=True)
class PartStart:
    """A part opens. ``part`` is the part as far as it is known: its kind, names and ids, without what deltas bring.

    ``place``: where it stands in the whole answer, where that is known; parts of one place stand in the order in which they open.
    """

    choice: int
    index: int
    part: Part
    place: tuple[int, int] = (0, 0)


@dataclass(slots=True)
class Delta:
    """A part grows by text: visible text, reasoning, a refusal, arguments, code, or base64 data. Never empty but for log probabilities."""

    choice: int
    index: int
    text: str
    logprobs: list[TokenLogprob] | None = None


@dataclass(slots=True)
class PartMeta:
    """A part is told something besides its text: a token, a citation, or a transcript.

    ``extra``: fields that only its own format knows, of a part that does not close; one that does tells them by its end.
    """

    choice: int
    index: int
    signature: Signature | None = None
    citation: Citation | None = None
    transcript: str | None = None
    extra: JsonObject | None = None


@dataclass(slots=True)
class Cited:
    """A citation comes when the texts of its choice have closed; its span says which of them it cites."""

    choice: int
    citation: Citation


@dataclass(slots=True)
class Signed:
    """A token comes when the thought that it signs has closed."""

    choice: int
    index: int
    signature: Signature


@dataclass(slots=True)
class PartEnd:
    """A part closes. ``extra`` and ``part``: what became known only now; None: nothing did."""

    choice: int
    index: int
    part: Part | None = None
    extra: JsonObject | None = None


@dataclass(slots=True)
class Finished:
    """A choice ends; all its parts are closed."""

    choice: int
    finish: Finish


@dataclass(slots=True)
class UsageTold:
    """Usage, whole: it replaces what was told before."""

    usage: Usage


@dataclass(slots=True)
class Meta:
    """Fields of the answer, or of one ``choice``, that only its own format knows: the ``extra`` of ``ir.Response`` or ``ir.Choice``."""

    extra: JsonObject
    choice: int | None = None


@dataclass(slots=True)
class Failed:
    """The other side failed; nothing follows."""

    error: Error


@dataclass(slots=True)
class End:
    """The answer is complete; nothing follows."""


Event = Start | Named | PartStart | Delta | PartMeta | Cited | Signed | PartEnd | Finished | UsageTold | Meta | Failed | End
"""Everything that can happen in a stream."""

PartEvent = PartStart | Delta | PartMeta | Cited | Signed | PartEnd | Finished
"""What happens within one choice."""
