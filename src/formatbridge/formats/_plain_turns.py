"""Plain conversations that nobody has checked, in the formats whose turns have a role and one content each."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from formatbridge import ir
from formatbridge._pointers import KNOWN, known_places
from formatbridge.formats._talk import AFTER, CALLS, FEW, LAST, RESULTS, Talk, Use

PlainTurn = tuple[Use, list[ir.Part]]
"""A turn: what it is to those around it, and its parts."""
_PLACES = known_places("/messages", "content")


def read_turns(
    given: object,
    messages: list[ir.Message],
    last: Use,
    decode_turn: Callable[[Any, str, list[ir.ToolCall], int], PlainTurn | None],
) -> Talk | None:
    """Read turns that nobody has checked, behind the ``last`` of some ``messages``, if they are a plain conversation; None for any other.

    ``decode_turn`` reads one that is more than a role and a text: an object, its pointer, the calls so far, to which it adds its own,
    and how many of them have a result.
    """
    if type(given) is not list or (len(given) > FEW and not _may_end(given[-1])):
        return None
    calls: list[ir.ToolCall] = []
    answered = 0
    for index, raw in enumerate(given):
        if type(raw) is not dict:
            return None
        role, content = raw.get("role"), raw.get("content")
        src, place = _PLACES[index] if index < KNOWN else (f"/messages/{index}", f"/messages/{index}/content")
        if type(role) is not str:
            return None
        if type(content) is str and len(raw) == 2:
            if not content or content.isspace() or role not in AFTER[last]:
                return None
            messages.append(ir.Message(role, [ir.Text(content, place)], src))  # type: ignore[arg-type]  # nobody else may come next
            last = role
            continue
        turn = decode_turn(raw, src, calls, answered)
        if turn is None or turn[0] not in AFTER[last]:
            return None
        last, parts = turn
        messages.append(ir.Message(role, parts, src))  # type: ignore[arg-type]
        if last == RESULTS:
            answered += len(parts)
            last = RESULTS if answered == len(calls) else CALLS
    if last not in LAST:  # what ``talk_that_ends`` says: to call it takes a hundredth of a small request
        return None
    system = messages[0].parts[0].text if messages[0].role == "system" else None  # type: ignore[union-attr]  # a text
    return messages, system, messages if system is None else messages[1:], calls


def _may_end(turn: object) -> bool:
    """Say at a glance whether the last turn may be a plain one: a text, or results, which have a type, a call and an output."""
    content = turn.get("content") if type(turn) is dict else None
    if type(content) is not list:
        return type(content) is str
    block = content[-1] if content else None
    if type(block) is not dict:
        return False
    return len(block) == 3 if block.get("type") == "tool_result" else len(block) == 2 and len(content) == 1


def plain_turn(said: tuple[ir.Text | None, list[ir.ToolCall]] | None, role: str, calls: list[ir.ToolCall]) -> PlainTurn | None:
    """Return the turn of somebody who said a text or called tools, or both; ``calls`` takes the calls."""
    if said is None:
        return None
    text, asked = said
    if text is not None and text.text.isspace():
        return None
    if not asked:
        return None if text is None else (role, [text])
    if role != "assistant" or (len(asked) > 1 and len({call.id for call in asked}) < len(asked)):
        return None
    calls += asked
    return CALLS, [*asked] if text is None else [text, *asked]


def plain_result(call: ir.ToolCall, given: object, output: object, place: str, src: str) -> ir.ToolResult | None:
    """Return the result of a call, if it is the one that is ``given`` by its id, and if its output is a text."""
    if given != call.id or type(output) is not str or not output or output.isspace():
        return None
    return ir.ToolResult(call.id, [ir.Text(output, place)], src)
