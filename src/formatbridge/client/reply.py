"""The results of ``send`` and ``count_tokens``: an answer in the caller's format, and facts about the call."""

from __future__ import annotations

from typing import Any, Generic

from formatbridge import ir
from formatbridge.client.flow import Outcome
from formatbridge.convert.bodies import Converted, ConvertedRequest, ModelT_co
from formatbridge.convert.counts import count_of
from formatbridge.convert.input import check_answer
from formatbridge.jsontext.types import JsonObject
from formatbridge.report.losses import Addition, Loss

MAX_SHOWN = 2000
"""Characters of the text that a notebook shows."""


class BaseReply(Generic[ModelT_co]):
    """An answer and facts about the call."""

    __slots__ = ("answer", "attempts", "native", "request", "request_id", "status")

    def __init__(self, request: ConvertedRequest, answer: Converted[ModelT_co], native: JsonObject, outcome: Outcome[Any]) -> None:
        self.request = request
        """The request as sent. Its losses point into the caller's body, its additions into the sent body."""
        self.answer = answer
        """The answer in the caller's format. Its losses point into ``native``, its additions into ``body``."""
        self.native = native
        """The endpoint's answer, parsed and not converted."""
        self.request_id = outcome.head.request_id
        """The id of the call in the logs of the relay; None if the answer has none."""
        self.status = outcome.head.status
        """The HTTP status."""
        self.attempts = outcome.attempts
        """The number of attempts."""

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
        """``request.losses``, then ``answer.losses``, each with pointers into the source of its conversion."""
        return self.request.losses + self.answer.losses

    @property
    def additions(self) -> tuple[Addition, ...]:
        """``request.additions``, then ``answer.additions``, each with pointers into the body of its conversion."""
        return self.request.additions + self.answer.additions

    def parse(self) -> ModelT_co:
        """Return the answer as the typed model of the caller's format."""
        return self.answer.parse()

    def json(self) -> bytes:
        """Return the answer as JSON in UTF-8."""
        return self.answer.json()

    def to_dict(self) -> JsonObject:
        """Return the facts about the call, and both conversions with their reports, as a dict, ready for JSON. Bodies are shared."""
        return {
            "format": self.format,
            "status": self.status,
            "request_id": self.request_id,
            "attempts": self.attempts,
            "request": self.request.to_dict(),
            "answer": self.answer.to_dict(),
        }

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.format} {self.status}, request {self.request_id}, attempts {self.attempts}>"

    def _repr_html_(self) -> str:
        """Return the facts about the call for a notebook, the content, and both conversions, folded. Headers are not part of a reply."""
        from formatbridge.report import comparison, html

        is_same = self.request.source == self.request.target
        rows = [
            ("format", html.escape_text(self.format if is_same else f"{self.format} via {self.request.target}")),
            ("status", str(self.status)),
            ("request id", html.escape_text(self.request_id or "none")),
            ("attempts", str(self.attempts)),
            self._content_row(),
        ]
        request = comparison.of_conversion("", self.request)
        answer = comparison.of_conversion("", self.answer, self.native)
        return html.view(
            html.title(type(self).__name__),
            html.table((), rows),
            html.details(f"Request {comparison.counts(self.request.losses, self.request.additions)}", request),
            html.details(f"Answer {comparison.counts(self.answer.losses, self.answer.additions)}", answer),
        )

    def _content_row(self) -> tuple[str, str]:
        """Return the name and the HTML of what the answer contains."""
        raise NotImplementedError


class Reply(BaseReply[ModelT_co]):
    """A whole answer."""

    __slots__ = ()

    def text(self) -> str:
        """Return the visible text of the first choice, without reasoning and refusals."""
        spec = self.answer.target_format
        answer = spec.decode_response(check_answer(self.body, spec))
        parts = answer.choices[0].parts if answer.choices else []
        return "".join(part.text for part in parts if isinstance(part, ir.Text))

    def _content_row(self) -> tuple[str, str]:
        from formatbridge.report import html

        return "text", html.escape_text(html.shorten(self.text(), MAX_SHOWN))


class CountReply(BaseReply[ModelT_co]):
    """The number of input tokens of a request.

    For an estimate nothing is sent: ``attempts`` is 0, ``native`` is empty and ``request_id`` is None.
    """

    __slots__ = ()

    @property
    def input_tokens(self) -> int:
        """The number of input tokens, in any format."""
        format = self.answer.target_format
        return count_of(format).decode_response(check_answer(self.body, format, "count_response")).input

    def _content_row(self) -> tuple[str, str]:
        return "input tokens", str(self.input_tokens)
