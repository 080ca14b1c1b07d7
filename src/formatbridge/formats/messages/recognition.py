"""Rules that recognize bodies, events and errors of Anthropic Messages, and the visible text of an event."""

from __future__ import annotations

from pydantic import BaseModel

from formatbridge.formats.format import DetectionRule, detection_rules
from formatbridge.formats.messages import wire
from formatbridge.jsontext.types import JsonObject

DETECTION: tuple[DetectionRule, ...] = (
    DetectionRule("request", 8, "messages", shape=list),
    DetectionRule("request", 1, "max_tokens"),
    DetectionRule("request", 5, "max_tokens", (0,)),  # "Set to `0` to populate the prompt cache" (official SDK)
    DetectionRule("request", 6, "messages/*/output_config", shape=dict),
    DetectionRule("request", 6, "system"),
    DetectionRule("request", 2, "top_k"),
    DetectionRule(
        "request", 6, "messages/*/content/*/type",
        ("tool_use", "tool_result", "redacted_thinking", "image", "document", "server_tool_use", "search_result",
         "mcp_tool_use", "compaction", "container_upload", "tool_addition", "tool_removal"),
    ),
    DetectionRule("request", 3, "messages/*/content/*/cache_control"),
    *detection_rules("request", 6, "messages/*/content/*/citations", "messages/*/content/*/signature"),
    DetectionRule("request", 6, "tools/*/input_schema"),
    DetectionRule("request", 4, "tools/*/name"),
    DetectionRule(
        "request", 6, "tools/*/type", shape=str,
        prefixes=(
            "web_search_20250", "web_search_2026", "web_fetch_2", "code_execution_2", "text_editor_2", "bash_2", "computer_2",
            "memory_2", "advisor_2", "tool_search_tool_", "mcp_toolset",
        ),
    ),
    DetectionRule("request", 5, "tool_choice/type", ("any", "tool", "auto", "none")),
    *detection_rules("request", 5, "stop_sequences", "anthropic_version", "mcp_servers", "container"),
    *detection_rules("request", 5, "output_config", "cache_control", "context_management", "output_format", shape=dict),
    DetectionRule("request", 5, "service_tier", ("standard_only",)),
    DetectionRule("request", 5, "thinking/display"),
    *detection_rules("request", 4, "speed", "inference_geo", shape=str),
    DetectionRule("request", 4, "thread", shape=dict),
    DetectionRule("request", 7, "thinking/budget_tokens"),
    DetectionRule("request", 5, "thinking/type", ("adaptive", "between_tools")),
    DetectionRule("response", 8, "type", ("message",)),
    DetectionRule("response", 5, "stop_reason"),
    DetectionRule("response", 3, "content/*/type"),
    DetectionRule("error", 12, "type", ("error",)),
    DetectionRule("models", 6, "data/*/type", ("model",)),
    DetectionRule("models", 4, "data/*/display_name"),
    DetectionRule("models", 7, "has_more"),
)  # fmt: skip


def recognizes_event(event: JsonObject) -> bool:
    """Return whether an event has a type that no other format has."""
    kind = event.get("type")
    return isinstance(kind, str) and kind.startswith(("message_", "content_block_"))


def recognizes_error(event: JsonObject, name: str) -> bool:
    """Return whether an event is an error by its name. Anthropic's SDK reads only the name (``Stream``)."""
    del event
    return name == "error"


def event_text(event: BaseModel) -> str:
    """Return the text that a typed event adds to the visible text of the response."""
    if isinstance(event, wire.ContentBlockStart) and isinstance(event.content_block, wire.TextBlock):
        return event.content_block.text
    if isinstance(event, wire.ContentBlockDelta) and isinstance(event.delta, wire.TextDelta):
        return event.delta.text
    return ""
