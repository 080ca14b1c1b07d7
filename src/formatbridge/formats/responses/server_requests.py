"""A request of this format in the fields that one server reads: the types of its items and of its tools."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from itertools import takewhile

from formatbridge import ir
from formatbridge.dialect import DialectRules
from formatbridge.formats.format import ServerRequests
from formatbridge.formats.responses.citations import shift_annotations
from formatbridge.formats.responses.field_paths import FIELD_PATHS
from formatbridge.formats.responses.reasoning import PARAGRAPH
from formatbridge.formats.shared.parts import is_same_list
from formatbridge.formats.shared.settings import EFFORTS, drop_setting_with_code, without_members
from formatbridge.jsontext.pointers import escape, shift_index
from formatbridge.jsontext.types import JsonObject
from formatbridge.report.field_paths import LossRule
from formatbridge.report.ledger import Ledger
from formatbridge.report.losses import Loss


def _items_of_server(items: list[JsonObject], rules: DialectRules, losses: Ledger) -> list[JsonObject]:
    """Return the items that the server reads. One without a type is a message, or a reference if it has no role."""
    kept: dict[int, JsonObject] = {}
    if rules.rejects_null_in_items:
        items = [_without_nulls(item, rules.rejects_null_in_items) for item in items]
    for index, item in enumerate(items):
        kind = item.get("type") or ("message" if "role" in item else "item_reference")
        if rules.accepts_item(kind):
            kept[index] = item
        else:
            losses.dropped_at(f"/input/{index}", "unsupported_by_server")
    _note_fields_of_joined(kept, rules, losses)
    return items if len(kept) == len(items) else [*kept.values()]


def _without_nulls(item: JsonObject, fields: frozenset[str]) -> JsonObject:
    """Return an item without those of some fields that are null; the same object if there are none."""
    nulls = {field for field in fields if item.get(field, "") is None}
    return {key: value for key, value in item.items() if key not in nulls} if nulls else item


def _note_fields_of_joined(items: Mapping[int, JsonObject], rules: DialectRules, losses: Ledger) -> None:
    """Note the fields of items, by index, and of texts, that are lost because ``with_missing_messages`` joins them with others."""
    removed = items.keys() - _with_joined_reasoning(items).keys() if rules.reads_last_reasoning else ()
    for index in removed:
        if items[index].get("id") is not None:
            losses.dropped_at(f"/input/{index}/id", "diagnostic", severity="info")
    for index, item in items.items() if rules.reads_first_part else ():
        if item.get("type") == "reasoning" or item.get("role") == "assistant":
            for field in ("content", "summary"):
                _note_fields_of_texts(item.get(field), f"/input/{index}/{field}", losses)
    for index, item in items.items() if not rules.reads_result_parts else ():
        for place, part in enumerate(_texts_of_result(item)):
            for key in sorted(part.keys() - {"type", "text"}):
                losses.dropped_at(f"/input/{index}/output/{place}/{escape(key)}", "unsupported_by_server", severity="info")


def _note_fields_of_texts(parts: object, pointer: str, losses: Ledger) -> None:
    """Note the unknown fields of texts that another value of an earlier text replaces. ``pointer``: that of the list."""
    kept: JsonObject = {}
    for place, part in enumerate(parts) if isinstance(parts, list) else ():
        for key in part.keys() - _JOINED_FIELDS if isinstance(part.get("text"), str) else ():
            if kept.setdefault(key, part[key]) != part[key]:
                losses.dropped_at(f"{pointer}/{place}/{escape(key)}", "unsupported_by_server")


def _with_tools_of_server(body: JsonObject, rules: DialectRules, losses: Ledger) -> JsonObject:
    """Return a request whose tools have the types of the server, without the fields that it rejects."""
    tools = [_tool_for_server(tool, f"/tools/{index}", rules, losses) for index, tool in enumerate(body.get("tools") or ())]
    choice = body.get("tool_choice")
    changed: JsonObject = {"tools": tools} if tools and tools != body["tools"] else {}
    if isinstance(choice, dict) and choice.get("type") in rules.tool_types:
        changed["tool_choice"] = choice | {"type": rules.tool_types[choice["type"]]}
    return body | changed if changed else body


def _tool_for_server(tool: JsonObject, pointer: str, rules: DialectRules, losses: Ledger) -> JsonObject:
    kind = tool.get("type", "")
    of_server = rules.tool_types.get(kind, kind)
    unread = [key for key in tool if f"{of_server}.{key}" in rules.rejects_in_tools]
    for key in unread:
        rule = FIELD_PATHS.rules.get(f"HostedTool.{key}", LossRule())
        if not rule.is_neutral(tool[key]):
            losses.dropped_at(f"{pointer}/{key}", "rejected_by_server", severity=rule.severity)
    tool = {key: value for key, value in tool.items() if key not in unread} if unread else tool
    return tool if of_server == kind else tool | {"type": of_server}


def _without_unknown_effort(body: JsonObject, losses: Ledger) -> JsonObject:
    """Return a request without an effort of no server, for a server with a list of efforts. The encoder has replaced the others."""
    if (body.get("reasoning") or {}).get("effort") in (None, *EFFORTS):
        return body
    losses.dropped_at("/reasoning/effort", "unsupported_by_server")
    return without_members(body, "reasoning", ("effort",))


def _without_ignored_summary(body: JsonObject, losses: Ledger) -> JsonObject:
    """Return a request without the setting for summaries of reasoning. The encoder has left out its known words."""
    config = body.get("reasoning") or {}
    unread = [key for key in _SUMMARIES if key in config]
    if not unread:
        return body
    for key in unread:
        if config[key] is not None:
            losses.dropped_at(f"/reasoning/{key}", "ignored_by_server", severity="info")
    return without_members(body, "reasoning", _SUMMARIES)


_SUMMARIES = ("summary", "generate_summary")
"""The setting for summaries of reasoning, and its older name."""


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


def _with_joined_reasoning(items: Mapping[int, JsonObject]) -> dict[int, JsonObject]:
    """Return items, by index, with the reasoning of each message in one item, for a server that reads the last one. No text is lost.

    The server adds a call to a message before it, with the reasoning between them in place of that of the message.
    """
    result = dict(items)
    pending: int | None = None  # the reasoning that the next message gets
    held: int | None = None  # the reasoning of the last message
    is_answer = False  # whether that message is of the model
    for index, item in items.items():
        kind = item.get("type", "message")
        if kind == "reasoning":
            if pending is not None:
                result[index] = _joined_reasoning(result.pop(pending), item, item)
            pending = index
        elif kind == "function_call" and is_answer:
            if pending is not None and held is not None:
                result[held] = _joined_reasoning(result[held], result.pop(pending), result[held])
            else:
                held = held if pending is None else pending
            pending = None
        else:
            is_answer = kind == "function_call" or item.get("role") == "assistant"
            held, pending = (pending, None) if is_answer else (None, pending)
    return result


def _joined_reasoning(first: JsonObject, second: JsonObject, kept: JsonObject) -> JsonObject:
    """Return two reasoning items as one. ``kept``: that of them whose other fields stay."""
    lists = {key: [*(first.get(key) or ()), *(second.get(key) or ())] for key in ("summary", "content") if key in first | second}
    texts = [text for item in (first, second) if (text := item.get("encrypted_content"))]
    return first | second | kept | lists | {"encrypted_content": PARAGRAPH.join(texts)}


def _texts_of_result(item: JsonObject) -> list[JsonObject]:
    """Return the parts of a result that has only texts, in a list."""
    output = item.get("output") if str(item.get("type")).endswith("_output") else None
    return output if isinstance(output, list) and len(_texts_of(output)) == len(output) else []


def _with_joined_result(item: JsonObject) -> JsonObject:
    """Return an item with the texts of its result as one text. A result with other parts stays."""
    texts = _texts_of_result(item)
    return item | {"output": PARAGRAPH.join(part["text"] for part in texts)} if texts else item


def _with_single_texts(items: list[JsonObject], rules: DialectRules) -> list[JsonObject]:
    """Return the items of an input with all texts of an item of the model where the server reads them. No text is lost."""
    adapted = [_with_single_text(item, rules) for item in items]
    return items if is_same_list(adapted, items) else adapted


def _with_single_text(item: JsonObject, rules: DialectRules) -> JsonObject:
    content, summary = item.get("content"), item.get("summary")
    if item.get("type") == "reasoning":
        texts, summaries = _texts_of(content), _texts_of(summary)
        if summaries and not texts and not rules.summary_is_reasoning:
            return item | {"summary": [], "content": [_joined(summaries, PARAGRAPH) | {"type": "reasoning_text"}]}
        return item | {"content": [_joined(texts, PARAGRAPH)]} if rules.reads_first_part and len(texts) > 1 else item
    if item.get("role") != "assistant" or not rules.reads_first_part:
        return item
    texts = _texts_of(content)
    if len(texts) < 2 or not isinstance(content, list):
        return item
    # The official SDK joins the texts of an answer without a character between them (``Response.output_text``).
    return item | {"content": [_joined(texts, ""), *(part for part in content if part not in texts)]}


_JOINED_FIELDS = frozenset({"type", "text", "annotations", "logprobs"})
"""The fields of a text that one text has for several."""


def _texts_of(parts: object) -> list[JsonObject]:
    """Return the parts of a list that have a text."""
    return [part for part in parts if isinstance(part.get("text"), str)] if isinstance(parts, list) else []


def _joined(parts: list[JsonObject], separator: str) -> JsonObject:
    """Return several texts as one part. The offsets of its annotations count from its start."""
    joined: JsonObject = {}
    annotations, logprobs, length = list[JsonObject](), list[JsonObject](), 0
    for part in parts:
        annotations += shift_annotations(part.get("annotations") or [], length)
        logprobs += part.get("logprobs") or []
        length += len(part["text"]) + len(separator)
        joined = part | joined
    lists = {"annotations": annotations, "logprobs": logprobs}
    return joined | {"text": separator.join(part["text"] for part in parts)} | {key: lists[key] for key in lists if key in joined}


class _ServerRequests(ServerRequests):
    def adapt_encoded(self, body: JsonObject, request: ir.Request, rules: DialectRules, losses: Ledger) -> JsonObject:
        if rules.tiers is None or body.get("service_tier") in (None, *rules.tiers):
            return body
        drop_setting_with_code(request, "tier", "unsupported_by_server", losses, severity="info")
        return {key: value for key, value in body.items() if key != "service_tier"}

    def without_unread_values(self, body: JsonObject, request: ir.Request, rules: DialectRules, losses: Ledger) -> JsonObject:
        del request
        if not rules.stores_responses and body.get("store", False) is None:
            body = {key: value for key, value in body.items() if key != "store"}
        if rules.rejects_in_tools or rules.tool_types:
            body = _with_tools_of_server(body, rules, losses)
        if rules.efforts is not None:
            body = _without_unknown_effort(body, losses)
        if "reasoning/summary" in rules.ignores_nested:
            body = _without_ignored_summary(body, losses)
        if rules.includes is not None:
            body = _with_includes_of_server(body, rules.includes, losses)
        if isinstance(body.get("input"), list):
            body = body | {"input": _items_of_server(body["input"], rules, losses)}
        return body

    def with_missing_messages(self, body: JsonObject, rules: DialectRules, losses: Ledger) -> JsonObject:
        if rules.continuation_excludes_instructions:
            body = _with_moved_instructions(body, losses)
        if rules.reads_last_reasoning and isinstance(body.get("input"), list):
            joined = _with_joined_reasoning(dict(enumerate(body["input"])))
            for index in sorted({*range(len(body["input"]))} - joined.keys(), reverse=True):
                losses.translate_additions(partial(shift_index, list_field="input", first=index + 1, count=-1))
            body = body | {"input": [*joined.values()]}
        if isinstance(body.get("input"), list) and (rules.reads_first_part or not rules.summary_is_reasoning):
            body = body | {"input": _with_single_texts(body["input"], rules)}
        if isinstance(body.get("input"), list) and not rules.reads_result_parts:
            body = body | {"input": [_with_joined_result(item) for item in body["input"]]}
        return body


SERVER_REQUESTS = _ServerRequests()
