"""A request of this format in the fields that one server reads: the types of its items and of its tools."""

from __future__ import annotations

from functools import partial
from itertools import takewhile

from formatbridge import ir
from formatbridge.dialect import DialectRules
from formatbridge.formats.format import ServerRequests
from formatbridge.formats.responses.reasoning import PARAGRAPH
from formatbridge.jsontext.pointers import shift_index
from formatbridge.jsontext.types import JsonObject
from formatbridge.report.ledger import Ledger
from formatbridge.report.losses import Loss


def _items_of_server(items: list[JsonObject], rules: DialectRules, losses: Ledger) -> list[JsonObject]:
    """Return the items that the server reads. One without a type is a message, or a reference if it has no role."""
    kept: list[JsonObject] = []
    if not rules.accepts_nulls:  # a null is a missing id
        items = [
            {key: value for key, value in item.items() if key != "id"} if item.get("id", "") is None else item for item in items
        ]
    for index, item in enumerate(items):
        kind = item.get("type") or ("message" if "role" in item else "item_reference")
        if rules.accepts_item(kind):
            kept.append(item)
        else:
            losses.dropped_at(f"/input/{index}", "unsupported_by_server")
    return items if len(kept) == len(items) else kept


def _with_tools_of_server(body: JsonObject, rules: DialectRules, losses: Ledger) -> JsonObject:
    """Return a request whose tools have the types of the server, without the fields that it rejects."""
    tools = [_tool_for_server(tool, f"/tools/{index}", rules, losses) for index, tool in enumerate(body.get("tools") or ())]
    choice = body.get("tool_choice")
    changed: JsonObject = {"tools": tools} if tools and tools != body["tools"] else {}
    if isinstance(choice, dict) and choice.get("type") in rules.tool_types:
        changed["tool_choice"] = choice | {"type": rules.tool_types[choice["type"]]}
    return body | changed if changed else body


def _tool_for_server(tool: JsonObject, pointer: str, rules: DialectRules, losses: Ledger) -> JsonObject:
    unread = tool.keys() & rules.rejects_in_tools
    if unread:
        losses.extras(ir.HostedTool(family="other", kind="", src=pointer, extra={key: tool[key] for key in unread}))
    tool = {key: value for key, value in tool.items() if key not in unread} if unread else tool
    kind = rules.tool_types.get(tool.get("type", ""))
    return tool if kind is None else tool | {"type": kind}


def _with_includes_of_server(body: JsonObject, accepted: frozenset[str], losses: Ledger) -> JsonObject:
    """Return a request with the values of ``include`` that the server accepts."""
    values = body.get("include") or []
    kept = [value for value in values if value in accepted]
    if len(kept) == len(values):
        return body
    for index, value in enumerate(values):
        if value not in accepted:
            losses.dropped_at(f"/include/{index}", "rejected_by_server")
    others = {key: value for key, value in body.items() if key != "include"}
    return others | {"include": kept} if kept else others


def _with_moved_instructions(body: JsonObject, losses: Ledger) -> JsonObject:
    """Return a request that continues a response, with its instructions as a message at the start of the input.

    Without ``previous_response_id``, the conversation would be lost. Results stay next to the calls of the previous response.
    """
    text = body.get("instructions")
    if text is None or body.get("previous_response_id") is None:
        return body
    others = {key: value for key, value in body.items() if key != "instructions"}
    if not text:
        return others
    message: JsonObject = {"role": "system", "content": text}
    input = body.get("input") or []  # without an input, a prompt template supplies it
    items = [{"role": "user", "content": input}] if isinstance(input, str) else input
    results = list(takewhile(lambda item: str(item.get("type")).endswith("_output"), items))
    losses.include([Loss.of("/instructions", "changed", "lossy", "moved", before=text, after=message)])
    losses.translate_additions(partial(shift_index, list_field="input", first=len(results), count=1))
    return others | {"input": [*results, message, *items[len(results) :]]}


def _with_text_of_reasoning(item: JsonObject) -> JsonObject:
    """Return a reasoning item with its summary as its text, unless it has one. Each part of the summary is a paragraph."""
    if item.get("type") != "reasoning" or item.get("content") or not item.get("summary"):
        return item
    summary = [part for part in item["summary"] if isinstance(part.get("text"), str)]
    text: JsonObject = {}
    for part in summary:
        text = part | text
    text = text | {"type": "reasoning_text", "text": PARAGRAPH.join(part["text"] for part in summary)}
    return item | {"summary": [], "content": [text]} if summary else item


class _ServerRequests(ServerRequests):
    def without_unread_values(self, body: JsonObject, request: ir.Request, rules: DialectRules, losses: Ledger) -> JsonObject:
        del request
        if not rules.stores_responses and body.get("store", False) is None:
            body = {key: value for key, value in body.items() if key != "store"}
        if rules.rejects_in_tools or rules.tool_types:
            body = _with_tools_of_server(body, rules, losses)
        if rules.includes is not None:
            body = _with_includes_of_server(body, rules.includes, losses)
        if isinstance(body.get("input"), list):
            body = body | {"input": _items_of_server(body["input"], rules, losses)}
        return body

    def with_missing_messages(self, body: JsonObject, rules: DialectRules, losses: Ledger) -> JsonObject:
        if rules.continuation_excludes_instructions:
            body = _with_moved_instructions(body, losses)
        if not rules.summary_is_reasoning and isinstance(body.get("input"), list):
            body = body | {"input": [_with_text_of_reasoning(item) for item in body["input"]]}
        return body


SERVER_REQUESTS = _ServerRequests()
