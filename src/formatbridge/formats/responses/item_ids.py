"""Ids of output and input items: the format requires them, and equal inputs get equal ids."""

from __future__ import annotations

from formatbridge import ir
from formatbridge.report.ledger import Ledger


class ItemIds:
    """Generates item ids and notes them as additions. It also notes generated call ids.

    ``list_path``: JSON pointer of the list of items. ``stem``: the part of each id that names the response; empty in a request, where ids
    are counted. ``kinds``: the ids of calls to their kinds, whose results have another type than those of functions.
    """

    __slots__ = ("_count", "_generated", "_list_path", "_losses", "_stem", "kinds")

    def __init__(self, list_path: str, stem: str, losses: Ledger) -> None:
        self._list_path = list_path
        self._stem = stem
        self._losses = losses
        self._count = 0
        self._generated: set[str] = set()
        self.kinds: dict[str, str] = {}

    def generate(self, prefix: str, index: int) -> str:
        """Return an id for the item at ``index`` of the target list, and note it as an addition."""
        # In a response, the id of the response makes the ids unique in a conversation. A request has no id, so they are counted.
        if self._stem:
            item_id = f"{prefix}_{self._stem}{index}"
        else:
            item_id = f"{prefix}_{self._count}"
            self._count += 1
        self._losses.added(f"{self._list_path}/{index}/id", item_id)
        return item_id

    def note_call(self, call: ir.ToolCall, index: int) -> None:
        """Note the generated id of the call at ``index``, and its kind."""
        # A result has the type of its call. Other formats have one type of result only.
        if call.kind != "function":
            self.kinds[call.id] = call.kind
        if call.has_generated_id:
            self._generated.add(call.id)
            self._losses.added(f"{self._list_path}/{index}/call_id", call.id)

    def note_result(self, result: ir.ToolResult, index: int) -> None:
        """Note the id of the result at ``index`` if it was generated for the result or its call."""
        if result.has_generated_id or result.call_id in self._generated:
            self._losses.added(f"{self._list_path}/{index}/call_id", result.call_id)
