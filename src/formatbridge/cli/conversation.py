"""The conversation of the demonstration in each format: the first request, the calls of an answer, and their results."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import formatbridge as fb
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
    match format:
        case "chat_completions":
            calls = answer["choices"][0]["message"].get("tool_calls") or ()
            return [Call(call["id"], call["function"]["name"], json.loads(call["function"]["arguments"])) for call in calls]
        case "messages":
            return [Call(block["id"], block["name"], block["input"]) for block in answer["content"] if block["type"] == "tool_use"]
        case "responses":
            items = (item for item in answer["output"] if item["type"] == "function_call")
            return [Call(item["call_id"], item["name"], json.loads(item["arguments"])) for item in items]
        case "generate_content":
            parts = answer["candidates"][0]["content"].get("parts") or ()
            calls = (part["functionCall"] for part in parts if "functionCall" in part)
            return [Call(call.get("id", ""), call["name"], call.get("args", {})) for call in calls]


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
