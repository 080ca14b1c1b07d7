"""Requests of responses."""

from __future__ import annotations

from typing import Any

from formatbridge import ir
from formatbridge.formats._extra import joined, rest
from formatbridge.formats._parts import leading_instructions
from formatbridge.formats._settings import encode_settings
from formatbridge.formats.responses.content import decode_answer, decode_message, decode_result, encode_message, kind_of, settle
from formatbridge.formats.responses.ids import ItemIds
from formatbridge.formats.responses.settings import (
    DONE,
    RANGES,
    SETTINGS,
    SHAPED,
    decode_format,
    decode_reasoning_config,
    decode_settings,
    encode_reasoning_config,
    encode_shaped_settings,
    encode_text,
)
from formatbridge.formats.responses.tools import decode_tool, decode_tool_choice, encode_tool_choice, encode_tools
from formatbridge.losses import Ledger
from formatbridge.options import Options

JsonObject = dict[str, Any]

_KNOWN = SHAPED | SETTINGS.canonical.keys() | {"model", "input", "instructions", "stream", "tools", "tool_choice", "reasoning"}
_UPDATE = frozenset({"type", "id", "reasoning"})
_EFFORTS = frozenset({"none", "minimal", "low", "medium", "high", "xhigh", "max"})


def decode_request(body: JsonObject, *, model: str | None, stream: bool | None) -> ir.Request:
    """Read a request."""
    settings, leftover = decode_settings(body)
    choice, reasoning = body.get("tool_choice"), body.get("reasoning")
    format = (body.get("text") or {}).get("format")
    return ir.Request(
        format="responses",
        model=model or body.get("model"),
        stream=bool(body.get("stream")) if stream is None else stream,
        messages=_decode_messages(body),
        tools=[decode_tool(raw, f"/tools/{index}") for index, raw in enumerate(body.get("tools") or ())],
        tool_choice=decode_tool_choice(choice, "/tool_choice") if choice else None,
        reasoning=decode_reasoning_config(reasoning) if reasoning else None,
        output_format=decode_format(format) if format else None,
        settings=settings,
        extra=joined(rest(body, _KNOWN), leftover),
    )


def encode_request(request: ir.Request, losses: Ledger, options: Options) -> JsonObject:
    """Write a request."""
    del options  # nothing here is left to choice
    if request.extra:
        losses.extras(request)
    model = request.model if request.model is not None else losses.added("/model", "", "required, and the source names none")
    body: JsonObject = {"model": model} | _encode_messages(request, losses)
    body |= encode_tools(request.tools, losses)
    if request.tool_choice:
        choice = encode_tool_choice(request.tool_choice, request.tools, losses)
        if choice is not None:
            body["tool_choice"] = choice
    if request.reasoning:
        body |= encode_reasoning_config(request.reasoning, losses)
    body |= encode_text(request, losses)
    for output in (request.audio, request.image):
        if output:
            losses.dropped(output)
    body |= encode_settings(request, SETTINGS, losses, DONE, RANGES)
    body |= encode_shaped_settings(request, losses)
    return body | {"stream": True} if request.stream else body


# Messages.


def _decode_messages(body: JsonObject) -> list[ir.Message]:
    messages: list[ir.Message] = []
    instructions, given = body.get("instructions"), body.get("input")
    if instructions:
        text = ir.Text(text=instructions, src="/instructions")
        messages.append(ir.Message(role="system", parts=[text], src="/instructions"))
    if isinstance(given, str):
        messages.append(ir.Message(role="user", parts=[ir.Text(text=given, src="/input")], src="/input"))
    elif given:
        _decode_items(given, messages)
    return messages


def _decode_items(items: list[JsonObject], messages: list[ir.Message]) -> None:
    """Read the items of a conversation; what the model said in a row is one turn."""
    turn: ir.Message | None = None
    for index, raw in enumerate(items):
        src = f"/input/{index}"
        message = _decode_turn(raw, src)
        if message:
            messages.append(message)
            if turn is not None:
                settle(turn.parts)
            turn = None
            continue
        if turn is None:
            turn = ir.Message(role="assistant", parts=[], src=src)
            messages.append(turn)
        leftover = decode_answer(raw, src, turn.parts)
        if leftover:
            turn.extra = joined(turn.extra, leftover)
    if turn is not None:
        settle(turn.parts)


def _decode_turn(raw: JsonObject, src: str) -> ir.Message | None:
    """Read an item that is a turn of its own; None where it belongs to what the model said."""
    kind = kind_of(raw)
    if kind == "message":
        return decode_message(raw, src) if raw["role"] != "assistant" else None
    if kind in ("function_call_output", "custom_tool_call_output"):
        return ir.Message(role="tool", parts=[decode_result(raw, src)], src=src)
    if kind == "additional_tools":
        tools = [decode_tool(tool, f"{src}/tools/{index}") for index, tool in enumerate(raw["tools"])]
        return ir.Message(
            role="developer", parts=[], tools=tools, src=src, extra=rest(raw, frozenset({"type", "id", "role", "tools"}))
        )
    return _decode_update(raw, src) if kind == "configuration_update" else None


def _decode_update(raw: JsonObject, src: str) -> ir.Message | None:
    """Read a change of settings; one that is not of the effort stays as it is."""
    reasoning = raw.get("reasoning") or {}
    effort = reasoning.get("effort")
    if effort not in _EFFORTS:
        return None
    extra = joined(rest(raw, _UPDATE), rest(reasoning, frozenset({"effort"}), "reasoning/"))
    return ir.Message(role="developer", parts=[], effort=effort, src=src, extra=extra)


def _encode_messages(request: ir.Request, losses: Ledger) -> JsonObject:
    """Write the conversation; a system prompt of one plain text goes to ``instructions``."""
    messages = request.messages
    body: JsonObject = {}
    if leading_instructions(messages) == 1 and _is_plain_system(messages[0]):
        if messages[0].extra:
            losses.extras(messages[0])
        body["instructions"] = messages[0].parts[0].text  # type: ignore[union-attr]  # one plain text
        messages = messages[1:]
    items: list[JsonObject] = []
    ids = ItemIds("/input", "", losses)
    for message in messages:
        if message.effort:
            items.append({"type": "configuration_update", "reasoning": {"effort": message.effort}})
        if message.tools:
            added = encode_tools(message.tools, losses).get("tools")
            items += [{"type": "additional_tools", "role": "developer", "tools": added}] if added else []
        encode_message(message, items, ids, losses)
    if request.format == "messages" and messages and messages[-1].role == "assistant":
        losses.changed(messages[-1], "", None, "prefill")
    return body | {"input": items}


def _is_plain_system(message: ir.Message) -> bool:
    if message.role != "system" or len(message.parts) != 1:
        return False
    part = message.parts[0]
    return type(part) is ir.Text and not (part.cache or part.extra or part.citations or part.signature)
