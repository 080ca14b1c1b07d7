"""Requests of responses."""

from __future__ import annotations

from formatbridge import ir
from formatbridge.formats.responses.conversation import decode_item, decode_message, encode_message, kind_of, settle
from formatbridge.formats.responses.holds import drop_unheld
from formatbridge.formats.responses.item_ids import ItemIds
from formatbridge.formats.responses.reasoning import decode_reasoning_config, encode_reasoning_config
from formatbridge.formats.responses.schema import decode_format, encode_text_config
from formatbridge.formats.responses.settings import FIELDS, SEALED, SETTINGS, decode_shaped_settings, encode_settings
from formatbridge.formats.responses.tool_calls import decode_result, decode_search_output, leave_repeated_tools
from formatbridge.formats.responses.tools import decode_tool, decode_tool_choice, encode_tool_choice, encode_tools
from formatbridge.formats.shared.settings import EFFORTS, decode_flat_settings
from formatbridge.formats.shared.tool_results import note_orphans, pair_loose
from formatbridge.formats.shared.tools import drop_choice
from formatbridge.formats.shared.turns import leading_instructions, note_no_turns, note_prefill, with_instructions_first
from formatbridge.formats.shared.unmodelled_fields import gathered, joined, rest
from formatbridge.jsontext.types import JsonObject
from formatbridge.options import Options
from formatbridge.report.ledger import Ledger

_BESIDE = frozenset({"model", "input", "instructions", "stream"})
_KNOWN = FIELDS | SETTINGS.canonical.keys() | {"model", "input", "instructions", "stream", "tools", "tool_choice", "reasoning"}
_CHANGES = frozenset({"additional_tools", "configuration_update"})
"""Items that change the configuration from there on."""
_OUTPUTS = frozenset({"function_call_output", "custom_tool_call_output", "tool_search_output"})
"""Items that say what came of a call."""

_STORING = frozenset({"chat_completions", "responses"})
"""Formats whose ``store`` is about answers to be fetched again; elsewhere it is about the server's logs."""
_ADDITION = frozenset({"type", "role", "tools"})
_UPDATE = frozenset({"type", "reasoning"})


def decode_request(body: JsonObject, *, model: str | None, stream: bool | None) -> ir.Request:
    """Read a request."""
    stream = bool(body.get("stream") if stream is None else stream)
    messages = _decode_messages(body)
    request = ir.Request("responses", model or body.get("model"), stream, messages)
    if not decode_flat_settings(body, SETTINGS, request, _BESIDE):
        _decode_shaped_options(body, request)
    return request


def _decode_shaped_options(body: JsonObject, request: ir.Request) -> None:
    """Read what is more than a name and a value."""
    leftover = decode_shaped_settings(body, request.settings)  # type: ignore[arg-type]  # built key by key
    request.extra = joined(rest(body, _KNOWN), leftover)
    choice, reasoning, text = body.get("tool_choice"), body.get("reasoning"), body.get("text")
    if body.get("tools"):
        request.tools = [decode_tool(raw, f"/tools/{index}") for index, raw in enumerate(body["tools"])]
        leave_repeated_tools(request, body)
    if choice:
        request.tool_choice = decode_tool_choice(choice, "/tool_choice", request.tools)
    if reasoning:
        request.reasoning = decode_reasoning_config(reasoning)
    if text and text.get("format"):
        request.output_format = decode_format(text["format"])


def encode_request(request: ir.Request, losses: Ledger, options: Options) -> JsonObject:
    """Write a request."""
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


def _encode_storage(request: ir.Request, body: JsonObject, losses: Ledger) -> None:
    """Let the server store as little as that of the source does, and send the reasoning along that it then does not keep.

    A server of responses stores each answer unless told otherwise. Only models that reason take the word for sealed reasoning
    (pydantic/pydantic-ai#2865), so it stands in a request that asks for reasoning and in no other.
    """
    store = request.settings.get("store")
    if store is not None and request.format in _STORING:
        body["store"] = store
    elif request.format != "responses":
        body["store"] = losses.added("/store", False, "the source's server stores nothing")
    reasoning = body.get("reasoning")
    if reasoning and reasoning.get("effort") != "none":
        include = body.setdefault("include", [])
        include.append(SEALED)
        at = "/include" if len(include) == 1 else f"/include/{len(include) - 1}"
        losses.added(at, [SEALED] if len(include) == 1 else SEALED, "returns the token of the reasoning")


def _encode_tools(request: ir.Request, items: list[JsonObject], losses: Ledger) -> JsonObject:
    """Write the tools, the choice among them, and whether calls may come together: the server takes both beside tools only."""
    body = encode_tools(request.tools, losses)
    if "tools" not in body and not any(item.get("type") == "additional_tools" for item in items):
        drop_choice(request, losses)
        return body
    choice = encode_tool_choice(request.tool_choice, request.tools, losses) if request.tool_choice else None
    if choice is not None:
        body["tool_choice"] = choice
    if "parallel_tool_calls" in request.settings:
        body["parallel_tool_calls"] = request.settings["parallel_tool_calls"]
    return body


# Messages.


def _decode_messages(body: JsonObject) -> list[ir.Message]:
    messages: list[ir.Message] = []
    given, instructions = body.get("input"), body.get("instructions")
    if instructions:
        messages.append(ir.Message("system", [ir.Text(instructions, "/instructions")], "/instructions"))
    if isinstance(given, str):
        messages.append(ir.Message("user", [ir.Text(given, "/input")], "/input"))
    elif given:
        loose: list[ir.ToolResult] = []
        _decode_items(given, messages, loose)
        if loose:
            pair_loose(messages)
    return messages


def _decode_items(items: list[JsonObject], messages: list[ir.Message], loose: list[ir.ToolResult]) -> None:
    """Read the items of a conversation; what the model said in a row is one turn. ``loose`` takes results that name no call, or a tool."""
    turn: ir.Message | None = None
    for index, raw in enumerate(items):
        src, kind = f"/input/{index}", raw.get("type")
        if type(kind) is not str:
            kind = kind_of(raw)
        if kind == "message":
            message = decode_message(raw, src) if raw["role"] != "assistant" else None
        elif kind in _OUTPUTS:
            *before, message = _decode_output(kind, raw, src, loose)
            messages += before  # type: ignore[arg-type]  # only the last may be None
        else:
            message = _decode_change(kind, raw, src) if kind in _CHANGES else None
        if message is not None:
            messages.append(message)
            if turn is not None:
                settle(turn.parts)
                turn = None
            continue
        if turn is None:
            turn = ir.Message("assistant", [], src)
            messages.append(turn)
        leftover = decode_item(raw, kind, src, turn.parts)
        if leftover:
            turn.extra = gathered(turn.extra, leftover)
    if turn is not None:
        settle(turn.parts)


def _decode_output(kind: str, raw: JsonObject, src: str, loose: list[ir.ToolResult]) -> list[ir.Message | None]:
    """Read what a tool of the caller's gave back, and the turn that brings the tools that a search found; None: the server searched."""
    if kind != "tool_search_output":
        result = decode_result(raw, src)
        if result.has_generated_id or result.name or result.namespace is not None:
            loose.append(result)
        return [ir.Message("tool", [result], src)]
    if raw.get("execution") != "client":
        return [None]
    result, found = decode_search_output(raw, src)
    loose += [result] if result.has_generated_id else []
    made: list[ir.Message | None] = [ir.Message("tool", [result], src)]
    return [*made, ir.Message("developer", [], src, tools=found)] if found else made


def _decode_change(kind: str, raw: JsonObject, src: str) -> ir.Message | None:
    """Read an item of ``_CHANGES``; None where it changes what nobody else can."""
    if kind == "configuration_update":
        return _decode_update(raw, src)
    tools = [decode_tool(tool, f"{src}/tools/{index}") for index, tool in enumerate(raw["tools"])]
    return ir.Message("developer", [], src, rest(raw, _ADDITION), tools=tools)


def _decode_update(raw: JsonObject, src: str) -> ir.Message | None:
    """Read a change of settings; one that is not of the effort stays as it is."""
    reasoning = raw.get("reasoning") or {}
    effort = reasoning.get("effort")
    if effort not in EFFORTS:
        return None
    extra = joined(rest(raw, _UPDATE), rest(reasoning, frozenset({"effort"}), "reasoning/"))
    return ir.Message(role="developer", parts=[], effort=effort, src=src, extra=extra)


def _encode_messages(request: ir.Request, body: JsonObject, losses: Ledger, options: Options) -> None:
    """Write the conversation; a system prompt of one plain text goes to ``instructions``, unless there is nothing else to answer."""
    messages = request.messages if options.mid_system == "native" else with_instructions_first(request.messages, losses)
    if messages and _is_plain_system(messages[0]) and leading_instructions(messages) == 1:
        drop_unheld(messages[0], losses)
        body["instructions"] = messages[0].parts[0].text  # type: ignore[union-attr]  # one plain text
        messages = messages[1:]
    note_orphans(messages, losses)
    items: list[JsonObject] = []
    ids = ItemIds("/input", "", losses)
    for message in messages:
        if message.effort:
            items.append({"type": "configuration_update", "reasoning": {"effort": message.effort}})
        if message.tools:
            added = encode_tools(message.tools, losses, request.tools).get("tools")
            items += [{"type": "additional_tools", "role": "developer", "tools": added}] if added else []
        encode_message(message, items, ids, losses, options)
    if request.format == "messages":
        note_prefill(request, losses)
    if not items and body.get("instructions"):
        items.append({"type": "message", "role": "system", "content": body.pop("instructions")})
    if not items:
        note_no_turns(request, losses)
    body["input"] = items


def _is_plain_system(message: ir.Message) -> bool:
    if message.role != "system" or len(message.parts) != 1:
        return False
    part = message.parts[0]
    return type(part) is ir.Text and not (part.cache or part.extra or part.citations or part.signature)
