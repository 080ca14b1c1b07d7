"""A request of this format in the fields that one server reads: those of the Gemini API, or of Vertex AI.

Source: ``docs/dialects.md``, ``accepts_call_ids`` and ``safety_categories``.
"""

from __future__ import annotations

from typing import Any

from formatbridge import ir
from formatbridge.dialect import DialectRules
from formatbridge.formats.format import ServerRequests
from formatbridge.jsontext.pointers import camel_and_snake
from formatbridge.jsontext.types import JsonObject
from formatbridge.report.ledger import Ledger


def _note_call_ids(messages: list[ir.Message], losses: Ledger) -> None:
    """Note the ids of calls and results, which the server matches by name and order.

    An id is a change and no loss: it still decides which result belongs to which call.
    """
    parts = [part for message in messages for part in message.parts]
    ids = {part.id for part in parts if isinstance(part, ir.ToolCall) and not part.has_generated_id}
    for part in parts:
        if isinstance(part, ir.ToolCall) and part.id in ids:
            losses.changed(part, "id", None, "unsupported_by_server", severity="info")
        elif isinstance(part, ir.ToolResult) and part.call_id in ids:
            losses.changed(part, "call_id", None, "unsupported_by_server", severity="info")


def _without_call_ids(content: JsonObject) -> JsonObject:
    """Return a content without the ids of calls and results, which the server matches by name and order."""
    parts = [
        {key: _without_id(value) if key in _CALLS else value for key, value in part.items()} for part in content.get("parts") or ()
    ]
    return content | {"parts": parts} if parts else content


def _without_id(call: Any) -> Any:
    return {key: value for key, value in call.items() if key != "id"} if isinstance(call, dict) else call


_CALLS = frozenset({"functionCall", "functionResponse"})


def _with_accepted_categories(body: JsonObject, categories: frozenset[str], losses: Ledger) -> JsonObject:
    """Return a request with the safety settings whose categories the server accepts; note the others."""
    changed: JsonObject = {}
    for key in camel_and_snake("safetySettings"):
        settings = body.get(key)
        if not isinstance(settings, list):
            continue
        rejected = [index for index, setting in enumerate(settings) if _has_other_category(setting, categories)]
        for index in rejected:
            losses.dropped_at(f"/{key}/{index}", "rejected_by_server")
        if rejected:
            changed[key] = [setting for index, setting in enumerate(settings) if index not in rejected]
    return {key: changed.get(key, value) for key, value in body.items() if changed.get(key) != []} if changed else body


def _has_other_category(setting: Any, categories: frozenset[str]) -> bool:
    category = setting.get("category") if isinstance(setting, dict) else None
    return isinstance(category, str) and category not in categories  # a number is another form of the same word


class _ServerRequests(ServerRequests):
    def adapt_encoded(self, body: JsonObject, request: ir.Request, rules: DialectRules, losses: Ledger) -> JsonObject:
        if rules.accepts_call_ids:
            return body
        _note_call_ids(request.messages, losses)
        body = body | {"contents": [_without_call_ids(content) for content in body["contents"]]}
        losses.withdraw(body)  # generated ids are additions
        return body

    def without_unread_values(self, body: JsonObject, request: ir.Request, rules: DialectRules, losses: Ledger) -> JsonObject:
        del request
        return body if rules.safety_categories is None else _with_accepted_categories(body, rules.safety_categories, losses)


SERVER_REQUESTS = _ServerRequests()
