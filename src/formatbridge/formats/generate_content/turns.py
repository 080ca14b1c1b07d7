"""What must be known about the turns around a part: which call has which id and name, and what the parts are written for."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence, Set
from hashlib import sha256
from typing import Any

from formatbridge import ir

JsonObject = dict[str, Any]


class Turn:
    """What is known about the turn that parts are written for.

    ``is_answer``: it is a response's. ``carries``: it keeps tokens of other formats, tagged. ``runs``: ids of the runs of code that this
    format has too.
    """

    __slots__ = ("_messages", "_names", "carries", "is_answer", "runs")

    def __init__(
        self, messages: Sequence[ir.Message] = (), runs: Set[str] = frozenset(), *, is_answer: bool = False, carries: bool = False
    ) -> None:
        self._messages = messages
        self._names: dict[str, str] | None = None  # most conversations need none, so they are collected on demand
        self.runs = runs
        self.is_answer = is_answer
        self.carries = carries

    def name_of(self, call_id: str) -> str | None:
        """Return the name of the tool that a call of the conversation is for."""
        if self._names is None:
            self._names = {part.id: part.name for message in self._messages for part in message.parts if type(part) is ir.ToolCall}
        return self._names.get(call_id)


class Calls:
    """The calls of a conversation: ids for those that have none, and which call a result answers."""

    __slots__ = ("_answered", "_code", "_contents", "_names", "_noted", "_number", "_prefix", "_response_id", "_taken", "_waiting")

    def __init__(self, contents: Sequence[JsonObject], response_id: str | None = None, number: int | None = None) -> None:
        self._contents = contents
        self._response_id = response_id
        self._number = number
        self._taken: set[str] | None = None  # this and the prefix are worked out when an id must be made
        self._prefix = ""
        self._names: dict[str, str] = {}
        self._noted: list[tuple[str, str]] = []  # sorted into those that wait when a result comes without an id
        self._waiting: dict[str, deque[str]] = {}
        self._answered: set[str] = set()
        self._code = ""

    def make_id(self, src: str) -> str:
        """Return the id of a part that has none; the same for the same pointer, and never one that is taken.

        An answer's begin with what tells it and its candidate from others.
        """
        taken = self._taken if self._taken is not None else self._look_around()
        made = f"{self._prefix}{_place_of(src)}"
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
        self._names[call_id] = name
        self._noted.append((call_id, name))

    def answer(self, call_id: str | None, name: str) -> str | None:
        """Return the id of the call that a result answers: its own, else the first unanswered one of that name; None: there is none."""
        if not call_id:
            call_id = self._first_waiting(name)
        if call_id:
            self._answered.add(call_id)
        return call_id

    def _first_waiting(self, name: str) -> str | None:
        for noted_id, noted_name in self._noted:
            self._waiting.setdefault(noted_name, deque()).append(noted_id)
        self._noted.clear()
        waiting = self._waiting.get(name)
        while waiting:
            first = waiting.popleft()
            if first not in self._answered:
                return first
        return None

    def name_of(self, call_id: str) -> str | None:
        """Return the name of a call."""
        return self._names.get(call_id)

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
