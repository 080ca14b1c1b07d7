"""Tokens of calls, images and messages in chat_completions, which compatible servers put beside them under the vendor's name."""

from __future__ import annotations

from dataclasses import replace
from typing import TypeGuard

from formatbridge import ir
from formatbridge.formats.shared.parts import drop_id
from formatbridge.formats.shared.reasoning_tokens import decode_token, encode_token, is_placeholder
from formatbridge.formats.shared.unmodelled_fields import joined, rest
from formatbridge.jsontext.types import JsonObject
from formatbridge.options import Options
from formatbridge.report.ledger import Ledger


def decode_outer_token(raw: JsonObject, src: str) -> tuple[ir.Signature | None, JsonObject | None]:
    """Read the token of a call or an image, which compatible servers put under its vendor's name, and what else stands there.

    An image of a kind that is not known may have anything there.
    """
    outer = raw.get("extra_content")
    if not isinstance(outer, dict):
        return None, None if outer is None else {"extra_content": outer}
    google = outer.get("google")
    if not isinstance(google, dict):
        return None, rest(outer, frozenset(), "extra_content/")
    token = google.get("thought_signature")
    known = frozenset({"thought_signature"} if isinstance(token, str) else ())
    extra = joined(rest(outer, frozenset({"google"}), "extra_content/"), rest(google, known, "extra_content/google/"))
    if not token or not known or is_placeholder(token):
        return None, extra
    place = f"{src}/extra_content/google/thought_signature"
    return decode_token(token, "generate_content", "thought", place, None, "chat_completions"), extra


def encode_outer_token(token: str) -> JsonObject:
    """Write a token where ``decode_outer_token`` reads it."""
    return {"extra_content": {"google": {"thought_signature": token}}}


def decode_message_token(raw: JsonObject, parts: list[ir.Part], src: str) -> JsonObject | None:
    """Give the token beside a message to its text, else to the first call without one, else to an empty text; return what else is there.

    Recorded servers say it once more without its vendor, and call an answer that has one thought.
    """
    signature, extra = decode_outer_token(raw, src)
    again = raw.get("thought_signature")
    if again is not None and (signature is None or again != _outer_token(raw)):
        extra = joined(extra, {"thought_signature": again})
    if signature is None:
        return extra
    calls = [part for part in parts if isinstance(part, ir.ToolCall)]
    holders: list[ir.Text | ir.ToolCall] = [*(part for part in reversed(parts) if isinstance(part, ir.Text)), *calls]
    holder = next((part for part in holders if part.signature is None), None)
    if holder is not None:
        holder.signature = signature
    else:
        parts.insert(parts.index(calls[0]) if calls else len(parts), ir.Text("", signature.src, signature=signature))
    return extra


def split_token(
    visible: list[ir.Part], thoughts: list[ir.Reasoning], losses: Ledger
) -> tuple[list[ir.Part], list[ir.Reasoning], JsonObject]:
    """Write the token that goes beside a turn in a request; return what the turn shows and thinks, with tokens that find no room there."""
    found = [part for part in (*visible, *thoughts) if goes_beside(part)]
    if not found:
        return visible, thoughts, {}
    first, *others = found
    if isinstance(first, ir.Reasoning):
        drop_id(first, losses)
    kept = [part for part in thoughts if part is not first]
    kept += [ir.Reasoning("", part.src, part.signature) for part in others if isinstance(part, ir.Text)]
    shown: list[ir.Part] = []
    for part in visible:
        if not isinstance(part, ir.Text) or not goes_beside(part):
            shown.append(part)
        elif part.text:
            shown.append(replace(part, signature=None))
    return shown, kept, encode_outer_token(first.signature.token)  # type: ignore[union-attr]  # ``goes_beside`` says so


def goes_beside(part: ir.Part) -> bool:
    """Say whether a text, or what stands for one, has a token that was found beside a message of this format."""
    if not isinstance(part, ir.Text | ir.Reasoning) or part.signature is None:
        return False
    token = part.signature
    stands_alone = isinstance(part, ir.Text) or (token.kind == "call" and not part.text)
    return stands_alone and token.home == "generate_content" and token.found == "chat_completions"


def encode_call_token(signature: ir.Signature | None, losses: Ledger, options: Options) -> JsonObject:
    """Write the token of a tool call where the compatible servers of its vendor put it."""
    if signature is None:
        return {}
    if not options.carry_reasoning:
        losses.dropped(signature, code="foreign_signature")
        return {}
    native = signature.home == "generate_content"
    token = signature.token if native else encode_token(signature, "chat_completions")
    return encode_outer_token(token)


def is_image(part: ir.Part) -> TypeGuard[ir.Media]:
    """Say whether a part is one of the images of an answer, which have a place for tokens of their own."""
    return isinstance(part, ir.Media) and part.kind == "image" and part.file_id is None


def is_sound(part: ir.Part) -> TypeGuard[ir.Media]:
    """Say whether a part is of the sound of an answer."""
    return isinstance(part, ir.Media) and part.kind == "audio" and part.data is not None


def _outer_token(raw: JsonObject) -> str | None:
    """Return the token that stands under its vendor's name, as it stands there."""
    token: str | None = ((raw.get("extra_content") or {}).get("google") or {}).get("thought_signature")
    return token
