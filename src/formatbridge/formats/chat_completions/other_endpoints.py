"""Model lists and batch lines of Chat Completions.

The model list is also that of Responses (official SDK, ``resources/models.py``). Both formats of OpenAI share the layout of batch lines
(OpenAI, "Batch API", guide). Tokens are counted in the format of Responses only, so the functions for counts are missing.
"""

from __future__ import annotations

from formatbridge import ir
from formatbridge.formats.chat_completions.holds import drop_unheld_in_answer
from formatbridge.formats.shared.batch_lines import openai_layout
from formatbridge.formats.shared.model_lists import decode_data_list, encode_data_list
from formatbridge.jsontext.types import JsonObject
from formatbridge.report.ledger import Ledger


def decode_models(body: JsonObject) -> ir.ModelList:
    """Decode a list of models."""
    return decode_data_list(body, "chat_completions")


def encode_models(models: ir.ModelList, losses: Ledger) -> JsonObject:
    """Encode a list of models."""
    return encode_data_list(models, drop_unheld_in_answer, losses)


BATCH = openai_layout("/v1/chat/completions")
"""The layout of batch lines."""
