"""Plain conversations of chat_completions: decode, before anybody has checked them, and encode."""

from __future__ import annotations

from typing import Any

from formatbridge import ir
from formatbridge._json import JsonObject
from formatbridge.formats._plain_turns import PlainTurn, plain_result, plain_turn, read_turns
from formatbridge.formats._talk import FIRST, RESULTS, Talk, output_of
from formatbridge.formats.chat_completions.answer import decode_plain_said
from formatbridge.formats.chat_completions.calls import encode_plain_call


def decode_talk(body: JsonObject) -> Talk | None:
    """Read the conversation of a request, which nobody has checked, if it is a plain one; None for any other."""
    return read_turns(body.get("messages"), [], FIRST, _decode_turn)


def _decode_turn(raw: JsonObject, src: str, calls: list[ir.ToolCall], answered: int) -> PlainTurn | None:
    role, content = raw["role"], raw.get("content")
    if role == "assistant":
        return plain_turn(decode_plain_said(raw, src), role, calls)
    if role == "tool":
        if len(raw) != 3 or answered == len(calls):
            return None
        result = plain_result(calls[answered], raw.get("tool_call_id"), content, f"{src}/content", src)
        return None if result is None else (RESULTS, [result])
    if type(content) is not list or len(content) != 1 or len(raw) != 2:
        return None
    text = _decode_text(content[0], f"{src}/content/0")
    return None if text is None else (role, [text])


def _decode_text(raw: object, src: str) -> ir.Text | None:
    """Read what nobody has checked, if it is a text that is not blank, and nothing else."""
    if type(raw) is not dict or len(raw) != 2 or raw.get("type") != "text":
        return None
    text = raw.get("text")
    return ir.Text(text, src) if type(text) is str and text and not text.isspace() else None


def encode_talk(talk: Talk) -> list[JsonObject]:
    """Write a plain conversation as messages."""
    _, system, turns, _ = talk
    made: list[JsonObject] = [] if system is None else [{"role": "system", "content": system}]
    for turn in turns:
        parts: list[Any] = turn.parts
        first = parts[0]
        if type(first) is ir.Text and len(parts) == 1:
            made.append({"role": turn.role, "content": first.text})
        elif type(first) is ir.ToolResult:
            made += [{"role": "tool", "tool_call_id": part.call_id, "content": output_of(part)} for part in parts]
        else:
            text = first.text if type(first) is ir.Text else None
            calls = [encode_plain_call(call) for call in parts if type(call) is ir.ToolCall]
            made.append({"role": "assistant", "content": text, "tool_calls": calls})
    return made
