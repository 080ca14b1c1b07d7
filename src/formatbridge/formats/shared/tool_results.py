"""Assign each tool result to its call, and move results directly after their calls, as Anthropic's server requires ("Handle tool calls").

Ids repeat, because some servers count calls from the start in each answer (fixture tools_ids_repeat). A result belongs to the nearest
earlier turn that has an unanswered call with its id, and in that turn to the first such call (``Unanswered``). For the order of results
only the turn matters. A result without such a call is an orphan, and so is a call without a result. The vendors' servers reject both
(``docs/testing.md``, ``orphan_result`` and ``unanswered_call``), so they keep their places and are reported.
"""

from __future__ import annotations

from collections import defaultdict, deque
from dataclasses import replace
from typing import Generic, TypeVar

from formatbridge import ir
from formatbridge.formats.shared.unmodelled_fields import merge_extra, read_extra
from formatbridge.report.ledger import WHOLE_NODE, Ledger

_Group = list[ir.Message]
_Open = dict[str, list[tuple[ir.ToolCall, _Group]]]
"""The calls without a result, by id, with their groups."""
_MARK = frozenset({WHOLE_NODE})
_Call = TypeVar("_Call")


class Unanswered(Generic[_Call]):
    """The calls of one id that wait for a result. It belongs to the nearest earlier turn with such calls, in the order of its calls."""

    __slots__ = ("_turns",)

    def __init__(self) -> None:
        self._turns: list[tuple[int, deque[_Call]]] = []

    def add(self, turn: int, call: _Call) -> None:
        """Add a waiting call of a turn; turns are added in their order."""
        if not self._turns or self._turns[-1][0] != turn:
            self._turns.append((turn, deque()))
        self._turns[-1][1].append(call)

    def take(self) -> _Call | None:
        """Remove and return the call of the next result; None if none waits."""
        if not self._turns:
            return None
        waiting = self._turns[-1][1]
        call = waiting.popleft()
        if not waiting:
            self._turns.pop()
        return call

    def first(self) -> _Call | None:
        """Return the call that has waited longest; None if none waits."""
        return self._turns[0][1][0] if self._turns else None


def pair_results_without_ids(messages: list[ir.Message]) -> None:
    """Set the call ids of results that have none, or only the name of a function.

    A result without an id belongs to the first call without a result whose id no other result has. If the result has a name or a
    namespace, the call must have the same. Fields that differ from those of the call become unmodelled fields.
    """
    # Gemini and Responses allow a result without an id (official SDKs): {"functionResponse": {"name": "f", "response": {...}}}.
    waiting = _Waiting()
    calls: dict[str, ir.ToolCall] = {}
    results = [part for message in messages for part in message.parts if type(part) is ir.ToolResult]
    named_ids = {part.call_id for part in results if not part.has_generated_id}
    for message in messages:
        for part in message.parts:
            if type(part) is ir.ToolCall:
                calls[part.id] = part
                if part.has_generated_id or part.id not in named_ids:
                    waiting.add(part)
            elif type(part) is ir.ToolResult:
                if part.has_generated_id and (call := waiting.take(part.name, part.namespace)):
                    part.call_id, part.has_generated_id, part.extra = call.id, False, read_extra(part.extra or {}, _MARK)
                _reconcile_name(part, calls.get(part.call_id))


def _reconcile_name(result: ir.ToolResult, call: ir.ToolCall | None) -> None:
    """Remove the name of a result if its call has the same, and set the namespace of the call. Without a call the name stays."""
    other: dict[str, str | None] = {}
    if call is not None and result.name not in (None, call.name):
        other["name"], result.name = result.name, None
    namespace = call.namespace if call is not None else None
    if result.namespace not in (None, namespace):
        other["namespace"] = result.namespace
    result.namespace = namespace if result.name is not None else None
    result.extra = merge_extra(other, result.extra)


class _Waiting:
    """The calls that wait for a result, in their order: by name, by namespace, by both, and all."""

    def __init__(self) -> None:
        self._queues: defaultdict[tuple[str | None, str | None], deque[ir.ToolCall]] = defaultdict(deque)
        self._taken: set[int] = set()

    def add(self, call: ir.ToolCall) -> None:
        """Add a waiting call."""
        # A result may have a name, a namespace, both or neither, so each combination has a queue.
        for key in {(None, None), (call.name, None), (None, call.namespace), (call.name, call.namespace)}:
            self._queues[key].append(call)

    def take(self, name: str | None, namespace: str | None) -> ir.ToolCall | None:
        """Remove and return the first call of a name and a namespace; None means any."""
        queue = self._queues.get((name, namespace))
        while queue:
            call = queue.popleft()
            if id(call) not in self._taken:
                self._taken.add(id(call))
                return call
        return None


def with_results_in_place(messages: list[ir.Message], losses: Ledger, *, joins_turns: bool) -> list[ir.Message]:
    """Return a conversation with results directly after the turns of their calls; the same list if they are there already.

    ``joins_turns``: consecutive turns of the model become one turn in the target.
    """
    # Gemini: "number of function response parts is equal to the number of function call parts" (microsoft/vscode#299295).
    # Anthropic requires the results first in the next user turn (documentation of tool use).
    if not _has_misplaced(messages, joins_turns):
        return messages
    groups, orphans = _group_results(messages, joins_turns)
    for part in orphans:
        note_orphan(part, losses)
    return [message for group in groups for message in group]


def note_orphan(part: ir.ToolCall | ir.ToolResult, losses: Ledger) -> None:
    """Note that no call without a result is before a result, or that no later result belongs to a call."""
    if isinstance(part, ir.ToolCall):
        losses.changed(part, "", {"id": part.id, "name": part.name}, "orphan", severity="impossible")
    elif not (part.extra and WHOLE_NODE in part.extra):  # without an id it names no call, and its format reports that
        losses.changed(part, "", part.call_id, "orphan", severity="impossible")


def _has_misplaced(messages: list[ir.Message], joins_turns: bool) -> bool:
    """Return whether a result may be elsewhere than after its call and the other results, or a call may have none.

    This is a fast check.
    """
    waiting_ids: set[str] = set()
    is_answered = is_over = False
    for message in messages:
        if message.role == "assistant":
            if waiting_ids and (is_answered or not joins_turns):
                return True
            is_answered = is_over = False
            if _add_calls_until_repeated(message.parts, waiting_ids):
                return True
            continue
        count, has_other_parts = len(waiting_ids), not message.parts
        for part in message.parts:
            if type(part) is not ir.ToolResult:
                has_other_parts = True
            elif is_over or part.call_id not in waiting_ids:
                return True
            else:
                waiting_ids.remove(part.call_id)
        # These results belong to the earlier ones, and not to the rest of the turn.
        if has_other_parts and is_answered and len(waiting_ids) < count:
            return True
        is_over = is_over or has_other_parts
        if not is_answered:
            is_answered = message.role not in ("system", "developer")
    return bool(waiting_ids)


def _add_calls_until_repeated(parts: list[ir.Part], waiting_ids: set[str]) -> bool:
    """Add the ids of the calls of a turn to the known ids, up to one that is known already. Return whether there is one."""
    for part in parts:
        if type(part) is ir.ToolCall:
            if part.id in waiting_ids:
                return True
            waiting_ids.add(part.id)
    return False


def _group_results(messages: list[ir.Message], joins_turns: bool) -> tuple[list[_Group], list[ir.ToolCall | ir.ToolResult]]:
    """Return the groups of the conversation, each a turn of the model with its results or another turn; and the orphans."""
    # A group is a list, so results that come later are appended to the turn of their call.
    groups: list[_Group] = []
    orphans: list[ir.ToolCall | ir.ToolResult] = []
    open: _Open = {}
    model_turn: _Group | None = None  # the current turn of the model
    for message in messages:
        if message.role == "assistant":
            if model_turn is None or not joins_turns:
                model_turn = []
                groups.append(model_turn)
            model_turn.append(message)
            for part in message.parts:
                if type(part) is ir.ToolCall:
                    open.setdefault(part.id, []).append((part, model_turn))
        else:
            if message.role not in ("system", "developer"):
                model_turn = None
            left = _without_results(message, open, orphans)
            if left is not None:
                groups.append([left])
    return groups, orphans + [call for calls in open.values() for call, _ in calls]


def _without_results(message: ir.Message, open: _Open, orphans: list[ir.ToolCall | ir.ToolResult]) -> ir.Message | None:
    """Move the results of a turn to the groups of their calls. Return the rest of the turn, or None.

    Other fields of the turn stay with one of them.
    """
    others: list[ir.Part] = []
    moved: list[tuple[ir.Part, _Group]] = []
    for part in message.parts:
        if type(part) is not ir.ToolResult:
            others.append(part)
        elif open.get(part.call_id):
            moved.append((part, open[part.call_id].pop()[1]))
        else:
            others.append(part)
            orphans.append(part)
    extra = None if others else message.extra
    for part, group in moved:
        group.append(message if len(message.parts) == 1 else ir.Message(message.role, [part], message.src, extra))
        extra = None
    if not moved:
        return message
    return replace(message, parts=others) if others else None
