"""Token counts of Gemini: ``POST /v1beta/models/{model}:countTokens``."""

from __future__ import annotations

import re

from formatbridge import ir
from formatbridge.formats.format import CountSpec
from formatbridge.formats.generate_content.holds import drop_unheld_in_answer
from formatbridge.formats.shared.unmodelled_fields import read_extra
from formatbridge.jsontext.types import JsonObject
from formatbridge.report.ledger import Ledger

_REQUEST = "generateContentRequest"
_UNCOUNTED = frozenset({"stream", "safetySettings", "modelArmorConfig", "labels", "serviceTier", "store", "outputConfig"})
"""Fields of a request that the model does not read. The method accepts them in ``generateContentRequest``
(ai.google.dev/api/tokens).
"""
# Source: the official SDK, ``models._CountTokensConfig_to_vertex``.
_TOP_FIELDS = frozenset({"contents", "systemInstruction", "tools", "generationConfig"})
_COUNT = frozenset({"totalTokens"})
_IN_URL = frozenset({"model", "stream"})
_COLLECTIONS = ("models/", "tunedModels/", "publishers/")


def encode_count_request(body: JsonObject, model: str) -> JsonObject:
    """Return the count request for a request of this format. The field ``contents`` is only for requests that have nothing else.

    Source: https://ai.google.dev/api/tokens, which requires either ``contents`` or ``generateContentRequest``.
    """
    # {"generateContentRequest": {"model": "models/m", "contents": [...], "tools": [...]}}; there the model is required.
    fields = {key: value for key, value in body.items() if key not in _IN_URL and value is not None}
    if fields.keys() == {"contents"}:
        return body
    return {_REQUEST: {"model": model if model.startswith(_COLLECTIONS) else f"models/{model}", **fields}}


def decode_count(body: JsonObject) -> ir.TokenCount:
    """Decode the answer."""
    return ir.TokenCount(body["totalTokens"], extra=read_extra(body, _COUNT))


def encode_count(count: ir.TokenCount, losses: Ledger) -> JsonObject:
    """Encode the answer."""
    drop_unheld_in_answer(count, losses)
    return {"totalTokens": count.input}


COUNT = CountSpec(
    path="/v1beta/models/{model}:countTokens",
    sdk_path=re.compile(r".*?/(?P<model>(?:models|tunedModels)/.+):countTokens"),
    description=":countTokens",
    uncounted=_UNCOUNTED,
    request_field=_REQUEST,
    top_fields=_TOP_FIELDS,
    needless_additions=frozenset({"/generationConfig/thinkingConfig/includeThoughts"}),
    encode_request=encode_count_request,
    decode_response=decode_count,
    encode_response=encode_count,
)
"""The method that counts tokens."""
