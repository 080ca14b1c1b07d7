"""Google's reasoning tokens in messages, tool calls and images of Chat Completions: ``extra_content`` and ``thought_signature``.

A message, a call or an image has one field for it, so the tokens of several texts of a message become reasoning.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from formatbridge import ir
from formatbridge.formats.shared.held_fields import drop_field
from formatbridge.formats.shared.reasoning_tokens import decode_token, encode_token, is_placeholder
from formatbridge.formats.shared.unmodelled_fields import merge_extra, read_extra
from formatbridge.jsontext.types import JsonObject
from formatbridge.options import Options
from formatbridge.report.ledger import Ledger

GOOGLE: ir.Format = "generate_content"
"""The issuer of the tokens in ``extra_content.google``, where Google's OpenAI-compatible server sends them (recorded traffic)."""
SIGNATURE_FIELDS = frozenset({"extra_content", "thought_signature"})
"""Fields of a message with its signature."""
_SLOTS = ("google", "vertex")
"""Keys of ``extra_content`` with such tokens. Vertex AI's OpenAI-compatible server sends the second one (earendil-works/pi#6733, #294)."""


def decode_extra_content(raw: JsonObject, src: str) -> tuple[ir.Signature | None, JsonObject | None]:
    """Decode the signature in the ``extra_content`` of a message, a tool call or an image. Also return its unmodelled fields.

    The wire types do not check an image of an unknown type, so its ``extra_content`` may be any value.
    """
    extra_content = raw.get("extra_content")
    if not isinstance(extra_content, dict):
        return None, None if extra_content is None else {"extra_content": extra_content}
    key = next((key for key in _SLOTS if isinstance(extra_content.get(key), dict)), None)
    if key is None:
        return None, read_extra(extra_content, frozenset(), "extra_content/")
    fields = extra_content[key]
    token = fields.get("thought_signature")
    known = frozenset({"thought_signature"} if isinstance(token, str) else ())
    extra = merge_extra(
        read_extra(extra_content, frozenset({key}), "extra_content/"), read_extra(fields, known, f"extra_content/{key}/")
    )
    # Google documents placeholders for calls of other models (Gemini API, "Thought signatures"). They are no tokens.
    if not token or not known or is_placeholder(token):
        return None, extra
    token_src = f"{src}/extra_content/{key}/thought_signature"
    slot = key if key != _SLOTS[0] else None
    return decode_token(token, GOOGLE, "thought", token_src, None, "chat_completions", slot), extra


def encode_extra_content(token: str, key: str | None = None) -> JsonObject:
    """Encode a token as ``extra_content``. ``key``: the key of the signature; None is ``google``."""
    return {"extra_content": {key or _SLOTS[0]: {"thought_signature": token}}}


def decode_message_signature(raw: JsonObject, parts: list[ir.Part], src: str) -> JsonObject | None:
    """Decode the signature of a message and add it to one of its parts. Return the unmodelled fields.

    The part is the last text without a signature, else the first such call, else a new empty text. A message may repeat the token as
    ``thought_signature`` (fixture token_next_to_message).
    """
    signature, extra = decode_extra_content(raw, src)
    repeated = raw.get("thought_signature")
    if repeated is not None and (signature is None or repeated not in _tokens_in(raw["extra_content"])):
        extra = merge_extra(extra, {"thought_signature": repeated})
    if signature is None:
        return extra
    calls = [part for part in parts if isinstance(part, ir.ToolCall)]
    candidates: list[ir.Text | ir.ToolCall] = [*(part for part in reversed(parts) if isinstance(part, ir.Text)), *calls]
    signed = next((part for part in candidates if part.signature is None), None)
    if signed is not None:
        signed.signature = signature
    else:
        parts.insert(parts.index(calls[0]) if calls else len(parts), ir.Text("", signature.src, signature=signature))
    return extra


def _tokens_in(extra_content: JsonObject) -> list[Any]:
    """Return the tokens of ``extra_content`` as the body has them, with their tags."""
    return [fields.get("thought_signature") for key in _SLOTS if isinstance(fields := extra_content.get(key), dict)]


def has_message_signature(part: ir.Part) -> bool:
    """Return whether a part has the signature of a message of this format: a text, or reasoning without text."""
    if not isinstance(part, ir.Text | ir.Reasoning) or part.signature is None:
        return False
    token = part.signature
    is_of_message = isinstance(part, ir.Text) or (token.kind == "call" and not part.text)
    return is_of_message and token.issuer == GOOGLE and token.received_in == "chat_completions"


def encode_message_signature(
    visible: list[ir.Part], reasoning: list[ir.Reasoning], losses: Ledger
) -> tuple[list[ir.Part], list[ir.Reasoning], JsonObject]:
    """Encode the signature of an assistant message in a request. Also return the other visible parts and reasoning.

    A message has one signature; the tokens of other texts become reasoning.
    """
    signed = [part for part in (*visible, *reasoning) if has_message_signature(part)]
    if not signed:
        return visible, reasoning, {}
    first, *others = signed
    if isinstance(first, ir.Reasoning):
        drop_field(first, "id", losses)
    remaining = [part for part in reasoning if part is not first]
    remaining += [ir.Reasoning("", part.src, part.signature) for part in others if isinstance(part, ir.Text)]
    unsigned: list[ir.Part] = []
    for part in visible:
        if not isinstance(part, ir.Text) or not has_message_signature(part):
            unsigned.append(part)
        elif part.text:
            unsigned.append(replace(part, signature=None))
    token: ir.Signature = first.signature  # type: ignore[union-attr, assignment]  # it has a signature
    return unsigned, remaining, encode_extra_content(token.token, token.received_key)


def separate_bound_token(call: ir.ToolCall) -> tuple[ir.ToolCall, list[ir.Reasoning]]:
    """Separate the token of a call from the call, if it came in a detail with the id of the call, because it returns in a detail.

    The token has the id that the call has now. Source: recorded traffic of OpenRouter (fixture reasoning_bound).
    """
    token = call.signature
    if token is None or token.item_id is None or token.received_in != "chat_completions":
        return call, []
    return replace(call, signature=None), [ir.Reasoning("", token.src, replace(token, item_id=call.id))]


def encode_answer_signature(signature: ir.Signature | None, losses: Ledger, options: Options) -> JsonObject:
    """Encode the signature of a tool call, an image or a message in a response. Other issuers' tokens are carried in the same field."""
    if signature is None:
        return {}
    if not options.carry_reasoning:
        losses.dropped(signature, code="foreign_signature")
        return {}
    is_native = signature.issuer == GOOGLE
    return encode_extra_content(
        signature.token if is_native else encode_token(signature, "chat_completions"), signature.received_key
    )
