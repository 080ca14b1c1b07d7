"""The demonstration: one conversation with a tool, in each format through the endpoint of another, streamed as it comes."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, TextIO
from urllib.parse import urlsplit

import formatbridge as fb
from formatbridge.jsontext.types import JsonObject
from formatbridge.testing import Answer, FakeRelay, ToolCall, Usage

WAYS: Sequence[tuple[fb.Format, fb.Format]] = (
    ("chat_completions", "messages"),
    ("messages", "responses"),
    ("responses", "generate_content"),
    ("generate_content", "chat_completions"),
)
"""The caller's format and the endpoint's; each is both once."""

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
"""The first turn in each format, with one setting that its endpoint here does not have."""


class Call(NamedTuple):
    """A call of the tool. ``id``: empty where the format has none."""

    id: str
    name: str
    arguments: Any


def demo(out: TextIO, *, base_url: str | None = None, api_key: str | None = None, model: str | None = None) -> None:
    """Hold the conversation in all four formats and write it to ``out`` as it comes.

    Without ``base_url`` a relay in the process answers. With one, ``api_key`` None is ``FORMATBRIDGE_API_KEY``, and ``model`` None the
    first that the relay lists. Raises what the client raises.
    """
    if base_url is None:
        relay = fake_relay()
        with relay.http_client() as http_client, fb.Client(relay.base_url, relay.api_key, http_client=http_client) as client:
            return converse_everywhere(client, model, out)
    with fb.Client(base_url, api_key) as client:
        return converse_everywhere(client, model, out)


def fake_relay() -> FakeRelay:
    """Return the relay that stands in: it asks for the weather, and then tells it."""
    asks = Answer(
        reasoning="The user wants to know the weather, so I look it up.",
        signature="Zm9yIG15IGV5ZXMgb25seQ==",
        tool_calls=[ToolCall(_TOOL, {"city": "Rome"})],
        usage=Usage(input=61, output=18),
    )
    tells = Answer(text="It is sunny in Rome, at 24 degrees.", usage=Usage(input=97, output=12, cache_read=61))
    return FakeRelay([asks, tells] * len(WAYS), longest_delta=6)


def converse_everywhere(client: fb.Client, model: str | None, out: TextIO) -> None:
    """Hold the conversation in each format; ``model``: None is the first of the relay's."""
    if model is None:
        model = _first_model(client)
    for format, via in WAYS:
        request = {"model": model, **REQUESTS[format]}
        print(f"{format} -> {urlsplit(client.prepare(request, format, via, stream=True).url).path}", file=out)
        _tell_losses(_converse(client, format, via, request, out), out)
        print(file=out)


def _first_model(client: fb.Client) -> str:
    listed = client.models()
    if not listed:
        raise fb.ConfigurationError("the relay lists no models, expected --model")
    return listed[0].id


def _converse(client: fb.Client, format: fb.Format, via: fb.Format, request: JsonObject, out: TextIO) -> list[fb.Loss]:
    """Hold the conversation in one format, the question, the call, its result, the answer; return what was lost."""
    print(f"  user   {_QUESTION}", file=out)
    answer, lost = _listen(client, format, via, request, out)
    calls = calls_in(answer, format)
    for call in calls:
        print(f"  call   {call.name}({json.dumps(call.arguments, ensure_ascii=False)})", file=out)
    if not calls:
        return lost
    print(f"  tool   {json.dumps(_WEATHER)}", file=out)
    _, more = _listen(client, format, via, request | with_results(request, answer, calls, format), out)
    return lost + more


def _listen(
    client: fb.Client, format: fb.Format, via: fb.Format, request: JsonObject, out: TextIO
) -> tuple[JsonObject, list[fb.Loss]]:
    """Stream one answer, write its text as it comes, and return the answer and what was lost."""
    has_begun = False
    with client.stream(request, format, via) as stream:
        for piece in stream.text():
            out.write(piece if has_begun else f"  model  {piece}")
            out.flush()
            has_begun = True
        if has_begun:
            print(file=out)
        return stream.response().body, list(stream.losses)


def _tell_losses(losses: Sequence[fb.Loss], out: TextIO) -> None:
    """Write what matters of a report, each loss once, and count the rest."""
    grave = [loss for loss in losses if loss.severity != "info"]
    for line in dict.fromkeys(f"  lost   {loss.path}: {loss.kind}, {loss.severity}, {loss.why}" for loss in grave):
        print(line, file=out)
    if len(grave) < len(losses):
        print(f"  noted  {len(losses) - len(grave)} losses that the model never sees (info)", file=out)


def calls_in(answer: JsonObject, format: fb.Format) -> list[Call]:
    """Return the calls of an answer, as its own format has them."""
    match format:
        case "chat_completions":
            made = answer["choices"][0]["message"].get("tool_calls") or ()
            return [Call(call["id"], call["function"]["name"], json.loads(call["function"]["arguments"])) for call in made]
        case "messages":
            return [Call(block["id"], block["name"], block["input"]) for block in answer["content"] if block["type"] == "tool_use"]
        case "responses":
            items = (item for item in answer["output"] if item["type"] == "function_call")
            return [Call(item["call_id"], item["name"], json.loads(item["arguments"])) for item in items]
        case "generate_content":
            parts = answer["candidates"][0]["content"].get("parts") or ()
            made = (part["functionCall"] for part in parts if "functionCall" in part)
            return [Call(call.get("id", ""), call["name"], call.get("args", {})) for call in made]


def with_results(request: JsonObject, answer: JsonObject, calls: Sequence[Call], format: fb.Format) -> JsonObject:
    """Return the field of the next request that holds the conversation: with the answer, as it came, and the results of its calls."""
    told = json.dumps(_WEATHER)
    match format:
        case "chat_completions":
            results = [{"role": "tool", "tool_call_id": call.id, "content": told} for call in calls]
            return {"messages": [*request["messages"], answer["choices"][0]["message"], *results]}
        case "messages":
            results = [{"type": "tool_result", "tool_use_id": call.id, "content": told} for call in calls]
            turns = [{"role": "assistant", "content": answer["content"]}, {"role": "user", "content": results}]
            return {"messages": [*request["messages"], *turns]}
        case "responses":
            results = [{"type": "function_call_output", "call_id": call.id, "output": told} for call in calls]
            return {"input": [*request["input"], *answer["output"], *results]}
        case "generate_content":
            named = [{"name": call.name, "response": _WEATHER} | ({"id": call.id} if call.id else {}) for call in calls]
            turn = {"role": "user", "parts": [{"functionResponse": each} for each in named]}
            return {"contents": [*request["contents"], answer["candidates"][0]["content"], turn]}
