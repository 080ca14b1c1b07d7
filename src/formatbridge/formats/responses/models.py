"""The list of models in responses, which shares its endpoint with chat_completions."""

from __future__ import annotations

from formatbridge import ir
from formatbridge._json import JsonObject
from formatbridge.formats._models import decode_data_list, encode_data_list
from formatbridge.losses import Ledger


def decode_models(body: JsonObject) -> ir.ModelList:
    """Read a list of models."""
    return decode_data_list(body, "responses")


def encode_models(models: ir.ModelList, losses: Ledger) -> JsonObject:
    """Write a list of models."""
    return encode_data_list(models, losses)
