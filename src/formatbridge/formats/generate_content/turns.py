"""What must be known about the turns around a part: which call has which id and name, and what the parts are written for."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence, Set
from hashlib import sha256

from formatbridge import ir
from formatbridge._json import JsonObject
from formatbridge.formats._arguments import NOT_READ, Objects
from formatbridge.formats._ids import made_call_id
from formatbridge.options import Severity


class Turn:
    """What is known about the turn that parts are written for.

    ``is_answer``: it is a response's. ``carries``: it keeps tokens of other formats, tagged. ``runs``: ids of the runs of code that this
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


class Calls:
    """The calls of a conversation: ids for those that have none, and which call a result answers."""

    __slots__ = ("_code", "_contents", "_names", "_noted", "_number", "_open", "_prefix", "_response_id", "_taken", "_waiting")

    def __init__(self, contents: Sequence[JsonObject], response_id: str | None = None, number: int | None = None) -> None:
        self._contents = contents
        self._response_id = response_id
        self._number = number
        self._taken: set[str] | None = None  # this and the prefix are worked out when an id must be made
        self._prefix = ""
        self._names: dict[str, str] = {}
        self._noted: list[tuple[str, str]] = []  # sorted into those that wait when a result comes
        self._open: dict[str, dict[str, int]] = {}  # id to names to how many calls have no result yet
        self._waiting: dict[str, deque[str]] = {}
        self._code = ""

    def make_id(self, src: str, part: JsonObject) -> str:
        """Return the id of a part that has none; the same for the same pointer, and never one that is taken.

        An answer's begin with what tells it and its candidate from others; where it has no id either, its calls tell it from others.
        """
        taken = self._taken if self._taken is not None else self._look_around()
        made = f"{self._prefix}{_place_of(src)}"
        if self._number is not None and not self._response_id:
            made = made_call_id(self._number, _place_of(src), part.get("name"), part.get("args"))
        while made in taken:
            made += "_x"
        return made

    def _look_around(self) -> set[str]:
        answer = f"{sha256(self._response_id.encode()).hexdigest()[:16]}_" if self._response_id else ""
        self._prefix = f"call_{answer}" if self._number is None else f"call_{answer}{self._number}_"
        self._taken = {
            call["id"]
            for content in self._contents
            for part in content.get("parts") or ()
            if (call := part.get("functionCall")) is not None and call.get("id")
        }
        return self._taken

    def note(self, call_id: str, name: str) -> None:
        """Remember a call that waits for its result."""
        self._noted.append((call_id, name))

    def answer(self, call_id: str | None, name: str) -> tuple[str | None, str | None]:
        """Return id and name of the call that a result answers, each None where there is none.

        Of calls that share an id it is an unanswered one of the result's name, else the latest that is unanswered. A result without an id
        answers the first unanswered call of its name.
        """
        for noted_id, noted_name in self._noted:
            names = self._open.setdefault(noted_id, {})
            names[noted_name] = names.get(noted_name, 0) + 1
            self._waiting.setdefault(noted_name, deque()).append(noted_id)
        self._noted.clear()
        if not call_id:
            call_id = self._first_waiting(name)
            return call_id, None if call_id is None else self._close(call_id, name)
        names = self._open.get(call_id, {})
        return call_id, self._close(call_id, name if name in names else next(reversed(names))) if names else self._names.get(
            call_id
        )

    def _close(self, call_id: str, name: str) -> str:
        names = self._open[call_id]
        names[name] -= 1
        if not names[name]:
            del names[name]
        self._names[call_id] = name
        return name

    def _first_waiting(self, name: str) -> str | None:
        waiting = self._waiting.get(name)
        while waiting:
            first = waiting.popleft()
            if name in self._open[first]:
                return first
        return None

    def code_id(self, src: str | None) -> str:
        """Return the id of a run of code: a new one for the code at a pointer, else that of the last run."""
        if src is not None:
            self._code = f"code_{_place_of(src)}"
        return self._code or "code"


def _place_of(src: str) -> str:
    """Name the place of a part in its conversation or answer by the numbers in its pointer."""
    steps = [step for step in src.split("/") if step.isdecimal()]
    if src.startswith("/candidates/"):
        del steps[0]  # the candidate's own number counts, which may be another
    elif src.startswith("/systemInstruction/"):
        steps.insert(0, "system")
    return "_".join(steps)
