"""Detection of Chat Completions: the rules for bodies, events and errors, and the text of an event."""

from __future__ import annotations

from pydantic import BaseModel

from formatbridge.formats.chat_completions import wire
from formatbridge.formats.format import DetectionRule, detection_rules
from formatbridge.jsontext.types import JsonObject

# Sources: the official SDKs' types of all formats. Fields of other servers: recorded traffic, ``docs/dialects.md``.
DETECTION: tuple[DetectionRule, ...] = (
    DetectionRule("request", 8, "messages", shape=list),
    DetectionRule("request", 7, "messages", shape=list, without="max_tokens"),  # Messages requires it
    *detection_rules("request", 5, "messages/*/reasoning_details", "messages/*/thinking_blocks", shape=list),
    DetectionRule("request", 6, "messages/*/role", ("tool", "developer", "function")),
    DetectionRule("request", 3, "messages/*/role", ("system",)),
    DetectionRule("request", 5, "messages/0/role", ("system",)),  # Messages accepts this role only after a user message
    DetectionRule("request", 6, "messages/*/reasoning_content"),
    DetectionRule("request", 5, "messages/*/refusal"),
    DetectionRule("request", 5, "messages/*/audio", shape=dict),
    DetectionRule("request", 6, "messages/*/tool_calls"),
    DetectionRule("request", 6, "messages/*/content/*/type", ("image_url", "input_audio", "file", "video_url", "document_url", "file_url")),
    DetectionRule("request", 6, "tools/*/function"),
    DetectionRule("request", 6, "tools/*/custom", shape=dict),
    DetectionRule("request", 3, "thinking/type", ("enabled",)),  # without a budget, which Messages requires
    *detection_rules("request", 5, "response_format", "stream_options/include_usage"),
    DetectionRule("request", 10, "thinking/clear_thinking"),  # outweighs a budget (docs.z.ai/guides/capabilities/thinking-mode)
    *detection_rules("request", 6, "reasoning", "provider", "chat_template_kwargs", shape=dict),  # of OpenRouter and vLLM
    *detection_rules("request", 6, "random_seed", "safe_prompt", "enable_thinking", "min_p", "repetition_penalty", "usage/include"),
    *detection_rules(
        "request", 6, "n", "stop", "seed", "logit_bias", "presence_penalty", "frequency_penalty", "max_completion_tokens",
        "reasoning_effort", "functions", "logprobs", "web_search_options", "search_domain_filter", "modalities",
    ),
    DetectionRule("request", 5, "prediction", shape=dict),
    DetectionRule("request", 5, "tool_choice", shape=str),
    DetectionRule("request", 5, "store", shape=bool),
    DetectionRule("request", 5, "service_tier", ("default", "flex", "scale", "priority")),
    DetectionRule("response", 10, "choices"),
    DetectionRule("response", 8, "object", ("chat.completion",)),
    # Errors and lists of models of Responses have the same shape. Only parameters, and fields of other servers, show the format.
    DetectionRule("error", 4, "error/message"),
    *detection_rules("error", 3, "error/type", "error/param"),
    DetectionRule(
        "error", 6, "error/param", shape=str,
        prefixes=("messages", "stop", "response_format", "web_search_options", "max_completion_tokens", "max_tokens", "n", "logit_bias"),
    ),
    *detection_rules("error", 4, "error/failed_generation", "error/metadata"),  # of Groq and OpenRouter
    DetectionRule("models", 6, "object", ("list",)),
    DetectionRule("models", 4, "data/*/object", ("model",)),
    DetectionRule("models", 3, "data/*/id"),
    *detection_rules(
        "models", 5, "data/*/context_length", "data/*/context_window", "data/*/max_model_len", "data/*/max_context_length",
        "data/*/top_provider", "data/*/pricing", "data/*/providers",
    ),
)  # fmt: skip


def recognizes_event(event: JsonObject) -> bool:
    """Return whether an event has a field that the events of no other format have."""
    return "choices" in event


def recognizes_error(event: JsonObject, name: str) -> bool:
    """Return whether the official SDK recognizes an event as an error. It ignores the name (openai-python, ``Stream``)."""
    del name
    return bool(event.get("error"))


def event_text(event: BaseModel) -> str:
    """Return the text that a typed event adds to the first choice."""
    choices = event.choices or () if isinstance(event, wire.Chunk) else ()
    deltas = [choice.delta for choice in choices if choice.delta and not choice.index]
    return "".join(delta.content for delta in deltas if isinstance(delta.content, str))
