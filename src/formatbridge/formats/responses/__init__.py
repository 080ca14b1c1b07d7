"""responses: a list of items, one endpoint, state on the server where the caller wants it.

Sources: the relay's specification, "POST /v1/responses"; the official SDK's types of 2026-11; recorded traffic for what servers add.
Items are finer than turns: what the model says in a row is one turn of the canonical model. Only its own sealed reasoning goes into a
request; an answer carries other formats' tokens in the same slot.

``stream_items`` is in this package alone: only here a stream sends output items with events for each step.
"""

from __future__ import annotations

import re
from typing import Any

from formatbridge import ir
from formatbridge.formats.format import ToolRules
from formatbridge.formats.responses.errors import decode_error, encode_error
from formatbridge.formats.responses.field_paths import SPELLING
from formatbridge.formats.responses.hosted_tools import HOSTED
from formatbridge.formats.responses.models import decode_models, encode_models
from formatbridge.formats.responses.request import decode_request, encode_request
from formatbridge.formats.responses.response import FINISH, decode_response, encode_response, failure_of, unfinished
from formatbridge.formats.responses.settings import SETTINGS
from formatbridge.formats.responses.stream_decoder import StreamDecoder
from formatbridge.formats.responses.stream_encoder import StreamEncoder
from formatbridge.formats.responses.stream_fold import fold_stream, place_of, unfold_stream
from formatbridge.formats.shared.foreign_tokens import as_it_is as settle_history
from formatbridge.streaming.sse import encode_event as frame_event

NAME: ir.Format = "responses"
ID_FIELD = "id"
IN_URL: frozenset[str] = frozenset()
HOLDS_FAILURES = True
STREAMED: tuple[type[ir.Part], ...] = (ir.Text, ir.Reasoning, ir.Refusal, ir.ToolCall)
CITES_LAST = False
END_OF_STREAM = b""
NAMES_EVENTS = True
TOOL_RULES = ToolRules(
    name=re.compile(r"[A-Za-z0-9_-]+"),
    longest_name=64,
    longest_call_id=64,
    custom=True,
    namespaces=True,
    allows=frozenset({"auto", "required", "hosted"}),
    servers=frozenset({*HOSTED, "mcp"}),
    governs_servers=True,
)


def is_own_event(event: dict[str, Any]) -> bool:
    """Say whether an event of a stream has what those of no other format have."""
    kind = event.get("type")
    return isinstance(kind, str) and kind.startswith("response.")


def is_own_error(event: dict[str, Any], name: str) -> bool:
    """Say whether an event that tells an error does so as the format does, so that its official client sees one."""
    del name  # the client looks at none
    return isinstance(event.get("type"), str) or bool(event.get("error"))


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
