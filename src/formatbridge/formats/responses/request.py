"""Requests of Responses."""

from __future__ import annotations

from formatbridge import ir
from formatbridge.formats.responses.conversation import (
    decode_item,
    decode_message,
    encode_message,
    end_assistant_message,
    item_type,
)
from formatbridge.formats.responses.holds import drop_unheld
from formatbridge.formats.responses.item_ids import ItemIds
from formatbridge.formats.responses.reasoning import decode_reasoning_config, encode_reasoning_config
from formatbridge.formats.responses.schema import decode_format, encode_text_config
from formatbridge.formats.responses.settings import ENCRYPTED_CONTENT, FIELDS, SETTINGS, decode_nested_settings, encode_settings
from formatbridge.formats.responses.tool_calls import decode_result, decode_search_output, remove_repeated_tools
from formatbridge.formats.responses.tools import (
    adapt_tool_search,
    decode_tool,
    decode_tool_choice,
    encode_tool_choice,
    encode_tools,
)
from formatbridge.formats.shared.settings import (
    EFFORTS,
    decode_flat_settings,
    lacks_json_word,
    note_json_instruction,
    with_json_instruction,
)
from formatbridge.formats.shared.tool_results import note_orphan, pair_results_without_ids
from formatbridge.formats.shared.tool_selection import added_tools, all_tools
from formatbridge.formats.shared.tools import drop_choice
from formatbridge.formats.shared.turns import leading_instructions, note_no_turns, note_prefill, with_instructions_first
from formatbridge.formats.shared.unmodelled_fields import extend_extra, merge_extra, read_extra
from formatbridge.jsontext.types import JsonObject
from formatbridge.options import Options
from formatbridge.report.ledger import Ledger
from formatbridge.report.reasons import SEARCHES_DEFERRED

_NOT_SETTINGS = frozenset({"model", "input", "instructions", "stream"})
"""Keys that a request with only flat settings may have, too."""
_KNOWN = FIELDS | SETTINGS.canonical.keys() | {"model", "input", "instructions", "stream", "tools", "tool_choice", "reasoning"}
"""Keys that the decoder reads; it keeps all others in ``extra``, for the report and for the same format."""
_CONFIGURATION = frozenset({"additional_tools", "configuration_update"})
"""Items that change the configuration for the items after them."""
_CALL_OUTPUTS = frozenset({"function_call_output", "custom_tool_call_output", "tool_search_output"})
"""Items with the output of a tool call."""

# Keys that the decoder reads in items of ``_CONFIGURATION``; it keeps all others in ``extra``, for the report and for the same format.
_ADDED_TOOLS = frozenset({"type", "role", "tools"})
_UPDATE = frozenset({"type", "reasoning"})


def decode_request(body: JsonObject, *, model: str | None, stream: bool | None) -> ir.Request:
    """Decode a request."""
    # {"model": "m", "instructions": "Be brief.", "input": [{"role": "user", "content": "Hello"}], "store": false}
    stream = bool(body.get("stream") if stream is None else stream)
    messages = _decode_messages(body)
    request = ir.Request("responses", model or body.get("model"), stream, messages)
    if not decode_flat_settings(body, SETTINGS, request, _NOT_SETTINGS):
        _decode_nested_options(body, request)
    return request


def encode_request(request: ir.Request, losses: Ledger, options: Options) -> JsonObject:
    """Encode a request."""
    drop_unheld(request, losses)
    model = request.model if request.model is not None else losses.added("/model", "")
    body: JsonObject = {"model": model}
    _encode_messages(request, body, losses, options)
    if request.tools or request.tool_choice or "parallel_tool_calls" in request.settings:
        body |= _encode_tools(request, body["input"], losses)
    if request.reasoning:
        body |= encode_reasoning_config(request.reasoning, losses)
    if request.output_format or "verbosity" in request.settings:
        body |= encode_text_config(request, losses)
    if request.settings:
        encode_settings(request, body, losses)
    _encode_storage(request, body, losses)
    if request.stream:
        body["stream"] = True
    return body


def _decode_nested_options(body: JsonObject, request: ir.Request) -> None:
    """Decode the fields that are not flat settings."""
    unread = decode_nested_settings(body, request.settings)  # type: ignore[arg-type]  # built key by key
    request.extra = merge_extra(read_extra(body, _KNOWN), unread)
    choice, reasoning, text = body.get("tool_choice"), body.get("reasoning"), body.get("text")
    # The tools precede the choice: whether a choice of ``tool_search`` names a function depends on them.
    if body.get("tools"):
        request.tools = [decode_tool(raw, f"/tools/{index}") for index, raw in enumerate(body["tools"])]
        remove_repeated_tools(request, body)
    if choice:
        request.tool_choice = decode_tool_choice(choice, "/tool_choice", request.tools)
    if reasoning:
        request.reasoning = decode_reasoning_config(reasoning)
    if text and text.get("format"):
        request.output_format = decode_format(text["format"])


def _encode_storage(request: ir.Request, body: JsonObject, losses: Ledger) -> None:
    """Set ``store`` to what the server of the source does, and request encrypted content, which a response without storage needs.

    By default, the server stores each response. Only reasoning models accept ``reasoning.encrypted_content`` in ``include``
    (pydantic/pydantic-ai#2865), so only a request with a reasoning configuration has it.
    """
    store = request.settings.get("store")
    # The setting of OpenAI's two formats. In generate_content, ``store`` controls the logs of the server, so it is unmodelled there
    # (ai.google.dev/api/generate-content: "Configures the logging behavior").
    if store is not None:
        body["store"] = store
    elif request.format != "responses":
        body["store"] = losses.added("/store", False, "the source's server stores nothing")
    reasoning = body.get("reasoning")
    if reasoning and reasoning.get("effort") != "none":
        include = body.setdefault("include", [])
        include.append(ENCRYPTED_CONTENT)
        pointer = "/include" if len(include) == 1 else f"/include/{len(include) - 1}"
        losses.added(pointer, [ENCRYPTED_CONTENT] if len(include) == 1 else ENCRYPTED_CONTENT, "returns the token of the reasoning")


def _encode_tools(request: ir.Request, items: list[JsonObject], losses: Ledger) -> JsonObject:
    """Encode the tools, the tool choice and ``parallel_tool_calls``, the latter two only with tools."""
    tools, search = request.tools, None
    if request.format != "responses":  # tools of this format are what their caller meant
        tools, search = adapt_tool_search(tools, added_tools(request), losses)
    body = encode_tools(tools, losses)
    if search is not None:
        encoded_tools = body.setdefault("tools", [])
        encoded_tools.append(losses.added(f"/tools/{len(encoded_tools)}", search, SEARCHES_DEFERRED))
    # "'parallel_tool_calls' is only allowed when 'tools' are specified" (openai/swarm#30).
    if "tools" not in body and not any(item.get("type") == "additional_tools" for item in items):
        drop_choice(request, losses)
        return body
    choice = encode_tool_choice(request.tool_choice, all_tools(request), losses) if request.tool_choice else None
    if choice is not None:
        body["tool_choice"] = choice
    if "parallel_tool_calls" in request.settings:
        body["parallel_tool_calls"] = request.settings["parallel_tool_calls"]
    return body


def _decode_messages(body: JsonObject) -> list[ir.Message]:
    messages: list[ir.Message] = []
    # ``input`` is optional: a prompt template may have it (official SDK, ``ResponseCreateParams``).
    input, instructions = body.get("input"), body.get("instructions")
    # ``instructions`` is "A system (or developer) message inserted into the model's context" (official SDK).
    if instructions:
        messages.append(ir.Message("system", [ir.Text(instructions, "/instructions")], "/instructions"))
    if isinstance(input, str):
        messages.append(ir.Message("user", [ir.Text(input, "/input")], "/input"))
    elif input:
        unpaired: list[ir.ToolResult] = []
        _decode_items(input, messages, unpaired)
        if unpaired:
            pair_results_without_ids(messages)
    return messages


def _encode_messages(request: ir.Request, body: JsonObject, losses: Ledger, options: Options) -> None:
    """Encode the messages. A single system text becomes ``instructions``, unless there is no other message."""
    messages = request.messages if options.mid_system == "native" else with_instructions_first(request.messages, losses)
    # ``instructions`` is one text without a role and a cache mark, so other instructions stay messages.
    format = request.output_format
    is_one_text = messages and _is_single_system_text(messages[0]) and leading_instructions(messages) == 1
    if is_one_text and not _needs_word_of_first(messages, format):
        drop_unheld(messages[0], losses)
        body["instructions"] = messages[0].parts[0].text  # type: ignore[union-attr]  # a single text
        messages = messages[1:]
    conversation, messages = messages, with_json_instruction(messages, format) if format else messages
    _note_orphans(messages, losses)
    items: list[JsonObject] = []
    ids = ItemIds("/input", "", losses)
    for message in messages:
        # Both item types change the configuration within a conversation (fixture config_mid_conversation).
        if message.effort:
            items.append({"type": "configuration_update", "reasoning": {"effort": message.effort}})
        if message.tools:
            _encode_added_tools(encode_tools(message.tools, losses, request.tools).get("tools") or [], items)
        encode_message(message, items, ids, losses, options)
    if request.continues_last_turn:
        note_prefill(request, losses)
    if not items and body.get("instructions"):
        # "One of "input" or "previous_response_id" or 'prompt' or 'conversation' must be provided" (diegosouzapw/OmniRoute#1720).
        # So the instructions of a request without turns become its only message.
        items.append({"type": "message", "role": "system", "content": body.pop("instructions")})
    if not items:
        note_no_turns(request, losses)
    if messages is not conversation:
        note_json_instruction(items, "/input", losses)
    body["input"] = items


def _note_orphans(messages: list[ir.Message], losses: Ledger) -> None:
    """Note the orphans of a conversation whose results need no order."""
    open: dict[str, list[ir.ToolCall]] = {}  # the calls without a result, by id
    for message in messages:
        is_answer = message.role == "assistant"
        for part in message.parts:
            if type(part) is ir.ToolCall and is_answer:
                open.setdefault(part.id, []).append(part)
            elif type(part) is ir.ToolResult and not is_answer:
                if open.get(part.call_id):
                    open[part.call_id].pop()
                else:
                    note_orphan(part, losses)
    for calls in open.values():
        for call in calls:
            note_orphan(call, losses)


def _encode_added_tools(tools: list[JsonObject], items: list[JsonObject]) -> None:
    """Append tools that a message adds to the items. Those that a search returned are a field of its output."""
    if tools and items and items[-1]["type"] == "tool_search_output":
        items[-1]["tools"] = tools
    elif tools:
        items.append({"type": "additional_tools", "role": "developer", "tools": tools})


def _needs_word_of_first(messages: list[ir.Message], format: ir.OutputFormat | None) -> bool:
    """Return whether JSON mode requires the first message in the input, because only that has the word (``lacks_json_word``)."""
    return format is not None and lacks_json_word(messages[1:], format) and not lacks_json_word(messages, format)


def _is_single_system_text(message: ir.Message) -> bool:
    if message.role != "system" or len(message.parts) != 1:
        return False
    part = message.parts[0]
    return type(part) is ir.Text and not (part.cache or part.extra or part.citations or part.signature)


def _decode_items(items: list[JsonObject], messages: list[ir.Message], unpaired: list[ir.ToolResult]) -> None:
    """Decode the input items; consecutive items of the model become one message.

    ``unpaired``: a list that receives the results without a call id and those with a tool name.
    """
    assistant: ir.Message | None = None
    for index, raw in enumerate(items):
        src, kind = f"/input/{index}", raw.get("type")
        if type(kind) is not str:
            kind = item_type(raw)
        if kind == "message":
            message = decode_message(raw, src) if raw["role"] != "assistant" else None
        # An output ends the turn of the model: in the other formats, results are turns as well.
        elif kind in _CALL_OUTPUTS:
            *before, message = _decode_output(kind, raw, src, unpaired)
            messages += before  # type: ignore[arg-type]  # only the last may be None
        else:
            message = _decode_configuration(kind, raw, src) if kind in _CONFIGURATION else None
        if message is not None:
            messages.append(message)
            if assistant is not None:
                end_assistant_message(assistant.parts)
                assistant = None
            continue
        if assistant is None:
            assistant = ir.Message("assistant", [], src)
            messages.append(assistant)
        unread = decode_item(raw, kind, src, assistant.parts)
        if unread:
            assistant.extra = extend_extra(assistant.extra, unread)
    if assistant is not None:
        end_assistant_message(assistant.parts)


def _decode_output(kind: str, raw: JsonObject, src: str, unpaired: list[ir.ToolResult]) -> list[ir.Message | None]:
    """Decode a tool result, and a message with the tools that a tool search returned; None if the server ran the search."""
    if kind != "tool_search_output":
        # A result may name its tool instead of its call. ``pair_results_without_ids`` looks for that call.
        result = decode_result(raw, src)
        if result.has_generated_id or result.name or result.namespace is not None:
            unpaired.append(result)
        return [ir.Message("tool", [result], src)]
    if raw.get("execution") != "client":
        return [None]
    result, tools = decode_search_output(raw, src)
    unpaired += [result] if result.has_generated_id else []
    messages: list[ir.Message | None] = [ir.Message("tool", [result], src)]
    return [*messages, ir.Message("developer", [], src, tools=tools)] if tools else messages


def _decode_configuration(kind: str, raw: JsonObject, src: str) -> ir.Message | None:
    """Decode a change of the configuration; None if other formats cannot express it."""
    if kind == "configuration_update":
        return _decode_update(raw, src)
    # {"type": "additional_tools", "role": "developer", "tools": [...]}: "tools made available at this item" (official SDK).
    tools = [decode_tool(tool, f"{src}/tools/{index}") for index, tool in enumerate(raw["tools"])]
    return ir.Message("developer", [], src, read_extra(raw, _ADDED_TOOLS), tools=tools)


def _decode_update(raw: JsonObject, src: str) -> ir.Message | None:
    """Decode a change of the reasoning effort; None for other changes, which become opaque parts."""
    # {"type": "configuration_update", "reasoning": {"effort": "high"}}; the item may also change ``text``.
    reasoning = raw.get("reasoning") or {}
    effort = reasoning.get("effort")
    if effort not in EFFORTS:
        return None
    extra = merge_extra(read_extra(raw, _UPDATE), read_extra(reasoning, frozenset({"effort"}), "reasoning/"))
    return ir.Message(role="developer", parts=[], effort=effort, src=src, extra=extra)
