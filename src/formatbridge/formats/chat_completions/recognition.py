"""Detection of Chat Completions: the rules for bodies, events and errors, and the text of an event."""

from __future__ import annotations

from typing import Any

from formatbridge.formats.format import DetectionRule, detection_rules
from formatbridge.jsontext.types import JsonObject

DETECTION: tuple[DetectionRule, ...] = (
    DetectionRule("request", 8, "messages", shape=list),
    *detection_rules("request", 5, "messages/*/reasoning_details", "messages/*/thinking_blocks", shape=list),
    DetectionRule("request", 6, "messages/*/role", ("tool", "developer", "function")),
    DetectionRule("request", 3, "messages/*/role", ("system",)),
    DetectionRule("request", 4, "messages/0/role", ("system",)),  # Messages accepts this role only after a user message
    DetectionRule("request", 6, "messages/*/reasoning_content"),
    DetectionRule("request", 5, "messages/*/refusal"),
    DetectionRule("request", 5, "messages/*/audio", shape=dict),
    DetectionRule("request", 6, "messages/*/tool_calls"),
    DetectionRule("request", 6, "messages/*/content/*/type", ("image_url", "input_audio", "file", "video_url")),
    DetectionRule("request", 6, "tools/*/function"),
    DetectionRule("request", 6, "tools/*/custom", shape=dict),
    DetectionRule("request", 3, "thinking/type", ("enabled",)),  # without a budget, which Messages requires
    *detection_rules("request", 5, "response_format", "stream_options/include_usage"),
    *detection_rules(
        "request", 4, "n", "stop", "seed", "logit_bias", "presence_penalty", "frequency_penalty", "max_completion_tokens",
        "reasoning_effort", "functions", "logprobs", "web_search_options", "modalities",
    ),
    DetectionRule("request", 4, "prediction", shape=dict),
    DetectionRule("request", 4, "tool_choice", shape=str),
    DetectionRule("request", 3, "store", shape=bool),
    DetectionRule("request", 3, "service_tier", ("default", "flex", "scale", "priority")),
    DetectionRule("response", 10, "choices"),
    DetectionRule("response", 8, "object", ("chat.completion",)),
    # Errors of Responses have the same shape; the result is the more common format.
    DetectionRule("error", 4, "error/message"),
    *detection_rules("error", 3, "error/type", "error/param"),
    DetectionRule("models", 6, "object", ("list",)),
    DetectionRule("models", 4, "data/*/object", ("model",)),
    DetectionRule("models", 3, "data/*/id"),
)  # fmt: skip


def recognizes_event(event: JsonObject) -> bool:
    """Return whether an event has a field that the events of no other format have."""
    return "choices" in event


def recognizes_error(event: JsonObject, name: str) -> bool:
    """Return whether the official SDK recognizes an event as an error. It ignores the name."""
    del name
    return bool(event.get("error"))


def event_text(event: Any) -> str:
    """Return the text that a typed event adds to the first choice."""
    choices = [choice for choice in getattr(event, "choices", None) or () if not choice.index]
    return "".join(choice.delta.content for choice in choices if choice.delta and isinstance(choice.delta.content, str))
