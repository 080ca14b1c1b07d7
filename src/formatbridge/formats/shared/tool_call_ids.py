"""Unique ids of tool calls: each result names its call by the id."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from formatbridge import ir
from formatbridge.formats.format import ToolRules
from formatbridge.formats.shared.names import UniqueNames, with_legal_letters
from formatbridge.formats.shared.tool_results import Unanswered
from formatbridge.ir import events
from formatbridge.report.ledger import Ledger


class _CallIds:
    """Returns unique ids for the calls of one choice: of several equal ids the later ones get a number.

    ``reserved``: the ids of the whole choice, which stay with their calls; empty in a stream, where later ids are unknown.
    """

    def __init__(self, reserved: Iterable[str] = ()) -> None:
        self._reserved = frozenset(reserved)
        self._used: set[str] = set()
        self._unique_names = UniqueNames()

    def next_id(self, call_id: str) -> str:
        """Return the id of the next call."""
        # Some servers number the calls of each response from 0, or repeat an id in one response (fixture tools_ids_repeat).
        unique_id = call_id
        if call_id in self._used:
            unique_id = self._unique_names.unique(call_id, self._used, self._reserved)
        self._used.add(unique_id)
        return unique_id


def with_unique_call_ids(response: ir.Response, target: ir.FormatName, losses: Ledger) -> ir.Response:
    """Give each call of an answer a unique id; in the same format ids stay unchanged."""
    for choice in response.choices if response.format != target else ():
        ids = [part.id for part in choice.parts if type(part) is ir.ToolCall]
        if len(ids) > 1 and len(set(ids)) < len(ids):
            return replace(response, choices=[_with_unique_ids(choice, losses) for choice in response.choices])
    return response  # nearly always


def _with_unique_ids(choice: ir.Choice, losses: Ledger) -> ir.Choice:
    ids = _CallIds(part.id for part in choice.parts if isinstance(part, ir.ToolCall))
    return replace(choice, parts=[_with_id(part, ids, losses) if isinstance(part, ir.ToolCall) else part for part in choice.parts])


def _with_id(call: ir.ToolCall, ids: _CallIds, losses: Ledger) -> ir.ToolCall:
    unique_id = ids.next_id(call.id)
    if unique_id == call.id:
        return call
    return replace(call, id=losses.changed(call, "id", unique_id, "repeated_id"))


class UniqueCallIds:
    """Makes call ids in the events of a stream unique, as ``with_unique_call_ids`` does in an answer.

    Ids that were emitted stay. An equal id that arrives later gets a number.
    """

    def __init__(self) -> None:
        self._ids: dict[int, _CallIds] = {}
        self._used: dict[tuple[int, int], str] = {}

    def feed(self, event: events.PartStart | events.PartEnd) -> events.PartStart | events.PartEnd:
        """Return an event with the id of its call."""
        part = event.part
        if type(part) is not ir.ToolCall:
            return event
        place = event.choice, event.index
        if type(event) is events.PartStart:
            if event.choice not in self._ids:
                self._ids[event.choice] = _CallIds()
            self._used[place] = self._ids[event.choice].next_id(part.id)
        if part.id == self._used.get(place, part.id):
            return event
        return replace(event, part=replace(part, id=self._used[place]))


class IdsOfRequest:
    """The target's ids of the calls and results of a whole request. Ids that need no change are kept by their calls."""

    __slots__ = ("_later", "_rules", "_taken", "_target_ids", "_unique_names")

    def __init__(self, rules: ToolRules, messages: list[ir.Message]) -> None:
        parts = [part for message in messages for part in message.parts]
        ids = {part.id for part in parts if type(part) is ir.ToolCall} | {
            part.call_id for part in parts if type(part) is ir.ToolResult
        }
        # All legal ids are taken first, so that a changed id never becomes that of another call.
        self._rules = rules
        self._taken = {call_id for call_id in ids if _is_legal_id(call_id, rules)}
        self._target_ids = {(call_id, 0): call_id for call_id in self._taken}
        self._later = _later_calls(messages) if rules.requires_unique_call_ids else {}
        self._unique_names = UniqueNames()

    def id_for(self, part: ir.ToolCall | ir.ToolResult) -> str:
        """Return the id of a call, the same for its result and never one that is taken."""
        call_id = part.id if isinstance(part, ir.ToolCall) else part.call_id
        place = call_id, self._later.get(id(part), 0)
        known = self._target_ids.get(place)
        if known is not None:
            return known
        longest = self._rules.longest_call_id
        base = call_id if _is_legal_id(call_id, self._rules) else with_legal_letters(call_id, longest) or "call"
        unique_id = self._target_ids[place] = self._unique_names.unique(base, self._taken, longest=longest)
        self._taken.add(unique_id)
        return unique_id

    def repeats(self, part: ir.ToolCall | ir.ToolResult) -> bool:
        """Return whether a part is a later call with the same id, or the result of one."""
        return id(part) in self._later


def _is_legal_id(call_id: str, rules: ToolRules) -> bool:
    """Return whether the target takes an id unchanged."""
    if rules.call_id is None:
        return rules.longest_call_id is None or len(call_id) <= rules.longest_call_id
    if rules.longest_call_id is not None and len(call_id) > rules.longest_call_id:
        return False
    # ``isidentifier`` is faster than the pattern, which also allows a digit first and a hyphen.
    return (call_id.isascii() and call_id.isidentifier()) or rules.call_id.fullmatch(call_id) is not None


def are_legal_ids(ids: set[str], rules: ToolRules) -> bool:
    """Return whether the target takes all of these ids unchanged."""
    if rules.call_id is None and rules.longest_call_id is None:
        return True
    letters = "".join(ids)  # one check for all ids
    if rules.longest_call_id is None and "" not in ids and letters.isascii() and letters.isidentifier():
        return True
    return all(_is_legal_id(call_id, rules) for call_id in ids)


def _later_calls(messages: list[ir.Message]) -> dict[int, int]:
    """Count the calls of each id. Return the number of each later call, from 1, by ``id()``, and the same for their results.

    A result without a waiting call belongs to the last call before it.
    """
    counts: dict[str, int] = {}
    open: dict[str, Unanswered[int]] = {}
    later: dict[int, int] = {}
    for turn, message in enumerate(messages):
        for part in message.parts:
            if type(part) is ir.ToolCall:
                count = counts.get(part.id, 0)
                counts[part.id] = count + 1
                open.setdefault(part.id, Unanswered()).add(turn, count)
            elif type(part) is ir.ToolResult and part.call_id in open:
                answered = open[part.call_id].take()
                count = counts[part.call_id] - 1 if answered is None else answered
            else:
                continue
            if count:
                later[id(part)] = count
    return later
