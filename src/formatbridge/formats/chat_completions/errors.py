"""Errors of Chat Completions: error bodies, and failures that a response reports.

``find_error`` is here alone, because servers put an error into a response, a chunk or a choice of this format
(openrouter.ai/docs/api-reference/errors).
"""

from __future__ import annotations

from formatbridge import ir
from formatbridge.formats.chat_completions.holds import drop_unheld_in_answer
from formatbridge.formats.shared.errors import decode_error_body, encode_error_object
from formatbridge.jsontext.types import JsonObject
from formatbridge.report.ledger import Ledger


def decode_error(body: JsonObject, *, status: int | None) -> ir.Error:
    """Decode an error body."""
    return decode_error_body(body, status=status, otherwise="detail")


def encode_error(error: ir.Error, losses: Ledger) -> tuple[int, JsonObject]:
    """Encode an error as an HTTP status and a body."""
    return encode_error_object(error, drop_unheld_in_answer, losses)


def find_error(body: JsonObject) -> tuple[JsonObject | str | None, str]:
    """Return the error in a response or a chunk, and the pointer of the object that has it.

    It is next to the choices or in the only choice (fixture error_on_chunk), or only the finish reason is ``error``.
    """
    error, choices = body.get("error"), body.get("choices")
    # OpenRouter sends errors with status 200 next to ``choices`` (recorded traffic).
    if error and isinstance(error, dict | str):
        return error, ""
    if not choices or len(choices) > 1:
        return None, ""
    only: JsonObject = choices[0]
    error = only.get("error")
    if error and isinstance(error, dict | str):
        return error, "/choices/0"
    # ``error`` is no value of OpenAI's type (official SDK, ``Choice.finish_reason``). Relays send it (fixture error_on_chunk).
    if only.get("finish_reason") == "error":
        return {"message": only.get("native_finish_reason") or "the answer ended with an error"}, "/choices/0"
    return None, ""
