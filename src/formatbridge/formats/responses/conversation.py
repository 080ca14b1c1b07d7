"""Messages and items of Responses.

Calls, reasoning and messages of the model are separate items. Consecutive ones become one assistant message of the canonical model.
Each tool result becomes a message of role ``tool``.

``decode_item`` and ``end_assistant_message`` are here alone, because only here a turn of the model is several items.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from formatbridge import ir
from formatbridge.formats.responses.content import decode_content, encode_content, mark_last_part
from formatbridge.formats.responses.holds import drop_unheld
from formatbridge.formats.responses.hosted_tools import decode_hosted, encode_generated_image
from formatbridge.formats.responses.item_ids import ItemIds
from formatbridge.formats.responses.reasoning import decode_reasoning, encode_reasoning
from formatbridge.formats.responses.tool_calls import decode_call, encode_call, encode_result
from formatbridge.formats.shared.held_fields import drop_field
from formatbridge.formats.shared.parts import encode_opaque, is_list_item, is_only_text, set_unknown_severity
from formatbridge.formats.shared.reasoning_tokens import carries_call_token
from formatbridge.formats.shared.turns import note_empty
from formatbridge.formats.shared.unmodelled_fields import merge_extra, read_extra
from formatbridge.jsontext.types import JsonObject
from formatbridge.options import Options
from formatbridge.report.ledger import Ledger

# Keys that the decoder reads in messages; it keeps all others in ``extra``, for the report and for the same format.
_MESSAGE = frozenset({"type", "role", "content"})
_OUTPUT_MESSAGE = frozenset({"type", "role", "content", "id"})
_COMPLETED_MESSAGE = _OUTPUT_MESSAGE | {"status"}


def item_type(raw: JsonObject) -> str:
    """Return the type of an item; one without a type is a message, or an item reference if it has no role."""
    # ``type`` is optional in these two only (official SDK, ``EasyInputMessageParam`` and ``ItemReference``).
    kind = raw.get("type")
    if kind is None:
        return "message" if raw.get("role") is not None else "item_reference"
    return str(kind)


def decode_message(raw: JsonObject, src: str) -> ir.Message:
    """Decode a message of a role other than ``assistant``."""
    # {"type": "message", "role": "user", "content": "Hello"}, or a list of parts as its content
    content, content_src = raw["content"], f"{src}/content"
    parts = set_unknown_severity(decode_content(content, content_src))
    extra = None if _MESSAGE.issuperset(raw) else read_extra(raw, mark_last_part(parts, raw, src, _MESSAGE))
    return ir.Message(raw["role"], parts, src, extra)


def encode_message(message: ir.Message, items: list[JsonObject], ids: ItemIds, losses: Ledger, options: Options) -> None:
    """Encode a message and append its items to ``items``: each result, call and reasoning part is an item."""
    drop_unheld(message, losses)
    role = message.role
    if not (message.parts or message.effort or message.tools):
        note_empty(message, losses)
    if role == "assistant":
        _encode_assistant_parts(message.parts, items, ids, losses, options)
        return
    content_parts: list[ir.Part] = []
    # In Anthropic Messages, results and texts are in one user turn ("Handle tool calls").
    # Here the results precede the text, because each is an item.
    for part in message.parts:
        if type(part) is ir.ToolResult:
            ids.note_result(part, len(items))
            of_call = ids.kinds.get(part.call_id)
            items.append(encode_result(part, losses, of_call or ("custom" if part.kind == "custom" else "function")))
        else:
            content_parts.append(part)
    content = encode_content(content_parts, losses) if content_parts else ""
    # A message with an empty text stays, because the source has that message, too.
    if content or any(isinstance(part, ir.Text) for part in content_parts):
        items.append({"type": "message", "role": "user" if role == "tool" else role, "content": content})


# Assistant messages, in the input of a request or the output of a response.


def decode_item(raw: JsonObject, kind: str, src: str, parts: list[ir.Part]) -> JsonObject | None:
    """Decode one item of the model and append its parts to ``parts``; return its unmodelled fields, by pointer from the root.

    A carried token of the kind ``call`` moves from its reasoning item to the part after it.
    """
    # {"type": "function_call", "id": "fc_1", "call_id": "call_1", "name": "f", "arguments": "{}", "status": "completed"}
    # {"type": "reasoning", "id": "rs_1", "summary": [{"type": "summary_text", "text": "..."}], "encrypted_content": "gAAAA..."}
    first, unread = len(parts), None
    if kind == "message":
        decode_content(raw["content"], f"{src}/content", raw.get("id"), parts)
        # The status ``completed`` is a neutral value, so dropping it is not a loss.
        known = _COMPLETED_MESSAGE if raw.get("status") == "completed" else _OUTPUT_MESSAGE
        unread = read_extra(raw, mark_last_part(parts[first:], raw, src, known), f"{src}/")
    elif kind == "function_call":
        parts.append(decode_call(raw, src))
    else:
        decode = _DECODE_ITEM.get(kind, decode_hosted)
        parts.append(decode(raw, src))
    if first and type(parts[first - 1]) is ir.Reasoning:  # only reasoning can hold the token of the next part
        unread = merge_extra(unread, _move_call_token(parts, first))
    return unread


def _move_call_token(parts: list[ir.Part], index: int) -> JsonObject | None:
    """Move a pending call token to the part at ``index``; before a part of a type without tokens, it gets an empty text.

    Return the unmodelled fields of a token that is no part any more, by pointer from the root.
    """
    if index == len(parts) or not carries_call_token(parts[index - 1]):
        return None
    part = parts[index]
    # Reasoning has a token itself, a refusal has no field for one, and an opaque part is encoded unchanged.
    if isinstance(part, ir.Reasoning | ir.Refusal | ir.Opaque):
        parts[index - 1] = token_as_text(parts[index - 1])
        return None
    token = parts.pop(index - 1)
    parts[index - 1] = replace(part, signature=token.signature)  # type: ignore[union-attr]  # only reasoning holds a pending token
    return {f"{token.src}/{pointer}": value for pointer, value in token.extra.items()} if token.extra else None


def end_assistant_message(parts: list[ir.Part]) -> None:
    """End an assistant message: a call token that is still pending at its end gets an empty text."""
    if parts and type(parts[-1]) is ir.Reasoning and carries_call_token(parts[-1]):
        parts[-1] = token_as_text(parts[-1])


def token_as_text(token: ir.Part) -> ir.Text:
    """Return an empty text with a pending token that no part takes; the id of the token's reasoning item is dropped."""
    assert isinstance(token, ir.Reasoning)
    return ir.Text(text="", signature=token.signature, src=token.src, extra=token.extra)


def _encode_assistant_parts(parts: list[ir.Part], items: list[JsonObject], ids: ItemIds, losses: Ledger, options: Options) -> None:
    """Encode an assistant message for the input of a request; adjacent texts and refusals become one item."""
    message_parts: list[ir.Text | ir.Refusal] = []
    for part in parts:
        if type(part) is ir.Text or type(part) is ir.Refusal:
            # Parts with different ids were separate items, such as a comment and the final answer (fixture text_phases).
            if message_parts and message_parts[-1].id != part.id:
                _encode_message_parts(message_parts, items, ids, losses)
                message_parts = []
            message_parts.append(part)
        elif type(part) is ir.Opaque and part.format == "responses" and is_list_item(part):
            if message_parts:
                _encode_message_parts(message_parts, items, ids, losses)
                message_parts = []
            items.append(part.raw)
        elif type(part) is ir.Hosted or type(part) is ir.Opaque:
            text = encode_opaque(part, losses)
            message_parts += [text] if text else []
        else:
            if message_parts:
                _encode_message_parts(message_parts, items, ids, losses)
                message_parts = []
            _encode_other_part(part, items, ids, losses, options)
    if message_parts:
        _encode_message_parts(message_parts, items, ids, losses)


def _encode_message_parts(parts: list[ir.Text | ir.Refusal], items: list[JsonObject], ids: ItemIds, losses: Ledger) -> None:
    """Encode adjacent texts and refusals as one message: a single text without an id as a string, others as output content parts."""
    for part in parts:
        if type(part) is not ir.Text or not is_only_text(part):
            drop_unheld(part, losses)
            if type(part) is ir.Text:  # an output text has no field for a cache mark
                drop_field(part, "cache", losses)
    # An output message requires an id, but the short form of a message does not (official SDK, ``EasyInputMessageParam``).
    if len(parts) == 1 and type(parts[0]) is ir.Text and parts[0].id is None:
        items.append({"type": "message", "role": "assistant", "content": parts[0].text})
        return
    # vLLM's server rejects a text without ``annotations`` (langchain-ai/langchain#32557).
    content = [
        {"type": "output_text", "text": part.text, "annotations": []}
        if isinstance(part, ir.Text)
        else {"type": "refusal", "refusal": part.text}
        for part in parts
    ]
    item_id = parts[0].id or ids.generate("msg", len(items))
    items.append({"type": "message", "id": item_id, "role": "assistant", "status": "completed", "content": content})


def _encode_other_part(part: ir.Part, items: list[JsonObject], ids: ItemIds, losses: Ledger, options: Options) -> None:
    item: JsonObject | None = None
    if isinstance(part, ir.ToolCall):
        ids.note_call(part, len(items))
        item = encode_call(part, losses)
    elif isinstance(part, ir.Reasoning):
        item = encode_reasoning(part, losses, options)
    elif isinstance(part, ir.Media):
        # An assistant message has no image (official SDK, ``ResponseOutputMessage``).
        # The item of an image generation call is the only place for one of the model.
        drop_field(part, "signature", losses, "responses")
        item = encode_generated_image(part, len(items), ids, losses)
        if item:
            losses.changed(part, "", {"type": "image_generation_call"}, "weaker_form")
    else:
        losses.dropped(part, code="orphan", severity="impossible")
    if item:
        items.append(item)


def _decode_search(raw: JsonObject, src: str) -> ir.Part:
    """Decode a tool search call: a tool call if the caller runs it, else a hosted item."""
    return decode_call(raw, src) if raw.get("execution") == "client" else decode_hosted(raw, src)


_DECODE_ITEM: dict[str, Callable[[JsonObject, str], ir.Part]] = {
    "function_call": decode_call,
    "custom_tool_call": decode_call,
    "tool_search_call": _decode_search,
    "reasoning": decode_reasoning,
}
