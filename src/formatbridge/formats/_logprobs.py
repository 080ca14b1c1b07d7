"""Tokens with their log probabilities, in the one shape that chat_completions and responses share."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Sequence
from itertools import accumulate

from formatbridge import ir
from formatbridge._json import JsonObject
from formatbridge.formats._extra import rest
from formatbridge.losses import Ledger

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


def take_tokens(
    tokens: list[ir.TokenLogprob], text: str
) -> tuple[list[ir.TokenLogprob], list[ir.TokenLogprob], list[ir.TokenLogprob]]:
    """Return the tokens before those that spell a text, those that do, and those behind.

    A token may be a part of a character, which spells nothing; then as many are taken as the text is long: close, not exact.
    """
    ends = list(accumulate((len(token.token) for token in tokens), initial=0))
    spelled = "".join(token.token for token in tokens)
    at = spelled.find(text)
    while at >= 0:
        first, last = bisect_left(ends, at), bisect_right(ends, at + len(text)) - 1
        if ends[first] == at and ends[last] == at + len(text):
            return tokens[:first], tokens[first:last], tokens[last:]
        at = spelled.find(text, at + 1)
    count = min(bisect_left(ends, len(text)), len(tokens))
    return [], tokens[:count], tokens[count:]


def drop_tokens(tokens: Iterable[ir.TokenLogprob], losses: Ledger) -> None:
    """Note tokens that belong to no text of the target."""
    for token in tokens:
        losses.dropped(token)


def drop_all_tokens(choice: ir.Choice, losses: Ledger) -> None:
    """Note that a choice loses its tokens, list by list where a format keeps those of each text with it."""
    lists = dict.fromkeys(token.src.rpartition("/")[0] for token in choice.logprobs or ())
    of_texts = [src for src in lists if src.endswith("/logprobs")]
    for src in of_texts:
        losses.dropped(ir.Text("", src))
    if not of_texts:
        losses.dropped(choice, "logprobs")
