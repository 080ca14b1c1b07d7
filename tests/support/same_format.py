"""Conversions of a request in the format of the target to a dialect."""

from __future__ import annotations

from typing import Any

import formatbridge as fb

USER = {"role": "user", "content": "Hi"}
GEMINI = {"contents": [{"role": "user", "parts": [{"text": "Hi"}]}]}
SCHEMA: dict[str, Any] = {"type": "object", "properties": {}}


def convert(fields: dict[str, Any], server: str, format: fb.Format = "chat_completions") -> fb.ConvertedRequest:
    """Convert a request of a format to the same format, as a server reads it."""
    return fb.convert_request({"model": "m", **fields}, source=format, target=fb.Target(format, dialect=server), model="m")


def convert_chat(fields: dict[str, Any], server: str) -> fb.ConvertedRequest:
    """Convert a request of Chat Completions, by default with one message, for a server."""
    return convert({"messages": [USER], **fields}, server)


def settings_of(converted: fb.ConvertedRequest) -> dict[str, Any]:
    """Return the fields of a converted request except model and messages."""
    return {key: value for key, value in converted.body.items() if key not in ("model", "messages")}
