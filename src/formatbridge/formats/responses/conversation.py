"""Turns of responses, which are items of several kinds: decode and encode side by side.

What other formats hold in one turn of the model's are items of their own here. They join into one turn, in order, until something
from the other side comes; results are turns of their own.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from formatbridge import ir
from formatbridge.formats.responses.content import decode_content, encode_content, mark_last
from formatbridge.formats.responses.holds import drop_unheld
from formatbridge.formats.responses.hosted_tools import decode_hosted, encode_generated_image
from formatbridge.formats.responses.item_ids import ItemIds
from formatbridge.formats.responses.reasoning import decode_reasoning, encode_reasoning
from formatbridge.formats.responses.tool_calls import (
    decode_call,
    decode_custom_call,
    decode_search_call,
    encode_call,
    encode_result,
)
from formatbridge.formats.shared.held_fields import drop_field
from formatbridge.formats.shared.parts import encode_opaque, is_only_text, set_unknown_severity
from formatbridge.formats.shared.reasoning_tokens import carries_call_token
from formatbridge.formats.shared.turns import note_empty
from formatbridge.formats.shared.unmodelled_fields import rest
from formatbridge.jsontext.types import JsonObject
from formatbridge.options import Options
from formatbridge.report.ledger import Ledger

_MESSAGE = frozenset({"type", "role", "content"})
_ANSWER = frozenset({"type", "role", "content", "id"})
_WHOLE_ANSWER = _ANSWER | {"status"}


def kind_of(raw: JsonObject) -> str:
    """Return the type of an item; one without is a message, or refers to one where nobody speaks."""
    kind = raw.get("type")
    if kind is None:
        return "message" if raw.get("role") is not None else "item_reference"
    return str(kind)


def decode_message(raw: JsonObject, src: str) -> ir.Message:
    """Read a message that is not the model's."""
    content, at = raw["content"], f"{src}/content"
    parts: list[ir.Part]
    if type(content) is str:
        parts = [ir.Text(content, at)]
    elif len(content) == 1 and len(content[0]) == 2 and content[0].get("type") == "input_text":  # one text and nothing else
        parts = [ir.Text(content[0]["text"], f"{at}/0")]
    else:
        parts = set_unknown_severity(decode_content(content, at))
    # Role and content are always there: a third member that is the type, and there is nothing else.
    extra = None if len(raw) == 3 and "type" in raw else rest(raw, mark_last(parts, raw, src, _MESSAGE))
    return ir.Message(raw["role"], parts, src, extra)


def encode_message(message: ir.Message, items: list[JsonObject], ids: ItemIds, losses: Ledger, options: Options) -> None:
    """Write one turn to the end of ``items``: an item for each of its results, calls and thoughts."""
    drop_unheld(message, losses)
    role = message.role
    if not (message.parts or message.effort or message.tools):
        note_empty(message, losses)
    if role == "assistant":
        encode_said(message.parts, items, ids, losses, options)
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


def decode_item(raw: JsonObject, kind: str, src: str, parts: list[ir.Part]) -> JsonObject | None:
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
            leftover = None if known.issuperset(raw) else rest(raw, mark_last(parts[count:], raw, src, known), f"{src}/")
    elif kind == "function_call":
        parts.append(decode_call(raw, src))
    else:
        parts.append(_decode_other(kind, raw, src))
    if count and type(parts[count - 1]) is ir.Reasoning:  # no other part can wait
        _hand_over(parts, count)
    return leftover


def _hand_over(parts: list[ir.Part], at: int) -> None:
    """Give a token that waits before a place to the part there; before those that have none it belongs to an empty text."""
    if at == len(parts) or not carries_call_token(parts[at - 1]):
        return
    part = parts[at]
    if isinstance(part, ir.Reasoning | ir.Refusal | ir.Opaque):
        parts[at - 1] = as_text(parts[at - 1])
    else:
        parts[at] = replace(part, signature=parts[at - 1].signature)  # type: ignore[union-attr]  # only reasoning waits
        del parts[at - 1]


def settle(parts: list[ir.Part]) -> None:
    """Close what the model said so far: a token that still waits belongs to an empty text."""
    if parts and type(parts[-1]) is ir.Reasoning and carries_call_token(parts[-1]):
        parts[-1] = as_text(parts[-1])


def as_text(token: ir.Part) -> ir.Text:
    """Return the empty text that a waiting token belongs to where nothing takes it; the id of its item was made for the token alone."""
    assert isinstance(token, ir.Reasoning)
    return ir.Text(text="", signature=token.signature, src=token.src, extra=token.extra)


def encode_said(parts: list[ir.Part], items: list[JsonObject], ids: ItemIds, losses: Ledger, options: Options) -> None:
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
            _encode_other(part, items, ids, losses, options)
    if words:
        _encode_words(words, items, ids, losses)


def _decode_other(kind: str, raw: JsonObject, src: str) -> ir.Part:
    decode = _DECODE_ITEM.get(kind)
    return decode(raw, src) if decode else decode_hosted(raw, src)


def _encode_words(parts: list[ir.Text | ir.Refusal], items: list[JsonObject], ids: ItemIds, losses: Ledger) -> None:
    """Write adjacent words as one message: a plain text as it is, more in full, as the server itself writes a message."""
    for part in parts:
        if type(part) is not ir.Text or not is_only_text(part):
            drop_unheld(part, losses)
            if type(part) is ir.Text:  # a text of the model's has no place for a mark
                drop_field(part, "cache", losses)
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


def _encode_other(part: ir.Part, items: list[JsonObject], ids: ItemIds, losses: Ledger, options: Options) -> None:
    made: JsonObject | None = None
    if isinstance(part, ir.ToolCall):
        ids.note_call(part, len(items))
        made = encode_call(part, losses)
    elif isinstance(part, ir.Reasoning):
        made = encode_reasoning(part, losses, options)
    elif isinstance(part, ir.Media):
        drop_field(part, "signature", losses, "responses")
        made = encode_generated_image(part, len(items), ids, losses)
        if made:
            losses.changed(part, "", {"type": "image_generation_call"}, "weaker_carrier")
    else:
        losses.dropped(part, code="orphan", severity="impossible")
    if made:
        items.append(made)


def _decode_search(raw: JsonObject, src: str) -> ir.Part:
    """Read a search for tools: a call of the caller's, unless the server ran it."""
    return decode_search_call(raw, src) if raw.get("execution") == "client" else decode_hosted(raw, src)


_DECODE_ITEM: dict[str, Callable[[JsonObject, str], ir.Part]] = {
    "function_call": decode_call,
    "custom_tool_call": decode_custom_call,
    "tool_search_call": _decode_search,
    "reasoning": decode_reasoning,
}
