"""The plain conversation, which most requests have: texts, calls and results in turns, with nothing else to lose on them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from formatbridge import ir
from formatbridge.formats._parts import is_plain

Talk = tuple[list[ir.Message], str | None, list[ir.Message], list[ir.ToolCall]]
"""A conversation that encoders write as it is: nothing has to be moved or merged, and nothing reported but of the arguments of calls.

All turns; the text of the system prompt; the turns behind it; and the calls of all turns, in order. A turn is a text; or calls of the
model's, before which it may say something; or results of the calls before, in their order and each of one text. No text is blank, the
first turn is the user's, and the last is the user's or has results.
"""
ITS_TURNS: Final = 0
ITS_CALLS: Final = 3
"""Where a talk has all its turns, and its calls. To make a tuple with names takes a hundredth of a small request longer."""

Use = str | int
"""What a turn is to those around it: its speaker, if it is one text, or else one of these numbers, which no unchecked role can be."""
FIRST: Final = 0
"""What comes before the first turn, which may be a system prompt."""
CALLS: Final = 1
"""A turn of the model's that calls, or results that are not all there yet."""
RESULTS: Final = 2
"""The last results of some calls."""
_OTHER: Final = 3
_USES: Mapping[str, Use] = {"assistant": CALLS, "user": RESULTS, "tool": RESULTS, "system": _OTHER, "developer": _OTHER}
"""What a turn of somebody's must hold that is not one text."""
AFTER: Mapping[Use, frozenset[Use]] = {
    FIRST: frozenset({"system", "user"}),
    "system": frozenset({"user"}),
    "user": frozenset({"assistant", CALLS}),
    "assistant": frozenset({"user"}),
    CALLS: frozenset({RESULTS}),
    RESULTS: frozenset({"assistant", CALLS}),
}
"""What may come first, behind somebody's text, behind calls that wait for results, and behind the last results of some calls."""
FEW: Final = 6
"""So many turns may be read in vain; of more the last is looked at first, where marks of caches and media stand as a rule."""
LAST: frozenset[Use] = frozenset({"user", RESULTS})


def talk_of(request: ir.Request) -> Talk | None:
    """Return a request's conversation if it is a plain one; None for any other. Names and ids may still have to be adapted."""
    messages, answered = request.messages, 0
    last: Use = FIRST
    calls: list[ir.ToolCall] = []
    kind: Use
    for message in messages:
        parts, kind = message.parts, message.role
        if not parts or message.extra or message.tools or message.effort:
            return None
        part = parts[0]
        if type(part) is not ir.Text or len(parts) > 1:
            kind = _USES[kind]
            answered = _answered(parts, calls, answered) if kind == RESULTS else _asked(parts, calls, answered)
            if answered < 0:
                return None
        elif (  # what ``_is_said`` asks: to call it takes a fiftieth of a small request
            not part.text or part.text.isspace() or part.id is not None
            or part.extra or part.cache or part.citations or part.signature
        ):  # fmt: skip
            return None
        if kind not in AFTER[last]:
            return None
        last = kind if answered == len(calls) else CALLS
    return talk_that_ends(last, messages, calls)


def talk_that_ends(last: Use, messages: list[ir.Message], calls: list[ir.ToolCall]) -> Talk | None:
    """Return the talk of turns each of which may stand behind the one before it; None where nothing may end as they do."""
    if last not in LAST:
        return None
    first = messages[0]
    if first.role == "system":
        return messages, first.parts[0].text, messages[1:], calls  # type: ignore[union-attr]  # a text
    return messages, None, messages, calls


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
