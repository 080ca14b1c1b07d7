"""Token counts of Anthropic Messages: ``POST /v1/messages/count_tokens``."""

from __future__ import annotations

import re

from formatbridge import ir
from formatbridge.formats.format import CountSpec
from formatbridge.formats.messages.holds import drop_unheld_in_answer
from formatbridge.formats.shared.unmodelled_fields import read_extra
from formatbridge.jsontext.types import JsonObject
from formatbridge.report.ledger import Ledger

_UNCOUNTED = frozenset({
    "max_tokens", "stream", "temperature", "top_p", "top_k", "stop_sequences", "metadata", "service_tier", "inference_geo", "container",
    "diagnostics", "fallbacks", "fallback_credit_token", "anthropic_version", "anthropic_beta",
})  # fmt: skip
"""The server rejects them, for example ``max_tokens`` (Wei-Shaw/sub2api#4913). Source: ``MessageCountTokensParams`` of the official SDK.

``thread`` is not one of them: it stands for messages that the server stores, and without it the count is wrong.
"""
_COUNT = frozenset({"input_tokens"})


def decode_count(body: JsonObject) -> ir.TokenCount:
    """Decode the answer."""
    return ir.TokenCount(body["input_tokens"], extra=read_extra(body, _COUNT))


def encode_count(count: ir.TokenCount, losses: Ledger) -> JsonObject:
    """Encode the answer."""
    drop_unheld_in_answer(count, losses)
    return {"input_tokens": count.input}


COUNT = CountSpec(
    path="/v1/messages/count_tokens",
    sdk_path=re.compile(r".*/v1/messages/count_tokens"),
    description="/v1/messages/count_tokens",
    uncounted=_UNCOUNTED,
    settings=frozenset({"parallel_tool_calls", "automatic_cache"}),
    decode_response=decode_count,
    encode_response=encode_count,
)
"""The endpoint that counts tokens."""
