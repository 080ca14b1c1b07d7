"""Plain conversations of responses: decode, before anybody has checked them, and encode."""

from __future__ import annotations

from typing import Any

from formatbridge import ir
from formatbridge._json import JsonObject
from formatbridge._pointers import KNOWN, known_places
from formatbridge.formats._arguments import encode_arguments_text
from formatbridge.formats._plain_turns import plain_result
from formatbridge.formats._talk import AFTER, CALLS, FEW, FIRST, RESULTS, Talk, Use, output_of, talk_that_ends
from formatbridge.formats.responses.calls import decode_bare_call

_PLACES = known_places("/input", "content")
_LEAST = 3  # members that a message has, and a result
_SPEAKERS = ("user", "assistant", "system")  # no set, for an unchecked role may be anything
_TEXTS = (("user", "input_text"), ("assistant", "output_text"), ("system", "input_text"))
"""Who may say something, and what their texts are called."""


def decode_talk(body: JsonObject) -> Talk | None:
    """Read the conversation of a request, whose input nobody has checked, if it is a plain one; None for any other."""
    given, instructions = body.get("input"), body.get("instructions")
    messages: list[ir.Message] = []
    last: Use = FIRST
    if instructions is not None and instructions != "":
        if type(instructions) is not str or instructions.isspace():
            return None
        messages.append(ir.Message("system", [ir.Text(instructions, "/instructions")], "/instructions"))
        last = "system"
    if type(given) is list:
        return _decode_items(given, messages, last)
    if type(given) is not str or not given or given.isspace():
        return None
    messages.append(ir.Message("user", [ir.Text(given, "/input")], "/input"))
    return talk_that_ends("user", messages, [])


def _decode_items(items: list[Any], messages: list[ir.Message], last: Use) -> Talk | None:
    """Read the items behind a system prompt, if there is one. What the model said in a row is one turn."""
    calls: list[ir.ToolCall] = []
    answered = 0
    asked: set[str] = set()  # ids of the calls of a turn that may go on
    if len(items) > FEW and not (type(items[-1]) is dict and len(items[-1]) == _LEAST):
        return None
    for index, raw in enumerate(items):
        if type(raw) is not dict:
            return None
        kind = raw.get("type")
        src, place = _PLACES[index] if index < KNOWN else (f"/input/{index}", f"/input/{index}/content")
        if kind == "message":
            text, role = _decode_text(raw, place), raw.get("role")
            if text is None or role not in AFTER[last]:
                return None
            messages.append(ir.Message(role, [text], src))
            last = role
        elif kind == "function_call":
            call = decode_bare_call(raw, src)
            if call is None or call.id in asked or not (asked or last == "assistant" or CALLS in AFTER[last]):
                return None
            if asked or last == "assistant":
                messages[-1].parts.append(call)
            else:
                messages.append(ir.Message("assistant", [call], src))
            asked.add(call.id)
            calls.append(call)
            last = CALLS
        else:
            result = _decode_result(raw, src, calls[answered]) if answered < len(calls) else None
            if result is None:
                return None
            messages.append(ir.Message("tool", [result], src))
            asked.clear()
            answered += 1
            last = RESULTS if answered == len(calls) else CALLS
    return talk_that_ends(last, messages, calls)


def _decode_result(raw: JsonObject, src: str, call: ir.ToolCall) -> ir.ToolResult | None:
    if raw.get("type") != "function_call_output" or len(raw) != 3:
        return None
    return plain_result(call, raw.get("call_id"), raw.get("output"), f"{src}/output", src)


def _decode_text(raw: JsonObject, src: str) -> ir.Text | None:
    """Read what somebody said, which nobody has checked, if it is one text and nothing else; None for anything else."""
    role, content = raw.get("role"), raw.get("content")
    if type(content) is list and len(content) == 1:
        part = content[0]
        if type(part) is not dict or len(part) != 2 or (role, part.get("type")) not in _TEXTS:
            return None
        content, src = part.get("text"), f"{src}/0"
    elif role not in _SPEAKERS:
        return None
    if len(raw) != 3 or type(content) is not str or not content or content.isspace():
        return None
    return ir.Text(content, src)


def encode_talk(talk: Talk) -> JsonObject:
    """Write a plain conversation as items, and its system prompt beside them."""
    _, system, turns, _ = talk
    items: list[JsonObject] = []
    for turn in turns:
        for part in turn.parts:
            if type(part) is ir.Text:
                items.append({"type": "message", "role": turn.role, "content": part.text})
            elif type(part) is ir.ToolCall:
                text = encode_arguments_text(part)
                items.append({"type": "function_call", "call_id": part.id, "name": part.name, "arguments": text})
            elif type(part) is ir.ToolResult:
                items.append({"type": "function_call_output", "call_id": part.call_id, "output": output_of(part)})
    return {"input": items} if system is None else {"instructions": system, "input": items}
