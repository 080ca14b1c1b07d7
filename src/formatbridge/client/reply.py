"""What a client hands back: a whole answer in the caller's format, and what is known of the call that brought it."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel

from formatbridge import ir
from formatbridge.client import errors
from formatbridge.client.flow import Outcome
from formatbridge.convert.bodies import Converted, ConvertedRequest
from formatbridge.convert.input import check_answer
from formatbridge.jsontext.types import JsonObject
from formatbridge.report.losses import Addition, Loss


class Reply:
    """A whole answer."""

    __slots__ = ("answer", "attempts", "native", "request", "request_id", "status")

    def __init__(
        self, request: ConvertedRequest, answer: Converted, native: JsonObject, outcome: Outcome[Any], names: tuple[str, ...]
    ) -> None:
        #: The request as it went out; its losses point into what the caller sent, its additions into its own body.
        self.request = request
        #: The answer in the caller's format; its losses point into ``native``, its additions into its own body.
        self.answer = answer
        #: The answer as the endpoint sent it, parsed.
        self.native = native
        #: By which the relay's owner finds the call; None where the answer did not say.
        self.request_id = errors.request_id(outcome.head.headers, names)
        #: The HTTP status.
        self.status = outcome.head.status
        #: How often the call was sent, from 1.
        self.attempts = outcome.attempts

    @property
    def body(self) -> JsonObject:
        """The answer in the caller's format, ready for JSON."""
        return self.answer.body

    @property
    def format(self) -> ir.FormatName:
        """The caller's format."""
        return self.answer.target

    @property
    def losses(self) -> tuple[Loss, ...]:
        """What was lost on both ways: ``request.losses``, then ``answer.losses``, each with pointers into its own source."""
        return self.request.losses + self.answer.losses

    @property
    def additions(self) -> tuple[Addition, ...]:
        """What had to be added on both ways: ``request.additions``, then ``answer.additions``, each with pointers into its own body."""
        return self.request.additions + self.answer.additions

    def parse(self) -> BaseModel:
        """Read the answer as the typed model of the caller's format."""
        return self.answer.parse()

    def json(self) -> bytes:
        """Write the answer as JSON in UTF-8."""
        return self.answer.json()

    def text(self) -> str:
        """Return the visible text of the first choice; reasoning and refusals are none."""
        format = self.answer.target_format
        answer = format.decode_response(check_answer(self.body, format))
        parts = answer.choices[0].parts if answer.choices else []
        return "".join(part.text for part in parts if isinstance(part, ir.Text))

    def __repr__(self) -> str:
        return f"<Reply {self.format} {self.status}, request {self.request_id}, attempts {self.attempts}>"
