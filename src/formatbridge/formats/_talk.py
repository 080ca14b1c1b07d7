"""The plain conversation, which most requests have: texts, calls and results in turns, and nothing that any format could lose."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from formatbridge import ir

Talk = tuple[str | None, list[ir.Message], list[ir.ToolCall]]
"""A conversation in which nothing has to be moved, merged or reported, so that encoders write it as it is.

The text of the system prompt; the turns behind it; and the calls of all turns, in order. A turn is a text; or calls of the model's, before
which it may say something; or results of the calls before, in their order and each of one text. No text is blank, and the last turn is the
user's or has results.
"""

_CALLS, _RESULTS, _OTHER = "calls", "results", ""
_AFTER: Mapping[str, frozenset[str]] = {
    "": frozenset({"system", "user", "assistant"}),
    "system": frozenset({"user", "assistant"}),
    "user": frozenset({"assistant", _CALLS}),
    "assistant": frozenset({"user"}),
    _CALLS: frozenset({_RESULTS}),
    _RESULTS: frozenset({"assistant", _CALLS}),
}
"""What may come first, behind somebody's text, behind calls that wait for results, and behind the last results of some calls."""

_LAST = frozenset({"user", _RESULTS})


def talk_of(request: ir.Request) -> Talk | None:
    """Return a request's conversation if it is a plain one; None for any other. Names and ids may still have to be adapted."""
    messages, last = request.messages, ""
    calls: list[ir.ToolCall] = []
    waiting: list[ir.ToolCall] = []
    kind: str
    for message in messages:
        kind, parts = message.role, message.parts
        if not parts or message.extra or message.tools or message.effort:
            return None
        part = parts[0]
        if type(part) is not ir.Text or len(parts) > 1:
            kind = _use_of(message, calls, waiting)
        elif not (text := part.text) or text.isspace() or part.id is not None or part.extra or part.cache or part.citations:
            return None
        elif part.signature or part.logprobs:
            kind = _OTHER
        if kind not in _AFTER[last]:
            return None
        last = _CALLS if waiting else kind
    if last not in _LAST:
        return None
    first = messages[0]
    return (first.parts[0].text, messages[1:], calls) if first.role == "system" else (None, messages, calls)  # type: ignore[union-attr]  # a text


def output_of(result: ir.ToolResult) -> str:
    """Return the text of a result of such a conversation."""
    return result.content[0].text  # type: ignore[union-attr, return-value]  # of its only part


def _use_of(message: ir.Message, calls: list[ir.ToolCall], waiting: list[ir.ToolCall]) -> Any:
    """Read calls, which then wait for their results, or results; say which of both a turn is, and nothing where it is no plain one."""
    parts: list[Any] = message.parts
    if message.role == "assistant":
        asked = parts[1:] if type(parts[0]) is ir.Text and _is_said(parts[0]) else parts
        if not all(map(_is_asked, asked)) or len({call.id for call in asked}) < len(asked):
            return _OTHER
        calls += asked
        waiting += asked
        return _CALLS
    for result in parts:
        if type(result) is not ir.ToolResult or not waiting:
            return _OTHER
        call, content = waiting.pop(0), result.content
        if result.call_id != call.id or (result.name is not None and result.name != call.name) or result.kind != "function":
            return _OTHER
        if result.id_made or result.is_error or result.extra or result.cache or result.signature or len(content) != 1:
            return _OTHER
        if type(content[0]) is not ir.Text or not _is_said(content[0]):
            return _OTHER
    return _RESULTS


def _is_said(part: ir.Text) -> bool:
    text = part.text
    if not text or text.isspace() or part.id is not None:
        return False
    return not (part.extra or part.cache or part.citations or part.signature or part.logprobs)


def _is_asked(part: ir.Part) -> bool:
    if type(part) is not ir.ToolCall or part.kind != "function" or part.id_made:
        return False
    return part.namespace is None and part.item_id is None and not (part.extra or part.cache or part.signature)
