"""What must be known about the turns around a part: which call has which id and name, and what the parts are written for."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Mapping, Set
from dataclasses import dataclass, field
from typing import Any

JsonObject = dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Turn:
    """What is known about the turn that parts are written for.

    ``names``: tools by the ids of their calls. ``is_answer``: it is a response's. ``carries``: it keeps tokens of other formats, tagged.
    ``runs``: ids of the runs of code that this format has too.
    """

    names: Mapping[str, str] = field(default_factory=dict)
    runs: Set[str] = frozenset()
    is_answer: bool = False
    carries: bool = False


class Calls:
    """The calls of a conversation: ids for those that have none, and which call a result answers."""

    __slots__ = ("_answered", "_code", "_names", "_prefix", "_taken", "_waiting")

    def __init__(self, contents: Iterable[JsonObject], prefix: str = "call_") -> None:
        self._prefix = prefix
        self._names: dict[str, str] = {}
        self._waiting: dict[str, deque[str]] = {}
        self._answered: set[str] = set()
        self._code = ""
        self._taken = {
            call["id"]
            for content in contents
            for part in content.get("parts") or ()
            if (call := part.get("functionCall")) is not None and call.get("id")
        }

    def make_id(self, place: str) -> str:
        """Return the id of a thing at a place that has none; the same for the same place, and never one that is taken."""
        made = f"{self._prefix}{place}"
        while made in self._taken:
            made += "_x"
        return made

    def note(self, call_id: str, name: str) -> None:
        """Remember a call that waits for its result."""
        self._names[call_id] = name
        self._waiting.setdefault(name, deque()).append(call_id)

    def answer(self, call_id: str | None, name: str) -> str | None:
        """Return the id of the call that a result answers: its own, else the first unanswered one of that name; None: there is none."""
        waiting = self._waiting.get(name)
        while not call_id and waiting:
            first = waiting.popleft()
            call_id = None if first in self._answered else first
        if call_id:
            self._answered.add(call_id)
        return call_id or None

    def name_of(self, call_id: str) -> str | None:
        """Return the name of a call."""
        return self._names.get(call_id)

    def code_id(self, place: str | None) -> str:
        """Return the id of a run of code: a new one for a place, else that of the last run."""
        if place is not None:
            self._code = f"code_{place}"
        return self._code or "code"
