"""Recognition of Responses bodies, events and errors, and the visible text of an event."""

from __future__ import annotations

from pydantic import BaseModel

from formatbridge.formats.format import DetectionRule, detection_rules
from formatbridge.formats.responses import wire
from formatbridge.jsontext.types import JsonObject

DETECTION: tuple[DetectionRule, ...] = (
    DetectionRule("request", 5, "tool_choice", shape=str),
    DetectionRule("request", 5, "store", shape=bool),
    DetectionRule("request", 5, "service_tier", ("default", "flex", "scale", "priority")),
    DetectionRule("request", 8, "input"),
    *detection_rules(
        "request", 5, "instructions", "previous_response_id", "max_output_tokens", "include", "truncation", "conversation",
        "background", "max_tool_calls",
    ),
    *detection_rules("request", 5, "text", "reasoning", "prompt", shape=dict),
    DetectionRule("request", 4, "prompt/id", shape=str),
    DetectionRule("request", 4, "tools/*/name"),  # Chat Completions nests the name in ``function``
    DetectionRule("response", 40, "object", ("response",)),  # high: a response repeats many fields of its request
    DetectionRule("response", 12, "output"),
    *detection_rules("response", 4, "incomplete_details", "parallel_tool_calls"),
    DetectionRule("response", 3, "created_at"),
    DetectionRule("error", 4, "error/message"),
    *detection_rules("error", 3, "error/type", "error/param"),
    DetectionRule(
        "error", 6, "error/param", shape=str,
        prefixes=("input", "text", "instructions", "previous_response_id", "max_output_tokens", "conversation", "reasoning."),
    ),
    DetectionRule("models", 6, "object", ("list",)),
    DetectionRule("models", 4, "data/*/object", ("model",)),
    DetectionRule("models", 3, "data/*/id"),
)  # fmt: skip


def recognizes_event(event: JsonObject) -> bool:
    """Return whether an event has a type that the events of no other format have."""
    # Only the events ``error`` and ``keepalive`` have types without this prefix, and other formats have an ``error`` event, too.
    kind = event.get("type")
    return isinstance(kind, str) and kind.startswith("response.")


def recognizes_error(event: JsonObject, name: str) -> bool:
    """Return whether the official SDK recognizes an event as an error. It ignores the name."""
    del name
    # It raises on a nested ``error`` (openai-python, ``_streaming.py``), and returns an event with a type to the caller.
    return isinstance(event.get("type"), str) or bool(event.get("error"))


def event_text(event: BaseModel) -> str:
    """Return the visible text that a typed event adds to the response."""
    return event.delta if isinstance(event, wire.TextDelta) else ""
