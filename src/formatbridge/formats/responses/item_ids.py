"""Ids of items: the target requires them, and the same input gets the same ids."""

from __future__ import annotations

from formatbridge import ir
from formatbridge.report.ledger import Ledger


class ItemIds:
    """Hands out ids. In a request they are numbered as they are needed; in an answer they hold its id and the item's place.

    It also notes which calls came without one, and whose results are free-form. ``customs``: the ids of free-form calls.
    """

    __slots__ = ("_at", "_count", "_losses", "_made", "_stem", "customs")

    def __init__(self, at: str, stem: str, losses: Ledger) -> None:
        self._at = at
        self._stem = stem
        self._losses = losses
        self._count = 0
        self._made: set[str] = set()
        self.customs: set[str] = set()

    def make(self, prefix: str, index: int) -> str:
        """Return an id for the item at ``index`` of the target's list, and note that it was added."""
        if self._stem:
            made = f"{prefix}_{self._stem}{index}"
        else:
            made = f"{prefix}_{self._count}"
            self._count += 1
        self._losses.added(f"{self._at}/{index}/id", made)
        return made

    def note_call(self, call: ir.ToolCall, index: int) -> None:
        """Note the id of the call at ``index`` where the source has none, and what kind of result belongs to it."""
        if call.kind == "custom":
            self.customs.add(call.id)
        if call.has_generated_id:
            self._made.add(call.id)
            self._losses.added(f"{self._at}/{index}/call_id", call.id)

    def note_result(self, result: ir.ToolResult, index: int) -> None:
        """Note the id of the result at ``index`` where neither it nor its call has one."""
        if result.has_generated_id or result.call_id in self._made:
            self._losses.added(f"{self._at}/{index}/call_id", result.call_id)
