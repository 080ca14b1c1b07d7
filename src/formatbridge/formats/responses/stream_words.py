"""Streams of responses, read: what events are known to say, and which of them say nothing new."""

from __future__ import annotations

from formatbridge.jsontext.types import JsonObject
from formatbridge.streaming.sse import PINGS

ARGUMENTS = ("function_call_arguments", "custom_tool_call_input", "mcp_call_arguments", "code_interpreter_call_code")
"""The stems of the events that bring what a call is given."""
MEMBERS = frozenset({
    "type", "sequence_number", "obfuscation", "item_id", "output_index", "content_index", "summary_index", "annotation_index", "delta",
    "logprobs", "text", "refusal", "arguments", "name", "input", "code", "item", "part", "annotation", "response", "message", "param",
    "error", "call_id", "status", "command", "command_index", "output", "partial_image_b64", "partial_image_index", "background",
    "output_format", "quality", "size", "diff",
})  # fmt: skip
"""What the events have beside their own kind; anything else counts as a field of the answer."""
SAID = frozenset({
    "keepalive", "response.created", "response.in_progress", "response.queued", "response.reasoning_part.added",
    "response.reasoning_part.done", "response.reasoning_summary_part.added", "response.reasoning_summary_part.done",
    "response.shell_call_command.added", "response.shell_call_command.delta", "response.shell_call_command.done",
    "response.shell_call_output_content.delta", "response.shell_call_output_content.done",
    "response.apply_patch_call_operation_diff.delta", "response.apply_patch_call_operation_diff.done",
    "response.image_generation_call.partial_image", "response.image_generation_call.generating",
    "response.code_interpreter_call.interpreting", "response.web_search_call.searching", "response.file_search_call.searching",
    "response.mcp_list_tools.failed", "response.mcp_call.failed", "response.compaction.compacting",
    *(f"response.{kind}.{word}" for kind in (
        "code_interpreter_call", "web_search_call", "file_search_call", "image_generation_call", "mcp_list_tools", "mcp_call",
    ) for word in ("in_progress", "completed")),
})  # fmt: skip
"""Events that say nothing that an item, a part or the last event does not repeat."""
BEGUN = SAID - PINGS
"""Those of them that no stream has before its answer."""


def is_plain_error(raw: JsonObject) -> bool:
    """Say whether an event without a type is an error body that a relay sends as an event. It may also be padding."""
    return bool(raw.get("error")) or "message" in raw or "detail" in raw
