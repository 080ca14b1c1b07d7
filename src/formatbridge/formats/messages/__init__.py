"""messages: turns made of blocks, a system prompt of its own, a required limit, and reasoning that is signed.

Sources: the relay's specification, "POST /v1/messages"; the official SDK's types of 2026-11, stable and beta; recorded traffic. Two
dated dialects are read alike: that of 2023-06-01 has sampling parameters, the newer one has none.
"""

from __future__ import annotations

import re
from typing import Any

from formatbridge import ir
from formatbridge.formats.format import ToolRules
from formatbridge.formats.messages.errors import decode_error, encode_error
from formatbridge.formats.messages.field_paths import SPELLING
from formatbridge.formats.messages.hosted_tools import SERVER_NAMES
from formatbridge.formats.messages.models import decode_models, encode_models
from formatbridge.formats.messages.request import decode_request, encode_request, settle_history
from formatbridge.formats.messages.response import FINISH, decode_response, encode_response, failure_of, unfinished
from formatbridge.formats.messages.settings import SETTINGS
from formatbridge.formats.messages.stream_decoder import StreamDecoder
from formatbridge.formats.messages.stream_encoder import StreamEncoder
from formatbridge.formats.messages.stream_fold import fold_stream, place_of, unfold_stream
from formatbridge.streaming.sse import encode_event as frame_event

NAME: ir.Format = "messages"
ID_FIELD = "id"
IN_URL: frozenset[str] = frozenset()
HOLDS_FAILURES = False
STREAMED: tuple[type[ir.Part], ...] = (ir.Text, ir.Reasoning, ir.Refusal, ir.ToolCall)
CITES_LAST = False
END_OF_STREAM = b""
NAMES_EVENTS = True
_WORD = re.compile(r"[A-Za-z0-9_-]+")
TOOL_RULES = ToolRules(
    name=_WORD,
    longest_name=128,
    call_id=_WORD,
    distinct=True,
    distinct_ids=True,
    servers=frozenset({*SERVER_NAMES, "mcp"}),
    governs_servers=True,
    server_names=SERVER_NAMES,
)


def is_own_event(event: dict[str, Any]) -> bool:
    """Say whether an event of a stream has what those of no other format have."""
    kind = event.get("type")
    return isinstance(kind, str) and kind.startswith(("message_", "content_block_"))


def is_own_error(event: dict[str, Any], name: str) -> bool:
    """Say whether an event that tells an error does so as the format does, so that its official client sees one."""
    del event  # the client looks at the name alone
    return name == "error"


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
