"""How likely each token of an answer was."""

from __future__ import annotations

from collections.abc import Iterable

from formatbridge import ir
from formatbridge.formats.shared.unmodelled_fields import rest
from formatbridge.jsontext.types import JsonObject
from formatbridge.report.ledger import Ledger

_TOKEN = frozenset({"token", "logProbability"})
_IMPOSSIBLE = -9999.0
"""What other vendors write for a token that could not be; JSON has no infinity."""


def decode_logprobs(raw: JsonObject, src: str, start: int = 0) -> tuple[list[ir.TokenLogprob] | None, JsonObject | None]:
    """Read the tokens taken, each with its runners-up; in a stream, from its token number ``start`` on.

    The second value is what no token holds, by pointer.
    """
    chosen, ranked = raw.get("chosenCandidates") or [], raw.get("topCandidates") or []
    unread = rest(raw, frozenset({"chosenCandidates", "topCandidates"})) or {}
    for index, step in enumerate(ranked):
        if index >= len(chosen):
            unread[f"topCandidates/{index}"] = step
        else:
            unread |= rest(step, frozenset({"candidates"}), f"topCandidates/{index}/") or {}
    tokens = [_decode_token(token, f"{src}/chosenCandidates/{place}") for place, token in enumerate(chosen, start)]
    for place, (token, step) in enumerate(zip(tokens, ranked, strict=False), start):
        if step.get("candidates"):
            token.aside = f"{src}/topCandidates/{place}"
            token.top = [_decode_token(top, f"{token.aside}/candidates/{rank}") for rank, top in enumerate(step["candidates"])]
    return tokens or None, unread or None


def _decode_token(raw: JsonObject, src: str) -> ir.TokenLogprob:
    chance = raw.get("logProbability")
    is_number = isinstance(chance, int | float)
    return ir.TokenLogprob(
        token=raw.get("token") or "",
        logprob=chance if isinstance(chance, int | float) else 0.0 if chance is None else _IMPOSSIBLE,
        src=src,
        extra=rest(raw, _TOKEN) if is_number or chance is None else rest(raw, frozenset({"token"})),
    )


def encode_logprobs(tokens: list[ir.TokenLogprob], losses: Ledger) -> JsonObject:
    """Write the tokens taken and, step by step, their runners-up."""
    made: JsonObject = {"chosenCandidates": [_encode_token(token, losses) for token in tokens]}
    if any(token.top for token in tokens):
        made["topCandidates"] = [{"candidates": [_encode_token(top, losses) for top in token.top or ()]} for token in tokens]
    return made


class Average:
    """The mean chance of the tokens of an answer, taken one after the other, so that a stream ends in the same number."""

    __slots__ = ("_count", "_total")

    def __init__(self, tokens: Iterable[ir.TokenLogprob] = ()) -> None:
        self._total, self._count = 0.0, 0
        self.add(tokens)

    def add(self, tokens: Iterable[ir.TokenLogprob]) -> None:
        """Take the next tokens."""
        for token in tokens:
            self._total += token.logprob
            self._count += 1

    def told(self) -> JsonObject:
        """Return the field that tells it; nothing where there are no tokens."""
        return {"avgLogprobs": self._total / self._count} if self._count else {}


def _encode_token(token: ir.TokenLogprob, losses: Ledger) -> JsonObject:
    if token.extra:
        losses.extras(token)
    if token.bytes is not None and token.bytes != list(token.token.encode()):
        losses.dropped(token, "bytes", severity="info")
    return {"token": token.token, "logProbability": token.logprob}
