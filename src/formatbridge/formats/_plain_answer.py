"""The plain answer, which most are: a text, calls behind it, and an end, with nothing else to lose on them but the ids of items."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from formatbridge import ir
from formatbridge.losses import Ledger

PlainAnswer = tuple[ir.Text | None, list[ir.ToolCall], bool]
"""An answer that encoders write as it is: its text, if it has any; the calls behind it; whether one of them has the id of an item.

The text is not empty, the calls are of functions with ids of their own, and the end needs no more than a word.
"""
ITS_CALLS: Final = 1
HAS_ITEMS: Final = 2

_ITEM_IDS: Mapping[type, str] = {ir.Text: "id", ir.ToolCall: "item_id"}
"""Where texts and calls have the id of the item around them."""


def plain_answer(text: ir.Text | None, calls: list[ir.ToolCall], *, has_items: bool = False) -> PlainAnswer | None:
    """Return what is known to be a plain answer but for the ids of its calls, unless two of them share one."""
    is_plain = len(calls) < 2 or len({call.id for call in calls}) == len(calls)
    return (text, calls, has_items) if is_plain else None


def plain_answer_of(response: ir.Response) -> PlainAnswer | None:
    """Return an answer's text and calls if it is a plain one; None for any other."""
    if len(response.choices) != 1 or response.error:
        return None
    choice = response.choices[0]
    finish, text = choice.finish, None
    if choice.extra or choice.logprobs or choice.refusal_logprobs or (finish and (finish.extra or finish.message)):
        return None
    calls: list[ir.ToolCall] = []
    has_items = False
    for part in choice.parts:
        if type(part) is ir.ToolCall:
            if part.kind != "function" or part.id_made or part.namespace is not None or part.extra or part.cache or part.signature:
                return None
            has_items = has_items or part.item_id is not None
            calls.append(part)
        elif type(part) is ir.Text and text is None and not calls:
            if not part.text or part.extra or part.cache or part.citations or part.signature:
                return None
            text, has_items = part, part.id is not None
        else:
            return None
    return plain_answer(text, calls, has_items=has_items)


def drop_items(parts: list[ir.Part], losses: Ledger) -> None:
    """Note that the ids of the items around the parts of a plain answer stay behind, for formats that have no items."""
    losses.all_dropped(parts, _ITEM_IDS, "diagnostic", severity="info")
