"""Tokens with their log probabilities, in the form that chat_completions and responses share."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from itertools import accumulate

from formatbridge import ir
from formatbridge.formats.shared.held_fields import put_in
from formatbridge.formats.shared.unmodelled_fields import read_extra
from formatbridge.jsontext.types import JsonObject
from formatbridge.report.ledger import Ledger

_RUNNER_UP = frozenset({"token", "logprob", "bytes"})
_TOKEN = _RUNNER_UP | {"top_logprobs"}

_SEARCHED_PER_CHARACTER = 8
"""How many characters may be searched without a result, per character of the tokens."""


def decode_tokens(raw: Sequence[JsonObject], src: str, start: int = 0) -> list[ir.TokenLogprob]:
    """Decode the tokens of a text. ``start``: the number of the first token, which is above 0 in a stream."""
    return [_decode_token(token, f"{src}/{index}") for index, token in enumerate(raw, start)]


def _decode_token(raw: JsonObject, src: str) -> ir.TokenLogprob:
    # {"token": "Hi", "logprob": -0.1, "bytes": [72, 105], "top_logprobs": [{"token": "Hi", "logprob": -0.1, "bytes": null}]}
    token, runners_up = _decode_likely(raw, src, _TOKEN), raw.get("top_logprobs")
    if runners_up is not None:
        token.top_logprobs = [
            _decode_likely(each, f"{src}/top_logprobs/{index}", _RUNNER_UP) for index, each in enumerate(runners_up)
        ]
    return token


def _decode_likely(raw: JsonObject, src: str, known: frozenset[str]) -> ir.TokenLogprob:
    """Decode one token. In Responses its log probability may be missing (fixture logprobs_without_probability_only)."""
    logprob = raw.get("logprob")
    return ir.TokenLogprob(
        token=raw.get("token") or "",
        logprob=None if logprob is None else logprob or 0.0,
        bytes=raw.get("bytes"),
        src=src,
        extra=read_extra(raw, known),
    )


def encode_tokens(tokens: Sequence[ir.TokenLogprob], losses: Ledger, *, needs_bytes: bool = False) -> list[JsonObject]:
    """Encode tokens, each with its runners-up. ``needs_bytes``: the format does not allow null for the bytes of a token."""
    encoded: list[JsonObject] = []
    for token in tokens:
        encoded.append(_encode_token(token, losses, needs_bytes))
        encoded[-1]["top_logprobs"] = [_encode_token(top, losses, needs_bytes) for top in token.top_logprobs or ()]
    return encoded


def _encode_token(token: ir.TokenLogprob, losses: Ledger, needs_bytes: bool) -> JsonObject:
    losses.extras(token)
    joined = list(token.token.encode()) if needs_bytes and token.bytes is None else token.bytes
    encoded: JsonObject = {"token": token.token, "logprob": token.logprob, "bytes": joined}
    put_in(encoded, "logprob", token.logprob, 0.0, losses)
    return encoded


class PendingTokens:
    """Tokens in the order of the answer, which are assigned to one text after another. Time is linear in the tokens and the texts."""

    __slots__ = ("_at", "_search_budget", "_tokens")

    def __init__(self, tokens: Sequence[ir.TokenLogprob] = ()) -> None:
        self._tokens: list[ir.TokenLogprob] = []
        self._at = 0  # index of the first pending token
        self._search_budget = 0  # characters that may still be searched without a result
        self.add(tokens)

    def __bool__(self) -> bool:
        return self._at < len(self._tokens)

    def add(self, tokens: Sequence[ir.TokenLogprob]) -> None:
        """Append tokens."""
        self._tokens += tokens
        self._search_budget += _SEARCHED_PER_CHARACTER * (len(tokens) + sum(len(token.token) for token in tokens))

    def remaining(self) -> list[ir.TokenLogprob]:
        """Return the pending tokens."""
        return self._tokens[self._at :]

    def take(self, text: str) -> tuple[list[ir.TokenLogprob], list[ir.TokenLogprob]]:
        """Remove the tokens of a text and all before them. Return those before, and those of the text.

        A token may be a part of a character, so that no tokens match. Then as many are removed as the text is long: close, not exact.
        """
        # Gemini and Chat Completions have one list for a choice. It may have the tokens of calls (fixture logprobs_of_calls).
        start, count = self._at, self._count(len(text))
        if "".join(token.token for token in self._tokens[start:count]) == text:
            first, last = start, self._skip_empty(count)
        else:
            first, last = self._find_tokens(text) or (start, count)
        self._at = last
        return self._tokens[start:first], self._tokens[first:last]

    def _count(self, length: int) -> int:
        """Return the index after the first pending tokens that together have at least this length."""
        at, tokens = self._at, self._tokens
        while length > 0 and at < len(tokens):
            length -= len(tokens[at].token)
            at += 1
        return at

    def _skip_empty(self, at: int) -> int:
        while at < len(self._tokens) and not self._tokens[at].token:
            at += 1
        return at

    def _find_tokens(self, text: str) -> tuple[int, int] | None:
        """Return the start and end of the tokens whose text is this one, after any number of others; None if there are none.

        The searched window doubles until the text is in it, so that the cost is that of the tokens before the text. A search without a
        result costs as much as is pending. When the budget for such searches is used up, only the first window is searched.
        """
        size, spent = 2 * len(text) + 8, 0
        while True:
            end = self._count(size)
            match = self._find_within(self._tokens[self._at : end], text)
            if match is not None:
                return self._at + match[0], self._skip_empty(self._at + match[1])
            size *= 2
            spent += size
            if end == len(self._tokens) or spent > self._search_budget:
                self._search_budget -= spent
                return None

    def _find_within(self, tokens: list[ir.TokenLogprob], text: str) -> tuple[int, int] | None:
        ends = list(accumulate((len(token.token) for token in tokens), initial=0))
        joined = "".join(token.token for token in tokens)
        at = joined.find(text)
        while at >= 0:
            first, last = bisect_left(ends, at), bisect_right(ends, at + len(text)) - 1
            if ends[first] == at and ends[last] == at + len(text):
                return first, last
            if self._search_budget <= 0:
                break
            self._search_budget -= len(text)  # a repetitive text has many matches that do not begin or end at a token
            at = joined.find(text, at + 1)
        return None
