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

_NUMBERS = frozenset({"model", "stream", "temperature", "top_p"})
_CONFIG = "generationConfig"
_TYPED_CONFIG = frozenset({"temperature", "topP", "topK", "candidateCount", "seed", "maxOutputTokens"})
"""Members of the object under which generate_content has its settings that are numbers."""
_TYPED: Mapping[ir.Format, frozenset[str]] = {
    "chat_completions": _NUMBERS | {"messages", "n", "seed", "max_tokens", "max_completion_tokens"},
    "messages": _NUMBERS | {"messages", "system", "top_k", "max_tokens"},
    "responses": _NUMBERS | {"input", "instructions", "max_output_tokens"},
    "generate_content": frozenset({"model", "stream", "contents", "systemInstruction", _CONFIG}),
}
"""Usual fields of requests that are texts or numbers, or belong to the conversation."""


def unread_of_request(body: ir.JsonObject, format: ir.Format, talk: Talk | None) -> list[Any] | None:
    """Return what may be anything in a request whose conversation is a plain one; None where anything in it may."""
    if talk is None:
        return None
    typed, config, calls = _TYPED[format], body.get(_CONFIG), talk[ITS_CALLS]
    values = [] if typed.issuperset(body) else [value for key, value in body.items() if key not in typed]
    if type(config) is dict and not _TYPED_CONFIG.issuperset(config):
        values.append(config)
    return values + [call.arguments for call in calls if type(call.arguments) is not str] if calls else values


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
