"""A request of this format in the fields that one server reads: text of reasoning in messages, documents and functions.

Compatible servers have different fields for them (``docs/dialects.md``). A request may have any of these; those that the server reads are
kept.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import partial
from typing import Any

from formatbridge import ir
from formatbridge.dialect import DialectRules
from formatbridge.formats.chat_completions.content import decode_content, decode_part, encode_part
from formatbridge.formats.chat_completions.reasoning import LIST_FIELDS, REASONING_FIELDS, TEXT_FIELDS, decode_reasoning
from formatbridge.formats.chat_completions.reasoning_control import CONFIG_FIELDS, control_of, with_settings_of_server
from formatbridge.formats.format import ServerRequests
from formatbridge.formats.shared.settings import (
    drop_setting_with_code,
    is_json_instruction,
    is_reasoning_off,
    note_json_instruction,
)
from formatbridge.formats.shared.tool_selection import all_tools
from formatbridge.formats.shared.turns import note_prefill
from formatbridge.jsontext.pointers import escape, objects_in, shift_index
from formatbridge.jsontext.types import JsonObject
from formatbridge.report.ledger import FieldPaths, Ledger


class _Messages:
    """The messages of a request for one server, which have their reasoning and their documents where it reads them.

    ``request``: the request whose encoder has written the messages; None if they are those of the caller.
    """

    def __init__(self, rules: DialectRules, losses: Ledger, request: ir.Request | None = None) -> None:
        self._rules, self._losses, self._is_encoded = rules, losses, request is not None
        parts = [part for message in request.messages for part in message.parts] if request is not None else []
        self._signatures = [each for part in parts if isinstance(each := getattr(part, "signature", None), ir.Signature)]

    def adapted(self, body: JsonObject) -> JsonObject:
        """Return a request with adapted messages."""
        messages = body["messages"]
        changed = [self._with_reasoning(_with_documents(each, self._rules), index) for index, each in enumerate(messages)]
        return body if changed == messages else body | {"messages": changed}

    def _note(self, pointer: str, value: Any, code: str) -> None:
        """Note a lost value of a message. Encoded messages have other pointers than the source, so the parts with their tokens have it."""
        if not self._is_encoded:
            self._losses.dropped_at(pointer, code)
            return
        values = [value, *(member for _, node in objects_in(value) for member in node.values())]
        for signature in self._signatures:
            if signature.token in values:
                self._losses.dropped(signature, code=code)

    def _with_reasoning(self, message: JsonObject, index: int) -> JsonObject:
        """Return a message with its reasoning where the server reads it."""
        if message.get("role") != "assistant":
            return message
        history = self._rules.reasoning_history
        # Mistral: {"content": [{"type": "thinking", "thinking": [{"type": "text", "text": "..."}]}, {"type": "text", "text": "..."}]}
        content = message.get("content")
        thinking = [part for part in content if part.get("type") == "thinking"] if isinstance(content, list) else []
        if history == "none":
            return self._without_reasoning(message, thinking, index)
        if history == "reasoning_details":
            return _with_details(message, thinking)
        if history == "thinking_part":
            return self._with_thinking_part(message, thinking, index)
        reads_details = history == "reasoning" and self._rules.reasoning_control == "reasoning"  # OpenRouter
        if not thinking and (history is None or (reads_details and message.get("reasoning_details"))):
            return message
        return self._with_text_field(message, thinking, index)

    def _with_text_field(self, message: JsonObject, thinking: list[JsonObject], index: int) -> JsonObject:
        """Return a message whose reasoning is in the text field that the server reads."""
        fields = TEXT_FIELDS[::-1] if self._rules.reasoning_history == "reasoning" else TEXT_FIELDS
        field, other = fields
        text = "\n\n".join(dict.fromkeys(filter(None, (_text_of(message, fields), _text_in(thinking)))))
        is_in_lists_only = not thinking and not any(map(message.get, fields))
        message = _without_thinking_parts(message, thinking)
        if self._rules.reasoning_history == "required" and not text and message.get("tool_calls"):
            pointer, why = f"/messages/{index}/{field}", f"{self._rules.server} requires it in messages with tool calls"
            return message | {field: self._losses.added(pointer, " ", why)}
        if message.get(other) == text and not message.get(field):
            message = message.copy()
            del message[other]
        message = self._without_texts(message, (other,), text, index)
        if not text:
            return message
        if is_in_lists_only and any(map(message.get, LIST_FIELDS)):
            self._losses.added(f"/messages/{index}/{field}", text, f"{self._rules.server} reads the text of reasoning there")
        return message | {field: text}

    def _without_reasoning(self, message: JsonObject, thinking: list[JsonObject], index: int) -> JsonObject:
        """Return a message without the fields and the parts of its content with reasoning."""
        for part in thinking:
            self._note(f"/messages/{index}/content/{message['content'].index(part)}", part, "unsupported_by_server")
        message = _without_thinking_parts(message, thinking)
        for key in sorted(REASONING_FIELDS & message.keys()):
            if message[key]:
                self._note(f"/messages/{index}/{key}", message[key], "unsupported_by_server")
        return {key: value for key, value in message.items() if key not in REASONING_FIELDS}

    def _with_thinking_part(self, message: JsonObject, thinking: list[JsonObject], index: int) -> JsonObject:
        """Return a message whose reasoning is a part of its content only."""
        text = _text_in(thinking) or _text_of(message, TEXT_FIELDS)
        message = self._without_texts(message, TEXT_FIELDS, text, index)
        if thinking or not text:
            return message
        content = message.get("content") or []
        parts = [{"type": "text", "text": content}] if isinstance(content, str) else content
        return message | {"content": [{"type": "thinking", "thinking": [{"type": "text", "text": text}]}, *parts]}

    def _without_texts(self, message: JsonObject, fields: Sequence[str], text: str, index: int) -> JsonObject:
        """Return a message without the fields with reasoning that the server rejects; note what is not in ``text``."""
        rejected = [
            key for key in message if key in (*fields, *LIST_FIELDS) and f"assistant.{key}" in self._rules.rejects_in_messages
        ]
        for key in rejected:
            for pointer, value in _values_of(message, key):
                if value not in (None, "") and not (isinstance(value, str) and value in text):
                    self._note(f"/messages/{index}/{pointer}", value, "rejected_by_server")
        return {key: value for key, value in message.items() if key not in rejected} if rejected else message


def _with_details(message: JsonObject, thinking: list[JsonObject]) -> JsonObject:
    """Return a message whose reasoning is in details, as MiniMax's server returns it. Details of the caller stay."""
    text = _text_in(thinking) or _text_of(message, TEXT_FIELDS)
    message = _without_thinking_parts(message, thinking)
    if not text or message.get("reasoning_details"):
        return message
    others = {key: value for key, value in message.items() if key not in TEXT_FIELDS or value not in (text, None, "")}
    return others | {"reasoning_details": [_DETAIL_OF_MINIMAX | {"text": text}]}


_DETAIL_OF_MINIMAX = {"type": "reasoning.text", "id": "reasoning-text-1", "format": "MiniMax-response-v1", "index": 0}
"""A detail of MiniMax's server without its text (platform.minimax.io/docs/guides/text-m2-function-call)."""


def _with_documents(message: JsonObject, rules: DialectRules) -> JsonObject:
    """Return a message whose documents in parts of other servers are in parts that the server reads.

    Losses are those of the encoded request. A document that the server does not read stays, because its index is in the report.
    """
    content = message.get("content")
    foreign = _DOCUMENT_PARTS - {rules.document_part}
    if not isinstance(content, list) or not any(part.get("type") in foreign for part in content):
        return message
    unreported = Ledger({}, FieldPaths())
    unreported.dialect = rules
    parts = [encode_part(decode_part(part, ""), unreported) or part if part.get("type") in foreign else part for part in content]
    return message | {"content": parts}


_DOCUMENT_PARTS = frozenset({"document_url", "file_url"})
"""Types of parts with documents that single servers have."""


def _without_thinking_parts(message: JsonObject, thinking: list[JsonObject]) -> JsonObject:
    """Return a message without the parts of its content with reasoning. A message with tool calls may have no content."""
    if not thinking:
        return message
    others = [part for part in message["content"] if part.get("type") != "thinking"]
    return message | {"content": others or (None if message.get("tool_calls") else "")}


def _text_of(message: JsonObject, fields: Sequence[str]) -> str:
    """Return the text of the reasoning of a message, in the first of the fields with a text, or in details or blocks."""
    text = next((message[key] for key in fields if message.get(key)), None)
    return text if isinstance(text, str) else _joined(decode_reasoning(message, "")[0])


def _text_in(thinking: list[JsonObject]) -> str:
    return _joined(decode_content([*thinking], ""))


def _joined(parts: Iterable[ir.Part]) -> str:
    return "\n\n".join(part.text for part in parts if isinstance(part, ir.Reasoning) and part.text)


def _values_of(message: JsonObject, field: str) -> list[tuple[str, Any]]:
    """Return the texts and the tokens of a field with reasoning, by pointer in the message."""
    if field not in LIST_FIELDS:
        return [(field, message[field])]
    return [
        (f"{field}/{index}/{key}", value)
        for index, item in enumerate(message[field] or ())
        for key, value in item.items()
        if key not in ("type", "index")
    ]


def _with_prefill_field(
    messages: list[JsonObject], field: str, request: ir.Request, rules: DialectRules, losses: Ledger
) -> list[JsonObject]:
    """Return messages with a field in a final assistant message, unless it ends with tool calls."""
    last = messages[-1]
    if (
        last.get("role") != "assistant"
        or last.get("tool_calls")
        or not (rules.requires_prefill_field or request.continues_last_turn)
    ):
        return messages
    reasoning = request.reasoning
    if rules.prefill_excludes_reasoning and reasoning is not None and not is_reasoning_off(reasoning):
        note_prefill(request, losses)
        return messages
    why = f"{rules.server} {'requires' if rules.requires_prefill_field else 'reads'} it in a final assistant message"
    return [*messages[:-1], last | {field: losses.added(f"/messages/{len(messages) - 1}/{field}", True, why)}]


def _with_continuation(body: JsonObject, request: ir.Request, rules: DialectRules, losses: Ledger) -> JsonObject:
    """Return a request whose final assistant message the server continues, unless it ends with tool calls."""
    last = body["messages"][-1] if body["messages"] else {}
    if not request.continues_last_turn or last.get("role") != "assistant" or last.get("tool_calls"):
        return body
    why = f"{rules.server} reads it to continue a final assistant message"
    return body | {
        name: losses.added(f"/{name}", value, why) for name, value in _CONTINUATION.items() if name in rules.continuation_fields
    }


_CONTINUATION = {"continue_final_message": True, "add_generation_prompt": False}
"""Fields to the values with which servers continue a final assistant message. vLLM rejects both as true, which the second is by default."""


def _with_missing_messages(body: JsonObject, rules: DialectRules, losses: Ledger) -> JsonObject:
    """Return a body with an assistant message wherever the server requires one between a tool result and a message of the user."""
    complete: list[JsonObject] = []
    for message in body["messages"]:
        if complete and complete[-1].get("role") == "tool" and message.get("role") in ("user", "system"):
            index, between = len(complete), {"role": "assistant", "content": _ACKNOWLEDGEMENT}
            losses.translate_additions(partial(shift_index, list_field="messages", first=index, count=1))
            losses.added(
                f"/messages/{index}", between, f"{rules.server} requires it between a tool result and a message of the user"
            )
            complete.append(between)
        complete.append(message)
    return body if len(complete) == len(body["messages"]) else body | {"messages": complete}


def _with_missing_texts(body: JsonObject, rules: DialectRules, losses: Ledger) -> JsonObject:
    """Return a body with a space in each message of the model with neither text nor calls."""
    messages: list[JsonObject] = []
    for index, message in enumerate(body["messages"]):
        content = message.get("content")
        parts = content if isinstance(content, list) else []
        is_empty = not content or (parts and all(part.get("text") == "" for part in parts))
        if is_empty and message.get("role") == "assistant" and not (message.get("tool_calls") or message.get("function_call")):
            pointer = f"/messages/{index}/content" + ("/0/text" if parts else "")
            text = losses.added(pointer, _SPACE, f"{rules.server} rejects an empty message of the model")
            messages.append(message | {"content": [parts[0] | {"text": text}, *parts[1:]] if parts else text})
        else:
            messages.append(message)
    return body | {"messages": messages}


_SPACE = " "
"""The shortest text that Moonshot does not take for an empty one (Toloka/tolokaforge#1288)."""


def _with_joined_results(body: JsonObject, losses: Ledger) -> JsonObject:
    """Return a body whose tool results have their texts in one. A result with other parts stays."""
    messages: list[JsonObject] = []
    for index, message in enumerate(body["messages"]):
        content = message.get("content")
        if message.get("role") != "tool" or not isinstance(content, list) or any(part.get("type") != "text" for part in content):
            messages.append(message)
            continue
        for position, part in enumerate(content):
            for key in part.keys() - {"type", "text"}:
                losses.dropped_at(f"/messages/{index}/content/{position}/{escape(key)}", "ignored_by_server", severity="info")
        # Ollama joins consecutive messages of one role with a blank line.
        messages.append(message | {"content": "\n\n".join(part["text"] for part in content)})
    return body | {"messages": messages}


def _without_empty_answers(messages: list[JsonObject], losses: Ledger) -> list[JsonObject]:
    """Leave out the messages of the model with neither content nor tool calls. What they had is in the report."""
    kept: list[JsonObject] = []
    for message in messages:
        if message["role"] != "assistant" or message.get("content") or message.get("tool_calls"):
            kept.append(message)
        else:
            losses.translate_additions(partial(shift_index, list_field="messages", first=len(kept) + 1, count=-1))
    return kept


_ACKNOWLEDGEMENT = "OK."
"""The text of an assistant message that only a server requires. Mistral rejects an empty one (OpenHands/OpenHands#8685)."""


def _joined_turns(messages: list[JsonObject], losses: Ledger) -> list[JsonObject]:
    """Join consecutive messages of the user, and of the model."""
    joined: list[JsonObject] = []
    places: list[
        tuple[int, dict[str, int]]
    ] = []  # of each message: the index of the joined one, and of its first part and call in it
    for message in messages:
        last = joined[-1] if joined else {}
        if last.get("role") != message.get("role") or message.get("role") not in ("user", "assistant"):
            joined.append(message)
            places.append((len(joined) - 1, {}))
            continue
        places.append((len(joined) - 1, {"content": len(_parts_of(last)), "tool_calls": len(last.get("tool_calls") or ())}))
        others = {
            key: _joined_values(last[key], value)
            for key, value in message.items()
            if last.get(key) and key not in ("role", "content")
        }
        empty = None if last.get("tool_calls") or message.get("tool_calls") else ""
        joined[-1] = last | message | {"content": [*_parts_of(last), *_parts_of(message)] or empty} | others
    losses.translate_additions(lambda pointer: _pointer_in_joined(pointer, places))
    return joined


def _pointer_in_joined(pointer: str, places: list[tuple[int, dict[str, int]]]) -> str:
    """Translate a pointer from messages to joined messages."""
    steps = pointer.split("/")  # "/messages/2/tool_calls/0/id"
    if steps[1] != "messages" or len(steps) < 3:
        return pointer
    index, first = places[int(steps[2])]
    steps[2] = str(index)
    if len(steps) > 4 and steps[3] in first:
        steps[4] = str(int(steps[4]) + first[steps[3]])
    return "/".join(steps)


def _joined_values(first: Any, second: Any) -> Any:
    """Join a field of two messages: calls, or texts of reasoning, between which is a blank line."""
    if isinstance(first, list) and isinstance(second, list):
        return [*first, *second]
    return f"{first}\n\n{second}" if isinstance(first, str) and isinstance(second, str) else second or first


def _parts_of(message: JsonObject) -> list[Any]:
    content = message.get("content") or []
    return [{"type": "text", "text": content}] if isinstance(content, str) else content


def _without_empty_text(message: JsonObject) -> JsonObject:
    """Return a message with an empty string in place of a list that has nothing but empty texts."""
    content = message.get("content")
    is_empty = isinstance(content, list) and all(part.get("type") == "text" and not part.get("text") for part in content)
    return message | {"content": ""} if is_empty else message


def _without_unread_fields(message: JsonObject, pointer: str, rules: DialectRules, losses: Ledger) -> JsonObject:
    """Return a message without the fields that the server rejects in its role."""
    unread = [key for key in message if f"{message.get('role')}.{key}" in rules.rejects_in_messages]
    for key in unread:
        if message[key] and (key != "refusal" or rules.accepts_refusals):  # a refusal has become a text
            losses.dropped_at(f"{pointer}/{escape(key)}", "rejected_by_server", severity="info" if key == "name" else "lossy")
    return {key: value for key, value in message.items() if key not in unread} if unread else message


_WORDS_FOR_TIERS = {"default": "standard_only"}
"""Tiers to the words of other servers for them. Mistral's is that of Anthropic (both SDKs, ``service_tier``)."""


def _with_tier_of_server(body: JsonObject, request: ir.Request, rules: DialectRules, losses: Ledger) -> JsonObject:
    """Return a request with the word of the server for its tier, or without a tier that the server does not have."""
    if rules.tiers is None or body.get("service_tier") in (None, *rules.tiers):
        return body
    word = _WORDS_FOR_TIERS.get(body["service_tier"])
    if word in rules.tiers:
        return body | {"service_tier": word}
    drop_setting_with_code(request, "tier", "unsupported_by_server", losses, severity="info")
    return {key: value for key, value in body.items() if key != "service_tier"}


def _words_for_server(body: JsonObject, encoded: JsonObject, rules: DialectRules) -> JsonObject:
    """Return a request with the server's word for a tool choice, and with its fields for log probabilities."""
    # Together has a number here, the alternatives, and other servers have a flag.
    if not rules.counts_logprobs and type(body.get("logprobs")) is int:
        body = body | {key: encoded[key] for key in ("logprobs", "top_logprobs") if key in encoded}
    if body.get("tool_choice") == "any" and encoded.get("tool_choice") is not None:
        # ``any`` of Mistral means ``required`` (Mistral's API specification, ``ToolChoice``); other servers do not know it.
        body = body | {"tool_choice": encoded["tool_choice"]}
    return body


def _without_excluded_reasoning_format(body: JsonObject, losses: Ledger) -> JsonObject:
    """Return a request without a format of the reasoning that the server rejects next to other fields."""
    format, shows = body.get("reasoning_format"), body.get("include_reasoning")
    has_output = (body.get("response_format") or {}).get("type") not in (None, "text")
    if format is None or not (shows is not None or (format == "raw" and (body.get("tools") or has_output))):
        return body
    is_same = format == "hidden" and shows is False  # the other field hides the reasoning, too
    losses.dropped_at("/reasoning_format", "rejected_combination", severity="info" if is_same else "lossy")
    return {key: value for key, value in body.items() if key != "reasoning_format"}


def _mixed_strict(body: JsonObject, rules: DialectRules) -> list[int]:
    """Return the indexes of the tools with ``strict`` next to others without it, if the server rejects that."""
    tools = (body.get("tools") or []) if rules.requires_uniform_strict else []
    functions = [tool.get("function") for tool in tools]  # a tool of another type may have any value there
    strict = [index for index, function in enumerate(functions) if isinstance(function, dict) and function.get("strict")]
    return strict if len(strict) < len(tools) else []


def _without_strict(body: JsonObject, indexes: list[int]) -> JsonObject:
    """Return a request whose tools at these indexes have no ``strict``."""
    tools = [*body["tools"]]
    for index in indexes:
        function = {key: value for key, value in tools[index]["function"].items() if key != "strict"}
        tools[index] = tools[index] | {"function": function}
    return body | {"tools": tools}


def _without_cache_control(value: Any, pointer: str, losses: Ledger) -> Any:
    """Return messages, parts, calls or tools, or one of them, without the cache marks of Anthropic."""
    if isinstance(value, list):
        return [_without_cache_control(item, f"{pointer}/{index}", losses) for index, item in enumerate(value)]
    if not isinstance(value, dict):
        return value
    if value.get("cache_control") is not None:
        losses.dropped_at(f"{pointer}/cache_control", "unsupported_by_server", severity="info")
    return {
        key: _without_cache_control(member, f"{pointer}/{key}", losses) if key in _MARKED else member
        for key, member in value.items()
        if key != "cache_control"
    }


_MARKED = frozenset({"content", "tool_calls"})
"""Fields of a message with lists of objects that may have a cache mark."""
_LEGACY = frozenset({"functions", "function_call"})
"""Fields of a request with functions, from the time before tools."""


def _without_legacy_functions(body: JsonObject, encoded: JsonObject) -> JsonObject:
    """Return a request with tools and their results in place of functions, calls and results from the time before tools."""
    has_legacy = not _LEGACY.isdisjoint(body) or any(
        message.get("role") == "function" or message.get("function_call") is not None for message in body["messages"]
    )
    if not has_legacy:
        return body
    kept = {key: value for key, value in body.items() if key not in _LEGACY}
    return kept | {key: encoded[key] for key in ("messages", "tools", "tool_choice") if key in encoded}


def _with_json_instruction(messages: list[JsonObject], encoded: list[JsonObject], losses: Ledger) -> list[JsonObject]:
    """Return messages with the instruction in place of JSON mode, if the encoder has written it."""
    added = next(filter(is_json_instruction, encoded), None)
    if added is None or any(map(is_json_instruction, messages)):
        return messages
    first = next((index for index, each in enumerate(messages) if each.get("role") not in ("system", "developer")), len(messages))
    complete = [*messages[:first], added, *messages[first:]]
    note_json_instruction(complete, "/messages", losses)
    return complete


def _with_counted_logprobs(body: JsonObject, rules: DialectRules) -> JsonObject:
    """Return a request with the number of alternatives in ``logprobs``, for Together, which has no flag (recorded traffic)."""
    if not rules.counts_logprobs or "logprobs" not in body:
        return body
    others = {key: value for key, value in body.items() if key != "top_logprobs"}
    return others | {"logprobs": body.get("top_logprobs", 1) if body["logprobs"] else 0}


def _without_rejected_in_messages(body: JsonObject, rules: DialectRules, losses: Ledger) -> JsonObject:
    """Return a request whose messages have no fields that the server rejects in them; note each."""
    if not rules.rejects_in_messages:
        return body
    messages = [_without_unread_fields(each, f"/messages/{index}", rules, losses) for index, each in enumerate(body["messages"])]
    return body if messages == body["messages"] else body | {"messages": messages}


class _ServerRequests(ServerRequests):
    def adapt_encoded(self, body: JsonObject, request: ir.Request, rules: DialectRules, losses: Ledger) -> JsonObject:
        choice = body.get("tool_choice")
        # Tools that the list of allowed tools does not contain have been left out.
        if rules.accepts_allowed_tools is False and isinstance(choice, dict) and choice.get("type") == "allowed_tools":
            body = body | {"tool_choice": choice["allowed_tools"]["mode"]}
        body = _with_tier_of_server(_with_counted_logprobs(body, rules), request, rules, losses)
        if mixed := _mixed_strict(body, rules):
            functions = {tool.name: tool for tool in all_tools(request) if isinstance(tool, ir.FunctionTool)}
            for index in mixed:
                losses.dropped(functions[body["tools"][index]["function"]["name"]], "strict", "rejected_combination")
            body = _without_strict(body, mixed)
        if rules.reasoning_history is not None:
            body = _Messages(rules, losses, request).adapted(body)
            if not rules.accepts_empty_answers:  # without reasoning a message may only look empty
                body = body | {"messages": _without_empty_answers(body["messages"], losses)}
        if rules.prefill_field is not None and body["messages"]:
            body = body | {"messages": _with_prefill_field(body["messages"], rules.prefill_field, request, rules, losses)}
        if rules.continuation_fields:
            body = _with_continuation(body, request, rules, losses)
        return body | {"messages": _joined_turns(body["messages"], losses)} if rules.requires_alternating_turns else body

    def with_reasoning_settings(
        self, body: JsonObject, encoded: JsonObject, rules: DialectRules | None, is_invalid: bool
    ) -> JsonObject:
        return with_settings_of_server(body, encoded, rules, is_invalid)

    def reasoning_amounts(self, rules: DialectRules) -> frozenset[str]:
        return control_of(rules).units

    def with_server_fields(self, body: JsonObject, encoded: JsonObject, rules: DialectRules, losses: Ledger) -> JsonObject:
        body = _Messages(rules, losses).adapted(body)
        if not rules.accepts_any_object:
            body = body | {"messages": _with_json_instruction(body["messages"], encoded["messages"], losses)}
        return _words_for_server(body, encoded, rules)

    def without_unread_values(self, body: JsonObject, request: ir.Request, rules: DialectRules, losses: Ledger) -> JsonObject:
        body = _with_tier_of_server(body, request, rules, losses)
        if rules.format_excludes_tools and body.get("tools"):  # only the default is left (BerriAI/litellm#31333)
            body = {key: value for key, value in body.items() if key != "response_format"}
        if mixed := _mixed_strict(body, rules):  # the encoder weakens a strict schema, which a caller of this format may send
            for index in mixed:
                losses.dropped_at(f"/tools/{index}/function/strict", "rejected_combination")
            body = _without_strict(body, mixed)
        if rules.limits_reasoning_format:
            body = _without_excluded_reasoning_format(body, losses)
        if not rules.accepts_empty_texts:
            body = body | {"messages": [_without_empty_text(message) for message in body["messages"]]}
        if body.get("tools") == [] and not rules.accepts_empty_tools:
            body = {key: value for key, value in body.items() if key != "tools"}
        if rules.cache_marks == "none":
            unmarked = {key: _without_cache_control(body.get(key), f"/{key}", losses) for key in ("messages", "tools")}
            body = body | {key: value for key, value in unmarked.items() if value != body.get(key)}
        return _without_rejected_in_messages(body, rules, losses)

    def without_legacy_functions(self, body: JsonObject, encoded: JsonObject) -> JsonObject:
        return _without_legacy_functions(body, encoded)

    def with_missing_messages(self, body: JsonObject, rules: DialectRules, losses: Ledger) -> JsonObject:
        if rules.requires_answer_text:
            body = _with_missing_texts(body, rules, losses)
        if not rules.reads_result_parts:
            body = _with_joined_results(body, losses)
        return body if rules.accepts_user_after_result else _with_missing_messages(body, rules, losses)


SERVER_REQUESTS = _ServerRequests(
    reasoning_fields=CONFIG_FIELDS,
    reasoning_may_exclude_functions=True,  # OpenAI's models since GPT-5.4 (pipecat-ai/pipecat#4043)
)
