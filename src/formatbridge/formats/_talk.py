"""The plain conversation, which most requests have: texts, calls and results in turns, with nothing else to lose on them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from formatbridge import ir
from formatbridge.formats._parts import is_plain

Talk = tuple[str | None, list[ir.Message], list[ir.ToolCall]]
"""A conversation that encoders write as it is: nothing has to be moved or merged, and nothing reported but of the arguments of calls.

The text of the system prompt; the turns behind it; and the calls of all turns, in order. A turn is a text; or calls of the model's, before
which it may say something; or results of the calls before, in their order and each of one text. No text is blank, the first turn is the
user's, and the last is the user's or has results.
"""
ITS_CALLS: Final = 2
"""Where a talk has its calls. To make a tuple with names takes a hundredth of a small request longer."""

_FIRST, _CALLS, _RESULTS, _OTHER = "", "calls", "results", "other"
_USES: Mapping[str, str] = {"assistant": _CALLS, "user": _RESULTS, "tool": _RESULTS, "system": _OTHER, "developer": _OTHER}
"""What a turn of somebody's must hold that is not one text."""
_AFTER: Mapping[str, frozenset[str]] = {
    _FIRST: frozenset({"system", "user"}),
    "system": frozenset({"user"}),
    "user": frozenset({"assistant", _CALLS}),
    "assistant": frozenset({"user"}),
    _CALLS: frozenset({_RESULTS}),
    _RESULTS: frozenset({"assistant", _CALLS}),
}
"""What may come first, behind somebody's text, behind calls that wait for results, and behind the last results of some calls."""
_LAST = frozenset({"user", _RESULTS})


def talk_of(request: ir.Request) -> Talk | None:
    """Return a request's conversation if it is a plain one; None for any other. Names and ids may still have to be adapted."""
    messages, last, answered = request.messages, _FIRST, 0
    calls: list[ir.ToolCall] = []
    kind: str
    for message in messages:
        parts, kind = message.parts, message.role
        if not parts or message.extra or message.tools or message.effort:
            return None
        part = parts[0]
        if type(part) is not ir.Text or len(parts) > 1:
            kind = _USES[kind]
            answered = _answered(parts, calls, answered) if kind is _RESULTS else _asked(parts, calls, answered)
            if answered < 0:
                return None
        elif (  # what ``_is_said`` asks: to call it takes a fiftieth of a small request
            not part.text or part.text.isspace() or part.id is not None
            or part.extra or part.cache or part.citations or part.signature
        ):  # fmt: skip
            return None
        if kind not in _AFTER[last]:
            return None
        last = kind if answered == len(calls) else _CALLS
    if last not in _LAST:
        return None
    first = messages[0]
    return (first.parts[0].text, messages[1:], calls) if first.role == "system" else (None, messages, calls)  # type: ignore[union-attr]  # a text


def talk_of_texts(messages: list[ir.Message]) -> Talk | None:
    """Return a conversation of nothing but texts if it is a plain one, as ``talk_of`` does; None for any other."""
    last = _FIRST
    for message in messages:
        text = message.parts[0].text  # type: ignore[union-attr]  # of a text
        if not text or text.isspace() or message.role not in _AFTER[last]:
            return None
        last = message.role
    if last != "user":
        return None
    first = messages[0]
    return (first.parts[0].text, messages[1:], []) if first.role == "system" else (None, messages, [])  # type: ignore[union-attr]  # a text


def output_of(result: ir.ToolResult) -> str:
    """Return the text of a result of a plain conversation."""
    return result.content[0].text  # type: ignore[union-attr, return-value]  # of its only part


def _asked(parts: list[Any], calls: list[ir.ToolCall], answered: int) -> int:
    """Add the calls of a turn to those before; return how many of them have a result, -1 where the turn is no plain one."""
    asked = parts[1:] if type(parts[0]) is ir.Text and _is_said(parts[0]) else parts
    if not all(map(_is_bare, asked)) or len({call.id for call in asked}) < len(asked):
        return -1
    calls += asked
    return answered


def _answered(parts: list[Any], calls: list[ir.ToolCall], answered: int) -> int:
    """Return how many calls have a result with those of a turn, -1 where it is no plain one."""
    for result in parts:
        if type(result) is not ir.ToolResult or answered == len(calls):
            return -1
        call, content = calls[answered], result.content
        if result.call_id != call.id or (result.name is not None and result.name != call.name) or result.kind != "function":
            return -1
        if result.extra or result.cache or result.signature or result.namespace:
            return -1
        if result.id_made or result.is_error or len(content) != 1:
            return -1
        if type(content[0]) is not ir.Text or not _is_said(content[0]):
            return -1
        answered += 1
    return answered


def _is_said(part: ir.Text) -> bool:
    """Say whether a text has words and nothing else."""
    return part.text != "" and not part.text.isspace() and is_plain(part)


def _is_bare(part: ir.Part) -> bool:
    """Say whether a part is the call of a function and has nothing else."""
    if type(part) is not ir.ToolCall or part.kind != "function" or part.id_made:
        return False
    return part.namespace is None and part.item_id is None and not (part.extra or part.cache or part.signature)
