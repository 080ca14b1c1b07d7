"""Rules that recognize bodies, events and errors of Anthropic Messages, and the visible text of an event."""

from __future__ import annotations

from typing import Any

from formatbridge.formats.format import DetectionRule, detection_rules
from formatbridge.jsontext.types import JsonObject

DETECTION: tuple[DetectionRule, ...] = (
    DetectionRule("request", 7, "messages", shape=list),
    DetectionRule("request", 2, "max_tokens"),
    DetectionRule("request", 6, "system"),
    DetectionRule("request", 2, "top_k"),
    DetectionRule(
        "request", 6, "messages/*/content/*/type",
        ("tool_use", "tool_result", "redacted_thinking", "image", "document", "server_tool_use", "search_result"),
    ),
    DetectionRule("request", 3, "messages/*/content/*/cache_control"),
    DetectionRule("request", 6, "tools/*/input_schema"),
    DetectionRule("request", 5, "tool_choice/type", ("any", "tool", "auto", "none")),
    *detection_rules("request", 5, "stop_sequences", "anthropic_version", "mcp_servers", "container"),
    *detection_rules("request", 5, "output_config", "cache_control", shape=dict),
    DetectionRule("request", 7, "thinking/budget_tokens"),
    DetectionRule("request", 5, "thinking/type", ("adaptive",)),
    DetectionRule("response", 8, "type", ("message",)),
    DetectionRule("response", 5, "stop_reason"),
    DetectionRule("response", 3, "content/*/type"),
    DetectionRule("error", 12, "type", ("error",)),
    DetectionRule("models", 6, "data/*/type", ("model",)),
    *detection_rules("models", 4, "data/*/display_name", "has_more"),
)  # fmt: skip


def recognizes_event(event: JsonObject) -> bool:
    """Return whether an event has a type that no other format has."""
    kind = event.get("type")
    return isinstance(kind, str) and kind.startswith(("message_", "content_block_"))


def recognizes_error(event: JsonObject, name: str) -> bool:
    """Return whether an event is an error by its name. Anthropic's SDK reads only the name."""
    del event
    return name == "error"


def event_text(event: Any) -> str:
    """Return the text that a typed event adds to the visible text of the response."""
    kind = getattr(event, "type", None)
    if kind == "content_block_start" and getattr(event.content_block, "type", None) == "text":
        return event.content_block.text or ""
    is_text = kind == "content_block_delta" and getattr(event.delta, "type", None) == "text_delta"
    return event.delta.text or "" if is_text else ""
