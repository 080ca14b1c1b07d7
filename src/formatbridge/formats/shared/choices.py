"""Number the choices of a response, and order their events.

Some targets have one choice only, others require choices in the order of their numbers.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TypeGuard, get_args

from formatbridge.ir import events
from formatbridge.jsontext.types import JsonObject


class ChoiceNumbers:
    """Assigns numbers to choices in the order of their arrival.

    From the first negative number on, choices are counted, and their numbers in the source are ignored.
    """

    def __init__(self) -> None:
        self._highest = -1
        self._ignores_source_numbers = False

    def next(self, raw: int) -> int:
        """Return the number of the next choice. ``raw``: its number in the source."""
        self._ignores_source_numbers = self._ignores_source_numbers or raw < 0
        number = self._highest + 1 if self._ignores_source_numbers else raw
        self._highest = max(self._highest, number)
        return number


def assign_numbers(raw: list[int]) -> list[int]:
    """Return the numbers of the choices of a whole answer. If two are equal, because a server omits them, return their indexes."""
    # Proto3 JSON omits an index of 0 (protobuf.dev/programming-guides/json), and some servers omit every index (fixture
    # text_bare_candidates).
    if len(raw) == 1:  # nearly always
        return [max(raw[0], 0)]
    numbers = ChoiceNumbers()
    result = [numbers.next(each) for each in raw]
    return result if _are_unique(result) else list(range(len(result)))


def assign_numbers_if_repeated(raw: list[int]) -> list[int]:
    """Return the numbers of the choices of a whole answer, unchanged if no two are equal, else as ``assign_numbers`` does."""
    return raw if _are_unique(raw) else assign_numbers(raw)


def _are_unique(numbers: list[int]) -> bool:
    return len(set(numbers)) == len(numbers)


_PART_EVENTS = frozenset(get_args(events.PartEvent))


def is_part_event(event: events.Event) -> TypeGuard[events.PartEvent]:
    """Return whether an event belongs to one choice, as nearly all do."""
    return type(event) in _PART_EVENTS


class FirstChoice:
    """Selects the events of choice 0, or of the lowest choice if a stream ends without choice 0.

    Events of other choices are pending until the first event of choice 0. ``number``: the selected choice; None: not known yet.
    """

    def __init__(self) -> None:
        # A stream with several choices interleaves their events, and choice 0 need not be the first.
        self.number: int | None = None
        self._pending: list[events.PartEvent] = []

    def feed(self, event: events.Event) -> list[events.Event]:
        """Process an event and return the events that can be written now."""
        if is_part_event(event):
            return [event] if event.choice == self.number else self._take(event)
        if self._pending and isinstance(event, events.End | events.Failed):
            self.number = min(each.choice for each in self._pending)
            return [*(each for each in self._pending if each.choice == self.number), event]
        return [event]

    def _take(self, event: events.PartEvent) -> list[events.Event]:
        if self.number is None:
            if event.choice:
                self._pending.append(event)
                return []
            self.number, self._pending = event.choice, []
            return [event]
        return []


def read_id_model_time(raw: JsonObject, time: str) -> tuple[str | None, str | None, float | None]:
    """Return the id, the model and the time of an object; None for a value of another type, as in unknown events.

    ``time``: the key of the time, in seconds since the epoch.
    """
    id, model, created = raw.get("id"), raw.get("model"), raw.get(time)
    return (
        id if isinstance(id, str) and id else None,
        model if isinstance(model, str) and model else None,
        created if isinstance(created, int | float) and not isinstance(created, bool) else None,
    )


def fill_missing_head(
    known: events.Start, id: str | None, model: str | None, created: float | None, result: list[events.Event]
) -> events.Start:
    """Append an event with the values that a start did not have and a later event has.

    Return all known values; each field keeps its first value.
    """
    if known.id and known.model and known.created:
        return known
    named = events.StartUpdate(
        id=None if known.id else id or None,
        model=None if known.model else model or None,
        created=None if known.created else created or None,
    )
    if not (named.id or named.model or named.created):
        return known
    result.append(named)
    return replace(known, id=named.id or known.id, model=named.model or known.model, created=named.created or known.created)
