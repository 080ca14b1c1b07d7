"""Reasoning in chat_completions: one text under several names, and details that keep tokens with their origin."""

from __future__ import annotations

from typing import Any

from formatbridge import ir
from formatbridge.formats._extra import rest
from formatbridge.formats._parts import drop_id
from formatbridge.formats._signatures import decode_token, drop_empty, encode_token, native_token
from formatbridge.losses import Ledger
from formatbridge.options import Options

JsonObject = dict[str, Any]

_HOMES: tuple[tuple[str, ir.Format], ...] = (
    ("anthropic-", "messages"),
    ("openai-responses-", "responses"),
    ("xai-responses-", "responses"),
    ("google-", "generate_content"),
)
FORMATS: dict[ir.Format, str] = {
    "messages": "anthropic-claude-v1",
    "responses": "openai-responses-v1",
    "generate_content": "google-gemini-v1",
    "chat_completions": "unknown",
}
_DETAIL = frozenset({"type", "text", "summary", "data", "signature", "index"})
_HIDDEN: dict[ir.Format, ir.SignatureKind] = {
    "messages": "redacted",
    "responses": "encrypted",
    "generate_content": "thought",
}


def decode_reasoning(raw: JsonObject, src: str) -> tuple[list[ir.Part], JsonObject | None]:
    """Read reasoning from the first name that has any; another name that says something else is left over."""
    details = raw.get("reasoning_details")
    parts: list[ir.Part] = []
    if details:
        parts = [_decode_detail(detail, f"{src}/reasoning_details/{index}") for index, detail in enumerate(details)]
    texts = [part.text for part in parts if isinstance(part, ir.Reasoning)]
    leftover: JsonObject = {}
    for name in ("reasoning_content", "reasoning"):
        text = raw.get(name)
        if not text:
            continue
        if not any(texts) and isinstance(text, str):
            parts.insert(0, ir.Reasoning(text=text, src=f"{src}/{name}"))
            texts = [text]
        elif text not in ("".join(texts), "\n\n".join(texts), "\n".join(texts)):
            leftover[name] = text
    return parts, leftover or None


def _decode_detail(raw: JsonObject, src: str) -> ir.Part:
    word = raw.get("format") or ""
    home: ir.Format = next((home for prefix, home in _HOMES if word.startswith(prefix)), "chat_completions")
    token = raw.get("signature") or raw.get("data")
    kind: ir.SignatureKind = "thinking" if raw.get("signature") else _HIDDEN.get(home, "encrypted")
    slot = "signature" if raw.get("signature") else "data"
    known = _DETAIL | {"format"} if word in ("", FORMATS[home]) else _DETAIL
    return ir.Reasoning(
        text=raw.get("text") or raw.get("summary") or "",
        summary="summary" in raw,
        signature=decode_token(token, home, kind, f"{src}/{slot}") if token else None,
        src=src,
        extra=rest(raw, known),
    )


def encode_history(parts: list[ir.Reasoning], losses: Ledger) -> JsonObject:
    """Write the reasoning of a turn in a request: its text once, and the tokens that are at home here."""
    texts: list[str] = []
    details: list[JsonObject] = []
    for part in parts:
        drop_id(part, losses)
        if part.extra:
            losses.extras(part)
        if part.text:
            texts.append(part.text)
        elif part.signature and part.signature.home != "chat_completions":
            drop_empty(part, losses)
            continue
        token = native_token(part.signature, "chat_completions", losses)
        if token is not None:
            slot = (
                {"type": "reasoning.text", "text": part.text, "signature": token}
                if part.text
                else {"type": "reasoning.encrypted", "data": token}
            )
            details.append(slot | {"index": len(details)})
    body: JsonObject = {"reasoning_content": "\n\n".join(texts)} if texts else {}
    return body | ({"reasoning_details": details} if details else {})


def encode_reasoning(parts: list[ir.Part], losses: Ledger, options: Options) -> JsonObject:
    """Write the reasoning of an answer: its text once, and every token in a detail that names its origin."""
    texts: list[str] = []
    details: list[JsonObject] = []
    for part in parts:
        if isinstance(part, ir.Reasoning):
            drop_id(part, losses)
            if part.extra:
                losses.extras(part)
            if part.text:
                texts.append(part.text)
        if isinstance(part, ir.Reasoning | ir.Text | ir.Media) and part.signature:
            text = part.text if isinstance(part, ir.Reasoning) else ""
            detail = _encode_detail(part.signature, text, isinstance(part, ir.Reasoning), losses, options)
            if detail:
                details.append(detail | {"index": len(details)})
    body: JsonObject = {"reasoning_content": "\n\n".join(texts)} if texts else {}
    return body | ({"reasoning_details": details} if details else {})


def _encode_detail(signature: ir.Signature, text: str, is_own: bool, losses: Ledger, options: Options) -> JsonObject | None:
    """Write one token: beside the text it signs, or on its own. One that belongs to what follows is tagged to say so."""
    if signature.home != "chat_completions" and not options.carry_reasoning:
        losses.dropped(signature, code="foreign_signature")
        return None
    format = FORMATS[signature.home]
    if not is_own:
        return {
            "type": "reasoning.encrypted",
            "data": encode_token(signature, "chat_completions", kind="call"),
            "format": format,
        }
    token = encode_token(signature, "chat_completions")
    if text and signature.kind == "thinking":
        return {"type": "reasoning.text", "text": text, "signature": token, "format": format}
    return {"type": "reasoning.encrypted", "data": token, "format": format}


def encode_call_token(signature: ir.Signature | None, losses: Ledger, options: Options) -> JsonObject:
    """Write the token of a tool call where the compatible servers of its vendor put it."""
    if signature is None:
        return {}
    if not options.carry_reasoning:
        losses.dropped(signature, code="foreign_signature")
        return {}
    native = signature.home == "generate_content"
    token = signature.token if native else encode_token(signature, "chat_completions")
    return {"extra_content": {"google": {"thought_signature": token}}}
