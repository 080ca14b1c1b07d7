"""Tokens with their log probabilities, in the one shape that chat_completions and responses share."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from formatbridge import ir
from formatbridge.formats._extra import rest
from formatbridge.losses import Ledger

JsonObject = dict[str, Any]

_TOKEN = frozenset({"token", "logprob", "bytes", "top_logprobs"})


def decode_tokens(raw: Sequence[JsonObject], src: str, start: int = 0) -> list[ir.TokenLogprob]:
    """Read the tokens of a text; in a stream, from its token number ``start`` on."""
    return [_decode_token(token, f"{src}/{index}") for index, token in enumerate(raw, start)]


def _decode_token(raw: JsonObject, src: str) -> ir.TokenLogprob:
    top = raw.get("top_logprobs")
    return ir.TokenLogprob(
        token=raw.get("token") or "",
        logprob=raw.get("logprob") or 0.0,
        bytes=raw.get("bytes"),
        top=decode_tokens(top, f"{src}/top_logprobs") if top is not None else None,
        src=src,
        extra=rest(raw, _TOKEN),
    )


def encode_tokens(tokens: Sequence[ir.TokenLogprob], losses: Ledger, *, needs_bytes: bool = False) -> list[JsonObject]:
    """Write tokens, each with its runners-up. ``needs_bytes``: the format has no null in place of a token's bytes."""
    return [
        _encode_token(token, losses, needs_bytes)
        | {"top_logprobs": [_encode_token(top, losses, needs_bytes) for top in token.top or ()]}
        for token in tokens
    ]


def _encode_token(token: ir.TokenLogprob, losses: Ledger, needs_bytes: bool) -> JsonObject:
    if token.extra:
        losses.extras(token)
    spelled = list(token.token.encode()) if needs_bytes and token.bytes is None else token.bytes
    return {"token": token.token, "logprob": token.logprob, "bytes": spelled}
