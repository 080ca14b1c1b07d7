"""Items of a conversation in responses: messages, reasoning, calls, results; decode and encode side by side.

What other formats hold in one turn of the model's are items of their own here. They join into one turn, in order, until something
from the other side comes; results are turns of their own.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from formatbridge import ir
from formatbridge._json import JsonObject
from formatbridge.formats._arguments import encode_arguments_text
from formatbridge.formats._extra import joined, rest
from formatbridge.formats._parts import drop_citations, encode_opaque, is_plain, note_empty
from formatbridge.formats._signatures import drop_token
from formatbridge.formats.responses.hosted_items import decode_hosted, encode_image
from formatbridge.formats.responses.ids import ItemIds
from formatbridge.formats.responses.parts import decode_content, encode_content
from formatbridge.formats.responses.reasoning import decode_reasoning, encode_reasoning
from formatbridge.losses import ITSELF, Ledger

_MESSAGE = frozenset({"type", "role", "content"})
_ANSWER = frozenset({"type", "role", "content", "id"})
_WHOLE_ANSWER = _ANSWER | {"status"}
_CALL = frozenset({"type", "id", "call_id", "name", "arguments", "namespace"})
_WHOLE_CALL = _CALL | {"status"}
_CUSTOM_CALL = frozenset({"type", "id", "call_id", "name", "input", "namespace"})
_RESULT = frozenset({"type", "call_id", "name", "namespace", "output"})


def kind_of(raw: JsonObject) -> str:
    """Return the type of an item; one without is a message, or refers to one where nobody speaks."""
    kind = raw.get("type")
    if kind is None:
        return "message" if raw.get("role") is not None else "item_reference"
    return str(kind)


def decode_message(raw: JsonObject, src: str) -> ir.Message:
    """Read a message that is not the model's."""
    content, at = raw["content"], f"{src}/content"
    parts: list[ir.Part] = [ir.Text(content, at)] if type(content) is str else decode_content(content, at)
    # Role and content are always there: a third member that is the type, and there is nothing else.
    return ir.Message(raw["role"], parts, src, None if len(raw) == 3 and "type" in raw else rest(raw, _MESSAGE))


def encode_message(message: ir.Message, items: list[JsonObject], ids: ItemIds, losses: Ledger) -> None:
    """Write one turn to the end of ``items``: an item for each of its results, calls and thoughts."""
    if message.extra:
        losses.extras(message)
    role = message.role
    if not (message.parts or message.effort or message.tools):
        note_empty(message, losses)
    if role == "assistant":
        encode_answer(message.parts, items, ids, losses)
        return
    others: list[ir.Part] = []
    for part in message.parts:
        if type(part) is ir.ToolResult:
            ids.note_result(part, len(items))
            items.append(encode_result(part, losses, is_custom=part.kind == "custom" or part.call_id in ids.customs))
        else:
            others.append(part)
    content = encode_content(others, losses) if others else ""
    if content or any(isinstance(part, ir.Text) for part in others):
        items.append({"type": "message", "role": "user" if role == "tool" else role, "content": content})


# What the model said, in a request's history or in a response.


def decode_answer(raw: JsonObject, kind: str, src: str, parts: list[ir.Part]) -> JsonObject | None:
    """Read one item of the model's to the end of ``parts``; return what belongs to no part, by pointer from the root.

    A carried token that belongs to what follows goes to the next part that is not reasoning.
    """
    count, leftover = len(parts), None
    if kind == "message":
        content = raw["content"]
        if type(content) is str and len(raw) == 3 and "type" in raw:  # role and content are always there: there is nothing else
            parts.append(ir.Text(content, f"{src}/content"))
        else:
            decode_content(content, f"{src}/content", raw.get("id"), parts)
            # That a message is whole is nothing to lose: the spelling calls it neutral.
            known = _WHOLE_ANSWER if raw.get("status") == "completed" else _ANSWER
            leftover = None if known.issuperset(raw) else rest(raw, known, f"{src}/")
    elif kind == "function_call":
        parts.append(decode_call(raw, src))
    else:
        parts.append(_decode_item(kind, raw, src))
    if count and type(parts[count - 1]) is ir.Reasoning:  # no other part can wait
        _hand_over(parts, count)
    return leftover


def _hand_over(parts: list[ir.Part], at: int) -> None:
    """Give a token that waits before a place to the part there; before those that have none it belongs to an empty text."""
    if at == len(parts) or not waits(parts[at - 1]):
        return
    part = parts[at]
    if isinstance(part, ir.Reasoning | ir.Refusal | ir.Opaque):
        parts[at - 1] = as_text(parts[at - 1])
    else:
        parts[at] = replace(part, signature=parts[at - 1].signature)  # type: ignore[union-attr]  # only reasoning waits
        del parts[at - 1]


def settle(parts: list[ir.Part]) -> None:
    """Close what the model said so far: a token that still waits belongs to an empty text."""
    if parts and waits(parts[-1]):
        parts[-1] = as_text(parts[-1])


def as_text(token: ir.Part) -> ir.Text:
    """Return the empty text that a waiting token belongs to where nothing takes it; the id of its item was made for the token alone."""
    assert isinstance(token, ir.Reasoning)
    return ir.Text(text="", signature=token.signature, src=token.src, extra=token.extra)


def encode_answer(parts: list[ir.Part], items: list[JsonObject], ids: ItemIds, losses: Ledger) -> None:
    """Write a turn of the model's for a request's history; adjacent words become one message."""
    words: list[ir.Text | ir.Refusal] = []
    for part in parts:
        if type(part) is ir.Text or type(part) is ir.Refusal:
            if words and words[-1].id != part.id:
                _encode_words(words, items, ids, losses)
                words = []
            words.append(part)
        elif type(part) is ir.Hosted or type(part) is ir.Opaque:
            text = encode_opaque(part, losses)
            words += [text] if text else []
        else:
            if words:
                _encode_words(words, items, ids, losses)
                words = []
            _encode_other(part, items, ids, losses)
    if words:
        _encode_words(words, items, ids, losses)


def _decode_item(kind: str, raw: JsonObject, src: str) -> ir.Part:
    decode = _DECODE_ITEM.get(kind)
    return decode(raw, src) if decode else decode_hosted(raw, src)


def waits(part: ir.Part) -> bool:
    """Say whether a part is but a carried token that belongs to what follows."""
    return type(part) is ir.Reasoning and part.signature is not None and part.signature.kind == "call" and not part.text


def _encode_words(parts: list[ir.Text | ir.Refusal], items: list[JsonObject], ids: ItemIds, losses: Ledger) -> None:
    """Write adjacent words as one message: a plain text as it is, more in full, as the server itself writes a message."""
    for part in parts:
        if type(part) is not ir.Text or not is_plain(part):
            _note_words(part, losses)
    if len(parts) == 1 and type(parts[0]) is ir.Text and parts[0].id is None:
        items.append({"type": "message", "role": "assistant", "content": parts[0].text})
        return
    content = [
        {"type": "output_text", "text": part.text, "annotations": []}
        if isinstance(part, ir.Text)
        else {"type": "refusal", "refusal": part.text}
        for part in parts
    ]
    made_id = parts[0].id or ids.make("msg", len(items))
    items.append({"type": "message", "id": made_id, "role": "assistant", "status": "completed", "content": content})


def _note_words(part: ir.Text | ir.Refusal, losses: Ledger) -> None:
    if part.extra:
        losses.extras(part)
    if isinstance(part, ir.Text):
        if part.citations:
            drop_citations(part, losses)
        if part.cache:
            losses.dropped(part.cache, severity="info")
        drop_token(part.signature, "responses", losses)


def _encode_other(part: ir.Part, items: list[JsonObject], ids: ItemIds, losses: Ledger) -> None:
    made: JsonObject | None = None
    if isinstance(part, ir.ToolCall):
        if part.signature:
            drop_token(part.signature, "responses", losses)
        ids.note_call(part, len(items))
        made = encode_call(part, losses)
    elif isinstance(part, ir.Reasoning):
        made = encode_reasoning(part, len(items), ids, losses)
    elif isinstance(part, ir.Media):
        drop_token(part.signature, "responses", losses)
        made = encode_image(part, len(items), ids, losses)
        if made:
            losses.changed(part, "", {"type": "image_generation_call"}, "weaker_carrier")
    else:
        losses.dropped(part, code="orphan", severity="impossible")
    if made:
        items.append(made)


# Calls and their results.


def decode_call(raw: JsonObject, src: str) -> ir.ToolCall:
    """Read a call of a function."""
    call = ir.ToolCall(raw["call_id"], raw["name"], raw["arguments"], src)
    if not call.id:
        _make_id(call, raw)
    if len(raw) > 4:  # more than what every call has: the type and these three
        call.item_id = raw.get("id")
        # That a call is whole is nothing to lose: the spelling calls it neutral. With the id those are six members, and there are no more.
        is_whole = raw.get("status") == "completed"
        if not is_whole or call.item_id is None or len(raw) != 6:
            call.namespace, call.extra = raw.get("namespace") or None, rest(raw, _WHOLE_CALL if is_whole else _CALL)
    return call


def _make_id(call: ir.ToolCall, raw: JsonObject) -> None:
    """Give a call without an id that of its item, or else one that its place makes."""
    call.id, call.id_made = raw.get("id") or f"call_{call.src.rpartition('/')[2]}", True


def _decode_custom_call(raw: JsonObject, src: str) -> ir.ToolCall:
    call = ir.ToolCall(
        id=raw["call_id"],
        name=raw["name"],
        arguments=raw["input"],
        kind="custom",
        namespace=raw.get("namespace") or None,
        item_id=raw.get("id"),
        src=src,
        extra=rest(raw, _CUSTOM_CALL),
    )
    if not call.id:
        _make_id(call, raw)
    return call


def encode_call(call: ir.ToolCall, losses: Ledger) -> JsonObject:
    """Write one tool call as a request has it; an answer adds to that. A token on it is the caller's business."""
    if call.extra:
        losses.extras(call)
    if call.cache:
        losses.dropped(call.cache, severity="info")
    arguments = call.arguments
    text = arguments if type(arguments) is str else encode_arguments_text(call)
    if call.kind == "custom":
        made: JsonObject = {"type": "custom_tool_call", "call_id": call.id, "name": call.name, "input": text}
    else:
        made = {"type": "function_call", "call_id": call.id, "name": call.name, "arguments": text}
    if call.item_id is not None:
        made["id"] = call.item_id
    if call.namespace:
        made["namespace"] = call.namespace
    return made


def decode_result(raw: JsonObject, src: str) -> ir.ToolResult:
    """Read what a tool of the caller's gave back. Without an id it is marked on itself: only a call without one may wait for it."""
    call_id, output, at = raw.get("call_id"), raw["output"], f"{src}/output"
    content: list[ir.Part] = [ir.Text(output, at)] if type(output) is str else decode_content(output, at)
    result = ir.ToolResult(call_id or f"call_{src.rpartition('/')[2]}", content, src)
    if raw["type"] == "custom_tool_call_output":
        result.kind = "custom"
    if len(raw) > 3 or not call_id:  # type and output are always there: with an id, three members are nothing else
        result.name, result.namespace = raw.get("name"), raw.get("namespace") or None
        result.extra, result.id_made = rest(raw, _RESULT), not call_id
    if not call_id:
        result.extra = joined({ITSELF: result.name or ""}, result.extra)
    return result


def encode_result(result: ir.ToolResult, losses: Ledger, *, is_custom: bool) -> JsonObject:
    """Write a result as an item of its own, of the kind that its call has: some formats have one kind of result only."""
    if result.extra:
        losses.extras(result)
    if result.is_error:
        losses.dropped(result, "is_error")
    if result.cache:
        losses.dropped(result.cache, severity="info")
    if result.signature:
        drop_token(result.signature, "responses", losses)
    kind = "custom_tool_call_output" if is_custom else "function_call_output"
    return {"type": kind, "call_id": result.call_id, "output": encode_content(result.content, losses)}


_DECODE_ITEM: dict[str, Callable[[JsonObject, str], ir.Part]] = {
    "function_call": decode_call,
    "custom_tool_call": _decode_custom_call,
    "reasoning": decode_reasoning,
}
