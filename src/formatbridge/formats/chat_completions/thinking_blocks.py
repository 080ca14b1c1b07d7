"""Thoughts as blocks of the messages format, which some proxies put beside the text of the same thoughts."""

from __future__ import annotations

from typing import Any

from formatbridge import ir
from formatbridge.formats.shared.reasoning_tokens import decode_token
from formatbridge.formats.shared.unmodelled_fields import rest
from formatbridge.jsontext.types import JsonObject

KINDS = frozenset({"thinking", "redacted_thinking"})
"""The types of blocks that are known."""
_SLOTS: dict[str, ir.SignatureKind] = {"signature": "thinking", "data": "redacted"}
_THINKING = frozenset({"type", "thinking", "signature"})
_REDACTED = frozenset({"type", "data"})


def decode_blocks(raw: list[JsonObject], src: str) -> tuple[list[ir.Reasoning], JsonObject]:
    """Read the blocks; one of a kind that is not known is left over."""
    parts: list[ir.Reasoning] = []
    leftover: JsonObject = {}
    for index, block in enumerate(raw):
        if block.get("type") not in KINDS:
            leftover[f"thinking_blocks/{index}"] = block
            continue
        part = decode_block(block, f"{src}/{index}")
        if part.text or part.signature or part.extra:
            parts.append(part)
    return parts, leftover


def decode_block(block: JsonObject, src: str) -> ir.Reasoning:
    """Read a block of a kind that is known."""
    if block["type"] == "thinking":
        return ir.Reasoning(block.get("thinking") or "", src, _token_of(block, "signature", src), extra=rest(block, _THINKING))
    return ir.Reasoning("", src, _token_of(block, "data", src), extra=rest(block, _REDACTED))


def _token_of(block: JsonObject, slot: str, src: str) -> ir.Signature | None:
    token = block.get(slot)
    return decode_token(token, "messages", _SLOTS[slot], f"{src}/{slot}", None, "chat_completions") if token else None


def choose(details: list[ir.Reasoning], text: Any, blocks: list[ir.Reasoning]) -> list[ir.Reasoning] | None:
    """Return whichever carrier keeps the tokens of the thoughts that a message tells more than once; None where the blocks tell others.

    ``text``: the same thoughts without tokens.
    """
    if details:
        return details if is_told_in(details, blocks) else None
    texts = texts_of(blocks)
    return blocks if not (text and texts) or is_same(text, texts) else None


def texts_of(parts: list[ir.Reasoning]) -> list[str]:
    """Return the texts of some thoughts."""
    return [part.text for part in parts if part.text]


def is_same(text: Any, texts: list[str]) -> bool:
    """Say whether a text is that of some thoughts, whatever stands between them."""
    return text in ("".join(texts), "\n\n".join(texts), "\n".join(texts))


def is_told_in(details: list[ir.Reasoning], blocks: list[ir.Reasoning]) -> bool:
    """Say whether details tell all that blocks do."""
    return bool(details) and _gist(blocks) == _gist(details) and not any(block.extra for block in blocks)


def _gist(parts: list[ir.Reasoning]) -> tuple[list[str], list[str]]:
    return texts_of(parts), [part.signature.token for part in parts if part.signature]
