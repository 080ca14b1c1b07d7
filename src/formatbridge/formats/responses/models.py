"""The list of models of Responses; Chat Completions has the same endpoint (official SDK, ``resources/models.py``)."""

from __future__ import annotations

from formatbridge import ir
from formatbridge.formats.responses.holds import drop_unheld_in_answer
from formatbridge.formats.shared.model_lists import decode_data_list, encode_data_list
from formatbridge.jsontext.types import JsonObject
from formatbridge.report.ledger import Ledger


def decode_models(body: JsonObject) -> ir.ModelList:
    """Decode a list of models."""
    return decode_data_list(body, "responses")


def encode_models(models: ir.ModelList, losses: Ledger) -> JsonObject:
    """Encode a list of models."""
    return encode_data_list(models, drop_unheld_in_answer, losses)
