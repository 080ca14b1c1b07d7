"""chat_completions: messages with roles, one endpoint, the convention most servers follow.

Sources: the relay's specification, "POST /v1/chat/completions"; the official SDK's types of 2026-11; recorded traffic for what servers
add. Reasoning text, reasoning details and images in answers are in no official type and are read and written all the same.

``stream_reasoning`` is in this package alone: only here reasoning comes in three fields that repeat one another.
"""

from __future__ import annotations

import re
from typing import Any

from formatbridge import ir
from formatbridge.formats.chat_completions.errors import decode_error, encode_error
from formatbridge.formats.chat_completions.field_paths import SPELLING
from formatbridge.formats.chat_completions.models import decode_models, encode_models
from formatbridge.formats.chat_completions.request import decode_request, encode_request
from formatbridge.formats.chat_completions.response import FINISH, decode_response, encode_response, failure_of, unfinished
from formatbridge.formats.chat_completions.settings import SETTINGS
from formatbridge.formats.chat_completions.stream_decoder import StreamDecoder
from formatbridge.formats.chat_completions.stream_encoder import StreamEncoder
from formatbridge.formats.chat_completions.stream_fold import fold_stream, place_of, unfold_stream
from formatbridge.formats.format import ToolRules
from formatbridge.formats.shared.foreign_tokens import as_it_is as settle_history
from formatbridge.streaming.sse import encode_event as frame_event

NAME: ir.Format = "chat_completions"
ID_FIELD = "id"
IN_URL: frozenset[str] = frozenset()
HOLDS_FAILURES = False
STREAMED: tuple[type[ir.Part], ...] = (ir.Text, ir.Reasoning, ir.Refusal, ir.ToolCall)
CITES_LAST = True
END_OF_STREAM = b"data: [DONE]\n\n"
NAMES_EVENTS = False
TOOL_RULES = ToolRules(
    name=re.compile(r"[A-Za-z0-9_-]+"),
    longest_name=64,
    longest_call_id=40,  # of its servers; that of the vendor takes longer ones by now
    custom=True,
    allows=frozenset({"auto", "required"}),
    servers=frozenset({"web_search"}),
)


def is_own_event(event: dict[str, Any]) -> bool:
    """Say whether an event of a stream has what those of no other format have."""
    return "choices" in event


def is_own_error(event: dict[str, Any], name: str) -> bool:
    """Say whether an event that tells an error does so as the format does, so that its official client sees one."""
    del name  # the client looks at none
    return bool(event.get("error"))


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
