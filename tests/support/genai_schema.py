"""The form of GenAI attributes, written from OpenTelemetry's conventions: JSON Schemas of structured values, types of the others.

Sources: open-telemetry/semantic-conventions-genai, docs/gen-ai/non-normative/models.py (the models from which its JSON Schemas are
generated) and docs/gen-ai/client-inference.md, 2026-11. Unlike the published schemas, a part of a known type must have its fields: there a
part of any form is also a generic one.
"""

from __future__ import annotations

import json
from typing import Any

import jsonschema  # type: ignore[import-untyped]  # has no types

_TEXT: dict[str, Any] = {"type": "string"}
_ANY: dict[str, Any] = {}


def _object(required: dict[str, Any], **optional: Any) -> dict[str, Any]:
    return {"type": "object", "properties": {**required, **optional}, "required": list(required)}


_FIELDS: dict[str, dict[str, Any]] = {
    "text": _object({"content": _TEXT}),
    "reasoning": _object({"content": _TEXT}),
    "tool_call": _object({"name": _TEXT}, id=_TEXT, arguments=_ANY),
    "tool_call_response": _object({"response": _ANY}, id=_TEXT),
    "server_tool_call": _object({"name": _TEXT, "server_tool_call": _object({"type": _TEXT})}, id=_TEXT),
    "server_tool_call_response": _object({"server_tool_call_response": _object({"type": _TEXT})}, id=_TEXT),
    "blob": _object({"modality": _TEXT, "content": _TEXT}, mime_type=_TEXT),
    "file": _object({"modality": _TEXT, "file_id": _TEXT}, mime_type=_TEXT),
    "uri": _object({"modality": _TEXT, "uri": {"type": "string", "not": {"pattern": "^data:"}}}, mime_type=_TEXT),
    "compaction": _object({}, id=_TEXT, content=_TEXT),
}
"""Type of a part to the schema of its other fields."""

_PART = {
    **_object({"type": _TEXT}),
    "allOf": [{"if": {"properties": {"type": {"const": name}}}, "then": fields} for name, fields in _FIELDS.items()],
}
_MESSAGES = {"type": "array", "items": _object({"role": _TEXT, "parts": {"type": "array", "items": _PART}}, name=_TEXT)}
_TOOL = {
    **_object({"type": _TEXT, "name": _TEXT}),
    "if": {"properties": {"type": {"const": "function"}}},
    "then": _object({}, description=_TEXT, parameters={"type": "object"}),
}

STRUCTURED = {
    "gen_ai.input.messages": _MESSAGES,
    "gen_ai.output.messages": _MESSAGES,
    "gen_ai.system_instructions": {"type": "array", "items": _PART},
    "gen_ai.tool.definitions": {"type": "array", "items": _TOOL},
}
"""Attributes with a structured value, and its schema."""

_STRINGS = (
    "error.type", "gen_ai.conversation.id", "gen_ai.operation.name", "gen_ai.output.type", "gen_ai.prompt.name", "gen_ai.prompt.version",
    "gen_ai.provider.name", "gen_ai.request.model", "gen_ai.request.previous_response.id", "gen_ai.request.reasoning.level",
    "gen_ai.response.id", "gen_ai.response.model", "openai.api.type", "openai.request.service_tier", "openai.response.service_tier",
    "openai.response.system_fingerprint", "server.address",
)  # fmt: skip
_INTEGERS = (
    "gen_ai.request.choice.count", "gen_ai.request.max_tokens", "gen_ai.request.seed", "gen_ai.request.top_k",
    "gen_ai.usage.audio.cache_read.input_tokens", "gen_ai.usage.audio.input_tokens", "gen_ai.usage.audio.output_tokens",
    "gen_ai.usage.cache_read.input_tokens", "gen_ai.usage.cache_write.input_tokens", "gen_ai.usage.image.cache_read.input_tokens",
    "gen_ai.usage.image.input_tokens", "gen_ai.usage.image.output_tokens", "gen_ai.usage.input_tokens", "gen_ai.usage.output_tokens",
    "gen_ai.usage.reasoning.output_tokens", "gen_ai.usage.text.cache_read.input_tokens", "gen_ai.usage.text.input_tokens",
    "gen_ai.usage.text.output_tokens", "server.port",
)  # fmt: skip
_DOUBLES = (
    "gen_ai.request.frequency_penalty", "gen_ai.request.presence_penalty", "gen_ai.request.temperature", "gen_ai.request.top_p",
    "gen_ai.response.time_to_first_chunk",
)  # fmt: skip

TYPES: dict[str, Any] = {
    **dict.fromkeys(_STRINGS, str),
    **dict.fromkeys(_INTEGERS, int),
    **dict.fromkeys(_DOUBLES, float),
    "gen_ai.request.stream": bool,
    "gen_ai.request.stop_sequences": list,
    "gen_ai.response.finish_reasons": list,
}
"""Attributes with a simple value, and its type; lists are of strings."""

WORDS = {
    "gen_ai.operation.name": {"chat", "generate_content"},
    "gen_ai.output.type": {"text", "json", "image", "speech"},
    "openai.api.type": {"chat_completions", "responses"},
}
"""The values of attributes with a closed list, that the library has."""


_VALIDATORS = {name: jsonschema.Draft202012Validator(schema) for name, schema in STRUCTURED.items()}


def check(attributes: dict[str, Any]) -> None:
    """Fail if an attribute is unknown to the conventions, or its value has another form."""
    value: Any
    for name, value in attributes.items():
        if name in STRUCTURED:
            _VALIDATORS[name].validate(json.loads(value) if isinstance(value, str) else value)
            continue
        assert type(value) is TYPES[name] or (TYPES[name] is list and type(value) is tuple), (name, value)
        if TYPES[name] is list:
            members: list[Any] = list(value)
            assert members, name
            assert all(isinstance(member, str) for member in members), (name, value)
        elif name in WORDS:
            assert value in WORDS[name], (name, value)
