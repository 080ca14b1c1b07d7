"""Plain conversations of generate_content: decode, before anybody has checked them, and encode."""

from __future__ import annotations

from typing import Any

from formatbridge import ir
from formatbridge._json import JsonObject
from formatbridge._pointers import KNOWN, known_places
from formatbridge.formats._arguments import encode_all_objects
from formatbridge.formats._plain_turns import PlainTurn, plain_result, plain_turn
from formatbridge.formats._talk import AFTER, CALLS, FEW, FIRST, RESULTS, Talk, Use, output_of, talk_that_ends
from formatbridge.formats.generate_content.answer import decode_plain_parts
from formatbridge.formats.generate_content.calls import lost_of_arguments
from formatbridge.losses import Ledger

_PLACES = known_places("/contents", "parts/0")


def decode_talk(body: JsonObject) -> Talk | None:
    """Read the conversation of a request, which nobody has checked, if it is a plain one; None for any other."""
    messages: list[ir.Message] = []
    calls: list[ir.ToolCall] = []
    answered = 0
    last: Use = FIRST
    system, given = body.get("systemInstruction"), body.get("contents")
    if type(given) is not list or (len(given) > FEW and not _may_end(given[-1])):
        return None
    if system is not None:
        text = _text_in(system)
        if text is None or len(system) > 1:
            return None
        messages.append(ir.Message("system", [ir.Text(text, "/systemInstruction/parts/0")], "/systemInstruction"))
        last = "system"
    for index, raw in enumerate(given):
        src, place = _PLACES[index] if index < KNOWN else (f"/contents/{index}", f"/contents/{index}/parts/0")
        text = _text_in(raw)
        if text is not None:
            role = raw.get("role") if len(raw) > 1 else "user"
            speaker: ir.Role | None = "user" if role == "user" else "assistant" if role == "model" else None
            if speaker is None or speaker not in AFTER[last]:
                return None
            messages.append(ir.Message(speaker, [ir.Text(text, place)], src))
            last = speaker
            continue
        turn = _decode_turn(raw, src, calls, answered)
        if turn is None or turn[0] not in AFTER[last]:
            return None
        last, parts = turn
        messages.append(ir.Message("tool" if last == RESULTS else "assistant", parts, src))
        if last == RESULTS:
            answered += len(parts)
            last = RESULTS if answered == len(calls) else CALLS
    return talk_that_ends(last, messages, calls)


def _may_end(turn: Any) -> bool:
    """Say at a glance whether the last turn may be a plain one."""
    parts = turn.get("parts") if type(turn) is dict else None
    part = parts[-1] if type(parts) is list and parts else None
    return type(part) is dict and len(part) == 1 and ("text" in part or "functionResponse" in part)


def _text_in(raw: Any) -> str | None:
    """Return the one text of a turn, which nobody has checked; None where it is blank, or where there is anything else in it."""
    if type(raw) is not dict or len(raw) > 2:
        return None
    parts = raw.get("parts")
    part = parts[0] if type(parts) is list and len(parts) == 1 else None
    if type(part) is not dict or len(part) != 1:
        return None
    text = part.get("text")
    return text if type(text) is str and text and not text.isspace() else None


def _decode_turn(raw: Any, src: str, calls: list[ir.ToolCall], answered: int) -> PlainTurn | None:
    """Read a turn of calls or of results."""
    if type(raw) is not dict or len(raw) != 2:
        return None
    if raw.get("role") == "model":
        return plain_turn(decode_plain_parts(raw, f"{src}/parts"), "assistant", calls)
    given = raw.get("parts")
    if raw.get("role") != "user" or type(given) is not list or not 0 < len(given) <= len(calls) - answered:
        return None
    results: list[ir.Part] = []
    for index, part in enumerate(given):
        result = _decode_result(part, calls[answered + index], f"{src}/parts/{index}")
        if result is None:
            return None
        results.append(result)
    return RESULTS, results


def _decode_result(raw: object, call: ir.ToolCall, src: str) -> ir.ToolResult | None:
    """Read what a call returned, if it is a text and nothing else."""
    returned = raw.get("functionResponse") if type(raw) is dict and len(raw) == 1 else None
    if type(returned) is not dict or len(returned) != 3 or returned.get("name") != call.name:
        return None
    response = returned.get("response")
    if type(response) is not dict or len(response) != 1:
        return None
    place = f"{src}/functionResponse/response/output"
    result = plain_result(call, returned.get("id"), response.get("output"), place, src)
    if result is not None:
        result.name = call.name
    return result


def encode_talk(talk: Talk, losses: Ledger) -> JsonObject:
    """Write a plain conversation as turns, and its system prompt beside them."""
    _, system, turns, calls = talk
    args = iter(encode_all_objects(calls, losses, lost_of_arguments) if calls else ())
    names: dict[str, str] = {}
    contents: list[JsonObject] = []
    for turn in turns:
        parts: list[Any] = turn.parts
        first = parts[0]
        if type(first) is ir.Text and len(parts) == 1:
            contents.append({"role": "model" if turn.role == "assistant" else "user", "parts": [{"text": first.text}]})
        elif type(first) is ir.ToolResult:
            results = [_encode_result(part, names[part.call_id]) for part in parts]
            if contents[-1]["role"] == "user":
                contents[-1]["parts"] += results
            else:
                contents.append({"role": "user", "parts": results})
        else:
            made: list[JsonObject] = []
            for part in parts:
                if type(part) is ir.Text:
                    made.append({"text": part.text})
                else:
                    names[part.id] = part.name
                    made.append({"functionCall": {"id": part.id, "name": part.name, "args": next(args)}})
            contents.append({"role": "model", "parts": made})
    return {"contents": contents} if system is None else {"contents": contents, "systemInstruction": {"parts": [{"text": system}]}}


def _encode_result(result: ir.ToolResult, name: str) -> JsonObject:
    return {"functionResponse": {"id": result.call_id, "name": name, "response": {"output": output_of(result)}}}
