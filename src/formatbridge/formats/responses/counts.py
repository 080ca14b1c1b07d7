"""Token counts of Responses: ``POST /v1/responses/input_tokens``."""

from __future__ import annotations

import re

from formatbridge import ir
from formatbridge.formats.format import CountSpec
from formatbridge.formats.responses.holds import drop_unheld_in_answer
from formatbridge.formats.shared.unmodelled_fields import read_extra
from formatbridge.jsontext.types import JsonObject
from formatbridge.report.ledger import Ledger

_UNCOUNTED = frozenset({
    "access_programs", "background", "background_options", "context_management", "include", "max_output_tokens", "max_tool_calls",
    "metadata", "moderation", "prompt_cache_key", "prompt_cache_options", "prompt_cache_retention", "provider", "safety_identifier",
    "service_tier", "store", "stream", "stream_options", "temperature", "top_logprobs", "top_p", "user",
})  # fmt: skip
"""Fields that the endpoint does not have. Source: ``InputTokenCountParams`` of the official SDK.

``prompt`` and ``image`` are not among them: the endpoint does not have them either, and without them the count is wrong.
"""
_COUNT = frozenset({"object", "input_tokens"})


def decode_count(body: JsonObject) -> ir.TokenCount:
    """Decode the answer."""
    # {"object": "response.input_tokens", "input_tokens": 11}
    return ir.TokenCount(body["input_tokens"], extra=read_extra(body, _COUNT))


def encode_count(count: ir.TokenCount, losses: Ledger) -> JsonObject:
    """Encode the answer."""
    drop_unheld_in_answer(count, losses)
    return {"object": "response.input_tokens", "input_tokens": count.input}


COUNT = CountSpec(
    path="/v1/responses/input_tokens",
    sdk_path=re.compile(r".*/responses/input_tokens"),
    description="/responses/input_tokens",
    uncounted=_UNCOUNTED,
    settings=frozenset({"parallel_tool_calls", "verbosity"}),
    decode_response=decode_count,
    encode_response=encode_count,
)
"""The endpoint that counts tokens."""
