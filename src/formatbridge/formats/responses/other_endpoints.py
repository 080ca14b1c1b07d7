"""Model lists, token counts (``POST /v1/responses/input_tokens``) and batch lines of Responses.

Chat Completions has the same model lists (official SDK, ``resources/models.py``), and the same layout of batch lines (OpenAI, "Batch
API", guide).
"""

from __future__ import annotations

import re

from formatbridge import ir
from formatbridge.formats.format import CountSpec
from formatbridge.formats.responses.holds import drop_unheld_in_answer
from formatbridge.formats.shared.batch_lines import openai_layout
from formatbridge.formats.shared.model_lists import decode_data_list, encode_data_list
from formatbridge.formats.shared.unmodelled_fields import read_extra
from formatbridge.jsontext.types import JsonObject
from formatbridge.report.ledger import Ledger


def decode_models(body: JsonObject) -> ir.ModelList:
    """Decode a list of models."""
    return decode_data_list(body, "responses")


def encode_models(models: ir.ModelList, losses: Ledger) -> JsonObject:
    """Encode a list of models."""
    return encode_data_list(models, drop_unheld_in_answer, losses)


_UNCOUNTED = frozenset({
    "access_programs", "background", "background_options", "context_management", "include", "max_output_tokens", "max_tool_calls",
    "metadata", "moderation", "prompt_cache_key", "prompt_cache_options", "prompt_cache_retention", "provider", "safety_identifier",
    "service_tier", "store", "stream", "stream_options", "temperature", "top_logprobs", "top_p", "user",
})  # fmt: skip
"""Fields that the endpoint does not have. Source: ``InputTokenCountParams`` of the official SDK.

``prompt`` and ``image`` are not among them: the endpoint does not have them either, and without them the count is wrong.
"""
_COUNT_ANSWER = frozenset({"object", "input_tokens"})


def decode_count(body: JsonObject) -> ir.TokenCount:
    """Decode the answer of the endpoint that counts tokens."""
    # {"object": "response.input_tokens", "input_tokens": 11}
    return ir.TokenCount(body["input_tokens"], extra=read_extra(body, _COUNT_ANSWER))


def encode_count(count: ir.TokenCount, losses: Ledger) -> JsonObject:
    """Encode the answer of the endpoint that counts tokens."""
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


BATCH = openai_layout("/v1/responses")
"""The layout of batch lines."""
