"""The demonstration: one conversation with a tool, in each format through the endpoint of another, streamed."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, TextIO
from urllib.parse import urlsplit

import formatbridge as fb
from formatbridge.jsontext.types import JsonObject
from formatbridge.testing import Answer, FakeRelay, ToolCall, Usage

DIRECTIONS: Sequence[tuple[fb.Format, fb.Format]] = (
    ("chat_completions", "messages"),
    ("messages", "responses"),
    ("responses", "generate_content"),
    ("generate_content", "chat_completions"),
)
"""The caller's format and the endpoint's format; each format is both once."""

_QUESTION = "What is the weather in Rome?"
_WEATHER: JsonObject = {"city": "Rome", "sky": "sunny", "celsius": 24}
_TOOL, _ABOUT = "get_weather", "The weather of a city, now."
_SCHEMA: JsonObject = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}

REQUESTS: Mapping[fb.Format, JsonObject] = {
    "chat_completions": {
        "messages": [{"role": "system", "content": "Be brief."}, {"role": "user", "content": _QUESTION}],
        "tools": [{"type": "function", "function": {"name": _TOOL, "description": _ABOUT, "parameters": _SCHEMA}}],
        "seed": 7,
    },
    "messages": {
        "max_tokens": 1024,
        "thinking": {"type": "adaptive"},
        "output_config": {"effort": "low"},
        "system": "Be brief.",
        "messages": [{"role": "user", "content": _QUESTION}],
        "tools": [{"name": _TOOL, "description": _ABOUT, "input_schema": _SCHEMA}],
        "stop_sequences": ["THE END"],
    },
    "responses": {
        "instructions": "Be brief.",
        "input": [{"role": "user", "content": _QUESTION}],
        "tools": [{"type": "function", "name": _TOOL, "description": _ABOUT, "parameters": _SCHEMA, "strict": False}],
        "truncation": "auto",
    },
    "generate_content": {
        "systemInstruction": {"parts": [{"text": "Be brief."}]},
        "contents": [{"role": "user", "parts": [{"text": _QUESTION}]}],
        "tools": [{"functionDeclarations": [{"name": _TOOL, "description": _ABOUT, "parametersJsonSchema": _SCHEMA}]}],
        "generationConfig": {"topK": 40},
    },
}
"""The first request in each format, with one setting that the endpoint's format lacks."""


class Call(NamedTuple):
    """A tool call. ``id``: empty if the format has none."""

    id: str
    name: str
    arguments: Any


def demo(out: TextIO, *, base_url: str | None = None, api_key: str | None = None, model: str | None = None) -> None:
    """Run the conversation in all four formats and write it to ``out`` as it arrives.

    ``base_url``: None: a fake relay in the process. ``api_key``: None: ``FORMATBRIDGE_API_KEY``. ``model``: None: the first in the relay's
    list. Raises the exceptions of the client.
    """
    if base_url is None:
        relay = fake_relay()
        with relay.http_client() as http_client, fb.Client(relay.base_url, relay.api_key, http_client=http_client) as client:
            return run_all(client, model, out)
    with fb.Client(base_url, api_key) as client:
        return run_all(client, model, out)


def fake_relay() -> FakeRelay:
    """Return the fake relay: its answers are a tool call and then a text."""
    call = Answer(
        reasoning="The user wants to know the weather, so I look it up.",
        signature="Zm9yIG15IGV5ZXMgb25seQ==",
        tool_calls=[ToolCall(_TOOL, {"city": "Rome"})],
        usage=Usage(input=61, output=18),
    )
    answer = Answer(text="It is sunny in Rome, at 24 degrees.", usage=Usage(input=97, output=12, cache_read=61))
    return FakeRelay([call, answer] * len(DIRECTIONS), longest_delta=6)


def run_all(client: fb.Client, model: str | None, out: TextIO) -> None:
    """Run the conversation in each format. ``model``: None: the first in the relay's list."""
    if model is None:
        model = _first_model(client)
    for format, via in DIRECTIONS:
        request = {"model": model, **REQUESTS[format]}
        print(f"{format} -> {urlsplit(client.prepare(request, format, via, stream=True).url).path}", file=out)
        _print_losses(_run_conversation(client, format, via, request, out), out)
        print(file=out)


def _first_model(client: fb.Client) -> str:
    listed = client.models()
    if not listed:
        raise fb.ConfigurationError("the relay lists no models, expected --model")
    return listed[0].id


def _run_conversation(client: fb.Client, format: fb.Format, via: fb.Format, request: JsonObject, out: TextIO) -> list[fb.Loss]:
    """Run the conversation in one format: question, call, result, answer. Return the losses."""
    print(f"  user   {_QUESTION}", file=out)
    answer, losses = _stream_answer(client, format, via, request, out)
    calls = calls_in(answer, format)
    for call in calls:
        print(f"  call   {call.name}({json.dumps(call.arguments, ensure_ascii=False)})", file=out)
    if not calls:
        return losses
    print(f"  tool   {json.dumps(_WEATHER)}", file=out)
    _, more = _stream_answer(client, format, via, request | with_results(request, answer, calls, format), out)
    return losses + more


def _stream_answer(
    client: fb.Client, format: fb.Format, via: fb.Format, request: JsonObject, out: TextIO
) -> tuple[JsonObject, list[fb.Loss]]:
    """Stream one answer, write its text as it arrives, and return the answer and the losses."""
    has_begun = False
    with client.stream(request, format, via) as stream:
        for piece in stream.text():
            out.write(piece if has_begun else f"  model  {piece}")
            out.flush()
            has_begun = True
        if has_begun:
            print(file=out)
        return stream.response().body, list(stream.losses)


def _print_losses(losses: Sequence[fb.Loss], out: TextIO) -> None:
    """Write each loss that is not ``info`` once, and the number of the others."""
    severe = [loss for loss in losses if loss.severity != "info"]
    for line in dict.fromkeys(f"  lost   {loss.path}: {loss.kind}, {loss.severity}, {loss.why}" for loss in severe):
        print(line, file=out)
    if len(severe) < len(losses):
        print(f"  noted  {len(losses) - len(severe)} losses that the model never sees (info)", file=out)


def calls_in(answer: JsonObject, format: fb.Format) -> list[Call]:
    """Return the tool calls of an answer in any format."""
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
    result = json.dumps(_WEATHER)
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
            named = [{"name": call.name, "response": _WEATHER} | ({"id": call.id} if call.id else {}) for call in calls]
            turn = {"role": "user", "parts": [{"functionResponse": each} for each in named]}
            return {"contents": [*request["contents"], answer["candidates"][0]["content"], turn]}
