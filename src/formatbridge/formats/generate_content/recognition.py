"""By what bodies, events and errors of generate_content are recognized, and the text that an event shows."""

from __future__ import annotations

from pydantic import BaseModel

from formatbridge.formats.format import DetectionRule, detection_rules
from formatbridge.formats.generate_content import wire
from formatbridge.jsontext.types import JsonObject

DETECTION: tuple[DetectionRule, ...] = (
    DetectionRule("request", 10, "contents"),
    *detection_rules(
        "request", 6, "generationConfig", "generation_config", "systemInstruction", "system_instruction", "safetySettings",
        "safety_settings", "toolConfig", "tool_config", "cachedContent", "cached_content", "tools/*/functionDeclarations",
        "tools/*/function_declarations",
    ),
    DetectionRule("response", 10, "candidates"),
    *detection_rules("response", 8, "promptFeedback", "usageMetadata"),
    DetectionRule("response", 4, "modelVersion"),
    DetectionRule("error", 9, "error/status", shape=str),
    DetectionRule("error", 4, "error/message"),
    DetectionRule("error", 3, "error/details", shape=list),
    DetectionRule("models", 10, "models/*/name"),
    DetectionRule("models", 3, "models"),
    DetectionRule("models", 4, "models/*/supportedGenerationMethods"),
)  # fmt: skip


def recognizes_event(event: JsonObject) -> bool:
    """Return whether an event has a field that the events of no other format have."""
    # An event is a partial response. Those without candidates have the usage, or the reason why the prompt was blocked.
    return not event.keys().isdisjoint(("candidates", "promptFeedback", "usageMetadata"))


def recognizes_error(event: JsonObject, name: str) -> bool:
    """Return whether the official SDKs recognize an event as an error. They ignore the name.

    The Python client looks for ``error`` as the first member, the JavaScript client for a numeric code from 400 to 599 (js-genai
    ``_api_client.ts``, ``processStreamResponse``).
    """
    del name
    detail = event.get("error")
    if next(iter(event), None) != "error" or not isinstance(detail, dict):
        return False
    code = detail.get("code")
    return type(code) is int and 400 <= code < 600


def event_text(event: BaseModel) -> str:
    """Return the text that a typed event adds to the first candidate."""
    candidates = event.candidates or () if isinstance(event, wire.StreamEvent) else ()
    contents = [candidate.content for candidate in candidates if candidate.content and not candidate.index]
    parts = [part for content in contents for part in content.parts or ()]
    return "".join(part.text for part in parts if part.text and not part.thought)
