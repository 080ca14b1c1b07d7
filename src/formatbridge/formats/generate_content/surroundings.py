"""What encoders of parts must know of the request or answer around them."""

from __future__ import annotations

from collections.abc import Sequence, Set

from formatbridge import ir
from formatbridge.formats.shared.tool_arguments import NOT_READ, Objects
from formatbridge.formats.shared.tool_results import Unanswered
from formatbridge.options import Severity


class Surroundings:
    """What is known of the request or answer that parts are written for, and of its calls.

    ``is_answer``: it is an answer. ``carries``: it keeps tokens of other formats, tagged. ``runs``: ids of the runs of code that this
    format has too. ``made_ids``: those of calls to which no source gave one. ``objects``: the arguments of its calls, as far as they have
    been read. ``refusal_cost``: what it costs that a refusal is text here.
    """

    __slots__ = ("_messages", "_names", "_paired", "carries", "is_answer", "made_ids", "objects", "refusal_cost", "runs")

    def __init__(
        self,
        messages: Sequence[ir.Message] = (),
        runs: Set[str] = frozenset(),
        *,
        is_answer: bool = False,
        carries: bool = False,
        objects: Objects = NOT_READ,
        refusal_cost: Severity = "lossy",
    ) -> None:
        self._messages = messages
        self._names: dict[str, str] | None = None  # most conversations need none, so they are collected on demand
        self._paired: dict[int, str] | None = None  # where ids repeat
        self.made_ids: set[str] = set()
        self.runs = runs
        self.is_answer = is_answer
        self.carries = carries
        self.objects = objects
        self.refusal_cost = refusal_cost

    def name_of(self, result: ir.ToolResult) -> str | None:
        """Return the name of the tool whose call a result of the conversation answers."""
        if self._names is None:
            calls = [part for message in self._messages for part in message.parts if type(part) is ir.ToolCall]
            self._names = {call.id: call.name for call in calls}
            self._paired = _names_of_results(self._messages) if len(self._names) < len(calls) else None
        return self._names.get(result.call_id) if self._paired is None else self._paired.get(id(result))


def _names_of_results(messages: Sequence[ir.Message]) -> dict[int, str]:
    """Return, by ``id()``, the names of the calls that results answer.

    Ids repeat: some servers count calls anew in each answer. A second result of a call belongs to that call again; one that stands before
    every call of its id, to the next.
    """
    names: dict[int, str] = {}
    open: dict[str, Unanswered[str]] = {}
    last: dict[str, str] = {}
    early: list[ir.ToolResult] = []
    for turn, message in enumerate(messages):
        for part in message.parts:
            if type(part) is ir.ToolCall:
                open.setdefault(part.id, Unanswered()).add(turn, part.name)
            elif type(part) is ir.ToolResult:
                call_id = part.call_id
                name = open[call_id].take() if call_id in open else None
                if name is not None:
                    last[call_id] = name
                if call_id in last:
                    names[id(part)] = last[call_id]
                else:
                    early.append(part)
    return names | {id(result): name for result in early if (name := _next_name(result.call_id, open, last)) is not None}


def _next_name(call_id: str, open: dict[str, Unanswered[str]], last: dict[str, str]) -> str | None:
    first = open[call_id].first() if call_id in open else None
    return last.get(call_id) if first is None else first
