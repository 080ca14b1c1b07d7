"""Thoughts as blocks of the messages format, which some proxies put beside the text of the same thoughts."""

from __future__ import annotations

from typing import Any

from formatbridge import ir
from formatbridge.formats._extra import rest
from formatbridge.formats._signatures import decode_token

JsonObject = dict[str, Any]

_SLOTS: dict[str, ir.SignatureKind] = {"signature": "thinking", "data": "redacted"}
_THINKING = frozenset({"type", "thinking", "signature"})
_REDACTED = frozenset({"type", "data"})


def decode_blocks(raw: list[JsonObject], src: str, first: int) -> tuple[list[ir.Reasoning], JsonObject]:
    """Read the blocks, ``first`` being the number of those before; one of a kind that is not known is left over."""
    parts: list[ir.Reasoning] = []
    leftover: JsonObject = {}
    for index, block in enumerate(raw, first):
        at = f"{src}/{index}"
        match block.get("type"):
            case "thinking":
                part = ir.Reasoning(
                    block.get("thinking") or "", at, _token_of(block, "signature", at), extra=rest(block, _THINKING)
                )
            case "redacted_thinking":
                part = ir.Reasoning("", at, _token_of(block, "data", at), extra=rest(block, _REDACTED))
            case _:
                leftover[f"thinking_blocks/{index}"] = block
                continue
        if part.text or part.signature or part.extra:
            parts.append(part)
    return parts, leftover


def _token_of(block: JsonObject, slot: str, src: str) -> ir.Signature | None:
    token = block.get(slot)
    return decode_token(token, "messages", _SLOTS[slot], f"{src}/{slot}", None, "chat_completions") if token else None


def is_whole(block: JsonObject) -> bool:
    """Say whether a piece of a block is its last: a token ends it."""
    return any(block.get(slot) for slot in _SLOTS)


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
