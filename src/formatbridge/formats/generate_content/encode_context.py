"""The encode context of Gemini: what the encoders of parts need of the whole request or response.

Only this format needs it, because a result must have the name of its call.
"""

from __future__ import annotations

from collections.abc import Sequence, Set

from formatbridge import ir
from formatbridge.formats.shared.tool_arguments import NOTHING_PARSED, ParsedArguments
from formatbridge.formats.shared.tool_results import Unanswered
from formatbridge.report.losses import Severity


class EncodeContext:
    """Facts about the request or response whose parts are encoded, and about its calls.

    ``is_answer``: it is a response. ``carries_tokens``: tokens of other formats are kept, tagged. ``runs``: the ids of the code
    executions that this format can express. ``generated_ids``: the ids of calls that had none. ``parsed``: arguments that were parsed
    before. ``refusal_severity``: the severity of encoding a refusal as text. ``keeps_media``: a request of this format, whose media stay
    whatever their type; the rules of a server have removed what it rejects.
    """

    __slots__ = (
        "_messages",
        "_names",
        "_paired",
        "carries_tokens",
        "generated_ids",
        "is_answer",
        "keeps_media",
        "parsed",
        "refusal_severity",
        "runs",
    )

    def __init__(
        self,
        messages: Sequence[ir.Message] = (),
        runs: Set[str] = frozenset(),
        *,
        is_answer: bool = False,
        carries_tokens: bool = False,
        parsed: ParsedArguments = NOTHING_PARSED,
        refusal_severity: Severity = "lossy",
        keeps_media: bool = False,
    ) -> None:
        self._messages = messages
        self._names: dict[str, str] | None = None  # collected on demand, because most conversations need none
        self._paired: dict[int, str] | None = None  # names by ``id()`` of the result, if call ids repeat
        self.generated_ids: set[str] = set()
        self.runs = runs
        self.is_answer = is_answer
        self.carries_tokens = carries_tokens
        self.parsed = parsed
        self.refusal_severity = refusal_severity
        self.keeps_media = keeps_media

    def name_of(self, result: ir.ToolResult) -> str | None:
        """Return the name of the tool whose call a result answers; None if there is no such call."""
        # A function response requires the name (official SDK, ``FunctionResponse.name``). Results of other formats have an id only.
        if self._names is None:
            calls = [part for message in self._messages for part in message.parts if type(part) is ir.ToolCall]
            self._names = {call.id: call.name for call in calls}
            self._paired = _names_of_results(self._messages) if len(self._names) < len(calls) else None
        return self._names.get(result.call_id) if self._paired is None else self._paired.get(id(result))


def _names_of_results(messages: Sequence[ir.Message]) -> dict[int, str]:
    """Return the names of the calls that results answer, by ``id()`` of the result.

    Call ids repeat if a server numbers the calls of each response from 0 (fixture tools_ids_repeat). A second result for an id belongs to
    the same call. A result before all calls of its id belongs to the next one.
    """
    names: dict[int, str] = {}
    open: dict[str, Unanswered[str]] = {}
    answered: dict[str, str] = {}
    unmatched: list[ir.ToolResult] = []
    for turn, message in enumerate(messages):
        for part in message.parts:
            if type(part) is ir.ToolCall:
                open.setdefault(part.id, Unanswered()).add(turn, part.name)
            elif type(part) is ir.ToolResult:
                call_id = part.call_id
                name = open[call_id].take() if call_id in open else None
                if name is not None:
                    answered[call_id] = name
                if call_id in answered:
                    names[id(part)] = answered[call_id]
                else:
                    unmatched.append(part)
    return names | {id(result): name for result in unmatched if (name := _next_name(result.call_id, open, answered)) is not None}


def _next_name(call_id: str, open: dict[str, Unanswered[str]], answered: dict[str, str]) -> str | None:
    """Return the name of a call that comes after its result."""
    first = open[call_id].first() if call_id in open else None
    return answered.get(call_id) if first is None else first
