"""Ids of the calls in one answer: no two calls share one, for each is what its result names."""

from __future__ import annotations

from dataclasses import replace

from formatbridge import ir
from formatbridge.ir import events
from formatbridge.losses import Ledger


class CallIds:
    """Tells the calls of one choice apart: of several with one id the later ones get a number behind it."""

    def __init__(self) -> None:
        self._taken: dict[str, int] = {}

    def give(self, call_id: str) -> str:
        """Return the id of the next call."""
        given, count = call_id, self._taken.get(call_id, 0)
        while given in self._taken:
            count += 1
            given = f"{call_id}_{count}"
        self._taken[call_id] = max(count, 1)
        self._taken.setdefault(given, 1)
        return given


def tell_apart(response: ir.Response, target: ir.Format, losses: Ledger) -> ir.Response:
    """Give each call of an answer an id of its own; in its own format it stays as it is."""
    if response.format == target or not any(map(_repeats_an_id, response.choices)):  # nearly always
        return response
    return replace(response, choices=[_told_apart(choice, losses) for choice in response.choices])


def _repeats_an_id(choice: ir.Choice) -> bool:
    ids = [part.id for part in choice.parts if type(part) is ir.ToolCall]
    return len(ids) > 1 and len(set(ids)) < len(ids)


def _told_apart(choice: ir.Choice, losses: Ledger) -> ir.Choice:
    ids = CallIds()
    return replace(choice, parts=[_with_id(part, ids, losses) if isinstance(part, ir.ToolCall) else part for part in choice.parts])


def _with_id(call: ir.ToolCall, ids: CallIds, losses: Ledger) -> ir.ToolCall:
    given = ids.give(call.id)
    if given == call.id:
        return call
    return replace(call, id=losses.changed(call, "id", given, "repeated_id", severity="info"))


class CallsApart:
    """Does for a stream what ``tell_apart`` does for an answer. The events that are given are changed."""

    def __init__(self) -> None:
        self._ids: dict[int, CallIds] = {}
        self._given: dict[tuple[int, int], str] = {}

    def feed(self, event: events.PartStart | events.PartEnd) -> None:
        """Give the call that an event tells of its id."""
        part, place = event.part, (event.choice, event.index)
        if not isinstance(part, ir.ToolCall):
            return
        if isinstance(event, events.PartStart):
            self._given[place] = self._ids.setdefault(event.choice, CallIds()).give(part.id)
        if part.id != self._given.get(place, part.id):
            event.part = replace(part, id=self._given[place])
