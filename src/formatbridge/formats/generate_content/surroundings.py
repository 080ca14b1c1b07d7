"""What encoders of parts must know of the request or answer around them."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence, Set

from formatbridge import ir
from formatbridge.formats._arguments import NOT_READ, Objects
from formatbridge.options import Severity


class Surroundings:
    """What is known of the request or answer that parts are written for, and of its calls.

    ``is_answer``: it is an answer. ``carries``: it keeps tokens of other formats, tagged. ``runs``: ids of the runs of code that this
    format has too. ``made_ids``: those of calls to which no source gave one. ``objects``: the arguments of its calls, as far as they have
    been read. ``refusal_cost``: what it costs that a refusal is text here; None: why the answer ended tells all of it.
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
        refusal_cost: Severity | None = "lossy",
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
    """Pair each result with the nearest turn before it that has an unanswered call of its id, and there with the first one.

    Ids repeat: some servers count calls anew in each answer. A second result of a call belongs to that call again; one that stands before
    every call of its id, to the next.
    """
    names: dict[int, str] = {}
    open: dict[str, list[deque[str]]] = {}
    last: dict[str, str] = {}
    early: list[ir.ToolResult] = []
    for message in messages:
        here: dict[str, deque[str]] = {}
        for part in message.parts:
            kind = type(part)
            if kind is ir.ToolCall:
                call_id: str = part.id  # type: ignore[assignment, union-attr]  # a call's
                if call_id not in here:
                    open.setdefault(call_id, []).append(here.setdefault(call_id, deque()))
                here[call_id].append(part.name)  # type: ignore[union-attr, arg-type]
            elif kind is ir.ToolResult:
                call_id = part.call_id  # type: ignore[union-attr]  # a result's
                if open.get(call_id):
                    last[call_id] = _take(open[call_id])
                if call_id in last:
                    names[id(part)] = last[call_id]
                else:
                    early.append(part)  # type: ignore[arg-type]
    later = {call_id: turns[0][0] if turns else last[call_id] for call_id, turns in open.items()} if early else {}
    return names | {id(result): later[result.call_id] for result in early if result.call_id in later}


def _take(turns: list[deque[str]]) -> str:
    """Take the first call of the last turn that has any."""
    first = turns[-1].popleft()
    if not turns[-1]:
        turns.pop()
    return first
