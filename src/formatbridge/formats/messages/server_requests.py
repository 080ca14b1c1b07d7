"""A request of this format for one server: the type of thinking, the thinking that it requires, and no budget that it ignores."""

from __future__ import annotations

from functools import partial

from formatbridge import ir
from formatbridge.dialect import DialectRules
from formatbridge.formats.format import ServerRequests
from formatbridge.formats.messages.reasoning import EFFORTS
from formatbridge.formats.shared.settings import without_members
from formatbridge.jsontext.pointers import shift_index
from formatbridge.jsontext.types import JsonObject
from formatbridge.report.ledger import Ledger


def _without_budget(body: JsonObject, encoded: JsonObject) -> JsonObject:
    """Return a request without the budget that the encoder has replaced. Next to a forced call it writes none for any server."""
    thinking, written = body.get("thinking"), encoded.get("thinking") or {}
    if not isinstance(thinking, dict) or written.get("type") in (None, "disabled") or "budget_tokens" in written:
        return body
    return body | {"thinking": {key: value for key, value in thinking.items() if key != "budget_tokens"}}


def _with_type_of_thinking(body: JsonObject, encoded: JsonObject) -> JsonObject:
    """Return a request with the type of thinking that the server reads, in place of another one or of an effort. It is in the report."""
    # The encoder writes ``adaptive`` for any server, but the caller may have the other word for thinking that is on, or an effort only.
    thinking, config = body.get("thinking"), body.get("output_config") or {}
    if isinstance(thinking, dict) and thinking.get("type") == "enabled":
        body = body | {"thinking": thinking | {"type": "adaptive"}}
    elif thinking is None and "thinking" in encoded:
        body = body | {"thinking": encoded["thinking"]}
    if config.get("effort") in EFFORTS and body.get("thinking") != {"type": "disabled"}:
        return without_members(body, "output_config", ("effort",))
    return body


def _without_task_budget(body: JsonObject, losses: Ledger) -> JsonObject:
    """Return a request without the budget of a task, which the encoder writes for no server."""
    if (body.get("output_config") or {}).get("task_budget") is None:
        return body
    losses.dropped_at("/output_config/task_budget", "ignored_by_server")
    return without_members(body, "output_config", ("task_budget",))


def _with_missing_thinking(body: JsonObject, rules: DialectRules, losses: Ledger) -> JsonObject:
    """Return a request with thinking in each message with tool calls. Other formats have calls without their reasoning.

    A last message with calls lacks their results, so that no block makes the request valid.
    """
    messages, why = [*body["messages"]], f"{rules.server} requires it in messages with tool calls"
    for index, message in enumerate(messages[:-1]):
        content, field = message.get("content"), f"messages/{index}/content"
        kinds = {block.get("type") for block in content} if isinstance(content, list) else set()
        if message["role"] == "assistant" and "tool_use" in kinds and "thinking" not in kinds:
            losses.translate_additions(partial(shift_index, list_field=field, first=0, count=1))
            messages[index] = message | {"content": [losses.added(f"/{field}/0", dict(_NO_THINKING), why), *content]}
    return body if messages == body["messages"] else body | {"messages": messages}


_NO_THINKING = {"type": "thinking", "thinking": " ", "signature": ""}
"""A block in place of thinking that the request does not have."""


class _ServerRequests(ServerRequests):
    def with_server_fields(self, body: JsonObject, encoded: JsonObject, rules: DialectRules, losses: Ledger) -> JsonObject:
        del losses
        if "thinking/budget_tokens" in rules.ignores_nested:
            body = _without_budget(body, encoded)
        return _with_type_of_thinking(body, encoded) if rules.reasoning_control == "thinking_adaptive" else body

    def without_unread_values(self, body: JsonObject, request: ir.Request, rules: DialectRules, losses: Ledger) -> JsonObject:
        del request
        return _without_task_budget(body, losses) if "output_config/task_budget" in rules.ignores_nested else body

    def with_missing_messages(self, body: JsonObject, rules: DialectRules, losses: Ledger) -> JsonObject:
        thinking = (body.get("thinking") or {}).get("type")
        is_required = rules.reasoning_history == "required" or (rules.reasoning_history == "required_with_thinking" and thinking)
        return _with_missing_thinking(body, rules, losses) if is_required and thinking != "disabled" else body


SERVER_REQUESTS = _ServerRequests()
