"""What of a body is handed on as it stands, whatever it is, once decoders have read the rest.

A validated text is a text and a count is a count; an infinity can only be where anything may be. To look there alone is a fifth of the cost
of looking everywhere.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from formatbridge import ir
from formatbridge.formats._plain_answer import PlainAnswer
from formatbridge.formats._talk import ITS_CALLS, Talk

_TURNS: Mapping[ir.Format, str] = {
    "chat_completions": "messages", "messages": "messages", "responses": "input", "generate_content": "contents",
}  # fmt: skip
"""Where requests of the formats have their turns."""

_TYPED = frozenset({
    *_TURNS.values(), "model", "stream", "system", "instructions", "temperature", "top_p", "top_k", "n", "seed", "max_tokens",
    "max_completion_tokens", "max_output_tokens",
})  # fmt: skip
"""Usual fields of requests that are texts or numbers, whatever their format, or belong to the conversation."""


def unread_of_request(body: ir.JsonObject, format: ir.Format, talk: Talk | None, *, is_usual: bool) -> list[Any] | None:
    """Return what may be anything in a request whose conversation is a plain one; None where anything in it may.

    ``is_usual``: it has no fields but the usual ones of its format.
    """
    if talk is None:
        return None
    if is_usual and not talk[ITS_CALLS] and _TYPED.issuperset(body):
        return []
    turns = _TURNS[format]
    values = [value for key, value in body.items() if key != turns]
    return values + [call.arguments for call in talk[ITS_CALLS] if type(call.arguments) is not str]


def unread_of_answer(response: ir.Response, plain: PlainAnswer | None) -> list[Any] | None:
    """Return what may be anything in an answer of a text and calls; None where anything in it may."""
    if plain is None:
        return None
    _, calls, _ = plain
    values: list[Any] = [call.arguments for call in calls if type(call.arguments) is not str]
    usage = response.usage
    if response.extra or (usage and usage.extra):
        values += (response.extra, usage and usage.extra)
    return values
