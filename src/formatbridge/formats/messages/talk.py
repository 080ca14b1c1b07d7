"""Plain conversations of messages: decode, before anybody has checked them, and encode."""

from __future__ import annotations

from typing import Any

from formatbridge import ir
from formatbridge._json import JsonObject
from formatbridge.formats._arguments import encode_all_objects
from formatbridge.formats._plain_turns import PlainTurn, plain_result, plain_turn, read_turns
from formatbridge.formats._talk import RESULTS, Talk, output_of
from formatbridge.formats.messages.answer import decode_plain_blocks
from formatbridge.losses import Ledger

_BEFORE_TURNS = "system"  # with or without a prompt, the first of them is the user's


def decode_talk(body: JsonObject) -> Talk | None:
    """Read the conversation of a request, which nobody has checked, if it is a plain one; None for any other."""
    system = body.get("system")
    messages: list[ir.Message] = []
    if system is not None and system != "":
        if type(system) is not str or system.isspace():
            return None
        messages.append(ir.Message("system", [ir.Text(system, "/system")], "/system"))
    return read_turns(body.get("messages"), messages, _BEFORE_TURNS, _decode_turn)


def _decode_turn(raw: JsonObject, src: str, calls: list[ir.ToolCall], answered: int) -> PlainTurn | None:
    role, content = raw["role"], raw.get("content")
    if len(raw) != 2 or type(content) is not list or not content or type(content[0]) is not dict:
        return None
    if role == "user" and content[0].get("type") == "tool_result":
        return _decode_results(content, f"{src}/content", calls, answered)
    return plain_turn(decode_plain_blocks(content, f"{src}/content"), role, calls)


def _decode_results(content: list[Any], src: str, calls: list[ir.ToolCall], answered: int) -> PlainTurn | None:
    """Read blocks that are the results of the calls that wait, each a text."""
    results: list[ir.Part] = []
    if len(content) > len(calls) - answered:
        return None
    for index, raw in enumerate(content):
        if type(raw) is not dict or len(raw) != 3 or raw.get("type") != "tool_result":
            return None
        at = f"{src}/{index}"
        result = plain_result(calls[answered + index], raw.get("tool_use_id"), raw.get("content"), f"{at}/content", at)
        if result is None:
            return None
        results.append(result)
    return RESULTS, results


def encode_talk(talk: Talk, losses: Ledger) -> JsonObject:
    """Write a plain conversation as turns, and its system prompt beside them."""
    _, system, turns, calls = talk
    inputs = iter(encode_all_objects(calls, losses) if calls else ())
    made: list[JsonObject] = []
    for turn in turns:
        parts: list[Any] = turn.parts
        first = parts[0]
        if type(first) is ir.Text and len(parts) == 1:
            made.append({"role": turn.role, "content": first.text})
        elif type(first) is ir.ToolResult:
            results = [{"type": "tool_result", "tool_use_id": part.call_id, "content": output_of(part)} for part in parts]
            if made[-1]["role"] == "user":
                made[-1]["content"] += results
            else:
                made.append({"role": "user", "content": results})
        else:
            content = [
                {"type": "tool_use", "id": part.id, "name": part.name, "input": next(inputs)}
                if type(part) is ir.ToolCall
                else {"type": "text", "text": part.text}
                for part in parts
            ]
            made.append({"role": "assistant", "content": content})
    return {"messages": made} if system is None else {"system": system, "messages": made}
