"""Ids of calls that have none, and which call a result answers."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from hashlib import sha256

from formatbridge.formats.shared.unique_names import made_call_id
from formatbridge.jsontext.types import JsonObject


class Calls:
    """The calls of a conversation: ids for those that have none, and which call a result answers."""

    __slots__ = ("_code", "_contents", "_names", "_number", "_open", "_prefix", "_response_id", "_single", "_taken", "_waiting")

    def __init__(self, contents: Sequence[JsonObject], response_id: str | None = None, number: int | None = None) -> None:
        self._contents = contents
        self._response_id = response_id
        self._number = number
        self._taken: set[str] | None = None  # this and the prefix are worked out when an id must be made
        self._prefix = ""
        self._names: dict[str, str] = {}
        self._single: dict[str, str] | None = {}  # id to name of the calls that wait, while no two have one id
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
        if self._single is not None and call_id not in self._single:
            self._single[call_id] = name
            return
        self._open_all()
        names = self._open.setdefault(call_id, {})
        names[name] = names.get(name, 0) + 1
        self._waiting.setdefault(name, deque()).append(call_id)

    def _open_all(self) -> None:
        """Keep calls by name, too, from here on: an id alone does not tell them apart."""
        single, self._single = self._single or {}, None
        for call_id, name in single.items():
            self.note(call_id, name)

    def answer(self, call_id: str | None, name: str) -> tuple[str | None, str | None]:
        """Return id and name of the call that a result answers, each None where there is none.

        Of calls that share an id it is an unanswered one of the result's name, else the latest that is unanswered. A result without an id
        answers the first unanswered call of its name.
        """
        if call_id and self._single is not None:
            called = self._single.pop(call_id, None)
            if called is not None:
                self._names[call_id] = called
            return call_id, self._names.get(call_id)
        self._open_all()
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
