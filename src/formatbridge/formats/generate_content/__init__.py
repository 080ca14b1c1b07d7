"""generate_content: turns of parts, the model and the kind of answer named in the URL.

Sources: the relay's specification, "POST /v1beta/models/{model}:generateContent"; the official SDK's types of 2026-11; recorded traffic.
The JSON is proto3 JSON: keys in camelCase or snake_case, enumerations as words in any case or as numbers, bytes as base64.
"""

from __future__ import annotations

import re
from typing import Any

from formatbridge import ir
from formatbridge.formats.format import ToolRules
from formatbridge.formats.generate_content.errors import decode_error, encode_error
from formatbridge.formats.generate_content.field_paths import SPELLING
from formatbridge.formats.generate_content.hosted_tools import HOSTED
from formatbridge.formats.generate_content.models import decode_models, encode_models
from formatbridge.formats.generate_content.request import decode_request, encode_request
from formatbridge.formats.generate_content.response import FINISH, decode_response, encode_response, failure_of, unfinished
from formatbridge.formats.generate_content.settings import SETTINGS
from formatbridge.formats.generate_content.stream_decoder import StreamDecoder
from formatbridge.formats.generate_content.stream_encoder import StreamEncoder
from formatbridge.formats.generate_content.stream_fold import fold_stream, place_of, unfold_stream
from formatbridge.formats.shared.foreign_tokens import as_it_is as settle_history
from formatbridge.streaming.sse import encode_crlf_event

NAME: ir.Format = "generate_content"
ID_FIELD = "responseId"
IN_URL = frozenset({"model", "stream"})
HOLDS_FAILURES = False
STREAMED: tuple[type[ir.Part], ...] = (ir.Text, ir.Reasoning, ir.Refusal)
CITES_LAST = True
END_OF_STREAM = b""
NAMES_EVENTS = False
TOOL_RULES = ToolRules(
    name=re.compile(r"[A-Za-z_][A-Za-z0-9_.:-]*"),
    longest_name=128,
    distinct=True,
    allows=frozenset({"required"}),
    validates=True,
    servers=frozenset({*HOSTED, "image_generation", "mcp"}),
)


def frame_event(data: bytes, name: str | None) -> bytes:
    """Write one event."""
    del name  # no event has one here
    return encode_crlf_event(data)


def is_own_event(event: dict[str, Any]) -> bool:
    """Say whether an event of a stream has what those of no other format have."""
    return not event.keys().isdisjoint(("candidates", "promptFeedback", "usageMetadata"))


def is_own_error(event: dict[str, Any], name: str) -> bool:
    """Say whether an event that tells an error does so as the format does, so that its official client sees one.

    The Python client looks for ``error`` as the first member, the JavaScript client for a numeric code from 400 to 599 (js-genai
    ``_api_client.ts``, ``processStreamResponse``).
    """
    del name  # no event has one here
    detail = event.get("error")
    if next(iter(event), None) != "error" or not isinstance(detail, dict):
        return False
    code = detail.get("code")
    return type(code) is int and 400 <= code < 600


__all__ = [
    "CITES_LAST",
    "END_OF_STREAM",
    "FINISH",
    "HOLDS_FAILURES",
    "ID_FIELD",
    "IN_URL",
    "NAME",
    "NAMES_EVENTS",
    "SETTINGS",
    "SPELLING",
    "STREAMED",
    "TOOL_RULES",
    "StreamDecoder",
    "StreamEncoder",
    "decode_error",
    "decode_models",
    "decode_request",
    "decode_response",
    "encode_error",
    "encode_models",
    "encode_request",
    "encode_response",
    "failure_of",
    "fold_stream",
    "frame_event",
    "is_own_error",
    "is_own_event",
    "place_of",
    "settle_history",
    "unfinished",
    "unfold_stream",
]
