"""Errors of chat_completions: the body of a failed call, and the failure that an answer tells of."""

from __future__ import annotations

from formatbridge import ir
from formatbridge.formats.chat_completions.holds import drop_unheld_in_answer
from formatbridge.formats.shared.errors import decode_error_body, encode_error_object
from formatbridge.jsontext.types import JsonObject
from formatbridge.report.ledger import Ledger


def decode_error(body: JsonObject, *, status: int | None) -> ir.Error:
    """Read an error body."""
    return decode_error_body(body, status=status, otherwise="detail")


def encode_error(error: ir.Error, losses: Ledger) -> tuple[int, JsonObject]:
    """Write an error: the HTTP status and the body."""
    return encode_error_object(error, drop_unheld_in_answer, losses)


def told_failure(body: JsonObject) -> tuple[JsonObject | str | None, str]:
    """Return what an answer says of what went wrong on the way, and the pointer of what says so.

    Some servers say it beside the choices, some in the only one, and some as the reason of its end.
    """
    told, choices = body.get("error"), body.get("choices")
    if told and isinstance(told, dict | str):
        return told, ""
    if not choices or len(choices) > 1:
        return None, ""
    only: JsonObject = choices[0]
    told = only.get("error")
    if told and isinstance(told, dict | str):
        return told, "/choices/0"
    if only.get("finish_reason") == "error":
        return {"message": only.get("native_finish_reason") or "the answer ended with an error"}, "/choices/0"
    return None, ""
