"""The conversation of the demonstration in each format: the first request, the calls of an answer, and their results."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import formatbridge as fb
from formatbridge import ir
from formatbridge.formats.registry import load
from formatbridge.jsontext.types import JsonObject

QUESTION = "What is the weather in Rome?"
WEATHER: JsonObject = {"city": "Rome", "sky": "sunny", "celsius": 24}
TOOL, _ABOUT = "get_weather", "The weather of a city, now."
_SCHEMA: JsonObject = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}

REQUESTS: Mapping[fb.Format, JsonObject] = {
    "chat_completions": {
        "messages": [{"role": "system", "content": "Be brief."}, {"role": "user", "content": QUESTION}],
        "tools": [{"type": "function", "function": {"name": TOOL, "description": _ABOUT, "parameters": _SCHEMA}}],
        "seed": 7,
    },
    "messages": {
        "max_tokens": 1024,
        "thinking": {"type": "adaptive"},
        "output_config": {"effort": "low"},
        "system": "Be brief.",
        "messages": [{"role": "user", "content": QUESTION}],
        "tools": [{"name": TOOL, "description": _ABOUT, "input_schema": _SCHEMA}],
        "stop_sequences": ["THE END"],
    },
    "responses": {
        "instructions": "Be brief.",
        "input": [{"role": "user", "content": QUESTION}],
        "tools": [{"type": "function", "name": TOOL, "description": _ABOUT, "parameters": _SCHEMA, "strict": False}],
        "truncation": "auto",
    },
    "generate_content": {
        "systemInstruction": {"parts": [{"text": "Be brief."}]},
        "contents": [{"role": "user", "parts": [{"text": QUESTION}]}],
        "tools": [{"functionDeclarations": [{"name": TOOL, "description": _ABOUT, "parametersJsonSchema": _SCHEMA}]}],
        "generationConfig": {"topK": 40},
    },
}
"""The first request in each format, with one setting that the endpoint's format lacks."""


class Call(NamedTuple):
    """A tool call. ``id``: empty if the format has none."""

    id: str
    name: str
    arguments: Any


def calls_in(answer: JsonObject, format: fb.Format) -> list[Call]:
    """Return the tool calls of an answer in the format."""
    parts = load(format).decode_response(answer).choices[0].parts
    return [_call(part) for part in parts if isinstance(part, ir.ToolCall)]


def _call(part: ir.ToolCall) -> Call:
    arguments = part.arguments
    return Call(
        "" if part.has_generated_id else part.id, part.name, json.loads(arguments) if isinstance(arguments, str) else arguments
    )


def with_results(request: JsonObject, answer: JsonObject, calls: Sequence[Call], format: fb.Format) -> JsonObject:
    """Return the fields of the next request: the conversation with the answer, unchanged, and the results of its calls."""
    result = json.dumps(WEATHER)
    match format:
        case "chat_completions":
            results = [{"role": "tool", "tool_call_id": call.id, "content": result} for call in calls]
            return {"messages": [*request["messages"], answer["choices"][0]["message"], *results]}
        case "messages":
            results = [{"type": "tool_result", "tool_use_id": call.id, "content": result} for call in calls]
            turns = [{"role": "assistant", "content": answer["content"]}, {"role": "user", "content": results}]
            return {"messages": [*request["messages"], *turns]}
        case "responses":
            results = [{"type": "function_call_output", "call_id": call.id, "output": result} for call in calls]
            return {"input": [*request["input"], *answer["output"], *results]}
        case "generate_content":
            named = [{"name": call.name, "response": WEATHER} | ({"id": call.id} if call.id else {}) for call in calls]
            turn = {"role": "user", "parts": [{"functionResponse": each} for each in named]}
            return {"contents": [*request["contents"], answer["candidates"][0]["content"], turn]}
