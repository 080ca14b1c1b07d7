"""How several choices are numbered, which of them a format writes, and when: those with room for one the first by number."""

from __future__ import annotations

from dataclasses import replace
from operator import itemgetter
from typing import TypeGuard, TypeVar, get_args

from formatbridge.ir import events
from formatbridge.jsontext.types import JsonObject

T = TypeVar("T")


class Numbers:
    """Numbers choices in the order in which they come.

    A negative number says as little as none, so from the first of them on choices are counted, whatever numbers they have.
    """

    def __init__(self) -> None:
        self._most = -1
        self._counts = False

    def next(self, given: int) -> int:
        """Return the number of a choice that comes with this one."""
        self._counts = self._counts or given < 0
        number = self._most + 1 if self._counts else given
        self._most = max(self._most, number)
        return number


def numbered(given: list[int]) -> list[int]:
    """Return the numbers of the choices of a whole answer; where two have the same, as where a server leaves them out, their places."""
    if len(given) == 1:  # nearly always
        return [max(given[0], 0)]
    numbers = Numbers()
    made = [numbers.next(each) for each in given]
    return made if _are_apart(made) else list(range(len(made)))


def told_apart(given: list[int]) -> list[int]:
    """Return the numbers with which the choices of a whole answer are told, those that tell them apart as they are."""
    return given if _are_apart(given) else numbered(given)


def _are_apart(numbers: list[int]) -> bool:
    return len(set(numbers)) == len(numbers)


def in_order(choices: dict[int, T]) -> list[T]:
    """Return choices by their numbers; given are those that they came with, in the order in which they came."""
    with_offset = dict(zip(numbered([*choices]), choices.values(), strict=True))
    return [choice for _, choice in sorted(with_offset.items(), key=itemgetter(0))]


_OF_A_CHOICE = frozenset(get_args(events.PartEvent))


def is_of_a_choice(event: events.Event) -> TypeGuard[events.PartEvent]:
    """Say whether an event is of one choice, as nearly all are; to ask ``isinstance`` for one of seven types takes twice the time."""
    return type(event) in _OF_A_CHOICE


class FirstChoice:
    """Passes on the events of choice 0, or, where a stream ends without one, of the first choice that there is.

    What comes of others before the first event of choice 0 is kept so long. ``number``: the choice that is written; None: not known yet.
    """

    def __init__(self) -> None:
        self.number: int | None = None
        self._kept: list[events.PartEvent] = []

    def feed(self, event: events.Event) -> list[events.Event]:
        """Take an event and return those that are to be written now."""
        if is_of_a_choice(event):
            return [event] if event.choice == self.number else self._take(event)
        if self._kept and isinstance(event, events.End | events.Failed):
            self.number = min(kept.choice for kept in self._kept)
            return [*(kept for kept in self._kept if kept.choice == self.number), event]
        return [event]

    def _take(self, event: events.PartEvent) -> list[events.Event]:
        if self.number is None:
            if event.choice:
                self._kept.append(event)
                return []
            self.number, self._kept = event.choice, []
            return [event]
        return []


class ChoicesInOrder:
    """Passes on the events of all choices, and those of each when every choice before it has begun.

    What comes too early is kept so long. Numbers that never come leave no gap: at the end of the stream what was kept moves up.
    """

    def __init__(self) -> None:
        self._begun = 0
        self._kept: dict[int, list[events.PartEvent]] = {}

    def feed(self, event: events.Event) -> list[events.Event]:
        """Take an event and return those that are to be written now."""
        if is_of_a_choice(event):
            return self._take(event)
        made: list[events.Event] = []
        if self._kept and isinstance(event, events.End | events.Failed):
            for _, kept in sorted(self._kept.items()):
                made += [replace(each, choice=self._begun) for each in kept]
                self._begun += 1
            self._kept = {}
        return [*made, event]

    def _take(self, event: events.PartEvent) -> list[events.Event]:
        if event.choice < self._begun:
            return [event]
        self._kept.setdefault(event.choice, []).append(event)
        made: list[events.Event] = []
        while self._begun in self._kept:
            made += self._kept.pop(self._begun)
            self._begun += 1
        return made


def head_of(raw: JsonObject, time: str) -> tuple[str | None, str | None, float | None]:
    """Return the id, the model and the time that an object names; what is of another type names nothing, as in events that nobody knows.

    ``time``: the key of the last, in seconds since the epoch.
    """
    id, model, created = raw.get("id"), raw.get("model"), raw.get(time)
    return (
        id if isinstance(id, str) and id else None,
        model if isinstance(model, str) and model else None,
        created if isinstance(created, int | float) and not isinstance(created, bool) else None,
    )


def name_late(
    known: events.Start, id: str | None, model: str | None, created: float | None, made: list[events.Event]
) -> events.Start:
    """Tell what a start left out and an event says now; return what is known from then on. What was told first stays."""
    if known.id and known.model and known.created:
        return known
    told = events.Named(
        id=None if known.id else id or None,
        model=None if known.model else model or None,
        created=None if known.created else created or None,
    )
    if not (told.id or told.model or told.created):
        return known
    made.append(told)
    return replace(known, id=told.id or known.id, model=told.model or known.model, created=told.created or known.created)
