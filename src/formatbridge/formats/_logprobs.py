"""Tokens with their log probabilities, in the one shape that chat_completions and responses share."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from formatbridge import ir
from formatbridge.formats._extra import rest
from formatbridge.losses import Ledger

JsonObject = dict[str, Any]

_RUNNER_UP = frozenset({"token", "logprob", "bytes"})
_TOKEN = _RUNNER_UP | {"top_logprobs"}


def decode_tokens(raw: Sequence[JsonObject], src: str, start: int = 0) -> list[ir.TokenLogprob]:
    """Read the tokens of a text; in a stream, from its token number ``start`` on."""
    return [_decode_token(token, f"{src}/{index}") for index, token in enumerate(raw, start)]


def _decode_token(raw: JsonObject, src: str) -> ir.TokenLogprob:
    token, runners_up = _decode_likely(raw, src, _TOKEN), raw.get("top_logprobs")
    if runners_up is not None:
        token.top = [_decode_likely(each, f"{src}/top_logprobs/{index}", _RUNNER_UP) for index, each in enumerate(runners_up)]
    return token


def _decode_likely(raw: JsonObject, src: str, known: frozenset[str]) -> ir.TokenLogprob:
    return ir.TokenLogprob(
        token=raw.get("token") or "", logprob=raw.get("logprob") or 0.0, bytes=raw.get("bytes"), src=src, extra=rest(raw, known)
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
